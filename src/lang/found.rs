//! What a reader of a dialect hands to the scan.

use super::task::{Batch, Problem};

/// What a dialect's reader found at an offset.
pub(super) struct Found<'t> {
    /// What it asks for; none where it only has problems.
    pub(super) batch: Option<Batch<'t>>,
    pub(super) problems: Vec<Problem>,
    /// Where the scan goes on.
    pub(super) resume: usize,
}
