//! What a path is now, put into the index. Owns the rules of what is saved and what is left alone; never
//! writes the index file, moves HEAD, or trusts what a comparison said about a file.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use git2::{
    AttrCheckFlags, AttrValue, Config, ErrorClass, ErrorCode, Index, IndexEntry, ObjectType, Oid,
    Tree, TreeWalkMode, TreeWalkResult,
};

use super::at::{Found, find, is_huge, is_missing, opened};
use super::look::WithoutTools;
use super::recorded::{
    self, ASSUME_UNCHANGED, Folder, INTENT_TO_ADD, LINK, SKIP_WORKTREE, is_gitlink,
};
use super::untracked::{self, Looked};
use super::walk::{Doubts, Moment, Walk};
use super::{LeftOff, OffReason, SkipReason, Skipped, SnapshotError, Snapshots, Target, look};

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
    /// The commit that is saved on, and all contents that it has.
    base: Option<Tree<'s>>,
    contents: OnceCell<HashSet<Oid>>,
    seen: Gathered,
}

/// The result of one save's work.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) staged: Vec<Staged>,
    pub(super) skipped: Vec<Skipped>,
    pub(super) left_off: Vec<LeftOff>,
    /// Of a look at everything.
    pub(super) looked: Looked,
    /// The tree of what the user has staged, where that is to be known.
    pub(super) first: Option<Oid>,
}

/// The untracked files that a look at everything takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// All, but those that look like a secret.
    All,
    None,
    /// Those that came since the batch began; see `untracked.rs`.
    Made,
}

/// The paths that differ: those that the index has, and others.
struct Differing {
    tracked: BTreeSet<PathBuf>,
    untracked: BTreeSet<PathBuf>,
}

/// A change of the index that can be made again, in an index that was read anew.
pub(super) enum Staged {
    Here(Box<IndexEntry>),
    Gone(PathBuf),
}

impl<'s> Staging<'s> {
    pub(super) fn new(
        snapshots: &'s Snapshots,
        index: &'s mut Index,
        (base, written): (Option<&Tree<'s>>, Moment),
    ) -> Result<Self, SnapshotError> {
        let config = snapshots.repo.config()?.snapshot()?;
        Ok(Self {
            sparse: config.get_bool("core.sparseCheckout").unwrap_or(false),
            config,
            snapshots,
            index,
            written,
            filters: HashMap::new(),
            base: base.cloned(),
            contents: OnceCell::new(),
            seen: Gathered::default(),
        })
    }

    pub(super) fn end(self) -> Gathered {
        self.seen
    }

    /// All that differs under the root, from the index or of that from HEAD's tree; the answer is what may differ from the
    /// latter. With `splits` the tree of what the user has staged is made too.
    pub(super) fn everything(
        &mut self,
        takes: Takes,
        splits: bool,
    ) -> Result<BTreeSet<PathBuf>, SnapshotError> {
        let root = &self.snapshots.root;
        let entries = recorded::entries_below(self.index, root);
        let folder = Folder::new(root, &entries)?;
        let Differing {
            tracked: mut files,
            mut untracked,
        } = self.differing_in(root, &folder)?;
        let mut paths =
            recorded::otherwise(&self.snapshots.repo, self.base.as_ref(), root, &folder)?;
        let mut late = BTreeSet::new();
        if splits {
            (self.seen.first, late) = self.snapshots.staged_tree(self.index, &paths)?;
        }
        if self.snapshots.private {
            let limit = self.snapshots.options.private_limit;
            if self.index.len() + untracked.len() > limit {
                return Err(self.snapshots.too_many());
            }
            files.extend(untracked);
        } else {
            if takes == Takes::None {
                self.seen.looked.staged = self.own_staged(&paths);
            }
            if takes == Takes::Made {
                for path in self.unstage(&paths)? {
                    files.remove(&path);
                }
                // Also where a rule ignores it by now.
                untracked.append(&mut self.taken_out(&paths)?);
            }
            untracked.retain(|path| !late.contains(path));
            files.append(&mut late);
            let taken = self.taken(&untracked, takes)?;
            self.seen.looked.untracked.append(&mut untracked);
            files.extend(taken);
        }
        self.stage_all(&files)?;
        paths.extend(files);
        Ok(paths)
    }

    /// Chooses those of these untracked files that go into the index. Of what a command made, those that do not are told.
    fn taken(
        &mut self,
        untracked: &BTreeSet<PathBuf>,
        takes: Takes,
    ) -> Result<Vec<PathBuf>, SnapshotError> {
        let base = self.base.clone();
        let tree = base.as_ref();
        let has = |tree: Option<&Tree<'_>>, path: &Path| {
            let entry = tree.and_then(|tree| tree.get_path(path).ok());
            entry.is_some_and(|entry| entry.kind() != Some(ObjectType::Tree))
        };
        // Beside a branch, what clada has committed is not in the user's index.
        let of_user = match self.snapshots.target {
            Target::Branch => None,
            Target::Side => Some(
                self.snapshots
                    .head()?
                    .map(|commit| commit.tree())
                    .transpose()?,
            ),
        };
        let mut taken = Vec::new();
        let mut moved = BTreeSet::new();
        if takes == Takes::Made {
            self.snapshots.expect_copies(untracked);
        }
        for path in untracked {
            let is_own = of_user
                .as_ref()
                .is_some_and(|users| has(tree, path) && !has(users.as_ref(), path));
            let why = match takes {
                _ if is_own => None,
                Takes::All if self.snapshots.is_secret(path) => continue,
                Takes::All => None,
                Takes::None => continue,
                // What the index had, a command took out of it.
                Takes::Made if has(tree, path) => continue,
                Takes::Made if untracked::is_below(path, &moved) => continue,
                Takes::Made if let Some((folder, of)) = self.snapshots.moved_folder(path) => {
                    self.leave_off(&folder, OffReason::Copy(of));
                    moved.insert(folder);
                    continue;
                }
                Takes::Made => match self.snapshots.stays_off(path) {
                    None => continue,
                    Some(why) => why.filter(|_| !self.has_content_of(path)),
                },
            };
            match why {
                None => taken.push(path.clone()),
                Some(why) => self.leave_off(path, why),
            }
        }
        if takes == Takes::Made {
            for folder in self.seen.looked.tools.clone() {
                if self.snapshots.is_new(&folder) {
                    self.leave_off(&folder, OffReason::Tool);
                }
            }
        }
        Ok(taken)
    }

