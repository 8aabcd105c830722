//! Results that stay in the notes until they could be read, and what of their offers is still open. Decides nothing of what
//! runs.

use crate::listener::memory::{Memory, logged};
use crate::listener::unread::{Shows, Telling, Unread};
use crate::reply::record::{Number, Offer};
use crate::report::Report;
use crate::world::ledger::{BlockId, LedgerError, NewBlock};

impl Memory {
    /// Takes in that the user changed the notes or ticked something: results that stood there long enough have been read. The time is that of the
    /// file, not of the look: a save that waited while something ran was made before.
    pub(super) fn changed(&mut self, changed_ms: i64) {
        if !self.unread.changed(changed_ms) {
            return;
        }
        logged(self.ledger.read_results(self.file));
    }

    /// Takes in that a reply was copied: results that were on the clipboard until then have been read.
    pub(super) fn copied_results_are_read(&mut self) {
        if self.unread.copied_on() {
            logged(self.ledger.read_results(self.file));
        }
    }

    /// Records that a block of results is in the notes.
    ///
    /// # Errors
    /// Where the ledger cannot be written.
    pub(super) fn delivered(&mut self, block: BlockId, now_ms: i64) -> Result<(), LedgerError> {
        self.unread.written(block, now_ms);
        self.ledger.delivered(block, now_ms)
    }

    /// Returns the results that a report is put above, without the boxes of what is not open any more or is offered by the report.
    pub(super) fn earlier(&self, report: &Report) -> Vec<Telling> {
        let mut earlier = self.unread.tellings().to_vec();
        earlier.retain(|telling| !telling.passes);
        if earlier.iter().all(|telling| telling.offers.is_empty()) {
            return earlier;
        }
        let open = logged(self.open_offers()).unwrap_or_default();
        let own = report.offer_lines().into_iter();
        let mut offered: Vec<Offer> = own.map(|(_, offer)| self.latest(&offer)).collect();
        for telling in &mut earlier {
            let (stays, goes): (Vec<_>, Vec<_>) =
                telling.offers.drain(..).partition(|(_, offer)| {
                    let latest = self.latest(offer);
                    let is_new = !offered.contains(&latest);
                    let stays = is_new && !open.taken.contains(offer) && self.is_open(offer, &open);
                    offered.extend(stays.then_some(latest));
                    stays
                });
            telling.offers = stays;
            for (line, _) in goes {
                telling.text.close(line);
            }
        }
        earlier
    }

    /// Reads the offers of the newest block that were taken up, and the questions that are open.
    fn open_offers(&self) -> Result<OpenOffers, LedgerError> {
        let taken = match self.unread.block {
            Some(block) => self.ledger.taken_up(block)?,
            None => Vec::new(),
        };
        let asked = self.ledger.asked(self.file, usize::MAX >> 1)?.into_iter();
        let asked = asked.map(|asked| self.latest(&Offer::of(asked.batch, vec![asked.task])));
        let asked = asked.flat_map(|offer| offer.each().collect::<Vec<_>>());
        Ok(OpenOffers {
            taken,
            asked: asked.collect(),
        })
    }

    /// True if nobody has done what is offered, and nobody is about to.
    fn is_open(&self, offer: &Offer, open: &OpenOffers) -> bool {
        if self.novelty.has_taken(offer) {
            return false;
        }
        if offer.spot.is_some() {
            let mut each = offer.each();
            return each.all(|(batch, task)| !self.is_over(batch, task));
        }
        let latest = self.latest(offer);
        if offer.approves {
            let is_asked = |(batch, task)| {
                open.asked.contains(&(batch, task)) && !self.novelty.is_approved(batch, task)
            };
            return latest.adds() || latest.each().any(is_asked);
        }
        latest == *offer
    }

    /// Returns an offer on behalf of the batches that stand for its own by now.
    pub(super) fn latest(&self, offer: &Offer) -> Offer {
        let mut offer = offer.clone();
        for (batch, _) in &mut offer.batches {
            *batch = self.latest_of(*batch);
        }
        offer
    }

    /// Returns the batch that stands for a batch by now.
    pub(super) fn latest_of(&self, batch: Number) -> Number {
        logged(self.ledger.latest(self.file, batch)).unwrap_or(batch)
    }

    /// Learns of a block of results that is about to be written, and of what it shows: it is this file's own from now on.
    pub(super) fn add_results(
        &mut self,
        block: &str,
        offers: &[(usize, Offer)],
        shows: Shows,
        now: i64,
    ) -> Result<BlockId, LedgerError> {
        let new = NewBlock {
            key: self.last.know(block),
            text: block,
            offers,
            is_result: true,
        };
        let kept = serde_json::to_string(&shows).unwrap_or_default();
        let added = self.ledger.add_results(self.file, new, &kept, now);
        // What could not be kept is shown with the next results all the same.
        self.unread = Unread::new(shows, added.as_ref().ok().copied());
        added
    }
}

/// The facts that decide if an offer is open.
#[derive(Default)]
struct OpenOffers {
    taken: Vec<Offer>,
    /// Batches and tasks that wait for an answer.
    asked: Vec<(Number, usize)>,
}
