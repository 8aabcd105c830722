//! Older states are looked at, and what was there comes back.

use super::*;
use crate::harness::wait_until;

fn three() -> Project {
    three_in(Project::with_git())
}

fn three_in(project: Project) -> Project {
    for text in ["one\n", "two\n", "three\n"] {
        run(&project, &writes(text.trim(), &[("a.txt", text)]));
    }
    project
}

#[test]
fn there_and_back() {
    let project = three();
    project
        .write("a.txt", "not saved\n")
        .write("new.txt", "untracked\n");
    project.git(["add", "new.txt"]);
    let status = project.git(["status", "--porcelain"]);
    let head = project.git(["rev-parse", "HEAD"]);
    let said = project.clada(["step-back"]).exits(0).out;
    assert!(
        said.starts_with("1 back: ")
            && said.contains(" three (")
            && said.ends_with(
                "return to the present with `clada step-forward --end`, or continue from here with `clada step-forward --stay`\n"
            ),
        "{said}"
    );
    assert_eq!(project.read("a.txt"), "three\n");
    assert!(!project.exists("new.txt"));
    project.clada(["step-back", "2"]).exits(0);
    assert_eq!(project.read("a.txt"), "one\n");
    refused(&project, ["step-back"], "no older state exists here");
    project.clada(["step-forward"]).exits(0);
    assert_eq!(project.read("a.txt"), "two\n");
    assert_eq!(project.git(["rev-parse", "HEAD"]), head);

    let ended = project
        .clada_with(["run"], &writes("x", &[("x", "x\n")]))
        .exits(1);
    assert!(ended.out.contains("step-forward --end"), "{}", ended.out);
    refused(&project, ["undo"], "step-forward --end");

    let back = project.clada(["step-forward", "5"]).exits(0).out;
    assert_eq!(back, "the files are in their present state again\n");
    assert_eq!(project.read("a.txt"), "not saved\n");
    assert_eq!(project.read("new.txt"), "untracked\n");
    assert_eq!(project.git(["status", "--porcelain"]), status);
    assert_eq!(project.git(["for-each-ref", "refs/clada"]), "");
    refused(
        &project,
        ["step-forward"],
        "you are not looking at an older state: `clada step-back` shows one",
    );
    run(&project, &writes("x", &[("x", "x\n")]));
    clean(&project);
}

#[test]
fn a_commit_of_the_user_is_named_so() {
    let project = Project::with_git();
    project.write("mine.txt", "mine\n").commits();
    run(&project, &writes("one", &[("a.txt", "one\n")]));
    let said = project.clada(["step-back"]).exits(0).out;
    assert!(said.contains(", your own commit\n"), "{said}");
}

#[test]
fn edits_meanwhile_are_kept() {
    let project = three();
    project.write("a.txt", "not saved\n");
    project.clada(["step-back", "2"]).exits(0);
    assert_eq!(project.read("a.txt"), "two\n");
    project
        .write("a.txt", "edited\n")
        .write("beside.txt", "new\n");
    refused(
        &project,
        ["step-forward", "--end"],
        "`a.txt` changed after the older state was shown",
    );
    refused(
        &project,
        ["step-back"],
        "`a.txt` changed after the older state was shown",
    );
    let said = project.clada(["step-forward", "--stay"]).exits(0).out;
    assert_eq!(project.read("a.txt"), "edited\n");
    let kept = said.split('`').nth(1).unwrap().to_owned();
    assert_eq!(
        said,
        format!(
            "the files stay as they are now. Their previous state is in `{kept}`: show it with `git log -p -1 {kept}`, or \
             restore a file with `git restore --source={kept} PATH`\n"
        )
    );
    assert_eq!(
        project.git(["show", &format!("{kept}:a.txt")]),
        "not saved\n"
    );
    run(&project, &writes("x", &[("x", "x\n")]));
    assert_eq!(project.git(["status", "--porcelain"]), "?? beside.txt\n");
    assert_eq!(project.read("a.txt"), "edited\n");
}

#[test]
fn what_was_left_each_time_is_kept() {
    let project = three();
    let left = |text: &str| {
        project.write("a.txt", text);
        project.clada(["step-back"]).exits(0);
        project.write("a.txt", "edited\n");
        let said = project.clada(["step-forward", "--stay"]).exits(0).out;
        said.split('`').nth(1).unwrap().to_owned()
    };
    let (one, two) = (left("not saved\n"), left("nor this\n"));
    let held = |name: &str| project.git(["show", &format!("{name}:a.txt")]);
    assert_eq!(held(&one), "not saved\n");
    assert_eq!(held(&two), "nor this\n");
}

