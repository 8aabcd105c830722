//! Turns what a program wrote for a terminal into plain text, as it comes. Holds one line at most, never a whole output.
//!
//! Why the sequences are read by an automaton here and not by the `vte` crate (0.15), which the tests compare with:
//! it keeps an unterminated OSC string without limit, so one stray `ESC ]` in a binary would hold (and eat) all that
//! follows; it loses a character when a chunk ends inside one and the next chunk brings an incomplete one as well; it
//! drops some invalid bytes; and it calls back for every character, while finding the end of a sequence is all that is
//! needed to leave it out.

mod colours;

use std::mem;

use super::hidden::{Sieve, plain_length};
use colours::Colours;

/// A line longer than this is passed on as it comes, and what follows on it can no longer replace it.
const LONGEST_LINE: usize = 64 * 1024;

const BEL: u8 = 0x07;
const BACKSPACE: u8 = 0x08;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
const ESC: u8 = 0x1b;
const DEL: u8 = 0x7f;

/// Reads terminal output chunk by chunk and gives the text that is left to see.
///
/// - Escape sequences and control characters other than tab and newline are left out, and so is what else is hidden
///   ([`Sieve`]). Invalid UTF-8 becomes U+FFFD.
/// - CRLF is LF. After any other carriage return, what is printed next replaces the line, so that of a progress bar
///   its last state stays. An erase-in-line there empties the line.
/// - A backspace takes the last character away: those who print one print something over it.
/// - A sequence ends with its line at the latest. A terminal would swallow all that follows a stray `ESC ]`; a report
///   must not, and no sequence in use spans lines.
///
/// The result does not depend on where the chunks are cut, and every piece given out is valid UTF-8 by itself.
#[derive(Debug, Default)]
pub struct Plain {
    state: Sequence,
    /// The line so far, as it may still be replaced.
    line: Vec<u8>,
    /// The line has grown over [`LONGEST_LINE`]: its start is given out already.
    flowing: bool,
    /// The cursor is back at the start of the line and nothing has been printed since.
    returned: bool,
    /// The first bytes of a character whose others have not come yet.
    partial: Vec<u8>,
    sieve: Sieve,
    /// The colours of what is given out, which are not part of it.
    colours: Colours,
}

/// The place of the reader in a control sequence, after the bytes so far.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Sequence {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate byte: only a final byte is awaited.
    Intermediate,
    /// After `ESC [`.
    Csi,
    /// After `ESC ]`: up to BEL or `ESC \`.
    Osc,
    /// In a DCS, SOS, PM or APC string: up to `ESC \`.
    Other,
}

/// Returns all of `bytes` as plain text.
pub fn plain(bytes: &[u8]) -> String {
    let mut reader = Plain::default();
    let mut out = Vec::with_capacity(bytes.len());
    reader.push(bytes, &mut out);
    reader.finish(&mut out);
    String::from_utf8(out).expect("plain text is UTF-8")
}

impl Plain {
    /// Returns a reader that keeps the colours; they must be taken after each chunk.
    pub fn with_colours() -> Self {
        Self {
            colours: Colours::kept(),
            ..Self::default()
        }
    }

    /// Returns what was appended to `out`, which was empty before, with its colours (SGR); `None` if it has none.
    pub fn coloured(&mut self, out: &[u8]) -> Option<Vec<u8>> {
        self.colours.put_into(out)
    }

