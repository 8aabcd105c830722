//! The state of the root, saved as commits. Owns everything that is git; never changes a file of the
//! work tree, or pushes. Runs no program, unless the user wants signatures or hooks.
//!
//! A save has two halves. [`Snapshots::prepare`] looks and writes objects, which nobody sees;
//! [`Snapshots::conclude`] makes them count: first the index, then the branch. That order is for the
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
//! | `walk.rs` | which files may differ from the index, by one look at each |
//! | `look.rs` | which untracked ones are not ignored |
//! | `recorded.rs` | what the index has, and where the commit has it otherwise |
//! | `begun.rs` | who began what is in progress |
//! | `at.rs` | what is in the work tree at a path |
//! | `stage.rs` | what one path is now, put into the index |
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
//! | `merge.rs` | three contents of one path merged |
//! | `looking.rs` | what is kept while older states are looked at |
//! | `squash.rs` | several of them made one |
//! | `program.rs` | git itself, for signatures and hooks |
//! | `exclude.rs` | the list of files that git is not to show |
//! | `place.rs` | whether a save would write elsewhere |
//! | `relief.rs` | pipes on which git would wait |
//! | `error.rs` | why a save was not possible, in words |

mod aside;
mod at;
mod begun;
mod error;
mod exclude;
mod history;
mod look;
mod looking;
mod merge;
mod message;
mod notes;
mod place;
mod private;
mod program;
mod recorded;
mod relief;
mod restore;
mod seen;
mod squash;
mod stage;
pub mod subject;
mod survey;
mod target;
#[cfg(test)]
mod tests;
mod tools;
mod tree;
pub mod undo;
mod untracked;
mod versions;
mod walk;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use git2::{Commit, ErrorCode, Index, Oid, Repository, RepositoryOpenFlags, Signature, Tree};
use tokio::sync::watch;

use crate::policy::secrets::Secrets;
use crate::text::size;
use crate::world::hurry::Hurry;

use aside::Guarded;
pub use aside::Lost;
pub use error::{Beginner, Operation, SnapshotError, TRY_AGAIN, Without};
pub use exclude::{ExcludeError, SeenByGit, seen_by_git};
pub use history::{History, Saved};
pub use looking::{Looking, Stop};
pub use merge::merge;
pub use message::{Message, Step};
use private::Opened;
use program::New;
use relief::Relief;
pub use relief::Working;
pub use restore::{Change, ChangeKind, Held};
pub use squash::{Ask, Group, Moved, Pushed, Squashed, Which};
use stage::{Gathered, Staged, Staging, Takes};
pub use survey::{Survey, not_ignored, survey};
pub use target::Target;
pub use tools::has_tool_name;
use tree::Edit;
pub use untracked::{LeftOff, OffReason, Untracked};
use untracked::{Looked, Users};
pub use versions::Successor;

/// How long another program may hold one of git's locks before a save is given up.
const LOCK_WAIT: Duration = Duration::from_secs(5);
const LOCK_PAUSE: Duration = Duration::from_millis(25);
/// The most of clada's last commits that the index may not have yet.
const LATE: usize = 100;

/// The repository that the root lies in, kept open: opening it anew for each task would cost reading the index
/// each time. Open one for a batch, not for ever: libgit2 remembers some settings (`core.autocrlf`) while it is open.
pub struct Snapshots {
    repo: Repository,
    /// The repository's work tree, canonical. All other paths in this module are relative to it, as git's are.
    top: PathBuf,
    /// The root; empty where it is the top.
    root: PathBuf,
    /// Files that no commit of ours changes, tracked or not.
    never: BTreeSet<PathBuf>,
    lock_wait: Duration,
    hurry: Hurry,
    /// The index in memory holds changes that were given up, so it must be read again though the file is the same.
    given_up: Cell<bool>,
    target: Target,
    /// The repository is clada's, for a folder that has none.
    private: bool,
    options: Options,
    /// What is committed and not in the index's file yet.
    unsettled: RefCell<Vec<Staged>>,
    /// What there is to say and was not asked for yet.
    notices: RefCell<Vec<String>>,
    /// The private repository for what this one leaves out, once it was asked for.
    aside: OnceCell<Option<Box<Self>>>,
    guarded: RefCell<Guarded>,
    /// What saves left as the index has it.
    passed_over: RefCell<BTreeSet<PathBuf>>,
    /// As of the last look at everything.
    looked: RefCell<Looked>,
    users: RefCell<Users>,
    /// The commit at which the last save left the branch.
    last: Cell<Option<Oid>>,
    relief: Relief,
}

