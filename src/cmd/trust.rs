//! `clada trust`: trusts the settings in a project's clada.toml that need trust, so that they apply.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use crate::cli::terminal;
use crate::cmd;
use crate::error::Error;
use crate::listener::sharing;
use crate::settings::places::{Folders, PROJECT};
use crate::settings::{self, Settings, Trusted};
use crate::start;

/// Trusts them and prints them.
///
/// # Errors
/// Where the settings are invalid, or a task calls this.
pub fn main(root: Option<&Path>, allow_shared: bool) -> Result<ExitCode, Error> {
    cmd::for_the_user("trust")?;
    let (_, root) = start::find_root(root)?;
    sharing::check_root(&root, allow_shared)?;
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let path = root.join(PROJECT);
    let path = path.display();
    let fenced = settings::fenced();
    let said = match Settings::trust(&folders, &root)? {
        Trusted::New(text) => format!("trusted: these settings in {path} now apply\n\n{text}"),
        Trusted::Already(text) => {
            format!("already trusted: these settings in {path} apply\n\n{text}")
        }
        Trusted::Nothing { file_exists: true } => {
            format!("nothing to trust: {path} sets nothing in {fenced}\n")
        }
        Trusted::Nothing { file_exists: false } => {
            format!("nothing to trust: {path} does not exist; create it with `clada init`\n")
        }
        Trusted::Withdrawn { file_exists: true } => format!(
            "the settings that you trusted before no longer apply: {path} sets nothing in {fenced}\n"
        ),
        Trusted::Withdrawn { file_exists: false } => {
            format!("the settings that you trusted before no longer apply: {path} does not exist\n")
        }
    };
    write!(terminal::stdout(), "{said}")?;
    Ok(ExitCode::SUCCESS)
}
