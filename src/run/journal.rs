//! The account that somebody keeps of a run, so that nothing runs twice. Keeps nothing itself.

use std::fmt::Display;

use crate::reply::record::{Commits, Fate, FileState};
use crate::report::outcome::Outcome;

/// The reason why a batch or a task does not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotStarted(pub String);

impl NotStarted {
    pub fn because(why: impl Display) -> Self {
        Self(why.to_string())
    }
}

/// Keeps account of the batches of a run; `job` counts them from 0, `task` the tasks of one. What it does not say is not kept.
pub trait Journal {
    /// True if it wants to know what tasks changed.
    fn keeps(&self) -> bool {
        false
    }

    /// Commands of this run are about to begin, of replies or of the user's hooks. Everybody must know that when this returns.
    ///
    /// # Errors
    /// Where it cannot be kept: none must begin.
    fn commands(&mut self) -> Result<(), NotStarted> {
        Ok(())
    }

    /// A batch begins, and its task `first` starts, if any does. That must be on the disk when this returns.
    ///
    /// # Errors
    /// Where it cannot be kept: the batch must not run.
    fn begin(&mut self, _job: usize, _first: Option<usize>) -> Result<(), NotStarted> {
        Ok(())
    }

    /// Another task starts. That must be on the disk when this returns.
    ///
    /// # Errors
    /// Where it cannot be kept: the task must not run.
    fn start(&mut self, _job: usize, _task: usize) -> Result<(), NotStarted> {
        Ok(())
    }

    /// Takes the outcome of a task; with its fate, if it has another than before.
    fn finish(&mut self, _job: usize, _task: usize, _outcome: &Outcome, _fate: Option<Fate>) {}

    /// A batch has ended, between these commits. `left` are places that its tasks changed, now or in an earlier form of it,
    /// as they are after its execs.
    fn end(&mut self, _job: usize, _left: Vec<(String, FileState)>, _commits: Option<Commits>) {}
}

/// Keeps nothing: a run of its own, which nobody repeats by saving a file.
pub struct NoJournal;

impl Journal for NoJournal {}
