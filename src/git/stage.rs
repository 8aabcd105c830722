//! The present state of a path, put into the index. Owns the rules of what is saved and what is left alone; never
//! writes the index file, moves HEAD, or trusts what a comparison said about a file.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use git2::{
    AttrCheckFlags, AttrValue, Config, ErrorClass, ErrorCode, Index, IndexEntry, ObjectType, Oid,
    Tree, TreeWalkMode, TreeWalkResult,
};

use super::at::{PathKind, again, find, is_huge, is_missing, opened};
use super::error::GitResult;
use super::look::{self, WithoutTools};
use super::recorded::{
    self, ASSUME_UNCHANGED, INTENT_TO_ADD, KnownEntries, LINK, SKIP_WORKTREE, is_gitlink,
};
use super::untracked::{self, Looked, UntrackedState};
use super::walk::{Ahead, Doubts, IndexWalk};
use super::{LeftOff, OffReason, SkipReason, Skipped, SnapshotError, Store};

/// One save's work on the index in memory.
pub(super) struct Staging<'s> {
    store: &'s Store,
    untracked: &'s mut UntrackedState,
    pub(super) index: &'s mut Index,
    /// The comparison with the files, by the settings of the repository.
    walk: IndexWalk<'s>,
    config: Config,
    /// The tree of the commit that is saved on.
    base: Option<Tree<'s>>,
    /// All contents that it has, once that was asked.
    contents: OnceCell<HashSet<Oid>>,
    seen: Gathered,
}

fn has_file(tree: Option<&Tree<'_>>, path: &Path) -> bool {
    let entry = tree.and_then(|tree| tree.get_path(path).ok());
    entry.is_some_and(|entry| entry.kind() != Some(ObjectType::Tree))
}

