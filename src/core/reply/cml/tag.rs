//! The tags of CML: their form, the places where they count, and their attributes. Never looks at the text between tags.
//!
//! The places are found here by offset; quick-xml reads the attributes. No configuration of an XML reader can be given
//! the whole text: a payload with `a < b` makes it swallow the closing tag, or end in an error, without a word.

use std::ops::Range;

use memchr::{memchr, memchr_iter};
use quick_xml::events::BytesStart;

/// The elements of CML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ElementName {
    Tasks,
    Task,
    I,
    Path,
    C,
    X,
    Search,
    SearchHead,
    SearchTail,
    Replace,
}

impl ElementName {
    /// Those that may stand in a task.
    pub(crate) const ELEMENTS: [Self; 8] = [
        Self::I,
        Self::Path,
        Self::C,
        Self::X,
        Self::Search,
        Self::SearchHead,
        Self::SearchTail,
        Self::Replace,
    ];

    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::Task => "task",
            Self::I => "i",
            Self::Path => "path",
            Self::C => "c",
            Self::X => "x",
            Self::Search => "search",
            Self::SearchHead => "search-head",
            Self::SearchTail => "search-tail",
            Self::Replace => "replace",
        }
    }

    /// True if its content is a raw payload.
    #[inline]
    pub(crate) fn is_payload(self) -> bool {
        matches!(
            self,
            Self::X | Self::Search | Self::SearchHead | Self::SearchTail | Self::Replace
        )
    }

    /// True if its attributes say how a command is meant.
    #[inline]
    pub(crate) fn has_options(self) -> bool {
        matches!(self, Self::C | Self::Path | Self::X)
    }

    /// The element whose name a text begins with, if it is written as nearly every tag has it, with the `>` behind.
    #[inline(always)]
    fn plain(text: &[u8]) -> Option<Self> {
        Some(match text {
            [b'i', b'>', ..] => Self::I,
            [b'c', b'>', ..] => Self::C,
            [b'x', b'>', ..] => Self::X,
            [b'p', b'a', b't', b'h', b'>', ..] => Self::Path,
            [b't', b'a', b's', b'k', b'>', ..] => Self::Task,
            [b't', b'a', b's', b'k', b's', b'>', ..] => Self::Tasks,
            [b's', b'e', b'a', b'r', b'c', b'h', b'>', ..] => Self::Search,
            [b'r', b'e', b'p', b'l', b'a', b'c', b'e', b'>', ..] => Self::Replace,
            _ => return None,
        })
    }

    fn parse(name: &[u8]) -> Option<Self> {
        let same = |known: Self| {
            name.eq_ignore_ascii_case(known.text().as_bytes())
                .then_some(known)
        };
        match name.len() {
            1 => match name[0] | 0x20 {
                b'i' => Some(Self::I),
                b'c' => Some(Self::C),
                b'x' => Some(Self::X),
                _ => None,
            },
            4 => same(Self::Task).or_else(|| same(Self::Path)),
            5 => same(Self::Tasks),
            6 => same(Self::Search),
            7 => same(Self::Replace),
            11 => same(Self::SearchHead).or_else(|| same(Self::SearchTail)),
            _ => None,
        }
    }
}

/// The three kinds of tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TagKind {
    Open,
    Close,
    /// `<replace/>`: an element with nothing in it.
    Empty,
}

/// The first of these tags of one element, all behind one that is open, that closes it.
pub(crate) fn balanced<'t>(mut tags: impl Iterator<Item = Tag<'t>>) -> Option<Tag<'t>> {
    let mut depth = 1;
    tags.find(|tag| {
        depth += match tag.kind {
            TagKind::Open => 1,
            TagKind::Close => -1,
            TagKind::Empty => 0,
        };
        depth == 0
    })
}

/// One tag.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tag<'t> {
    /// The offset of its `<`.
    pub(crate) at: usize,
    /// The offset behind its `>`.
    pub(crate) end: usize,
    pub(crate) kind: TagKind,
    /// `None` for a name that CML does not have.
    pub(crate) name: Option<ElementName>,
    /// The name as it is written.
    pub(crate) spelling: &'t str,
    /// The text between the name and the end.
    attributes: &'t str,
}

