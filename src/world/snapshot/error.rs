//! Why a save was not possible, in words. Owns the wording; never decides whether something is an error.

use std::error::Error;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, Index, RepositoryState};
use thiserror::Error;

use crate::world::programs::NoProgram;

/// How the messages end of what goes away when somebody ends what he has begun.
pub const TRY_AGAIN: &str = ", then try again";

/// Nothing was committed. Each says the cause and what to do next.
#[derive(Debug, Error)]
pub enum SnapshotError {
    #[error("{}", busy(*.0, *.1))]
    Busy(Operation, Beginner),
    #[error("unresolved conflicts in {}: resolve and `git add` them, then try again", list(.0))]
    Conflicts(Vec<PathBuf>),
    #[error(
        "another git program holds `{}`: let it end (or, if none runs, delete that file), then try again", .0.display()
    )]
    Locked(PathBuf),
    #[error(
        "the repository around `{}` belongs to another user: if you trust it, run \
         `git config --global --add safe.directory TOP` with its top folder for TOP", .0.display()
    )]
    NotOwned(PathBuf),
    #[error(
        "this repository uses something that clada cannot write ({0}): turn git snapshots off for it, \
         or convert it"
    )]
    Unsupported(String),
    #[error("`{}` could not be read, so nothing was committed: {cause}. Make it readable or ignore it in .gitignore", path.display())]
    Unreadable {
        path: PathBuf,
        cause: Box<dyn Error + Send + Sync>,
    },
    #[error("`{}` cannot be opened: {}. Check that the folder is there", .0.display(), .1)]
    NoFolder(PathBuf, std::io::Error),
    #[error("clada's own index `{}` cannot be made: {}. Check that the git directory can be written to", .0.display(), .1)]
    OwnIndex(PathBuf, std::io::Error),
    #[error("`{}` is no path under the root: name one that is, without `..`", .0.display())]
    OutsideRoot(PathBuf),
    #[error(
        "`{}` leads elsewhere or is no file, and what git saves would go there: see who made it, then put git's own \
         back (`--no-git` works without)", .0.display()
    )]
    Diverted(PathBuf),
    #[error(
        "`{}` leads to a git directory that does not name this folder in return, so nothing is saved there: if you did not \
         make it so, put git's own back; if you did, run `git config core.worktree \"$PWD\"` here, or `git worktree repair` \
         for a linked work tree (`--no-git` works without)", .0.display()
    )]
    Unconfirmed(PathBuf),
    #[error(
        "an older state is being looked at: `clada step-forward --end` brings back what was there, \
         `clada step-forward --stay` goes on from what is there now"
    )]
    Looking,
    #[error("nothing was saved yet")]
    NothingSaved,
    #[error("somebody else moved the branch meanwhile: try again when it is quiet")]
    HeadMoved,
    #[error(
        "the commit could not be signed, so it was not made: {0}. See that `git commit -S` works in a terminal, or set \
         `git.sign = false`"
    )]
    NotSigned(String),
    #[error("{0}. Mend what it says, or set `git.hooks = false`")]
    Hook(String),
    #[error(
        "git itself, which signs and runs hooks, cannot be started: {0}. Install it, or set `git.sign` and `git.hooks` to false"
    )]
    NoGit(std::io::Error),
    #[error("git itself signs and runs hooks, and {0}. Or set `git.sign` and `git.hooks` to false")]
    NoProgram(#[from] NoProgram),
    #[error(
        "`{0}` is no revision that git knows, and no time: name one, as in `--since HEAD~5`, `--since 2h` or `--since 2026-11-20`"
    )]
    NoRevision(String),
    #[error(
        "no commit of the batch `{0}` is in this history: `git log --grep Clada-Batch` shows their ids"
    )]
    NoBatch(String),
    #[error("`{given}` begins the ids of several batches ({}): give more of it", found.join(", "))]
    SeveralBatches { given: String, found: Vec<String> },
    #[error(
        "{0} signed commit(s) would have to be made again and would lose the signature: `--force` does it, and a narrower \
         choice (`-n`, `--since`) may not have to"
    )]
    LosesSignatures(usize),
    #[error("git could not save the state: {}. `git status` may say more", .0.message())]
    Git(#[source] git2::Error),
    /// The only one that is no reason to run nothing.
    #[error("there are no snapshots of this folder: {0}")]
    Without(#[from] Without),
}

/// Why a folder in no repository has no private snapshots, though the user wants them.
#[derive(Debug, Error)]
pub enum Without {
    #[error("`{}` holds your whole home: run clada in a folder of its own, or `git init` there", .0.display())]
    Home(PathBuf),
    #[error("`{}` holds clada's own state, or is part of it: run clada in another folder", .0.display())]
    OwnState(PathBuf),
    #[error("`{}` is the inside of a git repository: run clada in a work tree of it", .0.display())]
    GitDirectory(PathBuf),
    #[error(
        "it has more than {0} files: name what need not be saved in a .gitignore, raise `git.private_limit` in the \
         settings, or `git init` there"
    )]
    TooMany(usize),
    #[error(
        "the private repository `{}` cannot be written ({}): make room or set that right, or `git init` in the folder",
        .0.display(), cause(.1)
    )]
    Failed(PathBuf, Box<SnapshotError>),
}

