//! The events that are taken in, and the effects that they lead to: values only.

use crate::reply::dialect::Dialects;
use crate::reply::record::{Fate, Key, Number, Offer, TaskPlan, Tick, TickSource};
use crate::reply::task::{Problem, Scan, Within};

/// Something that happened.
#[derive(Debug)]
pub enum Event<'e> {
    /// The file was read.
    Looked(Look<'e>),
    /// The user asked for these, outside the file.
    Asked(&'e [Tick]),
    /// This batch has begun to run, at this time, in seconds since 1970.
    Began(Number, i64),
    /// This batch could not begin: it stays new.
    Refused(Number),
    /// This batch has ended, each task with this fate.
    Ended(Number, Vec<Fate>),
}

/// A text that was read.
#[derive(Debug, Clone, Copy)]
pub struct Look<'e> {
    pub body: &'e str,
    pub scan: &'e Scan<'e>,
    /// The dialects in which it was read.
    pub dialects: Dialects,
    /// The save is over: nobody had the file open for writing.
    pub over: bool,
    /// The text has been as it is for long enough that no more will come.
    pub settled: bool,
    /// On top of it were the results of another clada.
    pub foreign: bool,
    /// Batches that are there at first sight are to run.
    pub run_existing: bool,
    /// The keys of batches that came by the clipboard a short time ago: who pastes one of them too does so by habit.
    pub copied: &'e [Key],
    /// The ticks that the user made in the results.
    pub ticks: &'e [Tick],
}

/// Something to be done about an event, in the order of the list.
#[derive(Debug, PartialEq, Eq)]
pub enum Effect {
    /// Run a batch of the body, by its place in the scan.
    Run {
        batch: usize,
        number: Number,
        plan: Vec<TaskPlan>,
    },
    /// Run a remembered batch once more, as a batch of its own number.
    Again {
        of: Number,
        number: Number,
        plan: Vec<TaskPlan>,
        /// See [`Tick::source`].
        source: Option<TickSource>,
    },
    /// Remember a batch of the body without running it.
    Remember { batch: usize, number: Number },
    /// Remember the whole tasks of a batch that was cut off, as a batch of their own.
    RememberPart { batch: usize, number: Number },
    /// Say that these were not run, and offer to run them.
    Offer { why: OfferReason, offer: Offer },
    /// Tell a problem; one of that batch, or of the text.
    Tell {
        batch: Option<usize>,
        problem: Problem,
        /// It may be the person's own text, not yet done.
        typed: bool,
    },
    /// Say that so many tasks were not looked at, as they came with something that does not end.
    Swallowed(usize),
    /// Look again when the file has settled: something in it may be half a save.
    Wait,
}

/// The reason that batches are offered and not run, in the order in which they are offered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum OfferReason {
    /// They were in the file at first sight.
    FirstSight,
    /// They came with the results of another clada.
    Foreign,
    /// Since the last look the text is read in other dialects: they may have been there.
    Dialects,
    /// They came back; when the last of them ran, in seconds since 1970.
    CameBack { ran: Option<i64> },
    /// The same text stands between other lines: still there, or pasted anew in place of all that was there. When the
    /// last of them ran.
    Moved { ran: Option<i64> },
    /// The same came by the clipboard a short time ago; when the last of them ran.
    Copied { ran: Option<i64> },
    /// Text was only taken away.
    Trimmed,
    /// They stand in something that does not end, and may be a part of it.
    Inside,
    /// They came with something that did not end, which is gone.
    Freed,
    /// They are the whole tasks of a reply that ends here.
    CutOff(Within),
    /// They were put together of a reply that was cut off, and of what was put behind it.
    Joined,
}
