//! The project's files as they would be: what a dry run changes is kept in memory over the disk. Never writes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::entry::show;
use super::state::state_of;
use super::walk::{Seen, walk};
use super::{Content, Disk, Files, FsError, Kind, Place, Stamp};
use crate::policy::paths::Access;
use crate::reply::path::RelPath;
use crate::reply::record::FileState;

/// The files under a root with changes that are only thought.
#[derive(Clone)]
pub struct Preview<'d> {
    disk: &'d Disk,
    changes: BTreeMap<PathBuf, Node>,
}

/// What is at a place that a change names.
#[derive(Debug, Clone)]
enum Node {
    File(Vec<u8>),
    /// A new one. What is in it are changes of their own.
    Folder,
    Absent,
    /// What is, or was, at this place on disk, with all that is in it.
    Disk(Place),
}

impl<'d> Preview<'d> {
    /// Nothing is changed yet.
    pub fn new(disk: &'d Disk) -> Self {
        Self {
            disk,
            changes: BTreeMap::new(),
        }
    }

    /// What is at a place: what the nearest change at or above it says.
    fn node(&self, path: &Path) -> Node {
        let change = path
            .ancestors()
            .find_map(|above| self.changes.get(above).map(|node| (above, node)));
        match change {
            None => Node::Disk(Place(path.to_owned())),
            Some((above, Node::Disk(moved))) => {
                let place = Place(path.to_owned());
                Node::Disk(place.moved(&Place(above.to_owned()), moved))
            }
            Some((above, node)) if above == path => node.clone(),
            Some(_) => Node::Absent,
        }
    }

    /// The changes below a place.
    fn inside(&self, path: &Path) -> impl Iterator<Item = (&PathBuf, &Node)> {
        let changes = self.changes.iter();
        changes.filter(move |(key, _)| key.starts_with(path) && *key != path)
    }

    /// Has something be at a place, and the folders that it is in.
    fn put(&mut self, place: &Place, node: Node) -> Result<(), FsError> {
        for above in place.0.ancestors().skip(1) {
            if self.kind(&Place(above.to_owned()))?.is_some() {
                break;
            }
            self.changes.insert(above.to_owned(), Node::Folder);
        }
        self.changes.insert(place.0.clone(), node);
        Ok(())
    }

    /// The content of a file, whatever a task may do with it; `on_disk` reads one that is as it is on the disk.
    fn content(
        &self,
        place: &Place,
        on_disk: fn(&Disk, &Place) -> Result<Content, FsError>,
    ) -> Result<Content, FsError> {
        match self.node(&place.0) {
            Node::File(bytes) => Ok(Content {
                bytes,
                stamp: Stamp::default(),
            }),
            Node::Folder => Err(FsError::IsAFolder(show(place))),
            Node::Absent => Err(FsError::NotFound(show(place))),
            Node::Disk(there) => on_disk(self.disk, &there),
        }
    }
}

