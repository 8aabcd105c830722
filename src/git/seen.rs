//! Whether a place is still as a save saw it, and what a save would see now. Commits nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use git2::{Index, IndexEntry};

use super::at::{Found, find};
use super::recorded::{is_gitlink, is_kept};
use super::{Look, SnapshotError, Snapshots, look, recorded};

impl Snapshots {
    /// The tree (all hex digits) that a save of these paths, or of everything, would commit now; its objects are written,
    /// and nothing points to them. `None` for one without a file.
    ///
    /// # Errors
    /// As for a save.
    pub fn see(
        &mut self,
        paths: Option<&[PathBuf]>,
        since: Option<&str>,
    ) -> Result<Option<String>, SnapshotError> {
        let _working = self.relief.working();
        let since = since.filter(|_| paths.is_some());
        let since_tree = since.map(|_| self.tree_of(since)).transpose()?.flatten();
        let look = paths.map_or(Look::After, Look::Paths);
        let prepared = self.prepare_since(look, since_tree.as_ref())?;
        let since_id = since_tree.map(|tree| tree.id());
        let left_out = self.left_out_now(paths.unwrap_or_default());
        if !self.private {
            self.leave_unsaved(left_out, paths.is_none())?;
        }
        let tree = match prepared.tree {
            Some(tree) => Some(tree),
            None if since_id.is_some() => since_id,
            None => self.tip()?.map(|tip| tip.tree_id()),
        };
        Ok(tree.map(|tree| tree.to_string()))
    }

    /// Tells if a folder is at this path (relative to the root).
    pub fn has_folder(&self, path: &Path) -> bool {
        let place = self.top.join(&self.root).join(path);
        fs::symlink_metadata(place).is_ok_and(|it| it.is_dir())
    }

    /// A file or link at or below a path (relative to the root) that is there and is not what a commit or tree has there.
    /// What is never saved is none of it.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn news(&self, seen: Option<&str>, path: &Path) -> Result<Option<PathBuf>, SnapshotError> {
        let _working = self.relief.working();
        let place = self.root.join(path);
        let index = self.repo.index()?;
        let is_folder = fs::symlink_metadata(self.top.join(&place)).is_ok_and(|it| it.is_dir());
        let candidates = match is_folder {
            // By stat data first: that is only to be asked of what the index knows.
            true => {
                let tree = self.tree_of(seen)?;
                let mut files =
                    look::changed_among(&self.repo, &index, std::slice::from_ref(&place))?.files;
                let tree = tree.as_ref();
                files.append(&mut recorded::committed_otherwise(
                    &self.repo, tree, &index, &place,
                )?);
                files
            }
            false => BTreeSet::from([place]),
        };
        for file in candidates {
            if find(&self.top, &file)? == Found::Nothing {
                continue;
            }
            let Ok(below) = file.strip_prefix(&self.root) else {
                continue;
            };
            if self.is_now(seen, below)? {
                continue;
            }
            let is_news = match self.aside_has(below)? {
                Some(is_same) => !is_same,
                None => self.is_saved(seen, below, &index)?,
            };
            if is_news {
                return Ok(Some(below.to_path_buf()));
            }
        }
        Ok(None)
    }

    /// Notes what the batch left at these places (relative to the root), and at all that is saved aside where a command ran.
    /// They are saved at its end, with what git saves of it.
    fn leave_unsaved(&mut self, mut files: Vec<PathBuf>, all: bool) -> Result<(), SnapshotError> {
        if all {
            let kept = self.to_keep(false)?.into_iter();
            files.extend(kept.map(|(path, _)| path));
        }
        let Some(aside) = self.aside() else {
            return Ok(());
        };
        let mut unsaved = Vec::new();
        for path in files {
            let held = aside.held_now(&path)?;
            unsaved.push((path, held));
        }
        let mut guarded = self.guarded.take();
        guarded
            .files
            .extend(unsaved.iter().map(|(path, _)| path.clone()));
        self.guarded.replace(guarded);
        self.users.get_mut().unsaved.extend(unsaved);
        Ok(())
    }

    /// Compares what is at a path (relative to the root) with the private snapshots; `None` where they do not know it.
    fn aside_has(&self, path: &Path) -> Result<Option<bool>, SnapshotError> {
        let Some(aside) = self.aside() else {
            return Ok(None);
        };
        if let Some(left) = self.users.borrow().unsaved.get(path) {
            return Ok(Some(*left == aside.held_now(path)?));
        }
        if aside.index_now()?.get_path(path, 0).is_none() {
            return Ok(None);
        }
        let saved = aside.held_at_tip(&[path.to_path_buf()])?;
        Ok(Some(saved[0] == aside.held_now(path)?))
    }

    /// Tells that what is at a path (relative to the root) can be had again: from a commit, or from the private snapshots.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn is_kept(&self, seen: Option<&str>, path: &Path) -> Result<bool, SnapshotError> {
        let _working = self.relief.working();
        Ok(self.is_now(seen, path)? || self.aside_has(path)? == Some(true))
    }

    /// Whether a save takes what is at a path (relative to the root), as far as that is known without one.
    fn is_saved(
        &self,
        seen: Option<&str>,
        path: &Path,
        index: &Index,
    ) -> Result<bool, SnapshotError> {
        let file = self.root.join(path);
        let in_another = |folder: &Path| {
            !folder.as_os_str().is_empty() && self.top.join(folder).join(".git").exists()
        };
        let is_kept = |entry: IndexEntry| is_kept(&entry) || is_gitlink(&entry);
        Ok(!(self.is_left_out(&file)
            || self.passed_over.borrow().contains(&file)
            || index.get_path(&file, 0).is_some_and(is_kept)
            || self.attribute(&file, "filter")?.is_some()
            || self.attribute(&file, "working-tree-encoding")?.is_some()
            || file.ancestors().skip(1).any(in_another)
            || self.held(seen, path)?.is_none()
                && (!self.is_new(&file) || self.repo.is_path_ignored(&file)?)))
    }
}
