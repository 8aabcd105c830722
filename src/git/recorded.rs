//! The entries of the index, in folders as a tree has them, and the paths that a tree has otherwise. Never looks at a file of the work
//! tree, and writes nothing.
//!
//! libgit2's comparison of a tree with the index reads every tree of a commit. Here the trees that the index would make
//! are hashed in memory, and only those of the commit are read whose hash is another.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use git2::{Index, IndexEntry, ObjectType, Oid, Repository, Tree};

use super::{look, tree};

/// Modes of an index entry, as git has them.
pub(super) const GITLINK: u32 = 0o160_000;
pub(super) const LINK: u32 = 0o120_000;
pub(super) const FILE: u32 = 0o100_644;
pub(super) const PROGRAM: u32 = 0o100_755;
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

/// The entries of an index at or below one folder, as the folders of a tree, to be looked at more than once.
pub(super) struct KnownEntries {
    /// In the order of their paths.
    entries: Vec<IndexEntry>,
    /// Each before what is in it; the first is the folder that all lies in.
    folders: Vec<FolderParts>,
}

/// The parts of a folder, by their numbers among the known ones.
struct FolderParts {
    /// From the repository's top.
    path: Vec<u8>,
    /// By their names.
    files: Vec<usize>,
    /// By their names with a slash behind, as a tree has them.
    folders: Vec<usize>,
    /// Its tree's name, once that was asked.
    id: OnceLock<Oid>,
}

impl KnownEntries {
    pub(super) fn of(index: &Index, from: &Path) -> Self {
        let mut entries = Vec::new();
        if from.as_os_str().is_empty() {
            entries.reserve_exact(index.len());
            entries.extend(index.iter());
        } else {
            entries.extend(look::below(index, from));
        }
        // Where the file system knows no case, libgit2's order does not either.
        entries.sort_by(|one, other| one.path.cmp(&other.path));
        Self::new(entries, from)
    }

    /// Those among all entries of an index, in the order of their paths.
    pub(super) fn among(mut entries: Vec<IndexEntry>, from: &Path) -> Self {
        let folder = from.as_os_str().as_bytes();
        if !folder.is_empty() {
            let is_below = |entry: &IndexEntry| {
                let name = entry.path.strip_prefix(folder);
                name.is_some_and(|name| name.starts_with(b"/"))
            };
            entries.retain(is_below);
        }
        Self::new(entries, from)
    }

    fn new(entries: Vec<IndexEntry>, from: &Path) -> Self {
        let all = 0..entries.len();
        let mut known = Self {
            entries,
            folders: Vec::new(),
        };
        known.add(from.as_os_str().as_bytes().to_vec(), all);
        known
    }

    /// Adds a folder with all below it, and returns its number.
    fn add(&mut self, path: Vec<u8>, mut entries: Range<usize>) -> usize {
        let depth = depth_below(&path);
        let at = self.folders.len();
        self.folders.push(FolderParts {
            path,
            files: Vec::new(),
            folders: Vec::new(),
            id: OnceLock::new(),
        });
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        while let [entry, others @ ..] = &self.entries[entries.clone()] {
            let first = entries.start;
            let Some(slash) = memchr::memchr(b'/', &entry.path[depth..]) else {
                files.push(first);
                entries.start += 1;
                continue;
            };
            let below = &entry.path[..depth + slash];
            let is_inside =
                |other: &IndexEntry| other.path.starts_with(&entry.path[..=below.len()]);
            entries.start += 1 + others.partition_point(is_inside);
            folders.push(self.add(below.to_vec(), first..entries.start));
        }
        self.folders[at].files = files;
        self.folders[at].folders = folders;
        at
    }

    /// The folder that all lies in.
    pub(super) fn folder(&self) -> IndexFolder<'_> {
        IndexFolder {
            known: self,
            parts: &self.folders[0],
        }
    }

    /// All folders, each before what is in it.
    pub(super) fn folders(&self) -> Vec<IndexFolder<'_>> {
        let folder = |parts| IndexFolder { known: self, parts };
        self.folders.iter().map(folder).collect()
    }

    pub(super) fn entries(&self) -> &[IndexEntry] {
        &self.entries
    }
}

/// A folder as the index has it.
#[derive(Clone, Copy)]
pub(super) struct IndexFolder<'e> {
    known: &'e KnownEntries,
    parts: &'e FolderParts,
}

