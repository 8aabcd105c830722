//! The entries of the index, in folders as a tree has them, and the paths that a tree has otherwise. Never looks at a file of the work
//! tree, and writes nothing.
//!
//! libgit2's comparison of a tree with the index reads every tree of a commit. Here the trees that the index would make
//! are hashed in memory, and only those of the commit are read whose hash is another.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use git2::{Index, IndexEntry, ObjectType, Oid, Repository, Tree};

use super::{look, tree};

/// Modes of an index entry, as git has them.
pub(super) const GITLINK: u32 = 0o160_000;
pub(super) const LINK: u32 = 0o120_000;
/// Bits of an index entry, as git's index format defines them.
pub(super) const ASSUME_UNCHANGED: u16 = 1 << 15;
pub(super) const SKIP_WORKTREE: u16 = 1 << 14;
pub(super) const INTENT_TO_ADD: u16 = 1 << 13;

pub(super) fn is_gitlink(entry: &IndexEntry) -> bool {
    entry.mode == GITLINK
}

/// True if the user keeps changes of that file out of commits.
pub(super) fn is_kept(entry: &IndexEntry) -> bool {
    entry.flags & ASSUME_UNCHANGED != 0 || entry.flags_extended & SKIP_WORKTREE != 0
}

/// The entries at or below `from`, in the order of their paths.
pub(super) fn entries_below(index: &Index, from: &Path) -> Vec<IndexEntry> {
    let mut entries = Vec::new();
    if from.as_os_str().is_empty() {
        entries.reserve_exact(index.len());
        entries.extend(index.iter());
    } else {
        entries.extend(look::below(index, from));
    }
    // Where the file system knows no case, libgit2's order does not either.
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    entries
}

/// The entries of an index at or below one folder, to be looked at more than once.
pub(super) struct KnownEntries {
    entries: Vec<IndexEntry>,
    /// The name of the folder's tree, once that was asked.
    id: OnceLock<Oid>,
}

impl KnownEntries {
    pub(super) fn of(index: &Index, from: &Path) -> Self {
        Self {
            entries: entries_below(index, from),
            id: OnceLock::new(),
        }
    }

    /// The folder; `from` is the same as before.
    pub(super) fn folder<'e>(&'e self, from: &'e Path) -> IndexFolder<'e> {
        IndexFolder {
            id: self.id.clone(),
            ..IndexFolder::new(from, &self.entries)
        }
    }

    /// Keeps the name of the folder's tree for the next time.
    pub(super) fn keep_id(&self, folder: &IndexFolder<'_>) {
        if let Some(id) = folder.id.get() {
            self.id.get_or_init(|| *id);
        }
    }
}

/// A folder as the index has it.
pub(super) struct IndexFolder<'e> {
    /// From the repository's top.
    pub(super) path: &'e [u8],
    /// By their names.
    pub(super) files: Vec<(&'e [u8], &'e IndexEntry)>,
    /// By their names with a slash behind, as a tree has them.
    pub(super) folders: Vec<(&'e [u8], IndexFolder<'e>)>,
    /// Its tree's name, once that was asked.
    id: OnceLock<Oid>,
}

impl<'e> IndexFolder<'e> {
    /// The folder `from`; the entries are all that are below it, in the order of their paths.
    pub(super) fn new(from: &'e Path, entries: &'e [IndexEntry]) -> Self {
        Self::of(from.as_os_str().as_bytes(), entries)
    }

    fn of(path: &'e [u8], mut entries: &'e [IndexEntry]) -> Self {
        let depth = match path.len() {
            0 => 0,
            length => length + 1,
        };
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        while let [entry, others @ ..] = entries {
            let rest = &entry.path[depth..];
            let Some(slash) = memchr::memchr(b'/', rest) else {
                files.push((rest, entry));
                entries = others;
                continue;
            };
            let below = depth + slash;
            let is_inside = |other: &IndexEntry| other.path.starts_with(&entry.path[..=below]);
            let inside;
            (inside, entries) = entries.split_at(entries.partition_point(is_inside));
            folders.push((&rest[..slash], Self::of(&entry.path[..below], inside)));
        }
        Self {
            path,
            files,
            folders,
            id: OnceLock::new(),
        }
    }

