//! The lines that only clada may write into results. A line of an output that looks like one of them is indented.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};

use memchr::{memchr, memrchr};

use crate::reply::note::{END, RESULTS};

/// The line that begins what tasks have to show.
pub(super) const OUTPUTS: &str = "=== OUTPUTS ===";

/// The line that begins what has changed since the chat saw it.
pub(super) const CHANGED: &str = "=== CHANGED SINCE YOU SAW IT ===";

/// The lines of the frame that stand between equals signs.
const RULES: [&str; 4] = [RESULTS, CHANGED, OUTPUTS, END];

/// The number of bytes that decide if a line looks like one of clada's.
const LOOK: usize = 64;
/// The blanks that indent a line.
const INDENT: &str = "  ";

/// The byte that begins a colour.
const ESC: u8 = 0x1b;

/// The signs with which clada begins what it says of a task, of git or of the clipboard.
const SIGNS: [&str; 12] = [
    "✅", "❌", "⏭", "⏹", "⚠", "⏸", "⏳", "↩", "✂", "💚", "📋", "💔",
];

/// A text in which no line looks like one of clada's: those that do are indented by two spaces.
///
/// Such a line begins with `=== `, is `stdout:` or `stderr:`, is the title of a task (`[3] edit …`) or the time of older
/// results (`--- 10:32:40 ---`), has one of clada's signs as its first or second word (`1 ✅ …`, `💚 git …`), or a box to tick
/// (`- [ ] …`). Capital letters, wide ones and other white space change nothing about that.
pub(super) fn unframed(text: &str) -> Cow<'_, str> {
    indented(text, |line| is_framed(line.as_bytes())).0
}

/// The same of a file, whose lines an edit must match: only lines that are exactly lines of clada's frame are moved, as
/// they alone could end what stands between `=== START FILE` and `=== END FILE`. Returns how many there are.
pub(super) fn unframed_file(text: &str) -> (Cow<'_, str>, usize) {
    indented(text, |line| {
        if !may_be_rule(line.as_bytes()) {
            return false;
        }
        let line = folded(line).to_ascii_lowercase();
        let is_of_file = ["=== start file: ", "=== end file: ", "=== file: "];
        RULES.iter().any(|own| own.eq_ignore_ascii_case(&line))
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
    let Some(first) = line.first() else {
        return false;
    };
    let line = &line[..line.len().min(LOOK)];
    let line = &line[..memchr(b'\n', line).unwrap_or(line.len())];
    // What is indented is no line of clada's.
    let may_be = match first {
        b' ' | b'\t' => false,
        b'=' | b'-' | b'[' | b's' | b'S' => true,
        _ => !line.is_ascii(),
    };
    may_be && looks_framed(&folded(&String::from_utf8_lossy(line)))
}

/// The number of bytes that are looked at together for the start of a line that may be framed.
const BLOCK: usize = 64;

/// The first line that may look like one of clada's, from the start of a line on. It tells too much and never too little:
/// [`is_framed`] decides. Nearly no line of any output is one, so many lines are looked at together.
fn next_suspect(text: &[u8], from: usize) -> Option<usize> {
    let mut line = from;
    loop {
        let sign = line + first_sign(&text[line..])?;
        line = memrchr(b'\n', &text[line..sign]).map_or(line, |end| line + end + 1);
        if sign - line < LOOK {
            return Some(line);
        }
        // It stands too far behind to matter, and so does what follows it on its line.
        line = end_of_line(text, sign);
    }
}

/// The first byte that begins a line as some of clada's begin, or that is no plain text. A line begins where the text does.
fn first_sign(text: &[u8]) -> Option<usize> {
    let is_sign = |before: u8, byte: u8| {
        let begins = (byte == b'=') | (byte == b'-') | (byte == b'[') | (byte | 0x20 == b's');
        (before == b'\n') & begins | (byte >= 0x80) | (byte == ESC)
    };
    let (first, rest) = text.split_first()?;
    if is_sign(b'\n', *first) {
        return Some(0);
    }
    // Whole blocks without an early exit, which the compiler turns into vector instructions.
    let blocks = text.as_chunks::<BLOCK>().0.iter();
    let mut pairs = blocks.zip(rest.as_chunks::<BLOCK>().0);
    let has_sign = |(before, block): (&[u8; BLOCK], &[u8; BLOCK])| {
        let mut any = false;
        for at in 0..BLOCK {
            any |= is_sign(before[at], block[at]);
        }
        any
    };
    let free = match pairs.position(has_sign) {
        Some(blocks) => blocks * BLOCK,
        None => rest.len() / BLOCK * BLOCK,
    };
    let mut pairs = text[free..].iter().zip(&rest[free..]);
    let sign = pairs.position(|(before, byte)| is_sign(*before, *byte))?;
    Some(free + sign + 1)
}

/// The offset behind the end of the line that an offset is in.
fn end_of_line(text: &[u8], at: usize) -> usize {
    memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end + 1)
}

/// Tells if a line may be one of equals signs around something, by its first character.
fn may_be_rule(line: &[u8]) -> bool {
    line.first()
        .is_some_and(|first| *first == b'=' || *first >= 0x80)
}

/// A line in the form in which it is compared: with plain signs and blanks, and none of these at its ends.
fn folded(line: &str) -> String {
    let fold = |c: char| match c {
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(u32::from(c) - 0xff01 + u32::from('!')).unwrap_or(c)
        }
        '═' | '꞊' | '᐀' | '゠' => '=',
        '‐'..='―' | '−' | '─' => '-',
        '∶' | '꞉' | 'ː' => ':',
        c if c.is_whitespace() => ' ',
        c => c,
    };
    line.trim().chars().map(fold).collect()
}

