//! Replaces lines by their numbers, and adds lines at the end of a file.

use std::borrow::Cow;

use serde_json::json;

use super::edited::{Rewritten, rewrite};
use super::left_out::{self, Use};
use super::named_file::NamedFile;
use super::overwritten::file_text;
use super::{FileResult, definition, failed};
use crate::edit::newline_at;
use crate::reply::path::RelPath;
use crate::reply::task::Payload;
use crate::reply::text::Form;
use crate::report::fault::Fault;
use crate::report::outcome::Outcome;
use crate::text::lines::{LineError, LineRange};
use crate::world::workspace::ProjectFiles;

/// Said where a text was added within the last line.
const JOINED: &str = "continued the last line, which has no line end";

pub(super) fn append(
    path: &str,
    content: &Payload<'_>,
    final_newline: bool,
    files: &mut dyn ProjectFiles,
) -> FileResult {
    let file = NamedFile::perhaps_new(path, files)?;
    if file.names.is_some() {
        return definition::append(&file, content, files);
    }
    let whole = file_text(content, final_newline);
    let text = content.text();
    let text = match text.strip_suffix('\n') {
        Some(bare) if !final_newline => bare,
        _ => &text,
    };
    let data = |bytes: usize| json!({ "path": file.rel.to_string(), "bytesWritten": bytes });
    if files.kind(&file.place)?.is_none() {
        left_out::refuse(content, &file.rel, None, Use::Added)?;
        files.write(&file.place, &[whole.as_bytes()], None)?;
        return Ok(Outcome {
            message: Some("a new file".to_owned()),
            data: data(whole.len()),
            touched: file.touched(),
            ..Outcome::default()
        });
    }
    rewrite(&file, files, |found| {
        let old = found.content;
        left_out::refuse(content, &file.rel, Some(old), Use::Added)?;
        let is_open = !(text.is_empty() || old.is_empty() || old.ends_with(b"\n"));
        let newline = newline_at(old, old.len());
        let added: Cow<'_, str> = match content.form {
            Form::Inline => text.into(),
            Form::Block if old.is_empty() => (&*whole).into(),
            Form::Block if is_open => [newline, &in_line_ends(text, newline)].concat().into(),
            Form::Block => in_line_ends(text, newline),
        };
        Ok(Rewritten {
            shows: false,
            data: data(added.len()),
            parts: vec![old.into(), added.into_owned().into_bytes().into()],
            message: (is_open && content.form == Form::Inline).then(|| JOINED.to_owned()),
        })
    })
}

/// Replaces lines: by those of a block, in the file's line ends, or by text that takes their place as it is. The latter is
/// how SHAM and NESL mean it, and joins all lines of the file by LF.
pub(super) fn replace(
    path: &str,
    lines: &str,
    content: &Payload<'_>,
    files: &mut dyn ProjectFiles,
) -> FileResult {
    let file = NamedFile::existing(path, files)?.whole()?;
    let text = content.text();
    rewrite(&file, files, |found| {
        let all = lines_of(found.content, content.form);
        let shown = |mut failure: Box<Outcome>| {
            failure.sections = vec![found.section(path)];
            failure
        };
        if all.is_empty() {
            // Of no lines none can be named.
            return Err(shown(too_few(&file.rel, lines, 0)));
        }
        let mut range = range(lines, content.form == Form::Block).map_err(shown)?;
        if range.last == usize::MAX {
            range.last = all.len().max(range.first);
        }
        if range.last > all.len() {
            return Err(shown(too_few(&file.rel, lines, all.len())));
        }
        let (before, after) = (&all[..range.first - 1], &all[range.last..]);
        Ok(Rewritten {
            shows: false,
            parts: match content.form {
                Form::Inline => {
                    let mut new = [before, &[text.as_bytes()], after].concat().join(&b'\n');
                    if found.content.ends_with(b"\n") {
                        new.push(b'\n');
                    }
                    vec![new.into()]
                }
                Form::Block => in_place(found.content, before, after, &text),
            },
            message: None,
            data: json!({ "path": file.rel.to_string(), "lines_replaced": range.count() }),
        })
    })
}

/// The range of lines that a reply names; `open`: one of its ends may be left out.
pub(super) fn range(lines: &str, open: bool) -> FileResult<LineRange> {
    let range = if open {
        LineRange::parse_open(lines)
    } else {
        LineRange::parse(lines)
    };
    range.map_err(|error| {
        let why = match error {
            LineError::Invalid => "is not a line or a range: write one, such as `12` or `12-40`",
            LineError::Reversed => "ends before it begins: write the smaller number first",
        };
        failed(Fault::Lines(error), format!("`{lines}` {why}"))
    })
}

