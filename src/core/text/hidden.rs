//! Characters that are not seen where they stand: control characters, those without a width, those that change the direction of
//! the text around them. Decides which are left as they are, since scripts and emoji need a few, and how the others are written.

use std::borrow::Cow;
use std::fmt::Write as _;

const NON_JOINER: char = '\u{200c}';
const JOINER: char = '\u{200d}';

/// Tells which characters of a text may stay, one after the other. A joiner behind a letter of a script that has them, or behind an
/// emoji, is how people write; so is one variation selector behind what has variants.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sieve {
    /// The last character that stayed.
    before: char,
}

impl Sieve {
    /// Tells if the next character may stay.
    pub fn keeps(&mut self, c: char) -> bool {
        let keeps = match c {
            ' '..='~' | '\n' | '\t' => true,
            NON_JOINER | JOINER => joins(self.before),
            _ if is_selector(c) => varies(self.before),
            _ => !is_hidden(c),
        };
        if keeps {
            self.before = c;
        }
        keeps
    }

    /// Goes on behind a text of which all stays, and which ends so.
    pub fn pass(&mut self, last: u8) {
        self.before = last.into();
    }
}

/// A letter or a mark of a script that is written with joiners, or a sign that may be part of an emoji.
fn joins(before: char) -> bool {
    matches!(before,
        '\u{600}'..='\u{109f}' | '\u{1780}'..='\u{18af}' | '\u{1900}'..='\u{1cff}' | '\u{a800}'..='\u{abff}'
        | '\u{fb50}'..='\u{fdff}' | '\u{fe0f}' | '\u{fe70}'..='\u{fefe}' | '\u{10a00}'..='\u{11fff}'
        | '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// A character that may have a variant: `1` has one, too, with a frame around it.
fn varies(before: char) -> bool {
    match before {
        '0'..='9' | '#' | '*' => true,
        NON_JOINER | JOINER => false,
        _ => before > '\u{a0}' && !before.is_whitespace() && !is_selector(before),
    }
}

/// Tells if a character is not seen, or changes how others are: all but newline and tab that no printer has a sign for.
fn is_hidden(c: char) -> bool {
    c.is_control() && !"\n\t".contains(c)
        || is_selector(c)
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// A text in which each hidden character is seen, as `\x1b` or `\u{202e}`. A carriage return before a newline is part of that.
pub fn written_out(text: &str) -> Cow<'_, str> {
    let mut characters = text.chars().peekable();
    let mut sieve = Sieve::default();
    replaced(text, |c, out| {
        characters.next();
        match c {
            '\r' if matches!(characters.peek(), Some('\n') | None) => {}
            _ if sieve.keeps(c) => return false,
            _ => write_out(c, out),
        }
        true
    })
}

/// A text in which each hidden character is seen, but for colours (SGR), which a program like git sets itself.
pub fn in_colour(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut pieces = text.split("\x1b[");
    out += &written_out(pieces.next().unwrap_or_default());
    for piece in pieces {
        let behind = piece.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        match behind.strip_prefix('m') {
            Some(rest) => {
                let set = &piece[..piece.len() - rest.len()];
                out += "\x1b[";
                out += set;
                out += &written_out(rest);
            }
            None => out += &written_out(&format!("\x1b[{piece}")),
        }
    }
    out
}

/// Writes one hidden character so that it is seen.
pub fn write_out(c: char, to: &mut String) {
    let _ = match c {
        '\r' => write!(to, "\\r"),
        '\0'..='\x7f' => write!(to, "\\x{:02x}", u32::from(c)),
        _ => write!(to, "\\u{{{:x}}}", u32::from(c)),
    };
}

/// A text without its hidden characters.
pub fn left_out(text: &str) -> Cow<'_, str> {
    let mut sieve = Sieve::default();
    replaced(text, |c, _| !sieve.keeps(c))
}

/// A text in JSON, with the hidden characters in its strings as JSON writes them: it says the same.
pub fn in_json(json: &str) -> Cow<'_, str> {
    let mut sieve = Sieve::default();
    replaced(json, |c, out| {
        let keeps = sieve.keeps(c);
        if !keeps {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
        !keeps
    })
}

/// True if a text is of ASCII and nothing in it is hidden.
pub fn is_plain(text: &[u8]) -> bool {
    plain_length(text) == text.len()
}

/// The number of bytes that a text begins with that are printable ASCII, tab or newline.
pub fn plain_length(text: &[u8]) -> usize {
    // Whole blocks without an early exit, which the compiler turns into vector instructions.
    let blocks = text.chunks_exact(32).take_while(|block| {
        block
            .iter()
            .fold(true, |all, byte| all & is_plain_byte(byte))
    });
    let start = blocks.count() * 32;
    let rest = text[start..].iter();
    start + rest.take_while(|byte| is_plain_byte(byte)).count()
}

fn is_plain_byte(byte: &u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\t')
}

/// A text with other characters in the place of some: `put` tells if it has put some there.
fn replaced(text: &str, mut put: impl FnMut(char, &mut String) -> bool) -> Cow<'_, str> {
    if is_plain(text.as_bytes()) {
        return text.into();
    }
    let mut out = String::new();
    let mut copied = 0;
    let mut there = String::new();
    for (at, c) in text.char_indices() {
        if put(c, &mut there) {
            out.push_str(&text[copied..at]);
            out.push_str(&there);
            there.clear();
            copied = at + c.len_utf8();
        }
    }
    if copied == 0 {
        return text.into();
    }
    out.push_str(&text[copied..]);
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_any_script_stays() {
        for text in [
            "",
            "plain\ttext\n",
            "grün 日本 \u{a0}🦀",
            "שלום مرحبا",
            "می\u{200c}خواهم ه\u{200d}",
            "क्\u{200d}ष क्\u{200c}ष",
            "👩\u{200d}👩\u{200d}👧 ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3} 👍🏽 🏳\u{fe0f}\u{200d}🌈",
            "葛\u{e0100} ⚠\u{fe0f}",
        ] {
            assert!(matches!(written_out(text), Cow::Borrowed(_)), "{text}");
            assert_eq!(left_out(text), text);
            assert_eq!(in_json(text), text);
        }
    }

    #[test]
    fn what_is_hidden_is_seen() {
        for (text, seen, rest) in [
            ("a\x1b[31mb\x07", "a\\x1b[31mb\\x07", "a[31mb"),
            ("one\r\ntwo\rthree\r", "one\ntwo\\rthree", "one\ntwothree"),
            (
                "a\u{202e}b\u{2066}c\u{200f}",
                "a\\u{202e}b\\u{2066}c\\u{200f}",
                "abc",
            ),
            (
                "a\u{200d}b \u{200c}c\u{200b}",
                "a\\u{200d}b \\u{200c}c\\u{200b}",
                "ab c",
            ),
            (
                "x\u{e0041}\u{ad}\u{85}\u{2028}",
                "x\\u{e0041}\\u{ad}\\u{85}\\u{2028}",
                "x",
            ),
            (
                "a\u{fe00}👍\u{fe0f}\u{fe0e}",
                "a\\u{fe00}👍\u{fe0f}\\u{fe0e}",
                "a👍\u{fe0f}",
            ),
            ("م\u{200c}\u{200c}", "م\u{200c}\\u{200c}", "م\u{200c}"),
        ] {
            assert_eq!(written_out(text), seen);
            assert_eq!(left_out(text), rest);
        }
        assert_eq!(
            in_colour("\x1b[1;31m-a\x1b[mb\r\n\x1b[2J\x1b]0;t\x07 c\rd"),
            "\x1b[1;31m-a\x1b[mb\n\\x1b[2J\\x1b]0;t\\x07 c\\rd"
        );
        assert_eq!(
            in_json("\"\u{7f}\u{202e}\u{e0041}\"\n"),
            "\"\\u007f\\u202e\\udb40\\udc41\"\n"
        );
    }
}
