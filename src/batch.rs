//! Runs batches: saves the state in git, carries out each task, saves again, and tells what came of it. Knows neither
//! the watched file nor the clipboard; `clada run` is this floor alone.

mod due;
mod journal;
mod run;

use std::collections::BTreeSet;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use tokio::sync::watch;

use crate::exec_task::{self, Exec, Hold, Rules};
use crate::file_task;
use crate::lang::outcome::{Outcome, Section, Status};
use crate::lang::record::{Fate, Plan, Target};
use crate::lang::report::Report;
use crate::lang::task::{Action, Batch, Scan, Task};
use crate::world::shell::Stream;
use crate::world::snapshot::{self, SnapshotError, Snapshots, Step};
use crate::world::workspace::{Disk, Files, Kind, Preview};

use due::{Before, Due, due};
use run::{Ended, Run};

pub use journal::{Journal, NoJournal};
pub use run::{batch_id, git_line};

/// What runs batches under one root.
pub struct Runner {
    pub disk: Disk,
    /// How the state is saved in git; `None` where that is off.
    pub git: Option<Git>,
    /// Files that no commit takes in.
    pub never: Vec<PathBuf>,
    /// The root's canonical path.
    pub root: PathBuf,
    /// How commands are run.
    pub rules: Rules,
    /// Whether outcomes carry the tasks' parameters, for `--json`.
    pub with_params: bool,
}

/// What the settings come to.
pub struct Setup {
    pub rules: Rules,
    /// `None` where git is off.
    pub git: Option<Git>,
}

/// How the state is saved.
#[derive(Debug, Clone)]
pub struct Git {
    pub options: snapshot::Options,
    /// A batch makes one commit, not each of its tasks.
    pub whole_batches: bool,
}

/// What a run needs from outside: time, chance, and the wish to stop.
pub struct Surroundings<'s> {
    /// The local time, for commit messages.
    pub now: &'s dyn Fn() -> String,
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
        command: &'static str,
        target: &'p str,
    },
    /// Plain text that an exec wrote.
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
            true => vec![Plan::Approved; batch.tasks.len()],
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

    fn batches(&self) -> impl Iterator<Item = (&'p Batch<'p>, &[Plan])> {
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
    pub plan: Vec<Plan>,
}

/// A finished run.
pub struct Ran {
    pub report: Report,
    /// What came of each job.
    pub jobs: Vec<JobEnd>,
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

impl Runner {
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
        let mut snapshots = self.git.as_ref().map_or(Ok(None), |git| {
            Snapshots::open(&self.root, &self.never, &git.options, &around.stop)
        });
        match &snapshots {
            Ok(Some(snapshots)) => run.private = snapshots.is_private(),
            Ok(None) if self.git.is_some() => run.unsaved = Some(NO_REPOSITORY.to_owned()),
            _ => {}
        }
        for part in parts {
            run.reads(part.text);
            for (batch, plan) in part.batches() {
                let first = run.report.outcomes.len();
                let ran = self
                    .run_batch(batch, plan, &mut snapshots, journal, &mut run)
                    .await;
                if let Err(why) = &ran {
                    run.not_run(batch, why);
                }
                run.job(first, ran.is_err());
            }
        }
        self.disk.settle();
        run.finish()
    }

