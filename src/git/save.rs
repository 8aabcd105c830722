//! A save: what differs is written as objects, which nobody sees, and then made to count. Owns the order of these steps.

use std::path::PathBuf;

use git2::{Commit, Index, Oid, Signature, Tree};

use super::error::GitResult;
use super::outcome::{SaveOutcome, UsersWork};
use super::stage::{Gathered, Staging, Takes};
use super::untracked::UntrackedState;
use super::walk::IndexWalk;
use super::{Message, Operation, SnapshotError, Store, UntrackedRule};

/// The part of the work tree that a save looks at, and what of that it takes.
#[derive(Clone, Copy)]
pub(super) enum SaveScope<'p> {
    /// Everything, and none of it is of a batch.
    Before,
    /// Everything that a command may have changed. With it the commit at which the last save left the branch.
    After(Option<Oid>),
    /// The paths that a file task changed, relative to the root.
    Paths(&'p [PathBuf]),
    /// The paths that were put back, relative to the root, each with true if it is to be tracked.
    Restored(&'p [(PathBuf, bool)]),
}

impl SaveScope<'_> {
    fn is_everything(self) -> bool {
        matches!(self, Self::Before | Self::After(_))
    }
}

/// A save whose objects are written and that nothing points to yet.
pub(super) struct PreparedSave<'p> {
    scope: SaveScope<'p>,
    head: Option<Oid>,
    /// The tree of what the user has staged, where more than that is saved.
    first: Option<Oid>,
    /// None: HEAD's tree is already the right one.
    pub(super) tree: Option<Oid>,
    pub(super) gathered: Gathered,
}

impl Store {
    /// Commits what differs in a part of the work tree.
    ///
    /// Once more from the start where the user committed or switched branches meanwhile; not again and
    /// again, since whoever moves HEAD twice in these milliseconds is a script that should be left alone.
    pub(super) fn save(
        &self,
        scope: SaveScope<'_>,
        message: &Message,
        untracked: &mut UntrackedState,
    ) -> GitResult<SaveOutcome> {
        match self.attempt(scope, message, untracked) {
            Err(SnapshotError::HeadMoved) => self.attempt(scope, message, untracked),
            // What clada's own index knows may be damaged, or gone from git since.
            Err(SnapshotError::Git(_)) if self.rules.is_beside_branch() => {
                self.make_own_index()?;
                self.attempt(scope, message, untracked)
            }
            done => done,
        }
    }

    fn attempt(
        &self,
        scope: SaveScope<'_>,
        message: &Message,
        untracked: &mut UntrackedState,
    ) -> GitResult<SaveOutcome> {
        let _working = self.relief.working();
        self.refuse_diverted()?;
        let mut prepared = self.prepare(scope, None, untracked)?;
        let tree = prepared.tree.or(prepared.first);
        if let Some(tree) = tree.filter(|_| self.rules.options.hooks) {
            self.pre_commit(tree, &prepared.gathered.staged)?;
            // It may have formatted what is to be committed. That is looked at once more, and the hook not asked again.
            prepared = self.prepare(scope, None, untracked)?;
        }
        self.conclude(prepared, message)
    }

