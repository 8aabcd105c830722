//! What is the user's own: what is staged is a commit of its own, as by `git commit` and then `git commit -a`, and what is
//! untracked stays off the branch.

use super::*;
use crate::policy::secrets::Secrets;

/// The repository in each state that a user can leave it in.
const STATES: [(&str, &[&str]); 21] = [
    (
        "part of a file is staged",
        &["write a.txt staged", "git add a.txt", "write a.txt rest"],
    ),
    ("all is staged", &["write a.txt staged", "git add a.txt"]),
    ("nothing is staged", &["write a.txt rest"]),
    (
        "what is staged was undone since",
        &["write a.txt staged", "git add a.txt", "write a.txt one"],
    ),
    (
        "a rename is staged, and the file edited",
        &["git mv a.txt b.txt", "write b.txt rest"],
    ),
    (
        "half of a rename is staged",
        &["copy a.txt b.txt", "git add b.txt", "remove a.txt"],
    ),
    (
        "the other half is",
        &["copy a.txt b.txt", "git rm -q a.txt"],
    ),
    (
        "a new file is announced",
        &["write new.txt x", "git add -N new.txt"],
    ),
    (
        "beside something staged",
        &[
            "write new.txt x",
            "git add -N new.txt",
            "write a.txt staged",
            "git add a.txt",
        ],
    ),
    (
        "an announced file is gone",
        &[
            "write new.txt x",
            "git add -N new.txt",
            "remove new.txt",
            "write a.txt rest",
        ],
    ),
    (
        "a file is taken out of the index",
        &["git rm -q --cached a.txt"],
    ),
    (
        "and edited",
        &[
            "git rm -q --cached a.txt",
            "write a.txt mine",
            "write b/c.txt rest",
        ],
    ),
    (
        "a deletion is staged, and the file is there again",
        &["git rm -q a.txt", "write a.txt again"],
    ),
    (
        "a staged file is gone",
        &["write new.txt x", "git add new.txt", "remove new.txt"],
    ),
    (
        "a staged file is gone, all else is as it was",
        &[
            "write new.txt x",
            "git add new.txt",
            "remove new.txt",
            "touch a.txt",
        ],
    ),
    (
        "a mode is staged",
        &["run chmod +x a.txt", "git add a.txt", "write a.txt rest"],
    ),
    (
        "a file stands in a folder's place",
        &["remove b", "write b file", "git add -A", "write b other"],
    ),
    (
        "untracked files are there",
        &["write new.txt x", "write d/e/new.txt x", "write a.txt rest"],
    ),
    (
        "a change is hidden",
        &[
            "git update-index --assume-unchanged a.txt",
            "write a.txt hidden",
            "write b/c.txt rest",
        ],
    ),
    (
        "a change is skipped",
        &[
            "git update-index --skip-worktree a.txt",
            "write a.txt hidden",
            "write b/c.txt staged",
            "git add b/c.txt",
        ],
    ),
    ("no change at all", &[]),
];

fn act(repo: &Repo, deed: &str) {
    let words: Vec<&str> = deed.split(' ').collect();
    match words[..] {
        ["git", ..] => drop(repo.git(&words[1..])),
        ["run", program, ref args @ ..] => {
            let mut command = Command::new(program);
            let ran = command.args(args).current_dir(repo.top()).status();
            assert!(ran.unwrap().success(), "{deed}");
        }
        ["write", path, text] => {
            let is_file = |path: &Path| path.is_file();
            if let Some(folder) = repo.at(path).ancestors().skip(1).find(|it| is_file(it)) {
                fs::remove_file(folder).unwrap();
            }
            repo.write(path, format!("{text}\n"));
        }
        ["copy", from, to] => drop(fs::copy(repo.at(from), repo.at(to)).unwrap()),
        ["touch", path] => repo.write(path, fs::read(repo.at(path)).unwrap()),
        ["remove", path] => repo.remove(path),
        _ => panic!("{deed}"),
    }
}

