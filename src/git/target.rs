//! The target of commits: onto the branch that is checked out, or beside it. Owns the names of refs and of the index's file;
//! never decides what is committed.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use git2::{Commit, ErrorCode, Index, Oid, ReferenceType};

use super::error::{GitResult, if_found};
use super::{SnapshotError, Store};
use crate::world::folder::if_there;

impl Store {
    /// True if commits go onto a detached HEAD of the user's, so that no branch has them.
    pub fn is_detached(&self) -> bool {
        let is_beside = self.is_private() || self.rules.is_beside_branch();
        !is_beside && self.repo.head_detached().unwrap_or(false)
    }

    /// The commit that the next one is put on; none before the first. Beside a branch that is the branch's own commit, as
    /// long as nothing was saved there.
    pub(super) fn tip(&self) -> GitResult<Option<Commit<'_>>> {
        if self.rules.is_beside_branch() {
            match if_found(self.repo.find_reference(&self.side_ref()))? {
                // Through it the user's own branch would be moved.
                Some(side) if side.kind() == Some(ReferenceType::Symbolic) => {
                    return Err(SnapshotError::Diverted(self.ref_path()));
                }
                Some(side) => return Ok(Some(side.peel_to_commit()?)),
                None => {}
            }
        }
        self.head()
    }

    /// HEAD's commit; none where the branch has none yet.
    pub(super) fn head(&self) -> GitResult<Option<Commit<'_>>> {
        match self.repo.head() {
            Ok(head) => Ok(Some(head.peel_to_commit()?)),
            Err(why) if why.code() == ErrorCode::UnbornBranch => Ok(None),
            Err(why) => Err(why.into()),
        }
    }

    /// The parents of a commit that is put on this one. Beside a branch also what the user has committed there since.
    pub(super) fn parents(&self, tip: Option<Oid>) -> GitResult<Vec<Commit<'_>>> {
        let Some(tip) = tip else {
            return Ok(Vec::new());
        };
        let mut parents = vec![self.repo.find_commit(tip)?];
        if self.rules.is_beside_branch()
            && let Some(head) = self.head()?
            && head.id() != tip
            && !self.repo.graph_descendant_of(tip, head.id())?
        {
            parents.push(head);
        }
        Ok(parents)
    }

    /// Moves the ref from a commit to another, if it is still at the first.
    ///
    /// # Errors
    /// [`SnapshotError::HeadMoved`] where somebody else moved it.
    pub(super) fn advance(&self, old: Option<Oid>, new: Oid, log: &str) -> GitResult<()> {
        let name = self.ref_name();
        // Beside a branch, the first commit is put on the branch's.
        let begins = self.rules.is_beside_branch() && self.repo.refname_to_id(&name).is_err();
        if begins {
            self.make_room(&name)?;
        }
        self.locks.patiently(&self.ref_path(), || {
            let moved = match old.filter(|_| !begins) {
                Some(old) => self.repo.reference_matching(&name, new, true, old, log),
                None => self.repo.reference(&name, new, false, log),
            };
            moved.map(drop).map_err(|why| match why.code() {
                ErrorCode::Modified | ErrorCode::Exists | ErrorCode::NotFound => {
                    SnapshotError::HeadMoved
                }
                _ => why.into(),
            })
        })
    }

    /// Puts away the histories of branches that are gone where they are in the way: with a `refs/clada/a` there can be no
    /// `refs/clada/a/b`, nor the other way round.
    fn make_room(&self, name: &str) -> GitResult<()> {
        let below = format!("{name}/");
        for found in self.repo.references_glob("refs/clada/*")? {
            let mut found = found?;
            let Ok(old) = found.name().map(str::to_owned) else {
                continue;
            };
            if old.starts_with(&below) || name.starts_with(&format!("{old}/")) {
                let branch = old.strip_prefix("refs/clada/").unwrap_or(&old);
                let id = found.peel_to_commit()?.id().to_string();
                let away = format!("refs/clada-gone/{branch}-{}", super::short(&id));
                found.rename(&away, true, "its branch no longer exists")?;
            }
        }
        Ok(())
    }

    /// The ref of commits that go beside the branch.
    pub(super) fn side_ref(&self) -> String {
        let name = match self.branch() {
            Some(name) => name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned(),
            // A linked work tree has a HEAD of its own.
            None if self.repo.is_worktree() => {
                let tree = self.repo.path().file_name().unwrap_or_default();
                format!("HEAD@{}", tree.to_string_lossy())
            }
            None => "HEAD".to_owned(),
        };
        format!("refs/clada/{name}")
    }

    /// The full name of the ref that a commit moves; `HEAD` where that is detached.
    pub(super) fn ref_name(&self) -> String {
        if self.rules.is_beside_branch() {
            return self.side_ref();
        }
        self.branch().unwrap_or("HEAD".to_owned())
    }

    /// That ref's file: the branch's, or HEAD itself where it is detached.
    pub(super) fn ref_path(&self) -> PathBuf {
        match self.ref_name() {
            name if name == "HEAD" => self.repo.path().join(name),
            name => self.repo.commondir().join(name),
        }
    }

    /// The full name of the branch that is checked out.
    pub(super) fn branch(&self) -> Option<String> {
        let head = self.repo.find_reference("HEAD").ok()?;
        Some(head.symbolic_target().ok()??.to_owned())
    }

    pub(super) fn index_path(&self) -> PathBuf {
        // A linked work tree has an index of its own, beside its HEAD.
        let is_own = self.rules.is_beside_branch();
        self.repo
            .path()
            .join(if is_own { OWN_INDEX } else { "index" })
    }

    /// Opens clada's own index, where commits go beside a branch. It is a copy of the user's, made anew when that has changed: marks such as
    /// skip-worktree are in it.
    pub(super) fn take_own_index(&self) -> GitResult<()> {
        if !self.rules.is_beside_branch() {
            return Ok(());
        }
        let own = plain(self.index_path())?;
        let users = plain(self.repo.path().join("index"))?;
        // None is before all others.
        let is_stale = own.is_none() || users >= own;
        match Index::open(&self.index_path()) {
            Ok(mut index) if !is_stale => Ok(self.repo.set_index(&mut index)?),
            _ => self.make_own_index(),
        }
    }

    /// Puts a copy of the user's index in its place.
    pub(super) fn make_own_index(&self) -> GitResult<()> {
        let path = self.index_path();
        let failed = |error| SnapshotError::OwnIndex(path.clone(), error);
        let git = self.repo.path();
        let users = git.join("index");
        plain(users.clone())?;
        match File::open(users) {
            Ok(mut users) => {
                let mut new = tempfile::NamedTempFile::new_in(git).map_err(failed)?;
                io::copy(&mut users, &mut new).map_err(failed)?;
                new.persist(&path).map_err(|why| failed(why.error))?;
            }
            Err(_) => drop(if_there(fs::remove_file(&path)).map_err(failed)?),
        }
        let mut index = Index::open(&path)?;
        Ok(self.repo.set_index(&mut index)?)
    }
}

/// The time at which a file was changed, if it is there; what is no file would be waited for, or lead elsewhere.
fn plain(path: PathBuf) -> GitResult<Option<SystemTime>> {
    match fs::symlink_metadata(&path) {
        Ok(data) if data.is_file() => Ok(data.modified().ok()),
        Ok(_) => Err(SnapshotError::Diverted(path)),
        Err(_) => Ok(None),
    }
}

/// Clada's own index, beside git's.
const OWN_INDEX: &str = "clada-index";
