//! Reads one block, line by line: where it begins and ends, what it says, and every error in it.

use std::borrow::Cow;
use std::collections::HashMap;

use memchr::{memchr, memmem, memrchr};

use super::assignment::{self, Assigned};
use super::errors::{Code, Flaw, SyntaxError};
use super::lines::{Line, line_start, units};
use crate::reply::dialect::Dialect;

/// What marks the blocks of a dialect.
#[derive(Debug)]
pub(super) struct Marks {
    pub(super) dialect: Dialect,
    /// In messages.
    pub(super) name: &'static str,
    header: &'static str,
    end: &'static str,
    heredoc: &'static str,
}

/// Both dialects.
const MARKS: [Marks; 2] = [
    Marks {
        dialect: Dialect::Sham,
        name: "SHAM",
        header: "#!SHAM",
        end: "#!END_SHAM_",
        heredoc: "EOT_SHAM_",
    },
    Marks {
        dialect: Dialect::Nesl,
        name: "NESL",
        header: "#!nesl",
        end: "#!end_",
        heredoc: "EOT_",
    },
];

impl Marks {
    /// Those of the block whose header begins a text.
    pub(super) fn of(text: &str) -> Option<&'static Self> {
        MARKS.iter().find(|marks| text.starts_with(marks.header))
    }

    /// The header of a block.
    pub(super) fn header(&self, id: &str) -> String {
        format!("{} [@three-char-SHA-256: {id}]", self.header)
    }

    /// The line that ends a block.
    pub(super) fn end(&self, id: &str) -> String {
        format!("{}{id}", self.end)
    }

    /// What ends a heredoc.
    pub(super) fn delimiter(&self, id: &str) -> String {
        format!("{}{id}", self.heredoc)
    }

    fn class(&self, trimmed: &str) -> Class {
        if trimmed.is_empty() {
            Class::Empty
        } else if trimmed.starts_with(self.end) {
            Class::End
        } else if trimmed
            .strip_prefix(self.header)
            .is_some_and(|rest| rest.starts_with(' '))
        {
            Class::Header
        } else if trimmed.contains('=') {
            Class::Assignment
        } else {
            Class::Unknown
        }
    }

    /// The id that a header names, or what is wrong with it.
    fn read_header<'t>(&self, line: &Line<'t>) -> Result<&'t str, SyntaxError<'t>> {
        let id = || {
            let inside = line.raw.strip_prefix(self.header)?.strip_prefix(" [@")?;
            let inside = inside.strip_suffix(']')?;
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
            let rest = inside.trim_start_matches(is_name);
            let id = rest
                .strip_prefix(": ")
                .filter(|_| rest.len() < inside.len())?;
            (!id.is_empty() && !id.contains(']')).then_some(id)
        };
        let Some(id) = id() else {
            let said = format!("Invalid {} header format", self.name);
            return Err(SyntaxError::of_line(
                Code::MalformedHeader,
                line,
                None,
                said,
            ));
        };
        let message = match units(id) {
            2..=8 if id.bytes().all(|byte| byte.is_ascii_alphanumeric()) => return Ok(id),
            2..=8 => "Block ID must contain only alphanumeric characters",
            _ => "Block ID must be exactly 3 characters",
        };
        Err(SyntaxError {
            flaw: Flaw {
                code: Code::InvalidBlockId,
                offset: units(line.raw) - units(id) - 1,
                length: units(id),
                message: message.into(),
            },
            at: Some(line.at),
            block_id: None,
        })
    }

    /// The id that an end marker names, if it is one.
    fn read_end<'t>(&self, line: &Line<'t>) -> Option<&'t str> {
        let id = line.raw.strip_prefix(self.end)?;
        let id = id.strip_suffix('\'').unwrap_or(id);
        let is_id = (2..=8).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric());
        is_id.then_some(id)
    }
}

enum Class {
    Empty,
    End,
    Header,
    Assignment,
    Unknown,
}

/// What a block says, in its order. A key that comes again keeps its place.
#[derive(Debug, Default)]
pub(super) struct Properties<'t> {
    pub(super) list: Vec<(&'t str, Cow<'t, str>)>,
    /// Where each is, once there are [`FEW`] of them.
    places: HashMap<&'t str, usize>,
}

/// So many keys are found faster one by one than by hash.
const FEW: usize = 16;

