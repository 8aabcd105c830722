//! `clada instructions`: prints or copies the text that teaches an LLM to write tasks.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use crate::cli;
use crate::cli::terminal;
use crate::clock;
use crate::cmd::notes::NotesWithRoot;
use crate::cmd::{clipboard, context};
use crate::error::Error;
use crate::reply::dialect::Dialect;
use crate::reply::teaching::{self, FOLDER, TIMEOUT};
use crate::settings::Settings;
use crate::settings::places::Folders;
use crate::text::duration;

/// Prints or copies the text for the current folder, and starts a new chat.
///
/// # Errors
/// Where it cannot be written, or the dialect has no actions to choose from.
pub fn main(args: &cli::InstructionsArgs) -> Result<ExitCode, Error> {
    let has_actions = matches!(args.dialect, Dialect::Cml | Dialect::Sham | Dialect::Nesl);
    if !args.actions.is_empty() && !has_actions {
        return Err(Error::NoActions(args.dialect.name()));
    }
    let text = teaching::text(args.dialect, &args.actions, None);
    let text = match std::env::current_dir() {
        Ok(folder) => text.replace(FOLDER, &folder.to_string_lossy()),
        Err(_) => text,
    };
    let file = args.file.as_deref();
    let folders = Folders::of_user();
    let found = folders
        .as_ref()
        .map(|folders| (folders, NotesWithRoot::find(folders, file, None)));
    let limit = found
        .as_ref()
        .and_then(|(folders, notes)| timeout(folders, notes.as_ref().ok()));
    let text = match limit {
        Some(limit) => text.replace(TIMEOUT, &duration::in_words(limit)),
        None => text,
    };
    if args.copy {
        let (said, code) = clipboard::copied(text, "; print the text with `clada instructions`");
        writeln!(terminal::stderr(), "{said}")?;
        if code != ExitCode::SUCCESS {
            return Ok(code);
        }
    } else {
        terminal::stdout_to_the_byte().write_all(text.as_bytes())?;
    }
    begin(file, found)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the time limit of commands in the project of the notes file, or in this folder.
fn timeout(folders: &Folders, notes: Option<&NotesWithRoot>) -> Option<Duration> {
    let root = match notes {
        Some(notes) => notes.root.1.clone(),
        None => std::env::current_dir().ok()?,
    };
    let loaded = Settings::load(folders, &root).ok()?;
    Some(loaded.settings.exec.timeout)
}

/// Starts a new chat, which has seen no files. Does nothing where no notes file is given or known.
fn begin(
    file: Option<&Path>,
    found: Option<(&Folders, Result<NotesWithRoot, Error>)>,
) -> Result<(), Error> {
    // A command in a reply starts no new chat.
    if std::env::var_os("CLADA").is_some() {
        return Ok(());
    }
    let begun = || {
        let (folders, notes) = found.ok_or(Error::NoHome)?;
        let notes = notes?;
        let chat = context::chat(folders, &notes.root.1, &notes.file);
        Ok(chat.begin(&clock::run_id())?)
    };
    match begun() {
        Err(error @ Error::WhichNotes { .. }) if file.is_none() => {
            let said = format!("clada: {error}, to start a new chat for it\n");
            Ok(terminal::stderr().write_all(said.as_bytes())?)
        }
        // The text itself was printed.
        Err(error) if file.is_none() => {
            tracing::info!(%error, "no new chat was started");
            Ok(())
        }
        begun => begun,
    }
}
