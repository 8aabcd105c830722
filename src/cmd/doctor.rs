//! `clada doctor`: tells what works here and what does not, with the next step. Changes nothing.

use std::io::Write;
use std::process::ExitCode;

use crate::cli::Root;
use crate::cmd;
use crate::cmd::rules::Source;
use crate::config::Folders;
use crate::error::Error;
use crate::exec_task::Rules;
use crate::world::sandbox::{Level, support};

/// How a check went.
enum Found {
    Fine(String),
    /// It works, with less than it could have.
    Less(String),
    Wrong(String),
}

/// Looks, and tells. Fails if something is wrong.
///
/// # Errors
/// Where the project folder cannot be used.
pub fn main(args: &Root) -> Result<ExitCode, Error> {
    let (_, root) = cmd::find_root(args.root.as_deref())?;
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let mut source = Source::new(&folders, &root, None);
    let login = cmd::runtime()?.block_on(source.log_in());
    let mut checks = Vec::new();
    match source.rules() {
        Err(error) => checks.push(("settings", Found::Wrong(error.to_string()))),
        Ok((rules, notice)) => {
            checks.push(("settings", settings(&folders, notice)));
            checks.push(("sandbox", sandbox(&rules)));
        }
    }
    if let Ok(login) = login {
        let own = "commands get the environment that clada was started with".to_owned();
        let found = match (login, source.has_logged_in()) {
            (Some(why), _) => Found::Less(why),
            (None, true) => Found::Fine("commands get that of your login shell".to_owned()),
            (None, false) => Found::Fine(own),
        };
        checks.push(("environment", found));
    }
    let mut out = std::io::stdout().lock();
    let mut success = true;
    for (name, found) in checks {
        let (mark, said) = match found {
            Found::Fine(said) => ("✅", said),
            Found::Less(said) => ("⚠", said),
            Found::Wrong(said) => {
                success = false;
                ("❌", said)
            }
        };
        writeln!(out, "{mark} {name}: {}", said.trim_start_matches("⚠ "))?;
    }
    Ok(ExitCode::from(u8::from(!success)))
}

fn settings(folders: &Folders, notice: Option<String>) -> Found {
    match notice {
        Some(notice) => Found::Less(notice),
        None => Found::Fine(format!(
            "no mistake in them (yours are in {})",
            folders.config.display()
        )),
    }
}

fn sandbox(rules: &Rules) -> Found {
    let support = support();
    match (&rules.unfenced, rules.fence.level) {
        (_, Level::Off) => {
            Found::Less("`exec.sandbox` is \"off\": commands can do all that you can".to_owned())
        }
        (Some(unfenced), _) => Found::Less(unfenced.clone()),
        (None, _) if support.lacks.is_empty() => Found::Fine(support.to_string()),
        (None, _) => Found::Less(support.to_string()),
    }
}