    /// Writes the objects of a save. With `since` it is on top of what was seen before, which has the other paths as they are
    /// to be.
    pub(super) fn prepare<'p>(
        &self,
        scope: SaveScope<'p>,
        since: Option<&Tree<'_>>,
        untracked: &mut UntrackedState,
    ) -> GitResult<PreparedSave<'p>> {
        let _working = self.relief.working();
        self.wait_until_unlocked()?;
        self.mend_index()?;
        let config = self.repo.config()?.snapshot()?;
        let walk = IndexWalk::by(&config, &self.top, self.index_file());
        let (mut index, ahead) = if scope.is_everything() {
            self.index_and_ahead(&walk)?
        } else {
            (self.index_now()?, None)
        };
        self.refuse_in_the_middle(&index)?;
        let head = self.tip()?;
        let base = head.as_ref().map(Commit::tree).transpose()?;

        self.index.given_up.set(true);
        let old = since.or(base.as_ref()).map(Tree::id);
        let takes = match (scope, self.rules.options.untracked) {
            (SaveScope::Before | SaveScope::After(_), UntrackedRule::Commit) => Takes::All,
            (SaveScope::After(_), UntrackedRule::Leave) => Takes::Made,
            _ => Takes::None,
        };
        let base = base.as_ref();
        let mut staging = Staging::new(self, untracked, &mut index, base, config, walk);
        let paths = match scope {
            SaveScope::Before => staging.everything(ahead, takes, !self.is_private())?,
            SaveScope::After(_) => staging.everything(ahead, takes, false)?,
            SaveScope::Paths(paths) => staging.paths(paths)?,
            SaveScope::Restored(paths) => staging.restored(paths)?,
        };
        let mut gathered = staging.end();
        if scope.is_everything() {
            untracked.looked = std::mem::take(&mut gathered.looked);
        }
        self.index.given_up.set(!gathered.staged.is_empty());
        let mut tree = self.tree_with(&index, since.or(base), &paths)?;
        if tree.is_none() && gathered.first.is_some() {
            tree = Some(self.empty_tree()?);
        }
        let first = gathered
            .first
            .filter(|first| Some(*first) != tree && Some(*first) != old);
        Ok(PreparedSave {
            scope,
            head: head.map(|commit| commit.id()),
            first,
            tree: tree.filter(|tree| Some(*tree) != first.or(old)),
            gathered,
        })
    }

    pub(super) fn conclude(
        &self,
        prepared: PreparedSave<'_>,
        message: &Message,
    ) -> GitResult<SaveOutcome> {
        let head = self.tip()?;
        if head.as_ref().map(Commit::id) != prepared.head {
            return Err(SnapshotError::HeadMoved);
        }
        let Gathered {
            staged,
            skipped,
            left_off,
            ..
        } = prepared.gathered;
        // A hook asks git what has changed, as a command does.
        if prepared.scope.is_everything() || self.rules.options.hooks {
            self.write_index(&staged)?;
        } else {
            self.refuse_in_the_middle(&self.repo.index()?)?;
            self.put_off(staged)?;
        }
        let mut message = message.clone();
        message.moved = self.moved(prepared.scope, head.as_ref())?;
        let is_work = matches!(prepared.scope, SaveScope::Before) && !self.is_private();
        let mut work = Vec::new();
        let mut tip = prepared.head;
        for (tree, staged) in [(prepared.first, true), (prepared.tree, false)] {
            let Some(tree) = tree else { continue };
            let message = if staged {
                &message.of_staged()
            } else {
                &message
            };
            let before = tip;
            tip = Some(self.commit(before, tree, message)?);
            if is_work {
                work.push(self.users_work(before, tip, staged)?);
            }
        }
        let changed = tip != prepared.head;
        Ok(SaveOutcome {
            commit: tip.map(|id| id.to_string()),
            changed,
            work,
            skipped,
            left_off,
            hook: changed.then(|| self.post_commit()).flatten(),
        })
    }

    fn users_work(&self, from: Option<Oid>, to: Option<Oid>, staged: bool) -> GitResult<UsersWork> {
        let [from, to] = [from, to].map(|id| id.map(|id| id.to_string()));
        Ok(UsersWork {
            files: self.changes(from.as_deref(), to.as_deref())?.len(),
            commit: to.unwrap_or_default(),
            staged,
        })
    }

    /// The commit of the last save, where a command has moved the branch to where that is not.
    fn moved(&self, scope: SaveScope<'_>, head: Option<&Commit<'_>>) -> GitResult<Option<String>> {
        let SaveScope::After(Some(last)) = scope else {
            return Ok(None);
        };
        let is_on_it = match head.map(Commit::id) {
            Some(id) => id == last || self.repo.graph_descendant_of(id, last)?,
            None => false,
        };
        Ok((!is_on_it).then(|| last.to_string()))
    }

    pub(super) fn commit(&self, head: Option<Oid>, tree: Oid, message: &Message) -> GitResult<Oid> {
        let who = self.author()?;
        let parents = self.parents(head)?;
        let text = self.commit_msg(tree, message)?;
        let made = self.make([&who, &who], &self.repo.find_tree(tree)?, &text, &parents)?;
        let first = text.lines().next().unwrap_or_default();
        let kind = if parents.is_empty() {
            "commit (initial)"
        } else {
            "commit"
        };
        self.advance(head, made, &format!("{kind}: {first}"))?;
        Ok(made)
    }

    /// The user as git knows him, else clada.
    pub(super) fn author(&self) -> Result<Signature<'static>, git2::Error> {
        self.repo
            .signature()
            .or_else(|_| Signature::now("clada", "clada@localhost"))
    }

    /// # Errors
    /// Where git has begun something and not ended it, and while an older state is looked at here.
    pub(super) fn refuse_in_the_middle(&self, index: &Index) -> GitResult<()> {
        if let Some(operation) = Operation::of(self.repo.state()) {
            return Err(SnapshotError::Busy(operation, self.beginner()));
        }
        if index.has_conflicts() {
            return Err(SnapshotError::conflicts(index));
        }
        self.refuse_looking()
    }
}
