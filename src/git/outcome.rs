//! The result of a save, with what it left out and why. Owns the wording of that.

use std::fmt;
use std::path::PathBuf;

use super::LeftOff;
use crate::text::size;

/// The state in which a save left the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaveOutcome {
    /// HEAD now, all hex digits; none before the first commit, where there was nothing to commit.
    pub commit: Option<String>,
    /// True if this call made that commit.
    pub changed: bool,
    /// The user's own work that it committed before the batch.
    pub work: Vec<UsersWork>,
    /// The paths that differ and were deliberately left as the index has them.
    pub skipped: Vec<Skipped>,
    /// The files that commands made, or file tasks named, and that are not on the branch.
    pub left_off: Vec<LeftOff>,
    /// The reason why the `post-commit` hook failed; the commit is made.
    pub hook: Option<String>,
}

/// A commit of the user's own work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsersWork {
    /// All hex digits.
    pub commit: String,
    /// The number of files that it changes below the root.
    pub files: usize,
    /// True if it holds what was staged; the rest is in another commit.
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
    /// The path is in another repository. `git add` would make it a gitlink without a `.gitmodules`, which breaks clones.
    NestedRepository,
    /// `git update-index --assume-unchanged` or `--skip-worktree`: the user keeps this change to himself.
    KeptByUser,
    /// Larger than a private repository takes, in bytes.
    TooLarge(u64),
    /// Larger than any repository takes, in bytes.
    Huge(u64),
    /// A private repository is not in the way of a batch for it; that of the user refuses.
    Unreadable(String),
    /// Git takes no file of this name, as it can be `.git` on another system: `git~1`, `.git./x`.
    Name,
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
            Self::Name => f.write_str("git refuses its name, which is `.git` on some systems"),
        }
    }
}
