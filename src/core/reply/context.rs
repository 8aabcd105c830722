//! The files that a chat works with: a set of paths, each with what of it is shown. Reads no file.

use std::mem;

use serde::{Deserialize, Serialize};

use crate::code::address;
use crate::text::lines::LineRange;
use crate::text::{size, tokens};

/// Entries by their paths, in the order in which they came.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextSet {
    pub files: Vec<ContextEntry>,
}

/// One of them: a file, a folder, a glob, or a definition in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextEntry {
    /// Relative to the root.
    pub path: String,
    /// The names of a definition in that file, as an address has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<String>,
    /// First and last lines, in order and apart from each other; none for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lines: Vec<(usize, usize)>,
    #[serde(default, skip_serializing_if = "ContextLevel::is_full")]
    pub level: ContextLevel,
}

/// The part of a file that the chat sees; the fuller comes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContextLevel {
    #[default]
    Full,
    /// Its definitions, each in a line.
    Outline,
    /// Its path and size only.
    Name,
}

impl ContextLevel {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Full, Self::Outline, Self::Name];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Outline => "outline",
            Self::Name => "name",
        }
    }

    /// Reads its word, in any letter case.
    pub fn parse(word: &str) -> Option<Self> {
        let word = word.trim();
        let mut all = Self::ALL.into_iter();
        all.find(|level| level.word().eq_ignore_ascii_case(word))
    }

    fn is_full(&self) -> bool {
        *self == Self::Full
    }
}

impl ContextSet {
    /// Adds an entry. Lines are joined with those that are in, and a level that is new takes the place of the old one.
    pub fn add(&mut self, entry: ContextEntry) {
        let is_of = |it: &ContextEntry| it.path == entry.path && it.names == entry.names;
        // What is in as a whole and in full has all lines in it.
        let is_all = |it: &ContextEntry| it.lines.is_empty() && it.level.is_full();
        if is_all(&entry) {
            self.files.retain(|it| !is_of(it) || it.lines.is_empty());
        } else if !entry.lines.is_empty() && self.files.iter().any(|it| is_of(it) && is_all(it)) {
            return;
        }
        let has_lines = |it: &ContextEntry| !it.lines.is_empty();
        let mut known = self.files.iter_mut();
        match known.find(|it| is_of(it) && has_lines(it) == has_lines(&entry)) {
            None => self.files.push(entry),
            Some(known) => {
                known.lines.extend(&entry.lines);
                known.lines = joined(mem::take(&mut known.lines));
                known.level = entry.level;
            }
        }
    }

    /// Takes out all of a path, the definition in it that is named, or an entry as it is listed. Returns true if it was in.
    pub fn remove(&mut self, path: &str, names: Option<&str>) -> bool {
        let before = self.files.len();
        let is_it = |entry: &ContextEntry| match names {
            Some(_) => entry.path == path && entry.names.as_deref() == names,
            None => entry.path == path || entry.text() == path,
        };
        self.files.retain(|entry| !is_it(entry));
        self.files.len() < before
    }
}

impl ContextEntry {
    /// Returns an entry with some lines, or all where there are none.
    pub fn new(path: &str, names: Option<&str>, lines: &[LineRange], level: ContextLevel) -> Self {
        Self {
            path: path.to_owned(),
            names: names.map(str::to_owned),
            lines: joined(lines.iter().map(|it| (it.first, it.last)).collect()),
            level,
        }
    }

    /// The ranges of lines; none for all.
    pub fn lines(&self) -> impl Iterator<Item = LineRange> {
        let lines = self.lines.iter().copied();
        lines.map(|(first, last)| LineRange { first, last })
    }

    /// The ranges as text, `1-20,40`; `None` for all.
    pub fn lines_text(&self) -> Option<String> {
        let texts: Vec<String> = self.lines().map(|lines| range_text(&lines)).collect();
        (!texts.is_empty()).then(|| texts.join(","))
    }

    /// True for lines of a file, or a definition in it.
    pub fn is_part(&self) -> bool {
        self.names.is_some() || !self.lines.is_empty()
    }

    /// Its path, with the names of a definition.
    pub fn name(&self) -> String {
        address::written(&self.path, self.names.as_deref())
    }

