//! Resolves a path of a reply: follows links by name, and refuses what leaves the root. Opens nothing itself.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::{FsError, ResolvedPath};
use crate::reply::path::{RelPath, Spellings, is_git};

/// The number of links that one path may lead through, as in Linux.
const MAX_LINKS: usize = 40;

/// The kind of what is at a place, as far as a walk needs to know it.
pub(super) enum StepKind {
    Nothing,
    Folder,
    /// A link with what is written in it.
    Link(PathBuf),
    Other,
}

/// Follows the links in a path, the last name's only where `follow` says so. `look` is asked for each place on the way.
pub(super) fn walk(
    path: &RelPath,
    follow: bool,
    root: &Spellings,
    mut look: impl FnMut(&Path) -> io::Result<StepKind>,
) -> Result<ResolvedPath, FsError> {
    let escapes = || FsError::Escapes(path.to_string());
    let mut names: VecDeque<OsString> = path.names().map(OsString::from).collect();
    let mut walked = PathBuf::new();
    let mut links = 0;
    let mut missing = false;
    while let Some(name) = names.pop_front() {
        if name == ".." {
            if missing || !walked.pop() {
                return Err(escapes());
            }
            continue;
        }
        if name.to_str().is_some_and(is_git) {
            return Err(FsError::Git(path.to_string()));
        }
        let next = walked.join(name);
        let seen = if missing {
            StepKind::Nothing
        } else {
            look(&next).map_err(|error| FsError::Io {
                action: "look at",
                path: path.to_string(),
                error,
            })?
        };
        match seen {
            StepKind::Link(target) if follow || !names.is_empty() => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(FsError::Loop(path.to_string()));
                }
                if target.is_absolute() {
                    let inside = target.to_str().and_then(|target| root.place(target));
                    walked.clear();
                    push_front(&mut names, Path::new(inside.ok_or_else(escapes)?.as_str()));
                } else {
                    push_front(&mut names, &target);
                }
                continue;
            }
            StepKind::Other | StepKind::Link(_) if !names.is_empty() => {
                return Err(FsError::NotAFolder(next.display().to_string()));
            }
            StepKind::Nothing => missing = true,
            StepKind::Folder | StepKind::Other | StepKind::Link(_) => {}
        }
        walked = next;
    }
    Ok(ResolvedPath(walked))
}

fn push_front(names: &mut VecDeque<OsString>, target: &Path) {
    for component in target.components().rev() {
        match component {
            Component::Normal(name) => names.push_front(name.to_owned()),
            Component::ParentDir => names.push_front("..".into()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
}
