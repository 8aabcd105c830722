//! One repository that saves go to: the user's own, or a private one. Owns how it is found and opened.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use git2::{ErrorCode, Repository, RepositoryOpenFlags};

use super::error::GitResult;
use super::index::PendingIndex;
use super::locks::LockWait;
use super::private::Opened;
use super::relief::{Relief, Working};
use super::rules::SaveRules;
use super::{SnapshotError, place};
use crate::world::hurry::Hurry;

/// A repository, kept open: opening it anew for each task would cost reading the index each time. Open one for a batch, not
/// for ever: libgit2 remembers some settings (`core.autocrlf`) while it is open.
pub struct Store {
    pub(super) repo: Repository,
    /// The repository's work tree, canonical. All other paths in this module are relative to it, as git's are.
    pub(super) top: PathBuf,
    /// The root; empty where it is the top.
    pub(super) root: PathBuf,
    pub(super) rules: SaveRules,
    pub(super) index: PendingIndex,
    pub(super) locks: LockWait,
    pub(super) relief: Arc<Relief>,
    /// The notices that nobody has asked for yet.
    pub(super) notices: RefCell<Vec<String>>,
}

/// The user's repository around a root, if there is one.
pub(super) enum Discovered {
    /// A repository, and the top of the work tree that the root lies in.
    WorkTree(Repository, PathBuf),
    /// The root lies in no work tree. With it the repository that it lies in all the same, or that it holds.
    NoWorkTree(Option<PathBuf>),
}

impl Store {
    pub(super) fn new(
        opened: Opened,
        top: PathBuf,
        root: &Path,
        rules: SaveRules,
        hurry: Hurry,
    ) -> Self {
        Self {
            repo: opened.repo,
            root: root.strip_prefix(&top).unwrap_or(&top).to_path_buf(),
            index: PendingIndex::default(),
            locks: LockWait::new(hurry, rules.is_private),
            rules,
            relief: Relief::of(&top),
            notices: RefCell::new(opened.notice.into_iter().collect()),
            top,
        }
    }

    /// True for a private repository, as the folder has none.
    pub fn is_private(&self) -> bool {
        self.rules.is_private
    }

    /// Keeps pipes from holding up the user's own git, as long as the answer lives.
    pub fn relieved(&self) -> Working {
        self.relief.working()
    }

    /// The git directory, the top of the work tree, and the root below that, for git itself.
    pub fn places(&self) -> (&Path, &Path, &Path) {
        (self.repo.path(), &self.top, &self.root)
    }

    /// The root, as private repositories are named by it.
    pub(super) fn root_path(&self) -> PathBuf {
        if self.root.as_os_str().is_empty() {
            self.top.clone()
        } else {
            self.top.join(&self.root)
        }
    }

    /// A path of the repository as it is from the root; `None` for one outside of it.
    pub(super) fn below_root(&self, path: &Path) -> Option<PathBuf> {
        path.strip_prefix(&self.root).ok().map(Path::to_path_buf)
    }

    pub(super) fn say(&self, said: String) {
        self.notices.borrow_mut().push(said);
    }

    /// The notices since this was asked last, and the pipes that were met.
    pub(super) fn take_notices(&self) -> Vec<String> {
        let mut all = self.notices.take();
        for pipe in self.relief.take_found() {
            let pipe = pipe.display();
            all.push(format!(
                "⚠ git: skipped {pipe}, which is a pipe: its rules do not apply; remove it"
            ));
        }
        all
    }
}

/// Finds the user's repository around a root.
pub(super) fn discover(root: &Path) -> GitResult<Discovered> {
    place::refuse_odd(root)?;
    let above = RepositoryOpenFlags::empty();
    let repo = match Repository::open_ext(root, above, [] as [&OsStr; 0]) {
        Ok(repo) => repo,
        Err(why) if why.code() == ErrorCode::NotFound => return Ok(Discovered::NoWorkTree(None)),
        Err(why) if why.code() == ErrorCode::Owner => {
            return Err(SnapshotError::NotOwned(root.to_path_buf()));
        }
        Err(why) => return Err(why.into()),
    };
    let inside = canonical(repo.path())?;
    match repo.workdir().map(canonical).transpose()? {
        Some(top) if root.starts_with(&top) && !root.starts_with(&inside) => {
            Ok(Discovered::WorkTree(repo, top))
        }
        _ => Ok(Discovered::NoWorkTree(Some(inside))),
    }
}

pub(super) fn canonical(path: &Path) -> GitResult<PathBuf> {
    path.canonicalize()
        .map_err(|why| SnapshotError::NoFolder(path.to_path_buf(), why))
}

/// The places of an absolute path below `top`: itself, and the one that it leads to if it is a link.
pub(super) fn places_of(path: &Path, top: &Path) -> Vec<PathBuf> {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let itself = match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_path_buf(),
    };
    let places = [Some(itself), path.canonicalize().ok()];
    let below = |place: PathBuf| Some(place.strip_prefix(top).ok()?.to_path_buf());
    places.into_iter().flatten().filter_map(below).collect()
}
