//! The state of a place, as a short text to compare with later. Changes nothing.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, MetadataExt};
use sha2::{Digest, Sha256};

use super::disk::{Disk, open_for_reading, open_regular};
use super::own::id;
use super::{ProjectFiles, ResolvedPath};
use crate::reply::record::FileState;
use crate::text::hex::hex;
use crate::world::folder::if_there;

/// The most that is read for one state: something larger cannot be told from another state of itself.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
const MOST_ENTRIES: usize = 2_000;
/// Longer than a tick of the clock that file systems go by.
const TICK: Duration = Duration::from_millis(50);

impl Disk {
    /// Returns the state of what is at a path relative to the root, its last name's link not followed.
    ///
    /// Not refused for clada's own files or a `.git`: it tells nothing but whether something changed.
    pub fn state(&self, path: &Path) -> FileState {
        let Some(name) = path.file_name() else {
            return FileState::UNKNOWN;
        };
        let mut sum = Sum::default();
        let added = self.folder_of(path).and_then(|dir| sum.add(&dir, name));
        match if_there(added) {
            Ok(Some(())) => sum.state(),
            Ok(None) => FileState::missing(),
            Err(_) => FileState::UNKNOWN,
        }
    }

    /// Returns what tells cheaply that a file is still the same: its identity, size and time of change. Not sure for one that was
    /// changed just now: it could be changed once more within the same tick of the system's clock.
    pub fn mark(&self, path: &Path) -> Option<(String, bool)> {
        let dir = self.folder(path.parent()?).ok()?;
        let found = dir.symlink_metadata(path.file_name()?).ok()?;
        let age = found.modified().ok()?.into_std().elapsed().ok();
        let (dev, ino, size) = (found.dev(), found.ino(), found.size());
        let mark = format!(
            "{dev} {ino} {size} {} {}",
            found.mtime(),
            found.mtime_nsec()
        );
        Some((mark, found.is_file() && age.is_some_and(|age| age > TICK)))
    }
}

/// The signs by which a file is known to be the same: its identity, size and time of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSigns {
    pub signs: [i64; 5],
    pub size: u64,
    /// It was not changed just now.
    pub is_sure: bool,
}

impl Disk {
    /// Returns the signs of regular files; `None` for anything else, for what may not be shown, and for clada's own. Fast where paths
    /// in one folder follow each other.
    pub fn signs(&self, paths: &[PathBuf]) -> Vec<Option<FileSigns>> {
        let own = self.own_files();
        let now = SystemTime::now();
        let mut open: Option<(&Path, Option<Arc<Dir>>)> = None;
        let look = |path| {
            let parent = Path::parent(path)?;
            if open.as_ref().is_none_or(|(folder, _)| *folder != parent) {
                let is_own =
                    !parent.as_os_str().is_empty() && self.is_own(&ResolvedPath(parent.to_owned()));
                let folder = self.folder(parent).ok().filter(|_| !is_own);
                open = Some((parent, folder));
            }
            let folder = open.as_ref()?.1.as_ref()?;
            let found = folder.symlink_metadata(path.file_name()?).ok()?;
            if !found.is_file() || own.contains(&id(&found)) {
                return None;
            }
            let changed = found.modified().ok()?.into_std();
            let size = found.size();
            let signs = [
                found.dev() as i64,
                found.ino() as i64,
                size as i64,
                found.mtime(),
                found.mtime_nsec(),
            ];
            Some(FileSigns {
                signs,
                size,
                is_sure: now.duration_since(changed).is_ok_and(|age| age > TICK),
            })
        };
        paths.iter().map(PathBuf::as_path).map(look).collect()
    }

    /// Returns the content of a file that [`Self::signs`] told of, where it has no more bytes than that.
    pub fn glance(&self, path: &Path, largest: u64) -> Option<Vec<u8>> {
        let place = ResolvedPath(path.to_owned());
        self.may_show(&place).ok()?;
        let folder = self.folder_of(path).ok()?;
        let (file, found) = open_regular(&folder, path.file_name()?, &place).ok()?;
        if found.size() > largest {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(found.size()).ok()? + 1);
        file.take(largest).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

/// Returns the state of a file with this content.
pub(super) fn state_of(bytes: &[u8], runs: bool) -> FileState {
    let mut sum = Sum::default();
    sum.file(bytes.len() as u64, runs);
    sum.hash.update(bytes);
    sum.state()
}

/// A sum over what was found.
#[derive(Default)]
struct Sum {
    hash: Sha256,
    bytes: u64,
    entries: usize,
}

impl Sum {
    fn state(self) -> FileState {
        FileState(Some(hex(&self.hash.finalize()[..16])))
    }

    fn file(&mut self, size: u64, runs: bool) {
        let kind = if runs { "program" } else { "file" };
        self.word(kind, OsStr::new(&size.to_string()));
    }

    fn add(&mut self, dir: &Dir, name: &OsStr) -> io::Result<()> {
        self.entries += 1;
        let found = dir.symlink_metadata(name)?;
        if found.is_symlink() {
            let target = dir.read_link_contents(name)?;
            self.word("link", target.as_os_str());
        } else if found.is_dir() {
            let inside = dir.open_dir_nofollow(name)?;
            let names = inside.entries()?.map(|entry| Ok(entry?.file_name()));
            let mut names = names.collect::<io::Result<Vec<_>>>()?;
            names.sort();
            self.word("folder", OsStr::new(&names.len().to_string()));
            if self.entries + names.len() > MOST_ENTRIES {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            for name in names {
                self.word("name", &name);
                self.add(&inside, &name)?;
            }
        } else if found.is_file() {
            self.bytes += found.size();
            if self.bytes > MOST_BYTES {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            self.file(found.size(), found.mode() & 0o111 != 0);
            let mut file = open_for_reading(dir, name)?.take(found.size() + 1);
            io::copy(&mut file, &mut Hashing(&mut self.hash))?;
        } else {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(())
    }

    fn word(&mut self, kind: &str, text: &OsStr) {
        for part in [kind.as_bytes(), text.as_bytes()] {
            self.hash.update((part.len() as u64).to_le_bytes());
            self.hash.update(part);
        }
    }
}

struct Hashing<'h>(&'h mut Sha256);

impl io::Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
