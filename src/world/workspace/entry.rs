//! One name in a folder: how it is renamed, stamped, and named in messages. Knows no command.

use std::ffi::{OsStr, OsString};
use std::io;

use cap_std::fs::{Dir, Metadata, MetadataExt};
use rustix::fs::RenameFlags;

use super::{FileStamp, FsError, ResolvedPath};

/// Identity, size and time of change of a file.
pub(super) fn stamp(found: &Metadata) -> FileStamp {
    let modified = (found.mtime(), found.mtime_nsec());
    FileStamp {
        dev: found.dev(),
        ino: found.ino(),
        size: found.size(),
        modified,
    }
}

/// Renames, with what the system can promise about the new name.
pub(super) fn rename_at(
    from: &Dir,
    old: &OsStr,
    to: &Dir,
    new: &OsStr,
    flags: RenameFlags,
) -> io::Result<()> {
    match rustix::fs::renameat_with(from, old, to, new, flags) {
        // A file system without NOREPLACE: look first. A file that appears in between would be replaced.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS)
            if flags == RenameFlags::NOREPLACE =>
        {
            match to.symlink_metadata(new) {
                Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
                Err(_) => from.rename(old, to, new),
            }
        }
        result => Ok(result?),
    }
}

/// The name of a place in its folder; the root has none.
pub(super) fn last(place: &ResolvedPath) -> Result<&OsStr, FsError> {
    place
        .0
        .file_name()
        .ok_or_else(|| FsError::IsAFolder(show(place)))
}

/// A place as messages name it.
pub(super) fn show(place: &ResolvedPath) -> String {
    if place.0.as_os_str().is_empty() {
        ".".to_owned()
    } else {
        place.0.display().to_string()
    }
}

/// Puts into words an error of the system, with the place and the action.
pub(super) fn io_error(action: &'static str, place: &ResolvedPath, error: io::Error) -> FsError {
    FsError::Io {
        action,
        path: show(place),
        error,
    }
}

/// Makes something under a name beside a file that nothing has; the name.
pub(super) fn unused_name(
    what: &str,
    mut make: impl FnMut(&OsStr) -> io::Result<()>,
) -> io::Result<OsString> {
    let mut number = 0;
    loop {
        let aside = aside_name(what, number);
        match make(&aside) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            made => return made.map(|()| aside),
        }
    }
}

/// A name beside a file that belongs to nobody.
fn aside_name(what: &str, number: u64) -> OsString {
    format!(".clada-{what}-{}-{number}", std::process::id()).into()
}
