//! Atomic batches: what their file tasks are going to change, kept on the disk until they are over, and how that is taken
//! back, right away or at the next start. Never puts anything over what neither the batch nor the state before it left.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::due::Due;
use super::saving::{Saving, Seen};
use crate::git::{SnapshotError, Snapshots};
use crate::reply::record::FileState;
use crate::reply::task::{Action, Batch, Task};
use crate::report::outcome::Status;
use crate::run::files;
use crate::run::progress::TakenBack;
use crate::world::file_or_link::FileOrLink;
use crate::world::intent::Intent;
use crate::world::workspace::{Disk, FsError, Preview, ProjectFiles};

/// An atomic batch in progress, which git can take back.
pub(super) struct Atomic {
    intent: Intent,
    plan: Plan,
    /// For each task, which paths it changes.
    tasks: Vec<BTreeSet<PathBuf>>,
    /// What git does not have as it is cannot be brought back: no task may change it.
    strict: bool,
    /// A command ran since the plan was made.
    command_ran: bool,
    /// The number of the task that was not done, and what became of it.
    pub(super) failed: Option<(usize, &'static str)>,
}

/// What is to be changed, by path. Each is a file or link; other folders than those named come and go with what is in them.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Plan {
    /// Of the process that carries it out.
    pid: u32,
    changes: BTreeMap<String, Change>,
    /// Folders that come or go: git does not know them.
    #[serde(default)]
    folders: BTreeMap<String, Folder>,
}

/// What becomes of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Folder {
    Made,
    Deleted,
}

#[derive(Debug, Serialize, Deserialize)]
struct Change {
    /// The commit or tree that has what was there; none where there was nothing.
    from: Option<String>,
    /// Its bytes as they were, where it was a file: git may have them with other line ends.
    #[serde(default)]
    kept: Option<Kept>,
    before: FileState,
    /// As each task leaves it.
    left: Vec<FileState>,
}

/// The bytes of a file as it was, which git may have otherwise: they are a blob that nothing points to.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    blob: String,
    runs: bool,
}

/// Why an atomic batch cannot be begun.
pub(super) enum Unfit {
    /// This task of it could not be taken back.
    Task(usize, String),
    /// It may be tried again.
    Refused(String),
}