/// How states are saved.
#[derive(Debug, Clone)]
pub struct Options {
    pub target: Target,
    pub untracked: Untracked,
    /// The largest file that a command makes and that goes on the branch, in bytes.
    pub new_file: u64,
    /// The names of secrets.
    pub secrets: Secrets,
    /// The notes files of all cladas of this user: no commit takes them in, unless git tracks them already.
    pub notes: Notes,
    /// Where the repositories of folders are that have none.
    pub private: PathBuf,
    /// The user's home: too much for a private repository, as `/` is.
    pub home: PathBuf,
    /// The most files that a folder may have to get a private repository; with 0 none gets one.
    pub private_limit: usize,
    /// The largest file that a private repository takes, in bytes.
    pub private_file: u64,
    /// Commits are signed as the user's git does it.
    pub sign: bool,
    /// The user's git hooks run.
    pub hooks: bool,
    /// The whole environment of git itself, which signs and runs hooks.
    pub env: Vec<(OsString, OsString)>,
}

/// Finds the notes files, by their absolute paths, when a repository is opened: settings are read far more often.
#[derive(Clone)]
pub struct Notes(pub Arc<dyn Fn() -> Vec<PathBuf> + Send + Sync>);

impl Default for Notes {
    fn default() -> Self {
        Self(Arc::new(Vec::new))
    }
}

impl fmt::Debug for Notes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notes")
    }
}

/// Where a save left the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// HEAD now, all hex digits; none before the first commit, where there was nothing to commit.
    pub commit: Option<String>,
    /// Whether this call made that commit.
    pub changed: bool,
    /// The user's own work that it committed before the batch.
    pub work: Vec<UsersWork>,
    /// What differs and was deliberately left as the index has it.
    pub skipped: Vec<Skipped>,
    /// What commands made, or file tasks named, and is not on the branch.
    pub left_off: Vec<LeftOff>,
    /// Why the `post-commit` hook failed; the commit is made.
    pub hook: Option<String>,
}

/// A commit of the user's own work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsersWork {
    /// All hex digits.
    pub commit: String,
    /// How many files it changes below the root.
    pub files: usize,
    /// It is what was staged, and the rest is in another one.
    pub staged: bool,
}

