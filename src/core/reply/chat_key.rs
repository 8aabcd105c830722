//! The key of a chat: the word by which a copied reply says whose it is. Finds it in a line, and leaves it out of a text.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::cml::tag::{ElementName, Tag, TagKind};

/// The characters of a key: none of them is taken for another.
const CHARACTERS: &[u8; 34] = b"abcdefghijklmnopqrstuvwxyz23456789";

/// The number of characters of a key.
const LENGTH: usize = 5;

/// A word that the replies of one chat carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ChatKey([u8; LENGTH]);

/// A text that is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is no key: a key is five characters, each of a-z or 2-9")]
pub struct NotAKey;

impl ChatKey {
    /// The key that comes of a random number.
    pub fn from_random(mut number: u64) -> Self {
        let count = CHARACTERS.len() as u64;
        Self([(); LENGTH].map(|()| {
            let character = CHARACTERS[(number % count) as usize];
            number /= count;
            character
        }))
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for ChatKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl FromStr for ChatKey {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        let key: [u8; LENGTH] = text.as_bytes().try_into().map_err(|_| NotAKey)?;
        let is_key = key.iter().all(|byte| CHARACTERS.contains(byte));
        is_key.then_some(Self(key)).ok_or(NotAKey)
    }
}

impl TryFrom<String> for ChatKey {
    type Error = NotAKey;

    fn try_from(text: String) -> Result<Self, NotAKey> {
        text.parse()
    }
}

impl From<ChatKey> for String {
    fn from(key: ChatKey) -> Self {
        key.to_string()
    }
}

/// The start of the line that holds the key in all dialects but CML.
const LINE: &str = "clada:";

/// The key that a line `clada: k7m2x` holds, and nothing else.
pub(crate) fn key_in(line: &str) -> Option<ChatKey> {
    let line = line.trim_start_matches('\u{feff}').trim();
    let code = line
        .strip_prefix('`')
        .and_then(|line| line.strip_suffix('`'));
    let key = code.unwrap_or(line).trim().strip_prefix(LINE)?;
    key.trim().parse().ok()
}

/// A text that begins with the tag `<tasks>`, without the key in that tag.
pub(crate) fn without_key(text: &str) -> Cow<'_, str> {
    let tag = Tag::at_start(text).filter(|tag| tag.is(TagKind::Open, ElementName::Tasks));
    let Some(key) = tag.and_then(|tag| tag.attribute(text, "key")) else {
        return text.into();
    };
    format!("{}{}", &text[..key.start], &text[key.end..]).into()
}
