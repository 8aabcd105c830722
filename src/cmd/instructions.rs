//! `clada instructions`: the text that teaches an LLM to write tasks.

use std::io::Write;
use std::process::ExitCode;

use crate::error::Error;

/// The teaching text. Fenced, so that a copy of it in a notes file is never carried out.
pub const TEXT: &str = include_str!("../../config/instructions.md");

/// Prints it.
///
/// # Errors
/// Where it cannot be written.
pub fn main() -> Result<ExitCode, Error> {
    std::io::stdout().lock().write_all(TEXT.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
