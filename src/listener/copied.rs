//! Copied replies on their way into the notes: what the listener does for its inbox.

use std::time::Instant;

use crate::listener::Listener;
use crate::listener::observer::News;
use crate::reply::note;
use crate::settings::places;
use crate::world::note_file::NoteError;

impl Listener<'_> {
    /// Puts the copied replies at the end of the notes, where the next look finds them as it finds a paste.
    pub(super) fn take_copied(&mut self) {
        for news in self.claim.inbox.take_news() {
            self.observer.tell(News::Note(&news));
        }
        while let Some((number, reply)) = self.claim.inbox.next() {
            match self.append(&reply) {
                Ok(()) => {
                    self.claim.inbox.written(number);
                    self.pending.complaints.copied.clear();
                }
                Err(error) => {
                    let why = format!("a copied reply is not in the notes yet: {error}");
                    let said = &mut self.pending.complaints.copied;
                    self.observer.trouble_once(said, &why);
                    self.pending.scarce = Some(Instant::now() + places::RETRY);
                    return;
                }
            }
        }
    }

    fn append(&self, reply: &str) -> Result<(), NoteError> {
        let done = self
            .delivery
            .note
            .write_back("", &mut |now| note::append(now, reply))?;
        for kept in &done.saved {
            self.observer.trouble(&format!(
                "your notes file lacks a save that came in while a copied reply was added: compare it with {}",
                kept.display()
            ));
        }
        Ok(())
    }

    /// Forgets the replies whose results were handed out, unless something of them is still to come.
    pub(super) fn finish_copied(&self) {
        let pending = &self.pending;
        if pending.unfinished.is_none() && pending.refused.is_none() {
            self.claim.inbox.finish();
        }
    }
}
