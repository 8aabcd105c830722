//! Patches in the format of Codex: `*** Begin Patch` … `*** End Patch`.

use super::scan::Found;

/// What a block of it has, and hardly anything else.
pub(super) const MARKS: &[&str] = &["*** Begin Patch"];

/// Reads the block whose mark is at an offset, if it is one. It begins at `floor` or behind it.
pub(super) fn read<'t>(_text: &'t str, _at: usize, _floor: usize) -> Option<Found<'t>> {
    None
}
