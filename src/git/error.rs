//! Why a save was not possible, in words. Owns the wording, and what libgit2's errors mean.

use std::error::Error;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, Index, RepositoryState};
use thiserror::Error;

use crate::world::programs::NoProgram;

/// The result of what needs the repository.
pub(super) type GitResult<T> = Result<T, SnapshotError>;

/// Returns `None` where an error says that git has nothing of this name.
pub(super) fn if_found<T>(result: Result<T, git2::Error>) -> Result<Option<T>, git2::Error> {
    match result {
        Err(why) if why.code() == ErrorCode::NotFound => Ok(None),
        result => result.map(Some),
    }
}

/// The end of messages about an operation that the user can finish.
pub const TRY_AGAIN: &str = ", then try again";

/// Nothing was committed. Each says the cause and what to do next.
#[derive(Debug, Error)]
pub enum SnapshotError {
    #[error("{}", busy(*.0, *.1))]
    Busy(Operation, Beginner),
    #[error("unresolved conflicts in {}: resolve and `git add` them, then try again", list(.0, 3))]
    Conflicts(Vec<PathBuf>),
    #[error(
        "another git process holds `{}`: wait until it ends (or delete that file if none is running), then try again", .0.display()
    )]
    Locked(PathBuf),
    #[error(
        "the repository around `{}` belongs to another user: if you trust it, run `git config --global --add \
         safe.directory TOP`, where TOP is its top folder", .0.display()
    )]
    NotOwned(PathBuf),
    #[error(
        "this repository uses a feature that clada cannot write ({0}): set `git.enabled = false` for it, or convert it"
    )]
    Unsupported(String),
    #[error("cannot read `{}`, so nothing was committed: {cause}. Make it readable or ignore it in .gitignore", path.display())]
    Unreadable {
        path: PathBuf,
        cause: Box<dyn Error + Send + Sync>,
    },
    #[error("cannot open `{}`: {}. Check that the folder exists", .0.display(), .1)]
    NoFolder(PathBuf, std::io::Error),
    #[error("cannot create clada's own index `{}`: {}. Check that the git directory is writable", .0.display(), .1)]
    OwnIndex(PathBuf, std::io::Error),
    #[error("`{}` is not a path in the project folder: name one that is, without `..`", .0.display())]
    OutsideRoot(PathBuf),
    #[error(
        "`{}` leads elsewhere or is not a file, so git would save in the wrong place: find out who made it, then \
         restore git's own (`--no-git` works without git)", .0.display()
    )]
    Diverted(PathBuf),
    #[error(
        "`{}` leads to a git directory that does not name this folder in return, so nothing is saved there. If you did \
         that, run `git config core.worktree \"$PWD\"` here, or `git worktree repair` for a linked work tree. Otherwise \
         restore git's own (`--no-git` works without git)", .0.display()
    )]
    Unconfirmed(PathBuf),
    #[error(
        "you are looking at an older state: return with `clada step-forward --end`, or continue from here with `clada \
         step-forward --stay`"
    )]
    Looking,
    #[error("clada has saved nothing here yet")]
    NothingSaved,
    #[error("another program moved the branch meanwhile: try again when it has finished")]
    HeadMoved,
    #[error(
        "git could not sign the commit, so nothing was committed: {0}. Make `git commit -S` work in a terminal, or set \
         `git.sign = false`"
    )]
    NotSigned(String),
    #[error("{0}. Fix what it reports, or set `git.hooks = false`")]
    Hook(String),
    #[error(
        "cannot start git, which signs and runs hooks: {0}. Install it, or set `git.sign` and `git.hooks` to false"
    )]
    NoGit(std::io::Error),
    #[error(
        "clada needs git for signatures and hooks: {0}, or set `git.sign` and `git.hooks` to false"
    )]
    NoProgram(#[from] NoProgram),
    #[error(
        "`{0}` is neither a revision that git knows nor a time: write, for example, `--since HEAD~5`, `--since 2h` or \
         `--since 2026-11-20`"
    )]
    NoRevision(String),
    #[error(
        "this history has no commit of batch `{0}`: `git log --grep Clada-Batch` shows the ids"
    )]
    NoBatch(String),
    #[error("`{given}` matches several batches ({}): give more of the id", found.join(", "))]
    SeveralBatches { given: String, found: Vec<String> },
    #[error(
        "{0} signed commit(s) would lose the signature: choose fewer commits (`-n`, `--since`), or accept that with \
         `--force`"
    )]
    LosesSignatures(usize),
    #[error("git could not save the state: {}. `git status` may show more", .0.message())]
    Git(#[source] git2::Error),
    /// The only one that is no reason to run nothing.
    #[error("clada makes no snapshots of this folder: {0}")]
    Without(#[from] Without),
}

/// The reason why a folder in no repository has no private snapshots, though the user wants them.
#[derive(Debug, Error)]
pub enum Without {
    #[error("`{}` contains your whole home folder: run clada in a folder of its own, or run `git init` there", .0.display())]
    Home(PathBuf),
    #[error("`{}` contains clada's own state, or is part of it: run clada in another folder", .0.display())]
    OwnState(PathBuf),
    #[error("`{}` is inside a git directory: run clada in the work tree", .0.display())]
    GitDirectory(PathBuf),
    #[error(
        "it has more than {0} files: list those to leave out in a .gitignore, raise `git.private_limit` in the \
         settings, or run `git init` there"
    )]
    TooMany(usize),
    #[error(
        "cannot write the private repository `{}` ({}): fix that, for example free disk space, or run `git init` in the \
         folder",
        .0.display(), cause(.1)
    )]
    Failed(PathBuf, Box<SnapshotError>),
}

