//! No file task reads or writes outside the root or touches what is clada's, however the path is spelled and whatever
//! is swapped meanwhile; a failed one leaves no trace; and nobody's save is lost to an edit.

use std::collections::BTreeMap;
use std::fs::{self, create_dir, create_dir_all, hard_link, read_link, remove_file};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clada::reply::path::{PathError, RelPath};
use clada::reply::scan::scan;
use clada::report::outcome::{Outcome, Section, Status};
use clada::run::files;
use clada::world::workspace::{
    Disk, FileContent, FileKind, FsError, Preview, ProjectFiles, ResolvedPath,
};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::path::Arg;

use crate::harness::Project;

const SECRET: &str = "SECRET-OF-OTHERS";

/// Does something while another thread does something else again and again.
fn meanwhile(other: impl Fn() + Sync, what: impl FnOnce()) {
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                other();
            }
        });
        // Also where an assertion fails.
        let _stop = Stop(&stop);
        what();
    });
}

/// Runs one side of a race again and again: for a while, and until enough has happened, however slow the machine is.
fn race(mut enough: impl FnMut() -> bool) {
    const SHORTEST: Duration = Duration::from_secs(2);
    const LONGEST: Duration = Duration::from_secs(120);
    let start = Instant::now();
    while !enough() || start.elapsed() < SHORTEST {
        assert!(start.elapsed() < LONGEST, "too little happens");
    }
}

/// A project with a folder beside it that is none of its business.
struct Setting {
    project: Project,
    outside: PathBuf,
}

impl Setting {
    fn new() -> Self {
        let project = Project::new();
        let outside = project.root().with_file_name("outside");
        create_dir_all(outside.join("sub/deep")).expect("mkdir");
        for name in ["f.txt", "new.txt", "sub/x.txt", "sub/deep/y.txt"] {
            fs::write(outside.join(name), format!("{SECRET}\ninside\n")).expect("write");
        }
        Self { project, outside }
    }

    fn root(&self) -> PathBuf {
        self.project.root()
    }

    fn disk(&self) -> Disk {
        Disk::open(&self.root(), Some(&self.project.home()), Vec::new()).expect("disk")
    }
}

/// Every name below a folder with what is there, without following links.
fn tree(dir: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).expect("read_dir") {
            let path = entry.expect("entry").path();
            let meta = path.symlink_metadata().expect("stat");
            let what = if meta.is_dir() {
                open.push(path.clone());
                String::new()
            } else if meta.is_symlink() {
                read_link(&path).expect("link").display().to_string()
            } else if meta.is_file() {
                fs::read_to_string(&path).unwrap_or_default()
            } else {
                "special".to_owned()
            };
            let id = format!("{}:{:o}:{what}", meta.ino(), meta.mode());
            found.insert(path, id);
        }
    }
    found
}

/// Carries out a task: the outcome is an error if the task failed.
fn perform(files: &mut dyn ProjectFiles, task: &str) -> Result<Box<Outcome>, Box<Outcome>> {
    let scan = scan(task);
    let action = scan.batches[0].tasks[0].action.as_ref().expect("a task");
    let outcome = Box::new(files::perform(action, files));
    if outcome.status == Status::Done {
        Ok(outcome)
    } else {
        Err(outcome)
    }
}

fn edit(path: &str, search: &str, replace: &str) -> String {
    format!(
        "<task>\n<path>{path}</path>\n<c>edit</c>\n<search>\n{search}\n</search>\n<replace>\n{replace}\n</replace>\n</task>\n"
    )
}

fn overwrite(path: &str, text: &str) -> String {
    format!("<task>\n<path>{path}</path>\n<c>overwrite</c>\n<x>\n{text}\n</x>\n</task>\n")
}

fn delete(path: &str) -> String {
    format!("<task>\n<path>{path}</path>\n<c>delete</c>\n</task>\n")
}

fn move_to(path: &str, to: &str) -> String {
    format!("<task>\n<path>{path}</path>\n<c>move</c>\n<x overwrite=\"yes\">{to}</x>\n</task>\n")
}

