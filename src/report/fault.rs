//! Why a task failed, for dialects that have words of their own for it. Values only.

use std::time::Duration;

use crate::text::lines::LineError;

/// Why a task failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Fault {
    /// Nothing that a dialect has words for.
    #[default]
    Other,
    /// There is nothing at that path.
    Missing,
    Exists,
    IsFolder,
    NotAFolder,
    /// A folder that is to go is not empty.
    NotEmpty,
    /// Reading or writing is not permitted.
    Denied,
    /// Another error of the system, by its name and in its words.
    System {
        code: String,
        text: String,
    },
    /// A text to look for is empty.
    Empty(Sought),
    NotFound(Sought),
    /// It is there so many times, and was to be there once.
    Times(Sought, usize),
    /// So many places were asked for, and so many found.
    Count {
        wanted: usize,
        found: usize,
    },
    Lines(LineError),
    /// The file has only so many lines.
    TooFewLines(usize),
    /// Of several files these could not be read, by the paths that the reply gave.
    Unread(Vec<(String, Fault)>),
    /// A script was ended at its time limit.
    TimedOut(Duration),
    /// There is no such program for a script.
    NoProgram(String),
    /// The folder that a script is to run in is none.
    NoFolder,
    /// A script ended with another code than 0, or by a signal: what it wrote tells more.
    Exit,
}

/// What was looked for in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sought {
    Text,
    /// Of a range.
    Beginning,
    /// Of a range, behind its beginning.
    End,
}
