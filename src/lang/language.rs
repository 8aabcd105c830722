//! The languages that a script can be written in, by their names. Knows no program that runs them.

/// What a script is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    Bash,
    Sh,
    Python,
    JavaScript,
    Ruby,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Bash,
        Self::Sh,
        Self::Python,
        Self::JavaScript,
        Self::Ruby,
    ];

    /// The main name.
    pub fn name(self) -> &'static str {
        self.names()[0]
    }

    /// The language of that name, in any letter case.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| {
            language
                .names()
                .iter()
                .any(|n| n.eq_ignore_ascii_case(name))
        })
    }

    /// Whether it is a shell's.
    pub fn is_shell(self) -> bool {
        matches!(self, Self::Bash | Self::Sh)
    }

    /// Every name it answers to, the main one first.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::Bash => &["bash"],
            Self::Sh => &["sh"],
            Self::Python => &["python", "python3", "py"],
            Self::JavaScript => &["javascript", "js", "node"],
            Self::Ruby => &["ruby", "rb"],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for language in Language::ALL {
            assert_eq!(Language::parse(language.name()), Some(language));
        }
        assert_eq!(Language::parse("PY"), Some(Language::Python));
        assert_eq!(Language::parse("python3"), Some(Language::Python));
        assert_eq!(Language::parse("Node"), Some(Language::JavaScript));
        assert_eq!(Language::parse("js"), Some(Language::JavaScript));
        assert_eq!(Language::parse("rb"), Some(Language::Ruby));
        assert_eq!(Language::parse(""), None);
        assert_eq!(Language::parse("python2"), None);
    }
}