fn of_path(path: &str, command: &str, rest: &str) -> String {
    format!("<task>\n<path>{path}</path>\n<c>{command}</c>\n{rest}</task>\n")
}

/// One task of each kind that has to do with a path.
fn all_tasks(path: &str) -> Vec<String> {
    let replace = "<search>inside</search>\n<replace>changed</replace>\n";
    vec![
        of_path(path, "read", ""),
        of_path(&format!("{path}</path><path>own.txt"), "read", ""),
        of_path(path, "append", "<x>changed</x>\n"),
        of_path(path, "replace-all", replace),
        of_path(
            &format!("own.txt</path><path>{path}"),
            "replace-all",
            replace,
        ),
        of_path(path, "replace-lines", "<x lines=\"1\">changed</x>\n"),
        of_path(path, "rmdir", ""),
        edit(path, "inside", "changed"),
        edit(path, "insine", "changed"),
        overwrite(path, "changed"),
        delete(path),
        move_to(path, "moved.txt"),
        move_to("own.txt", path),
        move_to("own", path),
    ]
}

/// All that a failed task says.
fn said(failure: &Outcome) -> String {
    let sections = failure.sections.iter().map(|section| match section {
        Section::Text(text) | Section::File { content: text, .. } => text.as_str(),
        Section::Stream(..) => "",
    });
    format!(
        "{} {} {}",
        failure.said(),
        failure.data,
        sections.collect::<String>()
    )
}

#[test]
fn no_spelling_leads_outside() {
    let place = Setting::new();
    let (root, outside) = (place.root(), place.outside.clone());
    place
        .project
        .write("own.txt", "own\n")
        .write("own/a", "a\n");
    let link = |to: &Path, name: &str| symlink(to, root.join(name)).expect("link");
    link(&outside, "to-dir");
    link(&outside.join("f.txt"), "to-file");
    link(Path::new("../outside"), "up");
    link(Path::new("up"), "chain");
    link(Path::new("own/../../outside/f.txt"), "winding");
    link(&outside.join("nothing"), "dangling");
    link(Path::new("../nothing"), "dangling-up");
    link(Path::new("/proc/self/root"), "magic");
    link(Path::new("/proc/self/cwd/../outside"), "cwd");
    create_dir(place.project.home().join("d")).expect("mkdir");
    let before = (tree(&outside), tree(&place.project.home()));
    let names = [
        outside.join("f.txt").display().to_string(),
        format!("{}/../outside/f.txt", root.display()),
        format!("/proc/self/root{}", outside.join("f.txt").display()),
        format!("magic{}", outside.join("f.txt").display()),
        format!("{}x/f.txt", root.display()),
        "../outside/f.txt".to_owned(),
        "own/../../outside/f.txt".to_owned(),
        "..".to_owned(),
        "/".to_owned(),
        "~/d".to_owned(),
        "~".to_owned(),
        "~/../outside/f.txt".to_owned(),
        "to-dir/f.txt".to_owned(),
        "to-dir/sub".to_owned(),
        "to-dir/not/yet.txt".to_owned(),
        "to-dir/../outside/f.txt".to_owned(),
        "up/f.txt".to_owned(),
        "up/sub/x.txt".to_owned(),
        "chain/f.txt".to_owned(),
        "cwd/f.txt".to_owned(),
        "dangling/x".to_owned(),
    ];
    for name in &names {
        for task in all_tasks(name) {
            // Where links are left out of the way, as `to-dir/..` by name, a task may be done inside.
            if let Err(failure) = perform(&mut place.disk(), &task) {
                assert!(!said(&failure).contains(SECRET), "{task}: {failure:?}");
            }
            let mut disk = place.disk();
            if let Err(failure) = perform(&mut Preview::new(&disk), &task) {
                assert!(!said(&failure).contains(SECRET), "{task}: {failure:?}");
            }
            let _ = perform(&mut disk, &overwrite("own.txt", "own"));
            assert_eq!(tree(&outside), before.0, "{task}");
            assert_eq!(tree(&place.project.home()), before.1, "{task}");
        }
    }
    // These names are links themselves: a delete or move is of the link, all else is refused.
    for name in ["to-file", "winding", "dangling", "dangling-up", "to-dir"] {
        for task in [
            edit(name, "inside", "x"),
            overwrite(name, "x"),
            move_to("own.txt", name),
            overwrite(&format!("{name}/"), "x"),
        ] {
            let failure = perform(&mut place.disk(), &task).expect_err(&task);
            assert!(!said(&failure).contains(SECRET), "{task}: {failure:?}");
        }
        perform(&mut place.disk(), &move_to(name, "moved-link")).expect("move of a link");
        perform(&mut place.disk(), &delete("moved-link")).expect("delete of a link");
        assert!(!place.project.exists(name) && !place.project.exists("moved-link"));
        assert_eq!(tree(&outside), before.0, "{name}");
    }
}

