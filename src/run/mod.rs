//! Runs batches: saves the state in git, carries out each task, saves again, and tells what came of it. Knows neither
//! the watched file nor the clipboard; `clada run` is this floor alone.

mod atomic;
mod changes;
pub mod context;
mod due;
pub mod exec;
pub mod files;
mod guarded;
mod hooks;
mod journal;
mod preview;
mod progress;
mod saving;
mod stale;
mod task;

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use tokio::sync::watch;

use crate::git::{self, Lost, Message, SaveOutcome, SnapshotError, Snapshots};
use crate::policy::actions::Actions;
use crate::policy::paths::Paths;
use crate::reply::dialect::Dialects;
use crate::reply::question::{Question, parted};
use crate::reply::record::{Fate, TaskPlan, TaskTarget};
use crate::reply::task::{Action, Batch, Scan, Task};
use crate::report::Report;
use crate::report::outcome::{Outcome, Section, Status};
use crate::run::exec::{Hold, Rules};
use crate::world::context::ContextStore;
use crate::world::intent::Intent;
use crate::world::shell::Stream;
use crate::world::workspace::{Disk, Preview};

use atomic::{Atomic, Unfit};
use due::{Due, due};
use progress::{Ended, Left, Run, Work};
use saving::{Saving, Touched};

pub use changes::{Reader, show};
pub use hooks::Hooks;
pub use journal::{Journal, NoJournal};
pub use progress::{batch_id, git_line, saved_work};

/// What runs batches under one root.
pub struct Runner {
    pub disk: Disk,
    /// How the state is saved in git; `None` where that is off.
    pub git: Option<Git>,
    /// Which files the chat works with.
    pub context: ContextStore,
    /// The chat that reads what comes of it; `None` where nobody knows who does.
    pub reader: Option<Reader>,
    /// Files that no commit takes in.
    pub never: Vec<PathBuf>,
    /// The root's canonical path.
    pub root: PathBuf,
    /// How commands are run.
    pub rules: Rules,
    /// What replies may ask for.
    pub actions: Actions,
    pub hooks: Hooks,
    /// In which replies are read.
    pub dialects: Dialects,
    /// Whether outcomes carry the tasks' parameters, for `--json`.
    pub with_params: bool,
}

/// What the settings come to.
pub struct Setup {
    pub dialects: Dialects,
    pub actions: Actions,
    pub paths: Paths,
    pub hooks: Hooks,
    pub rules: Rules,
    /// `None` where git is off.
    pub git: Option<Git>,
    /// The largest file that a task reads or writes, in bytes.
    pub largest_file: u64,
    /// The chat is told what has changed.
    pub changes: bool,
}

/// How the state is saved.
#[derive(Debug, Clone)]
pub struct Git {
    pub options: git::Options,
    /// Where it is kept what atomic batches are about to do.
    pub intents: PathBuf,
    /// A batch makes one commit, not each of its tasks.
    pub whole_batches: bool,
}

/// What a run needs from outside: time, chance, and the wish to stop.
pub struct Surroundings<'s> {
    /// The local time, for commit messages.
    pub now: &'s dyn Fn() -> String,
    /// The local time of a second since 1970.
    pub when: &'s dyn Fn(i64) -> String,
    /// A word that nobody can guess: it fences outputs.
    pub fence: String,
    /// The subject of commits, where a batch has none of its own.
    pub message: Option<String>,
    /// Marks the commits of this run; see [`batch_id`].
    pub id: String,
    /// Becomes true when the run is to stop.
    pub stop: watch::Receiver<bool>,
}

/// What happens in a run, as it happens.
pub enum Progress<'p> {
    Started {
        number: usize,
        total: usize,
        command: &'p str,
        target: &'p str,
    },
    /// What an exec wrote: plain text, and its colours (SGR).
    Output(Stream, &'p [u8]),
    Finished(&'p Outcome),
}

/// Batches of one text that are to run.
pub struct Part<'p> {
    pub text: &'p str,
    pub scan: &'p Scan<'p>,
    pub jobs: Vec<Job>,
}

