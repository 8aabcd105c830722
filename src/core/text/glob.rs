//! Patterns of file names as replies write them: `*.rs`, `src/**/*.{ts,tsx}`. Looks at no file.

use globset::{GlobBuilder, GlobMatcher};

/// A longer pattern, or one with more braces, is refused: braces in braces go deep when it is compiled.
const LONGEST: usize = 1000;
const MOST_BRACES: usize = 50;

/// The error of a pattern that is none, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GlobError(String);

/// A pattern that paths are compared with.
#[derive(Debug, Clone)]
pub struct Glob {
    matcher: GlobMatcher,
    /// It has no `/`.
    is_name: bool,
    /// The number of names in a path that matches; `None` for any number.
    pub depth: Option<usize>,
}

impl Glob {
    /// Reads a pattern. `*` and `?` match within a name, `**` any number of folders.
    ///
    /// # Errors
    /// For a pattern that is invalid or too large.
    pub fn parse(pattern: &str) -> Result<Self, GlobError> {
        let plain = pattern.trim_start_matches("./");
        if plain.len() > LONGEST || plain.matches('{').count() > MOST_BRACES {
            return Err(GlobError(format!(
                "this glob of {} bytes is too long or has too many braces: split it into several",
                plain.len()
            )));
        }
        let glob = GlobBuilder::new(plain).literal_separator(true).build();
        let invalid = |error: globset::Error| {
            GlobError(format!("`{pattern}` is not a valid glob: {}", error.kind()))
        };
        let glob = glob.map_err(invalid)?;
        let names = plain.split('/').count();
        // A `/` may be in the braces.
        let is_bounded = !plain.contains("**") && !plain.contains('{');
        Ok(Self {
            matcher: glob.compile_matcher(),
            is_name: !plain.contains('/'),
            depth: is_bounded.then_some(names),
        })
    }

    /// Returns whether a path matches, from the folder on in which the pattern begins.
    pub fn matches(&self, path: &str) -> bool {
        self.matcher.is_match(path)
    }

    /// Returns whether a file matches: by its name if the pattern has no folder, otherwise by its path.
    pub fn includes(&self, path: &str) -> bool {
        match path.rsplit_once('/') {
            Some((_, name)) if self.is_name => self.matches(name),
            _ => self.matches(path),
        }
    }
}

/// Splits a pattern into the folders that it begins with and the rest: `src/lang` and `**/*.rs`.
pub fn split(pattern: &str) -> (&str, &str) {
    let literal = pattern.find(['*', '?', '[', '{', '\\']);
    // A last `/` says that a folder is meant.
    let names = pattern.trim_end_matches('/');
    match names[..literal.unwrap_or(names.len())].rfind('/') {
        Some(0) => ("/", &pattern[1..]),
        Some(end) => (&pattern[..end], &pattern[end + 1..]),
        None => ("", pattern),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pattern_means() {
        let matches = |pattern, path| Glob::parse(pattern).unwrap().matches(path);
        for (pattern, path) in [
            ("*.rs", "a.rs"),
            ("./*.rs", "a.rs"),
            ("**/*.rs", "a.rs"),
            ("**/*.rs", "src/lang/a.rs"),
            ("src/**", "src/lang/a.rs"),
            ("src/**/*.{ts,tsx}", "src/a.tsx"),
            ("*", ".env"),
        ] {
            assert!(matches(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("*.rs", "src/a.rs"),
            ("src/*", "src/lang/a.rs"),
            ("*.rs", "a.RS"),
        ] {
            assert!(!matches(pattern, path), "{pattern} {path}");
        }
        assert!(Glob::parse("*.rs").unwrap().includes("src/a.rs"));
        assert!(!Glob::parse("src/*.rs").unwrap().includes("a/src/a.rs"));
        assert!(Glob::parse("a[").is_err());
        assert!(Glob::parse("{a").is_err());
    }

    #[test]
    fn how_deep_a_pattern_goes() {
        let depth = |pattern| Glob::parse(pattern).unwrap().depth;
        assert_eq!(depth("*.rs"), Some(1));
        assert_eq!(depth("*/*.rs"), Some(2));
        assert_eq!(depth("**/*.rs"), None);
        assert_eq!(depth("{a,b/c}.rs"), None);
    }

    #[test]
    fn the_folders_before_the_first_wildcard() {
        for (pattern, folders, rest) in [
            ("*.rs", "", "*.rs"),
            ("src/*.rs", "src", "*.rs"),
            ("src/lang/**/a.rs", "src/lang", "**/a.rs"),
            ("src/a.rs", "src", "a.rs"),
            ("src/lang/", "src", "lang/"),
            ("src/l*/a.rs", "src", "l*/a.rs"),
            ("/src/*.rs", "/src", "*.rs"),
            ("/*.rs", "/", "*.rs"),
            ("", "", ""),
            ("/", "", "/"),
            ("a{b,c/d}", "", "a{b,c/d}"),
        ] {
            assert_eq!(split(pattern), (folders, rest), "{pattern}");
        }
    }
}
