//! Claims a notes file and its output file for this process, so that no other clada listens on them.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::watch;

use crate::error::Error;
use crate::listener::Begin;
use crate::listener::board::Board;
use crate::listener::inbox::Inbox;
use crate::listener::intake::Intake;
use crate::listener::notices::not_followed;
use crate::listener::rules::{self, Login};
use crate::listener::sharing;
use crate::listener::site::{Flags, Site};
use crate::settings::{LoadedSettings, Settings, places};
use crate::world::clipboard::{Clipboard, ClipboardContext};
use crate::world::copied_replies::CopiedReplies;
use crate::world::ledger::Ledger;
use crate::world::lock::Lock;
use crate::world::locked::locked;
use crate::world::note_file::NoteFile;
use crate::world::watch::{Hub, WatchMode, Watcher};
use crate::world::{roots, sandbox};

/// The text of a new notes file.
const GREETING: &str = include_str!("../../config/greeting.md");

/// The things that the listeners of one process share.
#[derive(Clone)]
pub struct ProcessShared {
    pub hub: Hub,
    /// Becomes true when clada has to exit.
    pub stop: watch::Receiver<bool>,
    pub clipboard: Arc<Clipboard>,
    pub(crate) board: Board,
    pub(crate) intake: Intake,
    pub(crate) login: Login,
}

impl ProcessShared {
    pub fn start(stop: watch::Receiver<bool>) -> Self {
        sandbox::warm_up();
        let clipboard = Arc::new(Clipboard::start(ClipboardContext::of_process()));
        let board = Board::default();
        Self {
            hub: Hub::default(),
            stop,
            intake: Intake::new(Arc::clone(&clipboard), board.clone()),
            clipboard,
            board,
            login: Login::default(),
        }
    }
}

/// The news of a listener's settings.
#[derive(Debug, Clone, Default)]
pub struct SettingsNews {
    /// The reason why not all of them apply.
    pub(super) notice: Option<String>,
    /// The error because of which the previous ones stay in effect.
    pub(super) wrong: Option<String>,
}

/// A notes file that only this process watches, even while its listener rests.
pub struct Claim {
    pub site: Site,
    pub note: NoteFile,
    /// The path of the output file.
    pub output: PathBuf,
    pub watcher: Watcher,
    /// The copied replies for the file.
    pub(crate) inbox: Arc<Inbox>,
    pub(super) intake: Intake,
    /// The way in which the first listener begins.
    pub begin: Begin,
    /// The last valid settings. Those of many files are the same, and are kept once.
    pub(super) good: Arc<LoadedSettings>,
    /// The news of the settings that the person was told.
    pub told: SettingsNews,
    locks: Vec<Lock>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.intake.remove(self.note.path());
        for lock in self.locks.drain(..) {
            // This process lives on, and readers of the lock's file would take it for the holder.
            if let Err(error) = lock.end() {
                tracing::debug!(%error, "lock");
            }
        }
    }
}

