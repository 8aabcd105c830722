//! Makes a new text fit its place in a definition: its indentation, its line ends, and what follows it anyway. Lines in strings stay
//! as they were sent.

use std::collections::HashSet;
use std::ops::Range;

use super::addressed::{AddressedPart, outline};
use super::named_file::FoundFile;
use super::{FileResult, refused};
use crate::code::{CodeLanguage, Definition};
use crate::edit::{self, newline_at};
use crate::reply::task::Payload;
use crate::report::outcome::Outcome;

/// The place of a text at the end of a definition.
pub(super) struct AppendPlace {
    /// The indentation of what is there.
    pub(super) indent: String,
    /// The bytes that it replaces: none, or blanks before a brace.
    pub(super) range: Range<usize>,
    /// The text that follows it: a line end and the indentation of that brace, where the two were on one line.
    pub(super) behind: String,
}

impl AppendPlace {
    pub(super) fn new(
        old: &[u8],
        definition: &Definition,
        language: CodeLanguage,
        inside_end: usize,
    ) -> Self {
        let outer = indent_at(old, definition.span.start);
        let indent = inner_indent(old, definition, language, inside_end);
        let line = line_at(old, inside_end);
        let blank = line.len() - line.trim_ascii_start().len();
        let is_closed = blank < line.len() && inside_end + blank < definition.span.end;
        if is_closed {
            return Self {
                indent,
                range: inside_end..inside_end + blank,
                behind: newline_at(old, inside_end).to_owned() + &outer,
            };
        }
        // What stands behind the last thing on its line, such as a comment, stays there.
        let end = inside_end + line.strip_suffix(b"\r").unwrap_or(line).len();
        Self {
            indent,
            range: end..end,
            behind: String::new(),
        }
    }
}

/// The indentation of the line that an offset is in.
fn indent_at(old: &[u8], at: usize) -> String {
    let start = line_start(old, at);
    let indent = old[start..]
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t'));
    String::from_utf8_lossy(&old[start..start + indent.count()]).into_owned()
}

/// The rest of the line that an offset is in.
pub(super) fn line_at(old: &[u8], at: usize) -> &[u8] {
    let rest = &old[at..];
    &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())]
}

fn line_start(old: &[u8], at: usize) -> usize {
    memchr::memrchr(b'\n', &old[..at]).map_or(0, |at| at + 1)
}

/// The indentation of what is in a body. In brackets it is that of the first line which is deeper than the definition, else of
/// the first line, or a step of the file deeper where nothing is in them; elsewhere it is that of the first line.
fn inner_indent(
    old: &[u8],
    definition: &Definition,
    language: CodeLanguage,
    inside_end: usize,
) -> String {
    let outer = indent_at(old, definition.span.start);
    // In a document nothing is indented for the section that it is in.
    if language == CodeLanguage::Markdown {
        return outer;
    }
    let deeper = || outer.clone() + &step(old, language);
    let Some(body) = &definition.body else {
        return deeper();
    };
    let inside = &old[body.start..inside_end.max(body.start)];
    let Some(opened) = opened(inside).filter(|_| is_closed(old, body)) else {
        let blank = inside.len() - inside.trim_ascii_start().len();
        let first = body.start + blank;
        let is_head = !old[line_start(old, first)..first].trim_ascii().is_empty();
        return match (blank < inside.len(), is_head) {
            (true, true) => deeper(),
            (true, false) => indent_at(old, first),
            (false, _) => outer,
        };
    };
    let text = String::from_utf8_lossy(&inside[opened..]);
    // A line of C's preprocessor stands at the left margin, wherever it is.
    let is_shown = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    let lines: Vec<&str> = text
        .lines()
        .skip(1)
        .filter(is_shown)
        .map(indentation)
        .collect();
    let is_deeper = |indent: &&&str| indent.len() > outer.len() && indent.starts_with(&outer);
    let own = lines.iter().find(is_deeper).or(lines.first());
    own.map_or_else(deeper, |indent| (*indent).to_owned())
}

/// The place of the bracket that opens a body: its first byte, or the end of a line, as behind what a constructor starts with.
fn opened(inside: &[u8]) -> Option<usize> {
    let is_bracket = |byte: u8| b"{([".contains(&byte);
    let first = inside.iter().position(|byte| !byte.is_ascii_whitespace())?;
    if is_bracket(inside[first]) {
        return Some(first);
    }
    let mut ends = memchr::memchr_iter(b'\n', inside)
        .map(|end| inside[..end].trim_ascii_end().len().saturating_sub(1));
    ends.find(|at| inside[*at] == b'{')
}

/// True for a body that ends with a bracket.
fn is_closed(old: &[u8], body: &Range<usize>) -> bool {
    let last = old[body.clone()].trim_ascii_end().last();
    last.is_some_and(|last| b"})]".contains(last))
}

