//! Batches that do the same: what ran before, task by task, and what is about to run by a tick.

use super::State;
use crate::reply::record::{Key, Number, Offer, Record};

impl State {
    /// When the last batch before this one ran of which every task is the same, if that was no earlier than `since`; both
    /// in seconds since 1970.
    pub fn same_as(&self, number: Number, since: i64) -> Option<i64> {
        let keys = |record: &Record| -> Vec<Key> { record.tasks.iter().map(|it| it.key).collect() };
        let own = keys(self.records.get(&number)?);
        let before = self.records.values().filter(|it| it.number < number);
        let ran = before.filter(|it| it.ran.is_some_and(|ran| ran >= since));
        let same = ran.filter(|it| !own.is_empty() && keys(it) == own);
        same.filter_map(|it| it.ran).max()
    }

    /// Tells if a tick that takes up this offer could not be carried out yet.
    pub fn has_taken(&self, offer: &Offer) -> bool {
        self.ticks.iter().any(|tick| tick.offer == *offer)
    }
}