#[test]
fn a_home_reached_by_a_link_is_the_home() {
    let place = Setting::new();
    let alias = place.root().with_file_name("alias");
    let top = place.root().parent().expect("parent").to_owned();
    symlink(top, &alias).expect("link");
    let mut disk = Disk::open(&place.root(), Some(&alias), Vec::new()).expect("disk");
    perform(&mut disk, &overwrite("~/project/a.txt", "x")).expect("a file in the root");
    assert_eq!(place.project.read("a.txt"), "x\n");
}

#[test]
fn git_is_refused_under_every_name() {
    let place = Setting::new();
    place
        .project
        .write("own.txt", "own\n")
        .write("own/a", "a\n")
        .write(".git/config", "inside\n")
        .write("sub/module/.git", "inside\n");
    symlink(".git", place.root().join("link")).expect("link");
    symlink(".git/config", place.root().join("config")).expect("link");
    symlink("link", place.root().join("chain")).expect("link");
    let before = tree(&place.root());
    for name in [
        ".git",
        ".git/config",
        ".GIT/config",
        ".Git/hooks/post-commit",
        "own/.git",
        "own/.git/config",
        "link/config",
        "chain/config",
        "sub/module/.git",
        ".g\u{200d}it/config",
    ] {
        for task in all_tasks(name) {
            let failed = perform(&mut place.disk(), &task).is_err();
            assert!(failed, "{task}");
            assert_eq!(tree(&place.root()), before, "{task}");
        }
    }
    for task in [
        overwrite("config", "x"),
        edit("config", "inside", "x"),
        overwrite("link", "x"),
        of_path("config", "read", ""),
        of_path("link/deep", "mkdir", ""),
        of_path("own/.git", "mkdir", ""),
        delete("sub"),
        delete("sub/module"),
        move_to("sub", "sub2"),
    ] {
        assert!(perform(&mut place.disk(), &task).is_err(), "{task}");
        assert_eq!(tree(&place.root()), before, "{task}");
    }
}

#[test]
fn a_root_reached_by_a_link_has_two_spellings() {
    let place = Setting::new();
    let alias = place.root().with_file_name("alias");
    symlink(place.root(), &alias).expect("link");
    let mut disk = Disk::open(&alias, None, Vec::new()).expect("disk");
    for (n, root) in [place.root(), alias.clone()].iter().enumerate() {
        let name = format!("{}/dir/{n}.txt", root.display());
        perform(&mut disk, &overwrite(&name, "x")).expect(&name);
        assert_eq!(place.project.read(&format!("dir/{n}.txt")), "x\n");
        symlink(&name, place.project.path(&format!("link{n}"))).expect("link");
        perform(&mut disk, &overwrite(&format!("link{n}"), "y")).expect("link inside");
        assert_eq!(place.project.read(&format!("dir/{n}.txt")), "y\n");
    }
    // With a `..` behind a link the name says nothing.
    create_dir(place.project.path("inner")).expect("mkdir");
    let inner = place.root().with_file_name("inner-link");
    symlink(place.project.path("inner"), &inner).expect("link");
    let mut disk = Disk::open(&inner.join(".."), None, Vec::new()).expect("disk");
    let beside = place.root().with_file_name("new.txt");
    let task = overwrite(&beside.display().to_string(), "x");
    perform(&mut disk, &task).expect_err("a file beside the root");
    perform(&mut disk, &overwrite("inner/x.txt", "x")).expect("a file in the root");
    // A program that is started in a linked folder has only the shell's word for the name that the user knows.
    let reply = overwrite(&format!("{}/cwd.txt", alias.display()), "x");
    let mut command = place.project.command(env!("CARGO_BIN_EXE_clada"));
    command.current_dir(&alias).env("PWD", &alias);
    fs::write(place.project.path("reply"), reply).expect("write");
    let run = command
        .args(["run", "--no-git", "reply"])
        .output()
        .expect("clada");
    assert!(run.status.success(), "{run:?}");
    assert_eq!(place.project.read("cwd.txt"), "x\n");
}