    /// Files among these that a command has taken out of the index.
    fn taken_out(&self, differing: &BTreeSet<PathBuf>) -> Result<BTreeSet<PathBuf>, SnapshotError> {
        let mut out = BTreeSet::new();
        let is_in_commit = |path: &Path| {
            let base = self.base.as_ref();
            base.is_some_and(|tree| tree.get_path(path).is_ok())
        };
        for path in differing {
            if is_in_commit(path)
                && self.index.get_path(path, 0).is_none()
                && !self.snapshots.is_left_out(path)
                && find(&self.snapshots.top, path)? != Found::Nothing
            {
                out.insert(path.clone());
            }
        }
        Ok(out)
    }

    /// Clada's own files among these that the user has put into the index: they stay there, and no commit takes them.
    fn own_staged(&self, differing: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
        let is_staged = |path: &&PathBuf| {
            self.snapshots.is_left_out(path) && self.index.get_path(path, 0).is_some()
        };
        differing.iter().filter(is_staged).cloned().collect()
    }

    /// Takes out of the index again what a command has put there and what stays off the branch; these paths. `differing`
    /// are paths that the commit has otherwise.
    fn unstage(&mut self, differing: &BTreeSet<PathBuf>) -> Result<Vec<PathBuf>, SnapshotError> {
        let mut out = Vec::new();
        for path in differing {
            let base = self.base.as_ref();
            let is_in_tree = base.is_some_and(|tree| tree.get_path(path).is_ok());
            let entry = self.index.get_path(path, 0);
            let Some(entry) = entry.filter(|_| !is_in_tree && !self.snapshots.was_staged(path))
            else {
                continue;
            };
            // A submodule that a command has made is meant.
            let is_kept = if is_gitlink(&entry) {
                self.snapshots.is_new(path)
            } else {
                find(&self.snapshots.top, path)? == Found::Nothing
            };
            if is_kept {
                continue;
            }
            let is_notes = self.snapshots.is_left_out(path);
            let why = match self.snapshots.stays_off(path) {
                _ if is_notes => OffReason::Notes,
                None => OffReason::Staged,
                Some(Some(why)) if !self.has_content_of(path) => why,
                Some(_) => continue,
            };
            self.index.remove(path, 0)?;
            self.seen.staged.push(Staged::Gone(path.clone()));
            // What lies in a folder that is left out is left alone there.
            let folder = self.snapshots.left_out_folder(path);
            if !is_notes && folder.is_none() {
                self.seen.looked.untracked.insert(path.clone());
            }
            let told = folder.unwrap_or_else(|| path.clone());
            if self
                .seen
                .left_off
                .last()
                .is_none_or(|last| last.path != told)
            {
                self.leave_off(&told, why);
            }
            out.push(path.clone());
        }
        Ok(out)
    }

