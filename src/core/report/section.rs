//! The content that a task shows: text, files, and the output of commands. Values only.

use std::io;

/// One piece of the content that a task shows.
#[derive(Debug)]
pub enum Section {
    Text(String),
    /// A file, or a part of one, by the name that it is shown with.
    File {
        name: String,
        content: String,
        /// The place of its lines, if they are shown as they are in the file.
        at: Option<Stretch>,
    },
    /// A stream of a command, by its name.
    Stream(&'static str, Box<dyn Spooled>),
}

/// The place of lines in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// The file, from the root.
    pub path: String,
    /// The number of the first of them, from 1.
    pub first: usize,
    /// The number of lines in the file.
    pub of: usize,
}

/// Text that may be too large for memory.
pub trait Spooled {
    /// In bytes.
    fn size(&self) -> u64;

    /// The number of its line ends.
    fn lines(&self) -> u64;

    /// All of it, or its first and last `edge` bytes, cut at characters.
    ///
    /// # Errors
    /// Where it cannot be read again.
    fn cut(&mut self, edge: usize) -> io::Result<Cut>;

    /// Its place in the file that the full output is written to, if it stands there already as it is to be: no line of it looks
    /// like one of clada's.
    fn place(&self) -> Option<FileSpan> {
        None
    }

    /// All of it.
    ///
    /// # Errors
    /// Where it cannot be read again, or not be written there.
    fn copy_to(&mut self, to: &mut dyn io::Write) -> io::Result<()>;
}

impl std::fmt::Debug for dyn Spooled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.size())
    }
}

/// A stretch of a file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSpan {
    pub from: u64,
    pub len: u64,
}

/// A writer of the full output.
pub trait OutputWriter: io::Write {
    /// Lets a text follow that stands in the file already: before it comes one line, with as many blanks between `opening` and
    /// `closing` as bring what was written so far up to the text. Returns the bytes of all that, or `None` if it must be
    /// written like any other.
    ///
    /// # Errors
    /// Where what is before it cannot be written.
    fn follow_with(
        &mut self,
        opening: &str,
        closing: &str,
        text: FileSpan,
    ) -> io::Result<Option<u64>>;
}

/// A writer that has nothing yet.
pub struct Afresh<'w>(pub &'w mut dyn io::Write);

impl io::Write for Afresh<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl OutputWriter for Afresh<'_> {
    fn follow_with(&mut self, _: &str, _: &str, _: FileSpan) -> io::Result<Option<u64>> {
        Ok(None)
    }
}

/// The start and the end of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    pub head: String,
    /// The number of bytes between head and tail; 0 if the head is all.
    pub left_out: u64,
    pub tail: String,
}
