//! Unified diffs with the names of their files: `--- a/x`, `+++ b/x` and hunks, or `diff --git` with its own headers. One
//! without names, or quoted behind `> `, is prose.
//!
//! In a fence that opens right above it, all up to the fence's end is the diff. Elsewhere it ends where a line follows
//! that can be none of it. A hunk has as many lines as its header says, where that can be; models count wrongly, and then
//! it goes as far as its lines have a sign. In a fence it may be indented, as in a list, and lack the first `@@`.

mod header;

use super::ParsedBlock;
use super::patch::{HunkLines, PatchReader, added, edit};
use crate::reply::action::Action;
use crate::reply::chat_key::key_in;
use crate::reply::cml::tag::line_start;
use crate::reply::dialect::Dialect;
use crate::reply::hunk::{Hunk, Sign};
use crate::reply::task::{BatchState, Cause, Problem, Task};
use header::{Header, HunkRange};

/// The texts that a block of it has, and hardly anything else.
pub(crate) const MARKS: &[&str] = &["+++ ", "diff --git "];

/// Reads the block whose mark is at an offset, if it is one. It begins at `floor` or behind it.
pub(crate) fn read<'t>(text: &'t str, at: usize, floor: usize) -> Option<ParsedBlock<'t>> {
    let mut reader = PatchReader::new(text, at)?;
    if text[at..].starts_with('+') {
        reader.at = line_start(text.as_bytes(), reader.at.checked_sub(1)?);
    }
    let start = reader.at;
    let fence = fence_above(text, start);
    // Indented without a fence it is quoted.
    if start < floor || fence.is_none() && !reader.indent.is_empty() {
        return None;
    }
    let mut diff = DiffReader {
        text,
        reader,
        fence: fence.map(|fence| fence.sign),
        end: start,
        added: 0..0,
        closed: false,
    };
    let mut tasks = Vec::with_capacity(1);
    while !diff.closed
        && let Some(task) = diff.read_file(tasks.is_empty())
    {
        tasks.push(task);
    }
    if tasks.is_empty() {
        return None;
    }
    let state = match diff.fence {
        Some(_) if !diff.closed => {
            tasks.clear();
            let why = "the fence around this diff is not closed, so nothing in it was done: close it after the last \
                      line";
            BatchState::Open(Problem::said(start, why).into())
        }
        _ if diff.reader.at_end => BatchState::Provisional,
        _ => BatchState::Complete,
    };
    Some(ParsedBlock::batch(
        Dialect::Diff,
        start..diff.end,
        state,
        tasks,
    ))
}

/// The start of a block that begins at an offset, with the fence that opens right above it: read without that, it can be
/// another.
pub(crate) fn start_with_fence(text: &str, start: usize) -> usize {
    fence_above(text, start).map_or(start, |fence| fence.line)
}

/// A fence that opens above a block.
struct FenceAbove<'t> {
    /// The start of its line.
    line: usize,
    sign: &'t str,
}

/// The fence that opens on the line above, or above the line there that holds the key of a chat.
fn fence_above(text: &str, start: usize) -> Option<FenceAbove<'_>> {
    let above = |at: usize| {
        let end = text[..at].strip_suffix('\n')?.len();
        Some(line_start(text.as_bytes(), end)..end)
    };
    let mut line = above(start)?;
    if key_in(&text[line.clone()]).is_some() {
        line = above(line.start)?;
    }
    let at = line.start;
    // It may be an item of a list.
    let is_before = |c: char| c.is_ascii_digit() || " \t-*.)".contains(c);
    let line = text[line].trim_start_matches(is_before);
    let sign = line
        .chars()
        .next()
        .filter(|sign| matches!(sign, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(sign).len();
    (length >= 3).then(|| FenceAbove {
        line: at,
        sign: &line[..length],
    })
}

struct DiffReader<'t> {
    text: &'t str,
    reader: PatchReader<'t>,
    fence: Option<&'t str>,
    /// The end of the last line that is known to be its own.
    end: usize,
    /// The lines of the last hunk.
    added: std::ops::Range<usize>,
    /// Its fence was seen to close.
    closed: bool,
}

/// The lines of a hunk from an offset on.
#[derive(Default)]
struct HunkBody<'t> {
    lines: HunkLines<'t>,
    /// True if the old and the new file end there without a newline.
    old_end: bool,
    new_end: bool,
    /// The offset behind it.
    next: usize,
    /// It has as many lines as its header says.
    is_counted: bool,
    /// Without a fence: the first line that has a sign and stands behind an empty one. It may be prose.
    doubtful: Option<usize>,
}