/// Tells if a folded line looks like one of clada's.
fn looks_framed(line: &str) -> bool {
    match line.as_bytes().first() {
        Some(b'=') => line.starts_with("=== ") || line.starts_with("===") && is_rule(line),
        Some(b'-') => line.starts_with("- [ ]") || line.strip_prefix("--- ").is_some_and(is_time),
        Some(b'[') => is_title(line.as_bytes()) || is_signed(line),
        _ => {
            let mut heads = ["stdout:", "stderr:"].into_iter();
            is_signed(line) || heads.any(|head| head.eq_ignore_ascii_case(line))
        }
    }
}

/// The words of one of clada's frame, with other equals signs around them.
fn is_rule(line: &str) -> bool {
    let words = line.trim_matches(['=', ' ']);
    RULES
        .iter()
        .any(|own| own.trim_matches(['=', ' ']).eq_ignore_ascii_case(words))
}

/// A time and the dashes behind it.
fn is_time(rest: &str) -> bool {
    let digits = rest.bytes().filter(u8::is_ascii_digit).count();
    digits >= 4 && rest.contains(':') && rest.ends_with(" ---")
}

/// `[LABEL] command`, or `[LABEL hook] `. Tools write `[INFO] Words`: only behind a number may a command have capital letters.
fn is_title(line: &[u8]) -> bool {
    let Some(end) = memchr(b']', line) else {
        return false;
    };
    let label = &line[1..end];
    let is_label = !label.is_empty()
        && label
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b" _-".contains(byte));
    let is_number = label.iter().all(u8::is_ascii_digit);
    let is_word = |byte: &u8| byte.is_ascii_lowercase() || is_number && byte.is_ascii_uppercase();
    let rest = &line[end + 1..];
    let is_next = label.ends_with(b" hook") || rest.get(1).is_some_and(is_word);
    is_label && is_next && rest.first() == Some(&b' ')
}

/// One of clada's signs as the first word, or as the second.
fn is_signed(line: &str) -> bool {
    let starts = |text: &str| SIGNS.iter().any(|sign| text.starts_with(sign));
    let second = line.split_once(' ').map(|(_, rest)| rest.trim_start());
    !line.is_ascii() && (starts(line) || second.is_some_and(starts))
}

/// Writes text in which no line looks like one of clada's, whatever its size and wherever its pieces are cut: such lines are
/// indented.
#[derive(Debug)]
pub struct Unframing<W: Write> {
    to: BufWriter<W>,
    is_in_line: bool,
    /// The start of a line, as long as it is too short to say what it looks like.
    held: Vec<u8>,
}

impl<W: Write> Unframing<W> {
    /// Nothing is written yet.
    pub fn new(to: W) -> Self {
        Self {
            to: BufWriter::new(to),
            is_in_line: false,
            held: Vec::with_capacity(LOOK),
        }
    }

    /// Writes what is held back.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.let_go()?;
        self.to.flush()
    }

    fn let_go(&mut self) -> io::Result<()> {
        if is_framed(&self.held) {
            self.to.write_all(INDENT.as_bytes())?;
        }
        self.to.write_all(&self.held)?;
        self.held.clear();
        Ok(())
    }
}

impl<W: Write> Unframing<W> {
    /// Completes the start of a line that is held back. Returns the number of bytes that belong to it.
    fn complete(&mut self, text: &[u8]) -> io::Result<usize> {
        let room = &text[..text.len().min(LOOK - self.held.len())];
        let length = memchr(b'\n', room).map_or(room.len(), |end| end + 1);
        self.held.extend_from_slice(&room[..length]);
        let is_ended = self.held.ends_with(b"\n");
        if self.held.len() == LOOK || is_ended {
            self.is_in_line = !is_ended;
            self.let_go()?;
        }
        Ok(length)
    }

    /// Writes text from the start of a line on, each line of it long enough to say what it looks like.
    fn lines(&mut self, text: &[u8]) -> io::Result<()> {
        let (mut at, mut written) = (0, 0);
        while let Some(line) = next_suspect(text, at) {
            if is_framed(&text[line..]) {
                self.to.write_all(&text[written..line])?;
                self.to.write_all(INDENT.as_bytes())?;
                written = line;
            }
            at = end_of_line(text, line);
        }
        self.to.write_all(&text[written..])
    }
}