/// A home that is the root, with everything in it that clada keeps there.
fn home_as_root() -> (Project, Vec<PathBuf>) {
    let project = Project::new();
    let root = project.root();
    for name in [
        "clada.md",
        ".clada-output-latest.txt",
        "clada.toml",
        ".local/state/clada/done",
        ".config/clada/config.toml",
        ".config/systemd/user/clada.service",
    ] {
        project.write(name, "inside\n");
    }
    project.write("own.txt", "own\n").write("own/a", "a\n");
    let folders = clada::settings::places::Folders {
        home: root.clone(),
        state: root.join(".local/state/clada"),
        config: root.join(".config/clada"),
        services: root.join(".config/systemd/user"),
        runtime: None,
    };
    (project, folders.protected(&root))
}

#[test]
fn what_belongs_to_clada_is_refused_by_identity() {
    let (project, protected) = home_as_root();
    let root = project.root();
    symlink("clada.md", project.path("link")).expect("link");
    symlink(".config", project.path("to-config")).expect("link");
    hard_link(root.join("clada.toml"), project.path("other-name")).expect("link");
    let before = tree(&root);
    let names = [
        "clada.md",
        ".clada-output-latest.txt",
        "clada.toml",
        "./own/../clada.md",
        "~/clada.md",
        ".local/state/clada/done",
        ".local/state/clada/new",
        ".local/state/clada/new/deep",
        ".local/state/clada",
        ".config/clada/config.toml",
        ".config/clada",
        ".config/systemd/user/clada.service",
        "other-name",
        "to-config/clada/config.toml",
    ];
    let more = [
        overwrite("link", "x"),
        edit("link", "inside", "x"),
        delete(".config"),
        delete(".local"),
        delete(".config/systemd/user"),
        move_to(".config/systemd", "systemd"),
        move_to(".local/state", "state"),
        move_to("own.txt", ".config/clada/"),
    ];
    let tasks = names.iter().flat_map(|name| all_tasks(name)).chain(more);
    for task in tasks {
        let mut disk = Disk::open(&root, Some(&root), protected.clone()).expect("disk");
        let failure = perform(&mut Preview::new(&disk), &task).expect_err(&task);
        let same = perform(&mut disk, &task).expect_err(&task);
        assert_eq!(said(&failure), said(&same), "{task}");
        assert_eq!(tree(&root), before, "{task}");
    }
    // What only lies beside it is free.
    let mut disk = Disk::open(&root, Some(&root), protected).expect("disk");
    for task in [
        overwrite(".config/other/x", "x"),
        overwrite("sub/clada.md", "x"),
        delete("link"),
        delete(".config/other"),
    ] {
        perform(&mut disk, &task).expect(&task);
    }
}

