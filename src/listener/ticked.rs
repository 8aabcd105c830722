//! The ticks that stand in the notes, as they were found. Decides nothing about them.

use std::collections::HashSet;

use crate::reply::note::{self, Note};
use crate::reply::record::{Tick, TickSource};

/// The beginning of the first line of a block that a command of the user writes, with its ticks in it.
pub const BY_COMMAND: &str = "⏳ `clada ";

/// The lines that are ticked in a results block.
#[derive(Debug, Clone)]
pub(super) struct Ticked {
    /// The block's canonical text.
    pub(super) block: String,
    pub(super) lines: Vec<usize>,
    /// Results stand beside it or below it that it may be a quotation of.
    pub(super) is_doubled: bool,
}

impl Ticked {
    /// Finds clada's blocks in which something is ticked.
    pub(super) fn all(note: &Note<'_>) -> Vec<Self> {
        let ours = note.blocks.iter().filter(|block| block.is_known);
        let all = ours.map(|block| Self {
            block: block.canonical(),
            lines: block.ticks(),
            is_doubled: false,
        });
        let mut all: Vec<Self> = all.collect();
        let results = all.iter().filter(|ticked| !ticked.is_by_command()).count();
        all.retain(|ticked| !ticked.lines.is_empty());
        for ticked in &mut all {
            ticked.is_doubled = results > 1 || note::holds(&note.body, &ticked.block);
        }
        all
    }

    /// True if `clada approve` or `clada retry` wrote the block: no task can have them do that.
    pub(super) fn is_by_command(&self) -> bool {
        let mut lines = self.block.lines().skip(1);
        lines
            .next()
            .is_some_and(|line| line.starts_with(BY_COMMAND))
    }

    /// Returns a line, as it was before it was ticked.
    pub(super) fn line(&self, line: usize) -> String {
        let mut lines = self.block.lines();
        lines.nth(line).unwrap_or_default().to_owned()
    }
}

/// The ticks that were found and not looked at yet, or ignored.
#[derive(Default)]
pub(super) struct KnownTicks {
    /// The ticks of the user's commands in blocks that clada took off before it looked at them.
    pub(super) sure: Vec<FoundTick>,
    /// Other ticks that were found there. They are still to be told of.
    pub(super) lost: Vec<FoundTick>,
    /// Ticks that do not count, and were told of.
    pub(super) ignored: HashSet<TickSource>,
}

/// A tick that was found, of what was offered and not taken up yet.
#[derive(Debug)]
pub(super) struct FoundTick {
    pub(super) tick: Tick,
    /// It is the person's beyond doubt.
    pub(super) is_sure: bool,
    /// The results are in the notes twice, and one of them may be a quotation.
    pub(super) is_doubled: bool,
    /// The line of the block, as it was before the tick.
    pub(super) line: String,
}
