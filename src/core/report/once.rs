//! The record of what a packet shows already, so that no file, no lines and no long text are in it twice.
//!
//! Lines of one file are the same where they have the same text and number, or, where lines before them came or went,
//! the same text for long enough. So of a file that was changed in between only what is new is shown once more.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use crate::report::outcome::Stretch;

/// A text that is shorter is not worth a line that says where it stands.
const WORTH: usize = 200;
/// So many lines in a row are not shown once more in the middle of others.
const ROW: usize = 3;
/// The same for lines that had other numbers: a file may hold a few lines more than once.
const MOVED: usize = 10;
/// Of a line that is there often, no more places are looked at.
const PLACES: usize = 16;

/// The texts and lines that were shown so far.
#[derive(Default)]
pub(super) struct Once {
    /// The label of the task that showed each text.
    texts: HashMap<String, String>,
    files: HashMap<String, FileLines>,
    hasher: RandomState,
}

/// A part of what is to be shown of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Row<'c> {
    /// Lines that were not shown yet.
    New { first: usize, text: &'c str },
    /// Lines that a task showed; there the first of them has the number `there`.
    Shown {
        lines: Range<usize>,
        by: String,
        there: usize,
    },
}

/// The lines that were shown of a file.
#[derive(Default)]
struct FileLines {
    rows: Vec<ShownRow>,
    /// For each line by its hash, the rows that it is in, and where.
    places: HashMap<u64, Vec<(usize, usize)>>,
}

/// Lines that follow each other.
struct ShownRow {
    by: String,
    first: usize,
    hashes: Vec<u64>,
}

/// Lines that were shown, at a place in a row.
struct RepeatedLines {
    row: usize,
    at: usize,
    count: usize,
}

impl Once {
    /// Returns the task that showed a text, if it is long enough. A new text counts as shown from now on.
    pub(super) fn text(&mut self, text: &str, by: &str) -> Option<String> {
        if text.len() < WORTH {
            None
        } else {
            self.whole(text, by)
        }
    }

    /// The same of a text of any length.
    pub(super) fn whole(&mut self, text: &str, by: &str) -> Option<String> {
        if let Some(by) = self.texts.get(text) {
            return Some(by.clone());
        }
        self.texts.insert(text.to_owned(), by.to_owned());
        None
    }

    /// Splits lines of a file into new ones and ones that were shown. All count as shown from now on.
    pub(super) fn file<'c>(&mut self, at: &Stretch, content: &'c str, by: &str) -> Vec<Row<'c>> {
        let lines: Vec<&str> = content.split_inclusive('\n').collect();
        let hash = |line: &&str| self.hasher.hash_one(line.trim_end_matches(['\n', '\r']));
        let hashes: Vec<u64> = lines.iter().map(hash).collect();
        let file = self.files.entry(at.path.clone()).or_default();
        let mut rows = Vec::new();
        // Where the line that is looked at begins, and the first one that is new before it.
        let (mut line, mut byte) = (0, 0);
        let mut new = (0, 0);
        while line < lines.len() {
            let Some(found) = file.find(&hashes, line, at) else {
                byte += lines[line].len();
                line += 1;
                continue;
            };
            if new.0 < line {
                rows.push(Row::New {
                    first: at.first + new.0,
                    text: &content[new.1..byte],
                });
            }
            let row = &file.rows[found.row];
            rows.push(Row::Shown {
                lines: at.first + line..at.first + line + found.count,
                by: row.by.clone(),
                there: row.first + found.at,
            });
            let end = line + found.count;
            byte += lines[line..end]
                .iter()
                .map(|line| line.len())
                .sum::<usize>();
            line = end;
            new = (line, byte);
        }
        if new.0 < line || lines.is_empty() {
            rows.push(Row::New {
                first: at.first + new.0,
                text: &content[new.1..],
            });
        }
        for row in &rows {
            if let Row::New { first, text } = row {
                let from = first - at.first;
                let count = text.split_inclusive('\n').count();
                file.add(by, *first, &hashes[from..from + count]);
            }
        }
        rows
    }
}

