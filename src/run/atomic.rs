//! Plans the changes of an atomic batch, keeps the plan on the disk until the batch is over, and reverts the changes, right away
//! or at the next start. Never overwrites what neither the batch nor the state before it left.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::job::JobTask;
use super::journal::NotStarted;
use super::progress::ActiveRun;
use super::saving::{SavedTree, Saving};
use crate::git::{SnapshotError, Snapshots};
use crate::reply::record::{Fate, FileState};
use crate::report::outcome::Status;
use crate::run::files;
use crate::world::file_or_link::FileOrLink;
use crate::world::intent::Intent;
use crate::world::workspace::{Disk, FsError, Preview, ProjectFiles};

/// An atomic batch in progress, which git can revert.
pub(super) struct Atomic {
    intent: Intent,
    plan: RevertPlan,
    /// A command ran since the plan was made.
    command_ran: bool,
    /// The first task that was not done.
    pub(super) failed: Option<FailedTask>,
}

/// A task of an atomic batch that was not done.
#[derive(Clone, Copy)]
pub(super) struct FailedTask {
    pub(super) number: usize,
    /// A verb that says how it failed.
    pub(super) how: &'static str,
}

/// The result of reverting.
#[derive(Debug, Default)]
pub(super) struct Reverted {
    /// The paths that were put back, or were back already.
    pub(super) back: BTreeSet<PathBuf>,
    /// The number of those that changed for it.
    put: usize,
    /// The paths that are not as the batch left them, or could not be put back, and why.
    left: BTreeMap<PathBuf, String>,
}

/// The changes to come, by path. Each is of a file or link; other folders than those named come and go with what is in them.
#[derive(Debug, Default, Serialize, Deserialize)]
struct RevertPlan {
    /// Of the process that carries it out.
    pid: u32,
    changes: BTreeMap<String, PlannedChange>,
    /// Folders that come or go: git does not know them.
    folders: BTreeMap<String, FolderChange>,
}

/// The change of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum FolderChange {
    Made,
    Deleted,
}

/// The change of a file or link.
#[derive(Debug, Serialize, Deserialize)]
struct PlannedChange {
    /// The commit or tree that has what was there; none where there was nothing.
    from: Option<String>,
    /// Its bytes as they were, where it was a file: git may have them with other line ends.
    kept: Option<KeptContent>,
    before: FileState,
    /// As each task leaves it.
    left: Vec<FileState>,
}

/// The bytes of a file as it was, which git may have otherwise: they are a blob that nothing points to.
#[derive(Debug, Serialize, Deserialize)]
struct KeptContent {
    blob: String,
    runs: bool,
}

/// The reason why an atomic batch cannot begin.
pub(super) enum Unfit {
    /// This task of it could not be reverted.
    Task(usize, NotStarted),
    /// It may be tried again.
    Refused(NotStarted),
}

impl From<NotStarted> for Unfit {
    fn from(why: NotStarted) -> Self {
        Self::Refused(why)
    }
}

