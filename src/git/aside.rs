//! What a file task is about to change and no save takes in, as git leaves it out: ignored files, those that a filter would
//! have to change, those of another repository. In the user's repository they go to the private one of the root, in a
//! plain folder to the one that is there. Commits nothing else, and is never a reason not to run a task.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use git2::{IndexEntry, Repository};

use super::at::find;
use super::recorded::is_kept;
use super::stage::Staging;
use super::untracked::is_below;
use super::walk::written;
use super::{
    History, Look, Message, Skipped, SnapshotError, Snapshots, State, Step, look, private, walk,
};
use crate::reply::path::is_git;
use crate::text::size;

/// How far back another folder's snapshots are looked through for a batch.
const COMMITS: usize = 500;

/// What was guarded since the last save after a task, relative to the root: the paths as they were named, and what was
/// saved of them.
#[derive(Default)]
pub(super) struct Guarded {
    paths: Vec<PathBuf>,
    pub(super) files: BTreeSet<PathBuf>,
}

/// Something that a file task is about to change, and why no save has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    pub path: PathBuf,
    pub why: String,
}

/// Files that no save takes in, relative to the repository's top.
#[derive(Default)]
struct LeftOut {
    files: BTreeSet<PathBuf>,
    /// Only what is not saved yet was looked for.
    not_saved: bool,
    bytes: u64,
    /// They are more than what is kept aside.
    too_much: bool,
}

impl Snapshots {
    /// Saves what a file task is about to change at these paths (relative to the root) and no save has taken in yet.
    /// [`Self::after_paths`] saves what the task made of it. The answer is what could not be saved.
    pub fn guard(&mut self, paths: &[PathBuf], message: &Message) -> Vec<Lost> {
        let _working = self.relief.working();
        let mut files = Vec::new();
        let mut lost = Vec::new();
        match self.left_out(paths, true) {
            Ok(left) if !left.too_much => files = self.below_root(&left),
            // Each by itself may do.
            _ => {
                for path in paths {
                    match self.left_out(std::slice::from_ref(path), true) {
                        Ok(left) if left.too_much => lost.push(Lost::of(path, self.too_much())),
                        Ok(left) => files.extend(self.below_root(&left)),
                        Err(why) => lost.push(Lost::of(path, why)),
                    }
                }
            }
        }
        let mut guarded = self.guarded.take();
        guarded.paths.extend(paths.iter().cloned());
        guarded.files.extend(files.iter().cloned());
        self.guarded.replace(guarded);
        if !files.is_empty() {
            self.save_guarded(&files, message, &mut lost);
        }
        if !lost.is_empty() {
            let places = paths.iter().map(|path| self.root.join(path));
            let places: Vec<PathBuf> = places.collect();
            self.users.get_mut().lost.extend(places);
        }
        lost
    }

    fn save_guarded(&mut self, files: &[PathBuf], message: &Message, lost: &mut Vec<Lost>) {
        match self.save_left_out(files, message) {
            Ok(state) => {
                let skipped = state.skipped.into_iter();
                lost.extend(skipped.map(|skipped| Lost::of(&skipped.path, skipped.why)));
            }
            Err(why) => lost.push(Lost::of(&files[0], why)),
        }
    }

    /// Saves aside what is untracked, and what has changed of all that was saved there. What git tracks by now has its
    /// history there from here on.
    pub(super) fn keep_untracked(&mut self, is_before: bool, message: &Message) {
        let _working = self.relief.working();
        if self.options.private_limit == 0 {
            return;
        }
        let count = self.looked.borrow().untracked.len();
        if is_before {
            let is_unkept = count > self.options.private_limit;
            self.users.get_mut().is_unkept = is_unkept;
            if is_unkept {
                let limit = self.options.private_limit;
                self.say(&format!(
                    "⚠ undo will not bring back untracked files: there are {count}, more than {limit} (`git.private_limit`)"
                ));
            }
        }
        let kept = self.to_keep(is_before);
        let kept = kept.and_then(|kept| {
            if kept.is_empty() {
                return Ok(());
            }
            let message = self.beside(message)?;
            let store = self.aside_to_write()?;
            store.healed(|store| store.save(Look::Restored(&kept), &message))?;
            Ok(())
        });
        if let Err(why) = kept {
            self.say(&format!(
                "⚠ undo will not bring back untracked files: {why}"
            ));
        }
    }

