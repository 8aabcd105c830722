//! Undo and redo in the plain case, and which batches they mean.

use super::*;

#[test]
fn the_newest_batch_is_taken_back_and_done_again() {
    let project = Project::with_git();
    project.write("kept.txt", "mine\n").commits();
    run(&project, &writes("first", &[("a.txt", "one\n")]));
    project.write("kept.txt", "mine, changed\n");
    run(
        &project,
        &writes("second", &[("a.txt", "two\n"), ("new/b.txt", "b\n")]),
    );
    let id = id_of(&project, "second");
    let said = done(&project, ["undo", "--dry-run"]).out;
    assert_eq!(
        said,
        format!(
            "undo second ({id})\n  would change  a.txt\n  would delete  new/b.txt\n\
             this was a dry run: nothing was changed\n"
        )
    );
    let said = undo(&project).out;
    assert!(
        said.starts_with(&format!(
            "undo second ({id})\n  changed a.txt\n  deleted new/b.txt\n💚 git "
        )),
        "{said}"
    );
    assert_eq!(project.read("a.txt"), "one\n");
    assert!(!project.exists("new"));
    assert_eq!(
        project.read("kept.txt"),
        "mine, changed\n",
        "which was the user's"
    );
    assert_eq!(subjects(&project)[0], "undo: second");
    let said = done(&project, ["redo", "--dry-run"]).out;
    assert!(said.contains("  would restore new/b.txt\n"), "{said}");
    let said = done(&project, ["redo"]).out;
    assert!(said.contains("  added   new/b.txt\n"), "{said}");
    assert_eq!(
        (project.read("a.txt"), project.read("new/b.txt")),
        ("two\n".into(), "b\n".into())
    );
    assert_eq!(subjects(&project)[0], "redo: second");
    refused(
        &project,
        ["redo"],
        "nothing to redo: no undo is left to redo",
    );

    undo(&project);
    undo(&project);
    assert!(!project.exists("a.txt"));
    refused(
        &project,
        ["undo"],
        "nothing to undo: no batch that changed files is left to undo",
    );
    done(&project, ["redo", "2"]);
    assert_eq!(project.read("a.txt"), "two\n");
}

#[test]
fn three_at_once_and_one_by_its_id() {
    let project = Project::with_git();
    for (name, text) in [("one", "1\n"), ("two", "2\n"), ("three", "3\n")] {
        run(&project, &writes(name, &[("same.txt", text), (name, text)]));
    }
    let two = id_of(&project, "two");
    refused(&project, ["undo", &two], "`same.txt` changed since");
    refused(
        &project,
        ["undo", "4"],
        "only 3 batches can be undone here, not 4: nothing was changed; run `clada undo 3` instead",
    );
    refused(
        &project,
        ["undo", "x"],
        "git's history here has no batch `x`: `clada log` shows the ids, and so do the last lines of clada's commits",
    );
    let before = project.git(["rev-parse", "HEAD"]);
    let said = project.clada(["undo", "2", "--dry-run"]).exits(0).out;
    assert!(said.contains("dry run"), "{said}");
    assert_eq!(project.git(["rev-parse", "HEAD"]), before);
    done(&project, ["undo", "3"]);
    assert_eq!(project.git(["ls-files"]), "");
    assert_eq!(subjects(&project)[0], "undo: one; two; three");
    refused(
        &project,
        ["undo", &two],
        "` is already undone: `clada redo` reapplies it",
    );
    refused(
        &project,
        ["redo", "2"],
        "only 1 undo, which reverted 3 batches, can be redone here, not 2: nothing was changed; run `clada redo 1` instead",
    );
    done(&project, ["redo"]);
    assert_eq!(project.read("same.txt"), "3\n");

    run(&project, &writes("other", &[("other", "4\n")]));
    let three = id_of(&project, "three");
    done(&project, ["undo", &three]);
    assert_eq!(project.read("same.txt"), "2\n");
    assert!(project.exists("other"));
    undo(&project);
    assert!(!project.exists("other") && project.exists("two"));
}

#[test]
fn a_run_of_several_batches() {
    let project = Project::with_git();
    let reply = writes("one", &[("one", "1\n")]) + &writes("two", &[("two", "2\n")]);
    run(&project, &reply);
    let id = id_of(&project, "one");
    assert_eq!(id_of(&project, "two"), format!("{id}.2"));
    done(&project, ["undo", &format!("{id}.2")]);
    assert!(project.exists("one") && !project.exists("two"));
    done(&project, ["redo"]);
    done(&project, ["undo", &id]);
    assert!(!project.exists("one") && !project.exists("two"));
}

#[test]
fn what_the_user_had_not_saved_is_saved_first() {
    let project = Project::with_git();
    project.write("mine.txt", "committed\n").commits();
    run(&project, &writes("first", &[("a.txt", "one\n")]));
    project.write("mine.txt", "not committed\n");
    undo(&project);
    assert_eq!(project.read("mine.txt"), "not committed\n");
    assert_eq!(
        subjects(&project)[..2],
        ["undo: first", "before: undo: first"]
    );
    assert!(
        project
            .git(["log", "-1", "--format=%B", "HEAD^"])
            .contains("Clada-Step: before")
    );
}