#[test]
fn what_the_user_has_put_back_meanwhile_is_not_in_the_way() {
    let project = three();
    project
        .write("a.txt", "not saved\n")
        .write("new.txt", "new\n");
    project.clada(["step-back", "2"]).exits(0);
    assert_eq!(project.read("new.txt"), "new\n", "git knows nothing of it");
    project.write("a.txt", "not saved\n");
    project.clada(["step-back"]).exits(0);
    assert_eq!(project.read("a.txt"), "one\n");
    project.write("a.txt", "not saved\n");
    project.clada(["step-forward", "--end"]).exits(0);
    assert_eq!(project.read("a.txt"), "not saved\n");
    assert_eq!(project.read("new.txt"), "new\n");
    assert_eq!(project.git(["for-each-ref", "refs/clada"]), "");
}

#[test]
fn a_folder_that_gets_a_repository_meanwhile() {
    let project = Project::new();
    run(&project, &writes("one", &[("a.txt", "one\n")]));
    run(&project, &writes("two", &[("a.txt", "two\n")]));
    project.write("a.txt", "not saved\n");
    project.clada(["step-back", "2"]).exits(0);
    project.git(["init", "-q"]);
    let said = project.clada(["undo"]).exits(1).err;
    assert!(said.contains("you are looking at an older state: return with `clada step-forward --end`, or continue from here with `clada step-forward --stay`"), "{said}");
    project
        .clada_with(["run"], &writes("x", &[("x", "x\n")]))
        .exits(1);
    project.clada(["step-forward", "--end"]).exits(0);
    assert_eq!(project.read("a.txt"), "not saved\n");
    run(&project, &writes("x", &[("x", "x\n")]));
}

#[test]
fn new_and_ignored_files_stay() {
    let project = three();
    project.write(".gitignore", "build/\n").commits();
    run(&project, &writes("four", &[("a.txt", "four\n")]));
    project.write("build/big", "x\n");
    project.clada(["step-back", "3"]).exits(0);
    assert_eq!(project.read("a.txt"), "two\n");
    assert!(!project.exists(".gitignore"));
    assert_eq!(project.read("build/big"), "x\n");
    project.clada(["step-forward", "--end"]).exits(0);
    assert_eq!(project.read("a.txt"), "four\n");
    clean(&project);
}

#[test]
fn a_step_that_was_cut_short_can_be_gone_on_from() {
    let project = three();
    run(
        &project,
        &writes("four", &[("a.txt", "four\n"), ("b.txt", "four\n")]),
    );
    project
        .write("a.txt", "not saved\n")
        .write("b.txt", "nor this\n");
    project.clada(["step-back", "2"]).exits(0);
    assert!(!project.exists("b.txt"));
    // As if clada had been killed in the middle of the way back.
    let refs = project.git(["for-each-ref", "--format=%(refname)", "refs/clada/looking"]);
    let name = |last: &str| {
        refs.lines()
            .find(|name| name.ends_with(last))
            .unwrap()
            .to_owned()
    };
    project.git(["update-ref", &name("/to"), &name("/present")]);
    project.write("b.txt", "nor this\n");
    project.clada(["step-forward", "--end"]).exits(0);
    assert_eq!(project.read("a.txt"), "not saved\n");
    assert_eq!(project.read("b.txt"), "nor this\n");
    assert_eq!(project.git(["for-each-ref", "refs/clada"]), "");
}

#[test]
fn a_reply_waits_until_looking_is_over() {
    for project in [Project::with_git(), Project::new()] {
        let project = three_in(project);
        project.write("clada.md", "notes\n");
        let watching = project.watch(["--no-clipboard"]);
        project.clada(["step-back"]).exits(0);
        let reply = writes("late", &[("late.txt", "late\n")]);
        project.write("clada.md", format!("notes\n{reply}"));
        let told = || project.read("clada.md").contains("step-forward --end");
        wait_until(told, || watching.said());
        assert!(!project.exists("late.txt"));
        project.clada(["step-forward", "--end"]).exits(0);
        wait_until(|| project.exists("late.txt"), || watching.said());
    }
}
