//! What a path is now, put into the index. Owns the rules of what is saved and what is left alone; never
//! writes the index file, moves HEAD, or trusts what a comparison said about a file.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use git2::{AttrCheckFlags, AttrValue, Config, ErrorClass, ErrorCode, Index, IndexEntry, Tree};

use super::recorded::{
    self, ASSUME_UNCHANGED, Folder, INTENT_TO_ADD, LINK, SKIP_WORKTREE, is_gitlink,
};
use super::walk::{Doubts, Moment, Walk};
use super::{SkipReason, Skipped, SnapshotError, Snapshots, look};

/// One save's work on the index in memory.
pub(super) struct Staging<'s> {
    snapshots: &'s Snapshots,
    pub(super) index: &'s mut Index,
    /// When its file was written.
    written: Moment,
    config: Config,
    /// In a sparse checkout git itself takes skip-worktree off a file that is there nevertheless; elsewhere
    /// the mark is the user's way to keep a local change out of commits.
    sparse: bool,
    filters: HashMap<String, bool>,
    pub(super) staged: Vec<Staged>,
    pub(super) skipped: Vec<Skipped>,
}

/// A change of the index that can be made again, in an index that was read anew.
pub(super) enum Staged {
    Here(Box<IndexEntry>),
    Gone(PathBuf),
}

/// What is in the work tree at a path.
#[derive(PartialEq, Eq)]
pub(super) enum Found {
    File,
    Link,
    Nothing,
}

impl<'s> Staging<'s> {
    pub(super) fn new(
        snapshots: &'s Snapshots,
        index: &'s mut Index,
        written: Moment,
    ) -> Result<Self, SnapshotError> {
        let config = snapshots.repo.config()?.snapshot()?;
        Ok(Self {
            sparse: config.get_bool("core.sparseCheckout").unwrap_or(false),
            config,
            snapshots,
            index,
            written,
            filters: HashMap::new(),
            staged: Vec::new(),
            skipped: Vec::new(),
        })
    }

    /// All that differs under the root, from the index or of that from HEAD's tree; the answer is what may differ from the
    /// latter.
    pub(super) fn everything(
        &mut self,
        tree: Option<&Tree<'_>>,
    ) -> Result<BTreeSet<PathBuf>, SnapshotError> {
        let root = &self.snapshots.root;
        let entries = recorded::entries_below(self.index, root);
        let folder = Folder::new(root, &entries)?;
        let files = self.changed_in(root, &folder)?;
        if self.snapshots.private {
            let is_new = |path: &&PathBuf| self.index.get_path(path, 0).is_none();
            let limit = self.snapshots.options.private_limit;
            if self.index.len() + files.iter().filter(is_new).count() > limit {
                return Err(self.snapshots.too_many());
            }
        }
        self.stage_all(&files)?;
        let mut paths = recorded::otherwise(&self.snapshots.repo, tree, root, &folder)?;
        paths.extend(files);
        Ok(paths)
    }

    /// These paths (relative to the root) with all that is at and below them; the answer is what was
    /// looked at.
    pub(super) fn paths(&mut self, paths: &[PathBuf]) -> Result<BTreeSet<PathBuf>, SnapshotError> {
        let mut files = BTreeSet::new();
        for path in paths {
            for place in self.places_of(path)? {
                files.append(&mut self.files_at(place)?);
            }
        }
        self.stage_all(&files)?;
        Ok(files)
    }

    /// libgit2 goes by the `.gitattributes` of the index too, behind the file: what the file no longer says must be gone
    /// from there before anything else is looked at, and it itself is not to be seen as it was.
    fn stage_all(&mut self, files: &BTreeSet<PathBuf>) -> Result<(), SnapshotError> {
        let is_rules = |path: &&PathBuf| path.ends_with(".gitattributes");
        let rules = files.iter().filter(is_rules);
        rules
            .flat_map(|path| [path, path])
            .try_for_each(|path| self.stage(path))?;
        let mut others = files.iter().filter(|path| !is_rules(path));
        others.try_for_each(|path| self.stage(path))
    }

