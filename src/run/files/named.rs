//! The place that a reply means by a path. Markup that a model or a chat page put around the path is taken off where only so
//! there is something at it.

use std::borrow::Cow;

use crate::reply::path::{PathError, RelPath};
use crate::world::workspace::{FileKind, ProjectFiles};

/// The marks around a path in Markdown or in a sentence: before it, and behind it.
const AROUND: [(&str, &str); 7] = [
    ("`", "`"),
    ("**", "**"),
    ("*", "*"),
    ("\"", "\""),
    ("'", "'"),
    ("“", "”"),
    ("‘", "’"),
];
/// The prefixes that a diff puts before the path of a file that is there.
const SIDES: [&str; 2] = ["a/", "b/"];

/// The place of something whose text is looked at or edited: what a diff puts before a path is taken off as well.
pub(super) fn text(path: &str, files: &dyn ProjectFiles) -> Result<RelPath, PathError> {
    let bare = bare(path);
    let kind_of = |side: &str| {
        let place = files.parse(side).ok()?;
        let place = files.place(&place, true).ok()?;
        files.kind(&place).ok()?
    };
    let sides = SIDES
        .iter()
        .filter(|side| kind_of(side) != Some(FileKind::Dir));
    let sides = sides.filter_map(|side| bare.strip_prefix(side));
    first([bare].into_iter().chain(sides), path, files, |_| true)
}

/// The place of something that is to be deleted or moved. A folder must be named as it is: too much would go.
pub(super) fn existing(path: &str, files: &dyn ProjectFiles) -> Result<RelPath, PathError> {
    first([bare(path)], path, files, |kind| kind != FileKind::Dir)
}

/// The place of something that may be new: what could be the name of a folder stays.
pub(super) fn any(path: &str, files: &dyn ProjectFiles) -> Result<RelPath, PathError> {
    first([bare(path)], path, files, |_| true)
}

/// A path for the user: as the reply wrote it, but where it was taken otherwise, the real one.
pub(super) fn shown<'p>(path: &'p str, rel: &RelPath, files: &dyn ProjectFiles) -> Cow<'p, str> {
    match files.parse(path) {
        Ok(written) if written == *rel => path.into(),
        _ => rel.to_string().into(),
    }
}

fn first<'p>(
    others: impl IntoIterator<Item = &'p str>,
    path: &'p str,
    files: &dyn ProjectFiles,
    may_be: impl Fn(FileKind) -> bool,
) -> Result<RelPath, PathError> {
    let named = files.parse(path);
    if named.as_ref().is_ok_and(|rel| kind(rel, files).is_some()) {
        return named;
    }
    let mut others = others
        .into_iter()
        .filter_map(|other| files.parse(other).ok());
    others
        .find(|rel| kind(rel, files).is_some_and(&may_be))
        .map_or(named, Ok)
}

/// The kind of thing at a path; a link is not followed.
fn kind(rel: &RelPath, files: &dyn ProjectFiles) -> Option<FileKind> {
    let place = files.place(rel, false).ok()?;
    files.kind(&place).ok().flatten()
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
