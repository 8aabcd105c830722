//! What the newest results block shows, and if that could be read: values only.

use serde::{Deserialize, Serialize};

use crate::reply::record::Offer;
use crate::report::Earlier;
use crate::world::ledger::{BlockId, ShownResults};

/// The time that results must have been in the notes until a change of these shows that somebody could read them, in
/// milliseconds.
const READ_AFTER: i64 = 3_000;

/// The number of results that a block shows.
const MOST: usize = 5;

/// Results as they were told.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Telling {
    pub(super) text: Earlier,
    /// With their lines, from 0.
    pub(super) offers: Vec<(usize, Offer)>,
    /// It says no more than that ticks do not count: newer results take its place.
    #[serde(default)]
    pub(super) passes: bool,
    /// The outputs of its tasks in the output file: where they begin and their length, in bytes.
    pub(super) whole: (u64, u64),
}

/// The contents of a results block.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Shows {
    /// The line above the block.
    pub(super) status: String,
    /// The newest first.
    pub(super) tellings: Vec<Telling>,
    /// They are on the clipboard.
    #[serde(default)]
    pub(super) is_copied: bool,
    /// The size of the output file.
    pub(super) size: u64,
}

/// The newest results block of a file, and whether it was read.
#[derive(Debug, Default)]
pub(super) struct Unread {
    pub(super) shows: Shows,
    pub(super) block: Option<BlockId>,
    /// The time at which it came into the notes; `None` if it is not there yet.
    written_ms: Option<i64>,
    is_read: bool,
}

impl Unread {
    /// Reads it from the ledger. One that cannot be read counts as read by the person.
    pub(super) fn of(kept: Option<ShownResults>) -> Self {
        let Some(kept) = kept else {
            return Self::default();
        };
        let shows = serde_json::from_str(&kept.results).unwrap_or_else(|error| {
            tracing::error!(%error, "cannot read the unread results");
            Shows::default()
        });
        Self {
            shows,
            block: Some(kept.block),
            written_ms: kept.written_ms,
            is_read: kept.is_read,
        }
    }

    /// The results that newer ones are put above.
    pub(super) fn tellings(&self) -> &[Telling] {
        let tellings = &self.shows.tellings;
        if self.is_read {
            &[]
        } else {
            &tellings[..tellings.len().min(MOST - 1)]
        }
    }

    /// A block that is about to be written.
    pub(super) fn new(shows: Shows, block: Option<BlockId>) -> Self {
        Self {
            shows,
            block,
            ..Self::default()
        }
    }

    /// The notes were changed at this time. Tells that these results have been read by that, and had not been before.
    pub(super) fn changed(&mut self, changed_ms: i64) -> bool {
        let written_ms = self.written_ms.filter(|_| !self.is_read);
        let is_read = written_ms.is_some_and(|written| changed_ms - written >= READ_AFTER);
        self.is_read |= is_read;
        is_read
    }

    /// A reply was copied. Tells that these results have been read by that, and had not been before.
    pub(super) fn copied_on(&mut self) -> bool {
        let is_read = self.shows.is_copied && !self.is_read;
        self.is_read |= is_read;
        is_read
    }

    /// The results are in the notes from now on.
    pub(super) fn written(&mut self, block: BlockId, now_ms: i64) {
        if self.block == Some(block) {
            self.written_ms.get_or_insert(now_ms);
        }
    }

    /// Has them count as not read, whatever was seen.
    pub(super) fn reopen(&mut self) {
        self.is_read = false;
    }
}
