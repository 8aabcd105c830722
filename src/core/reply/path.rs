//! Paths as a reply writes them, and the one way to name a place under the root. Looks at no file.

use std::fmt;

/// A place under the root: names joined by `/`, none of them `.`, `..` or `.git`; empty for the root itself.
///
/// Where symbolic links lead is not decided here but by the workspace, as it opens the path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(String);

impl RelPath {
    /// As text; empty for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The names it is made of.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }

    /// True if it is the root itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The last name; `None` for the root.
    pub fn last(&self) -> Option<&str> {
        self.names().last()
    }

    /// The start of it, without as many names as `end` has.
    fn without_end(&self, end: &Self) -> Self {
        let names: Vec<&str> = self.names().collect();
        Self(names[..names.len() - end.names().count()].join("/"))
    }

    /// The place of that name in this one.
    pub fn child(&self, name: &str) -> Self {
        Self(if self.is_root() {
            name.to_owned()
        } else {
            format!("{}/{name}", self.0)
        })
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "." } else { &self.0 })
    }
}

/// The spellings of the root's path, for reading absolute paths.
#[derive(Debug, Clone)]
pub struct Spellings {
    /// As the user wrote it, made absolute.
    pub given: String,
    /// With all links resolved.
    pub canonical: String,
    /// The home directory, for `~/`.
    pub home: Option<String>,
}

/// The reason that a path is refused before any file is looked at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("the path is empty: write one")]
    Empty,
    #[error("a path cannot hold a NUL character")]
    Nul,
    #[error("a path must be one line, but `{0}` has a line break: leave it out")]
    LineBreak(String),
    #[error("`{path}` is outside {root}: use a path relative to that folder")]
    Outside { path: String, root: String },
    #[error(
        "`{0}` is a part of a file, and only whole files and folders can be deleted or moved: edit the file, with an empty \
         replacement to take the part out"
    )]
    Part(String),
    #[error("`{path}` is in `.git`, which clada never touches: use an exec task with git")]
    Git { path: String },
}

impl RelPath {
    /// Reads a path of a reply: relative to the root, absolute inside it in either spelling, from `~/`, or absolute
    /// without its leading slash unless that relative path `exists`, or the root spelled like that: in a root `/app`
    /// with a folder `app` in it, `app/new.py` is in that folder.
    ///
    /// `.` and `..` are resolved by name first; what then ends outside the root is refused.
    ///
    /// # Errors
    /// For a path that is empty, leads outside the root or into a `.git`, or holds a NUL or a line break.
    pub fn parse(
        text: &str,
        root: &Spellings,
        exists: impl Fn(&Self) -> bool,
    ) -> Result<Self, PathError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        if text.contains('\0') {
            return Err(PathError::Nul);
        }
        if text.contains(['\n', '\r']) {
            return Err(PathError::LineBreak(text.to_owned()));
        }
        let outside = || PathError::Outside {
            path: text.to_owned(),
            root: root.canonical.clone(),
        };
        let place = match (text.strip_prefix('~'), &root.home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                root.place(&format!("{home}{rest}"))
            }
            _ if text.starts_with('/') => root.place(text),
            _ => root.place(&format!("{}/{text}", root.canonical)),
        };
        let rooted = root.place(&format!("/{text}")).filter(|place| {
            let means_itself = text.starts_with(['/', '.', '~']);
            // In a root `/app`, `app` is too likely a new file of that name.
            let is_name = place.is_root() && !text.trim_end_matches('/').contains('/');
            !means_itself && !is_name
        });
        let place = match (place, rooted) {
            (Some(place), Some(rooted))
                if !exists(&place) && !exists(&place.without_end(&rooted)) =>
            {
                rooted
            }
            (place, rooted) => place.or(rooted).ok_or_else(outside)?,
        };
        if place.names().any(is_git) {
            return Err(PathError::Git {
                path: text.to_owned(),
            });
        }
        Ok(place)
    }
}

impl Spellings {
    /// The place that an absolute path names, if it is under the root.
    pub fn place(&self, absolute: &str) -> Option<RelPath> {
        let names = resolve(absolute);
        [&self.canonical, &self.given].into_iter().find_map(|root| {
            let rest = names.strip_prefix(resolve(root).as_slice())?;
            Some(RelPath(rest.join("/")))
        })
    }
}

/// The names of an absolute path, with `.` and `..` resolved.
fn resolve(absolute: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for name in absolute.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    names
}

/// True if a name means `.git` to some file system: in any letter case, and with the characters that HFS+ ignores.
pub fn is_git(name: &str) -> bool {
    let ignored = |c: char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let mut plain = name
        .chars()
        .filter(|c| !ignored(*c))
        .flat_map(char::to_lowercase);
    ".git".chars().all(|c| plain.next() == Some(c)) && plain.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<String, PathError> {
        let root = Spellings {
            given: "/var/proj".to_owned(),
            canonical: "/private/var/proj".to_owned(),
            home: Some("/private/var".to_owned()),
        };
        let exists = |path: &RelPath| path.as_str() == "private/var/proj";
        RelPath::parse(text, &root, exists).map(|path| path.to_string())
    }

    #[test]
    fn every_spelling_of_a_place_under_the_root() {
        for (text, place) in [
            ("a.txt", "a.txt"),
            (" ./src//a.txt ", "src/a.txt"),
            ("src/../a.txt", "a.txt"),
            ("/var/proj/a.txt", "a.txt"),
            ("/private/var/proj/sub/../a.txt", "a.txt"),
            ("var/proj/a.txt", "a.txt"),
            ("private/var/proj/a.txt", "private/var/proj/a.txt"),
            ("var/proj", "."),
            ("var/proj/", "."),
            ("var", "var"),
            ("~/proj/a.txt", "a.txt"),
            ("../proj/a.txt", "a.txt"),
            (".", "."),
            ("dir/", "dir"),
            (".gitignore", ".gitignore"),
            ("~notes.txt", "~notes.txt"),
            ("a & b.txt", "a & b.txt"),
        ] {
            assert_eq!(parse(text).as_deref(), Ok(place), "{text}");
        }
    }

    #[test]
    fn what_is_no_path_says_so() {
        for (text, said) in [
            (" ", "the path is empty: write one"),
            ("a\0b", "a path cannot hold a NUL character"),
            (
                "a\nb",
                "a path must be one line, but `a\nb` has a line break: leave it out",
            ),
        ] {
            let error = parse(text).expect_err("no path");
            assert_eq!(error.to_string(), said);
        }
    }

    #[test]
    fn nothing_leads_outside_or_into_git() {
        for text in [
            "/etc/passwd",
            "../x",
            "a/../../x",
            "~/x",
            "/var/project/x",
            "/var/proj/../x",
            "~",
        ] {
            assert!(
                matches!(parse(text), Err(PathError::Outside { .. })),
                "{text}"
            );
        }
        for text in [
            ".git",
            ".git/hooks/x",
            "sub/.GIT/config",
            ".g\u{200c}it/x",
            "/var/proj/.git",
        ] {
            assert!(matches!(parse(text), Err(PathError::Git { .. })), "{text}");
        }
        assert_eq!(parse("  "), Err(PathError::Empty));
        assert_eq!(parse("a\0b"), Err(PathError::Nul));
        assert!(matches!(
            parse("a.txt\nb.txt"),
            Err(PathError::LineBreak(_))
        ));
    }
}
