//! Copied replies on their way into the notes: what the listener does for its inbox.

use std::time::Instant;

use crate::listener::Listener;
use crate::listener::inbox::placed;
use crate::listener::notices::MISSING;
use crate::listener::observer::News;
use crate::reply::note;
use crate::settings::places;
use crate::world::note_file::NoteError;
use crate::world::watch::Signal;

/// The start of a complaint.
const NOT_IN: &str = "a copied reply is not in the notes yet: ";
/// A reason that the person can remove.
const NO_PLACE: &str =
    "something in them does not end, and would be mixed up with it; close or delete that";

impl Listener<'_> {
    /// Puts the copied replies into the notes, where the next look finds them as it finds a paste.
    pub(super) fn take_copied(&mut self) {
        for news in self.claim.inbox.take_news() {
            self.observer.tell(News::Note(&news));
        }
        while let Some((number, reply)) = self.claim.inbox.next() {
            let why = match self.put_in(&reply) {
                Ok(true) => {
                    self.claim.inbox.written(number);
                    self.pending.complaints.copied.clear();
                    self.pending.on(Signal::Over);
                    continue;
                }
                Ok(false) => format!("{NOT_IN}{NO_PLACE}"),
                Err(NoteError::Gone { .. }) => format!("{NOT_IN}{MISSING}"),
                Err(error) => {
                    self.pending.scarce = Some(Instant::now() + places::RETRY);
                    format!("{NOT_IN}{error}")
                }
            };
            let said = &mut self.pending.complaints.copied;
            self.observer.trouble_once(said, &why);
            return;
        }
    }

    /// Puts a reply into the notes. False if there is no place where it would be read as it is.
    fn put_in(&self, reply: &str) -> Result<bool, NoteError> {
        let known = self.memory.last.known();
        let dialects = self.claim.inbox.dialects();
        let mut has_place = true;
        let done = self.delivery.note.write_back("", &mut |now| {
            let body = note::split(now, &known).body;
            let placed = placed(now, &body, reply, dialects);
            has_place = placed.is_some();
            placed.unwrap_or_else(|| now.to_owned())
        })?;
        self.observer.lacking(&done.saved);
        Ok(has_place)
    }

    /// Forgets the replies whose results were handed out, unless something of them is still to come.
    pub(super) fn finish_copied(&self) {
        let pending = &self.pending;
        if pending.unfinished.is_none() && pending.refused.is_none() {
            self.claim.inbox.finish(self.memory.ledger.seed());
        }
    }
}
