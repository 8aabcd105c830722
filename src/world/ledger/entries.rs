//! The values that go into the ledger and come out of it.

use std::path::PathBuf;

use crate::reply::record::{Commits, Fate, Key, Number, Offer, Record, TickSource};

/// A watched file, wherever it is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileId(pub(super) i64);

/// A results block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockId(pub(super) i64);

impl BlockId {
    /// Its number, which no other block ever has.
    pub fn number(self) -> i64 {
        self.0
    }
}

/// A file that the ledger knows.
#[derive(Debug, PartialEq, Eq)]
pub struct KnownFile {
    pub id: FileId,
    /// The last [`SavedState::state`]; empty at first.
    pub state: String,
}

/// A batch that was seen in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownBatch {
    /// Its id, which is in its commits; `None` where it never ran.
    pub run: Option<String>,
    pub began_ms: Option<i64>,
    pub ended_ms: Option<i64>,
}

/// The outcome of the last look at a file.
#[derive(Debug, Clone, Copy)]
pub struct SavedState<'a> {
    /// The state of `novelty`, a text that only it understands.
    pub state: &'a str,
    /// The batches that are in the file: their details are not forgotten.
    pub present: &'a [Number],
}

/// A batch that was seen and does not run.
#[derive(Debug, Clone, Copy)]
pub struct Noted<'a> {
    pub record: &'a Record,
    /// The batch as it is in the file.
    pub text: &'a str,
    /// Command and target of each task.
    pub tasks: &'a [(String, String)],
}

/// A batch that begins to run.
#[derive(Debug, Clone, Copy)]
pub struct BatchStart<'a> {
    /// The record from before it runs: the time of its run is taken from the moment of beginning.
    pub record: &'a Record,
    /// The batch as it is in the file.
    pub text: &'a str,
    /// The batch's id, which is in its commits: the run's name, and behind a dot its place there if it is not the first.
    pub id: &'a str,
    /// Command and target of each task.
    pub tasks: &'a [(String, String)],
    /// The batch of which this runs tasks again.
    pub again: Option<Number>,
    /// The task that starts first, from 0; `None` if nothing of it has to run.
    pub first: Option<usize>,
    /// The offer by which the user asked for it.
    pub offer: Option<TickSource>,
}

/// The outcome of a task.
#[derive(Debug, Clone, Copy)]
pub struct TaskEnded<'a> {
    pub fate: &'a Fate,
    /// A word for how it ended: `done`, `failed`, `skipped`, `not-run`, `interrupted`, `waits` or `asks`.
    pub mark: &'a str,
    /// One line.
    pub message: Option<&'a str>,
    /// Unix time in milliseconds.
    pub now_ms: i64,
}

/// A results block that is about to be written.
#[derive(Debug, Clone, Copy)]
pub struct NewBlock<'a> {
    /// The key of its text, as the caller finds it again in the file.
    pub key: Key,
    pub text: &'a str,
    /// With their lines in the block.
    pub offers: &'a [(usize, Offer)],
    /// It tells of all batches of its file that have ended, and is owed to the file. One that shows a run which goes on
    /// is no loss.
    pub is_result: bool,
}

/// A results block that clada wrote.
#[derive(Debug, PartialEq, Eq)]
pub struct KnownBlock {
    pub id: BlockId,
    /// The file it was written for, and where that is.
    pub file: FileId,
    pub path: PathBuf,
    /// In order of line.
    pub offers: Vec<KnownOffer>,
}

/// An offer in a results block.
#[derive(Debug, PartialEq, Eq)]
pub struct KnownOffer {
    pub source: TickSource,
    pub offer: Offer,
    /// It was taken up already.
    pub used: bool,
}

/// A task that waits for the user's approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnapprovedTask {
    pub batch: Number,
    /// From 0.
    pub task: usize,
    pub command: String,
    pub target: String,
    /// The thing that it asks for, where its target does not say it.
    pub message: Option<String>,
    /// Unix time in milliseconds.
    pub asked_ms: i64,
}

/// A batch that began to run, as the log tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogBatch {
    /// The file it is in, where that is now.
    pub path: PathBuf,
    pub number: Number,
    /// See [`BatchStart::id`].
    pub id: String,
    /// The batch of which this ran tasks again.
    pub again: Option<Number>,
    /// Unix time in milliseconds.
    pub began_ms: i64,
    /// `None` while it runs, or after a crash.
    pub ended_ms: Option<i64>,
    pub commits: Option<Commits>,
    /// Empty where the details are forgotten.
    pub tasks: Vec<LogTask>,
}

/// A results block that was taken off and is not ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignBlock {
    /// The file it was in, where that is now.
    pub path: PathBuf,
    pub text: String,
    /// Unix time in seconds.
    pub time: i64,
}

/// A task as the log tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogTask {
    pub command: String,
    pub target: String,
    /// See [`TaskEnded::mark`]; `None` until it has an outcome.
    pub mark: Option<String>,
    pub message: Option<String>,
    pub fate: Fate,
    /// Unix time in milliseconds; `None` if it was not started.
    pub began_ms: Option<i64>,
    /// Unix time in milliseconds; `None` if it has no outcome, or nobody knows when it ended.
    pub ended_ms: Option<i64>,
}

/// The results that the newest results block of a file shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownResults {
    pub block: BlockId,
    /// A text that only the listener understands.
    pub results: String,
    /// The time when they came into the file, in Unix time in milliseconds; `None` if they are not there yet.
    pub written_ms: Option<i64>,
    /// They could be read.
    pub is_read: bool,
}

/// The results block that told of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToldIn {
    Block(i64),
    /// It has not ended, or its results are still to come.
    Nowhere,
    /// Batches with different results have an id that begins so.
    Several,
}
