//! The repository's own list of files that git is not to show, `info/exclude`. Owns how a line is added to it; never follows
//! a link there, since a command may have put it there and clada writes outside every fence.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::Repository;
use rustix::fs::{
    self, Access, AtFlags, FileType, Mode, OFlags, RawMode, accessat, fchmod, fstat, fsync,
    mkdirat, openat, renameat, unlinkat,
};
use rustix::io::Errno;

use super::place::not_own;
use super::relief::Relief;
use super::{Discovered, canonical, discover};

/// The largest list that is read.
const LARGEST: u64 = 1024 * 1024;

/// Files of one repository that git shows, as it neither tracks nor ignores them.
#[derive(Debug, PartialEq, Eq)]
pub struct SeenByGit {
    /// The git directory that all its work trees share.
    pub git_dir: PathBuf,
    /// The paths of the files from the top of the work tree.
    pub names: Vec<PathBuf>,
}

/// The reason why nothing was excluded.
#[derive(Debug, thiserror::Error)]
pub enum ExcludeError {
    #[error("`{}` is a symbolic link, and clada follows none in a git directory", .0.display())]
    Link(PathBuf),
    #[error("`{}` is not a regular file", .0.display())]
    NotAFile(PathBuf),
    #[error("`{}` is read-only", .0.display())]
    ReadOnly(PathBuf),
    #[error("cannot write `{}`: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
}

/// Finds those of these absolute paths that git shows, by repository. They need not exist.
pub fn seen_by_git(files: &[PathBuf]) -> Vec<SeenByGit> {
    let mut all: Vec<SeenByGit> = Vec::new();
    for file in files {
        let Some((git_dir, name)) = shown(file) else {
            continue;
        };
        match all.iter_mut().find(|other| other.git_dir == git_dir) {
            Some(other) if other.names.contains(&name) => {}
            Some(other) => other.names.push(name),
            None => all.push(SeenByGit {
                git_dir,
                names: vec![name],
            }),
        }
    }
    all
}

/// The shared git directory and the name of a file that git shows.
fn shown(file: &Path) -> Option<(PathBuf, PathBuf)> {
    let folder = canonical(file.parent()?).ok()?;
    let Ok(Discovered::WorkTree(repo, top)) = discover(&folder) else {
        return None;
    };
    let relief = Relief::of(&top);
    let _working = relief.working();
    // A save says what is wrong with it.
    if not_own(&repo, &top).is_some() {
        return None;
    }
    let name = folder.strip_prefix(&top).ok()?.join(file.file_name()?);
    let is_tracked = repo.index().ok()?.get_path(&name, 0).is_some();
    let is_shown = !is_tracked && is_not_ignored(&repo, &name)?;
    is_shown.then(|| (repo.commondir().to_owned(), name))
}

/// True if git takes a path that it does not track for a new one. Where the list has its line already, another one has git
/// show it all the same.
fn is_not_ignored(repo: &Repository, name: &Path) -> Option<bool> {
    use ExcludeError::{Io, Link, NotAFile, ReadOnly};
    match ExcludeFile::open(repo.commondir()) {
        Ok(list) if list.has(&pattern(name)) => return Some(false),
        // libgit2 would wait for a pipe.
        Err(Link(path) | NotAFile(path) | ReadOnly(path) | Io { path, .. }) if !path.is_file() => {
            return Some(true);
        }
        _ => {}
    }
    Some(!repo.is_path_ignored(name).ok()?)
}

impl SeenByGit {
    /// The lines that have git leave them out.
    pub fn patterns(&self) -> impl Iterator<Item = Vec<u8>> {
        self.names.iter().map(|name| pattern(name))
    }

    /// Adds them to the list.
    ///
    /// # Errors
    /// Where the list is no plain file in the git directory, or cannot be written.
    pub fn exclude(&self) -> Result<(), ExcludeError> {
        let list = ExcludeFile::open(&self.git_dir)?;
        let mut text = list.text.clone();
        for pattern in self.patterns().filter(|pattern| !list.has(pattern)) {
            if text.last().is_some_and(|last| *last != b'\n') {
                text.push(b'\n');
            }
            text.extend_from_slice(&pattern);
            text.push(b'\n');
        }
        if text == list.text {
            return Ok(());
        }
        list.replace(&text)
    }
}

/// The line for one file, which nothing else matches.
fn pattern(name: &Path) -> Vec<u8> {
    let mut line = vec![b'/'];
    for byte in name.as_os_str().as_bytes() {
        match byte {
            b'\\' | b'*' | b'?' | b'[' => line.extend_from_slice(&[b'\\', *byte]),
            // It would end the line: whatever one character is there.
            b'\n' => line.push(b'?'),
            _ => line.push(*byte),
        }
    }
    if line.last() == Some(&b' ') {
        line.insert(line.len() - 1, b'\\');
    }
    line
}

