//! Looking at older states: what was there is kept in a commit that no branch has, so that all of it can come back. Owns
//! the refs for that; HEAD, index and branch stay as they are, and files are changed by others.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use git2::{Commit, Index, Oid, Reference, Tree};

use super::error::{GitResult, if_found};
use super::history::first_parents;
use super::recorded::{self, KnownEntries};
use super::{Message, SaveScope, Saved, SnapshotError, Snapshots, Store, look, private};

/// The older state that is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looking {
    /// The commit that keeps what was there.
    pub present: String,
    /// The commit whose files are shown.
    pub at: String,
    /// The one that was last on its way there: where that was cut short, some files are of it.
    pub to: String,
}

/// A state that can be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// All hex digits.
    pub commit: String,
    /// The commit as clada wrote it; none for a commit of the user's.
    pub saved: Option<Saved>,
}

impl Snapshots {
    /// # Errors
    /// While an older state is looked at, here or in the private repository of a folder that got one of the user's meanwhile.
    pub(super) fn refuse_looking(&self) -> GitResult<()> {
        self.stores()
            .into_iter()
            .try_for_each(Store::refuse_looking)
    }

    /// The repository in which an older state is looked at.
    ///
    /// # Errors
    /// Where that cannot be read.
    pub fn where_looking(&self) -> GitResult<Option<&Store>> {
        for store in self.stores() {
            if store.looking_ref("present")?.is_some() {
                return Ok(Some(store));
            }
        }
        Ok(None)
    }

    /// Keeps all that git tracks as it is in a commit on no branch, from which looking begins. What is untracked is kept in the
    /// private snapshots, and stays where it is.
    ///
    /// # Errors
    /// Where a save would not be possible, and where nothing was saved yet.
    pub fn begin_looking(&mut self, message: &Message) -> GitResult<()> {
        self.store.refuse_diverted()?;
        self.refuse_looking()?;
        let prepared = self
            .store
            .prepare(SaveScope::Before, None, &mut self.untracked)?;
        // What was staged in memory is not to be written.
        self.store.index.given_up.set(true);
        if !self.store.is_private() {
            self.untracked.begin();
            self.keep_untracked(true, message);
        }
        let store = &self.store;
        let tip = store.tip()?;
        let tree = match (prepared.tree, &tip) {
            (Some(tree), _) => store.repo.find_tree(tree)?,
            (None, Some(tip)) => tip.tree()?,
            (None, None) => return Err(SnapshotError::NothingSaved),
        };
        let who = store.author()?;
        let parents: Vec<&Commit<'_>> = tip.iter().collect();
        let text = message.to_string();
        let present = store
            .repo
            .commit(None, &who, &who, &text, &tree, &parents)?
            .to_string();
        // One may be left of a clada that was killed as it ended looking.
        for name in ["to", "at", "present"] {
            store.look_at(name, &present)?;
        }
        Ok(())
    }

    /// Files that do not hold what the commit that is shown has, of those that it or what was there before has.
    ///
    /// # Errors
    /// Where the files or the commits cannot be read.
    pub fn edited(&self, store: &Store, looking: &Looking) -> GitResult<Vec<PathBuf>> {
        let _working = store.relief.working();
        let mut index = store.repo.index()?;
        index.read(true)?;
        let tree = store.commit_at(&looking.at)?.tree()?;
        let paths = store.otherwise(Some(&tree), &index, &store.root)?;
        let mut edited = Vec::new();
        for path in paths.iter().filter(|path| !store.rules.is_left_out(path)) {
            let Some(below) = store.below_root(path) else {
                continue;
            };
            let has = |commit: &str| store.held(Some(commit), &below).map(|held| held.is_some());
            if !self.is_users(store, &below)?
                && (has(&looking.at)? || has(&looking.present)?)
                && !store.shows(looking, &below)?
            {
                edited.push(below);
            }
        }
        Ok(edited)
    }

    /// True for an untracked file of the user's at a path (relative to the root), which no older state in this repository
    /// replaces.
    ///
    /// # Errors
    /// Where an index cannot be read.
    pub fn is_users(&self, store: &Store, path: &Path) -> GitResult<bool> {
        let _working = store.relief.working();
        match self.aside() {
            Some(aside) if !store.is_private() => {
                Ok(aside.is_tracked(path)? && !store.is_tracked(path)?)
            }
            _ => Ok(false),
        }
    }
}

