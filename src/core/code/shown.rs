//! An outline as text: one line a definition, for an LLM to read.

use std::fmt::Write as _;

use super::{DEEPEST, MOST_DEFINITIONS, Outline};

/// No more than this of a header is shown, in characters.
const HEADER: usize = 200;

/// The choice of what an outline shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutlineStyle {
    /// Leaves out tests, and what other files cannot use.
    pub only_public: bool,
}

impl Outline {
    /// One line for each definition, indented by what it is in: its lines, its text up to the body, and ` // 12 lines` where a
    /// body is left out.
    pub fn text(&self, style: OutlineStyle) -> String {
        let shown = self.shown(style);
        let range = |at: usize| {
            let definition = &self.definitions[at];
            match (definition.first_line, definition.last_line) {
                (first, last) if first >= last => first.to_string(),
                (first, last) => format!("{first}-{last}"),
            }
        };
        let width = shown
            .iter()
            .map(|at| range(*at).len())
            .max()
            .unwrap_or_default();
        let mut has_shown = vec![false; self.definitions.len()];
        for outer in shown.iter().filter_map(|at| self.definitions[*at].parent) {
            has_shown[outer] = true;
        }
        let mut text = String::new();
        for &at in &shown {
            let depth = self.chain(at).len() - 1;
            let lines = range(at);
            let _ = write!(text, "{lines:<width$}  {:1$}", "", 2 * depth);
            text += &clipped(&self.definitions[at].header);
            let remarks = self.remarks(at, has_shown[at]);
            if !remarks.is_empty() {
                let _ = write!(text, " // {}", remarks.join(", "));
            }
            text.push('\n');
        }
        if self.is_cut {
            let _ = writeln!(
                text,
                "// incomplete: only the first {MOST_DEFINITIONS} definitions are known, and none deeper than {DEEPEST} levels"
            );
        }
        text
    }

    /// The definitions that are shown.
    fn shown(&self, style: OutlineStyle) -> Vec<usize> {
        let is_left_out = |at: &usize| {
            let definition = &self.definitions[*at];
            definition.is_private || definition.is_test
        };
        let all = (0..self.definitions.len()).filter(|at| !self.definitions[*at].is_local);
        all.filter(|at| !style.only_public || !self.chain(*at).iter().any(is_left_out))
            .collect()
    }

    /// The remarks behind a definition, of which something inside is shown or nothing.
    fn remarks(&self, at: usize, has_inner: bool) -> Vec<String> {
        let definition = &self.definitions[at];
        let mut remarks = Vec::new();
        let outer = definition.parent.map(|outer| &self.definitions[outer]);
        if definition.is_test && outer.is_none_or(|outer| !outer.is_test) {
            remarks.push("test".to_owned());
        } else if definition.is_private && outer.is_none_or(|outer| !outer.is_test) {
            remarks.push("private".to_owned());
        }
        let left_out = definition.last_line.saturating_sub(definition.header_line);
        match left_out {
            _ if definition.body.is_none() || has_inner => {}
            0 => {}
            1 => remarks.push("1 line".to_owned()),
            count => remarks.push(format!("{count} lines")),
        }
        remarks
    }
}

fn clipped(header: &str) -> String {
    match header.char_indices().nth(HEADER) {
        None => header.to_owned(),
        Some((end, _)) => format!("{}…", &header[..end]),
    }
}
