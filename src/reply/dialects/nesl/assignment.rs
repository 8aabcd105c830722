//! One line of a block that has a `=` in it: its key, its value, and what is wrong with them.

use std::borrow::Cow;

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use super::errors::{Code, Flaw};
use super::lines::{is_blank, units};

/// The longest key, in UTF-16 units.
const KEY: usize = 256;

/// What an assignment assigns.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Assigned<'t> {
    Quoted(Cow<'t, str>),
    /// The lines that follow, up to this delimiter.
    Heredoc(&'t str),
}

/// An assignment whose value can be read.
#[derive(Debug)]
pub(super) struct Assignment<'t> {
    /// With the blanks before it.
    key: &'t str,
    pub(super) value: Assigned<'t>,
    /// Text behind the quoted value.
    pub(super) trailing: Option<Flaw>,
}

/// Reads a line that has a `=`.
pub(super) fn read(raw: &str) -> Result<Assignment<'_>, Flaw> {
    let flaw = |code, range: std::ops::Range<usize>| Flaw {
        code,
        offset: units(&raw[..range.start]),
        length: units(&raw[range]),
        message: message(code).into(),
    };
    let equals = raw.find('=').unwrap_or(raw.len());
    if raw[equals..].starts_with("=>") {
        return Err(flaw(Code::InvalidValue, equals..equals + 2));
    }
    if let Some(at) = memchr::memmem::find(raw.as_bytes(), b":=") {
        return Err(flaw(Code::InvalidAssignmentOperator, at..at + 2));
    }
    let key = raw[..equals].trim_end_matches(is_blank);
    if key.is_empty() {
        return Err(flaw(Code::EmptyKey, equals..equals + 1));
    }
    let behind = &raw[equals + 1..];
    let start = raw.len() - behind.trim_start_matches(is_blank).len();
    let value = behind.trim_matches(is_blank);
    if value.is_empty() {
        return Err(Flaw {
            length: 1,
            ..flaw(Code::InvalidValue, raw.len()..raw.len())
        });
    }
    let mut trailing = None;
    let value = if value.starts_with('"') {
        let Some(length) = quoted(&raw[start..]) else {
            return Err(flaw(Code::UnclosedQuote, start..raw.len()));
        };
        let end = start + length;
        let rest = raw[end..].trim_start_matches(is_blank);
        let Some(text) = unquoted(&raw[start..end]) else {
            return Err(flaw(Code::InvalidValue, start..end));
        };
        if !rest.is_empty() {
            trailing = Some(flaw(
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
            None => return Err(flaw(Code::InvalidValue, start..start + value.len())),
        }
    };
    Ok(Assignment {
        key,
        value,
        trailing,
    })
}

/// Whether the value of a line is the start of something longer, so that what follows may be the rest of it.
pub(super) fn is_cut(raw: &str) -> bool {
    let value = raw.split_once('=').map(|(_, value)| value);
    value.is_some_and(|value| value.trim_start_matches(is_blank).starts_with("<<"))
}

/// What is wrong with a key.
#[derive(Debug)]
pub(super) struct KeyFlaw {
    pub(super) flaw: Flaw,
    /// Only blanks before it: it is clear what is meant.
    pub(super) is_clear: bool,
}

impl<'t> Assignment<'t> {
    /// The key, without the blanks around it.
    pub(super) fn key(&self) -> &'t str {
        self.key.trim_start_matches(is_blank)
    }

    /// What is wrong with the key by itself.
    pub(super) fn key_flaw(&self) -> Option<KeyFlaw> {
        let flaw = |message: String| Flaw {
            code: Code::InvalidKey,
            offset: 0,
            length: units(self.key),
            message: message.into(),
        };
        let key = self.key();
        let bad = bad_character(key);
        if key.len() < self.key.len() {
            let first = self.key.chars().next().unwrap_or_default();
            let said = format!("Key contains invalid character '{first}' at position 1");
            return Some(KeyFlaw {
                flaw: flaw(said),
                is_clear: bad.is_none() && units(key) <= KEY,
            });
        }
        let said = match bad {
            Some((at, c)) => format!(
                "Key contains invalid character '{c}' at position {}",
                units(&key[..at]) + 1
            ),
            None if units(key) > KEY => format!("Key exceeds {KEY} character limit"),
            None => return None,
        };
        Some(KeyFlaw {
            flaw: flaw(said),
            is_clear: false,
        })
    }

    /// That the block has the key already.
    pub(super) fn duplicate(&self, block_id: &str) -> Flaw {
        let key = self.key();
        Flaw {
            code: Code::DuplicateKey,
            offset: 0,
            length: units(key),
            message: format!("Duplicate key '{key}' in block '{block_id}'").into(),
        }
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

/// How long the quoted text is that a text begins with, its quotes included.
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

/// What a quoted text says, if it is a string of JSON.
fn unquoted(text: &str) -> Option<Cow<'_, str>> {
    let inside = &text[1..text.len() - 1];
    let is_plain = |byte: u8| byte != b'\\' && byte >= b' ';
    match inside.bytes().all(is_plain) {
        true => Some(inside.into()),
        false => serde_json::from_str::<String>(text).ok().map(Cow::Owned),
    }
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
