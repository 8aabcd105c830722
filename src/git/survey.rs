//! A look at what a save would meet, without one. Changes nothing, and makes no private repository.

use std::path::{Path, PathBuf};

use git2::Repository;
use tokio::sync::watch;

use super::error::GitResult;
use super::locks::refuse_locked;
use super::private::{self, Opened};
use super::rules::SaveRules;
use super::{Discovered, Options, Snapshots, Store, canonical, discover};
use crate::world::hurry::Hurry;

/// The place to which the snapshots of a root go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Survey {
    /// The user's repository.
    Repository {
        top: PathBuf,
        /// Its name; `None` where HEAD is detached.
        branch: Option<String>,
        /// The ref that commits move, where that is not the branch.
        beside: Option<String>,
        /// Git knows the user's name and address. If not, commits are by clada.
        has_author: bool,
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
pub fn survey(root: &Path, options: &Options) -> GitResult<Survey> {
    let root = canonical(root)?;
    let bare = match discover(&root)? {
        Discovered::WorkTree(repo, top) => return in_repository(repo, top, &root, options),
        Discovered::NoWorkTree(bare) => bare,
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

/// Returns those of these absolute paths in a root that the user's git does not ignore.
pub fn not_ignored(root: &Path, paths: Vec<PathBuf>) -> Vec<PathBuf> {
    if paths.is_empty() {
        return paths;
    }
    let Ok(Discovered::WorkTree(repo, top)) = discover(root) else {
        return paths;
    };
    // libgit2 would wait for a pipe.
    let is_odd = |folder: &Path| {
        let rules = folder.join(".gitignore");
        rules.symlink_metadata().is_ok_and(|rules| !rules.is_file())
    };
    let is_ignored = |path: &PathBuf| {
        // A `.git` is ignored by itself.
        let place = path.parent().filter(|_| path.ends_with(".git"));
        let place = place.unwrap_or(path);
        let above = place.ancestors().take_while(|dir| dir.starts_with(&top));
        let is_ignored = |place| repo.is_path_ignored(place).unwrap_or(false);
        let name = place.strip_prefix(&top);
        !above.into_iter().any(is_odd) && name.is_ok_and(is_ignored)
    };
    paths.into_iter().filter(|path| !is_ignored(path)).collect()
}

fn in_repository(
    repo: Repository,
    top: PathBuf,
    root: &Path,
    options: &Options,
) -> GitResult<Survey> {
    let opened = Opened { repo, notice: None };
    let hurry = Hurry::new(watch::channel(true).1);
    let rules = SaveRules::of(options, false);
    let snapshots = Snapshots::of(Store::new(opened, top, root, rules, hurry));
    let store = &snapshots.store;
    store.refuse_diverted()?;
    refuse_locked(&store.index_path())?;
    store.refuse_in_the_middle(&store.repo.index()?)?;
    snapshots.refuse_looking()?;
    store.tip()?;
    let branch = store.branch();
    Ok(Survey::Repository {
        branch: branch.map(|name| name.trim_start_matches("refs/heads/").to_owned()),
        beside: store.rules.is_beside_branch().then(|| store.side_ref()),
        has_author: store.repo.signature().is_ok(),
        top: snapshots.store.top,
    })
}
