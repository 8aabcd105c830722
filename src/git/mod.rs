//! The state of the root, saved as commits. Owns everything that is git; never changes a file of the
//! work tree, or pushes. Runs no program, unless the user wants signatures or hooks.
//!
//! A save has two halves. `Store::prepare` looks and writes objects, which nobody sees;
//! `Store::conclude` makes them count: first the index, then the branch. That order is for the
//! crash between the two: the changes are then staged and not committed, which is what `git status`
//! says, and the next save commits them. The other way round the index would hold the reverse of
//! the change, staged, and the user's next `git commit` would take it back.
//!
//! Writing the index costs its size, so after a file task it waits: [`Snapshots::settle`] writes what
//! all tasks changed in it, before a command runs that may ask git, and at the end. Where clada ends
//! in between, the next save puts that right.
//!
//! | file | what |
//! | --- | --- |
//! | `store.rs` | one repository, found and opened |
//! | `rules.rs` | the rules of what is saved |
//! | `save.rs` | a save, step by step |
//! | `entries.rs` | the file of git's index, read without libgit2 |
//! | `index.rs` | what is in git's index in memory and not in its file yet |
//! | `locks.rs` | how long git's locks are waited for |
//! | `outcome.rs` | the result of a save, in words |
//! | `walk.rs` | which files may differ from the index, by one look at each |
//! | `look.rs` | which untracked ones are not ignored |
//! | `recorded.rs` | what the index has, and where the commit has it otherwise |
//! | `begun.rs` | who began what is in progress |
//! | `at.rs` | what is in the work tree at a path |
//! | `stage.rs` | what one path is now, put into the index |
//! | `unsteady.rs` | a file that another program writes to meanwhile |
//! | `untracked.rs` | which of what git does not track goes on the branch after all |
//! | `tools.rs` | which folders tools make and can make again |
//! | `tree.rs` | a tree with some paths changed |
//! | `message.rs` | what a commit says |
//! | `target.rs` | where commits go: the branch, or beside it |
//! | `private.rs` | the repository of a folder that has none |
//! | `aside.rs` | what the user's repository leaves out, saved in a private one |
//! | `history.rs` | the commits that clada made, read back |
//! | `survey.rs` | what a save would meet |
//! | `versions.rs` | what a file was in earlier commits |
//! | `restore.rs` | what commits hold, as it is to be in the work tree |
//! | `seen.rs` | whether a place is still as a save saw it |
//! | `three_way.rs` | three contents of one path merged |
//! | `looking.rs` | what is kept while older states are looked at |
//! | `squash.rs` | several of them made one |
//! | `program.rs` | git itself, for signatures and hooks |
//! | `exclude.rs` | the list of files that git is not to show |
//! | `place.rs` | whether a save would write elsewhere |
//! | `recent.rs` | which files changed lately |
//! | `relief.rs` | pipes on which git would wait |
//! | `error.rs` | why a save was not possible, in words |

mod aside;
mod at;
mod begun;
mod entries;
mod error;
mod exclude;
mod history;
mod index;
mod locks;
mod look;
mod looking;
mod message;
mod notes;
mod outcome;
mod place;
mod private;
mod program;
mod recent;
mod recorded;
mod relief;
mod restore;
mod rules;
mod save;
mod seen;
mod squash;
mod stage;
mod store;
pub mod subject;
mod survey;
mod target;
#[cfg(test)]
mod tests;
mod three_way;
mod tools;
mod tree;
pub mod undo;
mod unsteady;
mod untracked;
mod versions;
mod walk;

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use git2::Oid;
use tokio::sync::watch;

pub use crate::settings::{CommitTarget, UntrackedRule};
use crate::world::hurry::Hurry;

