//! `clada status`: asks the running clada processes what they are doing, and the ledger what they did. Changes nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;

use crate::cli::terminal;
use crate::clock;
use crate::error::Error;
use crate::listener::board::{
    BoardAnswer, FileNotice, ListenerState, ProcessKind, QUESTION, RefusedText, TakenReply,
    WatchedClipboard,
};
use crate::reply::chat_key::ChatKey;
use crate::report::one_line;
use crate::report::outcome::Status;
use crate::report::wording;
use crate::settings::places::Folders;
use crate::text::paths;
use crate::world::chat_keys::ChatKeys;
use crate::world::ledger::{FileId, Ledger, LogBatch};
use crate::world::pause::Pause;
use crate::world::sandbox::support;
use crate::world::socket;

/// Asks all processes, and prints the answers.
///
/// # Errors
/// Where the ledger cannot be read.
pub fn main(json: bool) -> Result<ExitCode, Error> {
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let answers = socket::ask(&folders.sockets(), QUESTION);
    let answers: Vec<(u32, io::Result<BoardAnswer>)> = answers
        .into_iter()
        .map(|(pid, answer)| {
            let answer = answer.and_then(|answer| {
                let other = |_| io::Error::other("it is another version of clada");
                serde_json::from_str(&answer).map_err(other)
            });
            (pid, answer)
        })
        .collect();
    let last = last_runs(&folders, &answers)?;
    let runs = !answers.is_empty();
    let mut out = terminal::stdout();
    if json {
        terminal::print_json(&as_json(&answers, &last, &folders))?;
    } else {
        write!(out, "{}", as_text(&answers, &last, &folders))?;
    }
    Ok(ExitCode::from(u8::from(!runs)))
}

/// The ledger's record of a watched file.
struct FileHistory {
    /// The batches of the last run.
    run: Vec<LogBatch>,
    /// The offers that wait for a tick, as lines.
    waits: Vec<String>,
}

/// Reads the ledger's record of each watched file.
fn last_runs(
    folders: &Folders,
    answers: &[(u32, io::Result<BoardAnswer>)],
) -> Result<BTreeMap<PathBuf, FileHistory>, Error> {
    let Some(ledger) = Ledger::read(&folders.state)? else {
        return Ok(BTreeMap::new());
    };
    let answers = answers
        .iter()
        .filter_map(|(_, answer)| answer.as_ref().ok());
    let mut last = BTreeMap::new();
    for (file, notice) in answers.flat_map(|answer| &answer.notices.files) {
        let notes = notice.notes.as_ref().unwrap_or(file);
        if let Some(known) = ledger.file(notes)? {
            let past = FileHistory {
                run: ledger.last_run(known.id)?,
                waits: waits(&ledger, known.id)?,
            };
            last.insert(file.clone(), past);
        }
    }
    Ok(last)
}

/// Returns the lines of the latest results with open offers, without the offers; the lines for one edit are one.
fn waits(ledger: &Ledger, file: FileId) -> Result<Vec<String>, Error> {
    let Some((text, open)) = ledger.newest_offers(file)? else {
        return Ok(Vec::new());
    };
    let mut waits: Vec<String> = Vec::new();
    // Offers count from the line that begins the results; the status is above it.
    let lines: Vec<&str> = text.lines().skip(1).collect();
    for line in open {
        let line = lines.get(line).copied().unwrap_or_default();
        let offer = line.rsplit_once(" - [ ] ");
        let said = match offer.filter(|(said, _)| !said.trim().is_empty()) {
            Some((said, _)) => said.trim_start_matches(|c: char| c.is_ascii_digit()),
            None => "an edit (choose a line)",
        };
        let said = said.trim_start().trim_start_matches(MARKS).trim_start();
        if waits.last().is_none_or(|last| last != said) {
            waits.push(said.to_owned());
        }
    }
    Ok(waits)
}

/// The marks after the number at the start of a line of results.
const MARKS: &[char] = &['⏸', '⚠', '↩', '⏭', '❌', '⏹'];

/// The number of waiting offers that are shown.
const WAITS_SHOWN: usize = 5;

