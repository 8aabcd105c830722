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

use super::block::{self, Line, damaged_end, is_fence, lines};
use crate::reply::cml::tag::{rest_is_blank, starts_line};
use crate::reply::dialect::Dialect;
use crate::reply::found::Found;
use crate::reply::task::{Action, BatchState, Cause, Change, Payload, Problem};

/// What a block of it has, and hardly anything else. The last two are those of a block that lacks the first.
pub(crate) const MARKS: &[&str] = &["<<<FILE>>>", "<<<SEARCH>>>", "<<<OVERWRITE>>>"];

const EXPLANATION: &str = "<<<EXPLANATION>>>";
const END: &str = "<<<END>>>";

/// Reads the block whose mark is at an offset, if it is one. It begins at `floor` or behind it.
pub(crate) fn read<'t>(text: &'t str, at: usize, floor: usize) -> Option<Found<'t>> {
    let bytes = text.as_bytes();
    let mark = MARKS.iter().find(|mark| text[at..].starts_with(**mark))?;
    if !starts_line(bytes, at) || !rest_is_blank(bytes, at + mark.len()) {
        return None;
    }
    let explained = explanation(text, floor, at);
    let start = explained.map_or(at, |(start, _)| start);
    let read = Reader { text, start }.run(at);
    let span = start..read.end;
    let why = explained.map(|(_, why)| (start..at, why));
    let task = read
        .action
        .map(|action| block::task(span.clone(), why, action));
    let tasks = task.into_iter().collect();
    Some(Found::batch(Dialect::Replacer, span, read.state, tasks))
}

