//! What a reader of a dialect hands to the scan.

use std::ops::Range;

use super::dialect::Dialect;
use super::task::{Batch, BatchState, Problem, Task};

/// What a dialect's reader found at an offset.
pub(crate) struct Found<'t> {
    /// What it asks for; none where it only has problems.
    pub(crate) batch: Option<Batch<'t>>,
    pub(crate) problems: Vec<Problem>,
    /// Where the scan goes on.
    pub(crate) resume: usize,
}

impl<'t> Found<'t> {
    /// A batch that marks itself as a whole, behind which the scan goes on.
    pub(crate) fn batch(
        dialect: Dialect,
        span: Range<usize>,
        state: BatchState,
        tasks: Vec<Task<'t>>,
    ) -> Self {
        Self {
            resume: span.end,
            problems: Vec::new(),
            batch: Some(Batch {
                dialect,
                span,
                atomic: false,
                message: None,
                state,
                is_inside: false,
                tasks,
            }),
        }
    }
}
