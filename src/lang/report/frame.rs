//! The lines that are clada's own in what it shows: a line of an output that looks like one of them is indented.

use std::borrow::Cow;
use std::io::{self, Write};

use memchr::{memchr, memmem, memrchr};

use crate::lang::note::{END, RESULTS};
use crate::lang::plain::plain;

/// The line that begins what tasks have to show.
pub(super) const OUTPUTS: &str = "=== OUTPUTS ===";

/// The line that begins what has changed since the chat saw it.
pub(super) const CHANGED: &str = "=== CHANGED SINCE YOU SAW IT ===";

/// How far a line must be known to say whether it looks like one of clada's.
const LOOK: usize = 64;
/// What a line is moved by.
const INDENT: &str = "  ";

/// The signs with which clada begins what it says of a task, of git or of the clipboard.
const SIGNS: [&str; 12] = [
    "✅", "❌", "⏭", "⏹", "⚠", "⏸", "⏳", "↩", "✂", "💚", "📋", "💔",
];

/// A text in which no line looks like one of clada's: those that do are indented by two spaces.
///
/// Such a line begins with `=== `, is `stdout:` or `stderr:`, is the title of a task (`[3] edit …`) or the time of older
/// results (`--- 10:32:40 ---`), or has one of clada's signs as its first or second word (`1 ✅ …`, `💚 git …`).
pub(super) fn unframed(text: &str) -> Cow<'_, str> {
    indented(text, |line| is_framed(line.as_bytes())).0
}

/// The same of a file, whose lines an edit must match: only lines that are exactly lines of clada's frame are moved, as
/// they alone could end what stands between `=== START FILE` and `=== END FILE`. Returns how many there are.
pub(super) fn unframed_file(text: &str) -> (Cow<'_, str>, usize) {
    indented(text, |line| {
        let line = line.trim_end();
        let is_of_file = ["=== START FILE: ", "=== END FILE: ", "=== FILE: "];
        [RESULTS, CHANGED, OUTPUTS, END].contains(&line)
            || line.ends_with(" ===") && is_of_file.iter().any(|start| line.starts_with(start))
    })
}

fn indented(text: &str, is_like: impl Fn(&str) -> bool) -> (Cow<'_, str>, usize) {
    let mut found = 0;
    let mut moved = String::new();
    let mut copied = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if is_like(line) {
            moved += &text[copied..at];
            moved += INDENT;
            (copied, found) = (at, found + 1);
        }
        at += line.len();
    }
    if found == 0 {
        return (text.into(), 0);
    }
    moved += &text[copied..];
    (moved.into(), found)
}

/// Tells if a line looks like one of clada's; no more than its start is looked at.
fn is_framed(line: &[u8]) -> bool {
    let line = &line[..line.len().min(LOOK)];
    let line = &line[..memchr(b'\n', line).unwrap_or(line.len())];
    match line.first() {
        Some(b'=') => line.starts_with(b"=== "),
        Some(b'-') => line.starts_with(b"--- ") && is_time(&line[b"--- ".len()..]),
        Some(b'[') => is_title(line),
        _ => is_signed(line) || [&b"stdout:"[..], b"stderr:"].contains(&line.trim_ascii_end()),
    }
}

/// A time and the dashes behind it.
fn is_time(rest: &[u8]) -> bool {
    let digits = rest.iter().filter(|byte| byte.is_ascii_digit()).count();
    digits >= 4 && rest.contains(&b':') && rest.trim_ascii_end().ends_with(b" ---")
}

/// `[LABEL] command`, or `[LABEL hook] `.
fn is_title(line: &[u8]) -> bool {
    let Some(end) = memchr(b']', line) else {
        return false;
    };
    let label = &line[1..end];
    let is_label = !label.is_empty()
        && label
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b" _-".contains(byte));
    let is_word = |byte: &u8| byte.is_ascii_lowercase();
    let rest = &line[end + 1..];
    let is_next = label.ends_with(b" hook") || rest.get(1).is_some_and(is_word);
    is_label && is_next && rest.first() == Some(&b' ')
}

/// One of clada's signs as the first word, or as the second.
fn is_signed(line: &[u8]) -> bool {
    let starts = |text: &[u8]| {
        // None of them is ASCII.
        let may_be = text.first().is_some_and(|first| *first >= 0x80);
        may_be && SIGNS.iter().any(|sign| text.starts_with(sign.as_bytes()))
    };
    let second = memchr(b' ', line).map(|space| &line[space + 1..]);
    starts(line) || second.is_some_and(starts)
}

/// Tells if a stretch of text may hold such a line. Most hold none, and are passed on as a whole.
fn may_be_framed(text: &[u8]) -> bool {
    // The signs begin with these two bytes.
    memchr::memchr2(0xe2, 0xf0, text).is_some()
        || [&b"=== "[..], b"--- ", b"] ", b"stdout:", b"stderr:"]
            .iter()
            .any(|start| memmem::find(text, start).is_some())
}

/// Writes text as [`unframed`] has it, whatever its size and wherever its pieces are cut.
pub(super) struct Unframing<'w> {
    to: &'w mut dyn Write,
    is_in_line: bool,
    /// The start of a line, as long as it is too short to say what it looks like.
    held: Vec<u8>,
}

impl<'w> Unframing<'w> {
    pub(super) fn new(to: &'w mut dyn Write) -> Self {
        Self {
            to,
            is_in_line: false,
            held: Vec::with_capacity(LOOK),
        }
    }

