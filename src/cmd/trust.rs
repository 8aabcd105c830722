//! `clada trust`: has what needs trust in a project's settings hold from now on.

use std::io::Write;
use std::process::ExitCode;

use crate::cli::Trust;
use crate::cmd::{self, sharing};
use crate::config::settings::{self, Settings};
use crate::config::{Folders, PROJECT};
use crate::error::Error;
use crate::terminal;

/// Trusts it, and shows what that is.
///
/// # Errors
/// Where the settings are wrong, or a task calls this.
pub fn main(args: &Trust) -> Result<ExitCode, Error> {
    cmd::for_the_user("trust")?;
    let (_, root) = cmd::find_root(args.root.root.as_deref())?;
    sharing::check_root(&root, args.allow_shared)?;
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let path = root.join(PROJECT);
    let path = path.display();
    let said = match Settings::trust(&folders, &root)? {
        Some(text) => format!("this holds now, as {path} says it:\n\n{text}"),
        None => {
            format!(
                "{path} says nothing of {}: the defaults and your own settings hold\n",
                settings::fenced()
            )
        }
    };
    write!(terminal::stdout(), "{said}")?;
    Ok(ExitCode::SUCCESS)
}
