//! Where results go: the output file, the clipboard, and on top of the notes, in this order, each going on where the one
//! before fails. Never decides what is worth telling.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::clock;
use crate::listener::inbox::CopiedSource;
use crate::listener::last_notes::KnownBlocks;
use crate::listener::memory::{Memory, logged};
use crate::listener::observer::{News, Observer};
use crate::listener::site::Listening;
use crate::listener::ticked::Ticked;
use crate::listener::unread::{Shows, Telling, Unread};
use crate::reply::note;
use crate::reply::record::Offer;
use crate::report::outcome::{FileSpan, OutputWriter};
use crate::report::{self, Earlier, Packet, Report, outputs_line};
use crate::settings::places::{self, Folders};
use crate::text::paths;
use crate::world::clipboard::{Clipboard, ClipboardError, Copied};
use crate::world::desktop::{Desktop, Notice};
use crate::world::ledger::BlockId;
use crate::world::lock::Lock;
use crate::world::note_file::{NoteError, NoteFile, WriteBack};
use crate::world::output_file::OutputFile;
use crate::world::packet::Packets;

/// Said once, where the terminal does not report whether it accepted the text.
const SENT: &str = "not every terminal accepts it (OSC 52); if pasting inserts something else, copy from the output \
     file";

/// Said once, where there is no clipboard.
const HOW_TO_HAVE_NONE: &str =
    "to turn copying off, start clada with `--no-clipboard` or set `clipboard.enabled = false`";

/// The places of one listener's results.
pub(super) struct Delivery {
    pub(super) note: NoteFile,
    pub(super) output: OutputFile,
    packets: Packets,
    /// One for the whole process.
    clipboard: Arc<Clipboard>,
    pub(super) listening: Listening,
    name: NameAmongOthers,
    observer: Observer,
    /// A block that could not be written yet.
    pub(super) unwritten: Option<Unwritten>,
}

/// The name of the notes file, which is told where this user watches others too.
struct NameAmongOthers {
    name: String,
    locks: PathBuf,
}

impl NameAmongOthers {
    fn get(&self) -> Option<&str> {
        let watched = Lock::held(&self.locks, &places::WATCHED_LOCKS[..1]);
        (watched.len() > 1).then_some(&self.name)
    }
}

/// A block of results that is not in the notes yet.
pub(super) struct Unwritten {
    pub(super) id: BlockId,
    pub(super) block: String,
    /// The reason, as it was told last.
    pub(super) why: Option<WhyUnwritten>,
}

/// The reason why a block could not be written.
#[derive(PartialEq, Eq)]
pub(super) struct WhyUnwritten {
    said: String,
    /// It goes away when the system has more to give.
    is_scarce: bool,
}

impl Delivery {
    /// Nothing is written yet.
    pub(super) fn new(
        note: NoteFile,
        output: &Path,
        packets: Packets,
        clipboard: Arc<Clipboard>,
        folders: &Folders,
        listening: Listening,
        observer: Observer,
    ) -> Self {
        let name = NameAmongOthers {
            name: paths::short(note.path(), &folders.home),
            locks: folders.locks(),
        };
        Self {
            note,
            output: OutputFile::new(output.to_owned()),
            packets,
            clipboard,
            listening,
            name,
            observer,
            unwritten: None,
        }
    }

    /// True if results are to be written for which the system had not enough.
    pub(super) fn is_starved(&self) -> bool {
        let why = self.unwritten.as_ref().and_then(|it| it.why.as_ref());
        why.is_some_and(|why| why.is_scarce)
    }

