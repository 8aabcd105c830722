//! What a batch is that was not in the last body: the rules, one after the other. Changes nothing.

use super::body::Candidate;
use super::enclosure::{Enclosure, Inside};
use super::event::Look;
use super::revision::{self, Draft, Revision};
use super::seen::Seen;
use super::{State, TYPED, is_lone};
use crate::reply::record::{Fate, Key, Number, Plan};

/// What is known of a look while its batches are judged.
pub(super) struct Scene<'s> {
    pub(super) look: &'s Look<'s>,
    /// Nothing was seen of the file before.
    pub(super) first: bool,
    /// It is read in other dialects than before: what seems new may only have been another's, or prose.
    pub(super) switched: bool,
    pub(super) settled: bool,
    /// A batch that was not closed in the last body is closed now.
    pub(super) closed: bool,
    /// Where a batch begins that waits for the text to settle: what is behind it does not overtake it.
    pub(super) held: Option<usize>,
    /// What may have been half-typed in the last body.
    pub(super) typing: Vec<Seen>,
    pub(super) hidden: Vec<Seen>,
    /// What does not end: now, and in the last body.
    pub(super) open: Vec<Enclosure>,
    pub(super) was_open: Vec<Enclosure>,
}

/// What a batch is that was not in the last body.
pub(super) enum Verdict {
    /// One whose `<tasks>` is damaged.
    Bared,
    /// This one, with another `<i>`.
    Reworded(Number),
    CameBack(Number),
    /// Nobody knows whether it ran, but perhaps what became of its tasks.
    Unknown(Vec<Fate>),
    /// It waits for the text to settle.
    Typed,
    /// It came in something that does not end, and belongs to that.
    Swallowed,
    /// It may be a part of something that does not end.
    Doubtful,
    Joined(Vec<Fate>),
    Trimmed(Vec<Fate>),
    Run(Vec<(Plan, Fate)>),
}

impl State {
    /// What a batch is that was not in the last body. `now` is what is known of this one so far.
    pub(super) fn verdict(
        &self,
        new: &Candidate<'_>,
        scene: &Scene<'_>,
        now: &[Seen],
        vanished: &[Seen],
    ) -> Verdict {
        let look = scene.look;
        if self.is_bared(new, &scene.hidden, now) {
            return Verdict::Bared;
        }
        if let Some(was) = vanished.iter().find(|seen| is_reworded(new, look, seen)) {
            return Verdict::Reworded(was.number);
        }
        if let Some(was) = self.returned(new, now, &scene.hidden) {
            return Verdict::CameBack(was);
        }
        let tasks = self.keys(look, new);
        let completed = self.completed(&tasks, self.is_in_place(new, scene));
        let is_completing = completed.is_some();
        let revision = completed.or_else(|| self.revision(new, look, &tasks, vanished));
        if (scene.first || scene.switched || look.foreign) && !look.run_existing {
            return Verdict::Unknown(revision.map_or(Vec::new(), Revision::into_fates));
        }
        let place = if new.batch.is_inside {
            Enclosure::place(&scene.open, new.batch.span.start)
        } else {
            Inside::Own
        };
        let before = vanished.iter().chain(&scene.typing);
        let is_held = scene.held.is_some_and(|at| at < new.batch.span.start);
        let may_be_typed = scene.closed
            || is_held
            || !is_pasted_over(new, look, before.clone())
                && (revision.is_some() && !is_completing || is_typed(new, look, before));
        let was_swallowed = || {
            let near = vanished.iter().filter(|seen| seen.swallowed);
            revision.is_some() && near.clone().next().is_some() || is_typed(new, look, near)
        };
        if new.batch.is_inside && (place == Inside::Swallowed || was_swallowed()) {
            return if scene.settled {
                Verdict::Swallowed
            } else {
                Verdict::Typed
            };
        }
        let text = new.text(look);
        let is_joined = || {
            let mut was_open = scene.was_open.iter();
            was_open
                .any(|was| was.has_gone(&scene.open) && was.is_joined(self.seed, text, new.prose))
        };
        match revision {
            _ if may_be_typed && !scene.settled => Verdict::Typed,
            _ if place == Inside::Doubtful => Verdict::Doubtful,
            revision if is_joined() => {
                Verdict::Joined(revision.map_or(Vec::new(), Revision::into_fates))
            }
            Some(Revision::Trimmed(fates)) => Verdict::Trimmed(fates),
            Some(Revision::Changed(plans)) => Verdict::Run(plans),
            None => {
                let all = new.batch.tasks.iter();
                Verdict::Run(all.map(|_| (Plan::Run, Fate::NotRun)).collect())
            }
        }
    }

