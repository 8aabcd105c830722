//! Where results go: the output file, the clipboard, and on top of the notes, in this order, each going on where the one
//! before fails. Never decides what is worth telling.

use std::sync::Arc;

use crate::config;
use crate::daemon::Shown;
use crate::daemon::memory::{Known, Memory, Ticked};
use crate::lang::note;
use crate::lang::report::{self, Report};
use crate::world::clipboard::{Clipboard, Copied};
use crate::world::desktop::Desktop;
use crate::world::ledger::BlockId;
use crate::world::note_file::{NoteError, NoteFile, WriteBack};
use crate::world::output_file::OutputFile;
use crate::world::packet::PacketFile;

/// Nobody knows how a terminal takes it.
const SENT: &str = "not every terminal takes it (OSC 52); if pasting brings something else, copy from the output file";

/// Said once, where there is no clipboard.
const HOW_TO_HAVE_NONE: &str =
    "to copy nothing, start clada with `--no-clipboard` or set `clipboard.enabled = false`";

/// The places of one listener's results.
pub struct Delivery {
    pub note: NoteFile,
    pub output: OutputFile,
    pub packet: PacketFile,
    /// One for the whole process.
    pub clipboard: Arc<Clipboard>,
    /// Whether it is on.
    copies: bool,
    /// Where a finished run is told of in a few words; `None` where it is off.
    pub desktop: Option<Desktop>,
    /// The local time, `HH:MM:SS`.
    pub time: fn() -> String,
    /// A block that could not be written yet.
    pub(super) unwritten: Option<(BlockId, String)>,
    /// Why, as it was said last; and whether that goes away when the system has more to give.
    unwritable: Option<(String, bool)>,
}

impl Delivery {
    /// Nothing is written yet.
    pub fn new(
        note: NoteFile,
        output: OutputFile,
        packet: PacketFile,
        (clipboard, copies): (Arc<Clipboard>, bool),
        time: fn() -> String,
    ) -> Self {
        Self {
            note,
            output,
            packet,
            clipboard,
            copies,
            desktop: None,
            time,
            unwritten: None,
            unwritable: None,
        }
    }

    /// Whether results are to be written for which the system had not enough.
    pub(super) fn is_starved(&self) -> bool {
        self.unwritten.is_some() && matches!(self.unwritable, Some((_, true)))
    }

    /// Has results copied from now on, or not. What was copied before stays.
    pub(super) fn copies(&mut self, copies: bool) {
        self.copies = copies;
    }

