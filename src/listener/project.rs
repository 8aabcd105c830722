//! Opens the project folder: its files, and the runner of batches in it.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::run::{Runner, Setup};
use crate::settings::places::Folders;
use crate::world::context::ContextStore;
use crate::world::workspace::Disk;

/// Returns the runner of batches in a root. `own` are the notes file and its output file: protected, and never committed.
///
/// # Errors
/// Where the folder cannot be used.
pub(crate) fn runner(
    root: (&Path, &Path),
    folders: &Folders,
    context: ContextStore,
    own: &[PathBuf],
    setup: Setup,
) -> Result<Runner, Error> {
    let disk = workspace(root, folders, own)?;
    Ok(Runner::new(disk, setup, context, own.to_vec()))
}

/// Opens the files in a root, which is given with its canonical path. `own` are protected, besides clada's own files.
///
/// # Errors
/// Where the folder cannot be used.
pub(crate) fn workspace(
    root: (&Path, &Path),
    folders: &Folders,
    own: &[PathBuf],
) -> Result<Disk, Error> {
    let (given, canonical) = root;
    let mut protected = folders.protected(canonical);
    protected.extend_from_slice(own);
    let failed = |error| Error::Root {
        path: given.to_owned(),
        error,
    };
    let disk = Disk::open(given, Some(&folders.home), protected).map_err(failed)?;
    if disk.path() == canonical {
        return Ok(disk);
    }
    Err(failed(io::Error::other(format!(
        "it is no longer at `{}`, because `{}` leads elsewhere: move it back, or restart clada to continue there",
        canonical.display(),
        given.display()
    ))))
}
