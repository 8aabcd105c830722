//! How a batch is saved in git: what there was before it, and what each task left, or all of them as one. Says in the
//! report what could not be saved; never stops a batch that has begun.

use std::path::PathBuf;

use crate::git::{CommitStep, Lost, Message, SaveOutcome, SnapshotError, Snapshots};
use crate::reply::task::{Batch, Task};
use crate::run::progress::{Run, Work};

/// What a task may have changed.
#[derive(Clone)]
pub(super) enum Touched {
    Nothing,
    Paths(Vec<PathBuf>),
    Anything,
}

impl Touched {
    fn add(&mut self, more: Self) {
        match (&mut *self, more) {
            (_, Self::Nothing) => {}
            (Self::Paths(paths), Self::Paths(more)) => paths.extend(more),
            (Self::Anything, _) => {}
            (_, more) => *self = more,
        }
    }

    /// `None`: they may be any.
    pub(super) fn paths(&self) -> Option<&[PathBuf]> {
        match self {
            Self::Nothing => Some(&[]),
            Self::Paths(paths) => Some(paths),
            Self::Anything => None,
        }
    }

    fn save(
        &self,
        snapshots: &mut Snapshots,
        message: &Message,
    ) -> Result<SaveOutcome, SnapshotError> {
        match self.paths() {
            Some(paths) => snapshots.after_paths(paths, message),
            None => snapshots.after_all(message),
        }
    }
}

/// What the last save of a batch saw: a commit or a tree, or nothing at all.
pub(super) struct Seen(pub(super) Option<String>);

/// So many tasks of a batch have commits of their own. Of one with more, several that follow each other share one: a commit
/// costs more than a task.
const COMMITS: usize = 200;

/// Where commits go onto no branch.
const DETACHED: &str =
    "⚠ HEAD is detached: these commits are on no branch; `git switch -c NAME` keeps them";

/// A batch that is saved, if it is.
pub(super) struct Saving<'s> {
    snapshots: Option<&'s mut Snapshots>,
    /// One commit at its end.
    whole: bool,
    /// How many file tasks share a commit, and how many of the next one have ended.
    together: usize,
    waiting: usize,
    /// `None` where that is not known.
    seen: Option<Seen>,
    /// What is to be in the next commit, and what its message says.
    touched: Touched,
    body: Vec<String>,
}

impl<'s> Saving<'s> {
    /// Saves the state before a batch; why nothing of it may be started.
    pub(super) fn before(
        snapshots: &'s mut Result<Option<Snapshots>, SnapshotError>,
        whole: bool,
        batch: &Batch<'_>,
        run: &mut Run<'_, '_>,
    ) -> Result<Self, String> {
        let mut saving = Self {
            snapshots: None,
            whole,
            together: batch.tasks.len().div_ceil(COMMITS).max(1),
            waiting: 0,
            seen: None,
            touched: Touched::Nothing,
            body: Vec::new(),
        };
        if !batch.changes() {
            return Ok(saving);
        }
        let lines = batch.tasks.iter().map(Task::summary);
        let message = run.message(batch, lines.collect(), CommitStep::Before);
        let state = match snapshots {
            Ok(None) => return Ok(saving),
            Ok(Some(open)) => {
                let state = open.before(&message);
                run.notices(open);
                state
            }
            Err(error) => Err(std::mem::replace(error, SnapshotError::HeadMoved)),
        };
        match state {
            Ok(state) => saving.saved(state, run),
            // A plain folder is no reason to run nothing.
            Err(error @ SnapshotError::Without(_)) => {
                run.unsaved = Some(error.to_string());
                *snapshots = Ok(None);
            }
            Err(error) => {
                let why = format!("git: {error}");
                if snapshots.is_err() {
                    *snapshots = Err(error);
                }
                return Err(why);
            }
        }
        saving.snapshots = snapshots.as_mut().ok().and_then(Option::as_mut);
        Ok(saving)
    }

    /// Saves once more before a batch, what hooks have changed; why nothing of it may be started.
    pub(super) fn again(
        &mut self,
        batch: &Batch<'_>,
        said: String,
        run: &mut Run<'_, '_>,
    ) -> Result<(), String> {
        let Some(snapshots) = self.snapshots.as_deref_mut() else {
            return Ok(());
        };
        let state = snapshots.after_all(&run.message(batch, vec![said], CommitStep::Before));
        let state = state.map_err(|error| format!("git: {error}"))?;
        self.saved(state, run);
        Ok(())
    }

    /// Saves what a file task may change at these places and the repository leaves out; what could not be saved.
    pub(super) fn guard(
        &mut self,
        places: &[PathBuf],
        (batch, task): (&Batch<'_>, &Task<'_>),
        run: &mut Run<'_, '_>,
    ) -> Vec<Lost> {
        let Some(snapshots) = self.snapshots.as_deref_mut() else {
            return Vec::new();
        };
        if places.is_empty() {
            return Vec::new();
        }
        let message = run.message(batch, vec![task.summary()], CommitStep::Before);
        let lost = snapshots.guard(places, &message);
        run.notices(snapshots);
        lost
    }

    /// Has it known what is there before a command.
    pub(super) fn expect_command(&mut self, batch: &Batch<'_>, run: &mut Run<'_, '_>) {
        self.save_waiting(batch, run);
        self.settle(run);
        if let Some(snapshots) = self.snapshots.as_deref_mut() {
            snapshots.expect_command();
        }
    }