/// Says what is wrong, without the next step of a repository of the user's.
fn cause(error: &SnapshotError) -> String {
    match error {
        SnapshotError::Git(why) => why.message().to_owned(),
        SnapshotError::NoFolder(_, why) => why.to_string(),
        other => other.to_string(),
    }
}

/// An operation that git has begun and not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Merge,
    Rebase,
    CherryPick,
    Revert,
    Bisect,
    ApplyMailbox,
}

/// The one who began it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beginner {
    /// Perhaps the user.
    Unknown,
    /// It was there after a command, and not before.
    Command,
}

/// Nobody is led to go on with what a command may have begun: its steps can name programs.
fn busy(operation: Operation, beginner: Beginner) -> String {
    let (name, abort) = operation.name_and_abort();
    match beginner {
        Beginner::Unknown => format!(
            "{name} in progress: if you began it, finish or abort it (`git status` says how); otherwise run \
             `{abort}`{TRY_AGAIN}"
        ),
        Beginner::Command => format!(
            "{name} in progress that a command began. Do not continue it, as its steps can run programs: abort it with \
             `{abort}`{TRY_AGAIN}"
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

    /// Its name in a sentence, and the command that aborts it.
    fn name_and_abort(self) -> (&'static str, &'static str) {
        match self {
            Self::Merge => ("a merge is", "git merge --abort"),
            Self::Rebase => ("a rebase is", "git rebase --abort"),
            Self::CherryPick => ("a cherry-pick is", "git cherry-pick --abort"),
            Self::Revert => ("a revert is", "git revert --abort"),
            Self::Bisect => ("a bisect is", "git bisect reset"),
            Self::ApplyMailbox => ("a `git am` is", "git am --abort"),
        }
    }
}

impl SnapshotError {
    pub(super) fn conflicts(index: &Index) -> Self {
        let sides = index.conflicts().into_iter().flatten().flatten();
        let one = sides.filter_map(|side| side.our.or(side.their).or(side.ancestor));
        Self::Conflicts(
            one.map(|entry| OsStr::from_bytes(&entry.path).into())
                .collect(),
        )
    }

    pub(super) fn unreadable(path: &Path, cause: impl Error + Send + Sync + 'static) -> Self {
        Self::Unreadable {
            path: path.to_path_buf(),
            cause: Box::new(cause),
        }
    }

    /// The same, where it is about the private repository at a path: that is never in the way.
    pub(super) fn of_private(self, path: &Path) -> Self {
        match self {
            // What is looked at is not what the batch is about.
            known @ (Self::Without(_) | Self::Looking) => known,
            why => Without::Failed(path.to_path_buf(), Box::new(why)).into(),
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
        if unknown.iter().any(|start| why.message().starts_with(start)) {
            Self::Unsupported(why.message().to_owned())
        } else {
            Self::Git(why)
        }
    }
}

/// Lists some of these paths, and counts the others.
pub(super) fn list(paths: &[PathBuf], most: usize) -> String {
    let quoted = |path: &PathBuf| format!("`{}`", path.display());
    let shown: Vec<String> = paths.iter().take(most).map(quoted).collect();
    let more = match paths.len().saturating_sub(most) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    shown.join(", ") + &more
}