/// The result of one save's work.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) staged: Vec<Staged>,
    pub(super) skipped: Vec<Skipped>,
    pub(super) left_off: Vec<LeftOff>,
    /// The result of a look at everything.
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
    /// The files that came since the batch began; see `untracked.rs`.
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
        store: &'s Store,
        untracked: &'s mut UntrackedState,
        index: &'s mut Index,
        base: Option<&Tree<'s>>,
        config: Config,
        walk: IndexWalk<'s>,
    ) -> Self {
        Self {
            walk,
            config,
            store,
            untracked,
            index,
            base: base.cloned(),
            contents: OnceCell::new(),
            seen: Gathered::default(),
        }
    }

    pub(super) fn end(self) -> Gathered {
        self.seen
    }

    /// Stages all that differs under the root, from the index or of that from HEAD's tree; returns the paths that may differ
    /// from the latter. With `splits` the tree of what the user has staged is made too. `ahead` is the comparison with the index,
    /// if that is done.
    pub(super) fn everything(
        &mut self,
        ahead: Option<Ahead>,
        takes: Takes,
        splits: bool,
    ) -> GitResult<BTreeSet<PathBuf>> {
        let store = self.store;
        let root = &store.root;
        let Ahead { known, doubts } = ahead.unwrap_or_else(|| {
            let known = store.known_entries(self.index, &self.walk.file);
            let doubts = self.walk.doubts_and_ids(&known);
            Ahead { known, doubts }
        });
        let differing = self.differing(doubts)?;
        let (mut files, mut untracked) = (differing.tracked, differing.untracked);
        let mut paths = recorded::otherwise(&store.repo, self.base.as_ref(), root, known.folder())?;
        let mut late = BTreeSet::new();
        if splits {
            (self.seen.first, late) = store.staged_tree(self.index, &paths)?;
        }
        if store.is_private() {
            if self.index.len() + untracked.len() > store.rules.options.private_limit {
                return Err(store.too_many());
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
    fn taken(&mut self, untracked: &BTreeSet<PathBuf>, takes: Takes) -> GitResult<Vec<PathBuf>> {
        let store = self.store;
        // Beside a branch, what clada has committed is not in the user's index.
        let is_beside = store.rules.is_beside_branch();
        let head = if is_beside { store.head()? } else { None };
        let users = head.map(|commit| commit.tree()).transpose()?;
        let (mut taken, mut moved) = (Vec::new(), BTreeSet::new());
        if takes == Takes::Made {
            self.untracked.expect_copies(store, untracked);
        }
        for path in untracked {
            let is_own =
                is_beside && has_file(self.base.as_ref(), path) && !has_file(users.as_ref(), path);
            let is_taken = match takes {
                _ if is_own => true,
                Takes::All => !store.is_secret(path),
                Takes::None => false,
                Takes::Made => self.takes_made(path, &mut moved),
            };
            if is_taken {
                taken.push(path.clone());
            }
        }
        if takes == Takes::Made {
            for folder in self.seen.looked.tools.clone() {
                if self.untracked.is_new(&folder) {
                    self.leave_off(&folder, OffReason::Tool);
                }
            }
        }
        Ok(taken)
    }

    /// True for an untracked file that a command made and that goes into the index. One that does not is told.
    fn takes_made(&mut self, path: &Path, moved: &mut BTreeSet<PathBuf>) -> bool {
        // What the index had, a command took out of it.
        if has_file(self.base.as_ref(), path) || untracked::is_below(path, moved) {
            return false;
        }
        if let Some((folder, of)) = self.untracked.moved_folder(self.store, path) {
            self.leave_off(&folder, OffReason::Copy(of));
            moved.insert(folder);
            return false;
        }
        match self.untracked.stays_off(self.store, path) {
            None => false,
            Some(Some(why)) if !self.has_content_of(path) => {
                self.leave_off(path, why);
                false
            }
            Some(_) => true,
        }
    }

    /// The files among these that a command has taken out of the index.
    fn taken_out(&self, differing: &BTreeSet<PathBuf>) -> GitResult<BTreeSet<PathBuf>> {
        let mut out = BTreeSet::new();
        for path in differing {
            if self.was_there(path)
                && self.index.get_path(path, 0).is_none()
                && !self.store.rules.is_left_out(path)
                && find(&self.store.top, path)? != PathKind::Nothing
            {
                out.insert(path.clone());
            }
        }
        Ok(out)
    }

    /// Clada's own files among these that the user has put into the index: they stay there, and no commit takes them.
    fn own_staged(&self, differing: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
        let is_staged = |path: &&PathBuf| {
            self.store.rules.is_left_out(path) && self.index.get_path(path, 0).is_some()
        };
        differing.iter().filter(is_staged).cloned().collect()
    }

    /// Takes out of the index again what a command has put there and what stays off the branch; these paths. `differing`
    /// are paths that the commit has otherwise.
    fn unstage(&mut self, differing: &BTreeSet<PathBuf>) -> GitResult<Vec<PathBuf>> {
        let mut out = Vec::new();
        for path in differing {
            if self.was_there(path) || self.untracked.before.staged.contains(path) {
                continue;
            }
            let Some(entry) = self.index.get_path(path, 0) else {
                continue;
            };
            // A submodule that a command has made is meant.
            let is_kept = if is_gitlink(&entry) {
                self.untracked.is_new(path)
            } else {
                find(&self.store.top, path)? == PathKind::Nothing
            };
            if is_kept {
                continue;
            }
            let is_notes = self.store.rules.is_left_out(path);
            let why = match self.untracked.stays_off(self.store, path) {
                _ if is_notes => OffReason::Notes,
                None => OffReason::Staged,
                Some(Some(why)) if !self.has_content_of(path) => why,
                Some(_) => continue,
            };
            self.index.remove(path, 0)?;
            self.seen.staged.push(Staged::Gone(path.clone()));
            // What lies in a folder that is left out is left alone there.
            let folder = self.untracked.left_out_folder(path);
            if !is_notes && folder.is_none() {
                self.seen.looked.untracked.insert(path.clone());
            }
            let told = folder.unwrap_or_else(|| path.clone());
            let last = self.seen.left_off.last();
            if last.is_none_or(|last| last.path != told) {
                self.leave_off(&told, why);
            }
            out.push(path.clone());
        }
        Ok(out)
    }

    /// True if the commit has something at a path.
    fn was_there(&self, path: &Path) -> bool {
        let base = self.base.as_ref();
        base.is_some_and(|tree| tree.get_path(path).is_ok())
    }

    /// True if the commit has the content of a file, perhaps elsewhere: then that is known, and the file may only be moved.
    fn has_content_of(&self, path: &Path) -> bool {
        let place = self.store.top.join(path);
        if opened(&place).is_none() || is_huge(&place) {
            return false;
        }
        let contents = self.contents.get_or_init(|| {
            let mut contents = HashSet::new();
            if let Some(tree) = &self.base {
                // As far as it can be read.
                let _ = tree.walk(TreeWalkMode::PreOrder, |_, entry| {
                    contents.insert(entry.id());
                    TreeWalkResult::Ok
                });
            }
            contents
        });
        let content = Oid::hash_file(ObjectType::Blob, place);
        content.is_ok_and(|content| contents.contains(&content))
    }

    fn leave_off(&mut self, path: &Path, why: OffReason) {
        let path = path.to_path_buf();
        self.seen.left_off.push(LeftOff { path, why });
    }

    /// Stages these paths (relative to the root) with all that is at and below them; returns the paths that were looked at.
    pub(super) fn paths(&mut self, paths: &[PathBuf]) -> GitResult<BTreeSet<PathBuf>> {
        let mut files = BTreeSet::new();
        let mut places = Vec::new();
        for path in paths {
            places.append(&mut self.store.real_places(path)?);
        }
        for place in &places {
            // To append would go through all that is there each time.
            files.extend(self.files_at(place, &places)?);
        }
        self.stage_all(&files)?;
        Ok(files)
    }

    /// Stages these files (relative to the root), each with true if it is to be tracked; returns those that were looked at.
    pub(super) fn restored(&mut self, files: &[(PathBuf, bool)]) -> GitResult<BTreeSet<PathBuf>> {
        let (mut tracked, mut all) = (BTreeSet::new(), BTreeSet::new());
        for (path, is_tracked) in files {
            let path = self.store.root.join(path);
            if *is_tracked {
                tracked.insert(path.clone());
            } else if !self.store.rules.is_left_out(&path) {
                let recorded = self.index.get_path(&path, 0);
                self.take_away(&path, recorded)?;
            }
            all.insert(path);
        }
        self.stage_all(&tracked)?;
        Ok(all)
    }

    /// Stages these files. libgit2 goes by the `.gitattributes` of the index too, behind the file: what the file no longer says must be gone
    /// from there before anything else is looked at, and it itself is not to be seen as it was.
    fn stage_all(&mut self, files: &BTreeSet<PathBuf>) -> GitResult<()> {
        let is_rules = |path: &&PathBuf| path.ends_with(".gitattributes");
        let rules = files.iter().filter(is_rules);
        rules
            .flat_map(|path| [path, path])
            .try_for_each(|path| self.stage(path))?;
        let mut others = files.iter().filter(|path| !is_rules(path));
        others.try_for_each(|path| self.stage(path))
    }

    /// Puts into the index what `path` is now.
    fn stage(&mut self, path: &Path) -> GitResult<()> {
        let staged = again(
            |why| matches!(why, SnapshotError::Unreadable { .. }),
            || self.try_stage(path),
        );
        match staged {
            Err(SnapshotError::Unreadable { cause, .. }) if self.store.is_private() => {
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

    fn try_stage(&mut self, path: &Path) -> GitResult<()> {
        let recorded = self.index.get_path(path, 0);
        if self.store.rules.is_left_out(path) || recorded.as_ref().is_some_and(is_gitlink) {
            return Ok(());
        }
        let kind = find(&self.store.top, path)?;
        if let Some(why) = self
            .store
            .withheld(&self.config, path, recorded.as_ref(), kind)?
        {
            if kind != PathKind::Nothing {
                self.skip(path, why);
            }
            return Ok(());
        }
        if kind == PathKind::Nothing {
            return self.take_away(path, recorded);
        }
        match self.add(path, recorded.as_ref(), kind) {
            Ok(()) => {
                self.note_added(path, recorded);
                Ok(())
            }
            Err(why) if why.code() == ErrorCode::NotFound => self.take_away(path, recorded),
            // Only the message tells.
            Err(why)
                if why.class() == ErrorClass::Index
                    && why.message().starts_with("invalid path") =>
            {
                self.skip(path, SkipReason::Name);
                Ok(())
            }
            Err(why) if why.class() == ErrorClass::Os && kind == PathKind::File => {
                let modes = self.walk.modes;
                match self.store.entry_as_read(path, modes, recorded.as_ref()) {
                    Some(Ok(entry)) => {
                        self.index.add(&entry)?;
                        self.note_added(path, recorded);
                        Ok(())
                    }
                    // The disk may be full.
                    Some(Err(_)) => Err(why.into()),
                    None => Err(SnapshotError::unreadable(path, why)),
                }
            }
            Err(why) => Err(SnapshotError::unreadable(path, why)),
        }
    }

    /// Notes what the index has of a path now, if it is not what it had before.
    fn note_added(&mut self, path: &Path, recorded: Option<IndexEntry>) {
        let added = self.index.get_path(path, 0);
        let news = added.filter(|added| !recorded.is_some_and(|old| same(&old, added)));
        let news = news.map(|entry| Staged::Here(Box::new(entry)));
        self.seen.staged.extend(news);
    }

    fn add(
        &mut self,
        path: &Path,
        recorded: Option<&IndexEntry>,
        kind: PathKind,
    ) -> Result<(), git2::Error> {
        let link = recorded.filter(|entry| kind == PathKind::File && entry.mode == LINK);
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

    fn take_away(&mut self, path: &Path, recorded: Option<IndexEntry>) -> GitResult<()> {
        if recorded.is_some() {
            self.index.remove(path, 0)?;
            self.seen.staged.push(Staged::Gone(path.to_path_buf()));
        }
        Ok(())
    }

    /// The paths to look at because of one place: itself and all that is or was below it. A file that stood
    /// where it now has a folder gives way by itself, in the index as in the tree. `places` are all that a task changed:
    /// what it moved along with a folder goes on being tracked, or not.
    fn files_at(&mut self, place: &Path, places: &[PathBuf]) -> GitResult<BTreeSet<PathBuf>> {
        if place.as_os_str().is_empty() {
            return self.differing_below(place, places);
        }
        let mut files = BTreeSet::new();
        let tracked = self.index.get_path(place, 0).is_some();
        let private = self.store.is_private();
        if !private && self.store.in_another_repository(self.index, place, tracked) {
            self.skip(place, SkipReason::NestedRepository);
            return Ok(files);
        }
        let found = fs::symlink_metadata(self.store.top.join(place));
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
        } else if found.is_ok() && !is_folder && !self.store.repo.is_path_ignored(place)? {
            match self.untracked.named_stays_off(self.store, place) {
                Some(_) if self.store.rules.is_left_out(place) => {}
                Some(why) if !self.has_content_of(place) => self.leave_off(place, why),
                _ => drop(files.insert(place.to_path_buf())),
            }
        }
        Ok(files)
    }

    fn differing_below(&mut self, from: &Path, places: &[PathBuf]) -> GitResult<BTreeSet<PathBuf>> {
        let doubts = self.walk.doubts(&KnownEntries::of(self.index, from));
        let differing = self.differing(doubts)?;
        let (store, index) = (self.store, &*self.index);
        let was_tracked = |path: &PathBuf| {
            let name = path.strip_prefix(from).unwrap_or(path);
            let mut others = places.iter().filter(|place| *place != from);
            others.any(|place| index.get_path(&place.join(name), 0).is_some())
        };
        let is_taken = |path: &PathBuf| {
            store.is_private()
                || was_tracked(path)
                || !store.rules.leaves_untracked() && !store.is_secret(path)
        };
        let mut files = differing.tracked;
        files.extend(differing.untracked.into_iter().filter(is_taken));
        Ok(files)
    }

    /// The paths that may differ from the index, of those that are in doubt. Libgit2 says which untracked files are ignored.
    fn differing(&mut self, doubts: Doubts) -> GitResult<Differing> {
        let repo = &self.store.repo;
        let mut places = doubts.others;
        if self.store.rules.leaves_untracked() {
            let without = WithoutTools::of(repo, &self.store.top, &places);
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
            .filter(|path| !self.store.rules.is_left_out(path))
            .collect();
        Ok(Differing { tracked, untracked })
    }

    fn skip(&mut self, path: &Path, why: SkipReason) {
        let path = path.to_path_buf();
        let skipped = Skipped { path, why };
        if self.seen.skipped.last() != Some(&skipped) {
            self.seen.skipped.push(skipped);
        }
    }
}

impl Store {
    /// Finds the real places of a path (relative to the root): links among its folders are followed, since the file
    /// that a task changed through them is elsewhere for git. If the path itself is a link, so may be the file
    /// behind it. Places outside the root are none.
    pub(super) fn real_places(&self, path: &Path) -> GitResult<Vec<PathBuf>> {
        let plain = |part: Component<'_>| match part {
            // git2 panics at a NUL.
            Component::Normal(name) => !name.as_bytes().contains(&0),
            part => part == Component::CurDir,
        };
        if !path.components().all(plain) {
            return Err(SnapshotError::OutsideRoot(path.to_path_buf()));
        }
        let root = self.top.join(&self.root);
        let mut itself = root.join(path);
        let folders = itself.clone();
        let folders = folders.ancestors().skip(1);
        for folder in folders.take_while(|folder| folder.starts_with(&root)) {
            match folder.canonicalize() {
                Ok(real) => {
                    let below = itself.strip_prefix(folder).unwrap_or(path);
                    itself = real.join(below);
                    break;
                }
                Err(why) if is_missing(&why) => {}
                Err(why) => return Err(SnapshotError::unreadable(path, why)),
            }
        }
        let is_link = itself.is_symlink();
        let behind = is_link.then(|| itself.canonicalize().ok()).flatten();
        let behind = behind.filter(|behind| behind.is_file());
        let inside = |place: PathBuf| {
            let below = place.strip_prefix(&self.top).ok()?;
            below.starts_with(&self.root).then(|| below.to_path_buf())
        };
        let places = [Some(itself), behind].into_iter().flatten();
        Ok(places.filter_map(inside).collect())
    }

    /// Finds a reason why the index keeps what it has of a path. The settings are those of the repository.
    pub(super) fn withheld(
        &self,
        config: &Config,
        path: &Path,
        recorded: Option<&IndexEntry>,
        kind: PathKind,
    ) -> GitResult<Option<SkipReason>> {
        if recorded.is_some_and(|entry| is_kept_by_user(config, entry, kind)) {
            return Ok(Some(SkipReason::KeptByUser));
        }
        // No filter sees what a link says.
        if kind != PathKind::File {
            return Ok(None);
        }
        match self.too_large(path) {
            None => self.needs_git_itself(config, path),
            why => Ok(why),
        }
    }

    /// Finds the program through which git would pass the content, and which libgit2 does not have.
    fn needs_git_itself(&self, config: &Config, path: &Path) -> GitResult<Option<SkipReason>> {
        if let Some(name) = self.attribute(path, "filter")? {
            let set = |key| config.get_entry(&format!("filter.{name}.{key}")).is_ok();
            // Git too commits the content as it is where the filter is not set up; for LFS, that is
            // never what anybody wants.
            if name == "lfs" || set("clean") || set("process") {
                return Ok(Some(SkipReason::Filter(name)));
            }
        }
        let encoding = self.attribute(path, "working-tree-encoding")?;
        let encoding = encoding.filter(|name| !name.eq_ignore_ascii_case("utf-8"));
        Ok(encoding.map(SkipReason::Encoding))
    }

    /// True if a place lies in a submodule or in a repository that this one knows nothing of.
    pub(super) fn in_another_repository(&self, index: &Index, place: &Path, tracked: bool) -> bool {
        let folders = place.ancestors().skip(1);
        let mut folders = folders.filter(|folder| *folder != Path::new(""));
        folders.any(|folder| {
            let entry = index.get_path(folder, 0);
            let repository = self.top.join(folder).join(".git");
            entry.as_ref().is_some_and(is_gitlink) || (!tracked && repository.exists())
        })
    }

    /// Reads what git's attributes say of a path, where they say more than yes or no.
    pub(super) fn attribute(&self, path: &Path, name: &str) -> GitResult<Option<String>> {
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
    /// True if the change is made in this index.
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

/// True if the user keeps a change to himself. In a sparse checkout git itself takes skip-worktree off a file that is
/// there nevertheless; elsewhere the mark is the user's way to keep a local change out of commits.
fn is_kept_by_user(config: &Config, entry: &IndexEntry, kind: PathKind) -> bool {
    let skipped = entry.flags_extended & SKIP_WORKTREE != 0;
    let brought_back =
        config.get_bool("core.sparseCheckout").unwrap_or(false) && kind != PathKind::Nothing;
    entry.flags & ASSUME_UNCHANGED != 0 || (skipped && !brought_back)
}

/// True if two entries of one path say the same of it, stat data included.
fn same(one: &IndexEntry, other: &IndexEntry) -> bool {
    let marks = |entry: &IndexEntry| entry.flags_extended & (SKIP_WORKTREE | INTENT_TO_ADD);
    (one.id, one.mode, one.file_size) == (other.id, other.mode, other.file_size)
        && (one.mtime, one.ctime) == (other.mtime, other.ctime)
        && marks(one) == marks(other)
}
