//! The files that a file task is about to change and that no save takes in, as git leaves them out: ignored files, those that
//! a filter would have to change, those of another repository. In the user's repository they go to the private one of the
//! root, in a plain folder to the one that is there. Commits nothing else, and is never a reason not to run a task.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use git2::{Config, Index, Repository, Tree};

use super::at::find;
use super::error::GitResult;
use super::history::first_parents;
use super::recorded::{KnownEntries, is_kept};
use super::rules::SaveRules;
use super::untracked::{UntrackedState, is_below};
use super::walk::IndexWalk;
use super::{
    CommitStep, Message, SaveOutcome, SaveScope, Saved, Skipped, SnapshotError, Snapshots, Store,
    look, private,
};
use crate::reply::path::is_git;
use crate::text::size;

/// The number of commits of another folder that are looked through for a batch.
const COMMITS: usize = 500;

/// The paths that were guarded since the last save after a task, as they were named, and what was saved of them. All are
/// relative to the root.
#[derive(Default)]
pub(super) struct GuardedPaths {
    paths: Vec<PathBuf>,
    pub(super) files: BTreeSet<PathBuf>,
}

/// Something that a file task is about to change, and why no save has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    pub path: PathBuf,
    pub why: String,
}

/// A search for files that no save takes in. All paths are relative to the repository's top.
struct UnsavedSearch<'s> {
    snapshots: &'s Snapshots,
    index: Index,
    config: Config,
    /// Only what is not saved yet is looked for.
    not_saved: bool,
    files: BTreeSet<PathBuf>,
    bytes: u64,
}

impl Snapshots {
    /// Saves what a file task is about to change at these paths (relative to the root) and no save has taken in yet.
    /// [`Self::after_paths`] saves what the task made of it. Returns what could not be saved.
    pub fn guard(&mut self, paths: &[PathBuf], message: &Message) -> Vec<Lost> {
        let _working = self.store.relief.working();
        let mut lost = Vec::new();
        // Each by itself may do.
        let files = self.left_out(paths, true).ok().flatten();
        let files = files.unwrap_or_else(|| {
            let each = paths.iter().flat_map(|path| {
                let why = match self.left_out(std::slice::from_ref(path), true) {
                    Ok(Some(files)) => return files,
                    Ok(None) => self.too_much(),
                    Err(why) => why.to_string(),
                };
                lost.push(Lost::of(path, why));
                Vec::new()
            });
            each.collect()
        });
        self.guarded.paths.extend(paths.iter().cloned());
        self.guarded.files.extend(files.iter().cloned());
        if !files.is_empty() {
            match self.save_left_out(&files, message) {
                Ok(outcome) => {
                    let skipped = outcome.skipped.into_iter();
                    lost.extend(skipped.map(|skipped| Lost::of(&skipped.path, skipped.why)));
                }
                Err(why) => lost.push(Lost::of(&files[0], why)),
            }
        }
        if !lost.is_empty() {
            let places = paths.iter().map(|path| self.store.root.join(path));
            self.untracked.lost.extend(places);
        }
        lost
    }

    /// Saves aside what is untracked, and what has changed of all that was saved there. What git tracks by now has its
    /// history there from here on.
    pub(super) fn keep_untracked(&mut self, is_before: bool, message: &Message) {
        let _working = self.store.relief.working();
        let limit = self.store.rules.options.private_limit;
        if limit == 0 {
            return;
        }
        let count = self.untracked.looked.untracked.len();
        if is_before {
            self.untracked.is_unkept = count > limit;
            if count > limit {
                self.store.say(format!(
                    "⚠ undo will not bring back untracked files: there are {count}, more than {limit} (`git.private_limit`)"
                ));
            }
        }
        let kept = self.to_keep(is_before).and_then(|kept| {
            if !kept.is_empty() {
                let message = self.beside(message)?;
                save_in(self.aside_to_write()?, SaveScope::Restored(&kept), &message)?;
            }
            Ok(())
        });
        if let Err(why) = kept {
            self.store
                .say(format!("⚠ undo will not bring back untracked files: {why}"));
        }
        if is_before {
            let tip = self.aside().map(Store::tip).transpose();
            let tip = tip.ok().flatten().flatten().map(|commit| commit.id());
            self.untracked.kept = tip;
        }
    }

