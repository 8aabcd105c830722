//! The file beside the watched one that holds the full output: written as commands run, put into its final form at the
//! end. Never anything but a regular file of its own name, since clada writes it outside every fence.

mod around;
mod follow;

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};

use rustix::fs::OFlags;

use super::folder::OpenFolder;
use super::long_text::LongText;
use crate::report::outcome::{Afresh, FileSpan, OutputWriter};
use around::Around;

pub use follow::{Follower, Piece};

/// The first line for as long as a run goes on.
pub const RUNNING: &str = "⏳ running\n";

/// The bytes that are written at once in the final form: each write is told to all who watch the folder, clada among them.
const AT_ONCE: usize = 256 * 1024;

/// The room before a long output for what is to stand above it, which is longer in the final form than while a run goes on.
const ROOM: usize = 4096;

/// The output file of one watched file.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    file: Option<File>,
    /// The offset at which the output of the task that runs begins.
    part: u64,
    /// The one output of this run that was lent a place in the file.
    long: Option<Weak<LongText>>,
}

impl OutputFile {
    /// Nothing is opened yet.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            file: None,
            part: 0,
            long: None,
        }
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
        if let Some(long) = self.long.take().and_then(|long| long.upgrade()) {
            long.move_out()?;
        }
        let mut file = self.open()?;
        // Not to nothing: ext4 takes that for a file that is replaced, and where it is closed next, the results of a
        // flood would wait until all of it is on its way to the disk.
        if file.metadata()?.len() > 1 {
            file.set_len(1)?;
        }
        file.write_all(first.as_bytes())?;
        self.file = Some(file);
        Ok(())
    }

    /// Adds the title of a task, whose output follows.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn begin_part(&mut self, title: &str) -> io::Result<()> {
        self.append(title.as_bytes())?;
        if let Some(file) = &mut self.file {
            self.part = file.stream_position()?;
        }
        Ok(())
    }

    /// Adds what a command just wrote; nothing of a task whose long output is written to its place here by itself.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn append_output(&mut self, bytes: &[u8]) -> io::Result<()> {
        let long = self.long.as_ref().and_then(Weak::upgrade);
        let from = long.and_then(|long| long.in_place(|_, text| text.from));
        if from == Some(self.part + ROOM as u64) {
            return Ok(());
        }
        self.append(bytes)
    }

    /// Adds a line.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        if self.long.is_some() {
            file.seek(SeekFrom::End(0))?;
        }
        file.write_all(bytes)
    }

    /// Lends an output that has become long the place where the task's output was shown so far: it stays there in the final
    /// form, so that it is written only once. One output of a run can have it.
    pub fn lend(&mut self) -> Option<Rc<LongText>> {
        let file = self.file.as_ref().filter(|_| self.long.is_none())?;
        let there = self.to_use(OFlags::RDWR)?;
        if id(file).ok()? != id(&there).ok()? {
            return None;
        }
        let mut room = " ".repeat(ROOM - 1);
        room.push('\n');
        there.write_all_at(room.as_bytes(), self.part).ok()?;
        let long = Rc::new(LongText::new(there, self.part + ROOM as u64));
        self.long = Some(Rc::downgrade(&long));
        Some(long)
    }

    /// Replaces all by its final form, and closes the file. `write` may be asked twice.
    ///
    /// # Errors
    /// Where it cannot be written. On a full disk only its start is left then: the notes with the results have to be written too.
    pub fn finish(
        &mut self,
        mut write: impl FnMut(&mut dyn OutputWriter) -> io::Result<()>,
    ) -> io::Result<()> {
        let finished = self.write_all(&mut write);
        if let Err(error) = &finished
            && error.kind() == io::ErrorKind::StorageFull
            && let Some(file) = self.to_use(OFlags::WRONLY)
            && file.metadata()?.len() > AT_ONCE as u64
        {
            file.set_len(AT_ONCE as u64)?;
        }
        finished
    }

    fn write_all(
        &mut self,
        write: &mut dyn FnMut(&mut dyn OutputWriter) -> io::Result<()>,
    ) -> io::Result<()> {
        if let Some(long) = self.long.as_ref().and_then(Weak::upgrade) {
            let finished = long.in_place(|file, place| self.finish_around(file, place, write));
            if let Some(finished) = finished.flatten() {
                self.file = None;
                return finished;
            }
            long.move_out()?;
        }
        // A command may have put something else in its place.
        let mut file = match self.file.take().filter(|file| self.is_there(file)) {
            Some(file) => file,
            None => self.open()?,
        };
        file.set_len(0)?;
        file.rewind()?;
        let mut buffered = BufWriter::with_capacity(AT_ONCE, file);
        write(&mut Afresh(&mut buffered))?;
        buffered.flush()
    }

    /// Writes the final form around a text that is in its place. `None` if that cannot be: nothing is changed then.
    fn finish_around(
        &self,
        file: &File,
        text: FileSpan,
        write: &mut dyn FnMut(&mut dyn OutputWriter) -> io::Result<()>,
    ) -> Option<io::Result<()>> {
        // A command may have put something else in its place, or cut it off.
        let is_whole = |file: &File| Some(file.metadata().ok()?.len() >= text.from + text.len);
        if !self.is_there(file) || is_whole(file) != Some(true) {
            return None;
        }
        let mut around = Around::new(file, text);
        let written = write(&mut around);
        around.end(written)
    }

    /// Tells if the path leads to this file.
    fn is_there(&self, file: &File) -> bool {
        let there = self.to_read();
        there.is_some_and(|there| id(&there).is_ok_and(|there| id(file).ok() == Some(there)))
    }

    /// The file, if it can be read.
    fn to_read(&self) -> Option<File> {
        self.to_use(OFlags::RDONLY)
    }

    /// The file, if it is there and may be opened so.
    fn to_use(&self, access: OFlags) -> Option<File> {
        let folder = OpenFolder::of(&self.path).ok()?;
        let flags = access | OFlags::NONBLOCK;
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

/// Tells which file it is.
fn id(file: &File) -> io::Result<(u64, u64)> {
    let meta = file.metadata()?;
    Ok((meta.dev(), meta.ino()))
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

    const TITLE: &str = "\n[1] exec yes:\n";

    /// A run whose only task wrote `shown` before its output became long, then `more`.
    fn flooded(output: &mut OutputFile, shown: &str, more: &str) -> Rc<LongText> {
        output.begin(RUNNING).expect("begin");
        output.begin_part(TITLE).expect("title");
        let append = |output: &mut OutputFile, text: &str| {
            output.append_output(text.as_bytes()).expect("append");
        };
        append(output, shown);
        let long = output.lend().expect("a place");
        long.append(shown.as_bytes()).expect("append");
        append(output, "not shown: it grows by itself");
        long.append(more.as_bytes()).expect("append");
        append(output, "not shown: it is there");
        output.append(b"done\n").expect("append");
        long
    }

    /// Puts it into its final form; returns that without the blanks.
    fn finished(output: &mut OutputFile, head: &str, long: &LongText) -> String {
        let finish = |to: &mut dyn OutputWriter| {
            to.write_all(head.as_bytes())?;
            let text = long.in_place(|_, place| place);
            let follows = text.map(|text| to.follow_with("<off", ">\n", text));
            if follows.transpose()?.flatten().is_none() {
                let mut text = vec![0; usize::try_from(long.len()).expect("small")];
                long.read_at(&mut text, 0)?;
                to.write_all(&[b"<off>\n", &*text].concat())?;
            }
            to.write_all(b"<on>\n")
        };
        output.finish(finish).expect("finish");
        let text = std::fs::read_to_string(output.path()).expect("read");
        text.replace("  ", "").replace("<off >", "<off>")
    }

    #[test]
    fn a_long_output_stays_where_it_was_written() {
        let dir = tempfile::tempdir().expect("temp dir");
        let mut output = OutputFile::new(dir.path().join("out"));
        for more in ["more\n", "", &"more\n".repeat(100_000)] {
            let long = flooded(&mut output, "shown\n", more);
            let live = std::fs::read_to_string(output.path()).expect("read");
            let expected = format!("\nshown\n{more}done\n");
            assert!(live.starts_with(RUNNING) && live.ends_with(&expected));
            assert!(output.lend().is_none(), "one of a run");
            let place = long.in_place(|_, place| place);
            // The first line may be put right afterwards.
            for head in ["head\n", "another head\n", "h\n"] {
                let text = finished(&mut output, head, &long);
                assert!(text == format!("{head}<off>\nshown\n{more}<on>\n"));
                assert_eq!(long.in_place(|_, place| place), place);
            }
        }
    }

    #[test]
    fn a_long_output_moves_where_too_much_stands_above_it() {
        let dir = tempfile::tempdir().expect("temp dir");
        let mut output = OutputFile::new(dir.path().join("out"));
        for length in [ROOM + 100, 2 * ROOM, 3 * 1024 * 1024] {
            let long = flooded(&mut output, "shown\n", "more\n");
            let head = "h".repeat(length);
            for head in [&*head, "head\n"] {
                let text = finished(&mut output, head, &long);
                assert!(text == format!("{head}<off>\nshown\nmore\n<on>\n"));
                assert!(long.in_place(|_, _| ()).is_none());
            }
        }
    }

    #[test]
    fn a_command_may_do_what_it_likes_to_the_file_with_a_long_output() {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("out");
        let mut output = OutputFile::new(path.clone());
        let expected = "head\n<off>\nshown\nmore\n<on>\n";
        let mut check = |harm: &dyn Fn()| {
            let long = flooded(&mut output, "shown\n", "more\n");
            harm();
            assert_eq!(finished(&mut output, "head\n", &long), expected);
        };
        check(&|| std::fs::remove_file(&path).expect("remove"));
        check(&|| {
            std::fs::remove_file(&path).expect("remove");
            std::fs::write(&path, "something else").expect("write");
        });
        let aside = dir.path().join("aside");
        check(&|| std::fs::rename(&path, &aside).expect("rename"));
        check(&|| {
            let mut more = File::options().append(true).open(&path).expect("open");
            more.write_all(b"something more").expect("write");
        });

        let long = flooded(&mut output, "shown\n", "more\n");
        File::create(&path).expect("emptied");
        let lost = finished(&mut output, "head\n", &long);
        assert!(lost.starts_with("head\n<off>\n") && lost.ends_with("<on>\n"));
    }

    #[test]
    fn a_long_output_that_is_still_held_leaves_the_file_to_the_next_run() {
        let dir = tempfile::tempdir().expect("temp dir");
        let mut output = OutputFile::new(dir.path().join("out"));
        let long = flooded(&mut output, "shown\n", "more\n");
        assert_eq!(written(&mut output), "final\n");
        let mut text = [0; 11];
        long.read_at(&mut text, 0).expect("read");
        assert_eq!(text, *b"shown\nmore\n");
        // A task of which nothing is told leaves nothing.
        drop(flooded(&mut output, "shown\n", "more\n"));
        output
            .finish(|to| to.write_all(b"final\n"))
            .expect("finish");
        assert_eq!(
            std::fs::read_to_string(output.path()).expect("read"),
            "final\n"
        );
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