impl Atomic {
    /// Plans a batch, and keeps the plan on the disk. `due`: only what runs counts.
    pub(super) fn begin(
        intent: Intent,
        batch: &Batch<'_>,
        due: &[Due],
        (disk, saving): (&Disk, &Saving<'_>),
    ) -> Result<Self, Unfit> {
        let left_over = intent.read().map_err(|error| refused(&intent, &error))?;
        if left_over.is_some() {
            return Err(Unfit::Refused(format!(
                "git: an earlier atomic batch is not reverted yet: delete `{}` to keep its changes",
                intent.path().display()
            )));
        }
        let mut atomic = Self {
            intent,
            plan: Plan {
                pid: std::process::id(),
                ..Plan::default()
            },
            tasks: vec![BTreeSet::new(); batch.tasks.len()],
            strict: batch.has_exec(),
            command_ran: false,
            failed: None,
        };
        atomic.foresee(batch, due, 0, (disk, saving))?;
        atomic.keep().map_err(Unfit::Refused)?;
        Ok(atomic)
    }

    /// Whether a task that starts must be planned once more, with those behind it: a command ran since, and may have changed
    /// what they find.
    pub(super) fn is_outdated(&mut self, task: &Task<'_>) -> bool {
        match &task.action {
            Ok(Action::Exec { .. }) => {
                self.command_ran = true;
                false
            }
            _ => std::mem::take(&mut self.command_ran),
        }
    }

    /// Plans the tasks from `next` on once more.
    pub(super) fn plan_anew(
        &mut self,
        batch: &Batch<'_>,
        due: &[Due],
        next: usize,
        (disk, saving): (&Disk, &Saving<'_>),
    ) -> Result<(), String> {
        // What the command itself changed is not taken back.
        let ran: BTreeSet<&Path> = self.tasks[..next]
            .iter()
            .flatten()
            .map(PathBuf::as_path)
            .collect();
        let changes = &mut self.plan.changes;
        changes.retain(|path, _| ran.contains(Path::new(path)));
        match self.foresee(batch, due, next, (disk, saving)) {
            Ok(()) => self.keep(),
            Err(Unfit::Task(_, why) | Unfit::Refused(why)) => Err(why),
        }
    }

    /// What the tasks from `first` on will change, as far as they can be done.
    fn foresee(
        &mut self,
        batch: &Batch<'_>,
        due: &[Due],
        first: usize,
        (disk, saving): (&Disk, &Saving<'_>),
    ) -> Result<(), Unfit> {
        let Some((snapshots, Seen(seen))) = saving.seen() else {
            return Err(Unfit::Refused(
                "git: the last saved state is unknown: save the notes file again".to_owned(),
            ));
        };
        let mut preview = Preview::new(disk);
        for (index, task) in batch.tasks.iter().enumerate().skip(first) {
            let action = match &task.action {
                Ok(action) if due[index] == Due::Run => action,
                _ => continue,
            };
            if action.tells() {
                continue;
            }
            let before = preview.clone();
            let Ok(done) = files::perform(action, &mut preview, false) else {
                // It will say so itself.
                return Ok(());
            };
            let touched = done.touched.iter();
            let paths = touched.flat_map(|path| {
                let files = before.files_at(path).into_iter();
                files.chain(preview.files_at(path))
            });
            // A folder is what is in it.
            let is_file = |path: &PathBuf| !before.is_folder(path) && !preview.is_folder(path);
            let paths: BTreeSet<PathBuf> = paths.filter(is_file).collect();
            for path in &paths {
                let unkept = |why: &str| Unfit::Task(index, format!("`{}` {why}", path.display()));
                let Some(name) = path.to_str() else {
                    return Err(unkept(
                        "is not valid UTF-8, so it could not be reverted: rename it",
                    ));
                };
                let states = preview.states(path);
                if let Some(change) = self.plan.changes.get_mut(name) {
                    change.left.extend(states);
                    continue;
                }
                let state = state(disk, path);
                let missing = state.is(&FileState::missing());
                let in_git = snapshots
                    .store
                    .is_now(seen.as_deref(), path)
                    .unwrap_or(false);
                let is_kept = || snapshots.is_kept(seen.as_deref(), path).unwrap_or(false);
                if !missing && !in_git && !is_kept() {
                    match self.strict {
                        true => return Err(unkept(UNKEPT)),
                        false => continue,
                    }
                }
                let change = Change {
                    from: seen.clone().filter(|_| !missing && in_git),
                    kept: Kept::of(path, disk, snapshots),
                    before: state,
                    left: states,
                };
                self.plan.changes.insert(name.to_owned(), change);
            }
            self.tasks[index] = paths;
            for path in files::places(action, &before) {
                let becomes = match (before.is_folder(&path), preview.is_folder(&path)) {
                    (false, true) => Folder::Made,
                    (true, false) => Folder::Deleted,
                    _ => continue,
                };
                if let Some(name) = path.to_str() {
                    self.plan.folders.entry(name.to_owned()).or_insert(becomes);
                    self.tasks[index].insert(path);
                }
            }
        }
        Ok(())
    }

    fn keep(&self) -> Result<(), String> {
        let text = serde_json::to_string(&self.plan);
        let text = text.map_err(|error| error.to_string())?;
        let written = self.intent.write(&text);
        written.map_err(|error| format!("`{}`: {error}", self.intent.path().display()))
    }

    /// A task of it was not done, so none is to be.
    pub(super) fn fails(&mut self, number: usize, status: Status) {
        let how = match status {
            Status::Interrupted => "was interrupted",
            Status::NotRun => "was not run",
            _ => "failed",
        };
        self.failed.get_or_insert((number, how));
    }

    /// Puts back what the tasks until now have changed.
    pub(super) fn take_back(&self, disk: &mut Disk, saving: &Saving<'_>) -> TakenBack {
        match saving.snapshots() {
            Some(snapshots) => self.plan.take_back(disk, snapshots),
            None => TakenBack::default(),
        }
    }

    /// Which paths a task changes.
    pub(super) fn paths(&self, task: usize) -> &BTreeSet<PathBuf> {
        &self.tasks[task]
    }

    /// It is over: nothing of it is taken back any more.
    ///
    /// # Errors
    /// Where it would be, at the next start; in words.
    pub(super) fn end(&self) -> Result<(), String> {
        self.intent.remove().map_err(|error| {
            let path = self.intent.path().display();
            format!("⚠ delete `{path}`, otherwise the next run reverts this batch: {error}")
        })
    }
}

const UNKEPT: &str = "is not in git in its current state, so an atomic batch with an exec could not restore it: \
                      change it in a `<tasks>` of its own";

fn refused(intent: &Intent, error: &std::io::Error) -> Unfit {
    Unfit::Refused(format!("`{}`: {error}", intent.path().display()))
}

/// What is at the path of a file or link.
fn state(disk: &Disk, path: &Path) -> FileState {
    match disk.state(path) {
        // Where a file is in the place of its folder, there is nothing.
        FileState::UNKNOWN if matches!(disk.entry(path), Ok(None)) => FileState::missing(),
        state => state,
    }
}

impl Plan {
    fn take_back(&self, disk: &mut Disk, snapshots: &Snapshots) -> TakenBack {
        let mut taken = TakenBack::default();
        let is_new = |change: &Change| change.before.is(&FileState::missing());
        // What is new goes first: it may be where there was a file, or a folder.
        let (new, old): (Vec<_>, Vec<_>) = self.changes.iter().partition(|(_, it)| is_new(it));
        for (name, change) in new.into_iter().chain(old) {
            let path = PathBuf::from(name);
            if is_new(change) {
                // They may have been made for it.
                disk.clear_above(&path);
            }
            let now = state(disk, &path);
            if now.is(&change.before) {
                taken.back.insert(path);
            } else if !change.left.iter().any(|left| left.is(&now)) {
                taken
                    .left
                    .insert(path, "has changed since and was left as it is".to_owned());
            } else {
                match change.put_back(&path, disk, snapshots) {
                    Ok(()) if state(disk, &path).is(&change.before) => {
                        taken.back.insert(path);
                        taken.put += 1;
                    }
                    Ok(()) => {
                        let why =
                            "was restored from git: its line endings or mode differ from before";
                        taken.left.insert(path, why.to_owned());
                    }
                    Err(error) => drop(taken.left.insert(path, error.to_string())),
                }
            }
        }
        // One comes back before those in it, and one that was made goes with those that it is in: all are as they will be
        // only at the end.
        for (name, becomes) in &self.folders {
            match becomes {
                Folder::Made => disk.clear_above(&Path::new(name).join("_")),
                // Where that cannot be, it is not there.
                Folder::Deleted => drop(disk.put_folder(Path::new(name))),
            }
        }
        for (name, becomes) in &self.folders {
            let path = PathBuf::from(name);
            match Preview::new(disk).is_folder(&path) == (*becomes == Folder::Deleted) {
                true => drop(taken.back.insert(path)),
                false => drop(taken.left.insert(path, "was not restored".to_owned())),
            }
        }
        taken
    }

    /// Removes what a killed process left beside the paths, if it is nothing but what was at one of them.
    fn clear_away(&self, disk: &mut Disk) {
        let folders = self.changes.keys().map(|path| Path::new(path).parent());
        let folders: BTreeSet<&Path> = folders.flatten().flat_map(Path::ancestors).collect();
        let changes = self.changes.values();
        let known = changes.flat_map(|change| change.left.iter().chain([&change.before]));
        let known: Vec<&FileState> = known.collect();
        for folder in folders {
            for place in disk.left_behind(folder, self.pid) {
                let files = Preview::new(disk).files_at(place.path());
                let is_known = |path: &PathBuf| {
                    let now = disk.state(path);
                    known.iter().any(|state| state.is(&now))
                };
                if files.iter().all(is_known)
                    && let Err(error) = disk.remove(&place)
                {
                    tracing::debug!(%error, "left behind");
                }
                disk.clear_above(place.path());
            }
        }
    }
}

impl Kept {
    fn of(path: &Path, disk: &Disk, snapshots: &Snapshots) -> Option<Self> {
        let Ok(Some(FileOrLink::File { bytes, runs })) = disk.entry(path) else {
            return None;
        };
        let blob = snapshots.keep(&bytes).ok()?;
        Some(Self { blob, runs })
    }

    /// `None` where git no longer has it: then there is what was committed.
    fn entry(&self, snapshots: &Snapshots) -> Option<FileOrLink> {
        let bytes = snapshots.kept(&self.blob)?;
        let runs = self.runs;
        Some(FileOrLink::File { bytes, runs })
    }
}

impl Change {
    fn put_back(
        &self,
        path: &Path,
        disk: &mut Disk,
        snapshots: &Snapshots,
    ) -> Result<(), PutBackError> {
        let there = disk.entry(path)?;
        let kept = self.kept.as_ref().and_then(|kept| kept.entry(snapshots));
        let before = match (kept, &self.from) {
            (None, Some(from)) => snapshots.store.entry(Some(from), path)?,
            (None, None) if !self.before.is(&FileState::missing()) => {
                return Err(PutBackError::Gone);
            }
            (kept, _) => kept,
        };
        Ok(disk.put(path, before.as_ref(), there.as_ref())?)
    }
}

#[derive(Debug, thiserror::Error)]
enum PutBackError {
    #[error(transparent)]
    ProjectFiles(#[from] FsError),
    #[error(transparent)]
    Git(#[from] SnapshotError),
    #[error("is no longer in the private snapshots")]
    Gone,
}

impl TakenBack {
    /// What is left of the batch, in words.
    pub(super) fn left(&self) -> Option<String> {
        let left = self.left.iter();
        let said: Vec<String> = left
            .map(|(path, why)| format!("`{}` {why}", path.display()))
            .collect();
        (!said.is_empty()).then(|| said.join(", "))
    }
}

/// Takes back an atomic batch that a crash or a power cut left in the middle; what there is to say of it. Asked for under
/// the root's lock.
pub(super) fn recover(intent: &Intent, disk: &mut Disk, snapshots: &Snapshots) -> Option<String> {
    let told = |why: &dyn std::fmt::Display| {
        let path = intent.path().display();
        format!("⚠ an interrupted atomic batch could not be reverted (`{path}`): {why}")
    };
    let text = match intent.read() {
        Ok(text) => text?,
        Err(error) => return Some(told(&error)),
    };
    let plan: Plan = match serde_json::from_str(&text) {
        Ok(plan) => plan,
        Err(error) => return Some(told(&error)),
    };
    plan.clear_away(disk);
    let taken = plan.take_back(disk, snapshots);
    if let Err(error) = intent.remove() {
        return Some(told(&error));
    }
    let files = match taken.put {
        1 => "1 file restored".to_owned(),
        files => format!("{files} files restored"),
    };
    let left = taken.left();
    (taken.put > 0 || left.is_some()).then(|| {
        let left = left.map_or(String::new(), |left| format!("; not as before: {left}"));
        format!(
            "⚠ clada exited in the middle of an atomic batch and has now reverted it: {files}{left}"
        )
    })
}
