//! Which problems of a save were not told yet. Each is told once, by its text, as often as it is there.

use std::collections::HashMap;

use super::Effect;
use crate::lang::record::{Key, Seed};
use crate::lang::task::{BatchState, Cause, Problem, Scan};

/// The problems of a body that were told, and how often each was there.
pub(super) type Told = HashMap<Key, usize>;

/// The problems that were not told yet. Where the rest of a text may still come, one that it would solve waits.
pub(super) fn untold(
    told: &mut Told,
    seed: Seed,
    body: &str,
    scan: &Scan<'_>,
    settled: bool,
) -> Vec<Effect> {
    let batches = scan.batches.iter().enumerate();
    let of_batches = batches.filter_map(|(index, batch)| {
        let problem = batch.state.problem()?;
        let open = matches!(batch.state, BatchState::Open(_));
        let text = if open {
            // All that follows belongs to it, and may be prose that the user goes on writing.
            &body[batch.span.start..problem.at + line_at(body, problem.at).len()]
        } else {
            &body[batch.span.clone()]
        };
        Some((Some(index), problem, text, open))
    });
    let of_text = scan.problems.iter().map(|problem| {
        let text = line_at(body, problem.at);
        (None, problem, text, is_unfinished(problem))
    });
    let mut now = Told::new();
    let mut effects = Vec::new();
    for (batch, problem, text, unfinished) in of_batches.chain(of_text) {
        let key = Key(seed.key(text).0 ^ swallowed(problem));
        let count = now.get(&key).copied().unwrap_or(0) + 1;
        if count > told.get(&key).copied().unwrap_or(0) {
            if unfinished && !settled {
                continue;
            }
            effects.push(Effect::Tell {
                batch,
                problem: problem.clone(),
            });
        }
        now.insert(key, count);
    }
    *told = now;
    effects
}

/// Whether a problem of the text is none if the rest of the text is still to come.
pub(super) fn is_unfinished(problem: &Problem) -> bool {
    matches!(problem.cause, Cause::OffNeverEnds { .. })
}

/// How many batches an unclosed element has swallowed: one more is another problem.
fn swallowed(problem: &Problem) -> u64 {
    match &problem.cause {
        Cause::Unclosed { swallowed, .. } => swallowed.len() as u64,
        _ => 0,
    }
}

pub(super) fn line_at(body: &str, at: usize) -> &str {
    body[at..].lines().next().unwrap_or_default()
}
