//! Holds one output of a script, however large: a little in memory, more in a file. Changes nothing of it, but for lines like
//! clada's own where the file is one that people read.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};
use std::os::unix::fs::FileExt;
use std::rc::Rc;

use tempfile::{SpooledData, SpooledTempFile};

use crate::report::Unframing;
use crate::report::outcome::{Cut, FileSpan, Spooled};
use crate::world::long_text::{self, Appending, COPIED, LongText, ReadOn};

/// The most of an output that is kept in memory before it goes to a file, in bytes.
const IN_MEMORY: usize = 64 * 1024;

/// The bytes of each end of an output that are kept in memory while it stands where its own command can write: more than is asked
/// for.
const ENDS: usize = 32 * 1024;

/// An output that is still growing.
pub(super) struct Spool {
    kept: Growing,
    len: u64,
    lines: u64,
}

enum Growing {
    Own(SpooledTempFile),
    /// In the place where it is to be read in the end, and as it is to be there.
    Lent(Rc<LongText>, Unframing<Appending>, BothEnds),
}

/// The first and the last bytes of a long output.
#[derive(Debug, Default)]
struct BothEnds {
    head: Vec<u8>,
    /// As many as are kept, or up to four times that.
    tail: Vec<u8>,
}

impl BothEnds {
    fn add(&mut self, text: &[u8]) {
        let room = text.len().min(ENDS - self.head.len());
        self.head.extend_from_slice(&text[..room]);
        let last = &text[text.len().saturating_sub(ENDS)..];
        if self.tail.len() + last.len() > 4 * ENDS {
            self.tail.drain(..self.tail.len() - ENDS);
        }
        self.tail.extend_from_slice(last);
    }
}

impl Spool {
    pub(super) fn new() -> Self {
        Self {
            kept: Growing::Own(SpooledTempFile::new_in(IN_MEMORY, long_text::folder())),
            len: 0,
            lines: 0,
        }
    }

    /// True if it is in a file of its own.
    pub(super) fn is_long(&self) -> bool {
        self.len > IN_MEMORY as u64 && matches!(self.kept, Growing::Own(_))
    }

    /// Goes on in another place, to which it takes what it has.
    pub(super) fn move_to(&mut self, place: Rc<LongText>) -> io::Result<()> {
        let Growing::Own(file) = &mut self.kept else {
            return Ok(());
        };
        let mut lines = Unframing::new(Appending(place.clone()));
        let mut ends = BothEnds::default();
        let mut piece = vec![0; COPIED];
        file.rewind()?;
        loop {
            let read = file.read(&mut piece)?;
            if read == 0 {
                break;
            }
            lines.write_all(&piece[..read])?;
            ends.add(&piece[..read]);
        }
        lines.flush()?;
        place.cut_off()?;
        self.kept = Growing::Lent(place, lines, ends);
        Ok(())
    }

    pub(super) fn write(&mut self, text: &[u8]) -> io::Result<()> {
        self.len += text.len() as u64;
        self.lines += memchr::memchr_iter(b'\n', text).count() as u64;
        match &mut self.kept {
            Growing::Own(file) => file.write_all(text),
            Growing::Lent(_, lines, ends) => {
                ends.add(text);
                lines.write_all(text)?;
                lines.flush()
            }
        }
    }

    pub(super) fn captured(self) -> io::Result<Captured> {
        let spool = match self.kept {
            Growing::Own(file) => SpoolHome::Own(file.into_inner()),
            Growing::Lent(text, lines, ends) => {
                lines.finish()?;
                SpoolHome::Lent(text, ends)
            }
        };
        Ok(Captured {
            spool,
            len: self.len,
            lines: self.lines,
        })
    }
}

/// The whole of one output as plain text; a large one is in a file that no directory lists, and goes with this value.
#[derive(Debug)]
pub struct Captured {
    spool: SpoolHome,
    len: u64,
    lines: u64,
}

#[derive(Debug)]
enum SpoolHome {
    Own(SpooledData),
    Lent(Rc<LongText>, BothEnds),
}

impl Spooled for Captured {
    fn size(&self) -> u64 {
        self.len
    }

    fn lines(&self) -> u64 {
        self.lines
    }

    fn cut(&mut self, edge: usize) -> io::Result<Cut> {
        Self::cut(self, edge)
    }

    fn place(&self) -> Option<FileSpan> {
        match &self.spool {
            SpoolHome::Own(_) => None,
            SpoolHome::Lent(text, _) => text.in_place(|_, place| place),
        }
    }

    fn copy_to(&mut self, to: &mut dyn Write) -> io::Result<()> {
        io::copy(&mut BufReader::with_capacity(COPIED, self.reader()), to).map(drop)
    }
}

