//! SHAM and NESL: one grammar with two sets of markers. A block is a batch with one task.

mod actions;
mod assignment;
mod errors;
mod grammar;
mod lines;
pub mod schemas;
pub(crate) mod values;

use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::ParsedBlock;
use crate::reply::cml::tag::line_start;
use crate::reply::dialect::Dialect;
use crate::reply::task::{
    Batch, BatchState, BlockError, Call, Cause, LineNumbers, Problem, Scan, Task,
};
use errors::Code;
use grammar::{Block, BlockEnd, RefusedHeader};
use lines::is_blank;

/// The text that a block of SHAM begins with.
pub(crate) const SHAM_MARKS: &[&str] = &["#!SHAM "];
/// The text that a block of NESL begins with.
pub(crate) const NESL_MARKS: &[&str] = &["#!nesl "];

/// The most bytes of blocks that the errors of one block carry along: beyond, an error is without its block.
const CARRIED: usize = 1024 * 1024;

/// Reads the block whose header's marker is at an offset, if it is one.
pub(crate) fn read(text: &str, at: usize) -> Option<ParsedBlock<'_>> {
    let before = text[..at].trim_end_matches(|c| c != '\n' && is_blank(c));
    if !(before.is_empty() || before.ends_with('\n')) {
        return None;
    }
    let block = match grammar::read(text, before.len())? {
        Ok(block) => block,
        Err(header) => return Some(refused(text, &header)),
    };
    let unended = |end| {
        let end = block.strange.unwrap_or(end);
        (end, end)
    };
    let (end, resume) = match block.end {
        BlockEnd::Marker(line) => (line.end(), line.next),
        BlockEnd::Header(line) => unended(line.at),
        BlockEnd::Text => unended(text.len()),
    };
    let span = block.at..block.at + text[block.at..end].trim_end().len();
    let dialect = block.markers.dialect;
    let state = match block.end {
        BlockEnd::Marker(line) | BlockEnd::Header(line) if line.is_ended => BatchState::Complete,
        // More of that line could still make it another.
        BlockEnd::Marker(_) => BatchState::Provisional,
        BlockEnd::Header(_) | BlockEnd::Text => {
            let errors = syntax_errors(text, &block, span.clone());
            BatchState::Open(problem(&block, errors).into())
        }
    };
    let tasks = match state {
        BatchState::Open(_) => Vec::new(),
        _ => vec![task(text, block, span.clone())],
    };
    Some(ParsedBlock {
        resume,
        ..ParsedBlock::batch(dialect, span, state, tasks)
    })
}

/// A header that begins no block: the rest of it may still come where its line has not ended.
fn refused<'t>(text: &'t str, header: &RefusedHeader<'t>) -> ParsedBlock<'t> {
    let line = header.line;
    let dialect = header.markers.dialect;
    let error = BlockError {
        dialect,
        block_id: "unknown".to_owned(),
        action: None,
        error_type: "syntax",
        message: header.error.message.clone().into_owned(),
        end: None,
        content: text[line.at..line.end()].into(),
    };
    let problem = Problem {
        at: line.at,
        cause: Cause::Block(vec![error]),
    };
    if line.is_ended {
        return ParsedBlock {
            batch: None,
            problems: vec![problem],
            resume: line.next,
        };
    }
    let state = BatchState::Open(problem.into());
    ParsedBlock::batch(dialect, line.at..line.end(), state, Vec::new())
}

/// The task of a block that ends.
fn task<'t>(text: &'t str, block: Block<'t>, span: Range<usize>) -> Task<'t> {
    let mut call = Call {
        dialect: block.markers.dialect,
        id: block.id,
        name: block.properties.get("action").cloned().unwrap_or_default(),
        primary: String::new(),
        params: Vec::new(),
    };
    let action = if block.errors.is_empty() {
        match actions::read(&block.properties, block.markers.name) {
            Ok(request) => {
                call.primary = values::primary(request.action.command(), &request.params);
                call.params = request.params;
                Ok(request.action)
            }
            Err(invalid) => {
                let content = rebuilt(&block).into();
                let error = block_error(&block, invalid.kind, invalid.message, content);
                Err(problem(&block, vec![error]))
            }
        }
    } else {
        Err(problem(&block, syntax_errors(text, &block, span.clone())))
    };
    Task {
        call: Some(Box::new(call)),
        ..Task::new(span, action)
    }
}

