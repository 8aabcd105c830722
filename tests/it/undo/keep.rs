//! Files that changed since.

use super::*;

const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

fn edited() -> Project {
    let project = Project::with_git();
    project
        .write("a.txt", LINES)
        .write("b.txt", LINES)
        .commits();
    let new = LINES.replace('2', "two");
    run(
        &project,
        &writes("edit", &[("a.txt", &new), ("b.txt", &new)]),
    );
    project
}

#[test]
fn other_lines_are_kept() {
    let project = edited();
    project.write("a.txt", LINES.replace('2', "two").replace('8', "mine"));
    refused(&project, ["undo"], "`a.txt` changed since");
    done(&project, ["undo", "--keep"]);
    assert_eq!(project.read("a.txt"), LINES.replace('8', "mine"));
    assert_eq!(project.read("b.txt"), LINES);
    done(&project, ["redo"]);
    assert_eq!(
        project.read("a.txt"),
        LINES.replace('2', "two").replace('8', "mine")
    );
}

#[test]
fn the_same_lines_collide_and_nothing_is_changed() {
    let project = edited();
    project.write("a.txt", LINES.replace('2', "mine"));
    refused(
        &project,
        ["undo", "--keep"],
        "`a.txt` changed since in the same lines",
    );
    project.write("a.txt", LINES);
    done(&project, ["undo"]);
    assert_eq!(project.read("b.txt"), LINES, "and a.txt was so already");
}

#[test]
fn a_file_that_was_deleted_since_is_in_the_way() {
    let project = edited();
    std::fs::remove_file(project.path("a.txt")).unwrap();
    refused(&project, ["undo"], "`a.txt` changed since");
    refused(
        &project,
        ["undo", "--keep"],
        "`a.txt` changed since in the same lines",
    );
}

#[test]
fn a_file_that_git_would_not_save_is_not_lost() {
    let project = Project::with_git();
    run(&project, &writes("first", &[("a.txt", "one\n")]));
    run(&project, &writes("second", &[("a.txt", "two\n")]));
    project.write(".git/info/exclude", "secret\n");
    run(
        &project,
        &script("rm", "rm a.txt; printf 'a.txt\\n' > .gitignore"),
    );
    project.write("a.txt", "mine\n");
    project.write(".git/info/exclude", "a.txt\n");
    refused(&project, ["undo"], "`a.txt` changed since");
    assert_eq!(project.read("a.txt"), "mine\n");
}
