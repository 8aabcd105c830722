//! Searching a project: what is found is what is there, in one order, and nothing outside.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clada::text::glob::Glob;
use clada::world::workspace::{Disk, LineSearch, ProjectFiles, TreeQuery};
use proptest::prelude::*;

use crate::harness::Project;

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(600)
}

fn disk(project: &Project) -> Disk {
    Disk::open(&project.root(), None, vec![project.path("clada.md")]).expect("disk")
}

/// Every file that a search looks at.
fn files(disk: &Disk) -> Vec<PathBuf> {
    let root = disk
        .place(&disk.parse(".").expect("root"), true)
        .expect("root");
    let reach = TreeQuery {
        wants: &|_, kind| kind != clada::world::workspace::FileKind::Dir,
        depth: None,
        until: soon(),
    };
    disk.tree(&root, &reach).paths
}

fn grep(disk: &Disk, pattern: &str) -> Vec<(PathBuf, u64, String)> {
    let search = LineSearch::new(pattern, false).expect("pattern");
    let hits = disk.search(&search, &files(disk), usize::MAX / 2, soon());
    let hits = hits.shown.into_iter();
    hits.map(|hit| (hit.path, hit.number, hit.line)).collect()
}

/// Some rules, and some names that they may or may not mean.
fn rules() -> impl Strategy<Value = String> {
    let rule = prop_oneof![
        Just("a"),
        Just("/a"),
        Just("a/"),
        Just("b/a"),
        Just("!a"),
        Just("*.x"),
        Just("!b.x"),
        Just("**/c"),
        Just("b/**"),
        Just("a*"),
        Just("/*"),
        Just("!/b"),
        Just("# a"),
        Just("\\#a"),
        Just("c/*/a"),
        Just(" "),
    ];
    proptest::collection::vec(rule, 0..4).prop_map(|rules| rules.join("\n") + "\n")
}

