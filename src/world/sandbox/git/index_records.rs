//! The entries of git's index file, of the versions 2 to 4, as they stand in it. Owns the form of an entry. As lenient as git: what
//! git does not look at is not looked at here either.

use std::mem;

/// The length of an entry's part before its name, with an id of SHA-1 and without the second flags.
pub const FIXED: usize = 62;

/// The file's part before its entries.
const HEAD: usize = 12;

/// The place of an entry's flags, and the bit in their first byte that says that there are second ones.
const FLAGS: usize = 60;
const EXTENDED: u8 = 0x40;

/// The entries of an index file, read one by one.
pub struct IndexRecords<'f> {
    version: u32,
    /// The number of entries that were not read yet, as far as the file says.
    left: u32,
    rest: &'f [u8],
    /// The path of the last entry: in version 4 the next one says how it differs.
    path: Vec<u8>,
}

/// An entry, but for its path.
pub struct IndexRecord<'f> {
    pub fixed: &'f [u8; FIXED],
    /// Its second flags; 0 where it has none.
    pub extended: u16,
    /// The bytes between the name's end and the next entry; `None` where the file ends before that.
    pub padding: Option<&'f [u8]>,
}

impl<'f> IndexRecords<'f> {
    /// The entries of a file; `None` where it is too short for one.
    pub fn of(file: &'f [u8]) -> Option<Self> {
        Some(Self {
            version: number(file, 4)?,
            left: number(file, 8)?,
            rest: file.get(HEAD..)?,
            path: Vec::new(),
        })
    }

    pub fn version(&self) -> u32 {
        self.version
    }

    /// Returns the number of entries that are left, as far as the file says.
    pub fn left(&self) -> u32 {
        self.left
    }

    /// The part of the file that was not read yet.
    pub fn rest(&self) -> &'f [u8] {
        self.rest
    }

    /// The path of the entry that was read last, from the top of the work tree.
    pub fn path(&self) -> &[u8] {
        &self.path
    }

    /// Reads the next entry; `None` where there is none, or one that makes no sense.
    pub fn read(&mut self) -> Option<IndexRecord<'f>> {
        self.left = self.left.checked_sub(1)?;
        let entry = mem::take(&mut self.rest);
        let fixed = entry.first_chunk::<FIXED>()?;
        let mut name = &entry[FIXED..];
        let mut extended = 0;
        if fixed[FLAGS] & EXTENDED != 0 {
            let (second, rest) = name.split_first_chunk()?;
            (extended, name) = (u16::from_be_bytes(*second), rest);
        }
        let mut kept = 0;
        if self.version == 4 {
            let (dropped, rest) = offset(name)?;
            (kept, name) = (self.path.len().checked_sub(dropped)?, rest);
        }
        let end = memchr::memchr(0, name)?;
        self.path.truncate(kept);
        self.path.extend_from_slice(&name[..end]);
        let length = entry.len() - name.len() + end;
        // Each ends with one NUL at least, and before version 4 on a border of eight.
        let next = match self.version {
            4 => length + 1,
            _ => (length + 8) & !7,
        };
        self.rest = entry.get(next..).unwrap_or_default();
        Some(IndexRecord {
            fixed,
            extended,
            padding: entry.get(length + 1..next),
        })
    }
}

/// The number at a place, of four bytes.
pub fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_be_bytes(*four))
}

/// A number as git packs it, and what follows.
fn offset(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_usize;
    for (at, byte) in bytes.iter().enumerate().take(8) {
        value = (value << 7) | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[at + 1..]));
        }
        value += 1;
    }
    None
}
