//! The files that may not be as the index has them: one look at each file, in several threads. Goes by stat data alone,
//! and what that leaves open is doubtful; never reads a file, nor a rule of what is ignored.
//!
//! libgit2's comparison does the same in one thread, which is slower than `git status`.

use std::ffi::{CStr, OsStr};
use std::fs;
#[cfg(target_os = "linux")]
use std::mem::MaybeUninit;
use std::num::NonZero;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use git2::{Config, IndexEntry};
#[cfg(not(target_os = "linux"))]
use rustix::fs::Dir;
#[cfg(target_os = "linux")]
use rustix::fs::RawDir;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, open, openat, statat};
use rustix::io::Errno;

use super::look;
use super::recorded::{
    ASSUME_UNCHANGED, FILE, IndexFolder, KnownEntries, LINK, PROGRAM, is_gitlink, is_kept,
};

/// The number of folders that are worth a thread, and that it looks at before it asks for more.
const SHARE: usize = 32;

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// Seconds and nanoseconds.
pub(super) type Moment = (i64, u32);

/// The index's file as it was before it was read: if it is another one by then, more is looked at than need be.
pub(super) struct IndexFile {
    pub(super) written: Moment,
    pub(super) checksum: Option<Checksum>,
}

/// The last bytes of an index's file: git's hash of all that is before them.
pub(super) type Checksum = [u8; 20];

/// The time at which a file was written last; before all others if it is not there.
pub(super) fn written(path: &Path) -> Moment {
    let file = fs::symlink_metadata(path);
    file.map_or((i64::MIN, 0), |file| {
        (file.mtime(), file.mtime_nsec() as u32)
    })
}

/// A comparison of the work tree with the index.
pub(super) struct IndexWalk<'w> {
    top: &'w Path,
    /// The file of the index: a file that was written to in the same moment, or later, may not show that in its stat data.
    pub(super) file: IndexFile,
    /// `core.fileMode`: files can be made executable.
    pub(super) modes: bool,
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

/// The result of a look at one folder.
struct Seen {
    doubts: Doubts,
    /// For each folder that the index has in it, true if it is not there.
    gone: Vec<bool>,
}

/// The entries of the index's file, and the paths that may differ from them in the work tree.
pub(super) struct Ahead {
    pub(super) known: Arc<KnownEntries>,
    pub(super) doubts: Doubts,
}

impl<'w> IndexWalk<'w> {
    /// A walk by the settings of a repository with that index.
    pub(super) fn by(config: &Config, top: &'w Path, file: IndexFile) -> Self {
        let is_set = |name, otherwise| config.get_bool(name).unwrap_or(otherwise);
        Self {
            top,
            file,
            modes: is_set("core.fileMode", true),
            ctime: is_set("core.trustCTime", true),
            sparse: is_set("core.sparseCheckout", false),
        }
    }

    /// Looks at the known folder and at all below it. Links are not followed, and no folder is entered of which the index has nothing.
    pub(super) fn doubts(&self, known: &KnownEntries) -> Doubts {
        if known.entries().is_empty() {
            return Doubts {
                others: vec![PathBuf::from(OsStr::from_bytes(known.folder().path()))],
                ..Doubts::default()
            };
        }
        let top = open(self.top, FOLDER | OFlags::RDONLY, Mode::empty());
        let seen = in_threads(&known.folders(), |folder| self.look(top.as_ref(), *folder));
        let mut all = Doubts::default();
        all.gather(known.folder(), &mut seen.into_iter());
        all
    }

    /// Looks at it in the same way, and makes the names of its trees meanwhile.
    pub(super) fn doubts_and_ids(&self, known: &KnownEntries) -> Doubts {
        thread::scope(|scope| {
            // They are known by the time that they are asked; without a thread, they are found out then.
            let _ = thread::Builder::new().spawn_scoped(scope, || known.folder().id());
            self.doubts(known)
        })
    }

