//! Pipes with the names of the files in which git looks for rules. libgit2 opens these wherever it finds them, and would wait for
//! ever for somebody who writes there. Owns how such a wait is ended: as if the file were empty. Changes nothing.
//!
//! Looking for them before each save was rejected: it costs a walk through all folders, and they may come meanwhile.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::world::locked::locked;
use rustix::fs::{Mode, OFlags, open};

/// The time that git may work before such pipes are looked for; then the time from help to help, and the time after which they
/// are looked for anew.
const PATIENCE: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(2);
const AGAIN: Duration = Duration::from_secs(1);
/// The most folders that are looked through.
const FOLDERS: usize = 100_000;
/// The files in which git looks for rules.
const RULES: [&str; 3] = [".gitignore", ".gitattributes", ".gitmodules"];

/// Helps git over such pipes below a folder while it works. Its thread ends soon after this value.
pub(super) struct Relief {
    top: PathBuf,
    /// Odd while git works; another number each time.
    work: AtomicU64,
    /// The pipes that were found and that nobody was told of.
    found: Mutex<BTreeSet<PathBuf>>,
}

/// Git works as long as this lives.
pub struct Working(Option<Arc<Relief>>);

impl Drop for Working {
    fn drop(&mut self) {
        if let Some(relief) = &self.0 {
            relief.work.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Relief {
    /// Starts the help below this folder.
    pub(super) fn of(top: &Path) -> Arc<Self> {
        let relief = Arc::new(Self {
            top: top.to_owned(),
            work: AtomicU64::new(0),
            found: Mutex::default(),
        });
        let own = Arc::downgrade(&relief);
        // Where there is no thread to be had, it goes without.
        let _ = thread::Builder::new()
            .name("git pipes".to_owned())
            .spawn(move || watch(&own));
        relief
    }

    /// Git begins to work.
    pub(super) fn working(self: &Arc<Self>) -> Working {
        let was = self.work.load(Ordering::SeqCst);
        if was % 2 == 1 {
            return Working(None);
        }
        self.work.store(was + 1, Ordering::SeqCst);
        Working(Some(Arc::clone(self)))
    }

    /// The pipes that were found since this was asked last, from the folder on.
    pub(super) fn take_found(&self) -> BTreeSet<PathBuf> {
        let found = self.found.lock();
        std::mem::take(&mut *found.unwrap_or_else(PoisonError::into_inner))
    }

    /// Helps as long as this piece of work takes.
    fn help(&self, work: u64) {
        let is_on = || self.work.load(Ordering::SeqCst) == work;
        while is_on() {
            let pipes = self.pipes(&is_on);
            let began = Instant::now();
            while is_on() && began.elapsed() < AGAIN {
                for pipe in &pipes {
                    if is_waited_for(&self.top.join(pipe)) {
                        let mut found = locked(&self.found);
                        found.insert(pipe.clone());
                    }
                }
                thread::sleep(PAUSE);
            }
        }
    }

    /// Looks for such pipes.
    fn pipes(&self, is_on: &dyn Fn() -> bool) -> Vec<PathBuf> {
        let mut pipes = Vec::new();
        let mut folders = vec![PathBuf::new()];
        let mut next = 0;
        while next < folders.len() && is_on() {
            let folder = folders[next].clone();
            next += 1;
            let entries = fs::read_dir(self.top.join(&folder));
            for entry in entries.into_iter().flatten().flatten() {
                let path = folder.join(entry.file_name());
                let is_rules = RULES.iter().any(|rules| path.ends_with(rules));
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_folder && folders.len() < FOLDERS && !path.ends_with(".git") {
                    folders.push(path);
                } else if is_rules && is_pipe(&self.top.join(&path)) {
                    pipes.push(path);
                }
            }
        }
        pipes
    }
}

/// Helps with each piece of work that takes long, as long as the relief lives.
fn watch(relief: &Weak<Relief>) {
    let mut last = 0;
    loop {
        thread::sleep(PATIENCE);
        let Some(relief) = relief.upgrade() else {
            return;
        };
        let work = relief.work.load(Ordering::SeqCst);
        if work % 2 == 1 && work == last {
            relief.help(work);
        }
        last = work;
    }
}

/// A pipe, or a link to one: libgit2 follows it.
fn is_pipe(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo())
}

/// Opens a pipe for writing if somebody waits for that, who then finds that nothing was written.
fn is_waited_for(pipe: &Path) -> bool {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    is_pipe(pipe) && open(pipe, flags, Mode::empty()).is_ok()
}
