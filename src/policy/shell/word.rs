//! One word of a shell script: its quotes, and the substitutions in it. It never says what a word is for.

use super::{DEPTH, ShellReader, Via};

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
    pub(super) fn word(&mut self, node: usize, via: Via) -> WordText {
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
                b'"' => {
                    text.quoted = true;
                    self.at += 1;
                    self.quoted(&mut text, Some(b'"'), node, via);
                }
                b'$' => self.dollar(&mut text, false, node, via),
                b'`' => self.backticks(&mut text, node, via),
                b'<' | b'>' if self.source.get(at + 1) == Some(&b'(') => {
                    self.at += 1;
                    self.substitution(&mut text, node, via);
                }
                b'(' if text.bytes.last() == Some(&b'=') => self.array(node),
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

    /// WordText in which only `\`, `$` and back-ticks are special, up to and with `end`.
    pub(super) fn quoted(&mut self, text: &mut WordText, end: Option<u8>, node: usize, via: Via) {
        let start = self.at;
        loop {
            match self.peek() {
                None => {
                    if end.is_some() {
                        self.lose(start);
                    }
                    return;
                }
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
                Some(b'$') => self.dollar(text, true, node, via),
                Some(b'`') => self.backticks(text, node, via),
                Some(c) => {
                    text.bytes.push(c);
                    self.at += 1;
                }
            }
        }
    }

    fn dollar(&mut self, text: &mut WordText, in_quotes: bool, node: usize, via: Via) {
        let start = self.at;
        match self.source.get(start + 1) {
            Some(b'(') => {
                self.at += 1;
                match self.arithmetic_end(start + 1) {
                    Some(end) => {
                        self.arithmetic(end, node);
                        text.expands = true;
                        text.bytes.extend("$((…))".as_bytes());
                    }
                    None => self.substitution(text, node, via),
                }
            }
            Some(b'{') => self.parameter(text, in_quotes, node),
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

    /// Goes one substitution deeper, or gives up.
    fn deeper(&mut self, from: usize, read: impl FnOnce(&mut Self)) {
        if self.depth == DEPTH {
            return self.lose(from);
        }
        self.depth += 1;
        read(self);
        self.depth -= 1;
    }

    /// `( … )` of a substitution.
    fn substitution(&mut self, text: &mut WordText, node: usize, via: Via) {
        let start = self.at;
        if self.peek() != Some(b'(') {
            // The end of arithmetic was looked for and there is none.
            return self.lose(start.min(self.source.len()));
        }
        self.at += 1;
        text.expands = true;
        // What is inside stands as commands of its own: a program given as text must not read it again.
        text.bytes.extend("$(…)".as_bytes());
        self.deeper(start, |inner| inner.list(Some((node, via)), true));
    }

    fn backticks(&mut self, text: &mut WordText, node: usize, via: Via) {
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
        self.deeper(start, |outer| {
            let mut inner = ShellReader::new(&script, outer.out, outer.depth, outer.level);
            inner.list(Some((node, via)), false);
            inner.finish();
        });
    }

    /// `${…}`.
    fn parameter(&mut self, text: &mut WordText, in_quotes: bool, node: usize) {
        let start = self.at;
        let mut skipped = WordText::default();
        self.at += 2;
        self.deeper(start, |inner| {
            loop {
                match inner.peek() {
                    None => return inner.lose(start),
                    Some(b'}') => break,
                    Some(b'\\') => inner.at = (inner.at + 2).min(inner.source.len()),
                    Some(b'\'') if !in_quotes => inner.single(&mut skipped),
                    Some(b'"') => {
                        inner.at += 1;
                        inner.quoted(&mut skipped, Some(b'"'), node, Via::Nowhere);
                    }
                    Some(b'$') => inner.dollar(&mut skipped, in_quotes, node, Via::Nowhere),
                    Some(b'`') => inner.backticks(&mut skipped, node, Via::Nowhere),
                    Some(_) => inner.at += 1,
                }
            }
            inner.at += 1;
        });
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
        let start = self.at;
        self.at += 1;
        self.deeper(start, |inner| {
            loop {
                inner.words_to(node, |c| b"\n)".contains(&c));
                match inner.peek() {
                    Some(b'\n') => inner.newline(),
                    Some(_) => break inner.at += 1,
                    None => break inner.lose(start),
                }
            }
        });
    }

    fn extended_glob(&mut self, text: &mut WordText) {
        let start = self.at;
        let mut open = 0;
        while let Some(c) = self.peek() {
            self.at += 1;
            match c {
                b'(' => open += 1,
                b')' => open -= 1,
                _ => {}
            }
            if open == 0 {
                text.bytes.extend(&self.source[start..self.at]);
                return;
            }
        }
        self.lose(start);
    }

    /// Returns the end of the `((` here, behind its `))`; `None` where it is two parentheses of commands. Unfinished, all
    /// is lost.
    pub(super) fn arithmetic_end(&mut self, from: usize) -> Option<usize> {
        if !self.source[from.min(self.source.len())..].starts_with(b"((") {
            return None;
        }
        let mut open = 0_usize;
        let mut at = from;
        while let Some(c) = self.source.get(at) {
            at += 1;
            match c {
                b'(' => open += 1,
                b')' if open == 2 => {
                    return (self.source.get(at) == Some(&b')')).then_some(at + 1);
                }
                b')' => open -= 1,
                b'\\' => at += 1,
                b'\'' | b'"' => {
                    let rest = self.source.get(at..).unwrap_or_default();
                    at += memchr::memchr(*c, rest).unwrap_or(rest.len()) + 1;
                }
                _ => {}
            }
        }
        self.lose(from);
        None
    }

    pub(super) fn arithmetic(&mut self, end: usize, node: usize) {
        let start = self.at;
        let mut skipped = WordText::default();
        self.deeper(start, |inner| {
            while inner.at < end {
                match inner.peek() {
                    None => return,
                    Some(b'$') => inner.dollar(&mut skipped, true, node, Via::Nowhere),
                    Some(b'`') => inner.backticks(&mut skipped, node, Via::Nowhere),
                    Some(_) => inner.at += 1,
                }
            }
        });
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
