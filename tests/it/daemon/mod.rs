//! The listener as a person meets it: the real program, real saves, real git, real signals.

mod asks;
mod audited;
mod bad_input;
mod chooses;
mod configured;
pub(crate) mod display;
mod editors;
mod idle;
mod kill;
mod many;
mod options;
mod originals;
mod race;
mod remembers;
mod retry;
mod runs;
mod saves;
mod scarce;
mod stop;
mod watching;

use std::time::{Duration, SystemTime};

use crate::harness::{Project, Watching, save_by_rename, wait_until};

pub(crate) const NOTES: &str = "clada.md";
pub(crate) const OUTPUT: &str = ".clada-output-latest.txt";

/// The line that ends a block, and its blank line.
const END: &str = "=== END ===\n\n";

/// A task that runs a script.
fn exec_task(script: &str) -> String {
    format!("<task>\n<c>exec</c>\n<x>\n{script}\n</x>\n</task>\n")
}

/// A reply whose one task runs a script.
pub(crate) fn exec(script: &str) -> String {
    format!("<tasks>\n{}</tasks>\n", exec_task(script))
}

/// A command that writes this word into `runs.txt`.
pub(crate) fn record(word: &str) -> String {
    format!("echo {word} >> runs.txt")
}

/// A reply that records this word, below a line of prose of its own.
pub(crate) fn reply(word: &str) -> String {
    format!("reply {word}:\n{}", exec(&record(word)))
}

/// A watched file taken apart: its first line, the lines between the markers, the user's text.
pub(crate) struct Notes {
    pub(crate) status: String,
    pub(crate) results: Vec<String>,
    pub(crate) body: String,
}

impl Notes {
    /// `None` where no block is on top.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (status, rest) = text.split_once('\n')?;
        let rest = rest.strip_prefix("=== CLADA RESULTS ===\n")?;
        let (results, body) = rest.split_once(END)?;
        Some(Self {
            status: status.to_owned(),
            results: results.lines().map(str::to_owned).collect(),
            body: body.to_owned(),
        })
    }

    #[track_caller]
    pub(crate) fn of(project: &Project) -> Self {
        let text = project.read(NOTES);
        Self::parse(&text).unwrap_or_else(|| panic!("no block on top of {text:?}"))
    }

    /// The results without git's line.
    pub(crate) fn tasks(&self) -> Vec<&str> {
        let is_saving = |line: &&String| line.contains("git") || line.starts_with("💚");
        let tasks = self.results.iter().filter(|line| !is_saving(line));
        tasks.map(String::as_str).collect()
    }
}

fn listen(project: &Project) -> Watching {
    project.watch(["--no-git", "--no-clipboard"])
}

/// Saves another text below the results, where there are any.
fn save(project: &Project, body: &str) {
    let text = std::fs::read_to_string(project.path(NOTES)).unwrap_or_default();
    let block = text.find(END).map_or("", |end| &text[..end + END.len()]);
    save_by_rename(&project.path(NOTES), format!("{block}{body}"));
}

/// Waits for a block with this in it.
#[track_caller]
pub(crate) fn wait_for_results(project: &Project, text: &str) -> Notes {
    let holds = || {
        let notes = std::fs::read_to_string(project.path(NOTES)).unwrap_or_default();
        Notes::parse(&notes)
            .is_some_and(|notes| notes.results.iter().any(|line| line.contains(text)))
    };
    wait_until(holds, || {
        format!(
            "{text:?} on top of {:?}",
            std::fs::read_to_string(project.path(NOTES))
        )
    });
    Notes::of(project)
}

/// The lines of a file that scripts append to.
pub(crate) fn lines(project: &Project, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(project.path(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// What ran, by the words that [`record`] leaves.
fn ran(project: &Project) -> Vec<String> {
    lines(project, "runs.txt")
}

pub(crate) fn modified(project: &Project, name: &str) -> SystemTime {
    let meta = project.path(name).metadata().expect("metadata");
    meta.modified().expect("modified")
}

/// Gives what should not happen the time to happen.
pub(crate) fn pause() {
    std::thread::sleep(Duration::from_millis(300));
}