    /// The entry as a person writes it: `src/app.rs`, `src/app.rs:1-20,40`, `src/app.rs@@Widget`.
    pub fn text(&self) -> String {
        let lines = self.lines_text();
        let lines = lines.map_or(String::new(), |lines| format!(":{lines}"));
        format!("{}{lines}", self.name())
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
    /// About as many as an LLM makes of it.
    pub tokens: usize,
}

impl Amount {
    /// Counts a text in, which has so many tokens.
    pub fn add(&mut self, text: &str, tokens: usize) {
        self.lines += text.lines().count();
        self.bytes += text.len();
        self.tokens += tokens;
    }

    /// As words: `3 files, 120 lines, 4.1 KiB, ≈ 1,050 tokens`.
    pub fn text(&self) -> String {
        let counted = |number, what| match number {
            1 => format!("1 {what}"),
            _ => format!("{} {what}s", size::grouped(number as u64)),
        };
        format!(
            "{}, {}, {}, {}",
            counted(self.files, "file"),
            counted(self.lines, "line"),
            size::show(self.bytes as u64),
            tokens::show(self.tokens),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: ContextLevel = ContextLevel::Full;

    fn entry(path: &str, lines: Option<&str>, level: ContextLevel) -> ContextEntry {
        let lines: Vec<LineRange> = lines
            .into_iter()
            .map(|lines| LineRange::parse(lines).unwrap())
            .collect();
        ContextEntry::new(path, None, &lines, level)
    }

    fn set(adds: &[(&str, Option<&str>)]) -> Vec<(String, Option<String>)> {
        let mut set = ContextSet::default();
        for (path, lines) in adds {
            set.add(entry(path, *lines, FULL));
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
    fn a_set_survives_being_written_and_older_ones_are_read() {
        let mut set = ContextSet::default();
        set.add(entry("a", None, FULL));
        set.add(entry("b \"c\"", Some("3-4"), FULL));
        let text = serde_json::to_string(&set).unwrap();
        assert_eq!(
            text,
            r#"{"files":[{"path":"a"},{"path":"b \"c\"","lines":[[3,4]]}]}"#
        );
        assert_eq!(serde_json::from_str::<ContextSet>(&text).unwrap(), set);
        set.add(entry("src", None, ContextLevel::Outline));
        set.add(ContextEntry::new("a", Some("f"), &[], FULL));
        let text = serde_json::to_string(&set).unwrap();
        assert!(
            text.ends_with(r#"{"path":"src","level":"outline"},{"path":"a","names":"f"}]}"#),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<ContextSet>(&text).unwrap(), set);
        assert!(set.remove("a", Some("f")) && !set.remove("a", Some("f")));
        assert!(set.remove("a", None) && !set.remove("a", None));
    }

    #[test]
    fn lines_stand_beside_an_outline_and_go_into_the_whole() {
        let texts = |adds: &[(Option<&str>, ContextLevel)]| {
            let mut set = ContextSet::default();
            for (lines, level) in adds {
                set.add(entry("a", *lines, *level));
            }
            let texts = set.files.iter();
            let texts: Vec<String> = texts
                .map(|it| format!("{} {}", it.level.word(), it.text()))
                .collect();
            texts.join(", ")
        };
        let outline = ContextLevel::Outline;
        assert_eq!(texts(&[(None, outline)]), "outline a");
        assert_eq!(texts(&[(None, outline), (None, FULL)]), "full a");
        assert_eq!(texts(&[(None, FULL), (None, outline)]), "outline a");
        let both = "outline a, full a:1,3-4";
        let lines = [(Some("3-4"), FULL), (Some("1"), FULL)];
        assert_eq!(texts(&[(None, outline), lines[0], lines[1]]), both);
        assert_eq!(texts(&[(None, outline), lines[1], lines[0]]), both);
        assert_eq!(texts(&[(None, outline), lines[0], (None, FULL)]), "full a");
        assert_eq!(texts(&[(None, FULL), lines[0]]), "full a");
    }

    #[test]
    fn an_entry_is_taken_out_as_it_is_listed() {
        let mut set = ContextSet::default();
        set.add(entry("a", None, ContextLevel::Outline));
        set.add(entry("a", Some("3-4"), FULL));
        assert!(!set.remove("a:3", None) && set.remove("a:3-4", None));
        assert_eq!(set.files.len(), 1);
    }

    #[test]
    fn a_level_is_read_in_any_letter_case() {
        for level in ContextLevel::ALL {
            assert_eq!(
                ContextLevel::parse(&level.word().to_uppercase()),
                Some(level)
            );
        }
        assert_eq!(ContextLevel::parse("whole"), None);
    }
}
