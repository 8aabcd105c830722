//! The outcome of a task: one value from the command that carries it out to the report that shows it.

use std::borrow::Cow;
use std::path::PathBuf;

use serde_json::Value;

use super::failed_edit::FailedEdit;
use super::fault::Fault;
pub use super::section::{Afresh, Cut, FileSpan, OutputWriter, Section, Spooled, Stretch};
use crate::reply::dialect::Dialect;
use crate::reply::path::PathError;
use crate::reply::record::Offer;
use crate::reply::task::BlockError;

/// The end that a task came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Status {
    #[default]
    Done,
    Failed,
    NotRun,
    Interrupted,
    /// It was done already, or was not asked for.
    Skipped,
    /// The user has to say whether it is to be done again.
    Waits,
    /// The user has to say whether it may run.
    Asks,
}

impl Status {
    /// The word of each status in the ledger and its sign in the results block, in the order of the variants.
    const NAMES: [(Self, &'static str, &'static str); 7] = [
        (Self::Done, "done", "✅"),
        (Self::Failed, "failed", "❌"),
        (Self::NotRun, "not-run", "⏹"),
        (Self::Interrupted, "interrupted", "⚠"),
        (Self::Skipped, "skipped", "⏭"),
        (Self::Waits, "waits", "⏸"),
        (Self::Asks, "asks", "⏸"),
    ];

    /// Its sign in the results block.
    pub fn mark(self) -> &'static str {
        Self::NAMES[self as usize].2
    }

    /// Its word in the ledger.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].1
    }

    /// The status of that name.
    pub fn parse(name: &str) -> Option<Self> {
        let found = Self::NAMES.iter().find(|(_, known, _)| *known == name);
        found.map(|(status, ..)| *status)
    }

    /// True if the project is as the task wanted it.
    pub fn is_good(self) -> bool {
        matches!(self, Self::Done | Self::Skipped)
    }
}

/// The result of one task, good or bad. The command that carries a task out says how it ended; the run adds which task it was.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Its number in the save, from 1.
    pub number: usize,
    /// The id of its block, in dialects that have one: it is shown in the place of the number.
    pub id: Option<String>,
    pub dialect: Dialect,
    /// The command's main name, or what a block of SHAM or NESL calls it; empty where the reply named none.
    pub command: String,
    /// A path, `a → b`, or the first line of a script.
    pub target: String,
    pub status: Status,
    /// One line, in a failure with the next step. Where it is a question, each command that it is about is a line of its own
    /// behind that: see [`crate::reply::question`].
    pub message: Option<String>,
    /// The cause of a failure, for dialects that have words of their own for it.
    pub fault: Fault,
    /// The cause of a failure, for `--json`, where that is more than the message.
    pub error: Option<String>,
    /// The content that it has for the full output.
    pub sections: Vec<Section>,
    /// Set where the reply itself was wrong and nothing was tried.
    pub misread: Option<Misread>,
    /// The parameters that the reply gave, for `--json`.
    pub params: Value,
    /// Facts about the result, for `--json`.
    pub data: Value,
    /// The places that it changed.
    pub touched: Touched,
    /// The edit that found its text nowhere, until the run has looked for the text in the history.
    pub failed_edit: Option<Box<FailedEdit>>,
    /// The offer that the user accepts by a tick behind its line.
    pub offer: Option<Offer>,
    /// The places at which the user can have it carried out, by a tick below its line.
    pub places: Vec<OfferedPlace>,
}

/// The places in the project that a task may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touched {
    /// These and no others, relative to the root; there may be none.
    Paths(Vec<PathBuf>),
    Anything,
}

impl Default for Touched {
    fn default() -> Self {
        Self::Paths(Vec::new())
    }
}

impl Touched {
    pub fn is_nothing(&self) -> bool {
        self.paths().is_some_and(<[PathBuf]>::is_empty)
    }

    /// The paths, unless they may be any.
    pub fn paths(&self) -> Option<&[PathBuf]> {
        match self {
            Self::Paths(paths) => Some(paths),
            Self::Anything => None,
        }
    }

    pub fn add(&mut self, more: Self) {
        match (&mut *self, more) {
            (Self::Paths(paths), Self::Paths(more)) => paths.extend(more),
            _ => *self = Self::Anything,
        }
    }
}

/// A place that the user can choose for an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedPlace {
    /// The words behind the box.
    pub label: String,
    pub offer: Offer,
}

impl Outcome {
    /// An end with nothing but a message.
    pub fn ended(status: Status, message: impl Into<String>) -> Self {
        Self {
            status,
            message: Some(message.into()),
            ..Self::default()
        }
    }

    pub fn failed(why: impl Into<String>) -> Self {
        Self::ended(Status::Failed, why)
    }

    pub fn not_run(why: impl Into<String>) -> Self {
        Self::ended(Status::NotRun, why)
    }

    /// The name that the results call it by: the id of its block, or its number.
    pub fn label(&self) -> Cow<'_, str> {
        match &self.id {
            Some(id) => id.as_str().into(),
            None => self.number.to_string().into(),
        }
    }

    /// The message, or nothing.
    pub fn said(&self) -> &str {
        self.message.as_deref().unwrap_or_default()
    }

    /// Has a failure tell of the edit that failed.
    pub fn explain(&mut self, edit: &FailedEdit) {
        self.message = Some(edit.message());
        self.sections = edit.sections();
        self.data["details"] = edit.details().into();
    }

    /// Adds something to the message.
    pub fn also_says(&mut self, more: &str) {
        self.message = Some(match self.message.take() {
            Some(message) => format!("{message}; {more}"),
            None => more.to_owned(),
        });
    }
}

impl From<PathError> for Box<Outcome> {
    fn from(error: PathError) -> Self {
        Self::new(Outcome::failed(error.to_string()))
    }
}

/// The mistake that the reply made in a task.
#[derive(Debug)]
pub struct Misread {
    /// The line of the problem.
    pub line: usize,
    /// The errors in the words of SHAM and NESL; none in other dialects.
    pub errors: Vec<BlockError>,
}