    /// Looks at one folder, by its path from the top.
    fn look(&self, top: Result<&OwnedFd, &Errno>, folder: IndexFolder<'_>) -> Seen {
        let mut doubts = Doubts::default();
        let mut missing = vec![true; folder.files().len()];
        let mut gone = vec![true; folder.folders().len()];
        let path = Path::new(OsStr::from_bytes(folder.path()));
        let mut meet = |at: BorrowedFd<'_>, name: &CStr, kind: FileType| {
            let bytes = name.to_bytes();
            if matches!(bytes, b"." | b".." | b".git") {
                return Ok(());
            }
            let data = || statat(at, name, AtFlags::SYMLINK_NOFOLLOW);
            let is_folder = match kind {
                FileType::Unknown => FileType::from_raw_mode(data()?.st_mode).is_dir(),
                kind => kind.is_dir(),
            };
            let below = is_folder.then(|| folder.folder(bytes)).flatten();
            match (below, folder.file(bytes)) {
                (Some((at, _)), _) => gone[at] = false,
                (None, Some((at, entry))) if !is_folder || is_gitlink(entry) => {
                    if self.is_doubtful(entry, data)? {
                        doubts.tracked.push(look::path_of(entry));
                    }
                    missing[at] = false;
                }
                _ => doubts.others.push(path.join(OsStr::from_bytes(bytes))),
            }
            Ok(())
        };
        let flags = FOLDER | OFlags::RDONLY | OFlags::NOFOLLOW;
        let name = match folder.path() {
            b"" => b".",
            path => path,
        };
        let opened = top.map_err(|why| *why);
        let opened = opened.and_then(|top| openat(top, name, flags, Mode::empty()));
        // A file that is gone by the time of its turn is missing; the rest of the folder is looked at.
        let meet = |at: BorrowedFd<'_>, name: &CStr, kind| match meet(at, name, kind) {
            Err(Errno::NOENT) => Ok(()),
            met => met,
        };
        if opened.and_then(|opened| list(opened, meet)).is_err() {
            doubts.others.push(path.to_path_buf());
        }
        for ((_, entry), _) in folder.files().zip(missing).filter(|(_, is)| *is) {
            doubts.miss(entry);
        }
        Seen { doubts, gone }
    }

    fn is_doubtful(
        &self,
        entry: &IndexEntry,
        data: impl FnOnce() -> Result<Stat, Errno>,
    ) -> Result<bool, Errno> {
        if is_gitlink(entry) {
            return Ok(false);
        }
        if is_kept(entry) {
            return Ok(self.sparse && entry.flags & ASSUME_UNCHANGED == 0);
        }
        Ok(!self.is_as(entry, &data()?))
    }

    /// Compares as git does by default.
    fn is_as(&self, entry: &IndexEntry, file: &Stat) -> bool {
        let written = (file.st_mtime, file.st_mtime_nsec as u32);
        let changed = (file.st_ctime, file.st_ctime_nsec as u32);
        // The index has the lower 32 bits of each.
        let is_at = |time: git2::IndexTime, (seconds, nanoseconds): Moment| {
            time.seconds() == seconds as i32 && time.nanoseconds() == nanoseconds
        };
        self.mode_of(entry, file) == entry.mode
            && file.st_size as u32 == entry.file_size
            && is_at(entry.mtime, written)
            && (!self.ctime || is_at(entry.ctime, changed))
            && (file.st_ino as u32, file.st_uid, file.st_gid) == (entry.ino, entry.uid, entry.gid)
            && written < self.file.written
    }

    fn mode_of(&self, entry: &IndexEntry, file: &Stat) -> u32 {
        match FileType::from_raw_mode(file.st_mode) {
            FileType::Symlink => LINK,
            FileType::RegularFile if !self.modes && entry.mode & 0o170_000 == 0o100_000 => {
                entry.mode
            }
            FileType::RegularFile if Mode::from_raw_mode(file.st_mode).contains(Mode::XUSR) => {
                PROGRAM
            }
            FileType::RegularFile => FILE,
            _ => 0,
        }
    }
}

impl Doubts {
    /// Adds what was seen of a folder and of all below it. What lies behind something that took a folder's place is not there.
    fn gather(&mut self, folder: IndexFolder<'_>, seen: &mut impl Iterator<Item = Seen>) {
        let Some(here) = seen.next() else {
            return;
        };
        self.tracked.extend(here.doubts.tracked);
        self.others.extend(here.doubts.others);
        for ((_, below), is_gone) in folder.folders().zip(here.gone) {
            if is_gone {
                below.each(&mut |entry| self.miss(entry));
                Self::default().gather(below, seen);
            } else {
                self.gather(below, seen);
            }
        }
    }

    /// Adds a file that is not there.
    fn miss(&mut self, entry: &IndexEntry) {
        if !is_gitlink(entry) && !is_kept(entry) {
            self.tracked.push(look::path_of(entry));
        }
    }
}

/// Goes through what is in a folder.
fn list(
    folder: OwnedFd,
    mut meet: impl FnMut(BorrowedFd<'_>, &CStr, FileType) -> Result<(), Errno>,
) -> Result<(), Errno> {
    // Reading it by the system's own call needs no memory for each name.
    #[cfg(target_os = "linux")]
    {
        let mut buffer = [MaybeUninit::uninit(); 32 * 1024];
        let mut items = RawDir::new(&folder, &mut buffer);
        while let Some(item) = items.next() {
            let item = item?;
            meet(folder.as_fd(), item.file_name(), item.file_type())?;
        }
        Ok(())
    }
    #[cfg(not(target_os = "linux"))]
    {
        let mut items = Dir::read_from(&folder)?;
        items.try_for_each(|item| {
            let item = item?;
            meet(folder.as_fd(), item.file_name(), item.file_type())
        })
    }
}

/// Does the same with all items, shared out among as many threads as there are cores.
fn in_threads<T: Sync, R: Send>(items: &[T], act: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(SHARE, Ordering::Relaxed);
            let Some(left) = items.get(at..).filter(|left| !left.is_empty()) else {
                return done;
            };
            let share = left.iter().take(SHARE).map(&act);
            done.push((at, share.collect::<Vec<R>>()));
        }
    };
    let mut done = thread::scope(|scope| {
        let others = cores.min(items.len().div_ceil(SHARE)).saturating_sub(1);
        // Where there is no thread to be had, the others do its work.
        let others: Vec<_> = (0..others)
            .filter_map(|_| thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let mut done = work();
        for other in others {
            done.append(&mut other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().flat_map(|(_, share)| share).collect()
}