    /// The name of its tree, whether or not there is such a tree. Takes a while, the first time.
    pub(super) fn id(&self) -> Result<Oid, git2::Error> {
        if let Some(id) = self.id.get() {
            return Ok(*id);
        }
        let mut tree = Vec::new();
        let mut line = |mode: u32, name: &[u8], id: Oid| {
            match mode {
                FILE => tree.extend_from_slice(b"100644 "),
                mode => tree.extend_from_slice(format!("{mode:o} ").as_bytes()),
            }
            tree.extend_from_slice(name);
            tree.push(0);
            tree.extend_from_slice(id.as_bytes());
        };
        let mut files = self.files.iter().peekable();
        for (name, folder) in &self.folders {
            while let Some((file, entry)) =
                files.next_if(|(file, _)| file.iter().lt(with_slash(name)))
            {
                line(entry.mode, file, entry.id);
            }
            line(FOLDER, name, folder.id()?);
        }
        files.for_each(|(file, entry)| line(entry.mode, file, entry.id));
        let id = Oid::hash_object(ObjectType::Tree, &tree)?;
        Ok(*self.id.get_or_init(|| id))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.folders.is_empty()
    }

    pub(super) fn file(&self, name: &[u8]) -> Option<usize> {
        self.files
            .binary_search_by_key(&name, |(name, _)| name)
            .ok()
    }

    pub(super) fn folder(&self, name: &[u8]) -> Option<usize> {
        self.folders
            .binary_search_by(|(other, _)| with_slash(other).cmp(with_slash(name)))
            .ok()
    }

    /// Adds itself and all folders below, each before what is in it.
    pub(super) fn add_to<'f>(&'f self, folders: &mut Vec<&'f Self>) {
        folders.push(self);
        self.folders
            .iter()
            .for_each(|(_, below)| below.add_to(folders));
    }

    /// All entries in it and below.
    pub(super) fn each(&self, see: &mut impl FnMut(&'e IndexEntry)) {
        self.files.iter().for_each(|(_, entry)| see(entry));
        self.folders.iter().for_each(|(_, folder)| folder.each(see));
    }
}

/// Paths at or below the folder `from` of the index that a tree does not have alike.
pub(super) fn otherwise(
    repo: &Repository,
    tree: Option<&Tree<'_>>,
    from: &Path,
    folder: &IndexFolder<'_>,
) -> Result<BTreeSet<PathBuf>, git2::Error> {
    let mut paths = BTreeSet::new();
    let here = match tree {
        Some(tree) => tree::folder(repo, tree, from)?,
        None => None,
    };
    compare(repo, here.as_ref(), folder, from, &mut paths)?;
    Ok(paths)
}

fn compare(
    repo: &Repository,
    tree: Option<&Tree<'_>>,
    folder: &IndexFolder<'_>,
    path: &Path,
    paths: &mut BTreeSet<PathBuf>,
) -> Result<(), git2::Error> {
    if let Some(tree) = tree
        && tree.id() == folder.id()?
    {
        return Ok(());
    }
    let nothing = IndexFolder::of(&[], &[]);
    for entry in tree.into_iter().flatten() {
        let name = entry.name_bytes();
        let path = path.join(OsStr::from_bytes(name));
        if entry.kind() == Some(ObjectType::Tree) {
            let tree = repo.find_tree(entry.id())?;
            let below = folder.folder(name).map(|at| &folder.folders[at].1);
            compare(repo, Some(&tree), below.unwrap_or(&nothing), &path, paths)?;
            continue;
        }
        let file = folder.file(name).map(|at| folder.files[at].1);
        let mode = entry.filemode().cast_unsigned();
        if file.is_none_or(|file| (file.id, file.mode) != (entry.id(), mode)) {
            paths.insert(path);
        }
    }
    let has = |name: &[u8], is_tree: bool| {
        let entry = tree.and_then(|tree| tree.get_name_bytes(name));
        entry.is_some_and(|entry| (entry.kind() == Some(ObjectType::Tree)) == is_tree)
    };
    for (name, entry) in &folder.files {
        if !has(name, false) {
            paths.insert(look::path_of(entry));
        }
    }
    for (name, below) in &folder.folders {
        if !has(name, true) {
            below.each(&mut |entry| paths.extend([look::path_of(entry)]));
        }
    }
    Ok(())
}

fn with_slash(name: &[u8]) -> impl Iterator<Item = &u8> {
    name.iter().chain(b"/")
}

const FILE: u32 = 0o100_644;
const FOLDER: u32 = 0o040_000;
