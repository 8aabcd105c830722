//! Runs batches: saves the state in git, carries out each task, saves again, and reports the outcomes. Knows neither the
//! watched file nor the clipboard; `clada run` is this floor alone.

mod atomic;
mod changes;
pub mod context;
pub mod exec;
pub mod files;
mod guarded;
mod hooks;
mod job;
mod journal;
mod outcome_mask;
mod preview;
mod progress;
mod running;
mod saving;
mod stale;
mod states;
mod task;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

use tokio::sync::watch;

use crate::git::{self, Message, SaveOutcome, SnapshotError, Snapshots};
use crate::policy::actions::Actions;
use crate::policy::paths::Paths;
use crate::reply::dialect::Dialects;
use crate::report::Report;
use crate::report::outcome::Outcome;
use crate::world::context::ContextStore;
use crate::world::intent::Intent;
use crate::world::long_text::LongText;
use crate::world::shell::Stream;
use crate::world::workspace::Disk;

use exec::ExecRules;
use progress::ActiveRun;

pub use changes::{ChatReader, show};
pub use hooks::HookSetup;
pub use job::Job;
pub use journal::{Journal, NoJournal, NotStarted};
pub use progress::batch_id;
pub use states::{git_line, saved_work};

/// Runs batches under one root.
pub struct Runner {
    pub disk: Disk,
    /// The rules of the next run.
    pub setup: Setup,
    /// The files that the chat works with.
    pub context: ContextStore,
    /// The chat that reads the results; `None` where nobody knows who does.
    pub reader: Option<ChatReader>,
    /// Files that no commit takes in.
    pub never: Vec<PathBuf>,
    /// Outcomes carry the tasks' parameters, for `--json`.
    pub with_params: bool,
}

/// The rules that the settings lead to.
pub struct Setup {
    /// The dialects in which replies are read.
    pub dialects: Dialects,
    /// The actions that replies may ask for.
    pub actions: Actions,
    pub paths: Paths,
    pub hooks: HookSetup,
    /// The rules for commands.
    pub rules: ExecRules,
    /// `None` where git is off.
    pub git: Option<GitSetup>,
    /// The largest file that a task reads or writes, in bytes.
    pub largest_file: u64,
    /// The chat is told what has changed.
    pub changes: bool,
}

/// The rules by which the state is saved in git.
#[derive(Debug, Clone)]
pub struct GitSetup {
    pub options: git::Options,
    /// The folder that keeps the plans of atomic batches.
    pub intents: PathBuf,
    /// A batch makes one commit, not each of its tasks.
    pub whole_batches: bool,
}

/// The time, the chance and the wish to stop that a run needs from outside.
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

