//! `clada log`: tells what ran, from the ledger. Changes nothing.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::batch::git_line;
use crate::cli::Log;
use crate::cmd::notes::named_file;
use crate::cmd::{self, clipboard};
use crate::config::{self, Folders};
use crate::error::Error;
use crate::lang::duration;
use crate::lang::outcome::Status;
use crate::lang::report::one_line;
use crate::world::ledger::{ForeignBlock, Ledger, LogBatch, LogTask};
use crate::world::lock::Lock;

/// Shows the newest batches that ran, and results of another clada that were taken off notes.
///
/// # Errors
/// Where the ledger cannot be read.
pub fn main(args: &Log) -> Result<ExitCode, Error> {
    if args.batch.is_some() {
        let packet = clipboard::packet((args.file.as_deref(), None), args.batch.as_deref())?;
        return clipboard::print(&packet);
    }
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let file = match &args.file {
        Some(file) => Some(cmd::canonical(&named_file(&folders, file, None)?)),
        None => None,
    };
    let entries = match Ledger::read(&folders.state)? {
        Some(ledger) => newest(&ledger, (args.number, file.as_deref()))?,
        None => Vec::new(),
    };
    let mut out = std::io::stdout().lock();
    if args.json {
        let entries: Vec<Value> = entries.iter().map(Entry::json).collect();
        writeln!(out, "{:#}", Value::from(entries))?;
    } else if entries.is_empty() {
        writeln!(out, "nothing ran yet: the log begins with the first reply")?;
    } else {
        let watched = Lock::held(&folders.locks(), config::WATCHED_LOCKS);
        let texts = entries
            .iter()
            .map(|entry| entry.text(&folders.home, &watched));
        write!(out, "{}", texts.collect::<Vec<String>>().join("\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What the log tells of.
enum Entry {
    Batch(LogBatch),
    Foreign(ForeignBlock),
}

fn newest(ledger: &Ledger, (number, file): (usize, Option<&Path>)) -> Result<Vec<Entry>, Error> {
    let batches = ledger.log_of(number, file)?.into_iter().map(Entry::Batch);
    let foreign = ledger
        .foreign(number, file)?
        .into_iter()
        .map(Entry::Foreign);
    let mut entries: Vec<Entry> = batches.chain(foreign).collect();
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.time_ms()));
    entries.truncate(number);
    Ok(entries)
}

impl Entry {
    fn time_ms(&self) -> i64 {
        match self {
            Self::Batch(batch) => batch.began_ms,
            Self::Foreign(block) => block.time * 1000,
        }
    }

    fn text(&self, home: &Path, watched: &[PathBuf]) -> String {
        match self {
            Self::Batch(batch) => batch_text(batch, home, watched),
            Self::Foreign(block) => foreign_text(block, home),
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Batch(batch) => batch_json(batch),
            Self::Foreign(block) => json!({
                "file": block.path.to_string_lossy(),
                "taken": iso(block.time * 1000),
                "results": block.text,
            }),
        }
    }
}

/// Results that were taken off notes, as lines.
fn foreign_text(block: &ForeignBlock, home: &Path) -> String {
    let taken = cmd::local(at(block.time * 1000)).strftime("%Y-%m-%d %H:%M:%S");
    let file = one_line(&cmd::short(&block.path, home));
    let mut text = format!("{taken}  {file}  results of another clada, taken off\n");
    for line in block.text.lines() {
        text += &format!("  {}\n", one_line(line));
    }
    text
}

/// A batch as lines. One without an end runs, if a clada that lives watches its file.
fn batch_text(batch: &LogBatch, home: &Path, watched: &[PathBuf]) -> String {
    let began = cmd::local(at(batch.began_ms)).strftime("%Y-%m-%d %H:%M:%S");
    let took = match batch.ended_ms {
        Some(ended) => duration::show(between(batch.began_ms, ended)),
        None if watched.contains(&batch.path) => "running".to_owned(),
        None => "interrupted".to_owned(),
    };
    let again = batch.again.map_or(String::new(), |number| {
        format!(" (again from batch {number})")
    });
    let file = one_line(&cmd::short(&batch.path, home));
    let mut text = format!(
        "{began}  {file}  batch {}{again}  {took}  {}\n",
        batch.number, batch.id
    );
    for task in &batch.tasks {
        text += &format!("  {}\n", one_line(&task_text(task)));
    }
    if batch.tasks.is_empty() {
        text += "  (its tasks are forgotten)\n";
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
    // What a command says of its end has the time already, and file tasks take none worth telling.
    let told = text.ends_with(')');
    if let Some(took) = took.filter(|took| !told && took.as_millis() >= 100) {
        text += &format!(" ({})", duration::show(took));
    }
    text
}

/// How a task ended, as the results block shows it.
fn sign(task: &LogTask) -> &'static str {
    match task.mark.as_deref().and_then(Status::parse) {
        Some(status) => status.mark(),
        None if task.began_ms.is_some() => "▶",
        None => "·",
    }
}

fn batch_json(batch: &LogBatch) -> Value {
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
        "commitBefore": batch.commits.as_ref().map(|commits| &commits.before),
        "commitAfter": batch.commits.as_ref().map(|commits| &commits.after),
        "privateCommits": batch.commits.as_ref().map(|commits| commits.private),
        "tasks": tasks.collect::<Vec<Value>>(),
    })
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or_default()
}

/// In ISO 8601, UTC.
fn iso(ms: i64) -> String {
    at(ms).to_string()
}

/// None where a clock was set back.
fn between(began_ms: i64, ended_ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ended_ms - began_ms).unwrap_or_default())
}
