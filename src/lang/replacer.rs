//! The replacer format: `<<<FILE>>>` and `<<<SEARCH>>>`, `<<<REPLACE>>>` or `<<<OVERWRITE>>>`, up to `<<<END>>>`.

use super::scan::Found;

/// What a block of it has, and hardly anything else.
pub(super) const MARKS: &[&str] = &["<<<FILE>>>"];

/// Reads the block whose mark is at an offset, if it is one. It begins at `floor` or behind it.
pub(super) fn read<'t>(_text: &'t str, _at: usize, _floor: usize) -> Option<Found<'t>> {
    None
}
