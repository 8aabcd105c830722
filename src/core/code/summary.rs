//! A file as a map of the project needs it: its outline as text, the names that it defines and uses. Small enough to keep.

use super::graph::{DefinedName, GraphFile};
use super::{CodeLanguage, OutlineStyle, ParsedFile};

use serde::{Deserialize, Serialize};

/// The summary of a parsed file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSummary {
    /// One line for each definition.
    pub outline: String,
    /// A line for each name: `+` or, where other files cannot use it, `-`, and the name.
    pub defines: String,
    /// A line for each name: how often it is used, a blank, and the name.
    pub uses: String,
}

impl ParsedFile {
    /// Returns the summary of it.
    pub fn summary(&self) -> FileSummary {
        let language = self.outline.language;
        let is_data = language.is_data() || language == CodeLanguage::Markdown;
        let mut defines = String::new();
        for definition in &self.outline.definitions {
            let name = definition.last_name();
            // A name with a blank is never used as such.
            if definition.is_local || name.contains(char::is_whitespace) {
                continue;
            }
            let is_own = is_data || definition.is_private || definition.is_test;
            defines.push(if is_own { '-' } else { '+' });
            defines += name;
            defines.push('\n');
        }
        let uses = self
            .references
            .iter()
            .filter(|(name, _)| !name.contains('\n'));
        FileSummary {
            outline: self.outline.text(OutlineStyle::default()),
            defines,
            uses: uses
                .map(|(name, count)| format!("{count} {name}\n"))
                .collect(),
        }
    }
}

impl FileSummary {
    /// The file as a graph knows it.
    pub fn graph_file<'t>(&'t self, path: &'t str, start: f64) -> GraphFile<'t> {
        let defined = |line: &'t str| {
            let name = line.get(1..)?;
            let is_private = line.starts_with('-');
            Some(DefinedName { name, is_private })
        };
        let used = |line: &'t str| {
            let (count, name) = line.split_once(' ')?;
            Some((name, count.parse().ok()?))
        };
        GraphFile {
            path,
            defines: self.defines.lines().filter_map(defined).collect(),
            uses: self.uses.lines().filter_map(used).collect(),
            start,
        }
    }

    /// The names that other files can use.
    pub fn open_names(&self) -> impl Iterator<Item = &str> {
        self.defines
            .lines()
            .filter_map(|line| line.strip_prefix('+'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{Definition, Outline};

    /// Other code writes `w.Draw()`, not `Widget@@Draw`.
    #[test]
    fn a_definition_is_known_by_the_name_that_other_code_calls_it_by() {
        let parsed = ParsedFile {
            outline: Outline {
                language: CodeLanguage::Go,
                lines: 1,
                errors: Vec::new(),
                error_count: 0,
                verbatim: Vec::new(),
                definitions: vec![Definition {
                    name: "Widget@@Draw".into(),
                    ..Definition::default()
                }],
                is_cut: false,
            },
            references: Vec::new(),
        };
        assert_eq!(parsed.summary().open_names().collect::<Vec<_>>(), ["Draw"]);
    }
}
