//! The file beside the watched one that holds the full output: written as commands run, put into its final form at the
//! end. Never anything but a regular file of its own name, since clada writes it outside every fence.

mod follow;

use std::fs::{File, Metadata};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::folder::OpenFolder;

pub use follow::{Follower, Piece};

/// The first line for as long as a run goes on.
pub const RUNNING: &str = "⏳ running\n";

/// The bytes that are written at once in the final form: each write is told to all who watch the folder, clada among them.
const AT_ONCE: usize = 256 * 1024;

/// The output file of one watched file.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    file: Option<File>,
}

impl OutputFile {
    /// Nothing is opened yet.
    pub fn new(path: PathBuf) -> Self {
        Self { path, file: None }
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the output of a run that never came to its end, or the end of that; `None` if the file is in its final form.
    pub fn unfinished(&self) -> Option<String> {
        const MOST: u64 = 1024 * 1024;
        let mut file = self.to_read()?;
        let mut first = [0; RUNNING.len()];
        file.read_exact(&mut first).ok()?;
        if first != *RUNNING.as_bytes() {
            return None;
        }
        let size = file.metadata().ok()?.len();
        file.seek(SeekFrom::Start(
            size.saturating_sub(MOST).max(RUNNING.len() as u64),
        ))
        .ok()?;
        let mut bytes = Vec::new();
        file.take(MOST).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The file, if it is in its final form and of this size.
    pub fn finished(&self, size: u64) -> Option<File> {
        let file = self.to_read()?;
        let found = file.metadata().ok()?;
        let is_it = found.is_file() && found.len() == size && self.unfinished().is_none();
        is_it.then_some(file)
    }

    /// Empties it for a new run. It is written in place, so that `tail -f` goes on following it.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn begin(&mut self, first: &str) -> io::Result<()> {
        self.file = None;
        let mut file = self.open()?;
        file.set_len(0)?;
        file.write_all(first.as_bytes())?;
        self.file = Some(file);
        Ok(())
    }

    /// Adds what a command just wrote, or a line about it.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file
            .as_mut()
            .map_or(Ok(()), |file| file.write_all(bytes))
    }

    /// Replaces all by its final form, and closes the file.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn finish(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        // A command may have put something else in its place.
        let mut file = match self.file.take().filter(|file| self.is_there(file)) {
            Some(file) => file,
            None => self.open()?,
        };
        file.set_len(0)?;
        file.rewind()?;
        let mut buffered = BufWriter::with_capacity(AT_ONCE, file);
        write(&mut buffered)?;
        buffered.flush()
    }

    /// Tells if the path leads to this file.
    fn is_there(&self, file: &File) -> bool {
        let there = self.to_read().and_then(|there| there.metadata().ok());
        let id = |meta: &Metadata| (meta.dev(), meta.ino());
        let is_it = |own: Metadata| there.is_some_and(|there| id(&there) == id(&own));
        file.metadata().is_ok_and(is_it)
    }

    /// The file, if it can be read.
    fn to_read(&self) -> Option<File> {
        let folder = OpenFolder::of(&self.path).ok()?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        folder.open_file(&self.path, flags, 0).ok()
    }

    /// Opens the file itself, in its folder and not behind a link that took the folder's place. A task may have put something else in its place: a link is refused by the system, and a
    /// second name of some other file is taken away before anything is written through it.
    fn open(&self) -> io::Result<File> {
        let folder = OpenFolder::of(&self.path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NONBLOCK;
        let open = |flags| folder.open_file(&self.path, flags, 0o666);
        let fresh = || {
            folder.remove(&self.path)?;
            open(flags | OFlags::EXCL)
        };
        let file = match open(flags) {
            // A link, or a pipe that nobody reads.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ELOOP | libc::ENXIO)) => {
                return fresh();
            }
            Err(error) if error.raw_os_error() == Some(libc::EISDIR) => {
                return Err(io::Error::other("it is a folder: remove it"));
            }
            file => file?,
        };
        let found = file.metadata()?;
        if found.is_file() && found.nlink() <= 1 {
            Ok(file)
        } else {
            fresh()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(output: &mut OutputFile) -> String {
        output.begin("begin\n").expect("begin");
        output.append(b"live\n").expect("append");
        assert_eq!(
            std::fs::read_to_string(output.path()).expect("read"),
            "begin\nlive\n"
        );
        output
            .finish(|to| to.write_all(b"final\n"))
            .expect("finish");
        std::fs::read_to_string(output.path()).expect("read")
    }

    #[test]
    fn the_final_form_replaces_what_was_written_live() {
        let dir = tempfile::tempdir().expect("temp dir");
        let mut output = OutputFile::new(dir.path().join("out"));
        assert_eq!(written(&mut output), "final\n");
        output.append(b"late").expect("append");
        assert_eq!(written(&mut output), "final\n");
    }

    #[test]
    fn what_a_run_wrote_that_did_not_end_is_found() {
        let dir = tempfile::tempdir().expect("temp dir");
        let mut output = OutputFile::new(dir.path().join("out"));
        assert_eq!(output.unfinished(), None);
        output.begin(RUNNING).expect("begin");
        output.append("half a line".as_bytes()).expect("append");
        assert_eq!(output.unfinished().as_deref(), Some("half a line"));
        output
            .finish(|to| to.write_all(b"final\n"))
            .expect("finish");
        assert_eq!(output.unfinished(), None);
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let dir = tempfile::tempdir().expect("temp dir");
        let (target, path) = (dir.path().join("target"), dir.path().join("out"));
        std::fs::write(&target, "mine").expect("write");
        for link in [
            std::os::unix::fs::symlink::<&Path, &Path>,
            std::fs::hard_link::<&Path, &Path>,
        ] {
            let _ = std::fs::remove_file(&path);
            link(&target, &path).expect("link");
            written(&mut OutputFile::new(path.clone()));
            assert_eq!(std::fs::read_to_string(&target).expect("read"), "mine");
        }
    }
}
