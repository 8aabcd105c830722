//! The replacer format: `<<<FILE>>>` and `<<<SEARCH>>>`, `<<<REPLACE>>>` or `<<<OVERWRITE>>>`, up to `<<<END>>>`.
//!
//! ```text
//! block   = [ EXPLANATION text ] FILE path ( pair { pair } | OVERWRITE lines ) END
//! pair    = SEARCH lines REPLACE lines
//! ```
//!
//! A marker stands alone on its line, and a line that is a marker is never content: where it may not stand the block is
//! damaged, since its end is missing or its text quotes other blocks, and nothing of these may be done.

use memchr::memmem;

use super::ParsedBlock;
use super::block::{self, EndOfBlock, MarkerRole, OffsetLine, damaged, is_fence, lines};
use crate::reply::cml::tag::{rest_is_blank, starts_line};
use crate::reply::dialect::Dialect;
use crate::reply::task::{Action, BatchState, Payload, Problem, Replacement, Task};

/// The texts that a block of it has, and hardly anything else. The last two are those of a block that lacks the first.
pub(crate) const MARKS: &[&str] = &[FILE, SEARCH, OVERWRITE];

const EXPLANATION: &str = "<<<EXPLANATION>>>";
const FILE: &str = "<<<FILE>>>";
const SEARCH: &str = "<<<SEARCH>>>";
const REPLACE: &str = "<<<REPLACE>>>";
const OVERWRITE: &str = "<<<OVERWRITE>>>";
const END: &str = "<<<END>>>";

/// Reads the block whose mark is at an offset, if it is one. It begins at `floor` or behind it.
pub(crate) fn read<'t>(text: &'t str, at: usize, floor: usize) -> Option<ParsedBlock<'t>> {
    let bytes = text.as_bytes();
    let mark = MARKS.iter().find(|mark| text[at..].starts_with(**mark))?;
    if !starts_line(bytes, at) || !rest_is_blank(bytes, at + mark.len()) {
        return None;
    }
    let explained = explanation(text, floor, at);
    let start = explained.map_or(at, |(start, _)| start);
    let ((end, state), action) = match block(text, start, at) {
        Ok((end, action)) => (end, Some(action)),
        Err(damaged) => (damaged, None),
    };
    let task = action.map(|action| Task {
        why: explained.map_or("", |(_, why)| why),
        why_span: explained.map(|(start, _)| start..at),
        ..Task::new(start..end, action)
    });
    let tasks = task.into_iter().collect();
    Some(ParsedBlock::batch(
        Dialect::Replacer,
        start..end,
        state,
        tasks,
    ))
}

/// The `<<<EXPLANATION>>>` above a block, if there is nothing but its text between, and that text.
fn explanation(text: &str, floor: usize, block: usize) -> Option<(usize, &str)> {
    let start = floor + memmem::rfind(&text.as_bytes()[floor..block], EXPLANATION.as_bytes())?;
    let (_, first) = lines(&text[..block], start).next()?;
    let inside = start + first.len();
    let is_alone = starts_line(text.as_bytes(), start) && marker(first).is_some();
    if !is_alone || lines(&text[..block], inside).any(|(_, line)| marker(line).is_some()) {
        return None;
    }
    let why = text[inside..block].trim();
    // The fence may begin behind it.
    let last = why.rfind('\n').map_or(0, |newline| newline + 1);
    let why = if is_fence(&why[last..]) {
        why[..last].trim_end()
    } else {
        why
    };
    Some((start, why))
}

/// The marker that a line is.
fn marker(line: &str) -> Option<&'static str> {
    let line = line.trim_start_matches('\u{feff}').trim();
    let mut all = [EXPLANATION, FILE, SEARCH, REPLACE, OVERWRITE, END].into_iter();
    all.find(|marker| *marker == line)
}

/// The end of a block and its action; only the end of one that is damaged.
type BlockResult<'t> = Result<(EndOfBlock, Result<Action<'t>, Problem>), EndOfBlock>;