    /// Lists the files to save aside, relative to the root; with false, those that no longer need to be there.
    pub(super) fn to_keep(&self, before: bool) -> GitResult<Vec<(PathBuf, bool)>> {
        let store = &self.store;
        let ours = store.index_now()?;
        let state = &self.untracked;
        let untracked = state.looked.untracked.iter();
        let untracked = untracked.filter(|path| ours.get_path(path, 0).is_none());
        let untracked = untracked.filter_map(|path| store.below_root(path));
        let mut untracked: BTreeSet<PathBuf> = untracked.collect();
        let kept_then = self.kept_then()?;
        let was_kept = |path: &Path| {
            let tree = kept_then.as_ref();
            tree.is_some_and(|tree| tree.get_path(path).is_ok())
        };
        if before {
            if untracked.len() > store.rules.options.private_limit {
                untracked.clear();
            }
        } else {
            // What was there before and was not saved then is not new. What was saved may have gone and come again.
            untracked.retain(|path| {
                let place = store.root.join(path);
                !state.is_unkept
                    && (state.is_new(&place) || was_kept(path))
                    && !is_below(&place, &state.only)
            });
        }
        let mut kept = Vec::new();
        if let Some(aside) = self.aside() {
            for (path, is_clean) in aside.compared()? {
                untracked.remove(&path);
                let place = store.root.join(&path);
                let is_tracked = || {
                    ours.get_path(&place, 0).is_some_and(|it| !is_kept(&it))
                        && !self.passed_over.contains(&place)
                        && !store.rules.is_left_out(&place)
                };
                if before && is_tracked() {
                    kept.push((path, false));
                } else if !is_clean {
                    kept.push((path, true));
                }
            }
        }
        kept.extend(untracked.into_iter().map(|path| (path, true)));
        Ok(kept)
    }