/// What is wrong, without the next step of a repository of the user's.
fn cause(error: &SnapshotError) -> String {
    match error {
        SnapshotError::Git(why) => why.message().to_owned(),
        SnapshotError::NoFolder(_, why) => why.to_string(),
        other => other.to_string(),
    }
}

/// What git has begun and not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Merge,
    Rebase,
    CherryPick,
    Revert,
    Bisect,
    ApplyMailbox,
}

/// Who began it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beginner {
    /// Perhaps the user.
    Unknown,
    /// It was there after a command, and not before.
    Command,
}

/// Nobody is led to go on with what a command may have begun: its steps can name programs.
fn busy(operation: Operation, beginner: Beginner) -> String {
    let (name, abort) = (operation.name(), operation.abort());
    match beginner {
        Beginner::Unknown => format!(
            "{name} in progress: if you began it, finish or abort it (`git status` says how), else run `{abort}`{TRY_AGAIN}"
        ),
        Beginner::Command => format!(
            "{name} in progress that a command began: end it with `{abort}` and do not go on with it, as its steps can run \
             programs{TRY_AGAIN}"
        ),
    }
}

impl Operation {
    pub(super) fn of(state: RepositoryState) -> Option<Self> {
        use RepositoryState as S;
        match state {
            S::Clean => None,
            S::Merge => Some(Self::Merge),
            S::Revert | S::RevertSequence => Some(Self::Revert),
            S::CherryPick | S::CherryPickSequence => Some(Self::CherryPick),
            S::Bisect => Some(Self::Bisect),
            S::Rebase | S::RebaseInteractive | S::RebaseMerge => Some(Self::Rebase),
            S::ApplyMailbox | S::ApplyMailboxOrRebase => Some(Self::ApplyMailbox),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Merge => "a merge is",
            Self::Rebase => "a rebase is",
            Self::CherryPick => "a cherry-pick is",
            Self::Revert => "a revert is",
            Self::Bisect => "a bisect is",
            Self::ApplyMailbox => "a `git am` is",
        }
    }

    fn abort(self) -> &'static str {
        match self {
            Self::Merge => "git merge --abort",
            Self::Rebase => "git rebase --abort",
            Self::CherryPick => "git cherry-pick --abort",
            Self::Revert => "git revert --abort",
            Self::Bisect => "git bisect reset",
            Self::ApplyMailbox => "git am --abort",
        }
    }
}

impl SnapshotError {
    pub(super) fn conflicts(index: &Index) -> Self {
        let sides = index.conflicts().into_iter().flatten().flatten();
        let one = sides.filter_map(|side| side.our.or(side.their).or(side.ancestor));
        Self::Conflicts(one.map(|entry| super::look::path_of(&entry)).collect())
    }

    pub(super) fn unreadable(path: &Path, cause: impl Error + Send + Sync + 'static) -> Self {
        Self::Unreadable {
            path: path.to_path_buf(),
            cause: Box::new(cause),
        }
    }

    pub(super) fn is_lock(&self) -> bool {
        match self {
            Self::Locked(_) => true,
            Self::Git(why) => why.code() == ErrorCode::Locked,
            _ => false,
        }
    }
}

/// libgit2 has no code of its own for what it does not know, so these are told by their message: SHA-256
/// object names, reftable and other extensions of the repository, a split or sparse index.
impl From<git2::Error> for SnapshotError {
    fn from(why: git2::Error) -> Self {
        let unknown = [
            "unknown object format",
            "unsupported extension",
            "unsupported mandatory extension",
        ];
        match unknown.iter().any(|start| why.message().starts_with(start)) {
            true => Self::Unsupported(why.message().to_owned()),
            false => Self::Git(why),
        }
    }
}

fn list(paths: &[PathBuf]) -> String {
    let shown = paths
        .iter()
        .take(3)
        .map(|path| format!("`{}`", path.display()));
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if paths.len() > 3 {
        text.push_str(&format!(" and {} more", paths.len() - 3));
    }
    text
}
