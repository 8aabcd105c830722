//! Owns the watched file on disk: its path, its text, and by `write_back` its replacement. Never interprets its text, never loses a save.

mod leftovers;
mod write_back;

use super::folder::{FolderError, OpenFolder};
use super::hurry::Hurry;
use super::lease;
use super::ownership;
use super::scarce;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// The number of tries to read a file that changes meanwhile; the pauses double from [`STEP`].
const TRIES: u32 = 5;
/// The pause between two looks at something that another process is about to finish.
const STEP: Duration = Duration::from_millis(2);

/// The watched file, known by the path that its name leads to.
#[derive(Debug, Clone)]
pub struct NoteFile {
    path: PathBuf,
    /// As it was named, from `/` on.
    given: PathBuf,
    /// The way to the path when it was followed.
    lead: Lead,
    limit: u64,
    hurry: Hurry,
    /// Off only in tests of the way without it.
    exchange: bool,
}

/// The way from a name to the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lead {
    pub path: PathBuf,
    /// All symbolic links on the way, each with what is in it.
    links: Vec<(PathBuf, PathBuf)>,
    /// The links among them that have the place of a file.
    files: Vec<PathBuf>,
}

impl Lead {
    fn of(given: &Path) -> Result<Self, NoteError> {
        let (path, files) = follow(given)?;
        let mut links = Vec::new();
        let mut add = |path: &Path, found: &Metadata| {
            if found.is_symlink() {
                links.push((path.to_owned(), fs::read_link(path).unwrap_or_default()));
            }
            Ok::<(), ()>(())
        };
        // What cannot be followed leads nowhere.
        let _ = std::path::absolute(given).map(|given| ownership::follow(&given, &mut add));
        Ok(Self { path, links, files })
    }

    /// The link that somebody who can write in these trees may have made since the name led as it did `before`, so that it is
    /// not to be followed: one in the place of a folder, or one that leads out of the project.
    pub fn diverted(&self, before: Option<&Self>, root: &Path, trees: &[PathBuf]) -> Option<&Path> {
        let is_inside = self.path.starts_with(root);
        let was_there = |link| before.is_some_and(|before| before.links.contains(link));
        let is_written = |link: &Path| trees.iter().any(|tree| link.starts_with(tree));
        let new = self.links.iter().filter(|link| !was_there(link));
        let mut new = new.map(|(at, _)| at);
        let is_harmless = |at| is_inside && self.files.contains(at);
        let diverted = new.find(|at| is_written(at) && !is_harmless(at));
        diverted.map(PathBuf::as_path)
    }

    /// The link on the way, if the path is not in this folder.
    pub fn out_of(&self, root: &Path) -> Option<&Path> {
        let link = self.files.first()?;
        (!self.path.starts_with(root)).then_some(link)
    }
}

/// The result of reading the notes file.
#[derive(Debug, PartialEq, Eq)]
pub enum NoteReading {
    /// There is no such file (any more, or yet): wait for it.
    Missing,
    Text {
        text: String,
        /// True if nobody had it open for writing just then, so that the text is surely whole; `None` where that cannot be
        /// told.
        no_writer: Option<bool>,
        /// The time of the file's last change, in Unix time in milliseconds. No program can set this time at will.
        changed_ms: i64,
    },
}

