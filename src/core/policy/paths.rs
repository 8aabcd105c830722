//! The paths of the project that tasks may read and change: patterns, of which the most specific decides. Looks at no file.
//!
//! A pattern is a path from the root. `*` and `?` stand for characters of one name, `**` for any number of names; the letter
//! case means nothing. One that a folder has holds for all that is in it.
//!
//! Of the patterns that a path has, the one with more names without `*` and `?` decides, then the one with more characters
//! beside them; then what is said of reading or of writing goes before what is said of both, and at last a denial before a
//! permission. A path that has none is denied.

use std::fmt;
use std::path::Path;

use serde::Deserialize;

use crate::text::mask::{fold, is_like};

/// The kinds of access to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Its text is shown.
    Read,
    Write,
}

/// A pattern as the settings have it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct PathPattern(String);

/// The reason why a text is no pattern of paths.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathPatternError {
    #[error(
        "`{0}` is not a path: write one relative to the project folder, such as `src/**` or `**/*.pem`"
    )]
    NoPath(String),
    #[error("`{0}` has a `..`: {OUTSIDE}")]
    Above(String),
    #[error(
        "`{0}` has a `[`, `{{` or `\\`, which have no meaning here: use `*`, `**` or `?` (which matches \
         these characters too)"
    )]
    Sign(String),
}

impl TryFrom<String> for PathPattern {
    type Error = PathPatternError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.split('/').all(|name| name.is_empty() || name == ".") {
            return Err(PathPatternError::NoPath(text));
        }
        if text.split('/').any(|name| name == "..") {
            return Err(PathPatternError::Above(text));
        }
        if text.contains(['[', '{', '\\']) {
            return Err(PathPatternError::Sign(text));
        }
        Ok(Self(text))
    }
}

/// The reason why a pattern of other places is refused.
const OUTSIDE: &str =
    "nothing outside the project folder can be opened, so write a path relative to that folder";

/// A list of patterns, and what it says of which access; nothing: of both.
#[derive(Debug, Clone, Copy)]
pub struct PathList<'l> {
    /// Its name.
    pub setting: &'static str,
    pub of: Option<Access>,
    pub allows: bool,
    pub patterns: &'l [PathPattern],
}

/// The rules for all paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths(Vec<Rule>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    setting: &'static str,
    of: Option<Access>,
    allows: bool,
    text: String,
    /// The names of the pattern, in parts: between them [`ANY`] stands for any number of others.
    parts: Vec<Vec<Vec<char>>>,
}

const ANY: [char; 2] = ['*', '*'];

/// The reason why a path is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Denial<'p>(Option<(&'p str, &'static str)>);

impl Denial<'_> {
    /// Tells that a pattern says so, and not only that none allows it.
    pub fn is_named(&self) -> bool {
        self.0.is_some()
    }
}

impl fmt::Display for Denial<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some((pattern, setting)) => write!(f, "`{pattern}` in `{setting}`"),
            None => f.write_str("`paths.allow` does not name it"),
        }
    }
}

impl Paths {
    /// Returns the rules of these lists under a root, which is given by its canonical path.
    ///
    /// # Errors
    /// The list with a pattern that is outside the root, and what there is to say of it.
    pub fn new(
        lists: &[PathList<'_>],
        root: &Path,
        home: &Path,
    ) -> Result<Self, (&'static str, String)> {
        let mut rules = Vec::new();
        for list in lists {
            for PathPattern(text) in list.patterns {
                let inside = from_root(text, root, home)
                    .ok_or_else(|| (list.setting, format!("`{text}`: {OUTSIDE}")))?;
                let names = inside
                    .split('/')
                    .filter(|name| !name.is_empty() && *name != ".");
                let names: Vec<Vec<char>> = names.map(fold).collect();
                rules.push(Rule {
                    setting: list.setting,
                    of: list.of,
                    allows: list.allows,
                    text: text.clone(),
                    parts: names.split(|name| *name == ANY).map(Vec::from).collect(),
                });
            }
        }
        // The one that decides comes first.
        rules.sort_by_key(|rule| {
            std::cmp::Reverse((rule.precision(), rule.of.is_some(), !rule.allows))
        });
        Ok(Self(rules))
    }

    /// Returns the reason why a path, relative to the root and with its links followed, is refused; `None` where the access
    /// is allowed.
    pub fn refuses(&self, access: Access, path: &Path) -> Option<Denial<'_>> {
        let names: Vec<Vec<char>> = path
            .iter()
            .map(|name| fold(&name.to_string_lossy()))
            .collect();
        if names.is_empty() {
            return None;
        }
        let is_meant = |rule: &&Rule| rule.of.is_none_or(|of| of == access) && rule.covers(&names);
        match self.0.iter().find(is_meant) {
            Some(rule) if rule.allows => None,
            Some(rule) => Some(Denial(Some((&rule.text, rule.setting)))),
            None => Some(Denial(None)),
        }
    }
}

impl Rule {
    /// Counts the names that stand for themselves, and the characters.
    fn precision(&self) -> (usize, usize) {
        let is_fixed = |c: &&char| !matches!(c, '*' | '?');
        let names = self.parts.iter().flatten();
        names.fold((0, 0), |(names, chars), name| {
            let fixed = name.iter().filter(is_fixed).count();
            (names + usize::from(fixed == name.len()), chars + fixed)
        })
    }

    /// Returns true if a path, or a folder that it is in, has the pattern.
    fn covers(&self, path: &[Vec<char>]) -> bool {
        let mut rest = path;
        let mut parts = self.parts.iter().enumerate();
        parts.all(|(number, part)| {
            let room = rest.len().checked_sub(part.len());
            // Behind a `**` a part may begin anywhere, and the first place leaves the most for the others.
            let last = if number == 0 { room.map(|_| 0) } else { room };
            let begins =
                |at: &usize| (0..part.len()).all(|name| is_like(&part[name], &rest[at + name]));
            let found = last.and_then(|last| (0..=last).find(begins));
            if let Some(at) = found {
                rest = &rest[at + part.len()..];
            }
            found.is_some()
        })
    }
}

/// A pattern as a path from the root; nothing where it names another place.
fn from_root(text: &str, root: &Path, home: &Path) -> Option<String> {
    let full = match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ if text.starts_with('/') => text.into(),
        _ => return Some(text.to_owned()),
    };
    let inside = full.strip_prefix(root).ok()?;
    (!inside.as_os_str().is_empty()).then(|| inside.to_string_lossy().into_owned())
}
