//! A file that another program writes to while it is saved. libgit2 gives up where a file is no longer as long as it was a moment
//! before; git itself takes what it can read, and so do we.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use git2::{IndexEntry, IndexTime, Oid};

use super::Store;
use super::at::opened;
use super::recorded::{FILE, PROGRAM};

impl Store {
    /// Makes a blob of what can be read of a file now, by its path from the top; converted as git's attributes say. None where it cannot be
    /// read, or where the disk is full.
    pub(super) fn blob_as_read(&self, path: &Path) -> Option<Oid> {
        let file = opened(&self.top.join(path))?;
        // It may grow faster than it is read.
        let length = file.metadata().ok()?.len();
        let mut blob = self.repo.blob_writer(Some(path)).ok()?;
        io::copy(&mut io::Read::take(file, length), &mut blob).ok()?;
        blob.commit().ok()
    }

    /// The entry of such a file. It has no stat data, so that the next save looks again. Where the file system knows no
    /// executable files, the index says whether this is one.
    pub(super) fn entry_as_read(
        &self,
        path: &Path,
        modes: bool,
        recorded: Option<&IndexEntry>,
    ) -> Option<IndexEntry> {
        let runs = if modes {
            let found = self.top.join(path).symlink_metadata().ok()?;
            found.permissions().mode() & 0o100 != 0
        } else {
            recorded.is_some_and(|entry| entry.mode == PROGRAM)
        };
        let never = IndexTime::new(0, 0);
        Some(IndexEntry {
            ctime: never,
            mtime: never,
            dev: 0,
            ino: 0,
            mode: if runs { PROGRAM } else { FILE },
            uid: 0,
            gid: 0,
            file_size: 0,
            id: self.blob_as_read(path)?,
            flags: 0,
            flags_extended: 0,
            path: path.as_os_str().as_bytes().to_vec(),
        })
    }
}