/// The result of a write-back.
#[derive(Debug, PartialEq, Eq)]
pub struct WriteBack {
    /// The text that was put into the file: reading exactly this again is reading one's own write.
    pub text: String,
    /// True if the file held, or came to hold, another text than the expected one, so that the results are on top of a newer
    /// save.
    pub others: bool,
    /// Files beside the watched one that hold a text which is not wholly in it; the person must be told.
    pub saved: Vec<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum NoteError {
    #[error("`{}` is {kind}: give clada a plain text file to watch", path.display())]
    NotAFile { path: PathBuf, kind: &'static str },
    #[error(
        "`{}` has become a symbolic link, which clada does not follow: it waits for `{}`; put the folder back, or start \
         clada with the notes file that you mean", link.display(), path.display()
    )]
    Diverted { path: PathBuf, link: PathBuf },
    #[error("cannot read `{}`: {cause}: {}", path.display(), way_to_read(cause))]
    Unreadable { path: PathBuf, cause: io::Error },
    #[error("`{}` has {size} bytes, and clada reads at most {limit}: move old replies out of it", path.display())]
    TooLarge {
        path: PathBuf,
        size: u64,
        limit: u64,
    },
    #[error("`{}` is not text ({what} at byte {offset}): save it as UTF-8; until then clada leaves it alone", path.display())]
    NotText {
        path: PathBuf,
        what: NotText,
        offset: usize,
    },
    #[error("`{}` changed each time clada read it: clada reads it again when it stops changing", path.display())]
    Unsteady { path: PathBuf },
    #[error("`{}` no longer exists, so the results are not in it: save it again to continue", path.display())]
    Gone { path: PathBuf },
    #[error("cannot write `{}`: {cause}: {} to get the results into it", path.display(), way_to_write(cause))]
    NotWritable { path: PathBuf, cause: io::Error },
    #[error("cannot replace `{}`: {step}: {cause}: {}; the file is unchanged", path.display(), step.remedy(cause))]
    CannotReplace {
        path: PathBuf,
        step: ReplaceStep,
        cause: io::Error,
    },
    #[error("`{}` was saved again and again while clada wrote: the results wait for the next save", path.display())]
    Busy { path: PathBuf },
    #[error("`{}` has {links} hard links and {why}: watch it through a symbolic link instead", path.display())]
    HardLinked {
        path: PathBuf,
        links: u64,
        why: &'static str,
    },
    #[error(
        "{cause}; a save that came in meanwhile is in {}: compare it with your notes file",
        names(saved)
    )]
    Kept {
        saved: Vec<PathBuf>,
        cause: Box<NoteError>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotText {
    #[error("a NUL")]
    Nul,
    #[error("not UTF-8")]
    NotUtf8,
}

/// The step of a replacement that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReplaceStep {
    #[error("clada cannot create a file beside it")]
    Create,
    #[error("clada cannot store the new text")]
    Store,
    #[error("clada cannot keep its owner, mode or attributes")]
    Keep,
    #[error("clada cannot exchange it with a new file")]
    Exchange,
}

impl ReplaceStep {
    fn remedy(self, cause: &io::Error) -> &'static str {
        match (cause.kind(), self) {
            _ if scarce::is_scarce(cause) => scarce::remedy(cause).unwrap_or_default(),
            (io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, _) => {
                "free space on its disk"
            }
            (io::ErrorKind::ReadOnlyFilesystem, _) => "mount its file system for writing",
            (_, ReplaceStep::Create) => "make its folder writable for this user",
            (_, ReplaceStep::Store) => "check its disk",
            (_, ReplaceStep::Keep) => "give the file to the user that clada runs as",
            (_, ReplaceStep::Exchange) => "let this user rename files in its folder",
        }
    }
}

fn way_to_read(cause: &io::Error) -> &'static str {
    scarce::remedy(cause).unwrap_or("make it readable for this user")
}

fn way_to_write(cause: &io::Error) -> &'static str {
    match cause.kind() {
        _ if scarce::is_scarce(cause) => scarce::remedy(cause).unwrap_or_default(),
        io::ErrorKind::ReadOnlyFilesystem => "mount its file system for writing",
        // Missing permissions are another error; this one is of a file that nobody may write.
        _ if cause.raw_os_error() == Some(libc::EPERM) => "remove its immutable flag (`chattr -i`)",
        _ => "make it writable for this user",
    }
}

impl NoteError {
    /// Tells if it goes away when the system has more open files, or memory, to give.
    pub fn is_scarce(&self) -> bool {
        match self {
            Self::Unreadable { cause, .. }
            | Self::NotWritable { cause, .. }
            | Self::CannotReplace { cause, .. } => scarce::is_scarce(cause),
            Self::Kept { cause, .. } => cause.is_scarce(),
            _ => false,
        }
    }
}

impl NoteFile {
    /// A file of more than `limit` bytes is not read. The file need not exist; its name is followed through symbolic links now and
    /// not again, as the path is what the ledger knows it by: a link that is pointed elsewhere is another `NoteFile`.
    pub fn new(given: &Path, limit: u64) -> Result<NoteFile, NoteError> {
        let lead = Lead::of(given)?;
        let given = std::path::absolute(given).unwrap_or_else(|_| given.to_owned());
        Ok(NoteFile {
            path: lead.path.clone(),
            lead,
            given,
            limit,
            hurry: Hurry::never(),
            exchange: true,
        })
    }

    /// Once `stop` is true, a write-back waits for others some 300 ms in all instead of up to 12 s. What they go on writing then is
    /// kept beside the file, as it is after the longer wait.
    pub fn hurried_by(self, stop: watch::Receiver<bool>) -> NoteFile {
        let hurry = Hurry::new(stop);
        NoteFile { hurry, ..self }
    }

