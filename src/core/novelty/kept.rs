//! The part of the state that is kept as a text beside the batches that were seen, so that it is the same after a restart.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::NoveltyState;
use super::cut_off::CutOff;
use super::enclosure::Enclosure;
use super::seen::SeenBatch;
use crate::reply::dialect::{Dialect, Dialects};
use crate::reply::record::{Key, Number, Prose, Record, Seed, Tick};

/// The part of the state that is kept.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct KeptState {
    /// The number of the next batch that is seen.
    pub(super) next: Number,
    /// The dialects in which the last body was read. A text without them is of a clada that read no other than CML.
    #[serde(default = "only_cml")]
    pub(super) dialects: Dialects,
    pub(super) body: KeptBody,
    /// The problems that were told, and the number of times that each was there.
    pub(super) told: BTreeMap<Key, usize>,
    /// The places where batches stood last, beside those where they were first seen.
    pub(super) stood: BTreeMap<Number, Vec<Prose>>,
    /// Ticks that could not be carried out yet.
    pub(super) ticks: Vec<Tick>,
    /// The things that did not end in the last body.
    pub(super) open: Vec<Enclosure>,
    /// The whole tasks of replies that were cut off, which can be completed.
    pub(super) parts: Vec<CutOff>,
}

/// The batches of the last body.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct KeptBody {
    /// The batches that were there and need no run any more; `None` before the first body.
    pub(super) there: Option<Vec<SeenBatch>>,
    pub(super) hidden: Vec<SeenBatch>,
    /// The batches that vanished while the text in their place was being typed, or could not begin yet.
    pub(super) replaced: Vec<SeenBatch>,
    /// The number of batches that were not closed yet.
    pub(super) unclosed: usize,
    /// The signs that something could not be read.
    pub(super) troubles: BTreeSet<Key>,
    /// Those of a body in which nothing was hidden.
    pub(super) calm: BTreeSet<Key>,
}

fn only_cml() -> Dialects {
    Dialects::from_iter([Dialect::Cml])
}

impl KeptBody {
    fn lists(&mut self) -> impl Iterator<Item = &mut Vec<SeenBatch>> {
        let lists = [&mut self.hidden, &mut self.replaced];
        self.there.iter_mut().chain(lists)
    }

    /// The batches that were there, hidden or replaced.
    pub(super) fn seen(&self) -> impl Iterator<Item = &SeenBatch> {
        let there = self.there.iter().flatten();
        there.chain(&self.hidden).chain(&self.replaced)
    }
}

impl KeptState {
    /// A tick has begun to run tasks, as a batch of this number, which stands for the one that it repeats from now on.
    pub(super) fn begin(&mut self, tick: &Tick, number: Number) {
        for other in &mut self.ticks {
            other.follows(tick, number);
        }
        let of = tick.offer.batches[0].0;
        let seen = self.body.lists().flatten().map(|seen| &mut seen.number);
        let parts = self.parts.iter_mut().map(|part| &mut part.number);
        for known in seen.chain(parts).filter(|known| **known == of) {
            *known = number;
        }
    }
}

impl NoveltyState {
    /// Reads a state as [`Self::to_text`] left it, with the batches that were seen and the texts of those that are asked
    /// for. An empty text is a file of which nothing is known but that it is there: its first look is first sight.
    ///
    /// # Errors
    /// For a text that is none of these.
    pub fn from_text(
        seed: Seed,
        text: &str,
        records: Vec<Record>,
        text_of: &mut dyn FnMut(Number) -> String,
    ) -> Result<Self, serde_json::Error> {
        let mut state = Self::new(seed);
        for record in records {
            state.kept.next = state.kept.next.max(record.number + 1);
            state.insert(record);
        }
        if text.is_empty() {
            return Ok(state);
        }
        let mut kept: KeptState = serde_json::from_str(text)?;
        for list in kept.body.lists() {
            list.retain_mut(|seen| {
                let Some(record) = state.records.get(&seen.number) else {
                    return false;
                };
                seen.key = record.key;
                seen.text = text_of(seen.number).into();
                true
            });
        }
        kept.next = kept.next.max(state.kept.next);
        state.kept = kept;
        Ok(state)
    }

    /// The text of all that must be kept beside the batches that were seen. The same state gives the same text.
    ///
    /// With `beginning` it is the state as it will be when that batch has begun: both must be kept in one step.
    pub fn to_text(&self, beginning: Option<Number>) -> String {
        let mut kept = self.kept.clone();
        let is_begun = |number| beginning == Some(number) || !self.waiting.contains_key(&number);
        for list in kept.body.lists() {
            list.retain(|seen| is_begun(seen.number));
        }
        // One that has not begun is asked for again after a crash.
        let waiting = self.waiting.iter();
        let others = waiting.filter(|(number, _)| beginning != Some(**number));
        kept.ticks
            .extend(others.filter_map(|(_, tick)| tick.clone()));
        if let Some(number) = beginning {
            kept.parts.retain(|part| part.by != Some(number));
            if let Some(Some(tick)) = self.waiting.get(&number) {
                kept.begin(tick, number);
            }
        }
        serde_json::to_string(&kept).unwrap_or_default()
    }
}
