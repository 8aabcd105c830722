//! Owns the folder of clada's state as a place that is the user's alone. Knows nothing of what is in it.

use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::world::ownership::{NotOwn, OwnUsers, follow};

/// The mode of what nobody else has any business in.
const OWN: u32 = 0o700;

/// Why the state folder cannot be used.
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
    match found.mode() & 0o077 {
        0 => Ok(()),
        _ => fs::set_permissions(&path, Permissions::from_mode(OWN)).map_err(failed),
    }
}

/// Makes a folder and those above it that are missing, for this user alone.
///
/// # Errors
/// What the system says.
pub fn make(folder: &Path) -> io::Result<()> {
    let mut new = DirBuilder::new();
    new.recursive(true).mode(OWN).create(folder)
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
