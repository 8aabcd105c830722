//! `clada completions`: the completion script for a shell.

use std::io::Write;
use std::process::ExitCode;

use crate::cli::{self, pages};
use crate::error::Error;

/// Prints it.
///
/// # Errors
/// Where it cannot be written.
pub fn main(args: &cli::CompletionsArgs) -> Result<ExitCode, Error> {
    let script = pages::completions(args.shell);
    std::io::stdout().lock().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
