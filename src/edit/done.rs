//! One replacement that was carried out in a file, or why its text cannot be told.

use std::borrow::Cow;
use std::ops::Range;

use super::carry::Unclear;
use super::splice::Splice;
use super::{Cause, Place, without_bom};

/// One replacement in a file, its places counted from behind the BOM.
pub(super) struct Done {
    range: Range<usize>,
    inserted: Vec<u8>,
    pub(super) place: Place,
}

impl Done {
    /// # Errors
    /// Where the file would stay as it is, though something is to be changed.
    pub(super) fn of(
        file: &[u8],
        splice: Splice,
        place: Place,
        changes: bool,
    ) -> Result<Self, Cause> {
        if changes && file[splice.range.clone()] == splice.inserted {
            return Err(Cause::NothingChanges { at: place.line });
        }
        Ok(Self {
            range: splice.range,
            inserted: splice.inserted,
            place,
        })
    }

    pub(super) fn parts(self, file: &[u8]) -> Vec<Cow<'_, [u8]>> {
        let bom = file.len() - without_bom(file).len();
        vec![
            Cow::Borrowed(&file[..bom + self.range.start]),
            Cow::Owned(self.inserted),
            Cow::Borrowed(&file[bom + self.range.end..]),
        ]
    }
}

/// The failure of an edit at a line of the file where its text cannot be told.
pub(super) fn unclear(unclear: Unclear, at: usize) -> Cause {
    Cause::Unclear {
        line: unclear.line,
        at,
        doubt: unclear.doubt,
    }
}
