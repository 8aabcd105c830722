//! The things that a listener waits for, and its complaints about a notes file that it cannot read.

use std::path::PathBuf;
use std::time::Instant;

use crate::listener::last_notes::Hash;
use crate::listener::notices::{MISSING, not_followed};
use crate::listener::{Listener, Save, sharing};
use crate::report::Report;
use crate::settings::places;
use crate::world::note_file::{NoteError, NoteReading};
use crate::world::watch::{Settle, Signal};

/// The things that a listener has still to do.
pub(super) struct Pending {
    pub(super) settle: Settle,
    /// A text was taken in since listening began.
    pub(super) has_begun: bool,
    /// A text that may be half a save, and the time at which it is taken as it is if it stays.
    pub(super) unfinished: Option<(Instant, Hash)>,
    pub(super) refused: Option<Refused>,
    /// The time at which something is tried again for which the system had not enough.
    pub(super) scarce: Option<Instant>,
    /// The name of the notes leads elsewhere, and they are looked at for the last time.
    pub(super) is_leaving: bool,
    /// The remains of a crash, to be told with the next results.
    pub(super) recovered: Report,
    pub(super) complaints: Complaints,
}

/// Batches that could not be started.
pub(super) struct Refused {
    /// The time at which they are tried again; `None` during that try.
    pub(super) due: Option<Instant>,
    pub(super) why: String,
}

/// The complaints that were made last, as each is made once.
#[derive(Default)]
pub(super) struct Complaints {
    /// The file cannot be read.
    pub(super) file: String,
    /// A copied reply cannot be written into the file.
    pub(super) copied: String,
    /// A link is not followed.
    pub(super) link: String,
    /// The ledger cannot be written.
    pub(super) ledger: String,
    /// A paste without a task was mentioned since the last run.
    pub(super) paste: bool,
}

impl Pending {
    pub(super) fn new(settle: Settle) -> Self {
        Self {
            settle,
            has_begun: false,
            unfinished: None,
            refused: None,
            scarce: None,
            is_leaving: false,
            recovered: Report::default(),
            complaints: Complaints::default(),
        }
    }

    /// Takes in a signal that the file may have changed.
    pub(super) fn on(&mut self, signal: Signal) {
        let now = Instant::now();
        tracing::debug!(?signal, "signal");
        self.settle.on(signal, now);
        if let Some((due, _)) = &mut self.unfinished {
            *due = now + places::PASTE_QUIET;
        }
    }

    /// Returns the time of the next look without a signal. A save that is under way is waited for first.
    pub(super) fn due(&self) -> Option<Instant> {
        let unfinished = self.unfinished.map(|(due, _)| due);
        let retry = self.refused.as_ref().and_then(|refused| refused.due);
        let other = [unfinished, retry, self.scarce];
        let other = other.into_iter().flatten().min();
        self.settle.due().or(other)
    }

    /// Takes out what is due now: the text that was waited for, and whether refused batches are tried again.
    pub(super) fn take_due(&mut self, now: Instant) -> (Option<Hash>, bool) {
        self.scarce.take_if(|due| *due <= now);
        let waited_for = self.unfinished.take_if(|(due, _)| *due <= now);
        let refused = self.refused.as_mut();
        let retry = refused.is_some_and(|refused| refused.due.take_if(|due| *due <= now).is_some());
        (waited_for.map(|(_, hash)| hash), retry)
    }

    /// Has the notes looked at again when this text has stayed as it is.
    pub(super) fn wait_for_more(&mut self, text: Hash) {
        self.unfinished = Some((Instant::now() + places::PASTE_QUIET, text));
    }
}

impl Listener<'_> {
    /// True if its name leads to other notes now. These are looked at once more then: what was saved in them until then is theirs.
    pub(super) fn has_moved(&mut self) -> bool {
        let pending = &self.pending;
        let is_quiet = pending.settle.due().is_none() && pending.unfinished.is_none();
        if !is_quiet || !self.leads_elsewhere() {
            self.pending.is_leaving &= !is_quiet;
            return false;
        }
        if !self.pending.is_leaving {
            self.pending.settle.on(Signal::Over, Instant::now());
        }
        std::mem::replace(&mut self.pending.is_leaving, true)
    }

    /// True if the name of the notes leads to others that may be followed. A link that a command may have made is not: what it
    /// leads to would be written.
    fn leads_elsewhere(&mut self) -> bool {
        let said = &mut self.pending.complaints.link;
        let note = &self.delivery.note;
        let Some(lead) = note.leads_elsewhere() else {
            said.clear();
            return false;
        };
        let fence = &self.runner.setup.rules.fence;
        let trees = fence.temp.iter().chain(&fence.writable);
        let mut trees: Vec<PathBuf> = trees.filter_map(|tree| tree.canonicalize().ok()).collect();
        trees.push(self.runner.disk.path().to_owned());
        let before = Some(note.lead());
        let Some(link) = lead.diverted(before, self.runner.disk.path(), &trees) else {
            said.clear();
            return true;
        };
        let why = not_followed(link, &lead.path);
        self.observer.trouble_once(said, &why);
        false
    }

    /// Reads the text that is in the file when listening begins. A file that is not there has been seen empty, unless it is only
    /// gone.
    pub(super) fn first_text(&mut self) -> Option<Save> {
        match self.delivery.note.read() {
            Ok(NoteReading::Text {
                text,
                no_writer,
                changed_ms,
            }) => Some(Save {
                over: no_writer != Some(false),
                changed_ms,
                ..Save::whole(&text)
            }),
            Ok(NoteReading::Missing) if self.memory.last.is_new() => Some(Save::whole("")),
            Ok(NoteReading::Missing) => {
                self.complain(MISSING);
                None
            }
            Err(error) => {
                self.cannot_read(&error);
                None
            }
        }
    }

    /// Returns the reason why the notes may not be the person's alone any more: a command may have let others write them.
    pub(super) fn doubt(&self) -> Option<String> {
        let (root, allowed) = (self.runner.disk.path(), self.settings.flags.allow_shared);
        let doubt = sharing::check_notes(root, self.delivery.note.path(), allowed).err();
        doubt.map(|doubt| doubt.to_string())
    }

    /// Says once that the file cannot be read, and looks again soon where that may be for a moment only.
    pub(super) fn cannot_read(&mut self, error: &NoteError) {
        self.complain(&error.to_string());
        if error.is_scarce() {
            self.pending.scarce = Some(Instant::now() + places::RETRY);
        }
    }

    /// Says once that the file cannot be read.
    pub(super) fn complain(&mut self, why: &str) {
        tracing::debug!(why, "looks in vain");
        self.observer
            .trouble_once(&mut self.pending.complaints.file, why);
    }
}
