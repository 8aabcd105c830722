//! Finds what of git repositories a script may write and what it must not. Never runs git, and never takes the word of a
//! file that a script may have written: where such a `.git` leads, the git directory there has to name it in return.

mod below;
mod config;
mod danger;
mod index;
pub mod index_records;

use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::process::geteuid;

use super::{is_in, real, resolved};
use crate::world::ownership::follow;
pub use below::{Planted, Repositories, guards_of};
pub use danger::Danger;

/// In a git directory, what names programs that git runs, or another directory to take them from. Git heeds what is missing
/// of it as soon as it is there.
const RUN_BY_GIT: [&str; 8] = [
    "hooks",
    "config",
    "config.worktree",
    "commondir",
    "gitdir",
    "info/attributes",
    "info/exclude",
    "objects/info/alternates",
];

/// The steps of what was begun and not ended. They are no script's to change while they are there.
const IN_PROGRESS: [&str; 7] = [
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "BISECT_LOG",
    "BISECT_NAMES",
    "BISECT_START",
    "BISECT_TERMS",
];

/// The largest file of git's that is read, in bytes.
const LARGEST: u64 = 1024 * 1024;

/// The most git directories in another that are looked at.
const MODULES: usize = 500;

/// Lists the files that tell git what to run, for the repository that `root` is in: hooks, configuration, also those of its
/// submodules and of its other work trees. Missing files are named too, as git would heed them if they came to be.
pub fn guarded(root: &Path) -> Vec<PathBuf> {
    let root = real(root);
    let Some(dot_git) = nearest(&root) else {
        return Vec::new();
    };
    let mut paths = Vec::new();
    // Nothing is believed of one that has no such directories.
    let mut dirs = directories(&dot_git, &[]).map_or(Vec::new(), |(own, common)| vec![own, common]);
    if !dirs.contains(&dot_git) {
        paths.push(dot_git);
    }
    if let Some(common) = dirs.last().cloned() {
        dirs.extend(modules(&common.join("modules")));
        paths.extend(
            worktrees(&common)
                .filter(|(_, tree)| !tree.starts_with(&root) && tree.exists())
                .flat_map(|(dir, _)| guards_in(&dir)),
        );
    }
    dirs.dedup();
    paths.extend(dirs.iter().flat_map(|dir| included(dir)));
    paths.extend(dirs.iter().flat_map(|dir| guards_in(dir)));
    paths
}

/// The files that a git directory's configuration takes in. They may be among the project's own.
fn included(dir: &Path) -> Vec<PathBuf> {
    let text = text(&dir.join("config")).unwrap_or_default();
    let lines = config::lines(&text);
    let names = lines.iter().filter(|line| {
        let name = line.name();
        name.starts_with("include") && name.ends_with(".path")
    });
    names.map(|line| dir.join(&line.value)).collect()
}

/// Lists the files in a git directory that tell git what to run.
fn guards_in(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let begun = IN_PROGRESS.map(|name| dir.join(name));
    let begun = begun.into_iter().filter(|path| path.exists());
    let names = RUN_BY_GIT.map(|name| dir.join(name));
    names.into_iter().chain(begun)
}

/// The git directories outside these trees, which scripts may write anyway, that git writes to from `root`: one, two for a
/// linked work tree, none without a repository. What lies in one of the trees is not believed: it may name any directory.
pub fn git_dirs(root: &Path, writable: &[PathBuf]) -> Vec<PathBuf> {
    let (root, trees) = (real(root), resolved(writable.iter()));
    let dirs = nearest(&root).and_then(|dot_git| directories(&dot_git, &trees));
    let mut dirs = dirs.map_or(Vec::new(), |(own, common)| vec![own, common]);
    dirs.dedup();
    dirs.retain(|dir| !is_in(dir, &trees) && is_trusted(dir, &root));
    dirs
}

/// The git directories that git itself would use from `root`, whoever wrote what leads there; a link that leads to them.
///
/// The result is not to be believed. It serves to see that they hold nothing that would be waited for.
pub fn led_to(root: &Path) -> Result<Vec<PathBuf>, PathBuf> {
    let Some(dot_git) = nearest(&real(root)) else {
        return Ok(Vec::new());
    };
    let kind = fs::symlink_metadata(&dot_git).map(|meta| meta.file_type());
    let own = match kind {
        Ok(kind) if kind.is_symlink() => return Err(dot_git),
        Ok(kind) if kind.is_dir() => Some(dot_git),
        _ => gitlink(&dot_git),
    };
    let shared = own.iter().filter_map(|own| {
        let named = first_line(&own.join("commondir"))?;
        Some(real(&own.join(named)))
    });
    Ok(own.iter().cloned().chain(shared).collect())
}

/// The git directory that all work trees of the repository share, to look into.
pub fn shared_dir(root: &Path) -> Option<PathBuf> {
    let (_, common) = directories(&nearest(&real(root))?, &[])?;
    Some(common)
}

/// The `.git` of the work tree that a folder is in, whatever it is.
fn nearest(root: &Path) -> Option<PathBuf> {
    let mut above = root.ancestors().map(|dir| dir.join(".git"));
    above.find(|dot_git| dot_git.symlink_metadata().is_ok())
}

