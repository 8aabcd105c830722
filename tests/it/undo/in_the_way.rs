//! What undo and redo say of what is in their way.

use super::*;

/// What a refused command says, with the ids of commits and batches replaced.
#[track_caller]
fn says<const N: usize>(project: &Project, args: [&str; N]) -> String {
    refused(project, args, "these changes are in the way");
    let said = project.clada(args).exits(1).err;
    let mut text = said;
    for batch in project
        .git([
            "log",
            "--format=%(trailers:key=Clada-Batch,valueonly,separator=)",
        ])
        .lines()
        .filter(|id| !id.is_empty())
    {
        text = text.replace(batch, "ID");
    }
    for commit in project.git(["log", "--format=%H"]).lines() {
        text = text.replace(&commit[..7], "COMMIT");
    }
    text
}

fn begun() -> Project {
    let project = Project::with_git();
    project.write("mine.txt", "mine\n");
    project.commit("mine");
    project
}

#[test]
fn an_edit_that_is_not_committed() {
    let project = begun();
    run(
        &project,
        &writes("Add tests", &[("a.txt", "one\n"), ("b.txt", "one\n")]),
    );
    project.write("a.txt", "edited\n");
    assert_eq!(
        says(&project, ["undo"]),
        "clada: nothing was done, because these changes are in the way:\n  \
         `a.txt` changed since: you changed it after this batch and did not commit: set your change aside with `git stash`\n\
         try `--keep`, which merges them unless the same lines changed\n"
    );
    let kept = says(&project, ["undo", "--keep"]);
    assert!(
        kept.contains("`a.txt` changed since in the same lines: you changed it after this batch"),
        "{kept}"
    );
}

#[test]
fn an_edit_in_a_folder_without_git_is_to_be_taken_back_without_it() {
    let project = Project::new();
    run(
        &project,
        &writes("Add tests", &[("a.txt", "one\n"), ("b.txt", "one\n")]),
    );
    project.write("a.txt", "edited\n");
    let edited = project.clada(["undo"]).exits(1).err;
    assert!(
        edited.contains(
            "`a.txt` changed since: you changed it after this batch: take that change back first\n"
        ),
        "{edited}"
    );
    run(&project, &writes("Add a form", &[("c.txt", "one\n")]));
    let edited = project.clada(["undo", "2"]).exits(1).err;
    assert!(
        edited.contains("you changed it before \"Add a form\": take that change back first\n"),
        "{edited}"
    );
    project.write("a.txt", "one\n");
    project.clada(["undo", "2"]).exits(0);
    assert!(!project.exists("a.txt"));
}

#[test]
fn a_commit_of_the_user_s() {
    let project = begun();
    run(&project, &writes("Add tests", &[("a.txt", "one\n")]));
    project.write("other.txt", "other\n");
    project.commit("Something else");
    project.write("a.txt", "fixed\n");
    project.commit("Fix typo");
    project.write("other.txt", "still other\n");
    project.commit("Something else again");
    let said = says(&project, ["undo"]);
    assert!(
        said.contains(
            "`a.txt` changed since: commit COMMIT \"Fix typo\": revert that first with `git revert COMMIT`\n"
        ),
        "{said}"
    );
    // And what is on top of it.
    project.write("a.txt", "edited\n");
    let said = says(&project, ["undo"]);
    assert!(
        said.contains(
            "did not commit: set your change aside with `git stash`; commit COMMIT \"Fix typo\""
        ),
        "{said}"
    );
}

#[test]
fn a_newer_batch_and_what_was_there_before_it() {
    let project = begun();
    run(
        &project,
        &writes("Add a form", &[("a.txt", "one\n"), ("b.txt", "one\n")]),
    );
    project.write("b.txt", "edited\n");
    run(&project, &writes("Add tests", &[("a.txt", "two\n")]));
    let form = id_of(&project, "Add a form");
    let said = says(&project, ["undo", &form]);
    assert!(
        said.contains(
            "`a.txt` changed since: batch ID, \"Add tests\": revert that first with `clada undo ID`\n  \
             `b.txt` changed since: you changed it before \"Add tests\": revert that first with `git revert COMMIT`\n"
        ),
        "{said}"
    );
    // What it says works.
    project.write("b.txt", "one\n");
    let tests = id_of(&project, "Add tests");
    done(&project, ["undo", &tests]);
    done(&project, ["undo", &form]);
    assert!(!project.exists("a.txt"));
}

#[test]
fn what_is_between_the_batches_that_are_taken_back() {
    let project = begun();
    run(&project, &writes("one", &[("a.txt", "one\n")]));
    project.write("a.txt", "fixed\n");
    project.commit("Fix typo");
    run(&project, &writes("two", &[("a.txt", "two\n")]));
    let said = says(&project, ["undo", "2"]);
    assert!(
        said.contains("`a.txt` changed since: commit COMMIT \"Fix typo\": revert"),
        "{said}"
    );
}

#[test]
fn what_is_in_the_way_of_redo() {
    let project = begun();
    project.write("a.txt", "one\n");
    project.commit("begun");
    run(&project, &writes("Add tests", &[("a.txt", "two\n")]));
    undo(&project);
    run(&project, &writes("Other tests", &[("a.txt", "three\n")]));
    let said = says(&project, ["redo"]);
    assert!(
        said.contains("`a.txt` changed since: batch ID, \"Other tests\": revert that first with `clada undo ID`"),
        "{said}"
    );
}
