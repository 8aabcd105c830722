//! What is wrong with the form of a block: codes, places and messages.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::lines::{self, Line};
use crate::reply::task::Lines;

/// The kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

impl Code {
    fn name(self) -> &'static str {
        match self {
            Self::MalformedHeader => "MALFORMED_HEADER",
            Self::InvalidBlockId => "INVALID_BLOCK_ID",
            Self::MismatchedEnd => "MISMATCHED_END",
            Self::UnclosedBlock => "UNCLOSED_BLOCK",
            Self::UnclosedHeredoc => "UNCLOSED_HEREDOC",
            Self::MalformedAssignment => "MALFORMED_ASSIGNMENT",
            Self::EmptyKey => "EMPTY_KEY",
            Self::InvalidAssignmentOperator => "INVALID_ASSIGNMENT_OPERATOR",
            Self::UnclosedQuote => "UNCLOSED_QUOTE",
            Self::InvalidValue => "INVALID_VALUE",
            Self::TrailingContent => "TRAILING_CONTENT",
            Self::InvalidKey => "INVALID_KEY",
            Self::DuplicateKey => "DUPLICATE_KEY",
            Self::InvalidHeredocDelimiter => "INVALID_HEREDOC_DELIMITER",
        }
    }
}

/// An error in a line.
#[derive(Debug)]
pub(super) struct Flaw {
    pub(super) code: Code,
    /// In UTF-16 units from the start of the line.
    pub(super) offset: usize,
    pub(super) length: usize,
    pub(super) message: Cow<'static, str>,
}

/// An error in a document.
#[derive(Debug)]
pub(super) struct SyntaxError<'t> {
    pub(super) flaw: Flaw,
    /// Where its line begins; `None` is behind the end of the text.
    pub(super) at: Option<usize>,
    pub(super) block_id: Option<&'t str>,
}

impl<'t> SyntaxError<'t> {
    /// One that is about a whole line.
    pub(super) fn of_line(
        code: Code,
        line: &Line<'_>,
        block_id: Option<&'t str>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            flaw: Flaw {
                code,
                offset: 0,
                length: lines::units(line.raw),
                message: message.into(),
            },
            at: Some(line.at),
            block_id,
        }
    }

    /// One that is about something missing, on the line at an offset or behind the end.
    pub(super) fn missing(
        code: Code,
        at: Option<usize>,
        block_id: &'t str,
        message: String,
    ) -> Self {
        Self {
            flaw: Flaw {
                code,
                offset: 0,
                length: 0,
                message: message.into(),
            },
            at,
            block_id: Some(block_id),
        }
    }

    /// Its line, from 1.
    pub(super) fn line(&self, text: &str, lines: &mut Lines<'_>) -> usize {
        match self.at {
            Some(at) => lines.of(at),
            None => lines.of(text.len()) + 1,
        }
    }

    /// In the originals' form.
    pub(super) fn json(&self, text: &str, lines: &mut Lines<'_>) -> Value {
        json!({
            "code": self.flaw.code.name(),
            "line": self.line(text, lines),
            "column": self.flaw.offset + 1,
            "length": self.flaw.length,
            "blockId": self.block_id,
            "content": self.at.map_or("", |at| Line::at(text, at).raw),
            "context": lines::around(text, self.at),
            "message": self.flaw.message,
        })
    }
}