    /// Tells that the commit has the content of a file, perhaps elsewhere: then that is known, and the file may only be moved.
    fn has_content_of(&self, path: &Path) -> bool {
        let place = self.snapshots.top.join(path);
        if opened(&place).is_none() || is_huge(&place) {
            return false;
        }
        let Ok(content) = Oid::hash_file(ObjectType::Blob, place) else {
            return false;
        };
        let contents = self.contents.get_or_init(|| {
            let mut contents = HashSet::new();
            let walked = self.base.as_ref().map(|base| {
                base.walk(TreeWalkMode::PreOrder, |_, entry| {
                    contents.insert(entry.id());
                    TreeWalkResult::Ok
                })
            });
            match walked {
                Some(Ok(())) => contents,
                _ => HashSet::new(),
            }
        });
        contents.contains(&content)
    }

    fn leave_off(&mut self, path: &Path, why: OffReason) {
        let path = path.to_path_buf();
        self.seen.left_off.push(LeftOff { path, why });
    }

    /// These paths (relative to the root) with all that is at and below them; the answer is what was
    /// looked at.
    pub(super) fn paths(&mut self, paths: &[PathBuf]) -> Result<BTreeSet<PathBuf>, SnapshotError> {
        let mut files = BTreeSet::new();
        let mut places = Vec::new();
        for path in paths {
            places.append(&mut self.places_of(path)?);
        }
        for place in &places {
            // To append would go through all that is there each time.
            files.extend(self.files_at(place, &places)?);
        }
        self.stage_all(&files)?;
        Ok(files)
    }

