//! What the readers of patches share: lines that know whether more text could change them, and the making of tasks.

use memchr::memchr;

use super::block::is_fence;
use crate::reply::action::{Action, Change, Command, Payload};
use crate::reply::hunk::{Hunk, Sign};
use crate::reply::task::{Problem, Task};

/// A line of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'t> {
    pub(crate) at: usize,
    /// Without its newline; with a CR, if it has one.
    pub(crate) text: &'t str,
    /// The start of the next line.
    pub(crate) next: usize,
}

impl<'t> Line<'t> {
    /// Its text without white space at its end.
    pub(crate) fn bare(&self) -> &'t str {
        self.text.trim_end()
    }
}

/// Reads a text line by line.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'t> {
    text: &'t str,
    /// What each line begins with and is not part of it: the patch stands in a list. What is indented less is behind it,
    /// blank lines and fences aside.
    pub(crate) indent: &'t str,
    pub(crate) at: usize,
    /// A line was looked at that is not there yet, or may still grow.
    pub(crate) at_end: bool,
}

impl<'t> Reader<'t> {
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
    pub(crate) fn peek(&mut self) -> Option<Line<'t>> {
        self.line(self.at)
    }

    /// The line that starts at an offset.
    pub(crate) fn line(&mut self, at: usize) -> Option<Line<'t>> {
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
        Some(Line {
            at,
            text,
            next: at + end.map_or(rest.len(), |end| end + 1),
        })
    }
}

/// The lines of a hunk.
#[derive(Debug, Default)]
pub(crate) struct Body<'t> {
    lines: Vec<(Sign, &'t str)>,
    /// How many lines at its end have no sign and nothing else: context, or what only stands before the next thing.
    empty: usize,
}

impl<'t> Body<'t> {
    /// Adds a line with its sign; an empty one is context. `false` for a line that is none of a hunk.
    pub(crate) fn push(&mut self, line: &'t str, is_crlf: bool) -> bool {
        let line = match is_crlf {
            true => line.strip_suffix('\r').unwrap_or(line),
            false => line,
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

    /// Whether the last line has no sign.
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

/// What a patch asks for about one file, or why that cannot be done.
pub(crate) type Asked<'t> = Result<Action<'t>, Problem>;

/// The task that a part of a patch is.
pub(crate) fn task<'t>(
    span: std::ops::Range<usize>,
    command: Option<Command>,
    action: Asked<'t>,
) -> Task<'t> {
    Task {
        span,
        why: "",
        why_span: None,
        command,
        call: None,
        action,
        warnings: Vec::new(),
    }
}

/// An edit by hunks, and where the file is moved to; a move where there are none.
pub(crate) fn edit<'t>(
    path: std::borrow::Cow<'t, str>,
    to: Option<std::borrow::Cow<'t, str>>,
    hunks: Vec<Hunk<'t>>,
) -> (Command, Action<'t>) {
    match to {
        Some(to) if hunks.is_empty() => (
            Command::Move,
            Action::Move {
                path,
                to,
                overwrite: false,
                exact: true,
            },
        ),
        to => (
            Command::Edit,
            Action::Edit {
                path,
                change: Change::Hunks(hunks),
                to,
            },
        ),
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
    let mut payload = match has_cr && raw.ends_with('\n') {
        true => Payload::inline(raw.strip_prefix(sign).unwrap_or(raw)),
        false => Payload::block(raw),
    };
    payload.indent = sign;
    payload
}
