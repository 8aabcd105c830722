//! Finds the program that a script is for: its names, its place in PATH, its version. Starts nothing.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::text::language::Language;

/// A program, and the name that it was found by.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FoundProgram {
    pub(super) name: String,
    pub(super) file: PathBuf,
}

/// A name to look for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProgramName {
    pub(super) name: String,
    /// It holds the version that is wanted; any other program has to be asked for its version.
    pub(super) says_version: bool,
}

/// Lists the names to look for, the best first: `python3.11`, `python3`, `python` for Python 3.11.
pub(super) fn candidates(lang: Language, version: Option<&str>) -> Vec<ProgramName> {
    let mut found: Vec<ProgramName> = Vec::new();
    let mut add = |name: String, says_version| {
        if found.iter().all(|known| known.name != name) {
            found.push(ProgramName { name, says_version });
        }
    };
    let stem = stem(lang);
    if let Some(version) = version.filter(|_| !is_shell(lang)) {
        add(format!("{stem}{version}"), true);
        // For 3.11.2 a `python3.11` may be right as well.
        for (end, _) in version.rmatch_indices('.') {
            add(format!("{stem}{}", &version[..end]), false);
        }
    }
    if lang == Language::Python {
        add("python3".to_owned(), false);
    }
    add(stem.to_owned(), false);
    found
}

pub(super) fn is_shell(lang: Language) -> bool {
    matches!(lang, Language::Bash | Language::Sh)
}

/// Returns the beginning of the names of a language's programs.
fn stem(lang: Language) -> &'static str {
    match lang {
        Language::Bash => "bash",
        Language::Sh => "sh",
        Language::Python => "python",
        Language::JavaScript => "node",
        Language::Ruby => "ruby",
    }
}

/// The first program of that name in PATH. Relative entries are passed over: they would name a file of the project.
pub(super) fn find(name: &str, path: &OsStr) -> Option<FoundProgram> {
    let mut files = dirs(path).map(|dir| dir.join(name));
    let file = files.find(|file| is_program(file))?;
    Some(FoundProgram {
        name: name.to_owned(),
        file,
    })
}

fn dirs(path: &OsStr) -> impl Iterator<Item = PathBuf> {
    env::split_paths(path).filter(|dir| dir.is_absolute())
}

fn is_program(file: &Path) -> bool {
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}

/// The version in what a program says of itself: `Python 3.11.7`, `v20.1.0`, `ruby 3.1.2p20 (2022-04-12)`.
pub(super) fn said_version(said: &str) -> Option<&str> {
    said.split_whitespace().find_map(|word| {
        let word = word.strip_prefix('v').unwrap_or(word);
        let is_other = |c: char| !c.is_ascii_digit() && c != '.';
        let number = word.split(is_other).next()?.trim_end_matches('.');
        number
            .starts_with(|c: char| c.is_ascii_digit())
            .then_some(number)
    })
}

/// Returns true if a version is the wanted one as far as that goes: 3.11.7 is 3.11 and 3, but not 3.1.
pub(super) fn is_version(version: &str, wanted: &str) -> bool {
    let mut parts = version.split('.');
    wanted.split('.').all(|part| parts.next() == Some(part))
}

/// A program that was looked for in vain, and what there is.
#[derive(Debug)]
pub struct Missing {
    lang: Language,
    version: Option<String>,
    sought: Vec<String>,
    there: Vec<String>,
}

impl Missing {
    pub(super) fn new(lang: Language, version: Option<&str>) -> Self {
        Self {
            lang,
            version: version.map(str::to_owned),
            sought: Vec::new(),
            there: Vec::new(),
        }
    }

    /// The first name that it was looked for by.
    pub fn name(&self) -> &str {
        self.sought.first().map_or(stem(self.lang), String::as_str)
    }

