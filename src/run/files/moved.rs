//! Moves and deletes.

use serde_json::json;

use super::named_file::NamedFile;
use super::{FileResult, failed, named, not_found, refused};
use crate::reply::hunk::Hunk;
use crate::reply::path::RelPath;
use crate::report::fault::Fault;
use crate::report::outcome::{Outcome, Touched};
use crate::world::workspace::{
    FileContent, FileKind, FsError, ProjectFiles, ResolvedPath, SeenPlace,
};

pub(super) fn move_to(
    path: &str,
    to: &str,
    overwrite: bool,
    exact: bool,
    files: &mut dyn ProjectFiles,
) -> FileResult {
    let rel = named::existing(path, files)?;
    let source = files.place(&rel, false)?;
    let (Some(kind), Some(name)) = (files.kind(&source)?, rel.last()) else {
        return Err(if rel.is_root() {
            refused("the project folder itself cannot be moved")
        } else {
            not_found(&rel, files)
        });
    };
    let target = destination(to, name, exact, files)?;
    if target.place == source {
        return Err(refused(
            "source and destination are the same: leave this task out",
        ));
    }
    if target.place.path().starts_with(source.path()) {
        return Err(refused(format!(
            "`{rel}` cannot be moved into itself: choose another destination"
        )));
    }
    let replaced = files.kind(&target.place)?;
    if let Some(replaced) = replaced {
        may_replace(&rel, kind, &target.rel, replaced, overwrite)?;
    }
    files.rename(&source, &target.place, overwrite)?;
    Ok(Outcome {
        message: (target.rel != target.given).then(|| format!("now `{}`", target.rel)),
        data: json!({
            "path": rel.to_string(),
            "to": target.rel.to_string(),
            "overwrote": replaced.is_some(),
        }),
        touched: Touched::Paths(vec![
            source.path().to_owned(),
            target.place.path().to_owned(),
        ]),
        ..Outcome::default()
    })
}

/// Refuses to move something over what is there.
fn may_replace(
    rel: &RelPath,
    kind: FileKind,
    target: &RelPath,
    replaced: FileKind,
    overwrite: bool,
) -> FileResult<()> {
    let (fault, message) = match (kind, replaced) {
        (FileKind::Dir, FileKind::Dir) => (
            Fault::Exists,
            format!("`{target}` already exists: delete it first, or move the contents of `{rel}`"),
        ),
        (FileKind::Dir, _) => (
            Fault::NotAFolder,
            format!(
                "`{target}` is a file, which a folder cannot replace: delete it first, or choose another name"
            ),
        ),
        (_, FileKind::Dir) => return Err(FsError::IsAFolder(target.to_string()).into()),
        _ if overwrite => return Ok(()),
        _ => (
            Fault::Exists,
            format!("`{target}` already exists: write `<x overwrite=\"yes\">` to replace it"),
        ),
    };
    Err(failed(fault, message))
}

/// The target of a move.
pub(super) struct Destination {
    /// The path as the reply gives it.
    given: RelPath,
    /// The path as it is meant: that, or one in the folder that is there.
    rel: RelPath,
    pub(super) place: ResolvedPath,
}

/// Finds where a thing of this name is moved to. `exact`: to this very path, not into a folder there.
pub(super) fn destination(
    to: &str,
    name: &str,
    exact: bool,
    files: &dyn ProjectFiles,
) -> FileResult<Destination> {
    let into = !exact && to.trim_end().ends_with('/');
    let given = named::any(to, files)?;
    if !exact {
        let followed = files.place(&given, true)?;
        let kind = files.kind(&followed)?;
        if kind == Some(FileKind::Dir) || into && kind.is_none() {
            return Ok(Destination {
                rel: given.child(name),
                place: followed.child(name),
                given,
            });
        }
        if into {
            return Err(FsError::NotAFolder(given.to_string()).into());
        }
    }
    Ok(Destination {
        rel: given.clone(),
        place: files.place(&given, false)?,
        given,
    })
}

/// Finds what is to be deleted, a link itself and not what it leads to.
pub(super) fn to_delete(path: &str, files: &dyn ProjectFiles) -> FileResult<(NamedFile, FileKind)> {
    let rel = named::existing(path, files)?;
    if rel.is_root() {
        return Err(refused("the project folder itself cannot be deleted"));
    }
    let SeenPlace { place, kind } = files.see(&rel, false)?;
    let Some(found) = kind else {
        return Err(not_found(&rel, files));
    };
    let file = NamedFile {
        rel,
        place,
        kind,
        names: None,
    };
    Ok((file, found))
}

pub(super) fn delete(
    path: &str,
    only_file: bool,
    held: &[Hunk<'_>],
    files: &mut dyn ProjectFiles,
) -> FileResult {
    let (file, kind) = to_delete(path, files)?;
    if only_file && kind == FileKind::Dir {
        return Err(FsError::IsAFolder(file.rel.to_string()).into());
    }
    let text: String = held.iter().map(Hunk::search).collect();
    let is_alike = |old: FileContent| is_alike(&old.bytes, text.as_bytes());
    let is_as_held = || files.read(&file.place).is_ok_and(is_alike);
    if !held.is_empty() && !is_as_held() {
        return Err(refused(format!(
            "`{}` differs from the lines that the diff removes: copy all lines from the file, or write `deleted \
             file mode 100644` without a hunk to delete it as it is",
            file.rel
        )));
    }
    files.remove(&file.place)?;
    let what = match kind {
        FileKind::Dir => "folder",
        FileKind::Link => "link",
        FileKind::File | FileKind::Other => "file",
    };
    Ok(Outcome {
        data: json!({ "path": file.rel.to_string(), "kind": what }),
        touched: file.touched(),
        ..Outcome::default()
    })
}

/// True if two texts are the same but for white space.
fn is_alike(one: &[u8], other: &[u8]) -> bool {
    let marks = |text: &[u8]| {
        let marks = text.iter().copied().filter(|b| !b.is_ascii_whitespace());
        marks.collect::<Vec<_>>()
    };
    marks(one) == marks(other)
}