use aside::GuardedPaths;
pub use aside::Lost;
use error::GitResult;
pub use error::{Beginner, Operation, SnapshotError, TRY_AGAIN, Without};
pub use exclude::{ExcludeError, SeenByGit, seen_by_git};
pub use history::Saved;
pub use looking::{Looking, Stop};
pub use message::{CommitStep, Message};
pub use outcome::{SaveOutcome, SkipReason, Skipped, UsersWork};
use private::Opened;
pub use recent::recent;
pub use relief::Working;
pub use restore::{ChangeKind, ContentId, PathChange};
use rules::SaveRules;
pub use rules::{NotesFiles, Options};
use save::SaveScope;
pub use squash::{Moved, Pushed, SquashGroup, SquashRange, SquashRequest, Squashed};
pub use store::Store;
use store::{Discovered, canonical, discover, places_of};
pub use survey::{Survey, not_ignored, survey};
pub use three_way::merge;
pub use tools::has_tool_name;
use untracked::UntrackedState;
pub use untracked::{LeftOff, OffReason};
pub use versions::Successor;

/// The snapshots of a root: in the repository that it lies in, and beside that what git leaves out. Open them for a batch.
pub struct Snapshots {
    /// The repository that the root lies in, or the private one of a root in none.
    pub store: Store,
    /// The private repository for what this one leaves out, once it was asked for.
    aside: OnceCell<Option<Store>>,
    guarded: GuardedPaths,
    /// The paths that saves left as the index has them.
    passed_over: BTreeSet<PathBuf>,
    untracked: UntrackedState,
    /// The commit at which the last save left the branch.
    last: Option<Oid>,
}

impl Snapshots {
    /// Opens the repository that `root` lies in, or the private one of a root that lies in no work tree (nor is a bare
    /// repository, or the inside of `.git`, a work tree). `None` where the user wants no private ones.
    ///
    /// `never`: absolute paths of files that are not committed. They need not exist. Once `stop` is true, a lock of
    /// git's that somebody holds is hardly waited for.
    ///
    /// # Errors
    /// Where there is a repository that cannot be used; [`SnapshotError::Without`] where the folder is in none and can have
    /// no private one.
    pub fn open(
        root: &Path,
        never: &[PathBuf],
        options: &Options,
        stop: &watch::Receiver<bool>,
    ) -> GitResult<Option<Self>> {
        let root = canonical(root)?;
        let (opened, top, is_private) = match discover(&root)? {
            Discovered::WorkTree(repo, top) => (Opened { repo, notice: None }, top, false),
            Discovered::NoWorkTree(bare) => match private::open(&root, bare.as_deref(), options)? {
                Some(opened) => (opened, root.clone(), true),
                None => return Ok(None),
            },
        };
        let mut rules = SaveRules::of(options, is_private);
        rules.never = never
            .iter()
            .flat_map(|path| places_of(path, &top))
            .collect();
        let mut store = Store::new(opened, top, &root, rules, Hurry::new(stop.clone()));
        store.refuse_anothers()?;
        let working = store.relief.working();
        store.take_own_index()?;
        store.leave_notes();
        drop(working);
        Ok(Some(Self::of(store)))
    }

    fn of(store: Store) -> Self {
        Self {
            store,
            aside: OnceCell::new(),
            guarded: GuardedPaths::default(),
            passed_over: BTreeSet::new(),
            untracked: UntrackedState::default(),
            last: None,
        }
    }

    /// The notices since this was asked last.
    pub fn take_notices(&mut self) -> Vec<String> {
        let aside = self.aside.get().and_then(Option::as_ref);
        let mut all = aside.map(Store::take_notices).unwrap_or_default();
        let mut own = self.store.take_notices();
        // Both may have met the same pipe.
        own.retain(|said| !all.contains(said));
        all.append(&mut own);
        all
    }

    /// Commits what the user has changed under the root: what is staged, if there is more than that, then all that differs in
    /// tracked files. What is untracked goes to the private snapshots. From now on it is known which files were there.
    ///
    /// # Errors
    /// Where that cannot be done. A private repository is never in the way: [`SnapshotError::Without`].
    pub fn before(&mut self, message: &Message) -> GitResult<SaveOutcome> {
        if self.store.is_private() {
            return self.save_private(message);
        }
        let outcome = self.save(SaveScope::Before, message)?;
        self.untracked.begin();
        self.keep_untracked(true, message);
        Ok(outcome)
    }

    /// Commits what a file task made of these paths (relative to the root), and looks at nothing else: a file, or a
    /// folder with all that is in it, or something that is gone.
    pub fn after_paths(&mut self, paths: &[PathBuf], message: &Message) -> GitResult<SaveOutcome> {
        let mut outcome = self.after_file_task(SaveScope::Paths(paths), paths, message)?;
        self.name_from_root(&mut outcome);
        Ok(outcome)
    }

