//! What a path holds: a file's bytes or a link's target. A value only; reads and writes nothing.

use std::path::PathBuf;

/// What is at a path, as git tells such things apart: a folder is none by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    File {
        bytes: Vec<u8>,
        /// Whether it may be executed.
        runs: bool,
    },
    /// What is written in a link; it need not lead anywhere.
    Link(PathBuf),
}