/// The `<<<EXPLANATION>>>` above a block, if there is nothing but its text between, and that text.
fn explanation(text: &str, floor: usize, block: usize) -> Option<(usize, &str)> {
    let start = floor + memmem::rfind(&text.as_bytes()[floor..block], EXPLANATION.as_bytes())?;
    let (_, first) = lines(&text[..block], start).next()?;
    let inside = start + first.len();
    let is_alone = starts_line(text.as_bytes(), start) && Marker::of(first).is_some();
    if !is_alone || lines(&text[..block], inside).any(|(_, line)| Marker::of(line).is_some()) {
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marker {
    Explanation,
    File,
    Search,
    Replace,
    Overwrite,
    End,
}

impl Marker {
    const ALL: [(&'static str, Self); 6] = [
        (EXPLANATION, Self::Explanation),
        ("<<<FILE>>>", Self::File),
        ("<<<SEARCH>>>", Self::Search),
        ("<<<REPLACE>>>", Self::Replace),
        ("<<<OVERWRITE>>>", Self::Overwrite),
        (END, Self::End),
    ];

    /// The marker that a line is.
    fn of(line: &str) -> Option<Self> {
        let line = line.trim_start_matches('\u{feff}').trim();
        if !line.starts_with("<<<") {
            return None;
        }
        let known = Self::ALL.iter().find(|(text, _)| *text == line);
        known.map(|(_, marker)| *marker)
    }
}

/// What was read of a block.
struct Block<'t> {
    end: usize,
    state: BatchState,
    /// None where the block is damaged.
    action: Option<Result<Action<'t>, Problem>>,
}

impl Block<'_> {
    fn damaged(end: usize, state: BatchState) -> Self {
        Self {
            end,
            state,
            action: None,
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    /// Where the block begins.
    start: usize,
}

impl<'t> Reader<'t> {
    /// Reads from the mark on.
    fn run(&self, mark: usize) -> Block<'t> {
        let mut lines = lines(self.text, mark);
        let Some((_, first)) = lines.next() else {
            return self.open();
        };
        if Marker::of(first) != Some(Marker::File) {
            let said =
                "`<<<FILE>>>` and the path are missing: put both before this marker, in each block";
            return self.texts((mark, first), lines, Err(said));
        }
        let mut path = None;
        while let Some(line) = lines.next() {
            match Marker::of(line.1) {
                Some(Marker::Search | Marker::Overwrite) => {
                    let missing = "the path is missing: put it between `<<<FILE>>>` and here";
                    return self.texts(line, lines, path.ok_or(missing));
                }
                None if line.1.trim().is_empty() || is_fence(line.1) => {}
                None if path.is_none() => path = Some(line.1.trim()),
                None => {
                    let said = "only the path may be between `<<<FILE>>>` and the next marker, so nothing in this \
                         block was done: write explanations before `<<<FILE>>>`, after `<<<EXPLANATION>>>`";
                    // What stands here may be anything: the scan looks at all of it.
                    let end = mark + first.trim_end().len();
                    return Block::damaged(end, BatchState::Broken(Problem::said(line.0, said)));
                }
                Some(_) => {
                    let said = "`<<<SEARCH>>>` or `<<<OVERWRITE>>>` must come here, after the path, so nothing in \
                         this block was done: write the whole block, up to `<<<END>>>`";
                    return Block::damaged(line.0, BatchState::Broken(Problem::said(line.0, said)));
                }
            }
        }
        self.open()
    }

    /// Reads the texts of a block whose file is known or not, from the marker of the first one on.
    fn texts(
        &self,
        (at, first): Line<'t>,
        mut lines: impl Iterator<Item = Line<'t>>,
        path: Result<&'t str, &str>,
    ) -> Block<'t> {
        let overwrites = Marker::of(first) == Some(Marker::Overwrite);
        // The pairs that are read, the search of the next one, and where the text begins that is being read.
        let mut pairs = Vec::new();
        let mut search = None;
        let mut from = at + first.len();
        let mut missing = None;
        let last = loop {
            let Some((here, line)) = lines.next() else {
                return self.open();
            };
            let Some(marker) = Marker::of(line) else {
                continue;
            };
            let next = here + line.len();
            match (marker, search.take()) {
                (Marker::Replace, None) if !overwrites => search = Some(from..here),
                (Marker::Search, Some(search)) => pairs.push((search, from..here)),
                (Marker::End, None) if overwrites => break (here, line),
                (Marker::End, Some(search)) => {
                    pairs.push((search, from..here));
                    break (here, line);
                }
                (Marker::End, None) => {
                    missing = Some(Problem::said(
                        here,
                        "`<<<REPLACE>>>` is missing: put it and the new text before this `<<<END>>>`",
                    ));
                    break (here, line);
                }
                _ => return self.damaged(here, lines),
            }
            from = next;
        };
        let (end, state) = block::end(last.0, last.1);
        let indent = self.indent(at, end);
        let text = |lines| block::payload(self.text, lines, indent);
        let action = match (path, missing) {
            (Err(said), _) => Err(Problem::said(at, said)),
            (_, Some(problem)) => Err(problem),
            (Ok(path), None) if overwrites => Ok(Action::Overwrite {
                path: path.into(),
                content: text(from..last.0),
                final_newline: true,
                only_new: false,
            }),
            (Ok(path), None) => {
                let pairs = pairs.into_iter().map(|(search, replace)| {
                    let replace = text(replace);
                    // White space alone is how this format writes nothing.
                    let nothing = replace.is_blank().then(|| Payload::block(""));
                    (text(search), nothing.unwrap_or(replace))
                });
                Ok(Action::Edit {
                    path: path.into(),
                    change: Change::Pairs(pairs.collect()),
                    to: None,
                })
            }
        };
        Block {
            end,
            state,
            action: Some(action),
        }
    }

    /// The white space that each line of the block begins with: it stands in a list.
    fn indent(&self, first: usize, end: usize) -> &'t str {
        let mark = first + (self.text[first..].len() - self.text[first..].trim_start().len());
        let indent = block::indent(self.text, mark);
        let mut lines = lines(&self.text[..end], first).skip(1);
        let is_common = lines.all(|(_, line)| line.trim().is_empty() || line.starts_with(indent));
        if is_common { indent } else { "" }
    }

    /// The text ends in it.
    fn open(&self) -> Block<'t> {
        let cause = Cause::NotEnded {
            dialect: Dialect::Replacer,
            end: END,
        };
        let at = self.start;
        Block::damaged(self.text.len(), BatchState::Open(Problem { at, cause }))
    }

    /// A marker stands where it may not.
    fn damaged(&self, at: usize, lines: impl Iterator<Item = Line<'t>>) -> Block<'t> {
        let problem = Problem::said(
            at,
            "this marker is inside a block that was not ended, so nothing up to the end of that block was done: put \
             `<<<END>>>` before it. This format cannot hold text with marker lines",
        );
        let marker = |line: &str| match Marker::of(line)? {
            Marker::End => Some(block::Marker::End),
            _ => Some(block::Marker::Inner),
        };
        match damaged_end(lines, marker) {
            Some(end) => Block::damaged(end, BatchState::Broken(problem)),
            None => Block::damaged(self.text.len(), BatchState::Open(problem)),
        }
    }
}
