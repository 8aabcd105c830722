//! What is taken back, done again and looked at, through the real program, with the real git as the judge.

mod files;
mod in_the_way;
mod keep;
mod looking;
mod place;
mod random;
mod story;

use crate::harness::{Ended, Project};

/// A batch that writes these files.
pub(crate) fn writes(message: &str, files: &[(&str, &str)]) -> String {
    let tasks: String = files
        .iter()
        .map(|(path, text)| {
            format!("<task><path>{path}</path><c>overwrite</c><x>\n{text}</x></task>\n")
        })
        .collect();
    format!("<tasks message=\"{message}\">\n{tasks}</tasks>\n")
}

/// A batch that runs a script.
pub(crate) fn script(message: &str, script: &str) -> String {
    format!(
        "<tasks message=\"{message}\">\n<task><c>exec</c><x>\n{script}\n</x></task>\n</tasks>\n"
    )
}

/// Carries out a reply, which must succeed.
#[track_caller]
pub(crate) fn run(project: &Project, reply: &str) {
    project
        .clada_with(["run", "--approve", "--sandbox", "off"], reply)
        .exits(0);
}

#[track_caller]
pub(crate) fn undo(project: &Project) -> Ended {
    done(project, ["undo"])
}

/// A command that must succeed, and leave git content.
#[track_caller]
pub(crate) fn done<const N: usize>(project: &Project, args: [&str; N]) -> Ended {
    let ended = project.clada(args).exits(0);
    clean(project);
    ended
}

/// A command that must refuse, say this, and change nothing.
#[track_caller]
pub(crate) fn refused<const N: usize>(project: &Project, args: [&str; N], says: &str) {
    let state = || {
        let files = project
            .command("sh")
            .args([
                "-c",
                "find . -path ./.git -prune -o -type f -print -exec cat {} +",
            ])
            .output()
            .unwrap();
        (
            project.git(["for-each-ref"]),
            project.git(["status", "--porcelain"]),
            files.stdout,
        )
    };
    let before = state();
    let ended = project.clada(args).exits(1);
    assert!(ended.err.contains(says), "{}", ended.err);
    assert!(state() == before, "it changed something");
    project.git(["fsck", "--strict", "--no-dangling"]);
}

/// Git finds nothing wrong, and nothing uncommitted.
#[track_caller]
pub(crate) fn clean(project: &Project) {
    project.git(["fsck", "--strict", "--no-dangling"]);
    assert_eq!(project.git(["status", "--porcelain"]), "");
}

/// The subjects of the commits, newest first, without the mark.
pub(crate) fn subjects(project: &Project) -> Vec<String> {
    let log = project.git(["log", "--first-parent", "--format=%s"]);
    log.lines()
        .map(|line| line.trim_end_matches(" 💚clada").to_owned())
        .collect()
}

/// The id of the newest batch with that subject.
pub(crate) fn id_of(project: &Project, subject: &str) -> String {
    let log = project.git([
        "log",
        "--format=%s%x09%(trailers:key=Clada-Batch,valueonly,separator=)",
    ]);
    let line = log
        .lines()
        .find(|line| line.starts_with(&format!("{subject} 💚clada\t")));
    line.unwrap().split_once('\t').unwrap().1.to_owned()
}