    /// Runs a batch; why nothing of it could be started.
    async fn run_batch(
        &mut self,
        batch: &Batch<'_>,
        plan: &[Plan],
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
                return Err(exec_task::STOPPED.to_owned());
            }
            // It may build on the one that was cut short: like that, it must not run by itself at the next start.
            return run.without_a_task(journal, |run| {
                run.not_run(batch, exec_task::STOPPED);
                run.cut = true;
            });
        }
        let job = run.jobs.len();
        let due = due(&batch.tasks, plan, &self.disk, &self.rules);
        if let Some((index, why)) = Self::hindrance(batch, &due, Preview::new(&self.disk), run) {
            return run.without_a_task(journal, |run| run.hindered(batch, index, why));
        }
        before(snapshots, batch, run)?;
        journal.begin(job, due.iter().position(|due| *due == Due::Run))?;
        let mut snapshots = snapshots.as_mut().ok().and_then(Option::as_mut);
        let mut begun = false;
        let mut changed: BTreeSet<String> = BTreeSet::new();
        let mut exec_since = false;
        for (index, (task, due)) in batch.tasks.iter().zip(&due).enumerate() {
            let started = match due {
                Due::Run if *run.around.stop.borrow() => Err(exec_task::STOPPED.to_owned()),
                Due::Run if begun => journal.start(job, index),
                _ => Ok(()),
            };
            begun |= *due == Due::Run;
            let (ended, touched, targets) = match (due, started) {
                (Due::Run, Ok(())) => {
                    if matches!(task.action, Ok(Action::Exec { .. })) {
                        // It may ask git what has changed.
                        settle(snapshots.as_deref_mut(), run);
                    }
                    self.guard(snapshots.as_deref_mut(), (batch, task), run);
                    let ended = self.run_task(task, journal.keeps(), run).await;
                    exec_since |= matches!(task.action, Ok(Action::Exec { .. }));
                    ended
                }
                (due, started) => {
                    run.number += 1;
                    let ended = started.map_or_else(Ended::not_run, |()| not_due(due));
                    (ended, Touched::Nothing, Vec::new())
                }
            };
            let outcome = run.outcome(task, ended);
            run.cut |= matches!(outcome.status, Status::Interrupted | Status::NotRun);
            if let Err(error) = after(snapshots.as_deref_mut(), &touched, (batch, task), run) {
                run.report.notices.push(format!(
                    "⚠ git: task {} was not saved: {error}",
                    outcome.number
                ));
            }
            changed.extend(targets.iter().map(|target| target.path.clone()));
            if let (Due::Skip, Some(Plan::Done(stands))) = (due, plan.get(index)) {
                changed.extend(stands.iter().map(|stand| stand.path.clone()));
            }
            journal.finish(job, index, &outcome, fate(outcome.status, targets));
            run.finished_with_warnings(task, outcome);
        }
        settle(snapshots, run);
        // A formatter's work is not somebody else's.
        let left = changed.into_iter().filter(|_| exec_since).map(|path| {
            let state = self.disk.state(Path::new(&path));
            (path, state)
        });
        journal.end(job, left.collect(), run.take_commits());
        Ok(())
    }

    /// The task of an atomic batch that cannot be done, and why. All of them must be possible, one after the other, before
    /// the first is done.
    fn hindrance(
        batch: &Batch<'_>,
        due: &[Due],
        mut preview: Preview<'_>,
        run: &mut Run<'_, '_>,
    ) -> Option<(usize, Ended)> {
        if !batch.atomic {
            return None;
        }
        let tasks = batch.tasks.iter().enumerate();
        let mut tasks = tasks
            .filter(|(index, _)| matches!(due.get(*index), None | Some(Due::Run | Due::Hold(_))));
        tasks.find_map(|(index, task)| {
            let ended = match &task.action {
                Err(problem) => run.misread(problem),
                Ok(Action::Exec { .. }) if batch.tasks.len() > 1 => Ended::not_run(
                    "an exec cannot be undone together with file tasks: put it into a `<tasks>` of its own, behind \
                     this atomic one"
                        .to_owned(),
                ),
                Ok(Action::Exec { .. }) => return None,
                Ok(action) => file_task::perform(action, &mut preview, false).err()?.into(),
            };
            Some((index, ended))
        })
    }

    /// Saves what a file task may change and the repository leaves out.
    fn guard(
        &self,
        snapshots: Option<&mut Snapshots>,
        (batch, task): (&Batch<'_>, &Task<'_>),
        run: &mut Run<'_, '_>,
    ) {
        if let (Some(snapshots), Ok(action)) = (snapshots, &task.action) {
            let places = file_task::places(action, &self.disk);
            let lines = vec![format!("before: {}", task.summary())];
            snapshots.guard(&places, &run.message(batch, lines, Step::Before));
            run.notices(snapshots);
        }
    }

    /// Carries out a task, and says what it may have changed; with `keeps` also into what.
    async fn run_task(
        &mut self,
        task: &Task<'_>,
        keeps: bool,
        run: &mut Run<'_, '_>,
    ) -> (Ended, Touched, Vec<Target>) {
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
        } = action
        {
            let text = script.text();
            let ended = match self.folder(cwd.as_deref()) {
                Err(why) => Ended::because(Status::Failed, why),
                Ok(dir) => {
                    let exec = Exec {
                        text: &text,
                        dir: &dir,
                        timeout: *timeout,
                        lang: *lang,
                        version: version.as_deref(),
                    };
                    self.exec(&exec, run).await
                }
            };
            return (ended, Touched::Anything, Vec::new());
        }
        let before = keeps.then(|| Before::of(action, &self.disk)).flatten();
        let (ended, touched) = self.file_task(action);
        let targets = match (&touched, &before) {
            (Touched::Paths(paths), Some(before)) => {
                let onto_nothing = ended.data["overwrote"] == false;
                before.targets(paths, onto_nothing, &self.disk)
            }
            _ => Vec::new(),
        };
        (ended, touched, targets)
    }

    async fn exec(&self, exec: &Exec<'_>, run: &mut Run<'_, '_>) -> Ended {
        run.notice_once(self.rules.unfenced().as_deref());
        let stop = run.around.stop.clone();
        let progress = &mut run.progress;
        let mut on_output = |stream, bytes: &[u8]| progress(Progress::Output(stream, bytes));
        let executed = exec_task::perform(exec, &self.rules, stop, &mut on_output).await;
        executed.into()
    }

    /// The folder under the root that a reply names, or the root; why it is none.
    fn folder(&self, name: Option<&str>) -> Result<PathBuf, String> {
        let Some(name) = name else {
            return Ok(self.root.clone());
        };
        let path = self.disk.parse(name).map_err(|error| error.to_string())?;
        let place = self.disk.place(&path, true);
        let place = place.map_err(|error| error.to_string())?;
        match self.disk.kind(&place) {
            Ok(Some(Kind::Dir)) => Ok(self.root.join(place.path())),
            Ok(_) => Err(format!(
                "`cwd=\"{name}\"` is no folder in the project: name one that is there"
            )),
            Err(error) => Err(error.to_string()),
        }
    }

    fn file_task(&mut self, action: &Action<'_>) -> (Ended, Touched) {
        let performed = catch_unwind(AssertUnwindSafe(|| {
            file_task::perform(action, &mut self.disk, false)
        }));
        match performed {
            Ok(Ok(done)) => {
                let ended = Ended {
                    message: done.message,
                    data: done.data,
                    ..Ended::done()
                };
                (ended, Touched::Paths(done.touched))
            }
            Ok(Err(failure)) => (failure.into(), Touched::Nothing),
            Err(_) => {
                let message =
                    "clada failed inside this task, which is a mistake in clada: please report it"
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

    /// Does everything but change things: the outcome of each task, with what it would change.
    pub fn preview(&mut self, part: &Part<'_>, around: &Surroundings<'_>) -> Report {
        let mut silent = |_: Progress<'_>| {};
        let total = total(std::slice::from_ref(part));
        let mut run = Run::new(
            total,
            around,
            &mut silent,
            (&self.rules.mask, self.with_params),
        );
        run.reads(part.text);
        let mut files = Preview::new(&self.disk);
        for (batch, plan) in part.batches() {
            if let Some(problem) = batch.state.problem() {
                run.problem(problem);
            } else if let Some((index, why)) = Self::hindrance(batch, &[], files.clone(), &mut run)
            {
                run.hindered(batch, index, why);
                continue;
            }
            let due = due(&batch.tasks, plan, &self.disk, &self.rules);
            for (task, due) in batch.tasks.iter().zip(&due) {
                run.number += 1;
                let ended = match &task.action {
                    Err(problem) => run.misread(problem),
                    Ok(_) if *due != Due::Run => not_due(due),
                    Ok(Action::Exec { script, .. }) => Ended {
                        message: Some("would be run".to_owned()),
                        sections: vec![Section::Text(script.text().into_owned())],
                        ..Ended::done()
                    },
                    Ok(action) => match file_task::perform(action, &mut files, true) {
                        Ok(mut done) => {
                            done.data["diff"] = done.diff.as_str().into();
                            Ended {
                                message: done.message,
                                data: done.data,
                                sections: vec![Section::Text(done.diff)],
                                ..Ended::done()
                            }
                        }
                        Err(failure) => failure.into(),
                    },
                };
                let outcome = run.outcome(task, ended);
                run.finished_with_warnings(task, outcome);
            }
        }
        let mut report = run.finish().report;
        report.git = Some("this was a dry run: nothing was changed".to_owned());
        report
    }
}

fn total(parts: &[Part<'_>]) -> usize {
    let batches = parts.iter().flat_map(Part::batches);
    batches.map(|(batch, _)| batch.tasks.len()).sum()
}

/// What is said of a task that is not run.
fn not_due(due: &Due) -> Ended {
    let (status, why) = match due {
        Due::Hold(Hold::Refused(why)) => return Ended::because(Status::Failed, why.clone()),
        Due::Hold(Hold::Asks(message)) => {
            return Ended {
                status: Status::Asks,
                message: message.clone(),
                ..Ended::done()
            };
        }
        Due::Wait => (Status::Waits, "done before, and changed by somebody since"),
        Due::Leave => (Status::Skipped, "not run again"),
        Due::Run | Due::Skip => (Status::Skipped, "done before"),
    };
    Ended::because(status, why.to_owned())
}

/// What is remembered of a task that ended so; nothing new where it did not run.
fn fate(status: Status, targets: Vec<Target>) -> Option<Fate> {
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
    "no git repository here, and `git.private_limit` is 0 (`git init` changes that)";

/// Saves the state before a batch; why nothing of it may be started.
fn before(
    snapshots: &mut Result<Option<Snapshots>, SnapshotError>,
    batch: &Batch<'_>,
    run: &mut Run<'_, '_>,
) -> Result<(), String> {
    if batch.tasks.iter().all(|task| task.action.is_err()) {
        return Ok(());
    }
    let lines = batch.tasks.iter();
    let lines = lines.map(|task| format!("before: {}", task.summary()));
    let message = run.message(batch, lines.collect(), Step::Before);
    let saved = match snapshots {
        Ok(None) => return Ok(()),
        Ok(Some(open)) => {
            let saved = open.before(&message);
            run.notices(open);
            saved
        }
        Err(error) => Err(std::mem::replace(error, SnapshotError::HeadMoved)),
    };
    match saved {
        Ok(state) => run.saved(state),
        // A plain folder is no reason to run nothing.
        Err(error @ SnapshotError::Without(_)) => {
            run.unsaved = Some(error.to_string());
            *snapshots = Ok(None);
        }
        Err(error) => return Err(format!("git: {error}")),
    }
    Ok(())
}

/// Saves the state after a task.
fn after(
    snapshots: Option<&mut Snapshots>,
    touched: &Touched,
    (batch, task): (&Batch<'_>, &Task<'_>),
    run: &mut Run<'_, '_>,
) -> Result<(), SnapshotError> {
    let Some(snapshots) = snapshots else {
        return Ok(());
    };
    let message = || run.message(batch, vec![task.summary()], Step::Task);
    let state = match touched {
        Touched::Nothing => return Ok(()),
        Touched::Paths(paths) => snapshots.after_paths(paths, &message()),
        Touched::Anything => snapshots.after_all(&message()),
    };
    run.notices(snapshots);
    run.saved(state?);
    Ok(())
}

/// Has git's index say what was saved after file tasks.
fn settle(snapshots: Option<&mut Snapshots>, run: &mut Run<'_, '_>) {
    if let Some(snapshots) = snapshots
        && let Err(error) = snapshots.settle()
    {
        run.notice_once(Some(&format!(
            "⚠ git: what was committed is not in the index yet: {error}"
        )));
    }
}

/// What a task may have changed.
enum Touched {
    Nothing,
    Paths(Vec<PathBuf>),
    Anything,
}
