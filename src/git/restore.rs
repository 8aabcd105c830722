//! The contents of commits, as they are to be in the work tree, compared with what is there. Changes no file of the work
//! tree: who puts back what is read here does that through the workspace.
//!
//! Paths are relative to the root.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use git2::build::CheckoutBuilder;
use git2::{Diff, DiffFormat, DiffOptions, FileMode, Index, ObjectType, Oid, Repository, Tree};

use super::at::{PathKind, find, is_huge};
use super::error::GitResult;
use super::recorded::{FILE, LINK, PROGRAM};
use super::{SnapshotError, Snapshots, Store, tree};
use crate::world::file_or_link::FileOrLink;

/// A path that two commits do not have alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathChange {
    pub path: PathBuf,
    /// The contents that the one and the other commit have there.
    pub held: [Option<ContentId>; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    Added,
    Changed,
    Deleted,
}

/// A file or a link, as git saves it: the name of its content, and its mode, which is one of the three below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContentId(Oid, u32);

impl ChangeKind {
    /// The change of a place from one content to another.
    pub(super) fn of<T>(before: Option<T>, after: Option<T>) -> Self {
        match (before, after) {
            (None, _) => Self::Added,
            (_, None) => Self::Deleted,
            _ => Self::Changed,
        }
    }
}

impl Store {
    /// The files and links below the root that differ between two commits, in order; without what clada never saves, and
    /// without submodules. `None` is the state before the first commit.
    ///
    /// # Errors
    /// Where a commit cannot be read.
    pub fn changes(&self, from: Option<&str>, to: Option<&str>) -> GitResult<Vec<PathChange>> {
        let _working = self.relief.working();
        let mut options = DiffOptions::new();
        options.skip_binary_check(true).include_typechange(true);
        let diff = self.diff(from, to, options)?;
        let mut changes = Vec::new();
        for delta in diff.deltas() {
            let (old, new) = (delta.old_file(), delta.new_file());
            let Some(path) = new.path().or(old.path()) else {
                continue;
            };
            let is_submodule = [old.mode(), new.mode()].contains(&FileMode::Commit);
            if is_submodule || self.rules.is_left_out(path) {
                continue;
            }
            let held = [old, new].map(|file| ContentId::of(file.id(), file.mode().into()));
            let below = self.below_root(path);
            changes.extend(below.map(|path| PathChange { path, held }));
        }
        changes.sort();
        Ok(changes)
    }

    /// The differences between two commits below the root, as text, but for these paths.
    ///
    /// # Errors
    /// Where a commit cannot be read.
    pub fn patch(
        &self,
        from: Option<&str>,
        to: &str,
        but: &BTreeSet<PathBuf>,
    ) -> GitResult<String> {
        let _working = self.relief.working();
        let diff = self.diff(from, Some(to), DiffOptions::new())?;
        let mut text = Vec::new();
        diff.print(DiffFormat::Patch, |delta, _, line| {
            let path = delta.new_file().path().or(delta.old_file().path());
            let path = path.and_then(|path| path.strip_prefix(&self.root).ok());
            if path.is_some_and(|path| but.contains(path)) {
                return true;
            }
            if matches!(line.origin(), '+' | '-' | ' ') {
                text.extend_from_slice(line.origin().to_string().as_bytes());
            }
            text.extend_from_slice(line.content());
            true
        })?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn diff(
        &self,
        from: Option<&str>,
        to: Option<&str>,
        mut options: DiffOptions,
    ) -> GitResult<Diff<'_>> {
        let (from, to) = (self.tree_of(from)?, self.tree_of(to)?);
        options.disable_pathspec_match(true);
        if !self.root.as_os_str().is_empty() {
            options.pathspec(&self.root);
        }
        let (from, to) = (from.as_ref(), to.as_ref());
        Ok(self.repo.diff_tree_to_tree(from, to, Some(&mut options))?)
    }

