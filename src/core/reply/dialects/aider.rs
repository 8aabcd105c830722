//! Aider's edit blocks: a file's name on a line of its own, then `<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE`.
//!
//! The markers have five to nine of their character. The name stands above the first of them or above its fence, or is
//! what the fence is of; a block without one that follows another with only fences between is of the same file. Prose
//! between them ends that, unlike in aider: no guess.
//!
//! The conflict markers of git have other words and are content, and so may `=======` be: where several could divide a
//! block, it is the one as long as the first marker.

use std::ops::Range;

use super::ParsedBlock;
use super::block::{self, EndOfBlock, MarkerRole, OffsetLine, damaged, is_fence, lines};
use crate::reply::chat_key::key_in;
use crate::reply::cml::tag::{line_start, next_line, starts_line};
use crate::reply::dialect::Dialect;
use crate::reply::task::{Action, BatchState, Problem, Replacement, Task};

/// The text that a block of it has, and hardly anything else: the first marker at its shortest.
pub(crate) const MARKS: &[&str] = &["<<<<< SEARCH"];

const END: &str = ">>>>>>> REPLACE";

/// The number of lines above a block in which its name is looked for.
const ABOVE: usize = 3;

/// Reads the block whose mark is at an offset, if it is one, and those of the same file that follow it without a name. It
/// begins at `floor` or behind it.
pub(crate) fn read<'t>(text: &'t str, at: usize, floor: usize) -> Option<ParsedBlock<'t>> {
    let more = text[floor..at].bytes().rev().take_while(|b| *b == b'<');
    let mut head = Head::at(text, at - more.take(5).count())?;
    let mut name = FileName::above(text, head.at, floor);
    let mut start = name.map_or(head.at, |name| name.at);
    let (mut span, mut state) = (start..start, BatchState::Complete);
    let mut tasks = Vec::with_capacity(1);
    loop {
        let (body, end) = match head.body(text) {
            Ok(read) => read,
            Err((end, damage)) => {
                // One that follows others is read by itself.
                if tasks.is_empty() {
                    (span.end, state) = (end, damage);
                }
                break;
            }
        };
        (span.end, state) = end;
        let action = action(text, &head, body, name);
        tasks.push(Task::new(start..span.end, action));
        let Some(next) = head.next(text, span.end) else {
            break;
        };
        let own = FileName::above(text, next.at, span.end);
        start = own.map_or(next.at, |name| name.at);
        (head, name) = (next, own.or(name));
    }
    Some(ParsedBlock::batch(Dialect::Aider, span, state, tasks))
}

/// The action of a block.
fn action<'t>(
    text: &'t str,
    head: &Head<'t>,
    body: Divided,
    name: Option<FileName<'t>>,
) -> Result<Action<'t>, Problem> {
    let Some(name) = name else {
        return Err(Problem::said(
            head.at,
            "the file's path is missing: put it alone on the line above this one or above its fence, in back-ticks if it \
             has spaces",
        ));
    };
    let divider = body.divider?;
    let part = |lines| block::payload(text, lines, head.indent);
    let (search, replace) = (
        part(head.end..divider.start),
        part(divider.end..body.last_line),
    );
    if search.is_blank() {
        return Ok(Action::Overwrite {
            path: name.path.into(),
            content: replace,
            final_newline: true,
            only_new: true,
        });
    }
    Ok(Action::Edit {
        path: name.path.into(),
        change: Replacement::Pairs(vec![(search, replace)]),
        to: None,
    })
}

/// The first marker of a block.
struct Head<'t> {
    at: usize,
    /// Behind its line.
    end: usize,
    /// The number of its characters `<`.
    width: usize,
    /// The indentation of each line of the block: it stands in a list.
    indent: &'t str,
}

/// The texts behind it.
struct Divided {
    /// The line between the two texts, or the reason that there is none.
    divider: Result<Range<usize>, Problem>,
    /// The start of the last marker's line.
    last_line: usize,
}

