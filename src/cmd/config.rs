//! `clada config`: prints the current settings and where each comes from. Changes nothing.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use crate::cli::terminal;
use crate::cmd;
use crate::error::Error;
use crate::settings::Effective;
use crate::settings::places::Folders;
use crate::start;

/// Prints them.
///
/// # Errors
/// Where the folder cannot be used.
pub fn main(root: Option<&Path>, json: bool) -> Result<ExitCode, Error> {
    let (_, root) = start::find_root(root)?;
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let (effective, wrong) = Effective::load(&folders, &root);
    cmd::tell_wrong(&wrong);
    if json {
        terminal::print_json(&effective.to_json())?;
    } else {
        write!(terminal::stdout(), "{}", effective.to_toml())?;
    }
    Ok(ExitCode::SUCCESS)
}
