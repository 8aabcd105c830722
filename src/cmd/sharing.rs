//! Refuses notes, settings and project folders that are not the user's alone, and a link that leads out of the project. Changes
//! none of them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cmd::quoted;
use crate::config::PROJECT;
use crate::error::Error;
use crate::world::note_file::NoteFile;
use crate::world::ownership::{NotOwn, OwnUsers, has_no_modes};

/// Refuses a project folder whose folder or settings another user has or may write. Root is no exception: a user who could have
/// root run something would be root.
///
/// # Errors
/// Where that is so, with what to do; not where sharing is `allowed`.
pub(super) fn check_root(root: &Path, allowed: bool) -> Result<(), Error> {
    check(&[root.to_owned(), root.join(PROJECT)], allowed)
}

/// Refuses notes, their folder, and their project folder where another user has one of them or may write it.
///
/// # Errors
/// Where that is so, with what to do; not where sharing is `allowed`.
pub(super) fn check_notes(root: &Path, notes: &Path, allowed: bool) -> Result<(), Error> {
    let folder = notes.parent().unwrap_or(Path::new("/")).to_owned();
    let own = [
        root.to_owned(),
        root.join(PROJECT),
        folder,
        notes.to_owned(),
    ];
    check(&own, allowed)
}

fn check(paths: &[PathBuf], allowed: bool) -> Result<(), Error> {
    if allowed {
        return Ok(());
    }
    let users = OwnUsers::of_process();
    for path in paths {
        // What cannot be looked at cannot be read either, which is told there.
        let Ok(found) = fs::metadata(path) else {
            continue;
        };
        if !found.is_file() && !found.is_dir() {
            continue;
        }
        let doubt = users.doubt(&found);
        let is_meant = |doubt: &NotOwn| matches!(doubt, NotOwn::Owner(_)) || !has_no_modes(path);
        if let Some(doubt) = doubt.filter(is_meant) {
            return Err(Error::Shared {
                remedy: doubt.remedy(&quoted(path)),
                path: path.clone(),
                doubt,
            });
        }
    }
    Ok(())
}

/// Refuses notes that nobody named, where a link of that name leads out of the project: it may have come with the project.
///
/// # Errors
/// Where that is so, with what to do.
pub(super) fn check_default(note: &NoteFile, root: &Path) -> Result<(), Error> {
    match note.lead().out_of(root) {
        None => Ok(()),
        Some(link) => Err(Error::LeadsOut {
            link: link.to_owned(),
            named: quoted(link),
            path: note.path().to_owned(),
        }),
    }
}
