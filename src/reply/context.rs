//! The files that a chat works with: a set of paths, each whole or some of its lines. Reads no file.

use serde::{Deserialize, Serialize};

use crate::text::lines::LineRange;

/// Files by their paths, in the order in which they came.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextSet {
    pub files: Vec<ContextFile>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextFile {
    /// Relative to the root.
    pub path: String,
    /// First and last lines, in order and apart from each other; none for the whole file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lines: Vec<(usize, usize)>,
}

impl ContextSet {
    /// Puts a file in, or some lines of it: it takes nothing out, so what is in whole stays whole.
    pub fn add(&mut self, path: &str, lines: Option<LineRange>) {
        let lines = lines.into_iter().map(|lines| (lines.first, lines.last));
        let lines: Vec<(usize, usize)> = lines.collect();
        match self.files.iter_mut().find(|file| file.path == path) {
            None => self.files.push(ContextFile {
                path: path.to_owned(),
                lines,
            }),
            Some(file) if file.lines.is_empty() || lines.is_empty() => file.lines.clear(),
            Some(file) => file.lines = joined(file.lines.iter().copied().chain(lines).collect()),
        }
    }

    /// Takes a file out. Returns true if it was in.
    pub fn remove(&mut self, path: &str) -> bool {
        let before = self.files.len();
        self.files.retain(|file| file.path != path);
        self.files.len() < before
    }
}

impl ContextFile {
    /// The ranges of lines; none for the whole file.
    pub fn lines(&self) -> impl Iterator<Item = LineRange> {
        let lines = self.lines.iter().copied();
        lines.map(|(first, last)| LineRange { first, last })
    }

    /// The ranges as text, `1-20,40`; `None` for the whole file.
    pub fn lines_text(&self) -> Option<String> {
        let texts: Vec<String> = self.lines().map(|lines| range_text(&lines)).collect();
        (!texts.is_empty()).then(|| texts.join(","))
    }
}

/// A range as it is written.
pub fn range_text(lines: &LineRange) -> String {
    match lines.count() {
        1 => lines.first.to_string(),
        _ => format!("{}-{}", lines.first, lines.last),
    }
}

/// Ranges in order, those that touch as one.
fn joined(mut ranges: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    ranges.sort_unstable();
    let mut apart: Vec<(usize, usize)> = Vec::new();
    for (first, last) in ranges {
        match apart.last_mut() {
            Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
            _ => apart.push((first, last)),
        }
    }
    apart
}

/// The amount of something to read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    pub files: usize,
    pub lines: usize,
    pub bytes: usize,
}

impl Amount {
    /// Counts a text in.
    pub fn add(&mut self, text: &str) {
        self.lines += text.lines().count();
        self.bytes += text.len();
    }

    /// The number of tokens that an LLM makes of it, about.
    pub fn tokens(&self) -> usize {
        self.bytes.div_ceil(4)
    }

    /// As words: `3 files, 120 lines, 4.1 KiB, about 1050 tokens`.
    pub fn text(&self) -> String {
        let counted = |number, what| match number {
            1 => format!("1 {what}"),
            _ => format!("{number} {what}s"),
        };
        format!(
            "{}, {}, {}, about {}",
            counted(self.files, "file"),
            counted(self.lines, "line"),
            crate::text::size::show(self.bytes as u64),
            counted(self.tokens(), "token"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(adds: &[(&str, Option<&str>)]) -> Vec<(String, Option<String>)> {
        let mut set = ContextSet::default();
        for (path, lines) in adds {
            set.add(path, lines.map(|lines| LineRange::parse(lines).unwrap()));
        }
        let files = set.files.iter();
        files
            .map(|file| (file.path.clone(), file.lines_text()))
            .collect()
    }

    #[test]
    fn what_is_added_adds_up() {
        let lines = |adds: &[&str]| {
            let adds: Vec<_> = adds.iter().map(|lines| ("a", Some(*lines))).collect();
            set(&adds)[0].1.clone().unwrap()
        };
        assert_eq!(lines(&["5-9", "1-3"]), "1-3,5-9");
        assert_eq!(lines(&["1-3", "4-9"]), "1-9");
        assert_eq!(lines(&["1-9", "2-3"]), "1-9");
        assert_eq!(lines(&["7", "7"]), "7");
        assert_eq!(lines(&["10-20", "1-2", "4", "3-9"]), "1-20");
        for whole in [
            [("a", None), ("a", Some("1-2"))],
            [("a", Some("1-2")), ("a", None)],
        ] {
            assert_eq!(set(&whole), [("a".to_owned(), None)]);
        }
    }

    #[test]
    fn a_set_survives_being_written() {
        let mut set = ContextSet::default();
        set.add("a", None);
        set.add("b \"c\"", LineRange::parse("3-4").ok());
        let text = serde_json::to_string(&set).unwrap();
        assert_eq!(
            text,
            r#"{"files":[{"path":"a"},{"path":"b \"c\"","lines":[[3,4]]}]}"#
        );
        assert_eq!(serde_json::from_str::<ContextSet>(&text).unwrap(), set);
        assert!(set.remove("a"));
        assert!(!set.remove("a"));
    }
}