    /// The tree of what was saved aside when the batch began.
    fn kept_then(&self) -> GitResult<Option<Tree<'_>>> {
        let Some((aside, then)) = self.aside().zip(self.untracked.kept) else {
            return Ok(None);
        };
        Ok(Some(aside.repo.find_commit(then)?.tree()?))
    }

    /// The private repository that holds what this one leaves out, if there is one. None where this is a private one, which
    /// holds that itself.
    pub fn aside(&self) -> Option<&Store> {
        let open = || {
            let (root, options) = (self.store.root_path(), &self.store.rules.options);
            let is_there = !self.store.is_private() && private::exists(&root, options);
            is_there.then(|| self.open_aside().ok()).flatten()
        };
        self.aside.get_or_init(open).as_ref()
    }

    /// The histories here: what git saves, and what is kept beside it.
    pub fn stores(&self) -> Vec<&Store> {
        let own = Some(&self.store);
        own.into_iter().chain(self.aside()).collect()
    }

    /// Finds another folder in whose private snapshots one of these batches is: the batch ran there, and only there all of it
    /// can be taken back. `paths` (relative to the root) are those that it changed.
    pub fn saved_elsewhere(&self, batches: &[&str], paths: &[&Path]) -> Option<PathBuf> {
        if self.store.is_private() {
            return None;
        }
        let root = self.store.root_path();
        let above = root.ancestors().skip(1);
        let above = above.take_while(|folder| folder.starts_with(&self.store.top));
        let below = paths.iter().flat_map(|path| path.ancestors().skip(1));
        let below = below.filter(|folder| !folder.as_os_str().is_empty());
        let below: BTreeSet<PathBuf> = below.map(|folder| root.join(folder)).collect();
        let mut folders = above.map(Path::to_path_buf).chain(below);
        folders.find(|folder| self.has_batch(folder, batches).unwrap_or(false))
    }

    fn has_batch(&self, folder: &Path, batches: &[&str]) -> GitResult<bool> {
        let options = &self.store.rules.options;
        if !private::exists(folder, options) {
            return Ok(false);
        }
        let store = Repository::open_bare(private::path_of(folder, options))?;
        let commits = first_parents(Some(store.head()?.peel_to_commit()?));
        let ours = commits.filter_map(|commit| commit.map(|it| Saved::of(&it)).transpose());
        for saved in ours.take(COMMITS) {
            let saved = saved?;
            if saved.message.step != CommitStep::Before
                && batches.contains(&saved.message.batch.as_str())
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Lists what is left out at these paths (relative to the root) and those that were guarded, or was when it was saved.
    pub(super) fn left_out_now(&mut self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let _working = self.store.relief.working();
        let mut guarded = std::mem::take(&mut self.guarded);
        guarded.paths.extend_from_slice(paths);
        let mut files = guarded.files;
        if let Ok(Some(saved)) = self.left_out(&guarded.paths, false) {
            let is_lost = |file: &PathBuf| self.untracked.is_lost(&self.store.root.join(file));
            files.extend(saved.into_iter().filter(|file| !is_lost(file)));
        }
        if let Some(aside) = self.aside()
            && let Ok(theirs) = aside.index_now()
        {
            // What is gone can be known from there only; and what git tracks by now goes on there until the next batch, as
            // undo has it back from there.
            for path in &guarded.paths {
                let itself = theirs.get_path(path, 0).map(|_| path.clone());
                let known = look::below(&theirs, path).map(|entry| look::path_of(&entry));
                files.extend(known.chain(itself));
            }
        }
        files.into_iter().collect()
    }

    /// Saves these files (relative to the root) aside, and takes them out of what another save has skipped.
    pub(super) fn save_aside(
        &mut self,
        skipped: &mut Vec<Skipped>,
        files: &[PathBuf],
        message: &Message,
    ) {
        self.untracked.unsaved.clear();
        if files.is_empty() {
            return;
        }
        match self.save_left_out(files, message) {
            Ok(aside) => skipped.retain(|skipped| {
                let path = &skipped.path;
                let below = path.strip_prefix(&self.store.root).unwrap_or(path);
                !files.iter().any(|file| file == below)
                    || aside.skipped.iter().any(|skipped| skipped.path == below)
            }),
            Err(why) => self.store.say(format!("⚠ {}", Lost::of(&files[0], why))),
        }
    }

    fn save_left_out(&mut self, files: &[PathBuf], message: &Message) -> GitResult<SaveOutcome> {
        let message = self.beside(message)?;
        let scope = SaveScope::Paths(files);
        if !self.store.is_private() {
            return save_in(self.aside_to_write()?, scope, &message);
        }
        let outcome = save_in(&mut self.store, scope, &message)?;
        self.note(&outcome);
        Ok(outcome)
    }

    /// The message of a commit that is made aside now.
    fn beside(&self, message: &Message) -> GitResult<Message> {
        let tip = if self.store.is_private() {
            None
        } else {
            self.store.tip()?
        };
        Ok(Message {
            beside: tip.map(|commit| commit.id().to_string()),
            ..message.clone()
        })
    }

    fn aside_to_write(&mut self) -> GitResult<&mut Store> {
        if !matches!(self.aside.get(), Some(Some(_))) {
            self.aside = OnceCell::from(Some(self.open_aside()?));
        }
        let aside = self.aside.get_mut().and_then(Option::as_mut);
        aside.ok_or_else(|| SnapshotError::OutsideRoot(PathBuf::new()))
    }

    fn open_aside(&self) -> GitResult<Store> {
        let (root, options) = (self.store.root_path(), &self.store.rules.options);
        let opened = private::repository(&root, None, options)?;
        let rules = SaveRules::of(options, true);
        let hurry = self.store.locks.hurry.clone();
        Ok(Store::new(opened, root.clone(), &root, rules, hurry))
    }

    /// Lists what no save takes in at these paths, relative to the root; `None` where it is more than what is kept aside. With
    /// `not_saved` only what was there when the batch began and was not saved then.
    fn left_out(&self, paths: &[PathBuf], not_saved: bool) -> GitResult<Option<Vec<PathBuf>>> {
        let store = &self.store;
        let mut search = UnsavedSearch {
            snapshots: self,
            index: store.index_now()?,
            config: store.repo.config()?.snapshot()?,
            not_saved,
            files: BTreeSet::new(),
            bytes: 0,
        };
        for path in paths {
            for place in store.real_places(path)? {
                search.see(place, false)?;
            }
        }
        if search.is_too_much() {
            return Ok(None);
        }
        let files = search.files.iter();
        Ok(Some(
            files.filter_map(|file| store.below_root(file)).collect(),
        ))
    }

    fn too_much(&self) -> String {
        let options = &self.store.rules.options;
        let bytes = size::show(options.private_file);
        match options.private_limit {
            0 => "git does not save it, and `git.private_limit` is 0".to_owned(),
            files => format!(
                "what git does not save there is more than {bytes} (`git.private_file`) or {files} files \
                 (`git.private_limit`)"
            ),
        }
    }

    /// True for a file or link that the private snapshots know, by its place below the repository's top. It was saved when the
    /// batch began, and no task overwrites what somebody made of it since.
    pub(super) fn is_kept_aside(&self, place: &Path) -> GitResult<bool> {
        let below = self.store.below_root(place);
        match self.aside().zip(below) {
            Some((aside, below)) => aside.is_tracked(&below),
            None => Ok(false),
        }
    }
}

/// Saves in a private repository.
fn save_in(store: &mut Store, scope: SaveScope<'_>, message: &Message) -> GitResult<SaveOutcome> {
    store.healed(|store| store.save(scope, message, &mut UntrackedState::default()))
}

impl UnsavedSearch<'_> {
    /// Looks at a place and all below it. `whole`: nothing of it is saved otherwise.
    fn see(&mut self, place: PathBuf, whole: bool) -> GitResult<()> {
        let snapshots = self.snapshots;
        let at = snapshots.store.top.join(&place);
        let Ok(data) = fs::symlink_metadata(&at) else {
            return Ok(());
        };
        if !data.is_dir() {
            if (data.is_file() || data.is_symlink())
                && !snapshots.store.rules.is_left_out(&place)
                && !(self.not_saved && snapshots.is_kept_aside(&place)?)
                && (whole || self.leaves_out(&place)?)
            {
                self.bytes += data.len();
                self.files.insert(place);
            }
            return Ok(());
        }
        let whole = whole || self.leaves_out_whole(&place)?;
        let entries = fs::read_dir(&at).map_err(|why| SnapshotError::unreadable(&place, why))?;
        for name in entries.flatten().map(|entry| entry.file_name()) {
            if self.is_too_much() {
                break;
            }
            // No task touches one.
            if !name.to_str().is_some_and(is_git) {
                self.see(place.join(name), whole)?;
            }
        }
        Ok(())
    }

    /// True if there is more than what is kept aside.
    fn is_too_much(&self) -> bool {
        let options = &self.snapshots.store.rules.options;
        !self.files.is_empty()
            && (self.bytes > options.private_file || self.files.len() > options.private_limit)
    }

    /// True if no save takes in the file or link at a place.
    fn leaves_out(&mut self, place: &Path) -> GitResult<bool> {
        let (snapshots, store) = (self.snapshots, &self.snapshots.store);
        let recorded = self.index.get_path(place, 0);
        let kind = find(&store.top, place)?;
        let withheld = store.withheld(&self.config, place, recorded.as_ref(), kind)?;
        let is_withheld = withheld.is_some()
            || store.in_another_repository(&self.index, place, recorded.is_some());
        if is_withheld || recorded.is_some() {
            return Ok(is_withheld);
        }
        // What is new since the batch began is another program's: no task goes over it.
        let is_untracked = if store.rules.leaves_untracked() {
            !(self.not_saved && snapshots.untracked.is_new(place))
        } else {
            store.is_secret(place)
        };
        Ok(is_untracked || store.repo.is_path_ignored(place)?)
    }

    /// True if no save takes in a folder with all that is in it.
    fn leaves_out_whole(&self, place: &Path) -> GitResult<bool> {
        let store = &self.snapshots.store;
        if place.as_os_str().is_empty() || look::below(&self.index, place).next().is_some() {
            return Ok(false);
        }
        Ok(
            store.in_another_repository(&self.index, &place.join("x"), false)
                || store.repo.is_path_ignored(place.join(""))?,
        )
    }
}

impl Store {
    /// The files of the index, each with true if it is as the index has it, by its stat data.
    fn compared(&self) -> GitResult<Vec<(PathBuf, bool)>> {
        let config = self.repo.config()?.snapshot()?;
        let walk = IndexWalk::by(&config, &self.top, self.index_file());
        let top = Path::new("");
        let known = KnownEntries::of(&self.index_now()?, top);
        let doubts = walk.doubts(&known);
        let doubts: HashSet<PathBuf> = doubts.tracked.into_iter().collect();
        let paths = known.entries().iter().map(look::path_of);
        let compared = paths.map(|path| {
            let is_clean = !doubts.contains(&path);
            (path, is_clean)
        });
        Ok(compared.collect())
    }
}

impl Lost {
    fn of(path: &Path, why: impl fmt::Display) -> Self {
        let (path, why) = (path.to_path_buf(), why.to_string());
        Self { path, why }
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        write!(f, "undo will not bring back `{path}`: {}", self.why)
    }
}
