//! The listener as a person meets it: the real program, real saves, real git, real signals.

mod asks;
mod audited;
mod bad_input;
mod broken;
#[cfg(feature = "grammar-python")]
mod chooses;
mod configured;
pub(crate) mod display;
mod editors;
mod floods;
pub(crate) mod idle;
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
mod ticks;
mod unread;
mod walk;
mod watching;

use std::path::Path;
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

/// A folder with notes and the list of the daemon's files.
fn listed(project: &Project, names: &[&str]) {
    let entry = |name: &&str| {
        std::fs::create_dir_all(project.path(name)).expect("mkdir");
        let (file, root) = (project.path(name).join(NOTES), project.path(name));
        format!("[[watch]]\nfile = {file:?}\nroot = {root:?}\n\n")
    };
    let list: String = names.iter().map(entry).collect();
    let folder = project.config_folder();
    std::fs::create_dir_all(&folder).expect("mkdir");
    std::fs::write(folder.join("watched.toml"), list).expect("write");
}

/// A watched file taken apart: its first line, the lines between the markers, the user's text.
pub(crate) struct Notes {
    pub(crate) status: String,
    /// The newest.
    pub(crate) results: Vec<String>,
    /// Those below it that could not be read yet, each under a line with its time.
    pub(crate) earlier: Vec<String>,
    pub(crate) body: String,
}

impl Notes {
    /// `None` where no block is on top.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (status, rest) = text.split_once('\n')?;
        let rest = rest.strip_prefix("=== CLADA RESULTS ===\n")?;
        let (results, body) = rest.split_once(END)?;
        let mut results: Vec<String> = results.lines().map(str::to_owned).collect();
        let newest = results.iter().position(|line| is_time(line));
        let earlier = results.split_off(newest.unwrap_or(results.len()));
        Some(Self {
            status: status.to_owned(),
            results,
            earlier,
            body: body.to_owned(),
        })
    }

    #[track_caller]
    pub(crate) fn of(project: &Project) -> Self {
        let text = project.read(NOTES);
        Self::parse(&text).unwrap_or_else(|| panic!("no block on top of {text:?}"))
    }

    /// All lines of the block: the newest results first, then those that could not be read yet.
    pub(crate) fn all(&self) -> Vec<String> {
        [&self.results[..], &self.earlier].concat()
    }

    /// The results without git's line.
    pub(crate) fn tasks(&self) -> Vec<&str> {
        let is_saving = |line: &&String| line.contains("git") || line.starts_with("💚");
        let tasks = self.results.iter().filter(|line| !is_saving(line));
        tasks.map(String::as_str).collect()
    }
}

/// Whether a line is the one above earlier results: `--- 10:32:40 ---`.
fn is_time(line: &str) -> bool {
    let time = line
        .strip_prefix("--- ")
        .and_then(|line| line.strip_suffix(" ---"));
    let is_digit = |c: char| c.is_ascii_digit() || c == ':';
    time.is_some_and(|time| time.len() == 8 && time.chars().all(is_digit))
}

/// Ticks what the newest results offer; those that only say that a tick did not count offer nothing themselves.
fn tick_newest(text: &str) -> String {
    let block = text.find(END).unwrap_or(0);
    let Some(first) = text[..block].find("- [ ] run") else {
        return text.to_owned();
    };
    let end = text[first..block].find("\n--- ");
    let end = end.map_or(block, |end| first + end);
    let ticked = text[..end].replace("- [ ] run", "- [x] run");
    ticked + &text[end..]
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

/// Waits until the results have been in the notes for so long that they could be read.
pub(crate) fn wait_to_read(notes: &Path) {
    let age = || notes.metadata().ok()?.modified().ok()?.elapsed().ok();
    let is_read = || age().is_some_and(|age| age > Duration::from_millis(3_200));
    wait_until(is_read, || "time to pass".to_owned());
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

/// Gives what should not happen the time to happen, where the listener is not told of anything, or is busy: else wait for
/// the look in which it would happen, with [`Watching::until_it_looked`].
pub(crate) fn pause() {
    std::thread::sleep(Duration::from_millis(300));
}
