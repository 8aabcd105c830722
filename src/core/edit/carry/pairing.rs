//! Pairs the lines of a replacement with those of the search text that they are, and the words of two lines.

use std::collections::BTreeMap;

use super::agreed;
use super::lines::{PayloadLine, Token, tokens};

/// More pairs of lines than this are not weighed one by one.
const WEIGHED: usize = 1 << 20;
/// Nor are this many compared word by word.
const COMPARED: usize = 1 << 12;
/// More pairs of words than this are not looked at.
const WORDS: usize = 1 << 20;
/// The share of words that two lines have in common to be one line that was changed.
const ALIKE: f64 = 0.5;

/// For lines of the replacement, by their index, the line of the search text that they are.
#[derive(Debug)]
pub(super) struct Pairing {
    /// Those that have the same visible characters.
    pub(super) kept: BTreeMap<usize, usize>,
    /// These, and those that were changed.
    pub(super) all: BTreeMap<usize, usize>,
}

impl Pairing {
    /// Pairs the lines; `kept` says which are the same where that is known.
    pub(super) fn of(
        search: &[PayloadLine<'_>],
        replacement: &[PayloadLine<'_>],
        kept: Option<Vec<(usize, usize)>>,
    ) -> Self {
        let kept = kept.unwrap_or_else(|| same_lines(search, replacement));
        let by_line: BTreeMap<_, _> = kept.iter().map(|&(i, j)| (j, i)).collect();
        let mut pairing = Self {
            all: by_line.clone(),
            kept: by_line,
        };
        if let ([_], [_]) = (search, replacement) {
            // One line for one: it stands in its place, however much of it was changed.
            pairing.all.insert(0, 0);
            return pairing;
        }
        let words = |lines: &[PayloadLine<'_>]| -> Vec<Vec<Token>> {
            lines.iter().map(|line| tokens(line.body)).collect()
        };
        let (search, replacement) = (words(search), words(replacement));
        let end = (search.len(), replacement.len());
        let (mut from_i, mut from_j) = (0, 0);
        for (i, j) in kept.into_iter().chain([end]) {
            let (rows, columns) = (i - from_i, j - from_j);
            if rows * columns <= COMPARED {
                let changed = heaviest(rows, columns, |row, column| {
                    likeness(&search[from_i + row], &replacement[from_j + column])
                });
                for (row, column) in changed {
                    pairing.all.insert(from_j + column, from_i + row);
                }
            }
            (from_i, from_j) = (i + 1, j + 1);
        }
        pairing
    }

    pub(super) fn line_of(&self, j: usize) -> Option<usize> {
        self.all.get(&j).copied()
    }

    /// All pairs, in the order of the replacement.
    pub(super) fn in_order(&self) -> Vec<(usize, usize)> {
        self.all.iter().map(|(j, i)| (*j, *i)).collect()
    }
}

/// Long lines, and those that are the same in white space as well, weigh more: a brace alone says little.
fn sameness(one: &PayloadLine<'_>, other: &PayloadLine<'_>) -> f64 {
    if one.key != other.key {
        return 0.0;
    }
    let length = u32::try_from(one.key.chars().take(12).count()).unwrap_or_default();
    let same = |is: bool| if is { 1.0 } else { 0.0 };
    1.0 + f64::from(length) / 12.0 + same(one.indent == other.indent) + same(one.body == other.body)
}

/// The lines that are the same. Of very many, those that each side has once pair as far as their order allows, and between
/// them those that weigh most.
fn same_lines(search: &[PayloadLine<'_>], replacement: &[PayloadLine<'_>]) -> Vec<(usize, usize)> {
    let end = (search.len(), replacement.len());
    let anchors = if end.0 * end.1 > WEIGHED {
        anchors(search, replacement)
    } else {
        Vec::new()
    };
    let (mut pairs, mut from) = (Vec::new(), (0, 0));
    for (i, j) in anchors.into_iter().chain([end]) {
        let (rows, columns) = (i - from.0, j - from.1);
        if rows * columns <= WEIGHED {
            let between = heaviest(rows, columns, |row, column| {
                sameness(&search[from.0 + row], &replacement[from.1 + column])
            });
            let between = between.into_iter();
            pairs.extend(between.map(|(row, column)| (from.0 + row, from.1 + column)));
        }
        if i < search.len() {
            pairs.push((i, j));
        }
        from = (i + 1, j + 1);
    }
    pairs
}

/// The longest run, in order, of lines that each side has once.
fn anchors(search: &[PayloadLine<'_>], replacement: &[PayloadLine<'_>]) -> Vec<(usize, usize)> {
    let once = |lines: &[PayloadLine<'_>]| {
        let lines = lines.iter().enumerate();
        agreed(lines.map(|(index, line)| (line.key.clone(), index)))
    };
    let there = once(replacement);
    let mut common: Vec<(usize, usize)> = once(search)
        .into_iter()
        .filter_map(|(key, i)| i.zip(there.get(&key).copied().flatten()))
        .collect();
    common.sort_unstable();
    // For each length the run of that length whose last line stands first, and what stood before each line.
    let (mut ends, mut before): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
    for (at, (_, j)) in common.iter().enumerate() {
        let length = ends.partition_point(|end| common[*end].1 < *j);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut run = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(at) = next {
        run.push(common[at]);
        next = before[at];
    }
    run.reverse();
    run
}

/// The pairs of rows and columns, both in order, that weigh most together. Of several such, the first rows are taken.
fn heaviest(
    rows: usize,
    columns: usize,
    weight: impl Fn(usize, usize) -> f64,
) -> Vec<(usize, usize)> {
    if rows == 0 || columns == 0 {
        return Vec::new();
    }
    let mut weights = vec![0.0; rows * columns];
    let mut best = vec![0.0_f64; (rows + 1) * (columns + 1)];
    let at = |row: usize, column: usize| row * (columns + 1) + column;
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            let own = weight(row, column);
            weights[row * columns + column] = own;
            let with = if own > 0.0 {
                best[at(row + 1, column + 1)] + own
            } else {
                0.0
            };
            best[at(row, column)] = best[at(row + 1, column)]
                .max(best[at(row, column + 1)])
                .max(with);
        }
    }
    let (mut row, mut column, mut pairs) = (0, 0, Vec::new());
    while row < rows && column < columns {
        let own = weights[row * columns + column];
        let most = best[at(row, column)];
        if own > 0.0 && most <= best[at(row + 1, column + 1)] + own {
            pairs.push((row, column));
            (row, column) = (row + 1, column + 1);
        } else if most <= best[at(row + 1, column)] {
            row += 1;
        } else {
            column += 1;
        }
    }
    pairs
}

/// The share of their words that two lines have in common; 0 where they are not one line that was changed.
fn likeness(one: &[Token], other: &[Token]) -> f64 {
    let count = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let total = count(one.len() + other.len());
    // No need to compare what can never be enough.
    if 2.0 * count(one.len().min(other.len())) < ALIKE * total {
        return 0.0;
    }
    let share = 2.0 * count(same_words(one, other).len()) / total;
    if share >= ALIKE { share } else { 0.0 }
}

/// The words that two lines have in common, in order: the longest run first, then those on both sides of it.
pub(super) fn same_words(one: &[Token], other: &[Token]) -> Vec<(usize, usize)> {
    let (rows, columns) = (one.len(), other.len());
    let is_same = |i: usize, j: usize| one[i].plain == other[j].plain;
    let start = (0..rows.min(columns))
        .take_while(|&at| is_same(at, at))
        .count();
    let (more_rows, more_columns) = (rows - start, columns - start);
    let end = (0..more_rows.min(more_columns))
        .take_while(|&at| is_same(rows - 1 - at, columns - 1 - at))
        .count();
    let is_long = rows * columns > WORDS;
    let mut pairs = Vec::new();
    let mut open = vec![(0..rows, 0..columns)];
    if is_long {
        // Only what differs is compared, and if that is much as well, nothing of it.
        pairs.extend((0..start).map(|at| (at, at)));
        pairs.extend((1..=end).map(|at| (rows - at, columns - at)));
        let middle = (start..rows - end, start..columns - end);
        open.retain(|_| middle.0.len() * middle.1.len() <= WORDS);
        if let Some(all) = open.first_mut() {
            *all = middle;
        }
    }
    while let Some((rows, columns)) = open.pop() {
        let (mut most, mut at) = (0, (0, 0));
        let mut runs = vec![0; columns.len() + 1];
        for i in rows.clone() {
            let mut diagonal = 0;
            for (index, j) in columns.clone().enumerate() {
                let above = runs[index + 1];
                runs[index + 1] = if is_same(i, j) { diagonal + 1 } else { 0 };
                diagonal = above;
                if runs[index + 1] > most {
                    most = runs[index + 1];
                    at = (i + 1 - most, j + 1 - most);
                }
            }
        }
        if most == 0 {
            continue;
        }
        let (i, j) = at;
        pairs.extend((0..most).map(|by| (i + by, j + by)));
        open.push((rows.start..i, columns.start..j));
        open.push((i + most..rows.end, j + most..columns.end));
    }
    pairs.sort_unstable();
    pairs
}