    /// Hands out what came of a save whose whole text is given.
    pub(super) fn hand_out(
        &mut self,
        mut report: Report,
        copies: bool,
        text: &str,
        (memory, now): (&mut Memory, i64),
        show: &mut dyn FnMut(Shown<'_>),
    ) {
        let time = (self.time)();
        let hoped = match copies && self.copies {
            true => format!("📋 Copied to clipboard at {time}"),
            false => String::new(),
        };
        // The file comes first, and its first line says how the copying went: it is put right where it went wrong.
        self.write_output(&mut report, &hoped, show);
        let status = match copies {
            true => self.copy(&mut report, &time),
            false => String::new(),
        };
        if status != hoped {
            self.write_output(&mut report, &status, show);
        }
        let block = report.block(Some(&status));
        show(Shown::Results(&block));
        if let Some(desktop) = self.desktop.as_ref().filter(|_| copies) {
            let name = self.note.path().file_name().unwrap_or_default();
            let title = format!("{}: {}", name.to_string_lossy(), report.counts());
            desktop.tell(title, report.troubles());
        }
        // Known before it is written: if clada ends in between, it is not taken for the user's text.
        match memory.add_block(&block, &report, now) {
            Ok(id) => self.unwritten = Some((id, block)),
            Err(error) => {
                show(Shown::Trouble(&format!(
                    "the results are only in {}: {error}",
                    self.output.path().display()
                )));
                return;
            }
        }
        self.write_unwritten(text, memory, show);
    }

    fn write_output(&mut self, report: &mut Report, status: &str, show: &mut dyn FnMut(Shown<'_>)) {
        let Err(error) = self
            .output
            .finish(|to| report.write_output(Some(status), to))
        else {
            return;
        };
        let path = self.output.path().display();
        let said = format!("⚠ the output file `{path}` cannot be written: {error}");
        if !report.notices.contains(&said) {
            tracing::error!(%error, "output file");
            show(Shown::Trouble(&said));
            report.notices.push(said);
        }
    }

    /// Copies what the LLM needs next, and says how that went; where the clipboard is off, the text is only kept for later.
    fn copy(&self, report: &mut Report, time: &str) -> String {
        let name = self.output.path().file_name().unwrap_or_default();
        let text = report.clipboard(&name.to_string_lossy());
        if let Ok(text) = &text
            && let Err(error) = self.packet.keep(text)
        {
            tracing::error!(%error, "packet");
        }
        if !self.copies {
            return String::new();
        }
        let copied = text.map_err(|error| error.to_string()).and_then(|text| {
            let copied = self.clipboard.copy(text, config::CLIPBOARD_PATIENCE);
            copied.map_err(|error| {
                if error.is_without() && self.clipboard.is_to_be_advised() {
                    format!("{error}; {HOW_TO_HAVE_NONE}")
                } else {
                    error.to_string()
                }
            })
        });
        match copied {
            Ok(Copied::Kept) => format!("📋 Copied to clipboard at {time}"),
            Ok(Copied::By(program)) => format!("📋 Copied to clipboard at {time} by {program}"),
            Ok(Copied::Sent) => format!("📋 Sent to the terminal's clipboard at {time}: {SENT}"),
            Err(why) => {
                let why = report::one_line(&why);
                format!("❌ Clipboard copy failed at {time} - {why}")
            }
        }
    }

    /// Puts the block that is due on top of what is in the file now, if there is one.
    pub(super) fn write_unwritten(
        &mut self,
        text: &str,
        memory: &mut Memory,
        show: &mut dyn FnMut(Shown<'_>),
    ) {
        let Some((id, block)) = &self.unwritten else {
            return;
        };
        let known = memory.known();
        let mut ticked = Vec::new();
        let merged = merge(&self.note, text, block, &known, &mut ticked);
        match merged {
            Ok(done) => {
                memory.ticked_meanwhile(&ticked);
                for kept in &done.saved {
                    show(Shown::Trouble(&format!(
                        "a save that came in between is kept in {}",
                        kept.display()
                    )));
                }
                if let Err(error) = memory.ledger.delivered(*id) {
                    tracing::error!(%error, "ledger");
                }
                self.unwritten = None;
                self.unwritable = None;
            }
            Err(error) => {
                tracing::error!(%error, "write-back");
                let output = self.output.path().display();
                let said = format!("the results are not in the notes, only in {output}: {error}");
                let why = (said, error.is_scarce());
                // That one is tried again and again.
                if !why.1 || self.unwritable.as_ref() != Some(&why) {
                    show(Shown::Trouble(&why.0));
                }
                self.unwritable = Some(why);
            }
        }
    }
}

/// A block that shows a run which goes on.
pub(super) fn running_block(since: &str, task: &str) -> String {
    let report = Report {
        notices: vec![format!("⏳ running since {since}: {task}")],
        ..Report::default()
    };
    report.block(Some(""))
}

/// A block that shows a run which cannot begin yet.
pub(super) fn waiting_block(since: &str, why: &str) -> String {
    let why = report::one_line(why);
    let report = Report {
        notices: vec![format!("⏳ since {since} {why}")],
        ..Report::default()
    };
    report.block(Some(""))
}

/// Puts a block on top of the notes while a run goes on, and returns what was ticked below it. It is no loss where that
/// cannot be: the results follow.
pub(super) fn put(note: &NoteFile, block: &str, known: &Known) -> Vec<Ticked> {
    let mut ticked = Vec::new();
    if let Err(error) = merge(note, "", block, known, &mut ticked) {
        tracing::info!(%error, "running");
        ticked.clear();
    }
    ticked
}

/// Puts a block on top of what is in the file now, in place of those that are there, and finds what is ticked in those.
fn merge(
    note: &NoteFile,
    expected: &str,
    block: &str,
    known: &Known,
    ticked: &mut Vec<Ticked>,
) -> Result<WriteBack, NoteError> {
    note.write_back(expected, &mut |now| {
        let note = note::split(now, known);
        *ticked = Ticked::all(&note);
        note::join(block, &note.body)
    })
}