#[test]
fn what_will_belong_to_clada_is_refused_before_it_exists() {
    let project = Project::new();
    let root = project.root();
    project
        .write("own.txt", "own\n")
        .write("own/clada/config.toml", "x\n");
    let folders = clada::settings::places::Folders {
        home: root.clone(),
        state: root.join(".local/state/clada"),
        config: root.join(".config/clada"),
        services: root.join(".config/systemd/user"),
        runtime: None,
    };
    let before = tree(&root);
    for task in [
        overwrite("clada.toml", "x"),
        overwrite("Clada.TOML", "x"),
        of_path("clada.toml", "append", "<x>x</x>\n"),
        of_path("clada.toml", "mkdir", ""),
        of_path(".config/clada", "mkdir", ""),
        of_path(".config/clada/deep", "mkdir", ""),
        overwrite(".config/clada/config.toml", "x"),
        overwrite(".config/systemd/user/clada.service", "x"),
        overwrite(".config/systemd/user/clada.service.d/x.conf", "x"),
        move_to("own.txt", "clada.toml"),
        move_to("own", ".config"),
        move_to("own/clada", ".config/"),
    ] {
        let mut disk = Disk::open(&root, Some(&root), folders.protected(&root)).expect("disk");
        perform(&mut Preview::new(&disk), &task).expect_err(&task);
        perform(&mut disk, &task).expect_err(&task);
        assert_eq!(tree(&root), before, "{task}");
    }
    let mut disk = Disk::open(&root, Some(&root), folders.protected(&root)).expect("disk");
    perform(&mut disk, &overwrite(".config/app/clada", "x")).expect("a folder of others");
}

#[test]
fn a_notes_file_that_is_a_link_is_protected_with_its_target() {
    let project = Project::new();
    project
        .write("own.txt", "own\n")
        .write("own/a", "a\n")
        .write("notes/today.md", "inside\n");
    symlink("notes/today.md", project.path("clada.md")).expect("link");
    let before = tree(&project.root());
    let protected = vec![project.path("clada.md")];
    let tasks = ["clada.md", "notes/today.md"]
        .into_iter()
        .flat_map(all_tasks)
        .chain([delete("notes"), move_to("notes", "n")]);
    for task in tasks {
        let mut disk = Disk::open(&project.root(), None, protected.clone()).expect("disk");
        perform(&mut disk, &task).expect_err(&task);
        assert_eq!(tree(&project.root()), before, "{task}");
    }
}