fn problem(block: &Block<'_>, errors: Vec<BlockError>) -> Problem {
    Problem {
        at: block.at,
        cause: Cause::Block(errors),
    }
}

/// The errors in the form of a block, for those who are told of them.
fn syntax_errors(text: &str, block: &Block<'_>, span: Range<usize>) -> Vec<BlockError> {
    let content: Arc<str> = text[span].into();
    let (nothing, carried) = (Arc::from(""), CARRIED / (content.len() + 1));
    let errors = block.errors.iter().enumerate().map(|(index, error)| {
        let content = Arc::clone(if index <= carried { &content } else { &nothing });
        let message = error.message.clone().into_owned();
        BlockError {
            end: missing_end(block, error.code),
            ..block_error(block, "syntax", message, content)
        }
    });
    errors.collect()
}

fn block_error(
    block: &Block<'_>,
    error_type: &'static str,
    message: String,
    content: Arc<str>,
) -> BlockError {
    let action = block.properties.get("action");
    let action = action.filter(|name| !name.is_empty());
    BlockError {
        dialect: block.markers.dialect,
        block_id: block.id.to_owned(),
        action: action.map(|name| name.clone().into_owned()),
        error_type,
        message,
        end: None,
        content,
    }
}

/// The lines that would end a block that never ends.
fn missing_end(block: &Block<'_>, missing: Code) -> Option<String> {
    let end = block.markers.end(block.id);
    match missing {
        Code::UnclosedBlock => Some(format!("`{end}` alone on its line")),
        Code::UnclosedHeredoc => {
            let delimiter = block.markers.delimiter(block.id);
            Some(format!("`{delimiter}` and `{end}`, each alone on its line"))
        }
        _ => None,
    }
}

/// A block as it would be written.
fn rebuilt(block: &Block<'_>) -> String {
    let (markers, id) = (block.markers, block.id);
    let mut text = markers.header(id) + "\n";
    for (key, value) in &block.properties.list {
        text += &if value.contains('\n') {
            let delimiter = markers.delimiter(id);
            format!("{key} = <<'{delimiter}'\n{value}\n{delimiter}\n")
        } else {
            format!("{key} = {}\n", Value::from(value.as_ref()))
        };
    }
    text + &markers.end(id)
}

/// The blocks of a text, and every error in them, in the originals' form.
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
    let mut numbers = LineNumbers::new(text);
    let mut found = Document::default();
    let mut errors = Vec::new();
    // A damaged header inside a block that never closes is told as what it is to that block.
    let mut inside = 0..0;
    for at in places {
        match grammar::read(text, line_start(text.as_bytes(), at)) {
            Some(Ok(block)) => {
                let first = numbers.of(block.at);
                let (end, last) = match block.end {
                    BlockEnd::Marker(line) => (line.next, Some(numbers.of(line.at))),
                    BlockEnd::Header(line) => (line.at, None),
                    BlockEnd::Text => (text.len(), None),
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
            Some(Err(header)) if !inside.contains(&header.line.at) => errors.push(header.error),
            Some(Err(_)) | None => {}
        }
    }
    errors.sort_by_key(|error| error.at.unwrap_or(usize::MAX));
    let errors = errors.iter().map(|error| error.json(text, &mut numbers));
    found.errors = errors.collect();
    found
}

/// True if a batch is of SHAM or NESL.
pub fn is_ours(batch: &Batch<'_>) -> bool {
    matches!(batch.dialect, Dialect::Sham | Dialect::Nesl)
}
