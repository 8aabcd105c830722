//! Owns the question which changes of the clipboard are news. Keeps no text, only what tells one from another.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use crate::world::clipboard::CopyId;

/// The most bytes of a text that others copied.
const MOST: usize = 8 * 1024 * 1024;
/// The time within which a text that is set again is no event: clipboard managers set again what was copied.
const SAME: Duration = Duration::from_secs(10);
/// The most texts of its own that are remembered.
const MOST_OWN: usize = 16;

/// The copies that were seen by one owner process.
#[derive(Default)]
pub(in crate::world::clipboard) struct CopyHistory {
    hasher: RandomState,
    /// The last that somebody else did.
    latest: CopyId,
    /// Its text, and the moment at which that was set last.
    last: Option<(u64, Instant)>,
    /// The texts that clada copied: the last, and before it those of the last moments. They may be seen late.
    own: VecDeque<OwnCopy>,
}

/// A text that clada copied.
struct OwnCopy {
    hash: u64,
    length: usize,
    copied: Instant,
}

impl CopyHistory {
    /// Begins to watch under this number. Nothing that was copied before counts.
    pub(super) fn begin(&mut self, watch: u64) {
        self.latest = CopyId {
            watch,
            generation: 0,
        };
        self.last = None;
    }

    /// Ends it: what is copied from now on is not known.
    pub(super) fn end(&mut self) {
        self.begin(0);
    }

    /// Returns true if it is watched under this number.
    pub(super) fn is_watched(&self, watch: u64) -> bool {
        self.latest.watch == watch
    }

    /// Notes a text that clada is about to copy.
    pub(in crate::world::clipboard) fn owns(&mut self, text: &str, now: Instant) {
        let is_old = |own: &OwnCopy| now.duration_since(own.copied) > SAME;
        while self.own.len() > MOST_OWN || self.own.front().is_some_and(is_old) {
            self.own.pop_front();
        }
        self.own.push_back(OwnCopy {
            hash: self.hasher.hash_one(text.as_bytes()),
            length: text.len(),
            copied: now,
        });
    }

    /// Returns true for a text that clada copied last, or shortly before that.
    fn is_own(&self, hash: u64, now: Instant) -> bool {
        let mut own = self.own.iter().rev().enumerate();
        own.any(|(before, own)| {
            let counts = before == 0 || now.duration_since(own.copied) <= SAME;
            own.hash == hash && counts
        })
    }

    /// The most bytes that are read: more than from others only for clada's own text to be known again.
    pub(super) fn most(&self) -> usize {
        let own = self.own.iter().map(|own| own.length).max();
        own.map_or(MOST, |length| length.max(MOST))
    }

    /// Returns true if nobody else has copied anything since.
    pub(super) fn is_latest(&self, copy: CopyId) -> bool {
        self.latest == copy
    }

    /// Notes the text that is there at the start.
    pub(super) fn finds(&mut self, text: Option<&str>, now: Instant) {
        let hash = text.map(|text| self.hasher.hash_one(text.as_bytes()));
        self.last = hash.map(|hash| (hash, now));
    }

    /// Notes a change, with the text if it is one that may be read. Returns the copy that is to be told.
    pub(super) fn sees(&mut self, text: Option<&str>, now: Instant) -> Option<CopyId> {
        let hash = text.map(|text| self.hasher.hash_one(text.as_bytes()));
        if hash.is_some_and(|hash| self.is_own(hash, now)) {
            return None;
        }
        let before = self.last.filter(|(last, _)| hash == Some(*last));
        self.last = hash.map(|hash| (hash, now));
        match before {
            Some((_, at)) => (now.duration_since(at) > SAME).then_some(self.latest),
            None => {
                self.latest.generation += 1;
                let is_told = text.is_some_and(|text| text.len() <= MOST);
                is_told.then_some(self.latest)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn managers_that_set_texts_again_are_no_news() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut history = CopyHistory::default();
        history.begin(3);
        let copy = |generation| CopyId {
            watch: 3,
            generation,
        };
        history.finds(Some("there"), at(0));
        assert_eq!(history.sees(Some("there"), at(9)), None);
        assert!(history.is_latest(copy(0)));
        assert_eq!(history.sees(Some("one"), at(9)), Some(copy(1)));
        // Each time counts from the last.
        assert_eq!(history.sees(Some("one"), at(19)), None);
        assert_eq!(history.sees(Some("one"), at(29)), None);
        assert_eq!(history.sees(Some("one"), at(40)), Some(copy(1)));
        // clada's own text, set by whomever, is nothing.
        history.owns("older", at(20));
        history.owns("old", at(38));
        history.owns("mine", at(40));
        assert_eq!(history.sees(Some("old"), at(41)), None);
        assert_eq!(history.sees(Some("mine"), at(41)), None);
        assert_eq!(history.sees(Some("mine"), at(99)), None);
        assert_eq!(history.sees(Some("one"), at(100)), Some(copy(1)));
        assert!(history.is_latest(copy(1)));
        // An image is something, and each time something else.
        assert_eq!(history.sees(None, at(100)), None);
        assert!(!history.is_latest(copy(1)) && history.is_latest(copy(2)));
        assert_eq!(history.sees(Some("one"), at(100)), Some(copy(3)));
        history.end();
        assert!(!history.is_latest(copy(3)));
        history.begin(3);
        assert_eq!(history.sees(Some("old"), at(101)), Some(copy(1)));
        assert_eq!(history.sees(Some("older"), at(101)), Some(copy(2)));
    }

    #[test]
    fn what_is_longer_than_others_may_copy_is_read_only_to_know_what_is_clada_s() {
        let mut history = CopyHistory::default();
        let (now, long) = (Instant::now(), "x".repeat(MOST + 1));
        assert_eq!(history.most(), MOST);
        history.owns(&long, now);
        assert_eq!(history.most(), MOST + 1);
        assert_eq!(history.sees(Some(&long), now), None);
        assert!(history.is_latest(CopyId::default()));
        let other = "y".repeat(MOST + 1);
        assert_eq!(history.sees(Some(&other), now), None);
        assert!(!history.is_latest(CopyId::default()));
    }
}
