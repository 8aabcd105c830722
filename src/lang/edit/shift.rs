//! How the lines of a search text are indented otherwise than the file's, and the same done to its replacement.

use super::lines;

/// A tab may stand for this many spaces, the likeliest first.
const UNITS: [usize; 8] = [4, 2, 8, 3, 1, 5, 6, 7];

/// What turns the indentation of the search text into that of the file, the same for all lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shift<'x> {
    /// One beginning in place of another.
    Swap { from: &'x [u8], to: &'x [u8] },
    /// `unit` spaces become a tab, and `by` tabs are added.
    ToTabs { unit: usize, by: isize },
    /// A tab becomes `unit` spaces, after `by` tabs are added.
    ToSpaces { unit: usize, by: isize },
}

/// What the indentations of a replacement text differ by, or multiples of it. It tells how wide a tab is meant to be
/// where the search text leaves that open.
pub(super) fn step(replacement: &str) -> Option<usize> {
    let spaces = replacement
        .lines()
        .filter(|line| !line.trim().is_empty())
        .filter_map(|line| Indent::of(lines::indentation(line.as_bytes(), 0)))
        .filter(|indent| indent.tabs == 0)
        .map(|indent| indent.spaces);
    let next = spaces.clone().skip(1);
    let step = spaces
        .zip(next)
        .fold(0, |step, (a, b)| divisor(step, a.abs_diff(b)));
    (step > 0).then_some(step)
}

/// The greatest common divisor.
fn divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { divisor(b, a % b) }
}

impl<'x> Shift<'x> {
    /// Lines stay as they are.
    pub(super) const NONE: Self = Self::Swap { from: b"", to: b"" };

    /// The one shift that leads, in each of `count` pairs, from the search text's indentation to the file's; else the
    /// number of a pair that does not agree with those before it.
    ///
    /// Where spaces stand against tabs, a unit is tried before a swap: four spaces for a tab fit one level of
    /// indentation either way, but only the unit turns eight spaces of the replacement into two tabs.
    pub(super) fn between(
        count: usize,
        pair: impl Fn(usize) -> (&'x [u8], &'x [u8]),
        step: Option<usize>,
    ) -> Result<Self, usize> {
        if count == 0 {
            return Ok(Self::NONE);
        }
        let (search, file) = pair(0);
        let mut furthest = 0;
        for shift in candidates(search, file, step) {
            match (0..count).find(|&i| !shift.leads(pair(i))) {
                Some(i) => furthest = furthest.max(i),
                None if shift.is_evident((0..count).map(&pair)) => return Ok(shift),
                None => {}
            }
        }
        Err(furthest)
    }

    /// The shift between the indentations of one line.
    pub(super) fn between_lines(search: &'x [u8], file: &'x [u8], step: Option<usize>) -> Self {
        Self::between(1, |_| (search, file), step).unwrap_or(Self::NONE)
    }

    /// The line with its indentation shifted. A blank line stays as it is.
    pub(super) fn push_line(self, line: &[u8], out: &mut Vec<u8>) {
        let (indentation, rest) = line.split_at(lines::indentation(line, 0).len());
        if !rest.is_empty() {
            self.push_indentation(indentation, out);
            out.extend_from_slice(rest);
        } else {
            out.extend_from_slice(line);
        }
    }

