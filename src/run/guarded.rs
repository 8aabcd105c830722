//! Guards the project's files: nothing that clada has not saved is overwritten or taken away. An edit replaces no more than
//! it has found.

use std::path::PathBuf;

use super::saving::SavedTree;
use crate::git::Snapshots;
use crate::reply::path::{PathError, RelPath};
use crate::world::attributes::Regrouped;
use crate::world::workspace::{
    Disk, FileContent, FileKind, FsError, ProjectFiles, ResolvedPath, SeenPlace,
};

/// The files on the disk, and what the last save of them saw, where that is known.
pub(super) struct GuardedFiles<'g> {
    pub(super) disk: &'g mut Disk,
    pub(super) seen: Option<(&'g Snapshots, &'g SavedTree)>,
    /// The paths that tasks have changed since.
    pub(super) unsaved: &'g [PathBuf],
}

impl GuardedFiles<'_> {
    /// Refuses a place if something at it, or below it, is not what the last save saw.
    fn check(&self, place: &ResolvedPath) -> Result<(), FsError> {
        let Some((snapshots, SavedTree(seen))) = self.seen else {
            return Ok(());
        };
        let is_related =
            |path: &PathBuf| path.starts_with(place.path()) || place.path().starts_with(path);
        if self.unsaved.iter().any(is_related) {
            return Ok(());
        }
        match snapshots.news(seen.as_deref(), place.path()) {
            Ok(None) => Ok(()),
            Ok(Some(path)) => Err(FsError::Outdated(path.display().to_string())),
            // What cannot be compared was not saved either, or the batch would not have begun.
            Err(error) => {
                tracing::debug!(%error, "compared with the last save");
                Ok(())
            }
        }
    }
}

impl ProjectFiles for GuardedFiles<'_> {
    fn parse(&self, text: &str) -> Result<RelPath, PathError> {
        self.disk.parse(text)
    }

    fn place(&self, path: &RelPath, follow: bool) -> Result<ResolvedPath, FsError> {
        self.disk.place(path, follow)
    }

    fn kind(&self, place: &ResolvedPath) -> Result<Option<FileKind>, FsError> {
        self.disk.kind(place)
    }

    fn see(&self, path: &RelPath, follow: bool) -> Result<SeenPlace, FsError> {
        self.disk.see(path, follow)
    }

    fn read(&self, place: &ResolvedPath) -> Result<FileContent, FsError> {
        self.disk.read(place)
    }

    fn read_to_change(&self, place: &ResolvedPath) -> Result<FileContent, FsError> {
        self.disk.read_to_change(place)
    }

    fn may_show(&self, place: &ResolvedPath) -> Result<(), FsError> {
        self.disk.may_show(place)
    }

    fn write(
        &mut self,
        place: &ResolvedPath,
        parts: &[&[u8]],
        expected: Option<&FileContent>,
    ) -> Result<(), FsError> {
        if expected.is_some() {
            return self.disk.write(place, parts, expected);
        }
        // What another program makes there at this moment was not meant by the task.
        let outdated = |error| match error {
            FsError::Changed(path) => FsError::Outdated(path),
            error => error,
        };
        if self.seen.is_none() || self.disk.kind(place)? != Some(FileKind::File) {
            return self.disk.write(place, parts, None).map_err(outdated);
        }
        // Read first: who saves behind the comparison is noticed by the write.
        let there = match self.disk.read_to_change(place) {
            Err(FsError::TooLarge { is_there: true, .. }) => {
                self.check(place)?;
                return self.disk.write(place, parts, None);
            }
            there => there?,
        };
        self.check(place)?;
        let written = self.disk.write(place, parts, Some(&there));
        written.map_err(outdated)
    }

    fn write_new(&mut self, place: &ResolvedPath, parts: &[&[u8]]) -> Result<(), FsError> {
        self.disk.write_new(place, parts)
    }

    fn remove(&mut self, place: &ResolvedPath) -> Result<(), FsError> {
        self.check(place)?;
        self.disk.remove(place)
    }

    fn rename(
        &mut self,
        from: &ResolvedPath,
        to: &ResolvedPath,
        overwrite: bool,
    ) -> Result<(), FsError> {
        self.check(from)?;
        self.check(to)?;
        self.disk.rename(from, to, overwrite)
    }

    fn make_folder(&mut self, place: &ResolvedPath) -> Result<bool, FsError> {
        self.disk.make_folder(place)
    }

    fn remove_folder(&mut self, place: &ResolvedPath) -> Result<(), FsError> {
        self.disk.remove_folder(place)
    }

    fn names(&self, dir: &ResolvedPath) -> Vec<String> {
        self.disk.names(dir)
    }

    fn was_changed(&self, place: &ResolvedPath) -> bool {
        self.disk.was_changed(place)
    }

    fn regrouped(&mut self) -> Vec<(ResolvedPath, Regrouped)> {
        self.disk.regrouped()
    }

    fn disk(&self) -> &Disk {
        self.disk
    }
}
