//! Where results go: the output file, the clipboard, and on top of the notes, in this order, each going on where the one
//! before fails. Never decides what is worth telling.

use crate::config;
use crate::daemon::Shown;
use crate::daemon::memory::{Known, Memory, Ticked};
use crate::lang::note;
use crate::lang::report::{self, Report};
use crate::world::clipboard::Clipboard;
use crate::world::desktop::Desktop;
use crate::world::ledger::BlockId;
use crate::world::note_file::{NoteError, NoteFile, WriteBack};
use crate::world::output_file::OutputFile;

/// The places of one listener's results.
pub struct Delivery {
    pub note: NoteFile,
    pub output: OutputFile,
    /// `None` where it is off.
    pub clipboard: Option<Clipboard>,
    /// Where a finished run is told of in a few words; `None` where it is off.
    pub desktop: Option<Desktop>,
    /// The local time, `HH:MM:SS`.
    pub time: fn() -> String,
    /// A block that could not be written yet.
    pub(super) unwritten: Option<(BlockId, String)>,
}

impl Delivery {
    /// Nothing is written yet.
    pub fn new(
        note: NoteFile,
        output: OutputFile,
        clipboard: Option<Clipboard>,
        time: fn() -> String,
    ) -> Self {
        Self {
            note,
            output,
            clipboard,
            desktop: None,
            time,
            unwritten: None,
        }
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
        let hoped = match &self.clipboard {
            Some(_) if copies => format!("📋 Copied to clipboard at {time}"),
            _ => String::new(),
        };
        // The file comes first, and its first line says how the copying went: it is put right where it went wrong.
        self.write_output(&mut report, &hoped, show);
        let status = match self.clipboard.as_ref().filter(|_| copies) {
            None => hoped,
            Some(clipboard) => match self.copy(clipboard, &mut report) {
                Ok(()) => hoped,
                Err(why) => {
                    let status = format!("❌ Clipboard copy failed at {time} - {why}");
                    self.write_output(&mut report, &status, show);
                    status
                }
            },
        };
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

    fn copy(&self, clipboard: &Clipboard, report: &mut Report) -> Result<(), String> {
        let name = self.output.path().file_name().unwrap_or_default();
        report
            .clipboard(&name.to_string_lossy())
            .map_err(|error| error.to_string())
            .and_then(|text| {
                clipboard
                    .copy(text, config::CLIPBOARD_PATIENCE)
                    .map_err(|error| error.to_string())
            })
            .map_err(|why| report::one_line(&why))
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
            }
            Err(error) => {
                tracing::error!(%error, "write-back");
                let output = self.output.path().display();
                show(Shown::Trouble(&format!(
                    "the results are not in the notes, only in {output}: {error}"
                )));
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
        *ticked = note.blocks.iter().filter_map(Ticked::of).collect();
        note::join(block, &note.body)
    })
}