    /// Writes what is held back.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.let_go()
    }

    fn let_go(&mut self) -> io::Result<()> {
        if is_framed(&self.held) {
            self.to.write_all(INDENT.as_bytes())?;
        }
        self.to.write_all(&self.held)?;
        self.is_in_line = !self.held.is_empty() && !self.held.ends_with(b"\n");
        self.held.clear();
        Ok(())
    }

    /// Goes on with the line that is begun, and says how much of a text that took.
    fn go_on(&mut self, text: &[u8]) -> io::Result<usize> {
        let line = memchr(b'\n', text).map_or(text.len(), |newline| newline + 1);
        if self.is_in_line {
            self.to.write_all(&text[..line])?;
            self.is_in_line = text[line - 1] != b'\n';
            return Ok(line);
        }
        let taken = line.min(LOOK - self.held.len());
        self.held.extend_from_slice(&text[..taken]);
        if self.held.len() == LOOK || self.held.ends_with(b"\n") {
            self.let_go()?;
        }
        Ok(taken)
    }

    /// Writes whole lines, as many as possible at once.
    fn lines(&mut self, lines: &[u8]) -> io::Result<()> {
        let (mut written, mut at) = (0, 0);
        let end = if may_be_framed(lines) { lines.len() } else { 0 };
        while at < end {
            if is_framed(&lines[at..]) {
                self.to.write_all(&lines[written..at])?;
                self.to.write_all(INDENT.as_bytes())?;
                written = at;
            }
            at = memchr(b'\n', &lines[at..]).map_or(lines.len(), |newline| at + newline + 1);
        }
        self.to.write_all(&lines[written..])
    }
}

impl Write for Unframing<'_> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let mut rest = text;
        while !rest.is_empty() {
            let is_at_start = !self.is_in_line && self.held.is_empty();
            let taken = match memrchr(b'\n', rest) {
                Some(last) if is_at_start => {
                    self.lines(&rest[..=last])?;
                    last + 1
                }
                _ => self.go_on(rest)?,
            };
            rest = &rest[taken..];
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// A text without escape sequences and control characters other than tab and newline. Unlike the output of a command it
/// is not what a terminal would show: no line of it is replaced by what comes after a carriage return, so that all lines
/// keep their numbers.
pub(super) fn without_controls(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_control) {
        return text.into();
    }
    let clean = text.split_inclusive('\n').map(|line| {
        if !line.chars().any(is_control) {
            return Cow::Borrowed(line);
        }
        let still: String = line.chars().filter(|c| !"\r\u{8}".contains(*c)).collect();
        plain(still.as_bytes()).into()
    });
    clean.collect::<String>().into()
}

fn is_control(c: char) -> bool {
    c.is_control() && !"\n\t".contains(c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FRAMED: [&str; 14] = [
        "=== END ===",
        "=== OUTPUTS ===\r",
        "=== whatever",
        "[3] edit src/a.rs (failed):",
        "[k3v] file_write:",
        "[before hook] make:",
        "stdout:",
        "stderr:  ",
        "1 ✅ delete a",
        "k3v ❌ edit b - why",
        "💚 git 3f2a1bc → 9d0e221",
        "📋 Copied to clipboard at 10:32:45",
        "⚠ git: no",
        "--- 10:32:40 ---",
    ];
    const FREE: [&str; 14] = [
        "",
        "====",
        " === END ===",
        "[1] 12345",
        "[1]",
        "[]",
        "[a.b] c",
        "stdout: x",
        "--- a/src/lib.rs",
        "--- 2026-11-22 10:32:40",
        "all tests ✅ pass",
        "- [x] edit",
        "stdin:",
        "é",
    ];

    #[test]
    fn lines_that_look_like_those_of_clada_are_indented() {
        for line in FRAMED {
            assert_eq!(unframed(line), format!("  {line}"));
            assert_eq!(
                unframed(&format!("a\n{line}\nb")),
                format!("a\n  {line}\nb")
            );
        }
        for line in FREE {
            assert_eq!(unframed(line), line);
        }
    }

    #[test]
    fn of_a_file_only_exact_lines_are() {
        let text = "=== END ===\n=== CHANGED SINCE YOU SAW IT ===\n=== START FILE: a ===\n=== a ===\n1 ✅ b\nstdout:\n";
        let (moved, count) = unframed_file(text);
        assert_eq!(
            moved,
            "  === END ===\n  === CHANGED SINCE YOU SAW IT ===\n  === START FILE: a ===\n=== a ===\n1 ✅ b\nstdout:\n"
        );
        assert_eq!(count, 3);
    }

    #[test]
    fn control_characters_are_taken_out_and_lines_stay() {
        assert_eq!(without_controls("a\tb\n"), "a\tb\n");
        assert_eq!(
            without_controls("\u{1b}[31mred\u{1b}[0m\r\nold\rmac\n\u{c}\n\u{8}b\u{1b}]0;t\u{7}c"),
            "red\noldmac\n\nbc"
        );
    }

    fn written(text: &str, cuts: usize) -> String {
        let mut out = Vec::new();
        let mut writer = Unframing::new(&mut out);
        for chunk in text.as_bytes().chunks(cuts) {
            writer.write_all(chunk).unwrap();
        }
        writer.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_written_in_pieces_is_the_same(
            lines in proptest::collection::vec(
                prop_oneof![
                    proptest::sample::select(&FRAMED[..]).prop_map(str::to_owned),
                    proptest::sample::select(&FREE[..]).prop_map(str::to_owned),
                    "[ -~é✅]{0,100}",
                ],
                0..12,
            ),
            end in "\n?",
            cuts in 1_usize..200,
        ) {
            let text = lines.join("\n") + &end;
            let expected = unframed(&text);
            prop_assert_eq!(&written(&text, cuts), &*expected);
            prop_assert_eq!(&unframed(&expected), &expected);
        }
    }
}
