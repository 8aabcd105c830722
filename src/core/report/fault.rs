//! The causes of a failed task, for dialects that have words of their own for them. Values only.

use std::time::Duration;

use crate::text::lines::LineError;

/// The cause of a failure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Fault {
    /// A cause that no dialect has words for.
    #[default]
    Other,
    /// Nothing is at that path.
    Missing,
    Exists,
    IsFolder,
    NotAFolder,
    /// A folder to be deleted is not empty.
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
    /// A text that must be there once is there so many times.
    Times(Sought, usize),
    /// The reply expected another number of places than were found.
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
    /// The path that a script is to run in is no folder.
    NoFolder,
    /// A script ended with another code than 0, or by a signal: what it wrote tells more.
    Exit,
}

/// The text that was looked for in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sought {
    Text,
    /// The beginning of a range.
    Beginning,
    /// The end of a range, behind its beginning.
    End,
}