impl Store {
    /// The older state that is looked at here, if there is one.
    ///
    /// # Errors
    /// Where that cannot be read.
    pub fn looking(&self) -> GitResult<Option<Looking>> {
        let id = |name| -> GitResult<Option<String>> {
            let found = self.looking_ref(name)?;
            Ok(found.and_then(|found| Some(found.target()?.to_string())))
        };
        let (Some(present), Some(at)) = (id("present")?, id("at")?) else {
            return Ok(None);
        };
        let to = id("to")?.unwrap_or_else(|| at.clone());
        Ok(Some(Looking { present, at, to }))
    }

    pub(super) fn refuse_looking(&self) -> GitResult<()> {
        match self.looking_ref("present")? {
            Some(_) => Err(SnapshotError::Looking),
            None => Ok(()),
        }
    }

    /// Files at or below a place that the work tree, or a tree, does not have as the index has them. By stat data first: that
    /// is only to be asked of what the index knows.
    pub(super) fn otherwise(
        &self,
        tree: Option<&Tree<'_>>,
        index: &Index,
        place: &PathBuf,
    ) -> GitResult<BTreeSet<PathBuf>> {
        let mut paths = look::changed_among(&self.repo, index, std::slice::from_ref(place))?.files;
        let known = KnownEntries::of(index, place);
        paths.append(&mut recorded::otherwise(
            &self.repo,
            tree,
            place,
            known.folder(),
        )?);
        Ok(paths)
    }

    /// Ends looking. With `keep` what was there stays to be found, under the name that is returned.
    ///
    /// # Errors
    /// Where the refs cannot be written.
    pub fn end_looking(&self, keep: bool) -> GitResult<Option<String>> {
        let mut kept = None;
        if let Some(looking) = self.looking()?.filter(|_| keep) {
            // Each has a name of its own: nothing else holds it.
            let name = format!("left-{}", &looking.present[..12]);
            self.look_at(&name, &looking.present)?;
            kept = Some(self.looking_name(&name));
        }
        for name in ["present", "at", "to"] {
            if let Some(mut found) = self.looking_ref(name)? {
                found.delete()?;
            }
        }
        Ok(kept)
    }

    /// The states from what was there back to `further` before the one that is shown, newest first: clada's commits and
    /// what each of them was put on. One with the same files below the root as the one before is passed over.
    ///
    /// # Errors
    /// Where the history cannot be read.
    pub fn stops(&self, looking: &Looking, further: usize) -> GitResult<Vec<Stop>> {
        let _working = self.relief.working();
        let mut stops: Vec<Stop> = Vec::new();
        let mut here = None;
        let mut follows_ours = false;
        for commit in first_parents(Some(self.commit_at(&looking.present)?)) {
            let commit = commit?;
            let saved = Saved::of(&commit);
            let hex = commit.id().to_string();
            let is_ours = saved.is_some();
            let is_other = match stops.last() {
                Some(last) if is_ours || follows_ours => {
                    !self.changes(Some(&hex), Some(&last.commit))?.is_empty()
                }
                last => last.is_none(),
            };
            if is_other {
                if hex == looking.at {
                    here = Some(stops.len());
                }
                stops.push(Stop { commit: hex, saved });
            }
            follows_ours = is_ours;
            if here.is_some_and(|here| stops.len() > here.saturating_add(further)) {
                break;
            }
        }
        Ok(stops)
    }

    /// True if a path holds what is shown, or what was there before: the user may have put that back, by `git stash`, say.
    ///
    /// # Errors
    /// Where the file or a commit cannot be read.
    pub fn shows(&self, looking: &Looking, path: &Path) -> GitResult<bool> {
        let _working = self.relief.working();
        let now = self.held_now(path)?;
        for commit in [&looking.at, &looking.to, &looking.present] {
            if now == self.held(Some(commit), path)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn looking_ref(&self, name: &str) -> GitResult<Option<Reference<'_>>> {
        let found = self.repo.find_reference(&self.looking_name(name));
        Ok(if_found(found)?)
    }

    /// Notes a commit under a name: `to` is the one that will be shown next, `at` the one that is shown from now on.
    pub(super) fn look_at(&self, name: &str, commit: &str) -> GitResult<()> {
        let id = Oid::from_str(commit)?;
        let name = self.looking_name(name);
        self.repo.reference(&name, id, true, "clada: looking")?;
        Ok(())
    }

    /// Several roots and work trees may share these refs, so each has names of its own.
    fn looking_name(&self, name: &str) -> String {
        let root = self.top.join(&self.root);
        format!(
            "refs/clada/looking/{}/{name}",
            &private::name_of(&root)[..12]
        )
    }
}
