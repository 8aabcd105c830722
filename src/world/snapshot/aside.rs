//! What a file task is about to change and no save takes in, as git leaves it out: ignored files, those that a filter would
//! have to change, those of another repository. In the user's repository they go to the private one of the root, in a
//! plain folder to the one that is there. Commits nothing else, and is never a reason not to run a task.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::stage::{Staging, find};
use super::{Look, Message, SnapshotError, Snapshots, State, look, private};
use crate::lang::path::is_git;
use crate::lang::size;

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
        self.kept_aside.take();
        let mut files = Vec::new();
        for path in paths {
            match self.left_out(std::slice::from_ref(path)) {
                Ok(left) if left.too_much => self.will_not_come_back(path, &self.too_much()),
                Ok(left) => files.extend(self.below_root(&left)),
                Err(why) => self.will_not_come_back(path, &why.to_string()),
            }
        }
        if files.is_empty() {
            return;
        }
        match self.save_left_out(&files, message) {
            Ok(state) => {
                for skipped in state.skipped {
                    let why = skipped.why.to_string();
                    self.will_not_come_back(&skipped.path, &why);
                }
            }
            Err(why) => self.will_not_come_back(&files[0], &why.to_string()),
        }
        self.kept_aside.borrow_mut().extend(files);
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

    /// What is left out at these paths (relative to the root) now, or was before the task.
    pub(super) fn left_out_now(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let mut files = self.kept_aside.take();
        if let Ok(left) = self.left_out(paths)
            && !left.too_much
        {
            files.extend(self.below_root(&left));
        }
        files.into_iter().collect()
    }

    /// Saves these files (relative to the root) beside the user's repository; which of them it has then, relative to the
    /// top.
    pub(super) fn save_aside(&mut self, files: &[PathBuf], message: &Message) -> BTreeSet<PathBuf> {
        if files.is_empty() {
            return BTreeSet::new();
        }
        match self.save_left_out(files, message) {
            Ok(state) => {
                let is_saved = |file: &&PathBuf| !state.skipped.iter().any(|it| it.path == **file);
                let saved = files.iter().filter(is_saved);
                saved.map(|file| self.root.join(file)).collect()
            }
            Err(why) => {
                self.will_not_come_back(&files[0], &why.to_string());
                BTreeSet::new()
            }
        }
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
        let mut index = self.repo.index()?;
        index.read(false)?;
        for one in &*self.unsettled.borrow() {
            one.put(&mut index)?;
        }
        let mut staging = Staging::new(self, &mut index)?;
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
        if place.as_os_str().is_empty() || !look::tracked_below(staging.index, place).is_empty() {
            return Ok(false);
        }
        Ok(staging.in_another_repository(&place.join("x"), false)
            || self.repo.is_path_ignored(place.join(""))?)
    }
}
