//! Lists the ways in which the indentation of a search text may have become that of the file.

/// A tab may stand for this many spaces.
const WIDTHS: [usize; 4] = [4, 2, 8, 3];
/// The width that a tab has where one has to be compared with spaces.
pub(super) const TAB: usize = 4;

/// Turns an indentation of the search text into one of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::edit) enum Reindent {
    /// It stays as it is.
    Same,
    /// `less` is taken off its start and `more` put there; one of them is empty.
    Shift { less: String, more: String },
    /// Every `width` columns become a tab, and `more` tabs are added.
    Tabs { width: usize, more: isize },
    /// Every tab becomes `width` spaces, and `more` spaces are added.
    Spaces { width: usize, more: isize },
    /// Every `from` spaces become `to`, and `more` spaces are added.
    Unit { from: usize, to: usize, more: isize },
}

impl Reindent {
    /// All ways that lead from the first of each pair to the second.
    pub(in crate::edit) fn between<S: AsRef<str>>(pairs: &[(S, S)]) -> Vec<Self> {
        let pairs = pairs.iter().map(|(s, f)| (s.as_ref(), f.as_ref()));
        let pairs: Vec<(&str, &str)> = pairs.collect();
        let Some(&(search, file)) = pairs.first() else {
            return vec![Self::Same];
        };
        if pairs.iter().all(|(search, file)| search == file) {
            return vec![Self::Same];
        }
        let mut ways = Vec::new();
        if let Some(more) = file.strip_suffix(search) {
            ways.push(Self::Shift {
                less: String::new(),
                more: more.to_owned(),
            });
        } else if let Some(less) = search.strip_suffix(file) {
            ways.push(Self::Shift {
                less: less.to_owned(),
                more: String::new(),
            });
        }
        let has = |text: &str, c: char| text.contains(c);
        if pairs.iter().any(|(_, file)| has(file, '\t')) {
            let tabs = signed(file.chars().take_while(|c| *c == '\t').count());
            ways.extend(WIDTHS.into_iter().filter_map(|width| {
                let more = tabs - signed(columns(search, width)? / width);
                Some(Self::Tabs { width, more })
            }));
        }
        if pairs.iter().any(|(search, _)| has(search, '\t')) {
            ways.extend(WIDTHS.into_iter().filter_map(|width| {
                let more = signed(file.len()) - signed(columns(search, width)?);
                Some(Self::Spaces { width, more })
            }));
        }
        ways.extend(unit(&pairs));
        ways.retain(|way| {
            let mut pairs = pairs.iter();
            pairs.all(|(search, file)| way.lead(search).as_deref() == Some(*file))
        });
        // A reply leaves out indentation that all lines have; it hardly ever adds some to what it respells, nor does it
        // leave some out and respell the rest in an unusual width.
        let width = |way: &Self| match way {
            Self::Tabs { width, .. } | Self::Spaces { width, .. } => Some(*width),
            Self::Same | Self::Shift { .. } | Self::Unit { .. } => None,
        };
        let respells = |way: &Self| way.is_plain() && width(way).is_some();
        if ways.iter().any(respells) {
            let is_usual = |way: &Self| width(way).is_none_or(|width| matches!(width, 2 | 4));
            ways.retain(|way| way.is_plain() || way.more() > 0 && is_usual(way));
        }
        ways
    }

    /// The indentation of the file for one of the reply; nothing where there is none.
    pub(in crate::edit) fn lead(&self, indent: &str) -> Option<String> {
        match self {
            Self::Same => Some(indent.to_owned()),
            Self::Shift { less, more } => {
                Some(more.to_owned() + indent.strip_prefix(less.as_str())?)
            }
            Self::Tabs { width, more } => {
                let columns = columns(indent, *width)?;
                let tabs = (columns / width).checked_add_signed(*more)?;
                Some("\t".repeat(tabs) + &" ".repeat(columns % width))
            }
            Self::Spaces { width, more } => {
                let columns = columns(indent, *width)?.checked_add_signed(*more)?;
                Some(" ".repeat(columns))
            }
            Self::Unit { from, to, more } => {
                if indent.chars().any(|c| c != ' ') || !(indent.len() * to).is_multiple_of(*from) {
                    return None;
                }
                let columns = (indent.len() * to / from).checked_add_signed(*more)?;
                Some(" ".repeat(columns))
            }
        }
    }

    /// The width that is added to what is respelt, or taken off.
    fn more(&self) -> isize {
        match self {
            Self::Same | Self::Shift { .. } => 0,
            Self::Tabs { more, .. } | Self::Spaces { more, .. } | Self::Unit { more, .. } => *more,
        }
    }

    /// Returns whether nothing is added or taken off beside what is respelt.
    pub(super) fn is_plain(&self) -> bool {
        self.more() == 0
    }
}

/// The way from one step of indentation by spaces to another.
fn unit(pairs: &[(&str, &str)]) -> Option<Reindent> {
    let is_spaces = |text: &str| text.chars().all(|c| c == ' ');
    if !pairs.iter().all(|(s, f)| is_spaces(s) && is_spaces(f)) {
        return None;
    }
    let lengths = pairs.iter().map(|(s, f)| (s.len(), f.len()));
    let (low, high) = (lengths.clone().min()?, lengths.max()?);
    let (from, to) = match high.0 - low.0 {
        0 => high,
        grown => (grown, high.1.checked_sub(low.1)?),
    };
    if from == 0 || to == 0 || from == to {
        return None;
    }
    let more = signed(low.1) - signed(low.0 * to / from);
    // Steps of two and four are taken for each other; other ratios are alignment.
    let is_usual = from == 2 * to || to == 2 * from;
    (more == 0 || is_usual).then_some(Reindent::Unit { from, to, more })
}

/// The width of an indentation of spaces and tabs.
pub(super) fn columns(indent: &str, tab: usize) -> Option<usize> {
    indent.chars().try_fold(0, |columns, c| match c {
        ' ' => Some(columns + 1),
        '\t' => Some(columns + tab),
        _ => None,
    })
}

fn signed(n: usize) -> isize {
    n.cast_signed()
}
