//! Refuses notes files, settings and project folders that are not the user's alone, and links out of the project. Changes
//! nothing.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::settings::places::PROJECT;
use crate::text::paths::quoted;
use crate::world::note_file::NoteFile;
use crate::world::ownership::{NotOwn, OwnUsers, has_no_modes};

/// Refuses a project folder where another user owns or can write to the folder or its settings. This includes root: a user who could
/// make root run something would be root.
///
/// # Errors
/// Where that is so, with the next step; not where sharing is `allowed`.
pub(crate) fn check_root(root: &Path, allowed: bool) -> Result<(), Error> {
    check(&[root.to_owned(), root.join(PROJECT)], allowed)
}

/// Refuses a notes file, its folder and its project folder where another user owns or can write to one of them.
///
/// # Errors
/// Where that is so, with the next step; not where sharing is `allowed`.
pub(crate) fn check_notes(root: &Path, notes: &Path, allowed: bool) -> Result<(), Error> {
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
        // Reading it will fail, and that is reported.
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

/// Refuses a default notes file that is a link out of the project: it may have come with the project.
///
/// # Errors
/// Where that is so, with the next step.
pub(crate) fn check_default(note: &NoteFile, root: &Path) -> Result<(), Error> {
    match note.lead().out_of(root) {
        None => Ok(()),
        Some(link) => Err(Error::LeadsOut {
            link: link.to_owned(),
            named: quoted(link),
            path: note.path().to_owned(),
        }),
    }
}
