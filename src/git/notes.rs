//! Where the notes files of this user are in a work tree, as commits leave them out. A file system that does not answer holds
//! up no save: what is on it is in no other folder.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::places_of;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_millis(300);

/// The paths that a thread still waits for.
static SILENT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn silent() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    SILENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The places in the work tree of those that are there. A path from elsewhere may lead into it by symbolic links.
pub(super) fn places(notes: Vec<PathBuf>, top: &Path) -> Vec<PathBuf> {
    let (inside, outside): (Vec<_>, Vec<_>) =
        notes.into_iter().partition(|path| path.starts_with(top));
    let mut found: Vec<PathBuf> = inside.iter().flat_map(|path| at(path, top)).collect();
    let outside = outside.into_iter().filter(|path| !silent().contains(path));
    let mut left: VecDeque<PathBuf> = outside.collect();
    while let Some(first) = left.front().cloned() {
        let (send, answers) = channel();
        let (asked, of) = (left.clone(), top.to_owned());
        let ask = move || {
            for path in asked {
                if send.send(at(&path, &of)).is_err() {
                    // It has answered after all.
                    silent().remove(&path);
                    return;
                }
            }
        };
        if thread::Builder::new().spawn(ask).is_err() {
            found.extend(at(&first, top));
            left.pop_front();
            continue;
        }
        while let Some(path) = left.pop_front() {
            match answers.recv_timeout(PATIENCE) {
                Ok(places) => found.extend(places),
                Err(RecvTimeoutError::Timeout) => {
                    silent().insert(path);
                    break;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    }
    found
}

/// The places of one, if it is there.
fn at(path: &Path, top: &Path) -> Vec<PathBuf> {
    match path.symlink_metadata() {
        Ok(_) => places_of(path, top).into_iter().collect(),
        Err(_) => Vec::new(),
    }
}
