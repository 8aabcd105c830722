//! Replacing lines by their numbers, and adding some at the end of a file.

use std::borrow::Cow;

use serde_json::json;

use super::left_out::{self, Use};
use super::{
    Done, Failure, Rewritten, as_it_is, fault, file_path, file_text, new_file_path, rewrite,
};
use crate::edit::newline_at;
use crate::reply::path::RelPath;
use crate::reply::task::Payload;
use crate::reply::text::Form;
use crate::report::fault::Fault;
use crate::report::repair;
use crate::text::lines::{LineError, LineRange};
use crate::world::workspace::ProjectFiles;

/// Said where a text was added within the last line.
const JOINED: &str = "continued the last line, which has no line end";

pub(super) fn append(
    path: &str,
    content: &Payload<'_>,
    final_newline: bool,
    files: &mut dyn ProjectFiles,
    preview: bool,
) -> Result<Done, Failure> {
    let rel = new_file_path(path, files)?;
    let place = files.place(&rel, true)?;
    let whole = file_text(content, final_newline);
    let text = content.text();
    let text = match final_newline {
        true => &*text,
        false => text.strip_suffix('\n').unwrap_or(&text),
    };
    let data = |bytes: usize| json!({ "path": rel.to_string(), "bytesWritten": bytes });
    if files.kind(&place)?.is_none() {
        left_out::refuse(content, (&rel, None), Use::Added)?;
        files.write(&place, &[whole.as_bytes()], None)?;
        return Ok(Done {
            message: Some("a new file".to_owned()),
            data: data(whole.len()),
            touched: vec![place.path().to_owned()],
            diff: match preview {
                true => repair::unified_diff(rel.as_str(), None, Some(whole.as_bytes())),
                false => String::new(),
            },
            sections: Vec::new(),
        });
    }
    rewrite((&rel, &place), files, preview, |file, _| {
        left_out::refuse(content, (&rel, Some(file)), Use::Added)?;
        let mut added = Vec::new();
        let joins = content.form == Form::Inline
            && !(text.is_empty() || file.is_empty() || file.ends_with(b"\n"));
        match content.form {
            Form::Block if file.is_empty() => added.extend_from_slice(whole.as_bytes()),
            Form::Inline => added.extend_from_slice(text.as_bytes()),
            Form::Block => {
                let newline = newline_at(file, file.len());
                if !(text.is_empty() || file.is_empty() || file.ends_with(b"\n")) {
                    added.extend_from_slice(newline.as_bytes());
                }
                added.extend_from_slice(in_line_ends(text, newline).as_bytes());
            }
        }
        Ok(Rewritten {
            shows: false,
            data: data(added.len()),
            parts: vec![file.into(), added.into()],
            message: joins.then(|| JOINED.to_owned()),
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
    preview: bool,
) -> Result<Done, Failure> {
    let rel = file_path(path, files)?;
    let place = files.place(&rel, true)?;
    let text = content.text();
    rewrite((&rel, &place), files, preview, |file, may_show| {
        let all = lines_of(file, content.form);
        let shown = |failure: Failure| Failure {
            sections: as_it_is(path, (&rel, &place), file, may_show),
            ..failure
        };
        let mut range = match range(lines, content.form == Form::Block) {
            // Of no lines none can be named.
            _ if all.is_empty() => return Err(shown(too_few(&rel, lines, 0))),
            range => range.map_err(shown)?,
        };
        if range.last == usize::MAX {
            range.last = all.len().max(range.first);
        }
        if range.last > all.len() {
            return Err(shown(too_few(&rel, lines, all.len())));
        }
        let (before, after) = (&all[..range.first - 1], &all[range.last..]);
        Ok(Rewritten {
            shows: false,
            parts: match content.form {
                Form::Inline => vec![joined(before, &text, after, file.ends_with(b"\n")).into()],
                Form::Block => in_place(file, (before, after), &text),
            },
            message: None,
            data: json!({ "path": rel.to_string(), "lines_replaced": range.count() }),
        })
    })
}

/// The range of lines that a reply names; `open`: one of its ends may be left out.
pub(super) fn range(lines: &str, open: bool) -> Result<LineRange, Failure> {
    let range = match open {
        true => LineRange::parse_open(lines),
        false => LineRange::parse(lines),
    };
    range.map_err(|error| {
        let why = match error {
            LineError::Invalid => "is not a line or a range: write one, such as `12` or `12-40`",
            LineError::Reversed => "ends before it begins: write the smaller number first",
        };
        fault(Fault::Lines(error), format!("`{lines}` {why}"))
    })
}

/// Lines that are named and not there.
pub(super) fn too_few(rel: &RelPath, lines: &str, count: usize) -> Failure {
    let has = match count {
        0 => "is empty".to_owned(),
        1 => "has only 1 line".to_owned(),
        count => format!("has only {count} lines"),
    };
    let named = match lines.contains('-') {
        true => format!("lines {lines} are"),
        false => format!("line {lines} is"),
    };
    let message = format!("`{rel}` {has}, so {named} not in it: name existing lines");
    fault(Fault::TooFewLines(count), message)
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

/// What is between the line ends of a text, CRLF, LF or CR; behind the last one too, if that is nothing.
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

fn joined(before: &[&[u8]], text: &str, after: &[&[u8]], final_newline: bool) -> Vec<u8> {
    let mut all = [before, &[text.as_bytes()], after].concat().join(&b'\n');
    if final_newline {
        all.push(b'\n');
    }
    all
}

/// A file with the lines of a block between some of its own.
fn in_place<'f>(
    file: &'f [u8],
    (before, after): (&[&[u8]], &[&[u8]]),
    text: &str,
) -> Vec<Cow<'f, [u8]>> {
    let (start, tail) = (before.concat().len(), after.concat().len());
    let (mut head, rest) = file.split_at(start);
    let (replaced, tail) = rest.split_at(rest.len() - tail);
    let newline = newline_at(file, start);
    let is_open = tail.is_empty() && !replaced.ends_with(b"\n");
    let mut text = in_line_ends(text, newline).into_owned();
    if is_open {
        match text.is_empty() {
            // The line before is the last one now.
            true => head = head.strip_suffix(newline.as_bytes()).unwrap_or(head),
            false => text.truncate(text.len() - newline.len()),
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
            let got = in_place(file.as_bytes(), (&all[..first], &all[last..]), &text).concat();
            let expected = of(&[&lines[..first], &new, &lines[last..]].concat());
            prop_assert_eq!(String::from_utf8_lossy(&got), expected);
        }
    }
}
