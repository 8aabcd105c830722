//! The place that a reply means by a path. Markup that a model or a chat page put around the path is taken off where only so
//! there is something at it.

use std::borrow::Cow;

use crate::code::{Address, MARK, address};
use crate::reply::path::{PathError, RelPath};
use crate::world::workspace::{FileKind, ProjectFiles, SeenPlace};

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

/// A place that a reply means by a path.
#[derive(Debug, Clone)]
pub(super) struct MeantPlace<'p> {
    pub(super) rel: RelPath,
    /// The names of what is meant in the file; none where all of it is.
    pub(super) names: Option<&'p str>,
    /// The thing that was seen there, a link not followed; none where nobody has looked.
    pub(super) seen: Option<SeenPlace>,
}

impl MeantPlace<'_> {
    /// All of what is at a place.
    pub(super) fn whole(rel: RelPath) -> Self {
        Self {
            rel,
            names: None,
            seen: None,
        }
    }

    /// All of what is at a place, and what is there now.
    fn looked_at(rel: RelPath, files: &dyn ProjectFiles) -> Self {
        let seen = files.see(&rel, false).ok();
        Self {
            seen,
            ..Self::whole(rel)
        }
    }

    /// The kind of thing that was seen there; a link is not followed.
    fn kind(&self) -> Option<FileKind> {
        self.seen.as_ref()?.kind
    }

    /// It as a reply would write it.
    pub(super) fn written(&self) -> String {
        address::written(self.rel.as_str(), self.names)
    }

    /// True if this is not what the path says as it is written.
    pub(super) fn is_otherwise(&self, path: &str, files: &dyn ProjectFiles) -> bool {
        let mut readings = Address::readings(path);
        let written = match self.names {
            Some(names) => readings.find(|it| it.names == names).map(|it| it.file),
            None => Some(path),
        };
        written.is_none_or(|written| files.parse(written).as_ref() != Ok(&self.rel))
    }
}

/// The place of something whose text is looked at or edited: what a diff puts before a path is taken off as well.
pub(super) fn text<'p>(
    path: &'p str,
    files: &dyn ProjectFiles,
) -> Result<MeantPlace<'p>, PathError> {
    let bare = bare(path);
    let is_folder = |side: &str| {
        let seen = files.parse(side).ok();
        let seen = seen.and_then(|side| files.see(&side, true).ok());
        seen.is_some_and(|seen| seen.kind == Some(FileKind::Dir))
    };
    let without = |side: &&'static str| {
        let rest = bare.strip_prefix(*side)?;
        (!is_folder(side)).then_some(rest)
    };
    let all: Vec<&str> = [bare]
        .into_iter()
        .chain(SIDES.iter().filter_map(without))
        .collect();
    inside(&all, path, files)
}

/// True if a path may mean something else than it says: it is one with something around or before it, or an address.
pub(super) fn is_doubtful(path: &str) -> bool {
    let bare = bare(path);
    bare != path.trim() || path.contains(MARK) || SIDES.iter().any(|side| bare.starts_with(side))
}

/// The place of something that may be new, and that may be a part of a file.
pub(super) fn writable<'p>(
    path: &'p str,
    files: &dyn ProjectFiles,
) -> Result<MeantPlace<'p>, PathError> {
    inside(&[bare(path)], path, files)
}

/// The place of something that is to be deleted or moved. A folder must be named as it is: too much would go.
pub(super) fn existing(path: &str, files: &dyn ProjectFiles) -> Result<RelPath, PathError> {
    let meant = inside(&[bare(path)], path, files)?;
    if meant.names.is_some() {
        return Err(PathError::Part(path.trim().to_owned()));
    }
    first([bare(path)], path, files, |kind| kind != FileKind::Dir).map(|meant| meant.rel)
}

/// The place of something that may be new: what could be the name of a folder stays.
pub(super) fn any(path: &str, files: &dyn ProjectFiles) -> Result<RelPath, PathError> {
    first([bare(path)], path, files, |_| true).map(|meant| meant.rel)
}

/// A path for the user: as the reply wrote it, but where it was taken otherwise, the real one.
pub(super) fn shown<'p>(
    path: &'p str,
    meant: &MeantPlace<'_>,
    files: &dyn ProjectFiles,
) -> Cow<'p, str> {
    if !meant.is_otherwise(path, files) {
        return path.into();
    }
    meant.written().into()
}

/// The place that a path names or, where nothing is there, the part of a file that it names as an address.
fn inside<'p>(
    others: &[&'p str],
    path: &'p str,
    files: &dyn ProjectFiles,
) -> Result<MeantPlace<'p>, PathError> {
    let whole = first(others.iter().copied(), path, files, |_| true);
    let is_there = |whole: &MeantPlace<'_>| whole.kind().is_some();
    if !path.contains(MARK) || whole.as_ref().is_ok_and(is_there) {
        return whole;
    }
    let all = || [path].into_iter().chain(others.iter().copied());
    let mut readings = all().flat_map(Address::readings);
    let found = readings.find_map(|address| {
        let meant = MeantPlace::looked_at(files.parse(address.file).ok()?, files);
        let is_file = matches!(meant.kind(), Some(FileKind::File | FileKind::Link));
        is_file.then_some(MeantPlace {
            names: Some(address.names),
            ..meant
        })
    });
    if let Some(found) = found {
        return Ok(found);
    }
    // A file of such a name is nothing that a reply means to make.
    match Address::readings(others.last().copied().unwrap_or(path)).last() {
        Some(Address { file, names }) => files.parse(file).map(|rel| MeantPlace {
            names: Some(names),
            ..MeantPlace::whole(rel)
        }),
        None => whole,
    }
}

fn first<'p>(
    others: impl IntoIterator<Item = &'p str>,
    path: &'p str,
    files: &dyn ProjectFiles,
    may_be: impl Fn(FileKind) -> bool,
) -> Result<MeantPlace<'p>, PathError> {
    let looked_at = |rel| MeantPlace::looked_at(rel, files);
    let named = files.parse(path).map(looked_at);
    if named.as_ref().is_ok_and(|named| named.kind().is_some()) {
        return named;
    }
    let mut others = others
        .into_iter()
        .filter(|other| *other != path.trim())
        .filter_map(|other| files.parse(other).ok().map(looked_at));
    others
        .find(|other| other.kind().is_some_and(&may_be))
        .map_or(named, Ok)
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
