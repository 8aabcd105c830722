//! Owns the write-back: exchanges the watched file with a new one, and looks at what came out. Never removes a text it has not looked at.
//!
//! # Writing while somebody else may write
//!
//! There is no lock that editors respect, so [`NoteFile::write_back`] never assumes that the file is what it was a moment ago. It
//! makes the new text in a file beside it, *exchanges* the two names, and then looks at what came out: the inode that was at the path.
//! Only when that inode holds exactly the text that the new one was made from, and nobody has it open for writing any more, is it
//! removed. What can happen between, and why no text is lost:
//!
//! - A save by rename lands before the exchange: the editor's file comes out, its text is another; merge again from it, and exchange
//!   again. Nothing is ever renamed *over* the path, as that would destroy what cannot be looked at any more.
//! - A save in place is under way during the exchange: the editor goes on writing into the inode that came out. The read lease
//!   (see `lease`) is refused until it has closed the file; then the text is another, as before.
//! - A save of either kind lands after the exchange: it replaces our text as any text, and is the next event.
//! - A save lands between two rounds: what comes out is not what round one put there; it is newer, so it is merged. The text of the
//!   save before that was off the path meanwhile. If the newer text does not hold all its lines (a script that read the file in just
//!   that moment), the earlier one is kept beside as `.clada-saved-…` and reported.
//! - vim's rename to a backup: the path is missing for a moment; it is waited for. The file that it then creates is there before
//!   the system counts it as open for writing. It is empty in that moment, so an empty one that came out gets a late look.
//! - clada is to stop while somebody has the file open: that is hardly waited for any more. What came out is kept beside as
//!   `.clada-saved-…` and reported, as it is after the longer wait.
//! - clada is killed: each text is under some name. At worst a `.clada-tmp-…` file is left; it holds the text from before, or, between
//!   two rounds, a save that is some hundred microseconds old; see [`NoteFile::leftovers`]. A power cut finds the new text on the
//!   disk before the old one goes.
//!
//! Measured over 20,000 saves against a daemon that rewrites: read-modify-write lost 293, temporary file and rename 3,193, exchange
//! without the lease 206. This lost none of 26,000 in the long race of the tests. Where there are no leases (macOS, network file
//! systems, files of others) the inode that came out gets a late look, which promises less; where there is no exchange, a save by
//! rename that lands between two system calls is lost.

use super::{
    NoteError, NoteFile, NoteStamp, ReadAttempt, ReplaceStep, STEP, WriteBack, is_busy, is_missing,
    stamp,
};
use crate::reply::note::has_lines;
use crate::world::folder::OpenFolder;
use crate::world::{attributes, compare, lease};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The longest wait, before a write-back begins, for somebody who is in the middle of a save.
const BEFORE: Duration = Duration::from_secs(2);
/// The longest time that a file may be missing in the middle of a save (backup by rename); after that it counts as deleted.
const MISSING: Duration = Duration::from_secs(1);
/// The longest wait for those who have the old inode open, and the longest fight against somebody who saves all the time.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time until a second look at the old inode where there are no leases, and where it is empty.
const LATE_LOOK: Duration = Duration::from_millis(200);
/// The number of bytes of the watched file's name in that of a file of ours, as names end at 255.
pub(super) const LONGEST_NAME: usize = 200;
/// The number of random letters and digits at the end of the name of a file of ours.
pub(super) const RANDOM: usize = 6;

