//! The dialects beside CML: one reader for each, and what all of them give.

pub(crate) mod aider;
pub(crate) mod block;
pub(crate) mod codex;
pub(crate) mod diff;
pub mod nesl;
mod patch;
pub(crate) mod replacer;

use std::ops::Range;

use super::dialect::Dialect;
use super::task::{Batch, BatchState, Problem, Task};

/// The batch or the problems that a dialect's reader found at an offset.
pub(crate) struct ParsedBlock<'t> {
    /// Nothing where there are only problems.
    pub(crate) batch: Option<Batch<'t>>,
    pub(crate) problems: Vec<Problem>,
    /// The offset at which the scan goes on.
    pub(crate) resume: usize,
}

impl<'t> ParsedBlock<'t> {
    /// A batch behind which the scan goes on.
    pub(crate) fn batch(
        dialect: Dialect,
        span: Range<usize>,
        state: BatchState,
        tasks: Vec<Task<'t>>,
    ) -> Self {
        Self {
            resume: span.end,
            problems: Vec::new(),
            batch: Some(Batch::new(dialect, span, state, tasks)),
        }
    }
}
