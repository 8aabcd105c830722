//! The project's files: the only way from a path of a reply to the disk. Nothing else touches project files.
//!
//! [`Disk`] does what it is told, confined to the root by directory handles; [`Preview`] does the same in memory, for a
//! dry run. What the commands mean is the business of `run/files`.

mod disk;
mod entry;
mod flush;
mod new_file;
mod own;
mod preview;
mod put;
mod removal;
mod replace;
mod search;
mod state;
mod tree;
mod walk;

use std::io;
use std::path::{Path, PathBuf};

use crate::policy::paths::Access;
use crate::reply::path::{PathError, RelPath};
use crate::text::size;
use crate::world::attributes::Regrouped;

pub use disk::{Disk, RootMoved};
pub use preview::Preview;
pub use search::{LineSearch, NoSearch, SearchHit, SearchHits};
pub use state::FileSigns;
pub use tree::{FileTree, FolderEntry, TreeQuery};

/// A place under the root with no symbolic link in it but perhaps its last name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResolvedPath(PathBuf);

impl ResolvedPath {
    /// Relative to the root.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns its place once what it is in has gone from one place to another.
    fn moved(&self, from: &Self, to: &Self) -> Self {
        match self.0.strip_prefix(&from.0) {
            Ok(rest) if rest.as_os_str().is_empty() => to.clone(),
            Ok(rest) => to.child(rest),
            Err(_) => self.clone(),
        }
    }

    /// The place of that name in this one.
    pub fn child(&self, name: impl AsRef<Path>) -> Self {
        Self(self.0.join(name))
    }
}

/// A place that a path of a reply leads to, and the kind of what is there, if anything is.
#[derive(Debug, Clone)]
pub struct SeenPlace {
    pub place: ResolvedPath,
    pub kind: Option<FileKind>,
}

/// The kind of what is at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    File,
    Dir,
    Link,
    /// A device, a pipe, a socket.
    Other,
}

/// A file's content together with what tells whether it is still the same.
#[derive(Debug, Clone)]
pub struct FileContent {
    pub bytes: Vec<u8>,
    stamp: FileStamp,
}

/// Identity, size and time of change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct FileStamp {
    dev: u64,
    ino: u64,
    size: u64,
    modified: (i64, i64),
}

/// The project's files, as the file commands need them. Each operation does all that it says or leaves no trace.
pub trait ProjectFiles {
    /// Reads a path of a reply.
    ///
    /// # Errors
    /// See [`RelPath::parse`].
    fn parse(&self, text: &str) -> Result<RelPath, PathError> {
        let exists = |path: &RelPath| {
            let place = self.place(path, true);
            place.is_ok_and(|place| matches!(self.kind(&place), Ok(Some(_))))
        };
        RelPath::parse(text, self.disk().spellings(), exists)
    }

    /// Follows the links in a path; the last name's link only where `follow` says so.
    ///
    /// # Errors
    /// For a link that leads outside the root or into a `.git`, or round in a circle, and for a file used as a folder.
    fn place(&self, path: &RelPath, follow: bool) -> Result<ResolvedPath, FsError>;

    /// Returns the kind of what is at a place; `None` where nothing is.
    ///
    /// # Errors
    /// Where the folder cannot be looked at.
    fn kind(&self, place: &ResolvedPath) -> Result<Option<FileKind>, FsError>;

    /// Does both at once.
    ///
    /// # Errors
    /// Those of both.
    fn see(&self, path: &RelPath, follow: bool) -> Result<SeenPlace, FsError> {
        let place = self.place(path, follow)?;
        let kind = self.kind(&place)?;
        Ok(SeenPlace { place, kind })
    }

    /// The content of a regular file, for showing it.
    ///
    /// # Errors
    /// For anything but a readable regular file, for one that is too large, which is not read at all, and for one that may
    /// not be shown.
    fn read(&self, place: &ResolvedPath) -> Result<FileContent, FsError>;

    /// The same for changing it: no more of it may be shown than [`Self::may_show`] allows.
    ///
    /// # Errors
    /// For anything but a readable regular file with one name, and for one that may not be changed.
    fn read_to_change(&self, place: &ResolvedPath) -> Result<FileContent, FsError>;

    /// Refuses to show what is at a place where no task may read it.
    ///
    /// # Errors
    /// Where it may not be.
    fn may_show(&self, place: &ResolvedPath) -> Result<(), FsError> {
        self.disk().allowed(Access::Read, place)
    }

    /// Creates a file with its parent folders, or replaces its content and keeps its mode and owner. With `expected`,
    /// only if the file is still what was read.
    ///
    /// # Errors
    /// [`FsError::Changed`] if it is not, or if something came at this moment where nothing was; for a place that is no
    /// regular file, is not writable, or is clada's own; for more than a file may have.
    fn write(
        &mut self,
        place: &ResolvedPath,
        parts: &[&[u8]],
        expected: Option<&FileContent>,
    ) -> Result<(), FsError>;

    /// Creates a file with its parent folders where nothing is.
    ///
    /// # Errors
    /// [`FsError::Exists`] where something is, also if it came at this moment; for a place that is clada's own; for more than a
    /// file may have.
    fn write_new(&mut self, place: &ResolvedPath, parts: &[&[u8]]) -> Result<(), FsError>;