    /// The path at the end of all links: absolute, its directory canonical.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the way to which its name leads by now, if that is another path: a symbolic link was pointed elsewhere, or is
    /// new. `None` while nothing has that name.
    pub fn leads_elsewhere(&self) -> Option<Lead> {
        fs::symlink_metadata(&self.given).ok()?;
        Lead::of(&self.given)
            .ok()
            .filter(|lead| lead.path != self.path)
    }

    /// The way that its name led when it was followed.
    pub fn lead(&self) -> &Lead {
        &self.lead
    }

    /// The path and each symbolic link on the way to it: where a change is a change of this file. For the watcher.
    pub fn places(&self) -> Vec<PathBuf> {
        let links = self.lead.files.iter().cloned();
        std::iter::once(self.path.clone()).chain(links).collect()
    }

    /// The whole text at one moment: read again, a few times within some 60 ms, when size, times or inode changed meanwhile. That the
    /// reading held still does not say that the writer was done (truncated, to be filled in a moment): `no_writer` or a quiet time does.
    /// Never blocks on a fifo or a device.
    pub fn read(&self) -> Result<NoteReading, NoteError> {
        for attempt in 0..TRIES {
            if attempt > 0 {
                sleep(STEP * 2_u32.pow(attempt));
            }
            match self.look_in(self.folder()?.as_ref())? {
                ReadAttempt::Missing => return Ok(NoteReading::Missing),
                ReadAttempt::Moving => {}
                ReadAttempt::Still {
                    text,
                    no_writer,
                    changed_ms,
                    ..
                } => {
                    return Ok(NoteReading::Text {
                        text: text?,
                        no_writer,
                        changed_ms,
                    });
                }
            }
        }
        Err(self.unsteady())
    }

    /// Returns the time of the file's last change, as [`NoteReading::Text`] has it; now for a file that is not there.
    pub fn changed_ms(&self) -> i64 {
        let now = || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            now.map_or(0, |now| now.as_millis() as i64)
        };
        let folder = OpenFolder::of(&self.path).map_err(io::Error::from);
        let meta = folder.and_then(|folder| folder.metadata(&self.path));
        meta.map_or_else(|_| now(), |meta| changed_ms(&meta))
    }

    /// The folder that the file is in; `None` where it is not there. A link that took the place of a folder is not followed.
    fn folder(&self) -> Result<Option<OpenFolder>, NoteError> {
        match OpenFolder::of(&self.path) {
            Ok(folder) => Ok(Some(folder)),
            Err(FolderError::Link(link)) => Err(NoteError::Diverted {
                path: self.path.clone(),
                link,
            }),
            Err(FolderError::Io(error)) if is_missing(&error) => Ok(None),
            Err(FolderError::Io(cause)) => Err(self.unreadable(cause)),
        }
    }

    fn look_in(&self, folder: Option<&OpenFolder>) -> Result<ReadAttempt, NoteError> {
        let Some(folder) = folder else {
            return Ok(ReadAttempt::Missing);
        };
        let file = match self.open(folder, &self.path) {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(ReadAttempt::Missing),
            // Somebody holds a lease on it and is about to give it back.
            Err(NoteError::Unreadable { cause, .. }) if is_busy(&cause) => {
                return Ok(ReadAttempt::Moving);
            }
            Err(error) => return Err(error),
        };
        let before = self.stat(&file)?;
        let text = self.text_of(&file);
        let no_writer = lease::no_writer(&file);
        let after = self.stat(&file)?;
        let there = folder.metadata(&self.path).ok();
        if [Some(before), there]
            .iter()
            .any(|it| it.as_ref().map(stamp) != Some(stamp(&after)))
        {
            return Ok(ReadAttempt::Moving);
        }
        Ok(ReadAttempt::Still {
            file,
            text,
            no_writer,
            changed_ms: changed_ms(&after),
        })
    }

    /// Reads into one buffer, which becomes the text; no second copy.
    fn text_of(&self, mut file: &File) -> Result<String, NoteError> {
        let check_size = |size| {
            if size <= self.limit {
                return Ok(());
            }
            Err(NoteError::TooLarge {
                path: self.path.clone(),
                size,
                limit: self.limit,
            })
        };
        let not_text = |what, offset| NoteError::NotText {
            path: self.path.clone(),
            what,
            offset,
        };
        let size = self.stat(file)?.len();
        check_size(size)?;
        // Room for what is there; the limit holds also against a file that grows under the reading.
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
        let read = file.rewind();
        let read = read.and_then(|()| file.take(self.limit + 1).read_to_end(&mut bytes));
        check_size(read.map_err(|cause| self.unreadable(cause))? as u64)?;
        if let Some(offset) = memchr::memchr(0, &bytes) {
            return Err(not_text(NotText::Nul, offset));
        }
        String::from_utf8(bytes)
            .map_err(|error| not_text(NotText::NotUtf8, error.utf8_error().valid_up_to()))
    }

    /// Opens the watched file, or what came out of its place, for reading; or says what else it is. A symbolic link here was put there
    /// since the path was followed.
    fn open(&self, folder: &OpenFolder, at: &Path) -> Result<Option<File>, NoteError> {
        let check_kind = |meta: &Metadata| {
            if meta.is_file() {
                return Ok(());
            }
            Err(NoteError::NotAFile {
                path: self.path.clone(),
                kind: kind(meta),
            })
        };
        // Before it is opened, as opening a device can do things.
        match folder.metadata(at) {
            Ok(meta) => check_kind(&meta)?,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(self.unreadable(error)),
        }
        // Should it be a fifo by now, this does not wait for its writer.
        match folder.open_file(at, OFlags::RDONLY | OFlags::NONBLOCK, 0) {
            Ok(file) => {
                check_kind(&self.stat(&file)?)?;
                Ok(Some(file))
            }
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(self.unreadable(error)),
        }
    }

    fn stat(&self, file: &File) -> Result<Metadata, NoteError> {
        file.metadata().map_err(|cause| self.unreadable(cause))
    }

    fn unreadable(&self, cause: io::Error) -> NoteError {
        let path = self.path.clone();
        NoteError::Unreadable { path, cause }
    }

    fn unsteady(&self) -> NoteError {
        let path = self.path.clone();
        NoteError::Unsteady { path }
    }

    fn gone(&self) -> NoteError {
        let path = self.path.clone();
        NoteError::Gone { path }
    }

    fn not_writable(&self, cause: io::Error) -> NoteError {
        let path = self.path.clone();
        NoteError::NotWritable { path, cause }
    }

    fn cannot(&self, step: ReplaceStep, cause: io::Error) -> NoteError {
        let path = self.path.clone();
        NoteError::CannotReplace { path, step, cause }
    }
}