    /// Reads what a commit has at these paths, in their order, with what git converts for the work tree (line ends). `None` is
    /// nothing, as is a folder or a submodule.
    ///
    /// # Errors
    /// Where the commit cannot be read, or there is no room for temporary files.
    pub fn entries(
        &self,
        commit: Option<&str>,
        paths: &[PathBuf],
    ) -> GitResult<Vec<Option<FileOrLink>>> {
        let _working = self.relief.working();
        let tree = self.tree_of(commit)?;
        let blobs = self.held_in(tree.as_ref(), paths)?;
        let is_file = |held: &Option<ContentId>| held.is_some_and(|held| held.1 != LINK);
        let files = paths.iter().zip(&blobs).filter(|(_, blob)| is_file(blob));
        let files: Vec<PathBuf> = files.map(|(path, _)| self.root.join(path)).collect();
        let converted = match &tree {
            Some(tree) if !self.is_private() && !files.is_empty() => {
                Some(self.check_out(tree, &files)?)
            }
            _ => None,
        };
        let entry = |(path, blob): (&PathBuf, &Option<ContentId>)| {
            let Some(ContentId(id, mode)) = *blob else {
                return Ok(None);
            };
            let bytes = match &converted {
                Some(folder) if mode != LINK => {
                    let place = folder.path().join(self.root.join(path));
                    fs::read(place).map_err(|why| SnapshotError::unreadable(path, why))?
                }
                _ => self.repo.find_blob(id)?.content().to_vec(),
            };
            Ok(Some(if mode == LINK {
                FileOrLink::Link(OsStr::from_bytes(&bytes).into())
            } else {
                let runs = mode == PROGRAM;
                FileOrLink::File { bytes, runs }
            }))
        };
        paths.iter().zip(&blobs).map(entry).collect()
    }

    /// Reads what a commit has at one path.
    ///
    /// # Errors
    /// See [`Self::entries`].
    pub fn entry(&self, commit: Option<&str>, path: &Path) -> GitResult<Option<FileOrLink>> {
        let mut one = self.entries(commit, &[path.to_path_buf()])?;
        Ok(one.pop().flatten())
    }

    /// True if the work tree has at a path what the commit has there, as git compares them; a folder is nothing.
    ///
    /// # Errors
    /// Where the commit or the file cannot be read.
    pub fn is_now(&self, commit: Option<&str>, path: &Path) -> GitResult<bool> {
        Ok(self.held_now(path)? == self.held(commit, path)?)
    }

    /// The content that a commit has at a path, to compare; `None` is nothing.
    ///
    /// # Errors
    /// Where the commit cannot be read.
    pub fn held(&self, commit: Option<&str>, path: &Path) -> GitResult<Option<ContentId>> {
        let one = [path.to_path_buf()];
        let held = self.held_in(self.tree_of(commit)?.as_ref(), &one)?;
        Ok(held.into_iter().next().flatten())
    }

