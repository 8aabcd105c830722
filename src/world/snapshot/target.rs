//! Where commits go: onto the branch that is checked out, or beside it. Owns the names of refs and of the index's file;
//! never decides what is committed.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::PathBuf;

use git2::{Commit, ErrorCode, Index};

use super::{SnapshotError, Snapshots};

/// Where commits go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Target {
    /// Onto the branch that is checked out, or onto HEAD itself where it is detached.
    #[default]
    Branch,
    /// The same history under `refs/clada/BRANCH`: HEAD, index and branch are left as they are.
    Side,
}

impl Snapshots {
    /// The commit that the next one is put on; none before the first. Beside a branch that is the branch's own commit, as
    /// long as nothing was saved there.
    pub(super) fn tip(&self) -> Result<Option<Commit<'_>>, SnapshotError> {
        if self.target == Target::Side {
            match self.repo.find_reference(&self.ref_name()) {
                Ok(side) => return Ok(Some(side.peel_to_commit()?)),
                Err(why) if why.code() == ErrorCode::NotFound => {}
                Err(why) => return Err(why.into()),
            }
        }
        self.head()
    }

    /// HEAD's commit; none where the branch has none yet.
    pub(super) fn head(&self) -> Result<Option<Commit<'_>>, SnapshotError> {
        match self.repo.head() {
            Ok(head) => Ok(Some(head.peel_to_commit()?)),
            Err(why) if why.code() == ErrorCode::UnbornBranch => Ok(None),
            Err(why) => Err(why.into()),
        }
    }

    /// The parents of a commit that is put on this one. Beside a branch also what the user has committed there since.
    pub(super) fn parents<'r>(
        &'r self,
        tip: Option<&Commit<'r>>,
    ) -> Result<Vec<Commit<'r>>, SnapshotError> {
        let mut parents: Vec<Commit<'r>> = tip.into_iter().cloned().collect();
        if let (Target::Side, Some(tip), Some(head)) = (self.target, tip, self.head()?)
            && head.id() != tip.id()
            && !self.repo.graph_descendant_of(tip.id(), head.id())?
        {
            parents.push(head);
        }
        Ok(parents)
    }

    /// The ref that a commit moves.
    pub(super) fn ref_name(&self) -> String {
        match self.target {
            Target::Branch => "HEAD".to_owned(),
            Target::Side => {
                let branch = self.branch();
                let name = branch.as_deref().unwrap_or("HEAD");
                format!(
                    "refs/clada/{}",
                    name.strip_prefix("refs/heads/").unwrap_or(name)
                )
            }
        }
    }

    /// That ref's file: the branch's, or HEAD itself where it is detached.
    pub(super) fn ref_path(&self) -> PathBuf {
        let name = match self.target {
            Target::Branch => self.branch(),
            Target::Side => Some(self.ref_name()),
        };
        match name {
            Some(name) => self.repo.commondir().join(name),
            None => self.repo.path().join("HEAD"),
        }
    }

    /// The full name of the branch that is checked out.
    pub(super) fn branch(&self) -> Option<String> {
        let head = self.repo.find_reference("HEAD").ok()?;
        Some(head.symbolic_target().ok()??.to_owned())
    }

    pub(super) fn index_path(&self) -> PathBuf {
        // A linked work tree has an index of its own, beside its HEAD.
        self.repo.path().join(match self.target {
            Target::Branch => "index",
            Target::Side => SIDE_INDEX,
        })
    }

    /// Beside a branch the index is clada's own. It begins as a copy of the user's, which knows the files already.
    pub(super) fn take_own_index(&self) -> Result<(), SnapshotError> {
        if self.target == Target::Branch {
            return Ok(());
        }
        let path = self.index_path();
        let failed = |error| SnapshotError::OwnIndex(path.clone(), error);
        if fs::symlink_metadata(&path).is_err()
            && let Ok(mut users) = File::open(self.repo.path().join("index"))
        {
            let mut own = OpenOptions::new();
            let mut own = own
                .write(true)
                .create_new(true)
                .open(&path)
                .map_err(failed)?;
            io::copy(&mut users, &mut own).map_err(failed)?;
        }
        let mut index = Index::open(&path)?;
        Ok(self.repo.set_index(&mut index)?)
    }
}

/// Clada's own index, beside git's.
const SIDE_INDEX: &str = "clada-index";
