//! Owns the folder of clada's state as a place that is the user's alone, and replaces files in it as a whole. Knows nothing
//! of what they say.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::text::hex::hex;
use crate::world::ownership::{NotOwn, OwnUsers, follow};

/// The mode of what nobody else has any business in.
const OWN: u32 = 0o700;

/// A reason why the state folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error(
        "clada's state folder `{}` {doubt}, so clada does not use it: run clada as that user, or set XDG_STATE_HOME or \
         HOME to a folder that you own", path.display()
    )]
    Other { path: PathBuf, doubt: NotOwn },
    #[error(
        "clada's state folder `{}` is reached through the symbolic link `{}`, whose folder {doubt}: run `chmod go-w` on \
         that folder, or set XDG_STATE_HOME to a folder that you own", path.display(), link.display()
    )]
    Link {
        path: PathBuf,
        link: PathBuf,
        doubt: NotOwn,
    },
    #[error("cannot make clada's state folder `{}` private: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
}

/// Makes a folder that is there the user's alone, whatever it was before; one that is not there is left so.
///
/// # Errors
/// Where it is another user's, or one could put another in its place.
pub fn keep_private(folder: &Path) -> Result<(), StateError> {
    let users = OwnUsers::of_process();
    let mut above = None;
    let mut check = |path: &Path, found: &Metadata| {
        if found.is_dir() {
            above = users.doubt(found);
            return Ok(());
        }
        let doubt = above.clone().or_else(|| users.doubt(found));
        match doubt.filter(|_| found.is_symlink()) {
            Some(doubt) => Err(StateError::Link {
                path: folder.to_owned(),
                link: path.to_owned(),
                doubt,
            }),
            None => Ok(()),
        }
    };
    let failed = |error| StateError::Io {
        path: folder.to_owned(),
        error,
    };
    // What cannot be reached is told where it is needed.
    let Ok(path) = follow(folder, &mut check)? else {
        return Ok(());
    };
    let Ok(found) = fs::symlink_metadata(&path) else {
        return Ok(());
    };
    if !users.has(found.uid()) {
        return Err(StateError::Other {
            path,
            doubt: NotOwn::Owner(found.uid()),
        });
    }
    if found.mode() & 0o077 == 0 {
        return Ok(());
    }
    fs::set_permissions(&path, Permissions::from_mode(OWN)).map_err(failed)
}

/// Makes a folder and those above it that are missing, for this user alone.
///
/// # Errors
/// What the system says.
pub fn make(folder: &Path) -> io::Result<()> {
    let mut new = DirBuilder::new();
    new.recursive(true).mode(OWN).create(folder)
}

/// Makes a folder as [`make`] does, and takes its lock, which ends with the process. For as long as a small file is written:
/// one lock is enough for all files of a folder.
///
/// # Errors
/// What the system says.
pub fn lock(folder: &Path) -> io::Result<File> {
    make(folder)?;
    let folder = File::open(folder)?;
    folder.lock()?;
    Ok(folder)
}

/// Returns a name for what is kept for some paths: no other paths have the same.
pub fn name_of(paths: &[&Path]) -> String {
    let paths: Vec<&[u8]> = paths
        .iter()
        .map(|path| path.as_os_str().as_bytes())
        .collect();
    // No path has a NUL.
    hex(&Sha256::digest(paths.join(&0))[..12])
}

/// Replaces a file as a whole by what `write` writes, for this user alone, and makes its folder where it is missing.
///
/// Until then the text is in the file `new` beside it. Its name is always the same, so that a crash leaves no more than
/// one; so nobody else may write that one at the same time.
///
/// # Errors
/// What the system says; then the file is what it was.
pub fn replace(
    path: &Path,
    new: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    make(path.parent().unwrap_or(Path::new("/")))?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    write(&mut options.open(new)?)?;
    fs::rename(new, path)
}

/// Replaces a file as [`replace`] does; it is on the disk when this returns.
///
/// # Errors
/// The same.
pub fn replace_on_disk(path: &Path, text: &[u8]) -> io::Result<()> {
    replace(path, &path.with_extension("new"), |file| {
        file.write_all(text)?;
        file.sync_all()
    })?;
    File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, symlink};

    use super::*;

    #[test]
    fn a_state_folder_is_made_the_users_alone() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("state/clada");
        keep_private(&folder).unwrap();
        make(&folder).unwrap();
        for mode in [0o700, 0o755, 0o777] {
            fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
            keep_private(&folder).unwrap();
            assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, OWN);
        }
        // A link of the user's in a folder of the user's is the user's.
        symlink(&folder, dir.path().join("link")).unwrap();
        keep_private(&dir.path().join("link")).unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).unwrap();
        let refused = keep_private(&dir.path().join("link"));
        assert!(
            matches!(refused, Err(StateError::Link { .. })),
            "{refused:?}"
        );
        if rustix::process::geteuid().is_root() {
            chown(&folder, Some(4711), None).unwrap();
            let refused = keep_private(&folder);
            assert!(
                matches!(refused, Err(StateError::Other { .. })),
                "{refused:?}"
            );
        }
    }
}
