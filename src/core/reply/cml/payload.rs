//! The ends of payloads. Payloads are raw: only tags of the payload's own name can end one, by the rules below.
//!
//! - Block form (the opening tag ends its line): ends at the closing tag that stands alone on its line and is balanced
//!   against the opening tags that stand alone on theirs.
//! - Inline form (text follows the opening tag): ends at the first balanced closing tag, wherever it stands.
//! - `<![CDATA[` first: ends at the `]]>` that is followed by the closing tag.
//! - Where block form would never close, it ends at the first line that ends in a closing tag which is not balanced on
//!   that line (models write `last line</x>`), or that begins with one which other tags follow (`</replace><search>`).
//!   Text still to come could make the strict rule close, so that this reading is [`Ends::is_unsure`].

use std::collections::HashSet;

use memchr::memchr_iter;
use memchr::memmem;

use super::tag::{
    ElementName, Tag, TagKind, balanced, line_start, next_line, rest_is_blank, skip_blanks,
    starts_line, tags,
};
use crate::reply::text::Form;

/// The start of a payload that is not looked into for tags.
const CDATA: &str = "<![CDATA[";

/// The end of a payload, and its text.
pub(crate) struct PayloadEnd<'t> {
    pub(crate) form: Form,
    pub(crate) raw: &'t str,
    /// The offset behind the closing tag.
    pub(crate) after: usize,
}

/// The most names of unknown elements that may be looked for in vain in one text: each look may cost the text's length.
const VAIN_NAMES: usize = 32;

/// Finds ends of payloads in one text. Keeps what a search to the end of the text cost, so that many payloads which
/// never close strictly do not make the scan quadratic.
pub(crate) struct Ends<'t> {
    text: &'t str,
    own_line: [Option<OwnLine>; 5],
    /// An element's end may still come, though it was read on behind its tag.
    pub(crate) is_unsure: bool,
    /// Unknown elements that do not close in the rest of the text.
    vain: HashSet<String>,
}

