//! One line of a block that has a `=` in it: its key, its value, and what is wrong with them.

use std::borrow::Cow;
use std::ops::Range;

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use super::errors::{Code, SyntaxError};
use super::lines::{BlockLine, is_blank, units};

/// The longest key, in UTF-16 units.
const KEY: usize = 256;

/// The value of an assignment.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Assigned<'t> {
    Quoted(Cow<'t, str>),
    /// The lines that follow, up to this delimiter.
    Heredoc(&'t str),
}

/// An assignment whose value can be read.
#[derive(Debug)]
pub(super) struct Assignment<'l, 't> {
    line: &'l BlockLine<'t>,
    /// With the blanks before it.
    key: &'t str,
    pub(super) value: Assigned<'t>,
    /// Text behind the quoted value.
    pub(super) trailing: Option<SyntaxError<'t>>,
}

/// Reads a line that has a `=`.
pub(super) fn read<'l, 't>(line: &'l BlockLine<'t>) -> Result<Assignment<'l, 't>, SyntaxError<'t>> {
    let raw = line.raw;
    let error = |code, range: Range<usize>| SyntaxError::new(code, line, range, message(code));
    let equals = raw.find('=').unwrap_or(raw.len());
    if raw[equals..].starts_with("=>") {
        return Err(error(Code::InvalidValue, equals..equals + 2));
    }
    if let Some(at) = memchr::memmem::find(raw.as_bytes(), b":=") {
        return Err(error(Code::InvalidAssignmentOperator, at..at + 2));
    }
    let key = raw[..equals].trim_end_matches(is_blank);
    if key.is_empty() {
        return Err(error(Code::EmptyKey, equals..equals + 1));
    }
    let behind = &raw[equals + 1..];
    let start = raw.len() - behind.trim_start_matches(is_blank).len();
    let value = behind.trim_matches(is_blank);
    if value.is_empty() {
        return Err(SyntaxError {
            length: 1,
            ..error(Code::InvalidValue, raw.len()..raw.len())
        });
    }
    let mut trailing = None;
    let value = if value.starts_with('"') {
        let Some(length) = quoted(&raw[start..]) else {
            return Err(error(Code::UnclosedQuote, start..raw.len()));
        };
        let end = start + length;
        let rest = raw[end..].trim_start_matches(is_blank);
        let Some(text) = unquoted(&raw[start..end]) else {
            return Err(error(Code::InvalidValue, start..end));
        };
        if !rest.is_empty() {
            trailing = Some(error(
                Code::TrailingContent,
                raw.len() - rest.len()..raw.len(),
            ));
        }
        Assigned::Quoted(text)
    } else {
        let delimiter = value
            .strip_prefix("<<'")
            .and_then(|rest| rest.strip_suffix('\''));
        match delimiter.filter(|text| !text.is_empty() && !text.contains('\'')) {
            Some(delimiter) => Assigned::Heredoc(delimiter),
            None => return Err(error(Code::InvalidValue, start..start + value.len())),
        }
    };
    Ok(Assignment {
        line,
        key,
        value,
        trailing,
    })
}

/// True if the value of a line is the start of something longer, so that the lines below may be the rest of it.
pub(super) fn is_cut(raw: &str) -> bool {
    let value = raw.split_once('=').map(|(_, value)| value);
    value.is_some_and(|value| value.trim_start_matches(is_blank).starts_with("<<"))
}

/// An error in a key.
#[derive(Debug)]
pub(super) struct KeyError<'t> {
    pub(super) error: SyntaxError<'t>,
    /// There are only blanks before it: it is clear what is meant.
    pub(super) is_clear: bool,
}

impl<'t> Assignment<'_, 't> {
    /// The key, without the blanks around it.
    pub(super) fn key(&self) -> &'t str {
        self.key.trim_start_matches(is_blank)
    }

    /// The error in the key by itself.
    pub(super) fn key_error(&self) -> Option<KeyError<'t>> {
        let key = self.key();
        let bad = bad_character(key);
        let is_indented = key.len() < self.key.len();
        let is_long = units(key) > KEY;
        let said = match bad {
            _ if is_indented => {
                let first = self.key.chars().next().unwrap_or_default();
                format!("Key contains invalid character '{first}' at position 1")
            }
            Some((at, c)) => format!(
                "Key contains invalid character '{c}' at position {}",
                units(&key[..at]) + 1
            ),
            None if is_long => format!("Key exceeds {KEY} character limit"),
            None => return None,
        };
        Some(KeyError {
            error: SyntaxError::new(Code::InvalidKey, self.line, 0..self.key.len(), said),
            is_clear: is_indented && bad.is_none() && !is_long,
        })
    }

    /// The error that the block has the key already.
    pub(super) fn duplicate(&self, block_id: &str) -> SyntaxError<'t> {
        let key = self.key();
        let said = format!("Duplicate key '{key}' in block '{block_id}'");
        SyntaxError::new(Code::DuplicateKey, self.line, 0..key.len(), said)
    }
}

fn message(code: Code) -> &'static str {
    match code {
        Code::EmptyKey => "Assignment without key name",
        Code::InvalidAssignmentOperator => "Invalid assignment operator ':=' - only '=' is allowed",
        Code::UnclosedQuote => "Unclosed quoted string",
        Code::TrailingContent => "Unexpected content after quoted value",
        _ => "Value must be a quoted string or heredoc",
    }
}

/// The length of the quoted text that a text begins with, its quotes included.
fn quoted(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// The content of a quoted text, if it is a string of JSON.
fn unquoted(text: &str) -> Option<Cow<'_, str>> {
    let inside = &text[1..text.len() - 1];
    let is_plain = |byte: u8| byte != b'\\' && byte >= b' ';
    if inside.bytes().all(is_plain) {
        return Some(inside.into());
    }
    serde_json::from_str::<String>(text).ok().map(Cow::Owned)
}

/// The first character that a key may not have there.
fn bad_character(key: &str) -> Option<(usize, char)> {
    let is_good = |(at, c): (usize, char)| match c {
        '_' => true,
        _ if c.is_ascii() => c.is_ascii_alphabetic() || c.is_ascii_digit() && at > 0,
        _ => match c.general_category_group() {
            GeneralCategoryGroup::Letter => true,
            GeneralCategoryGroup::Number => at > 0,
            _ => false,
        },
    };
    key.char_indices().find(|found| !is_good(*found))
}