impl<'t> Properties<'t> {
    pub(super) fn get(&self, key: &str) -> Option<&Cow<'t, str>> {
        self.place(key).map(|place| &self.list[place].1)
    }

    fn place(&self, key: &str) -> Option<usize> {
        match self.list.len() < FEW {
            true => self.list.iter().position(|(known, _)| *known == key),
            false => self.places.get(key).copied(),
        }
    }

    fn set(&mut self, key: &'t str, value: Cow<'t, str>) {
        if let Some(place) = self.place(key) {
            self.list[place].1 = value;
            return;
        }
        self.list.push((key, value));
        let new = match self.list.len() {
            ..FEW => return,
            FEW => 0,
            more => more - 1,
        };
        let keys = self.list[new..].iter().map(|(key, _)| *key);
        self.places.extend(keys.zip(new..));
    }
}

/// How a block ends.
#[derive(Debug, Clone, Copy)]
pub(super) enum End<'t> {
    /// At the line of its end marker, or of another's.
    Marker(Line<'t>),
    /// Before the header of another.
    Header(Line<'t>),
    /// The text ends in it.
    Text,
}

/// A block.
#[derive(Debug)]
pub(super) struct Block<'t> {
    pub(super) marks: &'static Marks,
    pub(super) id: &'t str,
    /// Where its header begins.
    pub(super) at: usize,
    pub(super) properties: Properties<'t>,
    pub(super) errors: Vec<SyntaxError<'t>>,
    pub(super) end: End<'t>,
    /// The first line that nothing in a block looks like, where that is not inside a value that was cut: if the block
    /// never closes, it may be no part of it.
    pub(super) strange: Option<usize>,
}

/// What a header begins.
#[derive(Debug)]
pub(super) enum Begun<'t> {
    Block(Block<'t>),
    /// Nothing: the header is refused.
    Refused(SyntaxError<'t>, Line<'t>, &'static Marks),
}

/// Reads the block whose header's line begins at an offset. One error is reported for the header of a block that is none.
pub(super) fn read<'t>(text: &'t str, at: usize) -> Option<Begun<'t>> {
    let line = Line::at(text, at);
    let marks = Marks::of(line.trimmed())?;
    let id = match marks.read_header(&line) {
        Ok(id) => id,
        Err(error) => return Some(Begun::Refused(error, line, marks)),
    };
    let mut reader = Reader {
        text,
        block: Block {
            marks,
            id,
            at,
            properties: Properties::default(),
            errors: Vec::new(),
            end: End::Text,
            strange: None,
        },
        is_cut: false,
    };
    let mut before = line.at;
    let mut at = line.next;
    while at < text.len() {
        let line = Line::at(text, at);
        match reader.line(&line, before) {
            Next::Line => (before, at) = (line.at, line.next),
            Next::At(next) => (before, at) = (line_start(text, next - 1), next),
            Next::End => return Some(Begun::Block(reader.done())),
        }
    }
    reader.unclosed();
    Some(Begun::Block(reader.done()))
}

/// Where the reading of a block goes on.
enum Next {
    Line,
    At(usize),
    End,
}

struct Reader<'t> {
    text: &'t str,
    block: Block<'t>,
    /// What follows may be part of a value that was cut.
    is_cut: bool,
}

impl<'t> Reader<'t> {
    /// Reads a line; the one before it begins at `before`.
    fn line(&mut self, line: &Line<'t>, before: usize) -> Next {
        let (marks, id) = (self.block.marks, self.block.id);
        match marks.class(line.trimmed()) {
            Class::Empty => Next::Line,
            Class::End => match marks.read_end(line) {
                None => Next::Line,
                Some(named) => {
                    if named != id {
                        let said = format!("End marker '{named}' doesn't match block ID '{id}'");
                        let error = SyntaxError::of_line(Code::MismatchedEnd, line, Some(id), said);
                        self.block.errors.push(error);
                    }
                    self.block.end = End::Marker(*line);
                    Next::End
                }
            },
            Class::Header => {
                let said = format!("Block '{id}' not closed before new block");
                let error = SyntaxError::missing(Code::UnclosedBlock, Some(before), id, said);
                self.block.errors.push(error);
                match marks.read_header(line) {
                    Err(error) if error.flaw.code == Code::MalformedHeader => {
                        self.strange(line);
                        Next::Line
                    }
                    _ => {
                        self.block.end = End::Header(*line);
                        Next::End
                    }
                }
            }
            Class::Assignment => self.assignment(line),
            Class::Unknown => {
                let said = format!(
                    "Invalid line format in block '{id}': not a valid key-value assignment or empty line"
                );
                let error = SyntaxError::of_line(Code::MalformedAssignment, line, Some(id), said);
                self.block.errors.push(error);
                self.strange(line);
                Next::Line
            }
        }
    }

