//! Which paths may differ. Owns libgit2's way of comparing folders with the index; never decides what becomes of a path,
//! which `stage.rs` finds out from the file itself.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{Delta, DiffOptions, Index, IndexEntry, Repository};

use super::SnapshotError;

/// What [`changed_among`] saw.
#[derive(Default)]
pub(super) struct Changed {
    pub(super) files: BTreeSet<PathBuf>,
    /// Untracked folders with a `.git`, which were not entered.
    pub(super) repositories: BTreeSet<PathBuf>,
}

/// Files at or below `paths` that the index does not have as they are, by stat data first and by content where
/// those are in doubt. Ignored files are in it only if they are tracked.
///
/// A folder that cannot be listed looks here as if it were gone; whoever uses the answer must ask the file.
pub(super) fn changed_among(
    repo: &Repository,
    index: &Index,
    paths: &[PathBuf],
) -> Result<Changed, SnapshotError> {
    let mut changed = Changed::default();
    if paths.is_empty() {
        return Ok(changed);
    }
    let mut options = DiffOptions::new();
    options
        .disable_pathspec_match(true)
        .skip_binary_check(true)
        .include_untracked(true)
        .recurse_untracked_dirs(true)
        .include_unreadable(true)
        .ignore_submodules(true);
    // An empty one would stand for nothing, and none at all is everything.
    if paths.iter().all(|path| !path.as_os_str().is_empty()) {
        for path in paths {
            options.pathspec(path);
        }
    }
    let diff = repo.diff_index_to_workdir(Some(index), Some(&mut options))?;
    for delta in diff.deltas() {
        let path = delta.new_file().path().or_else(|| delta.old_file().path());
        let Some(path) = path.map(Path::to_path_buf) else {
            continue;
        };
        match delta.status() == Delta::Untracked && ends_with_slash(&path) {
            true => changed.repositories.insert(path),
            false => changed.files.insert(path),
        };
    }
    Ok(changed)
}

/// What the index has below the folder `from`, whether or not that is there.
pub(super) fn below(index: &Index, from: &Path) -> impl Iterator<Item = IndexEntry> {
    let mut prefix = from.as_os_str().as_bytes().to_vec();
    prefix.push(b'/');
    let first = index.find_prefix(prefix.as_slice()).unwrap_or(usize::MAX);
    (first..index.len())
        .map_while(|at| index.get(at))
        .take_while(move |entry| entry.path.starts_with(&prefix))
}

fn ends_with_slash(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// The path of an index entry, relative to the repository's top.
pub(super) fn path_of(entry: &IndexEntry) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(&entry.path))
}
