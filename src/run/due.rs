//! What is left to do of a batch that ran in an earlier form, and what its tasks change, by what is on the disk.

use std::path::{Path, PathBuf};

use crate::policy::actions::Actions;
use crate::reply::record::{FileState, Stand, TaskPlan, TaskTarget};
use crate::reply::task::{Action, Task};
use crate::run::exec::{Hold, Rules};
use crate::run::files;
use crate::world::workspace::Disk;

/// What is to be done about a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Due {
    Run,
    /// It is nothing that a reply may ask for, or an exec that may not run, or not yet.
    Hold(Hold),
    /// It was not asked for.
    Leave,
    /// It was done, and is as it was left.
    Skip,
    /// It was done, and somebody changed it since.
    Wait,
}

/// What is to be done about each task, as things are before the first of them runs. No plan: all run.
pub(super) fn due(
    tasks: &[Task<'_>],
    plan: &[TaskPlan],
    disk: &Disk,
    (actions, rules): (&Actions, &Rules),
) -> Vec<Due> {
    let mut runs = false;
    let run = |task: &Task<'_>, plan: &TaskPlan| {
        let action = task.action.as_ref().ok();
        if let Some(why) = action.and_then(|action| actions.refuses(action)) {
            return Due::Hold(Hold::Refused(why));
        }
        let Ok(Action::Exec { script, lang, .. }) = &task.action else {
            return Due::Run;
        };
        let approved = *plan == TaskPlan::Approved;
        let hold = rules.hold((&script.text(), &task.target()), *lang, approved);
        hold.map_or(Due::Run, Due::Hold)
    };
    let due = tasks.iter().enumerate().map(|(index, task)| {
        let plan = plan.get(index).unwrap_or(&TaskPlan::Run);
        let due = match plan {
            TaskPlan::Run | TaskPlan::Approved | TaskPlan::Chosen(_) => run(task, plan),
            TaskPlan::Leave => Due::Leave,
            TaskPlan::Ask(question) => Due::Hold(Hold::Asks(question.clone())),
            TaskPlan::DoneExec if runs => run(task, plan),
            TaskPlan::DoneExec => Due::Skip,
            TaskPlan::Done(stands) => {
                let now = |stand: &Stand| disk.state(Path::new(&stand.path));
                let is_one =
                    |now: &FileState, states: &[FileState]| states.iter().any(|s| s.is(now));
                let now: Vec<_> = stands.iter().map(|stand| (stand, now(stand))).collect();
                if now.iter().all(|(stand, now)| is_one(now, &stand.left)) {
                    Due::Skip
                } else if now.iter().all(|(stand, now)| is_one(now, &stand.before)) {
                    run(task, plan)
                } else {
                    Due::Wait
                }
            }
        };
        runs |= due == Due::Run && task.action.is_ok();
        due
    });
    due.collect()
}

/// The places that a file task is about, and what is there before it.
pub(super) struct Before(Vec<(PathBuf, FileState)>);

impl Before {
    pub(super) fn of(action: &Action<'_>, disk: &Disk) -> Self {
        let places = files::subjects(action, disk);
        let states = places.iter().map(|place| {
            let state = disk.state(place.path());
            (place.path().to_owned(), state)
        });
        Self(states.collect())
    }

    /// What a task that is done has changed; `onto_nothing` where it moved something to where nothing was.
    pub(super) fn targets(
        &self,
        touched: &[PathBuf],
        onto_nothing: bool,
        disk: &Disk,
    ) -> Vec<TaskTarget> {
        let known = |path: &Path| self.0.iter().find(|(known, _)| known == path);
        let before = |path: &Path| match known(path) {
            Some((_, state)) => state.clone(),
            None if onto_nothing => FileState::missing(),
            None => FileState::UNKNOWN,
        };
        let targets = touched.iter().map(|path| TaskTarget {
            // A name that is no text cannot be looked at again: its state will be unknown.
            path: path.to_string_lossy().into_owned(),
            before: before(path),
            after: disk.state(path),
        });
        targets.collect()
    }
}
