//! `clada approve`: has the commands run that wait for the user to say that they may.

use std::process::ExitCode;

use crate::cli::Watch;
use crate::cmd;
use crate::cmd::retry;
use crate::daemon::Which;
use crate::error::Error;

/// Runs them.
///
/// # Errors
/// Where the file or the ledger cannot be used, or a task calls this.
pub fn main(args: &Watch) -> Result<ExitCode, Error> {
    cmd::for_the_user("approve")?;
    retry::again(args, Which::Asked)
}
