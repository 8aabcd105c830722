//! Finds the place in a file most like a search text that was not found, for the report of the failure. It is never a
//! place to edit: that is found by `edit` alone, and by other rules.
//!
//! Each word of the search text, and each of its lines as a whole, is a clue. Where a clue is seen in the file it votes
//! for the offset between the two: the line in the file minus the line in the search text. The rarer and longer it is,
//! the more it weighs. The offset with the most votes is the place, together with those close by that have many
//! (lines are missing or too many inside).
//!
//! Comparing the search text with the file line by line at every offset was rejected: a large file takes seconds.

use std::collections::HashMap;
use std::ops::Range;

/// The limits to which a clue is noted in the file, and in the search text. One that is seen more often says little.
const SIGHTINGS_LIMIT: usize = 256;
const MENTIONS_LIMIT: usize = 8;
/// The number of lines of the search text that are looked at, and of a line's characters when two are compared.
const LINES_LIMIT: usize = 1000;
const COMPARED_CHARS: usize = 200;
/// The similarity that at least one line must have to its counterpart (1 is the same).
const ALIKE: f64 = 0.5;

/// A place that is like a search text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// The lines of the file, counted from 0.
    pub lines: Range<usize>,
    /// The first line of the search text that differs from the file, and the file's line in its place, both counted
    /// from 0. One that differs in more than white space comes before those that do not.
    pub first_difference: Option<(usize, usize)>,
}

/// The lines of `file` most like those of `search`; nothing if none are alike at all.
pub fn nearest(file: &str, search: &str) -> Option<Nearest> {
    let wanted: Vec<&str> = search.lines().take(LINES_LIMIT).collect();
    let mut clues = Clues::of(&wanted);
    let window = clues.best_window(file, wanted.len())?;
    let present: Vec<&str> = file
        .lines()
        .skip(window.lines.start)
        .take(window.lines.len())
        .collect();
    let pairs = || wanted[window.missing_before..].iter().zip(&present);
    pairs().find(|(a, b)| similarity(a, b) >= ALIKE)?;
    let end = window.lines.start + present.len();
    let differing = |differ: fn(&str, &str) -> bool| {
        let index = pairs().position(|(a, b)| differ(a, b))?;
        Some((window.missing_before + index, window.lines.start + index))
    };
    let first_difference = match window.missing_before {
        0 => differing(differ_in_text).or_else(|| differing(|a, b| a != b)),
        _ => Some((0, 0)),
    };
    Some(Nearest {
        lines: window.lines.start..end,
        first_difference,
    })
}

fn similarity(a: &str, b: &str) -> f64 {
    let start = |line: &str| line.trim().chars().take(COMPARED_CHARS).collect::<String>();
    let (a, b) = (start(a), start(b));
    if a.is_empty() {
        return 0.0;
    }
    strsim::sorensen_dice(&a, &b)
}

fn differ_in_text(a: &str, b: &str) -> bool {
    let text = |line: &'_ str| line.split_whitespace().collect::<String>();
    text(a) != text(b)
}

/// The words and lines of a search text.
struct Clues<'s> {
    words: HashMap<&'s str, usize>,
    lines: HashMap<&'s str, usize>,
    known: Vec<Clue>,
    /// For each first byte the lengths (bit 63: all from 63) of the clues that begin with it. Most of what a file holds
    /// is no clue, and is told apart by this without hashing it.
    outlines: [u64; 256],
}

#[derive(Default)]
struct Clue {
    length: usize,
    /// The lines of the search text that hold it.
    mentions: Vec<usize>,
    /// The lines of the file that hold it: the first few, and how many there are.
    sightings: Vec<usize>,
    seen: usize,
}

impl<'s> Clues<'s> {
    fn of(wanted: &[&'s str]) -> Self {
        let mut clues = Self {
            words: HashMap::new(),
            lines: HashMap::new(),
            known: Vec::new(),
            outlines: [0; 256],
        };
        for (index, line) in wanted.iter().enumerate() {
            let line = line.trim();
            for word in words(line) {
                let next = clues.known.len();
                let clue = *clues.words.entry(word).or_insert(next);
                clues.mention(clue, word, index);
            }
            if !line.is_empty() {
                let next = clues.known.len();
                let clue = *clues.lines.entry(line).or_insert(next);
                clues.mention(clue, line, index);
            }
        }
        clues
    }

    fn mention(&mut self, clue: usize, text: &str, line: usize) {
        if clue == self.known.len() {
            self.known.push(Clue {
                length: text.len(),
                ..Clue::default()
            });
            self.outlines[first_byte(text)] |= outline(text);
        }
        let mentions = &mut self.known[clue].mentions;
        if mentions.len() < MENTIONS_LIMIT && mentions.last() != Some(&line) {
            mentions.push(line);
        }
    }

    /// The window of the file that most speaks for, given the number of lines of the search text.
    fn best_window(&mut self, file: &str, wanted: usize) -> Option<Window> {
        let mut total = 0;
        for (index, line) in file.lines().enumerate() {
            total = index + 1;
            let line = line.trim();
            self.see(line, index, |clues| &clues.lines);
            for word in words(line) {
                self.see(word, index, |clues| &clues.words);
            }
        }
        // The weight that speaks for each offset of the search text in the file. Offsets are counted from the one at which
        // the search text would end where the file starts, so that none is negative.
        let mut votes = vec![0.0; total + wanted];
        for clue in &self.known {
            for (line, mention) in clue.pairs() {
                votes[line + wanted - mention] += clue.weight();
            }
        }
        let from_last = votes.iter().enumerate().rev();
        let (best, &most) = from_last.max_by(|a: &(usize, &f64), b| a.1.total_cmp(b.1))?;
        if most <= 0.0 {
            return None;
        }
        let reach = wanted / 2 + 2;
        let counts = |offset: usize| offset.abs_diff(best) <= reach && votes[offset] * 4.0 >= most;
        // The offsets that the first and the last line which voted for the place voted for.
        let (mut first, mut last) = ((usize::MAX, best), (0, best));
        for (line, mention) in self.known.iter().flat_map(Clue::pairs) {
            let offset = line + wanted - mention;
            if counts(offset) {
                first = first.min((line, offset));
                last = last.max((line, offset));
            }
        }
        let start = first.1.saturating_sub(wanted);
        let end = last.1.min(total).max(start);
        Some(Window {
            lines: start..end,
            missing_before: wanted.saturating_sub(first.1),
        })
    }

    fn see(&mut self, text: &str, line: usize, kind: fn(&Self) -> &HashMap<&'s str, usize>) {
        if self.outlines[first_byte(text)] & outline(text) == 0 {
            return;
        }
        if let Some(&clue) = kind(self).get(text) {
            let clue = &mut self.known[clue];
            clue.seen += 1;
            if clue.sightings.len() < SIGHTINGS_LIMIT {
                clue.sightings.push(line);
            }
        }
    }
}

impl Clue {
    fn weight(&self) -> f64 {
        let weight = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
        weight(self.length.min(COMPARED_CHARS)) / weight(self.seen * self.mentions.len())
    }

