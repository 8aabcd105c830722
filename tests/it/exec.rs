//! Commands from end to end, through the real program: what is seen of them, how they end, what they may do, and what
//! they are given.

mod ending;
mod environment;
mod languages;
mod output;
mod settings;
mod streaming;

use std::process::Command;

use crate::harness::{Ended, Project};

/// A task that runs a script; the attributes are those of its `<x>`.
fn task(attributes: &str, script: &str) -> String {
    format!("<task>\n<c>exec</c>\n<x {attributes}>\n{script}\n</x>\n</task>\n")
}

/// A reply that runs these scripts.
fn reply(scripts: &[&str]) -> String {
    let tasks: String = scripts.iter().map(|script| task("", script)).collect();
    format!("<tasks>\n{tasks}</tasks>\n")
}

fn clada(project: &Project, args: &[&str], vars: &[(&str, &str)]) -> Command {
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.args(args).envs(vars.iter().copied());
    command
}

/// Runs these scripts without git.
fn run(project: &Project, vars: &[(&str, &str)], scripts: &[&str]) -> Ended {
    Ended::of(clada(project, &["run", "--no-git"], vars), &reply(scripts))
}

/// The lines of the tasks. A system without a fence has one more, that says so.
fn tasks(ended: &Ended) -> String {
    let results = ended.results();
    let lines = results.split_inclusive('\n');
    lines
        .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()))
        .collect()
}

/// What a single script prints. It must succeed.
#[track_caller]
fn printed(project: &Project, vars: &[(&str, &str)], script: &str) -> String {
    let run = Ended::of(
        clada(project, &["run", "--no-git", "--json"], vars),
        &reply(&[script]),
    );
    let run = run.exits(0).json();
    let out = &run["results"][0]["data"]["stdout"];
    out.as_str().expect("stdout").to_owned()
}

/// Asserts that the processes have ended whose numbers scripts wrote into these files.
#[track_caller]
fn all_over(project: &Project, files: &[&str]) {
    for file in files {
        let pids = project.read(file);
        assert!(!pids.trim().is_empty(), "{file} is empty");
        for pid in pids.split_whitespace() {
            assert!(!project.command_runs(pid), "{pid} of {file} still runs");
        }
    }
}