impl<'t> Head<'t> {
    fn at(text: &'t str, at: usize) -> Option<Self> {
        if !starts_line(text.as_bytes(), at) {
            return None;
        }
        let end = next_line(text.as_bytes(), at);
        let (b'<', width) = marker(&text[at..end])? else {
            return None;
        };
        Some(Self {
            at,
            end,
            width,
            indent: block::indent(text, at),
        })
    }

    /// The next block, with only blank lines and fences between.
    fn next(&self, text: &'t str, end: usize) -> Option<Self> {
        let mut lines = lines(text, next_line(text.as_bytes(), end));
        let (at, line) = lines.find(|(_, line)| !line.trim().is_empty() && !is_fence(line))?;
        Self::at(text, at + line.len() - line.trim_start().len())
    }

    /// Reads the block, if it is not damaged.
    fn body(&self, text: &str) -> Result<(Divided, EndOfBlock), EndOfBlock> {
        let marker = |line: &str| marker(line.strip_prefix(self.indent)?);
        let mut dividers = Vec::new();
        let mut lines = lines(text, self.end);
        while let Some((at, line)) = lines.next() {
            match marker(line) {
                Some((b'=', width)) => dividers.push((at..at + line.len(), width)),
                Some((b'>', _)) => {
                    let body = Divided {
                        divider: self.divider(&dividers, at),
                        last_line: at,
                    };
                    return Ok((body, block::ended(at, line)));
                }
                Some(_) => {
                    let role = |line: &str| match marker(line)? {
                        (b'=', _) => None,
                        (b'>', _) => Some(MarkerRole::End),
                        _ => Some(MarkerRole::Inner),
                    };
                    return Err(damaged(text, at, END, lines, role));
                }
                None => {}
            }
        }
        Err(block::unended(text, self.at, Dialect::Aider, END))
    }

    /// The line that divides the block, of those that may, each with its width; `end` is the line of the last marker.
    fn divider(
        &self,
        lines: &[(Range<usize>, usize)],
        end: usize,
    ) -> Result<Range<usize>, Problem> {
        let mut alike = lines.iter().filter(|(_, width)| *width == self.width);
        match (lines, alike.next(), alike.next()) {
            ([], ..) => Err(Problem::said(
                end,
                "`=======` is missing: put it on a line of its own between the current text and its replacement",
            )),
            ([(one, _)], ..) | (_, Some((one, _)), None) => Ok(one.clone()),
            ([(first, _), ..], ..) => Err(Problem::said(
                first.start,
                "several lines could divide this block: give its three markers a different length from the `=` lines \
                 in its text (`<<<<<<<<< SEARCH`, `=========`, `>>>>>>>>> REPLACE`)",
            )),
        }
    }
}

/// The character of a marker line, and the number of times that it stands there.
fn marker(line: &str) -> Option<(u8, usize)> {
    let line = line.trim_end();
    let first = *line.as_bytes().first()?;
    let word: &[&str] = match first {
        b'<' => &[" SEARCH", " SEARCH>"],
        b'=' => &[""],
        b'>' => &[" REPLACE"],
        _ => return None,
    };
    let width = line.bytes().take_while(|b| *b == first).count();
    ((5..=9).contains(&width) && word.contains(&&line[width..])).then_some((first, width))
}

/// The path of a block's file, as a line above it gives it.
#[derive(Clone, Copy)]
struct FileName<'t> {
    at: usize,
    path: &'t str,
}