    fn assignment(&mut self, line: &Line<'t>) -> Next {
        let mut read = match assignment::read(line.raw) {
            Ok(read) => read,
            Err(flaw) => {
                let is_quote = matches!(flaw.code, Code::UnclosedQuote);
                self.is_cut |= is_quote && self.block.strange.is_none();
                self.is_cut |= assignment::is_cut(line.raw);
                self.flaw(flaw, line);
                self.strange(line);
                return Next::Line;
            }
        };
        let key = read.key();
        let is_known = self.block.properties.get(key).is_some();
        let key_flaw = read.key_flaw();
        if let Some(flaw) = read.trailing.take() {
            if let (Assigned::Quoted(text), None, false) = (read.value, key_flaw, is_known) {
                self.block.properties.set(key, text);
            }
            self.flaw(flaw, line);
            return Next::Line;
        }
        let duplicate = is_known.then(|| read.duplicate(self.block.id));
        let is_clear = key_flaw.as_ref().is_none_or(|flaw| flaw.is_clear);
        let is_good = key_flaw.is_none();
        if let Some(flaw) = key_flaw.map(|flaw| flaw.flaw).or(duplicate) {
            self.flaw(flaw, line);
        }
        match read.value {
            Assigned::Quoted(text) => {
                if is_good {
                    self.block.properties.set(key, text);
                } else {
                    self.strange(line);
                }
                Next::Line
            }
            Assigned::Heredoc(_) if !is_clear => {
                self.is_cut = true;
                Next::Line
            }
            Assigned::Heredoc(delimiter) => self.heredoc(line, key, delimiter),
        }
    }

    fn heredoc(&mut self, line: &Line<'t>, key: &'t str, delimiter: &'t str) -> Next {
        let id = self.block.id;
        let expected = self.block.marks.delimiter(id);
        if delimiter != expected {
            let at = line.raw.find(delimiter).unwrap_or_default();
            let flaw = Flaw {
                code: Code::InvalidHeredocDelimiter,
                offset: units(&line.raw[..at]),
                length: units(delimiter),
                message: format!("Heredoc delimiter must be '{expected}'").into(),
            };
            self.flaw(flaw, line);
            self.is_cut = true;
            return Next::Line;
        }
        match heredoc(self.text, line.next, delimiter) {
            Some((content, next)) => {
                self.block.properties.set(key, content);
                Next::At(next)
            }
            None => {
                self.is_cut = true;
                let said = format!("Heredoc '{delimiter}' not closed before EOF");
                let error = SyntaxError::missing(Code::UnclosedHeredoc, None, id, said);
                self.block.errors.push(error);
                Next::End
            }
        }
    }

    fn unclosed(&mut self) {
        let id = self.block.id;
        let said = format!("Block '{id}' not closed before EOF");
        let error = SyntaxError::missing(Code::UnclosedBlock, None, id, said);
        self.block.errors.push(error);
    }

    fn flaw(&mut self, flaw: Flaw, line: &Line<'t>) {
        self.block.errors.push(SyntaxError {
            flaw,
            at: Some(line.at),
            block_id: Some(self.block.id),
        });
    }

    fn strange(&mut self, line: &Line<'t>) {
        self.block.strange.get_or_insert(line.at);
    }

    fn done(mut self) -> Block<'t> {
        self.block.strange.take_if(|_| self.is_cut);
        self.block
    }
}

/// The content of the heredoc that begins at an offset, and where the line behind its end begins.
fn heredoc<'t>(text: &'t str, from: usize, delimiter: &str) -> Option<(Cow<'t, str>, usize)> {
    let bytes = text.as_bytes();
    let finder = memmem::Finder::new(delimiter);
    // Always the start of a line.
    let mut at = from;
    loop {
        let found = at + finder.find(&bytes[at..])?;
        let start = memrchr(b'\n', &bytes[at..found]).map_or(at, |newline| at + newline + 1);
        let line = Line::at(text, start);
        let before = &text[start..found];
        let behind = &text[found + delimiter.len()..line.end()];
        if matches!(behind, "" | "'") && !before.contains("<<") {
            let content = match before {
                "" => {
                    let lines = text[from..start].strip_suffix('\n').unwrap_or_default();
                    lines.strip_suffix('\r').unwrap_or(lines)
                }
                _ => &text[from..found],
            };
            let content = match content.contains("\r\n") {
                true => content.replace("\r\n", "\n").into(),
                false => content.into(),
            };
            return Some((content, line.next));
        }
        at = found + memchr(b'\n', &bytes[found..])? + 1;
    }
}
