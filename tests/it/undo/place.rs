//! Undo in each kind of repository, and beside a clada that watches.

use super::*;
use crate::harness::wait_until;

#[test]
fn the_first_commit_of_all() {
    let project = Project::with_git();
    run(&project, &writes("first", &[("a.txt", "one\n")]));
    undo(&project);
    assert!(!project.exists("a.txt"));
    done(&project, ["redo"]);
    assert_eq!(project.read("a.txt"), "one\n");
}

#[test]
fn a_root_below_the_top_leaves_the_rest_alone() {
    let project = Project::with_git();
    project
        .write("sub/a.txt", "one\n")
        .write("other.txt", "one\n");
    project.commit("first");
    let reply = writes("second", &[("a.txt", "two\n")]);
    project
        .clada_with(["run", "--root", "sub"], &reply)
        .exits(0);
    // Of another length: git compares times by the second.
    project.write("other.txt", "changed\n");
    project.clada(["undo", "--root", "sub"]).exits(0);
    assert_eq!(project.read("sub/a.txt"), "one\n");
    assert_eq!(project.read("other.txt"), "changed\n");
    assert_eq!(project.git(["status", "--porcelain"]), " M other.txt\n");
}

#[test]
fn roots_in_one_repository_take_back_their_own_and_nothing_by_half() {
    let project = Project::with_git();
    run(&project, &writes("top", &[("a/t", "1\n"), ("b/t", "1\n")]));
    for (root, message) in [("a", "in a"), ("b", "in b")] {
        let reply = writes(message, &[("f", "1\n")]);
        project.clada_with(["run", "--root", root], &reply).exits(0);
    }
    let said = done(&project, ["undo", "--root", "a"]).out;
    assert!(said.starts_with("undo in a ("), "{said}");
    assert!(!project.exists("a/f") && project.exists("b/f"));
    // Each file is a commit of its own.
    done(&project, ["undo"]);
    assert!(!project.exists("b/f"));
    done(&project, ["redo", "--root", "a"]);
    done(&project, ["redo", "--root", "b"]);
    assert!(project.exists("a/f") && project.exists("b/f"));
    done(&project, ["undo", "--root", "b"]);
    refused(
        &project,
        ["undo", "--root", "b"],
        "` also changed files outside this folder, so nothing was done: go to the folder where it ran, or name that with `--root`",
    );
    done(&project, ["undo", "2"]);
    assert_eq!(project.git(["ls-files"]), "");
}

#[test]
fn a_detached_head() {
    let project = Project::with_git();
    run(&project, &writes("first", &[("a.txt", "one\n")]));
    project.git(["checkout", "-q", "--detach"]);
    run(&project, &writes("second", &[("a.txt", "two\n")]));
    undo(&project);
    assert_eq!(project.read("a.txt"), "one\n");
    assert_eq!(project.git(["rev-parse", "--abbrev-ref", "HEAD"]), "HEAD\n");
}

#[test]
fn a_linked_work_tree() {
    let project = Project::with_git();
    run(&project, &writes("first", &[("a.txt", "one\n")]));
    let linked = project.home().join("linked");
    let linked = linked.to_str().unwrap();
    project.git(["worktree", "add", "-q", linked]);
    let reply = writes("second", &[("a.txt", "two\n")]);
    project
        .clada_with(["run", "--root", linked], &reply)
        .exits(0);
    project.clada(["undo", "--root", linked]).exits(0);
    assert_eq!(
        std::fs::read_to_string(project.home().join("linked/a.txt")).unwrap(),
        "one\n"
    );
    assert_eq!(project.git(["-C", linked, "status", "--porcelain"]), "");
    project.git(["fsck", "--strict"]);
    project.clada(["step-back", "--root", linked]).exits(0);
    // The other work tree is not looked at.
    run(&project, &writes("third", &[("a.txt", "three\n")]));
    project.clada(["step-forward", "--root", linked]).exits(0);
}

#[test]
fn beside_the_branch() {
    let project = Project::with_git();
    project.write("a.txt", "zero\n");
    project.commit("first");
    let head = project.git(["rev-parse", "HEAD"]);
    project.configure("[git]\ntarget = \"side\"\n");
    run(
        &project,
        &writes("first", &[("a.txt", "one\n"), ("b.txt", "b\n")]),
    );
    project.clada(["undo"]).exits(0);
    assert_eq!(project.read("a.txt"), "zero\n");
    clean(&project);
    project.clada(["redo"]).exits(0);
    assert_eq!(project.read("b.txt"), "b\n");
    assert_eq!(project.git(["rev-parse", "HEAD"]), head);
}