    /// A line with less indentation than the shift takes away loses what it has.
    fn push_indentation(self, indentation: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Swap { from, to } => {
                if indentation.starts_with(from) {
                    out.extend_from_slice(to);
                }
                out.extend_from_slice(&indentation[common_start(indentation, from)..]);
            }
            Self::ToTabs { unit, by } => {
                let columns: usize = indentation.iter().map(|&b| width(b, unit)).sum();
                let levels = (columns / unit).checked_add_signed(by);
                out.resize(out.len() + levels.unwrap_or(0), b'\t');
                out.resize(out.len() + levels.map_or(0, |_| columns % unit), b' ');
            }
            Self::ToSpaces { unit, by } => {
                let tabs = indentation.iter().filter(|&&b| b == b'\t').count();
                let spaces = indentation.len() - tabs;
                let columns = tabs.checked_add_signed(by).map(|t| t * unit + spaces);
                out.resize(out.len() + columns.unwrap_or(0), b' ');
            }
        }
    }

    fn leads(self, (search, file): (&[u8], &[u8])) -> bool {
        match self {
            Self::Swap { from, to } => {
                let rest = search.strip_prefix(from);
                rest.is_some_and(|rest| Some(rest) == file.strip_prefix(to))
            }
            Self::ToTabs { unit, by } => tabs_added(search, file, unit) == Some(by),
            Self::ToSpaces { unit, by } => tabs_added(file, search, unit) == Some(-by),
        }
    }

    /// Whether these lines show the kind of white space that is shifted to. (A change of kind also "leads" between
    /// lines without any indentation.)
    fn is_evident(self, mut pairs: impl Iterator<Item = (&'x [u8], &'x [u8])>) -> bool {
        match self {
            Self::Swap { .. } => true,
            Self::ToTabs { .. } => pairs.any(|(_, file)| file.contains(&b'\t')),
            Self::ToSpaces { .. } => {
                let (mut tabs, mut spaces) = (false, false);
                for (search, file) in pairs {
                    tabs |= search.contains(&b'\t');
                    spaces |= file.contains(&b' ');
                }
                tabs && spaces
            }
        }
    }
}

/// The shifts that may lead from the first line's indentation in the search text to that in the file, the likeliest
/// first: four spaces for a tab and no tab added, the unit that the replacement is indented by, other units with no tab
/// added, with some, and last the smallest swap.
fn candidates<'x>(
    search: &'x [u8],
    file: &'x [u8],
    step: Option<usize>,
) -> impl Iterator<Item = Shift<'x>> {
    let mut shifts = Vec::new();
    for unit in UNITS {
        let rank = |by: isize| match (unit, by) {
            (4, 0) => 0,
            _ if Some(unit) == step => 1,
            (_, 0) => 2,
            _ => 3,
        };
        if let Some(by) = tabs_added(search, file, unit) {
            shifts.push((rank(by), Shift::ToTabs { unit, by }));
        }
        if let Some(by) = tabs_added(file, search, unit).map(|by| -by) {
            shifts.push((rank(by), Shift::ToSpaces { unit, by }));
        }
    }
    shifts.sort_by_key(|&(rank, _)| rank);
    let same = common_end(search, file);
    let swap = Shift::Swap {
        from: &search[..search.len() - same],
        to: &file[..file.len() - same],
    };
    shifts.into_iter().map(|(_, shift)| shift).chain([swap])
}

/// How many tabs are added where indentation by spaces is written with tabs of this unit; nothing if the two do not
/// stand for each other.
fn tabs_added(spaces: &[u8], tabs: &[u8], unit: usize) -> Option<isize> {
    let spaces = Indent::of(spaces).filter(|i| i.tabs == 0)?.spaces;
    let written = Indent::of(tabs)?;
    let levels = isize::try_from(spaces / unit).ok()?;
    (written.spaces == spaces % unit).then_some(isize::try_from(written.tabs).ok()? - levels)
}

/// Indentation that is tabs, then spaces.
struct Indent {
    tabs: usize,
    spaces: usize,
}

impl Indent {
    fn of(indentation: &[u8]) -> Option<Self> {
        let tabs = indentation.iter().take_while(|&&b| b == b'\t').count();
        let spaces = &indentation[tabs..];
        spaces.iter().all(|&b| b == b' ').then_some(Self {
            tabs,
            spaces: spaces.len(),
        })
    }
}

fn width(blank: u8, unit: usize) -> usize {
    if blank == b'\t' { unit } else { 1 }
}

/// How many bytes two texts begin with in common.
pub(super) fn common_start(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

fn common_end(a: &[u8], b: &[u8]) -> usize {
    let pairs = a.iter().rev().zip(b.iter().rev());
    pairs.take_while(|(a, b)| a == b).count()
}
