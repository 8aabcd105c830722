//! The common parts of the dialects whose blocks lie between marker lines: their lines, the indentation of a whole block, and
//! the end of a damaged one. Knows no marker.

use std::ops::Range;

use crate::reply::cml::tag::line_start;
use crate::reply::dialect::Dialect;
use crate::reply::task::{BatchState, Cause, Payload, Problem};

/// A line and its offset, its line end included.
pub(crate) type OffsetLine<'t> = (usize, &'t str);

/// The lines from an offset on.
pub(crate) fn lines(text: &str, from: usize) -> impl Iterator<Item = OffsetLine<'_>> {
    let mut at = from;
    text[from..].split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (start, line)
    })
}

/// True if a line is a Markdown fence.
pub(crate) fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// The indentation of a mark, before which the caller knows only white space. The text's BOM is none of it.
pub(crate) fn indent(text: &str, mark: usize) -> &str {
    text[line_start(text.as_bytes(), mark)..mark].trim_start_matches('\u{feff}')
}

/// A payload in block form, without the indentation of its block.
pub(crate) fn payload<'t>(text: &'t str, lines: Range<usize>, indent: &'t str) -> Payload<'t> {
    Payload {
        indent,
        ..Payload::block(&text[lines])
    }
}

/// The two kinds of marker lines in a damaged block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkerRole {
    /// The end of a block.
    End,
    /// A marker of a block that is not its end.
    Inner,
}

/// The end of a block, and whether it may run.
pub(crate) type EndOfBlock = (usize, BatchState);

/// The end of a block that holds a marker at an offset where none may be. `lines` are those behind that marker.
///
/// Either its end is missing, or its text quotes other blocks. Nothing of these may be done, so it reaches to the first
/// end that belongs to none of them.
pub(crate) fn damaged<'t>(
    text: &str,
    at: usize,
    end: &str,
    mut lines: impl Iterator<Item = OffsetLine<'t>>,
    marker: impl Fn(&str) -> Option<MarkerRole>,
) -> EndOfBlock {
    let said = format!(
        "this marker is inside a block that was not ended, so nothing up to the end of that block was done: put `{end}` \
         before it. This format cannot hold text with marker lines"
    );
    let problem = Problem::said(at, said).into();
    let mut in_quoted = true;
    let end = lines.find_map(|(at, line)| {
        let marker = marker(line)?;
        let is_end = marker == MarkerRole::End && !in_quoted;
        in_quoted = marker == MarkerRole::Inner;
        is_end.then(|| at + line.trim_end().len())
    });
    match end {
        Some(end) => (end, BatchState::Broken(problem)),
        None => (text.len(), BatchState::Open(problem)),
    }
}

/// The end of a block that begins at an offset and whose last marker, `end`, does not come.
pub(crate) fn unended(text: &str, at: usize, dialect: Dialect, end: &'static str) -> EndOfBlock {
    let cause = Cause::NotEnded { dialect, end };
    (text.len(), BatchState::Open(Problem { at, cause }.into()))
}

/// The end of a block whose last marker is on a line. Text behind it would make that a line like any other, so it may run
/// at once only if the line has ended.
pub(crate) fn ended(at: usize, line: &str) -> EndOfBlock {
    let state = if line.ends_with('\n') {
        BatchState::Complete
    } else {
        BatchState::Provisional
    };
    (at + line.trim_end().len(), state)
}
