//! The problems of a save that were not told yet. Each is told once, by its text, as often as it is there.

use std::collections::BTreeMap;

use super::enclosure::{self, Enclosure, Placement};
use super::{Effect, Look};
use crate::reply::record::{Key, Seed};
use crate::reply::task::{Batch, BatchState, Cause, Problem};

/// The problems that were not told yet, by what was `told` of the last body. Where the rest of a text may still come, one
/// that it would solve waits.
pub(super) fn untold(
    told: &mut BTreeMap<Key, usize>,
    seed: Seed,
    look: &Look<'_>,
    open: &[Enclosure],
    settled: bool,
) -> Vec<Effect> {
    let Look { body, scan, .. } = *look;
    let batches = scan.batches.iter().enumerate();
    let of_batches = batches.filter_map(|(index, batch)| {
        let problem = batch.state.problem()?;
        let open = matches!(batch.state, BatchState::Open(_));
        Some((
            Some(index),
            problem,
            enclosure::key(seed, body, batch),
            open,
        ))
    });
    let of_text = scan.problems.iter().map(|problem| {
        let key = seed.key(enclosure::line_at(body, problem.at));
        (None, problem, key, is_unfinished(problem))
    });
    let mut now = BTreeMap::new();
    let mut effects = Vec::new();
    for (batch, problem, key, unfinished) in of_batches.chain(of_text) {
        let count = now.get(&key).copied().unwrap_or(0) + 1;
        if count > told.get(&key).copied().unwrap_or(0) {
            if unfinished && !settled {
                continue;
            }
            if batch.is_some_and(|index| is_swallowed(&scan.batches[index], open)) {
                now.insert(key, count);
                continue;
            }
            let start = batch.map(|index| scan.batches[index].span.start);
            let is_of = |it: &&Enclosure| Some(it.arrival.at) == start;
            effects.push(Effect::Tell {
                batch,
                problem: problem.clone(),
                typed: (open.iter().find(is_of))
                    .is_some_and(|it| it.is_typed(has_whole_tasks(problem))),
            });
        }
        now.insert(key, count);
    }
    *told = now;
    effects
}

/// True if a reply was cut off behind tasks that are whole.
fn has_whole_tasks(problem: &Problem) -> bool {
    matches!(problem.cause, Cause::CutOff { whole: Some(_), .. })
}

/// True if the problem of a batch belongs to something that does not end, and is told by that.
fn is_swallowed(batch: &Batch<'_>, open: &[Enclosure]) -> bool {
    batch.is_inside && Enclosure::place(open, batch.span.start) == Placement::Swallowed
}

/// True if a problem of the text is none when the rest of the text comes.
pub(super) fn is_unfinished(problem: &Problem) -> bool {
    matches!(problem.cause, Cause::OffNeverEnds { .. })
}
