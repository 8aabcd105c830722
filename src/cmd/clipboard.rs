//! `clada copy`, how commands leave a text on the clipboard, and the process that has it there.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use crate::cli::{ClipboardOwner, Copy};
use crate::cmd::canonical;
use crate::cmd::notes::Notes;
use crate::config::Folders;
use crate::error::Error;
use crate::lang::plain::plain;
use crate::world::clipboard::{self, Around, Clipboard, ClipboardError, Copied};
use crate::world::packet::PacketFile;

/// How long the clipboard may take: somebody waits for it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Copies the last results of a notes file once more.
///
/// # Errors
/// Where there are none, or they cannot be read.
pub fn main(args: &Copy) -> Result<ExitCode, Error> {
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let notes = Notes::find(&folders, args.file.as_deref(), args.root.as_deref())?;
    let notes = canonical(&notes.file);
    let text = PacketFile::of(&folders.packets(), &notes).read()?;
    let text = text.ok_or(Error::NothingToCopy(notes))?;
    let (said, code) = match leave(text) {
        Ok(how) => (how.to_owned(), ExitCode::SUCCESS),
        Err(error) => (
            format!("❌ not on the clipboard: {error}"),
            ExitCode::FAILURE,
        ),
    };
    writeln!(std::io::stderr(), "{}", plain(said.as_bytes()))?;
    Ok(code)
}

/// Puts a text on the clipboard, where it stays until something else is copied; and says how.
pub(super) fn leave(text: String) -> Result<&'static str, ClipboardError> {
    let mut around = Around::of_process();
    around.stays = true;
    Ok(match Clipboard::start(around).copy(text, PATIENCE)? {
        Copied::Kept | Copied::By(_) => "on the clipboard",
        Copied::Sent => "sent to the terminal's clipboard: paste to see whether it took it",
    })
}

/// Has a text on the clipboard for another clada.
///
/// # Errors
/// Where that one does not tell which.
pub fn own(args: &ClipboardOwner) -> Result<ExitCode, Error> {
    clipboard::own(args.stays)?;
    Ok(ExitCode::SUCCESS)
}
