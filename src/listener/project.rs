//! Opens the project folder: its files, and the runner of batches in it.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::listener::rules::{self, SightRules};
use crate::run::{Runner, Setup};
use crate::settings::Settings;
use crate::settings::places::Folders;
use crate::text::mask::Mask;
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

/// Opens the files in a root as `clada` shows them to a person at a terminal: no more of them than tasks may read.
///
/// # Errors
/// Where the folder or the settings cannot be used.
pub(crate) fn seen(
    root: (&Path, &Path),
    folders: &Folders,
    own: &[PathBuf],
) -> Result<SeenProject, Error> {
    let mut disk = workspace(root, folders, own)?;
    let settings = Settings::load(folders, root.1)?.settings;
    let SightRules { paths, mask } = rules::sight(folders, root.1, &settings)?;
    disk.limit(settings.limits.max_file_size);
    disk.obey(paths);
    Ok(SeenProject {
        disk,
        settings,
        mask,
    })
}

/// A project's files as a person sees them.
pub(crate) struct SeenProject {
    pub(crate) disk: Disk,
    pub(crate) settings: Settings,
    pub(crate) mask: Mask,
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