    /// Lists the files to save aside, relative to the root; with false, those that no longer need to be there.
    pub(super) fn to_keep(&self, before: bool) -> Result<Vec<(PathBuf, bool)>, SnapshotError> {
        let ours = self.index_now()?;
        let looked = self.looked.borrow();
        let below = |path: &PathBuf| Some(path.strip_prefix(&self.root).ok()?.to_path_buf());
        let untracked = looked.untracked.iter();
        let untracked = untracked.filter(|path| ours.get_path(path, 0).is_none());
        let mut untracked: BTreeSet<PathBuf> = untracked.filter_map(below).collect();
        let users = self.users.borrow();
        if before {
            if untracked.len() > self.options.private_limit {
                untracked.clear();
            }
        } else {
            // What was there before and was not saved then is not new.
            untracked.retain(|path| {
                let place = self.root.join(path);
                !users.is_unkept && self.is_new(&place) && !is_below(&place, &users.only)
            });
        }
        let mut kept = Vec::new();
        if let Some(aside) = self.aside() {
            let is_clean = aside.is_clean()?;
            for entry in aside.index_now()?.iter() {
                let path = look::path_of(&entry);
                untracked.remove(&path);
                let place = self.root.join(&path);
                let is_tracked = || {
                    ours.get_path(&place, 0).is_some_and(|it| !is_kept(&it))
                        && !self.passed_over.borrow().contains(&place)
                        && !self.is_left_out(&place)
                };
                if before && is_tracked() {
                    kept.push((path, false));
                } else if !is_clean(&entry) {
                    kept.push((path, true));
                }
            }
        }
        kept.extend(untracked.into_iter().map(|path| (path, true)));
        Ok(kept)
    }

    /// The private repository that holds what this one leaves out, if there is one. None where this is a private one, which
    /// holds that itself.
    pub fn aside(&self) -> Option<&Self> {
        let open = || {
            let is_there = !self.private && private::exists(&self.root_path(), &self.options);
            is_there.then(|| self.open_aside().ok()).flatten()
        };
        self.aside.get_or_init(open).as_deref()
    }

    /// Finds another folder in whose private snapshots one of these batches is: the batch ran there, and only there all of it
    /// can be taken back. `paths` (relative to the root) are those that it changed.
    pub fn saved_elsewhere(&self, batches: &[&str], paths: &[&Path]) -> Option<PathBuf> {
        if self.private {
            return None;
        }
        let root = self.root_path();
        let above = root.ancestors().skip(1);
        let above = above.take_while(|folder| folder.starts_with(&self.top));
        let below = paths.iter().flat_map(|path| path.ancestors().skip(1));
        let below = below.filter(|folder| !folder.as_os_str().is_empty());
        let below: BTreeSet<PathBuf> = below.map(|folder| root.join(folder)).collect();
        let mut folders = above.map(Path::to_path_buf).chain(below);
        folders.find(|folder| self.has_batch(folder, batches).unwrap_or(false))
    }