impl<'p> Part<'p> {
    /// All batches of a text, whole. `approved`: what is asked about runs.
    pub fn whole(text: &'p str, scan: &'p Scan<'p>, approved: bool) -> Self {
        let plan = |batch: &Batch<'_>| match approved {
            true => vec![TaskPlan::Approved; batch.tasks.len()],
            false => Vec::new(),
        };
        let batches = scan.batches.iter().enumerate();
        let jobs = batches.map(|(at, batch)| Job {
            batch: at,
            plan: plan(batch),
        });
        Self {
            text,
            scan,
            jobs: jobs.collect(),
        }
    }

    fn batches(&self) -> impl Iterator<Item = (&'p Batch<'p>, &[TaskPlan])> {
        let batches = &self.scan.batches;
        self.jobs
            .iter()
            .map(|job| (&batches[job.batch], job.plan.as_slice()))
    }
}

/// A batch that is to run.
pub struct Job {
    /// Its place in the scan.
    pub batch: usize,
    /// What to do about each task; none if all run.
    pub plan: Vec<TaskPlan>,
}

/// A finished run.
pub struct Ran {
    pub report: Report,
    /// What came of each job.
    pub jobs: Vec<JobEnd>,
    /// How many untracked files the user is to be asked about.
    pub untracked: Option<usize>,
}

/// What came of a job.
pub struct JobEnd {
    /// Its part of the outcomes.
    pub outcomes: Range<usize>,
    /// No task was started: the batch stays new.
    pub refused: bool,
    /// It began, and was left before its end.
    pub cut: bool,
}

/// A batch that has begun.
struct Course<'c, 't> {
    job: usize,
    batch: &'c Batch<'t>,
    due: Vec<Due>,
    saving: Saving<'c>,
    atomic: Option<Atomic>,
    /// Hooks run after it.
    hooked: bool,
    /// A task was started.
    begun: bool,
}

/// Takes back an atomic batch that clada was in the middle of when it ended; what there is to say of it, and whether it is
/// over. Asked for under the root's lock.
pub fn recover(
    git: &Git,
    root: &Path,
    disk: &mut Disk,
    snapshots: &Snapshots,
) -> Option<(String, bool)> {
    let intent = Intent::of(&git.intents, root);
    let said = atomic::recover(&intent, disk, snapshots)?;
    Some((said, matches!(intent.read(), Ok(None))))
}

impl Runner {
    /// Goes by these settings from now on.
    pub fn take(&mut self, setup: Setup) {
        self.disk.obey(setup.paths);
        self.disk.limit(setup.largest_file);
        (self.rules, self.git) = (setup.rules, setup.git);
        (self.actions, self.hooks) = (setup.actions, setup.hooks);
        self.dialects = setup.dialects;
        if let Some(reader) = &mut self.reader {
            reader.turn(setup.changes);
        }
    }

    /// Keeps tasks off these files too, and commits.
    pub fn protect(&mut self, files: &[PathBuf]) {
        self.disk.protect(files);
        self.never.extend_from_slice(files);
        self.never.sort();
        self.never.dedup();
    }

