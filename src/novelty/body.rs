//! What a body holds, beside the batches of the one before: which stayed, which are new, what cannot be read. Decides
//! nothing about the new ones.

use std::collections::{HashMap, HashSet};
use std::mem;

use super::seen::{Seen, Unfound};
use super::{Look, enclosure, problems, prose};
use crate::reply::record::{Key, Number, Prose, Seed};
use crate::reply::task::{Batch, BatchState};

/// A batch of a body that was not in the last.
pub(super) struct Candidate<'c> {
    pub(super) index: usize,
    pub(super) batch: &'c Batch<'c>,
    pub(super) key: Key,
    pub(super) prose: Prose,
}

impl<'c> Candidate<'c> {
    pub(super) fn text<'l>(&self, look: &Look<'l>) -> &'l str {
        &look.body[self.batch.span.clone()]
    }
}

/// What a body holds.
pub(super) struct Body<'b> {
    /// What was there before.
    pub(super) now: Vec<Seen>,
    /// Those of them that stood in something that did not end, and now do not.
    pub(super) freed: Vec<Number>,
    /// Those of them that have other prose on both sides now.
    pub(super) moved: Vec<Number>,
    pub(super) new: Vec<Candidate<'b>>,
    /// How often each text is there and can be read.
    pub(super) found: HashMap<Key, usize>,
    pub(super) troubles: HashSet<Key>,
    /// Batches that are not closed, or closed in a way that text to come could overturn.
    pub(super) unclosed: usize,
    /// Something in it may get another meaning by text that is still to come.
    pub(super) waits: bool,
    /// Where the first batch is that is closed, and waits: those behind it keep their place.
    pub(super) held: Option<usize>,
}

impl<'b> Body<'b> {
    pub(super) fn read(seed: Seed, look: &Look<'b>, earlier: &mut Unfound, settled: bool) -> Self {
        let (body, scan) = (look.body, look.scan);
        let proses = prose::around(seed, body, scan);
        let mut read = Self {
            now: Vec::new(),
            freed: Vec::new(),
            moved: Vec::new(),
            new: Vec::new(),
            found: HashMap::new(),
            troubles: HashSet::new(),
            unclosed: 0,
            waits: false,
            held: None,
        };
        let mut sure = Vec::new();
        for (index, (batch, prose)) in scan.batches.iter().zip(proses).enumerate() {
            let key = enclosure::key(seed, body, batch);
            let found = read.found.get(&key).copied().unwrap_or(0);
            let is_sure = match batch.state {
                BatchState::Complete => true,
                BatchState::Provisional => settled || found < earlier.count(key),
                BatchState::Open(_) | BatchState::Broken(_) => false,
            };
            if is_sure {
                read.found.insert(key, found + 1);
                sure.push(Candidate {
                    index,
                    batch,
                    key,
                    prose,
                });
                continue;
            }
            let unclosed = !matches!(batch.state, BatchState::Broken(_));
            read.unclosed += usize::from(unclosed);
            read.waits |= !settled && unclosed;
            if batch.state == BatchState::Provisional {
                read.held.get_or_insert(batch.span.start);
            }
            read.troubles.insert(key);
        }
        for problem in &scan.problems {
            read.waits |= !settled && problems::is_unfinished(problem);
            read.troubles
                .insert(seed.key(enclosure::line_at(body, problem.at)));
        }
        // Of several with one text those that stayed where they are were there before.
        let places: [fn(Prose, Prose) -> bool; 3] =
            [|now, was| now == was, Prose::shares_side, |_, _| true];
        for is_place in places {
            for candidate in mem::take(&mut sure) {
                let Some(seen) = earlier.take(candidate.key, |was| is_place(candidate.prose, was))
                else {
                    sure.push(candidate);
                    continue;
                };
                let is_freed = seen.swallowed && !candidate.batch.is_inside;
                if is_freed {
                    read.freed.push(seen.number);
                } else if candidate.prose.replaces(seen.prose) {
                    read.moved.push(seen.number);
                }
                read.now.push(Seen {
                    prose: candidate.prose,
                    swallowed: seen.swallowed && !is_freed,
                    ..seen
                });
            }
        }
        read.new = sure;
        read
    }
}