    /// Reads a chunk and appends the text that can no longer change to `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let used = match self.state {
                Sequence::Text => self.text(rest, out),
                _ => self.sequence(rest[0], out),
            };
            rest = &rest[used..];
        }
    }

    /// Returns the number of bytes at the start that are their own plain text and need not be pushed: all whole lines, where these
    /// are printable ASCII and the reader stands at the start of a line, else 0.
    pub fn whole_lines(&mut self, bytes: &[u8]) -> usize {
        let is_at_start = self.state == Sequence::Text
            && self.partial.is_empty()
            && self.line.is_empty()
            && !self.flowing
            && !self.returned
            && self.colours.are_given();
        let end = memchr::memrchr(b'\n', bytes).map_or(0, |last| last + 1);
        if !is_at_start || plain_length(&bytes[..end]) < end {
            return 0;
        }
        self.sieve = Sieve::default();
        end
    }

    /// Appends what was held back: the last line, if it has no newline. The reader is then as new.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        if !self.partial.is_empty() {
            self.invalid(out);
        }
        self.colours.give(out.len());
        out.append(&mut self.line);
        self.colours.end(out.len());
        *self = Self {
            colours: mem::take(&mut self.colours),
            ..Self::default()
        };
    }

    /// Reads a stretch of text or one control character; says how many bytes that was.
    fn text(&mut self, rest: &[u8], out: &mut Vec<u8>) -> usize {
        if !self.partial.is_empty() {
            return self.complete(rest[0], out);
        }
        let simple = plain_length(rest);
        if let Some(last) = rest[..simple].last() {
            self.lines(&rest[..simple], out);
            self.sieve.pass(*last);
            return simple;
        }
        if !rest[0].is_ascii() {
            return self.beyond_ascii(rest, out);
        }
        self.control(rest[0], out);
        1
    }

    /// Takes printable ASCII with tabs and newlines. Whole lines within it are copied at once: this is nearly all there
    /// is in nearly all output.
    fn lines(&mut self, run: &[u8], out: &mut Vec<u8>) {
        let Some(first) = run.iter().position(|&byte| byte == b'\n') else {
            return self.print(run, out);
        };
        let last = run.iter().rposition(|&byte| byte == b'\n').unwrap_or(first);
        self.print(&run[..first], out);
        self.newline(out);
        out.extend_from_slice(&run[first + 1..=last]);
        self.print(&run[last + 1..], out);
    }

    /// Reads up to the next ASCII byte.
    fn beyond_ascii(&mut self, rest: &[u8], out: &mut Vec<u8>) -> usize {
        let end = rest.iter().position(u8::is_ascii).unwrap_or(rest.len());
        let mut read = 0;
        for piece in rest[..end].utf8_chunks() {
            read += piece.valid().len() + piece.invalid().len();
            self.characters(piece.valid(), out);
            if read == rest.len() && is_unfinished(piece.invalid()) {
                self.partial.extend_from_slice(piece.invalid());
            } else if !piece.invalid().is_empty() {
                self.invalid(out);
            }
        }
        end
    }

    /// Adds a byte to the character that a chunk's end has cut; a byte that does not belong to it is read again.
    fn complete(&mut self, byte: u8, out: &mut Vec<u8>) -> usize {
        self.partial.push(byte);
        if is_unfinished(&self.partial) {
            return 1;
        }
        let mut partial = mem::take(&mut self.partial);
        let used = match str::from_utf8(&partial) {
            Ok(character) => {
                self.characters(character, out);
                1
            }
            Err(_) => {
                self.invalid(out);
                0
            }
        };
        partial.clear();
        self.partial = partial;
        used
    }

    /// Prints characters beyond ASCII, without the hidden ones.
    fn characters(&mut self, text: &str, out: &mut Vec<u8>) {
        let mut from = 0;
        for (at, c) in text.char_indices() {
            if !self.sieve.keeps(c) {
                self.print(&text[from..at], out);
                from = at + c.len_utf8();
            }
        }
        self.print(&text[from..], out);
    }

    /// Prints what stands for bytes that are no character.
    fn invalid(&mut self, out: &mut Vec<u8>) {
        self.characters("\u{fffd}", out);
    }

    /// Carries out a control character.
    fn control(&mut self, byte: u8, out: &mut Vec<u8>) {
        match byte {
            b'\n' => self.newline(out),
            b'\t' => {
                self.print("\t", out);
                self.sieve.pass(byte);
            }
            b'\r' => {
                self.returned = true;
                self.sieve = Sieve::default();
            }
            ESC => self.state = Sequence::Escape,
            BACKSPACE if !self.returned => {
                let last = self.line.iter().rposition(|&byte| byte & 0xc0 != 0x80);
                self.line.truncate(last.unwrap_or(0));
                self.sieve = Sieve::default();
                self.colours.shorten(self.line.len());
            }
            _ => {}
        }
    }

    /// Reads one byte of an escape sequence; a byte that is no part of it is read again as text.
    fn sequence(&mut self, byte: u8, out: &mut Vec<u8>) -> usize {
        self.state = match (self.state, byte) {
            (_, b'\n') => {
                self.newline(out);
                Sequence::Text
            }
            (_, ESC) => Sequence::Escape,
            (_, CAN | SUB) | (Sequence::Osc, BEL) => Sequence::Text,
            (Sequence::Osc | Sequence::Other, _) => return 1,
            (_, 0x80..) => {
                self.state = Sequence::Text;
                return 0;
            }
            (state, 0..0x20) => {
                self.control(byte, out);
                state
            }
            (state, DEL) => state,
            (Sequence::Escape, b'[') => {
                self.colours.begin();
                Sequence::Csi
            }
            (Sequence::Escape, b']') => Sequence::Osc,
            (Sequence::Escape, b'P' | b'X' | b'^' | b'_') => Sequence::Other,
            (Sequence::Escape | Sequence::Intermediate, b' '..=b'/') => Sequence::Intermediate,
            (Sequence::Csi, b' '..=b'?') => {
                self.colours.add(byte);
                Sequence::Csi
            }
            (Sequence::Csi, b'm') => {
                if self.flowing {
                    self.colours.set_at(out.len());
                } else {
                    self.colours.set(self.line.len());
                }
                Sequence::Text
            }
            (Sequence::Csi, b'K') => {
                self.erase();
                Sequence::Text
            }
            _ => Sequence::Text,
        };
        1
    }

    /// Puts text on the line.
    fn print(&mut self, text: impl AsRef<[u8]>, out: &mut Vec<u8>) {
        let text = text.as_ref();
        if text.is_empty() {
            return;
        }
        if mem::take(&mut self.returned) {
            if mem::take(&mut self.flowing) {
                // Its start is out and cannot be taken back, so the two stand on lines of their own.
                out.push(b'\n');
            }
            self.line.clear();
            self.colours.shorten(0);
        }
        if self.line.len() + text.len() > LONGEST_LINE {
            self.flowing = true;
            self.colours.give(out.len());
            out.append(&mut self.line);
        }
        if self.flowing { out } else { &mut self.line }.extend_from_slice(text);
    }

    fn newline(&mut self, out: &mut Vec<u8>) {
        self.colours.give(out.len());
        out.append(&mut self.line);
        out.push(b'\n');
        self.flowing = false;
        self.returned = false;
        self.sieve = Sieve::default();
    }

    /// Carries out an erase-in-line. It matters only after a carriage return, where it removes a finished progress bar.
    fn erase(&mut self) {
        if self.returned {
            self.line.clear();
            self.colours.shorten(0);
        }
    }
}

