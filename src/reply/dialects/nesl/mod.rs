//! SHAM and NESL: one grammar with two sets of markers. A block is a batch with one task.

mod actions;
mod assignment;
mod errors;
mod grammar;
mod lines;
pub mod schemas;
pub(crate) mod values;

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::reply::dialect::Dialect;
use crate::reply::found::Found;
use crate::reply::task::{Batch, BatchState, BlockError, Call, Cause, Lines, Problem, Scan, Task};
use errors::{Code, SyntaxError};
use grammar::{Begun, Block, End, Marks};
use lines::{is_blank, line_start};

/// What a block of SHAM begins with.
pub(crate) const SHAM_MARKS: &[&str] = &["#!SHAM "];
/// What a block of NESL begins with.
pub(crate) const NESL_MARKS: &[&str] = &["#!nesl "];

/// How many bytes of blocks the errors of one block carry along: beyond, an error is without its block.
const CARRIED: usize = 1024 * 1024;

/// Reads the block whose header's marker is at an offset, if it is one.
pub(crate) fn read(text: &str, at: usize) -> Option<Found<'_>> {
    let before = text[..at].trim_end_matches(|c| c != '\n' && is_blank(c));
    if !(before.is_empty() || before.ends_with('\n')) {
        return None;
    }
    let block = match grammar::read(text, before.len())? {
        Begun::Block(block) => block,
        Begun::Refused(error, line, marks) => {
            let problem = Problem {
                at: line.at,
                cause: Cause::Block(block_errors(
                    text,
                    &[error],
                    (marks, None),
                    line.at..line.end(),
                )),
            };
            let batch = match line.is_ended {
                true => return Some(found(None, vec![problem], line.next)),
                // Perhaps the rest of it is still to come.
                false => batch(
                    marks,
                    line.at..line.end(),
                    BatchState::Open(problem),
                    Vec::new(),
                ),
            };
            return Some(found(Some(batch), Vec::new(), line.next));
        }
    };
    let (end, resume) = match block.end {
        End::Marker(line) => (line.end(), line.next),
        End::Header(line) => {
            let end = block.strange.unwrap_or(line.at);
            (end, end)
        }
        End::Text => {
            let end = block.strange.unwrap_or(text.len());
            (end, end)
        }
    };
    let span = block.at..block.at + text[block.at..end].trim_end().len();
    let marks = block.marks;
    let state = match block.end {
        End::Marker(line) | End::Header(line) if line.is_ended => BatchState::Complete,
        // More of that line could still make it another.
        End::Marker(_) => BatchState::Provisional,
        End::Header(_) | End::Text => BatchState::Open(problem(text, &block, span.clone())),
    };
    let tasks = match state {
        BatchState::Open(_) => Vec::new(),
        _ => vec![task(text, block, span.clone())],
    };
    let batch = batch(marks, span, state, tasks);
    Some(found(Some(batch), Vec::new(), resume))
}

fn found<'t>(batch: Option<Batch<'t>>, problems: Vec<Problem>, resume: usize) -> Found<'t> {
    Found {
        batch,
        problems,
        resume,
    }
}

fn batch<'t>(
    marks: &Marks,
    span: std::ops::Range<usize>,
    state: BatchState,
    tasks: Vec<Task<'t>>,
) -> Batch<'t> {
    Batch {
        dialect: marks.dialect,
        span,
        atomic: false,
        message: None,
        state,
        is_inside: false,
        tasks,
    }
}

/// The task of a block that ends.
fn task<'t>(text: &'t str, block: Block<'t>, span: std::ops::Range<usize>) -> Task<'t> {
    let mut call = Call {
        dialect: block.marks.dialect,
        id: block.id,
        name: block.properties.get("action").cloned().unwrap_or_default(),
        primary: String::new(),
        params: Vec::new(),
    };
    let asked = match block.errors.is_empty() {
        false => Err(problem(text, &block, span.clone())),
        true => actions::read(&block.properties, block.marks.name).map_err(|wrong| Problem {
            at: block.at,
            cause: Cause::Block(vec![BlockError {
                dialect: block.marks.dialect,
                block_id: block.id.to_owned(),
                action: action(&block),
                error_type: wrong.kind,
                message: wrong.message,
                end: None,
                content: rebuilt(&block).into(),
            }]),
        }),
    };
    let (command, action) = match asked {
        Ok(asked) => {
            call.primary = values::primary(asked.command, &asked.params);
            call.params = asked.params;
            (Some(asked.command), Ok(asked.action))
        }
        Err(problem) => (None, Err(problem)),
    };
    Task {
        span,
        why: "",
        why_span: None,
        command,
        call: Some(Box::new(call)),
        action,
        warnings: Vec::new(),
    }
}

