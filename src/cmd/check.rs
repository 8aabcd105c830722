//! `clada check`: lists the tasks and problems of a reply; carries out nothing.

use std::borrow::Cow;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use serde_json::json;

use crate::cli::terminal;
use crate::cmd::{self, reply_input::read_reply};
use crate::error::Error;
use crate::policy::{Policy, Verdict};
use crate::reply::chat_key::ChatKey;
use crate::reply::copied_reply::{CopiedReply, has_key, judge};
use crate::reply::dialects::nesl::{self, Document};
use crate::reply::question::{self, Question};
use crate::reply::scan::scan_for;
use crate::reply::task::{Action, Batch, LineNumbers, Scan, Task};
use crate::report::{self, ParseError};
use crate::settings::places::Folders;
use crate::settings::{ReadableSettings, Settings};
use crate::start;
use crate::text::language::Language;
use crate::world::chat_keys::ChatKeys;

/// Checks one reply. Succeeds if it has no error; warnings are only printed.
///
/// # Errors
/// Where it cannot be read.
pub fn main(file: Option<&Path>, as_json: bool) -> Result<ExitCode, Error> {
    let reply = read_reply(file)?;
    let text = reply.text()?;
    let (_, root) = start::find_root(None)?;
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let ReadableSettings {
        settings, wrong, ..
    } = Settings::rest(&folders, &root);
    cmd::tell_wrong(&wrong);
    let dialects = settings.dialects;
    let found = scan_for(text, dialects.into_iter().collect());
    let blocks = nesl::document(text, &found);
    let is_other = |batch: &&Batch<'_>| !nesl::is_ours(batch);
    let others = found.batches.iter().filter(is_other);
    let tasks = others.map(|batch| batch.tasks.len()).sum::<usize>() + blocks.blocks.len();
    let policy = Policy::new(&settings.exec.deny, &settings.exec.ask);
    let policy = policy.ok();
    let listed = listed(text, &found, policy.as_ref());
    let problems = problems(text, &found);
    let failed = problems
        .iter()
        .any(|problem| problem.error_type != "warning");
    let carried = CarriedKey::of(text, &found, &folders);
    if as_json {
        let listed: Vec<_> = listed.collect();
        let mut said = json(&found, &blocks, tasks, &listed, &problems);
        // Who reads the form of SHAM and NESL knows no others.
        if let Some(carried) = carried.filter(|it| it.is_any || said["tasks"].is_array()) {
            said["key"] = json!(carried.key);
            said["clipboard"] = json!(carried.word);
        }
        terminal::print_json(&said)?;
    } else {
        // Standard output is flushed at each line end, and a reply may have many tasks.
        let mut out = BufWriter::new(terminal::stdout());
        for task in listed {
            out.write_all(report::one_line(&task.line()).as_bytes())?;
            if let Some(asks) = &task.asks {
                let (asks, commands) = question::parted(asks);
                write!(out, " - {asks}")?;
                for command in commands {
                    write!(out, "\n     {command}")?;
                }
            }
            out.write_all(b"\n")?;
        }
        let said = said(&problems, &blocks);
        for (line, said) in &said {
            writeln!(out, "line {line}: {}", report::one_line(said))?;
        }
        let (tasks, problems) = (count(tasks, "task"), count(said.len(), "problem"));
        writeln!(out, "{tasks}, {problems}")?;
        if let Some(carried) = carried.filter(|it| it.is_any) {
            writeln!(out, "{}", report::one_line(&carried.said))?;
        }
        out.flush()?;
    }
    // The process ends: its memory goes at once, not task by task.
    std::mem::forget(found);
    Ok(ExitCode::from(u8::from(failed)))
}

/// The key that a reply with batches carries, and what comes of the reply when it is copied.
struct CarriedKey {
    /// A batch has a key.
    is_any: bool,
    /// The one that all batches have.
    key: Option<ChatKey>,
    /// The verdict in a word, for `--json`.
    word: &'static str,
    said: String,
}

impl CarriedKey {
    /// Reads the key; nothing for a text without a batch.
    fn of(text: &str, found: &Scan<'_>, folders: &Folders) -> Option<Self> {
        let ignored = |why: &str| format!("{why}, so clada ignores this reply on the clipboard");
        let of = |key: ChatKey, why: &str| ignored(&format!("key {key}: {why}"));
        let (key, word, said) = match judge(text, found) {
            CopiedReply::Prose => return None,
            CopiedReply::Example => {
                let why = "these are the examples of the instructions";
                (None, "example", ignored(why))
            }
            CopiedReply::CutOff { key: None, .. } => {
                let why = "this reply is cut off";
                (None, "cut-off", ignored(why) + ": copy it again")
            }
            CopiedReply::CutOff { key: Some(key), .. } => {
                let said = of(key, "this reply is cut off") + ": copy it again";
                (Some(key), "cut-off", said)
            }
            CopiedReply::Unkeyed { .. } => {
                let next = ": `clada instructions` prints where the key belongs";
                (None, "no-key", ignored("a batch has no key") + next)
            }
            CopiedReply::Mixed { .. } => {
                let next = ": copy one reply at a time";
                (
                    None,
                    "mixed",
                    ignored("the batches have several keys") + next,
                )
            }
            CopiedReply::Keyed { key, .. } => {
                let keys = ChatKeys::new(folders.chat_keys());
                match keys.notes_of(key).ok().flatten() {
                    Some(notes) => {
                        let notes = notes.display();
                        let said =
                            format!("key {key}: this reply counts from the clipboard for {notes}");
                        (Some(key), "counts", said)
                    }
                    None => {
                        let next = ": run `clada instructions` for the key of this folder";
                        let said = of(key, "no notes file has this key") + next;
                        (Some(key), "unknown-key", said)
                    }
                }
            }
        };
        Some(Self {
            is_any: has_key(text, found),
            key,
            word,
            said,
        })
    }
}

