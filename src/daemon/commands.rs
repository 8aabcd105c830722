//! When commands ran, in all processes of this user: what can write into the notes without being the person. Runs none.

use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::world::lock::{Lock, LockError};
use crate::world::scarce;
use crate::world::survivors::{self, Survivor};

/// The lock of a run of which commands or hooks may be running.
const RUN: &str = "run";
/// Such a lock whose run was cut off: something of it may live.
const CUT: &str = "cut";
/// How long a run waits where the system has too little to write that down.
const SCARCE: Duration = Duration::from_secs(2);
/// How long what ends with a killed clada is waited for.
const PATIENCE: Duration = Duration::from_millis(500);

/// Commands may run for as long as this is not ended.
#[derive(Debug)]
pub struct Running {
    lock: Lock,
    folder: PathBuf,
}

/// Somebody beside the person who could write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Writer {
    /// A command or a hook ran.
    Command,
    /// These live, and belong to commands that are over.
    Survivors(Vec<Survivor>),
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
        Ok(Self {
            lock: Lock::try_take(folder, RUN, of)?,
            folder: folder.to_owned(),
        })
    }

    /// They do not run any more, as far as is known.
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

/// Who beside the person could write into the notes at this time, in Unix time in milliseconds, or later.
pub(super) fn since(folder: &Path, time_ms: i64) -> Option<Writer> {
    let survivors = survivors(folder);
    if !survivors.is_empty() {
        Some(Writer::Survivors(survivors))
    } else if Lock::held_since(folder, &[RUN, CUT], time_ms) {
        Some(Writer::Command)
    } else {
        None
    }
}

/// What lives of runs that are over. Where nothing does, these are settled, from this moment on.
pub(super) fn survivors(folder: &Path) -> Vec<Survivor> {
    let mut all = survivors::reported();
    if !Lock::held(folder, &[RUN]).is_empty() {
        // What runs cannot be told from what was left, and no tick counts anyway.
        return all;
    }
    for cut_off in Lock::cut_off(folder, &[RUN, CUT]) {
        let living = survivors::since(cut_off.taken_ms);
        if living.is_empty()
            && let Err(error) = cut_off.settle()
        {
            tracing::error!(%error, "lock");
        }
        all.extend(
            living
                .into_iter()
                .filter(|it| !all.contains(it))
                .collect::<Vec<_>>(),
        );
    }
    all
}

/// The same, when those that are just ending had the time to.
pub(super) fn dying(folder: &Path) -> Vec<Survivor> {
    let given_up = Instant::now() + PATIENCE;
    loop {
        let living = survivors(folder);
        if living.is_empty() || Instant::now() >= given_up {
            return living;
        }
        sleep(Duration::from_millis(10));
    }
}

/// Processes by number and name.
pub(super) fn named(survivors: &[Survivor]) -> String {
    const MOST: usize = 5;
    let named = survivors.iter().take(MOST);
    let named: Vec<String> = named
        .map(|it| format!("{} ({})", it.pid, it.name))
        .collect();
    match survivors.len().saturating_sub(MOST) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}