#[test]
fn a_folder_without_a_repository() {
    let project = Project::new();
    project.write("a.txt", "zero\r\nmixed\n");
    run(&project, &writes("first", &[("a.txt", "one\n")]));
    project.clada(["undo"]).exits(0);
    assert_eq!(project.read("a.txt"), "zero\r\nmixed\n");
    project.clada(["redo"]).exits(0);
    assert_eq!(project.read("a.txt"), "one\n");
    let shown = project.clada(["diff"]).exits(0).out;
    assert!(shown.contains("+one\n"), "{shown}");
}

#[test]
fn a_merge_that_is_going_on() {
    let project = Project::with_git();
    run(&project, &writes("first", &[("a.txt", "one\n")]));
    let head = project.git(["rev-parse", "HEAD"]);
    project.write(".git/MERGE_HEAD", head);
    refused(&project, ["undo"], "a merge is in progress");
}

#[test]
fn the_notes_are_not_touched_and_nothing_runs_again() {
    let project = Project::with_git();
    project.write("clada.md", "notes\n");
    let watching = project.watch(["--no-clipboard"]);
    let reply = writes("first", &[("a.txt", "one\n")]);
    project.write("clada.md", format!("notes\n{reply}"));
    wait_until(
        || project.read("clada.md").contains("=== END"),
        || watching.said(),
    );
    let notes = project.read("clada.md");
    let log = project.clada(["log"]).exits(0).out;
    let id = id_of(&project, "first");
    assert!(log.contains(&id), "{log}");
    project.clada(["undo", &id]).exits(0);
    assert!(!project.exists("a.txt"));
    assert_eq!(project.read("clada.md"), notes);
    // A reply that was undone and stands there still is not run again by a save; another one is.
    let next = writes("second", &[("b.txt", "b\n")]);
    project.write("clada.md", format!("{notes}\n{next}"));
    wait_until(|| project.exists("b.txt"), || watching.said());
    assert_eq!(watching.stop(rustix::process::Signal::INT), Some(0));
    assert!(!project.exists("a.txt"));
    project.clada(["redo"]).exits(0);
    assert_eq!(project.read("a.txt"), "one\n");
}

#[test]
fn files_that_git_leaves_out() {
    let project = Project::with_git();
    project
        .write(".gitignore", "*.env\n")
        .write("a.env", "mine\n")
        .write("b.env", "b\n")
        .commits();
    let delete = "<task><path>b.env</path><c>delete</c></task>\n</tasks>";
    let reply = writes(
        "both",
        &[
            ("a.env", "theirs\n"),
            ("new.env", "new\n"),
            ("seen.txt", "seen\n"),
        ],
    );
    run(&project, &reply.replace("</tasks>", delete));
    let after = || {
        assert_eq!(project.read("a.env"), "theirs\n");
        assert_eq!(project.read("new.env"), "new\n");
        assert!(!project.exists("b.env") && project.exists("seen.txt"));
    };
    let before = || {
        assert_eq!(project.read("a.env"), "mine\n");
        assert_eq!(project.read("b.env"), "b\n");
        assert!(!project.exists("new.env") && !project.exists("seen.txt"));
    };
    after();
    undo(&project);
    before();
    done(&project, ["redo"]);
    after();
    project.write("a.env", "edited\n");
    refused(&project, ["undo"], "`a.env` changed since");
    project.write("a.env", "theirs\n");
    undo(&project);
    before();

    // What only such files are in has no commit on the branch.
    run(&project, &writes("only", &[("a.env", "once more\n")]));
    let head = project.git(["rev-parse", "HEAD"]);
    let said = undo(&project).out;
    assert!(
        said.contains(
            "💚 saved in a private snapshot, as git ignores these files; `clada redo` reverts it\n"
        ),
        "{said}"
    );
    before();
    refused(&project, ["undo"], "nothing to undo");
    done(&project, ["redo"]);
    assert_eq!(project.read("a.env"), "once more\n");
    assert_eq!(project.git(["rev-parse", "HEAD"]), head);
    let shown = project.clada(["diff"]).exits(0).out;
    assert!(shown.contains("+once more\n"), "{shown}");
}
