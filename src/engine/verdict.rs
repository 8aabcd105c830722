//! What a batch is that was not in the last body: the rules, one after the other. Changes nothing.

use super::body::Candidate;
use super::event::Look;
use super::revision::{self, Draft, Revision};
use super::seen::Seen;
use super::{State, is_lone};
use crate::lang::record::{Fate, Key, Number, Plan};

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
    /// What may have been half-typed in the last body.
    pub(super) typing: Vec<Seen>,
    pub(super) hidden: Vec<Seen>,
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
    Typed,
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
        let revision = self.revision(new, look, vanished);
        if (scene.first || scene.switched || look.foreign) && !look.run_existing {
            return Verdict::Unknown(revision.map_or(Vec::new(), Revision::into_fates));
        }
        let is_typed = scene.closed
            || revision.is_some()
            || is_typed(new, look, vanished.iter().chain(&scene.typing));
        match revision {
            _ if is_typed && !scene.settled => Verdict::Typed,
            Some(Revision::Trimmed(fates)) => Verdict::Trimmed(fates),
            Some(Revision::Changed(plans)) => Verdict::Run(plans),
            None => {
                let all = new.batch.tasks.iter();
                Verdict::Run(all.map(|_| (Plan::Run, Fate::NotRun)).collect())
            }
        }
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
        vanished: &[Seen],
    ) -> Option<Revision> {
        if vanished.is_empty() {
            return None;
        }
        let tasks = self.tasks(look.body, new.batch);
        let tasks: Vec<Key> = tasks.into_iter().map(|task| task.key).collect();
        let draft = Draft {
            head: self.head(look.body, new.batch),
            tasks: &tasks,
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

/// Whether a batch stands where a vanished one stood, or looks like it.
fn is_typed<'s>(
    new: &Candidate<'_>,
    look: &Look<'_>,
    mut vanished: impl Iterator<Item = &'s Seen>,
) -> bool {
    vanished.any(|seen| {
        seen.prose == new.prose && !new.prose.is_none()
            || revision::is_alike(new.batch.dialect, new.text(look), &seen.text)
    })
}