/// Swaps two names in a folder, and counts it.
fn exchange(dir: impl AsFd, a: impl Arg, b: impl Arg, count: &AtomicUsize) {
    if renameat_with(&dir, a, &dir, b, RenameFlags::EXCHANGE).is_ok() {
        count.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_folder_that_becomes_a_link_meanwhile() {
    let place = Setting::new();
    let root = place.root();
    place
        .project
        .write("dir/f.txt", "inside\n")
        .write("dir/sub/x.txt", "inside\n");
    symlink(&place.outside, root.join("swap")).expect("link");
    let before = tree(&place.outside);
    let swaps = AtomicUsize::new(0);
    let (mut done, mut refused) = (0, 0);
    let mut disk = place.disk();
    let tasks = [
        edit("dir/f.txt", "inside", "inside"),
        edit("dir/f.txt", "insine", "x"),
        overwrite("dir/new.txt", "written"),
        overwrite("dir/made/here/new.txt", "written"),
        edit("dir/new.txt", "writtem", "x"),
        move_to("dir/new.txt", "dir/sub/"),
        move_to("dir/sub/new.txt", "dir/newer.txt"),
        delete("dir/newer.txt"),
        delete("dir/made"),
        move_to("dir/sub", "dir/subway"),
        move_to("dir/subway", "dir/sub"),
        delete("dir/sub"),
        overwrite("dir/sub/x.txt", "inside"),
        delete("dir/sub/deep"),
    ];
    let (dir, link) = (root.join("dir"), root.join("swap"));
    meanwhile(
        || exchange(CWD, &dir, &link, &swaps),
        || {
            race(|| {
                for task in &tasks {
                    match perform(&mut disk, task) {
                        Ok(_) => done += 1,
                        Err(failure) => {
                            assert!(!said(&failure).contains(SECRET), "{task}: {failure:?}");
                            refused += 1;
                        }
                    }
                }
                done > 100 && refused > 100 && swaps.load(Ordering::Relaxed) > 1000
            });
        },
    );
    assert_eq!(tree(&place.outside), before);
}

#[test]
fn a_file_that_becomes_a_link_meanwhile() {
    let place = Setting::new();
    let root = place.root();
    place.project.write("f.txt", "inside\n");
    let (file, other) = (root.join("f.txt"), root.join("other"));
    let before = tree(&place.outside);
    let swaps = AtomicUsize::new(0);
    let swap = || {
        // A task may have replaced the link.
        let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|m| m.is_symlink());
        match (is_link(&file), is_link(&other)) {
            (false, false) => {
                let _ = remove_file(&other);
                symlink(place.outside.join("f.txt"), &other).expect("link");
            }
            // The link went back to its name after another was made here for it.
            (true, true) => {
                let _ = remove_file(&other);
                fs::write(&other, "inside\n").expect("file");
            }
            _ => {}
        }
        exchange(CWD, &file, &other, &swaps);
    };
    let mut done = 0;
    let mut disk = place.disk();
    let tasks = [
        edit("f.txt", "inside", "inside"),
        edit("f.txt", "insine", "x"),
        overwrite("f.txt", "inside"),
    ];
    meanwhile(swap, || {
        race(|| {
            for task in &tasks {
                match perform(&mut disk, task) {
                    Ok(_) => done += 1,
                    Err(failure) => {
                        assert!(!said(&failure).contains(SECRET), "{task}: {failure:?}");
                    }
                }
            }
            done > 100 && swaps.load(Ordering::Relaxed) > 1000
        });
    });
    assert_eq!(tree(&place.outside), before);
}

#[test]
fn a_folder_in_a_deleted_one_that_becomes_a_link_meanwhile() {
    let place = Setting::new();
    let root = place.root();
    let before = tree(&place.outside);
    let mut disk = place.disk();
    let swaps = AtomicUsize::new(0);
    race(|| {
        for n in 0..20 {
            place.project.write(&format!("tree/a/{n}/x.txt"), "x\n");
        }
        symlink(&place.outside, root.join("tree/b")).expect("link");
        // By a handle, since the folder gets another name before it is deleted.
        let handle = fs::File::open(root.join("tree")).expect("open");
        meanwhile(
            || exchange(&handle, "a", "b", &swaps),
            || {
                let _ = perform(&mut disk, &delete("tree"));
            },
        );
        assert_eq!(tree(&place.outside), before);
        let _ = fs::remove_dir_all(root.join("tree"));
        swaps.load(Ordering::Relaxed) > 100
    });
    let left: Vec<PathBuf> = tree(&root).into_keys().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_failed_task_leaves_no_trace() {
    let place = Setting::new();
    let root = place.root();
    place
        .project
        .write("f.txt", "one\ntwo\none\n")
        .write("linked.txt", "one\n")
        .write("own.txt", "own\n")
        .write("dir/x.txt", "x\n")
        .write("dir/sub/.git", "x\n");
    hard_link(root.join("linked.txt"), root.join("other.txt")).expect("link");
    symlink(&place.outside, root.join("out")).expect("link");
    let mut fifo = place.project.command("mkfifo");
    let fifo = fifo.arg(root.join("pipe")).status().expect("mkfifo");
    assert!(fifo.success());
    let before = tree(&root);
    for task in [
        edit("f.txt", "one", "1"),
        edit("f.txt", "three", "3"),
        edit("linked.txt", "one", "1"),
        edit("missing/dir/f.txt", "one", "1"),
        edit("pipe", "one", "1"),
        edit("dir", "one", "1"),
        overwrite("linked.txt", "x"),
        overwrite("dir", "x"),
        overwrite("new/dir/", "x"),
        overwrite("f.txt/new/dir", "x"),
        overwrite("out/new/f.txt", "x"),
        overwrite("new/.git/f.txt", "x"),
        overwrite(&format!("new/{}", "n".repeat(300)), "x"),
        overwrite("pipe", "x"),
        of_path(&format!("new/{}", "n".repeat(300)), "append", "<x>x</x>\n"),
        of_path(&format!("new/{}", "n".repeat(300)), "mkdir", ""),
        of_path("out/new", "mkdir", ""),
        of_path("dir", "rmdir", ""),
        of_path("out", "rmdir", ""),
        of_path("out/f.txt", "read", ""),
        of_path(
            "own.txt</path><path>out/f.txt",
            "replace-all",
            "<search>own</search><replace>x</replace>\n",
        ),
        of_path("f.txt", "replace-lines", "<x lines=\"9\">x</x>\n"),
        move_to("missing", "new/dir/x"),
        move_to("own.txt", "f.txt/"),
        move_to("own.txt", "out/new/x"),
        move_to("own.txt", &format!("new/{}", "n".repeat(300))),
        move_to("dir", "new/dir/"),
        move_to("dir", "dir/sub/new/"),
        delete("dir"),
        delete("missing"),
        delete("."),
    ] {
        perform(&mut place.disk(), &task).expect_err(&task);
        assert_eq!(tree(&root), before, "{task}");
    }
}

#[test]
fn folders_that_are_hard_to_delete() {
    let place = Setting::new();
    let long = "n".repeat(255);
    place.project.write(&format!("{long}/x.txt"), "x\n");
    perform(&mut place.disk(), &delete(&long)).expect("a folder with a name of any length");
    let deep: String = "d/".repeat(200);
    place.project.write(&format!("{deep}x.txt"), "x\n");
    perform(&mut place.disk(), &delete("d")).expect("a deep folder");
    assert!(tree(&place.root()).is_empty());
}

/// A disk on which somebody else saves the file right after it was read.
struct Busy<'d> {
    disk: &'d mut Disk,
    file: PathBuf,
    saves: usize,
    saved: AtomicUsize,
}

impl ProjectFiles for Busy<'_> {
    fn parse(&self, text: &str) -> Result<RelPath, PathError> {
        self.disk.parse(text)
    }

    fn place(&self, path: &RelPath, follow: bool) -> Result<ResolvedPath, FsError> {
        self.disk.place(path, follow)
    }

    fn kind(&self, place: &ResolvedPath) -> Result<Option<FileKind>, FsError> {
        self.disk.kind(place)
    }

    fn read(&self, place: &ResolvedPath) -> Result<FileContent, FsError> {
        self.disk.read(place)
    }

    fn may_show(&self, place: &ResolvedPath) -> Result<(), FsError> {
        self.disk.may_show(place)
    }

    fn read_to_change(&self, place: &ResolvedPath) -> Result<FileContent, FsError> {
        let content = self.disk.read_to_change(place);
        let saved = self.saved.fetch_add(1, Ordering::Relaxed);
        if saved < self.saves {
            let mut text = fs::read_to_string(&self.file).expect("read");
            // Of the same length, and at once: neither size nor time need tell.
            text.replace_range(0..1, &(saved + 1).to_string());
            let time = self
                .file
                .metadata()
                .expect("stat")
                .modified()
                .expect("time");
            fs::write(&self.file, text).expect("write");
            let file = fs::File::options()
                .append(true)
                .open(&self.file)
                .expect("open");
            file.set_modified(time).expect("utime");
        }
        content
    }

    fn write(
        &mut self,
        place: &ResolvedPath,
        parts: &[&[u8]],
        expected: Option<&FileContent>,
    ) -> Result<(), FsError> {
        self.disk.write(place, parts, expected)
    }

    fn write_new(&mut self, place: &ResolvedPath, parts: &[&[u8]]) -> Result<(), FsError> {
        self.disk.write_new(place, parts)
    }

    fn remove(&mut self, place: &ResolvedPath) -> Result<(), FsError> {
        self.disk.remove(place)
    }

    fn rename(
        &mut self,
        from: &ResolvedPath,
        to: &ResolvedPath,
        overwrite: bool,
    ) -> Result<(), FsError> {
        self.disk.rename(from, to, overwrite)
    }

    fn make_folder(&mut self, place: &ResolvedPath) -> Result<bool, FsError> {
        self.disk.make_folder(place)
    }

    fn remove_folder(&mut self, place: &ResolvedPath) -> Result<(), FsError> {
        self.disk.remove_folder(place)
    }

    fn names(&self, dir: &ResolvedPath) -> Vec<String> {
        self.disk.names(dir)
    }

    fn was_changed(&self, place: &ResolvedPath) -> bool {
        self.disk.was_changed(place)
    }

    fn disk(&self) -> &Disk {
        self.disk.disk()
    }
}