    /// Tells that a batch is one that did not end, with its end.
    pub(super) fn is_in_place(&self, new: &Candidate<'_>, scene: &Scene<'_>) -> bool {
        let text = new.text(scene.look);
        let mut was_open = scene.was_open.iter();
        was_open.any(|was| was.has_gone(&scene.open) && was.begins(self.seed, text))
    }

    /// The keys of its tasks.
    pub(super) fn keys(&self, look: &Look<'_>, new: &Candidate<'_>) -> Vec<Key> {
        let tasks = self.tasks(look.body, new.batch);
        tasks.into_iter().map(|task| task.key).collect()
    }

    /// A `<task>` by itself is not new where only the `<tasks>` around it was damaged.
    fn is_bared(&self, new: &Candidate<'_>, hidden: &[Seen], now: &[Seen]) -> bool {
        if hidden.is_empty() || !is_lone(new.batch) {
            return false;
        }
        let tasks = hidden
            .iter()
            .filter_map(|seen| self.records.get(&seen.number));
        let tasks = tasks.flat_map(|record| &record.tasks);
        let there = tasks.filter(|task| task.key == new.key).count();
        there
            > now
                .iter()
                .filter(|seen| seen.bared && seen.key == new.key)
                .count()
    }

    /// The batch with this text that once stood in this prose, and is nowhere in the body now.
    fn returned(&self, new: &Candidate<'_>, now: &[Seen], hidden: &[Seen]) -> Option<Number> {
        let numbers = self.by_key.get(&new.key)?;
        let is_there = |number| now.iter().chain(hidden).any(|seen| seen.number == number);
        let stood = |number: &Number| {
            self.records[number].prose == new.prose
                || self
                    .stood
                    .get(number)
                    .is_some_and(|stood| stood.contains(&new.prose))
        };
        let all = numbers.iter().rev().copied();
        all.filter(stood).find(|number| !is_there(*number))
    }

    fn revision(
        &self,
        new: &Candidate<'_>,
        look: &Look<'_>,
        tasks: &[Key],
        vanished: &[Seen],
    ) -> Option<Revision> {
        if vanished.is_empty() {
            return None;
        }
        let draft = Draft {
            head: self.head(look.body, new.batch),
            tasks,
            prose: new.prose,
        };
        let records = vanished.iter();
        let records =
            records.filter_map(|seen| Some((self.records.get(&seen.number)?, seen.prose)));
        revision::revision(&draft, &records.collect::<Vec<_>>())
    }
}

/// Whether nothing but an `<i>` differs from a batch that stood in the same prose.
fn is_reworded(new: &Candidate<'_>, look: &Look<'_>, was: &Seen) -> bool {
    was.prose == new.prose
        && !was.prose.is_none()
        && revision::differs_by_why_only(&was.text, new.text(look))
}

/// Tells that a batch may be half-typed: it stands where a vanished one stood, or looks like one near which it stands.
fn is_typed<'s>(
    new: &Candidate<'_>,
    look: &Look<'_>,
    mut before: impl Iterator<Item = &'s Seen>,
) -> bool {
    before.any(|seen| {
        let is_there = seen.prose == new.prose && !new.prose.is_none();
        is_there
            || seen.prose.shares_side(new.prose)
                && revision::difference(new.batch.dialect, new.text(look), &seen.text).is_alike
    })
}

/// Tells that a batch without any prose around it was pasted in the place of others: nobody types as much between two
/// saves.
fn is_pasted_over<'s>(
    new: &Candidate<'_>,
    look: &Look<'_>,
    mut before: impl Iterator<Item = &'s Seen>,
) -> bool {
    new.prose.is_none()
        && before.all(|seen| {
            revision::difference(new.batch.dialect, new.text(look), &seen.text).differs > TYPED
        })
}
