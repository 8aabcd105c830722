//! A tree with some paths changed, and the folders in one. Owns the shape of trees; never looks at the index or at files.
//!
//! It costs what is touched: the trees on the way to the changed paths are read and written, no others.
//! libgit2's `TreeUpdateBuilder` does the same, but fails where a file takes a folder's place.

use std::collections::BTreeMap;
use std::path::Path;

use git2::{ObjectType, Oid, Repository, Tree};

use super::error::if_found;

/// The folder that a tree has at a path, which may be empty; none where it has something else there, or nothing.
pub(super) fn folder<'r>(
    repo: &'r Repository,
    tree: &Tree<'r>,
    path: &Path,
) -> Result<Option<Tree<'r>>, git2::Error> {
    if path.as_os_str().is_empty() {
        return Ok(Some(tree.clone()));
    }
    let entry = if_found(tree.get_path(path))?;
    let folder = entry.filter(|entry| entry.kind() == Some(ObjectType::Tree));
    folder.map(|entry| repo.find_tree(entry.id())).transpose()
}

const FOLDER: i32 = 0o040_000;

/// Paths, and what each is to be: a blob or gitlink with its mode, or nothing.
pub(super) type TreeEdits<'p> = BTreeMap<&'p [u8], Option<(Oid, u32)>>;

/// Writes `base` with the edits made; none if nothing is left in it.
///
/// Taking away is for files: a folder of that name stays (it may hold files that no commit of ours changes),
/// and vanishes when the last of its files is taken away.
pub(super) fn rewrite(
    repo: &Repository,
    base: Option<&Tree<'_>>,
    edits: &TreeEdits<'_>,
) -> Result<Option<Oid>, git2::Error> {
    let mut here = TreeEdits::new();
    let mut below: BTreeMap<&[u8], TreeEdits<'_>> = BTreeMap::new();
    for (path, now) in edits {
        let (edits, path) = match memchr::memchr(b'/', path) {
            None => (&mut here, *path),
            Some(slash) => (below.entry(&path[..slash]).or_default(), &path[slash + 1..]),
        };
        edits.insert(path, *now);
    }

    let mut builder = repo.treebuilder(base)?;
    let folder = |name: &[u8]| {
        let entry = base?.get_name_bytes(name)?;
        (entry.kind() == Some(ObjectType::Tree)).then(|| entry.id())
    };
    for (&name, now) in &here {
        match now {
            Some((id, mode)) => drop(builder.insert(name, *id, mode.cast_signed())?),
            None if folder(name).is_some() => {}
            None if builder.get(name)?.is_some() => builder.remove(name)?,
            None => {}
        }
    }
    for (name, edits) in below {
        if let Some(Some(_)) = here.get(name) {
            continue; // A file took this folder's place.
        }
        let old = folder(name).map(|id| repo.find_tree(id)).transpose()?;
        match rewrite(repo, old.as_ref(), &edits)? {
            Some(id) => drop(builder.insert(name, id, FOLDER)?),
            None if old.is_some() => builder.remove(name)?,
            None => {}
        }
    }
    if builder.is_empty() {
        return Ok(None);
    }
    builder.write().map(Some)
}
