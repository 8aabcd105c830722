//! What a path holds: a file's bytes or a link's target. A value only; reads and writes nothing.

use std::path::PathBuf;

/// The content of a path, as git tells such things apart: a folder is none by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileOrLink {
    File {
        bytes: Vec<u8>,
        /// It may be executed.
        runs: bool,
    },
    /// The target that is written in a link; it need not exist.
    Link(PathBuf),
}
