//! A text that is too long for memory, written where it is to be read in the end: in a file that others fill around it. Never
//! decides which file that is.

use std::cell::{Cell, RefCell};
use std::env;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::report::outcome::FileSpan;
use crate::text::size;

/// The bytes that are copied at once: much more no longer fits into a processor's cache, and is slower.
pub const COPIED: usize = 64 * 1024;

/// The folder of what is too long for memory. Not `/tmp` if it can be helped: it is memory on many systems.
pub fn folder() -> PathBuf {
    let var_tmp = Path::new("/var/tmp");
    if env::var_os("TMPDIR").is_none() && var_tmp.is_dir() {
        return var_tmp.to_owned();
    }
    env::temp_dir()
}

/// The text. Where the file around it is needed for something else, it moves to one of its own, which no directory lists.
#[derive(Debug)]
pub struct LongText {
    home: RefCell<Home>,
    len: Cell<u64>,
}

/// The place of a text.
#[derive(Debug)]
struct Home {
    file: File,
    from: u64,
    is_own: bool,
}

impl LongText {
    /// An empty one that begins at an offset of a file, which must be open for reading and writing.
    pub fn new(file: File, from: u64) -> Self {
        let is_own = false;
        Self {
            home: RefCell::new(Home { file, from, is_own }),
            len: Cell::new(0),
        }
    }

    /// The bytes of the text.
    pub fn len(&self) -> u64 {
        self.len.get()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Looks at the file that it was begun in, and at its place there; `None` once it has moved.
    pub fn in_place<T>(&self, look: impl FnOnce(&File, FileSpan) -> T) -> Option<T> {
        let home = self.home.borrow();
        let (from, len) = (home.from, self.len());
        (!home.is_own).then(|| look(&home.file, FileSpan { from, len }))
    }

    /// Cuts off what its file has behind it.
    ///
    /// # Errors
    /// What the system says.
    pub fn cut_off(&self) -> io::Result<()> {
        let home = self.home.borrow();
        let end = home.from + self.len();
        if home.file.metadata()?.len() > end {
            home.file.set_len(end)?;
        }
        Ok(())
    }

    /// Adds to it. Where its file takes no more, it moves.
    ///
    /// # Errors
    /// Where it cannot be written in either.
    pub fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let write = || {
            let home = self.home.borrow();
            let end = home.from + self.len();
            if home.file.metadata()?.len() < end {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            home.file.write_all_at(bytes, end)
        };
        if write().is_err() {
            self.move_out()?;
            write()?;
        }
        self.len.set(self.len() + bytes.len() as u64);
        Ok(())
    }

    /// Reads from an offset in it.
    ///
    /// # Errors
    /// What the system says.
    pub fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
        let left = self.len().saturating_sub(at);
        let most = buf.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let home = self.home.borrow();
        home.file.read_at(&mut buf[..most], home.from + at)
    }

    fn reader(&self) -> impl Read {
        let read_at = |buf: &mut [u8], at| self.read_at(buf, at);
        ReadOn { read_at, at: 0 }
    }

    /// Moves it to a file of its own, if it is not there already. What somebody has cut off is lost, and that
    /// is said in it.
    ///
    /// # Errors
    /// Where it cannot be copied; it stays where it is then.
    pub fn move_out(&self) -> io::Result<()> {
        if self.home.borrow().is_own {
            return Ok(());
        }
        let mut file = tempfile::tempfile_in(folder())?;
        let mut all = BufReader::with_capacity(COPIED, self.reader());
        let mut copied = io::copy(&mut all, &mut file)?;
        if let Some(lost) = self.len().checked_sub(copied).filter(|lost| *lost > 0) {
            let said = lost_line(lost);
            file.write_all(said.as_bytes())?;
            copied += said.len() as u64;
        }
        self.len.set(copied);
        *self.home.borrow_mut() = Home {
            file,
            from: 0,
            is_own: true,
        };
        Ok(())
    }
}

/// The line in the place of so many lost bytes.
fn lost_line(lost: u64) -> String {
    format!(
        "\n… {} of this output are lost: a command cut off the file that it was written to …\n",
        size::show(lost)
    )
}

/// Reads on what can be read at offsets.
pub struct ReadOn<F> {
    pub read_at: F,
    /// The next of them.
    pub at: u64,
}

impl<F: FnMut(&mut [u8], u64) -> io::Result<usize>> Read for ReadOn<F> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = (self.read_at)(buf, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Adds to the end of a text.
#[derive(Debug)]
pub struct Appending(pub Rc<LongText>);

impl Write for Appending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn all(text: &LongText) -> String {
        let mut read = String::new();
        text.reader().read_to_string(&mut read).expect("read");
        read
    }

    /// A text that begins at the offset 5 of a file.
    fn begun() -> (tempfile::TempDir, Rc<LongText>) {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("file");
        fs::write(&path, "head|and an old end").expect("write");
        let file = File::options().read(true).write(true).open(&path);
        let text = LongText::new(file.expect("open"), 5);
        (dir, Rc::new(text))
    }

    #[test]
    fn it_stands_in_its_file_and_moves_as_a_whole() {
        let (dir, text) = begun();
        let path = dir.path().join("file");
        Appending(text.clone()).write_all(b"one ").expect("append");
        text.cut_off().expect("cut");
        text.append(b"two").expect("append");
        assert_eq!(fs::read_to_string(&path).expect("read"), "head|one two");
        let place = FileSpan { from: 5, len: 7 };
        assert_eq!(text.in_place(|_, place| place), Some(place));

        text.move_out().expect("move");
        fs::write(&path, "").expect("write");
        text.append(b" three").expect("append");
        assert_eq!(all(&text), "one two three");
        assert_eq!(fs::read_to_string(&path).expect("read"), "");
        assert!(text.in_place(|_, _| ()).is_none());
    }

    #[test]
    fn it_has_no_hole_where_its_file_was_cut_off() {
        let (_dir, text) = begun();
        text.append(b"one two").expect("append");
        text.in_place(|file, _| file.set_len(8))
            .expect("cut")
            .expect("cut");
        text.append(b" three").expect("append");
        let lost = "\n… 4 B of this output are lost: a command cut off the file that it was written to …\n";
        assert_eq!(all(&text), format!("one{lost} three"));
    }

    #[test]
    fn it_moves_where_its_file_takes_no_more() {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("file");
        fs::write(&path, "kept").expect("write");
        // It can only be read.
        let text = LongText::new(File::open(&path).expect("open"), 4);
        text.append(b"text").expect("append");
        assert_eq!(all(&text), "text");
        assert_eq!(fs::read_to_string(&path).expect("read"), "kept");
    }
}
