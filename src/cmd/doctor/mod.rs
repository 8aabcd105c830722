//! `clada doctor`: checks what works here, and shows the next step where something does not. Changes nothing.

mod desk;
mod files;

use std::io::Write;
use std::path::Path;
use std::process::{ExitCode, Stdio};

use serde_json::{Value, json};

use crate::cli::DoctorArgs;
use crate::cli::terminal;
use crate::cmd::notes::NotesWithRoot;

use crate::error::Error;
use crate::git::{SnapshotError, Survey, survey};
use crate::listener::rules::{Login, RuleSource, RunFlags, RunRules, git_of};
use crate::listener::sharing;
use crate::report::one_line;
use crate::run::exec::ExecRules;
use crate::run::{GitSetup, HookSetup, NO_REPOSITORY};
use crate::settings::places::{self, Folders};
use crate::settings::{Hook, Settings, SettingsError};
use crate::start;
use crate::world::note_file::NoteFile;
use crate::world::programs::Programs;
use crate::world::sandbox::{Level, support};

/// The result of a check.
enum CheckResult {
    Fine(String),
    /// It works, with a limitation.
    Less(String),
    Wrong(String),
}

/// Runs the checks and prints them. Fails if one of them failed.
///
/// # Errors
/// Where the project folder cannot be used.
pub fn main(args: &DoctorArgs) -> Result<ExitCode, Error> {
    let (_, root) = start::find_root(args.root.as_deref())?;
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let (notes, several) =
        match NotesWithRoot::find(&folders, args.file.as_deref(), args.root.as_deref()) {
            Err(several @ Error::WhichNotes { .. }) => (root.join(places::NOTES), Some(several)),
            notes => (notes?.file, None),
        };
    let runtime = start::runtime()?;
    let mut checks = runtime.block_on(rules(&folders, &root));
    checks.push(match (several, refused(&notes, &root)) {
        (Some(several), _) => ("notes", CheckResult::Less(several.to_string())),
        (None, Some(refused)) => ("notes", CheckResult::Wrong(refused.to_string())),
        (None, None) => ("notes", files::notes(&notes)),
    });
    if refused(&notes, &root).is_none() {
        checks.push(("watching", runtime.block_on(files::watching(&notes))));
    }
    #[cfg(target_os = "linux")]
    checks.push(("inotify", files::limits()));
    #[cfg(target_os = "macos")]
    checks.push(("permission", files::permission(&folders)));
    checks.extend(desk::desk());
    checks.push(("service", desk::service(&folders)));
    checks.push(("other cladas", files::others(&folders)));
    checks.push(("ledger", files::ledger(&folders)));
    checks.push(("disk", files::room(&folders, &root)));
    let success = !checks
        .iter()
        .any(|(_, found)| matches!(found, CheckResult::Wrong(_)));
    let mut out = terminal::stdout();
    if args.json {
        let checks = checks.iter().map(|(name, found)| {
            let (_, word, said) = found.told();
            json!({ "check": name, "status": word, "message": said })
        });
        terminal::print_json(&checks.collect::<Value>())?;
    } else {
        for (name, found) in &checks {
            let (mark, _, said) = found.told();
            writeln!(out, "{mark} {name}: {said}")?;
        }
    }
    Ok(ExitCode::from(u8::from(!success)))
}

/// Returns why clada refuses to watch this notes file.
fn refused(notes: &Path, root: &Path) -> Option<Error> {
    let note = NoteFile::new(notes, places::NOTES_LIMIT).ok()?;
    let refused = if notes == root.join(places::NOTES) {
        sharing::check_default(&note, root)
    } else {
        Ok(())
    };
    let refused = refused.and_then(|()| sharing::check_notes(root, note.path(), false));
    refused.err()
}

impl CheckResult {
    /// Returns its mark, its word and its text.
    fn told(&self) -> (&'static str, &'static str, String) {
        let (mark, word, said) = match self {
            Self::Fine(said) => ("✅", "ok", said),
            Self::Less(said) => ("⚠", "warn", said),
            Self::Wrong(said) => ("❌", "fail", said),
        };
        (mark, word, one_line(said.trim_start_matches("⚠ ")))
    }
}

/// Checks the settings and what they lead to.
async fn rules(folders: &Folders, root: &Path) -> Vec<(&'static str, CheckResult)> {
    let wrong = |error: SettingsError| vec![("settings", CheckResult::Wrong(error.to_string()))];
    let loaded = match Settings::load(folders, root) {
        Err(error) => {
            let mut checks = wrong(error);
            let rest = Settings::rest(folders, root);
            if !rest.has_lost_git {
                let env = std::env::vars_os().collect();
                let of_git = git_of(&rest.settings.git, folders, env);
                let of_git = rest.settings.git.enabled.then_some(of_git);
                checks.push(("git", git(root, of_git.as_ref())));
                checks.push(("git program", git_program(of_git.as_ref())));
            }
            return checks;
        }
        Ok(loaded) => loaded,
    };
    let login = Login::default();
    let start = RuleSource::start(folders, root, loaded, &RunFlags::default(), &login).await;
    let mut checks = match start.made {
        Err(error) => wrong(error),
        Ok(RunRules { setup, notice, .. }) => [
            ("settings", settings(folders, notice)),
            ("sandbox", sandbox(&setup.rules)),
            ("git", git(root, setup.git.as_ref())),
            ("git program", git_program(setup.git.as_ref())),
        ]
        .into_iter()
        .chain(hooks(&setup.hooks).map(|hooks| ("hooks", hooks)))
        .chain(repositories(&setup.rules).map(|found| ("repositories", found)))
        .collect(),
    };
    let environment = match start.login {
        Some(Err(why)) => CheckResult::Less(why.to_string()),
        Some(Ok(())) => {
            CheckResult::Fine("commands get the environment of your login shell".to_owned())
        }
        None => {
            CheckResult::Fine("commands get the environment that clada was started in".to_owned())
        }
    };
    checks.push(("environment", environment));
    checks
}

