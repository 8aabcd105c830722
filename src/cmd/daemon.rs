//! `clada daemon`: watches all files in the list, in one process.

use std::process::ExitCode;

use crate::cli::DaemonArgs;
use crate::error::Error;
use crate::supervisor;

/// Watches until it is stopped.
///
/// # Errors
/// Where another daemon runs, or the state folder cannot be used.
pub fn main(args: &DaemonArgs) -> Result<ExitCode, Error> {
    supervisor::watch_all(!args.no_clipboard, args.allow_shared)
}