impl Claim {
    /// Takes the locks on the file and its output file. With `creates`, it creates a file that clada does not know yet; a known
    /// one may be about to come back. A change of the project's settings or of these `others` wakes it, as a save does.
    ///
    /// # Errors
    /// Where the file cannot be watched, another clada process watches it, or the settings are invalid.
    pub fn take(
        flags: &Flags,
        site: Site,
        shared: &ProcessShared,
        others: &[PathBuf],
        ledger: &Ledger,
        creates: bool,
    ) -> Result<Self, Error> {
        let note = NoteFile::new(&site.file, places::NOTES_LIMIT)?;
        let root = &site.root;
        let loaded = Settings::load(&site.folders, root)?;
        check_links(flags, &site, &note, &loaded.settings)?;
        sharing::check_notes(root, note.path(), flags.allow_shared)?;
        let is_new = creates && ledger.file(note.path())?.is_none();
        let begin = if is_new && create_if_missing(&site.file)? {
            Begin::Made(GREETING)
        } else {
            Begin::Anew
        };
        let locks = site.folders.locks();
        let watched = Lock::try_take(&locks, "file", note.path()).map_err(|error| {
            let path = note.path().to_owned();
            match error.other_process() {
                Some(process) => Error::WatchedByAnother { path, process },
                None => Error::Watched { path, error },
            }
        })?;
        if let Err(error) = roots::keep(&site.folders.roots(), note.path(), root) {
            tracing::warn!(%error, "commands in the project folder will not find its notes file");
        }
        let listening = flags.listening(&loaded.settings);
        let (output, output_lock) = output(&listening.output, note.path(), &locks)?;
        let poll = listening.poll;
        let mode = poll.map_or(WatchMode::Events, |every| WatchMode::Poll { every });
        let mut places = note.places();
        // Where they can be watched.
        let is_watchable = |file: &&PathBuf| file.parent().is_some_and(Path::is_dir);
        let settings = [root.join(places::PROJECT)];
        places.extend(settings.iter().chain(others).filter(is_watchable).cloned());
        let watcher = Watcher::start(&shared.hub, &places, mode)?;
        let inbox = Arc::new(Inbox::open(
            CopiedReplies::of(&site.folders.copied_replies(), note.path()),
            loaded.settings.dialects.iter().copied().collect(),
            watcher.waker(),
        ));
        shared.intake.add(note.path(), Arc::clone(&inbox));
        Ok(Self {
            site,
            note,
            output,
            watcher,
            inbox,
            intake: shared.intake.clone(),
            begin,
            good: shared_settings(loaded),
            told: SettingsNews::default(),
            locks: std::iter::once(watched).chain(output_lock).collect(),
        })
    }
}

/// Refuses to follow a link that the user has not given: it may have come with the project, or a command may have made it.
fn check_links(
    flags: &Flags,
    site: &Site,
    note: &NoteFile,
    settings: &Settings,
) -> Result<(), Error> {
    let (folders, root) = (&site.folders, &site.root);
    if site.is_default {
        sharing::check_default(note, root)?;
    }
    if flags.led.is_none() && !flags.is_service {
        return Ok(());
    }
    let trees = rules::trees(folders, root, &settings.exec);
    let Some(link) = note.lead().diverted(flags.led.as_ref(), root, &trees) else {
        return Ok(());
    };
    // A file in the list was given together with where it led.
    let known = (note.path().to_owned(), root.clone());
    if flags.led.is_none() && roots::all(&folders.roots()).contains(&known) {
        return Ok(());
    }
    Err(Error::NotFollowed(not_followed(link, note.path())))
}

/// Shares the memory of settings that equal the last ones.
pub(super) fn shared_settings(loaded: LoadedSettings) -> Arc<LoadedSettings> {
    static LAST: Mutex<Weak<LoadedSettings>> = Mutex::new(Weak::new());
    let mut last = locked(&LAST);
    match last.upgrade().filter(|last| **last == loaded) {
        Some(same) => same,
        None => {
            let new = Arc::new(loaded);
            *last = Arc::downgrade(&new);
            new
        }
    }
}

/// Creates a missing notes file with a greeting, and returns whether it was missing.
pub(crate) fn create_if_missing(file: &Path) -> Result<bool, Error> {
    let made = match OpenOptions::new().write(true).create_new(true).open(file) {
        Ok(mut created) => created.write_all(GREETING.as_bytes()).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    };
    made.map_err(|error| Error::Create {
        path: file.to_owned(),
        error,
    })
}

/// Returns the path of the output file next to the notes file. A second watched file in the folder gets one with its own name.
fn output(name: &str, file: &Path, locks: &Path) -> Result<(PathBuf, Option<Lock>), Error> {
    let path = file.with_file_name(name);
    if path == file {
        return Err(Error::OutputIsNotes(path));
    }
    if let Ok(lock) = Lock::try_take(locks, "output", &path) {
        return Ok((path, Some(lock)));
    }
    let stem = name.strip_suffix(".txt").unwrap_or(name);
    let own = file.file_name().unwrap_or_default().to_string_lossy();
    let path = file.with_file_name(format!("{stem}.{own}.txt"));
    // No other process watches this file, so none takes this name.
    let lock = Lock::try_take(locks, "output", &path).ok();
    Ok((path, lock))
}
