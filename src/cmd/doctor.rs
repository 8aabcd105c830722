//! `clada doctor`: tells what works here and what does not, with the next step. Changes nothing.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use crate::batch::{Git, Hooks, NO_REPOSITORY};
use crate::cli::Root;
use crate::cmd;
use crate::cmd::rules::{Login, Made, Source};
use crate::config::Folders;
use crate::config::settings::{Hook, Settings, SettingsError};
use crate::error::Error;
use crate::exec_task::Rules;
use crate::world::sandbox::{Level, support};
use crate::world::snapshot::{SnapshotError, Survey, survey};

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
    let checks = match Settings::load(&folders, &root) {
        Err(error) => wrong(error),
        Ok(loaded) => {
            let login = Login::default();
            let start = Source::start(&folders, (&root, loaded), (None, true), &login);
            let start = cmd::runtime()?.block_on(start);
            let mut checks = match start.made {
                Err(error) => wrong(error),
                Ok(Made { setup, notice, .. }) => [
                    ("settings", settings(&folders, notice)),
                    ("sandbox", sandbox(&setup.rules)),
                    ("git", git(&root, setup.git.as_ref())),
                ]
                .into_iter()
                .chain(hooks(&setup.hooks).map(|hooks| ("hooks", hooks)))
                .collect(),
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

fn hooks(hooks: &Hooks) -> Option<Found> {
    if hooks.before.is_empty() && hooks.after.is_empty() {
        return None;
    }
    let count = |hooks: &[Hook]| match hooks.len() {
        0 => "none".to_owned(),
        many => many.to_string(),
    };
    let (before, after) = (count(&hooks.before), count(&hooks.after));
    Some(Found::Fine(format!(
        "{before} before each batch, {after} after it"
    )))
}

fn git(root: &Path, git: Option<&Git>) -> Found {
    let Some(git) = git else {
        return Found::Less(
            "`git.enabled` is false: the state is not saved, and nothing can be undone".to_owned(),
        );
    };
    match survey(root, &git.options) {
        Ok(Survey::Repository {
            top,
            branch,
            beside,
        }) => {
            let branch = branch.map_or("no branch (HEAD is detached)".to_owned(), |branch| {
                format!("branch `{branch}`")
            });
            let beside = beside.map_or(String::new(), |to| {
                format!("; commits go beside it, to {to}")
            });
            Found::Fine(format!(
                "the repository {}, {branch}{beside}",
                top.display()
            ))
        }
        Ok(Survey::Private(path)) => Found::Fine(format!(
            "no repository here: snapshots go to a private one, {}",
            path.display()
        )),
        Ok(Survey::Nothing) => Found::Less(format!("the state is not saved: {NO_REPOSITORY}")),
        Err(error @ SnapshotError::Without(_)) => Found::Less(error.to_string()),
        Err(error) => Found::Wrong(format!("nothing runs as long as this is so: {error}")),
    }
}

fn environment(login: Option<Result<(), String>>) -> Found {
    match login {
        Some(Err(why)) => Found::Less(why),
        Some(Ok(())) => Found::Fine("commands get that of your login shell".to_owned()),
        None => Found::Fine("commands get the environment that clada was started with".to_owned()),
    }
}
