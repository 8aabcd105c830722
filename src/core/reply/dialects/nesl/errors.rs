//! The errors in the form of a block: codes, places and messages.

use std::borrow::Cow;
use std::ops::Range;

use serde::Serialize;
use serde_json::{Value, json};

use super::lines::{BlockLine, around, units};
use crate::reply::task::LineNumbers;

/// The kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum Code {
    MalformedHeader,
    InvalidBlockId,
    MismatchedEnd,
    UnclosedBlock,
    UnclosedHeredoc,
    MalformedAssignment,
    EmptyKey,
    InvalidAssignmentOperator,
    UnclosedQuote,
    InvalidValue,
    TrailingContent,
    InvalidKey,
    DuplicateKey,
    InvalidHeredocDelimiter,
}

/// An error in a document.
#[derive(Debug)]
pub(super) struct SyntaxError<'t> {
    pub(super) code: Code,
    pub(super) message: Cow<'static, str>,
    /// The start of its line; `None` is behind the end of the text.
    pub(super) at: Option<usize>,
    /// In UTF-16 units from the start of the line.
    pub(super) offset: usize,
    pub(super) length: usize,
    pub(super) block_id: Option<&'t str>,
}

impl<'t> SyntaxError<'t> {
    /// An error about these bytes of a line.
    pub(super) fn new(
        code: Code,
        line: &BlockLine<'_>,
        range: Range<usize>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            code,
            message: message.into(),
            at: Some(line.at),
            offset: units(&line.raw[..range.start]),
            length: units(&line.raw[range]),
            block_id: None,
        }
    }

    /// An error about a whole line.
    pub(super) fn of_line(
        code: Code,
        line: &BlockLine<'_>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(code, line, 0..line.raw.len(), message)
    }

    /// An error about something missing, on the line at an offset or behind the end.
    pub(super) fn missing(code: Code, at: Option<usize>, message: String) -> Self {
        Self {
            code,
            message: message.into(),
            at,
            offset: 0,
            length: 0,
            block_id: None,
        }
    }

    /// The error in the originals' form.
    pub(super) fn json(&self, text: &str, lines: &mut LineNumbers<'_>) -> Value {
        let line = match self.at {
            Some(at) => lines.of(at),
            None => lines.of(text.len()) + 1,
        };
        json!({
            "code": self.code,
            "line": line,
            "column": self.offset + 1,
            "length": self.length,
            "blockId": self.block_id,
            "content": self.at.map_or("", |at| BlockLine::at(text, at).raw),
            "context": around(text, self.at),
            "message": self.message,
        })
    }
}
