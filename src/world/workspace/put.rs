//! Puts back what was at a path: a file with its bytes, a link, or nothing. Takes paths from git, not from a reply;
//! follows no link, and touches nothing that a task must not.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::MetadataExt;
use rustix::fs::RenameFlags;

use super::disk::{Disk, Replaces, kind};
use super::entry::{io_error, last, rename_at, show, unused_name};
use super::{FileKind, FsError, ProjectFiles, ResolvedPath};
use crate::reply::path::is_git;
use crate::world::file_or_link::FileOrLink;
use crate::world::folder::if_there;

impl Disk {
    /// Reads what is at a path relative to the root, its links not followed. A folder is nothing.
    ///
    /// # Errors
    /// For what no task may replace, and what cannot be read.
    pub fn entry(&self, path: &Path) -> Result<Option<FileOrLink>, FsError> {
        let place = literal(path)?;
        let Ok(dir) = self.folder_of(path) else {
            return Ok(None);
        };
        let name = last(&place)?;
        let found = if_there(dir.symlink_metadata(name));
        let Some(found) = found.map_err(|error| io_error("look at", &place, error))? else {
            return Ok(None);
        };
        Ok(match kind(found.file_type()) {
            FileKind::Dir => None,
            FileKind::Other => return Err(FsError::NotAFile(show(&place))),
            FileKind::Link => {
                let target = dir.read_link_contents(name);
                let target = target.map_err(|error| io_error("read", &place, error))?;
                Some(FileOrLink::Link(target))
            }
            FileKind::File => Some(FileOrLink::File {
                bytes: self.content(&place)?.bytes,
                runs: found.mode() & 0o100 != 0,
            }),
        })
    }

    /// Puts this at a path relative to the root, if what is `expected` is still there; `None` is nothing. Each either
    /// happens as a whole or not at all. Folders are made for it, and those that it leaves empty are removed, as git does.
    ///
    /// # Errors
    /// [`FsError::Changed`] where something else is there by now; for what no task may touch.
    pub fn put(
        &mut self,
        path: &Path,
        entry: Option<&FileOrLink>,
        expected: Option<&FileOrLink>,
    ) -> Result<(), FsError> {
        let place = literal(path)?;
        if self.entry(path)?.as_ref() != expected {
            return Err(FsError::Changed(show(&place)));
        }
        if entry == expected {
            return Ok(());
        }
        match entry {
            None => {
                self.remove_file(&place)?;
                self.clear_above(path);
            }
            Some(FileOrLink::File { bytes, runs }) => {
                let content = match expected {
                    Some(FileOrLink::File { .. }) => Some(self.content(&place)?),
                    Some(FileOrLink::Link(_)) => self.remove_file(&place).map(|()| None)?,
                    None => None,
                };
                let replaces = content.as_ref().map_or(Replaces::Anything, Replaces::Only);
                self.write_file(&place, &[bytes], replaces, Some(*runs))?;
            }
            Some(FileOrLink::Link(target)) => self.put_link(&place, target, expected.is_some())?,
        }
        Ok(())
    }

    /// Makes a folder at a path relative to the root, if there is none.
    ///
    /// # Errors
    /// Where something else is there, and for what no task may touch.
    pub fn put_folder(&mut self, path: &Path) -> Result<(), FsError> {
        self.make_folder(&literal(path)?).map(drop)
    }

    /// The folders above a path relative to the root go, as far as they are there and there is nothing in them.
    pub fn clear_above(&self, path: &Path) {
        for folder in path.ancestors().skip(1) {
            let (Some(name), Some(above)) = (folder.file_name(), folder.parent()) else {
                return;
            };
            let removed = self.folder(above).and_then(|dir| dir.remove_dir(name));
            if if_there(removed).is_err() {
                return;
            }
        }
    }

    /// Returns the files that a clada of that process id left in a folder (relative to the root) when it was killed.
    pub fn left_behind(&self, folder: &Path, pid: u32) -> Vec<ResolvedPath> {
        let starts = ["deleted", "new", "link"].map(|what| format!(".clada-{what}-{pid}-"));
        let place = ResolvedPath(folder.to_owned());
        let names = self.names(&place).into_iter();
        let names = names.filter(|name| starts.iter().any(|start| name.starts_with(start)));
        names.map(|name| place.child(name)).collect()
    }

    fn remove_file(&self, place: &ResolvedPath) -> Result<(), FsError> {
        let (dir, _) = self.way_to_existing(place)?;
        let removed = dir.remove_file(last(place)?);
        removed.map_err(|error| io_error("delete", place, error))
    }

    fn put_link(
        &self,
        place: &ResolvedPath,
        target: &Path,
        overwrite: bool,
    ) -> Result<(), FsError> {
        let fail = |error| io_error("write", place, error);
        let name = last(place)?;
        let (dir, made) = self.way(place)?.made(place)?;
        let link = |aside: &OsStr| Ok(rustix::fs::symlinkat(target, &*dir, aside)?);
        let aside = unused_name("link", link).map_err(fail)?;
        let flags = if overwrite {
            RenameFlags::empty()
        } else {
            RenameFlags::NOREPLACE
        };
        rename_at(&dir, &aside, &dir, name, flags).map_err(|error| {
            let _ = dir.remove_file(&aside);
            fail(error)
        })?;
        made.keep();
        Ok(())
    }
}

/// The place that a path names, if it is one.
fn literal(path: &Path) -> Result<ResolvedPath, FsError> {
    let mut names = path.components().peekable();
    let outside = || FsError::Escapes(path.display().to_string());
    if names.peek().is_none() {
        return Err(FsError::IsAFolder(".".to_owned()));
    }
    for name in names {
        match name {
            Component::Normal(name) if name.to_str().is_some_and(is_git) => {
                return Err(FsError::Git(path.display().to_string()));
            }
            Component::Normal(_) => {}
            _ => return Err(outside()),
        }
    }
    Ok(ResolvedPath(PathBuf::from(path)))
}
