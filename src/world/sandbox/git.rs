//! Finds what of a git repository a script may write and what it must not. Never runs git, and believes a `.git` only if
//! the git directory that it names belongs to it: a script could have written it.

use std::fs;
use std::path::{Path, PathBuf};

use super::real;

/// In a git directory, what names programs that git runs, or another directory to take them from.
const RUN_BY_GIT: [&str; 4] = ["hooks", "config", "config.worktree", "commondir"];

/// The repository that a directory is in.
struct Repository {
    /// `.git` of the work tree, a directory or a file.
    dot_git: PathBuf,
    /// This work tree's git directory.
    own: PathBuf,
    /// That of all its work trees.
    common: PathBuf,
}

/// What git runs by, for the repository that `root` is in: hooks, configuration, also those of its submodules. Missing
/// files are named too, as git would heed them if they came to be.
pub fn guarded(root: &Path) -> Vec<PathBuf> {
    let Some(repository) = Repository::of(root) else {
        return Vec::new();
    };
    let mut dirs = vec![repository.own.clone(), repository.common.clone()];
    dirs.extend(modules(&repository.common.join("modules")));
    dirs.sort();
    dirs.dedup();
    let mut paths: Vec<PathBuf> = dirs
        .iter()
        .flat_map(|dir| RUN_BY_GIT.map(|name| dir.join(name)))
        .collect();
    if repository.dot_git != repository.own {
        paths.push(repository.dot_git);
    }
    paths
}

/// The git directories that git writes to from `root`: one, two for a linked work tree, none without a repository.
pub fn git_dirs(root: &Path) -> Vec<PathBuf> {
    let Some(repository) = Repository::of(root) else {
        return Vec::new();
    };
    let mut dirs = vec![repository.own, repository.common];
    dirs.dedup();
    dirs
}

impl Repository {
    fn of(root: &Path) -> Option<Self> {
        let root = real(root);
        let tree = root.ancestors().find(|dir| dir.join(".git").exists())?;
        let dot_git = tree.join(".git");
        if fs::symlink_metadata(&dot_git).ok()?.is_dir() {
            return Some(Self {
                own: dot_git.clone(),
                common: dot_git.clone(),
                dot_git,
            });
        }
        let own = named(&line(&dot_git, "gitdir:")?, tree);
        let common = match line(&own.join("commondir"), "") {
            Some(common) => named(&common, &own),
            None => own.clone(),
        };
        let is_ours = match line(&own.join("gitdir"), "") {
            Some(back) => {
                named(&back, &own) == dot_git && own.starts_with(common.join("worktrees"))
            }
            None => named(&worktree(&own)?, &own) == tree,
        };
        is_ours.then_some(Self {
            dot_git,
            own,
            common,
        })
    }
}

/// The rest of the first line, if it begins so.
fn line(file: &Path, start: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    Some(text.lines().next()?.strip_prefix(start)?.trim().to_owned())
}

/// `core.worktree` of a git directory, as git writes it.
fn worktree(dir: &Path) -> Option<String> {
    let files = ["config", "config.worktree"].map(|name| dir.join(name));
    let text: String = files.iter().flat_map(fs::read_to_string).collect();
    text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "worktree").then(|| value.trim().trim_matches('"').to_owned())
    })
}

fn named(path: &str, base: &Path) -> PathBuf {
    real(&base.join(path))
}

/// The git directories of submodules, which may hold those of their own submodules, and have slashes in their names.
fn modules(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let path = entry.path();
        if path.join("HEAD").is_file() {
            found.extend(modules(&path.join("modules")));
            found.push(path);
        } else {
            found.extend(modules(&path));
        }
    }
    found
}
