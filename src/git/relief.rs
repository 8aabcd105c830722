//! Pipes with the names of the files in which git looks for rules. libgit2 opens these wherever it finds them, and would wait for
//! ever for somebody who writes there. Owns how such a wait is ended: as if the file were empty. Changes nothing.
//!
//! Looking for them before each save was rejected: it costs a walk through all folders, and they may come meanwhile.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

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

/// Helps git over such pipes below a folder while it works. What there is of it ends with this value.
pub(super) struct Relief {
    shared: Arc<PipeWatch>,
    /// Dropped at the end.
    _lives: Sender<()>,
}

struct PipeWatch {
    top: PathBuf,
    /// Odd while git works; another number each time.
    work: AtomicU64,
    /// The pipes that were found and that nobody was told of.
    found: Mutex<BTreeSet<PathBuf>>,
}

/// Git works as long as this lives.
pub struct Working(Option<Arc<PipeWatch>>);

impl Drop for Working {
    fn drop(&mut self) {
        if let Some(shared) = &self.0 {
            shared.work.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Relief {
    /// Starts the help below this folder.
    pub(super) fn of(top: &Path) -> Self {
        let shared = Arc::new(PipeWatch {
            top: top.to_owned(),
            work: AtomicU64::new(0),
            found: Mutex::default(),
        });
        let (lives, ends) = channel();
        let own = Arc::clone(&shared);
        // Where there is no thread to be had, it goes without.
        let _ = thread::Builder::new()
            .name("git pipes".to_owned())
            .spawn(move || own.watch(&ends));
        Self {
            shared,
            _lives: lives,
        }
    }

    /// Git begins to work.
    pub(super) fn working(&self) -> Working {
        let was = self.shared.work.load(Ordering::SeqCst);
        if was % 2 == 1 {
            return Working(None);
        }
        self.shared.work.store(was + 1, Ordering::SeqCst);
        Working(Some(Arc::clone(&self.shared)))
    }

    /// The pipes that were found since this was asked last, from the folder on.
    pub(super) fn take_found(&self) -> BTreeSet<PathBuf> {
        let found = self.shared.found.lock();
        std::mem::take(&mut *found.unwrap_or_else(PoisonError::into_inner))
    }
}

impl PipeWatch {
    fn watch(&self, ends: &Receiver<()>) {
        let mut last = 0;
        while let Err(RecvTimeoutError::Timeout) = ends.recv_timeout(PATIENCE) {
            let work = self.work.load(Ordering::SeqCst);
            if work % 2 == 1 && work == last {
                self.help(work);
            }
            last = work;
        }
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
                        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
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

/// A pipe, or a link to one: libgit2 follows it.
fn is_pipe(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo())
}

/// Opens a pipe for writing if somebody waits for that, who then finds that nothing was written.
fn is_waited_for(pipe: &Path) -> bool {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    is_pipe(pipe) && open(pipe, flags, Mode::empty()).is_ok()
}
