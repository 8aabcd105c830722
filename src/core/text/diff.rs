//! Two texts compared line by line: the changes between them, and these as the parts of a unified diff.

use std::collections::HashMap;
use std::fmt::{self, Write};
use std::ops::Range;

use similar::{Algorithm, capture_diff_slices, group_diff_ops};
pub use similar::{DiffOp, DiffTag};

/// The number of unchanged lines around a change that are usual.
pub const AROUND: usize = 3;

/// Finds what leads from some lines to others: the lines that are kept, in order, and what is between them.
pub fn changes<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<DiffOp> {
    // Numbers instead of lines, as each is compared many times; and so the algorithm is in the program once.
    let mut numbers = HashMap::new();
    let (old, new) = (numbered(&mut numbers, old), numbered(&mut numbers, new));
    capture_diff_slices(Algorithm::Myers, &old, &new)
}

/// Two texts, and the changes that lead from one to the other.
pub struct LineDiff<'t> {
    /// The lines of each, with what ends them.
    old: Vec<&'t str>,
    new: Vec<&'t str>,
    changes: Vec<DiffOp>,
}

impl<'t> LineDiff<'t> {
    pub fn between(old: &'t str, new: &'t str) -> Self {
        let lines = |text: &'t str| text.split_inclusive('\n').collect::<Vec<_>>();
        let (old, new) = (lines(old), lines(new));
        let changes = changes(&old, &new);
        Self { old, new, changes }
    }

    /// The changes in order, lines that are kept among them.
    pub fn changes(&self) -> &[DiffOp] {
        &self.changes
    }

    /// The lines of the second text, with what ends them.
    pub fn new_lines(&self) -> &[&'t str] {
        &self.new
    }

    /// The parts of a unified diff, with up to so many unchanged lines around each change.
    pub fn parts(&self, around: usize) -> Vec<DiffPart<'_>> {
        let groups = group_diff_ops(self.changes.clone(), around).into_iter();
        let groups = groups.filter(|changes| !changes.is_empty());
        groups
            .map(|changes| DiffPart {
                diff: self,
                changes,
            })
            .collect()
    }
}

/// All parts, each behind the other.
impl fmt::Display for LineDiff<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts(AROUND).iter().try_for_each(|part| part.fmt(f))
    }
}

/// A part of a unified diff: changes that are near each other, with the lines around them.
pub struct DiffPart<'d> {
    diff: &'d LineDiff<'d>,
    changes: Vec<DiffOp>,
}

impl DiffPart<'_> {
    /// Its changes in order, lines that are kept among them.
    pub fn changes(&self) -> &[DiffOp] {
        &self.changes
    }

    /// The lines of each text that it is about, counted from 0.
    pub fn old_range(&self) -> Range<usize> {
        self.range(DiffOp::old_range)
    }

    pub fn new_range(&self) -> Range<usize> {
        self.range(DiffOp::new_range)
    }

    fn range(&self, of: fn(&DiffOp) -> Range<usize>) -> Range<usize> {
        let start = self.changes.first().map(|first| of(first).start);
        let end = self.changes.last().map(|last| of(last).end);
        start.unwrap_or_default()..end.unwrap_or_default()
    }
}

impl fmt::Display for DiffPart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (old, new) = (place(&self.old_range()), place(&self.new_range()));
        writeln!(f, "@@ -{old} +{new} @@")?;
        for change in &self.changes {
            let (old, new) = (
                &self.diff.old[change.old_range()],
                &self.diff.new[change.new_range()],
            );
            if change.tag() == DiffTag::Equal {
                signed(f, ' ', old)?;
            } else {
                signed(f, '-', old)?;
                signed(f, '+', new)?;
            }
        }
        Ok(())
    }
}

/// Lines as numbers, each that reads the same as the same one.
fn numbered<'t>(numbers: &mut HashMap<&'t str, usize>, lines: &[&'t str]) -> Vec<usize> {
    let number = |line: &&'t str| {
        let next = numbers.len();
        *numbers.entry(line).or_insert(next)
    };
    lines.iter().map(number).collect()
}

/// Lines as the head of a part names them, counted from 1. A range without lines is told by the line before it.
fn place(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        len => format!("{},{len}", range.start + 1),
    }
}

fn signed(f: &mut fmt::Formatter<'_>, sign: char, lines: &[&str]) -> fmt::Result {
    for line in lines {
        f.write_char(sign)?;
        f.write_str(line)?;
        if !line.ends_with('\n') {
            f.write_str("\n\\ No newline at end of file\n")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_read_as_those_of_other_programs() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl";
        let new = "a\nB\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\n";
        let diff = LineDiff::between(old, new);
        assert_eq!(
            diff.to_string(),
            "@@ -1,5 +1,5 @@\n a\n-b\n+B\n c\n d\n e\n@@ -9,4 +9,5 @@\n i\n j\n k\n-l\n\\ No newline at end of file\n+l\n+m\n"
        );
        assert_eq!(diff.parts(20).len(), 1);
        assert_eq!(diff.parts(0)[0].to_string(), "@@ -2 +2 @@\n-b\n+B\n");
        assert_eq!(LineDiff::between(old, old).to_string(), "");
    }

    #[test]
    fn nothing_is_told_by_the_line_before_it() {
        let added = LineDiff::between("", "a\n");
        assert_eq!(added.to_string(), "@@ -0,0 +1 @@\n+a\n");
        let removed = LineDiff::between("a\nb\n", "a\n").parts(0)[0].to_string();
        assert_eq!(removed, "@@ -2 +1,0 @@\n-b\n");
    }

    /// A line ends at a line feed and nowhere else, as it does wherever lines are counted.
    #[test]
    fn a_carriage_return_alone_ends_no_line() {
        let diff = LineDiff::between("a\rb\nc\n", "a\rb\nd\n");
        assert_eq!(diff.to_string(), "@@ -1,2 +1,2 @@\n a\rb\n-c\n+d\n");
    }

    proptest::proptest! {
        #[test]
        fn the_changes_lead_from_one_text_to_the_other(old in "([abc]\n){0,12}[ab]?", new in "([abc]\n){0,12}[ab]?") {
            let diff = LineDiff::between(&old, &new);
            let (mut from, mut to) = (String::new(), String::new());
            for change in diff.changes() {
                let (kept, came) = (diff.old[change.old_range()].concat(), diff.new[change.new_range()].concat());
                if change.tag() == DiffTag::Equal {
                    proptest::prop_assert_eq!(&kept, &came);
                }
                from += &kept;
                to += &came;
            }
            proptest::prop_assert_eq!(from, old.as_str());
            proptest::prop_assert_eq!(to, new.as_str());
        }
    }
}