/// A path that was looked at and not saved, relative to the repository's top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    pub path: PathBuf,
    pub why: SkipReason,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// `filter=NAME`: git would run a program on the content. libgit2 does not, and the raw content must not
    /// be committed in its place (a large file where LFS has a pointer, a secret where git-crypt has a cipher).
    Filter(String),
    /// `working-tree-encoding=NAME`: git would recode the file, libgit2 does not.
    Encoding(String),
    /// In another repository. `git add` would make it a gitlink without a `.gitmodules`, which breaks clones.
    NestedRepository,
    /// `git update-index --assume-unchanged` or `--skip-worktree`: the user keeps this change to himself.
    KeptByUser,
    /// Larger than a private repository takes, in bytes.
    TooLarge(u64),
    /// Larger than any repository takes, in bytes.
    Huge(u64),
    /// A private repository is not in the way of a batch for it; that of the user refuses.
    Unreadable(String),
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` was not saved: {}", self.path.display(), self.why)
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Filter(name) => write!(f, "its git filter `{name}` would have to run"),
            Self::Encoding(name) => write!(f, "git would convert it from `{name}`"),
            Self::NestedRepository => f.write_str("it belongs to a git repository of its own"),
            Self::KeptByUser => f.write_str("it is marked assume-unchanged or skip-worktree"),
            Self::TooLarge(limit) => write!(
                f,
                "it is larger than {} (`git.private_file` in the settings, or a .gitignore that names it)",
                size::show(*limit)
            ),
            Self::Huge(limit) => write!(f, "it is larger than {}", size::show(*limit)),
            Self::Unreadable(why) => write!(f, "it could not be read ({why})"),
        }
    }
}

/// What git knows of a root.
enum Found {
    /// A repository, and the top of the work tree that the root lies in.
    WorkTree(Repository, PathBuf),
    /// It lies in none; perhaps in a repository that has none there, or it holds that.
    NoWorkTree(Option<PathBuf>),
}

/// The part of the work tree that a save looks at, and what of that it takes.
#[derive(Clone, Copy)]
enum Look<'p> {
    /// Everything, and none of it is of a batch.
    Before,
    /// Everything that a command may have changed.
    After,
    /// What a file task changed, relative to the root.
    Paths(&'p [PathBuf]),
    /// What was put back, relative to the root, with whether it is to be tracked.
    Restored(&'p [(PathBuf, bool)]),
}

impl Look<'_> {
    /// Tells that the index's file can wait.
    fn waits(self) -> bool {
        !matches!(self, Self::Before | Self::After)
    }
}

/// A save whose objects are written and that nothing points to yet.
struct Prepared {
    head: Option<Oid>,
    /// What the user has staged, where more than that is saved.
    first: Option<Oid>,
    /// None: HEAD's tree is already the right one.
    tree: Option<Oid>,
    staged: Vec<Staged>,
    /// The index's file waits for what is staged.
    waits: bool,
    skipped: Vec<Skipped>,
    left_off: Vec<LeftOff>,
    /// It is the user's own work.
    is_work: bool,
    /// A command ran before it.
    is_after: bool,
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
    ) -> Result<Option<Self>, SnapshotError> {
        let root = canonical(root)?;
        let opened = match Self::found(&root)? {
            Found::WorkTree(repo, top) => Some((Opened { repo, notice: None }, top, false)),
            Found::NoWorkTree(bare) => {
                private::open(&root, bare.as_deref(), options)?.map(|it| (it, root.clone(), true))
            }
        };
        let Some((opened, top, private)) = opened else {
            return Ok(None);
        };
        let mut snapshots = Self::of(opened, top, &root, (options, Hurry::new(stop.clone())));
        snapshots.never = never
            .iter()
            .flat_map(|path| places_of(path, &snapshots.top))
            .collect();
        if private {
            snapshots.private = true;
        } else {
            snapshots.target = options.target;
        }
        snapshots.refuse_anothers()?;
        let _working = snapshots.relief.working();
        snapshots.take_own_index()?;
        snapshots.leave_notes();
        Ok(Some(snapshots))
    }

    fn leave_notes(&mut self) {
        // What is wrong with git's own files, a save says; until then nothing is read through a pipe.
        let notes = (self.options.notes.0)();
        if notes.is_empty() || self.refuse_diverted().is_err() {
            return;
        }
        let Ok(index) = self.index_now() else {
            return;
        };
        let places = notes::places(notes, &self.top);
        let untracked = places
            .into_iter()
            .filter(|path| index.get_path(path, 0).is_none());
        let untracked: Vec<PathBuf> = untracked.collect();
        self.never.extend(untracked);
    }

    fn of(opened: Opened, top: PathBuf, root: &Path, (options, hurry): (&Options, Hurry)) -> Self {
        Self {
            never: BTreeSet::new(),
            root: root.strip_prefix(&top).unwrap_or(&top).to_path_buf(),
            repo: opened.repo,
            lock_wait: LOCK_WAIT,
            hurry,
            given_up: Cell::new(false),
            target: Target::Branch,
            private: false,
            options: options.clone(),
            unsettled: RefCell::default(),
            notices: RefCell::new(opened.notice.into_iter().collect()),
            aside: OnceCell::new(),
            guarded: RefCell::default(),
            passed_over: RefCell::default(),
            looked: RefCell::default(),
            users: RefCell::default(),
            last: Cell::new(None),
            relief: Relief::of(&top),
            top,
        }
    }

    /// The user's repository around a root.
    fn found(root: &Path) -> Result<Found, SnapshotError> {
        place::refuse_odd(root)?;
        let above = RepositoryOpenFlags::empty();
        let repo = match Repository::open_ext(root, above, [] as [&OsStr; 0]) {
            Ok(repo) => repo,
            Err(why) if why.code() == ErrorCode::NotFound => return Ok(Found::NoWorkTree(None)),
            Err(why) if why.code() == ErrorCode::Owner => {
                return Err(SnapshotError::NotOwned(root.to_path_buf()));
            }
            Err(why) => return Err(why.into()),
        };
        let inside = canonical(repo.path())?;
        match repo.workdir().map(canonical).transpose()? {
            Some(top) if root.starts_with(&top) && !root.starts_with(&inside) => {
                Ok(Found::WorkTree(repo, top))
            }
            _ => Ok(Found::NoWorkTree(Some(inside))),
        }
    }

    /// Whether the repository is a private one, as the folder has none.
    pub fn is_private(&self) -> bool {
        self.private
    }

    /// Has pipes hold up no git that the user's own program is, as long as the answer lives.
    pub fn relieved(&self) -> Working {
        self.relief.working()
    }

    /// What there is to say, once.
    pub fn take_notices(&mut self) -> Vec<String> {
        let aside = self.aside.get_mut().and_then(Option::as_mut);
        let of_aside = aside.map(|aside| aside.take_notices()).unwrap_or_default();
        let pipes = self.relief.take_found();
        let pipes = pipes.iter().map(|pipe| {
            let pipe = pipe.display();
            format!("⚠ git: skipped {pipe}, which is a pipe: its rules do not apply; remove it")
        });
        let mut all: Vec<String> = of_aside.into_iter().chain(self.notices.take()).collect();
        for said in pipes {
            if !all.contains(&said) {
                all.push(said);
            }
        }
        all
    }

    /// Commits what the user has changed under the root: what is staged, if there is more than that, then all that differs in
    /// tracked files. What is untracked goes to the private snapshots. From now on it is known which files were there.
    ///
    /// # Errors
    /// Where that cannot be done. A private repository is never in the way: [`SnapshotError::Without`].
    pub fn before(&mut self, message: &Message) -> Result<State, SnapshotError> {
        if self.private {
            return self.save_private(message);
        }
        let state = self.save(Look::Before, message)?;
        self.users.get_mut().begin(&self.looked.borrow());
        self.keep_untracked(true, message);
        Ok(state)
    }

    /// Commits what a file task made of these paths (relative to the root), and looks at nothing else: a file, or a
    /// folder with all that is in it, or something that is gone.
    pub fn after_paths(
        &mut self,
        paths: &[PathBuf],
        message: &Message,
    ) -> Result<State, SnapshotError> {
        if self.private {
            let left_out = self.left_out_now(paths);
            return self.save(Look::Paths(&[paths, &left_out].concat()), message);
        }
        let mut state = self.save(Look::Paths(paths), message)?;
        let left_out = self.left_out_now(paths);
        state.skipped = self.save_aside(state.skipped, &left_out, message);
        Ok(self.told_from_root(state))
    }

    /// Commits whatever a command changed. A command can change anything, so this looks at everything.
    pub fn after_all(&mut self, message: &Message) -> Result<State, SnapshotError> {
        let saved = self.after_command(message);
        saved.map_err(|why| self.begun_by_command(why))
    }

    fn after_command(&mut self, message: &Message) -> Result<State, SnapshotError> {
        if self.private {
            let mut state = self.save_private(message)?;
            let left_out = self.left_out_now(&[]);
            if !left_out.is_empty() {
                let own = self.save(Look::Paths(&left_out), message)?;
                state.commit = own.commit;
                state.changed |= own.changed;
            }
            return Ok(state);
        }
        let mut state = self.save(Look::After, message)?;
        self.spare_only_copies(&state.left_off);
        let left_out = self.left_out_now(&[]);
        state.skipped = self.save_aside(state.skipped, &left_out, message);
        // What a hook before a batch makes is there before it.
        self.keep_untracked(message.step == Step::Before, message);
        let told = state.left_off.iter().map(|left| left.path.clone());
        self.users.get_mut().paths.extend(told);
        Ok(self.told_from_root(state))
    }

    /// Has the paths of what was left off begin where the root is.
    fn told_from_root(&self, mut state: State) -> State {
        for left in &mut state.left_off {
            left.strip(&self.root);
        }
        state
    }

    /// Commits what was put back at these paths (relative to the root), each tracked or not as it was before.
    pub fn after_restoring(
        &mut self,
        paths: &[(PathBuf, bool)],
        message: &Message,
    ) -> Result<State, SnapshotError> {
        let plain: Vec<PathBuf> = paths.iter().map(|(path, _)| path.clone()).collect();
        if self.private {
            return self.after_paths(&plain, message);
        }
        let mut state = self.save(Look::Restored(paths), message)?;
        let left_out = self.left_out_now(&plain);
        state.skipped = self.save_aside(state.skipped, &left_out, message);
        Ok(state)
    }

    /// Has the index's file say what was committed after file tasks: `git status` goes by it.
    ///
    /// # Errors
    /// Where it cannot be written: the next save tries again.
    pub fn settle(&mut self) -> Result<(), SnapshotError> {
        let _working = self.relief.working();
        if let Some(Some(aside)) = self.aside.get_mut() {
            aside.settle()?;
        }
        let is_settled = self.unsettled.borrow().is_empty();
        if is_settled {
            Ok(())
        } else {
            self.write_index(&[])
        }
    }

    /// Once more from the start where the user committed or switched branches meanwhile; not again and
    /// again, since whoever moves HEAD twice in these milliseconds is a script that should be left alone.
    fn save(&self, look: Look<'_>, message: &Message) -> Result<State, SnapshotError> {
        match self.attempt(look, message) {
            Err(SnapshotError::HeadMoved) => self.attempt(look, message),
            // What clada's own index knows may be damaged, or gone from git since.
            Err(SnapshotError::Git(_)) if self.target == Target::Side => {
                self.make_own_index()?;
                self.attempt(look, message)
            }
            done => done,
        }
    }

    fn attempt(&self, look: Look<'_>, message: &Message) -> Result<State, SnapshotError> {
        let _working = self.relief.working();
        self.refuse_diverted()?;
        let mut prepared = self.prepare(look)?;
        if let Some(tree) = prepared.tree.or(prepared.first).filter(|_| self.hooks()) {
            self.pre_commit(tree, &prepared.staged)?;
            // It may have formatted what is to be committed. That is looked at once more, and the hook not asked again.
            prepared = self.prepare(look)?;
        }
        let skipped = prepared.skipped.iter();
        self.passed_over
            .borrow_mut()
            .extend(skipped.map(|skipped| skipped.path.clone()));
        self.conclude(prepared, message)
    }

    fn prepare(&self, look: Look<'_>) -> Result<Prepared, SnapshotError> {
        self.prepare_since(look, None)
    }

    /// The same on top of what was seen before, which has the other paths as they are to be.
    fn prepare_since(
        &self,
        look: Look<'_>,
        since: Option<&Tree<'_>>,
    ) -> Result<Prepared, SnapshotError> {
        let _working = self.relief.working();
        self.wait_until_unlocked()?;
        self.mend_index()?;
        // As of before it is read: if it is another one by then, more is looked at than need be.
        let written = walk::written(&self.index_path());
        let mut index = self.index_now()?;
        self.refuse_in_the_middle(&index)?;
        let head = self.tip()?;
        let base = head.as_ref().map(Commit::tree).transpose()?;

        self.given_up.set(true);
        let old = since.or(base.as_ref()).map(Tree::id);
        let takes = match (look, self.options.untracked) {
            (Look::Before | Look::After, Untracked::Commit) => Takes::All,
            (Look::After, Untracked::Leave) => Takes::Made,
            _ => Takes::None,
        };
        let mut staging = Staging::new(self, &mut index, (base.as_ref(), written))?;
        let paths = match look {
            Look::Before => staging.everything(takes, !self.private)?,
            Look::After => staging.everything(takes, false)?,
            Look::Paths(paths) => staging.paths(paths)?,
            Look::Restored(paths) => staging.restored(paths)?,
        };
        let Gathered {
            staged,
            skipped,
            left_off,
            looked,
            first,
        } = staging.end();
        if matches!(look, Look::Before | Look::After) {
            self.looked.replace(looked);
        }
        self.given_up.set(!staged.is_empty());
        let mut tree = self.tree_with(&index, since.or(base.as_ref()), &paths)?;
        if tree.is_none() && first.is_some() {
            tree = Some(self.repo.treebuilder(None)?.write()?);
        }
        let first = first.filter(|first| Some(*first) != tree && Some(*first) != old);
        Ok(Prepared {
            head: head.map(|commit| commit.id()),
            first,
            tree: tree.filter(|tree| Some(*tree) != first.or(old)),
            staged,
            // A hook asks git what has changed, as a command does.
            waits: look.waits() && !self.hooks(),
            skipped,
            left_off,
            is_work: matches!(look, Look::Before) && !self.private,
            is_after: matches!(look, Look::After),
        })
    }

    /// Makes git's index anew from the last commit where its file is gone: git takes that for one in which all is deleted.
    fn mend_index(&self) -> Result<(), SnapshotError> {
        let path = self.index_path();
        if self.private || self.target == Target::Side || path.exists() {
            return Ok(());
        }
        let Some(tip) = self.tip()? else {
            return Ok(());
        };
        self.patiently(&path, || {
            let mut index = self.repo.index()?;
            index.read_tree(&tip.tree()?)?;
            Ok(index.write()?)
        })
    }

    /// Makes a tree of what the user has staged, of the paths that the index has otherwise than the last commit; with it,
    /// those of them that nobody has staged.
    fn staged_tree(
        &self,
        index: &Index,
        differing: &BTreeSet<PathBuf>,
    ) -> Result<(Option<Oid>, BTreeSet<PathBuf>), SnapshotError> {
        let mut staged = differing.clone();
        if staged.is_empty() {
            return Ok((None, staged));
        }
        let head = self.tip()?;
        if self.unsettled_mark().symlink_metadata().is_ok() {
            self.forget_late(&mut staged, index, head.as_ref())?;
        }
        let late = differing.difference(&staged).cloned().collect();
        let base = head.map(|head| head.tree()).transpose()?;
        Ok((self.tree_with(index, base.as_ref(), &staged)?, late))
    }

    fn mark_unsettled(&self) -> Result<(), SnapshotError> {
        let mark = self.unsettled_mark();
        // Never through a link.
        match File::create_new(&mark) {
            Err(why) if why.kind() != ErrorKind::AlreadyExists => {
                Err(SnapshotError::OwnIndex(mark, why))
            }
            _ => Ok(()),
        }
    }

    /// A file that is there while the index's own waits to be written: it tells whether clada was killed then.
    fn unsettled_mark(&self) -> PathBuf {
        let mut name = self.index_path().into_os_string();
        name.push(".clada-unsettled");
        name.into()
    }

    /// Takes out what nobody has staged: where clada ended before the index was settled, that has what was there before its
    /// last commits.
    fn forget_late(
        &self,
        paths: &mut BTreeSet<PathBuf>,
        index: &Index,
        head: Option<&Commit<'_>>,
    ) -> Result<(), SnapshotError> {
        let mut commit = head.cloned();
        for _ in 0..LATE {
            let Some(ours) = commit.filter(|commit| Saved::of(commit).is_some()) else {
                break;
            };
            if paths.is_empty() {
                break;
            }
            commit = match ours.parent_count() {
                0 => None,
                _ => Some(ours.parent(0)?),
            };
            let before = commit.as_ref().map(Commit::tree).transpose()?;
            paths.retain(|path| {
                let was = before.as_ref().and_then(|tree| tree.get_path(path).ok());
                let was = was.map(|was| (was.id(), was.filemode().cast_unsigned()));
                was != index.get_path(path, 0).map(|is| (is.id, is.mode))
            });
        }
        Ok(())
    }

    /// The tree of a commit with these paths as the index has them.
    fn tree_with(
        &self,
        index: &Index,
        base: Option<&Tree<'_>>,
        paths: &BTreeSet<PathBuf>,
    ) -> Result<Option<Oid>, SnapshotError> {
        let entries: Vec<_> = paths
            .iter()
            .filter(|path| !self.is_left_out(path))
            .map(|path| (path, index.get_path(path, 0)))
            // What is only announced is nothing yet: git commits none of it either.
            .map(|(path, entry)| (path, entry.filter(|entry| !stage::is_announced(entry))))
            .collect();
        let edits: Vec<Edit<'_>> = entries
            .iter()
            .map(|(path, entry)| Edit {
                path: path.as_os_str().as_bytes(),
                now: entry.as_ref().map(|entry| (entry.id, entry.mode)),
            })
            .collect();
        Ok(match tree::rewrite(&self.repo, base, &edits)? {
            // Before the first commit an empty tree is nothing to commit; afterwards it says that all is deleted.
            None if base.is_some() => Some(self.repo.treebuilder(None)?.write()?),
            tree => tree,
        })
    }

    /// The index as it is, with what waits to be written.
    fn index_now(&self) -> Result<Index, SnapshotError> {
        let mut index = self.repo.index()?;
        // A missing index file is an empty index, which libgit2 believes only when forced.
        index.read(self.given_up.get() || !self.index_path().exists())?;
        // That may have been another one, which has none of this.
        let unsettled = self.unsettled.borrow();
        let ends = [unsettled.first(), unsettled.last()];
        if !ends.into_iter().flatten().all(|one| one.is_in(&index)) {
            for one in &*unsettled {
                one.put(&mut index)?;
            }
        }
        Ok(index)
    }

    fn conclude(&self, prepared: Prepared, message: &Message) -> Result<State, SnapshotError> {
        let head = self.tip()?;
        if head.as_ref().map(Commit::id) != prepared.head {
            return Err(SnapshotError::HeadMoved);
        }
        if prepared.waits {
            self.refuse_in_the_middle(&self.repo.index()?)?;
            let mut unsettled = self.unsettled.borrow_mut();
            if unsettled.is_empty() && !prepared.staged.is_empty() && !self.private {
                self.mark_unsettled()?;
            }
            unsettled.extend(prepared.staged);
            self.given_up.set(false);
        } else {
            self.write_index(&prepared.staged)?;
        }
        let message = &self.moved(prepared.is_after, head.as_ref(), message)?;
        let mut work = Vec::new();
        let mut tip = prepared.head;
        for (tree, staged) in [(prepared.first, true), (prepared.tree, false)] {
            let Some(tree) = tree else { continue };
            let parent = tip.map(|id| self.repo.find_commit(id)).transpose()?;
            let made = if staged {
                self.commit(parent.as_ref(), tree, &message.of_staged())?
            } else {
                self.commit(parent.as_ref(), tree, message)?
            };
            if prepared.is_work {
                let (from, to) = (tip.map(|id| id.to_string()), made.to_string());
                work.push(UsersWork {
                    files: self.changes(from.as_deref(), Some(&to))?.len(),
                    commit: to,
                    staged,
                });
            }
            tip = Some(made);
        }
        self.last.set(tip);
        let changed = tip != prepared.head;
        Ok(State {
            commit: tip.map(|id| id.to_string()),
            changed,
            work,
            skipped: prepared.skipped,
            left_off: prepared.left_off,
            hook: changed.then(|| self.post_commit()).flatten(),
        })
    }

    /// The message of a commit after a command, which may have moved the branch to where the last save is not.
    fn moved(
        &self,
        is_after: bool,
        head: Option<&Commit<'_>>,
        message: &Message,
    ) -> Result<Message, SnapshotError> {
        let mut message = message.clone();
        if let Some(last) = self.last.get().filter(|_| is_after && !self.private) {
            let is_on_it = match head.map(Commit::id) {
                Some(id) => id == last || self.repo.graph_descendant_of(id, last)?,
                None => false,
            };
            message.moved = (!is_on_it).then(|| last.to_string());
        }
        Ok(message)
    }

    /// Puts the staged entries into the index file, unless something began since it was read.
    ///
    /// The user may have run `git add` since the index was read: it is read again where its file is another
    /// one, and our entries are put into that. libgit2 takes the lock after that reading, not before as git
    /// does, so an `add` that ends within the same few milliseconds is still lost from the index (its content
    /// is not: it is on disk, and the next save sees it). Taking the lock ourselves would close that gap, but
    /// then libgit2 could not write the file.
    fn write_index(&self, staged: &[Staged]) -> Result<(), SnapshotError> {
        let unsettled = self.unsettled.borrow();
        let mut index = self.repo.index()?;
        let path = self.index_path();
        self.patiently(&path, || {
            index.read(false)?;
            for one in unsettled.iter().chain(staged) {
                one.put(&mut index)?;
            }
            self.refuse_in_the_middle(&index)?;
            match unsettled.is_empty() && staged.is_empty() {
                true => Ok(()),
                false => Ok(index.write()?),
            }
        })?;
        drop(unsettled);
        self.unsettled.borrow_mut().clear();
        self.given_up.set(false);
        match std::fs::remove_file(self.unsettled_mark()) {
            Err(why) if why.kind() != ErrorKind::NotFound => {
                Err(SnapshotError::OwnIndex(self.unsettled_mark(), why))
            }
            _ => Ok(()),
        }
    }

    fn commit(
        &self,
        head: Option<&Commit<'_>>,
        tree: Oid,
        message: &Message,
    ) -> Result<Oid, SnapshotError> {
        let who = self.author()?;
        let parents = self.parents(head)?;
        let text = self.commit_msg(tree, message)?;
        let made = self.make(&New {
            author: &who,
            committer: &who,
            text: &text,
            tree: &self.repo.find_tree(tree)?,
            parents: &parents.iter().collect::<Vec<_>>(),
        })?;
        let first = text.lines().next().unwrap_or_default();
        let kind = match parents.is_empty() {
            true => "commit (initial)",
            false => "commit",
        };
        self.advance(head.map(Commit::id), made, &format!("{kind}: {first}"))?;
        Ok(made)
    }

    /// The user as git knows him, else clada.
    fn author(&self) -> Result<Signature<'static>, git2::Error> {
        self.repo
            .signature()
            .or_else(|_| Signature::now("clada", "clada@localhost"))
    }

    fn refuse_in_the_middle(&self, index: &Index) -> Result<(), SnapshotError> {
        if let Some(operation) = Operation::of(self.repo.state()) {
            return Err(SnapshotError::Busy(operation, self.beginner()));
        }
        if index.has_conflicts() {
            return Err(SnapshotError::conflicts(index));
        }
        if self.where_looking()?.is_some() {
            return Err(SnapshotError::Looking);
        }
        Ok(())
    }

    /// Whoever holds the index's lock is about to change index and files (a checkout, an open `git commit`):
    /// what would be saved now is half of something, even if writing could wait.
    fn wait_until_unlocked(&self) -> Result<(), SnapshotError> {
        // Beside a branch, the index that others lock is not that of clada.
        for path in [self.index_path(), self.repo.path().join("index")] {
            self.patiently(&path, || match lock_of(&path).exists() {
                true => Err(SnapshotError::Locked(lock_of(&path))),
                false => Ok(()),
            })?;
        }
        Ok(())
    }

    /// Tries again and again while `path` is locked, until the wait is over.
    fn patiently<T>(
        &self,
        path: &Path,
        mut act: impl FnMut() -> Result<T, SnapshotError>,
    ) -> Result<T, SnapshotError> {
        let until = Instant::now() + self.lock_wait;
        loop {
            match act() {
                Err(why) if !why.is_lock() => return Err(why),
                Err(_) if !self.hurry.is_over(until) => std::thread::sleep(LOCK_PAUSE),
                // Who saves here has the root's lock: this one is of a clada that was killed.
                Err(_) if self.private && Instant::now() >= until && unlock(path) => {}
                Err(_) => return Err(SnapshotError::Locked(lock_of(path))),
                done => return done,
            }
        }
    }

    /// The git directory, the top of the work tree, and the root below that, for git itself.
    pub fn places(&self) -> (&Path, &Path, &Path) {
        (self.repo.path(), &self.top, &self.root)
    }

    /// Whether a path is one that was named, or by its name one of clada's own files: left by a crash, or that of
    /// another clada in the same folder; or what an editor keeps beside a named one: the same text again.
    fn is_left_out(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let is_named = |path: &Path| self.never.contains(path);
        name.starts_with(b".clada-")
            || is_named(path)
            || edited(name).is_some_and(|name| is_named(&path.with_file_name(name)))
    }
}

/// The file that an editor has open or has saved, where this is the name of its lock, its copy of what was typed, or its
/// backup: `.#NAME` and `#NAME#` of Emacs, `.NAME.swp` of vim and nano, `.NAME.kate-swp`, `NAME~` of many.
fn edited(name: &[u8]) -> Option<&OsStr> {
    let swapped = || {
        let name = name.strip_prefix(b".")?;
        let at = name.iter().rposition(|byte| *byte == b'.')?;
        let is_swap = matches!(&name[at..], [b'.', b's', b'w', _] | b".kate-swp");
        is_swap.then_some(&name[..at])
    };
    let edited = name.strip_suffix(b"~").or_else(|| name.strip_prefix(b".#"));
    let typed = || name.strip_prefix(b"#")?.strip_suffix(b"#");
    edited
        .or_else(typed)
        .or_else(swapped)
        .map(OsStr::from_bytes)
}

/// A commit's first seven digits, as git shows them.
pub fn short(hex: &str) -> &str {
    hex.get(..7).unwrap_or(hex)
}

fn lock_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

/// Whether a lock was there and is taken off.
fn unlock(path: &Path) -> bool {
    std::fs::remove_file(lock_of(path)).is_ok()
}

fn canonical(path: &Path) -> Result<PathBuf, SnapshotError> {
    path.canonicalize()
        .map_err(|why| SnapshotError::NoFolder(path.to_path_buf(), why))
}

/// Where an absolute path is below `top`: itself, and what it leads to if it is a link.
fn places_of(path: &Path, top: &Path) -> Vec<PathBuf> {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let itself = match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_path_buf(),
    };
    let places = [Some(itself), path.canonicalize().ok()];
    let below = |place: PathBuf| Some(place.strip_prefix(top).ok()?.to_path_buf());
    places.into_iter().flatten().filter_map(below).collect()
}