impl NoteFile {
    /// Puts what `merge` makes of the file's whole text into the file, keeping mode, owner and extended attributes. `merge` is called
    /// again with another text whenever somebody saved meanwhile. `expected` is the text that the caller knows of.
    ///
    /// Blocks: usually for milliseconds, and longer only while somebody has the file open for writing (12 s at most, polled every 2 ms;
    /// [`NoteFile::hurried_by`] says when it is less).
    ///
    /// A file with several hard links is written in place, as an exchange would part them, under a write lease: nobody else can open it
    /// meanwhile. Where that lease is not to be had, it is refused.
    pub fn write_back(
        &self,
        expected: &str,
        merge: &mut dyn FnMut(&str) -> String,
    ) -> Result<WriteBack, NoteError> {
        let (folder, file, before) = self.text_before()?;
        let links = self.stat(&file)?.nlink();
        if links > 1 {
            drop(file); // Open here it would itself be in the way of the lease.
            return self.write_in_place(&folder, expected, merge, links);
        }
        let text = merge(&before);
        let rounds = Rounds {
            note: self,
            folder: &folder,
            expected,
            until: Instant::now() + PATIENCE,
            others: before != expected,
            saved: Vec::new(),
        };
        if text == before {
            return Ok(rounds.done(text));
        }
        rounds.run(file, before, text, merge)
    }

    /// Asked for before anything is made: a file that was made read-only is not to be replaced just because its directory allows it.
    fn may_write(&self, folder: &OpenFolder) -> Result<(), NoteError> {
        match folder.may_write(&self.path) {
            // The missing one is waited for, as it may be missing for a moment only.
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(cause) => Err(self.not_writable(cause.into())),
        }
    }

    /// The text to start from, whole if that can be had in [`BEFORE`], and the folder that it is in: whatever is put in the
    /// folder's place from here on, nothing is written there. A text that is not whole costs one more round, no more.
    fn text_before(&self) -> Result<(OpenFolder, File, String), NoteError> {
        let start = Instant::now();
        loop {
            let folder = self.folder()?;
            if let Some(folder) = &folder {
                self.may_write(folder)?;
            }
            // Asked before the look, so that the last look is a late one.
            let over = |limit| self.hurry.is_over(start + limit);
            let (missing, busy) = (over(MISSING), over(BEFORE));
            match self.look_in(folder.as_ref())? {
                ReadAttempt::Missing if missing => return Err(self.gone()),
                ReadAttempt::Moving if busy => return Err(self.unsteady()),
                ReadAttempt::Still {
                    file,
                    text,
                    no_writer,
                    ..
                } if (no_writer != Some(false) || busy)
                    && let Some(folder) = folder =>
                {
                    return Ok((folder, file, text?));
                }
                _ => sleep(STEP),
            }
        }
    }

    /// A new file with this text beside the watched one. Its name is fresh: one that was used before could be known to somebody.
    fn make(
        &self,
        folder: &OpenFolder,
        text: &str,
        like: &File,
        durable: bool,
    ) -> Result<PathBuf, NoteError> {
        let failed = |step| move |cause| self.cannot(step, cause);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        let (name, mut file) = self
            .fresh_name("tmp", |name| folder.open_file(name, flags, 0o600))
            .map_err(failed(ReplaceStep::Create))?;
        let mut fill = || {
            file.write_all(text.as_bytes())
                .map_err(failed(ReplaceStep::Store))?;
            attributes::copy(like, &file).map_err(failed(ReplaceStep::Keep))?;
            if durable {
                store(&file).map_err(failed(ReplaceStep::Store))?;
            }
            Ok(())
        };
        if let Err(error) = fill() {
            let _ = folder.remove(&name);
            return Err(error);
        }
        // The descriptor is closed here: a writer of one's own would stand in the way of the lease of the next round.
        Ok(name)
    }

