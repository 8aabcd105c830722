//! `clada log`: shows what ran, from the ledger. Changes nothing.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

use crate::cli::LogArgs;
use crate::cli::terminal;
use crate::clock;
use crate::cmd::clipboard;
use crate::cmd::notes::{named_file, refuse_missing};
use crate::error::Error;
use crate::git::undo::{self, Mark};
use crate::git::{SnapshotError, Snapshots};
use crate::listener::rules;
use crate::report::one_line;
use crate::report::outcome::Status;
use crate::run::git_line;
use crate::settings::Settings;
use crate::settings::places::{self, Folders};
use crate::start;
use crate::text::duration;
use crate::text::paths;
use crate::world::ledger::{ForeignBlock, Ledger, LogBatch, LogTask};
use crate::world::lock::Lock;
use crate::world::roots;

/// Shows the latest batches, and results of another clada that were removed from notes files.
///
/// # Errors
/// Where the ledger cannot be read.
pub fn main(args: &LogArgs) -> Result<ExitCode, Error> {
    if args.batch.is_some() {
        let packet = clipboard::packet(args.file.as_deref(), None, args.batch.as_deref())?;
        return clipboard::print(&packet);
    }
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let roots = roots::all(&folders.roots());
    let files = match (&args.file, args.here) {
        (Some(file), _) => {
            let file = named_file(&folders, file, None)?;
            refuse_missing(&folders, &file, None)?;
            Some(vec![start::canonical(&file)])
        }
        (None, true) => Some(files_here(&roots, args.root.as_deref())?),
        (None, false) => None,
    };
    let mut entries = match Ledger::read(&folders.state)? {
        Some(ledger) => newest(&ledger, args.number, files.as_deref())?,
        None => Vec::new(),
    };
    mark(&mut entries, &roots, &folders);
    let mut out = terminal::stdout();
    if args.json {
        let entries = entries.iter().map(LogEntry::json);
        terminal::print_json(&entries.collect::<Value>())?;
    } else if entries.is_empty() {
        let nothing = if args.here {
            "nothing has run here yet: `clada log` shows what ran elsewhere"
        } else {
            "nothing has run yet: the log begins with the first reply"
        };
        writeln!(out, "{nothing}")?;
    } else {
        let watched = Lock::held(&folders.locks(), places::WATCHED_LOCKS);
        let texts = entries
            .iter()
            .map(|entry| entry.text(&folders.home, &watched));
        write!(out, "{}", texts.collect::<Vec<String>>().join("\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// An entry of the log.
enum LogEntry {
    /// A batch, and whether it was undone or redone since.
    Batch(LogBatch, Option<Mark>),
    Foreign(ForeignBlock),
}

/// Returns the latest entries of these files, or of all.
fn newest(
    ledger: &Ledger,
    number: usize,
    files: Option<&[PathBuf]>,
) -> Result<Vec<LogEntry>, Error> {
    let files: Vec<Option<&Path>> = match files {
        Some(files) => files.iter().map(|file| Some(file.as_path())).collect(),
        None => vec![None],
    };
    let mut entries = Vec::new();
    for file in files {
        let batches = ledger.log(number, file)?.into_iter();
        entries.extend(batches.map(|batch| LogEntry::Batch(batch, None)));
        let foreign = ledger.foreign(number, file)?.into_iter();
        entries.extend(foreign.map(LogEntry::Foreign));
    }
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.time_ms()));
    entries.truncate(number);
    Ok(entries)
}

/// Returns the notes files of a project: the given folder, or the innermost project that this folder is in.
fn files_here(roots: &[(PathBuf, PathBuf)], given: Option<&Path>) -> Result<Vec<PathBuf>, Error> {
    let (_, here) = start::find_root(given)?;
    let is_root = |folder: &&Path| roots.iter().any(|(_, root)| root == folder);
    let around = here.ancestors().find(is_root).filter(|_| given.is_none());
    let root = around.unwrap_or(&here);
    let of_root = roots.iter().filter(|(_, of)| of == root);
    Ok(of_root.map(|(file, _)| file.clone()).collect())
}

/// Marks the batches that were undone or redone, as far as the histories of their projects can be read.
fn mark(entries: &mut [LogEntry], roots: &[(PathBuf, PathBuf)], folders: &Folders) {
    let mut by_root: BTreeMap<&Path, Vec<(&LogBatch, &mut Option<Mark>)>> = BTreeMap::new();
    for entry in entries {
        // A batch that changed nothing cannot be undone.
        if let LogEntry::Batch(batch, mark) = entry
            && batch.commits.is_some()
            && let Some((_, root)) = roots.iter().find(|(file, _)| *file == batch.path)
        {
            by_root.entry(root).or_default().push((batch, mark));
        }
    }
    for (root, batches) in by_root {
        let began = batches.iter().map(|(batch, _)| batch.began_ms).min();
        let since = began.unwrap_or_default().div_euclid(1000);
        let marks = marks_of(folders, root, since).unwrap_or_else(|error| {
            tracing::debug!(%error, root = %root.display(), "clada cannot read which batches were undone");
            HashMap::new()
        });
        for (batch, mark) in batches {
            *mark = marks.get(&batch.id).copied();
        }
    }
}

/// Returns which batches of a project were undone or redone since a time, by their ids.
fn marks_of(
    folders: &Folders,
    root: &Path,
    since: i64,
) -> Result<HashMap<String, Mark>, SnapshotError> {
    let settings = Settings::rest(folders, root).settings;
    if !settings.git.enabled {
        return Ok(HashMap::new());
    }
    let git = rules::git_of(&settings.git, folders, std::env::vars_os().collect());
    let stop = watch::channel(false).1;
    match Snapshots::open(root, &[], &git.options, &stop)? {
        Some(snapshots) => undo::marks(&snapshots.stores(), since),
        None => Ok(HashMap::new()),
    }
}

impl LogEntry {
    fn time_ms(&self) -> i64 {
        match self {
            Self::Batch(batch, _) => batch.began_ms,
            Self::Foreign(block) => block.time * 1000,
        }
    }

    fn text(&self, home: &Path, watched: &[PathBuf]) -> String {
        match self {
            Self::Batch(batch, mark) => batch_text(batch, *mark, home, watched),
            Self::Foreign(block) => foreign_text(block, home),
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Batch(batch, mark) => batch_json(batch, *mark),
            Self::Foreign(block) => json!({
                "file": block.path.to_string_lossy(),
                "taken": iso(block.time * 1000),
                "results": block.text,
            }),
        }
    }
}

/// Formats results that were removed from a notes file.
fn foreign_text(block: &ForeignBlock, home: &Path) -> String {
    let taken = clock::local(clock::at(block.time * 1000)).strftime("%Y-%m-%d %H:%M:%S");
    let file = one_line(&paths::short(&block.path, home));
    let mut text =
        format!("{taken}  {file}  results of another clada, removed from the notes file\n");
    for line in block.text.lines() {
        text += &format!("  {}\n", one_line(line));
    }
    text
}

/// Formats a batch. One without an end is running if a clada process watches its file.
fn batch_text(batch: &LogBatch, mark: Option<Mark>, home: &Path, watched: &[PathBuf]) -> String {
    let began = clock::local(clock::at(batch.began_ms)).strftime("%Y-%m-%d %H:%M:%S");
    let took = match batch.ended_ms {
        Some(ended) => duration::show(between(batch.began_ms, ended)),
        None if watched.contains(&batch.path) => "running".to_owned(),
        None => "interrupted".to_owned(),
    };
    let again = batch.again.map_or(String::new(), |number| {
        format!(" (retry of batch {number})")
    });
    let file = one_line(&paths::short(&batch.path, home));
    let mut text = format!(
        "{began}  {file}  batch {}{again}  {took}  {}{}\n",
        batch.number,
        batch.id,
        match mark {
            Some(Mark::Undone(at)) => format!("  undone {}", clock::when(at)),
            Some(Mark::Redone(at)) => format!("  redone {}", clock::when(at)),
            None => String::new(),
        }
    );
    for task in &batch.tasks {
        text += &format!("  {}\n", one_line(&task_text(task)));
    }
    if batch.tasks.is_empty() {
        text += "  (its tasks are no longer kept)\n";
    }
    if let Some(commits) = &batch.commits {
        text += &format!("  {}\n", git_line(commits));
    }
    text
}

fn task_text(task: &LogTask) -> String {
    let mut text = format!("{} {} {}", sign(task), task.command, task.target);
    if let Some(message) = &task.message {
        text += &format!(" - {message}");
    }
    let took = task.began_ms.zip(task.ended_ms);
    let took = took.map(|(began, ended)| between(began, ended));
    // The message of a command has the time already, and file tasks take almost none.
    let told = text.ends_with(')');
    if let Some(took) = took.filter(|took| !told && took.as_millis() >= 100) {
        text += &format!(" ({})", duration::show(took));
    }
    text
}

/// Returns the mark of a task, as in the results.
fn sign(task: &LogTask) -> &'static str {
    match task.mark.as_deref().and_then(Status::parse) {
        Some(status) => status.mark(),
        None if task.began_ms.is_some() => "▶",
        None => "·",
    }
}

fn batch_json(batch: &LogBatch, mark: Option<Mark>) -> Value {
    let (undone, redone) = match mark {
        Some(Mark::Undone(at)) => (Some(iso(at * 1000)), None),
        Some(Mark::Redone(at)) => (None, Some(iso(at * 1000))),
        None => (None, None),
    };
    let commits = batch.commits.as_ref();
    let tasks = batch.tasks.iter().map(|task| {
        json!({
            "command": task.command,
            "target": task.target,
            "status": task.mark,
            "message": task.message,
            "began": task.began_ms.map(iso),
            "ended": task.ended_ms.map(iso),
        })
    });
    json!({
        "file": batch.path.to_string_lossy(),
        "batch": batch.number,
        "id": batch.id,
        "again": batch.again,
        "began": iso(batch.began_ms),
        "ended": batch.ended_ms.map(iso),
        "commitBefore": commits.map(|commits| &commits.before),
        "commitAfter": commits.map(|commits| &commits.after),
        "privateCommits": commits.map(|commits| commits.private),
        "undone": undone,
        "redone": redone,
        "tasks": tasks.collect::<Vec<Value>>(),
    })
}

/// Formats a time in ISO 8601, UTC.
fn iso(ms: i64) -> String {
    clock::at(ms).to_string()
}

/// Returns the time between; zero where a clock was set back.
fn between(began_ms: i64, ended_ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ended_ms - began_ms).unwrap_or_default())
}
