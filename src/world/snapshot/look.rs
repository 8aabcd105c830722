//! Which paths may differ. Owns git's ways of comparing whole folders; never decides what becomes of a path,
//! which `stage.rs` finds out from the file itself.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{Delta, Diff, DiffOptions, Index, IndexEntry, Repository, Tree};

use super::SnapshotError;

/// What [`changed_below`] saw.
#[derive(Default)]
pub(super) struct Changed {
    pub(super) files: BTreeSet<PathBuf>,
    /// Untracked folders with a `.git`, which were not entered.
    pub(super) repositories: BTreeSet<PathBuf>,
}

/// Files at or below `from` that the index does not have as they are, by stat data first and by content where
/// those are in doubt. Ignored files are in it only if they are tracked.
///
/// A folder that cannot be listed looks here as if it were gone; whoever uses the answer must ask the file.
pub(super) fn changed_below(
    repo: &Repository,
    index: &Index,
    from: &Path,
) -> Result<Changed, SnapshotError> {
    let mut options = literally(from);
    options
        .include_untracked(true)
        .recurse_untracked_dirs(true)
        .include_unreadable(true)
        .ignore_submodules(true);
    let diff = repo.diff_index_to_workdir(Some(index), Some(&mut options))?;
    let mut changed = Changed::default();
    for (status, path) in places(&diff) {
        match status == Delta::Untracked && ends_with_slash(&path) {
            true => changed.repositories.insert(path),
            false => changed.files.insert(path),
        };
    }
    Ok(changed)
}

/// Paths at or below `from` that the index and the tree do not have alike.
pub(super) fn committed_otherwise(
    repo: &Repository,
    tree: Option<&Tree<'_>>,
    index: &Index,
    from: &Path,
) -> Result<BTreeSet<PathBuf>, SnapshotError> {
    let diff = repo.diff_tree_to_index(tree, Some(index), Some(&mut literally(from)))?;
    Ok(places(&diff).map(|(_, path)| path).collect())
}

/// Tracked paths below the folder `from`, whether or not it is there.
pub(super) fn tracked_below(index: &Index, from: &Path) -> Vec<PathBuf> {
    let mut prefix = from.as_os_str().to_owned();
    prefix.push("/");
    let first = index.find_prefix(prefix.as_os_str()).unwrap_or(usize::MAX);
    (first..index.len())
        .map_while(|at| index.get(at))
        .map(|entry| path_of(&entry))
        .take_while(|path| path.starts_with(from))
        .collect()
}

/// Only `from` and what is below it; the name is no pattern.
fn literally(from: &Path) -> DiffOptions {
    let mut options = DiffOptions::new();
    options.disable_pathspec_match(true).skip_binary_check(true);
    if !from.as_os_str().is_empty() {
        options.pathspec(from);
    }
    options
}

fn places<'d>(diff: &'d Diff<'_>) -> impl Iterator<Item = (Delta, PathBuf)> + 'd {
    diff.deltas().filter_map(|delta| {
        let path = delta
            .new_file()
            .path()
            .or_else(|| delta.old_file().path())?;
        Some((delta.status(), path.to_path_buf()))
    })
}

fn ends_with_slash(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// The path of an index entry, relative to the repository's top.
pub(super) fn path_of(entry: &IndexEntry) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(&entry.path))
}
