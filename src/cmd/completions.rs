//! `clada completions`: the completion script for a shell.

use std::io::Write;
use std::process::ExitCode;

use crate::cli::pages::{self, Shell};
use crate::error::Error;

/// Prints it.
///
/// # Errors
/// Where it cannot be written.
pub fn main(shell: Shell) -> Result<ExitCode, Error> {
    let script = pages::completions(shell);
    std::io::stdout().lock().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
