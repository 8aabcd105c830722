//! SHAM and NESL: one grammar with two sets of markers.

pub mod told;

use super::scan::Found;

/// What a block of SHAM begins with.
pub(super) const SHAM_MARKS: &[&str] = &["#!SHAM "];
/// What a block of NESL begins with.
pub(super) const NESL_MARKS: &[&str] = &["#!nesl "];

/// Reads the block whose header's marker is at an offset, if it is one.
pub(super) fn read<'t>(_text: &'t str, _at: usize) -> Option<Found<'t>> {
    None
}