/// The trees that git makes of what is there, newest first, and what it says of the rest.
fn judged(repo: &Repo) -> (Vec<String>, String) {
    let copy = TempDir::new().unwrap();
    let copied = Command::new("cp")
        .args(["-a", &format!("{}/.", repo.top().display())])
        .arg(copy.path())
        .status();
    assert!(copied.unwrap().success());
    let git = |args: &[&str]| git_in(copy.path(), args);
    git(&["commit", "-qm", "staged"]);
    git(&["commit", "-qam", "rest"]);
    (trees(copy.path()), git(&["status", "--porcelain"]).1)
}

fn trees(folder: &Path) -> Vec<String> {
    let (there, log) = git_in(folder, &["log", "--format=%T"]);
    let trees = log.lines().map(str::to_owned);
    if there { trees.collect() } else { Vec::new() }
}

/// A repository whose untracked files stay off the branch, and the folder of the private snapshots.
fn leaving() -> (Options, TempDir) {
    let private = TempDir::new().unwrap();
    let options = Options {
        untracked: UntrackedRule::Leave,
        private: private.path().join("snapshots"),
        home: "/nonexistent".into(),
        private_limit: 100,
        private_file: 1 << 20,
        ..options()
    };
    (options, private)
}

fn open_leaving(repo: &Repo, options: &Options) -> Snapshots {
    open_as(&repo.top(), &[], options).unwrap().unwrap()
}

#[test]
fn what_is_staged_and_the_rest_are_the_commits_that_git_would_make() {
    for (state, deeds) in STATES {
        for unborn in [false, true] {
            let repo = Repo::unborn();
            repo.write("a.txt", "one\n");
            repo.write("b/c.txt", "c\n");
            repo.git(&["add", "-A"]);
            if !unborn {
                repo.git(&["commit", "-qm", "first"]);
            }
            if unborn && deeds.iter().any(|deed| deed.contains("rm -q a.txt")) {
                // Git itself refuses that.
                continue;
            }
            for deed in deeds {
                act(&repo, deed);
            }
            let (trees_of_git, status) = judged(&repo);
            let (options, _private) = leaving();
            let mut snapshots = open_leaving(&repo, &options);
            let before = trees(&repo.top()).len();
            let made = snapshots.before(&message()).unwrap();
            snapshots.settle().unwrap();
            assert_eq!(
                trees(&repo.top()),
                trees_of_git,
                "{state} (unborn: {unborn})"
            );
            assert_eq!(repo.status(), status, "{state} (unborn: {unborn})");
            assert_eq!(made.work.len(), trees_of_git.len() - before, "{state}");
            assert!(!snapshots.before(&message()).unwrap().changed, "{state}");
        }
    }
}

#[test]
fn what_is_untracked_is_in_no_commit_and_comes_back() {
    let repo = Repo::new();
    let (options, _private) = leaving();
    repo.write("mine.txt", "mine\n");
    repo.write("d/mine.txt", "too\n");
    repo.write("node_modules/x/index.js", "x\n");
    let mut snapshots = open_leaving(&repo, &options);
    let head = repo.head();
    assert!(!snapshots.before(&message()).unwrap().changed);
    snapshots.expect_command();
    repo.remove("mine.txt");
    repo.write("d/mine.txt", "changed\n");
    repo.write("made.txt", "made\n");
    let state = snapshots.after_all(&message()).unwrap();
    snapshots.settle().unwrap();
    assert!(state.changed && state.left_off.is_empty());
    assert_eq!(repo.files(), ["a.txt", "made.txt"]);
    let aside = snapshots.aside().unwrap();
    let tip = aside.tip().unwrap().unwrap().id().to_string();
    let parent = aside
        .commit_at(&tip)
        .unwrap()
        .parent_id(0)
        .unwrap()
        .to_string();
    let mut changes = aside.changes(Some(&parent), Some(&tip)).unwrap();
    let paths: Vec<_> = changes.drain(..).map(|change| change.path).collect();
    assert_eq!(paths, paths_of(&["d/mine.txt", "mine.txt"]));
    let was = aside.entry(Some(&parent), Path::new("mine.txt")).unwrap();
    assert!(
        matches!(was, Some(crate::world::file_or_link::FileOrLink::File { bytes, .. }) if bytes == b"mine\n")
    );
    assert_eq!(
        repo.git(&["rev-list", &format!("{head}..HEAD")])
            .lines()
            .count(),
        1
    );
    let objects = repo.git(&["cat-file", "--batch-all-objects", "--batch-check"]);
    for text in ["mine\n", "too\n", "changed\n", "x\n"] {
        let id = Oid::hash_object(git2::ObjectType::Blob, text.as_bytes()).unwrap();
        assert!(!objects.contains(&id.to_string()), "{text}");
    }
}

