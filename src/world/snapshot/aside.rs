//! What a file task is about to change and no save takes in, as git leaves it out: ignored files, those that a filter would
//! have to change, those of another repository. In the user's repository they go to the private one of the root, in a
//! plain folder to the one that is there. Commits nothing else, and is never a reason not to run a task.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::stage::{Staging, find};
use super::{Look, Message, SnapshotError, Snapshots, State, look, private, walk};
use crate::lang::path::is_git;
use crate::lang::size;

/// What was guarded since the last save after a task, relative to the root: the paths as they were named, and what was
/// saved of them.
#[derive(Default)]
pub(super) struct Guarded {
    paths: Vec<PathBuf>,
    files: BTreeSet<PathBuf>,
}

/// Files that no save takes in, relative to the repository's top.
#[derive(Default)]
struct LeftOut {
    files: BTreeSet<PathBuf>,
    bytes: u64,
    /// They are more than what is kept aside.
    too_much: bool,
}

impl Snapshots {
    /// Saves what a file task is about to change at these paths (relative to the root) and [`Self::before`] has left out.
    /// [`Self::after_paths`] saves what the task made of it. What undo will not bring back is among the notices.
    pub fn guard(&mut self, paths: &[PathBuf], message: &Message) {
        let mut files = Vec::new();
        match self.left_out(paths) {
            Ok(left) if !left.too_much => files = self.below_root(&left),
            // Each by itself may do.
            _ => {
                for path in paths {
                    match self.left_out(std::slice::from_ref(path)) {
                        Ok(left) if left.too_much => {
                            self.will_not_come_back(path, &self.too_much());
                        }
                        Ok(left) => files.extend(self.below_root(&left)),
                        Err(why) => self.will_not_come_back(path, &why.to_string()),
                    }
                }
            }
        }
        let mut guarded = self.guarded.take();
        guarded.paths.extend(paths.iter().cloned());
        guarded.files.extend(files.iter().cloned());
        self.guarded.replace(guarded);
        if files.is_empty() {
            return;
        }
        match self.save_left_out(&files, message) {
            Ok(state) => {
                for skipped in state.skipped {
                    self.will_not_come_back(&skipped.path, &skipped.why.to_string());
                }
            }
            Err(why) => self.will_not_come_back(&files[0], &why.to_string()),
        }
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

    /// What is left out at these paths (relative to the root) and those that were guarded, or was when it was saved.
    pub(super) fn left_out_now(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let Guarded {
            paths: mut all,
            mut files,
        } = self.guarded.take();
        all.extend_from_slice(paths);
        if let Ok(left) = self.left_out(&all)
            && !left.too_much
        {
            files.extend(self.below_root(&left));
        }
        if let Some(aside) = self.aside()
            && let (Ok(theirs), Ok(ours)) = (aside.index_now(), self.index_now())
        {
            // What is gone can be known from there only.
            let is_ours = |path: &PathBuf| ours.get_path(&self.root.join(path), 0).is_some();
            for path in &all {
                let itself = theirs.get_path(path, 0).map(|_| path.clone());
                let known = look::below(&theirs, path).map(|entry| look::path_of(&entry));
                let known = known.chain(itself);
                files.extend(known.filter(|path| !is_ours(path)));
            }
        }
        files.into_iter().collect()
    }

    /// Saves these files (relative to the root), and puts what came of it to what else was saved.
    pub(super) fn with_left_out(
        &mut self,
        mut state: State,
        files: &[PathBuf],
        message: &Message,
    ) -> State {
        if files.is_empty() {
            return state;
        }
        match self.save_left_out(files, message) {
            Ok(own) if self.private => {
                state.commit = own.commit;
                state.changed |= own.changed;
            }
            Ok(aside) => {
                let is_saved = |path: &Path| {
                    let below = path.strip_prefix(&self.root).unwrap_or(path);
                    files.iter().any(|file| file == below)
                        && !aside.skipped.iter().any(|skipped| skipped.path == below)
                };
                state.skipped.retain(|skipped| !is_saved(&skipped.path));
            }
            Err(why) => self.will_not_come_back(&files[0], &why.to_string()),
        }
        state
    }

    fn save_left_out(
        &mut self,
        files: &[PathBuf],
        message: &Message,
    ) -> Result<State, SnapshotError> {
        let store = match self.private {
            true => self,
            false => self.aside_to_write()?,
        };
        store.healed(|store| store.save(Look::Paths(files), message))
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

    fn left_out(&self, paths: &[PathBuf]) -> Result<LeftOut, SnapshotError> {
        let mut left = LeftOut::default();
        let mut index = self.index_now()?;
        let mut staging = Staging::new(self, &mut index, walk::written(&self.index_path()))?;
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
                && (whole || self.leaves_out(&place, staging)?)
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
            0 => "git leaves it out, and `git.private_limit` is 0".to_owned(),
            files => format!(
                "what git leaves out there is more than {bytes} (`git.private_file`) or {files} files \
                 (`git.private_limit`)"
            ),
        }
    }

    fn will_not_come_back(&self, path: &Path, why: &str) {
        let said = format!("⚠ undo will not bring back `{}`: {why}", path.display());
        self.notices.borrow_mut().push(said);
    }

    /// Whether no save takes in the file or link at a place.
    fn leaves_out(&self, place: &Path, staging: &mut Staging<'_>) -> Result<bool, SnapshotError> {
        let recorded = staging.index.get_path(place, 0);
        let found = find(&self.top, place)?;
        Ok(staging.in_another_repository(place, recorded.is_some())
            || staging
                .withheld(place, recorded.as_ref(), &found)?
                .is_some()
            || recorded.is_none() && self.repo.is_path_ignored(place)?)
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
