//! Results that were written before and could not be read yet, as they stand below newer ones.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::excerpt::Excerpt;

/// Older results.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Earlier {
    /// The time at which they were written, as it is shown.
    pub time: String,
    /// The lines between the markers of their block.
    pub lines: String,
    /// Their outputs, as they stood in their own packet.
    pub outputs: String,
}

impl Earlier {
    /// The line above them.
    pub fn title(&self) -> String {
        format!("--- {} ---\n", self.time)
    }
}

/// The files that newer results show as a whole, each with the lines around it.
#[derive(Default)]
pub(super) struct ShownFiles(HashSet<String>);

impl ShownFiles {
    /// Adds the files among these.
    pub(super) fn take(&mut self, excerpts: &[Excerpt]) {
        let texts = excerpts.iter().filter_map(Excerpt::all);
        let files = texts.filter(|text| name_in(text, START).is_some());
        self.0.extend(files.map(without_fences));
    }

    /// Older outputs without the files that newer ones show.
    pub(super) fn without_those(&mut self, outputs: &str) -> String {
        let mut text = String::new();
        let mut rest = outputs;
        while let Some(line) = rest.split_inclusive('\n').next() {
            let (file, name) = match name_in(line, START) {
                Some(name) => (file_at(rest, name), name),
                None => (None, ""),
            };
            let piece = file.unwrap_or(line);
            if file.is_some() && !self.0.insert(without_fences(piece)) {
                text += &format!("=== FILE: {name}: as shown above ===\n");
            } else {
                text += piece;
            }
            rest = &rest[piece.len()..];
        }
        text
    }
}

const START: &str = "=== START FILE: ";
const FINISH: &str = "=== END FILE: ";

/// The name in the line at the start of a text that begins or ends a file.
fn name_in<'t>(text: &'t str, mark: &str) -> Option<&'t str> {
    let line = text.lines().next()?;
    line.strip_prefix(mark)?.strip_suffix(" ===")
}

/// The file of this name at the start of a text, with the lines around it. No line in a file looks like its end.
fn file_at<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        end += line.len();
        if name_in(line, FINISH) == Some(name) {
            return Some(&text[..end]);
        }
    }
    None
}

/// The word of a fence is another one in each report.
fn without_fences(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    lines
        .filter(|line| !line.starts_with("<!-- clada:o"))
        .collect()
}