    fn has_batch(&self, folder: &Path, batches: &[&str]) -> Result<bool, SnapshotError> {
        if !private::exists(folder, &self.options) {
            return Ok(false);
        }
        let store = Repository::open_bare(private::path_of(folder, &self.options))?;
        let mut history = History::from(Some(store.head()?.peel_to_commit()?));
        for _ in 0..COMMITS {
            let Some(saved) = history.next_saved()? else {
                break;
            };
            if saved.step != Step::Before && batches.contains(&saved.batch.as_str()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What is left out at these paths (relative to the root) and those that were guarded, or was when it was saved.
    pub(super) fn left_out_now(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let _working = self.relief.working();
        let Guarded {
            paths: mut all,
            mut files,
        } = self.guarded.take();
        all.extend_from_slice(paths);
        if let Ok(left) = self.left_out(&all, false)
            && !left.too_much
        {
            let saved = self.below_root(&left).into_iter();
            files.extend(saved.filter(|file| !self.is_lost(&self.root.join(file))));
        }
        if let Some(aside) = self.aside()
            && let Ok(theirs) = aside.index_now()
        {
            // What is gone can be known from there only; and what git tracks by now goes on there until the next batch, as
            // undo has it back from there.
            for path in &all {
                let itself = theirs.get_path(path, 0).map(|_| path.clone());
                let known = look::below(&theirs, path).map(|entry| look::path_of(&entry));
                files.extend(known.chain(itself));
            }
        }
        files.into_iter().collect()
    }

    /// Saves these files (relative to the root) aside; what is skipped then, of what another save has skipped.
    pub(super) fn save_aside(
        &mut self,
        mut skipped: Vec<Skipped>,
        files: &[PathBuf],
        message: &Message,
    ) -> Vec<Skipped> {
        self.users.get_mut().unsaved.clear();
        if files.is_empty() {
            return skipped;
        }
        match self.save_left_out(files, message) {
            Ok(aside) => {
                let is_saved = |path: &Path| {
                    let below = path.strip_prefix(&self.root).unwrap_or(path);
                    files.iter().any(|file| file == below)
                        && !aside.skipped.iter().any(|skipped| skipped.path == below)
                };
                skipped.retain(|skipped| !is_saved(&skipped.path));
            }
            Err(why) => self.say(&format!("⚠ {}", Lost::of(&files[0], why))),
        }
        skipped
    }

    fn save_left_out(
        &mut self,
        files: &[PathBuf],
        message: &Message,
    ) -> Result<State, SnapshotError> {
        let message = self.beside(message)?;
        let store = match self.private {
            true => self,
            false => self.aside_to_write()?,
        };
        store.healed(|store| store.save(Look::Paths(files), &message))
    }

    /// The message of a commit that is made aside now.
    fn beside(&self, message: &Message) -> Result<Message, SnapshotError> {
        let tip = if self.private { None } else { self.tip()? };
        Ok(Message {
            beside: tip.map(|commit| commit.id().to_string()),
            ..message.clone()
        })
    }

    fn aside_to_write(&mut self) -> Result<&mut Self, SnapshotError> {
        if !matches!(self.aside.get(), Some(Some(_))) {
            self.aside = OnceCell::from(Some(self.open_aside()?));
        }
        let aside = self.aside.get_mut().and_then(Option::as_deref_mut);
        aside.ok_or_else(|| SnapshotError::OutsideRoot(PathBuf::new()))
    }

    fn open_aside(&self) -> Result<Box<Self>, SnapshotError> {
        let root = self.root_path();
        let opened = private::repository(&root, &self.options)?;
        let with = (&self.options, self.hurry.clone());
        let mut aside = Self::of(opened, root.clone(), &root, with);
        aside.private = true;
        Ok(Box::new(aside))
    }

    /// Lists what no save takes in at these paths; with `not_saved` only what was there when the batch began and was not saved
    /// then.
    fn left_out(&self, paths: &[PathBuf], not_saved: bool) -> Result<LeftOut, SnapshotError> {
        let mut left = LeftOut {
            not_saved,
            ..LeftOut::default()
        };
        let mut index = self.index_now()?;
        let mut staging =
            Staging::new(self, &mut index, (None, walk::written(&self.index_path())))?;
        for path in paths {
            for place in staging.places_of(path)? {
                self.look(place, false, &mut staging, &mut left)?;
            }
        }
        Ok(left)
    }

    /// Looks at a place and all below it. `whole`: nothing of it is saved otherwise.
    fn look(
        &self,
        place: PathBuf,
        whole: bool,
        staging: &mut Staging<'_>,
        left: &mut LeftOut,
    ) -> Result<(), SnapshotError> {
        let at = self.top.join(&place);
        let Ok(data) = fs::symlink_metadata(&at) else {
            return Ok(());
        };
        if !data.is_dir() {
            if (data.is_file() || data.is_symlink())
                && !self.is_left_out(&place)
                && !(left.not_saved && self.is_kept_aside(&place)?)
                && (whole || self.leaves_out(&place, staging, left.not_saved)?)
            {
                left.bytes += data.len();
                left.files.insert(place);
                left.too_much |= left.bytes > self.options.private_file
                    || left.files.len() > self.options.private_limit;
            }
            return Ok(());
        }
        let whole = whole || self.leaves_out_whole(&place, staging)?;
        let entries = fs::read_dir(&at).map_err(|why| SnapshotError::unreadable(&place, why))?;
        for name in entries.flatten().map(|entry| entry.file_name()) {
            if left.too_much {
                break;
            }
            // No task touches one.
            if !name.to_str().is_some_and(is_git) {
                self.look(place.join(name), whole, staging, left)?;
            }
        }
        Ok(())
    }

    fn below_root(&self, left: &LeftOut) -> Vec<PathBuf> {
        let below = |file: &PathBuf| Some(file.strip_prefix(&self.root).ok()?.to_path_buf());
        left.files.iter().filter_map(below).collect()
    }

    /// The root, as private repositories are named by it.
    pub(super) fn root_path(&self) -> PathBuf {
        match self.root.as_os_str().is_empty() {
            true => self.top.clone(),
            false => self.top.join(&self.root),
        }
    }

    fn too_much(&self) -> String {
        let bytes = size::show(self.options.private_file);
        match self.options.private_limit {
            0 => "git does not save it, and `git.private_limit` is 0".to_owned(),
            files => format!(
                "what git does not save there is more than {bytes} (`git.private_file`) or {files} files \
                 (`git.private_limit`)"
            ),
        }
    }

    fn say(&self, said: &str) {
        self.notices.borrow_mut().push(said.to_owned());
    }

    /// Makes a check of entries of this index by the stat data of their files.
    fn is_clean(&self) -> Result<impl Fn(&IndexEntry) -> bool, SnapshotError> {
        let walk = self.walk_of(
            &self.repo.config()?.snapshot()?,
            written(&self.index_path()),
        );
        let real = RefCell::new(HashMap::new());
        Ok(move |entry: &IndexEntry| {
            let path = look::path_of(entry);
            let folder = path.parent().unwrap_or(Path::new(""));
            is_real(&self.top, folder, &mut real.borrow_mut()) && walk.is_clean(entry)
        })
    }

    /// Whether no save takes in the file or link at a place.
    fn leaves_out(
        &self,
        place: &Path,
        staging: &mut Staging<'_>,
        not_saved: bool,
    ) -> Result<bool, SnapshotError> {
        // What is new since the batch began is another program's: no task goes over it.
        let is_untracked = || {
            if self.leaves_untracked() {
                !(not_saved && self.is_new(place))
            } else {
                self.is_secret(place)
            }
        };
        let recorded = staging.index.get_path(place, 0);
        let found = find(&self.top, place)?;
        Ok(staging.in_another_repository(place, recorded.is_some())
            || staging
                .withheld(place, recorded.as_ref(), &found)?
                .is_some()
            || recorded.is_none() && (is_untracked() || self.repo.is_path_ignored(place)?))
    }

    /// Tells that a file or link is known to the private snapshots. It was saved when the batch began, and no task overwrites
    /// what somebody made of it since.
    fn is_kept_aside(&self, place: &Path) -> Result<bool, SnapshotError> {
        let (Some(aside), Ok(below)) = (self.aside(), place.strip_prefix(&self.root)) else {
            return Ok(false);
        };
        Ok(aside.index_now()?.get_path(below, 0).is_some())
    }

    /// The same for a folder with all that is in it.
    fn leaves_out_whole(&self, place: &Path, staging: &Staging<'_>) -> Result<bool, SnapshotError> {
        if place.as_os_str().is_empty() || look::below(staging.index, place).next().is_some() {
            return Ok(false);
        }
        Ok(staging.in_another_repository(&place.join("x"), false)
            || self.repo.is_path_ignored(place.join(""))?)
    }
}

/// Tells that a folder is reached through no link: what is behind one is elsewhere.
fn is_real(top: &Path, folder: &Path, known: &mut HashMap<PathBuf, bool>) -> bool {
    let Some(above) = folder.parent() else {
        return true;
    };
    if let Some(known) = known.get(folder) {
        return *known;
    }
    let is_folder = || fs::symlink_metadata(top.join(folder)).is_ok_and(|it| it.is_dir());
    let is_real = is_real(top, above, known) && is_folder();
    known.insert(folder.to_path_buf(), is_real);
    is_real
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
