//! `clada trust`: has what a project's settings say of exec hold from now on.

use std::io::Write;
use std::process::ExitCode;

use crate::cli::Root;
use crate::cmd;
use crate::config::settings::Settings;
use crate::config::{Folders, PROJECT};
use crate::error::Error;

/// Trusts it, and shows what that is.
///
/// # Errors
/// Where the settings are wrong, or a task calls this.
pub fn main(args: &Root) -> Result<ExitCode, Error> {
    cmd::for_the_user("trust")?;
    let (_, root) = cmd::find_root(args.root.as_deref())?;
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let path = root.join(PROJECT);
    let path = path.display();
    let said = match Settings::trust(&folders, &root)? {
        Some(text) => format!("this holds now, as {path} says it:\n\n{text}"),
        None => {
            format!(
                "{path} says nothing of [exec], [git] and [limits]: the defaults and your own settings hold\n"
            )
        }
    };
    write!(std::io::stdout(), "{said}")?;
    Ok(ExitCode::SUCCESS)
}
