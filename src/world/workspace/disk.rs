//! The project's files on disk, confined to the root by directory handles. Never follows a link by name.
//!
//! Every folder is opened from the root's handle with "no links": in one call where the system can do that and no link is on
//! the way, otherwise name by name, and links are read and resolved here. Opening a path and checking it afterwards, or
//! before, would leave a moment in which a link can be put in its place; a walk by handles has no such moment: a swapped
//! link makes the next step fail.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::ambient_authority;
use cap_std::fs::{
    Dir, File, FileType, Metadata, MetadataExt, OpenOptions, OpenOptionsExt, Permissions,
    PermissionsExt,
};
use rustix::fs::{AtFlags, RenameFlags};

use super::entry::{io_error, last, rename_at, show, stamp, unused_name};
use super::flush::Flush;
use super::new_file::NewFile;
use super::own::{Concern, Id, ItselfId, Own, PlaceIds, id};
use super::removal::{Removal, check_tree};
use super::replace::{put_new, replace_any, replace_expected};
use super::walk::{StepKind, walk};
use super::{FileContent, FileKind, FsError, ProjectFiles, ResolvedPath, SeenPlace};
use crate::policy::paths::{Access, Paths};
use crate::reply::path::{RelPath, Spellings, is_git};
use crate::world::attributes::{self, Regrouped, Rights};
use crate::world::folder::{FolderError, OpenFolder, if_there, open_below};
use crate::world::scarce;
use crate::world::syntax::Syntax;

/// A reason why the root is not where it was.
#[derive(Debug, thiserror::Error)]
pub enum RootMoved {
    #[error("cannot reach the project folder `{}` ({}): put it back", .0.display(), .1)]
    Gone(PathBuf, io::Error),
    #[error(
        "`{}` has become a symbolic link, so the project folder `{}` is not where it was: put the folder back, or \
         restart clada to continue where the link leads", .1.display(), .0.display()
    )]
    Link(PathBuf, PathBuf),
    #[error(
        "`{}` is not the project folder that clada started with, but another one of that name: put the first one back, \
         or restart clada to continue in this one", .0.display()
    )]
    Other(PathBuf),
}

/// The largest file that is put back or replaced where no setting says how large one may be, in bytes.
const LARGEST: u64 = 4 * 1024 * 1024 * 1024;
/// Memory is had for no more of a file before it is read, in bytes.
const AT_ONCE: usize = 64 * 1024 * 1024;

/// The bounds of what tasks may do.
struct TaskLimits {
    /// The largest file that a task reads or writes, in bytes.
    largest: u64,
    /// The paths that tasks may read and change; all where there is none.
    paths: Option<Paths>,
}

/// The files under one root.
pub struct Disk {
    /// Shared: it is not duplicated for each walk.
    root: Arc<Dir>,
    /// The root's path when it was opened.
    path: PathBuf,
    root_id: Id,
    spellings: Spellings,
    own: Own,
    limits: TaskLimits,
    flush: Flush,
    syntax: Syntax,
    /// The files whose group could not be kept, until they are asked for.
    regrouped: Vec<(ResolvedPath, Regrouped)>,
    /// The files that tasks of this run have written.
    written: HashSet<PathBuf>,
}

impl Disk {
    /// Opens the root. `protected` are absolute paths that no task may touch, wherever they are.
    ///
    /// # Errors
    /// Where the root is no folder that can be opened.
    pub fn open(root: &Path, home: Option<&Path>, protected: Vec<PathBuf>) -> io::Result<Self> {
        let canonical = root.canonicalize()?;
        // A `..` behind a link would be resolved by name where this is compared: not where it leads.
        let given = if root.components().any(|part| part == Component::ParentDir) {
            canonical.clone()
        } else {
            std::path::absolute(root)?
        };
        let home = home.map(|home| home.canonicalize().unwrap_or_else(|_| home.to_owned()));
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let root = Dir::open_ambient_dir(&canonical, ambient_authority())?;
        Ok(Self {
            root_id: id(&root.dir_metadata()?),
            root: Arc::new(root),
            path: canonical.clone(),
            spellings: Spellings {
                given: text(&given),
                canonical: text(&canonical),
                home: home.as_deref().map(text),
            },
            own: Own::new(protected, &canonical),
            limits: TaskLimits {
                largest: u64::MAX,
                paths: None,
            },
            flush: Flush::default(),
            syntax: Syntax::of_this_program(),
            regrouped: Vec::new(),
            written: HashSet::new(),
        })
    }

