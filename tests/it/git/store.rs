//! Tasks, and what the private repository has, for the tests of what goes there.

use std::path::PathBuf;

use crate::harness::{Ended, Project};

/// A reply of these tasks.
pub(super) fn reply(tasks: &[String]) -> String {
    format!("<tasks>\n{}</tasks>\n", tasks.concat())
}

pub(super) fn overwrite(path: &str, text: &str) -> String {
    format!("<task>\n<path>{path}</path>\n<c>overwrite</c>\n<x>\n{text}\n</x>\n</task>\n")
}

pub(super) fn delete(path: &str) -> String {
    format!("<task>\n<path>{path}</path>\n<c>delete</c>\n</task>\n")
}

pub(super) fn move_to(path: &str, to: &str) -> String {
    format!("<task>\n<path>{path}</path>\n<c>move</c>\n<x>{to}</x>\n</task>\n")
}

pub(super) fn exec(script: &str) -> String {
    format!("<task>\n<c>exec</c>\n<x>\n{script}\n</x>\n</task>\n")
}

/// Runs a reply of these tasks.
pub(super) fn run(project: &Project, tasks: &[String]) -> Ended {
    project.clada_with(["run"], &reply(tasks))
}

/// The line that tells what was saved.
pub(super) fn saved(ended: &Ended) -> String {
    let results = ended.results();
    let line = results.lines().find(|line| line.starts_with("💚"));
    line.unwrap_or_else(|| panic!("{results}")).to_owned()
}

/// The private repositories of a project's user.
pub(super) fn stores(project: &Project) -> Vec<PathBuf> {
    let folder = project.state_folder().join("snapshots");
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut stores: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    stores.sort();
    stores
}

/// Runs git on the only private repository.
#[track_caller]
pub(super) fn in_store<const N: usize>(project: &Project, args: [&str; N]) -> String {
    let stores = stores(project);
    let [store] = &stores[..] else {
        panic!("{stores:?}")
    };
    let mut command = project.command("git");
    command.arg("--git-dir").arg(store);
    command.arg("--work-tree").arg(project.root()).args(args);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "git {args:?}: {said}");
    said
}

/// The files in the newest private snapshot.
pub(super) fn stored(project: &Project) -> Vec<String> {
    let files = in_store(project, ["ls-tree", "-r", "--name-only", "HEAD"]);
    files.lines().map(str::to_owned).collect()
}

/// What git finds wrong with a repository.
#[track_caller]
pub(super) fn is_sound(project: &Project) {
    if project.exists(".git") {
        project.git(["fsck", "--strict", "--no-dangling"]);
    }
    if stores(project).len() == 1 {
        in_store(project, ["fsck", "--strict", "--no-dangling"]);
    }
}
