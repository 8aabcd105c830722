//! Replies that were cut off: their whole tasks can be run by themselves, and the whole reply completes them when it comes.

use serde::{Deserialize, Serialize};

use super::revision::{self, Revision};
use super::seen::Candidate;
use super::{Effect, Look, NoveltyState, OfferReason};
use crate::reply::chat_key::without_key;
use crate::reply::record::{Fate, Key, Number, Offer, Prose, Record, TaskPlan};
use crate::reply::scan::{part_alone, scan};
use crate::reply::task::{BatchState, Cause, Problem};

/// The number of parts that are remembered.
const PARTS: usize = 8;

/// The whole tasks of a reply that was cut off.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct CutOff {
    pub(super) number: Number,
    /// The batch that completes it, and could not begin yet.
    #[serde(skip)]
    pub(super) by: Option<Number>,
}

impl NoveltyState {
    /// Remembers and offers the whole tasks of the batches that are told to be cut off.
    pub(super) fn offer_parts(&mut self, look: &Look<'_>, told: &[Effect]) -> Vec<Effect> {
        let mut effects = Vec::new();
        for effect in told {
            let Effect::Tell {
                batch: Some(index),
                problem: Problem { cause, .. },
                ..
            } = effect
            else {
                continue;
            };
            let (Cause::CutOff { within, .. }, Some(text)) =
                (cause, part_alone(look.body, &look.scan.batches[*index]))
            else {
                continue;
            };
            let Some(number) = self.remember_part(&text) else {
                continue;
            };
            effects.push(Effect::RememberPart {
                batch: *index,
                number,
            });
            effects.push(Effect::Offer {
                why: OfferReason::CutOff(within.clone()),
                offer: Offer::of_all(vec![self.whole(number)]),
            });
            self.kept.parts.push(CutOff { number, by: None });
            let parts = &mut self.kept.parts;
            parts.drain(..parts.len().saturating_sub(PARTS));
        }
        effects
    }

    fn remember_part(&mut self, text: &str) -> Option<Number> {
        let found = scan(text);
        let batch = found.batches.first()?;
        if batch.state != BatchState::Complete || batch.tasks.is_empty() {
            return None;
        }
        let part = Candidate {
            body: text,
            index: 0,
            batch,
            // No batch of the notes is this one, not even one that reads the same.
            key: self
                .seed
                .key(&format!("the whole tasks of\n{}", without_key(text))),
            prose: Prose::default(),
        };
        Some(self.remember(&part, None, Vec::new()))
    }

    /// The part that ran and that a batch of these tasks begins with. One without more of them completes nothing, but where
    /// it was only closed.
    fn part_of(&self, tasks: &[Key], in_place: bool) -> Option<&Record> {
        let parts = self.kept.parts.iter().rev();
        let mut records = parts.filter_map(|part| self.records.get(&part.number));
        records.find(|record| {
            let part = record.tasks.iter().map(|task| &task.key);
            let has_more = tasks.len() > record.tasks.len();
            record.ran.is_some()
                && (has_more || in_place)
                && part.eq(tasks.iter().take(record.tasks.len()))
        })
    }

    /// The plans for the tasks of a batch that completes a part.
    pub(super) fn completed(&self, tasks: &[Key], in_place: bool) -> Option<Revision> {
        let part = self.part_of(tasks, in_place)?;
        let rest = tasks.len() - part.tasks.len();
        let done = (0..part.tasks.len()).map(|index| revision::plan(part, index));
        let plans = done.chain((0..rest).map(|_| (TaskPlan::Run, Fate::NotRun)));
        Some(Revision {
            plans: plans.collect(),
            is_trimmed: rest == 0,
        })
    }

    /// A batch of these tasks is to run: it completes the part that it begins with.
    pub(super) fn completes(&mut self, tasks: &[Key], in_place: bool, number: Number) {
        let part = self.part_of(tasks, in_place).map(|record| record.number);
        let mut parts = self.kept.parts.iter_mut();
        if let Some(part) = parts.find(|it| Some(it.number) == part) {
            part.by = Some(number);
        }
    }
}
