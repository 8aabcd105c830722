//! Whether what a save writes to is git's own. Looks at names only, and changes nothing.
//!
//! A command writes in the git directory, and clada saves outside every fence: through a link there it would write to
//! whatever the link leads to, and for a pipe it would wait for ever.

use std::fs;
use std::path::{Path, PathBuf};

use git2::Repository;

use super::{SnapshotError, Snapshots};

impl Snapshots {
    /// # Errors
    /// [`SnapshotError::Diverted`] where a save would write elsewhere.
    pub(super) fn refuse_diverted(&self) -> Result<(), SnapshotError> {
        let (own, common) = (self.repo.path(), self.repo.commondir());
        let diverted = |path: PathBuf| Err(SnapshotError::Diverted(path));
        if let Some(path) = not_own(&self.repo, &self.top) {
            return diverted(path);
        }
        let index = self.index_path();
        let index = index.strip_prefix(own).unwrap_or(&index);
        let in_own = [Path::new("HEAD"), index, Path::new("logs/HEAD")];
        let in_own = in_own.map(|name| (own, name.to_owned()));
        let in_common = ["objects", "packed-refs"].map(|name| (common, PathBuf::from(name)));
        let mut places: Vec<(&Path, PathBuf)> = in_own.into_iter().chain(in_common).collect();
        // HEAD is read only once it is known to be a file.
        if let Some(path) = places.iter().find_map(|(base, name)| not_plain(base, name)) {
            return diverted(path);
        }
        // These may be links of the user's, but nothing that is waited for.
        let rules = ["info/exclude", "info/attributes"].map(|name| common.join(name));
        let is_special = |path: &PathBuf| fs::metadata(path).is_ok_and(|it| !it.is_file());
        if let Some(path) = rules.into_iter().find(is_special) {
            return diverted(path);
        }
        let branch = self.ref_path();
        let branch = branch.strip_prefix(common).unwrap_or(&branch);
        places = vec![
            (common, branch.to_owned()),
            (common, Path::new("logs").join(branch)),
        ];
        match places.iter().find_map(|(base, name)| not_plain(base, name)) {
            Some(path) => diverted(path),
            None => Ok(()),
        }
    }
}

/// What leads to a git directory that is not that of this work tree.
pub(super) fn not_own(repo: &Repository, top: &Path) -> Option<PathBuf> {
    let (own, common) = (repo.path(), repo.commondir());
    if own != common && !own.starts_with(common.join("worktrees")) {
        return Some(own.join("commondir"));
    }
    let dot_git = top.join(".git");
    // That of a linked work tree, of a submodule or of one set apart has another name.
    let is_anothers = dot_git.is_file() && own.file_name() == Some(".git".as_ref());
    is_anothers.then_some(dot_git)
}

/// The first on the way to this name that is neither a directory nor a file, as far as there is anything.
fn not_plain(base: &Path, name: &Path) -> Option<PathBuf> {
    let mut path = base.to_owned();
    name.components().find_map(|part| {
        path.push(part);
        let kind = fs::symlink_metadata(&path).ok()?.file_type();
        (!kind.is_dir() && !kind.is_file()).then(|| path.clone())
    })
}
