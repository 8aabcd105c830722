//! All that can become of a file comes back.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::*;

/// All names, kinds, modes and contents.
fn everything(project: &Project) -> Vec<u8> {
    let find = "find . -path ./.git -prune -o ! -type d -printf '%p %y %m %l\\n' | sort;
                find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 cat";
    let all = project.command("sh").args(["-c", find]).output();
    all.unwrap().stdout
}

/// What a script changes is taken back, done again and taken back.
#[track_caller]
fn there_and_back(project: &Project, change: &str) {
    project.git(["add", "-A"]);
    project.git(["commit", "-q", "--allow-empty", "-m", "the user's"]);
    let before = everything(project);
    run(project, &script("change", change));
    clean(project);
    let after = everything(project);
    assert!(before != after);
    for (command, expected) in [("undo", &before), ("redo", &after), ("undo", &before)] {
        done(project, [command]);
        let now = everything(project);
        assert!(
            now == *expected,
            "{command}\n{}\nis not\n{}",
            String::from_utf8_lossy(&now),
            String::from_utf8_lossy(expected)
        );
    }
}

#[test]
fn created_deleted_moved_and_made_executable() {
    let project = Project::with_git();
    project
        .write("gone.txt", "gone\n")
        .write("moved.txt", "moved\n")
        .write("run.sh", "echo\n");
    there_and_back(
        &project,
        "echo new > new.txt; rm gone.txt; mkdir -p d/e; mv moved.txt d/e/; chmod +x run.sh",
    );
}

#[test]
fn folders_and_files_and_links_in_each_others_places() {
    let project = Project::with_git();
    project
        .write("d/a", "a\n")
        .write("d/deep/b", "b\n")
        .write("file", "f\n")
        .write("l", "l\n");
    project.write("dir/x", "x\n");
    there_and_back(
        &project,
        "rm -r d; echo d > d; rm file; mkdir file; echo in > file/in; rm l; ln -s /etc/passwd l; \
         mv dir elsewhere; ln -s elsewhere dir; ln -s nowhere dangling",
    );
}

#[test]
fn odd_names() {
    let project = Project::with_git();
    let odd = OsStr::from_bytes(b"no\nutf \xff*");
    std::fs::write(project.root().join(odd), "odd\n").unwrap();
    project.write("star", "s\n");
    there_and_back(
        &project,
        "for f in no*; do echo more >> \"$f\"; done; echo x > ':(top)*'",
    );
}

#[test]
fn line_ends() {
    let project = Project::with_git();
    project.git(["config", "core.autocrlf", "true"]);
    project
        .write("a.txt", "one\r\ntwo\r\n")
        .write("gone.txt", "x\r\ny\r\n");
    there_and_back(
        &project,
        "printf 'one\\r\\nthree\\r\\n' > a.txt; rm gone.txt",
    );
    assert_eq!(project.git(["show", "HEAD:a.txt"]), "one\ntwo\n");
}

#[test]
fn untracked_files_that_were_seen_before() {
    let project = Project::with_git();
    run(&project, &writes("first", &[("a", "a\n")]));
    project
        .write("folder/untracked.txt", "mine\n")
        .write("folder/b/c", "c\n");
    let before = everything(&project);
    run(&project, &script("rm", "rm -r folder; echo new > new"));
    for _ in 0..2 {
        project.clada(["undo"]).exits(0);
        assert!(everything(&project) == before);
        assert_eq!(project.git(["status", "--porcelain"]), "?? folder/\n");
        project.clada(["redo"]).exits(0);
        assert!(!project.exists("folder"));
        clean(&project);
    }
}

#[test]
fn a_folder_with_something_else_in_it_stays() {
    let project = Project::with_git();
    project.write(".gitignore", "*.log\n").commits();
    run(&project, &writes("first", &[("d/a", "a\n")]));
    project.write("d/x.log", "log\n");
    undo(&project);
    assert!(!project.exists("d/a"));
    assert_eq!(project.read("d/x.log"), "log\n");
}

#[test]
fn where_one_file_cannot_be_written_all_are_put_back() {
    let project = Project::with_git();
    project
        .write("a", "a\n")
        .write("d/b", "b\n")
        .write("z", "z\n")
        .commits();
    run(
        &project,
        &script("all", "for f in a d/b z; do echo new > $f; done"),
    );
    std::fs::hard_link(project.path("z"), project.home().join("z")).unwrap();
    refused(&project, ["undo"], "hard links");
    std::fs::remove_file(project.home().join("z")).unwrap();
    // A folder without a file in it is nothing to git, and here in the way.
    run(&project, &script("rm", "rm z"));
    std::fs::create_dir_all(project.path("z/empty")).unwrap();
    let before = project.git(["rev-parse", "HEAD"]);
    let ended = project.clada(["undo", "2"]).exits(1);
    assert!(
        ended.err.contains("`z`")
            && ended
                .err
                .contains(". The files are as they were before: fix that, then try again"),
        "{}",
        ended.err
    );
    assert_eq!(project.git(["rev-parse", "HEAD"]), before);
    assert_eq!(project.read("d/b"), "new\n");
    clean(&project);
}

#[test]
fn an_undo_that_was_cut_short_is_ended_by_another() {
    let project = Project::with_git();
    project.write("a", "a\n").write("b", "b\n").commits();
    run(
        &project,
        &script("all", "echo new > a; echo new > b; echo new > c"),
    );
    // As if the power had failed when one file was back.
    project.write("a", "a\n");
    undo(&project);
    assert_eq!(
        (project.read("a"), project.read("b")),
        ("a\n".into(), "b\n".into())
    );
    assert!(!project.exists("c"));
}

#[test]
fn two_thousand_files() {
    let project = Project::with_git();
    there_and_back(&project, "for i in $(seq 2000); do echo $i > f$i; done");
}
