//! The paths that may differ. Owns libgit2's way of comparing folders with the index; never decides what becomes of a path,
//! which `stage.rs` finds out from the file itself.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{Delta, DiffOptions, ErrorClass, Index, IndexEntry, Repository};

use super::at::again;
use super::error::GitResult;
use super::tools;

/// The paths that [`changed_among`] saw.
#[derive(Default)]
pub(super) struct Differences {
    pub(super) files: BTreeSet<PathBuf>,
    /// Untracked folders with a `.git`, which were not entered.
    pub(super) repositories: BTreeSet<PathBuf>,
    /// Ignored files, and folders of which all is ignored.
    pub(super) ignored: Vec<PathBuf>,
}

/// Files at or below `paths` that the index does not have as they are, by stat data first and by content where
/// those are in doubt. Ignored files are in it only if they are tracked.
///
/// A folder that cannot be listed looks here as if it were gone; whoever uses the answer must ask the file.
pub(super) fn changed_among(
    repo: &Repository,
    index: &Index,
    paths: &[PathBuf],
) -> GitResult<Differences> {
    let mut changed = Differences::default();
    if paths.is_empty() {
        return Ok(changed);
    }
    let mut options = DiffOptions::new();
    options
        .disable_pathspec_match(true)
        .skip_binary_check(true)
        .include_untracked(true)
        .recurse_untracked_dirs(true)
        .include_ignored(true)
        .include_unreadable(true)
        .ignore_submodules(true);
    // An empty one would stand for nothing, and none at all is everything.
    if paths.iter().all(|path| !path.as_os_str().is_empty()) {
        for path in paths {
            options.pathspec(path);
        }
    }
    let diff = again(
        |why: &git2::Error| why.class() == ErrorClass::Os,
        || repo.diff_index_to_workdir(Some(index), Some(&mut options)),
    )?;
    for delta in diff.deltas() {
        let path = delta.new_file().path().or_else(|| delta.old_file().path());
        let Some(path) = path.map(Path::to_path_buf) else {
            continue;
        };
        match delta.status() {
            Delta::Ignored => changed.ignored.push(path),
            Delta::Untracked if ends_with_slash(&path) => {
                changed.repositories.insert(path);
            }
            _ => {
                changed.files.insert(path);
            }
        }
    }
    Ok(changed)
}

/// Untracked places without the tools' folders in them, which are put aside: what is left of a place is itself, where
/// there is none in it, and otherwise what is in it.
pub(super) struct WithoutTools<'w> {
    repo: &'w Repository,
    top: &'w Path,
    /// Folders that may still be looked into: those without end are left as they are.
    left: usize,
    pub(super) places: Vec<PathBuf>,
    pub(super) tools: Vec<PathBuf>,
}

/// The number of folders that are looked into for those of tools.
const FOLDERS: usize = 50_000;

impl<'w> WithoutTools<'w> {
    pub(super) fn of(repo: &'w Repository, top: &'w Path, places: &[PathBuf]) -> Self {
        let mut without = Self {
            repo,
            top,
            left: FOLDERS,
            places: Vec::new(),
            tools: Vec::new(),
        };
        for place in places {
            let mut own = Vec::new();
            without.split(place, &mut own);
            without.places.append(&mut own);
        }
        without
    }

    /// Adds to `own` what is left of a place; true if something is missing there.
    fn split(&mut self, place: &Path, own: &mut Vec<PathBuf>) -> bool {
        let folder = self.top.join(place);
        let is_top = place.as_os_str().is_empty();
        let is_folder = fs::symlink_metadata(&folder).is_ok_and(|it| it.is_dir());
        if !is_folder {
            let is_litter = place.ends_with(tools::LITTER);
            own.extend((!is_litter).then(|| place.to_path_buf()));
            return is_litter;
        }
        let is_left_alone = || {
            let is_ignored = self.repo.is_path_ignored(place.join("")).unwrap_or(false);
            is_ignored || folder.join(".git").symlink_metadata().is_ok()
        };
        if self.left == 0 || !is_top && is_left_alone() {
            own.push(place.to_path_buf());
            return false;
        }
        if !is_top && tools::is_tool_folder(&folder) {
            self.tools.push(place.to_path_buf());
            return true;
        }
        self.left -= 1;
        let (mut inside, mut is_less) = (Vec::new(), false);
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_name() != ".git") {
            let below = place.join(entry.file_name());
            let is_plain = entry.file_type().is_ok_and(|kind| !kind.is_dir());
            if is_plain && !below.ends_with(tools::LITTER) {
                inside.push(below);
            } else {
                is_less |= self.split(&below, &mut inside);
            }
        }
        if is_less {
            own.append(&mut inside);
        } else {
            own.push(place.to_path_buf());
        }
        is_less
    }
}

/// The entries of the index below the folder `from`, also where that is not there.
pub(super) fn below(index: &Index, from: &Path) -> impl Iterator<Item = IndexEntry> {
    let mut prefix = from.as_os_str().as_bytes().to_vec();
    prefix.push(b'/');
    let first = index.find_prefix(prefix.as_slice()).unwrap_or(usize::MAX);
    (first..index.len())
        .map_while(|at| index.get(at))
        .take_while(move |entry| entry.path.starts_with(&prefix))
}

/// True for a folder, as libgit2 names one.
pub(super) fn ends_with_slash(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// The path of an index entry, relative to the repository's top.
pub(super) fn path_of(entry: &IndexEntry) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(&entry.path))
}
