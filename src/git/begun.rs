//! The beginner of what git has in progress: clada remembers in its state where a command of a reply did. Changes nothing of git's.
//!
//! The steps of a rebase name programs, and a command can write them without git. So nobody is told to go on with it.

use std::fs::{self, DirBuilder, Metadata};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use super::error::Beginner;
use super::{SnapshotError, Store, private};

/// The files in a git directory while something is in progress.
const STATE: [&str; 8] = [
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_LOG",
    "BISECT_START",
];

/// The folder beside the private repositories where that is remembered.
const FOLDER: &str = "begun";

impl Store {
    /// Remembers that a command began what is in progress, if that is why nothing could be saved after it.
    pub(super) fn begun_by_command(&self, why: SnapshotError) -> SnapshotError {
        let SnapshotError::Busy(operation, _) = why else {
            return why;
        };
        if let Some(path) = self.mark_of_begun()
            && let Some(folder) = path.parent()
        {
            // Without it the message is the one for whatever nobody knows of.
            let mut how = DirBuilder::new();
            let _ = how.recursive(true).mode(0o700).create(folder);
            let _ = fs::write(path, self.in_progress().join("\n"));
        }
        SnapshotError::Busy(operation, Beginner::Command)
    }

    /// Tells who began what is in progress, as far as that is known.
    pub(super) fn beginner(&self) -> Beginner {
        let marks = self.mark_of_begun().map(fs::read_to_string);
        let now = self.in_progress();
        let is_marked = |mark| now.iter().any(|one| one == mark);
        match marks {
            Some(Ok(marks)) if marks.lines().any(is_marked) => Beginner::Command,
            _ => Beginner::Unknown,
        }
    }

    fn mark_of_begun(&self) -> Option<PathBuf> {
        let private = &self.rules.options.private;
        private.file_name()?;
        let name = private::name_of(self.repo.path());
        Some(private.with_file_name(FOLDER).join(name))
    }

    /// The files that there are of it, each by what no other file has.
    fn in_progress(&self) -> Vec<String> {
        let marks = STATE.iter().filter_map(|name| {
            let data = fs::symlink_metadata(self.repo.path().join(name)).ok()?;
            let (device, inode, made) = (data.dev(), data.ino(), made(&data));
            Some(format!("{name} {device} {inode} {made}"))
        });
        marks.collect()
    }
}

/// The time at which a file was made, in nanoseconds; 0 where the file system does not tell.
fn made(data: &Metadata) -> u128 {
    let made = data.created().ok();
    let since = made.and_then(|made| made.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_nanos())
}
