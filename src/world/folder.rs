//! Holds a folder by an open descriptor, and works on the files in it by their names alone. Never follows a link on the way to
//! the folder, nor at a name: what was settled once stays where it is, whatever is put in its place.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    Access, AtFlags, CWD, Dir, Mode, OFlags, accessat, linkat, mkdirat, openat, renameat, unlinkat,
};
use rustix::io::Errno;

/// Returns `None` where an error says that nothing has this name.
///
/// # Errors
/// What the system says otherwise.
pub fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

/// An open folder.
#[derive(Debug)]
pub struct OpenFolder {
    fd: OwnedFd,
    path: PathBuf,
}

/// A reason why a folder cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Something on the way to it, or it itself.
    #[error("`{}` has become a symbolic link, which clada does not follow: put the folder back", .0.display())]
    Link(PathBuf),
    #[error(transparent)]
    Io(io::Error),
}

impl From<FolderError> for io::Error {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::Io(error) => error,
            link => Self::other(link),
        }
    }
}

/// The access that a descriptor needs which is only walked through.
#[cfg(target_os = "linux")]
const WAY: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const WAY: OFlags = OFlags::RDONLY;

impl OpenFolder {
    /// Opens a folder by a path from `/` on in which no link was when it was settled.
    ///
    /// # Errors
    /// Where it cannot be opened, or a link is in the path.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        match open_plain(path, OFlags::DIRECTORY) {
            Ok(fd) => Ok(Self {
                fd,
                path: path.to_owned(),
            }),
            Err(error) => Err(match link_in(path) {
                Some(link) => FolderError::Link(link),
                // It was one a moment ago.
                None if error == Errno::LOOP => FolderError::Link(path.to_owned()),
                None => FolderError::Io(error.into()),
            }),
        }
    }

    /// The folder of a file.
    ///
    /// # Errors
    /// Where it cannot be opened, or a link is in the path.
    pub fn of(file: &Path) -> Result<Self, FolderError> {
        Self::open(file.parent().unwrap_or(Path::new("/")))
    }

    /// Tells which folder it is: device and inode.
    ///
    /// # Errors
    /// Where the system does not say.
    pub fn id(&self) -> io::Result<(u64, u64)> {
        let found = rustix::fs::fstat(&self.fd)?;
        #[allow(
            clippy::unnecessary_cast,
            clippy::cast_sign_loss,
            reason = "the types differ between systems"
        )]
        Ok((found.st_dev as u64, found.st_ino as u64))
    }

    /// Opens a file of the folder. A link there is an error.
    ///
    /// # Errors
    /// What the system says.
    pub fn open_file(&self, file: &Path, flags: OFlags, mode: u32) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
        #[allow(
            clippy::unnecessary_fallible_conversions,
            clippy::cast_possible_truncation,
            reason = "16 bits on some systems"
        )]
        let mode = Mode::from_raw_mode(mode as rustix::fs::RawMode);
        Ok(openat(&self.fd, name(file), flags, mode)?.into())
    }

    /// Reads the metadata of a name; those of a link itself.
    ///
    /// # Errors
    /// What the system says.
    pub fn metadata(&self, file: &Path) -> io::Result<Metadata> {
        if cfg!(target_os = "linux") {
            self.open_file(file, WAY, 0)?.metadata()
        } else {
            // Where no file can be opened for no more than this.
            fs::symlink_metadata(self.path.join(name(file)))
        }
    }

    /// Tells if this user may write a file.
    ///
    /// # Errors
    /// What the system says, where that is no.
    pub fn may_write(&self, file: &Path) -> Result<(), Errno> {
        accessat(&self.fd, name(file), Access::WRITE_OK, AtFlags::EACCESS)
    }

    /// Gives a file another name in the folder.
    ///
    /// # Errors
    /// What the system says.
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Ok(renameat(&self.fd, name(from), &self.fd, name(to))?)
    }

    /// Exchanges two files.
    ///
    /// # Errors
    /// What the system says; also that it cannot do this.
    pub fn exchange(&self, one: &Path, other: &Path) -> Result<(), Errno> {
        #[cfg(any(target_os = "linux", target_os = "macos"))]
        {
            let flags = rustix::fs::RenameFlags::EXCHANGE;
            rustix::fs::renameat_with(&self.fd, name(one), &self.fd, name(other), flags)
        }
        #[cfg(not(any(target_os = "linux", target_os = "macos")))]
        {
            let _ = (one, other);
            Err(Errno::NOSYS)
        }
    }

    /// Gives a file a second name in the folder.
    ///
    /// # Errors
    /// What the system says.
    pub fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let flags = AtFlags::empty();
        Ok(linkat(&self.fd, name(from), &self.fd, name(to), flags)?)
    }

    /// Makes a folder in the folder, and opens it.
    ///
    /// # Errors
    /// What the system says.
    pub fn make_folder(&self, folder: &Path) -> io::Result<Self> {
        mkdirat(&self.fd, name(folder), Mode::from_raw_mode(0o777))?;
        let flags = WAY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self {
            fd: openat(&self.fd, name(folder), flags, Mode::empty())?,
            path: self.path.join(name(folder)),
        })
    }

    /// Takes a file away.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove(&self, file: &Path) -> io::Result<()> {
        Ok(unlinkat(&self.fd, name(file), AtFlags::empty())?)
    }

    /// The names in the folder, as far as they can be read.
    pub fn names(&self) -> Vec<OsString> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(readable) = openat(&self.fd, ".", flags, Mode::empty()) else {
            return Vec::new();
        };
        let entries = Dir::new(readable).into_iter().flatten().flatten();
        let names = entries.map(|entry| OsString::from_vec(entry.file_name().to_bytes().to_vec()));
        names.filter(|name| name != "." && name != "..").collect()
    }
}