    /// The contents that the newest commit has at these paths.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn held_at_tip(&self, paths: &[PathBuf]) -> GitResult<Vec<Option<ContentId>>> {
        let tree = self.tip()?.map(|commit| commit.tree()).transpose()?;
        self.held_in(tree.as_ref(), paths)
    }

    /// The content that the work tree has at a path, as git would save it.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn held_now(&self, path: &Path) -> GitResult<Option<ContentId>> {
        let _working = self.relief.working();
        let below = self.root.join(path);
        let place = self.top.join(&below);
        let failed = |why| SnapshotError::unreadable(path, why);
        match find(&self.top, &below)? {
            PathKind::Nothing => return Ok(None),
            PathKind::Link => {
                let target = fs::read_link(&place).map_err(failed)?;
                let bytes = target.as_os_str().as_bytes();
                let id = Oid::hash_object(ObjectType::Blob, bytes)?;
                return Ok(Some(ContentId(id, LINK)));
            }
            PathKind::File => {}
        }
        let data = fs::symlink_metadata(&place).map_err(failed)?;
        let entry = self.repo.index()?.get_path(&below, 0);
        let config = self.repo.config()?;
        let runs = if config.get_bool("core.fileMode").unwrap_or(true) {
            data.permissions().mode() & 0o100 != 0
        } else {
            // Git goes by what the index says.
            entry.as_ref().is_some_and(|entry| entry.mode & 0o111 != 0)
        };
        let id = if is_huge(&place) {
            // No commit has it.
            Oid::ZERO_SHA1
        } else if entry.is_some() {
            let blob = self.repo.blob_path(&place);
            blob.or_else(|why| self.blob_as_read(&below).and_then(Result::ok).ok_or(why))?
        } else {
            // Git is not to get what it does not track, not even as an object that nothing points to.
            Oid::hash_file(ObjectType::Blob, &place)?
        };
        Ok(Some(ContentId(id, if runs { PROGRAM } else { FILE })))
    }

    /// The tree of a commit, or the tree itself, given by all its hex digits; none of none.
    pub(super) fn tree_of(&self, commit: Option<&str>) -> GitResult<Option<Tree<'_>>> {
        let object = |hex| self.repo.find_object(Oid::from_str(hex)?, None);
        let tree = |hex| Ok(object(hex)?.peel_to_tree()?);
        commit.map(tree).transpose()
    }

    /// The files and links that a tree has at paths below the root. For those that follow each other in a folder, that is read
    /// once.
    fn held_in(
        &self,
        tree: Option<&Tree<'_>>,
        paths: &[PathBuf],
    ) -> GitResult<Vec<Option<ContentId>>> {
        let Some(tree) = tree else {
            return Ok(vec![None; paths.len()]);
        };
        let mut all = Vec::with_capacity(paths.len());
        for paths in paths.chunk_by(|one, next| one.parent() == next.parent()) {
            let place = self.root.join(&paths[0]);
            let above = place.parent().unwrap_or(Path::new(""));
            let folder = tree::folder(&self.repo, tree, above)?;
            all.extend(paths.iter().map(|path| {
                let name = path.file_name().unwrap_or_default().as_bytes();
                let entry = folder.as_ref()?.get_name_bytes(name)?;
                ContentId::of(entry.id(), entry.filemode().cast_unsigned())
            }));
        }
        Ok(all)
    }

    /// These files of a tree as they are to be in the work tree, in a folder of their own. By a repository opened anew and
    /// with an index that is nowhere: else a checkout goes by what HEAD has, and forgets some of what the index in memory
    /// holds.
    fn check_out(&self, tree: &Tree<'_>, files: &[PathBuf]) -> GitResult<tempfile::TempDir> {
        let folder = tempfile::tempdir()
            .map_err(|why| SnapshotError::NoFolder(std::env::temp_dir(), why))?;
        let mut how = CheckoutBuilder::new();
        how.force()
            .update_index(false)
            .refresh(false)
            .disable_pathspec_match(true)
            .target_dir(folder.path());
        for path in files {
            how.path(path);
        }
        let repo = Repository::open(self.repo.path())?;
        let nowhere = folder.path().join(".git/index");
        repo.set_index(&mut Index::open(&nowhere)?)?;
        let tree = repo.find_object(tree.id(), Some(ObjectType::Tree))?;
        repo.checkout_tree(&tree, Some(&mut how))?;
        Ok(folder)
    }
}

impl ContentId {
    /// None for what is no file and no link.
    fn of(id: Oid, mode: u32) -> Option<Self> {
        let mode = match mode {
            LINK => LINK,
            mode if mode & 0o170_000 != 0o100_000 => return None,
            mode if mode & 0o111 != 0 => PROGRAM,
            _ => FILE,
        };
        Some(Self(id, mode))
    }
}

impl Snapshots {
    /// Keeps bytes, and nothing converts them; returns the name they have. Nothing points to them: git clears them away in time. They
    /// are in the private snapshots, where there are any: git may know nothing of their file.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn keep(&self, bytes: &[u8]) -> GitResult<String> {
        let store = self.aside().unwrap_or(&self.store);
        Ok(store.repo.blob(bytes)?.to_string())
    }

    /// Reads what was kept under a name, if it still is.
    pub fn kept(&self, name: &str) -> Option<Vec<u8>> {
        let id = Oid::from_str(name).ok()?;
        let stores = self.stores();
        let blob = stores
            .iter()
            .find_map(|store| store.repo.find_blob(id).ok())?;
        Some(blob.content().to_vec())
    }
}
