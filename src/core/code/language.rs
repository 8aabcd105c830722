//! The languages that a grammar of clada's can read, told by the names of files. Says nothing of which were built in.

use serde::{Deserialize, Serialize};

/// A language with definitions that an address can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CodeLanguage {
    Rust,
    Python,
    JavaScript,
    TypeScript,
    Tsx,
    Go,
    Java,
    C,
    Cpp,
    CSharp,
    Ruby,
    Php,
    Bash,
    Markdown,
    Toml,
    Yaml,
    Json,
}

impl CodeLanguage {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::Rust,
        Self::Python,
        Self::JavaScript,
        Self::TypeScript,
        Self::Tsx,
        Self::Go,
        Self::Java,
        Self::C,
        Self::Cpp,
        Self::CSharp,
        Self::Ruby,
        Self::Php,
        Self::Bash,
        Self::Markdown,
        Self::Toml,
        Self::Yaml,
        Self::Json,
    ];

    /// Its usual name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::Python => "Python",
            Self::JavaScript => "JavaScript",
            Self::TypeScript => "TypeScript",
            Self::Tsx => "TSX",
            Self::Go => "Go",
            Self::Java => "Java",
            Self::C => "C",
            Self::Cpp => "C++",
            Self::CSharp => "C#",
            Self::Ruby => "Ruby",
            Self::Php => "PHP",
            Self::Bash => "Bash",
            Self::Markdown => "Markdown",
            Self::Toml => "TOML",
            Self::Yaml => "YAML",
            Self::Json => "JSON",
        }
    }

    /// The endings of the names of its files.
    pub fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Rust => &["rs"],
            Self::Python => &["py", "pyi", "pyw"],
            Self::JavaScript => &["js", "mjs", "cjs", "jsx"],
            Self::TypeScript => &["ts", "mts", "cts"],
            Self::Tsx => &["tsx"],
            Self::Go => &["go"],
            Self::Java => &["java"],
            Self::C => &["c", "h"],
            Self::Cpp => &[
                "cpp", "cc", "cxx", "c++", "hpp", "hh", "hxx", "h++", "ipp", "inl",
            ],
            Self::CSharp => &["cs"],
            Self::Ruby => &["rb", "rake", "gemspec"],
            Self::Php => &["php"],
            Self::Bash => &["sh", "bash"],
            Self::Markdown => &["md", "markdown"],
            Self::Toml => &["toml"],
            Self::Yaml => &["yaml", "yml"],
            Self::Json => &["json"],
        }
    }

    /// True if its definitions are the keys of data.
    pub fn is_data(self) -> bool {
        matches!(self, Self::Toml | Self::Yaml | Self::Json)
    }

    /// The mark between a name and the one that it is in.
    pub fn separator(self) -> &'static str {
        match self {
            Self::Rust | Self::Cpp | Self::Php | Self::Ruby => "::",
            _ => ".",
        }
    }

    /// The language of a file, by its name and, where that says nothing, by the line that names its interpreter. A header of C
    /// that has words of C++ is one of C++.
    pub fn of(path: &str, text: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let ending = name
            .rsplit_once('.')
            .map(|(_, ending)| ending.to_ascii_lowercase());
        let named = ending.and_then(|ending| {
            let has = |language: &Self| language.endings().contains(&ending.as_str());
            Self::ALL.into_iter().find(has)
        });
        match (named, name) {
            (Some(Self::C), _) if name.ends_with(".h") && looks_like_cpp(text) => Some(Self::Cpp),
            (Some(language), _) => Some(language),
            (None, "Rakefile" | "Gemfile") => Some(Self::Ruby),
            (None, "Cargo.lock" | "poetry.lock" | "uv.lock") => Some(Self::Toml),
            (None, _) => of_interpreter(text.lines().next()?),
        }
    }
}

/// The language of a script, by its first line.
fn of_interpreter(line: &str) -> Option<CodeLanguage> {
    let program = line.strip_prefix("#!")?;
    let words = program
        .split_whitespace()
        .map(|word| word.rsplit('/').next().unwrap_or(word));
    let program = words
        .into_iter()
        .find(|word| *word != "env" && !word.starts_with('-'))?;
    let program = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    Some(match program {
        "sh" | "bash" | "dash" => CodeLanguage::Bash,
        "python" => CodeLanguage::Python,
        "node" => CodeLanguage::JavaScript,
        "ruby" => CodeLanguage::Ruby,
        "php" => CodeLanguage::Php,
        _ => return None,
    })
}

/// True if a line of a header begins as only C++ does.
fn looks_like_cpp(text: &str) -> bool {
    let starts = [
        "class ",
        "namespace ",
        "template <",
        "template<",
        "using ",
        "public:",
        "private:",
        "protected:",
    ];
    text.lines().any(|line| {
        let line = line.trim_start();
        starts.iter().any(|start| line.starts_with(start))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_told_by_name_or_interpreter() {
        for (path, text, language) in [
            ("src/a.rs", "", Some(CodeLanguage::Rust)),
            ("a.PY", "", Some(CodeLanguage::Python)),
            ("a.h", "int x;\n", Some(CodeLanguage::C)),
            ("a.h", "#pragma once\nclass A;\n", Some(CodeLanguage::Cpp)),
            ("Gemfile", "", Some(CodeLanguage::Ruby)),
            (
                "tool",
                "#!/usr/bin/env -S python3.12 -u\n",
                Some(CodeLanguage::Python),
            ),
            ("tool", "#!/bin/sh -e\n", Some(CodeLanguage::Bash)),
            ("tool", "#!/usr/bin/awk -f\n", None),
            ("a.txt", "", None),
            ("md", "", None),
        ] {
            assert_eq!(CodeLanguage::of(path, text), language, "{path} {text}");
        }
    }

    #[test]
    fn an_ending_is_of_one_language() {
        let mut endings: Vec<&str> = CodeLanguage::ALL
            .iter()
            .flat_map(|it| it.endings())
            .copied()
            .collect();
        let all = endings.len();
        endings.sort_unstable();
        endings.dedup();
        assert_eq!(endings.len(), all);
    }
}
