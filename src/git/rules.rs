//! The rules of what is saved: the settings, and the files that no commit of clada's changes.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{CommitTarget, UntrackedRule};
use crate::policy::secrets::Secrets;

/// The settings for snapshots.
#[derive(Debug, Clone)]
pub struct Options {
    pub target: CommitTarget,
    pub untracked: UntrackedRule,
    /// The largest file that a command makes and that goes on the branch, in bytes.
    pub new_file: u64,
    /// The names of secrets.
    pub secrets: Secrets,
    /// The notes files of all cladas of this user: no commit takes them in, unless git tracks them already.
    pub notes: NotesFiles,
    /// The folder of the private repositories.
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
pub struct NotesFiles(pub Arc<dyn Fn() -> Vec<PathBuf> + Send + Sync>);

impl Default for NotesFiles {
    fn default() -> Self {
        Self(Arc::new(Vec::new))
    }
}

impl fmt::Debug for NotesFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NotesFiles")
    }
}

/// The rules of one repository.
pub(super) struct SaveRules {
    pub(super) options: Options,
    /// The repository is clada's, for a folder that has none or for what the user's leaves out.
    pub(super) is_private: bool,
    /// Files that no commit of ours changes, tracked or not, relative to the repository's top.
    pub(super) never: BTreeSet<PathBuf>,
}

impl SaveRules {
    pub(super) fn of(options: &Options, is_private: bool) -> Self {
        let mut options = options.clone();
        if is_private {
            // Nobody sees its commits, and it takes in all that is there.
            options.target = CommitTarget::Branch;
            options.untracked = UntrackedRule::Commit;
            options.sign = false;
            options.hooks = false;
        }
        Self {
            options,
            is_private,
            never: BTreeSet::new(),
        }
    }

    /// True if commits go beside the branch.
    pub(super) fn is_beside_branch(&self) -> bool {
        self.options.target == CommitTarget::Side
    }

    /// True if untracked files stay off the branch.
    pub(super) fn leaves_untracked(&self) -> bool {
        self.options.untracked == UntrackedRule::Leave
    }

    /// True for a path that was named, and for one that is by its name one of clada's own files: left by a crash, or that of
    /// another clada in the same folder; or the file that an editor keeps beside a named one, with the same text.
    pub(super) fn is_left_out(&self, path: &Path) -> bool {
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
        let at = memchr::memrchr(b'.', name)?;
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
