//! Works out the change that a replacement makes at the place of its search text: the bytes that go and that come.

use std::borrow::Cow;
use std::ops::Range;

use super::carry::{self, Matched};
use super::hit::Hit;
use super::lines;
use super::search::{body, without_newline};
use super::{Adapted, Applied, EditCause, Tier, without_bom};
use crate::reply::text::Text;

/// A change of a file, its bytes counted from behind the BOM.
#[derive(Debug)]
pub(super) struct Splice {
    pub(super) range: Range<usize>,
    pub(super) inserted: Vec<u8>,
    pub(super) applied: Applied,
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
    ) -> Result<Self, EditCause> {
        if hit.tier != Tier::Exact {
            return Self::tolerant(file, hit, search, replacement, &[]);
        }
        let mut splice = Self::literal(file, hit, hit, replacement);
        splice.take_in_indentation(file, search, replacement.text);
        Ok(splice)
    }

    /// The same for a place whose text may be another, to the byte; `beside` are other texts of the reply, each with the
    /// file's.
    ///
    /// # Errors
    /// Where what is to be written cannot be told.
    pub(super) fn tolerant(
        file: &[u8],
        hit: &Hit,
        search: &str,
        replacement: Text<'_>,
        beside: &[(String, String)],
    ) -> Result<Self, EditCause> {
        let place = Matched {
            beside,
            ..Matched::whole(file, hit.range.clone())
        };
        Self::carried(place, hit, hit, search, replacement)
    }

    /// The change that the replacement makes of the stretch from the head's place, `first`, to the tail's, `last`. `head`
    /// and `tail` are the bodies.
    ///
    /// # Errors
    /// Where one was found by a tolerant tier and what is to be written cannot be told.
    pub(super) fn stretch(
        file: &[u8],
        first: &Hit,
        mut head: &str,
        last: &Hit,
        mut tail: &str,
        replacement: Text<'_>,
    ) -> Result<Self, EditCause> {
        if first.tier.max(last.tier) == Tier::Exact {
            return Ok(Self::literal(file, first, last, replacement));
        }
        // The lines between the two are the file's on both sides.
        let between = first.range.end..last.range.start.max(first.range.end);
        let is_blank = |at: usize| file.get(at).is_some_and(u8::is_ascii_whitespace);
        if !is_blank(first.range.end.wrapping_sub(1)) {
            head = head.trim_end();
        }
        if !is_blank(last.range.start) && last.line_start.is_none() {
            tail = tail.trim_start();
        }
        let search = [head, &String::from_utf8_lossy(&file[between]), tail].concat();
        let newlines = |text: &str| text.matches('\n').count();
        let place = Matched {
            copied: newlines(head) + 2..(newlines(&search) + 1).saturating_sub(newlines(tail)),
            ..Matched::whole(file, first.range.start..last.range.end)
        };
        Self::carried(place, first, last, &search, replacement)
    }

    /// The replacement as it is, with the file's line ends.
    fn literal(file: &[u8], first: &Hit, last: &Hit, replacement: Text<'_>) -> Self {
        let start = first.range.start;
        let newline = lines::ending_at(file, start);
        let fitted = |text: &str| text.replace("\r\n", "\n").replace('\n', newline);
        let (range, inserted) = match last.line_end.filter(|_| first.line_start.is_some()) {
            None => (start..last.range.end, fitted(body(replacement))),
            Some(end) if replacement.text.is_empty() => {
                (whole_range(file, start..end.next), String::new())
            }
            Some(end) => {
                let newline = if end.is_terminated() { newline } else { "" };
                let inserted = fitted(without_newline(replacement.text)) + newline;
                (start..end.next, inserted)
            }
        };
        Self {
            range,
            inserted: inserted.into_bytes(),
            applied: Applied::of(file, first, last, Adapted::default()),
        }
    }

    /// A search text that begins behind the indentation of its line may have a replacement that begins with it: then it
    /// stands there already.
    fn take_in_indentation(&mut self, file: &[u8], search: &str, replacement: &str) {
        let start = lines::start_of(file, self.range.start);
        let indentation = lines::indentation(file, start);
        let mut others = replacement.lines().filter(|line| !line.trim().is_empty());
        if !indentation.is_empty()
            && start + indentation.len() == self.range.start
            && !search.starts_with(char::is_whitespace)
            && lines::indentation(replacement.as_bytes(), 0) == indentation
            && others.all(|line| line.starts_with(indentation))
        {
            self.range.start = start;
        }
    }

    /// The difference between two texts, in the words of the file.
    fn carried(
        mut place: Matched<'_>,
        first: &Hit,
        last: &Hit,
        search: &str,
        replacement: Text<'_>,
    ) -> Result<Self, EditCause> {
        let file = place.file;
        let end = last.line_end.filter(|_| first.line_start.is_some());
        let carried = match end {
            None => carry::carry_inside(&place, search, body(replacement)),
            Some(end) => {
                place.range.end = end.next;
                let search: Vec<&str> = search.split('\n').collect();
                let new: Vec<&str> = match replacement.text {
                    "" => Vec::new(),
                    text => without_newline(text).split('\n').collect(),
                };
                carry::carry(&place, &search, &new, None)
            }
        };
        let line = lines::number(file, first.range.start);
        let carried = carried.map_err(|unclear| unclear.at(line))?;
        let range = if end.is_some() && carried.text.is_empty() {
            whole_range(file, carried.range)
        } else {
            carried.range
        };
        Ok(Self {
            range,
            inserted: carried.text.into_bytes(),
            applied: Applied::of(file, first, last, carried.adapted),
        })
    }

    /// Returns the same change.
    ///
    /// # Errors
    /// If the file would stay as it is.
    pub(super) fn refuse_nothing(self, file: &[u8]) -> Result<Self, EditCause> {
        if file[self.range.clone()] == self.inserted {
            let at = self.applied.line;
            return Err(EditCause::NothingChanges { at });
        }
        Ok(self)
    }

    /// The new content of the file, which may begin with a BOM.
    pub(super) fn parts(self, file: &[u8]) -> Vec<Cow<'_, [u8]>> {
        let bom = file.len() - without_bom(file).len();
        vec![
            Cow::Borrowed(&file[..bom + self.range.start]),
            Cow::Owned(self.inserted),
            Cow::Borrowed(&file[bom + self.range.end..]),
        ]
    }
}

impl Applied {
    fn of(file: &[u8], first: &Hit, last: &Hit, adapted: Adapted) -> Self {
        Self {
            tier: first.tier.max(last.tier),
            line: lines::number(file, first.range.start),
            adapted,
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
