//! Git's locks, and the wait for them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::error::GitResult;
use super::{SnapshotError, Store};
use crate::world::hurry::Hurry;

/// The time that another program may hold one of git's locks before a save is given up.
const LOCK_WAIT: Duration = Duration::from_secs(5);
const LOCK_PAUSE: Duration = Duration::from_millis(25);

/// The wait for a lock.
pub(super) struct LockWait {
    pub(super) longest: Duration,
    pub(super) hurry: Hurry,
    /// Only clada saves there, and it has the root's lock: a lock that stays is of a clada that was killed.
    is_own: bool,
}

impl LockWait {
    pub(super) fn new(hurry: Hurry, is_own: bool) -> Self {
        Self {
            longest: LOCK_WAIT,
            hurry,
            is_own,
        }
    }

    /// Tries again and again while `path` is locked, until the wait is over.
    pub(super) fn patiently<T>(
        &self,
        path: &Path,
        mut act: impl FnMut() -> GitResult<T>,
    ) -> GitResult<T> {
        let until = Instant::now() + self.longest;
        let unlock = || std::fs::remove_file(lock_of(path)).is_ok();
        loop {
            match act() {
                Err(why) if !why.is_lock() => return Err(why),
                Err(_) if !self.hurry.is_over(until) => std::thread::sleep(LOCK_PAUSE),
                Err(_) if self.is_own && Instant::now() >= until && unlock() => {}
                Err(_) => return Err(SnapshotError::Locked(lock_of(path))),
                done => return done,
            }
        }
    }
}

impl Store {
    /// Waits while somebody holds the index's lock, who is about to change index and files (a checkout, an open
    /// `git commit`): what would be saved now is half of something, even if writing could wait.
    pub(super) fn wait_until_unlocked(&self) -> GitResult<()> {
        // Beside a branch, the index that others lock is not that of clada.
        for path in [self.index_path(), self.repo.path().join("index")] {
            self.locks.patiently(&path, || refuse_locked(&path))?;
        }
        Ok(())
    }
}

/// # Errors
/// Where a program holds the lock of this file.
pub(super) fn refuse_locked(path: &Path) -> GitResult<()> {
    let lock = lock_of(path);
    if lock.exists() {
        return Err(SnapshotError::Locked(lock));
    }
    Ok(())
}

fn lock_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}