/// The last name of a path: its folder is the one that is open.
fn name(file: &Path) -> &OsStr {
    file.file_name().unwrap_or_default()
}

/// Opens what is at a path from `/` on, only as a place, without following a link; `kind` may ask for a folder.
///
/// # Errors
/// Where it cannot be opened, or a link is on the way. A link at its end may be opened as itself.
#[cfg(target_os = "linux")]
pub fn open_plain(path: &Path, kind: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let flags = OFlags::PATH | OFlags::CLOEXEC | kind;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // An old system, or a container that does not know it.
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => walk(path, kind),
        opened => opened,
    }
}

/// The same, name by name.
///
/// # Errors
/// The same.
#[cfg(not(target_os = "linux"))]
pub fn open_plain(path: &Path, kind: OFlags) -> Result<OwnedFd, Errno> {
    walk(path, kind)
}

/// Opens a folder below an open one, in which no link is on the way.
///
/// # Errors
/// Where it cannot be opened, and where the system cannot do this in one call.
#[cfg(target_os = "linux")]
pub fn open_below(folder: impl AsFd, path: &Path) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let flags = WAY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let bounds = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    openat2(folder, path, flags, Mode::empty(), bounds)
}

/// The same, which no other system can do.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn open_below(_folder: impl AsFd, _path: &Path) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// Opens a path name by name.
fn walk(path: &Path, kind: OFlags) -> Result<OwnedFd, Errno> {
    let flags = WAY | OFlags::NOFOLLOW | OFlags::CLOEXEC | kind;
    let mut at = openat(CWD, "/", flags, Mode::empty())?;
    for part in path.components() {
        if let Component::Normal(name) = part {
            at = openat(&at, name, flags, Mode::empty())?;
        }
    }
    Ok(at)
}

/// The first link in a path.
fn link_in(path: &Path) -> Option<PathBuf> {
    let mut above: Vec<&Path> = path.ancestors().collect();
    above.reverse();
    let is_link = |path: &&Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    above.into_iter().find(is_link).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_link_is_followed_on_the_way() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b")).unwrap();
        symlink("a", top.join("link")).unwrap();
        for open in [open_plain, walk] {
            let open = |path: &Path| open(path, OFlags::DIRECTORY);
            assert!(open(&top.join("a/b")).is_ok());
            assert!(open(&top.join("link/b")).is_err());
            assert!(open(&top.join("link")).is_err());
        }
        let refused = OpenFolder::open(&top.join("link/b"));
        let said = refused
            .as_ref()
            .map_or_else(ToString::to_string, |_| String::new());
        assert!(
            said.ends_with(
                "link` has become a symbolic link, which clada does not follow: put the folder back"
            ),
            "{said}"
        );
        assert!(matches!(refused, Err(FolderError::Link(link)) if link == top.join("link")));
        let missing = OpenFolder::open(&top.join("a/c"));
        assert!(
            matches!(missing, Err(FolderError::Io(error)) if error.kind() == io::ErrorKind::NotFound)
        );
    }

    #[test]
    fn an_open_folder_stays_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let (notes, other) = (top.join("notes"), top.join("other"));
        fs::create_dir(&notes).unwrap();
        fs::create_dir(&other).unwrap();
        let folder = OpenFolder::open(&notes).unwrap();
        fs::rename(&notes, top.join("moved")).unwrap();
        symlink(&other, &notes).unwrap();
        let flags = OFlags::WRONLY | OFlags::CREATE;
        folder.open_file(&notes.join("f"), flags, 0o600).unwrap();
        folder.rename(&notes.join("f"), &notes.join("g")).unwrap();
        assert_eq!(folder.names(), ["g"]);
        assert!(folder.metadata(&notes.join("g")).unwrap().is_file());
        assert!(top.join("moved/g").exists() && !other.join("g").exists());
        symlink("g", top.join("moved/l")).unwrap();
        assert!(folder.metadata(&notes.join("l")).unwrap().is_symlink());
        assert!(
            folder
                .open_file(&notes.join("l"), OFlags::RDONLY, 0)
                .is_err()
        );
    }
}