fn path() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        Just("a"),
        Just("b"),
        Just("c"),
        Just("b.x"),
        Just("ab"),
        Just(".h")
    ];
    proptest::collection::vec(name, 1..4).prop_map(|names| names.join("/"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// git itself says which files are not ignored.
    #[test]
    fn what_git_ignores_is_left_out(
        paths in proptest::collection::vec(path(), 1..12),
        root in rules(),
        below in rules(),
        exclude in rules(),
    ) {
        let project = Project::with_git();
        for path in &paths {
            // A name may be a folder already.
            if let Some(parent) = project.path(path).parent() {
                let _ = fs::create_dir_all(parent);
            }
            let _ = fs::write(project.path(path), "x\n");
        }
        project.write(".gitignore", &root);
        if project.path("b").is_dir() {
            project.write("b/.gitignore", &below);
        }
        project.write(".git/info/exclude", &exclude);
        let listed = project.git(["ls-files", "-o", "--exclude-standard"]);
        let mut expected: Vec<PathBuf> = listed.lines().map(PathBuf::from).collect();
        expected.sort();
        prop_assert_eq!(files(&disk(&project)), expected);
    }

    /// The lines that hold a word, of all files, in the order of the paths.
    #[test]
    fn every_line_that_matches_is_found(
        texts in proptest::collection::vec("[ab\n\r ä]{0,60}", 1..40),
        word in "[abä]{1,2}",
    ) {
        let project = Project::new();
        let mut expected = Vec::new();
        for (at, text) in texts.iter().enumerate() {
            let path = format!("{}/{at}.txt", at % 7);
            project.write(&path, text);
            for (number, line) in text.split('\n').enumerate() {
                let line = line.strip_suffix('\r').unwrap_or(line);
                if line.contains(&word) {
                    expected.push((PathBuf::from(&path), number as u64 + 1, line.to_owned()));
                }
            }
        }
        expected.sort();
        prop_assert_eq!(grep(&disk(&project), &word), expected);
    }

    /// No pattern of names ends anything at all.
    #[test]
    fn any_glob_is_read_or_refused(pattern in "[a{},*?!/\\[\\]\\\\-]{0,40}", times in 1_usize..40) {
        if let Ok(glob) = Glob::parse(&pattern.repeat(times)) {
            glob.includes("a/a");
        }
        let deep = Glob::parse(&"{a,".repeat(100_000)).is_err();
        prop_assert!(deep);
    }

    /// No pattern ends anything but its own search.
    #[test]
    fn any_pattern_is_read_or_refused(pattern in "[a-c(){}\\[\\]*+?|.^$\\\\-]{0,12}") {
        if let Ok(search) = LineSearch::new(&pattern, true) {
            let project = Project::new();
            project.write("a.txt", "abc\naab\n\n");
            disk(&project).search(&search, &["a.txt".into()], 10, soon());
        }
    }
}

#[test]
fn the_first_matches_are_shown_and_all_are_counted() {
    let project = Project::new();
    for at in 0..300 {
        project.write(&format!("{:02}/{at:04}.txt", at % 20), "x\n".repeat(at % 9));
    }
    let disk = disk(&project);
    let all = grep(&disk, "x");
    let search = LineSearch::new("x", false).expect("pattern");
    // Often: whoever searches the first files may be the last to be through.
    for limit in [0, 1, 50, 1199, 1200].repeat(20) {
        let hits = disk.search(&search, &files(&disk), limit, soon());
        let shown: Vec<_> = hits
            .shown
            .into_iter()
            .map(|hit| (hit.path, hit.number, hit.line))
            .collect();
        assert_eq!(shown, all[..limit.min(all.len())]);
        assert_eq!((hits.lines, hits.searched), (all.len(), 300));
    }
}

#[test]
fn a_folder_that_becomes_a_link_leads_nowhere() {
    let project = Project::new();
    project.write("in/a.txt", "word inside\n");
    let outside = tempfile::tempdir().expect("folder");
    fs::write(outside.path().join("a.txt"), "word outside\n").expect("write");
    let disk = disk(&project);
    let (real, aside) = (project.path("in"), project.path("aside"));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                fs::rename(&real, &aside).expect("rename");
                symlink(outside.path(), &real).expect("link");
                fs::remove_file(&real).expect("remove");
                fs::rename(&aside, &real).expect("rename");
            }
        });
        for _ in 0..400 {
            for (path, _, line) in grep(&disk, "word") {
                assert_eq!(line, "word inside", "{}", path.display());
            }
        }
        done.store(true, Ordering::SeqCst);
    });
}

#[test]
fn a_file_that_becomes_a_link_is_not_searched() {
    let project = Project::new();
    project.write("a.txt", "word\n");
    let paths = files(&disk(&project));
    fs::remove_file(project.path("a.txt")).expect("remove");
    symlink("/etc/hostname", project.path("a.txt")).expect("link");
    let search = LineSearch::new(".", false).expect("pattern");
    let hits = disk(&project).search(&search, &paths, 10, soon());
    assert!(hits.shown.is_empty());
    assert_eq!(hits.unread, [Path::new("a.txt")]);
}

#[test]
fn no_depth_and_no_line_is_too_much() {
    let project = Project::new();
    let deep = "d/".repeat(200);
    project.write(&format!("{deep}x.txt"), "word\n");
    project.write("long.txt", "word ".repeat(1_000_000));
    project.write("huge.txt", "a".repeat(40 * 1024 * 1024));
    let run = project.clada_with(["run", "--json"], &reply("<c>grep</c><x>word|(a*)*b$</x>"));
    let result = &run.exits(0).json()["results"][0];
    assert_eq!(result["data"].as_array().map(Vec::len), Some(1));
    assert_eq!(result["data"][0]["file"], "long.txt");
    let outputs = project.clada_with(["run"], &reply("<c>grep</c><x>word|(a*)*b$</x>"));
    assert!(
        outputs.out.contains("could not be read: `d/d/d"),
        "{}",
        outputs.out
    );
    assert!(outputs.out.contains("`huge.txt`"), "{}", outputs.out);
}

