//! Moves and deletes. An edit and a move are one: the file is changed and has another name, or neither.

use serde_json::json;

use super::edited::apply;
use super::named_file::{FoundFile, NamedFile};
use super::{failed, missing, named, not_found, refused};
use crate::edit::{self, Edit};
use crate::reply::hunk::Hunk;
use crate::reply::path::RelPath;
use crate::report::fault::Fault;
use crate::report::outcome::{Outcome, Section, Touched};
use crate::world::workspace::{FileKind, FsError, ProjectFiles, ResolvedPath};

pub(super) fn move_to(
    path: &str,
    to: &str,
    overwrite: bool,
    exact: bool,
    files: &mut dyn ProjectFiles,
    preview: bool,
) -> Result<Outcome, Box<Outcome>> {
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
        sections: shown(preview, || renamed(&rel, &target.rel)),
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
) -> Result<(), Box<Outcome>> {
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
) -> Result<Destination, Box<Outcome>> {
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

pub(super) fn edit_and_move(
    edit: &Edit<'_>,
    rel: RelPath,
    to: &str,
    files: &mut dyn ProjectFiles,
    preview: bool,
) -> Result<Outcome, Box<Outcome>> {
    let to_rel = named::any(to, files)?;
    let place = files.place(&rel, false)?;
    let source = NamedFile { rel, place };
    match files.kind(&source.place)? {
        None => return Err(missing::not_found_to_edit(&source.rel, edit, files)),
        Some(FileKind::Link) => {
            return Err(refused(format!(
                "`{}` is a link: edit the file that it points to, and move the link in a task of its own",
                source.rel
            )));
        }
        Some(_) => {}
    }
    let target = NamedFile {
        place: free_place(&source, &to_rel, to, files)?,
        rel: source.rel.clone(),
    };
    let before = files.read_to_change(&source.place)?;
    if let Err(errors) = edit::apply(&before.bytes, edit) {
        return Err(FoundFile::new(&source, &before, files).failure(&errors, edit));
    }
    // A file that cannot be written at all must fail before it has its other name.
    files.write(&source.place, &[&before.bytes], Some(&before))?;
    files.rename(&source.place, &target.place, false)?;
    let mut done = match apply(edit, &target, files, preview) {
        Ok(done) => done,
        Err(mut failure) => {
            if files.rename(&target.place, &source.place, false).is_err() {
                let why = format!("moved to `{to_rel}`, but not edited: {}", failure.said());
                failure.message = Some(why);
            }
            return Err(failure);
        }
    };
    done.touched = Touched::Paths(vec![source.path(), target.path()]);
    done.data["to"] = json!(to_rel.to_string());
    done.data["overwrote"] = json!(false);
    if preview && let Some(Section::Text(diff)) = done.sections.last_mut() {
        *diff += &renamed(&source.rel, &to_rel);
    }
    Ok(done)
}

/// The place that an edited file is moved to, where nothing may be.
fn free_place(
    source: &NamedFile,
    to_rel: &RelPath,
    to: &str,
    files: &dyn ProjectFiles,
) -> Result<ResolvedPath, Box<Outcome>> {
    if to_rel.is_root() || to.trim_end().ends_with('/') {
        return Err(FsError::IsAFolder(to_rel.to_string()).into());
    }
    let place = files.place(to_rel, false)?;
    if place == source.place {
        return Err(refused(
            "source and destination are the same: leave the move out",
        ));
    }
    if files.kind(&place)?.is_some() {
        let why = format!("`{to_rel}` already exists: delete it first, or choose another name");
        return Err(refused(why));
    }
    Ok(place)
}

/// Finds what is to be deleted, a link itself and not what it leads to.
pub(super) fn to_delete(
    path: &str,
    files: &dyn ProjectFiles,
) -> Result<(NamedFile, FileKind), Box<Outcome>> {
    let rel = named::existing(path, files)?;
    if rel.is_root() {
        return Err(refused("the project folder itself cannot be deleted"));
    }
    let place = files.place(&rel, false)?;
    match files.kind(&place)? {
        Some(kind) => Ok((NamedFile { rel, place }, kind)),
        None => Err(not_found(&rel, files)),
    }
}

pub(super) fn delete(
    path: &str,
    only_file: bool,
    held: &[Hunk<'_>],
    files: &mut dyn ProjectFiles,
    preview: bool,
) -> Result<Outcome, Box<Outcome>> {
    let (file, kind) = to_delete(path, files)?;
    if only_file && kind == FileKind::Dir {
        return Err(FsError::IsAFolder(file.rel.to_string()).into());
    }
    let is_read = preview || !held.is_empty();
    let old = is_read.then(|| files.read(&file.place).ok()).flatten();
    let old = old.as_ref().map(|content| content.bytes.as_slice());
    let text: String = held.iter().map(Hunk::search).collect();
    let is_as_held = || old.is_some_and(|old| is_alike(old, text.as_bytes()));
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
        sections: match old {
            Some(old) if preview => vec![file.diff(Some(old), None)],
            _ => shown(preview, || format!("deleted {what} {}\n", file.rel)),
        },
        ..Outcome::default()
    })
}

/// The change as a preview shows it.
pub(super) fn shown(preview: bool, diff: impl FnOnce() -> String) -> Vec<Section> {
    let diff = preview.then(|| Section::Text(diff()));
    diff.into_iter().collect()
}

fn renamed(from: &RelPath, to: &RelPath) -> String {
    format!("rename from {from}\nrename to {to}\n")
}

/// True if two texts are the same but for white space.
fn is_alike(one: &[u8], other: &[u8]) -> bool {
    let marks = |text: &[u8]| {
        let marks = text.iter().copied().filter(|b| !b.is_ascii_whitespace());
        marks.collect::<Vec<_>>()
    };
    marks(one) == marks(other)
}