/// The white space that a line begins with.
fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The least by which a file indents its lines; where it does not, as its language is mostly written.
fn step(old: &[u8], language: CodeLanguage) -> String {
    let text = String::from_utf8_lossy(old);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let least = lines
        .map(indentation)
        .filter(|indent| indent.len() > 1 || *indent == "\t")
        .min_by_key(|it| it.len());
    match least {
        Some(indent) if indent.starts_with('\t') => "\t".to_owned(),
        Some(indent) if indent.len() <= 8 => indent.to_owned(),
        _ => match language {
            CodeLanguage::Go => "\t".to_owned(),
            CodeLanguage::Ruby | CodeLanguage::Yaml | CodeLanguage::Json => "  ".to_owned(),
            _ => "    ".to_owned(),
        },
    }
}

/// A text indented by `fit`, which also gets the file. The lines in strings stay as they were sent.
pub(super) fn fitted(
    text: &str,
    found: &FoundFile<'_>,
    place: Range<usize>,
    fit: impl Fn(&str, &str) -> Option<String>,
) -> FileResult<String> {
    let verbatim = verbatim_lines(text, found, place);
    let lines = || text.split_inclusive('\n').enumerate();
    let blank = |(at, line): (usize, &str)| {
        let end = if line.ends_with('\n') { "\n" } else { "" };
        if verbatim.contains(&at) {
            end.to_owned()
        } else {
            line.to_owned()
        }
    };
    let file = String::from_utf8_lossy(found.content);
    let masked: String = lines().map(blank).collect();
    let fitted = fit(&masked, &file).ok_or_else(|| unclear(found.addressed()))?;
    let sent: Vec<&str> = lines().map(|(_, line)| line).collect();
    let restored = fitted.split_inclusive('\n').enumerate();
    let restored: String = restored
        .map(|(at, line)| {
            if verbatim.contains(&at) {
                sent[at]
            } else {
                line
            }
        })
        .collect();
    // A last line without an end that is blank now is none of those.
    let missing = sent.iter().skip(fitted.split_inclusive('\n').count());
    Ok(restored + &missing.copied().collect::<String>())
}

/// The lines of a new text, from 0, that begin inside a string.
fn verbatim_lines(text: &str, found: &FoundFile<'_>, place: Range<usize>) -> HashSet<usize> {
    if !text.trim_end().contains('\n') || !text.contains(['"', '\'', '`', '<']) {
        return HashSet::new();
    }
    let old = found.content;
    let before = [&old[..place.start], b"\n"].concat();
    let whole = [&before, text.as_bytes(), b"\n", &old[place.end..]].concat();
    let outline = outline(
        &found.file.rel,
        &String::from_utf8_lossy(&whole),
        &found.syntax,
    );
    let strings = outline.map(|outline| outline.verbatim).unwrap_or_default();
    let line = |at: usize| memchr::memchr_iter(b'\n', &whole[before.len()..at]).count();
    let inside = strings
        .into_iter()
        .filter(|it| it.start >= before.len() && it.start < before.len() + text.len());
    inside
        .flat_map(|it| {
            line(it.start) + 1
                ..=line(
                    it.end
                        .min(before.len() + text.len())
                        .saturating_sub(1)
                        .max(it.start),
                )
        })
        .collect()
}

/// The new text of a definition: indented as the old one, in the file's line ends, without a mark at its end that follows
/// anyway.
pub(super) fn new_text(
    content: &Payload<'_>,
    found: &FoundFile<'_>,
    range: Range<usize>,
) -> FileResult<String> {
    let (text, old) = (content.text(), found.content);
    if text.trim().is_empty() {
        return Err(refused(format!(
            "the new text of `{}` is empty: to take it out, use `edit` with an empty replacement",
            found.addressed().full_name()
        )));
    }
    let start = line_start(old, range.start);
    let own = String::from_utf8_lossy(&old[start..range.end]);
    let is_own_line = old[start..range.start]
        .iter()
        .all(|byte| b" \t".contains(byte));
    let fitted = if is_own_line {
        fitted(&text, found, range.clone(), |text, file| {
            edit::refitted(text, &own, file)
        })?
    } else {
        text.into_owned()
    };
    let mut fitted = fitted.trim_start_matches(['\n', '\r']).trim_end();
    fitted = fitted.trim_start_matches([' ', '\t']);
    // What follows on the line is there anyway, also where it was sent along.
    let behind = String::from_utf8_lossy(line_at(old, range.end).trim_ascii());
    let marks = behind
        .chars()
        .next()
        .filter(|mark| ",;".contains(*mark))
        .map(String::from);
    for twice in [Some(behind.clone().into_owned()), marks]
        .into_iter()
        .flatten()
    {
        let is_its_own = old[..range.end].ends_with(twice.as_bytes());
        if !twice.is_empty() && !is_its_own {
            fitted = fitted
                .strip_suffix(twice.as_str())
                .unwrap_or(fitted)
                .trim_end();
        }
    }
    Ok(in_line_ends(fitted, newline_at(old, range.start)))
}

fn unclear(part: &AddressedPart) -> Box<Outcome> {
    refused(format!(
        "how the new text is to be indented in `{}` is not clear: send it with the indentation that the file has there",
        part.full_name()
    ))
}

/// Lines with the line ends of a file.
pub(super) fn in_line_ends(text: &str, newline: &str) -> String {
    let plain = text.replace("\r\n", "\n");
    if newline == "\n" {
        plain
    } else {
        plain.replace('\n', newline)
    }
}
