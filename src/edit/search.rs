//! A text to be found: what of it counts, and what each tier looks for. Knows no file.

use super::Tier;
use super::lines;
use super::view::View;
use crate::reply::text::{Form, Text};

/// A text to be found.
pub(super) struct Search<'a> {
    pub(super) form: Form,
    /// The text; in block form without its last newline, which is the line's own.
    pub(super) body: &'a str,
    /// Whether a match inside a line may start or end inside a word.
    pub(super) may_cut: bool,
    /// The line of the file, from 1, where the place that counts starts; nothing where there must be one place only.
    pub(super) line: Option<usize>,
}

impl<'a> Search<'a> {
    /// A `<search>` text, which in block form cuts no words.
    pub(super) fn new(text: Text<'a>) -> Self {
        let body = match text.form {
            Form::Block => &text.text[..lines::without_newline(text.text.as_bytes()).len()],
            Form::Inline => text.text,
        };
        Self {
            form: text.form,
            body,
            may_cut: text.form == Form::Inline,
            line: None,
        }
    }

    /// The same, of which only the place counts that starts on this line of the file, where one is named.
    pub(super) fn on_line(self, line: Option<usize>) -> Self {
        Self { line, ..self }
    }

    /// The same as a head or tail, which may cut words in either form.
    pub(super) fn cutting_words(self) -> Self {
        Self {
            may_cut: true,
            ..self
        }
    }

    /// The text as the tier sees it. The first line of inline text stands inside a line: white space before it is no
    /// indentation.
    pub(super) fn pattern(&self, tier: Tier) -> Vec<u8> {
        let mut pattern = Vec::new();
        if tier == Tier::Indentation && self.form == Form::Inline {
            pattern.extend_from_slice(lines::indentation(self.body.as_bytes(), 0));
        }
        if let Some(view) = View::new(self.body.as_bytes(), tier) {
            pattern.extend_from_slice(view.bytes());
        }
        pattern
    }
}