    /// The canonical path that the root had when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the reason why the root is not at its path any more. Says nothing where there are too few open files to find
    /// out: nothing else goes well then.
    pub fn moved(&self) -> Option<RootMoved> {
        let path = self.path.clone();
        match OpenFolder::open(&self.path) {
            Ok(folder) => {
                let is_root = folder.id().is_ok_and(|id| id == self.root_id);
                (!is_root).then_some(RootMoved::Other(path))
            }
            Err(FolderError::Link(link)) => Some(RootMoved::Link(path, link)),
            Err(FolderError::Io(error)) if scarce::is_scarce(&error) => None,
            Err(FolderError::Io(error)) => Some(RootMoved::Gone(path, error)),
        }
    }

    /// Parses the code of files.
    pub fn syntax(&self) -> &Syntax {
        &self.syntax
    }

    /// No task may touch these either, from now on.
    pub fn protect(&mut self, places: &[PathBuf]) {
        self.own.add(places);
    }

    /// No task reads or writes a file of more bytes from now on.
    pub fn limit(&mut self, largest: u64) {
        self.limits.largest = largest;
    }

    /// Refused where more is to be written than a file may have.
    pub(super) fn check_size(&self, place: &ResolvedPath, parts: &[&[u8]]) -> Result<(), FsError> {
        let size = parts.iter().map(|part| part.len() as u64).sum();
        if size > self.limits.largest {
            return Err(too_large(place, size, self.limits.largest, false));
        }
        Ok(())
    }

    /// Lets tasks read and change no more than this from now on.
    pub fn obey(&mut self, paths: Paths) {
        self.limits.paths = Some(paths);
    }

    /// Refuses a task that may not read, or change, what is at a place.
    pub(super) fn allowed(&self, access: Access, place: &ResolvedPath) -> Result<(), FsError> {
        let paths = self.limits.paths.as_ref();
        let Some(denial) = paths.and_then(|paths| paths.refuses(access, &place.0)) else {
            return Ok(());
        };
        let (place, why) = (show(place), denial.to_string());
        Err(match access {
            Access::Read => FsError::NotShown(place, why),
            Access::Write => FsError::NotChanged(place, why),
        })
    }

    /// Refuses a task that may not move something to another place: the move must not show what tasks may not read.
    pub(super) fn may_move(&self, from: &ResolvedPath, to: &ResolvedPath) -> Result<(), FsError> {
        self.allowed(Access::Write, from)?;
        self.allowed(Access::Write, to)?;
        if self.allowed(Access::Read, from).is_err() && self.allowed(Access::Read, to).is_ok() {
            return Err(FsError::WouldShow(show(from), show(to)));
        }
        Ok(())
    }

    /// The content of a file, whatever a task may do with it and however large its files may be.
    pub(super) fn content(&self, place: &ResolvedPath) -> Result<FileContent, FsError> {
        self.read_up_to(place, LARGEST, sole)
    }

    /// The content of a file that is not too large, for changing it.
    pub(super) fn sized(&self, place: &ResolvedPath) -> Result<FileContent, FsError> {
        self.read_up_to(place, self.limits.largest, sole)
    }

    /// The same for no more than showing it: it may have other names too, as in pnpm's `node_modules`.
    pub(super) fn shown(&self, place: &ResolvedPath) -> Result<FileContent, FsError> {
        self.read_up_to(place, self.limits.largest, |_, _| Ok(()))
    }

    /// Begins to write to the disk what was changed: nothing more may be changed for a while.
    pub fn begin_writing(&mut self) {
        self.flush.hand_over();
    }

    /// Ends a run: what was changed is on its way to the disk, and nothing is parsed for now.
    pub fn settle(&mut self) {
        self.begin_writing();
        self.syntax.rest();
        self.written.clear();
    }

    /// The identities of clada's own files, as far as they exist.
    pub(super) fn own_files(&self) -> Vec<Id> {
        self.own.ids()
    }

    pub(super) fn spellings(&self) -> &Spellings {
        &self.spellings
    }

    /// Looks at a place, for following links.
    pub(super) fn look(&self, place: &ResolvedPath) -> io::Result<StepKind> {
        let Some(name) = place.0.file_name() else {
            return Ok(StepKind::Folder);
        };
        match if_there(self.folder_of(&place.0))? {
            Some(dir) => look(&dir, name),
            None => Ok(StepKind::Nothing),
        }
    }