impl Default for Captured {
    fn default() -> Self {
        let nothing = io::Cursor::default();
        Self {
            spool: SpoolHome::Own(SpooledData::InMemory(nothing)),
            len: 0,
            lines: 0,
        }
    }
}

impl Captured {
    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The whole text if it is no longer than two edges, else its first and last `edge` bytes, less the characters that
    /// would be cut through.
    pub fn cut(&self, edge: usize) -> io::Result<Cut> {
        if self.len <= 2 * edge as u64 {
            let head = text(self.bytes(0, self.len as usize)?);
            return Ok(Cut {
                head,
                left_out: 0,
                tail: String::new(),
            });
        }
        let (mut head, mut tail) = match &self.spool {
            SpoolHome::Lent(_, BothEnds { head, tail }) => {
                let [head_len, tail_len] = [head, tail].map(|end| edge.min(end.len()));
                let tail = &tail[tail.len() - tail_len..];
                (head[..head_len].to_vec(), tail.to_vec())
            }
            SpoolHome::Own(_) => (
                self.bytes(0, edge)?,
                self.bytes(self.len - edge as u64, edge)?,
            ),
        };
        if let Err(error) = str::from_utf8(&head) {
            head.truncate(error.valid_up_to());
        }
        let start = tail
            .iter()
            .position(|&byte| byte & 0xc0 != 0x80)
            .unwrap_or(tail.len());
        tail.drain(..start);
        let left_out = self.len - (head.len() + tail.len()) as u64;
        Ok(Cut {
            head: text(head),
            left_out,
            tail: text(tail),
        })
    }

    /// Reads the text from its start.
    pub fn reader(&self) -> impl Read {
        self.reader_from(0)
    }

    fn reader_from(&self, at: u64) -> impl Read {
        let read_at = |buf: &mut [u8], at| self.read_at(buf, at);
        ReadOn { read_at, at }
    }

    fn bytes(&self, at: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(len);
        self.reader_from(at)
            .take(len as u64)
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
        match &self.spool {
            SpoolHome::Own(SpooledData::InMemory(memory)) => {
                let mut rest = memory.get_ref().get(at as usize..).unwrap_or_default();
                rest.read(buf)
            }
            SpoolHome::Own(SpooledData::OnDisk(file)) => File::read_at(file, buf, at),
            SpoolHome::Lent(text, _) => text.read_at(buf, at),
        }
    }
}

/// Returns the bytes as text: what [`plain`](crate::text::plain) has written is UTF-8, and only a spool that was tampered with is not.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
impl Captured {
    pub(super) fn is_on_disk(&self) -> bool {
        matches!(self.spool, SpoolHome::Own(SpooledData::OnDisk(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_long_one_are_out_of_reach() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text: String = (0..100_000).map(|number| format!("{number}\n")).collect();
        let whole = Captured {
            spool: SpoolHome::Own(SpooledData::InMemory(io::Cursor::new(text.clone().into()))),
            len: text.len() as u64,
            lines: 100_000,
        };
        for (first, piece) in [(70_000, 10), (200_000, 1_000), (400_000, 300_000)] {
            let mut spool = Spool::new();
            let (shown, rest) = text.as_bytes().split_at(first);
            spool.write(shown).unwrap();
            assert!(spool.is_long());
            let place = Rc::new(LongText::new(file.reopen().unwrap(), 0));
            spool.move_to(place).unwrap();
            for piece in rest.chunks(piece) {
                spool.write(piece).unwrap();
            }
            assert!(!spool.is_long());
            let captured = spool.captured().unwrap();
            assert_eq!(captured.lines, 100_000);
            assert!(std::fs::read_to_string(file.path()).unwrap() == text);
            std::fs::write(file.path(), "x".repeat(text.len())).unwrap();
            for edge in [10, ENDS] {
                assert_eq!(captured.cut(edge).unwrap(), whole.cut(edge).unwrap());
            }
        }
    }

    #[test]
    fn cuts_are_at_characters() {
        let captured = |text: &str| Captured {
            spool: SpoolHome::Own(SpooledData::InMemory(io::Cursor::new(text.into()))),
            len: text.len() as u64,
            lines: 0,
        };
        let cut = |text: &str, edge| {
            let Cut {
                head,
                left_out,
                tail,
            } = captured(text).cut(edge).unwrap();
            format!("{head}|{left_out}|{tail}")
        };
        assert_eq!(cut("abcdef", 3), "abcdef|0|");
        assert_eq!(cut("abcdefg", 3), "abc|1|efg");
        assert_eq!(cut("aéé日日éz", 4), "aé|8|éz");
        assert_eq!(cut("日日日", 2), "|9|");
        assert_eq!(cut("", 0), "|0|");
        assert_eq!(cut("é", 0), "|2|");
    }
}