impl<'t> HunkBody<'t> {
    fn into_hunk(self, range: Option<HunkRange>, heading: Option<&'t str>) -> Hunk<'t> {
        let at_end = self.old_end || self.new_end;
        Hunk {
            line: range.map(|range| range.line),
            below: Vec::new(),
            heading,
            at_end,
            final_newline: at_end.then_some(!self.new_end),
            lines: if self.is_counted {
                self.lines.all_lines()
            } else {
                self.lines.lines()
            },
        }
    }
}

impl<'t> DiffReader<'t> {
    /// Reads the part of the next file; nothing where the diff has ended.
    fn read_file(&mut self, is_first: bool) -> Option<Task<'t>> {
        let start = self.reader.at;
        let is_begun = is_first && self.fence.is_some();
        let header = Header::read(&mut self.reader, is_first, is_begun)?;
        self.end = self.reader.at;
        let mut refused = None;
        let mut hunks = Vec::new();
        self.added = start..start;
        self.read_hunks(&header, &mut hunks, &mut refused);
        let action = match refused {
            Some(problem) => Err(problem),
            None => self.action(&header, hunks, start),
        };
        let mut task = Task::new(start..self.end, action);
        if let (Ok(_), Some(mode)) = (&task.action, header.lost_mode()) {
            task.warnings.push(Problem {
                at: start,
                cause: Cause::ModeIgnored {
                    mode: mode.to_owned(),
                },
            });
        }
        self.find_next();
        Some(task)
    }

    /// Reads hunks up to the next file or the end.
    fn read_hunks(
        &mut self,
        header: &Header<'t>,
        hunks: &mut Vec<Hunk<'t>>,
        refused: &mut Option<Problem>,
    ) {
        let mut is_whole = true;
        let mut idle = None;
        // Blank lines between hunks are nothing.
        let mut after_blank = true;
        while let Some(line) = self.reader.peek() {
            let mut refuse = |at, why: &str| {
                refused.get_or_insert_with(|| Problem::said(at, why));
            };
            let is_bare = hunks.is_empty() && header.lacks_hunk && Sign::of(line.text).is_some();
            if is_bare || header::begins_hunk(line.text) {
                let range = HunkRange::parse(line.text);
                if !is_bare {
                    self.reader.at = line.next;
                }
                let body = self.read_hunk(range, header.is_crlf);
                if let Some(at) = body.doubtful {
                    refuse(at, UNENDED);
                }
                is_whole = body.is_counted || range.is_none();
                (self.reader.at, self.end) = (body.next, body.next);
                let hunk = body.into_hunk(range, header::heading(line.text).filter(|_| !is_bare));
                if !hunk.changes() {
                    idle.get_or_insert(line.at);
                }
                hunks.push(hunk);
                after_blank = false;
            } else if line.bare().is_empty() {
                self.reader.at = line.next;
                after_blank = true;
            } else if self.is_end(line.text)
                || line.text.starts_with("diff --git ")
                || header::names_files(&mut self.reader, line.at)
            {
                break;
            } else if self.fence.is_none() {
                if !is_whole && !after_blank {
                    refuse(line.at, UNSIGNED);
                }
                break;
            } else {
                if !is_whole || !header::is_beside(line.text) {
                    refuse(line.at, UNSIGNED);
                }
                self.reader.at = line.next;
                self.end = line.next;
            }
        }
        if let Some(at) = idle {
            let why = "this hunk changes nothing: begin the lines that change with `-` or `+`";
            refused.get_or_insert_with(|| Problem::said(at, why));
        }
    }

    /// True if the fence ends on this line.
    fn is_end(&self, line: &str) -> bool {
        let line = line.trim();
        self.fence.is_some_and(|fence| {
            line.starts_with(fence) && line.trim_start_matches(&fence[..1]).is_empty()
        })
    }

    /// Goes to the next file, past blank lines, or to the end.
    fn find_next(&mut self) {
        while let Some(line) = self.reader.peek() {
            if self.is_end(line.text) {
                (self.closed, self.end) = (true, line.next);
                self.reader.at = line.next;
                return;
            }
            if !line.bare().is_empty() {
                return;
            }
            self.reader.at = line.next;
        }
    }