#[test]
fn an_edit_starts_over_when_somebody_saved_meanwhile() {
    for saves in 0..5 {
        let place = Setting::new();
        place.project.write("f.txt", "0 saves\nold\n");
        let mut disk = place.disk();
        let mut busy = Busy {
            disk: &mut disk,
            file: place.project.path("f.txt"),
            saves,
            saved: AtomicUsize::new(0),
        };
        let edited = perform(&mut busy, &edit("f.txt", "old", "new"));
        let (expected, tried) = match edited {
            Ok(_) => (format!("{saves} saves\nnew\n"), saves + 1),
            Err(failure) => {
                assert_eq!(
                    failure.said(),
                    "another program changed `f.txt` at the same moment, three times: run this task again"
                );
                ("3 saves\nold\n".to_owned(), 3)
            }
        };
        assert_eq!(place.project.read("f.txt"), expected);
        assert_eq!(tried, saves.min(2) + 1);
        assert_eq!(tree(&place.root()).len(), 1);
    }
}

#[test]
fn of_two_that_make_one_new_file_one_does() {
    let place = Setting::new();
    let make = |name: &str, text: &str| {
        let mut disk = place.disk();
        let path = disk.parse(name).expect("a path");
        let there = disk.place(&path, true).expect("a place");
        disk.write_new(&there, &[text.as_bytes()])
    };
    for round in 0..50 {
        let name = format!("new/{round}/f.txt");
        let both = thread::scope(|scope| {
            let other = scope.spawn(|| make(&name, "other\n"));
            [
                ("one\n", make(&name, "one\n")),
                ("other\n", other.join().expect("thread")),
            ]
        });
        let made = both.iter().filter(|(_, made)| made.is_ok());
        let made: Vec<&str> = made.map(|(text, _)| *text).collect();
        assert_eq!(made, [place.project.read(&name)]);
    }
    place.project.write("dir/f.txt", "first\n");
    for taken in ["dir/f.txt", "dir"] {
        let error = make(taken, "second\n").expect_err(taken).to_string();
        assert_eq!(error, format!("`{taken}` already exists"));
    }
    assert_eq!(place.project.read("dir/f.txt"), "first\n");
    assert_eq!(tree(&place.root().join("dir")).len(), 1);
}