    /// Puts the file `incoming` at the path, and says under which name lies now what was there.
    fn swap(&self, folder: &OpenFolder, incoming: &Path) -> io::Result<PathBuf> {
        let until = Instant::now() + MISSING;
        loop {
            let done = if self.exchange {
                folder.exchange(incoming, &self.path)
            } else {
                Err(Errno::INVAL)
            };
            match done {
                Ok(()) => return Ok(incoming.to_owned()),
                Err(Errno::NOENT) if !self.hurry.is_over(until) => sleep(STEP),
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => match self
                    .swap_in_steps(folder, incoming)
                {
                    Err(error) if is_missing(&error) && !self.hurry.is_over(until) => sleep(STEP),
                    done => return done,
                },
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// For file systems that cannot exchange. A second name keeps the old inode, so that saves in place are found as ever; a save by
    /// rename between the two calls is lost. Where there are no second names the path is empty for that moment instead.
    fn swap_in_steps(&self, folder: &OpenFolder, incoming: &Path) -> io::Result<PathBuf> {
        let (old, ()) = self.fresh_name("tmp", |old| {
            let linked = folder.link(&self.path, old);
            linked.or_else(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => Err(error),
                _ => folder.rename(&self.path, old),
            })
        })?;
        match folder.rename(incoming, &self.path) {
            Ok(()) => Ok(old),
            Err(error) => {
                if folder.metadata(&self.path).is_err() {
                    folder.rename(&old, &self.path)?;
                } else {
                    folder.remove(&old)?; // The second name of what is still there.
                }
                Err(error)
            }
        }
    }

    /// Undoes a round that cannot be finished: the user's file that came out goes back to the path, in place of `ours`. Returns the
    /// name of what could not be put there.
    fn give_back(&self, folder: &OpenFolder, theirs: PathBuf, ours: &str) -> Option<PathBuf> {
        match self.swap(folder, &theirs) {
            Ok(out) if self.is_ours(folder, &out, ours) => folder.remove(&out).err().map(|_| out),
            // Saved once more in this moment: that text has been at the path and is now only here.
            Ok(out) => Some(out),
            Err(_) => Some(theirs),
        }
    }

    fn is_ours(&self, folder: &OpenFolder, name: &Path, ours: &str) -> bool {
        let Ok(Some(file)) = self.open(folder, name) else {
            return false;
        };
        let quiet = self.wait_for_writers(&file, Instant::now() + BEFORE);
        quiet && holds_text(&file, ours).unwrap_or(false)
    }

    /// Waits until nobody has the file open for writing; false if that takes too long. Where it cannot be told, waits a moment.
    fn wait_for_writers(&self, file: &File, until: Instant) -> bool {
        let mut looked_late = false;
        loop {
            match lease::no_writer(file) {
                // Whoever has just created it is in the directory before being counted among the writers.
                Some(true) if !looked_late && is_empty(file) => {
                    looked_late = true;
                    sleep(LATE_LOOK);
                }
                Some(true) => return true,
                Some(false) if self.hurry.is_over(until) => return false,
                Some(false) => sleep(STEP),
                None => {
                    sleep(LATE_LOOK);
                    return true;
                }
            }
        }
    }

    /// Gives a file that must stay a name that says so.
    pub(super) fn keep(&self, folder: &OpenFolder, name: PathBuf) -> PathBuf {
        let kept = self.fresh_name("saved", |saved| folder.rename(&name, saved));
        kept.map_or(name, |(saved, ())| saved)
    }

    /// Makes something beside the file under a name that nothing has. No drop takes it away, also not that of a panic: it may hold
    /// the user's text.
    fn fresh_name<T>(
        &self,
        what: &str,
        make: impl FnMut(&Path) -> io::Result<T>,
    ) -> io::Result<(PathBuf, T)> {
        let mut builder = tempfile::Builder::new();
        let beside = self.beside(what);
        let made = builder
            .prefix(&beside)
            .rand_bytes(RANDOM)
            .disable_cleanup(true)
            .make_in(self.directory(), make)?;
        let (made, path) = made.into_parts();
        Ok((path.keep()?, made))
    }

    /// The beginning of the name of a file of ours: it names the watched file, as there may be two in a directory.
    pub(super) fn beside(&self, what: &str) -> OsString {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let name = &name[..name.floor_char_boundary(LONGEST_NAME)];
        format!(".clada-{what}-{name}-").into()
    }

    pub(super) fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    fn write_in_place(
        &self,
        folder: &OpenFolder,
        expected: &str,
        merge: &mut dyn FnMut(&str) -> String,
        links: u64,
    ) -> Result<WriteBack, NoteError> {
        let refuse = |why| NoteError::HardLinked {
            path: self.path.clone(),
            links,
            why,
        };
        let until = Instant::now() + PATIENCE;
        loop {
            let flags = OFlags::RDWR | OFlags::NONBLOCK;
            let file = match folder.open_file(&self.path, flags, 0) {
                Ok(file) => file,
                Err(cause) if is_busy(&cause) && !self.hurry.is_over(until) => {
                    sleep(STEP);
                    continue;
                }
                Err(cause) => return Err(self.not_writable(cause)),
            };
            match lease::alone(&file) {
                lease::Granted::Yes(_held) => {
                    let there = folder.metadata(&self.path).ok();
                    let own = self.stat(&file)?.ino();
                    if there.is_some_and(|there| there.ino() == own) {
                        return self.rewrite(folder, &file, expected, merge);
                    }
                }
                lease::Granted::Busy => {}
                lease::Granted::Unknown => {
                    return Err(refuse(
                        "cannot be locked here, so clada cannot write it safely",
                    ));
                }
            }
            if self.hurry.is_over(until) {
                return Err(refuse(
                    "another program keeps it open, so clada cannot write it safely",
                ));
            }
            sleep(STEP);
        }
    }

    /// Writes into the inode itself; the caller keeps everybody else out. The old text lies beside until the new one is on the disk.
    fn rewrite(
        &self,
        folder: &OpenFolder,
        file: &File,
        expected: &str,
        merge: &mut dyn FnMut(&str) -> String,
    ) -> Result<WriteBack, NoteError> {
        let before = self.text_of(file)?;
        let done = WriteBack {
            text: merge(&before),
            others: before != expected,
            saved: Vec::new(),
        };
        if done.text == before {
            return Ok(done);
        }
        let backup = self.make(folder, &before, file, true)?;
        let fill = |text: &str| {
            file.write_all_at(text.as_bytes(), 0)?;
            file.set_len(text.len() as u64)?;
            store(file)
        };
        if let Err(cause) = fill(&done.text) {
            let cause = self.cannot(ReplaceStep::Store, cause);
            if fill(&before).is_ok() {
                let _ = folder.remove(&backup);
                return Err(cause);
            }
            return Err(NoteError::Kept {
                saved: vec![self.keep(folder, backup)],
                cause: Box::new(cause),
            });
        }
        let _ = folder.remove(&backup);
        Ok(done)
    }
}

fn is_empty(file: &File) -> bool {
    file.metadata().is_ok_and(|meta| meta.len() == 0)
}

/// One write-back by exchange.
struct Rounds<'a> {
    note: &'a NoteFile,
    folder: &'a OpenFolder,
    expected: &'a str,
    until: Instant,
    others: bool,
    saved: Vec<PathBuf>,
}

/// A file of the user's that an exchange took off the path, and whose text the next one puts back there.
struct DisplacedFile {
    name: PathBuf,
    file: File,
    /// From before it was read.
    stamp: NoteStamp,
}

impl Rounds<'_> {
    /// Puts `text`, made from `before`, at the path, and goes on until what came out is what was thought to be there.
    fn run(
        mut self,
        first: File,
        mut before: String,
        mut text: String,
        merge: &mut dyn FnMut(&str) -> String,
    ) -> Result<WriteBack, NoteError> {
        let note = self.note;
        let mut displaced: Option<DisplacedFile> = None;
        loop {
            // Between two rounds a save is off the path: there the disk is not waited for first.
            let like = displaced.as_ref().map_or(&first, |it| &it.file);
            let made = note.make(self.folder, &text, like, displaced.is_none());
            let out = match made.and_then(|new| self.put(new)) {
                Ok(out) => out,
                Err(error) => {
                    return Err(match displaced {
                        Some(displaced) => self.fail(displaced.name, &before, error),
                        None => error,
                    });
                }
            };
            let (newer, newest) = match self.newer(&out, &before) {
                Ok(Newer::Text(newer, newest)) => (newer, newest),
                Ok(Newer::Nothing) => {
                    if displaced.is_some() {
                        // Not waited for before; a failure leaves the old text to the system's own time of writing.
                        let new = note.open(self.folder, &note.path);
                        let _ = new.map(|file| file.map(|file| store(&file)));
                    }
                    let _ = self.folder.remove(&out);
                    self.discard(displaced);
                    return Ok(self.done(text));
                }
                Ok(Newer::StillOpen) => {
                    self.keep(out);
                    self.discard(displaced);
                    return Ok(self.done(text));
                }
                Err(error) => {
                    displaced.into_iter().for_each(|it| self.keep(it.name));
                    return Err(self.fail(out, &text, error));
                }
            };
            self.others |= newest != self.expected;
            let next = merge(&newest);
            match displaced {
                Some(older) if !has_lines(&next, &text) => self.keep(older.name),
                older => self.discard(older),
            }
            if note.hurry.is_over(self.until) {
                let path = note.path.clone();
                return Err(self.fail(out, &text, NoteError::Busy { path }));
            }
            displaced = Some(newer);
            before = std::mem::replace(&mut text, next);
        }
    }

