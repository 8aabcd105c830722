//! The project's files on disk, confined to the root by directory handles. Never follows a link by name.
//!
//! Every path is walked name by name from the root's handle, each folder opened with "no links", and links are read and
//! resolved here. Opening a path and checking it afterwards, or before, would leave a moment in which a link can be
//! put in its place; a walk by handles has no such moment: a swapped link makes the next step fail.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufWriter, Read, Write};
use std::ops::Deref;
use std::path::{Component, Path, PathBuf};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::ambient_authority;
use cap_std::fs::{
    Dir, File, FileType, Metadata, MetadataExt, OpenOptions, OpenOptionsExt, Permissions,
    PermissionsExt,
};
use cap_tempfile::TempFile;
use rustix::fs::{AtFlags, RenameFlags};

use super::entry::{io_error, last, rename_at, show, stamp, unused_name};
use super::flush::Flush;
use super::own::{Concern, Found, Id, Own, id};
use super::removal::{Removal, check_tree};
use super::replace::{replace_any, replace_expected};
use super::walk::{Seen, walk};
use super::{Content, Files, FsError, Kind, Place};
use crate::policy::paths::{Access, Paths};
use crate::reply::path::{RelPath, Spellings};
use crate::world::attributes::{self, Regrouped};
use crate::world::folder::{FolderError, OpenFolder, if_there};
use crate::world::scarce;

/// Why the root is not where it was.
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

