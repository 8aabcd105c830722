//! The common parts of the readers of patches: lines that know whether more text could change them, and actions.

use std::borrow::Cow;

use memchr::memchr;

use super::block::is_fence;
use crate::reply::action::{Action, Payload, Replacement};
use crate::reply::hunk::{Hunk, Sign};

/// A line of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PatchLine<'t> {
    pub(crate) at: usize,
    /// Without its newline; with a CR, if it has one.
    pub(crate) text: &'t str,
    /// The start of the next line.
    pub(crate) next: usize,
}

impl<'t> PatchLine<'t> {
    /// Its text without white space at its end.
    pub(crate) fn bare(&self) -> &'t str {
        self.text.trim_end()
    }
}

/// Reads a text line by line.
#[derive(Debug, Clone)]
pub(crate) struct PatchReader<'t> {
    text: &'t str,
    /// The indentation of each line, which is not part of it: the patch stands in a list. A line that is indented less is
    /// behind the patch, blank lines and fences aside.
    pub(crate) indent: &'t str,
    pub(crate) at: usize,
    /// A line was looked at that is not there yet, or may still grow.
    pub(crate) at_end: bool,
}

impl<'t> PatchReader<'t> {
    /// Reads from the line on whose first text is at an offset.
    pub(crate) fn new(text: &'t str, first: usize) -> Option<Self> {
        let indented = text[..first].trim_end_matches([' ', '\t']);
        if !indented.is_empty() && !indented.ends_with('\n') {
            return None;
        }
        Some(Self {
            text,
            indent: &text[indented.len()..first],
            at: indented.len(),
            at_end: false,
        })
    }

    /// The next line, which stays the next.
    pub(crate) fn peek(&mut self) -> Option<PatchLine<'t>> {
        self.line(self.at)
    }

    /// The line that starts at an offset.
    pub(crate) fn line(&mut self, at: usize) -> Option<PatchLine<'t>> {
        let rest = &self.text[at..];
        let end = memchr(b'\n', rest.as_bytes());
        self.at_end |= end.is_none();
        if rest.is_empty() {
            return None;
        }
        let whole = &rest[..end.unwrap_or(rest.len())];
        let text = match whole.strip_prefix(self.indent) {
            Some(text) => text,
            None if whole.trim().is_empty() => &whole[whole.trim_end_matches('\r').len()..],
            None if is_fence(whole) => whole.trim_start(),
            None => return None,
        };
        Some(PatchLine {
            at,
            text,
            next: at + end.map_or(rest.len(), |end| end + 1),
        })
    }
}

/// The lines of a hunk.
#[derive(Debug, Default)]
pub(crate) struct HunkLines<'t> {
    lines: Vec<(Sign, &'t str)>,
    /// The number of lines at its end that are empty: context, or blank lines before the next thing.
    empty: usize,
}

impl<'t> HunkLines<'t> {
    /// Adds a line with its sign; an empty one is context. `false` for a line that is none of a hunk.
    pub(crate) fn push(&mut self, line: &'t str, is_crlf: bool) -> bool {
        let line = match line.strip_suffix('\r') {
            Some(line) if is_crlf => line,
            _ => line,
        };
        match Sign::of(line) {
            Some(sign) => {
                self.lines.push((sign, &line[1..]));
                self.empty = 0;
            }
            None if line.is_empty() || line == "\r" => {
                self.lines.push((Sign::Kept, line));
                self.empty += 1;
            }
            None => return false,
        }
        true
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The sign of the last line.
    pub(crate) fn last(&self) -> Option<Sign> {
        self.lines.last().map(|(sign, _)| *sign)
    }

    /// True if the last line has no sign.
    pub(crate) fn ends_empty(&self) -> bool {
        self.empty > 0
    }

    /// Its lines, without empty ones at the end.
    pub(crate) fn lines(mut self) -> Vec<(Sign, &'t str)> {
        self.lines.truncate(self.lines.len() - self.empty);
        self.lines
    }

    /// Its lines, all of which are known to be its own.
    pub(crate) fn all_lines(self) -> Vec<(Sign, &'t str)> {
        self.lines
    }
}

/// An edit by hunks, and the file's new path; a move where there are no hunks.
pub(crate) fn edit<'t>(
    path: Cow<'t, str>,
    to: Option<Cow<'t, str>>,
    hunks: Vec<Hunk<'t>>,
) -> Action<'t> {
    match to {
        Some(to) if hunks.is_empty() => Action::Move {
            path,
            to,
            overwrite: false,
            exact: true,
        },
        to => Action::Edit {
            path,
            change: Replacement::Hunks(hunks),
            to,
        },
    }
}

/// The content of a new file: lines that each begin with `+`, behind the patch's indentation. With a CR that is content it
/// is taken as it stands.
pub(crate) fn added<'t>(raw: &'t str, indent: &str, is_crlf: bool) -> Payload<'t> {
    let sign_of = |line: &'t str| {
        let is_added = line.strip_prefix(indent)?.starts_with('+');
        is_added.then(|| &line[..=indent.len()])
    };
    let sign = raw.lines().find_map(sign_of).unwrap_or("+");
    let has_cr = !is_crlf && memchr(b'\r', raw.as_bytes()).is_some();
    let payload = if has_cr && raw.ends_with('\n') {
        Payload::inline(raw.strip_prefix(sign).unwrap_or(raw))
    } else {
        Payload::block(raw)
    };
    Payload {
        indent: sign,
        ..payload
    }
}
