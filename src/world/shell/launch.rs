//! A program that is to be started: its words, its environment, where it runs, and its fence.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::PathBuf;

use crate::world::sandbox::Prepared;

/// A program that is to be started.
#[derive(Debug)]
pub(super) struct Launch {
    /// Absolute.
    pub(super) program: PathBuf,
    /// The name that it is called by, and its arguments.
    pub(super) words: Vec<OsString>,
    /// The whole environment.
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) dir: PathBuf,
    /// Nothing: it has no input.
    pub(super) stdin: Option<File>,
    pub(super) fence: Option<Prepared>,
}

impl Launch {
    pub(super) fn arg(&mut self, arg: impl AsRef<OsStr>) -> &mut Self {
        self.words.push(arg.as_ref().to_owned());
        self
    }

    pub(super) fn args<A: AsRef<OsStr>>(&mut self, args: impl IntoIterator<Item = A>) -> &mut Self {
        for arg in args {
            self.arg(arg);
        }
        self
    }
}
