//! The entries of git's index file, read without libgit2: that takes several times as long, and needs the only thread in which the
//! repository is. Strict: whatever it does not know for sure is left to libgit2.
//!
//! It trusts the checksum, which libgit2 compares with the content when it reads the same file.

use git2::{IndexEntry, IndexTime, Oid};

use super::recorded::{FILE, GITLINK, INTENT_TO_ADD, LINK, PROGRAM, SKIP_WORKTREE};
use super::walk::Checksum;
use crate::world::sandbox::index_records::{FIXED, IndexRecord, IndexRecords, number};

/// The bits of an entry's flags.
const EXTENDED: u16 = 1 << 14;
const STAGE: u16 = 0b11 << 12;
const NAME_LENGTH: u16 = 0xfff;

/// The least bytes of an entry.
const LEAST: usize = FIXED + 2;

/// Extensions that say nothing of which entries there are: what git and libgit2 remember besides.
const EXTENSIONS: [&[u8]; 7] = [
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
        let mut records = IndexRecords::of(content)?;
        if !content.starts_with(b"DIRC") || !matches!(records.version(), 2..=4) {
            return None;
        }
        let count = usize::try_from(records.left()).ok()?;
        if count > content.len() / LEAST {
            return None;
        }
        let mut entries: Vec<IndexEntry> = Vec::with_capacity(count);
        for _ in 0..count {
            let record = records.read()?;
            let entry = entry(&record, records.path(), records.version())?;
            if entries.last().is_some_and(|last| last.path >= entry.path) {
                return None;
            }
            entries.push(entry);
        }
        let mut rest = records.rest();
        while !rest.is_empty() {
            let (name, length) = (rest.get(..4)?, number(rest, 4)?);
            if !EXTENSIONS.contains(&name) {
                return None;
            }
            rest = rest.get(8..)?.get(usize::try_from(length).ok()?..)?;
        }
        Some(Self {
            entries,
            checksum: *checksum,
        })
    }
}

/// The entry at a path, if it is a plain one.
fn entry(record: &IndexRecord<'_>, path: &[u8], version: u32) -> Option<IndexEntry> {
    let fixed = record.fixed;
    let field = |at: usize| number(fixed, at);
    let time = |at: usize| Some(IndexTime::new(field(at)?.cast_signed(), field(at + 4)?));
    let entry = IndexEntry {
        ctime: time(0)?,
        mtime: time(8)?,
        dev: field(16)?,
        ino: field(20)?,
        mode: field(24)?,
        uid: field(28)?,
        gid: field(32)?,
        file_size: field(36)?,
        id: Oid::from_bytes(&fixed[40..60]).ok()?,
        flags: u16::from_be_bytes([fixed[60], fixed[61]]),
        flags_extended: record.extended,
        path: path.to_vec(),
    };
    let length = path.len().min(usize::from(NAME_LENGTH));
    let is_known = matches!(entry.mode, FILE | PROGRAM | LINK | GITLINK)
        && entry.flags & STAGE == 0
        && (version > 2 || entry.flags & EXTENDED == 0)
        && entry.flags_extended & !(SKIP_WORKTREE | INTENT_TO_ADD) == 0
        && length == usize::from(entry.flags & NAME_LENGTH)
        && !path.is_empty()
        && record.padding?.iter().all(|byte| *byte == 0);
    is_known.then_some(entry)
}
