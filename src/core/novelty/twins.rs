//! Batches that do the same as another: one that ran before, task by task, or one that is about to run by a tick.

use super::NoveltyState;
use crate::reply::record::{Key, Number, Offer, Record};

impl NoveltyState {
    /// The time at which the last batch before this one ran that has the same tasks, if that was no earlier than `since`;
    /// both in seconds since 1970.
    pub fn same_as(&self, number: Number, since: i64) -> Option<i64> {
        let keys = |record: &Record| -> Vec<Key> { record.tasks.iter().map(|it| it.key).collect() };
        let own = keys(self.records.get(&number)?);
        let before = self.records.values().filter(|it| it.number < number);
        let ran = before.filter(|it| it.ran.is_some_and(|ran| ran >= since));
        let same = ran.filter(|it| !own.is_empty() && keys(it) == own);
        same.filter_map(|it| it.ran).max()
    }

    /// True if a tick that takes up this offer could not be carried out yet.
    pub fn has_taken(&self, offer: &Offer) -> bool {
        self.kept.ticks.iter().any(|tick| tick.offer == *offer)
    }
}
