//! Reads of git's index where other repositories are in the work tree: `git status` goes into these by itself. Writes nothing.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// The largest index that is read, in bytes.
const LARGEST: u64 = 64 * 1024 * 1024;

/// The mode of such an entry, as it stands in the file.
const GITLINK: [u8; 4] = [0, 0, 0xe0, 0];

/// The fixed part of an entry, with an id of SHA-1, and where its mode and its flags are in that.
const FIXED: usize = 62;
const MODE: usize = 24;
const FLAGS: usize = 60;

/// The paths of other repositories in an index, from the top of the work tree.
pub(super) fn gitlinks(index: &Path) -> Vec<PathBuf> {
    // Never a pipe, which would be waited for.
    let is_plain = |meta: &fs::Metadata| meta.is_file() && meta.len() <= LARGEST;
    if !fs::symlink_metadata(index).is_ok_and(|meta| is_plain(&meta)) {
        return Vec::new();
    }
    let bytes = fs::read(index).unwrap_or_default();
    // Most have none.
    if !bytes.windows(GITLINK.len()).any(|four| four == GITLINK) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let _ = read(&bytes, &mut found);
    found
}

/// Reads the entries of an index of the versions 2 to 4. Returns nothing where one makes no sense; those before it are found.
fn read(bytes: &[u8], found: &mut Vec<PathBuf>) -> Option<()> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let version = number(4)?;
    // The path of the last entry: in version 4 the next one says how it differs.
    let mut path = Vec::new();
    let mut at = 12;
    for _ in 0..number(8)? {
        let entry = bytes.get(at..)?;
        let is_gitlink = entry.get(MODE..MODE + 4)? == GITLINK;
        let is_extended = entry.get(FLAGS)? & 0x40 != 0;
        let start = if is_extended { FIXED + 2 } else { FIXED };
        let mut name = entry.get(start..)?;
        let mut kept = 0;
        if version == 4 {
            let (cut, rest) = offset(name)?;
            (kept, name) = (path.len().checked_sub(cut)?, rest);
        }
        let end = name.iter().position(|byte| *byte == 0)?;
        path.truncate(kept);
        path.extend_from_slice(&name[..end]);
        if is_gitlink {
            found.push(OsString::from_vec(path.clone()).into());
        }
        let length = entry.len() - name.len() + end;
        // Each ends with one NUL at least, and before version 4 on a border of eight.
        at += if version == 4 {
            length + 1
        } else {
            (length + 8) & !7
        };
    }
    Some(())
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
