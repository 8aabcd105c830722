//! One word of a shell script: its quotes, and the substitutions in it. It never says what a word is for.

use super::{Place, ShellReader, Via};

/// A word as it is being read.
#[derive(Default)]
pub(super) struct WordText {
    pub(super) bytes: Vec<u8>,
    /// Something in it is expanded.
    pub(super) expands: bool,
    /// Something in it is quoted.
    pub(super) quoted: bool,
}

impl WordText {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

impl ShellReader<'_, '_> {
    /// One word. Its substitutions are inside `node`, as `via` says.
    pub(super) fn word(&mut self, place: Place) -> WordText {
        let mut text = WordText::default();
        while let Some(c) = self.peek() {
            let at = self.at;
            match c {
                b'\\' if self.starts("\\\n") => self.at += 2,
                b'\\' => {
                    text.quoted = true;
                    text.bytes.extend(self.source.get(at + 1));
                    self.at = (at + 2).min(self.source.len());
                }
                b'\'' => self.single(&mut text),
                b'"' => self.double(&mut text, place),
                b'$' => self.dollar(&mut text, b"'\"", place),
                b'`' => self.backticks(&mut text, place),
                b'<' | b'>' if self.source.get(at + 1) == Some(&b'(') => {
                    self.at += 1;
                    self.substitution(&mut text, place);
                }
                b'(' if text.bytes.last() == Some(&b'=') => self.array(place.0),
                // Patterns of bash such as `!(a|b)`.
                b'(' if text.bytes.last().is_some_and(|c| b"?*+@!".contains(c)) => {
                    self.extended_glob(&mut text);
                }
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => {
                    break;
                }
                _ => {
                    text.bytes.push(c);
                    self.at += 1;
                }
            }
        }
        text
    }

    fn single(&mut self, text: &mut WordText) {
        let start = self.at;
        let rest = &self.source[start + 1..];
        text.quoted = true;
        match memchr::memchr(b'\'', rest) {
            Some(end) => {
                text.bytes.extend(&rest[..end]);
                self.at += end + 2;
            }
            None => self.lose(start),
        }
    }

    /// Text in which `\`, `$`, back-ticks and these quotes are special, up to and with `end`; without one to the end of all.
    fn quoted(&mut self, text: &mut WordText, end: Option<u8>, quotes: &[u8], place: Place) {
        let start = self.at;
        loop {
            match self.peek() {
                None if end.is_some() => return self.lose(start),
                None => return,
                c if c == end => {
                    self.at += 1;
                    return;
                }
                Some(b'\\') => {
                    let next = self.source.get(self.at + 1).copied();
                    self.at = (self.at + 2).min(self.source.len());
                    match next {
                        Some(b'\n') => {}
                        Some(c @ (b'$' | b'`' | b'"' | b'\\')) => text.bytes.push(c),
                        next => text.bytes.extend([b'\\'].into_iter().chain(next)),
                    }
                }
                Some(b'$') => self.dollar(text, quotes, place),
                Some(b'`') => self.backticks(text, place),
                Some(b'\'') if quotes.contains(&b'\'') => self.single(text),
                Some(b'"') if quotes.contains(&b'"') => self.double(text, place),
                Some(c) => {
                    text.bytes.push(c);
                    self.at += 1;
                }
            }
        }
    }

    fn double(&mut self, text: &mut WordText, place: Place) {
        text.quoted = true;
        self.at += 1;
        self.quoted(text, Some(b'"'), b"", place);
    }

    /// The substitutions in another text.
    pub(super) fn expansions(&mut self, text: &[u8], place: Place) {
        self.inner(text, |inner| {
            inner.quoted(&mut WordText::default(), None, b"", place);
        });
    }

    /// A `$` and what it expands, where these quotes are special.
    fn dollar(&mut self, text: &mut WordText, quotes: &[u8], place: Place) {
        let start = self.at;
        let in_quotes = !quotes.contains(&b'\'');
        match self.source.get(start + 1) {
            Some(b'(') => {
                self.at += 1;
                match self.arithmetic_end(start + 1) {
                    Some(end) => {
                        self.arithmetic(end, place.0);
                        text.expands = true;
                        text.bytes.extend("$((…))".as_bytes());
                    }
                    None => self.substitution(text, place),
                }
            }
            Some(b'{') => self.parameter(text, quotes, place.0),
            Some(b'\'') if !in_quotes => self.escaped(text),
            Some(b'"') if !in_quotes => self.at += 1,
            Some(c) if c.is_ascii_alphanumeric() || b"_@*#?$!-".contains(c) => {
                let rest = &self.source[start + 2..];
                let is_name = |c: &&u8| c.is_ascii_alphanumeric() || **c == b'_';
                self.at += 2;
                if c.is_ascii_alphabetic() || *c == b'_' {
                    self.at += rest.iter().take_while(is_name).count();
                }
                text.expands = true;
                text.bytes.extend(&self.source[start..self.at]);
            }
            _ => {
                self.at += 1;
                text.bytes.push(b'$');
            }
        }
    }