/// The list as it is, and the folder that it is in.
struct ExcludeFile {
    path: PathBuf,
    /// None where it is missing; it is made only to be written to.
    folder: Option<OwnedFd>,
    git_dir: OwnedFd,
    text: Vec<u8>,
    /// None where there is no list.
    mode: Option<Mode>,
}

/// A folder is opened so, to reach what is in it.
const LISTED: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

const FOLDER: &str = "info";
const NAME: &str = "exclude";

impl ExcludeFile {
    fn open(git_dir: &Path) -> Result<Self, ExcludeError> {
        let path = git_dir.join(FOLDER).join(NAME);
        let opened = fs::open(git_dir, LISTED.difference(OFlags::NOFOLLOW), Mode::empty());
        let mut list = Self {
            folder: None,
            git_dir: opened.map_err(|why| failed(&path, why))?,
            text: Vec::new(),
            mode: None,
            path,
        };
        let folder = match openat(&list.git_dir, FOLDER, LISTED, Mode::empty()) {
            Ok(folder) => folder,
            Err(Errno::NOENT) => return Ok(list),
            // As a link is no directory either.
            Err(Errno::LOOP | Errno::NOTDIR) => {
                list.path.pop();
                return Err(ExcludeError::Link(list.path));
            }
            Err(why) => return Err(failed(&list.path, why)),
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match openat(&folder, NAME, flags, Mode::empty()) {
            Ok(file) => list.read(file)?,
            Err(Errno::NOENT) => {}
            Err(Errno::LOOP) => return Err(ExcludeError::Link(list.path)),
            Err(why) => return Err(failed(&list.path, why)),
        }
        list.folder = Some(folder);
        Ok(list)
    }

    fn read(&mut self, file: OwnedFd) -> Result<(), ExcludeError> {
        let found = fstat(&file).map_err(|why| failed(&self.path, why))?;
        let is_file = FileType::from_raw_mode(found.st_mode).is_file();
        if !is_file || u64::try_from(found.st_size).is_ok_and(|size| size > LARGEST) {
            return Err(ExcludeError::NotAFile(self.path.clone()));
        }
        self.mode = Some(Mode::from_raw_mode(found.st_mode));
        let read = File::from(file).take(LARGEST).read_to_end(&mut self.text);
        read.map(drop).map_err(|why| failed(&self.path, why))
    }

    fn has(&self, pattern: &[u8]) -> bool {
        let mut lines = self.text.split(|byte| *byte == b'\n');
        lines.any(|line| line.strip_suffix(b"\r").unwrap_or(line) == pattern)
    }

    /// Puts a new list into its place, whole.
    fn replace(&self, text: &[u8]) -> Result<(), ExcludeError> {
        let failed = |why: Errno| failed(&self.path, why);
        let made;
        let folder = match &self.folder {
            Some(folder) => folder,
            None => {
                mkdirat(&self.git_dir, FOLDER, Mode::from_raw_mode(0o777)).map_err(failed)?;
                made = openat(&self.git_dir, FOLDER, LISTED, Mode::empty()).map_err(failed)?;
                &made
            }
        };
        // The rename below would not ask.
        if let Some(mode) = self.mode {
            let may = accessat(folder, NAME, Access::WRITE_OK, AtFlags::empty());
            if mode.as_raw_mode() & WRITABLE == 0 || may.is_err() {
                return Err(ExcludeError::ReadOnly(self.path.clone()));
            }
        }
        let new = format!(".{NAME}-clada-{}", std::process::id());
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // One may be there of a clada that was killed, with the same number.
        let _ = unlinkat(folder, &new, AtFlags::empty());
        let file = openat(folder, &new, flags, Mode::from_raw_mode(0o666)).map_err(failed)?;
        let mut file = File::from(file);
        let mut put = || -> io::Result<()> {
            file.write_all(text)?;
            if let Some(mode) = self.mode {
                fchmod(&file, mode)?;
            }
            fsync(&file)?;
            Ok(renameat(folder, &new, folder, NAME)?)
        };
        put().map_err(|why| {
            let _ = unlinkat(folder, &new, AtFlags::empty());
            let path = self.path.clone();
            ExcludeError::Io { path, error: why }
        })
    }
}

/// The bits by which somebody may write.
const WRITABLE: RawMode = 0o222;

fn failed(path: &Path, why: impl Into<io::Error>) -> ExcludeError {
    ExcludeError::Io {
        path: path.to_owned(),
        error: why.into(),
    }
}