#[test]
fn time_that_is_up_ends_a_search() {
    let project = Project::new();
    project.write("a.txt", "word\n");
    let disk = disk(&project);
    let search = LineSearch::new("word", false).expect("pattern");
    let hits = disk.search(&search, &["a.txt".into()], 10, Instant::now());
    assert!(hits.cut && hits.shown.is_empty());
}

/// What is above the root is git's business too, where the root is in a repository.
#[test]
fn rules_above_the_root_hold() {
    let project = Project::with_git();
    project.write(".gitignore", "/app/out\n");
    project.write("app/out/a.txt", "x\n");
    project.write("app/b.txt", "x\n");
    let disk = Disk::open(&project.path("app"), None, Vec::new()).expect("disk");
    assert_eq!(files(&disk), [Path::new("b.txt")]);
}

#[test]
fn the_data_of_each() {
    let project = Project::new();
    project.write("src/a.rs", "fn a() {}\nfn b() {}\n");
    let run = project.clada_with(
        ["run", "--json"],
        "<tasks><task><c>ls</c><path>src</path></task>\n<task><c>grep</c><x>fn b</x></task>\n<task><c>glob</c><x>**/*.rs</x></task></tasks>",
    );
    let json = run.exits(0).json();
    let data = |at: usize| json["results"][at]["data"].clone();
    let listed = data(0);
    assert_eq!(listed[0]["name"], "a.rs");
    assert_eq!(listed[0]["type"], "file");
    assert_eq!(listed[0]["size"], 20);
    assert!(
        listed[0]["modified"]
            .as_str()
            .is_some_and(|time| time.ends_with('Z'))
    );
    let hit = serde_json::json!([{ "file": "src/a.rs", "line_number": 2, "line": "fn b() {}" }]);
    assert_eq!(data(1), hit);
    assert_eq!(data(2), serde_json::json!(["src/a.rs"]));
}

/// Looking at what an earlier task of the batch only plans to make is no reason to refuse the batch.
#[test]
fn looking_is_part_of_an_atomic_batch_and_of_a_dry_run() {
    let tasks = "<tasks atomic=\"yes\">
<task><path>new/a.txt</path><c>write</c><x>word</x></task>
<task><path>new</path><c>ls</c></task>
<task><c>grep</c><path>new/a.txt</path><x>word</x></task>
<task><c>glob</c><x>new/*</x></task>
</tasks>";
    let project = Project::with_git();
    let dry = project
        .clada_with(["run", "--dry-run", "--json"], tasks)
        .exits(0);
    assert!(!project.exists("new"));
    assert_eq!(dry.json()["results"][3]["success"], true);
    let run = project.clada_with(["run"], tasks).exits(0);
    assert!(
        run.out
            .contains("3 ✅ grep word in new/a.txt - 1 match in 1 file"),
        "{}",
        run.out
    );
    assert!(run.out.contains("4 ✅ glob new/* - 1 file"), "{}", run.out);
}

#[test]
fn looking_is_not_taken_back() {
    let project = Project::with_git();
    project.write("a.txt", "word\n");
    let tasks = "<tasks atomic=\"yes\">
<task><c>grep</c><x>word</x></task>
<task><path>b.txt</path><c>write</c><x>b</x></task>
<task><c>exec</c><x>false</x></task>
</tasks>";
    let run = project.clada_with(["run"], tasks).exits(1);
    let results = run.results();
    assert!(
        results.contains("1 ✅ grep word - 1 match in 1 file\n"),
        "{results}"
    );
    assert!(
        results.contains("2 ❌ overwrite b.txt - reverted"),
        "{results}"
    );
}

#[test]
fn a_file_that_nobody_may_read_is_named() {
    let project = Project::new();
    project.write("a.txt", "word\n");
    if project.write_unreadable("b.txt") {
        let run = project
            .clada_with(["run"], &reply("<c>grep</c><x>word</x>"))
            .exits(0);
        assert!(
            run.out
                .contains("1 match in 1 file; could not be read: `b.txt`"),
            "{}",
            run.out
        );
    }
}

fn reply(task: &str) -> String {
    format!("<tasks><task>{task}</task></tasks>")
}
