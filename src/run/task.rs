//! Carries out one task: runs a command, or has a file task done, and says what it may have changed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use super::due::Before;
use super::guarded::Guarded;
use super::saving::{Saving, Touched};
use super::{Progress, Runner, stale};
use crate::reply::record::{Spot, TaskTarget};
use crate::reply::task::{Action, Task};
use crate::report::fault::Fault;
use crate::report::outcome::Status;
use crate::run::context;
use crate::run::exec::{self, Exec};
use crate::run::files;
use crate::run::progress::{Ended, Run};
use crate::world::workspace::{FileKind, ProjectFiles};

impl Runner {
    /// Carries out a task, perhaps at a place that the user chose, and says what it may have changed; with `keeps` also into
    /// what.
    pub(super) async fn run_task(
        &mut self,
        (task, chosen): (&Task<'_>, Option<&Spot>),
        keeps: bool,
        saving: &Saving<'_>,
        run: &mut Run<'_, '_>,
    ) -> (Ended, Touched, Vec<TaskTarget>) {
        run.started(task);
        let action = match &task.action {
            Err(problem) => return (run.misread(problem), Touched::Nothing, Vec::new()),
            Ok(action) => action,
        };
        if let Action::Exec {
            script,
            timeout,
            lang,
            version,
            cwd,
            ..
        } = action
        {
            let text = script.text();
            if let Some(changes) = &mut run.changes {
                changes.keep_so_far();
            }
            let ended = match self.folder(cwd.as_deref()) {
                Err(ended) => *ended,
                Ok(dir) => {
                    let exec = Exec {
                        text: &text,
                        dir: &dir,
                        timeout: *timeout,
                        lang: *lang,
                        version: version.as_deref(),
                        vars: &[],
                        limited_by: "`<x timeout=\"…\">`",
                    };
                    self.exec(&exec, run).await
                }
            };
            return (ended, Touched::Anything, Vec::new());
        }
        let before = keeps.then(|| Before::of(action, &self.disk));
        let known = run.changes.as_ref();
        let known = known.map(|changes| changes.before(action, &self.disk));
        let (ended, touched) = self.file_task((action, chosen), saving, run);
        if let (Some(changes), Some(known)) = (&mut run.changes, known) {
            let shows = (ended.sections.as_slice(), &ended.data);
            changes.after(action, shows, touched.paths(), known, &self.disk);
        }
        let targets = match (&touched, &before) {
            (Touched::Paths(paths), Some(before)) => {
                let onto_nothing = ended.data["overwrote"] == false;
                before.targets(paths, onto_nothing, &self.disk)
            }
            _ => Vec::new(),
        };
        (ended, touched, targets)
    }

    pub(super) async fn exec(&self, exec: &Exec<'_>, run: &mut Run<'_, '_>) -> Ended {
        run.notice_once(self.rules.unfenced().as_deref());
        for said in self.rules.left_out() {
            run.notice_once(Some(&said));
        }
        let stop = run.around.stop.clone();
        let progress = &mut run.progress;
        let mut on_output = |stream, bytes: &[u8]| progress(Progress::Output(stream, bytes));
        let executed = exec::perform(exec, &self.rules, stop, &mut on_output).await;
        executed.into()
    }

    /// The folder under the root that a reply names, or the root; why it is none.
    pub(super) fn folder(&self, name: Option<&str>) -> Result<PathBuf, Box<Ended>> {
        let Some(name) = name else {
            return Ok(self.root.clone());
        };
        let failed = |why: String| Box::new(Ended::because(Status::Failed, why));
        let path = self
            .disk
            .parse(name)
            .map_err(|error| failed(error.to_string()))?;
        let place = self.disk.place(&path, true);
        let place = place.map_err(|error| failed(error.to_string()))?;
        match self.disk.kind(&place) {
            Ok(Some(FileKind::Dir)) => Ok(self.root.join(place.path())),
            Ok(_) => Err(Box::new(Ended {
                fault: Fault::NoFolder,
                ..*failed(format!(
                    "`cwd=\"{name}\"` is not a folder in the project: name an existing one"
                ))
            })),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    fn file_task(
        &mut self,
        (action, chosen): (&Action<'_>, Option<&Spot>),
        saving: &Saving<'_>,
        run: &Run<'_, '_>,
    ) -> (Ended, Touched) {
        let performed = catch_unwind(AssertUnwindSafe(|| {
            let mut files = Guarded {
                disk: &mut self.disk,
                seen: saving.seen(),
                unsaved: saving.unsaved(),
            };
            match action {
                action if let Some(spot) = chosen => files::edit_at(action, spot, &mut files),
                Action::Context(task) => context::perform(task, &files, &self.context, false),
                action => files::perform(action, &mut files, false),
            }
        }));
        match performed {
            Ok(Ok(mut done)) => {
                let touched = match std::mem::take(&mut done.touched) {
                    paths if paths.is_empty() => Touched::Nothing,
                    paths => Touched::Paths(paths),
                };
                (done.into(), touched)
            }
            Ok(Err(mut failure)) => {
                let (snapshots, when) = (saving.snapshots(), run.around.when);
                stale::explain(&mut failure, action, snapshots, &run.left, when);
                (failure.into(), Touched::Nothing)
            }
            Err(_) => {
                let message =
                    "clada failed inside this task, which is a bug in clada: please report it"
                        .to_owned();
                // What it did until then is unknown.
                (
                    Ended {
                        message: Some(message),
                        status: Status::Failed,
                        ..Ended::done()
                    },
                    Touched::Anything,
                )
            }
        }
    }
}