    /// Reads the lines of a hunk: as many as its header says, or all that can be its own.
    fn read_hunk(&mut self, range: Option<HunkRange>, is_crlf: bool) -> HunkBody<'t> {
        let start = self.reader.at;
        let counted = range.and_then(|range| self.read_body(start, Some(range), is_crlf));
        counted
            .or_else(|| self.read_body(start, None, is_crlf))
            .unwrap_or_default()
    }

    /// The lines from an offset on; nothing where they are not as many as the header says.
    fn read_body(
        &mut self,
        start: usize,
        range: Option<HunkRange>,
        is_crlf: bool,
    ) -> Option<HunkBody<'t>> {
        let mut body = HunkBody {
            next: start,
            is_counted: range.is_some(),
            ..HunkBody::default()
        };
        let mut at = start;
        let mut left = range.map(|range| (range.old, range.new));
        while let Some(line) = self.reader.line(at) {
            let last = body.lines.last();
            if line.text.starts_with("\\ ") && last.is_some() {
                body.old_end |= last != Some(Sign::Added);
                body.new_end |= last != Some(Sign::Removed);
                (at, body.next) = (line.next, line.next);
                continue;
            }
            if left == Some((0, 0)) || left.is_none() && self.ends_body(line.at) {
                break;
            }
            let is_after_empty = body.lines.ends_empty();
            if !body.lines.push(line.text, is_crlf) {
                break;
            }
            let goes_on = is_after_empty && !body.lines.ends_empty();
            if left.is_none() && self.fence.is_none() && goes_on {
                body.doubtful.get_or_insert(line.at);
            }
            if let Some((old, new)) = left {
                let sign = body.lines.last()?;
                let old = old.checked_sub(usize::from(sign != Sign::Added))?;
                let new = new.checked_sub(usize::from(sign != Sign::Removed))?;
                left = Some((old, new));
            }
            at = line.next;
            if !line.bare().is_empty() || left.is_some() {
                body.next = at;
                self.added = start..at;
            }
        }
        if left.is_some() {
            if left != Some((0, 0)) || body.lines.is_empty() {
                return None;
            }
            let follows = self.reader.line(at);
            let goes_on = follows.is_some_and(|line| Sign::of(line.text).is_some());
            let may_be_prose = self.fence.is_none() && body.lines.ends_empty();
            if goes_on && !may_be_prose && !self.ends_body(at) {
                return None;
            }
        }
        Some(body)
    }

    /// True if a line that has a sign is the start of something else: the next file, or a mail's signature.
    fn ends_body(&mut self, at: usize) -> bool {
        let Some(line) = self
            .reader
            .line(at)
            .filter(|line| line.text.starts_with("--"))
        else {
            return false;
        };
        if line.bare() == "--" {
            let version = self.reader.line(line.next);
            return version.is_some_and(|line| line.text.starts_with(|c: char| c.is_ascii_digit()));
        }
        header::names_files(&mut self.reader, at)
    }

    /// The action on a file.
    fn action(
        &self,
        header: &Header<'t>,
        mut hunks: Vec<Hunk<'t>>,
        at: usize,
    ) -> Result<Action<'t>, Problem> {
        let refused = |said: &str| Err(Problem::said(at, said));
        if let Some(problem) = header.refuse(at) {
            return Err(problem);
        }
        let names = header.names(at)?;
        if names.is_gone {
            return Ok(Action::Delete {
                path: names.path,
                only_file: true,
                held: hunks,
            });
        }
        if !names.is_new {
            if hunks.is_empty() && names.to.is_none() {
                return refused(header.nothing_to_do());
            }
            return Ok(edit(names.path, names.to, hunks));
        }
        if hunks.len() > 1 {
            return refused("a new file must have exactly one hunk, with all its lines");
        }
        let hunk = hunks.pop().unwrap_or_default();
        let mut lines = hunk.lines.iter();
        if !lines.all(|(sign, line)| *sign == Sign::Added || line.trim().is_empty()) {
            return refused("every line of a new file must begin with `+`");
        }
        let lines = &self.text[self.added.clone()];
        Ok(Action::Overwrite {
            path: names.path,
            content: added(lines, self.reader.indent, header.is_crlf),
            final_newline: hunk.final_newline != Some(false),
            only_new: true,
        })
    }
}

const UNENDED: &str = "it is unclear whether this line belongs to the hunk: put the diff into a fence, or correct \
                      the line counts in `@@`";

const UNSIGNED: &str = "every line of a hunk must begin with a space, `-` or `+`: add it, and correct the line \
                       counts in `@@`";