    /// Commits what was put back at these paths (relative to the root), each tracked or not as it was before.
    pub fn after_restoring(
        &mut self,
        paths: &[(PathBuf, bool)],
        message: &Message,
    ) -> GitResult<SaveOutcome> {
        let plain: Vec<PathBuf> = paths.iter().map(|(path, _)| path.clone()).collect();
        self.after_file_task(SaveScope::Restored(paths), &plain, message)
    }

    fn after_file_task(
        &mut self,
        scope: SaveScope<'_>,
        paths: &[PathBuf],
        message: &Message,
    ) -> GitResult<SaveOutcome> {
        if self.store.is_private() {
            let left_out = self.left_out_now(paths);
            return self.save(SaveScope::Paths(&[paths, &left_out].concat()), message);
        }
        let mut outcome = self.save(scope, message)?;
        let left_out = self.left_out_now(paths);
        self.save_aside(&mut outcome.skipped, &left_out, message);
        Ok(outcome)
    }

    /// Commits whatever a command changed. A command can change anything, so this looks at everything.
    pub fn after_all(&mut self, message: &Message) -> GitResult<SaveOutcome> {
        let saved = self.after_command(message);
        saved.map_err(|why| self.store.begun_by_command(why))
    }

    fn after_command(&mut self, message: &Message) -> GitResult<SaveOutcome> {
        if self.store.is_private() {
            let mut outcome = self.save_private(message)?;
            let left_out = self.left_out_now(&[]);
            if !left_out.is_empty() {
                let own = self.save(SaveScope::Paths(&left_out), message)?;
                outcome.commit = own.commit;
                outcome.changed |= own.changed;
            }
            return Ok(outcome);
        }
        let mut outcome = self.save(SaveScope::After(self.last), message)?;
        self.spare_only_copies(&outcome.left_off);
        let left_out = self.left_out_now(&[]);
        self.save_aside(&mut outcome.skipped, &left_out, message);
        // What a hook before a batch makes is there before it.
        self.keep_untracked(message.step == CommitStep::Before, message);
        self.untracked.before.add(&outcome.left_off);
        self.name_from_root(&mut outcome);
        Ok(outcome)
    }

    /// Makes the paths of what was left off relative to the root.
    fn name_from_root(&self, outcome: &mut SaveOutcome) {
        for left in &mut outcome.left_off {
            left.strip(&self.store.root);
        }
    }

    /// Writes to the index's file what was committed after file tasks, as `git status` reads that file.
    ///
    /// # Errors
    /// Where it cannot be written: the next save tries again.
    pub fn settle(&mut self) -> GitResult<()> {
        let _working = self.store.relief.working();
        if let Some(Some(aside)) = self.aside.get() {
            aside.settle()?;
        }
        self.store.settle()
    }

    fn save(&mut self, scope: SaveScope<'_>, message: &Message) -> GitResult<SaveOutcome> {
        self.refuse_looking()?;
        let outcome = self.store.save(scope, message, &mut self.untracked)?;
        self.note(&outcome);
        Ok(outcome)
    }

    fn note(&mut self, outcome: &SaveOutcome) {
        let skipped = outcome.skipped.iter().map(|skipped| skipped.path.clone());
        self.passed_over.extend(skipped);
        let commit = outcome.commit.as_deref();
        self.last = commit.and_then(|hex| Oid::from_str(hex).ok());
    }

    /// Saves everything in a private repository, without being in the way: where that cannot be done, it is
    /// [`SnapshotError::Without`].
    fn save_private(&mut self, message: &Message) -> GitResult<SaveOutcome> {
        let untracked = &mut self.untracked;
        let saved = self
            .store
            .healed(|store| store.save_counted(message, untracked));
        let outcome = saved.map_err(|why| why.of_private(self.store.repo.path()))?;
        self.note(&outcome);
        Ok(outcome)
    }
}

/// A commit's first seven digits, as git shows them.
pub fn short(hex: &str) -> &str {
    hex.get(..7).unwrap_or(hex)
}
