//! `clada copy`, and the process that keeps a copied text on the clipboard.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use crate::cli::CopyArgs;
use crate::cli::terminal;
use crate::cmd::notes::NotesWithRoot;
use crate::error::Error;
use crate::settings::places::Folders;
use crate::start::canonical;
use crate::world::clipboard::{self, Clipboard, ClipboardContext, ClipboardError, Copied};
use crate::world::ledger::{Ledger, ToldIn};
use crate::world::packet::Packets;

/// The time limit for the clipboard: a person waits for it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Copies results of a notes file again, or prints them.
///
/// # Errors
/// Where there are none, or they cannot be read.
pub fn main(args: &CopyArgs) -> Result<ExitCode, Error> {
    let (file, root) = (args.file.as_deref(), args.root.as_deref());
    let text = packet(file, root, args.batch.as_deref())?;
    if args.print {
        return print(&text);
    }
    let (said, code) = copied(text, "; print the text with `clada copy --print`");
    writeln!(terminal::stderr(), "{said}")?;
    Ok(code)
}

/// Prints a text as it would be copied.
pub(super) fn print(text: &str) -> Result<ExitCode, Error> {
    terminal::stdout_to_the_byte().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the text that was copied after a batch of a notes file, or last.
pub(super) fn packet(
    file: Option<&Path>,
    root: Option<&Path>,
    batch: Option<&str>,
) -> Result<String, Error> {
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let notes = NotesWithRoot::find(&folders, file, root)?;
    let notes = canonical(&notes.file);
    let packets = Packets::of(&folders.packets(), &notes);
    let Some(batch) = batch else {
        return packets.newest()?.ok_or(Error::NothingToCopy(notes));
    };
    let told = match Ledger::read(&folders.state)? {
        Some(ledger) => match ledger.file(&notes)? {
            Some(known) => ledger.told_in(known.id, batch)?,
            None => None,
        },
        None => None,
    };
    let batch = batch.to_owned();
    match told {
        None => Err(Error::NoBatch {
            batch,
            notes,
            choice: "--file FILE",
        }),
        Some(ToldIn::Several) => Err(Error::SeveralBatches(batch)),
        Some(ToldIn::Nowhere) => Err(Error::NotTold(batch)),
        Some(ToldIn::Block(block)) => packets.read(block)?.ok_or(Error::Forgotten(batch)),
    }
}

/// Copies a text to the clipboard. Returns what to print, which ends with `otherwise` if that failed, and the exit status.
pub(super) fn copied(text: String, otherwise: &str) -> (String, ExitCode) {
    match leave(text) {
        Ok(how) => (how.to_owned(), ExitCode::SUCCESS),
        Err(error) => (
            format!("❌ not copied to the clipboard: {error}{otherwise}"),
            ExitCode::FAILURE,
        ),
    }
}

/// Copies a text to the clipboard, where it stays until something else is copied. Returns how that went.
fn leave(text: String) -> Result<&'static str, ClipboardError> {
    let mut around = ClipboardContext::of_process();
    around.stays = true;
    Ok(match Clipboard::start(around).copy(text, PATIENCE)? {
        Copied::Kept | Copied::By(_) => "copied to the clipboard",
        Copied::Sent => "sent to the terminal's clipboard: paste to check that it arrived",
    })
}

/// Keeps a text on the clipboard for another clada process.
///
/// # Errors
/// Where that process does not send the text.
pub fn own(stays: bool) -> Result<ExitCode, Error> {
    clipboard::own(stays)?;
    Ok(ExitCode::SUCCESS)
}
