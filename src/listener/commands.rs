//! When commands ran, in all processes of this user: what can write into the notes without being the person. Runs none.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::report::brief;
use crate::world::lock::{Lock, LockError};
use crate::world::scarce;
use crate::world::shell;
use crate::world::survivors::{self, Survivor};

/// The lock of a run of which commands or hooks may be running.
const RUN: &str = "run";
/// Such a lock whose run was cut off: something of it may live.
const CUT: &str = "cut";
/// The time that a run waits where the system has too little to write that down.
const SCARCE: Duration = Duration::from_secs(2);
/// The time that processes get to end with a killed clada.
const PATIENCE: Duration = Duration::from_millis(500);

/// Commands may run for as long as this is not ended. Each that is started keeps the lock too, until nothing of it lives: if
/// clada is killed, that tells the next one.
#[derive(Debug)]
pub struct Running {
    lock: Lock,
    _kept: shell::KeptFile,
    folder: PathBuf,
}

/// Somebody beside the person who could write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Writer {
    /// A command or a hook ran.
    Command,
    /// Something lives of commands that are over.
    Survivors(Lingering),
}

/// The processes that live on after their commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Lingering {
    /// Those that this process could not end.
    reported: Vec<Survivor>,
    /// Something of a run that was cut off.
    cut_off: bool,
}

impl Running {
    /// Commands are about to run on behalf of this path. Everybody knows it when this returns; `folder` is where locks are.
    ///
    /// # Errors
    /// Where that cannot be written down: no command must run.
    pub fn begin(folder: &Path, of: &Path) -> Result<Self, LockError> {
        let given_up = Instant::now() + SCARCE;
        loop {
            match Self::try_begin(folder, of) {
                Err(LockError::Io { error, .. })
                    if scarce::is_scarce(&error) && Instant::now() < given_up =>
                {
                    sleep(Duration::from_millis(20));
                }
                begun => return begun,
            }
        }
    }

    fn try_begin(folder: &Path, of: &Path) -> Result<Self, LockError> {
        for cut_off in Lock::cut_off(folder, &[RUN]) {
            if let Err(error) = cut_off.put_aside(CUT) {
                let path = folder.display().to_string();
                return Err(LockError::Io { path, error });
            }
        }
        let lock = Lock::try_take(folder, RUN, of)?;
        let kept = lock.descriptor().map_err(|error| LockError::Io {
            path: folder.display().to_string(),
            error,
        })?;
        Ok(Self {
            lock,
            _kept: shell::keep(kept),
            folder: folder.to_owned(),
        })
    }

    /// Ends the time in which commands may run.
    ///
    /// # Errors
    /// Where that cannot be written down.
    pub fn end(self) -> io::Result<()> {
        if survivors::reported().is_empty() {
            return self.lock.end();
        }
        // As if it had been cut off, for who listens after this process.
        self.lock.abandon()?;
        let cut_off = Lock::cut_off(&self.folder, &[RUN]);
        cut_off.iter().try_for_each(|it| it.put_aside(CUT))
    }
}

/// Returns who beside the person could write into the notes at this time, in Unix time in milliseconds, or later.
pub(super) fn since(folder: &Path, time_ms: i64) -> Option<Writer> {
    let left = left(folder);
    if !left.is_empty() {
        Some(Writer::Survivors(left))
    } else if Lock::held_since(folder, &[RUN, CUT], time_ms) {
        Some(Writer::Command)
    } else {
        None
    }
}

/// Finds what lives of runs that are over. Where nothing does, these are settled, from this moment on.
fn left(folder: &Path) -> Lingering {
    let mut left = Lingering {
        reported: survivors::reported(),
        cut_off: false,
    };
    for cut_off in Lock::cut_off(folder, &[RUN, CUT]) {
        match cut_off.settle() {
            Ok(is_settled) => left.cut_off |= !is_settled,
            Err(error) => tracing::error!(%error, "cannot settle a lock"),
        }
    }
    left
}

/// Finds the same, after those that are just ending had the time to.
pub(super) fn dying(folder: &Path) -> Lingering {
    let given_up = Instant::now() + PATIENCE;
    loop {
        let left = left(folder);
        if left.is_empty() || Instant::now() >= given_up {
            return left;
        }
        sleep(Duration::from_millis(10));
    }
}

impl Lingering {
    pub(super) fn is_empty(&self) -> bool {
        self.reported.is_empty() && !self.cut_off
    }
}

/// Processes by number and name.
impl fmt::Display for Lingering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 5;
        for (number, it) in self.reported.iter().take(MOST).enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            write!(f, "{comma}{} ({})", it.pid, brief(&it.name))?;
        }
        match self.reported.len().saturating_sub(MOST) {
            0 => {}
            more => write!(f, " and {more} more")?,
        }
        if self.cut_off {
            let and = if self.reported.is_empty() {
                ""
            } else {
                ", and "
            };
            write!(f, "{and}what a killed clada started")?;
        }
        Ok(())
    }
}
