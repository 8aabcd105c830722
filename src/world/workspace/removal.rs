//! Looks through what is to be deleted or moved before the first step: all of it must be allowed.

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, Metadata};
use rustix::fs::{Access, AtFlags};

use super::entry::{io_error, last, show};
use super::{FsError, ResolvedPath};
use crate::reply::path::is_git;
use crate::world::folder::if_there;

/// The reason to take something away from a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Removal {
    Delete,
    Move,
}

/// Looks through a folder that is to be deleted or moved: nothing in it may be a `.git`. Where all of it is to be
/// deleted, nothing may be mounted in it, and every folder must allow it, so that a refusal comes before the first
/// deletion. `allowed` says of each place in it whether a task may do that.
pub(super) fn check_tree(
    dir: &Dir,
    found: &Metadata,
    place: &ResolvedPath,
    removal: Removal,
    allowed: &dyn Fn(&ResolvedPath) -> Result<(), FsError>,
) -> Result<(), FsError> {
    allowed(place)?;
    if !found.is_dir() {
        return Ok(());
    }
    let fail = |e| io_error("read the folder", place, e);
    let dir = dir.open_dir_nofollow(last(place)?).map_err(fail)?;
    if removal == Removal::Delete {
        if is_mounted(&dir) {
            return Err(FsError::Mounted(show(place)));
        }
        let access = Access::WRITE_OK | Access::EXEC_OK;
        if rustix::fs::accessat(&dir, ".", access, AtFlags::EACCESS).is_err() {
            return Err(FsError::ReadOnly(show(place)));
        }
    }
    for entry in dir.entries().map_err(fail)? {
        let name = entry.map_err(fail)?.file_name();
        if name.to_str().is_some_and(is_git) {
            return Err(FsError::HoldsGit(show(place)));
        }
        let found = if_there(dir.symlink_metadata(&name));
        let place = place.child(name);
        // None where it is gone in the meantime.
        if let Some(found) = found.map_err(|error| io_error("look at", &place, error))? {
            check_tree(&dir, &found, &place, removal, allowed)?;
        }
    }
    Ok(())
}

/// True if another file system, or another part of this one, begins at a folder.
#[cfg(target_os = "linux")]
fn is_mounted(dir: &Dir) -> bool {
    use rustix::fs::{StatxAttributes, StatxFlags, statx};
    statx(dir, "", AtFlags::EMPTY_PATH, StatxFlags::TYPE)
        .is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// True if another file system begins at a folder. A part of the same one that is mounted there is not noticed.
#[cfg(not(target_os = "linux"))]
fn is_mounted(dir: &Dir) -> bool {
    let dev =
        |path: &str| rustix::fs::statat(dir, path, AtFlags::empty()).map(|found| found.st_dev);
    dev(".").ok() != dev("..").ok()
}