    /// Hands out what came of a save whose whole text is given, above what could not be read yet.
    pub(super) fn hand_out(
        &mut self,
        mut report: Report,
        going: Going,
        text: &str,
        memory: &mut Memory,
    ) {
        let Going { copies, source } = going;
        let time = clock::time();
        let is_on = self.listening.clipboard;
        self.set_aside(&memory.unread);
        let below = Below {
            block: memory.unread.block,
            tellings: memory.earlier(&report),
        };
        let packet = self.packet(&mut report, &below);
        let hoped = if !is_on {
            String::new()
        } else if copies {
            format!("📋 Copied to clipboard at {time}{}", size_of(&packet))
        } else if below.tellings.is_empty() {
            String::new()
        } else {
            // What was copied with them is still there.
            memory.unread.shows.status.clone()
        };
        // The file comes first, and its first line says how the copying went: it is put right where it went wrong.
        let mut written = self.write_output(&mut report, &hoped, &below);
        let copied = (is_on && copies).then(|| self.copy(&packet, source));
        let status = match &copied {
            Some(copied) => self.status(copied, &packet, &time),
            None => hoped.clone(),
        };
        if status != hoped {
            written = self.write_output(&mut report, &status, &below);
        }
        self.observer.tell(News::Results {
            block: &report.block(Some(&status)),
            asks: report.asks(),
        });
        self.tell_desktop(&report, going, copied.as_ref());
        let block = report.block_above(Some(&status), &below.texts());
        let offers = report.offer_lines_above(below.offers());
        let outputs = packet.as_ref().map(|packet| packet.outputs.clone());
        let newest = Earlier {
            time,
            lines: report.lines(),
            outputs: outputs.unwrap_or_default(),
        };
        let is_copied = copied.map_or(memory.unread.shows.is_copied, |copied| copied.is_ok());
        let mut shows = written.shows(&report, newest, below.tellings, status);
        shows.is_copied = is_copied;
        // Known before it is written: if clada ends in between, it is not taken for the user's text.
        let now = clock::now_ms().div_euclid(1000);
        match memory.add_results(&block, &offers, shows, now) {
            Ok(id) => {
                let why = self.unwritten.take().and_then(|it| it.why);
                self.unwritten = Some(Unwritten { id, block, why });
                self.keep_packet(id, packet.ok().filter(|_| copies));
                self.packets.forget_aside(None);
                self.write_unwritten(text, memory);
            }
            Err(error) => self.observer.trouble(&format!(
                "the results are only in {}: {error}",
                self.output.path().display()
            )),
        }
    }

    fn keep_packet(&self, block: BlockId, packet: Option<Packet>) {
        if let Some(packet) = packet
            && let Err(error) = self.packets.keep(block.number(), &packet.text)
        {
            tracing::error!(%error, "cannot keep the packet");
        }
    }

    /// Tells the desktop what came of a run. Who copied the reply looks at nothing else.
    fn tell_desktop(
        &self,
        report: &Report,
        going: Going,
        copied: Option<&Result<Copied, NotCopied>>,
    ) {
        let is_copied = going.source.is_some() && self.listening.notifies_of_copied;
        let is_pasted = going.copies && self.listening.notifies;
        if !is_copied && !is_pasted {
            return;
        }
        let path = self.note.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut body = report.troubles();
        if going.source.is_some() {
            let place = where_results_are(copied, &name);
            body = format!("{place}\n{body}").trim_end().to_owned();
        }
        Desktop::of_process().tell(Notice {
            title: format!("{name}: {}", report.counts()),
            body,
            opens: Some(path.to_owned()),
        });
    }

    /// Keeps what the output file holds of unread results, as something else is about to be written there.
    pub(super) fn set_aside(&self, unread: &Unread) {
        let Some(block) = unread.block.filter(|_| !unread.tellings().is_empty()) else {
            self.packets.forget_aside(None);
            return;
        };
        if let Some(mut file) = self.output.finished(unread.shows.size)
            && let Err(error) = self.packets.set_aside(block.number(), &mut file)
        {
            tracing::error!(%error, "cannot set the output file aside");
        }
    }

    /// Writes the output file, and returns where the outputs are in it.
    fn write_output(&mut self, report: &mut Report, status: &str, below: &Below) -> WrittenOutput {
        let mut places = Vec::new();
        let mut size = 0;
        let packets = &self.packets;
        let written = self.output.finish(|to| {
            let mut to = Counting { to, count: 0 };
            places.clear();
            let block = report.block_above(Some(status), &below.texts());
            write!(to, "{block}{}{}", report.changed(), outputs_line())?;
            let start = to.count;
            report.write_parts(&mut to)?;
            places.push((start, to.count - start));
            below.write(packets, &mut to, &mut places)?;
            writeln!(to, "{}", note::END)?;
            size = to.count;
            Ok(())
        });
        if let Err(error) = written {
            let path = self.output.path().display();
            let said = format!("⚠ cannot write the output file `{path}`: {error}");
            if !report.notices.contains(&said) {
                tracing::error!(%error, "cannot write the output file");
                self.observer.trouble(&said);
                report.notices.push(said);
            }
        }
        WrittenOutput { places, size }
    }

