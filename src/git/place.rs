//! A check that what a save writes to is git's own. Looks at names only, and changes nothing.
//!
//! A command writes in the git directory, and clada saves outside every fence: through a link there it would write to
//! whatever the link leads to, and for a pipe it would wait for ever.

use std::fs;
use std::path::{Path, PathBuf};

use git2::Repository;

use super::error::GitResult;
use super::{SnapshotError, Store, canonical};
use crate::world::sandbox;

impl Store {
    /// # Errors
    /// Where the git directory is not that of this work tree.
    pub(super) fn refuse_anothers(&self) -> GitResult<()> {
        if self.is_private() {
            return Ok(());
        }
        not_own(&self.repo, &self.top).map_or(Ok(()), Err)
    }

    /// # Errors
    /// [`SnapshotError::Diverted`] where a save would write elsewhere.
    pub(super) fn refuse_diverted(&self) -> GitResult<()> {
        self.refuse_anothers()?;
        let (own, common) = (self.repo.path(), self.repo.commondir());
        let index = self.index_path();
        let index = index.strip_prefix(own).unwrap_or(&index);
        let in_own = [Path::new("HEAD"), Path::new("logs/HEAD"), index];
        let odd = link_in(&common.join("objects"))
            .or_else(|| in_own.into_iter().find_map(|name| not_plain(own, name)))
            .or_else(|| not_plain(common, Path::new("objects")))
            .or_else(|| not_plain(common, Path::new("packed-refs")))
            .or_else(|| {
                // These may be links of the user's, but nothing that is waited for.
                let rules = ["info/exclude", "info/attributes"].map(|name| common.join(name));
                rules.into_iter().find(is_special)
            })
            .or_else(|| {
                // HEAD is read only now that it is known to be a file.
                let branch = self.ref_path();
                let branch = branch.strip_prefix(common).unwrap_or(&branch);
                not_plain(common, branch)
                    .or_else(|| not_plain(common, &Path::new("logs").join(branch)))
            });
        odd.map_or(Ok(()), |path| Err(SnapshotError::Diverted(path)))
    }
}

/// Looks at what libgit2 reads to open the repository around a root: it would follow a link, and wait for a pipe.
///
/// # Errors
/// [`SnapshotError::Diverted`] where one is in the way.
pub(super) fn refuse_odd(root: &Path) -> GitResult<()> {
    const READ: [&str; 8] = [
        "HEAD",
        "config",
        "config.worktree",
        "commondir",
        "gitdir",
        "shallow",
        "packed-refs",
        "objects/info/alternates",
    ];
    let dirs = sandbox::led_to(root).map_err(SnapshotError::Diverted)?;
    let files = dirs.iter().flat_map(|dir| READ.map(|name| dir.join(name)));
    let mut odd = files.filter(is_special);
    odd.next()
        .map_or(Ok(()), |path| Err(SnapshotError::Diverted(path)))
}

/// Finds the file that leads to a git directory that is not that of this work tree.
pub(super) fn not_own(repo: &Repository, top: &Path) -> Option<SnapshotError> {
    let dot_git = top.join(".git");
    let Ok(kind) = fs::symlink_metadata(&dot_git) else {
        // Its configuration names another work tree than that around it.
        return Some(SnapshotError::Diverted(repo.path().join("config")));
    };
    let Some((own, common)) = sandbox::directories(&dot_git, &[top.to_owned()]) else {
        return Some(if kind.is_file() {
            SnapshotError::Unconfirmed(dot_git)
        } else {
            SnapshotError::Diverted(dot_git)
        });
    };
    let is = |used: &Path, named: &Path| canonical(used).is_ok_and(|used| used == named);
    if !is(repo.path(), &own) {
        return Some(SnapshotError::Diverted(repo.path().join("config")));
    }
    let is_shared = is(repo.commondir(), &common);
    (!is_shared).then(|| SnapshotError::Diverted(own.join("commondir")))
}

/// True for what is there and is no file, nor a link to one.
fn is_special(path: &PathBuf) -> bool {
    fs::metadata(path).is_ok_and(|it| !it.is_file())
}

/// A link among the folders of objects: what is saved would go where it leads.
fn link_in(objects: &Path) -> Option<PathBuf> {
    let folders = fs::read_dir(objects).ok()?.flatten();
    let mut links = folders.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    links.next().map(|link| link.path())
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
