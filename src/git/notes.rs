//! The places of the notes files of this user in a work tree, as commits leave them out. A file system that does not answer holds
//! up no save: what is on it is in no other folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use super::{Store, places_of};
use crate::world::locked::locked;

/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_millis(300);

/// The paths that a thread still waits for.
static SILENT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn silent() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    locked(&SILENT)
}

impl Store {
    /// Leaves the notes files out of commits, but not those that git tracks.
    pub(super) fn leave_notes(&mut self) {
        // What is wrong with git's own files, a save says; until then nothing is read through a pipe.
        let notes = (self.rules.options.notes.0)();
        if notes.is_empty() || self.refuse_diverted().is_err() {
            return;
        }
        let Ok(index) = self.index_now() else {
            return;
        };
        let mut untracked = places(notes, &self.top);
        untracked.retain(|path| index.get_path(path, 0).is_none());
        self.rules.never.extend(untracked);
    }
}

/// The places in the work tree of those that are there. A path from elsewhere may lead into it by symbolic links.
fn places(notes: Vec<PathBuf>, top: &Path) -> Vec<PathBuf> {
    let (inside, outside): (BTreeSet<_>, BTreeSet<_>) =
        notes.into_iter().partition(|path| path.starts_with(top));
    let mut found: Vec<PathBuf> = inside.iter().flat_map(|path| at(path, top)).collect();
    let mut waiting = &outside - &silent();
    let (send, answers) = channel();
    for path in waiting.clone() {
        let (send, asked, of) = (send.clone(), path.clone(), top.to_owned());
        let ask = move || {
            let places = at(&asked, &of);
            if let Err(unheard) = send.send((asked, places)) {
                // It has answered after all.
                silent().remove(&unheard.0.0);
            }
        };
        if thread::Builder::new().spawn(ask).is_err() {
            waiting.remove(&path);
            found.extend(at(&path, top));
        }
    }
    while !waiting.is_empty() {
        let Ok((path, places)) = answers.recv_timeout(PATIENCE) else {
            silent().append(&mut waiting);
            break;
        };
        waiting.remove(&path);
        found.extend(places);
    }
    found
}

/// The places of one, if it is there.
fn at(path: &Path, top: &Path) -> Vec<PathBuf> {
    match path.symlink_metadata() {
        Ok(_) => places_of(path, top),
        Err(_) => Vec::new(),
    }
}