fn settings(folders: &Folders, notice: Option<String>) -> CheckResult {
    match notice {
        Some(notice) => CheckResult::Less(notice),
        None => {
            let file = Settings::user_file(folders);
            let path = file.display();
            CheckResult::Fine(if file.exists() {
                format!("valid (yours are in {path})")
            } else {
                format!("valid (you have none of your own yet: {path} does not exist)")
            })
        }
    }
}

fn sandbox(rules: &ExecRules) -> CheckResult {
    let support = support();
    match (rules.unfenced(), rules.fence.level) {
        (_, Level::Off) => CheckResult::Less(
            "`exec.sandbox` is \"off\": commands can do everything that you can do".to_owned(),
        ),
        (Some(unfenced), _) => CheckResult::Less(unfenced),
        (None, _) => {
            let left_out = rules.left_out();
            let is_whole = support.lacks.is_empty() && left_out.is_empty();
            let said = [vec![support.to_string()], left_out].concat().join("; ");
            if is_whole {
                CheckResult::Fine(said)
            } else {
                CheckResult::Less(said)
            }
        }
    }
}

/// Warns where the project is too large to find all repositories in it.
fn repositories(rules: &ExecRules) -> Option<CheckResult> {
    let said = "this project has too many folders to search: clada does not report what commands write into the git \
                directories of repositories in it";
    rules
        .repositories
        .is_cut()
        .then(|| CheckResult::Less(said.to_owned()))
}

fn hooks(hooks: &HookSetup) -> Option<CheckResult> {
    if hooks.before.is_empty() && hooks.after.is_empty() {
        return None;
    }
    let count = |hooks: &[Hook]| match hooks.len() {
        0 => "none".to_owned(),
        many => many.to_string(),
    };
    let (before, after) = (count(&hooks.before), count(&hooks.after));
    Some(CheckResult::Fine(format!(
        "{before} before each batch, {after} after each batch"
    )))
}

/// The sentence for a user whom git does not know.
const NO_AUTHOR: &str = "; git does not know your name, so commits are by `clada <clada@localhost>`: set yours with `git config \
                         --global user.name NAME` and `git config --global user.email ADDRESS`";

fn git(root: &Path, git: Option<&GitSetup>) -> CheckResult {
    let Some(git) = git else {
        return CheckResult::Less(
            "`git.enabled` is false: clada saves no states, and nothing can be undone".to_owned(),
        );
    };
    match survey(root, &git.options) {
        Ok(Survey::Repository {
            top,
            branch,
            beside,
            has_author,
        }) => {
            let top = top.display();
            let by = if has_author { "" } else { NO_AUTHOR };
            match (branch, beside) {
                (Some(branch), None) => {
                    CheckResult::Fine(format!("repository {top}, branch `{branch}`{by}"))
                }
                (Some(branch), Some(to)) => CheckResult::Fine(format!(
                    "repository {top}, branch `{branch}`; commits go to {to}{by}"
                )),
                (None, Some(to)) => CheckResult::Fine(format!(
                    "repository {top}, no branch (HEAD is detached); commits go to {to}{by}"
                )),
                (None, None) => CheckResult::Less(format!(
                    "repository {top}, no branch (HEAD is detached): create one with `git switch -c NAME`, to keep \
                     what clada commits{by}"
                )),
            }
        }
        Ok(Survey::Private(path)) => CheckResult::Fine(format!(
            "no repository here: clada keeps private snapshots in {}",
            path.display()
        )),
        Ok(Survey::Nothing) => CheckResult::Less(format!("clada saves no states: {NO_REPOSITORY}")),
        Err(error @ SnapshotError::Without(_)) => CheckResult::Less(error.to_string()),
        Err(error) => CheckResult::Wrong(format!("nothing runs until this is fixed: {error}")),
    }
}

/// Checks the program git, which clada needs for few things.
fn git_program(git: Option<&GitSetup>) -> CheckResult {
    let wants = git.is_some_and(|git| git.options.sign || git.options.hooks);
    let program = match git {
        Some(git) => {
            let env = git.options.env.iter().map(|(name, value)| (name, value));
            Programs::of_vars(env.clone()).command_in("git", env)
        }
        None => Programs::of_process().command("git"),
    };
    let result = if wants {
        CheckResult::Wrong
    } else {
        CheckResult::Less
    };
    let output = program.map(|mut git| git.arg("--version").stdin(Stdio::null()).output());
    let why = match output {
        Err(why) if why.is_risk() => return result(why.to_string()),
        Err(why) => why.to_string(),
        Ok(Err(error)) => error.to_string(),
        Ok(Ok(output)) if output.status.success() => {
            let said = String::from_utf8_lossy(&output.stdout);
            return CheckResult::Fine(said.trim().to_owned());
        }
        Ok(Ok(output)) => output.status.to_string(),
    };
    result(if wants {
        format!(
            "`git --version` fails ({why}), and `git.sign` or `git.hooks` needs git: install git, or turn these settings off"
        )
    } else {
        format!(
            "`git --version` fails ({why}), and `clada diff`, signatures and hooks need git: install git"
        )
    })
}
