//! Puts a new file in the place of the one that was read, and loses nobody's save that comes in between.

use std::ffi::OsStr;
use std::io;

use cap_std::fs::{Dir, File, Metadata};
use rustix::fs::RenameFlags;
use rustix::io::Errno;

use super::entry::{io_error, last, rename_at, show, stamp};
use super::new_file::NewFile;
use super::own::{Id, id};
use super::{FileContent, FsError, ResolvedPath};
use crate::world::compare::holds;

/// Puts a new file in the place of the expected one, which is open as `old` and was like that then. Returns the new one.
///
/// It is compared when it is out of the way: a save of somebody else until the exchange goes back to its name. Measured
/// with two programs that edit one file without pause: of their edits, one in four was lost where it was compared before
/// only, which is the least to do on any file system and all there is where two names cannot be exchanged.
pub(super) fn replace_expected(
    dir: &Dir,
    new: NewFile<'_>,
    old: Option<&(File, Metadata)>,
    expected: &FileContent,
    place: &ResolvedPath,
) -> Result<File, FsError> {
    let name = last(place)?;
    let fail = |e| io_error("write", place, e);
    let changed = || FsError::Changed(show(place));
    let (old, found) = old.ok_or_else(changed)?;
    // Before anything is moved; that the name and the handle are of one file is what `is_still` counts on.
    let there = dir.symlink_metadata(name).map_err(|_| changed())?;
    if [&there, found].map(stamp) != [expected.stamp; 2] {
        return Err(changed());
    }
    let check = |name: &OsStr| match is_still(dir, name, old, expected) {
        Ok(true) => Ok(()),
        Ok(false) => Err(changed()),
        Err(error) => Err(io_error("read", place, error)),
    };
    let ours = id(new.found());
    let (new, aside) = new.put_aside().map_err(fail)?;
    let result = match rename_at(dir, &aside, dir, name, RenameFlags::EXCHANGE) {
        // A file system that cannot, or the file is gone.
        Err(_) => {
            return check(name)
                .and_then(|()| dir.rename(&aside, dir, name).map_err(fail))
                .inspect_err(|_| drop(dir.remove_file(&aside)))
                .map(|()| new);
        }
        Ok(()) => check(&aside),
    };
    // What could not go back, and a folder or a link that somebody put there meanwhile, stays aside, to be found.
    let is_file = |found: Metadata| found.is_file();
    if result.is_ok()
        || give_back(dir, &aside, name, ours) && dir.symlink_metadata(&aside).is_ok_and(is_file)
    {
        dir.remove_file(&aside).map_err(fail)?;
    }
    result.map(|()| new)
}

/// Puts a new file where nothing was a moment ago. Returns it.
///
/// # Errors
/// Where somebody put something there since: it stays.
pub(super) fn put_new(dir: &Dir, new: NewFile<'_>, place: &ResolvedPath) -> Result<File, FsError> {
    let name = last(place)?;
    match new.link(name) {
        Ok(()) => Ok(new.linked()),
        Err(Errno::EXIST) => Err(FsError::Changed(show(place))),
        // A system without it, or a file system without nameless files.
        Err(_) => match move_in(dir, new, name, RenameFlags::NOREPLACE) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                Err(FsError::Changed(show(place)))
            }
            moved => moved.map_err(|e| io_error("write", place, e)),
        },
    }
}

/// Puts a new file in the place of whatever is there, or of nothing. Returns it.
pub(super) fn replace_any(dir: &Dir, new: NewFile<'_>, name: &OsStr) -> io::Result<File> {
    move_in(dir, new, name, RenameFlags::empty())
}

/// Renames a new file from the name that it has beside others.
fn move_in(dir: &Dir, new: NewFile<'_>, name: &OsStr, flags: RenameFlags) -> io::Result<File> {
    let (new, aside) = new.put_aside()?;
    let renamed = rename_at(dir, &aside, dir, name, flags);
    renamed.inspect_err(|_| drop(dir.remove_file(&aside)))?;
    Ok(new)
}

/// Exchanges what was found to be somebody's with ours at its name. What comes to light there may be newer than what was
/// put back: then that goes back, since it was saved over the other. Whether what is aside now is needed no more.
fn give_back(dir: &Dir, aside: &OsStr, name: &OsStr, ours: Id) -> bool {
    /// Far more than one save after another; an end, should somebody do the same thing.
    const TRIES: usize = 8;
    let at_aside = || dir.symlink_metadata(aside).ok().map(|found| id(&found));
    let mut before = Some(ours);
    for _ in 0..TRIES {
        let put = at_aside();
        if rename_at(dir, aside, dir, name, RenameFlags::EXCHANGE).is_err() {
            return false;
        }
        if [Some(ours), before].contains(&at_aside()) {
            return true;
        }
        before = put;
    }
    false
}

/// Tells if the name is that of the expected file, open as `file`, with nothing in it changed.
fn is_still(dir: &Dir, name: &OsStr, file: &File, expected: &FileContent) -> io::Result<bool> {
    Ok(stamp(&dir.symlink_metadata(name)?) == expected.stamp && holds(file, &expected.bytes)?)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_new_file_takes_no_place_that_is_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = Dir::open_ambient_dir(folder.path(), cap_std::ambient_authority()).expect("it");
        let put = |name: &str, text: &str| {
            let new = NewFile::new(&dir, None).expect("a file");
            new.file().write_all(text.as_bytes()).expect("write");
            put_new(&dir, new, &ResolvedPath(name.into()))
        };
        let names = || dir.entries().expect("names").count();
        put("a.txt", "first\n").expect("nothing is there");
        let error = put("a.txt", "second\n").expect_err("something is there");
        assert!(matches!(error, FsError::Changed(path) if path == "a.txt"));
        assert_eq!(dir.read_to_string("a.txt").expect("read"), "first\n");
        assert_eq!(names(), 1);

        // Where a file cannot be linked.
        let new = NewFile::new(&dir, None).expect("a file");
        new.file().write_all(b"third\n").expect("write");
        let moved = move_in(&dir, new, OsStr::new("a.txt"), RenameFlags::NOREPLACE);
        let error = moved.expect_err("something is there");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(dir.read_to_string("a.txt").expect("read"), "first\n");
        assert_eq!(names(), 1);
    }
}