#[test]
fn what_commands_make_is_committed_but_for_these() {
    let repo = Repo::new();
    let (options, _private) = leaving();
    let options = Options {
        new_file: 100,
        secrets: Secrets::new(&[crate::policy::paths::PathList {
            setting: "paths.deny",
            of: None,
            allows: false,
            patterns: &[String::from("**/.env").try_into().unwrap()],
        }]),
        ..options
    };
    repo.write(".gitignore", "ignored.txt\n");
    repo.git(&["add", "-A"]);
    repo.write("mine.txt", "what is mine\n");
    repo.write("ignored.txt", "what is ignored\n");
    repo.write("renamed.txt", "what is renamed\n");
    repo.write("x", "x\n");
    let mut snapshots = open_leaving(&repo, &options);
    snapshots.before(&message()).unwrap();
    snapshots.expect_command();
    repo.write("plain.txt", "x\n");
    repo.write("copied.txt", "what is mine\n");
    repo.write("copied.too", "what is ignored\n");
    fs::rename(repo.at("renamed.txt"), repo.at("moved.txt")).unwrap();
    repo.write("moved.txt", "and edited since\n");
    repo.write(".env", "KEY=1\n");
    repo.write("deploy", "-----BEGIN OPENSSH PRIVATE KEY-----\nx\n");
    repo.write("large.bin", [b'x'; 101]);
    repo.write("node_modules/x/index.js", "x\n");
    repo.write("web/node_modules/x/index.js", "x\n");
    repo.write("web/index.js", "x\n");
    repo.write("copy-of-a.txt", "one\n");
    repo.write("staged.txt", "what is staged\n");
    repo.git(&["add", "-f", "staged.txt", "mine.txt", ".env"]);
    let state = snapshots.after_all(&message()).unwrap();
    snapshots.settle().unwrap();
    assert_eq!(
        repo.files(),
        [
            ".gitignore",
            "a.txt",
            "copy-of-a.txt",
            "plain.txt",
            "staged.txt",
            "web/index.js"
        ]
    );
    let mut left: Vec<String> = state.left_off.iter().map(LeftOff::to_string).collect();
    left.sort();
    assert_eq!(
        left,
        [
            ".env (looks like a secret)",
            "copied.too (the same as ignored.txt)",
            "copied.txt (the same as mine.txt)",
            "deploy (looks like a secret)",
            "large.bin (larger than 100 B)",
            "mine.txt (was untracked, and a command staged it)",
            "moved.txt (the same as renamed.txt)",
            "node_modules/ (a tool's folder)",
            "web/node_modules/ (a tool's folder)",
        ]
    );
    assert_eq!(repo.git(&["diff", "--cached", "--name-only"]), "");
    assert!(
        snapshots.after_all(&message()).unwrap().left_off.is_empty(),
        "told once"
    );
}

#[test]
fn what_a_task_names_is_committed_and_a_folder_names_nothing_in_it() {
    let repo = Repo::new();
    let (options, _private) = leaving();
    repo.write("mine.txt", "mine\n");
    repo.write("src/tracked.txt", "t\n");
    repo.git(&["add", "src"]);
    repo.write("src/untracked.txt", "u\n");
    repo.write("src/deep/untracked.txt", "u\n");
    let mut snapshots = open_leaving(&repo, &options);
    snapshots.before(&message()).unwrap();
    repo.write("mine.txt", "edited\n");
    snapshots
        .after_paths(&paths_of(&["mine.txt"]), &message())
        .unwrap();
    assert_eq!(repo.files(), ["a.txt", "mine.txt", "src/tracked.txt"]);
    fs::rename(repo.at("src"), repo.at("lib")).unwrap();
    snapshots
        .after_paths(&paths_of(&["src", "lib"]), &message())
        .unwrap();
    snapshots.settle().unwrap();
    assert_eq!(repo.files(), ["a.txt", "lib/tracked.txt", "mine.txt"]);
    assert_eq!(repo.status(), "?? lib/deep/\n?? lib/untracked.txt\n");
}