    /// Returns the packet for the LLM. Where the user watches other notes too, its first line names these.
    fn packet(&self, report: &mut Report, below: &Below) -> io::Result<Packet> {
        let name = self.name.get();
        let first = name.map(|name| format!("{}{}\n", note::RESULTS_OF, report::one_line(name)));
        let first = first.unwrap_or_default();
        let limit = self.listening.packet.saturating_sub(first.len());
        let packet = report.packet(&below.texts(), limit, &self.output_name())?;
        Ok(Packet {
            text: first + &packet.text,
            ..packet
        })
    }

    /// Keeps the packet that went with a block, if clada ended before it was kept.
    pub(super) fn keep_lost_packet(&self, block: BlockId, unread: &Unread) {
        if unread.block != Some(block) || !matches!(self.packets.read(block.number()), Ok(None)) {
            return;
        }
        let below = Below {
            block: None,
            tellings: unread.shows.tellings.clone(),
        };
        match self.packet(&mut Report::default(), &below) {
            Ok(packet) => self.keep_packet(block, Some(packet)),
            Err(error) => tracing::error!(%error, "cannot keep the packet"),
        }
    }

    fn output_name(&self) -> String {
        let name = self.output.path().file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Copies a packet; not over what the person copied since the reply.
    fn copy(
        &self,
        packet: &io::Result<Packet>,
        source: Option<CopiedSource>,
    ) -> Result<Copied, NotCopied> {
        let packet = packet.as_ref().map_err(|error| NotCopied::Failed {
            why: error.to_string(),
            is_without: false,
        })?;
        let (text, patience) = (packet.text.clone(), places::CLIPBOARD_PATIENCE);
        let copied = match source {
            None => self.clipboard.copy(text, patience),
            Some(CopiedSource { copy: Some(copy) }) => {
                self.clipboard.copy_after(text, copy, patience)
            }
            Some(CopiedSource { copy: None }) => return Err(NotCopied::Restarted),
        };
        copied.map_err(|error| match error {
            ClipboardError::CopiedSince => NotCopied::Overtaken,
            ClipboardError::NotWatched => NotCopied::Unwatched,
            error => NotCopied::Failed {
                is_without: error.is_without(),
                why: error.to_string(),
            },
        })
    }

    /// Says how the copying went. Where it went wrong, it says where the text is.
    fn status(
        &self,
        copied: &Result<Copied, NotCopied>,
        packet: &io::Result<Packet>,
        time: &str,
    ) -> String {
        let size = size_of(packet);
        match copied {
            Ok(Copied::Kept) => format!("📋 Copied to clipboard at {time}{size}"),
            Ok(Copied::By(program)) => {
                format!("📋 Copied to clipboard at {time}{size} by {program}")
            }
            Ok(Copied::Sent) => {
                let advice = if self.clipboard.is_to_be_advised() {
                    format!(": {SENT}")
                } else {
                    String::new()
                };
                format!("📋 Sent to the terminal's clipboard at {time}{size}{advice}")
            }
            Err(waits @ (NotCopied::Overtaken | NotCopied::Restarted | NotCopied::Unwatched)) => {
                format!("📋 Not copied at {time}: {}", waits.said())
            }
            Err(NotCopied::Failed { why, is_without }) => {
                let advice = if *is_without && self.clipboard.is_to_be_advised() {
                    format!("; {HOW_TO_HAVE_NONE}")
                } else {
                    String::new()
                };
                let (why, file) = (report::one_line(why), self.output_name());
                format!(
                    "❌ Clipboard copy failed at {time} - {why}; the text is in {file}, and `clada copy --print` prints it{advice}"
                )
            }
        }
    }

    /// Puts the block that is due on top of what is in the file now, if there is one.
    pub(super) fn write_unwritten(&mut self, text: &str, memory: &mut Memory) {
        let Some(due) = &mut self.unwritten else {
            return;
        };
        let known = memory.last.known();
        let mut ticked = Vec::new();
        match merge(&self.note, text, &due.block, &known, &mut ticked) {
            Ok(done) => {
                memory.ticked_meanwhile(&ticked);
                memory.last.shows(&due.block);
                self.observer.lacking(&done.saved);
                logged(memory.delivered(due.id, self.note.changed_ms()));
                self.unwritten = None;
            }
            Err(error) => {
                tracing::error!(%error, "cannot write the results into the notes file");
                let output = self.output.path().display();
                let why = WhyUnwritten {
                    said: format!(
                        "the results are not in the notes file, only in {output}: {error}"
                    ),
                    is_scarce: error.is_scarce(),
                };
                // That one is tried again and again.
                if !why.is_scarce || due.why.as_ref() != Some(&why) {
                    self.observer.trouble(&why.said);
                }
                due.why = Some(why);
            }
        }
    }
}

/// The reason why results are not on the clipboard.
#[derive(Debug, Clone, PartialEq, Eq)]
enum NotCopied {
    /// The person copied something else since the reply.
    Overtaken,
    /// Nobody knows what was copied since the reply, as clada has begun anew.
    Restarted,
    /// Nobody knows either, as the display was gone for a while.
    Unwatched,
    Failed {
        why: String,
        /// There is no clipboard.
        is_without: bool,
    },
}

impl NotCopied {
    fn said(&self) -> &str {
        match self {
            Self::Overtaken => {
                "you copied something else after the reply; `clada copy` copies the results"
            }
            Self::Restarted => {
                "clada was restarted after you copied the reply; `clada copy` copies the results"
            }
            Self::Unwatched => {
                "the clipboard was not watched all the time after you copied the reply; `clada copy` copies the results"
            }
            Self::Failed { why, .. } => why,
        }
    }
}

/// Says where the results of a copied reply are.
fn where_results_are(copied: Option<&Result<Copied, NotCopied>>, notes: &str) -> String {
    match copied {
        Some(Ok(Copied::Kept | Copied::By(_))) => "the results are on your clipboard".to_owned(),
        Some(Ok(Copied::Sent)) => "the results were sent to your terminal's clipboard".to_owned(),
        Some(Err(NotCopied::Failed { why, .. })) => {
            format!("the results are in {notes}, not on the clipboard ({why})")
        }
        Some(Err(waits)) => waits.said().to_owned(),
        None => format!("the results are in {notes}"),
    }
}

/// The way that results go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Going {
    /// An LLM is to read them.
    pub(super) copies: bool,
    /// The copied reply that they are of, if they are of one.
    pub(super) source: Option<CopiedSource>,
}