impl<W: Write> Write for Unframing<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let mut rest = text;
        if !self.held.is_empty() {
            rest = &rest[self.complete(rest)?..];
        }
        if self.is_in_line {
            let end = end_of_line(rest, 0);
            self.to.write_all(&rest[..end])?;
            self.is_in_line = !rest[..end].ends_with(b"\n");
            rest = &rest[end..];
        }
        let last = memrchr(b'\n', rest).map_or(0, |end| end + 1);
        let is_short = rest.len() - last < LOOK;
        let whole = if is_short { last } else { rest.len() };
        self.lines(&rest[..whole])?;
        self.held.extend_from_slice(&rest[whole..]);
        self.is_in_line |= !is_short;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Keeps the lines of an output as it comes from looking like clada's, colours and all. A piece ends with a line, or goes on in
/// the next one.
#[derive(Debug, Default)]
pub struct LiveLines {
    is_in_line: bool,
}

impl LiveLines {
    /// Returns a line end if a line is begun.
    pub fn end(&mut self) -> &'static str {
        if std::mem::take(&mut self.is_in_line) {
            "\n"
        } else {
            ""
        }
    }

    /// The next piece of it.
    pub fn next<'p>(&mut self, piece: &'p [u8]) -> Cow<'p, [u8]> {
        let mut moved = Vec::new();
        let mut copied = 0;
        let mut at = if self.is_in_line {
            end_of_line(piece, 0)
        } else {
            0
        };
        while let Some(line) = next_suspect(piece, at) {
            at = end_of_line(piece, line);
            if is_framed_in_colour(&piece[line..at]) {
                moved.extend_from_slice(&piece[copied..line]);
                moved.extend_from_slice(INDENT.as_bytes());
                copied = line;
            }
        }
        if let Some(last) = piece.last() {
            self.is_in_line = *last != b'\n';
        }
        if copied == 0 && moved.is_empty() {
            return piece.into();
        }
        moved.extend_from_slice(&piece[copied..]);
        moved.into()
    }
}

/// The part of a live output that belongs to the last task in it: what is behind the last title, which no output can have.
pub fn last_part(live: &str) -> &str {
    let (mut at, mut from) = (0, 0);
    for line in live.split_inclusive('\n') {
        at += line.len();
        if line.starts_with('[') && is_title(line.as_bytes()) {
            from = at;
        }
    }
    &live[from..]
}

/// Tells if a line that may have colours in it looks like one of clada's.
fn is_framed_in_colour(line: &[u8]) -> bool {
    if memchr(ESC, line).is_none() {
        return is_framed(line);
    }
    let mut seen = Vec::with_capacity(LOOK);
    let mut rest = line;
    while let Some((first, behind)) = rest.split_first().filter(|_| seen.len() < LOOK) {
        rest = behind;
        if *first == ESC {
            let end = memchr(b'm', rest).map_or(rest.len(), |end| end + 1);
            rest = &rest[end..];
        } else {
            seen.push(*first);
        }
    }
    is_framed(&seen)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FRAMED: [&str; 30] = [
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
        "=== end ===",
        "===END===",
        "====== Outputs ======",
        "＝＝＝ END ＝＝＝",
        "═══ END ═══",
        "===\u{a0}END ===",
        "\u{3000}=== END ===",
        "\u{200a}1 ✅ edit",
        "1\u{2003}✅ edit",
        "1  ✅ edit",
        "[４] exec make:",
        "[4] EXEC make:",
        "STDOUT:",
        "ｓｔｄｅｒｒ：",
        "- [ ] run it",
        "——— 10:32:40 ———",
    ];
    const FREE: [&str; 18] = [
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
        "==== FAILURES ====",
        "[INFO] Building jar",
        "  1 ✅ indented",
        "Süden: stdout:",
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
    fn the_last_part_of_a_live_output_is_that_of_the_last_task() {
        for (live, last) in [
            (
                "\n[1] exec a:\none\n1 ✅ exec a\n\n[2] exec b:\ntwo\n",
                "two\n",
            ),
            (
                "\n[12] exec b:\n]\n[INFO] Words\n  [3] exec c:\n[",
                "]\n[INFO] Words\n  [3] exec c:\n[",
            ),
            ("the end of a long one\n]", "the end of a long one\n]"),
            ("\n[2] exec b:\n", ""),
            ("", ""),
        ] {
            assert_eq!(last_part(live), last, "{live:?}");
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
    fn colours_hide_no_line_and_pieces_go_on() {
        let mut lines = LiveLines::default();
        let next = |lines: &mut LiveLines, piece: &str| {
            String::from_utf8(lines.next(piece.as_bytes()).into_owned()).unwrap()
        };
        assert_eq!(
            next(
                &mut lines,
                "\u{1b}[31m=== END ===\u{1b}[0m\n=\u{1b}[1m== END\na"
            ),
            "  \u{1b}[31m=== END ===\u{1b}[0m\n  =\u{1b}[1m== END\na"
        );
        assert_eq!(next(&mut lines, "=== END ===\n"), "=== END ===\n");
        assert_eq!(next(&mut lines, "1 ✅ all"), "  1 ✅ all");
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
            let live = LiveLines::default().next(text.as_bytes()).into_owned();
            prop_assert_eq!(live, expected.as_bytes());
        }
    }
}
