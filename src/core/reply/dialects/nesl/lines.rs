//! The lines of a document as SHAM and NESL count them: split at LF or CRLF, measured in UTF-16 units.

use memchr::{memchr, memchr_iter};

use crate::reply::cml::tag::line_start;

/// A line, without its line break.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockLine<'t> {
    pub(super) at: usize,
    pub(super) raw: &'t str,
    /// The start of the next line, or the end of the text.
    pub(super) next: usize,
    /// True if it has a line break: more text cannot change it.
    pub(super) is_ended: bool,
}

impl<'t> BlockLine<'t> {
    /// The line that begins at an offset.
    pub(super) fn at(text: &'t str, at: usize) -> Self {
        let newline = memchr(b'\n', &text.as_bytes()[at..]).map(|length| at + length);
        let raw = &text[at..newline.unwrap_or(text.len())];
        Self {
            at,
            raw: match newline {
                Some(_) => raw.strip_suffix('\r').unwrap_or(raw),
                None => raw,
            },
            next: newline.map_or(text.len(), |newline| newline + 1),
            is_ended: newline.is_some(),
        }
    }

    /// The offset behind its last character.
    pub(super) fn end(&self) -> usize {
        self.at + self.raw.len()
    }

    /// Without the blanks around it.
    pub(super) fn trimmed(&self) -> &'t str {
        self.raw.trim_matches(is_blank)
    }
}

/// White space as the originals see it.
pub(super) fn is_blank(c: char) -> bool {
    c == '\u{feff}' || c.is_whitespace() && c != '\u{85}'
}

/// The length of a text in UTF-16 units.
pub(super) fn units(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.chars().map(char::len_utf16).sum()
    }
}

/// The number of lines that an error is shown with.
const SHOWN: usize = 5;

/// The lines around the one that begins at an offset, or around what is behind the end: two before it and two after it,
/// and further ones where there are none on one side.
pub(super) fn around(text: &str, at: Option<usize>) -> &str {
    let bytes = text.as_bytes();
    let above = |line: usize, count: usize| {
        (0..count).fold(line, |at, _| line_start(bytes, at.saturating_sub(1)))
    };
    let line = at.unwrap_or_else(|| line_start(bytes, text.len()));
    let first = above(line, SHOWN / 2);
    let newlines = memchr_iter(b'\n', &bytes[first..]).map(|length| first + length);
    let ends = newlines.chain([text.len()]).take(SHOWN);
    let (count, end) = ends.fold((0, first), |(count, _), end| (count + 1, end));
    &text[above(first, SHOWN - count)..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_lines_are_shown_wherever_the_error_is() {
        let text = "1\n2\n3\n4\n5\n6\n7";
        let of = |line: usize| around(text, Some(2 * (line - 1)));
        for line in 1..=3 {
            assert_eq!(of(line), "1\n2\n3\n4\n5");
        }
        assert_eq!(of(4), "2\n3\n4\n5\n6");
        for line in 5..=7 {
            assert_eq!(of(line), "3\n4\n5\n6\n7");
        }
        assert_eq!(around(text, None), "3\n4\n5\n6\n7");
        for short in ["", "a", "a\r\nb\n"] {
            assert_eq!(around(short, None), short);
            assert_eq!(around(short, Some(0)), short);
        }
    }
}
