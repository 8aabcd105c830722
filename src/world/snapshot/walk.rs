//! Which files may not be as the index has them: one look at each file, in several threads. Goes by stat data alone,
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

use git2::IndexEntry;

use super::recorded::Folder;
use super::{look, stage};

/// So many folders are worth a thread.
const SHARE: usize = 32;

/// Seconds and nanoseconds.
pub(super) type Moment = (i64, i64);

/// When a file was written last; before all others if it is not there.
pub(super) fn written(path: &Path) -> Moment {
    let file = fs::symlink_metadata(path);
    file.map_or((i64::MIN, 0), |file| (file.mtime(), file.mtime_nsec()))
}

/// What a walk goes by.
pub(super) struct Walk<'w> {
    pub(super) top: &'w Path,
    /// When the index was written. What was written to a file in that moment or later may
    /// not show in its stat data.
    pub(super) written: Moment,
    /// `core.fileMode`: whether a file can be made executable.
    pub(super) modes: bool,
    /// `core.trustCTime`
    pub(super) ctime: bool,
    /// A file outside of the sparse checkout is git's again once it is there.
    pub(super) sparse: bool,
}

/// Paths that may differ.
#[derive(Default)]
pub(super) struct Doubts {
    /// In the index.
    pub(super) tracked: Vec<PathBuf>,
    /// Files and folders of which the index has nothing, ignored or not; and folders that cannot be listed.
    pub(super) others: Vec<PathBuf>,
}

/// What is seen in one folder.
#[derive(Default)]
struct Seen<'f> {
    doubts: Doubts,
    below: Vec<(PathBuf, &'f Folder<'f>)>,
}

impl Walk<'_> {
    /// Looks at the folder `from` and at all below it. Links are not followed, and no folder is entered of which the index
    /// has nothing.
    pub(super) fn doubts(&self, from: &Path, folder: &Folder<'_>) -> Doubts {
        let mut all = Doubts::default();
        let mut level = vec![(from.to_path_buf(), folder)];
        while !level.is_empty() {
            let seen = in_threads(&level, |(path, folder)| self.look(path, folder));
            level = Vec::new();
            for mut seen in seen {
                all.tracked.append(&mut seen.doubts.tracked);
                all.others.append(&mut seen.doubts.others);
                level.append(&mut seen.below);
            }
        }
        all
    }

    fn look<'f>(&self, path: &Path, folder: &'f Folder<'f>) -> Seen<'f> {
        let mut seen = Seen::default();
        let mut missing = vec![true; folder.files.len()];
        let mut gone = vec![true; folder.folders.len()];
        let mut meet = |item: io::Result<DirEntry>| -> io::Result<()> {
            let item = item?;
            let name = item.file_name();
            if name == ".git" {
                return Ok(());
            }
            let is_folder = item.file_type()?.is_dir();
            let file = folder.file(name.as_bytes());
            match (file, folder.folder(name.as_bytes())) {
                (_, Some(at)) if is_folder => {
                    gone[at] = false;
                    seen.below.push((path.join(name), &folder.folders[at].1));
                }
                (Some(at), _) if !is_folder || stage::is_gitlink(folder.files[at].1) => {
                    missing[at] = false;
                    let entry = folder.files[at].1;
                    if self.is_doubtful(entry, &item)? {
                        seen.doubts.tracked.push(look::path_of(entry));
                    }
                }
                _ => seen.doubts.others.push(path.join(name)),
            }
            Ok(())
        };
        let listed = fs::read_dir(self.top.join(path));
        if listed
            .and_then(|mut items| items.try_for_each(&mut meet))
            .is_err()
        {
            seen.doubts.others.push(path.to_path_buf());
        }
        let mut miss = |entry: &IndexEntry| {
            if !stage::is_gitlink(entry) && !is_kept(entry) {
                seen.doubts.tracked.push(look::path_of(entry));
            }
        };
        for (at, (_, entry)) in folder.files.iter().enumerate() {
            if missing[at] {
                miss(entry);
            }
        }
        for (at, (_, folder)) in folder.folders.iter().enumerate() {
            if gone[at] {
                folder.each(&mut miss);
            }
        }
        seen
    }

    fn is_doubtful(&self, entry: &IndexEntry, item: &DirEntry) -> io::Result<bool> {
        if stage::is_gitlink(entry) {
            return Ok(false);
        }
        if is_kept(entry) {
            return Ok(self.sparse && entry.flags & stage::ASSUME_UNCHANGED == 0);
        }
        let file = item.metadata()?;
        Ok(!self.is_as(entry, &file))
    }

    /// As git tells it by default.
    fn is_as(&self, entry: &IndexEntry, file: &Metadata) -> bool {
        let (seconds, nanoseconds) = (file.mtime(), file.mtime_nsec());
        let is_at = |time: git2::IndexTime, seconds: i64, nanoseconds: i64| {
            time.seconds() == seconds as i32 && i64::from(time.nanoseconds()) == nanoseconds
        };
        self.mode_of(entry, file) == entry.mode
            && file.size() as u32 == entry.file_size
            && is_at(entry.mtime, seconds, nanoseconds)
            && (!self.ctime || is_at(entry.ctime, file.ctime(), file.ctime_nsec()))
            && (file.ino() as u32, file.uid(), file.gid()) == (entry.ino, entry.uid, entry.gid)
            && (seconds, nanoseconds) < self.written
    }

    fn mode_of(&self, entry: &IndexEntry, file: &Metadata) -> u32 {
        match file.file_type() {
            kind if kind.is_symlink() => 0o120_000,
            kind if !kind.is_file() => 0,
            _ if !self.modes && entry.mode & 0o170_000 == 0o100_000 => entry.mode,
            _ if file.mode() & 0o100 != 0 => 0o100_755,
            _ => 0o100_644,
        }
    }
}

/// Whether the user keeps changes of that file out of commits.
fn is_kept(entry: &IndexEntry) -> bool {
    entry.flags & stage::ASSUME_UNCHANGED != 0 || entry.flags_extended & stage::SKIP_WORKTREE != 0
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
        let threads = items.chunks(share).map(|items| scope.spawn(|| all(items)));
        let threads: Vec<_> = threads.collect();
        let ended = threads.into_iter().map(|thread| thread.join());
        ended
            .flat_map(|made| made.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}
