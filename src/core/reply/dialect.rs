//! The dialects of replies. CML is the main one; the others are older, or other tools have taught them to LLMs. All of them
//! come to the same tasks.

use crate::text::names::nearest_name;
use serde::{Deserialize, Serialize};

/// A language of replies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum Dialect {
    #[default]
    Cml,
    /// `#!SHAM [@three-char-SHA-256: abc]` … `#!END_SHAM_abc`
    Sham,
    /// `#!nesl [@three-char-SHA-256: abc]` … `#!end_abc`
    Nesl,
    /// `<<<FILE>>>` … `<<<END>>>`
    Replacer,
    /// A file's name, and `<<<<<<< SEARCH` … `>>>>>>> REPLACE`
    Aider,
    /// `*** Begin Patch` … `*** End Patch`
    Codex,
    /// A unified diff with the names of its files.
    Diff,
}

/// The names of each dialect, in their order: in settings and on the command line, and for people.
const NAMES: [(&str, &str); Dialect::ALL.len()] = [
    ("cml", "CML"),
    ("sham", "SHAM"),
    ("nesl", "NESL"),
    ("replacer", "the replacer's blocks"),
    ("aider", "aider's blocks"),
    ("codex", "a patch of Codex"),
    ("diff", "a unified diff"),
];

impl Dialect {
    /// All of them, CML first.
    pub const ALL: [Self; 7] = [
        Self::Cml,
        Self::Sham,
        Self::Nesl,
        Self::Replacer,
        Self::Aider,
        Self::Codex,
        Self::Diff,
    ];

    /// Its name in settings and on the command line.
    pub fn name(self) -> &'static str {
        NAMES[self as usize].0
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// The dialect of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name)
    }

    /// True if its blocks stand alone in a reply, and those that follow each other are a batch. The others mark a batch
    /// as a whole.
    pub fn has_loose_blocks(self) -> bool {
        matches!(self, Self::Sham | Self::Nesl | Self::Replacer | Self::Aider)
    }
}

/// A name that no dialect has.
#[derive(Debug, thiserror::Error)]
#[error("unknown dialect `{name}`: did you mean `{nearest}`?")]
pub struct UnknownDialect {
    name: String,
    nearest: &'static str,
}

impl TryFrom<String> for Dialect {
    type Error = UnknownDialect;

    fn try_from(name: String) -> Result<Self, UnknownDialect> {
        Self::parse(&name).ok_or_else(|| {
            let known = Self::ALL.into_iter().map(Self::name);
            let nearest = nearest_name(&name, known);
            UnknownDialect {
                nearest: nearest.unwrap_or_default(),
                name,
            }
        })
    }
}

/// A set of dialects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Dialects(u8);

impl Dialects {
    /// Every dialect.
    pub const ALL: Self = Self(u8::MAX >> (8 - Dialect::ALL.len()));

    /// True if a dialect is in it.
    pub fn has(self, dialect: Dialect) -> bool {
        self.0 & 1 << dialect as u8 != 0
    }
}

impl Default for Dialects {
    fn default() -> Self {
        Self::ALL
    }
}

impl FromIterator<Dialect> for Dialects {
    fn from_iter<I: IntoIterator<Item = Dialect>>(dialects: I) -> Self {
        let bits = dialects.into_iter().map(|dialect| 1 << dialect as u8);
        Self(bits.fold(0, |all, bit: u8| all | bit))
    }
}
