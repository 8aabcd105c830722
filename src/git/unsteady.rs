//! A file that another program writes to while it is saved. libgit2 gives up where a file is no longer as long as it was a moment
//! before; git itself takes what it can read, and so do we.

use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use git2::{IndexEntry, IndexTime, Oid};

use super::Store;
use super::at::opened;
use super::recorded::{FILE, PROGRAM};

impl Store {
    /// Makes a blob of what can be read of a file now, by its path from the top; converted as git's attributes say. None where it
    /// cannot be opened.
    ///
    /// # Errors
    /// Where it cannot be read, or nothing can be written, as on a full disk.
    pub(super) fn blob_as_read(&self, path: &Path) -> Option<io::Result<Oid>> {
        let file = opened(&self.top.join(path))?;
        let blob = || {
            // It may grow faster than it is read.
            let length = file.metadata()?.len();
            let blob = self.repo.blob_writer(Some(path));
            let mut blob = blob.map_err(io::Error::other)?;
            io::copy(&mut (&file).take(length), &mut blob)?;
            blob.commit().map_err(io::Error::other)
        };
        Some(blob())
    }

    /// The entry of such a file. It has no stat data, so that the next save looks again. Where the file system knows no
    /// executable files, the index says whether this is one. None where it cannot be opened.
    ///
    /// # Errors
    /// Those of the blob.
    pub(super) fn entry_as_read(
        &self,
        path: &Path,
        modes: bool,
        recorded: Option<&IndexEntry>,
    ) -> Option<io::Result<IndexEntry>> {
        let runs = if modes {
            let found = self.top.join(path).symlink_metadata().ok()?;
            found.permissions().mode() & 0o100 != 0
        } else {
            recorded.is_some_and(|entry| entry.mode == PROGRAM)
        };
        let never = IndexTime::new(0, 0);
        let entry = |id| IndexEntry {
            ctime: never,
            mtime: never,
            dev: 0,
            ino: 0,
            mode: if runs { PROGRAM } else { FILE },
            uid: 0,
            gid: 0,
            file_size: 0,
            id,
            flags: 0,
            flags_extended: 0,
            path: path.as_os_str().as_bytes().to_vec(),
        };
        Some(self.blob_as_read(path)?.map(entry))
    }
}