impl<'e> IndexFolder<'e> {
    /// From the repository's top.
    pub(super) fn path(self) -> &'e [u8] {
        &self.parts.path
    }

    /// By their names.
    pub(super) fn files(self) -> impl ExactSizeIterator<Item = (&'e [u8], &'e IndexEntry)> {
        let depth = depth_below(self.path());
        let entries = self.parts.files.iter().map(|at| &self.known.entries[*at]);
        entries.map(move |entry| (&entry.path[depth..], entry))
    }

    /// By their names with a slash behind, as a tree has them.
    pub(super) fn folders(self) -> impl ExactSizeIterator<Item = (&'e [u8], Self)> {
        let depth = depth_below(self.path());
        let folders = self.parts.folders.iter().map(move |at| self.numbered(*at));
        folders.map(move |folder| (&folder.path()[depth..], folder))
    }

    fn numbered(self, at: usize) -> Self {
        Self {
            known: self.known,
            parts: &self.known.folders[at],
        }
    }

    /// The name of its tree, whether or not there is such a tree. Takes a while, the first time.
    pub(super) fn id(self) -> Result<Oid, git2::Error> {
        if let Some(id) = self.parts.id.get() {
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
        let mut files = self.files().peekable();
        for (name, folder) in self.folders() {
            while let Some((file, entry)) =
                files.next_if(|(file, _)| file.iter().lt(with_slash(name)))
            {
                line(entry.mode, file, entry.id);
            }
            line(FOLDER, name, folder.id()?);
        }
        files.for_each(|(file, entry)| line(entry.mode, file, entry.id));
        let id = Oid::hash_object(ObjectType::Tree, &tree)?;
        Ok(*self.parts.id.get_or_init(|| id))
    }

    /// The file of that name, with its number among those of the folder.
    pub(super) fn file(self, name: &[u8]) -> Option<(usize, &'e IndexEntry)> {
        let depth = depth_below(self.path());
        let entry = |at: &usize| &self.known.entries[*at];
        let files = &self.parts.files;
        let at = files.binary_search_by(|at| entry(at).path[depth..].cmp(name));
        at.ok().map(|at| (at, entry(&files[at])))
    }

    /// The folder of that name, with its number among those in this one.
    pub(super) fn folder(self, name: &[u8]) -> Option<(usize, Self)> {
        let depth = depth_below(self.path());
        let folders = &self.parts.folders;
        let order = |at: &usize| {
            let other = &self.known.folders[*at].path[depth..];
            with_slash(other).cmp(with_slash(name))
        };
        let at = folders.binary_search_by(order).ok()?;
        Some((at, self.numbered(folders[at])))
    }

    /// All entries in it and below.
    pub(super) fn each(self, see: &mut impl FnMut(&'e IndexEntry)) {
        self.files().for_each(|(_, entry)| see(entry));
        self.folders().for_each(|(_, folder)| folder.each(see));
    }
}

/// The length of what is before the names in a folder.
fn depth_below(path: &[u8]) -> usize {
    match path.len() {
        0 => 0,
        length => length + 1,
    }
}

/// Paths at or below the folder `from` of the index that a tree does not have alike.
pub(super) fn otherwise(
    repo: &Repository,
    tree: Option<&Tree<'_>>,
    from: &Path,
    folder: IndexFolder<'_>,
) -> Result<BTreeSet<PathBuf>, git2::Error> {
    let mut paths = BTreeSet::new();
    let here = match tree {
        Some(tree) => tree::folder(repo, tree, from)?,
        None => None,
    };
    compare(repo, here.as_ref(), Some(folder), from, &mut paths)?;
    Ok(paths)
}

fn compare(
    repo: &Repository,
    tree: Option<&Tree<'_>>,
    folder: Option<IndexFolder<'_>>,
    path: &Path,
    paths: &mut BTreeSet<PathBuf>,
) -> Result<(), git2::Error> {
    if let (Some(tree), Some(folder)) = (tree, folder)
        && tree.id() == folder.id()?
    {
        return Ok(());
    }
    for entry in tree.into_iter().flatten() {
        let name = entry.name_bytes();
        let path = path.join(OsStr::from_bytes(name));
        if entry.kind() == Some(ObjectType::Tree) {
            let tree = repo.find_tree(entry.id())?;
            let below = folder.and_then(|folder| Some(folder.folder(name)?.1));
            compare(repo, Some(&tree), below, &path, paths)?;
            continue;
        }
        let file = folder.and_then(|folder| Some(folder.file(name)?.1));
        let mode = entry.filemode().cast_unsigned();
        if file.is_none_or(|file| (file.id, file.mode) != (entry.id(), mode)) {
            paths.insert(path);
        }
    }
    let Some(folder) = folder else {
        return Ok(());
    };
    let has = |name: &[u8], is_tree: bool| {
        let entry = tree.and_then(|tree| tree.get_name_bytes(name));
        entry.is_some_and(|entry| (entry.kind() == Some(ObjectType::Tree)) == is_tree)
    };
    for (name, entry) in folder.files() {
        if !has(name, false) {
            paths.insert(look::path_of(entry));
        }
    }
    for (name, below) in folder.folders() {
        if !has(name, true) {
            below.each(&mut |entry| paths.extend([look::path_of(entry)]));
        }
    }
    Ok(())
}

fn with_slash(name: &[u8]) -> impl Iterator<Item = &u8> {
    name.iter().chain(b"/")
}

const FOLDER: u32 = 0o040_000;
