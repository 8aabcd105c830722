//! The state of the root, saved as commits. Owns everything that is git; never changes a file of the
//! work tree, runs a hook, signs or pushes.
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
//! | `stage.rs` | what one path is now, put into the index |
//! | `tree.rs` | a tree with some paths changed |
//! | `message.rs` | what a commit says |
//! | `target.rs` | where commits go: the branch, or beside it |
//! | `private.rs` | the repository of a folder that has none |
//! | `history.rs` | the commits that clada made, read back |
//! | `place.rs` | whether a save would write elsewhere |
//! | `error.rs` | why a save was not possible, in words |

mod error;
mod history;
mod look;
mod message;
mod place;
mod private;
mod recorded;
mod stage;
mod target;
#[cfg(test)]
mod tests;
mod tree;
mod walk;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use git2::{Commit, ErrorCode, Index, Oid, Repository, RepositoryOpenFlags, Signature};
use tokio::sync::watch;

use crate::world::hurry::Hurry;

pub use error::{Operation, SnapshotError};
pub use history::Saved;
pub use message::{Message, Step};
use stage::{Staged, Staging};
pub use target::Target;
use tree::Edit;

/// How long another program may hold one of git's locks before a save is given up.
const LOCK_WAIT: Duration = Duration::from_secs(5);
const LOCK_PAUSE: Duration = Duration::from_millis(25);

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
}

/// How states are saved.
#[derive(Debug, Clone)]
pub struct Options {
    pub target: Target,
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
}

