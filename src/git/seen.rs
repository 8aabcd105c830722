//! A look at places without a save: the changes since one, and the tree that a save would commit now. Commits nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use git2::{Index, IndexEntry};

use super::at::{PathKind, find};
use super::error::GitResult;
use super::recorded::{is_gitlink, is_kept};
use super::{SaveScope, Snapshots};

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
    ) -> GitResult<Option<String>> {
        let _working = self.store.relief.working();
        self.refuse_looking()?;
        let since = self.store.tree_of(since.filter(|_| paths.is_some()))?;
        let scope = paths.map_or(SaveScope::After(None), SaveScope::Paths);
        let prepared = self
            .store
            .prepare(scope, since.as_ref(), &mut self.untracked)?;
        let tree = match prepared.tree.or(since.map(|tree| tree.id())) {
            None => self.store.tip()?.map(|tip| tip.tree_id()),
            seen => seen,
        };
        let left_out = self.left_out_now(paths.unwrap_or_default());
        if !self.store.is_private() {
            self.leave_unsaved(left_out, paths.is_none())?;
        }
        Ok(tree.map(|tree| tree.to_string()))
    }

    /// True if a folder is at this path (relative to the root).
    pub fn has_folder(&self, path: &Path) -> bool {
        let place = self.store.top.join(&self.store.root).join(path);
        fs::symlink_metadata(place).is_ok_and(|it| it.is_dir())
    }

    /// A file or link at or below a path (relative to the root) that is there and is not what a commit or tree has there.
    /// What is never saved is none of it.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn news(&self, seen: Option<&str>, path: &Path) -> GitResult<Option<PathBuf>> {
        let store = &self.store;
        let _working = store.relief.working();
        let place = store.root.join(path);
        let index = store.repo.index()?;
        let candidates = if self.has_folder(path) {
            store.otherwise(store.tree_of(seen)?.as_ref(), &index, &place)?
        } else {
            BTreeSet::from([place])
        };
        for file in candidates {
            if find(&store.top, &file)? == PathKind::Nothing {
                continue;
            }
            let Some(below) = store.below_root(&file) else {
                continue;
            };
            if store.is_now(seen, &below)? {
                continue;
            }
            let is_news = match self.aside_has(&below)? {
                Some(is_same) => !is_same,
                None => self.is_saved(seen, &below, &index)?,
            };
            if is_news {
                return Ok(Some(below));
            }
        }
        Ok(None)
    }

    /// Notes what the batch left at these places (relative to the root), and at all that is saved aside where a command ran.
    /// They are saved at its end, with what git saves of it.
    fn leave_unsaved(&mut self, mut files: Vec<PathBuf>, all: bool) -> GitResult<()> {
        if all {
            let kept = self.to_keep(false)?.into_iter();
            files.extend(kept.map(|(path, _)| path));
        }
        let Some(aside) = self.aside() else {
            return Ok(());
        };
        let mut unsaved = Vec::new();
        for path in &files {
            unsaved.push((path.clone(), aside.held_now(path)?));
        }
        self.untracked.unsaved.extend(unsaved);
        self.guarded.files.extend(files);
        Ok(())
    }

    /// Compares what is at a path (relative to the root) with the private snapshots; `None` where they do not know it.
    fn aside_has(&self, path: &Path) -> GitResult<Option<bool>> {
        let Some(aside) = self.aside() else {
            return Ok(None);
        };
        let saved = match self.untracked.unsaved.get(path) {
            Some(left) => *left,
            None if aside.is_tracked(path)? => aside.held_at_tip(&[path.to_path_buf()])?[0],
            None => return Ok(None),
        };
        Ok(Some(saved == aside.held_now(path)?))
    }

    /// True if what is at a path (relative to the root) can be had again: from a commit, or from the private snapshots.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn is_kept(&self, seen: Option<&str>, path: &Path) -> GitResult<bool> {
        let _working = self.store.relief.working();
        Ok(self.store.is_now(seen, path)? || self.aside_has(path)? == Some(true))
    }

    /// True if a save takes what is at a path (relative to the root), as far as that is known without one.
    fn is_saved(&self, seen: Option<&str>, path: &Path, index: &Index) -> GitResult<bool> {
        let store = &self.store;
        let file = store.root.join(path);
        let is_kept = |entry: IndexEntry| is_kept(&entry) || is_gitlink(&entry);
        if store.rules.is_left_out(&file)
            || self.passed_over.contains(&file)
            || index.get_path(&file, 0).is_some_and(is_kept)
            || store.attribute(&file, "filter")?.is_some()
            || store.attribute(&file, "working-tree-encoding")?.is_some()
            || store.in_another_repository(index, &file, false)
        {
            return Ok(false);
        }
        Ok(store.held(seen, path)?.is_some()
            || self.untracked.is_new(&file) && !store.repo.is_path_ignored(&file)?)
    }
}
