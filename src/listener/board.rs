//! The board says what the listeners of this process do just now, for `clada status`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use serde::{Deserialize, Serialize};

use crate::clock;
use crate::listener::observer::News;
use crate::run::Progress;
use crate::settings::places::Folders;
use crate::world::locked::locked;
use crate::world::socket::Socket;

/// The question that a process answers with its board.
pub(crate) const QUESTION: &str = "status";

/// The kind of process that answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ProcessKind {
    /// It watches the files in the list.
    Daemon,
    /// It watches one file, in a terminal.
    Watch,
}

/// The answer of a process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BoardAnswer {
    pub(crate) kind: ProcessKind,
    pub(crate) version: String,
    /// The time at which it began, in Unix time in seconds.
    pub(crate) since: i64,
    #[serde(flatten)]
    pub(crate) notices: Notices,
}

/// The notices on all files of this process. Clones are the same one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Board(Arc<Mutex<Notices>>);

/// The text of a board.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Notices {
    /// By their paths.
    pub(crate) files: BTreeMap<PathBuf, FileNotice>,
    /// The first line of the last results, which says how the copying went.
    pub(crate) clipboard: Option<String>,
    /// `None` where the clipboard is not watched.
    #[serde(default)]
    pub(crate) watching: Option<WatchedClipboard>,
}

/// The watching of the clipboard.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WatchedClipboard {
    /// The way in which it is watched; `None` where that cannot be now.
    pub(crate) way: Option<String>,
    /// The reason why it cannot be.
    pub(crate) trouble: Option<String>,
    /// The last reply that was taken.
    pub(crate) taken: Option<TakenReply>,
    /// The last text with tasks that was not.
    pub(crate) refused: Option<RefusedText>,
}

/// A copied reply that was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TakenReply {
    /// In seconds since 1970.
    pub(crate) at: i64,
    pub(crate) file: PathBuf,
    pub(crate) tasks: usize,
}

/// A copied text with tasks that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RefusedText {
    /// In seconds since 1970.
    pub(crate) at: i64,
    pub(crate) why: String,
}

/// The notice on one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileNotice {
    pub(crate) root: PathBuf,
    /// The notes file itself, where it is known: the path may be that of a symbolic link.
    #[serde(default)]
    pub(crate) notes: Option<PathBuf>,
    pub(crate) state: ListenerState,
    /// The last trouble, until something goes well.
    pub(crate) trouble: Option<String>,
}

/// The state of a listener.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ListenerState {
    /// It waits for a save.
    Watching,
    /// This task of so many runs, since then.
    Running {
        task: String,
        number: usize,
        total: usize,
        since: String,
    },
    /// A run has to wait, for a lock or for git, or the file cannot be watched yet.
    Waiting { why: String },
}

impl Board {
    fn notices(&self) -> MutexGuard<'_, Notices> {
        locked(&self.0)
    }

    /// Lets this process answer for as long as the value lives. If that fails, clada works without it.
    pub(crate) fn serve(&self, folders: &Folders, kind: ProcessKind) -> Option<Socket> {
        let (board, since) = (self.clone(), clock::now_ms().div_euclid(1000));
        let answer = move |question: &str| {
            if question != QUESTION {
                return String::new();
            }
            let answer = BoardAnswer {
                kind,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                since,
                notices: board.notices().clone(),
            };
            serde_json::to_string(&answer).unwrap_or_default()
        };
        let socket = Socket::serve(&folders.sockets(), answer);
        let socket =
            socket.inspect_err(|error| tracing::warn!(%error, "`clada status` will get no answer"));
        socket.ok()
    }

    /// Returns the state of a file's listener.
    pub(crate) fn state(&self, file: &Path) -> Option<ListenerState> {
        let notices = self.notices();
        notices.files.get(file).map(|known| known.state.clone())
    }

    /// True if a batch runs.
    pub(crate) fn runs(&self) -> bool {
        let notices = self.notices();
        let mut files = notices.files.values();
        files.any(|known| matches!(known.state, ListenerState::Running { .. }))
    }

    /// Changes the notice on the clipboard, if it is watched.
    pub(crate) fn clipboard(&self, change: impl FnOnce(&mut WatchedClipboard)) {
        if let Some(watching) = &mut self.notices().watching {
            change(watching);
        }
    }

    /// Notes that the clipboard is watched from now on, or no more.
    pub(crate) fn watch_clipboard(&self, is_on: bool) {
        self.notices().watching = is_on.then(WatchedClipboard::default);
    }

    /// Takes the notice of a file down, which nobody watches any more.
    pub(crate) fn remove(&self, file: &Path) {
        self.notices().files.remove(file);
    }

    /// Sets the state of a file's listener.
    pub(crate) fn set(&self, file: &Path, root: &Path, state: ListenerState) {
        let mut notices = self.notices();
        let known = notices.files.remove(file);
        let (notes, trouble) = known
            .map(|known| (known.notes, known.trouble))
            .unwrap_or_default();
        let notice = FileNotice {
            root: root.to_owned(),
            notes,
            state,
            trouble,
        };
        notices.files.insert(file.to_owned(), notice);
    }

    /// Sets the path that a file's symbolic links lead to.
    pub(crate) fn leads_to(&self, file: &Path, notes: &Path) {
        if let Some(known) = self.notices().files.get_mut(file) {
            known.notes = Some(notes.to_owned());
        }
    }

    /// Takes in the news of a file's listener.
    pub(crate) fn hear(&self, file: &Path, root: &Path, news: &News<'_>) {
        let state = match news {
            News::Watching(_) | News::Waits(None) => ListenerState::Watching,
            News::Progress(Progress::Started {
                number,
                total,
                command,
                target,
            }) => ListenerState::Running {
                task: format!("{command} {target}").trim_end().to_owned(),
                number: *number,
                total: *total,
                since: clock::time(),
            },
            News::Progress(_) | News::Note(_) => return,
            News::Waits(Some(why)) => ListenerState::Waiting {
                why: (*why).to_owned(),
            },
            News::Trouble(trouble) => {
                if let Some(known) = self.notices().files.get_mut(file) {
                    known.trouble = Some((*trouble).to_owned());
                }
                return;
            }
            News::Results { block, .. } => {
                let mut notices = self.notices();
                let status = block.lines().next().filter(|line| !line.is_empty());
                if let Some(status) = status {
                    notices.clipboard = Some(status.to_owned());
                }
                if let Some(known) = notices.files.get_mut(file) {
                    known.trouble = None;
                }
                ListenerState::Watching
            }
        };
        self.set(file, root, state);
        if let News::Watching(notes) = news {
            self.leads_to(file, notes);
        }
    }
}
