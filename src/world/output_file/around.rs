//! Writes the final form of an output file around a text that is in its place in it already.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

use super::AT_ONCE;
use crate::report::outcome::{FileSpan, OutputWriter};

/// The most that is kept in memory of what is to stand above the text, in bytes.
const MOST: usize = 1024 * 1024;

/// Gathers what is to stand above the text, writes it at once, and then what follows.
pub(super) struct Around<'f> {
    file: &'f File,
    text: FileSpan,
    above: Vec<u8>,
    below: Option<BufWriter<&'f File>>,
}

impl<'f> Around<'f> {
    /// Nothing is written yet.
    pub(super) fn new(file: &'f File, text: FileSpan) -> Self {
        Self {
            file,
            text,
            above: Vec::new(),
            below: None,
        }
    }

    /// Cuts off what the file has behind all that was written. `None` if nothing of it was written, as the text cannot stay in
    /// its place.
    pub(super) fn end(self, written: io::Result<()>) -> Option<io::Result<()>> {
        let mut below = self.below?;
        let end = || {
            written?;
            below.flush()?;
            let end = below.stream_position()?;
            self.file.set_len(end)
        };
        Some(end())
    }
}

impl Write for Around<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(below) = &mut self.below {
            return below.write(bytes);
        }
        if self.above.len() + bytes.len() > MOST {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.above.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.below.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl OutputWriter for Around<'_> {
    fn follow_with(
        &mut self,
        opening: &str,
        closing: &str,
        text: FileSpan,
    ) -> io::Result<Option<u64>> {
        if self.below.is_some() || text != self.text {
            return Ok(None);
        }
        let used = (self.above.len() + opening.len() + closing.len()) as u64;
        let Some(blanks) = text
            .from
            .checked_sub(used)
            .filter(|blanks| *blanks <= MOST as u64)
        else {
            return Err(io::ErrorKind::FileTooLarge.into());
        };
        let line = format!("{opening}{}{closing}", " ".repeat(blanks as usize));
        self.above.extend_from_slice(line.as_bytes());
        self.file.write_all_at(&self.above, 0)?;
        let mut file = self.file;
        file.seek(SeekFrom::Start(text.from + text.len))?;
        self.below = Some(BufWriter::with_capacity(AT_ONCE, file));
        Ok(Some(line.len() as u64 + text.len))
    }
}
