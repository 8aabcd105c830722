//! What came of the tasks of a run: values for `report`, which gives them their form.

use std::borrow::Cow;
use std::io;

use serde_json::Value;

use crate::reply::dialect::Dialect;
use crate::reply::record::Offer;
use crate::reply::task::BlockError;

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
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
    /// Its sign in the results block.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Done => "✅",
            Self::Failed => "❌",
            Self::NotRun => "⏹",
            Self::Interrupted => "⚠",
            Self::Skipped => "⏭",
            Self::Waits | Self::Asks => "⏸",
        }
    }

    /// Its word in the ledger.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::NotRun => "not-run",
            Self::Interrupted => "interrupted",
            Self::Skipped => "skipped",
            Self::Waits => "waits",
            Self::Asks => "asks",
        }
    }

    /// The status of that name.
    pub fn parse(name: &str) -> Option<Self> {
        let all = [
            Self::Done,
            Self::Failed,
            Self::NotRun,
            Self::Interrupted,
            Self::Skipped,
            Self::Waits,
            Self::Asks,
        ];
        all.into_iter().find(|status| status.name() == name)
    }

    /// Whether what was asked for is so.
    pub fn is_good(self) -> bool {
        matches!(self, Self::Done | Self::Skipped)
    }
}

/// What came of one task.
#[derive(Debug)]
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
    /// behind that: see [`super::question`].
    pub message: Option<String>,
    /// Why it failed, for `--json`, where that is more than the message.
    pub error: Option<String>,
    /// What it has to show in the full output.
    pub sections: Vec<Section>,
    /// Where the reply itself was wrong and nothing was tried.
    pub misread: Option<Misread>,
    /// What the reply asked for, for `--json`.
    pub params: Value,
    /// What is known of the result, for `--json`.
    pub data: Value,
    /// What the user can ask for by a tick behind its line.
    pub offer: Option<Offer>,
    /// The places at which the user can have it carried out, by a tick below its line.
    pub places: Vec<OfferedPlace>,
}

/// A place that the user can choose for an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedPlace {
    /// The words behind the box.
    pub label: String,
    pub offer: Offer,
}

impl Outcome {
    /// What it is called by in the results: the id of its block, or its number.
    pub fn label(&self) -> Cow<'_, str> {
        match &self.id {
            Some(id) => id.as_str().into(),
            None => self.number.to_string().into(),
        }
    }
}

/// What is wrong with a task in the reply.
#[derive(Debug)]
pub struct Misread {
    /// The line of the problem.
    pub line: usize,
    /// What is wrong, in the words of SHAM and NESL; nothing in other dialects.
    pub errors: Vec<BlockError>,
}

/// One piece of what a task has to show.
pub enum Section {
    Text(String),
    /// A file, or a part of one, by the name that it is shown with.
    File {
        name: String,
        content: String,
        /// Where its lines stand, where they are shown as they are in the file.
        at: Option<Stretch>,
    },
    /// A stream of a command, by its name.
    Stream(&'static str, Box<dyn Spooled>),
}

impl std::fmt::Debug for Section {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.debug_tuple("Text").field(text).finish(),
            Self::File { name, content, .. } => {
                f.debug_tuple("File").field(name).field(content).finish()
            }
            Self::Stream(name, spool) => f
                .debug_tuple("Stream")
                .field(name)
                .field(&spool.size())
                .finish(),
        }
    }
}

/// The place of lines in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// The file, from the root.
    pub path: String,
    /// The number of the first of them, from 1.
    pub first: usize,
    /// How many lines the file has.
    pub of: usize,
}

/// Text that may be too large for memory.
pub trait Spooled {
    /// In bytes.
    fn size(&self) -> u64;

    /// How many line ends it has.
    fn lines(&self) -> u64;

    /// All of it, or its first and last `edge` bytes, cut at characters.
    ///
    /// # Errors
    /// Where it cannot be read again.
    fn cut(&mut self, edge: usize) -> io::Result<Cut>;

    /// All of it.
    ///
    /// # Errors
    /// Where it cannot be read again, or not be written there.
    fn copy_to(&mut self, to: &mut dyn io::Write) -> io::Result<()>;
}

/// The start and the end of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    pub head: String,
    /// How many bytes lie between head and tail; none if the head is all.
    pub left_out: u64,
    pub tail: String,
}
