//! What the dialects whose blocks lie between marker lines have in common: their lines, the indentation of a whole block,
//! where a damaged one ends, and a batch made of what was read. Knows no marker.

use std::ops::Range;

use crate::reply::cml::tag::line_start;
use crate::reply::task::{Action, BatchState, Command, Payload, Problem, Task};

/// A line and its offset, its line end included.
pub(crate) type Line<'t> = (usize, &'t str);

/// The lines from an offset on.
pub(crate) fn lines(text: &str, from: usize) -> impl Iterator<Item = Line<'_>> {
    let mut at = from;
    text[from..].split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (start, line)
    })
}

/// Whether a line is a Markdown fence.
pub(crate) fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// What stands before a mark on its line: only white space, as the caller knows, or the text's BOM, which is none.
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

/// How a block goes on at a marker line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marker {
    /// It ends.
    End,
    /// It is that of a block, and not its end.
    Inner,
}

/// Where a block ends that holds markers which may not be there; `None` if the text ends first.
///
/// Either its end is missing, or its text quotes other blocks. Nothing of these may be done, so it reaches to the first
/// end that belongs to none of them.
pub(crate) fn damaged_end<'t>(
    mut lines: impl Iterator<Item = Line<'t>>,
    marker: impl Fn(&str) -> Option<Marker>,
) -> Option<usize> {
    let mut in_quoted = true;
    lines.find_map(|(at, line)| {
        let marker = marker(line)?;
        let is_end = marker == Marker::End && !in_quoted;
        in_quoted = marker == Marker::Inner;
        is_end.then(|| at + line.trim_end().len())
    })
}

/// Where a block ends whose last marker is on a line. Text behind it would make that a line like any other, so it may run
/// at once only if the line has ended.
pub(crate) fn end(at: usize, line: &str) -> (usize, BatchState) {
    let state = match line.ends_with('\n') {
        true => BatchState::Complete,
        false => BatchState::Provisional,
    };
    (at + line.trim_end().len(), state)
}

/// A task, with its explanation and where that stands.
pub(crate) fn task<'t>(
    span: Range<usize>,
    why: Option<(Range<usize>, &'t str)>,
    action: Result<Action<'t>, Problem>,
) -> Task<'t> {
    Task {
        span,
        why: why.as_ref().map_or("", |(_, why)| why),
        why_span: why.map(|(span, _)| span),
        command: match &action {
            Ok(Action::Overwrite { .. }) => Some(Command::Overwrite),
            Ok(_) => Some(Command::Edit),
            Err(_) => None,
        },
        call: None,
        action,
        warnings: Vec::new(),
    }
}