/// Reads a block that begins at `start`, from its mark on.
fn block<'t>(text: &'t str, start: usize, mark: usize) -> BlockResult<'t> {
    let unended = || block::unended(text, start, Dialect::Replacer, END);
    let mut lines = lines(text, mark);
    let first = lines.next().ok_or_else(unended)?;
    if marker(first.1) != Some(FILE) {
        let said =
            "`<<<FILE>>>` and the path are missing: put both before this marker, in each block";
        return texts(text, start, first, lines, Err(said));
    }
    let mut path = None;
    while let Some(line) = lines.next() {
        match marker(line.1) {
            Some(SEARCH | OVERWRITE) => {
                let missing = "the path is missing: put it between `<<<FILE>>>` and here";
                return texts(text, start, line, lines, path.ok_or(missing));
            }
            None if line.1.trim().is_empty() || is_fence(line.1) => {}
            None if path.is_none() => path = Some(line.1.trim()),
            None => {
                let said = "only the path may be between `<<<FILE>>>` and the next marker, so nothing in this block was \
                            done: write explanations before `<<<FILE>>>`, after `<<<EXPLANATION>>>`";
                // Anything may stand here: the scan looks at all of it.
                let end = mark + first.1.trim_end().len();
                return Err((end, BatchState::Broken(Problem::said(line.0, said).into())));
            }
            Some(_) => {
                let said = "`<<<SEARCH>>>` or `<<<OVERWRITE>>>` must come here, after the path, so nothing in this \
                            block was done: write the whole block, up to `<<<END>>>`";
                return Err((
                    line.0,
                    BatchState::Broken(Problem::said(line.0, said).into()),
                ));
            }
        }
    }
    Err(unended())
}

/// Reads the texts of a block whose file is known or not, from the marker of the first one on.
fn texts<'t>(
    text: &'t str,
    start: usize,
    first: OffsetLine<'t>,
    mut lines: impl Iterator<Item = OffsetLine<'t>>,
    path: Result<&'t str, &str>,
) -> BlockResult<'t> {
    let overwrites = marker(first.1) == Some(OVERWRITE);
    // The pairs that are read, the search of the next one, and where the text begins that is being read.
    let (mut pairs, mut search) = (Vec::new(), None);
    let mut from = first.0 + first.1.len();
    let mut missing = None;
    let last = loop {
        let unended = || block::unended(text, start, Dialect::Replacer, END);
        let (here, line) = lines.next().ok_or_else(unended)?;
        let Some(marker) = marker(line) else {
            continue;
        };
        match (marker, search.take()) {
            (REPLACE, None) if !overwrites => search = Some(from..here),
            (SEARCH, Some(search)) => pairs.push((search, from..here)),
            (END, None) if overwrites => break (here, line),
            (END, Some(search)) => {
                pairs.push((search, from..here));
                break (here, line);
            }
            (END, None) => {
                let said =
                    "`<<<REPLACE>>>` is missing: put it and the new text before this `<<<END>>>`";
                missing = Some(Problem::said(here, said));
                break (here, line);
            }
            _ => return Err(damaged(text, here, END, lines, role)),
        }
        from = here + line.len();
    };
    let end = block::ended(last.0, last.1);
    let indent = common_indent(text, first.0, end.0);
    let part = |lines| block::payload(text, lines, indent);
    let action = match (path, missing) {
        (Err(said), _) => Err(Problem::said(first.0, said)),
        (_, Some(problem)) => Err(problem),
        (Ok(path), None) if overwrites => Ok(Action::Overwrite {
            path: path.into(),
            content: part(from..last.0),
            final_newline: true,
            only_new: false,
        }),
        (Ok(path), None) => {
            let pairs = pairs.into_iter();
            let pairs = pairs.map(|(search, replace)| (part(search), or_nothing(part(replace))));
            Ok(Action::Edit {
                path: path.into(),
                change: Replacement::Pairs(pairs.collect()),
                to: None,
            })
        }
    };
    Ok((end, action))
}

/// A payload, of which white space alone is how this format writes nothing.
fn or_nothing(payload: Payload<'_>) -> Payload<'_> {
    if payload.is_blank() {
        Payload::block("")
    } else {
        payload
    }
}

/// The role of a line in a damaged block.
fn role(line: &str) -> Option<MarkerRole> {
    match marker(line)? {
        END => Some(MarkerRole::End),
        _ => Some(MarkerRole::Inner),
    }
}

/// The white space that each line of a block begins with: it stands in a list.
fn common_indent(text: &str, first: usize, end: usize) -> &str {
    let mark = first + (text[first..].len() - text[first..].trim_start().len());
    let indent = block::indent(text, mark);
    let mut lines = lines(&text[..end], first).skip(1);
    let is_common = lines.all(|(_, line)| line.trim().is_empty() || line.starts_with(indent));
    if is_common { indent } else { "" }
}
