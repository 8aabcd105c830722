//! Results that stay in the notes until they could be read: what the newest block shows, and what of it is still open.
//! Decides nothing of what runs.

use serde::{Deserialize, Serialize};

use crate::daemon::memory::Memory;
use crate::lang::note;
use crate::lang::record::{Number, Offer};
use crate::lang::report::{Earlier, Report};
use crate::world::ledger::{BlockId, LedgerError, NewBlock, Standing};

/// How long results must have been in the notes before a change of these shows that somebody could read them, in
/// milliseconds.
const READ_AFTER: i64 = 3_000;

/// How many results a block shows.
const MOST: usize = 5;

/// Results as they were told.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Telling {
    pub(super) text: Earlier,
    /// With their lines, from 0.
    pub(super) offers: Vec<(usize, Offer)>,
    /// Where all that its tasks have to show begins in the output file, and how long it is, in bytes.
    pub(super) whole: (u64, u64),
}

/// What a results block shows.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Shows {
    /// The line above the block.
    pub(super) status: String,
    /// The newest first.
    pub(super) tellings: Vec<Telling>,
    /// The size of the output file.
    pub(super) size: u64,
}

/// What the newest results block of a file shows.
#[derive(Debug, Default)]
pub(super) struct Unread {
    pub(super) shows: Shows,
    pub(super) block: Option<BlockId>,
    /// When it came into the notes; `None` if it is not there yet.
    written_ms: Option<i64>,
    is_read: bool,
}

impl Unread {
    /// As the ledger has it. What it cannot be read from has been read.
    pub(super) fn of(kept: Option<Standing>) -> Self {
        let Some(kept) = kept else {
            return Self::default();
        };
        let shows = serde_json::from_str(&kept.results).unwrap_or_else(|error| {
            tracing::error!(%error, "unread results");
            Shows::default()
        });
        Self {
            shows,
            block: Some(kept.block),
            written_ms: kept.written_ms,
            is_read: kept.is_read,
        }
    }

    /// Those that newer ones are put above.
    pub(super) fn tellings(&self) -> &[Telling] {
        let tellings = &self.shows.tellings;
        if self.is_read {
            &[]
        } else {
            &tellings[..tellings.len().min(MOST - 1)]
        }
    }

    /// The results are in the notes from now on.
    fn written(&mut self, block: BlockId, now_ms: i64) {
        if self.block == Some(block) {
            self.written_ms.get_or_insert(now_ms);
        }
    }

    /// They count as not read, whatever was seen.
    pub(super) fn reopen(&mut self) {
        self.is_read = false;
    }
}

impl Memory {
    /// The user changed the notes or ticked something: what stood there long enough has been read. The time is that of the
    /// file, not of the look: a save that waited while something ran was made before.
    pub(super) fn changed(&mut self, changed_ms: i64) {
        let unread = &mut self.unread;
        let Some(written_ms) = unread.written_ms.filter(|_| !unread.is_read) else {
            return;
        };
        if changed_ms - written_ms < READ_AFTER {
            return;
        }
        unread.is_read = true;
        if let Err(error) = self.ledger.read_results(self.file) {
            tracing::error!(%error, "ledger");
        }
    }

    /// A block of results is in the notes.
    ///
    /// # Errors
    /// Where the ledger cannot be written.
    pub(super) fn delivered(&mut self, block: BlockId, now_ms: i64) -> Result<(), LedgerError> {
        self.unread.written(block, now_ms);
        self.ledger.delivered(block, now_ms)
    }

    /// The results that a report is put above, without the boxes of what is not open any more or is offered by the report.
    pub(super) fn earlier(&self, report: &Report) -> Vec<Telling> {
        let mut earlier = self.unread.tellings().to_vec();
        if earlier.iter().all(|telling| telling.offers.is_empty()) {
            return earlier;
        }
        let open = self.open_offers().unwrap_or_else(|error| {
            tracing::error!(%error, "ledger");
            Open::default()
        });
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

    /// What was taken up of the newest block, and what is still asked.
    fn open_offers(&self) -> Result<Open, LedgerError> {
        let taken = match self.unread.block {
            Some(block) => self.ledger.taken_up(block)?,
            None => Vec::new(),
        };
        let asked = self.ledger.asked(self.file, usize::MAX >> 1)?.into_iter();
        let asked = asked.map(|asked| self.latest(&Offer::of(asked.batch, vec![asked.task])));
        let asked = asked.flat_map(|offer| offer.each().collect::<Vec<_>>());
        Ok(Open {
            taken,
            asked: asked.collect(),
        })
    }

    /// Whether nobody did since what is offered, and nobody is about to.
    fn is_open(&self, offer: &Offer, open: &Open) -> bool {
        if self.engine.has_taken(offer) {
            return false;
        }
        if offer.spot.is_some() {
            let mut each = offer.each();
            return each.all(|(batch, task)| !self.is_over(batch, task));
        }
        let latest = self.latest(offer);
        if offer.approves {
            let is_asked = |(batch, task)| {
                open.asked.contains(&(batch, task)) && !self.engine.is_approved(batch, task)
            };
            return latest.adds() || latest.each().any(is_asked);
        }
        latest == *offer
    }

    /// An offer on behalf of the batches that stand for its own by now.
    pub(super) fn latest(&self, offer: &Offer) -> Offer {
        let mut offer = offer.clone();
        for (batch, _) in &mut offer.batches {
            match self.ledger.latest(self.file, *batch) {
                Ok(latest) => *batch = latest,
                Err(error) => tracing::error!(%error, "ledger"),
            }
        }
        offer
    }

    /// Learns of a block of results that is about to be written, and of what it shows: it is this file's own from now on.
    pub(super) fn add_results(
        &mut self,
        block: &str,
        offers: &[(usize, Offer)],
        shows: Shows,
        now: i64,
    ) -> Result<BlockId, LedgerError> {
        let key = note::key(self.ledger.seed(), block);
        self.know(key);
        let new = NewBlock {
            key,
            text: block,
            offers,
            is_result: true,
        };
        let kept = serde_json::to_string(&shows).unwrap_or_default();
        let added = self.ledger.add_results(self.file, new, &kept, now);
        // What could not be kept is shown with the next results all the same.
        self.unread = Unread {
            shows,
            block: added.as_ref().ok().copied(),
            written_ms: None,
            is_read: false,
        };
        added
    }
}

/// What decides whether an offer is open.
#[derive(Default)]
struct Open {
    taken: Vec<Offer>,
    /// Batches and tasks that wait for an answer.
    asked: Vec<(Number, usize)>,
}
