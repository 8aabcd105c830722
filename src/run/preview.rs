//! Tries tasks without changing anything: for a dry run, and before an atomic batch begins.

use super::job::{Due, Job, JobTask};
use super::progress::{ActiveRun, Hindrance, PastChange};
use super::{Progress, Runner, Surroundings, stale, total};
use crate::git::Snapshots;
use crate::reply::question::parted;
use crate::reply::task::{Action, Batch, Task};
use crate::report::Report;
use crate::report::outcome::{Outcome, Section, Status, Touched};
use crate::run::context;
use crate::run::exec::HeldBack;
use crate::run::files;
use crate::world::workspace::Preview;

/// The project as the tasks of a batch are tried in it.
pub(super) struct Rehearsal<'s> {
    pub(super) files: Preview<'s>,
    /// The earlier states of files, where there are any.
    pub(super) snapshots: Option<&'s Snapshots>,
    /// Git can revert what tasks change.
    pub(super) can_revert: bool,
}

impl Runner {
    /// Does everything but change things: the outcome of each task, with what it would change.
    pub fn preview(&mut self, jobs: &[Job<'_>], around: &Surroundings<'_>) -> Report {
        let mut silent = |_: Progress<'_>| {};
        let mut run = ActiveRun::new(total(jobs), self, around, &mut silent);
        let mut files = Preview::new(&self.disk);
        let mut hooked = false;
        for job in jobs {
            let batch = job.batch;
            run.begins(batch, job.text);
            let tasks = JobTask::of(job, &self.disk, &self.setup);
            let rehearsal = Rehearsal {
                files: files.clone(),
                snapshots: None,
                can_revert: self.setup.git.is_some(),
            };
            if let Some(problem) = batch.state.problem() {
                run.problem(problem);
            } else if let Some(hindrance) = self.hindrance(batch, &tasks, rehearsal, &mut run) {
                run.hindered(batch, hindrance);
                continue;
            }
            hooked |= self.has_hooks_for(&tasks);
            for task in &tasks {
                let outcome = self.try_task(task, &mut files, &mut run);
                let outcome = run.complete(task.task, outcome);
                run.finished_with_warnings(task.task, outcome);
            }
        }
        if hooked {
            self.hooks_would_run(&mut run);
        }
        let mut report = run.finish().report;
        report.git = Some("this was a dry run: nothing was changed".to_owned());
        report
    }

    fn try_task(
        &self,
        task: &JobTask<'_>,
        files: &mut Preview<'_>,
        run: &mut ActiveRun<'_, '_>,
    ) -> Outcome {
        match &task.task.action {
            Err(problem) => run.misread(problem),
            Ok(_) if !task.runs() => task.due.instead(),
            Ok(Action::Exec { script, .. }) => Outcome {
                sections: vec![Section::Text(script.text().into_owned())],
                ..Outcome::ended(Status::Done, "would run")
            },
            Ok(Action::Context(task)) => context::perform(task, files, &self.context, true),
            Ok(action) => {
                let before = files.clone();
                let mut outcome = files::perform(action, files);
                if outcome.status == Status::Done && action.changes() {
                    let diff = files::diff(action, &outcome, &before, files);
                    outcome.data["diff"] = diff.as_str().into();
                    outcome.sections.push(Section::Text(diff));
                }
                outcome
            }
        }
    }

    /// Finds a task of an atomic batch that cannot be done. All of them must be possible, one after the other, before the
    /// first is done.
    pub(super) fn hindrance(
        &self,
        batch: &Batch<'_>,
        tasks: &[JobTask<'_>],
        mut rehearsal: Rehearsal<'_>,
        run: &mut ActiveRun<'_, '_>,
    ) -> Option<Hindrance> {
        if !batch.atomic {
            return None;
        }
        let mut past: Vec<PastChange> = Vec::new();
        let is_alone = tasks.len() == 1;
        let tasks = tasks.iter().enumerate();
        let mut tasks = tasks.filter(|(_, task)| matches!(task.due, Due::Run | Due::Hold(_)));
        tasks.find_map(|(index, task)| {
            let outcome = match (&task.task.action, &task.due) {
                (Err(problem), _) => run.misread(problem),
                (Ok(Action::Exec { .. }), _) if is_alone => return None,
                (Ok(Action::Exec { .. }), _) if !rehearsal.can_revert => Outcome::not_run(
                    "an atomic batch with an exec needs git to revert its file tasks: put the exec into a `<tasks>` \
                     of its own after this one",
                ),
                (Ok(_), Due::Hold(held)) => not_held(held),
                (Ok(Action::Exec { .. }), _) => return None,
                (Ok(_), _) => {
                    let outcome = self.rehearse(task.task, &mut rehearsal, &past, run);
                    if outcome.status == Status::Done {
                        past.push(PastChange {
                            label: (run.number() + index).to_string(),
                            paths: match outcome.touched {
                                Touched::Paths(paths) => paths,
                                Touched::Anything => Vec::new(),
                            },
                            commit: None,
                        });
                        return None;
                    }
                    outcome
                }
            };
            Some(Hindrance {
                task: index,
                outcome,
            })
        })
    }

    /// Tries a file task after others, which would have made these changes.
    fn rehearse(
        &self,
        task: &Task<'_>,
        rehearsal: &mut Rehearsal<'_>,
        past: &[PastChange],
        run: &mut ActiveRun<'_, '_>,
    ) -> Outcome {
        let Ok(action) = &task.action else {
            return Outcome::default();
        };
        let mut outcome = match action {
            Action::Context(task) => context::perform(task, &rehearsal.files, &self.context, true),
            action => files::perform(action, &mut rehearsal.files),
        };
        stale::explain(
            &mut outcome,
            action,
            rehearsal.snapshots,
            past,
            run.around.when,
        );
        // The chat is not shown a state that only tasks before it would have made.
        if outcome.status == Status::Failed
            && past.iter().all(|change| change.paths.is_empty())
            && let Some(changes) = &mut run.changes
        {
            changes.shown(action, &outcome, &self.disk);
        }
        outcome
    }
}

/// The outcome of a task that may not run, or not yet: its atomic batch does not run at all.
fn not_held(held: &HeldBack) -> Outcome {
    Outcome::not_run(match held {
        HeldBack::Refused(why) => why.clone(),
        HeldBack::Asks(question) => format!(
            "{}, and an atomic batch cannot wait for that: put it into a `<tasks>` of its own after this one",
            parted(question.message.as_deref().unwrap_or("needs approval")).0
        ),
    })
}