impl FileLines {
    fn add(&mut self, by: &str, first: usize, hashes: &[u64]) {
        let row = self.rows.len();
        for (at, hash) in hashes.iter().enumerate() {
            let places = self.places.entry(*hash).or_default();
            if places.len() < PLACES {
                places.push((row, at));
            }
        }
        self.rows.push(ShownRow {
            by: by.to_owned(),
            first,
            hashes: hashes.to_vec(),
        });
    }

    /// The lines from one on that were shown, as many as there are and if they are worth it.
    fn find(&self, hashes: &[u64], line: usize, at: &Stretch) -> Option<RepeatedLines> {
        let places = self.places.get(&hashes[line])?;
        let found = places.iter().filter_map(|&(row, place)| {
            let shown = &self.rows[row];
            let same = hashes[line..].iter().zip(&shown.hashes[place..]);
            let count = same.take_while(|(here, there)| here == there).count();
            let is_in_place = shown.first + place == at.first + line;
            let is_at_end = line + count == hashes.len();
            let ends_both = is_at_end && place + count == shown.hashes.len();
            let is_worth_it = if is_in_place {
                count >= ROW || line == 0 || is_at_end
            } else {
                count >= MOVED || ends_both && count >= ROW
            };
            let found = RepeatedLines {
                row,
                at: place,
                count,
            };
            is_worth_it.then_some((is_in_place, found))
        });
        found
            .max_by_key(|(is_in_place, found)| (*is_in_place, found.count))
            .map(|(_, found)| found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(lines: Range<usize>) -> String {
        lines.map(|line| format!("line {line}\n")).collect()
    }

    fn at(first: usize) -> Stretch {
        Stretch {
            path: "a.txt".to_owned(),
            first,
            of: 300,
        }
    }

    fn shown(lines: Range<usize>, by: &str, there: usize) -> Row<'static> {
        Row::Shown {
            lines,
            by: by.to_owned(),
            there,
        }
    }

    #[test]
    fn each_line_of_overlapping_stretches_is_new_once() {
        let mut once = Once::default();
        let (one, two) = (numbered(1..51), numbered(50..101));
        let first = once.file(&at(1), &one, "1");
        assert_eq!(
            first,
            [Row::New {
                first: 1,
                text: &one
            }]
        );
        let second = once.file(&at(50), &two, "2");
        let new = numbered(51..101);
        assert_eq!(
            second,
            [
                shown(50..51, "1", 50),
                Row::New {
                    first: 51,
                    text: &new
                }
            ]
        );
        let all = numbered(1..102);
        let third = once.file(&at(1), &all, "3");
        assert_eq!(
            third,
            [
                shown(1..51, "1", 1),
                shown(51..101, "2", 51),
                Row::New {
                    first: 101,
                    text: "line 101\n"
                }
            ]
        );
    }

    #[test]
    fn of_a_file_that_was_changed_what_changed_is_new() {
        let mut once = Once::default();
        once.file(&at(1), &numbered(1..41), "1");
        let changed = format!("{}new\n{}", numbered(1..11), numbered(11..41));
        let rows = once.file(&at(1), &changed, "2");
        let new = Row::New {
            first: 11,
            text: "new\n",
        };
        assert_eq!(rows, [shown(1..11, "1", 1), new, shown(12..42, "1", 11)]);
        // A few lines that are there elsewhere are no reason.
        let other = format!("other\n{}more\n", numbered(20..24));
        let rows = once.file(&at(200), &other, "3");
        assert_eq!(
            rows,
            [Row::New {
                first: 200,
                text: &other
            }]
        );
    }

    #[test]
    fn another_file_and_an_empty_one_are_new() {
        let mut once = Once::default();
        once.file(&at(1), "a\nb\n", "1");
        let mut other = at(1);
        other.path = "b.txt".to_owned();
        for text in ["a\nb\n", "", ""] {
            let rows = once.file(&other, text, "2");
            assert_eq!(rows, [Row::New { first: 1, text }]);
        }
        assert_eq!(once.file(&at(1), "a\r\nb", "2"), [shown(1..3, "1", 1)]);
    }

    #[test]
    fn a_longer_text_is_new_once() {
        let mut once = Once::default();
        let long = "x".repeat(WORTH);
        assert_eq!(once.text(&long, "1"), None);
        assert_eq!(once.text(&long, "2").as_deref(), Some("1"));
        assert_eq!(once.text("x", "1").or(once.text("x", "2")), None);
    }
}