/// The output file as it was written.
struct WrittenOutput {
    /// The outputs of each of the results, the newest first: where they begin and their length, in bytes.
    places: Vec<(u64, u64)>,
    size: u64,
}

impl WrittenOutput {
    /// Returns the contents of a block: the newest results above earlier ones.
    fn shows(self, report: &Report, newest: Earlier, below: Vec<Telling>, status: String) -> Shows {
        let offers = report.offer_lines().into_iter();
        let own = Telling {
            offers: offers.map(|(line, offer)| (line - 1, offer)).collect(),
            text: newest,
            passes: report.is_passing(),
            whole: (0, 0),
        };
        let mut tellings: Vec<Telling> = std::iter::once(own).chain(below).collect();
        for (telling, place) in tellings.iter_mut().zip(self.places) {
            telling.whole = place;
        }
        Shows {
            status,
            tellings,
            size: self.size,
            is_copied: false,
        }
    }
}

/// The size of a packet for the line that says that it was copied.
fn size_of(packet: &io::Result<Packet>) -> String {
    let packet = packet.as_ref();
    packet.map_or_else(
        |_| String::new(),
        |packet| report::packet_size(&packet.text),
    )
}

/// Earlier results, as they stand below newer ones.
struct Below {
    /// The block that showed them last.
    block: Option<BlockId>,
    tellings: Vec<Telling>,
}

impl Below {
    fn texts(&self) -> Vec<Earlier> {
        let tellings = self.tellings.iter();
        tellings.map(|telling| telling.text.clone()).collect()
    }

