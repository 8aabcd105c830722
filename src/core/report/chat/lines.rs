//! The comparison of texts by lines: changes, the present place of lines, and stretches of lines. Knows no file.

use std::ops::Range;

use crate::report::clip;
use crate::text::diff::{DiffOp, DiffTag, LineDiff};

/// Stretches of lines, counted from 0.
pub(in crate::report) type Stretches = Vec<Range<usize>>;

/// The most lines of diffs that are told of one file.
pub(super) const FILE_LINES: usize = 60;
/// The number of unchanged lines around a change, in a diff and beside what the chat wrote.
pub(super) const AROUND: usize = 3;
/// The next step.
pub(super) const READ: &str = "read it before you edit it";

/// The longest part of a line of a diff, in characters.
const LINE: usize = 400;
/// The most stretches of one file that are named.
const STRETCHES: usize = 10;

/// Counts the lines of a text.
pub(super) fn count(text: &str) -> usize {
    text.split_inclusive('\n').count()
}

/// The parts of a unified diff in which something is told, where all of it is too long those that the chat knows first; without
/// the names. What does not fit is counted.
pub(super) fn diff(
    diff: &LineDiff<'_>,
    is_told: &dyn Fn(&DiffOp) -> bool,
    is_known: &dyn Fn(&DiffOp) -> bool,
) -> String {
    let parts = diff.parts(AROUND).into_iter();
    let parts: Vec<(bool, String)> = parts
        .filter(|part| part.changes().iter().any(is_told))
        .map(|part| (part.changes().iter().any(is_known), part.to_string()))
        .collect();
    let length = |text: &str| text.lines().count();
    let all: usize = parts.iter().map(|(_, part)| length(part)).sum();
    // A line names the file, and one says that there is more.
    let mut left = FILE_LINES - 2;
    let is_long = all > left;
    let has_known = parts.iter().any(|(known, _)| *known);
    let (mut shown, mut more) = (String::new(), 0);
    for (known, part) in &parts {
        let fits = if is_long && has_known && !known {
            0
        } else {
            left.min(length(part))
        };
        shown.extend(part.lines().take(fits).map(|line| clip(line, LINE) + "\n"));
        left -= fits;
        more += length(part) - fits;
    }
    if more > 0 {
        shown += &format!("… {more} more lines of this diff; {READ}\n");
    }
    shown
}

/// Finds the border before a line after these changes. `ends`: it ends a stretch, else it begins one; either way what came
/// in at the border, or changed across it, is in the stretch.
pub(super) fn place(changes: &[DiffOp], line: usize, ends: bool) -> usize {
    let change = if ends {
        changes
            .iter()
            .rev()
            .find(|change| change.old_range().start <= line)
    } else {
        changes.iter().find(|change| change.old_range().end >= line)
    };
    let Some(change) = change else {
        return line;
    };
    let (old, new) = (change.old_range(), change.new_range());
    if change.tag() == DiffTag::Equal {
        return new.start + line.saturating_sub(old.start).min(old.len());
    }
    let is_before = if ends {
        line == old.start && !old.is_empty()
    } else {
        line < old.end || old.is_empty()
    };
    if is_before { new.start } else { new.end }
}

/// Stretches in order, those that touch as one.
pub(in crate::report) fn joined(mut stretches: Stretches) -> Stretches {
    stretches.sort_by_key(|stretch| (stretch.start, stretch.end));
    stretches.dedup_by(|next, stretch| {
        let meets = next.start <= stretch.end;
        if meets {
            stretch.end = stretch.end.max(next.end);
        }
        meets
    });
    stretches
}

/// Stretches without what is in others.
pub(super) fn without(stretches: &[Range<usize>], others: &[Range<usize>]) -> Stretches {
    let mut left = stretches.to_vec();
    for other in others {
        left = left
            .into_iter()
            .flat_map(|it| {
                [
                    it.start..it.end.min(other.start),
                    it.start.max(other.end)..it.end,
                ]
            })
            .filter(|it| !it.is_empty())
            .collect();
    }
    left
}

/// `line 4`, or `lines 4-9, 12`.
pub(super) fn named_lines(stretches: &[Range<usize>]) -> String {
    let named = stretches.iter().take(STRETCHES).map(|it| match it.len() {
        0 | 1 => (it.start + 1).to_string(),
        _ => format!("{}-{}", it.start + 1, it.end),
    });
    let named: Vec<String> = named.collect();
    let more = if stretches.len() > STRETCHES {
        " and more"
    } else {
        ""
    };
    let is_one = stretches.len() == 1 && stretches[0].len() <= 1;
    let word = if is_one { "line" } else { "lines" };
    format!("{word} {}{more}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_again_where_they_are_now() {
        let old = "a\nb\nc\nd\ne\n";
        let places = |new: &str, range: Range<usize>| {
            let diff = LineDiff::between(old, new);
            let changes = diff.changes();
            place(changes, range.start, false)..place(changes, range.end, true)
        };
        for (new, range, expected) in [
            (old, 1..3, 1..3),
            ("x\na\nb\nc\nd\ne\n", 1..3, 2..4),
            // What came in at its borders or in it is in it.
            ("a\nx\nb\nc\ny\nd\ne\n", 1..3, 1..5),
            ("a\nb\nx\nc\nd\ne\n", 1..3, 1..4),
            // What was changed across its border.
            ("x\ny\nz\nc\nd\ne\n", 1..3, 0..4),
            ("a\nd\ne\n", 1..3, 1..1),
            ("", 1..3, 0..0),
            ("x\na\nb\nc\nd\ne\ny\n", 0..5, 0..7),
            ("a\nb\nc\nd\ne\ny\n", 0..usize::MAX, 0..6),
        ] {
            assert_eq!(places(new, range.clone()), expected, "{range:?} in {new:?}");
        }
        assert_eq!(place(LineDiff::between("", "a\n").changes(), 0, true), 1);
    }

    #[test]
    fn stretches_are_joined_and_taken_out() {
        assert_eq!(joined(vec![4..6, 1..3, 3..4, 8..9]), [1..6, 8..9]);
        assert_eq!(without(&[1..6, 6..9], &[3..4, 8..20]), [1..3, 4..6, 6..8]);
        assert_eq!(named_lines(std::slice::from_ref(&(3..4))), "line 4");
        assert_eq!(named_lines(&[3..4, 5..9]), "lines 4, 6-9");
    }
}
