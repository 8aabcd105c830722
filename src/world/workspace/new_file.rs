//! A file that is written in a folder before it has the name that it is for. It has none until then, so that clada leaves nothing
//! behind when it is killed meanwhile. Where the system cannot do that, it has one that belongs to nobody: should clada be killed,
//! that is known.
//!
//! (A file with a name from the start made 200 edits 8 % faster.)

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsRawFd;

use cap_std::fs::{Dir, File, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::fs::{AtFlags, CWD, linkat};
#[cfg(target_os = "linux")]
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use super::entry::unused_name;

/// A new file. It is gone when this is dropped before it got its name.
pub(super) struct NewFile<'d> {
    dir: &'d Dir,
    file: File,
    /// As it was made.
    found: Metadata,
    aside: Option<Aside<'d>>,
}

/// A name that belongs to nobody, removed when this is dropped.
struct Aside<'d> {
    dir: &'d Dir,
    name: OsString,
}

impl<'d> NewFile<'d> {
    /// Makes a file that is to replace `old`, if there is that one. Nobody may read it who may not read the old one.
    pub(super) fn new(dir: &'d Dir, old: Option<&Metadata>) -> io::Result<Self> {
        let mode = old.map_or(0o666, |old| old.mode() & 0o777);
        let (file, aside) = match nameless(dir, mode)? {
            Some(file) => (file, None),
            // What its folder hands down to it could let others read it.
            None => named(dir, if old.is_some() { 0o600 } else { mode })?,
        };
        Ok(Self {
            dir,
            found: file.metadata()?,
            file,
            aside,
        })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn found(&self) -> &Metadata {
        &self.found
    }

    /// Gives it a name that nothing has. One that has a name would have two for a moment, and keep them if clada were killed
    /// then.
    pub(super) fn link(&self, name: &OsStr) -> Result<(), Errno> {
        if self.aside.is_some() {
            return Err(Errno::NOTSUP);
        }
        #[cfg(target_os = "linux")]
        match linkat(&self.file, "", self.dir, name, AtFlags::EMPTY_PATH) {
            // Older systems allow that to root alone.
            Err(Errno::NOENT) => {}
            linked => return linked,
        }
        let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        linkat(CWD, path, self.dir, name, AtFlags::SYMLINK_FOLLOW)
    }

    /// Gives it a name that belongs to nobody. It is the caller's to remove from now on.
    pub(super) fn put_aside(mut self) -> io::Result<(File, OsString)> {
        let name = match &mut self.aside {
            Some(aside) => std::mem::take(&mut aside.name),
            None => unused_name("new", |name| Ok(self.link(name)?))?,
        };
        Ok((self.file, name))
    }

    /// The file, once it has its name.
    pub(super) fn linked(self) -> File {
        self.file
    }
}

impl Drop for Aside<'_> {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            let _ = self.dir.remove_file(&self.name);
        }
    }
}

/// Makes a file without a name, where the system and the file system can do that.
#[cfg(target_os = "linux")]
fn nameless(dir: &Dir, mode: u32) -> io::Result<Option<File>> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match openat(dir, ".", flags, Mode::from_raw_mode(mode)) {
        Ok(file) => Ok(Some(File::from_std(std::fs::File::from(file)))),
        // An older kernel knows only the part of it that asks for a folder.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn nameless(_: &Dir, _: u32) -> io::Result<Option<File>> {
    Ok(None)
}

fn named(dir: &Dir, mode: u32) -> io::Result<(File, Option<Aside<'_>>)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(mode);
    let mut file = None;
    let name = unused_name("new", |name| {
        file = Some(dir.open_with(name, &options)?);
        Ok(())
    })?;
    let file = file.ok_or(io::ErrorKind::NotFound)?;
    Ok((file, Some(Aside { dir, name })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_name(dir: &Dir) -> NewFile<'_> {
        let (file, aside) = named(dir, 0o600).expect("a file");
        NewFile {
            dir,
            found: file.metadata().expect("it is there"),
            file,
            aside,
        }
    }

    fn count(dir: &Dir) -> usize {
        dir.entries().expect("names").count()
    }

    #[test]
    fn a_file_that_gets_no_name_is_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = Dir::open_ambient_dir(folder.path(), cap_std::ambient_authority()).expect("it");
        drop(NewFile::new(&dir, None).expect("a file"));
        let (one, other) = (with_name(&dir), with_name(&dir));
        assert_eq!(count(&dir), 2);
        drop((one, other));
        assert_eq!(count(&dir), 0);
    }

    #[test]
    fn a_file_never_has_two_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = Dir::open_ambient_dir(folder.path(), cap_std::ambient_authority()).expect("it");
        let new = with_name(&dir);
        assert_eq!(new.link(OsStr::new("two")), Err(Errno::NOTSUP));
        for new in [new, NewFile::new(&dir, None).expect("a file")] {
            let before = count(&dir);
            let (_, name) = new.put_aside().expect("a name");
            let name = name.into_string().expect("text");
            let start = format!(".clada-new-{}-", std::process::id());
            assert!(name.starts_with(&start) && dir.exists(&name), "{name}");
            assert!(count(&dir) <= before + 1);
        }
        assert_eq!(count(&dir), 2, "they stay");
    }

    #[test]
    fn nobody_else_may_read_what_replaces_a_private_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = Dir::open_ambient_dir(folder.path(), cap_std::ambient_authority()).expect("it");
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let old = dir.open_with("private", &options).expect("a file");
        let old = old.metadata().expect("it is there");
        let new = NewFile::new(&dir, Some(&old)).expect("a file");
        assert_eq!(new.found().mode() & 0o777, 0o600);
    }
}
