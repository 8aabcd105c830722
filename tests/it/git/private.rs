//! Folders in no repository: a private one keeps their snapshots, and nothing appears in them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::store::{
    delete, exec, in_store, is_sound, move_to, overwrite, run, saved, stored, stores,
};
use crate::harness::{Project, skip};

#[test]
fn a_plain_folder_has_snapshots_elsewhere() {
    let project = Project::new();
    project.write("mine.txt", "mine\r\n");
    project.write("node_modules/a/index.js", "x");
    project.write(".gitignore", "*.log\n").write("a.log", "log");
    project.write(".gitattributes", "* text=auto\n*.md filter=lfs\n");
    project.write("b.md", "large\n");
    let tasks = [overwrite("a.txt", "one"), exec("echo two > b.txt")];
    let ended = run(&project, &tasks).exits(0);
    let head = in_store(&project, ["rev-parse", "HEAD"]);
    let line = saved(&ended);
    assert!(
        line.starts_with("💚 snapshot ") && line.ends_with(&head[..7]),
        "{line}"
    );
    assert!(!ended.results().contains('⚠') || ended.results().contains("not fenced"));
    let files = [
        ".gitattributes",
        ".gitignore",
        "a.txt",
        "b.md",
        "b.txt",
        "mine.txt",
    ];
    assert_eq!(stored(&project), files);
    assert_eq!(
        in_store(&project, ["show", "HEAD:mine.txt"]),
        "mine\r\n",
        "to the byte"
    );
    let log = in_store(
        &project,
        ["log", "--format=%(trailers:key=Clada-Step,valueonly)%n"],
    );
    assert_eq!(
        log.split_whitespace().collect::<Vec<_>>(),
        ["task", "task", "before"]
    );
    assert_eq!(in_store(&project, ["status", "--porcelain"]), "");

    let mut there: Vec<_> = fs::read_dir(project.root())
        .unwrap()
        .map(|it| it.unwrap().file_name())
        .collect();
    there.sort();
    let expect = [
        ".gitattributes",
        ".gitignore",
        "a.log",
        "a.txt",
        "b.md",
        "b.txt",
        "mine.txt",
        "node_modules",
    ];
    assert_eq!(there, expect, "nothing else is there");
    let mode = stores(&project)[0]
        .parent()
        .unwrap()
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
    is_sound(&project);

    // The user's repository takes over by itself, and may end.
    project.git(["init", "-q", "-b", "main"]);
    project.commits();
    let ended = run(&project, &[overwrite("a.txt", "three")]).exits(0);
    assert!(saved(&ended).starts_with("💚 git "));
    assert_eq!(stored(&project), [""; 0], "git has all of it");
    fs::remove_dir_all(project.path(".git")).unwrap();
    let ended = run(&project, &[overwrite("a.txt", "four")]).exits(0);
    assert!(saved(&ended).starts_with("💚 snapshot "));
    assert_eq!(in_store(&project, ["show", "HEAD~1:a.txt"]), "three\n");
    is_sound(&project);
}

#[test]
fn what_is_too_large_or_not_the_folders_own_is_left_out_and_named() {
    let project = Project::new();
    project.configure("[git]\nprivate_file = '1 KiB'\n");
    for n in 1..=7 {
        project.write(&format!("big{n}.bin"), "x".repeat(2000));
    }
    project.write("inner/file", "x");
    let inner = project.path("inner").display().to_string();
    project.git(["-C", &inner, "init", "-q"]);
    let ended = run(&project, &[overwrite("a.txt", "one")]).exits(0);
    let said = ended.results();
    let large = "`big1.bin` was not saved: it is larger than 1 KiB (`git.private_file` in the settings, or a .gitignore that names it)";
    assert_eq!(said.matches(large).count(), 1, "{said}");
    assert_eq!(
        said.matches("`inner/` was not saved: it belongs to a git repository of its own")
            .count(),
        1,
        "{said}"
    );
    assert!(
        said.contains("⚠ git: not saved either: 3 more") && !said.contains("big5"),
        "{said}"
    );
    assert_eq!(stored(&project), ["a.txt"]);

    let asks = "1 ⏸ delete big1.bin - undo will not bring back `big1.bin`: ";
    let said = run(&project, &[delete("big1.bin")]).exits(1).results();
    assert!(said.contains(asks), "{said}");
    assert!(project.exists("big1.bin"));
    let approved = ["run", "--approve"];
    let reply = super::store::reply(&[delete("big1.bin")]);
    let said = project.clada_with(approved, &reply).exits(0).results();
    assert!(
        said.contains("⚠ undo will not bring back `big1.bin`: "),
        "{said}"
    );
    assert!(!project.exists("big1.bin"));
    is_sound(&project);
}

