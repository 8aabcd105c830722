//! Finds which lines of files a task has shown, by the names of its sections. Reads nothing.

use std::ops::Range;

use super::named;
use super::paths::{meant, paths_of};
use crate::reply::task::Action;
use crate::report::outcome::Section;
use crate::text::lines::LineRange;
use crate::world::workspace::{ProjectFiles, ResolvedPath};

/// Lines of a file that were shown, counted from 0; none where it was shown what has changed of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownLines {
    pub place: ResolvedPath,
    pub lines: Vec<Range<usize>>,
}

/// Returns the lines that a file command has shown of the files that it is about; `is_diff`: it showed what has changed in them.
pub fn shown(
    action: &Action<'_>,
    sections: &[Section],
    is_diff: bool,
    files: &dyn ProjectFiles,
) -> Vec<ShownLines> {
    let asked = match action {
        Action::Read { lines, .. } => lines.as_deref().map(LineRange::parse_open),
        _ => None,
    };
    let asked = asked.and_then(Result::ok);
    let of_path = |path: &str| {
        let meant = meant(action, path, files).ok()?;
        let place = files.place(&meant.rel, true).ok()?;
        let written = named::shown(path, &meant, files);
        let lines = sections.iter().filter_map(|section| match section {
            Section::File { name, .. } => [&*written, meant.rel.as_str()]
                .iter()
                .find_map(|path| lines_of(name, path, asked)),
            Section::Text(_) | Section::Stream(..) => None,
        });
        let lines: Vec<Range<usize>> = lines.collect();
        (is_diff || !lines.is_empty()).then_some(ShownLines { place, lines })
    };
    paths_of(action).into_iter().filter_map(of_path).collect()
}

/// The lines that a section of this name has, if it is one of that file.
fn lines_of(name: &str, path: &str, asked: Option<LineRange>) -> Option<Range<usize>> {
    let (name, is_numbered) = match name.strip_prefix("[numbered] ") {
        Some(name) => (name, true),
        None => (name, false),
    };
    let rest = name.strip_prefix(path)?;
    if rest.is_empty() {
        let asked = asked.filter(|_| is_numbered);
        return Some(asked.map_or(0..usize::MAX, |lines| lines.first - 1..lines.last));
    }
    let rest = rest.strip_prefix(" (line")?.trim_start_matches('s');
    let (lines, _) = rest.trim_start().split_once(" of ")?;
    let lines = LineRange::parse(lines).ok()?;
    Some(lines.first - 1..lines.last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_which_lines_it_has() {
        let of = |name| lines_of(name, "a.txt", None);
        assert_eq!(of("a.txt"), Some(0..usize::MAX));
        assert_eq!(of("a.txt (line 4 of 9)"), Some(3..4));
        assert_eq!(of("a.txt (lines 4-9 of 12)"), Some(3..9));
        assert_eq!(of("a.txt.old"), None);
        let asked = Some(LineRange { first: 2, last: 3 });
        assert_eq!(lines_of("[numbered] a.txt", "a.txt", asked), Some(1..3));
    }
}
