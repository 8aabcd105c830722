//! Compares a body with the batches of the one before: those that stayed, the new ones, and the text that cannot be read.
//! Decides nothing about the new ones.

use std::collections::{BTreeSet, HashMap};
use std::mem;

use super::seen::{Candidate, SeenBatch, Unfound};
use super::{Look, enclosure, problems, prose};
use crate::reply::record::{Key, Number, Prose, Seed};
use crate::reply::task::BatchState;

/// The batches of a body.
#[derive(Default)]
pub(super) struct BodyReading<'b> {
    /// The batches that were there before.
    pub(super) now: Vec<SeenBatch>,
    /// Those of them that stood in something that did not end, and now do not.
    pub(super) freed: Vec<Number>,
    /// Those of them that have other prose on both sides now.
    pub(super) moved: Vec<Number>,
    pub(super) new: Vec<Candidate<'b>>,
    /// The number of times that each text is there and can be read.
    pub(super) found: HashMap<Key, usize>,
    /// The signs that something cannot be read.
    pub(super) troubles: BTreeSet<Key>,
    pub(super) unfinished: Unfinished,
}

/// The parts of a body that more text could change.
#[derive(Default)]
pub(super) struct Unfinished {
    /// The number of batches that are not closed, or closed in a way that text to come could overturn.
    pub(super) unclosed: usize,
    /// Something may get another meaning by text that is still to come.
    pub(super) waits: bool,
    /// The offset of the first batch that is closed, and waits: those behind it keep their place.
    pub(super) held: Option<usize>,
}

impl<'b> BodyReading<'b> {
    pub(super) fn new(seed: Seed, look: &Look<'b>, earlier: &mut Unfound, settled: bool) -> Self {
        let mut read = Self::default();
        read.new = read.sure(seed, look, earlier, settled);
        for problem in &look.scan.problems {
            read.unfinished.waits |= !settled && problems::is_unfinished(problem);
            let line = enclosure::line_at(look.body, problem.at);
            read.troubles.insert(seed.key(line));
        }
        read.match_earlier(earlier);
        read
    }

    /// The batches that are surely closed; it notes the others.
    fn sure(
        &mut self,
        seed: Seed,
        look: &Look<'b>,
        earlier: &Unfound,
        settled: bool,
    ) -> Vec<Candidate<'b>> {
        let (body, scan) = (look.body, look.scan);
        let proses = prose::around(seed, body, scan);
        let mut sure = Vec::new();
        for (index, (batch, prose)) in scan.batches.iter().zip(proses).enumerate() {
            let key = enclosure::key(seed, body, batch);
            let found = self.found.get(&key).copied().unwrap_or(0);
            let is_sure = match batch.state {
                BatchState::Complete => true,
                BatchState::Provisional => settled || found < earlier.count(key),
                BatchState::Open(_) | BatchState::Broken(_) => false,
            };
            if is_sure {
                self.found.insert(key, found + 1);
                sure.push(Candidate {
                    body,
                    index,
                    batch,
                    key,
                    prose,
                });
                continue;
            }
            let unclosed = !matches!(batch.state, BatchState::Broken(_));
            self.unfinished.unclosed += usize::from(unclosed);
            self.unfinished.waits |= !settled && unclosed;
            if batch.state == BatchState::Provisional {
                self.unfinished.held.get_or_insert(batch.span.start);
            }
            self.troubles.insert(key);
        }
        sure
    }

    /// Parts the batches that were there before from the new ones.
    fn match_earlier(&mut self, earlier: &mut Unfound) {
        // Of several with one text those that stayed where they are were there before.
        let places: [fn(Prose, Prose) -> bool; 3] =
            [|now, was| now == was, Prose::shares_side, |_, _| true];
        for is_place in places {
            for candidate in mem::take(&mut self.new) {
                let Some(seen) = earlier.take(candidate.key, |was| is_place(candidate.prose, was))
                else {
                    self.new.push(candidate);
                    continue;
                };
                let is_freed = seen.swallowed && !candidate.batch.is_inside;
                if is_freed {
                    self.freed.push(seen.number);
                } else if candidate.prose.replaces(seen.prose) {
                    self.moved.push(seen.number);
                }
                self.now.push(SeenBatch {
                    prose: candidate.prose,
                    swallowed: seen.swallowed && !is_freed,
                    ..seen
                });
            }
        }
    }
}
