//! What is put in the place that was found: which bytes go, and which come.

use std::ops::Range;

use super::carry::{self, Carried, Place, Unclear};
use super::hit::Hit;
use super::lines;
use super::{Adapted, Tier};
use crate::reply::text::{Form, Text};

/// A change of a file: what goes, and what comes.
#[derive(Debug)]
pub(super) struct Splice {
    pub(super) range: Range<usize>,
    pub(super) inserted: Vec<u8>,
    pub(super) adapted: Adapted,
}

impl Splice {
    /// The change that the replacement makes of the one place where a text stands; `search` is the text's body.
    ///
    /// # Errors
    /// Where the text was found by a tolerant tier and what is to be written cannot be told.
    pub(super) fn one(
        file: &[u8],
        hit: &Hit,
        search: &str,
        replacement: Text<'_>,
    ) -> Result<Self, Unclear> {
        if hit.tier == Tier::Exact {
            let mut splice = Self::literal(file, hit, hit, replacement);
            splice.take_in_indentation(file, search, replacement.text);
            return Ok(splice);
        }
        Self::tolerant(file, hit, (search, replacement), &[])
    }

    /// The same for a place whose text may be another, to the byte; `beside` are other texts of the reply, each with the
    /// file's.
    ///
    /// # Errors
    /// Where what is to be written cannot be told.
    pub(super) fn tolerant(
        file: &[u8],
        hit: &Hit,
        (search, replacement): (&str, Text<'_>),
        beside: &[(String, String)],
    ) -> Result<Self, Unclear> {
        let place = Place {
            beside,
            ..Place::whole(file, hit.range.clone())
        };
        Self::carried(place, (hit, hit), search, replacement)
    }

    /// The change that the replacement makes of the stretch from the head's place to the tail's. `head` and `tail` are the bodies.
    ///
    /// # Errors
    /// Where one was found by a tolerant tier and what is to be written cannot be told.
    pub(super) fn stretch(
        file: &[u8],
        (first, head): (&Hit, &str),
        (last, tail): (&Hit, &str),
        replacement: Text<'_>,
    ) -> Result<Self, Unclear> {
        if first.tier.max(last.tier) == Tier::Exact {
            return Ok(Self::literal(file, first, last, replacement));
        }
        // The lines between the two are the file's on both sides.
        let between = first.range.end..last.range.start.max(first.range.end);
        let is_blank = |at: usize| file.get(at).is_some_and(u8::is_ascii_whitespace);
        let head = if is_blank(first.range.end.wrapping_sub(1)) {
            head
        } else {
            head.trim_end()
        };
        let tail = if is_blank(last.range.start) || last.line_start.is_some() {
            tail
        } else {
            tail.trim_start()
        };
        let middle = String::from_utf8_lossy(&file[between]);
        let search = [head, &middle, tail].concat();
        let newlines = |text: &str| text.matches('\n').count();
        let (above, below) = (newlines(head) + 1, newlines(tail) + 1);
        let all = newlines(&search) + 1;
        let place = Place {
            copied: above + 1..(all + 1).saturating_sub(below),
            ..Place::whole(file, first.range.start..last.range.end)
        };
        Self::carried(place, (first, last), &search, replacement)
    }

    /// The replacement as it is, with the file's line ends.
    fn literal(file: &[u8], first: &Hit, last: &Hit, replacement: Text<'_>) -> Self {
        let start = first.range.start;
        let newline = lines::ending_at(file, start);
        let (range, inserted) = match last.line_end.filter(|_| first.line_start.is_some()) {
            None => {
                let text = match replacement.form {
                    Form::Block => without_newline(replacement.text),
                    Form::Inline => replacement.text,
                };
                (start..last.range.end, fitted(text, newline))
            }
            Some(end) if replacement.text.is_empty() => {
                (whole_range(file, start..end.next), Vec::new())
            }
            Some(end) => {
                let mut inserted = fitted(without_newline(replacement.text), newline);
                if end.is_terminated() {
                    inserted.extend_from_slice(newline.as_bytes());
                }
                (start..end.next, inserted)
            }
        };
        Self {
            range,
            inserted,
            adapted: Adapted::default(),
        }
    }

    /// A search text that begins behind the indentation of its line may have a replacement that begins with it: then it
    /// stands there already.
    fn take_in_indentation(&mut self, file: &[u8], search: &str, replacement: &str) {
        let start = lines::start_of(file, self.range.start);
        let indentation = &file[start..self.range.start];
        let is_indentation = !indentation.is_empty()
            && lines::indentation(file, start).len() == indentation.len()
            && !search.starts_with(char::is_whitespace);
        let first = lines::indentation(replacement.as_bytes(), 0);
        let mut others = replacement.lines().filter(|line| !line.trim().is_empty());
        if is_indentation
            && first == indentation
            && others.all(|line| line.as_bytes().starts_with(indentation))
        {
            self.range.start = start;
        }
    }

    /// The difference between two texts, in the words of the file.
    fn carried(
        mut place: Place<'_>,
        (first, last): (&Hit, &Hit),
        search: &str,
        replacement: Text<'_>,
    ) -> Result<Self, Unclear> {
        let file = place.file;
        let end = last.line_end.filter(|_| first.line_start.is_some());
        let Some(end) = end else {
            let text = match replacement.form {
                Form::Block => without_newline(replacement.text),
                Form::Inline => replacement.text,
            };
            return Ok(carry::carry_inside(&place, search, text)?.into());
        };
        place.range.end = end.next;
        let search: Vec<&str> = search.split('\n').collect();
        let new: Vec<&str> = match replacement.text {
            "" => Vec::new(),
            text => without_newline(text).split('\n').collect(),
        };
        let mut splice = Self::from(carry::carry(&place, &search, &new, None)?);
        if splice.inserted.is_empty() {
            splice.range = whole_range(file, splice.range);
        }
        Ok(splice)
    }
}

impl From<Carried> for Splice {
    fn from(carried: Carried) -> Self {
        Self {
            range: carried.range,
            inserted: carried.text.into_bytes(),
            adapted: carried.adapted,
        }
    }
}

/// Whole lines to be removed. Where the file ends without a newline behind them, it still does without them.
fn whole_range(file: &[u8], range: Range<usize>) -> Range<usize> {
    if file[range.clone()].ends_with(b"\n") {
        range
    } else {
        lines::before_newline(file, range.start)..range.end
    }
}

/// The text with the line ends of the file.
fn fitted(text: &str, newline: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let content = without_newline(line);
        out.extend_from_slice(content.as_bytes());
        if line.ends_with('\n') {
            out.extend_from_slice(newline.as_bytes());
        }
    }
    out
}

fn without_newline(text: &str) -> &str {
    &text[..lines::without_newline(text.as_bytes()).len()]
}