    /// Puts into the index what `path` is now.
    fn stage(&mut self, path: &Path) -> Result<(), SnapshotError> {
        match self.try_stage(path) {
            Err(SnapshotError::Unreadable { cause, .. }) if self.snapshots.private => {
                let why = match cause.downcast::<git2::Error>() {
                    Ok(why) => why.message().to_owned(),
                    Err(why) => why.to_string(),
                };
                self.skip(path, SkipReason::Unreadable(why));
                Ok(())
            }
            staged => staged,
        }
    }

    fn try_stage(&mut self, path: &Path) -> Result<(), SnapshotError> {
        let recorded = self.index.get_path(path, 0);
        if self.snapshots.is_left_out(path) || recorded.as_ref().is_some_and(is_gitlink) {
            return Ok(());
        }
        let found = find(&self.snapshots.top, path)?;
        if let Some(why) = self.withheld(path, recorded.as_ref(), &found)? {
            if found != Found::Nothing {
                self.skip(path, why);
            }
            return Ok(());
        }
        if found == Found::Nothing {
            return self.take_away(path, recorded);
        }
        match self.add(path, recorded.as_ref(), &found) {
            Ok(()) => {
                let added = self.index.get_path(path, 0);
                let news = added.filter(|added| !recorded.is_some_and(|old| same(&old, added)));
                let news = news.map(|entry| Staged::Here(Box::new(entry)));
                self.staged.extend(news);
                Ok(())
            }
            Err(why) if why.code() == ErrorCode::NotFound => self.take_away(path, recorded),
            // The disk may be full.
            Err(why)
                if why.class() == ErrorClass::Os
                    && found == Found::File
                    && fs::File::open(self.snapshots.top.join(path)).is_ok() =>
            {
                Err(why.into())
            }
            Err(why) => Err(SnapshotError::unreadable(path, why)),
        }
    }

    fn add(
        &mut self,
        path: &Path,
        recorded: Option<&IndexEntry>,
        found: &Found,
    ) -> Result<(), git2::Error> {
        let link = recorded.filter(|entry| *found == Found::File && entry.mode == LINK);
        let Some(link) = link else {
            return self.index.add_path(path);
        };
        // libgit2 converts no line ends of a file where the index has a link.
        self.index.remove(path, 0)?;
        let added = self.index.add_path(path);
        if added.is_err() {
            self.index.add(link)?;
        }
        added
    }

    /// Why the index keeps what it has of a path.
    pub(super) fn withheld(
        &mut self,
        path: &Path,
        recorded: Option<&IndexEntry>,
        found: &Found,
    ) -> Result<Option<SkipReason>, SnapshotError> {
        if recorded.is_some_and(|entry| self.is_kept_by_user(entry, found)) {
            return Ok(Some(SkipReason::KeptByUser));
        }
        if let Some(why) = self.snapshots.too_large(path, found) {
            return Ok(Some(why));
        }
        // No filter sees what a link says.
        match found {
            Found::File => self.needs_git_itself(path),
            Found::Link | Found::Nothing => Ok(None),
        }
    }

    fn take_away(
        &mut self,
        path: &Path,
        recorded: Option<IndexEntry>,
    ) -> Result<(), SnapshotError> {
        if recorded.is_some() {
            self.index.remove(path, 0)?;
            self.staged.push(Staged::Gone(path.to_path_buf()));
        }
        Ok(())
    }

    fn is_kept_by_user(&self, entry: &IndexEntry, found: &Found) -> bool {
        let skipped = entry.flags_extended & SKIP_WORKTREE != 0;
        let brought_back = self.sparse && *found != Found::Nothing;
        entry.flags & ASSUME_UNCHANGED != 0 || (skipped && !brought_back)
    }

