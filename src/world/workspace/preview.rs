//! The project's files as they would be: what a dry run changes is kept in memory over the disk. Never writes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::entry::show;
use super::state::state_of;
use super::walk::{StepKind, walk};
use super::{Disk, FileContent, FileKind, FileStamp, FsError, ProjectFiles, ResolvedPath};
use crate::policy::paths::Access;
use crate::reply::path::RelPath;
use crate::reply::record::FileState;

/// The files under a root with changes that are only thought.
#[derive(Clone)]
pub struct Preview<'d> {
    disk: &'d Disk,
    changes: BTreeMap<PathBuf, PreviewNode>,
}

/// The content of a place that a change names.
#[derive(Debug, Clone)]
enum PreviewNode {
    File(Vec<u8>),
    /// A new one. What is in it are changes of their own.
    Folder,
    Absent,
    /// The content that this place has, or had, on disk, with all that is in it.
    Disk(ResolvedPath),
}

impl<'d> Preview<'d> {
    /// Nothing is changed yet.
    pub fn new(disk: &'d Disk) -> Self {
        Self {
            disk,
            changes: BTreeMap::new(),
        }
    }

    /// Returns the content of a place, as the nearest change at or above it has it.
    fn node(&self, path: &Path) -> PreviewNode {
        let change = path
            .ancestors()
            .find_map(|above| self.changes.get(above).map(|node| (above, node)));
        match change {
            None => PreviewNode::Disk(ResolvedPath(path.to_owned())),
            Some((above, PreviewNode::Disk(moved))) => {
                let place = ResolvedPath(path.to_owned());
                PreviewNode::Disk(place.moved(&ResolvedPath(above.to_owned()), moved))
            }
            Some((above, node)) if above == path => node.clone(),
            Some(_) => PreviewNode::Absent,
        }
    }

    /// The changes below a place.
    fn inside(&self, path: &Path) -> impl Iterator<Item = (&PathBuf, &PreviewNode)> {
        let changes = self.changes.iter();
        changes.filter(move |(key, _)| key.starts_with(path) && *key != path)
    }

    /// Puts something at a place, and makes the folders that it is in.
    fn put(&mut self, place: &ResolvedPath, node: PreviewNode) -> Result<(), FsError> {
        for above in place.0.ancestors().skip(1) {
            if self.kind(&ResolvedPath(above.to_owned()))?.is_some() {
                break;
            }
            self.changes.insert(above.to_owned(), PreviewNode::Folder);
        }
        self.changes.insert(place.0.clone(), node);
        Ok(())
    }

    /// The content of a file, whatever a task may do with it; `on_disk` reads one that is as it is on the disk.
    fn content(
        &self,
        place: &ResolvedPath,
        on_disk: fn(&Disk, &ResolvedPath) -> Result<FileContent, FsError>,
    ) -> Result<FileContent, FsError> {
        match self.node(&place.0) {
            PreviewNode::File(bytes) => Ok(FileContent {
                bytes,
                stamp: FileStamp::default(),
            }),
            PreviewNode::Folder => Err(FsError::IsAFolder(show(place))),
            PreviewNode::Absent => Err(FsError::NotFound(show(place))),
            PreviewNode::Disk(there) => on_disk(self.disk, &there),
        }
    }
}

