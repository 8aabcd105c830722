//! What is put in the place that was found: which bytes go, and the replacement as it has to stand there.

use std::ops::Range;

use super::hit::{FirstLine, Hit};
use super::lines;
use super::shift::common_start;
use crate::lang::text::{Form, Text};

/// The range of the file that goes and the bytes that come, where the match runs from the start of one place to the
/// end of another (or the same).
pub(super) fn splice(
    file: &[u8],
    first: &Hit<'_>,
    last: &Hit<'_>,
    replacement: Text<'_>,
) -> (Range<usize>, Vec<u8>) {
    let start = first.range.start;
    let newline = lines::ending_at(file, start);
    let Some(end) = last.line_end.filter(|_| first.line_start.is_some()) else {
        let text = match replacement.form {
            Form::Block => without_newline(replacement.text),
            Form::Inline => replacement.text,
        };
        return (start..last.range.end, fitted(text, first, newline));
    };
    let mut range = start..end.next;
    let mut inserted = Vec::new();
    if !replacement.text.is_empty() {
        inserted = fitted(without_newline(replacement.text), first, newline);
        if end.is_terminated() {
            inserted.extend_from_slice(newline.as_bytes());
        }
    } else if !end.is_terminated() {
        range.start = lines::before_newline(file, start);
    }
    (range, inserted)
}

/// The text with its lines shifted and their newlines made those of the file.
fn fitted(text: &str, hit: &Hit<'_>, newline: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let content = without_newline(line).as_bytes();
        match hit.first_line {
            FirstLine::Without(indentation) if index == 0 => {
                out.extend_from_slice(&content[common_start(content, indentation)..]);
            }
            _ => hit.shift.push_line(content, &mut out),
        }
        if line.ends_with('\n') {
            out.extend_from_slice(newline.as_bytes());
        }
    }
    out
}

fn without_newline(text: &str) -> &str {
    &text[..lines::without_newline(text.as_bytes()).len()]
}
