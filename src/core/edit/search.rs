//! A text to be found, and the form in which each tier looks for it. Knows no file.

use super::Tier;
use super::lines;
use super::view::View;
use crate::reply::text::{Form, Text};

/// A text to be found.
pub(super) struct Search<'a> {
    pub(super) form: Form,
    pub(super) body: &'a str,
    /// True if a match inside a line may start or end inside a word.
    pub(super) may_cut: bool,
    /// The line of the file, from 1, where the place that counts starts; `None` if there must be one place only.
    pub(super) line: Option<usize>,
}

impl<'a> Search<'a> {
    /// A `<search>` text, which in block form cuts no words.
    pub(super) fn new(text: Text<'a>) -> Self {
        Self {
            form: text.form,
            body: body(text),
            may_cut: text.form == Form::Inline,
            line: None,
        }
    }

    /// The text as the tier sees it. The first line of inline text stands inside a line: white space before it is no
    /// indentation.
    pub(super) fn pattern(&self, tier: Tier) -> Vec<u8> {
        let body = self.body.as_bytes();
        let mut pattern = Vec::new();
        if tier == Tier::Indentation && self.form == Form::Inline {
            pattern.extend_from_slice(lines::indentation(body, 0).as_bytes());
        }
        if let Some(view) = View::new(body, tier) {
            pattern.extend_from_slice(view.bytes());
        }
        pattern
    }
}

/// The text of a payload; in block form without its last newline, which is the line's own.
pub(super) fn body(text: Text<'_>) -> &str {
    match text.form {
        Form::Block => without_newline(text.text),
        Form::Inline => text.text,
    }
}

/// The text without the newline (LF or CRLF) at its end, if there is one.
pub(super) fn without_newline(text: &str) -> &str {
    &text[..lines::without_newline(text.as_bytes()).len()]
}