impl<'t> Tag<'t> {
    /// The tag at a `<`, if it is one. A tag does not go over the end of a line.
    #[inline(always)]
    pub(crate) fn at(text: &'t str, at: usize) -> Option<Self> {
        let bytes = text.as_bytes();
        let close = bytes.get(at + 1) == Some(&b'/');
        let start = at + 1 + usize::from(close);
        let Some(name) = ElementName::plain(&bytes[start..]) else {
            return Self::of_any_form(text, at);
        };
        let spelling = name.text();
        Some(Self {
            at,
            end: start + spelling.len() + '>'.len_utf8(),
            kind: if close { TagKind::Close } else { TagKind::Open },
            name: Some(name),
            spelling,
            attributes: "",
        })
    }

    /// The tag at a `<`, however its name is written, and with attributes.
    #[inline(never)]
    fn of_any_form(text: &'t str, at: usize) -> Option<Self> {
        let bytes = text.as_bytes();
        let close = bytes.get(at + 1) == Some(&b'/');
        let start = at + 1 + usize::from(close);
        let length = bytes[start..]
            .iter()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
            .count();
        if length == 0 || !bytes[start].is_ascii_alphabetic() {
            return None;
        }
        let rest = start + length;
        let (attributes, empty, end) = match bytes.get(rest)? {
            b'>' => ("", false, rest + 1),
            b'/' | b' ' | b'\t' => {
                let closing = tag_end(bytes, rest)?;
                let (attributes, empty) = match text[rest..closing].strip_suffix('/') {
                    Some(attributes) if !close => (attributes, true),
                    _ => (&text[rest..closing], false),
                };
                (attributes.trim_matches([' ', '\t']), empty, closing + 1)
            }
            _ => return None,
        };
        if close && !attributes.is_empty() {
            return None;
        }
        Some(Self {
            at,
            end,
            kind: match (close, empty) {
                (true, _) => TagKind::Close,
                (_, true) => TagKind::Empty,
                _ => TagKind::Open,
            },
            name: ElementName::parse(&bytes[start..rest]),
            spelling: &text[start..rest],
            attributes,
        })
    }

    /// The tag that a text begins with.
    pub(crate) fn at_start(text: &'t str) -> Option<Self> {
        if !text.starts_with('<') {
            return None;
        }
        Self::at(text, 0)
    }

    /// The stretch of the text that an attribute takes, with the white space before it.
    pub(crate) fn attribute(&self, text: &str, name: &str) -> Option<Range<usize>> {
        let mut at = self.at + '<'.len_utf8() + self.spelling.len();
        let is_blank = |c: char| matches!(c, ' ' | '\t');
        loop {
            let rest = &text[at..self.end - '>'.len_utf8()];
            let start = rest.trim_start_matches(is_blank);
            let known = start.find(|c: char| is_blank(c) || c == '=');
            let (known, behind) = start.split_at(known.unwrap_or(start.len()));
            let behind = match behind.trim_start_matches(is_blank).strip_prefix('=') {
                Some(value) => behind_value(value.trim_start_matches(is_blank)),
                None => behind,
            };
            if known.is_empty() && behind.len() == start.len() {
                return None;
            }
            let end = at + rest.len() - behind.len();
            if known.eq_ignore_ascii_case(name) {
                return Some(at..end);
            }
            at = end;
        }
    }

    #[inline]
    pub(crate) fn is(&self, kind: TagKind, name: ElementName) -> bool {
        self.kind == kind && self.name == Some(name)
    }

    /// True if there is anything between its name and its end: nearly no tag has that, and then nothing need be read of it.
    #[inline]
    pub(crate) fn has_attributes(&self) -> bool {
        !self.attributes.is_empty()
    }

    /// Its attributes, quoted or not. `Err` holds the text that cannot be read as attributes.
    pub(crate) fn attributes(&self) -> Result<Vec<(String, String)>, &'t str> {
        if !self.has_attributes() {
            return Ok(Vec::new());
        }
        let content = format!("{} {}", self.spelling, self.attributes);
        let start = BytesStart::from_content(content.as_str(), self.spelling.len());
        let mut found = Vec::new();
        for attribute in start.html_attributes() {
            let attribute = attribute.map_err(|_| self.attributes)?;
            let value = decode_entities(&attribute.value).into_owned();
            found.push((attribute.key.as_ref().to_ascii_lowercase(), value));
        }
        Ok(found)
    }

    /// True if only white space stands behind it on its line.
    #[inline]
    pub(crate) fn ends_line(&self, text: &str) -> bool {
        rest_is_blank(text.as_bytes(), self.end)
    }

    /// True if it stands alone on its line.
    #[inline]
    pub(crate) fn alone(&self, text: &str) -> bool {
        starts_line(text.as_bytes(), self.at) && self.ends_line(text)
    }
}