    /// Each line of the file that it was seen in with each of the search text.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let lines = self.sightings.iter();
        lines.flat_map(|&line| self.mentions.iter().map(move |&mention| (line, mention)))
    }
}

/// The lines of the file that are most like the search text.
struct Window {
    lines: Range<usize>,
    /// The number of lines of the search text that would stand before the file's first.
    missing_before: usize,
}

/// Runs of letters, digits and `_`. All that is not ASCII counts as letters: it is quicker, and as good for clues.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

fn first_byte(text: &str) -> usize {
    text.bytes().next().map_or(0, usize::from)
}

fn outline(text: &str) -> u64 {
    1 << text.len().min(63)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(file: &str, search: &str, lines: Range<usize>, first_difference: (usize, usize)) {
        let found = nearest(file, search).expect("something is alike");
        assert_eq!(found.lines, lines);
        assert_eq!(found.first_difference, Some(first_difference));
    }

    #[test]
    fn one_letter_differs() {
        let file = "fn a() {\n    one();\n}\n\nfn b() {\n    two();\n    three();\n}\n";
        check(file, "fn b() {\n    two();\n    thre();\n}\n", 4..8, (2, 6));
    }

    #[test]
    fn a_line_that_differs_in_its_text_comes_before_one_that_is_indented_otherwise() {
        let file = "x\n    let a = first(1);\n    let b = second(2);\ny\n";
        check(
            file,
            "let a = first(1);\nlet b = second(3);\n",
            1..3,
            (1, 2),
        );
    }

    #[test]
    fn a_difference_of_white_space_alone() {
        check("x\n\tcount = 1;\n", "count = 1;\n", 1..2, (0, 1));
    }

    #[test]
    fn the_file_has_lines_that_the_search_text_lacks() {
        let file = "0\nalpha one\nbeta two\nnew\nnew\ngamma three\ndelta four\n0\n";
        check(
            file,
            "alpha one\nbeta two\ngamma three\ndelta four\n",
            1..7,
            (2, 3),
        );
    }

    #[test]
    fn the_search_text_has_lines_that_the_file_lacks() {
        let file = "0\nalpha one\nbeta two\ngamma three\ndelta four\n0\n";
        let search = "alpha one\nbeta two\nnew\ngamma three\ndelta four\n";
        check(file, search, 1..5, (2, 3));
    }

    #[test]
    fn it_would_begin_before_the_file() {
        check(
            "two words\nthree words\n",
            "one\ntwo words\nthree words\n",
            0..2,
            (0, 0),
        );
    }

    #[test]
    fn rare_words_weigh_more() {
        let file = format!(
            "{}return the_answer(41)\n{}",
            "return None\n".repeat(20),
            "return None\n".repeat(20)
        );
        check(&file, "return the_answer(42)\n", 20..21, (0, 20));
    }

    #[test]
    fn nothing_is_alike() {
        assert_eq!(nearest("alpha\nbeta\n", "gamma delta\n"), None);
        assert_eq!(nearest("", "a\n"), None);
        assert_eq!(nearest("a\n", ""), None);
        assert_eq!(nearest("\n\n", "\n"), None);
    }

    proptest::proptest! {
        #[test]
        fn lines_are_those_of_the_file(file in "[ab \n]{0,40}", search in "[ab \n]{0,20}") {
            if let Some(found) = nearest(&file, &search) {
                proptest::prop_assert!(found.lines.start < found.lines.end);
                proptest::prop_assert!(found.lines.end <= file.lines().count());
                if let Some((wanted, present)) = found.first_difference {
                    proptest::prop_assert!(wanted < search.lines().count() && found.lines.contains(&present));
                }
            }
        }
    }
}
