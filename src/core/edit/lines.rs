//! Finds the starts and ends of lines and words in the real file, and its line ending. Knows nothing of searching.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};

/// The characters that a tier looks past.
pub(super) type Ignored = fn(char) -> bool;

/// The newline between the text of a line and the text of the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineEnd {
    /// The end of the line's content.
    pub(super) content: usize,
    /// The start of the next line; the same as `content` where the file ends without a newline.
    pub(super) next: usize,
}

impl LineEnd {
    pub(super) fn is_terminated(self) -> bool {
        self.next > self.content
    }
}

/// The start of the line that `at` is in, if nothing but characters that are `ignored` stands between the two.
pub(super) fn start(file: &[u8], at: usize, ignored: Ignored) -> Option<usize> {
    let mut at = at;
    while let Some(c) = char_before(file, at).filter(|&c| c != '\n' && ignored(c)) {
        at -= c.len_utf8();
    }
    is_start(file, at).then_some(at)
}

/// The end of the line that `at` is in, if nothing but characters that are `ignored` stands between the two.
///
/// The place behind a last newline is in no line: a file `a\n` has one line, and no blank one after it.
pub(super) fn end(file: &[u8], at: usize, ignored: Ignored) -> Option<LineEnd> {
    let mut at = at;
    loop {
        let rest = &file[at..];
        let length = terminator(rest);
        if rest.is_empty() && is_start(file, at) {
            return None;
        }
        if length > 0 || rest.is_empty() {
            return Some(LineEnd {
                content: at,
                next: at + length,
            });
        }
        at += char_after(file, at).filter(|&c| ignored(c))?.len_utf8();
    }
}

/// The start of the line that `at` is in.
pub(super) fn start_of(file: &[u8], at: usize) -> usize {
    memrchr(b'\n', &file[..at]).map_or(0, |newline| newline + 1)
}

/// The line that `at` is in, counted from 1.
pub(super) fn number(file: &[u8], at: usize) -> usize {
    memchr_iter(b'\n', &file[..at]).count() + 1
}

/// The white space that the line starting at `start` is indented by.
pub(super) fn indentation(file: &[u8], start: usize) -> &str {
    let line = &file[start..];
    // Spaces and tabs are UTF-8.
    std::str::from_utf8(&line[..indentation_width(line)]).unwrap_or_default()
}

/// The number of bytes that a line is indented by.
pub(super) fn indentation_width(line: &[u8]) -> usize {
    let width = line.iter().take_while(|b| matches!(b, b' ' | b'\t'));
    width.count()
}

/// The line ending that the file uses at `at`: that of the line itself, else of the line before, else LF.
pub(super) fn ending_at(file: &[u8], at: usize) -> &'static str {
    let newline = memchr(b'\n', &file[at..])
        .map(|ahead| at + ahead)
        .or_else(|| memrchr(b'\n', &file[..at]));
    match newline {
        Some(newline) if file[..newline].ends_with(b"\r") => "\r\n",
        _ => "\n",
    }
}

/// The start of the line behind the one that `at` is in.
pub(super) fn next(file: &[u8], at: usize) -> usize {
    memchr(b'\n', &file[at..]).map_or(file.len(), |newline| at + newline + 1)
}

/// True if a line starts at `start` and has nothing but white space.
pub(super) fn is_blank_at(file: &[u8], start: usize) -> bool {
    start < file.len() && file[start..next(file, start)].trim_ascii().is_empty()
}

/// The place before the newline that ends at `at`, or `at` itself where none does.
pub(super) fn before_newline(file: &[u8], at: usize) -> usize {
    without_newline(&file[..at]).len()
}

/// The text without the newline (LF or CRLF) at its end, if there is one.
pub(super) fn without_newline(text: &[u8]) -> &[u8] {
    match text {
        [rest @ .., b'\r', b'\n'] | [rest @ .., b'\n'] => rest,
        _ => text,
    }
}

/// True if a letter, digit or `_` stands on both sides of `at`. Bytes that are not UTF-8 are no letters.
pub(super) fn cuts_word(file: &[u8], at: usize) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    is_word(char_before(file, at)) && is_word(char_after(file, at))
}

/// True if the same mark stands on both sides of `at`, as in a run of back-ticks or dashes.
pub(super) fn cuts_run(file: &[u8], at: usize) -> bool {
    let before = char_before(file, at).filter(|c| !c.is_alphanumeric() && !c.is_whitespace());
    before.is_some() && before == char_after(file, at)
}

/// Each line's content: what stands before its LF or CRLF. The text behind a last newline counts, if there is any.
pub(super) fn contents(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let start = next;
        let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
        next = memchr(b'\n', rest).map_or(text.len(), |newline| start + newline + 1);
        Some(start..start + without_newline(&text[start..next]).len())
    })
}

pub(super) fn is_start(file: &[u8], at: usize) -> bool {
    at == 0 || file[at - 1] == b'\n'
}

/// The length of the LF or CRLF that `rest` begins with; 0 if it begins with neither.
pub(super) fn terminator(rest: &[u8]) -> usize {
    match rest {
        [b'\n', ..] => 1,
        [b'\r', b'\n', ..] => 2,
        _ => 0,
    }
}

fn char_after(file: &[u8], at: usize) -> Option<char> {
    let bytes = &file[at..file.len().min(at + 4)];
    if let Some(ascii) = bytes.first().filter(|b| b.is_ascii()) {
        return Some(char::from(*ascii));
    }
    bytes.utf8_chunks().next()?.valid().chars().next()
}

fn char_before(file: &[u8], at: usize) -> Option<char> {
    let bytes = &file[at.saturating_sub(4)..at];
    if let Some(ascii) = bytes.last().filter(|b| b.is_ascii()) {
        return Some(char::from(*ascii));
    }
    let lead = bytes.iter().rposition(|b| b & 0xC0 != 0x80)?;
    std::str::from_utf8(&bytes[lead..])
        .ok()?
        .chars()
        .next_back()
}
