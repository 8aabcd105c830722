//! Judges a batch that was not in the last body, by one rule after the other. Changes nothing.

use super::enclosure::{Enclosure, Enclosures, Placement};
use super::event::Look;
use super::revision::{self, Draft, Revision};
use super::seen::Candidate;
use super::seen::SeenBatch;
use super::{NoveltyState, OfferReason, TYPED, is_lone};
use crate::reply::record::{Fate, Key, Number, TaskPlan};

/// The knowledge by which the batches of a look are judged.
pub(super) struct Scene<'s> {
    pub(super) look: &'s Look<'s>,
    /// The reason that nobody can tell if new batches ran already, where there is one.
    pub(super) unknown: Option<OfferReason>,
    pub(super) settled: bool,
    /// A batch that was not closed in the last body is closed now.
    pub(super) closed: bool,
    /// The offset of a batch that waits for the text to settle: those behind it do not overtake it.
    pub(super) held: Option<usize>,
    /// The batches of the last body that may have been half-typed.
    pub(super) typing: Vec<SeenBatch>,
    pub(super) hidden: Vec<SeenBatch>,
    pub(super) enclosures: Enclosures,
}

/// The decision about a batch that was not in the last body.
pub(super) enum BatchVerdict {
    /// It is this one, with another `<i>`.
    Reworded(Number),
    CameBack(Number),
    /// It waits for the text to settle.
    Typed,
    Run(Vec<(TaskPlan, Fate)>),
    /// It does not run, and these are the fates of its tasks, as far as they are known.
    Noted(NotedAs, Vec<Fate>),
}

/// The reason that a batch is noted and does not run.
pub(super) enum NotedAs {
    /// Its `<tasks>` is damaged.
    Bared,
    /// It came in something that does not end, and belongs to that.
    Swallowed,
    /// It is offered.
    Offered(OfferReason),
}

impl NoveltyState {
    /// Judges a batch that was not in the last body; `now` has the batches of this one that are known so far.
    pub(super) fn verdict(
        &self,
        new: &Candidate<'_>,
        scene: &Scene<'_>,
        now: &[SeenBatch],
        vanished: &[SeenBatch],
    ) -> BatchVerdict {
        let noted = |noted| BatchVerdict::Noted(noted, Vec::new());
        let offered = |why, fates| BatchVerdict::Noted(NotedAs::Offered(why), fates);
        if self.is_bared(new, &scene.hidden, now) {
            return noted(NotedAs::Bared);
        }
        if let Some(was) = vanished.iter().find(|seen| is_reworded(new, seen)) {
            return BatchVerdict::Reworded(was.number);
        }
        if let Some(was) = self.returned(new, now, &scene.hidden) {
            return BatchVerdict::CameBack(was);
        }
        let tasks = self.keys(new);
        let completed = self.completed(&tasks, self.is_in_place(new, scene));
        let is_completing = completed.is_some();
        let revision = completed.or_else(|| self.revision(new, &tasks, vanished));
        if let Some(why) = &scene.unknown {
            let fates = revision.map_or(Vec::new(), Revision::into_fates);
            return offered(why.clone(), fates);
        }
        let placement = placement(new, scene);
        let is_revision = revision.is_some();
        if new.batch.is_inside
            && (placement == Placement::Swallowed || was_swallowed(new, vanished, is_revision))
        {
            return if scene.settled {
                noted(NotedAs::Swallowed)
            } else {
                BatchVerdict::Typed
            };
        }
        let is_known_revision = is_revision && !is_completing;
        if !scene.settled && may_be_typed(new, scene, vanished, is_known_revision) {
            return BatchVerdict::Typed;
        }
        if placement == Placement::Doubtful {
            return offered(OfferReason::Inside, Vec::new());
        }
        let mut gone = scene.enclosures.gone();
        if gone.any(|was| was.is_joined(self.seed, new.text(), new.prose)) {
            let fates = revision.map_or(Vec::new(), Revision::into_fates);
            return offered(OfferReason::Joined, fates);
        }
        let known = self.by_key.get(&new.key).filter(|_| revision.is_none());
        if let Some(known) = known.filter(|_| scene.look.copied.contains(&new.key)) {
            let ran = known.iter().filter_map(|number| self.records[number].ran);
            return offered(OfferReason::Copied { ran: ran.max() }, Vec::new());
        }
        match revision {
            Some(all) if all.is_trimmed => offered(OfferReason::Trimmed, all.into_fates()),
            Some(revision) => BatchVerdict::Run(revision.plans),
            None => {
                let all = new.batch.tasks.iter();
                BatchVerdict::Run(all.map(|_| (TaskPlan::Run, Fate::NotRun)).collect())
            }
        }
    }

