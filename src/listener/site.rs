//! The place that a listener works in, and the flags that it was started with.

use std::path::PathBuf;
use std::time::Duration;

use crate::error::Error;
use crate::listener::rules::RunFlags;
use crate::settings::places::{Folders, NOTES};
use crate::settings::{Every, Settings};
use crate::world::note_file::Lead;

/// The folders and the notes file of a listener.
pub struct Site {
    pub folders: Folders,
    /// The project folder, as it was given.
    pub given_root: PathBuf,
    /// The canonical path of the project folder.
    pub root: PathBuf,
    /// The notes file, as it was given.
    pub file: PathBuf,
    /// No notes file was given.
    pub is_default: bool,
}

impl Site {
    /// Returns the place of a notes file; that of the default one where none is given.
    ///
    /// # Errors
    /// For a user without a home.
    pub fn new(given_root: PathBuf, root: PathBuf, file: Option<PathBuf>) -> Result<Self, Error> {
        Ok(Self {
            folders: Folders::of_user().ok_or(Error::NoHome)?,
            is_default: file.is_none(),
            file: file.unwrap_or_else(|| root.join(NOTES)),
            given_root,
            root,
        })
    }
}

/// The flags of a listener, which override the settings.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    pub run: RunFlags,
    pub debounce: Option<Duration>,
    pub poll: Option<Every>,
    /// The name of the output file.
    pub output_file: Option<String>,
    pub no_clipboard: bool,
    /// Copied replies are taken, whatever the settings say.
    pub from_clipboard: bool,
    pub notify: bool,
    /// Other users may own or write to the notes file and the project folder.
    pub allow_shared: bool,
    /// Replies that are in the file at first sight are to run.
    pub run_existing: bool,
    pub ledger_days: Option<u32>,
    /// The largest size of the ledger, in MiB.
    pub ledger_size: Option<u32>,
    /// The daemon watches the file.
    pub is_service: bool,
    /// The links that the name of the notes file led through when it was last watched.
    pub led: Option<Lead>,
}

/// The settings of a listener with its flags over them.
#[derive(Debug, Clone)]
pub(super) struct Listening {
    /// The time for which the notes must be quiet.
    pub(super) debounce: Duration,
    /// The time between two looks, where no events tell of changes. It takes a new start to change that.
    pub(super) poll: Option<Duration>,
    /// The name of the output file. It takes a new start to change that: it is locked, and no task may touch it.
    pub(super) output: String,
    pub(super) clipboard: bool,
    /// Copied replies are taken.
    pub(super) watches: bool,
    /// The largest packet, in bytes.
    pub(super) packet: usize,
    /// The desktop tells of a finished batch.
    pub(super) notifies: bool,
    /// It tells of a copied reply, which nobody saved.
    pub(super) notifies_of_copied: bool,
    pub(super) retention: Retention,
}

/// The limits of the ledger for batches that are no longer in any notes file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retention {
    pub(super) seconds: i64,
    pub(super) bytes: u64,
}

impl Flags {
    pub(super) fn listening(&self, settings: &Settings) -> Listening {
        let (watch, ledger) = (&settings.watch, &settings.ledger);
        let Every(poll) = self.poll.unwrap_or(watch.poll);
        let days = self.ledger_days.unwrap_or(ledger.days);
        let size = self.ledger_size.map(|mib| u64::from(mib) * 1024 * 1024);
        let output = self.output_file.as_ref().unwrap_or(&watch.output_file);
        Listening {
            debounce: self.debounce.unwrap_or(watch.debounce),
            poll,
            output: output.clone(),
            clipboard: settings.clipboard.enabled && !self.no_clipboard,
            watches: self.from_clipboard || settings.clipboard.watch,
            packet: settings.clipboard.limit,
            notifies: self.notify || self.is_service && settings.notify.enabled,
            notifies_of_copied: self.notify || settings.notify.enabled,
            retention: Retention {
                seconds: i64::from(days) * 24 * 60 * 60,
                bytes: size.unwrap_or(ledger.size),
            },
        }
    }
}
