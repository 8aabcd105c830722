//! Reads one block, line by line: its beginning and end, its properties, and every error in it.

use std::borrow::Cow;
use std::collections::HashMap;

use memchr::{memchr, memmem};

use super::assignment::{self, Assigned};
use super::errors::{Code, SyntaxError};
use super::lines::{BlockLine, units};
use crate::reply::cml::tag::line_start;
use crate::reply::dialect::Dialect;

/// The marker lines of a dialect's blocks.
#[derive(Debug)]
pub(super) struct Markers {
    pub(super) dialect: Dialect,
    /// In messages.
    pub(super) name: &'static str,
    header: &'static str,
    end: &'static str,
    heredoc: &'static str,
}

/// Both dialects.
const MARKERS: [Markers; 2] = [
    Markers {
        dialect: Dialect::Sham,
        name: "SHAM",
        header: "#!SHAM",
        end: "#!END_SHAM_",
        heredoc: "EOT_SHAM_",
    },
    Markers {
        dialect: Dialect::Nesl,
        name: "NESL",
        header: "#!nesl",
        end: "#!end_",
        heredoc: "EOT_",
    },
];

impl Markers {
    /// The markers of the block whose header begins a text.
    pub(super) fn of(text: &str) -> Option<&'static Self> {
        MARKERS.iter().find(|marks| text.starts_with(marks.header))
    }

    /// The header of a block.
    pub(super) fn header(&self, id: &str) -> String {
        format!("{} [@three-char-SHA-256: {id}]", self.header)
    }

    /// The line that ends a block.
    pub(super) fn end(&self, id: &str) -> String {
        format!("{}{id}", self.end)
    }

    /// The line that ends a heredoc.
    pub(super) fn delimiter(&self, id: &str) -> String {
        format!("{}{id}", self.heredoc)
    }

    /// True if a line, without the blanks around it, is like a header.
    fn is_header(&self, trimmed: &str) -> bool {
        let rest = trimmed.strip_prefix(self.header);
        rest.is_some_and(|rest| rest.starts_with(' '))
    }

    /// The id that a header names, or the error in it.
    fn read_header<'t>(&self, line: &BlockLine<'t>) -> Result<&'t str, SyntaxError<'t>> {
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
            return Err(SyntaxError::of_line(Code::MalformedHeader, line, said));
        };
        let message = match units(id) {
            2..=8 if id.bytes().all(|byte| byte.is_ascii_alphanumeric()) => return Ok(id),
            2..=8 => "Block ID must contain only alphanumeric characters",
            _ => "Block ID must be exactly 3 characters",
        };
        let end = line.raw.len() - 1;
        let range = end - id.len()..end;
        Err(SyntaxError::new(Code::InvalidBlockId, line, range, message))
    }

    /// The id that an end marker names, if it is one.
    fn read_end<'t>(&self, line: &BlockLine<'t>) -> Option<&'t str> {
        let id = line.raw.strip_prefix(self.end)?;
        let id = id.strip_suffix('\'').unwrap_or(id);
        let is_id = (2..=8).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric());
        is_id.then_some(id)
    }
}

/// The properties of a block, in its order. A key that comes again keeps its place.
#[derive(Debug, Default)]
pub(super) struct Properties<'t> {
    pub(super) list: Vec<(&'t str, Cow<'t, str>)>,
    /// The place of each, once there are [`FEW`] of them.
    places: HashMap<&'t str, usize>,
}

/// So many keys are found faster one by one than by hash.
const FEW: usize = 16;

impl<'t> Properties<'t> {
    pub(super) fn get(&self, key: &str) -> Option<&Cow<'t, str>> {
        self.place(key).map(|place| &self.list[place].1)
    }

    fn place(&self, key: &str) -> Option<usize> {
        if self.list.len() < FEW {
            self.list.iter().position(|(known, _)| *known == key)
        } else {
            self.places.get(key).copied()
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

/// The end of a block.
#[derive(Debug, Clone, Copy)]
pub(super) enum BlockEnd<'t> {
    /// At the line of its end marker, or of another's.
    Marker(BlockLine<'t>),
    /// Before the header of another.
    Header(BlockLine<'t>),
    /// The text ends in it.
    Text,
}

/// A block.
#[derive(Debug)]
pub(super) struct Block<'t> {
    pub(super) markers: &'static Markers,
    pub(super) id: &'t str,
    /// The offset of its header.
    pub(super) at: usize,
    pub(super) properties: Properties<'t>,
    pub(super) errors: Vec<SyntaxError<'t>>,
    pub(super) end: BlockEnd<'t>,
    /// The first line that is like nothing in a block, where that is not inside a value that was cut: if the block never
    /// closes, that line may be no part of it.
    pub(super) strange: Option<usize>,
}

/// A header that begins no block, with the one error that is reported for it.
#[derive(Debug)]
pub(super) struct RefusedHeader<'t> {
    pub(super) error: SyntaxError<'t>,
    pub(super) line: BlockLine<'t>,
    pub(super) markers: &'static Markers,
}

/// Reads the block whose header's line begins at an offset; `None` where there is no header.
pub(super) fn read<'t>(text: &'t str, at: usize) -> Option<Result<Block<'t>, RefusedHeader<'t>>> {
    let line = BlockLine::at(text, at);
    let markers = Markers::of(line.trimmed())?;
    let id = match markers.read_header(&line) {
        Ok(id) => id,
        Err(error) => {
            return Some(Err(RefusedHeader {
                error,
                line,
                markers,
            }));
        }
    };
    let mut reader = BlockReader {
        text,
        block: Block {
            markers,
            id,
            at,
            properties: Properties::default(),
            errors: Vec::new(),
            end: BlockEnd::Text,
            strange: None,
        },
        is_cut: false,
    };
    reader.run(line.next);
    let BlockReader {
        mut block, is_cut, ..
    } = reader;
    block.strange.take_if(|_| is_cut);
    Some(Ok(block))
}

