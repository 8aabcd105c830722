//! A place in the work tree: a file, a link, or nothing that git could save. Reads no content.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::SnapshotError;

/// A place in the work tree, as git sees it.
#[derive(PartialEq, Eq)]
pub(super) enum Found {
    File,
    Link,
    Nothing,
}

/// A file or link, reached through real folders: what is behind a link is not at this path for git. Anything
/// else (a folder, a pipe) is nothing; but what could not be looked at is an error, not a deletion.
pub(super) fn find(top: &Path, path: &Path) -> Result<Found, SnapshotError> {
    let mut at = top.to_path_buf();
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        at.push(part);
        let kind = match fs::symlink_metadata(&at) {
            Ok(data) => data.file_type(),
            Err(why) if is_missing(&why) => return Ok(Found::Nothing),
            Err(why) => return Err(SnapshotError::unreadable(path, why)),
        };
        match parts.peek() {
            Some(_) if kind.is_dir() => {}
            None if kind.is_file() => return Ok(Found::File),
            None if kind.is_symlink() => return Ok(Found::Link),
            _ => break,
        }
    }
    Ok(Found::Nothing)
}

/// A file is also missing where one of its folders is now a file.
pub(super) fn is_missing(why: &std::io::Error) -> bool {
    matches!(why.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