impl Files for Preview<'_> {
    fn place(&self, path: &RelPath, follow: bool) -> Result<Place, FsError> {
        walk(path, follow, self.disk.spellings(), |path| {
            Ok(match self.node(path) {
                Node::File(_) => Seen::Other,
                Node::Folder => Seen::Folder,
                Node::Absent => Seen::Nothing,
                Node::Disk(on_disk) => self.disk.look(&on_disk)?,
            })
        })
    }

    fn kind(&self, place: &Place) -> Result<Option<Kind>, FsError> {
        Ok(match self.node(&place.0) {
            Node::File(_) => Some(Kind::File),
            Node::Folder => Some(Kind::Dir),
            Node::Absent => None,
            Node::Disk(on_disk) => self.disk.kind(&on_disk)?,
        })
    }

    fn read(&self, place: &Place) -> Result<Content, FsError> {
        self.disk.allowed(Access::Read, place)?;
        self.content(place, Disk::shown)
    }

    fn read_to_change(&self, place: &Place) -> Result<Content, FsError> {
        self.disk.allowed(Access::Write, place)?;
        self.content(place, Disk::sized)
    }

    fn write(
        &mut self,
        place: &Place,
        parts: &[&[u8]],
        _: Option<&Content>,
    ) -> Result<(), FsError> {
        self.disk.check_size(place, parts)?;
        self.disk.check_new(place)?;
        if self.kind(place)? == Some(Kind::Dir) {
            return Err(FsError::IsAFolder(show(place)));
        }
        if let Node::Disk(old) = self.node(&place.0)
            && self.disk.kind(&old)?.is_some()
        {
            self.disk.check_replacement(&old)?;
        }
        self.put(place, Node::File(parts.concat()))
    }

    fn remove(&mut self, place: &Place) -> Result<(), FsError> {
        self.take_away(place, None)
    }

    fn rename(&mut self, from: &Place, to: &Place, overwrite: bool) -> Result<(), FsError> {
        if self.kind(to)?.is_some() && !overwrite {
            return Err(FsError::Exists(show(to)));
        }
        self.disk.check_new(to)?;
        let moved = self.node(&from.0);
        let inner: Vec<(PathBuf, Node)> = self
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

    fn make_folder(&mut self, place: &Place) -> Result<bool, FsError> {
        self.disk.allowed(Access::Write, place)?;
        match self.kind(place)? {
            Some(Kind::Dir) => return Ok(false),
            Some(_) => return Err(FsError::Exists(show(place))),
            None => {}
        }
        self.disk.check_new(place)?;
        self.put(place, Node::Folder)?;
        Ok(true)
    }

    fn remove_folder(&mut self, place: &Place) -> Result<(), FsError> {
        self.disk.allowed(Access::Write, place)?;
        if let Node::Disk(on_disk) = self.node(&place.0) {
            self.disk.way_to_existing(&on_disk)?;
        }
        match self.kind(place)? {
            Some(Kind::Dir) if self.names(place).is_empty() => {}
            Some(Kind::Dir) => return Err(FsError::NotEmpty(show(place))),
            Some(_) => return Err(FsError::NotAFolder(show(place))),
            None => return Err(FsError::NotFound(show(place))),
        }
        self.take_away(place, None)
    }

    fn names(&self, dir: &Place) -> Vec<String> {
        let mut names = match self.node(&dir.0) {
            Node::Disk(on_disk) => self.disk.names(&on_disk),
            Node::File(_) | Node::Folder | Node::Absent => Vec::new(),
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

    fn disk(&self) -> &Disk {
        self.disk
    }
}

impl Preview<'_> {
    /// Takes away what is at a place; `to` is where it goes.
    fn take_away(&mut self, place: &Place, to: Option<&Place>) -> Result<(), FsError> {
        // What is there only in thought, too.
        let inside = self.inside(&place.0).map(|(path, _)| path);
        for path in inside.chain([&place.0]) {
            let inner = Place(path.clone());
            match to {
                None => self.disk.allowed(Access::Write, &inner)?,
                Some(to) => self.disk.may_move(&inner, &inner.moved(place, to))?,
            }
        }
        match self.node(&place.0) {
            Node::Absent => return Err(FsError::NotFound(show(place))),
            Node::Disk(on_disk) => self.disk.check_removal(&on_disk, to)?,
            Node::File(_) | Node::Folder => {}
        }
        self.changes.retain(|path, _| !path.starts_with(&place.0));
        self.changes.insert(place.0.clone(), Node::Absent);
        Ok(())
    }

    /// Returns the files and links at and below a path relative to the root; the path itself where there is nothing.
    pub fn files_at(&self, path: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut folders = vec![Place(path.to_owned())];
        while let Some(place) = folders.pop() {
            match self.kind(&place) {
                Ok(Some(Kind::Dir)) => {
                    let names = self.names(&place).into_iter();
                    folders.extend(names.map(|name| place.child(name)));
                }
                _ => files.push(place.0),
            }
        }
        files
    }

    pub fn is_folder(&self, path: &Path) -> bool {
        matches!(self.kind(&Place(path.to_owned())), Ok(Some(Kind::Dir)))
    }

    /// What will be at the path of a file or link: whether it may be executed is not known of one that is written.
    pub fn states(&self, path: &Path) -> Vec<FileState> {
        match self.node(path) {
            Node::File(bytes) => vec![state_of(&bytes, false), state_of(&bytes, true)],
            Node::Folder => vec![FileState::UNKNOWN],
            Node::Absent => vec![FileState::missing()],
            Node::Disk(on_disk) => vec![self.disk.state(on_disk.path())],
        }
    }
}
