//! The place that a reply means by a path. Markup that a model or a chat page put around the path is taken off where only so
//! there is something at it.

use crate::lang::path::{PathError, RelPath};
use crate::world::workspace::Files;

/// What stands around a path in Markdown or in a sentence: before it, and behind it.
const AROUND: [(&str, &str); 7] = [
    ("`", "`"),
    ("**", "**"),
    ("*", "*"),
    ("\"", "\""),
    ("'", "'"),
    ("“", "”"),
    ("‘", "’"),
];
/// What a diff puts before the path of a file that is there.
const SIDES: [&str; 2] = ["a/", "b/"];

/// The place of something that is to be there.
pub(super) fn existing(path: &str, files: &dyn Files) -> Result<RelPath, PathError> {
    let bare = bare(path);
    let sides = SIDES.iter().filter_map(|side| bare.strip_prefix(side));
    first([bare].into_iter().chain(sides), path, files)
}

/// The place of something that may be new: what could be the name of a folder stays.
pub(super) fn any(path: &str, files: &dyn Files) -> Result<RelPath, PathError> {
    first([bare(path)].into_iter(), path, files)
}

fn first<'p>(
    others: impl Iterator<Item = &'p str>,
    path: &'p str,
    files: &dyn Files,
) -> Result<RelPath, PathError> {
    let named = files.parse(path);
    let is_there = |rel: &RelPath| {
        let place = files.place(rel, false);
        place.is_ok_and(|place| matches!(files.kind(&place), Ok(Some(_))))
    };
    if named.as_ref().is_ok_and(is_there) {
        return named;
    }
    let mut others = others.filter_map(|other| files.parse(other).ok());
    others.find(is_there).map_or(named, Ok)
}

/// A path without what stands around it.
fn bare(path: &str) -> &str {
    let path = path.trim();
    let inner = AROUND.iter().find_map(|(before, behind)| {
        let inner = path.strip_prefix(before)?.strip_suffix(behind)?;
        (!inner.is_empty()).then_some(inner)
    });
    inner.map_or(path, bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_around_a_path() {
        for path in [
            "`a.md`",
            "**a.md**",
            "**`a.md`**",
            " \"a.md\" ",
            "‘a.md’",
            "a.md",
        ] {
            assert_eq!(bare(path), "a.md", "{path}");
        }
        for path in ["`a.md", "a*", "``", "\"", "*"] {
            assert_eq!(bare(path), path);
        }
    }
}
