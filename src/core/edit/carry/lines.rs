//! Cuts a payload, and the place in the file that was found for it, into the same lines that are not blank, and the blank
//! lines between them.

use super::super::view;

/// A line that is not blank.
#[derive(Debug, Clone)]
pub(super) struct PayloadLine<'t> {
    /// The line of its payload that it is, from 1.
    pub(super) number: usize,
    pub(super) indent: &'t str,
    /// From its first visible character to its last.
    pub(super) body: &'t str,
    /// The white space at its end.
    pub(super) trail: &'t str,
    /// Its visible characters, in plain typography.
    pub(super) key: String,
}

/// A payload.
#[derive(Debug)]
pub(super) struct PayloadLines<'t> {
    pub(super) lines: Vec<PayloadLine<'t>>,
    /// The blank lines before each line, and behind the last.
    pub(super) gaps: Vec<Vec<&'t str>>,
}

impl<'t> PayloadLines<'t> {
    pub(super) fn of(text: &[&'t str]) -> Self {
        let (mut lines, mut gaps, mut blanks) = (Vec::new(), Vec::new(), Vec::new());
        for (index, line) in text.iter().enumerate() {
            let line = line.strip_suffix('\r').unwrap_or(line);
            let key = key(line);
            if key.is_empty() {
                blanks.push(line);
                continue;
            }
            let body = line.trim_start_matches(view::is_invisible).trim_end();
            let indent = line.len() - line.trim_start_matches(view::is_invisible).len();
            lines.push(PayloadLine {
                number: index + 1,
                indent: &line[..indent],
                body,
                trail: &line[indent + body.len()..],
                key,
            });
            gaps.push(std::mem::take(&mut blanks));
        }
        gaps.push(blanks);
        Self { lines, gaps }
    }
}

/// A line of the search text as the file has it.
#[derive(Debug)]
pub(super) struct FileLine<'f> {
    pub(super) indent: &'f str,
    pub(super) body: &'f str,
    pub(super) trail: &'f str,
    /// The white space before it, where the file has it on the line of the one before.
    pub(super) glue: Option<&'f str>,
    pub(super) eol: &'static str,
}

/// The place in the file, cut as the search text is.
#[derive(Debug)]
pub(super) struct FoundLines<'f> {
    pub(super) lines: Vec<FileLine<'f>>,
    /// The blank lines before each line, and behind the last.
    pub(super) gaps: Vec<Vec<&'f str>>,
    /// A newline ends its last line.
    pub(super) is_closed: bool,
}

impl<'f> FoundLines<'f> {
    /// Cuts `text`, which has the visible characters of `search` in their order. Lines that end in nothing of their own
    /// get `newline`.
    pub(super) fn cut(text: &'f str, search: &[PayloadLine<'_>], newline: &'static str) -> Self {
        let mut units = units(text);
        let (mut lines, mut gaps, mut end): (Vec<FileLine<'f>>, _, usize) =
            (Vec::new(), Vec::new(), 0);
        for line in search {
            let count = line.key.chars().count();
            let Some((start, body_end)) = span(&mut units, count) else {
                break;
            };
            let gap: Vec<&str> = text[end..start].split('\n').collect();
            let mut found = FileLine {
                indent: gap[gap.len() - 1],
                body: &text[start..body_end],
                trail: "",
                glue: None,
                eol: newline,
            };
            let blanks = usize::from(!lines.is_empty()).min(gap.len() - 1)..gap.len() - 1;
            gaps.push(without_cr(&gap[blanks]));
            match lines.last_mut() {
                Some(_) if gap.len() == 1 => {
                    (found.indent, found.glue) = ("", Some(gap[0]));
                }
                Some(before) => before.end_with(gap[0]),
                None => {}
            }
            lines.push(found);
            end = body_end;
        }
        let gap: Vec<&str> = text[end..].split('\n').collect();
        let is_closed = gap.len() > 1 && text.ends_with('\n');
        if let Some(last) = lines.last_mut() {
            last.end_with(gap[0]);
            if gap.len() == 1 {
                last.eol = newline;
            }
        }
        // Behind the last newline there is no line.
        gaps.push(without_cr(&gap[1..gap.len() - usize::from(is_closed)]));
        Self {
            lines,
            gaps,
            is_closed,
        }
    }
}

impl<'f> FileLine<'f> {
    /// Notes the text between its body and the LF behind it.
    fn end_with(&mut self, text: &'f str) {
        let trail = text.strip_suffix('\r');
        self.eol = if trail.is_some() { "\r\n" } else { "\n" };
        self.trail = trail.unwrap_or(text);
    }
}

fn without_cr<'t>(lines: &[&'t str]) -> Vec<&'t str> {
    let lines = lines.iter();
    let bare = lines.map(|line| line.strip_suffix('\r').unwrap_or(line));
    bare.collect()
}

/// The start and the end of the next so many visible characters.
pub(super) fn span(units: &mut impl Iterator<Item = Unit>, count: usize) -> Option<(usize, usize)> {
    let mut its = units.take(count);
    let first = its.next()?;
    Some((first.start, its.last().unwrap_or(first).end))
}

/// A visible character in plain typography, and where in the text it is. Those of one ellipsis are all at one place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit {
    pub(super) plain: char,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The visible characters of a text.
pub(super) fn units(text: &str) -> impl Iterator<Item = Unit> + '_ {
    text.char_indices().flat_map(|(start, c)| {
        let end = start + c.len_utf8();
        let (itself, plain) = match view::plain(c) {
            Some(plain) => (None, plain),
            None => (Some(c), ""),
        };
        let plain = itself.into_iter().chain(plain.chars());
        plain.map(move |plain| Unit { plain, start, end })
    })
}

fn key(text: &str) -> String {
    units(text).map(|unit| unit.plain).collect()
}

/// A word, a run of dots or dashes, or any other visible character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) plain: String,
    pub(super) start: usize,
    pub(super) end: usize,
}

pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    for unit in units(text) {
        if let Some(last) = tokens.last_mut() {
            let touches = last.end >= unit.end
                || text[last.end..unit.start]
                    .chars()
                    .all(|c| view::is_invisible(c) && !c.is_whitespace());
            let before = last.plain.chars().next_back().unwrap_or(' ');
            let goes_on = is_word(before) && is_word(unit.plain)
                || matches!(before, '.' | '-') && unit.plain == before;
            if touches && goes_on {
                last.plain.push(unit.plain);
                last.end = unit.end;
                continue;
            }
        }
        tokens.push(Token {
            plain: unit.plain.to_string(),
            start: unit.start,
            end: unit.end,
        });
    }
    tokens
}

pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