impl ProjectFiles for Preview<'_> {
    fn place(&self, path: &RelPath, follow: bool) -> Result<ResolvedPath, FsError> {
        walk(path, follow, self.disk.spellings(), |path| {
            Ok(match self.node(path) {
                PreviewNode::File(_) => StepKind::Other,
                PreviewNode::Folder => StepKind::Folder,
                PreviewNode::Absent => StepKind::Nothing,
                PreviewNode::Disk(on_disk) => self.disk.look(&on_disk)?,
            })
        })
    }

    fn kind(&self, place: &ResolvedPath) -> Result<Option<FileKind>, FsError> {
        Ok(match self.node(&place.0) {
            PreviewNode::File(_) => Some(FileKind::File),
            PreviewNode::Folder => Some(FileKind::Dir),
            PreviewNode::Absent => None,
            PreviewNode::Disk(on_disk) => self.disk.kind(&on_disk)?,
        })
    }

    fn read(&self, place: &ResolvedPath) -> Result<FileContent, FsError> {
        self.disk.allowed(Access::Read, place)?;
        self.content(place, Disk::shown)
    }

    fn read_to_change(&self, place: &ResolvedPath) -> Result<FileContent, FsError> {
        self.disk.allowed(Access::Write, place)?;
        self.content(place, Disk::sized)
    }

    fn write(
        &mut self,
        place: &ResolvedPath,
        parts: &[&[u8]],
        _: Option<&FileContent>,
    ) -> Result<(), FsError> {
        self.disk.check_size(place, parts)?;
        self.disk.check_new(place)?;
        if self.kind(place)? == Some(FileKind::Dir) {
            return Err(FsError::IsAFolder(show(place)));
        }
        if let PreviewNode::Disk(old) = self.node(&place.0)
            && self.disk.kind(&old)?.is_some()
        {
            self.disk.check_replacement(&old)?;
        }
        self.put(place, PreviewNode::File(parts.concat()))
    }

    fn write_new(&mut self, place: &ResolvedPath, parts: &[&[u8]]) -> Result<(), FsError> {
        if self.kind(place)?.is_some() {
            return Err(FsError::Exists(show(place)));
        }
        self.write(place, parts, None)
    }

    fn remove(&mut self, place: &ResolvedPath) -> Result<(), FsError> {
        self.take_away(place, None)
    }

    fn rename(
        &mut self,
        from: &ResolvedPath,
        to: &ResolvedPath,
        overwrite: bool,
    ) -> Result<(), FsError> {
        if self.kind(to)?.is_some() && !overwrite {
            return Err(FsError::Exists(show(to)));
        }
        self.disk.check_new(to)?;
        let moved = self.node(&from.0);
        let inner: Vec<(PathBuf, PreviewNode)> = self
            .inside(&from.0)
            .map(|(path, node)| (path.clone(), node.clone()))
            .collect();
        self.take_away(from, Some(to))?;
        self.put(to, moved)?;
        for (path, node) in inner {
            let rest = path.strip_prefix(&from.0).unwrap_or(&path);
            self.changes.insert(to.0.join(rest), node);
        }
        Ok(())
    }

    fn make_folder(&mut self, place: &ResolvedPath) -> Result<bool, FsError> {
        self.disk.allowed(Access::Write, place)?;
        match self.kind(place)? {
            Some(FileKind::Dir) => return Ok(false),
            Some(_) => return Err(FsError::Exists(show(place))),
            None => {}
        }
        self.disk.check_new(place)?;
        self.put(place, PreviewNode::Folder)?;
        Ok(true)
    }

    fn remove_folder(&mut self, place: &ResolvedPath) -> Result<(), FsError> {
        self.disk.allowed(Access::Write, place)?;
        if let PreviewNode::Disk(on_disk) = self.node(&place.0) {
            self.disk.way_to_existing(&on_disk)?;
        }
        match self.kind(place)? {
            Some(FileKind::Dir) if self.names(place).is_empty() => {}
            Some(FileKind::Dir) => return Err(FsError::NotEmpty(show(place))),
            Some(_) => return Err(FsError::NotAFolder(show(place))),
            None => return Err(FsError::NotFound(show(place))),
        }
        self.take_away(place, None)
    }

    fn names(&self, dir: &ResolvedPath) -> Vec<String> {
        let mut names = match self.node(&dir.0) {
            PreviewNode::Disk(on_disk) => self.disk.names(&on_disk),
            PreviewNode::File(_) | PreviewNode::Folder | PreviewNode::Absent => Vec::new(),
        };
        names.extend(self.changes.keys().filter_map(|path| {
            let name = path.strip_prefix(&dir.0).ok()?.iter().next()?;
            name.to_str().map(str::to_owned)
        }));
        names.sort();
        names.dedup();
        names.retain(|name| matches!(self.kind(&dir.child(name)), Ok(Some(_))));
        names
    }

    fn was_changed(&self, place: &ResolvedPath) -> bool {
        match self.node(&place.0) {
            PreviewNode::Disk(on_disk) => self.disk.was_changed(&on_disk),
            PreviewNode::File(_) => true,
            PreviewNode::Folder | PreviewNode::Absent => false,
        }
    }

    fn disk(&self) -> &Disk {
        self.disk
    }
}

impl Preview<'_> {
    /// Takes away what is at a place; `to` is where it goes.
    fn take_away(
        &mut self,
        place: &ResolvedPath,
        to: Option<&ResolvedPath>,
    ) -> Result<(), FsError> {
        // What is there only in thought, too.
        let inside = self.inside(&place.0).map(|(path, _)| path);
        for path in inside.chain([&place.0]) {
            let inner = ResolvedPath(path.clone());
            match to {
                None => self.disk.allowed(Access::Write, &inner)?,
                Some(to) => self.disk.may_move(&inner, &inner.moved(place, to))?,
            }
        }
        match self.node(&place.0) {
            PreviewNode::Absent => return Err(FsError::NotFound(show(place))),
            PreviewNode::Disk(on_disk) => self.disk.check_removal(&on_disk, to)?,
            PreviewNode::File(_) | PreviewNode::Folder => {}
        }
        self.changes.retain(|path, _| !path.starts_with(&place.0));
        self.changes.insert(place.0.clone(), PreviewNode::Absent);
        Ok(())
    }

    /// Returns the files and links at and below a path relative to the root; the path itself where there is nothing.
    pub fn files_at(&self, path: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut folders = vec![ResolvedPath(path.to_owned())];
        while let Some(place) = folders.pop() {
            match self.kind(&place) {
                Ok(Some(FileKind::Dir)) => {
                    let names = self.names(&place).into_iter();
                    folders.extend(names.map(|name| place.child(name)));
                }
                _ => files.push(place.0),
            }
        }
        files
    }

    /// The content of the file at a path relative to the root, as a task is shown it; `None` where nothing is.
    ///
    /// # Errors
    /// See [`ProjectFiles::read`].
    pub fn shown(&self, path: &Path) -> Result<Option<Vec<u8>>, FsError> {
        let place = ResolvedPath(path.to_owned());
        match self.kind(&place)? {
            Some(_) => Ok(Some(self.read(&place)?.bytes)),
            None => Ok(None),
        }
    }

    /// The content that a change gave the file at a path.
    pub fn written(&self, path: &Path) -> Option<&[u8]> {
        match self.changes.get(path) {
            Some(PreviewNode::File(bytes)) => Some(bytes),
            _ => None,
        }
    }

    pub fn is_folder(&self, path: &Path) -> bool {
        matches!(
            self.kind(&ResolvedPath(path.to_owned())),
            Ok(Some(FileKind::Dir))
        )
    }

    /// Returns the states that a path may have then: a file that is written may become one that can be executed, or not.
    pub fn states(&self, path: &Path) -> Vec<FileState> {
        match self.node(path) {
            PreviewNode::File(bytes) => vec![state_of(&bytes, false), state_of(&bytes, true)],
            PreviewNode::Folder => vec![FileState::UNKNOWN],
            PreviewNode::Absent => vec![FileState::missing()],
            PreviewNode::Disk(on_disk) => vec![self.disk.state(on_disk.path())],
        }
    }
}