    /// A name that was looked for, and if it was found what its program says of its version.
    pub(super) fn sought(&mut self, name: &str, found: Option<Option<&str>>) {
        self.sought.push(format!("`{name}`"));
        match found {
            Some(Some(version)) => self.there.push(format!("`{name}` {version}")),
            Some(None) => self
                .there
                .push(format!("`{name}`, which prints no version")),
            None => {}
        }
    }

    /// Adds the programs whose names hold another version.
    pub(super) fn look_around(&mut self, path: &OsStr) {
        if is_shell(self.lang) {
            return;
        }
        let entries = dirs(path).filter_map(|dir| fs::read_dir(dir).ok());
        let names = entries.flatten().flatten().filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let version = name.strip_prefix(stem(self.lang))?;
            let is_version = version.starts_with(|c: char| c.is_ascii_digit())
                && version.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            (is_version && is_program(&entry.path())).then(|| format!("`{name}`"))
        });
        let names: BTreeSet<String> = names.filter(|name| !self.sought.contains(name)).collect();
        self.there.extend(names);
    }
}

impl Display for Missing {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "no {}", self.lang.name())?;
        if let Some(version) = &self.version {
            write!(f, " {version}")?;
        }
        write!(f, " in PATH: looked for {}", self.sought.join(", "))?;
        if self.there.is_empty() {
            return write!(f, "; install it, or write the script in another language");
        }
        write!(f, "; found {}: ", self.there.join(", "))?;
        match self.version {
            Some(_) => write!(f, "name a version that was found, or leave `version` out"),
            None => write!(f, "name a version that was found with `version`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(lang: Language, version: Option<&str>) -> String {
        let shown = candidates(lang, version).into_iter().map(|candidate| {
            let sign = if candidate.says_version { "!" } else { "" };
            candidate.name + sign
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_best_name_is_first() {
        assert_eq!(names(Language::Python, None), "python3 python");
        assert_eq!(
            names(Language::Python, Some("3.11")),
            "python3.11! python3 python"
        );
        assert_eq!(names(Language::Python, Some("3")), "python3! python");
        assert_eq!(
            names(Language::Python, Some("3.11.2")),
            "python3.11.2! python3.11 python3 python"
        );
        assert_eq!(names(Language::JavaScript, Some("20")), "node20! node");
        assert_eq!(names(Language::Ruby, None), "ruby");
        assert_eq!(names(Language::Bash, Some("5")), "bash");
        assert_eq!(names(Language::Sh, None), "sh");
    }

    #[test]
    fn versions_are_compared_part_by_part() {
        assert!(
            is_version("3.11.7", "3.11") && is_version("3.11", "3.11") && is_version("3.11", "3")
        );
        assert!(
            !is_version("3.11.7", "3.1") && !is_version("3.1", "3.11") && !is_version("3", "3.0")
        );
    }

    #[test]
    fn programs_say_their_versions_in_their_own_ways() {
        assert_eq!(said_version("Python 3.11.7\n"), Some("3.11.7"));
        assert_eq!(said_version("Python 3.14.0rc1"), Some("3.14.0"));
        assert_eq!(said_version("v20.20.2\n"), Some("20.20.2"));
        assert_eq!(
            said_version("ruby 3.1.2p20 (2022-04-12 revision 4491)"),
            Some("3.1.2")
        );
        assert_eq!(
            said_version("GNU bash, version 5.2.15(1)-release"),
            Some("5.2.15")
        );
        assert_eq!(said_version("no number at all, vv"), None);
    }

    #[test]
    fn programs_are_found_in_absolute_entries_of_path_only() {
        let found = |name, path| find(name, OsStr::new(path)).map(|program| program.file);
        assert_eq!(found("sh", "/no/such:/bin"), Some("/bin/sh".into()));
        assert_eq!(found("passwd", "/etc"), None, "not executable");
        assert_eq!(found("etc", "/"), None, "a directory");
        assert_eq!(found("shell.rs", ".:src/world:"), None);
    }
}
