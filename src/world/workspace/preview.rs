//! The project's files as they would be: what a dry run changes is kept in memory over the disk. Never writes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::removal::Removal;
use super::state::state_of;
use super::walk::{Seen, walk};
use super::{Content, Disk, Files, FsError, Kind, Place, Stamp};
use crate::lang::path::{PathError, RelPath};
use crate::lang::record::FileState;

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
                let rest = path.strip_prefix(above).unwrap_or(Path::new(""));
                Node::Disk(if rest.as_os_str().is_empty() {
                    moved.clone()
                } else {
                    moved.child(rest)
                })
            }
            Some((above, node)) if above == path => node.clone(),
            Some(_) => Node::Absent,
        }
    }

    fn inside(&self, path: &Path) -> Vec<PathBuf> {
        self.changes
            .keys()
            .filter(|key| key.starts_with(path) && *key != path)
            .cloned()
            .collect()
    }

    /// Whether a change puts something into this folder.
    fn is_filled(&self, path: &Path) -> bool {
        let inside = self.inside(path);
        inside
            .iter()
            .any(|path| !matches!(self.changes.get(path), Some(Node::Absent) | None))
    }

    fn missing(place: &Place) -> FsError {
        FsError::NotFound(place.0.display().to_string())
    }
}

impl Files for Preview<'_> {
    fn parse(&self, text: &str) -> Result<RelPath, PathError> {
        RelPath::parse(text, self.disk.spellings(), |path| {
            super::exists(self, path)
        })
    }

    fn place(&self, path: &RelPath, follow: bool) -> Result<Place, FsError> {
        walk(path, follow, self.disk.spellings(), |path| {
            let seen = match self.node(path) {
                Node::File(_) => Seen::Other,
                Node::Absent => Seen::Nothing,
                Node::Disk(on_disk) => self.disk.look(&on_disk)?,
            };
            Ok(match seen {
                Seen::Nothing if self.is_filled(path) => Seen::Folder,
                seen => seen,
            })
        })
    }

    fn kind(&self, place: &Place) -> Result<Option<Kind>, FsError> {
        let kind = match self.node(&place.0) {
            Node::File(_) => Some(Kind::File),
            Node::Absent => None,
            Node::Disk(on_disk) => self.disk.kind(&on_disk)?,
        };
        Ok(kind.or_else(|| self.is_filled(&place.0).then_some(Kind::Dir)))
    }

    fn read(&self, place: &Place) -> Result<Content, FsError> {
        match self.node(&place.0) {
            Node::File(bytes) => Ok(Content {
                bytes,
                stamp: Stamp::default(),
            }),
            Node::Absent => Err(Self::missing(place)),
            Node::Disk(on_disk) => self.disk.read(&on_disk),
        }
    }

    fn write(
        &mut self,
        place: &Place,
        parts: &[&[u8]],
        _: Option<&Content>,
    ) -> Result<(), FsError> {
        self.disk.check_new(place)?;
        if self.kind(place)? == Some(Kind::Dir) {
            return Err(FsError::IsAFolder(place.0.display().to_string()));
        }
        if let Node::Disk(old) = self.node(&place.0)
            && self.disk.kind(&old)?.is_some()
        {
            self.disk.check_replacement(&old)?;
        }
        self.changes
            .insert(place.0.clone(), Node::File(parts.concat()));
        Ok(())
    }

    fn remove(&mut self, place: &Place) -> Result<(), FsError> {
        self.take_away(place, Removal::Delete)
    }

    fn rename(&mut self, from: &Place, to: &Place, overwrite: bool) -> Result<(), FsError> {
        if self.kind(to)?.is_some() && !overwrite {
            return Err(FsError::Exists(to.0.display().to_string()));
        }
        self.disk.check_new(to)?;
        let moved = self.node(&from.0);
        let inner: Vec<(PathBuf, Node)> = self
            .inside(&from.0)
            .into_iter()
            .filter_map(|path| self.changes.get(&path).cloned().map(|n| (path, n)))
            .collect();
        self.take_away(from, Removal::Move)?;
        self.changes.insert(to.0.clone(), moved);
        for (path, node) in inner {
            let rest = path.strip_prefix(&from.0).unwrap_or(&path);
            self.changes.insert(to.0.join(rest), node);
        }
        Ok(())
    }

    fn names(&self, dir: &Place) -> Vec<String> {
        let mut names = match self.node(&dir.0) {
            Node::Disk(on_disk) => self.disk.names(&on_disk),
            Node::File(_) | Node::Absent => Vec::new(),
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
    fn take_away(&mut self, place: &Place, removal: Removal) -> Result<(), FsError> {
        match self.node(&place.0) {
            Node::Absent if !self.is_filled(&place.0) => return Err(Self::missing(place)),
            // A folder that only thought changes made is not on the disk.
            Node::Disk(on_disk) if self.disk.kind(&on_disk)?.is_some() => {
                self.disk.check_removal(&on_disk, removal)?;
            }
            Node::Disk(_) if !self.is_filled(&place.0) => return Err(Self::missing(place)),
            Node::Disk(_) | Node::Absent | Node::File(_) => {}
        }
        for path in self.inside(&place.0) {
            self.changes.remove(&path);
        }
        self.changes.insert(place.0.clone(), Node::Absent);
        Ok(())
    }
}

impl Preview<'_> {
    /// The files and links at and below a path relative to the root; the path itself where there is nothing.
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
            Node::Absent => vec![FileState::missing()],
            Node::Disk(on_disk) => vec![self.disk.state(on_disk.path())],
        }
    }
}
