//! Which problems of a save were not told yet. Each is told once, by its text, as often as it is there.

use std::collections::HashMap;

use super::enclosure::{self, Enclosure, Inside};
use super::{Effect, Look};
use crate::reply::record::{Key, Seed};
use crate::reply::task::{Batch, BatchState, Cause, Problem};

/// The problems of a body that were told, and how often each was there.
pub(super) type Told = HashMap<Key, usize>;

/// The problems that were not told yet. Where the rest of a text may still come, one that it would solve waits.
pub(super) fn untold(
    told: &mut Told,
    seed: Seed,
    look: &Look<'_>,
    (open, settled): (&[Enclosure], bool),
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
    let mut now = Told::new();
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
            let is_of = |it: &&Enclosure| Some(it.at) == start;
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

/// Tells that a reply was cut off behind tasks that are whole.
fn has_whole_tasks(problem: &Problem) -> bool {
    matches!(problem.cause, Cause::CutOff { whole: Some(_), .. })
}

/// Tells that what is wrong in a batch belongs to something that does not end, and is told by that.
fn is_swallowed(batch: &Batch<'_>, open: &[Enclosure]) -> bool {
    batch.is_inside && Enclosure::place(open, batch.span.start) == Inside::Swallowed
}

/// Tells if a problem of the text is none if the rest of the text is still to come.
pub(super) fn is_unfinished(problem: &Problem) -> bool {
    matches!(problem.cause, Cause::OffNeverEnds { .. })
}