    /// Whether git would pass the content through something that libgit2 has not.
    fn needs_git_itself(&mut self, path: &Path) -> Result<Option<SkipReason>, SnapshotError> {
        if let Some(name) = self.snapshots.attribute(path, "filter")? {
            let config = &self.config;
            let runs = *self.filters.entry(name.clone()).or_insert_with(|| {
                let set = |key| config.get_entry(&format!("filter.{name}.{key}")).is_ok();
                // Git too commits the content as it is where the filter is not set up; for LFS, that is
                // never what anybody wants.
                name == "lfs" || set("clean") || set("process")
            });
            if runs {
                return Ok(Some(SkipReason::Filter(name)));
            }
        }
        let encoding = self.snapshots.attribute(path, "working-tree-encoding")?;
        let encoding = encoding.filter(|name| !name.eq_ignore_ascii_case("utf-8"));
        Ok(encoding.map(SkipReason::Encoding))
    }

    /// Where a path (relative to the root) really is: links among its folders are followed, since the file
    /// that a task changed through them is elsewhere for git. If the path itself is a link, so may be the file
    /// behind it. Places outside the root are none.
    pub(super) fn places_of(&self, path: &Path) -> Result<Vec<PathBuf>, SnapshotError> {
        let plain = |part: Component<'_>| match part {
            // git2 panics at a NUL.
            Component::Normal(name) => !name.as_bytes().contains(&0),
            part => part == Component::CurDir,
        };
        if !path.components().all(plain) {
            return Err(SnapshotError::OutsideRoot(path.to_path_buf()));
        }
        let root = self.snapshots.top.join(&self.snapshots.root);
        let mut folder = root.join(path);
        let mut rest = Vec::new();
        let real = loop {
            match (folder.file_name().map(OsStr::to_owned), folder == root) {
                (Some(name), false) => rest.push(name),
                _ => break root.clone(),
            }
            folder.pop();
            match folder.canonicalize() {
                Ok(real) => break real,
                Err(why) if is_missing(&why) => {}
                Err(why) => return Err(SnapshotError::unreadable(path, why)),
            }
        };
        let itself = rest.iter().rev().fold(real, |real, name| real.join(name));
        let behind = match itself.is_symlink() {
            true => itself.canonicalize().ok().filter(|behind| behind.is_file()),
            false => None,
        };
        let inside = |place: PathBuf| {
            let below = place.strip_prefix(&self.snapshots.top).ok()?;
            below
                .starts_with(&self.snapshots.root)
                .then(|| below.to_path_buf())
        };
        Ok([Some(itself), behind]
            .into_iter()
            .flatten()
            .filter_map(inside)
            .collect())
    }

    /// What has to be looked at because of one place: itself and all that is or was below it. A file that stood
    /// where it now has a folder gives way by itself, in the index as in the tree.
    fn files_at(&mut self, place: PathBuf) -> Result<BTreeSet<PathBuf>, SnapshotError> {
        if place.as_os_str().is_empty() {
            return self.changed_below(&place);
        }
        let mut files = BTreeSet::new();
        let tracked = self.index.get_path(&place, 0).is_some();
        if self.in_another_repository(&place, tracked) && !self.snapshots.private {
            self.skip(&place, SkipReason::NestedRepository);
            return Ok(files);
        }
        match fs::symlink_metadata(self.snapshots.top.join(&place)) {
            Ok(data) if data.is_dir() => files.append(&mut self.changed_below(&place)?),
            _ => {
                let gone = look::below(self.index, &place);
                files.extend(gone.map(|entry| look::path_of(&entry)));
            }
        }
        // A private repository takes all that a task changes.
        if tracked || self.snapshots.private || !self.snapshots.repo.is_path_ignored(&place)? {
            files.insert(place);
        }
        Ok(files)
    }

    /// Whether a place lies in a submodule or in a repository that this one knows nothing of.
    pub(super) fn in_another_repository(&self, place: &Path, tracked: bool) -> bool {
        let folders = place.ancestors().skip(1);
        let mut folders = folders.filter(|folder| *folder != Path::new(""));
        folders.any(|folder| {
            let entry = self.index.get_path(folder, 0);
            let repository = self.snapshots.top.join(folder).join(".git");
            entry.as_ref().is_some_and(is_gitlink) || (!tracked && repository.exists())
        })
    }

    fn changed_below(&mut self, from: &Path) -> Result<BTreeSet<PathBuf>, SnapshotError> {
        let entries = recorded::entries_below(self.index, from);
        self.changed_in(from, &Folder::new(from, &entries)?)
    }

    /// What may differ from the index at or below `from`. Whether an untracked file is ignored is for libgit2 to say.
    fn changed_in(
        &mut self,
        from: &Path,
        folder: &Folder<'_>,
    ) -> Result<BTreeSet<PathBuf>, SnapshotError> {
        let doubts = match folder.is_empty() {
            true => Doubts {
                others: vec![from.to_path_buf()],
                ..Doubts::default()
            },
            false => self.walk().doubts(from, folder),
        };
        let changed = look::changed_among(&self.snapshots.repo, self.index, &doubts.others)?;
        for path in &changed.repositories {
            self.skip(path, SkipReason::NestedRepository);
        }
        let mut files = changed.files;
        files.extend(doubts.tracked);
        Ok(files)
    }

    fn walk(&self) -> Walk<'s> {
        let is_set = |name| self.config.get_bool(name).unwrap_or(true);
        Walk {
            top: &self.snapshots.top,
            written: self.written,
            modes: is_set("core.fileMode"),
            ctime: is_set("core.trustCTime"),
            sparse: self.sparse,
        }
    }

    fn skip(&mut self, path: &Path, why: SkipReason) {
        let path = path.to_path_buf();
        let skipped = Skipped { path, why };
        if self.skipped.last() != Some(&skipped) {
            self.skipped.push(skipped);
        }
    }
}

