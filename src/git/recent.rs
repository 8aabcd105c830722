//! The files that changed lately: in the last commits, and in the work tree since. Changes nothing, and never fails: where git
//! tells nothing, nothing changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use git2::{Diff, DiffOptions, Repository};

use super::error::GitResult;
use super::history::first_parents;
use super::relief::Relief;
use super::{Discovered, canonical, discover};

/// The number of commits that are looked at, and what one counts for beside the one after it.
const COMMITS: usize = 20;
const FADES: f64 = 0.9;

/// Returns the files under a root that changed lately, relative to it and in the order of their paths, with weights: the later and
/// the fewer changed together, the more.
pub fn recent(root: &Path) -> Vec<(PathBuf, f64)> {
    let found = weights(root).unwrap_or_default();
    found.into_iter().collect()
}

fn weights(root: &Path) -> GitResult<BTreeMap<PathBuf, f64>> {
    let root = canonical(root)?;
    let mut weights = BTreeMap::new();
    let Discovered::WorkTree(repo, top) = discover(&root)? else {
        return Ok(weights);
    };
    let _working = Relief::of(&top).working();
    let inside = root.strip_prefix(&top).unwrap_or(Path::new(""));
    let head = repo.head().and_then(|head| head.peel_to_commit()).ok();
    let tree = head.as_ref().map(git2::Commit::tree).transpose()?;
    let mut options = DiffOptions::new();
    options.ignore_submodules(true).skip_binary_check(true);
    let now = repo.diff_tree_to_workdir_with_index(tree.as_ref(), Some(&mut options))?;
    add(&now, inside, 1.0, &mut weights);
    let mut weight = 1.0;
    for commit in first_parents(head).take(COMMITS) {
        let commit = commit?;
        add(&changes(&repo, &commit)?, inside, weight, &mut weights);
        weight *= FADES;
    }
    Ok(weights)
}

fn changes<'r>(repo: &'r Repository, commit: &git2::Commit<'r>) -> GitResult<Diff<'r>> {
    let before = commit
        .parent(0)
        .ok()
        .map(|parent| parent.tree())
        .transpose()?;
    Ok(repo.diff_tree_to_tree(before.as_ref(), Some(&commit.tree()?), None)?)
}

/// Adds the files of a change, which share its weight so that a change of everything says little.
fn add(diff: &Diff<'_>, inside: &Path, weight: f64, weights: &mut BTreeMap<PathBuf, f64>) {
    let share = weight / (diff.deltas().len().max(1) as f64).sqrt();
    for delta in diff.deltas() {
        let path = delta.new_file().path().or(delta.old_file().path());
        if let Some(path) = path.and_then(|path| path.strip_prefix(inside).ok()) {
            *weights.entry(path.to_owned()).or_default() += share;
        }
    }
}