/// The files under one root.
pub struct Disk {
    root: Dir,
    /// Where the root was when it was opened.
    path: PathBuf,
    root_id: Id,
    spellings: Spellings,
    own: Own,
    /// The largest file that a task reads or writes, in bytes.
    largest: u64,
    /// What tasks may read and change; all where there is none.
    paths: Option<Paths>,
    flush: Flush,
    /// The files whose group could not be kept, until they are asked for.
    regrouped: Vec<(Place, Regrouped)>,
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
            root,
            path: canonical.clone(),
            spellings: Spellings {
                given: text(&given),
                canonical: text(&canonical),
                home: home.as_deref().map(text),
            },
            own: Own::new(protected, &canonical),
            largest: u64::MAX,
            paths: None,
            flush: Flush::default(),
            regrouped: Vec::new(),
        })
    }

    /// Where the root was when it was opened: its canonical path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why what is at the root's path is not the root any more. What cannot be found out for want of open files is not told:
    /// nothing else goes well then.
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

    /// No task may touch these either, from now on.
    pub fn protect(&mut self, places: &[PathBuf]) {
        self.own.add(places);
    }

    /// No task reads or writes a file of more bytes from now on.
    pub fn limit(&mut self, largest: u64) {
        self.largest = largest;
    }

    /// Refused where more is to be written than a file may have.
    pub(super) fn check_size(&self, place: &Place, parts: &[&[u8]]) -> Result<(), FsError> {
        let size = parts.iter().map(|part| part.len() as u64).sum();
        if size > self.largest {
            return Err(too_large(place, size, self.largest, false));
        }
        Ok(())
    }

    /// Has tasks read and change no more than this from now on.
    pub fn obey(&mut self, paths: Paths) {
        self.paths = Some(paths);
    }

    /// Whether a task may read or change what is at a place.
    pub(super) fn allowed(&self, access: Access, place: &Place) -> Result<(), FsError> {
        let paths = self.paths.as_ref();
        let Some(denial) = paths.and_then(|paths| paths.refuses(access, &place.0)) else {
            return Ok(());
        };
        let (place, why) = (show(place), denial.to_string());
        Err(match access {
            Access::Read => FsError::NotShown(place, why),
            Access::Write => FsError::NotChanged(place, why),
        })
    }

    /// Whether a task may have something be at another place: it must not be shown by that.
    pub(super) fn may_move(&self, from: &Place, to: &Place) -> Result<(), FsError> {
        self.allowed(Access::Write, from)?;
        self.allowed(Access::Write, to)?;
        if self.allowed(Access::Read, from).is_err() && self.allowed(Access::Read, to).is_ok() {
            return Err(FsError::WouldShow(show(from), show(to)));
        }
        Ok(())
    }

    /// The content of a file, whatever a task may do with it and however large its files may be.
    pub(super) fn content(&self, place: &Place) -> Result<Content, FsError> {
        self.read_up_to(place, LARGEST, open_sole)
    }

    /// The content of a file that is not too large, for changing it.
    pub(super) fn sized(&self, place: &Place) -> Result<Content, FsError> {
        self.read_up_to(place, self.largest, open_sole)
    }

    /// The same for no more than showing it: it may have other names too, as in pnpm's `node_modules`.
    pub(super) fn shown(&self, place: &Place) -> Result<Content, FsError> {
        self.read_up_to(place, self.largest, open_regular)
    }

    /// Told at the end of a batch: what was changed is on its way to the disk.
    pub fn settle(&mut self) {
        self.flush.hand_over();
    }

    /// The identities of clada's own files, as far as they exist.
    pub(super) fn own_files(&self) -> Vec<Id> {
        self.own.ids()
    }

    pub(super) fn spellings(&self) -> &Spellings {
        &self.spellings
    }

    /// What is at a place, for following links.
    pub(super) fn look(&self, place: &Place) -> io::Result<Seen> {
        let Some(name) = place.0.file_name() else {
            return Ok(Seen::Folder);
        };
        match if_there(self.folder_of(&place.0))? {
            Some(dir) => look(&dir, name),
            None => Ok(Seen::Nothing),
        }
    }

    /// A folder under the root, opened without following any link.
    pub(super) fn folder(&self, path: &Path) -> io::Result<Folder<'_>> {
        let mut dir = Folder::Root(&self.root);
        for name in path.components() {
            dir = Folder::Below(dir.open_dir_nofollow(name)?);
        }
        Ok(dir)
    }

    /// The folder that a path is in.
    pub(super) fn folder_of(&self, path: &Path) -> io::Result<Folder<'_>> {
        self.folder(path.parent().unwrap_or(Path::new("")))
    }

    /// Goes to a place as far as it exists, without following any link. Refused where it belongs to clada.
    pub(super) fn way(&self, place: &Place) -> Result<Way<'_>, FsError> {
        let way = self.unguarded_way(place)?;
        let concern = self.own.concerns(&Found {
            above: &way.above,
            itself: way
                .itself
                .as_ref()
                .map(|found| (id(found), found.is_dir() || found.is_symlink())),
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
    fn unguarded_way(&self, place: &Place) -> Result<Way<'_>, FsError> {
        let open = |e| io_error("open the folder of", place, e);
        let mut names: Vec<OsString> = place.0.iter().map(OsString::from).collect();
        names.reverse();
        let mut dir = Folder::Root(&self.root);
        let mut above = vec![self.root_id];
        while names.len() > 1 {
            let Some(name) = names.pop() else { break };
            let Some(inner) = if_there(dir.open_dir_nofollow(&name)).map_err(open)? else {
                names.push(name);
                break;
            };
            dir = Folder::Below(inner);
            above.push(id(&dir.dir_metadata().map_err(open)?));
        }
        let itself = match names.as_slice() {
            [name] => if_there(dir.symlink_metadata(name))
                .map_err(|error| io_error("look at", place, error))?,
            _ => None,
        };
        names.reverse();
        Ok(Way {
            dir,
            above,
            names,
            itself,
        })
    }

    /// Goes to a place in a folder that exists.
    pub(super) fn way_to_existing(&self, place: &Place) -> Result<(Folder<'_>, Metadata), FsError> {
        let way = self.way(place)?;
        match way.itself {
            Some(found) => Ok((way.dir, found)),
            None => Err(FsError::NotFound(show(place))),
        }
    }

    /// Whether creating something here would be refused, for a preview.
    pub(super) fn check_new(&self, place: &Place) -> Result<(), FsError> {
        self.allowed(Access::Write, place)?;
        match self.way(place) {
            // What is in the way on the disk has been moved or deleted in thought.
            Ok(_) | Err(FsError::Io { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Whether replacing the file at this place would be refused, for a preview.
    pub(super) fn check_replacement(&self, place: &Place) -> Result<(), FsError> {
        let (dir, _) = self.way_to_existing(place)?;
        replaceable(&dir, place).map(drop)
    }

    /// Whether deleting what is at this place, or moving it, would be refused, for a preview.
    pub(super) fn check_removal(&self, place: &Place, to: Option<&Place>) -> Result<(), FsError> {
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

    /// The content of a file that has no more bytes than this.
    fn read_up_to(&self, place: &Place, limit: u64, open: Open) -> Result<Content, FsError> {
        let (dir, _) = self.way_to_existing(place)?;
        let (file, found) = open(&dir, last(place)?, place)?;
        let stamp = stamp(&found);
        if stamp.size > limit {
            return Err(too_large(place, stamp.size, limit, true));
        }
        // More than is there may be in no memory.
        let expected = usize::try_from(stamp.size).map_or(AT_ONCE, |size| size.min(AT_ONCE));
        let mut bytes = Vec::with_capacity(expected + 1);
        // It may grow meanwhile.
        file.take(limit.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|e| io_error("read", place, e))?;
        if bytes.len() as u64 > limit {
            return Err(too_large(place, bytes.len() as u64, limit, true));
        }
        Ok(Content { bytes, stamp })
    }

    /// Writes a file as [`Files::write`] does, and returns its group if that could not be kept; `runs` says whether it may be
    /// executed, where that is known.
    pub(super) fn write_file(
        &mut self,
        place: &Place,
        parts: &[&[u8]],
        expected: Option<&Content>,
        runs: Option<bool>,
    ) -> Result<Option<Regrouped>, FsError> {
        let fail = |action| move |e| io_error(action, place, e);
        // What is expected passed the guard when it was read, and is found below to be that very file.
        let way = match expected {
            Some(_) => self.unguarded_way(place)?,
            None => self.way(place)?,
        };
        let (dir, made) = way.made(place)?;
        let old = replaceable(&dir, place)?;
        // Nameless until it is whole, so that clada leaves nothing behind when it is killed here. (A file with a name
        // from the start made 200 edits 8 % faster.)
        let mut new = TempFile::new(&dir).map_err(fail("write in the folder of"))?;
        let found = old.as_ref().map(|(_, found)| found);
        fill(new.as_file_mut(), parts, found).map_err(fail("write"))?;
        let old = old.map(|(file, _)| file);
        let mut regrouped = None;
        if let Some(old) = &old {
            let kept = attributes::copy(old, new.as_file());
            regrouped = kept.map_err(|error| FsError::Attributes {
                path: show(place),
                error,
            })?;
        }
        if let Some(runs) = runs {
            let_run(new.as_file(), runs).map_err(fail("write"))?;
        }
        let mut written = None;
        match expected {
            None => replace_any(&dir, new, last(place)?).map_err(fail("write"))?,
            Some(expected) => {
                written = Some(new.as_file().try_clone().map_err(fail("write"))?);
                replace_expected(&dir, new, old, expected, place)?;
            }
        }
        drop(dir);
        made.keep();
        if let Some(written) = written {
            let size = parts.iter().map(|part| part.len() as u64).sum();
            self.flush.begin(written.into_std(), size);
        }
        Ok(regrouped)
    }
}

/// A folder that a walk has come to: the root's handle is not duplicated for each walk.
pub(super) enum Folder<'d> {
    Root(&'d Dir),
    Below(Dir),
}

impl Deref for Folder<'_> {
    type Target = Dir;

    fn deref(&self) -> &Dir {
        match self {
            Self::Root(dir) => dir,
            Self::Below(dir) => dir,
        }
    }
}

/// How far there is a way to a place.
pub(super) struct Way<'d> {
    /// The last folder on it that exists.
    dir: Folder<'d>,
    /// The folders from the root to that one.
    above: Vec<Id>,
    /// The names below that: the place's own, and before it those of folders that do not exist.
    names: Vec<OsString>,
    itself: Option<Metadata>,
}

impl<'d> Way<'d> {
    /// The folder that the place is in, created if need be.
    pub(super) fn made(self, place: &Place) -> Result<(Folder<'d>, MadeDirs), FsError> {
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
            dir = Folder::Below(dir.open_dir_nofollow(name).map_err(fail)?);
        }
        Ok((dir, made))
    }
}

/// What the file is now, if it is a regular one that may be replaced.
fn replaceable(dir: &Dir, place: &Place) -> Result<Option<(File, Metadata)>, FsError> {
    let name = last(place)?;
    let file = match open_sole(dir, name, place) {
        Err(FsError::NotFound(_)) => return Ok(None),
        opened => opened?,
    };
    if rustix::fs::accessat(dir, name, rustix::fs::Access::WRITE_OK, AtFlags::EACCESS).is_err() {
        return Err(FsError::ReadOnly(show(place)));
    }
    Ok(Some(file))
}

impl Files for Disk {
    fn place(&self, path: &RelPath, follow: bool) -> Result<Place, FsError> {
        // The folder that was looked into last stays open: a walk mostly goes down one by one.
        let mut last: Option<(PathBuf, Folder<'_>)> = None;
        walk(path, follow, &self.spellings, |path| {
            let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else {
                return Ok(Seen::Folder);
            };
            let dir = match last.take() {
                Some((opened, dir)) if opened == parent => dir,
                Some((opened, dir)) if parent.parent() == Some(&opened) => {
                    let name = parent.file_name().unwrap_or_default();
                    Folder::Below(dir.open_dir_nofollow(name)?)
                }
                _ => self.folder(parent)?,
            };
            let seen = look(&dir, name);
            last = Some((parent.to_owned(), dir));
            seen
        })
    }

    fn kind(&self, place: &Place) -> Result<Option<Kind>, FsError> {
        let Some(name) = place.0.file_name() else {
            return Ok(Some(Kind::Dir));
        };
        let found = self.folder_of(&place.0);
        let found = if_there(found.and_then(|dir| dir.symlink_metadata(name)));
        let found = found.map_err(|error| io_error("look at", place, error))?;
        Ok(found.map(|found| kind(found.file_type())))
    }

    fn read(&self, place: &Place) -> Result<Content, FsError> {
        self.allowed(Access::Read, place)?;
        self.shown(place)
    }

    fn read_to_change(&self, place: &Place) -> Result<Content, FsError> {
        self.allowed(Access::Write, place)?;
        self.sized(place)
    }

    fn write(
        &mut self,
        place: &Place,
        parts: &[&[u8]],
        expected: Option<&Content>,
    ) -> Result<(), FsError> {
        self.allowed(Access::Write, place)?;
        self.check_size(place, parts)?;
        let regrouped = self.write_file(place, parts, expected, None)?;
        let regrouped = regrouped.map(|group| (place.clone(), group));
        self.regrouped.extend(regrouped);
        Ok(())
    }

    fn remove(&mut self, place: &Place) -> Result<(), FsError> {
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

    fn rename(&mut self, from: &Place, to: &Place, overwrite: bool) -> Result<(), FsError> {
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
                Ok(())
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(FsError::Exists(show(to))),
            Err(e) if e.kind() == io::ErrorKind::CrossesDevices => {
                Err(FsError::OtherFileSystem { path: show(from) })
            }
            Err(e) => Err(io_error("move", from, e)),
        }
    }

    fn make_folder(&mut self, place: &Place) -> Result<bool, FsError> {
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

    fn remove_folder(&mut self, place: &Place) -> Result<(), FsError> {
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

    fn names(&self, dir: &Place) -> Vec<String> {
        let entries = self.folder(&dir.0).and_then(|dir| dir.entries());
        let names = entries.into_iter().flatten().flatten();
        let names = names.map(|entry| entry.file_name());
        names.filter_map(|name| name.into_string().ok()).collect()
    }

    fn regrouped(&mut self) -> Vec<(Place, Regrouped)> {
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

fn too_large(place: &Place, size: u64, limit: u64, is_there: bool) -> FsError {
    FsError::TooLarge {
        path: show(place),
        size,
        limit,
        is_there,
    }
}

/// Writes the parts into a new file, which nobody shall read who may not read the old one.
fn fill(file: &mut File, parts: &[&[u8]], old: Option<&Metadata>) -> io::Result<()> {
    if let Some(old) = old {
        let mode = file.metadata()?.mode();
        // Until it has the old one's mode.
        if mode & 0o077 & !old.mode() != 0 {
            file.set_permissions(Permissions::from_mode(0o600))?;
        }
    }
    // One system call for a file of usual size: its parts are a few lines and what is around them.
    let mut file = BufWriter::with_capacity(64 * 1024, file);
    parts.iter().try_for_each(|part| file.write_all(part))?;
    file.flush()
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
    place: &Place,
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
    match kind(found.file_type()) {
        Kind::Dir => Err(FsError::IsAFolder(show(place))),
        Kind::Link | Kind::Other => Err(FsError::NotAFile(show(place))),
        Kind::File => Ok((file, found)),
    }
}

/// The same of one that has no other name: what is done to it is done to nothing else.
fn open_sole(dir: &Dir, name: &OsStr, place: &Place) -> Result<(File, Metadata), FsError> {
    let (file, found) = open_regular(dir, name, place)?;
    match found.nlink() {
        0 | 1 => Ok((file, found)),
        links => Err(FsError::HardLinks {
            path: show(place),
            links,
        }),
    }
}

/// How a file is opened for reading.
type Open = fn(&Dir, &OsStr, &Place) -> Result<(File, Metadata), FsError>;

pub(super) fn kind(found: FileType) -> Kind {
    if found.is_file() {
        Kind::File
    } else if found.is_dir() {
        Kind::Dir
    } else if found.is_symlink() {
        Kind::Link
    } else {
        Kind::Other
    }
}

fn look(dir: &Dir, name: &OsStr) -> io::Result<Seen> {
    Ok(match if_there(dir.symlink_metadata(name))? {
        None => Seen::Nothing,
        Some(found) if found.is_dir() => Seen::Folder,
        Some(found) if found.is_symlink() => Seen::Link(dir.read_link_contents(name)?),
        Some(_) => Seen::Other,
    })
}
