//! What the listeners of this process do just now, for whoever asks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::Shown;
use crate::run::Progress;

/// What is known of all files of this process. Clones are the same one.
#[derive(Debug, Clone, Default)]
pub struct Board(Arc<Mutex<Notices>>);

/// What a board says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notices {
    /// By their paths.
    pub files: BTreeMap<PathBuf, Notice>,
    /// How the last copying went, as the first line of results says it.
    pub clipboard: Option<String>,
}

/// What is known of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    pub root: PathBuf,
    /// The notes file itself, where it is known: the path may be that of a symbolic link.
    #[serde(default)]
    pub notes: Option<PathBuf>,
    pub state: State,
    /// What went wrong last, until something goes well.
    pub trouble: Option<String>,
}

/// What a listener does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It waits for a save.
    Watching,
    /// This task of so many runs, since then.
    Running {
        task: String,
        number: usize,
        total: usize,
        since: String,
    },
    /// A run has to wait, for a lock or for git, or the file cannot be watched yet: why.
    Waiting { why: String },
}

impl Board {
    fn notices(&self) -> MutexGuard<'_, Notices> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it says now.
    pub fn read(&self) -> Notices {
        self.notices().clone()
    }

    /// What it says now of a file.
    pub fn read_one(&self, file: &Path) -> Option<Notice> {
        self.notices().files.get(file).cloned()
    }

    /// Tells if a batch runs.
    pub fn runs(&self) -> bool {
        let notices = self.notices();
        let mut files = notices.files.values();
        files.any(|known| matches!(known.state, State::Running { .. }))
    }

    /// A file is nobody's any more.
    pub fn remove(&self, file: &Path) {
        self.notices().files.remove(file);
    }

    /// What a file's listener does now.
    pub fn set(&self, file: &Path, root: &Path, state: State) {
        let mut notices = self.notices();
        let known = notices.files.remove(file);
        let (notes, trouble) = known
            .map(|known| (known.notes, known.trouble))
            .unwrap_or_default();
        let notice = Notice {
            root: root.to_owned(),
            notes,
            state,
            trouble,
        };
        notices.files.insert(file.to_owned(), notice);
    }

    /// Where a file's symbolic links lead to.
    pub fn leads_to(&self, file: &Path, notes: &Path) {
        if let Some(known) = self.notices().files.get_mut(file) {
            known.notes = Some(notes.to_owned());
        }
    }

    /// Takes down what a person at the terminal is shown; `now` is the local time.
    pub fn shown(&self, (file, root): (&Path, &Path), shown: &Shown<'_>, now: fn() -> String) {
        let state = match shown {
            Shown::Watching(_) => State::Watching,
            Shown::Progress(Progress::Started {
                number,
                total,
                command,
                target,
            }) => State::Running {
                task: format!("{command} {target}").trim_end().to_owned(),
                number: *number,
                total: *total,
                since: now(),
            },
            Shown::Progress(_) | Shown::Note(_) => return,
            Shown::Waits(Some(why)) => State::Waiting {
                why: (*why).to_owned(),
            },
            Shown::Waits(None) => State::Watching,
            Shown::Trouble(trouble) => {
                if let Some(known) = self.notices().files.get_mut(file) {
                    known.trouble = Some((*trouble).to_owned());
                }
                return;
            }
            Shown::Results { block, .. } => {
                let mut notices = self.notices();
                let status = block.lines().next().filter(|line| !line.is_empty());
                if let Some(status) = status {
                    notices.clipboard = Some(status.to_owned());
                }
                if let Some(known) = notices.files.get_mut(file) {
                    known.trouble = None;
                }
                State::Watching
            }
        };
        self.set(file, root, state);
        if let Shown::Watching(notes) = shown {
            self.leads_to(file, notes);
        }
    }
}