/// An event of a run, as it happens.
pub enum Progress<'p> {
    Started {
        number: usize,
        total: usize,
        command: &'p str,
        target: &'p str,
    },
    /// The output of an exec: plain text, and its colours (SGR).
    Output(Stream, &'p [u8]),
    /// That output has become long: who has a place for it where it is read in the end lends that.
    Long(&'p mut Option<Rc<LongText>>),
    Finished(&'p Outcome),
}

/// A finished run.
pub struct FinishedRun {
    pub report: Report,
    /// The end of each job.
    pub jobs: Vec<JobEnd>,
    /// The number of untracked files that the user is to be asked about.
    pub untracked: Option<usize>,
}

/// The end of a job.
pub struct JobEnd {
    /// Its part of the outcomes.
    pub outcomes: Range<usize>,
    /// No task was started: the batch stays new.
    pub refused: bool,
    /// It began, and was left before its end.
    pub cut: bool,
}

/// Reverts an atomic batch that clada was in the middle of when it ended. Returns what there is to say of it, and whether it is
/// over. Needs the root's lock.
pub fn recover(
    git: &GitSetup,
    root: &Path,
    disk: &mut Disk,
    snapshots: &Snapshots,
) -> Option<(String, bool)> {
    let intent = Intent::of(&git.intents, root);
    let said = atomic::recover(&intent, disk, snapshots)?;
    Some((said, matches!(intent.read(), Ok(None))))
}

impl Runner {
    pub fn new(disk: Disk, setup: Setup, context: ContextStore, never: Vec<PathBuf>) -> Self {
        let mut runner = Self {
            disk,
            setup,
            context,
            reader: None,
            never,
            with_params: false,
        };
        runner.set_up_disk();
        runner
    }

    /// Applies these settings to the next run.
    pub fn take(&mut self, setup: Setup) {
        self.setup = setup;
        self.set_up_disk();
    }

    fn set_up_disk(&mut self) {
        self.disk.obey(self.setup.paths.clone());
        self.disk.limit(self.setup.largest_file);
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
        jobs: &[Job<'_>],
        around: &Surroundings<'_>,
        journal: &mut dyn Journal,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> FinishedRun {
        let began = Instant::now();
        tracing::info!(run = %around.id, batches = jobs.len(), "run begins");
        let mut run = ActiveRun::new(total(jobs), self, around, progress);
        // Opened for each run: libgit2 keeps the settings of a repository for as long as it is open.
        let moved = self.moved();
        let git = self.setup.git.as_ref().filter(|_| moved.is_none());
        let mut snapshots = git.map_or(Ok(None), |git| self.open(git, &around.stop));
        match &snapshots {
            Ok(Some(snapshots)) => {
                run.states.private = snapshots.store.is_private();
                let said = self.recover_with(snapshots);
                run.notice_once(said.as_deref());
            }
            Ok(None) if git.is_some() => run.states.unsaved = Some(NO_REPOSITORY.to_owned()),
            _ => {}
        }
        run.changes = self.changes();
        for job in jobs {
            let first = run.report.outcomes.len();
            run.begins(job.batch, job.text);
            let ran = match &moved {
                Some(why) => Err(why.clone()),
                None => self.run_job(job, &mut snapshots, journal, &mut run).await,
            };
            if let Err(NotStarted(why)) = &ran {
                run.not_run(job.batch, why);
            }
            run.ends(first, ran.is_err());
        }
        self.disk.settle();
        self.tell_changes(run.changes.take(), &mut run.report);
        let mut finished = run.finish();
        if journal.keeps()
            && let Ok(Some(snapshots)) = &mut snapshots
        {
            finished.untracked = snapshots.offers_to_add();
        }
        tracing::info!(
            run = %around.id,
            outcome = %finished.report.counts(),
            ms = began.elapsed().as_millis(),
            "run ended"
        );
        finished
    }

    /// Adds untracked files to git, for the user. Returns what there is to say of it.
    pub fn add_untracked(&self, around: &Surroundings<'_>) -> String {
        if let Some(why) = self.moved() {
            return format!("❌ nothing was added: {why}");
        }
        let added = self.setup.git.as_ref().map(|git| {
            let message = Message {
                time: (around.now)(),
                batch: around.id.clone(),
                ..Message::default()
            };
            let open = self.open(git, &around.stop)?;
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

    /// Reverts an atomic batch that clada was in the middle of when it ended. Returns what there is to say of it. Needs the
    /// root's lock; each run does it too.
    pub fn recover(&mut self, stop: &watch::Receiver<bool>) -> Option<String> {
        let git = self.setup.git.as_ref()?;
        // If the folder has moved or git fails, the next run says so.
        if self.disk.moved().is_some() {
            return None;
        }
        let intent = Intent::of(&git.intents, self.disk.path());
        if matches!(intent.read(), Ok(None)) {
            return None;
        }
        let snapshots = self.open(git, stop).ok()??;
        self.recover_with(&snapshots)
    }

    fn open(
        &self,
        git: &GitSetup,
        stop: &watch::Receiver<bool>,
    ) -> Result<Option<Snapshots>, SnapshotError> {
        Snapshots::open(self.disk.path(), &self.never, &git.options, stop)
    }

    /// Returns why nothing may be started: something else is at the root's path.
    fn moved(&self) -> Option<NotStarted> {
        let moved = self.disk.moved()?;
        Some(NotStarted(format!("{moved}{}", git::TRY_AGAIN)))
    }

    fn recover_with(&mut self, snapshots: &Snapshots) -> Option<String> {
        let git = self.setup.git.as_ref()?;
        let root = self.disk.path().to_owned();
        recover(git, &root, &mut self.disk, snapshots).map(|(said, _)| said)
    }
}

/// The number of tasks of all jobs.
fn total(jobs: &[Job<'_>]) -> usize {
    jobs.iter().map(|job| job.batch.tasks.len()).sum()
}

/// Said where the user wants no private snapshots.
pub const NO_REPOSITORY: &str =
    "no git repository here, and `git.private_limit` is 0: run `git init`";