    /// A folder under the root, opened without following any link.
    pub(super) fn folder(&self, path: &Path) -> io::Result<Arc<Dir>> {
        if path.as_os_str().is_empty() {
            return Ok(Arc::clone(&self.root));
        }
        if let Ok(folder) = open_below(&*self.root, path) {
            return Ok(Arc::new(Dir::from_std_file(folder.into())));
        }
        let mut dir = Arc::clone(&self.root);
        for name in path.components() {
            dir = Arc::new(dir.open_dir_nofollow(name)?);
        }
        Ok(dir)
    }

    /// Looks at what a path leads to if no link is on the way: most often there is none, and then one look is enough.
    fn see_plain(&self, path: &RelPath, follow: bool) -> Option<SeenPlace> {
        if path.names().any(|name| name == ".." || is_git(name)) {
            return None;
        }
        let place = ResolvedPath(path.names().collect());
        let dir = self.folder_of(&place.0).ok()?;
        let found = if_there(dir.symlink_metadata(place.0.file_name()?)).ok()?;
        let kind = found.map(|found| kind(found.file_type()));
        let is_followed = follow && kind == Some(FileKind::Link);
        (!is_followed).then_some(SeenPlace { place, kind })
    }

    /// The folder that a path is in.
    pub(super) fn folder_of(&self, path: &Path) -> io::Result<Arc<Dir>> {
        self.folder(path.parent().unwrap_or(Path::new("")))
    }

    /// Goes to a place as far as it exists, without following any link. Refused where it belongs to clada.
    pub(super) fn way(&self, place: &ResolvedPath) -> Result<WalkedPath, FsError> {
        let way = self.walked(place)?;
        let concern = self.own.concerns(&PlaceIds {
            path: &place.0,
            above: &way.above,
            itself: way.itself.as_ref().map(|found| ItselfId {
                id: id(found),
                may_hold: found.is_dir() || found.is_symlink(),
                is_sole: found.nlink() == 1,
            }),
            missing: if way.itself.is_some() {
                &[]
            } else {
                &way.names
            },
        });
        match concern {
            None => Ok(way),
            Some(Concern::Is) => Err(FsError::Protected(show(place))),
            Some(Concern::Holds) => Err(FsError::HoldsProtected(show(place))),
        }
    }

    /// The same without asking whether it belongs to clada.
    fn walked(&self, place: &ResolvedPath) -> Result<WalkedPath, FsError> {
        let open = |e| io_error("open the folder of", place, e);
        let mut names: Vec<OsString> = place.0.iter().map(OsString::from).collect();
        names.reverse();
        let mut dir = Arc::clone(&self.root);
        let mut above = vec![self.root_id];
        while names.len() > 1 {
            let Some(name) = names.pop() else { break };
            let Some(inner) = if_there(dir.open_dir_nofollow(&name)).map_err(open)? else {
                names.push(name);
                break;
            };
            dir = Arc::new(inner);
            above.push(id(&dir.dir_metadata().map_err(open)?));
        }
        let itself = match names.as_slice() {
            [name] => if_there(dir.symlink_metadata(name))
                .map_err(|error| io_error("look at", place, error))?,
            _ => None,
        };
        names.reverse();
        Ok(WalkedPath {
            dir,
            above,
            names,
            itself,
        })
    }

    /// The folder of a file that was read.
    fn folder_of_expected(&self, place: &ResolvedPath) -> Result<Arc<Dir>, FsError> {
        let folder = if_there(self.folder_of(&place.0));
        let folder = folder.map_err(|error| io_error("open the folder of", place, error))?;
        folder.ok_or_else(|| FsError::Changed(show(place)))
    }

    /// Goes to a place in a folder that exists.
    pub(super) fn way_to_existing(
        &self,
        place: &ResolvedPath,
    ) -> Result<(Arc<Dir>, Metadata), FsError> {
        let way = self.way(place)?;
        match way.itself {
            Some(found) => Ok((way.dir, found)),
            None => Err(FsError::NotFound(show(place))),
        }
    }