#[test]
fn two_that_edit_one_file_do_not_lose_each_others_lines() {
    let place = Setting::new();
    let lines: String = (0..200).map(|n| format!("line {n}.\n")).collect();
    place.project.write("f.txt", lines);
    let count = |odd: usize| {
        let mut disk = place.disk();
        let mut done = Vec::new();
        for n in (0..200).filter(|n| n % 2 == odd) {
            let task = edit("f.txt", &format!("line {n}."), &format!("LINE {n}."));
            if perform(&mut disk, &task).is_ok() {
                done.push(n);
            }
        }
        done
    };
    let (a, b) = thread::scope(|scope| {
        let other = scope.spawn(|| count(1));
        (count(0), other.join().expect("thread"))
    });
    let text = place.project.read("f.txt");
    let lost = a
        .iter()
        .chain(&b)
        .filter(|n| !text.contains(&format!("LINE {n}.")))
        .count();
    // Compared before the exchange only, one in four is lost. Two that exchange at once may each take the other's file
    // for the user's, which was seen to cost one edit in some thousand; under one root clada lets one run at a time.
    let done = a.len() + b.len();
    assert!(lost * 50 <= done, "{lost} of {done}");
    assert_eq!(text.lines().count(), 200);
    assert_eq!(tree(&place.root()).len(), 1);
}
