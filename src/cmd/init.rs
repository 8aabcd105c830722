//! `clada init`: creates the settings and the notes file of a project. Overwrites no file.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use tokio::sync::watch as channel;

use super::exclude::{self, ExcludeAnswer, ExcludeOffer, OnEnter, say};
use super::{service, watched};
use crate::cli::InitArgs;
use crate::cmd;
use crate::error::Error;
use crate::listener::{create_if_missing, sharing};
use crate::settings::Settings;
use crate::settings::places::{self, Folders};
use crate::start;
use crate::text::paths;
use crate::world::note_file::NoteFile;
use crate::world::service::ServiceError;
use crate::world::tty;

/// The settings of a new project, all commented out.
const SETTINGS: &str = include_str!("../../config/project.toml");

/// Said before the question about the clipboard.
const THE_KEY: [&str; 2] = [
    "every reply that the chat writes carries a short key, which `clada instructions` teaches it",
    "clada runs a copied text only if it has this key; other texts on the clipboard are ignored",
];

/// Creates both files, and adds the notes file to the list where that is wanted. Fails where it is in the list, but not watched.
///
/// # Errors
/// Where a file cannot be created.
pub fn main(args: &InitArgs) -> Result<ExitCode, Error> {
    cmd::for_the_user("init")?;
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let (_, root) = start::find_root(args.root.as_deref())?;
    let (settings, notes) = (root.join(places::PROJECT), root.join(places::NOTES));
    sharing::check_default(&NoteFile::new(&notes, places::NOTES_LIMIT)?, &root)?;
    made(&settings, "clada's settings for this folder", |path| {
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        file.write_all(SETTINGS.as_bytes())
    })?;
    let was = notes.symlink_metadata().is_ok();
    create_if_missing(&notes)?;
    say(&told(&notes, was, "the notes file, to paste replies into"))?;
    // Only Ctrl-C stops it, which ends the process.
    let stop = channel::channel(false).1;
    let offer = ExcludeOffer {
        yes: args.yes,
        command: "clada init --yes",
        stop: &stop,
    };
    let files = [notes.clone(), root.join(output_name(&folders, &root))];
    let answer = exclude::offer(&folders, &files, &offer)?;
    let registers = args.service || asks_and_hears_yes(&stop)?;
    let copying = copying(&folders, args.clipboard, &stop)?;
    let (mut runs, mut is_managed) = (false, true);
    if registers {
        say(&watched::register(&folders, &notes, Some(&root), false)?)?;
        let ensured = service::ensure(&folders);
        runs = ensured.is_ok();
        if let Err(error) = ensured {
            say(&format!("no daemon is running yet: {error}"))?;
            if let Error::Service(ServiceError::NoManager(_) | ServiceError::NoSession(_)) = error {
                is_managed = false;
                without_manager()?;
            }
        }
    }
    say(match (registers, runs) {
        (true, true) if copying == CopyIsEnough::On => {
            "next: copy a reply in the chat, or paste one into the notes file"
        }
        (true, true) => "next: paste a reply into the notes file",
        (true, false) if !is_managed => {
            "next: start the daemon in one of these ways, or watch in this terminal with `clada`"
        }
        (true, false) => {
            "next: start the daemon, now and at each login, with `clada service install`, or watch in this terminal with \
             `clada`"
        }
        (false, _) => {
            "next: start watching with `clada` (or in the background with `clada init --service`)"
        }
    })?;
    say("      paste what `clada instructions` prints into your chat, once")?;
    let is_undone = args.yes && answer == ExcludeAnswer::Failed || copying == CopyIsEnough::Failed;
    Ok(ExitCode::from(u8::from(is_undone || registers && !runs)))
}

/// Prints what keeps the daemon running without a service manager.
fn without_manager() -> Result<(), Error> {
    let clada = paths::quoted(&service::program()?);
    say("without a service manager, one of these commands watches all files in your list:")?;
    say(&format!("  {clada} daemon"))?;
    say("      in a terminal that stays open, or in tmux")?;
    say(&format!("  nohup {clada} daemon >/dev/null 2>&1 &"))?;
    say("      from now on, even after the terminal is closed")?;
    say(&format!("  @reboot {clada} daemon"))?;
    say("      as a line in `crontab -e`, at each start of the machine")
}

/// Creates a file unless it exists, and prints which of the two happened.
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
    let done = if was { "kept" } else { "created" };
    format!("{done} {} ({what})", path.display())
}

/// Asks on a terminal whether to watch in the background; elsewhere nobody can answer.
fn asks_and_hears_yes(stop: &channel::Receiver<bool>) -> Result<bool, Error> {
    if !tty::can_ask() {
        return Ok(false);
    }
    let question = format!(
        "Start watching {} at each login, in the background?",
        places::NOTES
    );
    let answer = exclude::ask(&question, OnEnter::No, stop)?;
    Ok(answer == Some(true))
}

/// The state of the watching of the clipboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CopyIsEnough {
    On,
    Off,
    /// The user wants it on, and that failed.
    Failed,
}

/// Turns on the watching of the clipboard where the user wants that, and asks on a terminal.
fn copying(
    folders: &Folders,
    yes: bool,
    stop: &channel::Receiver<bool>,
) -> Result<CopyIsEnough, Error> {
    let is_on = Settings::of_user(folders).map(|settings| settings.clipboard.watch);
    if let Ok(true) = is_on {
        say("watching the clipboard is on")?;
        return Ok(CopyIsEnough::On);
    }
    if !yes {
        // Settings that cannot be read cannot be changed either.
        if is_on.is_err() || !tty::can_ask() {
            return Ok(CopyIsEnough::Off);
        }
        for line in THE_KEY {
            say(line)?;
        }
        let question = "Watch the clipboard for replies to this chat?";
        if exclude::ask(question, OnEnter::No, stop)? != Some(true) {
            return Ok(CopyIsEnough::Off);
        }
    }
    match Settings::watch_clipboard(folders) {
        Ok(file) => {
            say(&format!(
                "watching the clipboard is on now (`clipboard.watch = true` in {})",
                file.display()
            ))?;
            Ok(CopyIsEnough::On)
        }
        Err(error) => {
            say(&format!("⚠ the clipboard is not watched: {error}"))?;
            Ok(CopyIsEnough::Failed)
        }
    }
}

/// Returns the output file's name, as far as the settings can be read.
fn output_name(folders: &Folders, root: &Path) -> String {
    let loaded = Settings::load(folders, root);
    loaded.map_or_else(
        |_| places::OUTPUT.to_owned(),
        |loaded| loaded.settings.watch.output_file,
    )
}