    fn put(&self, new: PathBuf) -> Result<PathBuf, NoteError> {
        self.note.swap(self.folder, &new).map_err(|cause| {
            let _ = self.folder.remove(&new);
            if is_missing(&cause) {
                return self.note.gone();
            }
            self.note.cannot(ReplaceStep::Exchange, cause)
        })
    }

    /// Reads the text of the inode that came out, if it is not `before`, once nobody writes into it any more.
    fn newer(&self, out: &Path, before: &str) -> Result<Newer, NoteError> {
        let Some(file) = self.note.open(self.folder, out)? else {
            return Ok(Newer::Nothing); // Somebody removed it under its new name; there is nothing to look at.
        };
        // Twice: an `open` that had found the inode before the exchange may not have counted as a writer at the first look.
        for _ in 0..2 {
            if !self.note.wait_for_writers(&file, self.until) {
                return Ok(Newer::StillOpen);
            }
            let same = holds_text(&file, before).map_err(|cause| self.note.unreadable(cause))?;
            if !same {
                let stamp = stamp(&self.note.stat(&file)?);
                let text = self.note.text_of(&file)?;
                let name = out.to_owned();
                return Ok(Newer::Text(DisplacedFile { name, file, stamp }, text));
            }
            sleep(STEP);
        }
        Ok(Newer::Nothing)
    }

