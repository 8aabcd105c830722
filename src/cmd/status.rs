//! `clada status`: asks the cladas that run what they do, and the ledger what they did. Changes nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::cli;
use crate::cmd;
use crate::config::Folders;
use crate::daemon::board::{Board, Notice, Notices, State};
use crate::error::Error;
use crate::lang::outcome::Status;
use crate::lang::report::one_line;
use crate::lang::wording;
use crate::world::ledger::{Ledger, LogBatch};
use crate::world::sandbox::support;
use crate::world::socket::{self, Socket};

/// What is asked.
const QUESTION: &str = "status";

/// What kind of process answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// It listens on the files of the list.
    Daemon,
    /// It listens on one file, in a terminal.
    Watch,
}

/// What a process answers.
#[derive(Debug, Serialize, Deserialize)]
struct Answer {
    kind: Kind,
    version: String,
    /// When it began, in Unix time in seconds.
    since: i64,
    #[serde(flatten)]
    notices: Notices,
}

/// Has this process answer for as long as the value lives. Without that clada does all else that it does.
pub(super) fn answer(folders: &Folders, kind: Kind, board: &Board) -> Option<Socket> {
    let (board, since) = (board.clone(), cmd::now_ms().div_euclid(1000));
    let answer = move |question: &str| match question {
        QUESTION => {
            let answer = Answer {
                kind,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                since,
                notices: board.read(),
            };
            serde_json::to_string(&answer).unwrap_or_default()
        }
        _ => String::new(),
    };
    let socket = Socket::serve(&folders.sockets(), answer);
    let socket =
        socket.inspect_err(|error| tracing::warn!(%error, "`clada status` gets no answer"));
    socket.ok()
}

/// Asks, and tells.
///
/// # Errors
/// Where the ledger cannot be read.
pub fn main(args: &cli::Status) -> Result<ExitCode, Error> {
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let answers = socket::ask(&folders.sockets(), QUESTION);
    let answers: Vec<(u32, Result<Answer, String>)> = answers
        .into_iter()
        .map(|(pid, answer)| {
            let answer = answer.map_err(|error| error.to_string());
            let answer = answer.and_then(|answer| {
                serde_json::from_str(&answer).map_err(|_| "it is another version".to_owned())
            });
            (pid, answer)
        })
        .collect();
    let last = last_batches(&folders, &answers)?;
    let runs = !answers.is_empty();
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(out, "{:#}", as_json(&answers, &last))?;
    } else {
        write!(out, "{}", as_text(&answers, &last, &folders))?;
    }
    Ok(ExitCode::from(u8::from(!runs)))
}

/// The last batch of each file that is watched.
fn last_batches(
    folders: &Folders,
    answers: &[(u32, Result<Answer, String>)],
) -> Result<BTreeMap<PathBuf, LogBatch>, Error> {
    let Some(ledger) = Ledger::read(&folders.state)? else {
        return Ok(BTreeMap::new());
    };
    let answers = answers
        .iter()
        .filter_map(|(_, answer)| answer.as_ref().ok());
    let mut last = BTreeMap::new();
    for file in answers.flat_map(|answer| answer.notices.files.keys()) {
        if let Some(known) = ledger.file(file)?
            && let Some(batch) = ledger.last_run(known.id)?.pop()
        {
            last.insert(file.clone(), batch);
        }
    }
    Ok(last)
}

/// How many tasks of a batch were done, and how many failed.
fn counts(batch: &LogBatch) -> (usize, usize) {
    let marks = batch.tasks.iter().filter_map(|task| task.mark.as_deref());
    let marks: Vec<Status> = marks.filter_map(Status::parse).collect();
    let count = |status| marks.iter().filter(|it| **it == status).count();
    (count(Status::Done), count(Status::Failed))
}

fn as_json(
    answers: &[(u32, Result<Answer, String>)],
    last: &BTreeMap<PathBuf, LogBatch>,
) -> serde_json::Value {
    let file = |(path, notice): (&PathBuf, &Notice)| {
        let last = last.get(path).map(|batch| {
            let (done, failed) = counts(batch);
            json!({
                "id": batch.id,
                "began_ms": batch.began_ms,
                "ended_ms": batch.ended_ms,
                "tasks": batch.tasks.len(),
                "done": done,
                "failed": failed,
            })
        });
        json!({
            "file": path.to_string_lossy(),
            "root": notice.root.to_string_lossy(),
            "state": notice.state,
            "trouble": notice.trouble,
            "last": last,
        })
    };
    let processes = answers.iter().map(|(pid, answer)| match answer {
        Err(error) => json!({ "pid": pid, "error": error }),
        Ok(answer) => json!({
            "pid": pid,
            "kind": answer.kind,
            "version": answer.version,
            "since": answer.since,
            "clipboard": answer.notices.clipboard,
            "files": answer.notices.files.iter().map(file).collect::<Vec<_>>(),
        }),
    });
    json!({
        "processes": processes.collect::<Vec<_>>(),
        "sandbox": support().to_string(),
    })
}

fn as_text(
    answers: &[(u32, Result<Answer, String>)],
    last: &BTreeMap<PathBuf, LogBatch>,
    folders: &Folders,
) -> String {
    if answers.is_empty() {
        return "no clada runs: `clada` watches the notes of this folder, `clada service start` all that `clada list` \
                shows\n"
            .to_owned();
    }
    let short = |path: &Path| one_line(&cmd::short(path, &folders.home));
    let mut text = String::new();
    for (pid, answer) in answers {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                let _ = writeln!(text, "process {pid} does not say what it does: {error}");
                continue;
            }
        };
        let kind = match answer.kind {
            Kind::Daemon => "the daemon",
            Kind::Watch => "in a terminal",
        };
        let since = cmd::when(answer.since);
        let files = answer.notices.files.len();
        let are = if files == 1 { "file" } else { "files" };
        let _ = writeln!(
            text,
            "clada {}, {kind}, process {pid}, since {since}: {files} {are}",
            answer.version
        );
        for (path, notice) in &answer.notices.files {
            let (mark, state) = match &notice.state {
                State::Watching => ("●", "watching".to_owned()),
                State::Running {
                    task,
                    number,
                    total,
                    since,
                } => (
                    "⏳",
                    format!("running since {since}: {number}/{total} {}", one_line(task)),
                ),
                State::Waiting { why } => ("⏸", one_line(why)),
            };
            let _ = writeln!(text, "{mark} {} in {}", short(path), short(&notice.root));
            let _ = writeln!(text, "    {state}");
            if let Some(batch) = last.get(path) {
                let (done, failed) = counts(batch);
                let when = cmd::when(batch.began_ms.div_euclid(1000));
                let tasks = wording::tasks(batch.tasks.len());
                let _ = writeln!(
                    text,
                    "    last batch {when}, {}: {tasks}, {done} done, {failed} failed",
                    batch.id
                );
            }
            if let Some(trouble) = &notice.trouble {
                let _ = writeln!(text, "    {}", one_line(trouble));
            }
        }
        if let Some(clipboard) = &answer.notices.clipboard {
            let _ = writeln!(text, "{}", one_line(clipboard));
        }
    }
    let _ = writeln!(text, "commands: {}", support());
    text
}