/// The numbers of tasks of the last run by how they ended.
struct Counts {
    tasks: usize,
    /// With the name for programs, and the words for people.
    by_end: Vec<(Status, &'static str, usize)>,
    /// The tasks that have not ended.
    open: usize,
}

impl Counts {
    fn of(run: &[LogBatch]) -> Self {
        let all = || run.iter().flat_map(|batch| &batch.tasks);
        let ends: Vec<Option<Status>> = all()
            .map(|task| task.mark.as_deref().and_then(Status::parse))
            .collect();
        let count = |end| ends.iter().filter(|it| **it == end).count();
        let words = [
            (Status::Done, "done"),
            (Status::Failed, "failed"),
            (Status::Interrupted, "interrupted"),
            (Status::NotRun, "not run"),
            (Status::Skipped, "skipped"),
            (Status::Waits, "changed since and not run again"),
            (Status::Asks, "waiting for approval"),
        ];
        let by_end = words.map(|(end, words)| (end, words, count(Some(end))));
        Self {
            tasks: ends.len(),
            by_end: by_end.to_vec(),
            open: count(None),
        }
    }

    fn line(&self) -> String {
        let mut line = wording::tasks(self.tasks);
        for (end, words, count) in &self.by_end {
            if *count > 0 || matches!(end, Status::Done | Status::Failed) {
                line += &format!(", {count} {words}");
            }
        }
        if self.open > 0 {
            line += &format!(", {} not finished", self.open);
        }
        line
    }
}

fn as_json(
    answers: &[(u32, io::Result<BoardAnswer>)],
    last: &BTreeMap<PathBuf, FileHistory>,
    folders: &Folders,
) -> serde_json::Value {
    let file = |(path, notice): (&PathBuf, &FileNotice)| {
        let past = last.get(path);
        let waits = past.map(|past| past.waits.as_slice()).unwrap_or_default();
        let last = past.filter(|past| !past.run.is_empty()).map(|past| {
            let counts = Counts::of(&past.run);
            let (first, newest) = (&past.run[0], &past.run[past.run.len() - 1]);
            let mut last = json!({
                "id": newest.id,
                "began_ms": first.began_ms,
                "ended_ms": newest.ended_ms,
                "tasks": counts.tasks,
                "open": counts.open,
            });
            for (end, _, count) in &counts.by_end {
                last[end.name()] = json!(count);
            }
            last
        });
        let notes = notice.notes.as_ref().unwrap_or(path);
        json!({
            "file": path.to_string_lossy(),
            "notes": notes.to_string_lossy(),
            "waits_for_a_tick": waits,
            "root": notice.root.to_string_lossy(),
            "state": notice.state,
            "trouble": notice.trouble,
            "key": key(folders, notes).map(|key| key.to_string()),
            "last": last,
        })
    };
    let processes = answers.iter().map(|(pid, answer)| match answer {
        Err(error) => json!({ "pid": pid, "error": error.to_string() }),
        Ok(answer) => json!({
            "pid": pid,
            "kind": answer.kind,
            "version": answer.version,
            "since": answer.since,
            "clipboard": answer.notices.clipboard,
            "watching": answer.notices.watching,
            "files": answer.notices.files.iter().map(file).collect::<Vec<_>>(),
        }),
    });
    json!({
        "processes": processes.collect::<Vec<_>>(),
        "pause": pause(folders).map(|pause| {
            json!({ "since_ms": pause.since_ms, "until_ms": pause.until_ms, "why": pause.why })
        }),
        "sandbox": support().to_string(),
    })
}

/// Formats the ledger's record of a file.
fn past_text(past: &FileHistory) -> String {
    let mut text = String::new();
    if let (Some(first), Some(newest)) = (past.run.first(), past.run.last()) {
        let when = clock::when(first.began_ms.div_euclid(1000));
        let what = match past.run.len() {
            1 => "batch",
            _ => "batches",
        };
        let _ = writeln!(
            text,
            "    last {what} {when}, {}: {}",
            newest.id,
            Counts::of(&past.run).line()
        );
    }
    for wait in past.waits.iter().take(WAITS_SHOWN) {
        let _ = writeln!(text, "    waiting for your tick: {}", one_line(wait));
    }
    let more = past.waits.len().saturating_sub(WAITS_SHOWN);
    if more > 0 {
        let _ = writeln!(text, "    and {more} more");
    }
    text
}

/// Returns the key of a notes file, if it has one.
fn key(folders: &Folders, notes: &Path) -> Option<ChatKey> {
    let keys = ChatKeys::new(folders.chat_keys());
    keys.find(notes).ok().flatten()
}

/// Returns the pause of the watching of the clipboard, if there is one. One that cannot be read is one.
fn pause(folders: &Folders) -> Option<Pause> {
    let now_ms = clock::now_ms();
    Pause::read(&folders.state, now_ms).unwrap_or_else(|error| {
        Some(Pause {
            since_ms: now_ms,
            until_ms: None,
            why: Some(error.to_string()),
        })
    })
}

fn pause_line(pause: &Pause) -> String {
    let when = |ms: i64| clock::when(ms.div_euclid(1000));
    let until = pause.until_ms;
    let until = until.map_or(String::new(), |until| format!(" until {}", when(until)));
    let why = pause.why.as_ref();
    let why = why.map_or(String::new(), |why| format!(": {}", one_line(why)));
    format!(
        "⏸ clipboard watching is paused since {}{until}{why}; `clada resume` ends the pause",
        when(pause.since_ms)
    )
}

/// Formats what a process knows of the clipboard that it watches.
fn watching_text(
    watching: &WatchedClipboard,
    is_paused: bool,
    short: &dyn Fn(&Path) -> String,
) -> String {
    let mut text = match (&watching.way, &watching.trouble) {
        (Some(_), _) if is_paused => "📋 watching the clipboard, but paused\n".to_owned(),
        (Some(way), _) => format!("📋 watching the clipboard ({})\n", one_line(way)),
        (None, Some(trouble)) => {
            format!(
                "📋 the clipboard cannot be watched: {}\n",
                one_line(trouble)
            )
        }
        (None, None) => "📋 the clipboard is not watched yet\n".to_owned(),
    };
    if let Some(TakenReply { at, file, tasks }) = &watching.taken {
        let (when, tasks) = (clock::when(*at), wording::tasks(*tasks));
        let _ = writeln!(text, "    last taken {when}: {tasks}, {}", short(file));
    }
    if let Some(RefusedText { at, why }) = &watching.refused {
        let _ = writeln!(
            text,
            "    last not taken {}: {}",
            clock::when(*at),
            one_line(why)
        );
    }
    text
}

fn as_text(
    answers: &[(u32, io::Result<BoardAnswer>)],
    last: &BTreeMap<PathBuf, FileHistory>,
    folders: &Folders,
) -> String {
    let pause = pause(folders).map(|pause| pause_line(&pause) + "\n");
    let pause = pause.unwrap_or_default();
    if answers.is_empty() {
        return "no clada process is running: start watching this folder with `clada`, or all files in your list with \
                `clada service start`\n"
            .to_owned()
            + &pause;
    }
    let short = |path: &Path| one_line(&paths::short(path, &folders.home));
    let mut text = String::new();
    for (pid, answer) in answers {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                let _ = writeln!(text, "process {pid} does not answer: {error}");
                continue;
            }
        };
        let kind = match answer.kind {
            ProcessKind::Daemon => "the daemon",
            ProcessKind::Watch => "in a terminal",
        };
        let since = clock::when(answer.since);
        let files = answer.notices.files.len();
        let are = if files == 1 { "file" } else { "files" };
        let _ = writeln!(
            text,
            "clada {}, {kind}, process {pid}, since {since}: {files} {are}",
            answer.version
        );
        for (path, notice) in &answer.notices.files {
            let (mark, state) = match &notice.state {
                ListenerState::Watching => ("●", "watching".to_owned()),
                ListenerState::Running {
                    task,
                    number,
                    total,
                    since,
                } => (
                    "⏳",
                    format!("running since {since}: {number}/{total} {}", one_line(task)),
                ),
                ListenerState::Waiting { why } => ("⏸", one_line(why)),
            };
            let _ = writeln!(text, "{mark} {} in {}", short(path), short(&notice.root));
            let _ = writeln!(text, "    {state}");
            if let Some(past) = last.get(path) {
                text += &past_text(past);
            }
            if answer.notices.watching.is_some()
                && let Some(key) = key(folders, notice.notes.as_ref().unwrap_or(path))
            {
                let _ = writeln!(text, "    copied replies count with the key {key}");
            }
            if let Some(trouble) = &notice.trouble {
                let _ = writeln!(text, "    {}", one_line(trouble));
            }
        }
        if let Some(clipboard) = &answer.notices.clipboard {
            let _ = writeln!(text, "{}", one_line(clipboard));
        }
        if let Some(watching) = &answer.notices.watching {
            text += &watching_text(watching, !pause.is_empty(), &short);
        }
    }
    text += &pause;
    let _ = writeln!(text, "commands: {}", support());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_of_a_task_has_its_words() {
        let mut counts = Counts::of(&[]);
        (counts.tasks, counts.open) = (8, 1);
        for (_, _, count) in &mut counts.by_end {
            *count = 1;
        }
        let line = "8 tasks, 1 done, 1 failed, 1 interrupted, 1 not run, 1 skipped, \
                    1 changed since and not run again, 1 waiting for approval, 1 not finished";
        assert_eq!(counts.line(), line);
    }
}