#[test]
fn redo_is_refused_where_the_user_has_edited_since() {
    let project = Project::with_git();
    run(&project, &writes("first", &[("a.txt", "one\n")]));
    run(&project, &writes("second", &[("a.txt", "two\n")]));
    undo(&project);
    project.write("a.txt", "mine\n");
    refused(&project, ["redo"], "`a.txt` changed since");
    assert_eq!(project.read("a.txt"), "mine\n");
}

#[test]
fn a_task_cannot_undo() {
    let project = Project::with_git();
    run(&project, &writes("first", &[("a.txt", "one\n")]));
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.arg("undo").env("CLADA", "1");
    let ended = Ended::of(command, "").exits(2);
    assert!(ended.err.contains("only you can run"), "{}", ended.err);
}

#[test]
fn diff_shows_a_batch() {
    let project = Project::with_git();
    run(&project, &writes("first", &[("a.txt", "one\n")]));
    run(
        &project,
        &writes("second", &[("a.txt", "two\n"), ("b.txt", "b\n")]),
    );
    let newest = project.clada(["diff"]).exits(0).out;
    assert!(
        newest.contains("-one\n+two\n") && newest.contains("+b\n"),
        "{newest}"
    );
    let first = id_of(&project, "first");
    let shown = project.clada(["diff", &first]).exits(0).out;
    assert!(shown.contains("+one\n"), "{shown}");
    let stat = project.clada(["diff", "--stat"]).exits(0).out;
    assert!(stat.contains("2 files changed"), "{stat}");
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.arg("diff").env("PATH", "/nonexistent");
    let plain = Ended::of(command, "").exits(0).out;
    assert_eq!(plain, newest);
}

#[test]
fn what_was_undone_one_by_one_is_done_again_at_once() {
    let project = Project::with_git();
    for name in ["one", "two", "three"] {
        run(&project, &writes(name, &[(name, "x\n")]));
    }
    undo(&project);
    undo(&project);
    refused(
        &project,
        ["redo", "5"],
        "only 2 batches can be redone here, not 5: nothing was changed; run `clada redo 2` instead",
    );
    refused(
        &project,
        ["undo", "2"],
        "only 1 batch can be undone here, not 2",
    );
    done(&project, ["redo", "2"]);
    refused(&project, ["redo"], "nothing to redo");
    undo(&project);
    assert!(!project.exists("three") && project.exists("two") && project.exists("one"));
    done(&project, ["undo", "2"]);
    assert!(!project.exists("two") && !project.exists("one"));
}

#[test]
fn what_the_user_picks_again_after_an_undo_stands() {
    let project = Project::with_git();
    run(&project, &writes("one", &[("one", "1\n")]));
    run(&project, &writes("two", &[("two", "2\n")]));
    undo(&project);
    project.git(["cherry-pick", "HEAD^"]);
    refused(&project, ["redo"], "nothing to redo");
    undo(&project);
    assert!(project.exists("one") && !project.exists("two"));
    done(&project, ["redo"]);
    assert!(project.exists("two"));
}

#[test]
fn what_the_user_reverts_is_so_already() {
    let project = Project::with_git();
    run(&project, &writes("one", &[("one", "1\n")]));
    run(&project, &writes("two", &[("two", "2\n")]));
    project.git(["revert", "--no-edit", "HEAD"]);
    let said = undo(&project).out;
    assert!(
        said.contains("nothing was changed, as the files are already like that; to include the previous batch, run `clada undo 2`"),
        "{said}"
    );
    done(&project, ["undo", "2"]);
    assert!(!project.exists("one"));
}

#[test]
fn what_was_squashed_is_taken_back_only_by_its_id() {
    let project = Project::with_git();
    project.write("mine", "").commits();
    for name in ["one", "two", "three"] {
        project.write("mine", name);
        run(&project, &writes(name, &[(name, "x\n")]));
    }
    project.clada(["squash", "-n", "3"]).exits(0);
    let id = id_of(&project, "two; three");
    let says = format!(
        "several batches were squashed there, perhaps with changes of yours in between: see `clada diff {id}`, and revert all of it with `clada undo {id}`"
    );
    refused(&project, ["undo"], &says);
    let shown = project.clada(["diff"]).exits(0).out;
    assert!(shown.contains("+++ b/three"), "{shown}");
    done(&project, ["undo", &id]);
    assert!(project.exists("one") && !project.exists("two") && !project.exists("three"));
    undo(&project);
    assert!(!project.exists("one"));
    done(&project, ["redo", "2"]);
    assert!(project.exists("one") && project.exists("three"));
    refused(&project, ["undo"], &format!("`clada undo {id}`"));
}