    fn offers(&self) -> impl Iterator<Item = (&Earlier, &[(usize, Offer)])> {
        let tellings = self.tellings.iter();
        tellings.map(|telling| (&telling.text, telling.offers.as_slice()))
    }

    /// Writes all that they have to show, as the output file had it, or where that is lost, what their packet has of it.
    fn write(
        &self,
        packets: &Packets,
        to: &mut Counting<'_>,
        places: &mut Vec<(u64, u64)>,
    ) -> io::Result<()> {
        let mut aside = self.block.and_then(|block| packets.aside(block.number()));
        for Telling { text, whole, .. } in &self.tellings {
            let (from, length) = *whole;
            if length == 0 && text.outputs.is_empty() {
                places.push((to.count, 0));
                continue;
            }
            write!(to, "\n{}", text.title())?;
            let start = to.count;
            match &mut aside {
                Some(file) if length > 0 => {
                    file.seek(SeekFrom::Start(from))?;
                    io::copy(&mut file.take(length), to)?;
                }
                _ => to.write_all(text.outputs.as_bytes())?,
            }
            places.push((start, to.count - start));
        }
        Ok(())
    }
}

/// Counts what is written.
struct Counting<'t> {
    to: &'t mut dyn OutputWriter,
    count: u64,
}

impl Write for Counting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.count += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl OutputWriter for Counting<'_> {
    fn follow_with(
        &mut self,
        opening: &str,
        closing: &str,
        text: FileSpan,
    ) -> io::Result<Option<u64>> {
        let follows = self.to.follow_with(opening, closing, text)?;
        self.count += follows.unwrap_or_default();
        Ok(follows)
    }
}

/// Results as they are shown while a newer batch runs: no tick counts there.
fn without_boxes(tellings: &[Telling]) -> Vec<Earlier> {
    let closed = tellings.iter().map(|telling| {
        let mut text = telling.text.clone();
        for (line, _) in &telling.offers {
            text.close(*line);
        }
        text
    });
    closed.collect()
}

/// A block that shows what goes on, above what could not be read yet.
pub(super) fn passing_block(what: &str, unread: &Unread) -> String {
    let report = Report {
        notices: vec![format!("⏳ {}", report::one_line(what))],
        ..Report::default()
    };
    report.block_above(Some(""), &without_boxes(unread.tellings()))
}

/// Puts a block on top of the notes while a run goes on, and returns what was ticked below it. It is no loss where that
/// cannot be: the results follow.
pub(super) fn put(note: &NoteFile, block: &str, known: &KnownBlocks) -> Vec<Ticked> {
    let mut ticked = Vec::new();
    if let Err(error) = merge(note, "", block, known, &mut ticked) {
        tracing::info!(%error, "cannot show the run in the notes file");
        ticked.clear();
    }
    ticked
}

/// Puts a block on top of what is in the file now, in place of those that are there, and finds what is ticked in those.
fn merge(
    note: &NoteFile,
    expected: &str,
    block: &str,
    known: &KnownBlocks,
    ticked: &mut Vec<Ticked>,
) -> Result<WriteBack, NoteError> {
    note.write_back(expected, &mut |now| {
        let note = note::split(now, known);
        *ticked = Ticked::all(&note);
        note::join(block, &note.body)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_says_where_results_are() {
        let failed = |why: &str| NotCopied::Failed {
            why: why.to_owned(),
            is_without: false,
        };
        for (copied, said) in [
            (Some(Ok(Copied::Kept)), "the results are on your clipboard"),
            (
                Some(Ok(Copied::Sent)),
                "the results were sent to your terminal's clipboard",
            ),
            (
                Some(Err(failed("no display"))),
                "the results are in clada.md, not on the clipboard (no display)",
            ),
            (
                Some(Err(NotCopied::Overtaken)),
                "you copied something else after the reply; `clada copy` copies the results",
            ),
            (
                Some(Err(NotCopied::Restarted)),
                "clada was restarted after you copied the reply; `clada copy` copies the results",
            ),
            (
                Some(Err(NotCopied::Unwatched)),
                "the clipboard was not watched all the time after you copied the reply; `clada copy` copies the results",
            ),
            (None, "the results are in clada.md"),
        ] {
            assert_eq!(where_results_are(copied.as_ref(), "clada.md"), said);
        }
    }
}
