//! The files that may not be as the index has them: one look at each file, in several threads. Goes by stat data alone,
//! and what that leaves open is doubtful; never reads a file, nor a rule of what is ignored.
//!
//! libgit2's comparison does the same in one thread, which is slower than `git status`.

use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use git2::{Config, IndexEntry};

use super::look;
use super::recorded::{ASSUME_UNCHANGED, IndexFolder, LINK, is_gitlink, is_kept};

/// The number of folders that are worth a thread.
const SHARE: usize = 32;

/// Seconds and nanoseconds.
pub(super) type Moment = (i64, i64);

/// The time at which a file was written last; before all others if it is not there.
pub(super) fn written(path: &Path) -> Moment {
    let file = fs::symlink_metadata(path);
    file.map_or((i64::MIN, 0), |file| (file.mtime(), file.mtime_nsec()))
}

/// A comparison of the work tree with the index.
pub(super) struct IndexWalk<'w> {
    top: &'w Path,
    /// The time at which the index was written. What was written to a file in that moment or later may
    /// not show in its stat data.
    written: Moment,
    /// `core.fileMode`: files can be made executable.
    modes: bool,
    /// `core.trustCTime`
    ctime: bool,
    /// A file outside of the sparse checkout is git's again once it is there.
    sparse: bool,
}

/// Paths that may differ.
#[derive(Default)]
pub(super) struct Doubts {
    /// In the index.
    pub(super) tracked: Vec<PathBuf>,
    /// Files and folders of which the index has nothing, ignored or not; and folders that cannot be listed.
    pub(super) others: Vec<PathBuf>,
}

/// A folder to look at, as the index has it.
type FolderToSee<'f> = (PathBuf, &'f IndexFolder<'f>);

impl<'w> IndexWalk<'w> {
    /// A walk by the settings of a repository whose index was written then.
    pub(super) fn by(config: &Config, top: &'w Path, written: Moment) -> Self {
        let is_set = |name, otherwise| config.get_bool(name).unwrap_or(otherwise);
        Self {
            top,
            written,
            modes: is_set("core.fileMode", true),
            ctime: is_set("core.trustCTime", true),
            sparse: is_set("core.sparseCheckout", false),
        }
    }

    /// Looks at the folder `from` and at all below it. Links are not followed, and no folder is entered of which the index
    /// has nothing.
    pub(super) fn doubts(&self, from: &Path, folder: &IndexFolder<'_>) -> Doubts {
        let mut all = Doubts::default();
        let mut level = vec![(from.to_path_buf(), folder)];
        while !level.is_empty() {
            let seen = in_threads(&level, |(path, folder)| self.look(path, folder));
            level = Vec::new();
            for (seen, below) in seen {
                all.tracked.extend(seen.tracked);
                all.others.extend(seen.others);
                level.extend(below);
            }
        }
        all
    }

    /// Looks at one folder; returns with it the folders in it that are to be looked at.
    fn look<'f>(&self, path: &Path, folder: &'f IndexFolder<'f>) -> (Doubts, Vec<FolderToSee<'f>>) {
        let mut seen = Doubts::default();
        let mut inside = Vec::new();
        let mut missing = vec![true; folder.files.len()];
        let mut gone = vec![true; folder.folders.len()];
        let mut meet = |item: io::Result<DirEntry>| -> io::Result<()> {
            let item = item?;
            let name = item.file_name();
            let bytes = name.as_bytes();
            if bytes == b".git" {
                return Ok(());
            }
            let is_folder = item.file_type()?.is_dir();
            let below = is_folder.then(|| folder.folder(bytes)).flatten();
            match (below, folder.file(bytes)) {
                (Some(at), _) => {
                    gone[at] = false;
                    inside.push((path.join(&name), &folder.folders[at].1));
                }
                (None, Some(at)) if !is_folder || is_gitlink(folder.files[at].1) => {
                    missing[at] = false;
                    let entry = folder.files[at].1;
                    if self.is_doubtful(entry, || item.metadata())? {
                        seen.tracked.push(look::path_of(entry));
                    }
                }
                _ => seen.others.push(path.join(&name)),
            }
            Ok(())
        };
        let listed = fs::read_dir(self.top.join(path));
        if listed
            .and_then(|mut items| items.try_for_each(&mut meet))
            .is_err()
        {
            seen.others.push(path.to_path_buf());
        }
        let mut miss = |entry: &IndexEntry| {
            if !is_gitlink(entry) && !is_kept(entry) {
                seen.tracked.push(look::path_of(entry));
            }
        };
        for ((_, entry), _) in folder.files.iter().zip(missing).filter(|(_, is)| *is) {
            miss(entry);
        }
        for ((_, folder), _) in folder.folders.iter().zip(gone).filter(|(_, is)| *is) {
            folder.each(&mut miss);
        }
        (seen, inside)
    }

    fn is_doubtful(
        &self,
        entry: &IndexEntry,
        data: impl FnOnce() -> io::Result<Metadata>,
    ) -> io::Result<bool> {
        if is_gitlink(entry) {
            return Ok(false);
        }
        if is_kept(entry) {
            return Ok(self.sparse && entry.flags & ASSUME_UNCHANGED == 0);
        }
        Ok(!self.is_as(entry, &data()?))
    }

    /// Compares as git does by default.
    fn is_as(&self, entry: &IndexEntry, file: &Metadata) -> bool {
        let written = (file.mtime(), file.mtime_nsec());
        let changed = (file.ctime(), file.ctime_nsec());
        // The index has the lower 32 bits of each.
        let is_at = |time: git2::IndexTime, (seconds, nanoseconds): Moment| {
            time.seconds() == seconds as i32 && i64::from(time.nanoseconds()) == nanoseconds
        };
        self.mode_of(entry, file) == entry.mode
            && file.size() as u32 == entry.file_size
            && is_at(entry.mtime, written)
            && (!self.ctime || is_at(entry.ctime, changed))
            && (file.ino() as u32, file.uid(), file.gid()) == (entry.ino, entry.uid, entry.gid)
            && written < self.written
    }

    fn mode_of(&self, entry: &IndexEntry, file: &Metadata) -> u32 {
        if file.is_symlink() {
            LINK
        } else if !file.is_file() {
            0
        } else if !self.modes && entry.mode & 0o170_000 == 0o100_000 {
            entry.mode
        } else if file.mode() & 0o100 != 0 {
            0o100_755
        } else {
            0o100_644
        }
    }
}

/// Does the same with all items, shared out among as many threads as there are cores.
fn in_threads<T: Sync, R: Send>(items: &[T], act: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let share = items.len().div_ceil(cores).max(SHARE);
    let all = |items: &[T]| items.iter().map(&act).collect::<Vec<R>>();
    if items.len() <= share {
        return all(items);
    }
    thread::scope(|scope| {
        let all = &all;
        let start = |items| thread::Builder::new().spawn_scoped(scope, move || all(items));
        let threads: Vec<_> = items
            .chunks(share)
            .map(|items| (start(items), items))
            .collect();
        let ended = threads.into_iter().map(|(thread, items)| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // There is none to be had.
            Err(_) => all(items),
        });
        ended.flatten().collect()
    })
}