impl Snapshots {
    /// What git's attributes say of a path, where they say more than yes or no.
    pub(super) fn attribute(
        &self,
        path: &Path,
        name: &str,
    ) -> Result<Option<String>, SnapshotError> {
        let how = AttrCheckFlags::FILE_THEN_INDEX;
        let value = self.repo.get_attr_bytes(path, name, how)?;
        Ok(match AttrValue::from_bytes(value) {
            AttrValue::String(name) => Some(name.to_owned()),
            AttrValue::Bytes(name) => Some(String::from_utf8_lossy(name).into_owned()),
            _ => None,
        })
    }
}

impl Staged {
    /// Makes the change in this index, if it is not made there.
    pub(super) fn put(&self, index: &mut Index) -> Result<(), git2::Error> {
        match self {
            Self::Here(entry) => match index.get_path(&look::path_of(entry), 0) {
                Some(old) if same(&old, entry) => Ok(()),
                _ => index.add(entry),
            },
            Self::Gone(path) => match index.get_path(path, 0) {
                Some(_) => index.remove(path, 0),
                None => Ok(()),
            },
        }
    }
}

/// A file or link, reached through real folders: what is behind a link is not at this path for git. Anything
/// else (a folder, a pipe) is nothing; but what could not be looked at is an error, not a deletion.
pub(super) fn find(top: &Path, path: &Path) -> Result<Found, SnapshotError> {
    let mut at = top.to_path_buf();
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        at.push(part);
        let kind = match fs::symlink_metadata(&at) {
            Ok(data) => data.file_type(),
            Err(why) if is_missing(&why) => return Ok(Found::Nothing),
            Err(why) => return Err(SnapshotError::unreadable(path, why)),
        };
        match parts.peek() {
            Some(_) if kind.is_dir() => {}
            None if kind.is_file() => return Ok(Found::File),
            None if kind.is_symlink() => return Ok(Found::Link),
            _ => break,
        }
    }
    Ok(Found::Nothing)
}

/// By `git add -N`.
pub(super) fn is_announced(entry: &IndexEntry) -> bool {
    entry.flags_extended & INTENT_TO_ADD != 0
}

/// Whether two entries of one path say the same of it, stat data included.
fn same(one: &IndexEntry, other: &IndexEntry) -> bool {
    let said = |entry: &IndexEntry| {
        let marks = entry.flags_extended & (SKIP_WORKTREE | INTENT_TO_ADD);
        (
            entry.id,
            entry.mode,
            entry.mtime,
            entry.ctime,
            entry.file_size,
            marks,
        )
    };
    said(one) == said(other)
}

/// A file is also missing where one of its folders is now a file.
fn is_missing(why: &std::io::Error) -> bool {
    matches!(why.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