    /// Deletes a file, a link, or a folder with all that is in it.
    ///
    /// # Errors
    /// Where something in it cannot be deleted, or must not be.
    fn remove(&mut self, place: &ResolvedPath) -> Result<(), FsError>;

    /// Moves what is at a place to another, where there must be nothing unless `overwrite` allows a file. Creates
    /// parent folders.
    ///
    /// # Errors
    /// Where something is there, or either place must not be touched.
    fn rename(
        &mut self,
        from: &ResolvedPath,
        to: &ResolvedPath,
        overwrite: bool,
    ) -> Result<(), FsError>;

    /// Makes a folder, with those that it is in. Whether it was not there before.
    ///
    /// # Errors
    /// [`FsError::Exists`] where something else is there; for a place that is clada's own.
    fn make_folder(&mut self, place: &ResolvedPath) -> Result<bool, FsError>;

    /// Deletes a folder with nothing in it.
    ///
    /// # Errors
    /// [`FsError::NotEmpty`] where something is in it; where it must not be touched.
    fn remove_folder(&mut self, place: &ResolvedPath) -> Result<(), FsError>;

    /// The names in a folder, for suggesting what may have been meant. Empty where it cannot be read.
    fn names(&self, dir: &ResolvedPath) -> Vec<String>;

    /// True if a task of this run has changed the content of the file at a place: a reply may count its lines as they were before.
    fn was_changed(&self, place: &ResolvedPath) -> bool;

    /// The files that were written since this was asked last and whose group could not be kept.
    fn regrouped(&mut self) -> Vec<(ResolvedPath, Regrouped)> {
        Vec::new()
    }

    /// The files on the disk, for looking around in them: changes that are only thought are not seen there.
    fn disk(&self) -> &Disk;
}

/// A reason why a file command could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum FsError {
    #[error(
        "`{0}` leads outside the project folder through a symbolic link: use the path of a file inside it"
    )]
    Escapes(String),
    #[error("`{0}` leads into a `.git`, which clada never touches: use an exec task with git")]
    Git(String),
    #[error("`{0}` contains a `.git`, which clada never touches: use an exec task")]
    HoldsGit(String),
    #[error(
        "`{0}` belongs to clada itself (notes file, output file, settings or state), and no task may read or change it: \
         leave it out"
    )]
    Protected(String),
    #[error(
        "`{0}` contains a file that belongs to clada itself (notes file, output file, settings or state): name its \
         other files one by one"
    )]
    HoldsProtected(String),
    #[error("tasks may not read `{0}` ({1}): leave it out, or ask the user for its content")]
    NotShown(String, String),
    #[error("tasks may not change `{0}` ({1}): leave it to the user")]
    NotChanged(String, String),
    #[error(
        "tasks may not read `{0}`, but could read it as `{1}`: leave it where it is, or ask the user"
    )]
    WouldShow(String, String),
    #[error("too many symbolic links in `{0}`: use the path of the file itself")]
    Loop(String),
    #[error("`{0}` is a file, not a folder")]
    NotAFolder(String),
    #[error("`{0}` is a folder, not a file")]
    IsAFolder(String),
    #[error("`{0}` is not a regular file: use an exec task")]
    NotAFile(String),
    #[error(
        "`{path}` has {links} hard links, so it may also be a file outside the project: use an exec task"
    )]
    HardLinks { path: String, links: u64 },
    #[error("`{0}` is not writable: change its mode with an exec task first")]
    ReadOnly(String),
    #[error(
        "`{0}` is a mount point, which clada does not delete with its folder: use an exec task"
    )]
    Mounted(String),
    #[error("`{0}` and `{1}` are the same file: delete one of them")]
    SameFile(String, String),
    #[error("file not found: `{0}`")]
    NotFound(String),
    #[error("`{0}` already exists")]
    Exists(String),
    #[error("`{0}` is not empty: `delete` deletes a folder with everything in it")]
    NotEmpty(String),
    #[error("{}", too_large(.path, *.size, *.limit, *.is_there))]
    TooLarge {
        path: String,
        size: u64,
        limit: u64,
        /// Else it is what is to be written.
        is_there: bool,
    },
    #[error("another program changed `{0}` at the same moment, three times: run this task again")]
    Changed(String),
    #[error(
        "another program changed `{0}` after this batch began, so nothing was overwritten: read it again and write a \
         new task"
    )]
    Outdated(String),
    #[error("cannot keep the owner and attributes of `{path}`: {error}: use an exec task")]
    Attributes { path: String, error: io::Error },
    #[error("`{path}` and its destination are on different file systems: use an exec task with mv")]
    OtherFileSystem { path: String },
    #[error("cannot {action} `{path}`: {error}")]
    Io {
        action: &'static str,
        path: String,
        error: io::Error,
    },
}

fn too_large(path: &str, size: u64, limit: u64, is_there: bool) -> String {
    let has = if is_there { "has" } else { "would have" };
    let (size, limit) = (size::show(size), size::show(limit));
    format!(
        "`{path}` {has} {size}, and no task reads or writes more than {limit} (`limits.max_file_size`): use an exec task"
    )
}