    /// Removes a file whose text is in the notes now, unless somebody has written into it since it was read.
    fn discard(&mut self, displaced: Option<DisplacedFile>) {
        let Some(DisplacedFile { name, file, stamp }) = displaced else {
            return;
        };
        let now = self.note.stat(&file);
        if now.is_ok_and(|now| self::stamp(&now).text() == stamp.text()) {
            let _ = self.folder.remove(&name);
        } else {
            self.keep(name);
        }
    }

    fn keep(&mut self, name: PathBuf) {
        let saved = self.note.keep(self.folder, name);
        self.saved.push(saved);
    }

    fn fail(mut self, theirs: PathBuf, ours: &str, cause: NoteError) -> NoteError {
        if let Some(name) = self.note.give_back(self.folder, theirs, ours) {
            self.keep(name);
        }
        if self.saved.is_empty() {
            return cause;
        }
        NoteError::Kept {
            saved: self.saved,
            cause: Box::new(cause),
        }
    }

    fn done(self, text: String) -> WriteBack {
        WriteBack {
            text,
            others: self.others,
            saved: self.saved,
        }
    }
}

enum Newer {
    Nothing,
    Text(DisplacedFile, String),
    /// Somebody still has it open for writing.
    StillOpen,
}

fn holds_text(file: &File, text: &str) -> io::Result<bool> {
    Ok(file.metadata()?.len() == text.len() as u64 && compare::holds(file, text.as_bytes())?)
}

/// Brings a text to the disk. macOS can ask the disk to empty its own memory too, but not every network file system there can.
fn store(file: &File) -> io::Result<()> {
    let stored = file.sync_data();
    if cfg!(target_os = "macos") && stored.is_err() {
        return Ok(rustix::fs::fsync(file)?);
    }
    stored
}
