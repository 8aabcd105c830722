//! The entries of git's index file, read without libgit2: that takes several times as long, and needs the only thread in which the
//! repository is. Owns the format of that file; strict, so that whatever it does not know for sure is left to libgit2.
//!
//! It trusts the checksum, which libgit2 compares with the content when it reads the same file.

use git2::{IndexEntry, IndexTime, Oid};

use super::recorded::{GITLINK, INTENT_TO_ADD, LINK, SKIP_WORKTREE};
use super::walk::Checksum;

/// The bits of an entry's flags.
const EXTENDED: u16 = 1 << 14;
const STAGE: u16 = 0b11 << 12;
const NAME_LENGTH: u16 = 0xfff;

/// The bytes of an entry that are before its name, without the second flags.
const FIXED: usize = 62;

/// The least bytes of an entry.
const LEAST: usize = FIXED + 2;

/// Extensions that say nothing of which entries there are: what git and libgit2 remember besides.
const EXTENSIONS: [&[u8; 4]; 7] = [
    b"TREE", b"REUC", b"NAME", b"UNTR", b"FSMN", b"EOIE", b"IEOT",
];

/// The entries of an index, in the order of their paths.
pub(super) struct IndexContent {
    pub(super) entries: Vec<IndexEntry>,
    pub(super) checksum: Checksum,
}

impl IndexContent {
    /// Takes an index file apart; `None` for one that is unmerged, split, sparse, damaged, or in any other way not plain.
    pub(super) fn of(file: &[u8]) -> Option<Self> {
        let (content, checksum) = file.split_last_chunk()?;
        let mut rest = Bytes(content);
        let signature = rest.take(4)?;
        let version = rest.number()?;
        if signature != b"DIRC" || !matches!(version, 2..=4) {
            return None;
        }
        let count = usize::try_from(rest.number()?).ok()?;
        if count > rest.0.len() / LEAST {
            return None;
        }
        let mut entries: Vec<IndexEntry> = Vec::with_capacity(count);
        for _ in 0..count {
            let last = entries.last().map_or(&[][..], |last| &last.path);
            let entry = rest.entry(version, last)?;
            if entry.path.as_slice() <= last {
                return None;
            }
            entries.push(entry);
        }
        while !rest.0.is_empty() {
            let name = rest.take(4)?;
            let length = rest.number()?;
            rest.take(usize::try_from(length).ok()?)?;
            if !EXTENSIONS.iter().any(|known| *known == name) {
                return None;
            }
        }
        Some(Self {
            entries,
            checksum: *checksum,
        })
    }
}

/// The bytes of an index file that were not looked at yet.
struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn number(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    fn time(&mut self) -> Option<IndexTime> {
        let seconds = self.number()?.cast_signed();
        Some(IndexTime::new(seconds, self.number()?))
    }

    /// Reads an entry; `last` is the path of the one before it.
    fn entry(&mut self, version: u32, last: &[u8]) -> Option<IndexEntry> {
        let begin = self.0.len();
        let mut entry = IndexEntry {
            ctime: self.time()?,
            mtime: self.time()?,
            dev: self.number()?,
            ino: self.number()?,
            mode: self.number()?,
            uid: self.number()?,
            gid: self.number()?,
            file_size: self.number()?,
            id: Oid::from_bytes(self.take(20)?).ok()?,
            flags: self.array().map(u16::from_be_bytes)?,
            flags_extended: 0,
            path: Vec::new(),
        };
        if entry.flags & EXTENDED != 0 {
            entry.flags_extended = self.array().map(u16::from_be_bytes)?;
        }
        let is_known = matches!(entry.mode, 0o100_644 | 0o100_755 | LINK | GITLINK)
            && entry.flags & STAGE == 0
            && (version > 2 || entry.flags & EXTENDED == 0)
            && entry.flags_extended & !(SKIP_WORKTREE | INTENT_TO_ADD) == 0;
        if !is_known {
            return None;
        }
        entry.path = if version == 4 {
            self.shared_name(last)?
        } else {
            let name = self.name()?.to_vec();
            // The name's end is a NUL already, and the entry's length is a multiple of eight.
            let padding = (begin - self.0.len()).wrapping_neg() % 8;
            if self.take(padding)?.iter().any(|byte| *byte != 0) {
                return None;
            }
            name
        };
        let length = entry.path.len().min(usize::from(NAME_LENGTH));
        (length == usize::from(entry.flags & NAME_LENGTH)).then_some(entry)
    }

    /// Reads what is before the next NUL, and that.
    fn name(&mut self) -> Option<&'b [u8]> {
        let name = self.take(memchr::memchr(0, self.0)?)?;
        self.take(1)?;
        Some(name)
    }

    /// Reads a name that says only in which bytes at its end it is not as the one before it.
    fn shared_name(&mut self, last: &[u8]) -> Option<Vec<u8>> {
        let dropped = usize::try_from(self.variable()?).ok()?;
        let kept = &last[..last.len().checked_sub(dropped)?];
        Some([kept, self.name()?].concat())
    }

    /// Reads a number of as many bytes as it needs, as git's packs have them too.
    fn variable(&mut self) -> Option<u64> {
        let [mut byte] = self.array()?;
        let mut number = u64::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            [byte] = self.array()?;
            number = number.checked_add(1)?.checked_mul(0x80)? + u64::from(byte & 0x7f);
        }
        Some(number)
    }
}