    /// The repository, and what the last save of this batch saw, where that is known.
    pub(super) fn seen(&self) -> Option<(&Snapshots, &Seen)> {
        Some((self.snapshots.as_deref()?, self.seen.as_ref()?))
    }

    /// The paths that tasks of this batch have changed since.
    pub(super) fn unsaved(&self) -> &[PathBuf] {
        let paths = self.touched.paths().filter(|_| self.waiting > 0);
        paths.unwrap_or_default()
    }

    /// The commit that was made last, where each task makes one.
    pub(super) fn commit(&self) -> Option<&str> {
        let is_in_it = !self.whole && self.waiting == 0;
        let Seen(seen) = self.seen.as_ref().filter(|_| is_in_it)?;
        seen.as_deref()
    }

    pub(super) fn snapshots(&self) -> Option<&Snapshots> {
        self.snapshots.as_deref()
    }

    /// Saves what a task or hooks left, or has it saved with the batch.
    pub(super) fn after(
        &mut self,
        touched: Touched,
        (batch, work): (&Batch<'_>, Work<'_>),
        run: &mut Run<'_, '_>,
    ) {
        let Some(snapshots) = self.snapshots.as_deref_mut() else {
            return;
        };
        if matches!(touched, Touched::Nothing) {
            return;
        }
        if let Touched::Paths(paths) = &touched {
            snapshots.named(paths);
            if !self.whole && self.together > 1 {
                self.body.push(work.line);
                self.touched.add(touched);
                self.waiting += 1;
                if self.waiting >= self.together {
                    self.save_waiting(batch, run);
                }
                return;
            }
        }
        let seen = self.seen.take();
        if self.whole {
            self.body.push(work.line);
            // Files go on top of what was seen before: to look at all of it each time would cost the square of it.
            let are_files =
                |paths: &[PathBuf]| !paths.iter().any(|path| snapshots.has_folder(path));
            let (news, since) = match (&touched, &seen) {
                (Touched::Paths(paths), Some(Seen(Some(since))))
                    if self.touched.paths().is_some() && are_files(paths) =>
                {
                    (Some(paths.clone()), Some(since))
                }
                _ => (None, None),
            };
            self.touched.add(touched);
            // What is in a folder that was moved has no name of its own yet.
            let is_known = self.touched.paths().is_some_and(are_files);
            let looked = news.as_deref().or_else(|| self.touched.paths());
            let looked = looked.filter(|_| is_known);
            // What cannot be saved is told at the end.
            let is = snapshots.see(looked, since.map(String::as_str));
            self.seen = is.ok().map(Seen);
            return;
        }
        let who = work.who;
        let message = run.message_of(batch, work);
        match touched.save(snapshots, &message) {
            Ok(state) => self.saved(state, run),
            Err(error) => {
                let said = format!("⚠ git: {who} was not saved: {error}");
                run.report.notices.push(said);
            }
        }
    }

    /// Saves what tasks left that share a commit, as far as they have ended.
    fn save_waiting(&mut self, batch: &Batch<'_>, run: &mut Run<'_, '_>) {
        if self.waiting > 0 {
            self.waiting = 0;
            self.seen = None;
            self.save_touched(batch, "what several tasks did", run);
        }
    }

    /// Has git's index say what was saved after file tasks: a command may ask git what has changed.
    pub(super) fn settle(&mut self, run: &mut Run<'_, '_>) {
        if let Some(snapshots) = self.snapshots.as_deref_mut()
            && let Err(error) = snapshots.settle()
        {
            run.notice_once(Some(&format!(
                "⚠ git: the index was not updated after the commit: {error}"
            )));
        }
    }

    /// The file tasks of this batch were taken back: what is left to save is what else there is.
    pub(super) fn taken_back(&mut self, (number, how): (usize, &str)) {
        self.body = vec![format!("reverted because task {number} {how}")];
        self.touched = Touched::Anything;
        if let Some(snapshots) = self.snapshots.as_deref_mut() {
            snapshots.unnamed();
        }
    }

    /// Saves what is not saved yet: all of a batch that is one commit.
    pub(super) fn end(&mut self, batch: &Batch<'_>, run: &mut Run<'_, '_>) {
        self.save_waiting(batch, run);
        self.save_touched(batch, "this batch", run);
        self.settle(run);
    }

    fn save_touched(&mut self, batch: &Batch<'_>, what: &str, run: &mut Run<'_, '_>) {
        let touched = std::mem::replace(&mut self.touched, Touched::Nothing);
        if let Some(snapshots) = self.snapshots.as_deref_mut()
            && !matches!(touched, Touched::Nothing)
        {
            let message = run.message(batch, std::mem::take(&mut self.body), CommitStep::Task);
            match touched.save(snapshots, &message) {
                Ok(state) => self.saved(state, run),
                Err(error) => {
                    let said = format!("⚠ git: {what} was not saved: {error}");
                    run.report.notices.push(said);
                }
            }
        }
    }

    fn saved(&mut self, state: SaveOutcome, run: &mut Run<'_, '_>) {
        if let Some(snapshots) = self.snapshots.as_deref_mut() {
            run.notices(snapshots);
            let is_loose = state.changed && snapshots.store.is_detached();
            run.notice_once(is_loose.then_some(DETACHED));
        }
        self.seen = Some(Seen(state.commit.clone()));
        run.saved(state);
    }
}
