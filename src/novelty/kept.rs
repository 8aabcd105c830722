//! What is kept of the engine's state beside the batches that were seen, as a text: what is as it was after a restart.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::State;
use super::cut_off::CutOff;
use super::enclosure::Enclosure;
use super::seen::Seen;
use crate::reply::dialect::{Dialect, Dialects};
use crate::reply::record::{Key, Number, Prose, Record, Seed, Tick};

/// What is kept of a [`State`].
#[derive(Serialize, Deserialize)]
struct Kept {
    next: Number,
    /// Without it this was written by a clada that read no other.
    #[serde(default = "only_cml")]
    dialects: Dialects,
    last: Option<Vec<Place>>,
    hidden: Vec<Place>,
    replaced: Vec<Place>,
    unclosed: usize,
    troubles: BTreeSet<Key>,
    calm: BTreeSet<Key>,
    told: BTreeMap<Key, usize>,
    stood: BTreeMap<Number, Vec<Prose>>,
    ticks: Vec<Tick>,
    #[serde(default)]
    open: Vec<Enclosure>,
    /// The numbers of parts of replies that were cut off.
    #[serde(default)]
    parts: Vec<Number>,
}

/// What is kept of a [`Seen`].
#[derive(Serialize, Deserialize)]
struct Place {
    number: Number,
    prose: Prose,
    bared: bool,
    #[serde(default)]
    swallowed: bool,
}

fn only_cml() -> Dialects {
    Dialects::from_iter([Dialect::Cml])
}

impl State {
    /// As [`Self::to_text`] left it, with the batches that were seen and the texts of those that are asked for. An
    /// empty text is a file of which nothing is known but that it is there: its first look is first sight.
    ///
    /// # Errors
    /// For a text that is none of these.
    pub fn from_text(
        seed: Seed,
        text: &str,
        records: Vec<Record>,
        text_of: &mut dyn FnMut(Number) -> String,
    ) -> Result<Self, String> {
        let mut state = Self::new(seed);
        let last = records.iter().map(|record| record.number).max();
        for record in records {
            state.insert(record);
        }
        state.next = last.unwrap_or(0) + 1;
        if text.is_empty() {
            return Ok(state);
        }
        let kept: Kept = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut list = |places: Vec<Place>, records: &HashMap<Number, Record>| {
            let seen = places.into_iter().filter_map(|place| {
                Some(Seen {
                    number: place.number,
                    key: records.get(&place.number)?.key,
                    prose: place.prose,
                    text: text_of(place.number).into(),
                    bared: place.bared,
                    swallowed: place.swallowed,
                })
            });
            seen.collect::<Vec<_>>()
        };
        state.last = kept.last.map(|last| list(last, &state.records));
        state.hidden = list(kept.hidden, &state.records);
        state.replaced = list(kept.replaced, &state.records);
        state.next = state.next.max(kept.next);
        state.dialects = kept.dialects;
        state.unclosed = kept.unclosed;
        state.troubles.last = kept.troubles.into_iter().collect();
        state.troubles.calm = kept.calm.into_iter().collect();
        state.told = kept.told.into_iter().collect();
        state.stood = kept.stood.into_iter().collect();
        state.ticks = kept.ticks;
        state.open = kept.open;
        let parts = kept.parts.into_iter();
        state.parts = parts.map(|number| CutOff { number, by: None }).collect();
        Ok(state)
    }

    /// What must be kept beside the batches that were seen. The same state gives the same text.
    ///
    /// With `beginning` as it will be when that batch has begun: both must be kept in one step.
    pub fn to_text(&self, beginning: Option<Number>) -> String {
        let is_kept = |seen: &&Seen| {
            !self.waiting.contains_key(&seen.number) || beginning == Some(seen.number)
        };
        let tick = beginning.and_then(|number| self.waiting.get(&number)?.as_ref());
        let repeated = tick.map(|tick| tick.offer.batches[0].0);
        let place = |seen: &Seen| Place {
            number: match beginning {
                Some(number) if repeated == Some(seen.number) => number,
                _ => seen.number,
            },
            prose: seen.prose,
            bared: seen.bared,
            swallowed: seen.swallowed,
        };
        let places = |list: &[Seen]| list.iter().filter(is_kept).map(place).collect();
        let sorted = |keys: &HashSet<Key>| keys.iter().copied().collect();
        // One that has not begun is asked for again after a crash.
        let waiting: BTreeMap<_, _> = self.waiting.iter().collect();
        let waiting = waiting.into_iter();
        let others = waiting.filter(|(number, _)| beginning != Some(**number));
        let others = others.filter_map(|(_, tick)| tick.as_ref());
        let mut ticks: Vec<Tick> = self.ticks.iter().chain(others).cloned().collect();
        if let (Some(tick), Some(number)) = (tick, beginning) {
            for other in &mut ticks {
                other.follows(tick, number);
            }
        }
        let begins = |by: Option<Number>| by.is_some() && by == beginning;
        let parts = self.parts.iter().filter(|part| !begins(part.by));
        let parts = parts.map(|part| match beginning {
            Some(number) if repeated == Some(part.number) => number,
            _ => part.number,
        });
        let kept = Kept {
            next: self.next,
            dialects: self.dialects,
            last: self.last.as_deref().map(places),
            hidden: places(&self.hidden),
            replaced: places(&self.replaced),
            unclosed: self.unclosed,
            troubles: sorted(&self.troubles.last),
            calm: sorted(&self.troubles.calm),
            told: self
                .told
                .iter()
                .map(|(key, count)| (*key, *count))
                .collect(),
            stood: self
                .stood
                .iter()
                .map(|(number, stood)| (*number, stood.clone()))
                .collect(),
            ticks,
            open: self.open.clone(),
            parts: parts.collect(),
        };
        serde_json::to_string(&kept).unwrap_or_default()
    }
}
