//! Text as CML gives it: in block form (whole lines) or inline form (as it stands).

/// The two ways in which a payload stands between its tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The opening tag ended its line: the payload is a list of lines.
    Block,
    /// Text followed the opening tag on its line: the payload is taken as it is.
    Inline,
}

/// A payload's text together with its form.
///
/// In block form every line is followed by LF, so that no line at all (`""`) and one blank line (`"\n"`) differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<'a> {
    pub form: Form,
    pub text: &'a str,
    /// The reply says that it is all there: a line that seems to stand for text which is left out is text.
    pub is_whole: bool,
}

impl<'a> Text<'a> {
    /// Text in block form: `text` is empty or ends with LF.
    pub fn block(text: &'a str) -> Self {
        Self {
            form: Form::Block,
            text,
            is_whole: false,
        }
    }

    /// Text in inline form.
    pub fn inline(text: &'a str) -> Self {
        Self {
            form: Form::Inline,
            text,
            is_whole: false,
        }
    }

    /// Another text in the same form.
    pub(crate) fn with<'o>(&self, text: &'o str) -> Text<'o> {
        Text {
            text,
            form: self.form,
            is_whole: self.is_whole,
        }
    }

    /// True if there is only white space in it.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}