impl Atomic {
    /// Plans a batch, and keeps the plan on the disk. Only the tasks that are due count.
    pub(super) fn begin(
        intent: Intent,
        tasks: &mut [JobTask<'_>],
        disk: &Disk,
        saving: &Saving<'_>,
    ) -> Result<Self, Unfit> {
        let left_over = intent.read().map_err(|error| not_kept(&intent, &error))?;
        if left_over.is_some() {
            return Err(NotStarted(format!(
                "git: an earlier atomic batch is not reverted yet: delete `{}` to keep its changes",
                intent.path().display()
            ))
            .into());
        }
        let mut atomic = Self {
            intent,
            plan: RevertPlan {
                pid: std::process::id(),
                ..RevertPlan::default()
            },
            command_ran: false,
            failed: None,
        };
        atomic.foresee(tasks, 0, disk, saving)?;
        atomic.keep()?;
        Ok(atomic)
    }

    /// Plans the tasks from `next` on once more if a command ran since: it may have changed what they find.
    pub(super) fn expect(
        &mut self,
        tasks: &mut [JobTask<'_>],
        next: usize,
        disk: &Disk,
        saving: &Saving<'_>,
    ) -> Result<(), NotStarted> {
        if tasks[next].is_exec() {
            self.command_ran = true;
            return Ok(());
        }
        if !std::mem::take(&mut self.command_ran) {
            return Ok(());
        }
        // The command's own changes are not reverted.
        let ran = tasks[..next].iter().flat_map(|task| &task.foreseen);
        let ran: BTreeSet<&Path> = ran.map(PathBuf::as_path).collect();
        let changes = &mut self.plan.changes;
        changes.retain(|path, _| ran.contains(Path::new(path)));
        match self.foresee(tasks, next, disk, saving) {
            Ok(()) => self.keep(),
            Err(Unfit::Task(_, why) | Unfit::Refused(why)) => Err(why),
        }
    }

    /// Plans the changes of the tasks from `first` on, as far as they can be done.
    fn foresee(
        &mut self,
        tasks: &mut [JobTask<'_>],
        first: usize,
        disk: &Disk,
        saving: &Saving<'_>,
    ) -> Result<(), Unfit> {
        let mut preview = Preview::new(disk);
        if saving.seen().is_none() {
            let why = "git: the last saved state is unknown: save the notes file again";
            return Err(NotStarted::because(why).into());
        }
        for (index, task) in tasks.iter_mut().enumerate().skip(first) {
            let action = match &task.task.action {
                Ok(action) if task.runs() && !action.tells() => action,
                _ => continue,
            };
            let before = preview.clone();
            let outcome = files::perform(action, &mut preview);
            if outcome.status == Status::Failed {
                // It will say so itself.
                return Ok(());
            }
            let touched = outcome.touched.paths().unwrap_or_default().iter();
            let paths = touched.flat_map(|path| {
                let files = before.files_at(path).into_iter();
                files.chain(preview.files_at(path))
            });
            // A folder is what is in it.
            let is_file = |path: &PathBuf| !before.is_folder(path) && !preview.is_folder(path);
            task.foreseen = paths.filter(is_file).collect();
            for path in &task.foreseen {
                let planned = self.foresee_file(path, preview.states(path), disk, saving);
                planned.map_err(|why| {
                    Unfit::Task(index, NotStarted(format!("`{}` {why}", path.display())))
                })?;
            }
            for path in files::places(action, &before) {
                let becomes = match (before.is_folder(&path), preview.is_folder(&path)) {
                    (false, true) => FolderChange::Made,
                    (true, false) => FolderChange::Deleted,
                    _ => continue,
                };
                if let Some(name) = path.to_str() {
                    self.plan.folders.entry(name.to_owned()).or_insert(becomes);
                    task.foreseen.insert(path);
                }
            }
        }
        Ok(())
    }

    /// Plans that a file is left in these states. The error is the reason why that could not be reverted.
    fn foresee_file(
        &mut self,
        path: &Path,
        left: Vec<FileState>,
        disk: &Disk,
        saving: &Saving<'_>,
    ) -> Result<(), &'static str> {
        let Some(name) = path.to_str() else {
            return Err("is not valid UTF-8, so it could not be reverted: rename it");
        };
        if let Some(change) = self.plan.changes.get_mut(name) {
            change.left.extend(left);
            return Ok(());
        }
        let Some((snapshots, SavedTree(seen))) = saving.seen() else {
            return Ok(());
        };
        let before = state(disk, path);
        let missing = before.is(&FileState::missing());
        let in_git = snapshots
            .store
            .is_now(seen.as_deref(), path)
            .unwrap_or(false);
        let is_kept = || snapshots.is_kept(seen.as_deref(), path).unwrap_or(false);
        if !missing && !in_git && !is_kept() {
            // After an exec, git alone can tell what was there.
            return if saving.batch.has_exec() {
                Err(UNKEPT)
            } else {
                Ok(())
            };
        }
        let change = PlannedChange {
            from: seen.clone().filter(|_| !missing && in_git),
            kept: KeptContent::of(path, disk, snapshots),
            before,
            left,
        };
        self.plan.changes.insert(name.to_owned(), change);
        Ok(())
    }

    fn keep(&self) -> Result<(), NotStarted> {
        let text = serde_json::to_string(&self.plan).map_err(NotStarted::because)?;
        let written = self.intent.write(&text);
        written.map_err(|error| not_kept(&self.intent, &error))
    }

    /// A task of it was not done, so none is to be.
    pub(super) fn fails(&mut self, number: usize, status: Status) {
        let how = match status {
            Status::Interrupted => "was interrupted",
            Status::NotRun => "was not run",
            _ => "failed",
        };
        self.failed.get_or_insert(FailedTask { number, how });
    }

    /// Reverts the changes of the tasks until now.
    pub(super) fn revert(&self, disk: &mut Disk, saving: &Saving<'_>) -> Reverted {
        let snapshots = saving.snapshots();
        let reverted = snapshots.map(|snapshots| self.plan.revert(disk, snapshots));
        reverted.unwrap_or_default()
    }

    /// The batch is over: nothing of it is reverted any more. Returns a warning if the next start would still do it.
    pub(super) fn end(&self) -> Option<String> {
        let error = self.intent.remove().err()?;
        let path = self.intent.path().display();
        Some(format!(
            "⚠ delete `{path}`, otherwise the next run reverts this batch: {error}"
        ))
    }
}

const UNKEPT: &str = "is not in git in its current state, so an atomic batch with an exec could not restore it: \
                      change it in a `<tasks>` of its own";

fn not_kept(intent: &Intent, error: &std::io::Error) -> NotStarted {
    NotStarted(format!("`{}`: {error}", intent.path().display()))
}

/// The state of a file or link.
fn state(disk: &Disk, path: &Path) -> FileState {
    match disk.state(path) {
        // Where a file is in the place of its folder, there is nothing.
        FileState::UNKNOWN if matches!(disk.entry(path), Ok(None)) => FileState::missing(),
        state => state,
    }
}

impl RevertPlan {
    fn revert(&self, disk: &mut Disk, snapshots: &Snapshots) -> Reverted {
        let mut reverted = Reverted::default();
        let is_new = |change: &PlannedChange| change.before.is(&FileState::missing());
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
                reverted.back.insert(path);
            } else if !change.left.iter().any(|left| left.is(&now)) {
                reverted
                    .left
                    .insert(path, "has changed since and was left as it is".to_owned());
            } else {
                match change.put_back(&path, disk, snapshots) {
                    Ok(()) if state(disk, &path).is(&change.before) => {
                        reverted.back.insert(path);
                        reverted.put += 1;
                    }
                    Ok(()) => {
                        let why =
                            "was restored from git: its line endings or mode differ from before";
                        reverted.left.insert(path, why.to_owned());
                    }
                    Err(error) => drop(reverted.left.insert(path, error.to_string())),
                }
            }
        }
        // One comes back before those in it, and one that was made goes with those that it is in: all are as they will be
        // only at the end.
        for (name, becomes) in &self.folders {
            match becomes {
                FolderChange::Made => disk.clear_above(&Path::new(name).join("_")),
                // Where that cannot be, it is not there.
                FolderChange::Deleted => drop(disk.put_folder(Path::new(name))),
            }
        }
        for (name, becomes) in &self.folders {
            let path = PathBuf::from(name);
            let is_there = Preview::new(disk).is_folder(&path);
            if is_there == (*becomes == FolderChange::Deleted) {
                reverted.back.insert(path);
            } else {
                reverted.left.insert(path, "was not restored".to_owned());
            }
        }
        reverted
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

impl KeptContent {
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

impl PlannedChange {
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

impl Reverted {
    /// Tells of the tasks of the batch, whose outcomes begin with `first`, that their changes were reverted.
    pub(super) fn tell(
        &self,
        first: usize,
        tasks: &mut [JobTask<'_>],
        failed: FailedTask,
        run: &mut ActiveRun<'_, '_>,
    ) {
        let FailedTask { number, how } = failed;
        let mut any = false;
        for (outcome, task) in run.report.outcomes[first..].iter_mut().zip(tasks) {
            let only_looked = task.task.action.as_ref().is_ok_and(|it| !it.changes());
            let is_exec = outcome.command.eq_ignore_ascii_case("exec");
            // One without a path has changed nothing.
            let has_changed = is_exec || !task.foreseen.is_empty();
            if outcome.status != Status::Done || only_looked || !has_changed {
                continue;
            }
            if is_exec {
                outcome.also_says("its changes were not reverted");
            } else if task.foreseen.is_subset(&self.back) {
                outcome.status = Status::Failed;
                outcome.message = Some(format!(
                    "reverted because task {number} of this atomic batch {how}"
                ));
                task.fate = Some(Fate::Failed);
                any = true;
            } else {
                outcome.also_says(&format!(
                    "not reverted, although task {number} of this atomic batch {how}"
                ));
            }
        }
        if any {
            let said = format!(
                "⚠ task {number} {how}: the file changes of this atomic batch were reverted"
            );
            run.notice_once(Some(&said));
        }
        if let Some(left) = self.left() {
            run.notice_once(Some(&format!("⚠ not as before this atomic batch: {left}")));
        }
    }

    /// Names what is left of the batch.
    fn left(&self) -> Option<String> {
        let left = self.left.iter();
        let said: Vec<String> = left
            .map(|(path, why)| format!("`{}` {why}", path.display()))
            .collect();
        (!said.is_empty()).then(|| said.join(", "))
    }
}

/// Reverts an atomic batch that a crash or a power cut left in the middle. Returns what there is to say of it. Needs the
/// root's lock.
pub(super) fn recover(intent: &Intent, disk: &mut Disk, snapshots: &Snapshots) -> Option<String> {
    let told = |why: &dyn std::fmt::Display| {
        let path = intent.path().display();
        format!("⚠ an interrupted atomic batch could not be reverted (`{path}`): {why}")
    };
    let text = match intent.read() {
        Ok(text) => text?,
        Err(error) => return Some(told(&error)),
    };
    let plan: RevertPlan = match serde_json::from_str(&text) {
        Ok(plan) => plan,
        Err(error) => return Some(told(&error)),
    };
    plan.clear_away(disk);
    let reverted = plan.revert(disk, snapshots);
    disk.begin_writing();
    if let Err(error) = intent.remove() {
        return Some(told(&error));
    }
    let files = match reverted.put {
        1 => "1 file restored".to_owned(),
        files => format!("{files} files restored"),
    };
    let left = reverted.left();
    (reverted.put > 0 || left.is_some()).then(|| {
        let left = left.map_or(String::new(), |left| format!("; not as before: {left}"));
        format!(
            "⚠ clada exited in the middle of an atomic batch and has now reverted it: {files}{left}"
        )
    })
}
