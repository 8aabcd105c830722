//! The repository's own list of files that git is not to show, `info/exclude`. Owns how a line is added to it; never follows
//! a link there, since a command may have put it there and clada writes outside every fence.

use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use git2::Repository;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::place::not_own;
use super::relief::Relief;
use super::{Discovered, canonical, discover};
use crate::world::folder::{FolderError, OpenFolder, if_there};

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
        list.replace(&self.git_dir, &text)
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
    folder: Option<OpenFolder>,
    text: Vec<u8>,
    /// None where there is no list.
    mode: Option<u32>,
}

const FOLDER: &str = "info";
const NAME: &str = "exclude";

impl ExcludeFile {
    fn open(git_dir: &Path) -> Result<Self, ExcludeError> {
        let mut list = Self {
            path: git_dir.join(FOLDER).join(NAME),
            folder: None,
            text: Vec::new(),
            mode: None,
        };
        let real = git_dir.canonicalize();
        let real = real.map_err(|why| failed(&list.path, why))?;
        let folder = match OpenFolder::open(&real.join(FOLDER)) {
            Ok(folder) => folder,
            Err(FolderError::Io(why)) => match why.kind() {
                ErrorKind::NotFound => return Ok(list),
                ErrorKind::NotADirectory => return Err(ExcludeError::Link(git_dir.join(FOLDER))),
                _ => return Err(failed(&list.path, why)),
            },
            Err(FolderError::Link(_)) => return Err(ExcludeError::Link(git_dir.join(FOLDER))),
        };
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        match if_there(folder.open_file(&list.path, flags, 0)) {
            Ok(Some(file)) => list.read(file)?,
            Ok(None) => {}
            Err(why) if Errno::from_io_error(&why) == Some(Errno::LOOP) => {
                return Err(ExcludeError::Link(list.path));
            }
            Err(why) => return Err(failed(&list.path, why)),
        }
        list.folder = Some(folder);
        Ok(list)
    }

    fn read(&mut self, file: File) -> Result<(), ExcludeError> {
        let found = file.metadata().map_err(|why| failed(&self.path, why))?;
        if !found.is_file() || found.len() > LARGEST {
            return Err(ExcludeError::NotAFile(self.path.clone()));
        }
        self.mode = Some(found.permissions().mode());
        let read = file.take(LARGEST).read_to_end(&mut self.text);
        read.map(drop).map_err(|why| failed(&self.path, why))
    }

    fn has(&self, pattern: &[u8]) -> bool {
        let mut lines = self.text.split(|byte| *byte == b'\n');
        lines.any(|line| line.strip_suffix(b"\r").unwrap_or(line) == pattern)
    }

    /// Puts a new list into its place, whole.
    fn replace(&self, git_dir: &Path, text: &[u8]) -> Result<(), ExcludeError> {
        let made;
        let folder = match &self.folder {
            Some(folder) => folder,
            None => {
                let make = || {
                    let git_dir = git_dir.canonicalize()?;
                    OpenFolder::open(&git_dir)?.make_folder(Path::new(FOLDER))
                };
                made = make().map_err(|why: io::Error| failed(&self.path, why))?;
                &made
            }
        };
        // The rename below would not ask.
        if let Some(mode) = self.mode
            && (mode & WRITABLE == 0 || folder.may_write(&self.path).is_err())
        {
            return Err(ExcludeError::ReadOnly(self.path.clone()));
        }
        let new = PathBuf::from(format!(".{NAME}-clada-{}", std::process::id()));
        // One may be there of a clada that was killed, with the same number.
        let _ = folder.remove(&new);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let file = folder.open_file(&new, flags, 0o666);
        let mut file = file.map_err(|why| failed(&self.path, why))?;
        let mut put = || -> io::Result<()> {
            file.write_all(text)?;
            if let Some(mode) = self.mode {
                file.set_permissions(Permissions::from_mode(mode))?;
            }
            file.sync_all()?;
            folder.rename(&new, &self.path)
        };
        put().map_err(|why| {
            let _ = folder.remove(&new);
            failed(&self.path, why)
        })
    }
}

/// The bits by which somebody may write.
const WRITABLE: u32 = 0o222;

fn failed(path: &Path, error: io::Error) -> ExcludeError {
    let path = path.to_owned();
    ExcludeError::Io { path, error }
}