impl<'t> FileName<'t> {
    /// The name above a block, not before `floor`: in the first line that is neither blank nor a fence, or in a fence. A
    /// line with the key of a chat is as if it were not there.
    fn above(text: &'t str, block: usize, floor: usize) -> Option<Self> {
        let end = line_start(text.as_bytes(), block).max(floor);
        let above = text[floor..end].split_inclusive('\n').rev();
        let above = above.scan(end, |end, line| {
            *end -= line.len();
            Some((*end, line))
        });
        let is_own = |(_, line): &OffsetLine<'_>| key_in(line).is_none();
        for (at, whole) in above.take(ABOVE + 1).filter(is_own).take(ABOVE) {
            let line = whole.trim_start_matches('\u{feff}');
            let at = at + whole.len() - line.trim_start().len();
            let path = if is_fence(line) {
                path_of_fence(line.trim().trim_start_matches(['`', '~']))
            } else if line.trim().is_empty() {
                None
            } else {
                return path_in(line.trim()).map(|path| Self { at, path });
            };
            if let Some(path) = path {
                return Some(Self { at, path });
            }
        }
        None
    }
}

/// The path that a fence's info is or ends in: ```` ```src/a.py ````, `python:src/a.py`, `python title="src/a.py"`.
fn path_of_fence(info: &str) -> Option<&str> {
    let word = info.split_whitespace().next_back()?;
    let path = match word.split_once(['=', ':']) {
        Some((key, path)) if key.bytes().all(|b| b.is_ascii_alphanumeric()) => path,
        _ => word,
    };
    let path = path.trim_matches(['"', '\'']);
    (path.contains(['.', '/']) && is_path(path, false)).then_some(path)
}

/// The path that a line is, without what makes it a heading, a list item, a comment, bold or code, and without `File:`.
fn path_in(line: &str) -> Option<&str> {
    let plain = plain(uncommented(line.trim_start_matches('#').trim()));
    let (path, is_named) = match unlabelled(plain) {
        Some(path) => (path, true),
        None => (plain, false),
    };
    let code = path.strip_prefix('`').and_then(code);
    let path = code.unwrap_or(path).trim_matches('`').trim();
    // `Example:` is no file.
    let is_word = !path.contains(['.', '/']) && line.contains(':') && code.is_none() && !is_named;
    (is_path(path, code.is_some()) && !is_word).then_some(path)
}

/// A line without the number or the sign of a list, and not in bold.
fn plain(line: &str) -> &str {
    let unnumbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let item = if unnumbered.len() < line.len() {
        let number = unnumbered.strip_prefix(". ");
        number.or_else(|| unnumbered.strip_prefix(") "))
    } else {
        line.strip_prefix("- ").or_else(|| line.strip_prefix("* "))
    };
    let text = item.unwrap_or(line).trim().trim_matches('*').trim();
    text.trim_end_matches(':').trim().trim_matches('*').trim()
}

/// The text of a line that is a comment.
fn uncommented(line: &str) -> &str {
    let pairs = [("// ", ""), ("-- ", ""), ("/* ", " */"), ("<!-- ", " -->")];
    let inside = |(start, end): &(&str, &str)| line.strip_prefix(start)?.strip_suffix(end);
    pairs.iter().find_map(inside).unwrap_or(line)
}

/// The text behind a `File:` or the like.
fn unlabelled(line: &str) -> Option<&str> {
    let (label, path) = line.split_once(':')?;
    let labels = [
        "file",
        "path",
        "filename",
        "filepath",
        "file name",
        "file path",
    ];
    let is_label = labels.iter().any(|known| label.eq_ignore_ascii_case(known));
    is_label.then(|| path.trim_start_matches('*').trim())
}

/// The text in back-ticks, of which the first is left out, if only a remark in brackets follows.
fn code(text: &str) -> Option<&str> {
    let (code, rest) = text.split_once('`')?;
    let rest = rest.trim();
    (rest.is_empty() || rest.starts_with('(') && rest.ends_with(')')).then_some(code)
}

/// True if a text may be a path. A sentence is none; one with spaces must be quoted.
fn is_path(text: &str, is_quoted: bool) -> bool {
    (is_quoted || !text.contains(char::is_whitespace))
        && !text.ends_with(['.', ',', ';', '!', '?'])
        && text.contains(|c: char| c.is_alphanumeric() || c == '_')
        && !text.contains(['<', '>', '`', '"', '|'])
        && !["://", "]("].iter().any(|link| text.contains(link))
        && !text.contains(char::is_control)
}
