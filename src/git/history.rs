//! The commits that clada made, read back by their trailers. Changes nothing.

use std::iter;

use git2::{Commit, Oid};

use super::Store;
use super::error::GitResult;
use super::message::{self, Message};

/// A commit of clada's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// All hex digits.
    pub commit: String,
    /// The commit that it was put on; none for the first commit of all.
    pub parent: Option<String>,
    /// Unix time in seconds.
    pub time: i64,
    pub message: Message,
}

/// The part of the repository that a commit changed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RootReach {
    /// Something below the root.
    pub(super) inside: bool,
    pub(super) outside: bool,
}

impl Saved {
    /// The words of its subject, without what says what kind of commit it is.
    pub fn words(&self) -> &str {
        self.message.step.words(&self.message.subject)
    }

    /// Reads a commit's message; `None` for a commit that is not clada's.
    pub(super) fn of(commit: &Commit<'_>) -> Option<Self> {
        let text = String::from_utf8_lossy(commit.message_bytes());
        Some(Self {
            commit: commit.id().to_string(),
            parent: commit.parent_id(0).ok().map(|id| id.to_string()),
            time: commit.time().seconds(),
            message: message::read(&text)?,
        })
    }
}

impl Store {
    /// Finds out if a commit changed something below the root, and something outside.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub(super) fn reach(&self, saved: &Saved) -> GitResult<RootReach> {
        let mut reach = RootReach::default();
        if self.root.as_os_str().is_empty() {
            reach.inside = true;
            return Ok(reach);
        }
        let before = self.tree_of(saved.parent.as_deref())?;
        let after = self.tree_of(Some(&saved.commit))?;
        let diff = self
            .repo
            .diff_tree_to_tree(before.as_ref(), after.as_ref(), None)?;
        for delta in diff.deltas() {
            let path = delta.new_file().path().or(delta.old_file().path());
            let is_inside = path.is_some_and(|path| path.starts_with(&self.root));
            reach.inside |= is_inside;
            reach.outside |= !is_inside;
        }
        Ok(reach)
    }

    /// A commit by all its hex digits.
    pub(super) fn commit_at(&self, hex: &str) -> GitResult<Commit<'_>> {
        Ok(self.repo.find_commit(Oid::from_str(hex)?)?)
    }
}

/// A commit, its first parent, the first parent of that, and so on.
pub(super) fn first_parents<'r>(
    from: Option<Commit<'r>>,
) -> impl Iterator<Item = Result<Commit<'r>, git2::Error>> {
    iter::successors(from.map(Ok), |last| {
        first_parent(last.as_ref().ok()?).transpose()
    })
}

/// The first parent of a commit, if it has one.
pub(super) fn first_parent<'r>(commit: &Commit<'r>) -> Result<Option<Commit<'r>>, git2::Error> {
    if commit.parent_count() == 0 {
        return Ok(None);
    }
    commit.parent(0).map(Some)
}