    /// Refuses what would be refused where something is created here, for a preview.
    pub(super) fn check_new(&self, place: &ResolvedPath) -> Result<(), FsError> {
        self.allowed(Access::Write, place)?;
        match self.way(place) {
            // What is in the way on the disk has been moved or deleted in thought.
            Ok(_) | Err(FsError::Io { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Refuses what would be refused where the file at this place is replaced, for a preview.
    pub(super) fn check_replacement(&self, place: &ResolvedPath) -> Result<(), FsError> {
        let (dir, _) = self.way_to_existing(place)?;
        replaceable(&dir, place).map(drop)
    }

    /// Refuses what would be refused where something is deleted from this place or moved, for a preview.
    pub(super) fn check_removal(
        &self,
        place: &ResolvedPath,
        to: Option<&ResolvedPath>,
    ) -> Result<(), FsError> {
        let (dir, found) = self.way_to_existing(place)?;
        match to {
            None => check_tree(&dir, &found, place, Removal::Delete, &|place| {
                self.allowed(Access::Write, place)
            }),
            Some(to) => check_tree(&dir, &found, place, Removal::Move, &|inner| {
                self.may_move(inner, &inner.moved(place, to))
            }),
        }
    }

    /// The content of a file that has no more bytes than this; `check` says whether it may be read.
    fn read_up_to(
        &self,
        place: &ResolvedPath,
        limit: u64,
        check: impl Fn(&Metadata, &ResolvedPath) -> Result<(), FsError>,
    ) -> Result<FileContent, FsError> {
        // Clada's own files are not even opened: to close one again would end SQLite's locks on it.
        let (dir, seen) = self.way_to_existing(place)?;
        let (file, found) = open_regular(&dir, last(place)?, place)?;
        if id(&found) != id(&seen) {
            // What came there since has passed no guard.
            return Err(FsError::Changed(show(place)));
        }
        check(&found, place)?;
        let stamp = stamp(&found);
        if stamp.size > limit {
            return Err(too_large(place, stamp.size, limit, true));
        }
        // More than is there may be in no memory.
        let expected = usize::try_from(stamp.size).map_or(AT_ONCE, |size| size.min(AT_ONCE));
        let mut bytes = Vec::with_capacity(expected + 1);
        // It may grow meanwhile. The memory for it is not cleared before: that took as long as the reading.
        let mut file = file.into_std().take(limit.saturating_add(1));
        file.read_to_end(&mut bytes)
            .map_err(|e| io_error("read", place, e))?;
        if bytes.len() as u64 > limit {
            return Err(too_large(place, bytes.len() as u64, limit, true));
        }
        Ok(FileContent { bytes, stamp })
    }

    /// Writes a file where a task may do that, and keeps account of it.
    fn write_for_task(
        &mut self,
        place: &ResolvedPath,
        parts: &[&[u8]],
        replaces: Replaces<'_>,
    ) -> Result<(), FsError> {
        self.allowed(Access::Write, place)?;
        self.check_size(place, parts)?;
        let regrouped = self.write_file(place, parts, replaces, None)?;
        let regrouped = regrouped.map(|group| (place.clone(), group));
        self.regrouped.extend(regrouped);
        self.written.insert(place.0.clone());
        Ok(())
    }

    /// Writes a file as [`ProjectFiles::write`] does, and returns its group if that could not be kept; `runs` says whether it may be
    /// executed, where that is known.
    pub(super) fn write_file(
        &mut self,
        place: &ResolvedPath,
        parts: &[&[u8]],
        replaces: Replaces<'_>,
        runs: Option<bool>,
    ) -> Result<Option<Regrouped>, FsError> {
        let fail = |action| move |e| io_error(action, place, e);
        let mut is_new = false;
        let (dir, made) = match replaces {
            // It passed the guard when it was read, and is found below to be that very file.
            Replaces::Only(_) => (self.folder_of_expected(place)?, MadeDirs(Vec::new())),
            Replaces::Anything | Replaces::Nothing => {
                let way = self.way(place)?;
                is_new = way.itself.is_none();
                if !is_new && matches!(replaces, Replaces::Nothing) {
                    return Err(FsError::Changed(show(place)));
                }
                way.made(place)?
            }
        };
        let old = if is_new {
            None
        } else {
            replaceable(&dir, place)?
        };
        let found = old.as_ref().map(|(_, found)| found);
        let new = NewFile::new(&dir, found).map_err(fail("write in the folder of"))?;
        fill(new.file(), parts).map_err(fail("write"))?;
        let mut regrouped = None;
        if let Some((old, found)) = &old {
            let (was, is) = (rights(found), rights(new.found()));
            let kept = attributes::copy_known(old, was, new.file(), is);
            regrouped = kept.map_err(|error| FsError::Attributes {
                path: show(place),
                error,
            })?;
        }
        if let Some(runs) = runs {
            let_run(new.file(), runs).map_err(fail("write"))?;
        }
        let new = match replaces {
            Replaces::Only(expected) => replace_expected(&dir, new, old.as_ref(), expected, place)?,
            Replaces::Anything if old.is_some() => {
                replace_any(&dir, new, last(place)?).map_err(fail("write"))?
            }
            Replaces::Anything | Replaces::Nothing => put_new(&dir, new, place)?,
        };
        drop(dir);
        made.keep();
        let size = parts.iter().map(|part| part.len() as u64).sum();
        let old = old.map(|(old, _)| old.into_std());
        self.flush.begin(new.into_std(), old, size);
        Ok(regrouped)
    }
}

/// The things that a write may replace.
#[derive(Clone, Copy)]
pub(super) enum Replaces<'c> {
    Nothing,
    Anything,
    /// The file that was read, as it was then.
    Only(&'c FileContent),
}

/// The part of the path to a place that exists.
pub(super) struct WalkedPath {
    /// The last folder on it that exists.
    dir: Arc<Dir>,
    /// The folders from the root to that one.
    above: Vec<Id>,
    /// The names below that: the place's own, and before it those of folders that do not exist.
    names: Vec<OsString>,
    itself: Option<Metadata>,
}

impl WalkedPath {
    /// The folder that the place is in, created if need be.
    pub(super) fn made(self, place: &ResolvedPath) -> Result<(Arc<Dir>, MadeDirs), FsError> {
        let fail = |e| io_error("create a folder for", place, e);
        let mut dir = self.dir;
        let mut made = MadeDirs(Vec::new());
        for name in &self.names[..self.names.len().saturating_sub(1)] {
            match dir.create_dir(name) {
                Ok(()) => made.0.push((dir.try_clone().map_err(fail)?, name.clone())),
                // Somebody else was quicker.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(fail(error)),
            }
            dir = Arc::new(dir.open_dir_nofollow(name).map_err(fail)?);
        }
        Ok((dir, made))
    }
}

/// Opens the file at a place, if there is one; it must be a regular one that may be replaced.
fn replaceable(dir: &Dir, place: &ResolvedPath) -> Result<Option<(File, Metadata)>, FsError> {
    let name = last(place)?;
    let (file, found) = match open_regular(dir, name, place) {
        Err(FsError::NotFound(_)) => return Ok(None),
        opened => opened?,
    };
    sole(&found, place)?;
    if rustix::fs::accessat(dir, name, rustix::fs::Access::WRITE_OK, AtFlags::EACCESS).is_err() {
        return Err(FsError::ReadOnly(show(place)));
    }
    Ok(Some((file, found)))
}

impl ProjectFiles for Disk {
    fn place(&self, path: &RelPath, follow: bool) -> Result<ResolvedPath, FsError> {
        if let Some(seen) = self.see_plain(path, follow) {
            return Ok(seen.place);
        }
        walk(path, follow, &self.spellings, |path| {
            self.look(&ResolvedPath(path.to_owned()))
        })
    }

    fn see(&self, path: &RelPath, follow: bool) -> Result<SeenPlace, FsError> {
        if let Some(seen) = self.see_plain(path, follow) {
            return Ok(seen);
        }
        let place = self.place(path, follow)?;
        let kind = self.kind(&place)?;
        Ok(SeenPlace { place, kind })
    }

    fn kind(&self, place: &ResolvedPath) -> Result<Option<FileKind>, FsError> {
        let Some(name) = place.0.file_name() else {
            return Ok(Some(FileKind::Dir));
        };
        let found = self.folder_of(&place.0);
        let found = if_there(found.and_then(|dir| dir.symlink_metadata(name)));
        let found = found.map_err(|error| io_error("look at", place, error))?;
        Ok(found.map(|found| kind(found.file_type())))
    }

    fn read(&self, place: &ResolvedPath) -> Result<FileContent, FsError> {
        self.allowed(Access::Read, place)?;
        self.shown(place)
    }

    fn read_to_change(&self, place: &ResolvedPath) -> Result<FileContent, FsError> {
        self.allowed(Access::Write, place)?;
        self.sized(place)
    }

    fn write(
        &mut self,
        place: &ResolvedPath,
        parts: &[&[u8]],
        expected: Option<&FileContent>,
    ) -> Result<(), FsError> {
        let replaces = expected.map_or(Replaces::Anything, Replaces::Only);
        self.write_for_task(place, parts, replaces)
    }

    fn write_new(&mut self, place: &ResolvedPath, parts: &[&[u8]]) -> Result<(), FsError> {
        let written = self.write_for_task(place, parts, Replaces::Nothing);
        written.map_err(|error| match error {
            FsError::Changed(path) => FsError::Exists(path),
            error => error,
        })
    }

    fn remove(&mut self, place: &ResolvedPath) -> Result<(), FsError> {
        let fail = |e| io_error("delete", place, e);
        let (dir, found) = self.way_to_existing(place)?;
        check_tree(&dir, &found, place, Removal::Delete, &|place| {
            self.allowed(Access::Write, place)
        })?;
        let name = last(place)?;
        if !found.is_dir() {
            return dir.remove_file(name).map_err(fail);
        }
        // First out of the way under another name: that either happens as a whole or not at all.
        let rename = |aside: &OsStr| rename_at(&dir, name, &dir, aside, RenameFlags::NOREPLACE);
        let aside = unused_name("deleted", rename).map_err(fail)?;
        dir.remove_dir_all(&aside).map_err(|error| {
            // What is left goes back to its name, where the user will look for it.
            let _ = rename_at(&dir, &aside, &dir, name, RenameFlags::NOREPLACE);
            fail(error)
        })
    }

    fn rename(
        &mut self,
        from: &ResolvedPath,
        to: &ResolvedPath,
        overwrite: bool,
    ) -> Result<(), FsError> {
        let (source, found) = self.way_to_existing(from)?;
        check_tree(&source, &found, from, Removal::Move, &|place| {
            self.may_move(place, &place.moved(from, to))
        })?;
        let way = self.way(to)?;
        if let Some(there) = way.itself.as_ref().filter(|there| id(there) == id(&found)) {
            // The system's rename does nothing then. One name in two letter cases is no such pair.
            if there.nlink() > 1 {
                return Err(FsError::SameFile(show(from), show(to)));
            }
        }
        let (target, made) = way.made(to)?;
        let flags = if overwrite {
            RenameFlags::empty()
        } else {
            RenameFlags::NOREPLACE
        };
        match rename_at(&source, last(from)?, &target, last(to)?, flags) {
            Ok(()) => {
                made.keep();
                let below = self.written.iter().filter(|it| it.starts_with(&from.0));
                let moved = below.map(|it| ResolvedPath(it.clone()).moved(from, to).0);
                self.written.extend(moved.collect::<Vec<_>>());
                Ok(())
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(FsError::Exists(show(to))),
            Err(e) if e.kind() == io::ErrorKind::CrossesDevices => {
                Err(FsError::OtherFileSystem { path: show(from) })
            }
            Err(e) => Err(io_error("move", from, e)),
        }
    }

    fn make_folder(&mut self, place: &ResolvedPath) -> Result<bool, FsError> {
        self.allowed(Access::Write, place)?;
        let way = self.way(place)?;
        match &way.itself {
            Some(found) if found.is_dir() => return Ok(false),
            Some(_) => return Err(FsError::Exists(show(place))),
            None => {}
        }
        let (dir, made) = way.made(place)?;
        match dir.create_dir(last(place)?) {
            Ok(()) => {
                made.keep();
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(FsError::Exists(show(place)))
            }
            Err(error) => Err(io_error("create the folder", place, error)),
        }
    }

    fn remove_folder(&mut self, place: &ResolvedPath) -> Result<(), FsError> {
        self.allowed(Access::Write, place)?;
        let (dir, found) = self.way_to_existing(place)?;
        if !found.is_dir() {
            return Err(FsError::NotAFolder(show(place)));
        }
        dir.remove_dir(last(place)?)
            .map_err(|error| match error.kind() {
                io::ErrorKind::DirectoryNotEmpty => FsError::NotEmpty(show(place)),
                _ => io_error("delete the folder", place, error),
            })
    }

    fn names(&self, dir: &ResolvedPath) -> Vec<String> {
        let entries = self.folder(&dir.0).and_then(|dir| dir.entries());
        let names = entries.into_iter().flatten().flatten();
        let names = names.map(|entry| entry.file_name());
        names.filter_map(|name| name.into_string().ok()).collect()
    }

    fn was_changed(&self, place: &ResolvedPath) -> bool {
        self.written.contains(&place.0)
    }

    fn regrouped(&mut self) -> Vec<(ResolvedPath, Regrouped)> {
        std::mem::take(&mut self.regrouped)
    }

    fn disk(&self) -> &Disk {
        self
    }
}

/// Folders made for a file that is not there yet. Removed again unless kept.
pub(super) struct MadeDirs(Vec<(Dir, OsString)>);

impl MadeDirs {
    pub(super) fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for MadeDirs {
    fn drop(&mut self) {
        for (dir, name) in self.0.iter().rev() {
            let _ = dir.remove_dir(name);
        }
    }
}

fn too_large(place: &ResolvedPath, size: u64, limit: u64, is_there: bool) -> FsError {
    FsError::TooLarge {
        path: show(place),
        size,
        limit,
        is_there,
    }
}

/// Writes the parts into a new file.
fn fill(file: &File, parts: &[&[u8]]) -> io::Result<()> {
    // One system call for a file of usual size: its parts are a few lines and what is around them.
    let size: usize = parts.iter().map(|part| part.len()).sum();
    let mut file = BufWriter::with_capacity(size.min(64 * 1024) + 1, file);
    parts.iter().try_for_each(|part| file.write_all(part))?;
    file.flush()
}

fn rights(found: &Metadata) -> Rights {
    Rights {
        owner: found.uid(),
        group: found.gid(),
        mode: found.mode(),
    }
}

/// Makes a file one that may be executed, or none.
fn let_run(file: &File, runs: bool) -> io::Result<()> {
    let before = file.metadata()?.mode();
    let mode = if runs {
        // By whoever may read it, as git does.
        before | (before & 0o444) >> 2
    } else {
        before & !0o111
    };
    if mode == before {
        return Ok(());
    }
    file.set_permissions(Permissions::from_mode(mode & 0o7777))
}

/// Opens what is no link for reading, without waiting where it is a pipe.
pub(super) fn open_for_reading(dir: &Dir, name: &OsStr) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .follow(FollowSymlinks::No)
        .custom_flags(libc::O_NONBLOCK);
    dir.open_with(name, &options)
}

/// Opens a regular file for reading, and nothing else: no link, and no pipe that would wait for a writer.
pub(super) fn open_regular(
    dir: &Dir,
    name: &OsStr,
    place: &ResolvedPath,
) -> Result<(File, Metadata), FsError> {
    let file = open_for_reading(dir, name).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => FsError::NotFound(show(place)),
        _ => match dir.symlink_metadata(name) {
            Ok(found) if found.is_dir() => FsError::IsAFolder(show(place)),
            Ok(found) if !found.is_file() => FsError::NotAFile(show(place)),
            _ => io_error("read", place, error),
        },
    })?;
    let found = file.metadata().map_err(|e| io_error("read", place, e))?;
    regular(&found, place)?;
    Ok((file, found))
}

/// Refuses what is no regular file.
fn regular(found: &Metadata, place: &ResolvedPath) -> Result<(), FsError> {
    match kind(found.file_type()) {
        FileKind::Dir => Err(FsError::IsAFolder(show(place))),
        FileKind::Link | FileKind::Other => Err(FsError::NotAFile(show(place))),
        FileKind::File => Ok(()),
    }
}

/// Refuses what has another name: what is done to it would be done to something else.
fn sole(found: &Metadata, place: &ResolvedPath) -> Result<(), FsError> {
    match found.nlink() {
        0 | 1 => Ok(()),
        links => Err(FsError::HardLinks {
            path: show(place),
            links,
        }),
    }
}

pub(super) fn kind(found: FileType) -> FileKind {
    if found.is_file() {
        FileKind::File
    } else if found.is_dir() {
        FileKind::Dir
    } else if found.is_symlink() {
        FileKind::Link
    } else {
        FileKind::Other
    }
}

fn look(dir: &Dir, name: &OsStr) -> io::Result<StepKind> {
    Ok(match if_there(dir.symlink_metadata(name))? {
        None => StepKind::Nothing,
        Some(found) if found.is_dir() => StepKind::Folder,
        Some(found) if found.is_symlink() => StepKind::Link(dir.read_link_contents(name)?),
        Some(_) => StepKind::Other,
    })
}
