//! A batch that is to run, and the record of each of its tasks: what is due, by the plan and by what is on the disk.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Setup;
use crate::reply::question::Question;
use crate::reply::record::{Fate, FileState, Stand, TaskPlan};
use crate::reply::task::{Action, Batch, Scan, Task};
use crate::report::outcome::{Outcome, Section, Status};
use crate::run::exec::HeldBack;
use crate::world::workspace::Disk;

/// A batch that is to run.
pub struct Job<'t> {
    /// The text that the batch stands in.
    pub text: &'t str,
    pub batch: &'t Batch<'t>,
    /// The plan for each task; a task without one runs.
    pub plan: Vec<TaskPlan>,
}

impl<'t> Job<'t> {
    /// All batches of a text, whole. `approved`: commands run without asking.
    pub fn all(text: &'t str, scan: &'t Scan<'t>, approved: bool) -> Vec<Self> {
        let plan = if approved {
            TaskPlan::Approved
        } else {
            TaskPlan::Run
        };
        let job = |batch: &'t Batch<'t>| Self {
            text,
            batch,
            plan: vec![plan.clone(); batch.tasks.len()],
        };
        scan.batches.iter().map(job).collect()
    }
}

/// A task of a job.
pub(super) struct JobTask<'j> {
    pub(super) task: &'j Task<'j>,
    pub(super) plan: &'j TaskPlan,
    pub(super) due: Due,
    /// The paths that it will change, as an atomic batch foresees.
    pub(super) foreseen: BTreeSet<PathBuf>,
    /// The fate that its end gives it, until the journal knows.
    pub(super) fate: Option<Fate>,
}

/// The course that a task takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Due {
    Run,
    /// It does not run, or not yet: no reply may ask for it, or it is an exec that is denied or waits for approval.
    Hold(HeldBack),
    /// It was not asked for.
    Leave,
    /// It was done, and is as it was left.
    Skip,
    /// It was done, and somebody changed it since.
    Wait,
}

impl Due {
    /// The outcome of a task that is not due.
    pub(super) fn instead(&self) -> Outcome {
        let (status, why) = match self {
            Self::Hold(HeldBack::Refused(why)) => return Outcome::failed(why.clone()),
            Self::Hold(HeldBack::Asks(Question { message, whole })) => {
                return Outcome {
                    status: Status::Asks,
                    message: message.clone(),
                    sections: whole.iter().cloned().map(Section::Text).collect(),
                    ..Outcome::default()
                };
            }
            Self::Wait => (
                Status::Waits,
                "done before, but its target has changed since",
            ),
            Self::Leave => (Status::Skipped, "not run again"),
            Self::Run | Self::Skip => (Status::Skipped, "done before"),
        };
        Outcome::ended(status, why)
    }
}

impl<'j> JobTask<'j> {
    /// The tasks of a job, as things are before the first of them runs.
    pub(super) fn of(job: &'j Job<'j>, disk: &Disk, setup: &Setup) -> Vec<Self> {
        let mut runs = false;
        let plans = job.plan.iter().chain(std::iter::repeat(&TaskPlan::Run));
        let tasks = job.batch.tasks.iter().zip(plans).map(|(task, plan)| {
            let due = due(task, plan, runs, disk, setup);
            runs |= due == Due::Run && task.action.is_ok();
            Self {
                task,
                plan,
                due,
                foreseen: BTreeSet::new(),
                fate: None,
            }
        });
        tasks.collect()
    }

    pub(super) fn runs(&self) -> bool {
        self.due == Due::Run
    }

    pub(super) fn is_exec(&self) -> bool {
        matches!(self.task.action, Ok(Action::Exec { .. }))
    }

    /// True if it runs and may change the project.
    pub(super) fn will_change(&self) -> bool {
        self.runs() && self.task.action.as_ref().is_ok_and(Action::changes)
    }
}

/// `runs`: a task before this one runs.
fn due(task: &Task<'_>, plan: &TaskPlan, runs: bool, disk: &Disk, setup: &Setup) -> Due {
    match plan {
        TaskPlan::Leave => Due::Leave,
        TaskPlan::Ask(question) => Due::Hold(HeldBack::Asks(question.clone())),
        TaskPlan::DoneExec if !runs => Due::Skip,
        TaskPlan::Done(stands) => {
            let now = stands
                .iter()
                .map(|stand| disk.state(Path::new(&stand.path)));
            let now: Vec<FileState> = now.collect();
            let are = |states: fn(&Stand) -> &[FileState]| {
                let mut both = stands.iter().zip(&now);
                both.all(|(stand, now)| states(stand).iter().any(|state| state.is(now)))
            };
            if are(|stand| &stand.left) {
                Due::Skip
            } else if are(|stand| &stand.before) {
                if_allowed(task, plan, setup)
            } else {
                Due::Wait
            }
        }
        TaskPlan::Run | TaskPlan::Approved | TaskPlan::Chosen(_) | TaskPlan::DoneExec => {
            if_allowed(task, plan, setup)
        }
    }
}

fn if_allowed(task: &Task<'_>, plan: &TaskPlan, setup: &Setup) -> Due {
    let Ok(action) = &task.action else {
        return Due::Run;
    };
    let held = match (setup.actions.refuses(action), action) {
        (Some(why), _) => Some(HeldBack::Refused(why)),
        (None, Action::Exec { script, lang, .. }) => {
            let is_approved = *plan == TaskPlan::Approved;
            let (script, target) = (script.text(), task.target());
            setup.rules.hold(&script, &target, *lang, is_approved)
        }
        (None, _) => None,
    };
    held.map_or(Due::Run, Due::Hold)
}