/// One try to read the file.
enum ReadAttempt {
    Missing,
    /// It changed while it was read.
    Moving,
    /// It did not; see [`NoteReading::Text`].
    Still {
        file: File,
        text: Result<String, NoteError>,
        no_writer: Option<bool>,
        changed_ms: i64,
    },
}

fn changed_ms(meta: &Metadata) -> i64 {
    meta.ctime() * 1000 + meta.ctime_nsec() / 1_000_000
}

fn kind(meta: &Metadata) -> &'static str {
    match meta.file_type() {
        kind if kind.is_dir() => "a directory",
        kind if kind.is_fifo() => "a fifo",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_symlink() => "a symbolic link since clada started to watch it",
        _ => "a device",
    }
}

fn names(paths: &[PathBuf]) -> String {
    let names: Vec<_> = paths
        .iter()
        .map(|path| format!("`{}`", path.display()))
        .collect();
    names.join(", ")
}

fn is_busy(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Follows symbolic links also where the last one leads to nothing yet, which `canonicalize` does not.
fn follow(given: &Path) -> Result<(PathBuf, Vec<PathBuf>), NoteError> {
    /// As many as the system itself follows.
    const MOST: usize = 40;
    let unreadable = |cause| NoteError::Unreadable {
        path: given.to_owned(),
        cause,
    };
    let mut path = std::path::absolute(given).map_err(unreadable)?;
    let mut links = Vec::new();
    while links.len() < MOST {
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok((path.canonicalize().map_err(unreadable)?, links));
        };
        let directory = directory
            .canonicalize()
            .unwrap_or_else(|_| directory.to_owned());
        path = directory.join(name);
        match fs::read_link(&path) {
            Ok(target) => links.push(std::mem::replace(&mut path, directory.join(target))),
            Err(_) => return Ok((path, links)),
        }
    }
    Err(unreadable(Errno::LOOP.into()))
}

/// The metadata that tell one state of a file from another without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NoteStamp {
    device: u64,
    inode: u64,
    size: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl NoteStamp {
    /// Without what also a rename of the file changes.
    fn text(&self) -> (u64, (i64, i64)) {
        (self.size, self.written)
    }
}

fn stamp(meta: &Metadata) -> NoteStamp {
    NoteStamp {
        device: meta.dev(),
        inode: meta.ino(),
        size: meta.len(),
        written: (meta.mtime(), meta.mtime_nsec()),
        changed: (meta.ctime(), meta.ctime_nsec()),
    }
}

#[cfg(test)]
mod tests;
