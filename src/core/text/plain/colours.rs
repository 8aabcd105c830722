//! The colours of plain text (SGR sequences), kept beside it: where each belongs. Holds no more of a line than could be seen.

use std::mem;

/// The longest sequence that sets colours, without its start and its end.
const LONGEST: usize = 40;
/// A colour is a few numbers of so many digits; longer ones may be anything.
const DIGITS: usize = 3;
/// The most sequences that a line may have.
const MOST: usize = 256;

/// The sequences that set colours in a text, and those to give out with it.
#[derive(Debug, Default)]
pub(super) struct Colours {
    /// Somebody asks for them.
    is_kept: bool,
    /// The parameters of the sequence that is being read.
    read: Vec<u8>,
    /// Those of the line so far, with their places in it.
    line: Vec<(usize, Vec<u8>)>,
    /// Those of what is given out.
    given: Vec<(usize, Vec<u8>)>,
    /// The last one that was given out does not end all colours.
    is_on: bool,
}

impl Colours {
    /// Returns colours that somebody asks for.
    pub(super) fn kept() -> Self {
        Self {
            is_kept: true,
            ..Self::default()
        }
    }

    /// True if none waits for text to be given out.
    pub(super) fn are_given(&self) -> bool {
        self.line.is_empty() && self.given.is_empty()
    }

    /// Begins a sequence.
    pub(super) fn begin(&mut self) {
        self.read.clear();
    }

    /// It goes on.
    pub(super) fn add(&mut self, byte: u8) {
        if self.read.len() <= LONGEST {
            self.read.push(byte);
        }
    }

    /// It ends, and sets colours at a place in the line.
    pub(super) fn set(&mut self, at: usize) {
        if self.is_colour() && self.line.len() < MOST {
            self.line.push((at, mem::take(&mut self.read)));
        }
    }

    /// It ends, and sets colours at a place in the text that is given out.
    pub(super) fn set_at(&mut self, at: usize) {
        if self.is_colour() && self.given.len() < MOST {
            self.given.push((at, mem::take(&mut self.read)));
        }
    }

    fn is_colour(&self) -> bool {
        let mut numbers = self.read.split(|byte| b";:".contains(byte));
        self.is_kept
            && self.read.len() <= LONGEST
            && numbers.all(|number| number.len() <= DIGITS && number.iter().all(u8::is_ascii_digit))
    }

    /// The line is no longer than this any more. What holds from its start on stays.
    pub(super) fn shorten(&mut self, to: usize) {
        for (at, _) in &mut self.line {
            *at = (*at).min(to);
        }
        if to == 0
            && let Some(last) = self.line.iter().rposition(|(_, set)| is_end(set))
        {
            self.line.drain(..last);
        }
    }

    /// The line is given out, from this place on.
    pub(super) fn give(&mut self, from: usize) {
        let line = self.line.drain(..);
        self.given.extend(line.map(|(at, set)| (from + at, set)));
    }

    /// The text is at its end: no colour outlives it.
    pub(super) fn end(&mut self, at: usize) {
        let is_on = self
            .given
            .last()
            .map_or(self.is_on, |(_, set)| !is_end(set));
        if is_on {
            self.given.push((at, Vec::new()));
        }
    }

    /// The text that was given out, with its colours.
    pub(super) fn put_into(&mut self, text: &[u8]) -> Option<Vec<u8>> {
        let (_, last) = self.given.last()?;
        self.is_on = !is_end(last);
        let mut coloured = Vec::with_capacity(text.len() + 8 * self.given.len());
        let mut from = 0;
        for (at, set) in self.given.drain(..) {
            coloured.extend_from_slice(&text[from..at]);
            coloured.extend_from_slice(b"\x1b[");
            coloured.extend_from_slice(&set);
            coloured.push(b'm');
            from = at;
        }
        coloured.extend_from_slice(&text[from..]);
        Some(coloured)
    }
}

/// Tells if it ends all colours.
fn is_end(set: &[u8]) -> bool {
    set.iter().all(|byte| b"0;".contains(byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::text::plain::{Plain, plain};

    /// A text with its colours, read in such chunks.
    fn coloured(text: &str, chunk: usize) -> String {
        let mut reader = Plain::with_colours();
        let mut whole = Vec::new();
        let mut take = |reader: &mut Plain, out: Vec<u8>| {
            whole.extend(reader.coloured(&out).unwrap_or(out));
        };
        for chunk in text.as_bytes().chunks(chunk) {
            let mut out = Vec::new();
            reader.push(chunk, &mut out);
            take(&mut reader, out);
        }
        let mut out = Vec::new();
        reader.finish(&mut out);
        take(&mut reader, out);
        String::from_utf8(whole).unwrap()
    }

    #[test]
    fn colours_stay_and_nothing_else() {
        for (text, expected) in [
            ("a\u{1b}[1;31mred\u{1b}[0m\n", "a\u{1b}[1;31mred\u{1b}[0m\n"),
            (
                "\u{1b}[2J\u{1b}]0;t\u{7}\u{1b}[38:2:1:2:3mé\n",
                "\u{1b}[38:2:1:2:3mé\n\u{1b}[m",
            ),
            (
                "\u{1b}[31m 10%\r\u{1b}[0m\u{1b}[32m 99%\u{1b}[m\n",
                "\u{1b}[0m\u{1b}[32m 99%\u{1b}[m\n",
            ),
            ("ab\u{1b}[1m\u{8}\u{8}c\u{1b}[m", "\u{1b}[1mc\u{1b}[m"),
            // What is no colour may be a secret.
            ("\u{1b}[12345678mx\u{1b}[?1my\n", "xy\n"),
        ] {
            for chunk in [1, 2, 3, 100] {
                assert_eq!(coloured(text, chunk), expected, "{text:?} by {chunk}");
            }
        }
        let long = format!("\u{1b}[1m{}\u{1b}[0mend\n", "x".repeat(200_000));
        for chunk in [1000, 64 * 1024, 1_000_000] {
            assert!(coloured(&long, chunk) == long, "by {chunk}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn without_its_colours_it_is_plain(
            pieces in proptest::collection::vec(
                prop_oneof![
                    "[a-zé \r\n\u{8}]{0,9}",
                    "\u{1b}\\[[0-9;]{0,6}[mK]",
                    Just("\u{1b}]8;;x\u{7}".to_owned()),
                ],
                0..20,
            ),
            chunk in 1_usize..50,
        ) {
            let text = pieces.concat();
            let shown = coloured(&text, chunk);
            prop_assert_eq!(plain(shown.as_bytes()), plain(text.as_bytes()));
            let rest: String = shown.split("\u{1b}[").enumerate().map(|(at, piece)| match at {
                0 => piece,
                _ => piece.split_once('m').map_or("?", |(_, rest)| rest),
            }).collect();
            prop_assert!(!rest.contains(['?', '\u{1b}', '\r', '\u{8}']), "{:?}", shown);
        }
    }
}