    /// These files (relative to the root), each with whether it is to be tracked; the answer is what was looked at.
    pub(super) fn restored(
        &mut self,
        files: &[(PathBuf, bool)],
    ) -> Result<BTreeSet<PathBuf>, SnapshotError> {
        let (mut tracked, mut all) = (BTreeSet::new(), BTreeSet::new());
        for (path, is_tracked) in files {
            let path = self.snapshots.root.join(path);
            if *is_tracked {
                tracked.insert(path.clone());
            } else if !self.snapshots.is_left_out(&path) {
                let recorded = self.index.get_path(&path, 0);
                self.take_away(&path, recorded)?;
            }
            all.insert(path);
        }
        self.stage_all(&tracked)?;
        Ok(all)
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
                self.seen.staged.extend(news);
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
            self.seen.staged.push(Staged::Gone(path.to_path_buf()));
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
    /// where it now has a folder gives way by itself, in the index as in the tree. `places` are all that a task changed:
    /// what it moved along with a folder goes on being tracked, or not.
    fn files_at(
        &mut self,
        place: &Path,
        places: &[PathBuf],
    ) -> Result<BTreeSet<PathBuf>, SnapshotError> {
        if place.as_os_str().is_empty() {
            return self.differing_below(place, places);
        }
        let mut files = BTreeSet::new();
        let tracked = self.index.get_path(place, 0).is_some();
        let private = self.snapshots.private;
        if self.in_another_repository(place, tracked) && !private {
            self.skip(place, SkipReason::NestedRepository);
            return Ok(files);
        }
        let found = fs::symlink_metadata(self.snapshots.top.join(place));
        let is_folder = found.as_ref().is_ok_and(fs::Metadata::is_dir);
        if is_folder {
            files.extend(self.differing_below(place, places)?);
        } else {
            let gone = look::below(self.index, place);
            files.extend(gone.map(|entry| look::path_of(&entry)));
        }
        // A private repository takes all that a task changes.
        if tracked || private {
            files.insert(place.to_path_buf());
        } else if found.is_ok() && !is_folder && !self.snapshots.repo.is_path_ignored(place)? {
            match self.snapshots.named_stays_off(place) {
                Some(_) if self.snapshots.is_left_out(place) => {}
                Some(why) if !self.has_content_of(place) => self.leave_off(place, why),
                _ => drop(files.insert(place.to_path_buf())),
            }
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

    fn differing_below(
        &mut self,
        from: &Path,
        places: &[PathBuf],
    ) -> Result<BTreeSet<PathBuf>, SnapshotError> {
        let entries = recorded::entries_below(self.index, from);
        let Differing {
            tracked: mut files,
            untracked,
        } = self.differing_in(from, &Folder::new(from, &entries)?)?;
        let (private, index) = (self.snapshots.private, &*self.index);
        let was_tracked = |path: &PathBuf| {
            let name = path.strip_prefix(from).unwrap_or(path);
            let mut others = places.iter().filter(|place| *place != from);
            others.any(|place| index.get_path(&place.join(name), 0).is_some())
        };
        let snapshots = self.snapshots;
        let is_taken = |path: &PathBuf| {
            private
                || was_tracked(path)
                || !snapshots.leaves_untracked() && !snapshots.is_secret(path)
        };
        files.extend(untracked.into_iter().filter(is_taken));
        Ok(files)
    }

    /// What may differ from the index at or below `from`. Whether an untracked file is ignored is for libgit2 to say.
    fn differing_in(
        &mut self,
        from: &Path,
        folder: &Folder<'_>,
    ) -> Result<Differing, SnapshotError> {
        let doubts = match folder.is_empty() {
            true => Doubts {
                others: vec![from.to_path_buf()],
                ..Doubts::default()
            },
            false => self.walk().doubts(from, folder),
        };
        let (repo, top) = (&self.snapshots.repo, &self.snapshots.top);
        let mut places = doubts.others;
        if self.snapshots.leaves_untracked() {
            let without = WithoutTools::of(repo, top, &places);
            (places, self.seen.looked.tools) = (without.places, without.tools);
        }
        let changed = look::changed_among(repo, self.index, &places)?;
        self.seen.looked.ignored = changed.ignored;
        for path in &changed.repositories {
            self.skip(path, SkipReason::NestedRepository);
        }
        self.seen.looked.repositories = changed.repositories.into_iter().collect();
        let is_tracked = |path: &PathBuf| self.index.get_path(path, 0).is_some();
        let (mut tracked, untracked): (BTreeSet<_>, BTreeSet<_>) =
            changed.files.into_iter().partition(is_tracked);
        tracked.extend(doubts.tracked);
        let untracked = untracked
            .into_iter()
            .filter(|path| !self.snapshots.is_left_out(path))
            .collect();
        Ok(Differing { tracked, untracked })
    }

    fn walk(&self) -> Walk<'s> {
        self.snapshots.walk_of(&self.config, self.written)
    }

    fn skip(&mut self, path: &Path, why: SkipReason) {
        let path = path.to_path_buf();
        let skipped = Skipped { path, why };
        if self.seen.skipped.last() != Some(&skipped) {
            self.seen.skipped.push(skipped);
        }
    }
}

impl Snapshots {
    /// A walk by the settings of a repository whose index was written then.
    pub(super) fn walk_of(&self, config: &Config, written: Moment) -> Walk<'_> {
        let is_set = |name, otherwise| config.get_bool(name).unwrap_or(otherwise);
        Walk {
            top: &self.top,
            written,
            modes: is_set("core.fileMode", true),
            ctime: is_set("core.trustCTime", true),
            sparse: is_set("core.sparseCheckout", false),
        }
    }

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
    /// Tells that the change is made in this index.
    pub(super) fn is_in(&self, index: &Index) -> bool {
        match self {
            Self::Here(entry) => {
                let there = index.get_path(&look::path_of(entry), 0);
                there.is_some_and(|there| same(&there, entry))
            }
            Self::Gone(path) => index.get_path(path, 0).is_none(),
        }
    }

    /// Makes the change in this index, if it is not made there.
    pub(super) fn put(&self, index: &mut Index) -> Result<(), git2::Error> {
        match self {
            one if one.is_in(index) => Ok(()),
            Self::Here(entry) => index.add(entry),
            Self::Gone(path) => index.remove(path, 0),
        }
    }
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
