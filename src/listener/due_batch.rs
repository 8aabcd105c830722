//! Batches that are to run: those of the notes, and remembered ones whose tasks were ticked. Runs none.

use crate::listener::memory::Memory;
use crate::novelty::{Effect, Look};
use crate::reply::record::{Number, TaskPlan, TickSource};
use crate::reply::scan::{alone, scan};
use crate::reply::task::{Action, Batch, Replacement, Scan};
use crate::run::Job;

/// A batch that is to run, with its entry in the ledger.
pub(super) struct DueBatch<'s> {
    pub(super) number: Number,
    pub(super) plan: Vec<TaskPlan>,
    place: PlaceOfBatch<'s>,
    /// Its own text.
    pub(super) text: String,
    /// Command and target of each task.
    pub(super) tasks: Vec<(String, String)>,
    /// The batch of which it runs tasks again.
    pub(super) again: Option<Number>,
    /// The tick that asked for it.
    pub(super) source: Option<TickSource>,
    /// The time at which a batch ran, a short time ago, of which every task is the same.
    pub(super) same_as: Option<i64>,
}

/// The place of a batch in the text that it was read from.
#[derive(Clone, Copy)]
struct PlaceOfBatch<'s> {
    text: &'s str,
    scan: &'s Scan<'s>,
    at: usize,
}

/// A batch of the ledger that is to run once more, as one with a number of its own.
pub(super) struct Remembered {
    text: String,
    of: Number,
    number: Number,
    plan: Vec<TaskPlan>,
    source: Option<TickSource>,
    /// It ran before.
    ran: bool,
}

/// Remembered batches that are to run once more.
pub(super) struct BatchesAgain<'s> {
    pub(super) jobs: Vec<DueBatch<'s>>,
    /// The numbers of those whose text is lost.
    pub(super) unreadable: Vec<Number>,
}

impl Remembered {
    /// Reads it. Line numbers of a diff count only the first time: nobody knows in which state of the files they were counted when
    /// it is tried again.
    pub(super) fn scan(&self) -> Scan<'_> {
        let mut scan = scan(&self.text);
        let tasks = scan.batches.iter_mut().flat_map(|batch| &mut batch.tasks);
        for task in tasks.filter(|_| self.ran) {
            if let Ok(Action::Edit {
                change: Replacement::Hunks(hunks),
                ..
            }) = &mut task.action
            {
                hunks.iter_mut().for_each(|hunk| hunk.line = None);
            }
        }
        scan
    }
}

impl Memory {
    /// Reads the batches from the ledger that are to run once more.
    pub(super) fn remembered(&self, effects: &[Effect]) -> Vec<Remembered> {
        let again = effects.iter().filter_map(|effect| match effect {
            Effect::Again {
                of,
                number,
                plan,
                source,
            } => Some(Remembered {
                text: self.text(*of),
                of: *of,
                number: *number,
                plan: plan.clone(),
                source: *source,
                ran: self.novelty.record(*of).is_none_or(|it| it.ran.is_some()),
            }),
            _ => None,
        });
        again.collect()
    }
}

impl<'s> DueBatch<'s> {
    fn new(place: PlaceOfBatch<'s>, number: Number, plan: Vec<TaskPlan>) -> Self {
        let batch = &place.scan.batches[place.at];
        Self {
            number,
            plan,
            place,
            text: alone(place.text, batch),
            tasks: batch.names(),
            again: None,
            source: None,
            same_as: None,
        }
    }

    /// A batch of the body, by its place in the scan.
    pub(super) fn of_body(look: &Look<'s>, at: usize, number: Number, plan: Vec<TaskPlan>) -> Self {
        let (text, scan) = (look.body, look.scan);
        Self::new(PlaceOfBatch { text, scan, at }, number, plan)
    }

    /// Remembered batches, each with the scan of its text.
    pub(super) fn again(
        all: impl Iterator<Item = (&'s Remembered, &'s Scan<'s>)>,
    ) -> BatchesAgain<'s> {
        let (mut jobs, mut unreadable) = (Vec::<Self>::new(), Vec::new());
        for (remembered, scan) in all {
            let (number, plan) = (remembered.number, &remembered.plan);
            let whole = scan.batches.first();
            if whole.is_none_or(|batch| batch.tasks.len() != plan.len()) {
                unreadable.push(number);
                continue;
            }
            let place = PlaceOfBatch {
                text: &remembered.text,
                scan,
                at: 0,
            };
            // One tick may ask for several batches, and counts once.
            let is_used = |batch: &Self| batch.source == remembered.source;
            jobs.push(Self {
                text: remembered.text.clone(),
                again: Some(remembered.of),
                source: remembered.source.filter(|_| !jobs.iter().any(is_used)),
                ..Self::new(place, number, plan.clone())
            });
        }
        BatchesAgain { jobs, unreadable }
    }

    /// The batch as it was read.
    pub(super) fn batch(&self) -> &'s Batch<'s> {
        &self.place.scan.batches[self.place.at]
    }

    /// The tasks of a remembered batch that it runs again.
    pub(super) fn asked(&self) -> Option<(Number, Vec<usize>)> {
        let tasks = (0..self.plan.len()).filter(|task| self.plan[*task] != TaskPlan::Leave);
        Some((self.again?, tasks.collect()))
    }

    /// The batch as a run takes it.
    pub(super) fn job(&self) -> Job<'s> {
        Job {
            text: self.place.text,
            batch: self.batch(),
            plan: self.plan.clone(),
        }
    }
}
