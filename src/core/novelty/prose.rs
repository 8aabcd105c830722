//! The prose around batches, by which a batch is told from another with the same text. Decides nothing.

use crate::reply::chat_key::key_in;
use crate::reply::dialects::block::is_fence;
use crate::reply::record::{Key, Prose, Seed};
use crate::reply::task::Scan;

/// The prose that each batch of a body stands in.
pub(super) fn around(seed: Seed, body: &str, scan: &Scan<'_>) -> Vec<Prose> {
    // What is between the batches: before the first, between each two, behind the last.
    let starts = scan.batches.iter().map(|batch| batch.span.start);
    let ends = scan.batches.iter().map(|batch| batch.span.end);
    let gaps: Vec<&str> = std::iter::once(0)
        .chain(ends)
        .zip(starts.chain([body.len()]))
        .map(|(end, start)| &body[end.min(start)..start])
        .collect();
    let mut proses = vec![Prose::default(); scan.batches.len()];
    let mut above = None;
    for (prose, gap) in proses.iter_mut().zip(&gaps) {
        let line = gap.lines().rev().find(is_prose);
        above = line.map(|line| seed.key(line)).or(above);
        prose.above = above;
    }
    let mut below = None;
    for (prose, gap) in proses.iter_mut().rev().zip(gaps.iter().rev()) {
        let line = gap.lines().find(is_prose);
        below = line.map(|line| seed.key(line)).or(below);
        prose.below = below;
    }
    proses
}

/// Fences, blank lines and those that only hold the key of a chat are none.
fn is_prose(line: &&str) -> bool {
    !line.trim().is_empty() && !is_fence(line) && key_in(line).is_none()
}

impl Prose {
    /// True if there is none at all: two batches without any prose do not stand in the same.
    pub(super) fn is_none(self) -> bool {
        self == Self::default()
    }

    /// True if at least one side is the same, also by having none.
    pub(super) fn shares_side(self, other: Self) -> bool {
        self.above == other.above || self.below == other.below
    }

    /// True if there was prose on both sides and there is other prose now.
    pub(super) fn replaces(self, was: Self) -> bool {
        let is_other =
            |now: Option<Key>, was: Option<Key>| now.is_some() && was.is_some() && now != was;
        is_other(self.above, was.above) && is_other(self.below, was.below)
    }
}
