//! Carries out one task of a batch, and tells what it changed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::guarded::GuardedFiles;
use super::job::JobTask;
use super::progress::ActiveRun;
use super::saving::Saving;
use super::{Progress, Runner, stale};
use crate::reply::record::{FileState, TaskPlan, TaskTarget};
use crate::reply::task::Action;
use crate::report::fault::Fault;
use crate::report::outcome::{Outcome, Touched};
use crate::run::context;
use crate::run::exec::{self, ExecScript};
use crate::run::files;
use crate::world::long_text::LongText;
use crate::world::shell::{OutputSink, Stream};
use crate::world::workspace::{Disk, FileKind, ProjectFiles};

impl Runner {
    /// Carries out a task. With `keeps` also tells what its targets were and are.
    pub(super) async fn run_task(
        &mut self,
        task: &JobTask<'_>,
        keeps: bool,
        saving: &Saving<'_>,
        run: &mut ActiveRun<'_, '_>,
    ) -> (Outcome, Vec<TaskTarget>) {
        run.started(task.task);
        let action = match &task.task.action {
            Err(problem) => return (run.misread(problem), Vec::new()),
            Ok(action) => action,
        };
        if matches!(action, Action::Exec { .. }) {
            if let Some(changes) = &mut run.changes {
                changes.keep_so_far();
            }
            let outcome = self.exec_task(action, run).await;
            let touched = Touched::Anything;
            return (Outcome { touched, ..outcome }, Vec::new());
        }
        let before = keeps.then(|| TargetsBefore::of(action, &self.disk));
        let known = run.changes.as_ref();
        let known = known.map(|changes| changes.before(action, &self.disk));
        let outcome = self.file_task(action, task.plan, saving, run);
        if let (Some(changes), Some(known)) = (&mut run.changes, known) {
            changes.after(action, &outcome, known, &self.disk);
        }
        let targets = before.map(|before| before.targets(&outcome, &self.disk));
        (outcome, targets.unwrap_or_default())
    }

    async fn exec_task(&self, action: &Action<'_>, run: &mut ActiveRun<'_, '_>) -> Outcome {
        let Action::Exec {
            script,
            timeout,
            lang,
            version,
            cwd,
            ..
        } = action
        else {
            unreachable!("no exec");
        };
        let dir = match self.folder(cwd.as_deref()) {
            Ok(dir) => dir,
            Err(failed) => return *failed,
        };
        run.notice_once(self.setup.rules.unfenced().as_deref());
        for said in self.setup.rules.left_out() {
            run.notice_once(Some(&said));
        }
        let exec = ExecScript {
            text: &script.text(),
            dir: &dir,
            timeout: *timeout,
            lang: *lang,
            version: version.as_deref(),
            vars: &[],
            limited_by: "`<x timeout=\"…\">`",
        };
        let stop = run.around.stop.clone();
        let mut sink = Told(&mut *run.progress);
        exec::perform(&exec, &self.setup.rules, stop, &mut sink).await
    }

    /// Finds the folder under the root that a reply names; the root if it names none.
    pub(super) fn folder(&self, name: Option<&str>) -> Result<PathBuf, Box<Outcome>> {
        let root = self.disk.path();
        let Some(name) = name else {
            return Ok(root.to_owned());
        };
        let path = self.disk.parse(name);
        let path = path.map_err(|error| files::refused(error.to_string()))?;
        let place = self.disk.place(&path, true);
        let place = place.map_err(|error| files::refused(error.to_string()))?;
        match self.disk.kind(&place) {
            Ok(Some(FileKind::Dir)) => Ok(root.join(place.path())),
            Ok(_) => Err(files::failed(
                Fault::NoFolder,
                format!("`cwd=\"{name}\"` is not a folder in the project: name an existing one"),
            )),
            Err(error) => Err(files::refused(error.to_string())),
        }
    }

    fn file_task(
        &mut self,
        action: &Action<'_>,
        plan: &TaskPlan,
        saving: &Saving<'_>,
        run: &ActiveRun<'_, '_>,
    ) -> Outcome {
        let performed = catch_unwind(AssertUnwindSafe(|| {
            let mut files = GuardedFiles {
                disk: &mut self.disk,
                seen: saving.seen(),
                unsaved: saving.unsaved(),
            };
            match (action, plan) {
                (action, TaskPlan::Chosen(spot)) => files::edit_at(action, spot, &mut files),
                (Action::Context(task), _) => context::perform(task, &files, &self.context, false),
                (action, _) => files::perform(action, &mut files),
            }
        }));
        let Ok(mut outcome) = performed else {
            // What it did until then is unknown.
            return Outcome {
                touched: Touched::Anything,
                ..Outcome::failed(
                    "clada failed inside this task, which is a bug in clada: please report it",
                )
            };
        };
        let when = run.around.when;
        stale::explain(&mut outcome, action, saving.snapshots(), &run.past, when);
        outcome
    }
}

/// The places that a file task is about, and what is there before it.
struct TargetsBefore(Vec<(PathBuf, FileState)>);

impl TargetsBefore {
    fn of(action: &Action<'_>, disk: &Disk) -> Self {
        let places = files::subjects(action, disk);
        let states = places.iter().map(|place| {
            let state = disk.state(place.path());
            (place.path().to_owned(), state)
        });
        Self(states.collect())
    }

    /// The targets that a task has changed.
    fn targets(&self, outcome: &Outcome, disk: &Disk) -> Vec<TaskTarget> {
        let known = |path: &Path| self.0.iter().find(|(known, _)| known == path);
        let before = |path: &Path| match known(path) {
            Some((_, state)) => state.clone(),
            // It moved something to where nothing was.
            None if outcome.data["overwrote"] == false => FileState::missing(),
            None => FileState::UNKNOWN,
        };
        let touched = outcome.touched.paths().unwrap_or_default().iter();
        let targets = touched.map(|path| TaskTarget {
            // A name that is no text cannot be looked at again: its state will be unknown.
            path: path.to_string_lossy().into_owned(),
            before: before(path),
            after: disk.state(path),
        });
        targets.collect()
    }
}

/// Tells the output of a command as a part of the run.
struct Told<'p>(&'p mut dyn FnMut(Progress<'_>));

impl OutputSink for Told<'_> {
    fn take(&mut self, stream: Stream, text: &[u8]) {
        (self.0)(Progress::Output(stream, text));
    }

    fn lend(&mut self) -> Option<Rc<LongText>> {
        let mut place = None;
        (self.0)(Progress::Long(&mut place));
        place
    }
}