/// Where a save left the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// HEAD now, all hex digits; none before the first commit, where there was nothing to commit.
    pub commit: Option<String>,
    /// Whether this call made that commit.
    pub changed: bool,
    /// What differs and was deliberately left as the index has it.
    pub skipped: Vec<Skipped>,
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
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` was not saved: ", self.path.display())?;
        match &self.why {
            SkipReason::Filter(name) => write!(f, "its git filter `{name}` would have to run"),
            SkipReason::Encoding(name) => write!(f, "git would recode it from `{name}`"),
            SkipReason::NestedRepository => {
                f.write_str("it belongs to a git repository of its own")
            }
            SkipReason::KeptByUser => f.write_str("it is marked assume-unchanged or skip-worktree"),
        }
    }
}

/// What a save looks at.
#[derive(Clone, Copy)]
enum Look<'p> {
    Everything,
    /// Relative to the root.
    Paths(&'p [PathBuf]),
}

/// A save whose objects are written and that nothing points to yet.
struct Prepared {
    head: Option<Oid>,
    /// None: HEAD's tree is already the right one.
    tree: Option<Oid>,
    staged: Vec<Staged>,
    /// The index's file waits for what is staged.
    waits: bool,
    skipped: Vec<Skipped>,
}

impl Snapshots {
    /// Opens the repository that `root` lies in, or the private one of a root that lies in no work tree (nor is a bare
    /// repository, or the inside of `.git`, a work tree). `None` where it can have none of these.
    ///
    /// `never`: absolute paths of files that are not committed. They need not exist. Once `stop` is true, a lock of
    /// git's that somebody holds is hardly waited for.
    ///
    /// # Errors
    /// Where there is a repository that cannot be used, or a private one cannot be made.
    pub fn open(
        root: &Path,
        never: &[PathBuf],
        options: &Options,
        stop: &watch::Receiver<bool>,
    ) -> Result<Option<Self>, SnapshotError> {
        let root = canonical(root)?;
        let found = match Self::found(&root)? {
            Some((repo, top)) => Some((repo, top, false)),
            None => private::open(&root, options)?.map(|repo| (repo, root.clone(), true)),
        };
        let Some((repo, top, private)) = found else {
            return Ok(None);
        };
        let target = match private {
            true => Target::Branch,
            false => options.target,
        };
        let snapshots = Self {
            never: never
                .iter()
                .flat_map(|path| places_of(path, &top))
                .collect(),
            root: root.strip_prefix(&top).unwrap_or(&top).to_path_buf(),
            repo,
            top,
            lock_wait: LOCK_WAIT,
            hurry: Hurry::new(stop.clone()),
            given_up: Cell::new(false),
            target,
            private,
            options: options.clone(),
            unsettled: RefCell::default(),
        };
        snapshots.take_own_index()?;
        Ok(Some(snapshots))
    }

    /// The user's repository around a root, and its top.
    fn found(root: &Path) -> Result<Option<(Repository, PathBuf)>, SnapshotError> {
        let above = RepositoryOpenFlags::empty();
        let repo = match Repository::open_ext(root, above, [] as [&OsStr; 0]) {
            Ok(repo) => repo,
            Err(why) if why.code() == ErrorCode::NotFound => return Ok(None),
            Err(why) if why.code() == ErrorCode::Owner => {
                return Err(SnapshotError::NotOwned(root.to_path_buf()));
            }
            Err(why) => return Err(why.into()),
        };
        let Some(top) = repo.workdir().map(canonical).transpose()? else {
            return Ok(None);
        };
        let is_inside = root.starts_with(&top) && !root.starts_with(canonical(repo.path())?);
        Ok(is_inside.then_some((repo, top)))
    }

    /// Whether the repository is a private one, as the folder has none.
    pub fn is_private(&self) -> bool {
        self.private
    }

    /// Commits everything under the root that differs from HEAD: staged, changed, deleted and new files.
    pub fn before(&mut self, message: &Message) -> Result<State, SnapshotError> {
        self.save(Look::Everything, message)
    }

    /// Commits what these paths (relative to the root) now are, and looks at nothing else: a file, or a
    /// folder with all that is in it, or something that is gone.
    pub fn after_paths(
        &mut self,
        paths: &[PathBuf],
        message: &Message,
    ) -> Result<State, SnapshotError> {
        self.save(Look::Paths(paths), message)
    }

    /// Commits whatever a command changed. A command can change anything, so this looks as [`Self::before`] does.
    pub fn after_all(&mut self, message: &Message) -> Result<State, SnapshotError> {
        self.save(Look::Everything, message)
    }

    /// Has the index's file say what was committed after file tasks: `git status` goes by it.
    ///
    /// # Errors
    /// Where it cannot be written: the next save tries again.
    pub fn settle(&mut self) -> Result<(), SnapshotError> {
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
            done => done,
        }
    }

    fn attempt(&self, look: Look<'_>, message: &Message) -> Result<State, SnapshotError> {
        self.refuse_diverted()?;
        let prepared = self.prepare(look)?;
        self.conclude(prepared, message)
    }

    fn prepare(&self, look: Look<'_>) -> Result<Prepared, SnapshotError> {
        self.wait_until_unlocked()?;
        // As of before it is read: if it is another one by then, more is looked at than need be.
        let written = walk::written(&self.index_path());
        let mut index = self.repo.index()?;
        // A missing index file is an empty index, which libgit2 believes only when forced.
        index.read(self.given_up.get() || !self.index_path().exists())?;
        // That may have been another one, which has none of this.
        for one in &*self.unsettled.borrow() {
            one.put(&mut index)?;
        }
        self.refuse_in_the_middle(&index)?;
        let head = self.tip()?;
        let base = head.as_ref().map(Commit::tree).transpose()?;

        self.given_up.set(true);
        let mut staging = Staging::new(self, &mut index, written)?;
        let paths = match look {
            Look::Everything => staging.everything(base.as_ref())?,
            Look::Paths(paths) => staging.paths(paths)?,
        };
        let Staging {
            staged, skipped, ..
        } = staging;
        self.given_up.set(!staged.is_empty());

        let entries: Vec<_> = paths
            .iter()
            .filter(|path| !self.is_left_out(path))
            .map(|path| (path, index.get_path(path, 0)))
            .collect();
        let edits: Vec<Edit<'_>> = entries
            .iter()
            .map(|(path, entry)| Edit {
                path: path.as_os_str().as_bytes(),
                now: entry.as_ref().map(|entry| (entry.id, entry.mode)),
            })
            .collect();
        let tree = match tree::rewrite(&self.repo, base.as_ref(), &edits)? {
            // Before the first commit an empty tree is nothing to commit; afterwards it says that all is deleted.
            None if base.is_some() => Some(self.repo.treebuilder(None)?.write()?),
            tree => tree,
        };
        let old = base.map(|base| base.id());
        Ok(Prepared {
            head: head.map(|commit| commit.id()),
            tree: tree.filter(|tree| Some(*tree) != old),
            staged,
            waits: matches!(look, Look::Paths(_)),
            skipped,
        })
    }

    fn conclude(&self, prepared: Prepared, message: &Message) -> Result<State, SnapshotError> {
        let head = self.tip()?;
        if head.as_ref().map(Commit::id) != prepared.head {
            return Err(SnapshotError::HeadMoved);
        }
        if prepared.waits {
            self.refuse_in_the_middle(&self.repo.index()?)?;
            self.unsettled.borrow_mut().extend(prepared.staged);
            self.given_up.set(false);
        } else {
            self.write_index(&prepared.staged)?;
        }
        let commit = match prepared.tree {
            Some(tree) => Some(self.commit(head.as_ref(), tree, message)?),
            None => prepared.head,
        };
        Ok(State {
            commit: commit.map(|id| id.to_string()),
            changed: prepared.tree.is_some(),
            skipped: prepared.skipped,
        })
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
        Ok(())
    }

    fn commit(
        &self,
        head: Option<&Commit<'_>>,
        tree: Oid,
        message: &Message,
    ) -> Result<Oid, SnapshotError> {
        let tree = self.repo.find_tree(tree)?;
        let who = match self.repo.signature() {
            Ok(who) => who,
            Err(_) => Signature::now("clada", "clada@localhost")?,
        };
        let parents = self.parents(head)?;
        let parents: Vec<&Commit<'_>> = parents.iter().collect();
        let text = message.to_string();
        let (name, path) = (self.ref_name(), self.ref_path());
        self.patiently(&path, || {
            let made = self
                .repo
                .commit(Some(&name), &who, &who, &text, &tree, &parents);
            made.map_err(|why| match why.code() {
                ErrorCode::Modified | ErrorCode::Exists => SnapshotError::HeadMoved,
                _ => why.into(),
            })
        })
    }

    fn refuse_in_the_middle(&self, index: &Index) -> Result<(), SnapshotError> {
        if let Some(operation) = Operation::of(self.repo.state()) {
            return Err(SnapshotError::Busy(operation));
        }
        if index.has_conflicts() {
            return Err(SnapshotError::conflicts(index));
        }
        Ok(())
    }

    /// Whoever holds the index's lock is about to change index and files (a checkout, an open `git commit`):
    /// what would be saved now is half of something, even if writing could wait.
    fn wait_until_unlocked(&self) -> Result<(), SnapshotError> {
        let path = self.index_path();
        self.patiently(&path, || match lock_of(&path).exists() {
            true => Err(SnapshotError::Locked(lock_of(&path))),
            false => Ok(()),
        })
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
                Err(_) => return Err(SnapshotError::Locked(lock_of(path))),
                done => return done,
            }
        }
    }

    /// Whether a path is one that was named, or by its name one of clada's own files: left by a crash, or that of
    /// another clada in the same folder.
    fn is_left_out(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        name.starts_with(b".clada-") || self.never.contains(path)
    }
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
