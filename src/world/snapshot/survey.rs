//! What a save would meet, looked at without one. Changes nothing, and makes no private repository.

use std::path::{Path, PathBuf};

use git2::Repository;
use tokio::sync::watch;

use super::private::{self, Opened};
use super::{Found, Options, SnapshotError, Snapshots, Target, canonical, lock_of};
use crate::world::hurry::Hurry;

/// Where the snapshots of a root go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Survey {
    /// The user's repository.
    Repository {
        top: PathBuf,
        /// Its name; `None` where HEAD is detached.
        branch: Option<String>,
        /// The ref that commits move, where that is not the branch.
        beside: Option<String>,
    },
    /// A private one; it need not be there yet.
    Private(PathBuf),
    /// The user wants no private ones, and the root is in no repository.
    Nothing,
}

/// Looks at where the snapshots of a root would go.
///
/// # Errors
/// What stands in the way of one, as a save would say it.
pub fn survey(root: &Path, options: &Options) -> Result<Survey, SnapshotError> {
    let root = canonical(root)?;
    let bare = match Snapshots::found(&root)? {
        Found::WorkTree(repo, top) => return in_repository(repo, top, &root, options),
        Found::NoWorkTree(bare) => bare,
    };
    if !private::is_wanted(&root, bare.as_deref(), options)? {
        return Ok(Survey::Nothing);
    }
    let path = private::path_of(&root, options);
    if private::exists(&root, options) {
        Repository::open_bare(&path)?;
    }
    Ok(Survey::Private(path))
}

fn in_repository(
    repo: Repository,
    top: PathBuf,
    root: &Path,
    options: &Options,
) -> Result<Survey, SnapshotError> {
    let opened = Opened { repo, notice: None };
    let hurry = Hurry::new(watch::channel(true).1);
    let mut snapshots = Snapshots::of(opened, top, root, (options, hurry));
    snapshots.target = options.target;
    snapshots.refuse_diverted()?;
    let lock = lock_of(&snapshots.index_path());
    if lock.exists() {
        return Err(SnapshotError::Locked(lock));
    }
    snapshots.refuse_in_the_middle(&snapshots.repo.index()?)?;
    snapshots.tip()?;
    let branch = snapshots.branch();
    let beside = (options.target == Target::Side).then(|| snapshots.ref_name());
    Ok(Survey::Repository {
        branch: branch.map(|name| name.trim_start_matches("refs/heads/").to_owned()),
        beside,
        top: snapshots.top,
    })
}
