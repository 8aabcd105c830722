//! A place in the work tree: a file, a link, or nothing that git could save. Waits for nothing that may be there instead.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};

use super::SnapshotError;
use super::error::GitResult;

/// The kind of a place in the work tree, as git sees it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PathKind {
    File,
    Link,
    Nothing,
}

/// A file or link, reached through real folders: what is behind a link is not at this path for git. Anything
/// else (a folder, a pipe) is nothing; but what could not be looked at is an error, not a deletion.
pub(super) fn find(top: &Path, path: &Path) -> GitResult<PathKind> {
    let mut at = top.to_path_buf();
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        at.push(part);
        let kind = match fs::symlink_metadata(&at) {
            Ok(data) => data.file_type(),
            Err(why) if is_missing(&why) => return Ok(PathKind::Nothing),
            Err(why) => return Err(SnapshotError::unreadable(path, why)),
        };
        match parts.peek() {
            Some(_) if kind.is_dir() => {}
            None if kind.is_file() => return Ok(PathKind::File),
            None if kind.is_symlink() => return Ok(PathKind::Link),
            _ => break,
        }
    }
    Ok(PathKind::Nothing)
}

/// A file is also missing where one of its folders is now a file.
pub(super) fn is_missing(why: &std::io::Error) -> bool {
    matches!(why.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The largest file that a save takes, in bytes. Git itself takes more, in hours.
pub(super) const LARGEST: u64 = 4 * 1024 * 1024 * 1024;

/// The number of looks at a file that another program may take away and put back all the time.
const TRIES: usize = 10;

/// A regular file, opened for reading. Another program may put a pipe or a link in its place at any time.
pub(super) fn opened(place: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let file = File::from(open(place, flags | OFlags::CLOEXEC, Mode::empty()).ok()?);
    file.metadata()
        .is_ok_and(|found| found.is_file())
        .then_some(file)
}

/// The content of a regular file that has no more bytes than this.
pub(super) fn content(place: &Path, most: u64) -> Option<Vec<u8>> {
    let file = opened(place)?;
    if file.metadata().ok()?.len() > most {
        return None;
    }
    let mut bytes = Vec::new();
    let mut file = file.take(most.saturating_add(1));
    file.read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= most).then_some(bytes)
}

/// True for a file that is too large for any save.
pub(super) fn is_huge(place: &Path) -> bool {
    fs::symlink_metadata(place).is_ok_and(|found| found.is_file() && found.len() > LARGEST)
}

/// Tries a thing again that failed in a way which may be over.
pub(super) fn again<T, E>(
    may_be_over: impl Fn(&E) -> bool,
    mut attempt: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    for _ in 1..TRIES {
        match attempt() {
            Err(why) if may_be_over(&why) => {}
            done => return done,
        }
    }
    attempt()
}
