//! Looking at older states: what was there is kept in a commit that no branch has, so that all of it can come back. Owns
//! the refs for that; HEAD, index and branch stay as they are, and files are changed by others.

use std::path::{Path, PathBuf};

use git2::{Commit, ErrorCode, Oid, Reference};
use sha2::{Digest, Sha256};

use super::{Look, Message, Saved, SnapshotError, Snapshots, look, recorded};
use crate::text::hex::hex;

/// What is looked at.
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
    /// What clada says of it; none for a commit of the user's.
    pub saved: Option<Saved>,
}

impl Snapshots {
    /// What is looked at now, if anything is.
    ///
    /// # Errors
    /// Where that cannot be read.
    pub fn looking(&self) -> Result<Option<Looking>, SnapshotError> {
        let id = |name| -> Result<Option<String>, SnapshotError> {
            let found = self.looking_ref(name)?;
            Ok(found.and_then(|found| Some(found.target()?.to_string())))
        };
        let (Some(present), Some(at)) = (id("present")?, id("at")?) else {
            return Ok(None);
        };
        let to = id("to")?.unwrap_or_else(|| at.clone());
        Ok(Some(Looking { present, at, to }))
    }

    /// Where anything is looked at: here, or in the private repository of a folder that got one of the user's meanwhile.
    ///
    /// # Errors
    /// Where that cannot be read.
    pub fn where_looking(&self) -> Result<Option<&Self>, SnapshotError> {
        for store in [Some(self), self.aside()].into_iter().flatten() {
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
    pub fn begin_looking(&mut self, message: &Message) -> Result<(), SnapshotError> {
        self.refuse_diverted()?;
        let prepared = self.prepare(Look::Before)?;
        // What was staged in memory is not to be written.
        self.given_up.set(true);
        if !self.private {
            self.users.get_mut().begin(&self.looked.borrow());
            self.keep_untracked(true, message);
        }
        let tip = self.tip()?;
        let tree = match (prepared.tree, &tip) {
            (Some(tree), _) => self.repo.find_tree(tree)?,
            (None, Some(tip)) => tip.tree()?,
            (None, None) => return Err(SnapshotError::NothingSaved),
        };
        let who = self.author()?;
        let parents: Vec<&Commit<'_>> = tip.iter().collect();
        let text = message.to_string();
        let present = self
            .repo
            .commit(None, &who, &who, &text, &tree, &parents)?
            .to_string();
        // One may be left of a clada that was killed as it ended looking.
        self.look_at("to", &present)?;
        self.look_at("at", &present)?;
        self.look_at("present", &present)?;
        Ok(())
    }

    /// Notes which commit will be shown next.
    ///
    /// # Errors
    /// Where that cannot be written.
    pub fn will_look_at(&self, commit: &str) -> Result<(), SnapshotError> {
        self.look_at("to", commit)
    }

    /// Notes which commit is shown from now on.
    ///
    /// # Errors
    /// Where that cannot be written.
    pub fn looks_at(&self, commit: &str) -> Result<(), SnapshotError> {
        self.look_at("at", commit)
    }

    /// Ends looking. With `keep` what was there stays to be found, under the name that is returned.
    ///
    /// # Errors
    /// Where the refs cannot be written.
    pub fn end_looking(&self, keep: bool) -> Result<Option<String>, SnapshotError> {
        let kept = match (keep, self.looking()?) {
            (true, Some(looking)) => {
                // Each has a name of its own: nothing else holds it.
                let name = format!("left-{}", &looking.present[..12]);
                self.look_at(&name, &looking.present)?;
                Some(self.looking_name(&name))
            }
            _ => None,
        };
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
    pub fn stops(&self, looking: &Looking, further: usize) -> Result<Vec<Stop>, SnapshotError> {
        let _working = self.relief.working();
        let mut stops: Vec<Stop> = Vec::new();
        let mut here = None;
        let mut next = Some(self.commit_at(&looking.present)?);
        let mut follows_ours = false;
        while let Some(commit) = next.take() {
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
            if commit.parent_count() > 0 {
                next = Some(commit.parent(0)?);
            }
        }
        Ok(stops)
    }

    /// Files that do not hold what the commit that is shown has, of those that it or what was there before has.
    ///
    /// # Errors
    /// Where the files or the commits cannot be read.
    pub fn edited(&self, looking: &Looking) -> Result<Vec<PathBuf>, SnapshotError> {
        let _working = self.relief.working();
        let mut index = self.repo.index()?;
        index.read(true)?;
        let tree = self.commit_at(&looking.at)?.tree()?;
        let root = std::slice::from_ref(&self.root);
        let mut paths = look::changed_among(&self.repo, &index, root)?.files;
        paths.extend(recorded::committed_otherwise(
            &self.repo,
            Some(&tree),
            &index,
            &self.root,
        )?);
        let mut edited = Vec::new();
        for path in paths.iter().filter(|path| !self.is_left_out(path)) {
            let Ok(below) = path.strip_prefix(&self.root) else {
                continue;
            };
            let has = |commit: &str| self.held(Some(commit), below).map(|held| held.is_some());
            if self.is_users(below)? {
                continue;
            }
            if (has(&looking.at)? || has(&looking.present)?) && !self.shows(looking, below)? {
                edited.push(below.to_path_buf());
            }
        }
        Ok(edited)
    }

    /// Whether a path holds what is shown, or what was there before: the user may have put that back, by `git stash`, say.
    ///
    /// # Errors
    /// Where the file or a commit cannot be read.
    pub fn shows(&self, looking: &Looking, path: &Path) -> Result<bool, SnapshotError> {
        let _working = self.relief.working();
        let now = self.held_now(path)?;
        for commit in [&looking.at, &looking.to, &looking.present] {
            if now == self.held(Some(commit), path)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Tells that there is an untracked file of the user's at a path (relative to the root), which no older state replaces.
    ///
    /// # Errors
    /// Where an index cannot be read.
    pub fn is_users(&self, path: &Path) -> Result<bool, SnapshotError> {
        let _working = self.relief.working();
        let Some(aside) = self.aside() else {
            return Ok(false);
        };
        Ok(aside.index_now()?.get_path(path, 0).is_some() && !self.is_tracked(path)?)
    }

    fn looking_ref(&self, name: &str) -> Result<Option<Reference<'_>>, SnapshotError> {
        match self.repo.find_reference(&self.looking_name(name)) {
            Ok(found) => Ok(Some(found)),
            Err(why) if why.code() == ErrorCode::NotFound => Ok(None),
            Err(why) => Err(why.into()),
        }
    }

    fn look_at(&self, name: &str, commit: &str) -> Result<(), SnapshotError> {
        let id = Oid::from_str(commit)?;
        let name = self.looking_name(name);
        self.repo.reference(&name, id, true, "clada: looking")?;
        Ok(())
    }

    /// Several roots and work trees may share these refs, so each has names of its own.
    fn looking_name(&self, name: &str) -> String {
        let root = self.top.join(&self.root);
        let sum = Sha256::digest(root.as_os_str().as_encoded_bytes());
        format!("refs/clada/looking/{}/{name}", hex(&sum[..6]))
    }
}
