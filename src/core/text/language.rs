//! The languages that a script may be in, by their names. It never says how one is run.

/// The language of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    Bash,
    Sh,
    Python,
    JavaScript,
    Ruby,
}

impl Language {
    /// All of them, in the order of the reference.
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

    /// All its names, the main one first.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::Bash => &["bash"],
            Self::Sh => &["sh"],
            Self::Python => &["python", "python3", "py"],
            Self::JavaScript => &["javascript", "js", "node"],
            Self::Ruby => &["ruby", "rb"],
        }
    }

    /// Returns the language of a name, in any letter case.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| {
            let mut names = language.names().iter();
            names.any(|known| known.eq_ignore_ascii_case(name))
        })
    }

    /// Returns true for the languages of shells.
    pub fn is_shell(self) -> bool {
        matches!(self, Self::Bash | Self::Sh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_to_its_language() {
        for language in Language::ALL {
            for name in language.names() {
                assert_eq!(Language::parse(name), Some(language));
                assert_eq!(Language::parse(&name.to_uppercase()), Some(language));
            }
        }
        for other in ["", " bash", "shell", "perl", "pythön"] {
            assert_eq!(Language::parse(other), None, "{other}");
        }
    }
}
