//! `clada instructions`: prints or copies the text that teaches an LLM to write tasks.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use crate::cli;
use crate::cli::terminal;
use crate::clock;
use crate::cmd::notes::NotesWithRoot;
use crate::cmd::{self, clipboard, context};
use crate::error::Error;
use crate::reply::chat_key::ChatKey;
use crate::reply::dialect::Dialect;
use crate::reply::teaching::{self, FOLDER, TIMEOUT};
use crate::settings::Settings;
use crate::settings::places::Folders;
use crate::start;
use crate::text::duration;
use crate::world::chat_keys::ChatKeys;

/// The folders of this user, and the notes file if it is known.
type FoundNotes<'f> = (&'f Folders, Result<NotesWithRoot, Error>);

/// Prints or copies the text for the current folder, and starts a new chat.
///
/// # Errors
/// Where it cannot be written, or the dialect has no actions to choose from.
pub fn main(args: &cli::InstructionsArgs) -> Result<ExitCode, Error> {
    let has_actions = matches!(args.dialect, Dialect::Cml | Dialect::Sham | Dialect::Nesl);
    if !args.actions.is_empty() && !has_actions {
        return Err(Error::NoActions(args.dialect.name()));
    }
    if args.new_key {
        cmd::for_the_user("instructions --new-key")?;
    }
    let file = args.file.as_deref();
    let folders = Folders::of_user();
    let mut found = folders
        .as_ref()
        .map(|folders| (folders, NotesWithRoot::find(folders, file, None)));
    let key = if args.new_key {
        let (folders, notes) = found.ok_or(Error::NoHome)?;
        let notes = notes?;
        let key = keys(folders).renew(&start::canonical(&notes.file))?;
        found = Some((folders, Ok(notes)));
        Some(key)
    } else {
        found.as_ref().and_then(key)
    };
    let text = teaching::text(args.dialect, &args.actions, key);
    let text = match std::env::current_dir() {
        Ok(folder) => text.replace(FOLDER, &folder.to_string_lossy()),
        Err(_) => text,
    };
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

fn keys(folders: &Folders) -> ChatKeys {
    ChatKeys::new(folders.chat_keys())
}

/// Returns the key of the notes file, where that is known. A command in a reply gets none.
fn key(found: &FoundNotes<'_>) -> Option<ChatKey> {
    let (folders, notes) = found;
    let notes = notes.as_ref().ok()?;
    if std::env::var_os("CLADA").is_some() {
        return None;
    }
    match keys(folders).of(&start::canonical(&notes.file)) {
        Ok(key) => Some(key),
        Err(error) => {
            tracing::error!(%error, "the text has no key");
            None
        }
    }
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
fn begin(file: Option<&Path>, found: Option<FoundNotes<'_>>) -> Result<(), Error> {
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
