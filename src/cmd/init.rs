//! `clada init`: a first day in a project. Overwrites nothing that is there.

use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use super::{service, watch, watched};
use crate::cli::Init;
use crate::cmd;
use crate::config::{self, Folders};
use crate::error::Error;
use crate::world::service::ServiceError;

/// A project's settings, with all of them commented out.
const SETTINGS: &str = include_str!("../../config/project.toml");

/// Makes the settings and the notes file, and registers that where it is wanted. Fails where it is registered, but not watched.
///
/// # Errors
/// Where something cannot be made.
pub fn main(args: &Init) -> Result<ExitCode, Error> {
    cmd::for_the_user("init")?;
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let (_, root) = cmd::find_root(args.root.as_deref())?;
    let (settings, notes) = (root.join(config::PROJECT), root.join(config::NOTES));
    made(&settings, "clada's settings for this folder", |path| {
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        file.write_all(SETTINGS.as_bytes())
    })?;
    let was = notes.symlink_metadata().is_ok();
    watch::create_if_missing(&notes)?;
    say(&told(&notes, was, "the notes file: paste replies into it"))?;
    if is_seen_by_git(&root) {
        say(&format!(
            "clada never commits {} and {}; your own `git add` would, unless .gitignore names them",
            config::NOTES,
            config::OUTPUT
        ))?;
    }
    let registers = args.service || asks_and_hears_yes()?;
    let mut runs = false;
    if registers {
        say(&watched::register(&folders, &notes, Some(&root))?)?;
        let ensured = service::ensure(&folders);
        runs = ensured.is_ok();
        if let Err(error) = ensured {
            say(&format!("it is not watched yet: {error}"))?;
            if let Error::Service(ServiceError::NoManager(_) | ServiceError::NoSession(_)) = error {
                without_manager()?;
            }
        }
    }
    say(match (registers, runs) {
        (true, true) => "next: paste a reply into the notes;",
        (true, false) => {
            "next: `clada service install` starts the daemon, now and with each login;"
        }
        (false, _) => {
            "next: `clada` watches here until Ctrl-C (`clada init --service`: in the background);"
        }
    })?;
    say("      `clada instructions` prints what to paste into your chat, once")?;
    Ok(ExitCode::from(u8::from(registers && !runs)))
}

/// Says what keeps the daemon running where no service manager does.
fn without_manager() -> Result<(), Error> {
    let clada = cmd::quoted(&service::program()?);
    say("without that one of these watches it, and all that `clada list` shows:")?;
    say(&format!("  {clada} daemon"))?;
    say("      in a terminal that stays open, or in tmux")?;
    say(&format!("  nohup {clada} daemon >/dev/null 2>&1 &"))?;
    say("      from now on, also when the terminal is closed")?;
    say(&format!("  @reboot {clada} daemon"))?;
    say("      as a line of `crontab -e`: from each start of the machine on")
}

/// Makes a file that is not there, and says which of the two it was.
fn made(path: &Path, what: &str, make: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), Error> {
    let was = match make(path) {
        Ok(()) => false,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => true,
        Err(error) => {
            let path = path.to_owned();
            return Err(Error::Create { path, error });
        }
    };
    say(&told(path, was, what))
}

fn told(path: &Path, was: bool, what: &str) -> String {
    let done = if was { "kept" } else { "made" };
    format!("{done} {} ({what})", path.display())
}

/// Asks on a terminal whether to register; elsewhere nobody can answer.
fn asks_and_hears_yes() -> Result<bool, Error> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Ok(false);
    }
    let mut out = io::stdout().lock();
    write!(out, "Register it with the background service? [Y/n] ")?;
    out.flush()?;
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer)?;
    let answer = answer.trim().to_ascii_lowercase();
    Ok(read > 0 && ["", "y", "yes"].contains(&answer.as_str()))
}

/// Whether the folder is in a repository that does not speak of the notes file.
fn is_seen_by_git(root: &Path) -> bool {
    let ignores = std::fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
    root.ancestors().any(|folder| folder.join(".git").exists()) && !ignores.contains(config::NOTES)
}

fn say(line: &str) -> Result<(), Error> {
    Ok(writeln!(io::stdout(), "{line}")?)
}