/// Returns true for bytes that are the start of one character and lack the rest of it.
fn is_unfinished(bytes: &[u8]) -> bool {
    str::from_utf8(bytes)
        .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(input: impl AsRef<[u8]>, expect: &str) {
        let input = input.as_ref();
        assert_eq!(plain(input), expect);
        let bytewise = pushed(input.chunks(1));
        assert_eq!(bytewise, expect.as_bytes(), "byte by byte");
    }

    fn pushed<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
        pushed_but_for(chunks, |_, _| 0)
    }

    /// The same with chunks of which `skip` tells how many bytes at the start are not pushed.
    fn pushed_but_for<'a>(
        chunks: impl Iterator<Item = &'a [u8]>,
        skip: impl Fn(&mut Plain, &[u8]) -> usize,
    ) -> Vec<u8> {
        let mut reader = Plain::default();
        let mut whole = Vec::new();
        for chunk in chunks {
            let (skipped, chunk) = chunk.split_at(skip(&mut reader, chunk));
            let mut out = skipped.to_vec();
            reader.push(chunk, &mut out);
            assert!(
                str::from_utf8(&out).is_ok(),
                "a piece is not UTF-8 by itself"
            );
            assert!(
                reader.line.len() <= LONGEST_LINE,
                "held more than a line may be long"
            );
            whole.append(&mut out);
        }
        reader.finish(&mut whole);
        whole
    }

    #[test]
    fn text_is_kept_as_it_is() {
        check("", "");
        check("a\n\n\tb  \nlast", "a\n\n\tb  \nlast");
        check("grün 日本 🦀\n", "grün 日本 🦀\n");
    }

    #[test]
    fn escape_sequences_are_left_out() {
        check("\x1b[1;31merror\x1b[0m: no", "error: no");
        check("\x1b[38:2::1:2:3mx\x1b[?25l\x1b[ q", "x");
        check(
            "\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\",
            "alink",
        );
        check(
            "a\x1bP1$r0m\x07 q\x1b\\b\x1b_Gf=1;AAA\x1b\\c\x1bXs\x1b\\d\x1b^p\x1b\\e",
            "abcde",
        );
        check("\x1b(Ba\x1b7b\x1b=c\x1b#8d", "abcd");
    }

    #[test]
    fn control_characters_are_left_out() {
        check("a\0b\x07c\x0bd\x0ce\x7ff\u{85}g\u{9b}h", "abcdefgh");
        check("a\u{202e}b\u{200b}c\u{e0041}d\u{2028}e\u{200d}f", "abcdef");
        check(
            "👩\u{200d}👧 م\u{200c}خ ⚠\u{fe0f}\u{fe0f}",
            "👩\u{200d}👧 م\u{200c}خ ⚠\u{fe0f}",
        );
        // A tab within a sequence, and then a mark that belonged to the character before the tab.
        check("⚠\x1b[\tm\u{fe0f}", "⚠\t");
    }

    #[test]
    fn a_sequence_that_is_broken_off_does_not_eat_the_text_after_it() {
        check("a\x1b]0;never closed\nb", "a\nb");
        check("a\x1b[31\nb", "a\nb");
        check("a\x1b[31\x18b\x1b]x\x1ac", "abc");
        check("a\x1b[3\x1b[1mb", "ab");
        check("a\x1b[3é", "aé");
        check("a\x1b", "a");
    }

    #[test]
    fn invalid_utf8_becomes_the_replacement_character() {
        check(b"a\xffb", "a\u{fffd}b");
        check(
            b"\x80\xe2\x82A\xe2\x82\xe2\x82\xac",
            "\u{fffd}\u{fffd}A\u{fffd}€",
        );
        check(b"\xf0\x9f\xa6", "\u{fffd}");
        check(b"\xe2\x82\x1b[1m\xac", "\u{fffd}\u{fffd}");
    }

    #[test]
    fn crlf_is_a_newline() {
        check("a\r\nb\r\n", "a\nb\n");
        check("a\r\r\n\r\nb\r", "a\n\nb");
    }

    #[test]
    fn after_a_carriage_return_the_line_is_replaced() {
        check(" 1%\r 50%\r100%\ndone\n", "100%\ndone\n");
        check("loading\r\x1b[Kdone", "done");
        check("loading\r\x1b[2K", "");
        check("one\ntwo\r\x1b[32mthree\x1b[0m\r\nfour", "one\nthree\nfour");
    }

    #[test]
    fn a_backspace_takes_one_character() {
        check("|\x08/\x08-\x08done", "done");
        check("é🦀\x08\x08x", "x");
        check("\x08\x08a\n\x08b", "a\nb");
    }

    #[test]
    fn a_line_longer_than_the_limit_is_given_out_as_it_comes() {
        let mut reader = Plain::default();
        let mut out = Vec::new();
        reader.push(&[b'x'; LONGEST_LINE], &mut out);
        assert_eq!(out.len(), 0);
        reader.push(b"x", &mut out);
        assert_eq!(out.len(), LONGEST_LINE + 1);
        reader.push(b"y", &mut out);
        assert_eq!(out.len(), LONGEST_LINE + 2);
        reader.push(b"\rz\r\nnext\rlast", &mut out);
        reader.finish(&mut out);
        assert!(
            out.ends_with(b"xy\nz\nlast"),
            "a line that is out is not replaced"
        );
    }

    #[test]
    fn an_endless_string_is_not_held() {
        let mut reader = Plain::default();
        let mut out = Vec::new();
        reader.push(b"\x1b]", &mut out);
        for _ in 0..100 {
            reader.push(&[b'x'; 10_000], &mut out);
        }
        assert_eq!(
            (
                out.capacity(),
                reader.line.capacity(),
                reader.partial.capacity()
            ),
            (0, 0, 0)
        );
    }

    /// Pieces of terminal output, so that random input meets the rules and not just noise.
    fn piece() -> impl Strategy<Value = Vec<u8>> {
        const KNOWN: &[&str] = &[
            "\r",
            "\n",
            "\r\n",
            "\x08",
            "\x1b",
            "\x1b[",
            "\x1b[31m",
            "\x1b[K",
            "\x1b]",
            "\x1b]0;t\x07",
            "\x1bP",
            "\x1b\\",
            "é",
            "🦀",
            "\u{9b}",
            "\x7f",
            "\u{200d}",
            "\u{fe0f}",
            "\u{202e}",
        ];
        prop_oneof![
            4 => proptest::sample::select(KNOWN).prop_map(|text| text.as_bytes().to_vec()),
            1 => proptest::sample::select(vec![&b"\xe2"[..], b"\x82\xac", b"\xf0\x9f"]).prop_map(<[u8]>::to_vec),
            2 => "[a-z\t ]{1,40}".prop_map(String::into_bytes),
            1 => proptest::collection::vec(any::<u8>(), 1..6),
            1 => (LONGEST_LINE - 3..LONGEST_LINE + 3).prop_map(|len| vec![b'x'; len]),
        ]
    }

    proptest! {
        #[test]
        fn where_chunks_are_cut_does_not_matter(
            pieces in proptest::collection::vec(piece(), 0..30),
            cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..20),
        ) {
            let whole = pieces.concat();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(whole.len() + 1)).collect();
            cuts.extend([0, whole.len()]);
            cuts.sort_unstable();
            let chunks = cuts.windows(2).map(|pair| &whole[pair[0]..pair[1]]);
            prop_assert_eq!(pushed(chunks.clone()), plain(&whole).into_bytes());
            prop_assert_eq!(pushed_but_for(chunks, Plain::whole_lines), plain(&whole).into_bytes());
        }

        #[test]
        fn only_text_is_left(bytes in proptest::collection::vec(piece(), 0..30)) {
            let text = plain(&bytes.concat());
            prop_assert!(text.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control()));
            prop_assert_eq!(plain(text.as_bytes()), text);
        }

        #[test]
        fn whole_sequences_end_where_vte_ends_them(pieces in proptest::collection::vec(well_formed(), 0..30)) {
            let input = pieces.concat();
            let mut seen = Seen::default();
            vte::Parser::new().advance(&mut seen, input.as_bytes());
            prop_assert_eq!(plain(input.as_bytes()), seen.0);
        }
    }

    fn well_formed() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-zé日🦀\n\t ]{1,10}",
            "\x1b\\[[0-9;:?<=>]{0,8}[ -/]{0,2}[@-~]",
            "\x1b[ -/]{1,2}[0-~]",
            "\x1b[0-9A-OQ-WYZa-z=>]",
            "\x1b\\][ -~]{0,20}(\x07|\x1b\\\\)",
            "\x1b[PX^_][ -~]{0,20}\x1b\\\\",
        ]
    }

    /// What `vte` finds to print.
    #[derive(Default)]
    struct Seen(String);

    impl vte::Perform for Seen {
        fn print(&mut self, c: char) {
            self.0.push(c);
        }

        fn execute(&mut self, byte: u8) {
            if matches!(byte, b'\n' | b'\t') {
                self.0.push(byte.into());
            }
        }
    }
}