#[test]
fn more_files_than_the_limit_are_no_reason_to_run_nothing() {
    let project = Project::new();
    project.configure("[git]\nprivate_limit = 10\n");
    for n in 0..11 {
        project.write(&format!("many/{n}"), "x");
    }
    let told = "⚠ the state was not saved: clada makes no snapshots of this folder: it has more than 10 files: list those \
                to leave out in a .gitignore, raise `git.private_limit` in the settings, or run `git init` there\n";
    let ended = run(
        &project,
        &[overwrite("a.txt", "one"), overwrite("b.txt", "one")],
    )
    .exits(0);
    assert!(ended.results().ends_with(told), "{}", ended.results());
    assert_eq!(project.read("b.txt"), "one\n");

    // What the message says helps.
    project.write(".gitignore", "many/\n");
    let ended = run(&project, &[overwrite("a.txt", "two")]).exits(0);
    assert!(
        saved(&ended).starts_with("💚 snapshot (empty) → ")
            || saved(&ended).starts_with("💚 snapshot ")
    );
    assert_eq!(stored(&project), [".gitignore", "a.txt", "b.txt"]);

    // It grows later, by a command and by the user.
    let script = "mkdir more && cd more && for n in 0 1 2 3 4 5 6 7 8 9; do echo > $n; done";
    let ended = run(&project, &[exec(script), overwrite("c.txt", "x")]).exits(0);
    let said = ended.results();
    assert!(
        said.contains("⚠ git: task 1 was not saved: ") && said.contains("more than 10 files"),
        "{said}"
    );
    let ended = run(&project, &[overwrite("a.txt", "three")]).exits(0);
    assert!(ended.results().ends_with(told), "{}", ended.results());
    fs::remove_dir_all(project.path("more")).unwrap();
    let ended = run(&project, &[overwrite("a.txt", "four")]).exits(0);
    assert!(saved(&ended).starts_with("💚 snapshot "));
    assert_eq!(in_store(&project, ["show", "HEAD~1:a.txt"]), "three\n");
    is_sound(&project);

    project.configure("[git]\nprivate_limit = 0\n");
    let said = run(&project, &[overwrite("a.txt", "five")])
        .exits(0)
        .results();
    assert!(
        said.contains(
            "⚠ the state was not saved: no git repository here, and `git.private_limit` is 0: run `git init`"
        ),
        "{said}"
    );
}

#[test]
fn the_home_and_what_is_above_it_have_none() {
    let project = Project::new();
    let home = project.home().canonicalize().unwrap();
    let above = home.parent().unwrap();
    let state = home.join(".local/state");
    fs::create_dir_all(&state).unwrap();
    let reply = super::store::reply(&[overwrite("a.txt", "one")]);
    for (root, why) in [
        (
            home.as_path(),
            "` contains your whole home folder: run clada in a folder of its own, or run `git init` there",
        ),
        (above, "contains your whole home folder"),
        (
            &state,
            "` contains clada's own state, or is part of it: run clada in another folder",
        ),
    ] {
        let root = root.to_str().unwrap();
        let ended = project.clada_with(["run", "--root", root], &reply).exits(0);
        assert!(ended.results().contains(why), "{}", ended.results());
    }
    assert!(stores(&project).is_empty());
}

#[test]
fn a_damaged_one_is_put_aside() {
    let project = Project::new();
    run(&project, &[overwrite("a.txt", "one")]).exits(0);
    let store = stores(&project).remove(0);
    type Harm = fn(&std::path::Path);
    let harms: [Harm; 4] = [
        |store| fs::write(store.join("HEAD"), "").unwrap(),
        |store| fs::write(store.join("index"), "DIRC nonsense").unwrap(),
        |store| fs::write(store.join("refs/heads/main"), "").unwrap(),
        |store| {
            // As a power cut leaves what was just written.
            let objects = fs::read_dir(store.join("objects")).unwrap();
            for file in objects.flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap()) {
                let path = file.unwrap().path();
                fs::remove_file(&path).unwrap();
                fs::write(&path, "").unwrap();
            }
        },
    ];
    for (number, harm) in (1..).zip(harms) {
        harm(&store);
        let ended = run(&project, &[overwrite("a.txt", &format!("after {number}"))]).exits(0);
        let said = ended.results();
        let aside = store.with_extension(format!("damaged-{number}"));
        assert!(
            said.contains("⚠ the private snapshots of this folder were damaged (")
                && said.contains(
                    "`: new ones begin, so `clada undo` cannot go back beyond this batch"
                ),
            "{number}: {said}"
        );
        assert!(
            said.contains(&aside.display().to_string()) && aside.exists(),
            "{said}"
        );
        assert!(saved(&ended).starts_with("💚 snapshot "), "{said}");
        for old in stores(&project) {
            if old != store {
                fs::remove_dir_all(&old).unwrap();
                fs::create_dir(&old).unwrap();
            }
        }
        let mut git = project.command("git");
        git.arg("--git-dir").arg(&store).args(["fsck", "--strict"]);
        assert!(git.output().unwrap().status.success());
    }
}

#[test]
fn one_that_cannot_be_written_is_no_reason_to_run_nothing() {
    let project = Project::new();
    let folder = project.state_folder();
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("snapshots"), "in the way").unwrap();
    let ended = run(&project, &[overwrite("a.txt", "one")]).exits(0);
    let said = ended.results();
    assert!(
        said.contains("⚠ the state was not saved: ")
            && said.contains(
                "): fix that, for example free disk space, or run `git init` in the folder"
            ),
        "{said}"
    );
    assert_eq!(project.read("a.txt"), "one\n");
}