/// Describes a reply in the form of the dialects that it uses.
fn json(
    found: &Scan<'_>,
    blocks: &Document,
    tasks: usize,
    listed: &[ListedTask<'_>],
    problems: &[ParseError],
) -> serde_json::Value {
    let has_blocks = !(blocks.blocks.is_empty() && blocks.errors.is_empty());
    let others = found.batches.iter().any(|batch| !nesl::is_ours(batch));
    let has_others = others || problems.iter().any(|problem| problem.content.is_none());
    let mut said = json!({});
    if has_blocks || !has_others {
        said["blocks"] = json!(blocks.blocks);
        said["errors"] = json!(blocks.errors);
    }
    if has_others || !has_blocks {
        said["tasks"] = json!(listed);
        said["totalBlocks"] = json!(tasks);
        said["parseErrors"] = json!(problems);
    }
    said
}

/// A task with its lines.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedTask<'t> {
    number: usize,
    /// The id of its block, in dialects that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'t str>,
    command: &'t str,
    target: Cow<'t, str>,
    first_line: usize,
    last_line: usize,
    /// The reason why it will wait for approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    asks: Option<String>,
}

impl ListedTask<'_> {
    fn line(&self) -> String {
        // A reply may have many tasks, and formatting takes several times as long.
        let number = self.number.to_string();
        let id = self.id.unwrap_or(&number);
        let task = [id, " ", self.command, " ", &self.target].concat();
        let task = task.trim_end();
        let (first, last) = (self.first_line.to_string(), self.last_line.to_string());
        if first == last {
            [task, " (line ", &first, ")"].concat()
        } else {
            [task, " (lines ", &first, "-", &last, ")"].concat()
        }
    }
}

/// All tasks of a text, as the results number them.
fn listed<'s>(
    text: &'s str,
    found: &'s Scan<'_>,
    policy: Option<&'s Policy>,
) -> impl Iterator<Item = ListedTask<'s>> {
    let mut lines = LineNumbers::new(text);
    let tasks = found.batches.iter().flat_map(|batch| &batch.tasks);
    (1..).zip(tasks).map(move |(number, task)| {
        let whole = text[task.span.clone()].trim_end();
        ListedTask {
            number,
            id: task.call.as_ref().map(|call| call.id),
            command: task.command_name(),
            target: task.target(),
            first_line: lines.of(task.span.start),
            last_line: lines.of(task.span.start + whole.len()),
            asks: policy.and_then(|policy| asks(task, policy)),
        }
    })
}

/// Returns what a task will ask before it runs.
fn asks(task: &Task<'_>, policy: &Policy) -> Option<String> {
    let Ok(Action::Exec { script, lang, .. }) = &task.action else {
        return None;
    };
    let script = script.text();
    match policy.judge(&script, lang.unwrap_or(Language::Bash)) {
        Verdict::Ask(asked) => {
            let commands = asked.into_iter().map(|it| it.command);
            let question = Question::new(&script, &task.target(), commands);
            Some(
                question
                    .message
                    .unwrap_or_else(|| "needs approval".to_owned()),
            )
        }
        _ => None,
    }
}

/// Lists the problems of a text, in its order.
fn problems(text: &str, found: &Scan<'_>) -> Vec<ParseError> {
    let mut lines = LineNumbers::new(text);
    let mut all = Vec::new();
    for problem in &found.problems {
        all.extend(ParseError::of(problem, &mut lines));
    }
    let mut number = 0;
    for batch in &found.batches {
        if let Some(problem) = batch.state.problem() {
            all.extend(ParseError::of(problem, &mut lines));
        }
        for task in &batch.tasks {
            number += 1;
            for problem in task.action.as_ref().err().into_iter().chain(&task.warnings) {
                let errors = ParseError::of(problem, &mut lines);
                all.extend(errors.into_iter().map(|error| of_task(error, task, number)));
            }
        }
    }
    all.sort_by_key(|problem| problem.block_start_line);
    all
}

/// Returns each problem with its line: for a syntax error in a block, the line of the error.
fn said(problems: &[ParseError], blocks: &Document) -> Vec<(u64, String)> {
    let of_form =
        |problem: &&ParseError| problem.content.is_none() || problem.error_type != "syntax";
    let problems = problems.iter().filter(of_form).map(|problem| {
        let of = match problem.block_id.as_str() {
            "unknown" => String::new(),
            id if problem.content.is_some() => format!("block {id}: "),
            number => format!("task {number}: "),
        };
        let warning = match problem.error_type {
            "warning" => "warning: ",
            _ => "",
        };
        let said = format!("{of}{warning}{}", problem.message);
        (problem.block_start_line as u64, said)
    });
    let errors = blocks.errors.iter().map(|error| {
        let message = error["message"].as_str().unwrap_or_default();
        let said = match error["blockId"].as_str() {
            Some(id) => format!("block {id}: {message}"),
            None => message.to_owned(),
        };
        (error["line"].as_u64().unwrap_or_default(), said)
    });
    let mut all: Vec<(u64, String)> = problems.chain(errors).collect();
    all.sort_by_key(|(line, _)| *line);
    all
}

/// Assigns a problem to its task.
fn of_task(mut error: ParseError, task: &Task<'_>, number: usize) -> ParseError {
    if error.content.is_none() {
        error.block_id = number.to_string();
        error.action = task.command.map(|command| command.name().to_owned());
        if error.error_type == "syntax" {
            error.error_type = "validation";
        }
    }
    error
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
