//! `clada doctor`: tells what works here and what does not, with the next step. Changes nothing.

use std::io::Write;
use std::process::ExitCode;

use crate::cli::Root;
use crate::cmd;
use crate::cmd::rules::Source;
use crate::config::Folders;
use crate::config::settings::SettingsError;
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
    let wrong = |error: SettingsError| vec![("settings", Found::Wrong(error.to_string()))];
    let checks = match cmd::runtime()?.block_on(Source::start(&folders, &root, None)) {
        Err(error) => wrong(error),
        Ok(start) => {
            let mut checks = match start.rules {
                Err(error) => wrong(error),
                Ok((rules, notice)) => vec![
                    ("settings", settings(&folders, notice)),
                    ("sandbox", sandbox(&rules)),
                ],
            };
            checks.push(("environment", environment(start.login)));
            checks
        }
    };
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
    match (rules.unfenced(), rules.fence.level) {
        (_, Level::Off) => {
            Found::Less("`exec.sandbox` is \"off\": commands can do all that you can".to_owned())
        }
        (Some(unfenced), _) => Found::Less(unfenced),
        (None, _) if support.lacks.is_empty() => Found::Fine(support.to_string()),
        (None, _) => Found::Less(support.to_string()),
    }
}

fn environment(login: Option<Result<(), String>>) -> Found {
    match login {
        Some(Err(why)) => Found::Less(why),
        Some(Ok(())) => Found::Fine("commands get that of your login shell".to_owned()),
        None => Found::Fine("commands get the environment that clada was started with".to_owned()),
    }
}