#[test]
fn a_lock_of_a_clada_that_was_killed_is_taken_off() {
    let project = Project::new();
    run(&project, &[overwrite("a.txt", "one")]).exits(0);
    let lock = stores(&project)[0].join("index.lock");
    fs::write(&lock, "").unwrap();
    let ended = run(&project, &[overwrite("a.txt", "two")]).exits(0);
    assert!(
        saved(&ended).starts_with("💚 snapshot "),
        "{}",
        ended.results()
    );
    assert!(!lock.exists());
    assert_eq!(in_store(&project, ["show", "HEAD:a.txt"]), "two\n");
}

#[test]
fn a_link_to_the_folder_is_the_folder() {
    let project = Project::new();
    let link = project.home().join("link");
    symlink(project.root(), &link).unwrap();
    run(&project, &[overwrite("a.txt", "one")]).exits(0);
    let args = ["run", "--root", link.to_str().unwrap()];
    project
        .clada_with(args, &super::store::reply(&[overwrite("a.txt", "two")]))
        .exits(0);
    assert_eq!(in_store(&project, ["show", "HEAD~1:a.txt"]), "one\n");
}

#[test]
fn an_unreadable_file_is_named_and_the_rest_saved() {
    let project = Project::new();
    if !project.write_unreadable("closed.txt") {
        return;
    }
    let said = run(&project, &[overwrite("a.txt", "one")])
        .exits(0)
        .results();
    assert!(
        said.contains("`closed.txt` was not saved: it could not be read"),
        "{said}"
    );
    assert_eq!(stored(&project), ["a.txt"]);
}

#[test]
fn what_the_rules_leave_out_is_saved_when_a_task_changes_it() {
    let project = Project::new();
    project
        .write("node_modules/x/index.js", "old\n")
        .write("node_modules/y/index.js", "y\n");
    run(&project, &[overwrite("a.txt", "one")]).exits(0);
    let tasks = [
        overwrite("node_modules/x/index.js", "new"),
        overwrite("target/made", "made"),
        move_to("node_modules/y", "z"),
    ];
    let said = run(&project, &tasks).exits(0).results();
    assert!(!said.contains("undo"), "{said}");
    let files = [
        "a.txt",
        "node_modules/x/index.js",
        "target/made",
        "z/index.js",
    ];
    assert_eq!(stored(&project), files);
    assert_eq!(
        in_store(
            &project,
            ["log", "--format=%s", "-1", "--", "node_modules/y/index.js"]
        )
        .lines()
        .count(),
        1
    );
    let old = in_store(
        &project,
        ["log", "--format=", "-p", "--", "node_modules/x/index.js"],
    );
    assert!(
        old.contains("+old") && old.contains("-old") && old.contains("+new"),
        "{old}"
    );
    assert_eq!(in_store(&project, ["status", "--porcelain"]), "");
    is_sound(&project);
}

/// The folder itself is on another disk, which has room.
#[test]
fn a_full_disk_is_no_reason_to_run_nothing() {
    let project = Project::new();
    run(&project, &[overwrite("a.txt", "one")]).exits(0);
    let folder = stores(&project)[0].parent().unwrap().display().to_string();
    let head = in_store(&project, ["rev-parse", "HEAD"]);
    let random = "x = 1\nfor n in range(300000):\n    x = x * 48271 % 2147483647\n    print(x)\n";
    project.write("make.py", random);
    let reply =
        super::store::reply(&[exec("python3 make.py > large.txt"), overwrite("b.txt", "b")]);
    project.write("reply.md", reply);
    let script = "cp -a \"$1\" copy && mount -t tmpfs -o size=500k none \"$1\" && cp -a copy/. \"$1\" && rm -r copy
                  \"$2\" run reply.md; \"$2\" run reply.md; cp -a \"$1\" \"$3\"";
    let mut command = project.command("unshare");
    command.args([
        "-r",
        "-m",
        "bash",
        "-ec",
        script,
        "bash",
        &folder,
        env!("CARGO_BIN_EXE_clada"),
    ]);
    let copy = project.home().join("copy");
    let output = command.arg(&copy).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    if !said.contains("RESULTS") {
        skip("no small disk can be mounted here");
        return;
    }
    assert!(project.exists("large.txt") && project.exists("b.txt"));
    assert!(said.contains("⚠ git: task 1 was not saved: "), "{said}");
    assert!(
        said.contains("⚠ the state was not saved: ") && said.contains("free disk space"),
        "{said}"
    );
    assert!(!said.contains("damaged"), "{said}");
    let store = stores(&project).remove(0);
    let store = copy.join(store.file_name().unwrap());
    let git = |args: &[&str]| {
        let mut command = project.command("git");
        let output = command
            .arg("--git-dir")
            .arg(&store)
            .args(args)
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["fsck", "--strict"]);
    assert!(git(&["rev-list", "HEAD"]).contains(&head));
}