fn problem(text: &str, block: &Block<'_>, span: std::ops::Range<usize>) -> Problem {
    let of = (block.marks, Some(block));
    Problem {
        at: block.at,
        cause: Cause::Block(block_errors(text, &block.errors, of, span)),
    }
}

/// The errors of a block, or of a header that is none, for those who are told of them.
fn block_errors(
    text: &str,
    errors: &[SyntaxError<'_>],
    (marks, block): (&Marks, Option<&Block<'_>>),
    span: std::ops::Range<usize>,
) -> Vec<BlockError> {
    let content: Arc<str> = text[span].into();
    let (nothing, carried) = (Arc::from(""), CARRIED / (content.len() + 1));
    let errors = errors.iter().enumerate().map(|(index, error)| BlockError {
        dialect: marks.dialect,
        block_id: block.map_or("unknown", |block| block.id).to_owned(),
        action: block.and_then(action),
        error_type: "syntax",
        message: error.flaw.message.clone().into_owned(),
        end: block.and_then(|block| end(block, error.flaw.code)),
        content: Arc::clone(if index <= carried { &content } else { &nothing }),
    });
    errors.collect()
}

/// What would end a block that never does.
fn end(block: &Block<'_>, missing: Code) -> Option<String> {
    let end = block.marks.end(block.id);
    match missing {
        Code::UnclosedBlock => Some(format!("`{end}` alone on its line")),
        Code::UnclosedHeredoc => {
            let delimiter = block.marks.delimiter(block.id);
            Some(format!("`{delimiter}` and `{end}`, each alone on its line"))
        }
        _ => None,
    }
}

/// The name of a block's action, where it has one.
fn action(block: &Block<'_>) -> Option<String> {
    let name = block.properties.get("action")?;
    (!name.is_empty()).then(|| name.clone().into_owned())
}

/// A block as it would be written.
fn rebuilt(block: &Block<'_>) -> String {
    let (marks, id) = (block.marks, block.id);
    let mut text = marks.header(id) + "\n";
    for (key, value) in &block.properties.list {
        text += &match value.contains('\n') {
            true => {
                let delimiter = marks.delimiter(id);
                format!("{key} = <<'{delimiter}'\n{value}\n{delimiter}\n")
            }
            false => format!("{key} = {}\n", Value::from(value.as_ref())),
        };
    }
    text + &marks.end(id)
}

/// What the blocks of a text are, and every error in them, in the originals' form.
#[derive(Debug, Default)]
pub struct Document {
    pub blocks: Vec<Value>,
    pub errors: Vec<Value>,
}

/// Reads the blocks that a scan found once more, for all there is to say of them.
pub fn document(text: &str, scan: &Scan<'_>) -> Document {
    let tasks = scan
        .batches
        .iter()
        .filter(|batch| is_ours(batch))
        .flat_map(|batch| {
            let tasks = batch.tasks.iter().map(|task| task.span.start);
            let open = batch.tasks.is_empty().then_some(batch.span.start);
            tasks.chain(open)
        });
    let problems = scan.problems.iter();
    let refused = problems.filter(|problem| matches!(problem.cause, Cause::Block(_)));
    let mut places: Vec<usize> = tasks.chain(refused.map(|problem| problem.at)).collect();
    places.sort_unstable();
    let mut numbers = Lines::new(text);
    let mut found = Document::default();
    let mut errors = Vec::new();
    // A damaged header inside a block that never closes is told as what it is to that block.
    let mut inside = 0..0;
    for at in places {
        match grammar::read(text, line_start(text, at)) {
            Some(Begun::Block(block)) => {
                let first = numbers.of(block.at);
                let (end, last) = match block.end {
                    End::Marker(line) => (line.next, Some(numbers.of(line.at))),
                    End::Header(line) => (line.at, None),
                    End::Text => (text.len(), None),
                };
                inside = block.at..end;
                let properties = block.properties.list.iter();
                let properties: Map<String, Value> = properties
                    .map(|(key, value)| ((*key).to_owned(), value.as_ref().into()))
                    .collect();
                found.blocks.push(json!({
                    "id": block.id,
                    "properties": properties,
                    "startLine": first,
                    "endLine": last,
                }));
                errors.extend(block.errors);
            }
            Some(Begun::Refused(error, line, _)) if !inside.contains(&line.at) => {
                errors.push(error)
            }
            Some(Begun::Refused(..)) | None => {}
        }
    }
    errors.sort_by_key(|error| error.at.unwrap_or(usize::MAX));
    let errors = errors.iter().map(|error| error.json(text, &mut numbers));
    found.errors = errors.collect();
    found
}

/// Whether a batch is of SHAM or NESL.
pub fn is_ours(batch: &Batch<'_>) -> bool {
    matches!(batch.dialect, Dialect::Sham | Dialect::Nesl)
}