/// The git directory of this work tree and that of all its work trees. One that a `.git` file names has to name that in
/// return; neither is believed where it lies in one of these trees, and no link there is followed. A link is never one.
pub fn directories(dot_git: &Path, trees: &[PathBuf]) -> Option<(PathBuf, PathBuf)> {
    let kind = fs::symlink_metadata(dot_git).ok()?.file_type();
    if kind.is_dir() {
        return Some((dot_git.to_owned(), dot_git.to_owned()));
    }
    if !kind.is_file() {
        return None;
    }
    let tree = dot_git.parent()?;
    let own = gitlink(dot_git)?;
    if is_in(&own, trees) {
        return None;
    }
    if let Some(back) = first_line(&own.join("gitdir")) {
        // Linked. Where the shared one is, its place says; a `commondir` could name any.
        let common = own.parent().filter(|dir| dir.ends_with("worktrees"))?;
        let common = common.parent()?.to_owned();
        let is_ours = steadfast(&own.join(back), trees)? == dot_git && is_git_dir(&common);
        return is_ours.then_some((own, common));
    }
    // A submodule, or set apart.
    let is_ours = steadfast(&own.join(worktree(&own)?), trees)? == tree;
    is_ours.then(|| (own.clone(), own))
}

/// The git directory that a `.git` file names.
fn gitlink(dot_git: &Path) -> Option<PathBuf> {
    let line = first_line(dot_git)?;
    let named = line.strip_prefix("gitdir:")?.trim();
    Some(real(&dot_git.parent()?.join(named)))
}

/// The work trees of a repository that are linked to it: their git directories, and where they say that they are.
fn worktrees(common: &Path) -> impl Iterator<Item = (PathBuf, PathBuf)> {
    let dirs = fs::read_dir(common.join("worktrees")).into_iter().flatten();
    let dirs = dirs.flatten().take(MODULES).map(|entry| entry.path());
    dirs.filter_map(|dir| {
        let dot_git = dir.join(first_line(&dir.join("gitdir"))?);
        let tree = real(dot_git.parent()?);
        Some((dir, tree))
    })
}

/// `core.worktree` of a git directory.
fn worktree(dir: &Path) -> Option<String> {
    let files = ["config.worktree", "config"].map(|name| dir.join(name));
    files.iter().find_map(|file| {
        let lines = config::lines(&text(file)?);
        let named = lines
            .iter()
            .rev()
            .find_map(|line| line.of("core", "worktree"));
        named.map(str::to_owned)
    })
}

/// Tells that a directory looks like git's own.
fn is_git_dir(dir: &Path) -> bool {
    let is = |name: &str, is_dir: bool| {
        let kind = fs::symlink_metadata(dir.join(name));
        kind.is_ok_and(|kind| kind.is_dir() == is_dir)
    };
    is("HEAD", false) && is("objects", true) && is("refs", true)
}

/// Tells that a directory belongs to this user, to root, or to whoever has the project.
fn is_trusted(dir: &Path, root: &Path) -> bool {
    let owner = |path: &Path| fs::metadata(path).ok().map(|meta| meta.uid());
    let Ok(meta) = fs::symlink_metadata(dir) else {
        return false;
    };
    let known = [Some(geteuid().as_raw()), Some(0), owner(root)];
    meta.is_dir() && known.contains(&Some(meta.uid()))
}

/// Returns the path without links; nothing where it does not exist, or where one of its links lies in one of these trees and
/// so could lead elsewhere a moment later.
fn steadfast(path: &Path, trees: &[PathBuf]) -> Option<PathBuf> {
    let mut check = |at: &Path, found: &Metadata| {
        let may_change = found.is_symlink() && at.parent().is_some_and(|dir| is_in(dir, trees));
        if may_change { Err(()) } else { Ok(()) }
    };
    let path = follow(path, &mut check).ok()?.ok()?;
    // A name that came to be meanwhile could be a link.
    (path.canonicalize().ok()? == path).then_some(path)
}

fn first_line(file: &Path) -> Option<String> {
    Some(text(file)?.lines().next()?.trim().to_owned())
}

/// The content of a plain file that is not too large. Never waits, as for a pipe.
fn text(file: &Path) -> Option<String> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let flags = flags.bits().cast_signed();
    let mut options = File::options();
    let file = options.read(true).custom_flags(flags).open(file).ok()?;
    let meta = file.metadata().ok()?;
    if !meta.is_file() || meta.len() > LARGEST {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The git directories of submodules, which may hold those of their own submodules, and have slashes in their names.
fn modules(dir: &Path) -> Vec<PathBuf> {
    let (mut found, mut next, mut looked) = (Vec::new(), vec![dir.to_owned()], 0);
    while let Some(dir) = next.pop() {
        looked += 1;
        if looked > MODULES {
            break;
        }
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let path = entry.path();
            if path.join("HEAD").is_file() {
                next.push(path.join("modules"));
                found.push(path);
            } else {
                next.push(path);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
