//! `clada approve`: runs the commands that wait for the user's approval.

use std::process::ExitCode;

use crate::cli::Again;
use crate::cmd;
use crate::cmd::retry;
use crate::error::Error;
use crate::listener::UserRequest;

/// Runs them.
///
/// # Errors
/// Where the file or the ledger cannot be used, or a task calls this.
pub fn main(args: &Again) -> Result<ExitCode, Error> {
    cmd::for_the_user("approve")?;
    retry::again(args, UserRequest::Asked)
}