    /// True if a batch is one that did not end, with its end.
    pub(super) fn is_in_place(&self, new: &Candidate<'_>, scene: &Scene<'_>) -> bool {
        let mut gone = scene.enclosures.gone();
        gone.any(|was| was.begins(self.seed, new.text()))
    }

    /// The keys of its tasks.
    pub(super) fn keys(&self, new: &Candidate<'_>) -> Vec<Key> {
        let tasks = self.tasks(new);
        tasks.into_iter().map(|task| task.key).collect()
    }

    /// A `<task>` by itself is not new where only the `<tasks>` around it was damaged.
    fn is_bared(&self, new: &Candidate<'_>, hidden: &[SeenBatch], now: &[SeenBatch]) -> bool {
        if hidden.is_empty() || !is_lone(new.batch) {
            return false;
        }
        let records = hidden.iter();
        let records = records.filter_map(|seen| self.records.get(&seen.number));
        let tasks = records.flat_map(|record| &record.tasks);
        let there = tasks.filter(|task| task.key == new.key).count();
        let bared = now.iter().filter(|seen| seen.bared && seen.key == new.key);
        there > bared.count()
    }

    /// The batch with this text that once stood in this prose, and is nowhere in the body now.
    fn returned(
        &self,
        new: &Candidate<'_>,
        now: &[SeenBatch],
        hidden: &[SeenBatch],
    ) -> Option<Number> {
        let numbers = self.by_key.get(&new.key)?;
        let is_there = |number| now.iter().chain(hidden).any(|seen| seen.number == number);
        let stood = |number: &Number| {
            let stood = self.kept.stood.get(number);
            self.records[number].prose == new.prose
                || stood.is_some_and(|stood| stood.contains(&new.prose))
        };
        let all = numbers.iter().rev().copied();
        all.filter(stood).find(|number| !is_there(*number))
    }

    fn revision(
        &self,
        new: &Candidate<'_>,
        tasks: &[Key],
        vanished: &[SeenBatch],
    ) -> Option<Revision> {
        if vanished.is_empty() {
            return None;
        }
        let draft = Draft {
            head: self.head(new),
            tasks,
            prose: new.prose,
        };
        let records = vanished.iter();
        let records =
            records.filter_map(|seen| Some((self.records.get(&seen.number)?, seen.prose)));
        revision::revision(&draft, &records.collect::<Vec<_>>())
    }
}

/// The relation of a batch to the things that do not end.
fn placement(new: &Candidate<'_>, scene: &Scene<'_>) -> Placement {
    if new.batch.is_inside {
        Enclosure::place(&scene.enclosures.now, new.batch.span.start)
    } else {
        Placement::Own
    }
}

/// True if a batch may be half-typed.
fn may_be_typed(
    new: &Candidate<'_>,
    scene: &Scene<'_>,
    vanished: &[SeenBatch],
    is_revision: bool,
) -> bool {
    let before = vanished.iter().chain(&scene.typing);
    scene.closed
        || scene.held.is_some_and(|at| at < new.batch.span.start)
        || !is_pasted_over(new, before.clone()) && (is_revision || is_typed(new, before))
}

/// True if a batch is a changed one that came in something that does not end.
fn was_swallowed(new: &Candidate<'_>, vanished: &[SeenBatch], is_revision: bool) -> bool {
    let near = vanished.iter().filter(|seen| seen.swallowed);
    is_revision && near.clone().next().is_some() || is_typed(new, near)
}

/// True if nothing but an `<i>` differs from a batch that stood in the same prose.
fn is_reworded(new: &Candidate<'_>, was: &SeenBatch) -> bool {
    was.prose == new.prose
        && !was.prose.is_none()
        && revision::differs_by_why_only(&was.text, new.text())
}

/// True if a batch may be half-typed: it stands where a vanished one stood, or looks like one near which it stands.
fn is_typed<'s>(new: &Candidate<'_>, mut before: impl Iterator<Item = &'s SeenBatch>) -> bool {
    before.any(|seen| {
        let is_there = seen.prose == new.prose && !new.prose.is_none();
        is_there
            || seen.prose.shares_side(new.prose)
                && revision::difference(new.batch.dialect, new.text(), &seen.text).is_alike
    })
}

/// True if a batch without any prose around it was pasted in the place of others: nobody types as much between two
/// saves.
fn is_pasted_over<'s>(
    new: &Candidate<'_>,
    mut before: impl Iterator<Item = &'s SeenBatch>,
) -> bool {
    new.prose.is_none()
        && before.all(|seen| {
            revision::difference(new.batch.dialect, new.text(), &seen.text).differs > TYPED
        })
}
