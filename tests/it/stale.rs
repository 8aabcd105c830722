//! An edit of a text that was in the file until lately: the failure says since when it is not, and what changed.

use crate::harness::{Ended, Project};

fn edit(search: &str, replace: &str) -> String {
    format!(
        "<tasks>\n<task>\n<path>a.txt</path>\n<c>edit</c>\n<search>\n{search}\n</search>\n\
         <replace>\n{replace}\n</replace>\n</task>\n</tasks>\n"
    )
}

fn run(project: &Project, reply: &str) -> Ended {
    project.clada_with(["run", "--message", "rename it"], reply)
}

/// A file in which `fn two()` has become `fn second()`, by clada.
fn renamed() -> Project {
    let project = Project::with_git();
    let far: String = (0..30).map(|line| format!("line {line}\n")).collect();
    project.write(
        "a.txt",
        format!("fn one()\nfn two()\nfn three()\n{far}end\n"),
    );
    project.commits();
    run(&project, &edit("fn two()", "fn second()")).exits(0);
    project
}

#[test]
fn the_failure_says_since_when_and_shows_what_changed() {
    let project = renamed();
    let commit = project.git(["rev-parse", "--short=7", "HEAD"]);
    // Another place has changed too, later: that has nothing to do with it.
    run(&project, &edit("end", "the end")).exits(0);
    let ended = run(
        &project,
        &edit("fn two()\nfn three()", "fn two_and_three()"),
    )
    .exits(1);
    let results = ended.results();
    let says = format!(
        "search text not found: it was there until {} (",
        commit.trim()
    );
    assert!(results.contains(&says), "{results}");
    assert!(results.contains("\"rename it\")"), "{results}");
    assert!(results.contains("edit what is there now"), "{results}");
    assert!(
        ended.out.contains("-fn two()\n+fn second()\n"),
        "{}",
        ended.out
    );
    assert!(!ended.out.contains("+the end"), "{}", ended.out);
}

#[test]
fn a_change_of_the_user_counts_too() {
    let project = renamed();
    project.write("a.txt", "all new\n");
    let ended = run(&project, &edit("fn second()", "fn third()")).exits(1);
    let results = ended.results();
    let commit = project.git(["rev-parse", "--short=7", "HEAD"]);
    let says = format!("it was there until {} (", commit.trim());
    assert!(results.contains(&says), "{results}");
}

#[test]
fn what_never_was_there_is_told_as_ever() {
    let project = renamed();
    let results = run(&project, &edit("fn four()", "")).exits(1).results();
    assert!(
        results.contains("search text not found: it must match"),
        "{results}"
    );
    // In a folder below the top, and through a link.
    project.write("sub/b.txt", "old\n");
    project.git(["add", "."]);
    project.git(["commit", "-qm", "by hand"]);
    project.write("sub/b.txt", "new\n");
    std::os::unix::fs::symlink("b.txt", project.path("sub/link")).expect("link");
    let reply = edit("old", "older").replace("a.txt", "link");
    let ended = project
        .clada_with(["run", "--root", "sub"], &reply)
        .exits(1);
    assert!(
        ended.results().contains("it was there until "),
        "{}",
        ended.out
    );
}

#[test]
fn nothing_of_a_secret_is_shown() {
    let project = Project::with_git();
    project.write(".env", "KEY=one\n");
    let reply = |search: &str| edit(search, "KEY=two").replace("a.txt", ".env");
    run(&project, &reply("KEY=one")).exits(0);
    let ended = run(&project, &reply("KEY=one\n")).exits(1);
    assert!(!ended.out.contains("-KEY"), "{}", ended.out);
}