impl<'t> Ends<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            text,
            own_line: [const { None }; 5],
            is_unsure: false,
            vain: HashSet::new(),
        }
    }

    /// The end of the payload that `open` opens; `None` where it never closes.
    pub(crate) fn of(&mut self, open: &Tag<'t>, name: ElementName) -> Option<PayloadEnd<'t>> {
        if open.kind == TagKind::Empty {
            return Some(PayloadEnd {
                form: Form::Inline,
                raw: "",
                after: open.end,
            });
        }
        if let Some(end) = self.cdata(open, name) {
            return end;
        }
        if !open.ends_line(self.text) {
            return self.inline(open, name);
        }
        let content = next_line(self.text.as_bytes(), open.end);
        match self.strict(content, name) {
            Some(close) => Some(self.block(content, close)),
            None => {
                let close = self.lenient(content, name)?;
                self.is_unsure = true;
                Some(self.block(content, close))
            }
        }
    }

    /// The end of an element that CML does not have: its balanced closing tag, on the same line if text follows the
    /// opening tag there, else alone on its line. It is the tag itself where nothing closes it, and `None` where so
    /// many were looked for in vain that this one is not.
    pub(crate) fn of_unknown(&mut self, open: &Tag<'t>) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let inline = !open.ends_line(self.text);
        let limit = if inline {
            next_line(bytes, open.end)
        } else {
            bytes.len()
        };
        let name = open.spelling.to_ascii_lowercase();
        if self.vain.contains(&name) {
            self.is_unsure = true;
            return Some(open.end);
        }
        if self.vain.len() == VAIN_NAMES {
            return None;
        }
        let tags = tags(self.text, open.end..limit)
            .filter(|tag| tag.spelling.eq_ignore_ascii_case(&name))
            .filter(|tag| inline || tag.alone(self.text));
        if let Some(close) = balanced(tags) {
            return Some(close.end);
        }
        self.is_unsure = true;
        self.vain.insert(name);
        Some(open.end)
    }

    #[inline(always)]
    fn block(&self, content: usize, close: Tag<'t>) -> PayloadEnd<'t> {
        let bytes = self.text.as_bytes();
        let end = if starts_line(bytes, close.at) {
            line_start(bytes, close.at)
        } else {
            close.at
        };
        PayloadEnd {
            form: Form::Block,
            raw: &self.text[content..end],
            after: close.end,
        }
    }

    /// The end of CDATA, which the payload begins with; `Some(None)` where that never ends.
    fn cdata(&self, open: &Tag<'t>, name: ElementName) -> Option<Option<PayloadEnd<'t>>> {
        let bytes = self.text.as_bytes();
        let skip_white = |from: usize| {
            let white = bytes[from..].iter().take_while(|b| b.is_ascii_whitespace());
            from + white.count()
        };
        let start = skip_white(open.end);
        if !self.text[start..].starts_with(CDATA) {
            return None;
        }
        let content = start + CDATA.len();
        let closing = memmem::find_iter(&bytes[content..], b"]]>").find_map(|at| {
            let at = content + at;
            let tag = tag_at(self.text, skip_white(at + 3))?;
            tag.is(TagKind::Close, name).then_some((at, tag.end))
        });
        Some(closing.map(|(end, after)| {
            let lines = rest_is_blank(bytes, content);
            let from = if lines {
                next_line(bytes, content).min(end)
            } else {
                content
            };
            let to = if lines && starts_line(bytes, end) {
                line_start(bytes, end).max(from)
            } else {
                end
            };
            PayloadEnd {
                form: if lines { Form::Block } else { Form::Inline },
                raw: &self.text[from..to],
                after,
            }
        }))
    }

    fn inline(&self, open: &Tag<'t>, name: ElementName) -> Option<PayloadEnd<'t>> {
        let close = balanced(self.tags(open.end, name))?;
        Some(PayloadEnd {
            form: Form::Inline,
            raw: &self.text[open.end..close.at],
            after: close.end,
        })
    }

    /// The balanced closing tag that stands alone on its line.
    fn strict(&mut self, content: usize, name: ElementName) -> Option<Tag<'t>> {
        let mut names = ElementName::ELEMENTS.iter().filter(|n| n.is_payload());
        let slot = names.position(|n| *n == name)?;
        if let Some(table) = &self.own_line[slot] {
            return table.closing(content).and_then(|at| Tag::at(self.text, at));
        }
        let text = self.text;
        let alone = || self.tags(content, name).filter(|tag| tag.alone(text));
        let close = balanced(alone());
        if close.is_none() {
            self.own_line[slot] = Some(OwnLine::new(
                alone().map(|tag| (tag.at, tag.kind)).collect(),
            ));
        }
        close
    }

    /// The closing tag at the end of the first content line that ends in one which is not balanced on that line, or at
    /// the start of a line with nothing but other tags of CML behind it.
    ///
    /// One that stands alone on its line belongs to a later element, or the strict rule would have found it; and a
    /// `<task>` or `</task>` alone on its line is the sign of a closing tag that was forgotten. To look past it would take
    /// the tasks behind it for content.
    fn lenient(&self, content: usize, name: ElementName) -> Option<Tag<'t>> {
        let bytes = self.text.as_bytes();
        let mut depth = 0;
        let mut line_end = content;
        for tag in tags(self.text, content..bytes.len()) {
            if matches!(tag.name, Some(ElementName::Task | ElementName::Tasks))
                && tag.alone(self.text)
            {
                return None;
            }
            if tag.name != Some(name) {
                continue;
            }
            if tag.at >= line_end {
                line_end = next_line(bytes, tag.at);
                depth = 0;
            }
            match tag.kind {
                TagKind::Open => depth += 1,
                TagKind::Close if depth > 0 => depth -= 1,
                TagKind::Close if !tag.alone(self.text) && self.only_tags_follow(&tag) => {
                    return Some(tag);
                }
                TagKind::Close | TagKind::Empty => {}
            }
        }
        None
    }

    /// True if behind a closing tag there is nothing on its line but the end of the task and the batch, or, where it
    /// begins its line, another tag.
    fn only_tags_follow(&self, close: &Tag<'_>) -> bool {
        let bytes = self.text.as_bytes();
        let mut at = skip_blanks(bytes, close.end);
        while let Some(tag) = tag_at(self.text, at) {
            let is_end = tag.is(TagKind::Close, ElementName::Task)
                || tag.is(TagKind::Close, ElementName::Tasks);
            if !is_end {
                return tag.name.is_some() && starts_line(bytes, close.at);
            }
            at = skip_blanks(bytes, tag.end);
        }
        rest_is_blank(bytes, at)
    }

    /// The tags of one name from an offset on.
    fn tags(&self, from: usize, name: ElementName) -> impl Iterator<Item = Tag<'t>> + use<'t> {
        let text = self.text;
        let bytes = text.as_bytes();
        let first = name.text().as_bytes()[0];
        memchr_iter(b'<', &bytes[from..]).filter_map(move |at| {
            let at = from + at;
            let initial = match bytes.get(at + 1)? {
                b'/' => bytes.get(at + 2)?,
                other => other,
            };
            if initial | 0x20 != first {
                return None;
            }
            Tag::at(text, at).filter(|tag| tag.name == Some(name))
        })
    }
}

/// True if the payload that a tag opens begins with CDATA.
pub(super) fn is_cdata(text: &str, open: &Tag<'_>) -> bool {
    text[open.end..].trim_start().starts_with(CDATA)
}

/// The tag at an offset, if there is one.
fn tag_at(text: &str, at: usize) -> Option<Tag<'_>> {
    (text.as_bytes().get(at) == Some(&b'<'))
        .then(|| Tag::at(text, at))
        .flatten()
}

/// The own-line tags of one name behind some offset, and for each of them the first closing tag from there on that
/// closes what was open before it.
struct OwnLine {
    offsets: Vec<usize>,
    /// Indexes into `offsets`; `usize::MAX` for none.
    closing: Vec<usize>,
}

impl OwnLine {
    fn new(tags: Vec<(usize, TagKind)>) -> Self {
        let mut closing = vec![usize::MAX; tags.len() + 1];
        for (index, (_, kind)) in tags.iter().enumerate().rev() {
            closing[index] = match kind {
                TagKind::Close => index,
                TagKind::Empty => closing[index + 1],
                TagKind::Open => match closing[index + 1] {
                    usize::MAX => usize::MAX,
                    own => closing[own + 1],
                },
            };
        }
        Self {
            offsets: tags.into_iter().map(|(at, _)| at).collect(),
            closing,
        }
    }

    /// The offset of the tag that closes a payload whose content starts here.
    fn closing(&self, content: usize) -> Option<usize> {
        let from = self.offsets.partition_point(|at| *at < content);
        self.offsets.get(self.closing[from]).copied()
    }
}