    /// Runs batches, one after the other. Tasks are numbered through.
    pub async fn run(
        &mut self,
        parts: &[Part<'_>],
        around: &Surroundings<'_>,
        journal: &mut dyn Journal,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Ran {
        let with = (&self.rules.mask, self.with_params);
        let mut run = Run::new(total(parts), around, progress, with);
        // Opened for each run: libgit2 keeps the settings of a repository for as long as it is open.
        let moved = self.moved();
        let git = self.git.as_ref().filter(|_| moved.is_none());
        let mut snapshots = git.map_or(Ok(None), |git| {
            Snapshots::open(&self.root, &self.never, &git.options, &around.stop)
        });
        match &snapshots {
            Ok(Some(snapshots)) => run.private = snapshots.store.is_private(),
            Ok(None) if git.is_some() => run.unsaved = Some(NO_REPOSITORY.to_owned()),
            _ => {}
        }
        if let Ok(Some(snapshots)) = &snapshots {
            run.notice_once(self.recover_with(snapshots).as_deref());
        }
        run.changes = self.changes();
        for part in parts {
            run.reads(part.text);
            for (batch, plan) in part.batches() {
                let first = run.report.outcomes.len();
                run.dialect = batch.dialect;
                let ran = match &moved {
                    Some(why) => Err(why.clone()),
                    None => {
                        self.run_batch(batch, plan, &mut snapshots, journal, &mut run)
                            .await
                    }
                };
                if let Err(why) = &ran {
                    run.not_run(batch, why);
                }
                run.job(first, ran.is_err());
            }
        }
        self.disk.settle();
        self.tell_changes(run.changes.take(), &mut run.report);
        let mut ran = run.finish();
        if journal.keeps()
            && let Ok(Some(snapshots)) = &mut snapshots
        {
            ran.untracked = snapshots.offers_to_add();
        }
        ran
    }

    /// Has git track what it does not, for the user; what there is to say of it.
    pub fn add_untracked(&self, around: &Surroundings<'_>) -> String {
        if let Some(why) = self.moved() {
            return format!("❌ nothing was added: {why}");
        }
        let added = self.git.as_ref().map(|git| {
            let open = Snapshots::open(&self.root, &self.never, &git.options, &around.stop)?;
            let message = Message {
                time: (around.now)(),
                batch: around.id.clone(),
                ..Message::default()
            };
            open.map(|mut open| open.add_untracked(&message))
                .transpose()
        });
        match added {
            Some(Ok(Some((count, SaveOutcome { commit, .. })))) => {
                let files = if count == 1 { "file" } else { "files" };
                let commit = commit.unwrap_or_default();
                format!("💚 added {count} {files} to git ({})", git::short(&commit))
            }
            Some(Err(error)) => format!("❌ git: nothing was added: {error}"),
            Some(Ok(None)) | None => "❌ nothing was added: git is off here".to_owned(),
        }
    }

    /// Takes back an atomic batch that clada was in the middle of when it ended; what there is to say of it. Asked for under
    /// the root's lock; each run does it too.
    pub fn recover(&mut self, stop: &watch::Receiver<bool>) -> Option<String> {
        let git = self.git.as_ref()?;
        if self.disk.moved().is_some() {
            // The next run says so.
            return None;
        }
        let intent = Intent::of(&git.intents, &self.root);
        if matches!(intent.read(), Ok(None)) {
            return None;
        }
        match Snapshots::open(&self.root, &self.never, &git.options, stop) {
            Ok(snapshots) => self.recover_with(&snapshots?),
            // The next run says so.
            Err(_) => None,
        }
    }

    /// Why nothing may be started: what is at the root's path is not the root.
    fn moved(&self) -> Option<String> {
        let moved = self.disk.moved()?;
        Some(format!("{moved}{}", git::TRY_AGAIN))
    }

    fn recover_with(&mut self, snapshots: &Snapshots) -> Option<String> {
        let git = self.git.as_ref()?;
        recover(git, &self.root, &mut self.disk, snapshots).map(|(said, _)| said)
    }

    /// Runs a batch; why nothing of it could be started.
    async fn run_batch(
        &mut self,
        batch: &Batch<'_>,
        plan: &[TaskPlan],
        snapshots: &mut Result<Option<Snapshots>, SnapshotError>,
        journal: &mut dyn Journal,
        run: &mut Run<'_, '_>,
    ) -> Result<(), String> {
        if let Some(problem) = batch.state.problem() {
            run.problem(problem);
            return Ok(());
        }
        if *run.around.stop.borrow() {
            if !run.jobs.iter().any(|job| job.cut) {
                return Err(exec::STOPPED.to_owned());
            }
            // It may build on the one that was cut short: like that, it must not run by itself at the next start.
            return run.without_a_task(journal, |run| {
                run.not_run(batch, exec::STOPPED);
                run.cut = true;
            });
        }
        let job = run.jobs.len();
        let due = self.due(batch, plan);
        let known = snapshots.as_ref().ok().and_then(Option::as_ref);
        let can_undo = !matches!(snapshots, Ok(None));
        let scene = (Preview::new(&self.disk), known, can_undo);
        if let Some((index, why)) = self.hindrance(batch, &due, scene, run) {
            return run.without_a_task(journal, |run| run.hindered(batch, index, why));
        }
        let whole = batch.atomic || self.git.as_ref().is_some_and(|git| git.whole_batches);
        let hooked = hooks::are_due(batch, &due);
        if self.git.as_ref().is_some_and(|git| git.options.hooks) {
            journal.commands()?;
        }
        let mut saving = Saving::before(snapshots, whole, batch, run)?;
        if self.runs_commands(batch, &due, hooked) {
            journal.commands()?;
        }
        if hooked && !self.hooks.before.is_empty() {
            saving.expect_command(batch, run);
            // What they change is saved before the tasks change anything, and beside what was there before them.
            let ready = match self.hooks_before(batch, run).await {
                Ok(()) => saving.again(batch, hooks::said("before", &self.hooks.before), run),
                failed => failed,
            };
            if let Err(why) = ready {
                run.take_commits();
                return Err(why);
            }
        }
        let atomic = match self.atomic(batch, &due, &saving) {
            Ok(atomic) => atomic,
            Err(Unfit::Refused(why)) => return Err(why),
            Err(Unfit::Task(index, why)) => {
                let why = Ended::because(Status::Failed, why);
                return run.without_a_task(journal, |run| run.hindered(batch, index, why));
            }
        };
        if let Err(why) = journal.begin(job, due.iter().position(|due| *due == Due::Run)) {
            end(atomic.as_ref(), run);
            return Err(why);
        }
        let course = Course {
            job,
            batch,
            due,
            saving,
            atomic,
            hooked: hooked && !self.hooks.after.is_empty(),
            begun: false,
        };
        self.carry_out(course, plan, journal, run).await;
        Ok(())
    }

    /// What is to be done about each task of a batch.
    fn due(&self, batch: &Batch<'_>, plan: &[TaskPlan]) -> Vec<Due> {
        due(&batch.tasks, plan, &self.disk, (&self.actions, &self.rules))
    }

    /// Tells if anything runs for a batch that could write where it likes in the project: an exec, or a hook of the user's.
    fn runs_commands(&self, batch: &Batch<'_>, due: &[Due], hooked: bool) -> bool {
        let has_hooks = !self.hooks.before.is_empty() || !self.hooks.after.is_empty();
        let mut due = batch.tasks.iter().zip(due);
        hooked && has_hooks || due.any(|(task, due)| is_exec(task) && *due == Due::Run)
    }

    /// Carries out the tasks of a batch that has begun.
    async fn carry_out(
        &mut self,
        mut course: Course<'_, '_>,
        plan: &[TaskPlan],
        journal: &mut dyn Journal,
        run: &mut Run<'_, '_>,
    ) {
        let Course { job, batch, .. } = course;
        let first = run.report.outcomes.len();
        if let (Some(changes), Some(_)) = (&mut run.changes, &course.atomic) {
            changes.remember();
        }
        let mut fates = Vec::new();
        let mut changed: BTreeSet<String> = BTreeSet::new();
        let mut exec_since = false;
        let mut files = Vec::new();
        for (index, task) in batch.tasks.iter().enumerate() {
            let failed = course.atomic.as_ref().and_then(|atomic| atomic.failed);
            let runs = course.due[index] == Due::Run;
            let (ended, touched, targets) =
                match self.instead(&mut course, (index, plan), journal, run) {
                    None => {
                        let chosen = match plan.get(index) {
                            Some(TaskPlan::Chosen(spot)) => Some(spot),
                            _ => None,
                        };
                        let ended = self
                            .run_task((task, chosen), journal.keeps(), &course.saving, run)
                            .await;
                        exec_since |= is_exec(task);
                        ended
                    }
                    Some(ended) => {
                        run.number += 1;
                        (ended, Touched::Nothing, Vec::new())
                    }
                };
            let outcome = run.outcome(task, ended);
            if failed.is_none() {
                run.cut |= matches!(outcome.status, Status::Interrupted | Status::NotRun);
            }
            if let Some(atomic) = &mut course.atomic
                && runs
                && !outcome.status.is_good()
            {
                atomic.fails(outcome.number, outcome.status);
            }
            let paths = touched.paths().map(<[_]>::to_vec).unwrap_or_default();
            files.push(paths.clone());
            let who = format!("task {}", outcome.label());
            let work = Work {
                who: &who,
                why: Some(task.why),
                line: task.summary(),
            };
            let has_changed = !matches!(touched, Touched::Nothing);
            course.saving.after(touched, (batch, work), run);
            if has_changed {
                run.left.push(Left {
                    label: outcome.label().into_owned(),
                    paths,
                    commit: course.saving.commit().map(str::to_owned),
                });
            }
            changed.extend(targets.iter().map(|target| target.path.clone()));
            if let (Due::Skip, Some(TaskPlan::Done(stands))) = (&course.due[index], plan.get(index))
            {
                changed.extend(stands.iter().map(|stand| stand.path.clone()));
            }
            let fate = match outcome.status {
                // It was started, to find that out.
                Status::Asks if runs => Some(Fate::NotRun),
                status => fate(status, targets),
            };
            match course.atomic {
                // Its last word is said at the end.
                Some(_) => fates.push(fate),
                None => journal.finish(job, index, &outcome, fate),
            }
            run.finished_with_warnings(task, outcome);
        }
        if let Some(atomic) = &course.atomic {
            self.close(batch, atomic, &mut course.saving, (first, &mut fates), run);
            for (index, fate) in fates.into_iter().enumerate() {
                journal.finish(job, index, &run.report.outcomes[first + index], fate);
            }
        }
        if course.hooked {
            self.hooks_after(&mut course, (first, &files), run).await;
            exec_since = true;
        }
        course.saving.end(batch, run);
        // A formatter's work is not somebody else's.
        let left = changed.into_iter().filter(|_| exec_since).map(|path| {
            let state = self.disk.state(Path::new(&path));
            (path, state)
        });
        journal.end(job, left.collect(), run.take_commits());
    }

    /// What becomes of a task that does not start; one that does is in the account, and what it may change is saved.
    fn instead(
        &self,
        course: &mut Course<'_, '_>,
        (index, plan): (usize, &[TaskPlan]),
        journal: &mut dyn Journal,
        run: &mut Run<'_, '_>,
    ) -> Option<Ended> {
        let (batch, task) = (course.batch, &course.batch.tasks[index]);
        if course.due[index] != Due::Run {
            return Some(not_due(&course.due[index]));
        }
        let begun = std::mem::replace(&mut course.begun, true);
        if let Some((number, how)) = course.atomic.as_ref().and_then(|atomic| atomic.failed) {
            return Some(Ended::not_run(format!(
                "task {number} of this atomic batch {how}"
            )));
        }
        if *run.around.stop.borrow() {
            return Some(Ended::not_run(exec::STOPPED.to_owned()));
        }
        if begun && let Err(why) = journal.start(course.job, index) {
            return Some(Ended::not_run(why));
        }
        if is_exec(task) {
            if let Some(moved) = self.disk.moved() {
                return Some(Ended::not_run(moved.to_string()));
            }
            course.saving.expect_command(course.batch, run);
        }
        if let Some(atomic) = &mut course.atomic
            && atomic.is_outdated(task)
            && let Err(why) =
                atomic.plan_anew(batch, &course.due, index, (&self.disk, &course.saving))
        {
            return Some(Ended::because(Status::Failed, why));
        }
        if let Ok(action) = &task.action {
            let places = files::places(action, &self.disk);
            let lost = course.saving.guard(&places, (batch, task), run);
            let destroyed = files::destroyed(action, &self.disk);
            let is_destroyed = |lost: &&Lost| {
                let mut destroyed = destroyed.iter();
                destroyed.any(|place| lost.path.starts_with(place))
            };
            let is_approved = matches!(plan.get(index), Some(TaskPlan::Approved));
            if !is_approved && let Some(lost) = lost.iter().find(is_destroyed) {
                return Some(Ended::because(Status::Asks, lost.to_string()));
            }
            for lost in lost {
                run.notice_once(Some(&format!("⚠ {lost}")));
            }
        }
        None
    }

    /// What makes an atomic batch one that can be taken back; `None` for another, and where there is no git.
    fn atomic(
        &self,
        batch: &Batch<'_>,
        due: &[Due],
        saving: &Saving<'_>,
    ) -> Result<Option<Atomic>, Unfit> {
        match &self.git {
            Some(git) if batch.atomic && saving.snapshots().is_some() => {
                let intent = Intent::of(&git.intents, &self.root);
                Atomic::begin(intent, batch, due, (&self.disk, saving)).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Ends an atomic batch, whose outcomes begin with `first`: takes it back if a task of it failed.
    fn close(
        &mut self,
        batch: &Batch<'_>,
        atomic: &Atomic,
        saving: &mut Saving<'_>,
        (first, fates): (usize, &mut [Option<Fate>]),
        run: &mut Run<'_, '_>,
    ) {
        if let Some(failed) = atomic.failed {
            let taken = atomic.take_back(&mut self.disk, saving);
            if let Some(changes) = &mut run.changes {
                changes.taken_back(&taken.back);
            }
            let paths = |task: usize| match &batch.tasks[task].action {
                Ok(action) if !action.changes() => None,
                _ => Some(atomic.paths(task)),
            };
            let said = run.taken_back(first, failed, paths, &taken);
            for (fate, _) in fates.iter_mut().zip(said).filter(|(_, back)| *back) {
                *fate = Some(Fate::Failed);
            }
            saving.taken_back(failed);
        }
        // From here on it is not taken back any more, also where clada ends right now.
        end(Some(atomic), run);
    }

    /// The task of an atomic batch that cannot be done, and why. All of them must be possible, one after the other, before
    /// the first is done.
    fn hindrance(
        &self,
        batch: &Batch<'_>,
        due: &[Due],
        (mut preview, snapshots, can_undo): (Preview<'_>, Option<&Snapshots>, bool),
        run: &mut Run<'_, '_>,
    ) -> Option<(usize, Ended)> {
        if !batch.atomic {
            return None;
        }
        let mut before: Vec<Left> = Vec::new();
        let tasks = batch.tasks.iter().enumerate();
        let mut tasks = tasks
            .filter(|(index, _)| matches!(due.get(*index), None | Some(Due::Run | Due::Hold(_))));
        tasks.find_map(|(index, task)| {
            let ended = match &task.action {
                Err(problem) => run.misread(problem),
                Ok(action) if !matches!(action, Action::Exec { .. })
                    && let Some(Due::Hold(hold)) = due.get(index) =>
                {
                    held(hold)
                }
                Ok(Action::Exec { .. }) if batch.tasks.len() == 1 => return None,
                Ok(Action::Exec { .. }) if !can_undo => Ended::not_run(
                    "an atomic batch with an exec needs git to revert its file tasks: put the exec into a `<tasks>` \
                     of its own after this one"
                        .to_owned(),
                ),
                Ok(Action::Exec { .. }) => match due.get(index) {
                    Some(Due::Hold(hold)) => held(hold),
                    _ => return None,
                },
                Ok(action) => {
                    let done = match action {
                        Action::Context(task) => {
                            context::perform(task, &preview, &self.context, true)
                        }
                        action => files::perform(action, &mut preview, false),
                    };
                    match done {
                        Ok(done) => {
                            before.push(Left {
                                label: (run.number + index + 1).to_string(),
                                paths: done.touched,
                                commit: None,
                            });
                            return None;
                        }
                        Err(mut failure) => {
                            let when = run.around.when;
                            stale::explain(&mut failure, action, snapshots, &before, when);
                            let ended: Ended = failure.into();
                            // What a task before it would have changed is shown as it is only thought.
                            if before.iter().all(|left| left.paths.is_empty())
                                && let Some(changes) = &mut run.changes
                            {
                                changes.shown(action, (&ended.sections, &ended.data), &self.disk);
                            }
                            ended
                        }
                    }
                }
            };
            Some((index, ended))
        })
    }
}

fn is_exec(task: &Task<'_>) -> bool {
    matches!(task.action, Ok(Action::Exec { .. }))
}

fn total(parts: &[Part<'_>]) -> usize {
    let batches = parts.iter().flat_map(Part::batches);
    batches.map(|(batch, _)| batch.tasks.len()).sum()
}

/// What is said of a task that is not run.
fn not_due(due: &Due) -> Ended {
    let (status, why) = match due {
        Due::Hold(Hold::Refused(why)) => return Ended::because(Status::Failed, why.clone()),
        Due::Hold(Hold::Asks(Question { message, whole })) => {
            return Ended {
                status: Status::Asks,
                message: message.clone(),
                sections: whole.iter().cloned().map(Section::Text).collect(),
                ..Ended::done()
            };
        }
        Due::Wait => (
            Status::Waits,
            "done before, but its target has changed since",
        ),
        Due::Leave => (Status::Skipped, "not run again"),
        Due::Run | Due::Skip => (Status::Skipped, "done before"),
    };
    Ended::because(status, why.to_owned())
}

/// Why an atomic batch with a command that may not run, or not yet, does not run at all.
fn held(hold: &Hold) -> Ended {
    let why = match hold {
        Hold::Refused(why) => why.clone(),
        Hold::Asks(question) => format!(
            "{}, and an atomic batch cannot wait for that: put it into a `<tasks>` of its own after this one",
            parted(question.message.as_deref().unwrap_or("needs approval")).0
        ),
    };
    Ended::not_run(why)
}

/// An atomic batch is over.
fn end(atomic: Option<&Atomic>, run: &mut Run<'_, '_>) {
    if let Some(Err(said)) = atomic.map(Atomic::end) {
        run.notice_once(Some(&said));
    }
}

/// What is remembered of a task that ended so; nothing new where it did not run.
fn fate(status: Status, targets: Vec<TaskTarget>) -> Option<Fate> {
    match status {
        Status::Done => Some(Fate::Done(targets)),
        Status::Failed => Some(Fate::Failed),
        Status::Interrupted => Some(Fate::Interrupted),
        Status::NotRun => Some(Fate::NotRun),
        Status::Skipped | Status::Waits | Status::Asks => None,
    }
}

/// What there is to say where the user wants no private snapshots.
pub const NO_REPOSITORY: &str =
    "no git repository here, and `git.private_limit` is 0: run `git init`";
