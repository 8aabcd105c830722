//! Reads of git's index where other repositories are in the work tree: `git status` goes into these by itself. Writes nothing.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::index_records::IndexRecords;

/// The largest index that is read, in bytes.
const LARGEST: u64 = 64 * 1024 * 1024;

/// The mode of such an entry, as it stands in the file, and where that is in the entry.
const GITLINK: [u8; 4] = [0, 0, 0xe0, 0];
const MODE: usize = 24;

/// The paths of other repositories in an index, from the top of the work tree. Where one of its entries makes no sense, those
/// before it are found.
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
    let Some(mut records) = IndexRecords::of(&bytes) else {
        return found;
    };
    while let Some(record) = records.read() {
        if record.fixed[MODE..].starts_with(&GITLINK) {
            found.push(OsString::from_vec(records.path().to_vec()).into());
        }
    }
    found
}
