//! What commits hold, as it is to be in the work tree, and whether it is there. Changes no file of the work tree: who puts
//! back what is read here does that through the workspace.
//!
//! Paths are relative to the root.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use git2::build::CheckoutBuilder;
use git2::{
    Delta, Diff, DiffFormat, DiffOptions, ErrorCode, FileMode, Index, ObjectType, Oid, Repository,
    Tree,
};

use super::at::{Found, find, is_huge};
use super::recorded::LINK;
use super::{SnapshotError, Snapshots};
use crate::world::file_or_link::FileOrLink;

/// A path that two commits do not have alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    pub path: PathBuf,
    pub kind: ChangeKind,
    /// What the one and the other commit have there.
    pub held: [Option<Held>; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    Added,
    Changed,
    Deleted,
}

/// A file or a link, as git saves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Held(Oid, Mode);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mode {
    File,
    Program,
    Link,
}

impl Snapshots {
    /// The files and links below the root that differ between two commits, in order; without what clada never saves, and
    /// without submodules. `None` is the state before the first commit.
    ///
    /// # Errors
    /// Where a commit cannot be read.
    pub fn changes(
        &self,
        from: Option<&str>,
        to: Option<&str>,
    ) -> Result<Vec<Change>, SnapshotError> {
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
            let submodule = [old.mode(), new.mode()].contains(&FileMode::Commit);
            let Ok(below) = path.strip_prefix(&self.root) else {
                continue;
            };
            if submodule || self.is_left_out(path) {
                continue;
            }
            changes.push(Change {
                path: below.to_path_buf(),
                kind: match delta.status() {
                    Delta::Added => ChangeKind::Added,
                    Delta::Deleted => ChangeKind::Deleted,
                    _ => ChangeKind::Changed,
                },
                held: [&old, &new].map(|file| held(file.id(), file.mode().into())),
            });
        }
        changes.sort();
        Ok(changes)
    }

    /// What differs between two commits below the root, as text, but for these paths.
    ///
    /// # Errors
    /// Where a commit cannot be read.
    pub fn patch(
        &self,
        from: Option<&str>,
        to: &str,
        but: &BTreeSet<PathBuf>,
    ) -> Result<String, SnapshotError> {
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
    ) -> Result<Diff<'_>, SnapshotError> {
        let (from, to) = (self.tree_of(from)?, self.tree_of(to)?);
        options.disable_pathspec_match(true);
        if !self.root.as_os_str().is_empty() {
            options.pathspec(&self.root);
        }
        let (from, to) = (from.as_ref(), to.as_ref());
        Ok(self.repo.diff_tree_to_tree(from, to, Some(&mut options))?)
    }

    /// What a commit has at these paths, in their order, with what git converts for the work tree (line ends). `None` is
    /// nothing, as is a folder or a submodule.
    ///
    /// # Errors
    /// Where the commit cannot be read, or there is no room for temporary files.
    pub fn entries(
        &self,
        commit: Option<&str>,
        paths: &[PathBuf],
    ) -> Result<Vec<Option<FileOrLink>>, SnapshotError> {
        let _working = self.relief.working();
        let tree = self.tree_of(commit)?;
        let blobs = self.held_in(tree.as_ref(), paths)?;
        let is_file = |mode| mode != Mode::Link;
        let files = paths
            .iter()
            .zip(&blobs)
            .filter(|(_, blob)| blob.is_some_and(|held| is_file(held.1)))
            .map(|(path, _)| self.root.join(path))
            .collect::<Vec<_>>();
        let converted = match &tree {
            Some(tree) if !self.private && !files.is_empty() => Some(self.check_out(tree, &files)?),
            _ => None,
        };
        let entry = |(path, blob): (&PathBuf, &Option<Held>)| {
            let Some(Held(id, mode)) = *blob else {
                return Ok(None);
            };
            let bytes = match (&converted, is_file(mode)) {
                (Some(folder), true) => {
                    let place = folder.path().join(self.root.join(path));
                    fs::read(place).map_err(|why| SnapshotError::unreadable(path, why))?
                }
                _ => self.repo.find_blob(id)?.content().to_vec(),
            };
            Ok(Some(match is_file(mode) {
                true => FileOrLink::File {
                    bytes,
                    runs: mode == Mode::Program,
                },
                false => FileOrLink::Link(OsStr::from_bytes(&bytes).into()),
            }))
        };
        paths.iter().zip(&blobs).map(entry).collect()
    }

    /// The same of one path.
    ///
    /// # Errors
    /// See [`Self::entries`].
    pub fn entry(
        &self,
        commit: Option<&str>,
        path: &Path,
    ) -> Result<Option<FileOrLink>, SnapshotError> {
        let _working = self.relief.working();
        let mut one = self.entries(commit, &[path.to_path_buf()])?;
        Ok(one.pop().flatten())
    }

    /// Keeps bytes, and nothing converts them; the name they have. Nothing points to them: git clears them away in time. They
    /// are in the private snapshots, where there are any: git may know nothing of their file.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn keep(&self, bytes: &[u8]) -> Result<String, SnapshotError> {
        let store = self.aside().unwrap_or(self);
        Ok(store.repo.blob(bytes)?.to_string())
    }

    /// What was kept under a name, if it still is.
    pub fn kept(&self, name: &str) -> Option<Vec<u8>> {
        let id = Oid::from_str(name).ok()?;
        let stores = [Some(self), self.aside()];
        let mut found = stores.into_iter().flatten();
        let blob = found.find_map(|store| store.repo.find_blob(id).ok())?;
        Some(blob.content().to_vec())
    }

    /// Whether the work tree has at a path what the commit has there, as git compares them; a folder is nothing.
    ///
    /// # Errors
    /// Where the commit or the file cannot be read.
    pub fn is_now(&self, commit: Option<&str>, path: &Path) -> Result<bool, SnapshotError> {
        let _working = self.relief.working();
        Ok(self.held_now(path)? == self.held(commit, path)?)
    }

    /// What a commit has at a path, to compare; `None` is nothing.
    ///
    /// # Errors
    /// Where the commit cannot be read.
    pub fn held(&self, commit: Option<&str>, path: &Path) -> Result<Option<Held>, SnapshotError> {
        let one = [path.to_path_buf()];
        let held = self.held_in(self.tree_of(commit)?.as_ref(), &one)?;
        Ok(held.into_iter().next().flatten())
    }

    /// What the newest commit has at these paths.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn held_at_tip(&self, paths: &[PathBuf]) -> Result<Vec<Option<Held>>, SnapshotError> {
        let tree = self.tip()?.map(|commit| commit.tree()).transpose()?;
        self.held_in(tree.as_ref(), paths)
    }

    /// What the work tree has at a path, as git would save it.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn held_now(&self, path: &Path) -> Result<Option<Held>, SnapshotError> {
        let _working = self.relief.working();
        let below = self.root.join(path);
        let place = self.top.join(&below);
        let failed = |why| SnapshotError::unreadable(path, why);
        Ok(match find(&self.top, &below)? {
            Found::Nothing => None,
            Found::Link => {
                let target = fs::read_link(&place).map_err(failed)?;
                let bytes = target.as_os_str().as_bytes();
                let id = Oid::hash_object(ObjectType::Blob, bytes)?;
                Some(Held(id, Mode::Link))
            }
            Found::File => {
                let data = fs::symlink_metadata(&place).map_err(failed)?;
                let config = self.repo.config()?;
                let runs = match config.get_bool("core.fileMode").unwrap_or(true) {
                    true => data.permissions().mode() & 0o100 != 0,
                    // Git goes by what the index says.
                    false => {
                        let entry = self.repo.index()?.get_path(&below, 0);
                        entry.is_some_and(|entry| entry.mode & 0o111 != 0)
                    }
                };
                let mode = match runs {
                    true => Mode::Program,
                    false => Mode::File,
                };
                if is_huge(&place) {
                    // No commit has it.
                    return Ok(Some(Held(Oid::ZERO_SHA1, mode)));
                }
                let id = match self.repo.index()?.get_path(&below, 0) {
                    Some(_) => self.repo.blob_path(&place)?,
                    // Git is not to get what it does not track, not even as an object that nothing points to.
                    None => Oid::hash_file(ObjectType::Blob, &place)?,
                };
                Some(Held(id, mode))
            }
        })
    }

    /// The tree of a commit, or the tree itself, given by all its hex digits; none of none.
    pub(super) fn tree_of(&self, commit: Option<&str>) -> Result<Option<Tree<'_>>, SnapshotError> {
        let tree = |hex| {
            Ok(self
                .repo
                .find_object(Oid::from_str(hex)?, None)?
                .peel_to_tree()?)
        };
        commit.map(tree).transpose()
    }

    /// The files and links that a tree has at paths below the root. The folder that was looked into last is not read again.
    fn held_in(
        &self,
        tree: Option<&Tree<'_>>,
        paths: &[PathBuf],
    ) -> Result<Vec<Option<Held>>, SnapshotError> {
        let Some(tree) = tree else {
            return Ok(vec![None; paths.len()]);
        };
        let mut last: Option<(PathBuf, Option<Tree<'_>>)> = None;
        let mut all = Vec::with_capacity(paths.len());
        for path in paths {
            let path = self.root.join(path);
            let above = path.parent().unwrap_or(Path::new(""));
            let (_, folder) = match last.take() {
                Some((known, folder)) if known == above => last.insert((known, folder)),
                _ => last.insert((above.to_path_buf(), self.folder_in(tree, above)?)),
            };
            let name = path.file_name().unwrap_or_default().as_bytes();
            let entry = folder
                .as_ref()
                .and_then(|folder| folder.get_name_bytes(name));
            all.push(entry.and_then(|entry| held(entry.id(), entry.filemode().cast_unsigned())));
        }
        Ok(all)
    }

    fn folder_in<'r>(
        &'r self,
        tree: &Tree<'r>,
        path: &Path,
    ) -> Result<Option<Tree<'r>>, SnapshotError> {
        if path.as_os_str().is_empty() {
            return Ok(Some(tree.clone()));
        }
        match tree.get_path(path) {
            Ok(entry) if entry.kind() == Some(ObjectType::Tree) => {
                Ok(Some(self.repo.find_tree(entry.id())?))
            }
            Ok(_) => Ok(None),
            Err(why) if why.code() == ErrorCode::NotFound => Ok(None),
            Err(why) => Err(why.into()),
        }
    }

    /// These files of a tree as they are to be in the work tree, in a folder of their own. By a repository opened anew and
    /// with an index that is nowhere: else a checkout goes by what HEAD has, and forgets some of what the index in memory
    /// holds.
    fn check_out(
        &self,
        tree: &Tree<'_>,
        files: &[PathBuf],
    ) -> Result<tempfile::TempDir, SnapshotError> {
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

/// None for what is no file and no link.
fn held(id: Oid, mode: u32) -> Option<Held> {
    let mode = match mode {
        LINK => Mode::Link,
        mode if mode & 0o170_000 != 0o100_000 => return None,
        mode if mode & 0o111 != 0 => Mode::Program,
        _ => Mode::File,
    };
    Some(Held(id, mode))
}