struct BlockReader<'t> {
    text: &'t str,
    block: Block<'t>,
    /// The lines below may be part of a value that was cut.
    is_cut: bool,
}

impl<'t> BlockReader<'t> {
    fn run(&mut self, from: usize) {
        let mut at = from;
        while at < self.text.len() {
            let Some(next) = self.line(&BlockLine::at(self.text, at)) else {
                return;
            };
            at = next;
        }
        let said = format!("Block '{}' not closed before EOF", self.block.id);
        self.refuse(SyntaxError::missing(Code::UnclosedBlock, None, said));
    }

    /// Reads a line. Returns the offset of the next one, or nothing where the block ends.
    fn line(&mut self, line: &BlockLine<'t>) -> Option<usize> {
        let (markers, id) = (self.block.markers, self.block.id);
        let trimmed = line.trimmed();
        if trimmed.starts_with(markers.end) {
            let Some(named) = markers.read_end(line) else {
                return Some(line.next);
            };
            if named != id {
                let said = format!("End marker '{named}' doesn't match block ID '{id}'");
                self.refuse(SyntaxError::of_line(Code::MismatchedEnd, line, said));
            }
            self.block.end = BlockEnd::Marker(*line);
            return None;
        }
        if markers.is_header(trimmed) {
            let before = line_start(self.text.as_bytes(), line.at - 1);
            let said = format!("Block '{id}' not closed before new block");
            self.refuse(SyntaxError::missing(
                Code::UnclosedBlock,
                Some(before),
                said,
            ));
            let header = markers.read_header(line);
            if !header.is_err_and(|error| error.code == Code::MalformedHeader) {
                self.block.end = BlockEnd::Header(*line);
                return None;
            }
            self.strange(line);
        } else if trimmed.contains('=') {
            return self.assignment(line);
        } else if !trimmed.is_empty() {
            let said = format!(
                "Invalid line format in block '{id}': not a valid key-value assignment or empty line"
            );
            self.refuse(SyntaxError::of_line(Code::MalformedAssignment, line, said));
            self.strange(line);
        }
        Some(line.next)
    }

    fn assignment(&mut self, line: &BlockLine<'t>) -> Option<usize> {
        let mut read = match assignment::read(line) {
            Ok(read) => read,
            Err(error) => {
                let is_quote = error.code == Code::UnclosedQuote;
                self.is_cut |= is_quote && self.block.strange.is_none();
                self.is_cut |= assignment::is_cut(line.raw);
                self.refuse(error);
                self.strange(line);
                return Some(line.next);
            }
        };
        let key = read.key();
        let is_known = self.block.properties.get(key).is_some();
        let key_error = read.key_error();
        if let Some(error) = read.trailing.take() {
            if let (Assigned::Quoted(text), None, false) = (read.value, key_error, is_known) {
                self.block.properties.set(key, text);
            }
            self.refuse(error);
            return Some(line.next);
        }
        let is_clear = key_error.as_ref().is_none_or(|error| error.is_clear);
        let is_good = key_error.is_none();
        if let Some(key) = key_error {
            self.refuse(key.error);
        } else if is_known {
            self.refuse(read.duplicate(self.block.id));
        }
        match read.value {
            Assigned::Heredoc(delimiter) if is_clear => return self.heredoc(line, key, delimiter),
            Assigned::Heredoc(_) => self.is_cut = true,
            Assigned::Quoted(text) if is_good => self.block.properties.set(key, text),
            Assigned::Quoted(_) => self.strange(line),
        }
        Some(line.next)
    }

    fn heredoc(&mut self, line: &BlockLine<'t>, key: &'t str, delimiter: &str) -> Option<usize> {
        let expected = self.block.markers.delimiter(self.block.id);
        if delimiter != expected {
            let at = line.raw.find(delimiter).unwrap_or_default();
            let said = format!("Heredoc delimiter must be '{expected}'");
            let range = at..at + delimiter.len();
            let code = Code::InvalidHeredocDelimiter;
            self.refuse(SyntaxError::new(code, line, range, said));
            self.is_cut = true;
            return Some(line.next);
        }
        let Some((content, next)) = heredoc(self.text, line.next, delimiter) else {
            self.is_cut = true;
            let said = format!("Heredoc '{delimiter}' not closed before EOF");
            self.refuse(SyntaxError::missing(Code::UnclosedHeredoc, None, said));
            return None;
        };
        self.block.properties.set(key, content);
        Some(next)
    }

    fn refuse(&mut self, error: SyntaxError<'t>) {
        self.block.errors.push(SyntaxError {
            block_id: Some(self.block.id),
            ..error
        });
    }

    fn strange(&mut self, line: &BlockLine<'t>) {
        self.block.strange.get_or_insert(line.at);
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
        let start = line_start(bytes, found);
        let line = BlockLine::at(text, start);
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
            let content = if content.contains("\r\n") {
                content.replace("\r\n", "\n").into()
            } else {
                content.into()
            };
            return Some((content, line.next));
        }
        at = found + memchr(b'\n', &bytes[found..])? + 1;
    }
}
