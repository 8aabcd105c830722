//! The commits that clada made, read back by their trailers. Changes nothing.

use git2::{Commit, Oid};

use super::{SnapshotError, Snapshots, Step};

/// A commit of clada's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// All hex digits.
    pub commit: String,
    /// What it was put on; none for the first commit of all.
    pub parent: Option<String>,
    /// The batch it belongs to.
    pub batch: String,
    pub step: Step,
    /// The first line of its message, without clada's mark.
    pub subject: String,
    /// The lines between that and the trailers.
    pub body: Vec<String>,
    /// Unix time in seconds.
    pub time: i64,
    /// Of a squashed one: the batches that it was.
    pub of: Vec<String>,
    /// The commit before it, where a command moved the branch elsewhere: its parent is not what it was made from.
    pub moved: Option<String>,
    /// Of one in the private snapshots: the commit that was git's last one then.
    pub beside: Option<String>,
}

/// The commits from the newest back, by first parents.
pub struct History<'h> {
    next: Option<Commit<'h>>,
}

impl<'h> History<'h> {
    /// Goes back from a commit, or from nothing.
    pub(super) fn from(next: Option<Commit<'h>>) -> Self {
        Self { next }
    }

    /// The commit that comes next, by all its hex digits, and its time.
    pub fn peek(&self) -> Option<(String, i64)> {
        let next = self.next.as_ref()?;
        Some((next.id().to_string(), next.time().seconds()))
    }

    /// The next commit, as clada made it; `Some(None)` is one of the user's.
    ///
    /// # Errors
    /// Where the history cannot be read.
    pub fn advance(&mut self) -> Result<Option<Option<Saved>>, SnapshotError> {
        let Some(commit) = self.next.take() else {
            return Ok(None);
        };
        self.next = match commit.parent_count() {
            0 => None,
            _ => Some(commit.parent(0)?),
        };
        Ok(Some(Saved::of(&commit)))
    }

    /// The next commit that clada made.
    ///
    /// # Errors
    /// Where the history cannot be read.
    pub fn next_saved(&mut self) -> Result<Option<Saved>, SnapshotError> {
        while let Some(found) = self.advance()? {
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

impl Saved {
    /// The words of its subject, without what says what kind of commit it is.
    pub fn words(&self) -> &str {
        self.step.words(&self.subject)
    }

    /// Reads a commit's message; `None` for a commit that is not clada's.
    pub(super) fn of(commit: &Commit<'_>) -> Option<Self> {
        let text = String::from_utf8_lossy(commit.message_bytes());
        let message = super::message::read(&text)?;
        Some(Self {
            commit: commit.id().to_string(),
            parent: commit.parent_id(0).ok().map(|id| id.to_string()),
            batch: message.batch,
            step: message.step,
            subject: message.subject.unwrap_or_default(),
            body: message.body,
            time: commit.time().seconds(),
            of: message.of,
            moved: message.moved,
            beside: message.beside,
        })
    }
}

impl Snapshots {
    /// Goes back from the newest commit, by first parents, as long as `more` wants to see one; `None` is one of the user's.
    ///
    /// # Errors
    /// Where the history cannot be read.
    pub fn walk(
        &self,
        mut more: impl FnMut(&str, Option<Saved>) -> bool,
    ) -> Result<(), SnapshotError> {
        let mut history = self.history()?;
        while let Some((commit, _)) = history.peek() {
            let saved = history.advance()?.flatten();
            if !more(&commit, saved) {
                break;
            }
        }
        Ok(())
    }

    /// The commits from the newest back.
    ///
    /// # Errors
    /// Where the newest cannot be read.
    pub fn history(&self) -> Result<History<'_>, SnapshotError> {
        Ok(History::from(self.tip()?))
    }

    /// The first line of a commit's message.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn subject(&self, commit: &str) -> Result<String, SnapshotError> {
        let commit = self.commit_at(commit)?;
        let text = String::from_utf8_lossy(commit.message_bytes());
        let first = text.trim_start().lines().next().unwrap_or_default();
        Ok(first.trim_end().to_owned())
    }

    /// How far a commit reaches from the root: whether it changed something in it, and something outside.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn reach(&self, saved: &Saved) -> Result<(bool, bool), SnapshotError> {
        if self.root.as_os_str().is_empty() {
            return Ok((true, false));
        }
        let before = self.tree_of(saved.parent.as_deref())?;
        let after = self.tree_of(Some(&saved.commit))?;
        let diff = self
            .repo
            .diff_tree_to_tree(before.as_ref(), after.as_ref(), None)?;
        let (mut inside, mut outside) = (false, false);
        for delta in diff.deltas() {
            let path = delta.new_file().path().or(delta.old_file().path());
            match path.is_some_and(|path| path.starts_with(&self.root)) {
                true => inside = true,
                false => outside = true,
            }
        }
        Ok((inside, outside))
    }

    /// A commit by all its hex digits.
    pub(super) fn commit_at(&self, hex: &str) -> Result<Commit<'_>, SnapshotError> {
        Ok(self.repo.find_commit(Oid::from_str(hex)?)?)
    }
}