/// The text behind the value of an attribute.
fn behind_value(value: &str) -> &str {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let behind = match quote {
        Some(quote) => value[1..].split_once(quote).map(|(_, behind)| behind),
        None => value.find([' ', '\t']).map(|end| &value[end..]),
    };
    behind.unwrap_or_default()
}

/// All tags in a stretch of a text, wherever they stand.
pub(crate) fn tags(text: &str, stretch: Range<usize>) -> impl Iterator<Item = Tag<'_>> {
    let all = memchr_iter(b'<', &text.as_bytes()[stretch.clone()]);
    all.filter_map(move |at| Tag::at(text, stretch.start + at))
}

/// True if a tag is followed on its line by nothing or by another tag of CML, as one that opens a batch must be: prose
/// may begin a line with the name of a tag.
pub(crate) fn opens(text: &str, tag: &Tag<'_>) -> bool {
    let next = skip_blanks(text.as_bytes(), tag.end);
    rest_is_blank(text.as_bytes(), next)
        || text.as_bytes()[next] == b'<'
            && Tag::at(text, next).is_some_and(|tag| tag.name.is_some())
}

/// The `>` that ends a tag, outside quotes and on the same line.
fn tag_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        match bytes.get(at)? {
            b'>' => return Some(at),
            b'\n' | b'<' => return None,
            quote @ (b'"' | b'\'') if bytes[at - 1] == b'=' => {
                let length = bytes[at + 1..]
                    .iter()
                    .position(|b| b == quote || *b == b'\n')?;
                if bytes[at + 1 + length] == b'\n' {
                    return None;
                }
                at += length + 2;
            }
            _ => at += 1,
        }
    }
}

/// True if only white space, or the text's BOM, stands before this offset on its line.
#[inline]
pub(crate) fn starts_line(bytes: &[u8], at: usize) -> bool {
    follows(bytes, at, usize::MAX)
}

/// True if only white space stands between this offset and the start of its line or the end of the tag before it.
#[inline(always)]
pub(crate) fn follows(bytes: &[u8], at: usize, tag_end: usize) -> bool {
    // Nearly every tag is the first of its line.
    matches!(bytes[..at], [.., b'\n']) || follows_blanks(bytes, at, tag_end)
}

fn follows_blanks(bytes: &[u8], at: usize, tag_end: usize) -> bool {
    let mut before = at;
    while before > 0 && before != tag_end {
        match bytes[before - 1] {
            b' ' | b'\t' => before -= 1,
            b'\n' => return true,
            0xBF if before == 3 => return bytes.starts_with(b"\xEF\xBB\xBF"),
            _ => return false,
        }
    }
    true
}

/// The start of the line that holds this offset.
#[inline]
pub(crate) fn line_start(bytes: &[u8], at: usize) -> usize {
    match bytes[..at] {
        // Mostly a tag is asked for, which is the first of its line.
        [.., b'\n'] => at,
        _ => memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |newline| newline + 1),
    }
}

/// The offset behind the line end of the line that holds this offset.
#[inline]
pub(crate) fn next_line(bytes: &[u8], at: usize) -> usize {
    match bytes[at..] {
        [b'\n', ..] => at + 1,
        _ => memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |newline| at + newline + 1),
    }
}

/// True if only white space stands from this offset to the end of its line.
#[inline]
pub(crate) fn rest_is_blank(bytes: &[u8], from: usize) -> bool {
    let mut rest = bytes[from..].iter();
    let text = rest.find(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
    text.is_none_or(|byte| *byte == b'\n')
}

/// The first offset from here that is no space or tab.
#[inline]
pub(crate) fn skip_blanks(bytes: &[u8], from: usize) -> usize {
    from + bytes[from..]
        .iter()
        .take_while(|b| matches!(b, b' ' | b'\t'))
        .count()
}

/// The five entities of XML.
pub(crate) const ENTITIES: [(&str, char); 5] = [
    ("&amp;", '&'),
    ("&lt;", '<'),
    ("&gt;", '>'),
    ("&quot;", '"'),
    ("&apos;", '\''),
];

/// Decodes the entities; any other `&` stays, since a path may hold one.
pub(crate) fn decode_entities(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.contains('&') {
        return text.into();
    }
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        rest = &rest[at..];
        let (entity, c) = ENTITIES
            .into_iter()
            .find(|(entity, _)| rest.starts_with(entity))
            .unwrap_or(("&", '&'));
        decoded.push(c);
        rest = &rest[entity.len()..];
    }
    decoded.push_str(rest);
    decoded.into()
}
