//! Runs one job: the snapshot before, each task, the snapshot after.

use std::collections::BTreeSet;
use std::path::Path;

use super::atomic::{Atomic, Unfit};
use super::job::{Due, Job, JobTask};
use super::journal::{Journal, NotStarted};
use super::preview::Rehearsal;
use super::progress::{ActiveRun, Hindrance, PastChange, Work};
use super::saving::Saving;
use super::{Runner, exec, files};
use crate::git::{Lost, SnapshotError, Snapshots};
use crate::reply::record::{Fate, TaskPlan, TaskTarget};
use crate::reply::task::Batch;
use crate::report::outcome::{Outcome, Status};
use crate::world::intent::Intent;
use crate::world::workspace::Preview;

/// A job whose first snapshot is made.
pub(super) struct RunningJob<'j> {
    /// Its place in the run, from 0.
    number: usize,
    tasks: Vec<JobTask<'j>>,
    /// The place of its first outcome in the report.
    pub(super) first: usize,
    pub(super) saving: Saving<'j>,
    atomic: Option<Atomic>,
    /// A task was started.
    begun: bool,
    /// Hooks run after it.
    hooked: bool,
    /// The paths that tasks changed, now or in an earlier form of the batch.
    changed: BTreeSet<String>,
}

impl Runner {
    /// Runs a job, or tells why nothing of it could be started.
    pub(super) async fn run_job<'j>(
        &mut self,
        job: &'j Job<'j>,
        snapshots: &'j mut Result<Option<Snapshots>, SnapshotError>,
        journal: &mut dyn Journal,
        run: &mut ActiveRun<'_, '_>,
    ) -> Result<(), NotStarted> {
        let batch = job.batch;
        if let Some(problem) = batch.state.problem() {
            run.problem(problem);
            return Ok(());
        }
        if *run.around.stop.borrow() {
            if !run.jobs.ended.iter().any(|job| job.cut) {
                return Err(NotStarted::because(exec::STOPPED));
            }
            // It may build on the one that was cut short: like that, it must not run by itself at the next start.
            return run.without_a_task(journal, |run| {
                run.not_run(batch, exec::STOPPED);
                run.jobs.cut = true;
            });
        }
        let tasks = JobTask::of(job, &self.disk, &self.setup);
        let rehearsal = Rehearsal {
            files: Preview::new(&self.disk),
            snapshots: snapshots.as_ref().ok().and_then(Option::as_ref),
            can_revert: !matches!(snapshots, Ok(None)),
        };
        if let Some(hindrance) = self.hindrance(batch, &tasks, rehearsal, run) {
            return run.without_a_task(journal, |run| run.hindered(batch, hindrance));
        }
        let mut job = match self.begin(batch, tasks, snapshots, journal, run).await {
            Ok(job) => job,
            Err(Unfit::Refused(why)) => return Err(why),
            Err(Unfit::Task(task, NotStarted(why))) => {
                let outcome = Outcome::failed(why);
                let hindrance = Hindrance { task, outcome };
                return run.without_a_task(journal, |run| run.hindered(batch, hindrance));
            }
        };
        let ran_exec = self.run_tasks(&mut job, journal, run).await;
        if job.atomic.is_some() {
            self.close_atomic(&mut job, journal, run);
        }
        if job.hooked {
            self.hooks_after(&mut job, run).await;
        }
        job.saving.end(run);
        // A formatter's work is not somebody else's.
        let ran_commands = ran_exec || job.hooked;
        let changed = job.changed.into_iter().filter(|_| ran_commands);
        let left = changed.map(|path| {
            let state = self.disk.state(Path::new(&path));
            (path, state)
        });
        journal.end(job.number, left.collect(), run.states.take_commits());
        Ok(())
    }

    /// Makes the snapshot before a job, runs the hooks before it, and notes that it begins.
    async fn begin<'j>(
        &mut self,
        batch: &'j Batch<'j>,
        mut tasks: Vec<JobTask<'j>>,
        snapshots: &'j mut Result<Option<Snapshots>, SnapshotError>,
        journal: &mut dyn Journal,
        run: &mut ActiveRun<'_, '_>,
    ) -> Result<RunningJob<'j>, Unfit> {
        let git = self.setup.git.as_ref();
        if git.is_some_and(|git| git.options.hooks) {
            journal.commands()?;
        }
        let whole = batch.atomic || git.is_some_and(|git| git.whole_batches);
        let mut saving = Saving::before(snapshots, whole, batch, run)?;
        let hooked = self.has_hooks_for(&tasks);
        if hooked || tasks.iter().any(|task| task.runs() && task.is_exec()) {
            journal.commands()?;
        }
        if hooked {
            self.hooks_before(&mut saving, run).await?;
        }
        let atomic = self.atomic(&mut tasks, &saving)?;
        let job = RunningJob {
            number: run.job(),
            tasks,
            first: run.report.outcomes.len(),
            saving,
            atomic,
            begun: false,
            hooked: hooked && !self.setup.hooks.after.is_empty(),
            changed: BTreeSet::new(),
        };
        if let Err(why) = journal.begin(job.number, job.tasks.iter().position(JobTask::runs)) {
            job.end_atomic(run);
            return Err(why.into());
        }
        if let (Some(changes), Some(_)) = (&mut run.changes, &job.atomic) {
            changes.remember();
        }
        Ok(job)
    }

    /// Carries out the tasks of a job. Returns true if an exec was among them.
    async fn run_tasks(
        &mut self,
        job: &mut RunningJob<'_>,
        journal: &mut dyn Journal,
        run: &mut ActiveRun<'_, '_>,
    ) -> bool {
        let mut ran_exec = false;
        for index in 0..job.tasks.len() {
            let is_cut_by_atomic = job.failed().is_some();
            let (outcome, targets) = match self.instead(job, index, journal, run) {
                Some(outcome) => (outcome, Vec::new()),
                None => {
                    let task = &job.tasks[index];
                    if task.is_exec() {
                        ran_exec = true;
                        self.disk.begin_writing();
                    }
                    self.run_task(task, journal.keeps(), &job.saving, run).await
                }
            };
            let task = job.tasks[index].task;
            let outcome = run.complete(task, outcome);
            tracing::debug!(task = run.number(), status = ?outcome.status, "task ended");
            if !is_cut_by_atomic {
                run.jobs.cut |= matches!(outcome.status, Status::Interrupted | Status::NotRun);
            }
            job.save(index, &outcome, run);
            job.remember(index, &outcome, targets);
            if job.atomic.is_none() {
                let fate = job.tasks[index].fate.take();
                journal.finish(job.number, index, &outcome, fate);
            }
            run.finished_with_warnings(task, outcome);
        }
        ran_exec
    }

    /// Returns the outcome of a task that does not start. One that does start is in the account, and what it may change is
    /// saved.
    fn instead(
        &self,
        job: &mut RunningJob<'_>,
        index: usize,
        journal: &mut dyn Journal,
        run: &mut ActiveRun<'_, '_>,
    ) -> Option<Outcome> {
        if !job.tasks[index].runs() {
            return Some(job.tasks[index].due.instead());
        }
        let begun = std::mem::replace(&mut job.begun, true);
        if let Some((number, how)) = job.failed() {
            let why = format!("task {number} of this atomic batch {how}");
            return Some(Outcome::not_run(why));
        }
        if *run.around.stop.borrow() {
            return Some(Outcome::not_run(exec::STOPPED));
        }
        if begun && let Err(NotStarted(why)) = journal.start(job.number, index) {
            return Some(Outcome::not_run(why));
        }
        if job.tasks[index].is_exec() {
            if let Some(moved) = self.disk.moved() {
                return Some(Outcome::not_run(moved.to_string()));
            }
            job.saving.expect_command(run);
        }
        if let Some(atomic) = &mut job.atomic {
            let planned = atomic.expect(&mut job.tasks, index, &self.disk, &job.saving);
            if let Err(NotStarted(why)) = planned {
                return Some(Outcome::failed(why));
            }
        }
        self.unsaved(&job.tasks[index], &mut job.saving, run)
    }

    /// Saves what a task may change and the repository leaves out. Asks before the task destroys what cannot be saved.
    fn unsaved(
        &self,
        task: &JobTask<'_>,
        saving: &mut Saving<'_>,
        run: &mut ActiveRun<'_, '_>,
    ) -> Option<Outcome> {
        let action = task.task.action.as_ref().ok()?;
        let lost = saving.guard(|| files::places(action, &self.disk), task.task, run);
        if lost.is_empty() {
            return None;
        }
        let destroyed = files::destroyed(action, &self.disk);
        let is_destroyed = |lost: &&Lost| {
            let mut destroyed = destroyed.iter();
            destroyed.any(|place| lost.path.starts_with(place))
        };
        if *task.plan != TaskPlan::Approved
            && let Some(lost) = lost.iter().find(is_destroyed)
        {
            return Some(Outcome::ended(Status::Asks, lost.to_string()));
        }
        for lost in lost {
            run.notice_once(Some(&format!("⚠ {lost}")));
        }
        None
    }

    /// Prepares an atomic batch to be reverted; `None` for another batch, and where there is no git.
    fn atomic(
        &self,
        tasks: &mut [JobTask<'_>],
        saving: &Saving<'_>,
    ) -> Result<Option<Atomic>, Unfit> {
        match &self.setup.git {
            Some(git) if saving.batch.atomic && saving.snapshots().is_some() => {
                let intent = Intent::of(&git.intents, self.disk.path());
                Atomic::begin(intent, tasks, &self.disk, saving).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Ends an atomic batch: reverts it if a task of it failed, and tells the journal.
    fn close_atomic(
        &mut self,
        job: &mut RunningJob<'_>,
        journal: &mut dyn Journal,
        run: &mut ActiveRun<'_, '_>,
    ) {
        if let Some(atomic) = &job.atomic
            && let Some(failed) = atomic.failed
        {
            let reverted = atomic.revert(&mut self.disk, &job.saving);
            if let Some(changes) = &mut run.changes {
                changes.reverted(&reverted.back);
            }
            reverted.tell(job.first, &mut job.tasks, failed, run);
            let why = format!("task {} {}", failed.number, failed.how);
            job.saving.reverted(&why);
        }
        // From here on it is not reverted any more, also where clada ends right now.
        job.end_atomic(run);
        let outcomes = &run.report.outcomes[job.first..];
        for (index, (task, outcome)) in job.tasks.iter_mut().zip(outcomes).enumerate() {
            journal.finish(job.number, index, outcome, task.fate.take());
        }
    }
}

impl RunningJob<'_> {
    /// The task that failed, if the batch is atomic and one did: its number, and a verb.
    fn failed(&self) -> Option<(usize, &'static str)> {
        let failed = self.atomic.as_ref()?.failed?;
        Some((failed.number, failed.how))
    }

    /// Saves what a task left.
    fn save(&mut self, index: usize, outcome: &Outcome, run: &mut ActiveRun<'_, '_>) {
        let task = self.tasks[index].task;
        let label = outcome.label().into_owned();
        let work = Work {
            who: &format!("task {label}"),
            why: Some(task.why),
            line: task.summary(),
        };
        self.saving.after(outcome.touched.clone(), work, run);
        if !outcome.touched.is_nothing() {
            let paths = outcome.touched.paths().unwrap_or_default();
            run.past.push(PastChange {
                label,
                paths: paths.to_vec(),
                commit: self.saving.commit().map(str::to_owned),
            });
        }
    }

    /// Notes the fate of a task, and what it changed.
    fn remember(&mut self, index: usize, outcome: &Outcome, targets: Vec<TaskTarget>) {
        let task = &mut self.tasks[index];
        self.changed
            .extend(targets.iter().map(|it| it.path.clone()));
        if let (Due::Skip, TaskPlan::Done(stands)) = (&task.due, task.plan) {
            self.changed.extend(stands.iter().map(|it| it.path.clone()));
        }
        task.fate = match outcome.status {
            Status::Done => Some(Fate::Done(targets)),
            Status::Failed => Some(Fate::Failed),
            Status::Interrupted => Some(Fate::Interrupted),
            Status::NotRun => Some(Fate::NotRun),
            // It was started, to find that out.
            Status::Asks if task.runs() => Some(Fate::NotRun),
            Status::Skipped | Status::Waits | Status::Asks => None,
        };
        if let Some(atomic) = &mut self.atomic
            && task.runs()
            && !outcome.status.is_good()
        {
            atomic.fails(outcome.number, outcome.status);
        }
    }

    /// The atomic batch is over.
    fn end_atomic(&self, run: &mut ActiveRun<'_, '_>) {
        let warning = self.atomic.as_ref().and_then(Atomic::end);
        run.notice_once(warning.as_deref());
    }
}
