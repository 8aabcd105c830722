//! Runs of blocks: where a reply of a dialect without an element around it was pasted right below another, the scan takes
//! both for one batch. What is remembered tells them apart.

use std::collections::HashMap;

use super::NoveltyState;
use crate::reply::dialect::Dialect;
use crate::reply::record::Key;
use crate::reply::task::{Batch, BatchState, Scan};

/// The longest run that is looked through for batches that came back.
const BLOCKS: usize = 200;

impl NoveltyState {
    /// Parts runs of blocks: a batch of the last body from the blocks beside it, and a run of nothing but remembered batches
    /// into these. The batches inside of something that does not end are put among the others: the memory of the last body
    /// tells which of these are quotations.
    pub fn part<'t>(&self, body: &'t str, mut scan: Scan<'t>) -> Scan<'t> {
        unfold(&mut scan);
        let scan = self.part_ended(body, scan);
        let is_run = |batch: &Batch<'_>| {
            batch.dialect.has_loose_blocks()
                && batch.tasks.len() > 1
                && batch.state == BatchState::Complete
        };
        if !scan.batches.iter().any(is_run) {
            return scan;
        }
        let mut there = self.there();
        let key = |batch: &Batch<'_>| self.seed.key(&body[batch.span.clone()]);
        // Those that are whole take theirs first.
        for batch in &scan.batches {
            if let Some((left, _)) = there.get_mut(&key(batch)) {
                *left = left.saturating_sub(1);
            }
        }
        let mut batches = Vec::with_capacity(scan.batches.len());
        for batch in scan.batches {
            if !is_run(&batch) || self.by_key.contains_key(&key(&batch)) {
                batches.push(batch);
                continue;
            }
            let keys = |from: usize, to: usize| {
                let (first, last) = (&batch.tasks[from].span, &batch.tasks[to - 1].span);
                self.seed.key(&body[first.start..last.end])
            };
            let mut ends = Vec::new();
            for (from, to) in self.pieces(batch.tasks.len(), &mut there, &keys) {
                let came_back = self.partition(from, to, &keys);
                ends.extend(came_back.unwrap_or_else(|| vec![to]));
            }
            batches.extend(split(batch, &ends));
        }
        Scan { batches, ..scan }
    }

    /// Parts a block that did not end from the reply that has ended it now, being of the same dialect.
    fn part_ended<'t>(&self, body: &'t str, scan: Scan<'t>) -> Scan<'t> {
        if self.kept.open.is_empty() {
            return scan;
        }
        let apart = scan.batches.into_iter().flat_map(|batch| {
            let text = &body[batch.span.clone()];
            let mut ends = self
                .kept
                .open
                .iter()
                .filter_map(|it| it.end_in(self.seed, text));
            let end = batch.span.start + ends.next().unwrap_or_default();
            let own = batch.tasks.iter().take_while(|it| it.span.start < end);
            let (own, all) = (own.count(), batch.tasks.len());
            if batch.dialect == Dialect::Cml || own == 0 || own == all {
                return vec![batch];
            }
            split(batch, &[own, all]).collect()
        });
        let batches = apart.collect();
        Scan { batches, ..scan }
    }

    /// The batches that are in the file, by their texts: how many of each, and how many tasks one has.
    fn there(&self) -> HashMap<Key, (usize, usize)> {
        let mut there: HashMap<Key, (usize, usize)> = HashMap::new();
        for seen in self.kept.body.seen() {
            let tasks = self.records.get(&seen.number);
            let tasks = tasks.map_or(0, |record| record.tasks.len());
            there.entry(seen.key).or_insert((0, tasks)).0 += 1;
        }
        there
    }

    /// The pieces of a run: the tasks that are a batch that is there, and those between such batches.
    fn pieces(
        &self,
        tasks: usize,
        there: &mut HashMap<Key, (usize, usize)>,
        keys: &dyn Fn(usize, usize) -> Key,
    ) -> Vec<(usize, usize)> {
        let mut lengths: Vec<usize> = there.values().map(|(_, tasks)| *tasks).collect();
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        lengths.dedup();
        let mut pieces = Vec::new();
        let (mut at, mut new) = (0, 0);
        while at < tasks {
            let ends = lengths.iter().map(|length| at + length);
            let end = ends
                .filter(|end| (at + 1..=tasks).contains(end))
                .find(|end| match there.get_mut(&keys(at, *end)) {
                    Some((left, _)) if *left > 0 => {
                        *left -= 1;
                        true
                    }
                    _ => false,
                });
            let Some(end) = end else {
                at += 1;
                continue;
            };
            pieces.extend([(new, at), (at, end)].into_iter().filter(|(a, b)| a < b));
            (at, new) = (end, end);
        }
        pieces.extend((new < tasks).then_some((new, tasks)));
        pieces
    }

    /// The ends of the remembered batches that tasks are put together of; `None` where one of them is new.
    fn partition(
        &self,
        from: usize,
        to: usize,
        keys: &dyn Fn(usize, usize) -> Key,
    ) -> Option<Vec<usize>> {
        if to - from > BLOCKS {
            return None;
        }
        let mut ends = Vec::new();
        let mut at = from;
        while at < to {
            let is_known = |end: &usize| self.by_key.contains_key(&keys(at, *end));
            at = (at + 1..=to).rev().find(is_known)?;
            ends.push(at);
        }
        Some(ends)
    }
}

/// Puts the batches that stand inside of something that does not end among the others, each of which ends where the next
/// begins.
fn unfold(scan: &mut Scan<'_>) {
    scan.batches.append(&mut scan.inside);
    scan.batches.sort_by_key(|batch| batch.span.start);
    let starts: Vec<usize> = scan.batches.iter().map(|it| it.span.start).collect();
    for (batch, next) in scan.batches.iter_mut().zip(starts.into_iter().skip(1)) {
        batch.span.end = batch.span.end.min(next);
    }
}

/// Parts a batch behind the tasks that these numbers count up to.
fn split<'t>(batch: Batch<'t>, ends: &[usize]) -> impl Iterator<Item = Batch<'t>> {
    let whole = batch.span;
    let count = batch.tasks.len();
    let mut tasks = batch.tasks.into_iter();
    let mut from = 0;
    ends.iter().map(move |end| {
        let part: Vec<_> = tasks.by_ref().take(end - from).collect();
        let first = part.first().filter(|_| from > 0);
        let last = part.last().filter(|_| *end < count);
        from = *end;
        let start = first.map_or(whole.start, |task| task.span.start);
        let stop = last.map_or(whole.end, |task| task.span.end);
        Batch {
            is_inside: batch.is_inside,
            ..Batch::new(batch.dialect, start..stop, BatchState::Complete, part)
        }
    })
}