    /// `( … )` of a substitution.
    fn substitution(&mut self, text: &mut WordText, place: Place) {
        let start = self.at;
        self.eat("(");
        text.expands = true;
        // What is inside stands as commands of its own: a program given as text must not read it again.
        text.bytes.extend("$(…)".as_bytes());
        self.group(start, place, ")");
    }

    fn backticks(&mut self, text: &mut WordText, place: Place) {
        let start = self.at;
        let mut script = Vec::new();
        self.at += 1;
        loop {
            match self.peek() {
                None => return self.lose(start),
                Some(b'`') => break,
                Some(b'\\') => {
                    let next = self.source.get(self.at + 1).copied();
                    if !matches!(next, Some(b'`' | b'\\' | b'$')) {
                        script.push(b'\\');
                    }
                    script.extend(next);
                    self.at = (self.at + 2).min(self.source.len());
                }
                Some(c) => {
                    script.push(c);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        text.expands = true;
        text.bytes.extend("$(…)".as_bytes());
        self.script(&script, Some(place));
    }

    /// `${…}`.
    fn parameter(&mut self, text: &mut WordText, quotes: &[u8], node: usize) {
        let start = self.at;
        let mut skipped = WordText::default();
        self.at += 2;
        let quotes = if quotes.is_empty() { b"\"" } else { quotes };
        self.deeper(|inner| inner.quoted(&mut skipped, Some(b'}'), quotes, (node, Via::Nowhere)));
        text.expands = true;
        if skipped.expands {
            text.bytes.extend("${…}".as_bytes());
        } else {
            text.bytes.extend(&self.source[start..self.at]);
        }
    }

    /// `$'…'`.
    fn escaped(&mut self, text: &mut WordText) {
        let start = self.at;
        text.quoted = true;
        self.at += 2;
        loop {
            let Some(c) = self.peek() else {
                return self.lose(start);
            };
            self.at += 1;
            match c {
                b'\'' => return,
                b'\\' => {
                    let rest = &self.source[self.at..];
                    let (byte, used) = escape(rest);
                    text.bytes.extend(byte);
                    self.at += used;
                }
                c => text.bytes.push(c),
            }
        }
    }

    fn array(&mut self, node: usize) {
        self.at += 1;
        self.deeper(|inner| inner.words_to(node, b")"));
        self.eat(")");
    }

    fn extended_glob(&mut self, text: &mut WordText) {
        let start = self.at;
        match self.closing(start) {
            Some(end) => {
                text.bytes.extend(&self.source[start..end]);
                self.at = end;
            }
            None => self.lose(start),
        }
    }

    /// Returns the place behind the `)` that closes the `(` at `from`.
    fn closing(&self, from: usize) -> Option<usize> {
        let mut open = 0_usize;
        let mut at = from;
        loop {
            let c = *self.source.get(at)?;
            at += 1;
            match c {
                b'(' => open += 1,
                b')' if open == 1 => return Some(at),
                b')' => open -= 1,
                b'\\' => at += 1,
                b'\'' | b'"' => at += memchr::memchr(c, self.source.get(at..)?)? + 1,
                _ => {}
            }
        }
    }

    /// Returns the end of the `((` here, behind its `))`; `None` where it is two parentheses of commands. Unfinished, all
    /// is lost.
    pub(super) fn arithmetic_end(&mut self, from: usize) -> Option<usize> {
        if !self.source[from..].starts_with(b"((") {
            return None;
        }
        let Some(end) = self.closing(from + 1) else {
            self.lose(from);
            return None;
        };
        (self.source.get(end) == Some(&b')')).then_some(end + 1)
    }

    pub(super) fn arithmetic(&mut self, end: usize, node: usize) {
        self.expansions(&self.source[self.at..end], (node, Via::Nowhere));
        self.at = self.at.max(end);
    }
}

/// The byte that stands for what follows a `\` in `$'…'`, and how much of it that is.
fn escape(rest: &[u8]) -> (Option<u8>, usize) {
    let digits = |from: usize, most: usize, radix: u32| {
        let digits = rest.iter().skip(from).take(most);
        let digits = digits.take_while(|c| char::from(**c).is_digit(radix));
        (from..from + digits.count(), radix)
    };
    let (digits, radix) = match rest.first() {
        Some(b'n') => return (Some(b'\n'), 1),
        Some(b't') => return (Some(b'\t'), 1),
        Some(b'x') => digits(1, 2, 16),
        Some(b'0'..=b'7') => digits(0, 3, 8),
        other => return (other.copied(), usize::from(other.is_some())),
    };
    let number = str::from_utf8(&rest[digits.clone()]).unwrap_or_default();
    (u8::from_str_radix(number, radix).ok(), digits.end)
}