/// Lines that are named and not there.
pub(super) fn too_few(rel: &RelPath, lines: &str, count: usize) -> Box<Outcome> {
    let has = match count {
        0 => "is empty".to_owned(),
        1 => "has only 1 line".to_owned(),
        count => format!("has only {count} lines"),
    };
    let named = if lines.contains('-') {
        format!("lines {lines} are")
    } else {
        format!("line {lines} is")
    };
    let message = format!("`{rel}` {has}, so {named} not in it: name existing lines");
    failed(Fault::TooFewLines(count), message)
}

/// The lines of a file: each with its end, or, where they are to be joined anew, without. Those may end in CR alone too.
fn lines_of(file: &[u8], form: Form) -> Vec<&[u8]> {
    match form {
        Form::Block => file.split_inclusive(|byte| *byte == b'\n').collect(),
        Form::Inline => {
            let mut lines = split(file);
            if file.is_empty() || file.ends_with(b"\n") {
                lines.pop();
            }
            lines
        }
    }
}

/// Splits a text at its line ends, CRLF, LF or CR. The last line may be empty.
pub(super) fn split(text: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut start = 0;
    for at in memchr::memchr2_iter(b'\n', b'\r', text) {
        if text[at] == b'\n' && at > 0 && text[at - 1] == b'\r' {
            start = at + 1;
            continue;
        }
        lines.push(&text[start..at]);
        start = at + 1;
    }
    lines.push(&text[start..]);
    lines
}

/// A file with the lines of a block between some of its own.
fn in_place<'f>(
    file: &'f [u8],
    before: &[&[u8]],
    after: &[&[u8]],
    text: &str,
) -> Vec<Cow<'f, [u8]>> {
    let (start, tail) = (before.concat().len(), after.concat().len());
    let (mut head, rest) = file.split_at(start);
    let (replaced, tail) = rest.split_at(rest.len() - tail);
    let newline = newline_at(file, start);
    let is_open = tail.is_empty() && !replaced.ends_with(b"\n");
    let mut text = in_line_ends(text, newline).into_owned();
    if is_open {
        if text.is_empty() {
            // The line before is the last one now.
            head = head.strip_suffix(newline.as_bytes()).unwrap_or(head);
        } else {
            text.truncate(text.len() - newline.len());
        }
    }
    vec![head.into(), text.into_bytes().into(), tail.into()]
}

/// Lines with the line ends of a file.
fn in_line_ends<'t>(text: &'t str, newline: &str) -> Cow<'t, str> {
    match newline {
        "\n" => text.into(),
        newline => text.replace('\n', newline).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_are_what_is_between_their_ends(text in "[ab\r\n]{0,20}") {
            let lines = split(text.as_bytes());
            let all: Vec<u8> = lines.join(&b'\n');
            prop_assert_eq!(all, text.replace("\r\n", "\n").replace('\r', "\n").into_bytes());
        }

        /// What comes in the place of lines stands there in the file's line ends, and all else is as it was.
        #[test]
        fn other_lines_stay_as_they_are(
            lines in prop::collection::vec("[ab]{0,2}", 1..6), is_crlf: bool, is_ended: bool,
            new in prop::collection::vec("[xy]{0,2}", 0..4), first in 0..5_usize, count in 1..5_usize,
        ) {
            let newline = if is_crlf && lines.len() > 1 { "\r\n" } else { "\n" };
            let of = |lines: &[String]| {
                let end = if is_ended && !lines.is_empty() { newline } else { "" };
                lines.join(newline) + end
            };
            // Nothing at all behind the last line end is no line.
            prop_assume!(is_ended || lines.last().is_some_and(|line| !line.is_empty()));
            let first = first.min(lines.len() - 1);
            let last = (first + count).min(lines.len());
            let file = of(&lines);
            let all = lines_of(file.as_bytes(), Form::Block);
            let text: String = new.iter().map(|line| format!("{line}\n")).collect();
            let got = in_place(file.as_bytes(), &all[..first], &all[last..], &text).concat();
            let expected = of(&[&lines[..first], &new, &lines[last..]].concat());
            prop_assert_eq!(String::from_utf8_lossy(&got), expected);
        }
    }
}
