//! Saves a batch in git: the state before it, and what each task left, or all of them as one. Says in the report what could
//! not be saved; never stops a batch that has begun.

use std::path::PathBuf;

use super::journal::NotStarted;
use super::progress::{ActiveRun, Work};
use crate::git::{CommitStep, Lost, Message, SaveOutcome, SnapshotError, Snapshots};
use crate::reply::task::{Batch, Task};
use crate::report::outcome::Touched;

/// The commit or tree that the last save of a batch saw; `None` is nothing at all.
pub(super) struct SavedTree(pub(super) Option<String>);

/// So many tasks of a batch have commits of their own. Of one with more, several that follow each other share one: a commit
/// costs more than a task.
const COMMITS: usize = 200;

/// Says that commits go onto no branch.
const DETACHED: &str =
    "⚠ HEAD is detached: these commits are on no branch; `git switch -c NAME` keeps them";

/// A batch that is saved, if it is.
pub(super) struct Saving<'s> {
    pub(super) batch: &'s Batch<'s>,
    snapshots: Option<&'s mut Snapshots>,
    /// One commit at its end.
    whole: bool,
    /// The number of file tasks that share a commit, and of those that wait for the next one.
    together: usize,
    waiting: usize,
    /// `None` where that is not known.
    seen: Option<SavedTree>,
    /// The places that belong to the next commit, and the lines of its message.
    touched: Touched,
    body: Vec<String>,
}

impl<'s> Saving<'s> {
    /// Saves the state before a batch, or tells why nothing of it may be started.
    pub(super) fn before(
        snapshots: &'s mut Result<Option<Snapshots>, SnapshotError>,
        whole: bool,
        batch: &'s Batch<'s>,
        run: &mut ActiveRun<'_, '_>,
    ) -> Result<Self, NotStarted> {
        let mut saving = Self {
            batch,
            snapshots: None,
            whole,
            together: batch.tasks.len().div_ceil(COMMITS).max(1),
            waiting: 0,
            seen: None,
            touched: Touched::default(),
            body: Vec::new(),
        };
        if !batch.changes() {
            return Ok(saving);
        }
        let lines = batch.tasks.iter().map(Task::summary);
        let message = run.message(batch, lines.collect(), CommitStep::Before);
        let plain_folder = |error: &SnapshotError| match error {
            SnapshotError::Without(_) => Ok(error.to_string()),
            _ => Err(NotStarted(format!("git: {error}"))),
        };
        let state = match snapshots {
            Ok(None) => return Ok(saving),
            Ok(Some(open)) => {
                let state = open.before(&message);
                run.notices(open);
                state.map_err(|error| plain_folder(&error))
            }
            Err(error) => Err(plain_folder(error)),
        };
        match state {
            Ok(state) => saving.saved(state, run),
            // A plain folder is no reason to run nothing.
            Err(why) => {
                run.states.unsaved = Some(why?);
                *snapshots = Ok(None);
            }
        }
        saving.snapshots = snapshots.as_mut().ok().and_then(Option::as_mut);
        Ok(saving)
    }

    /// Saves once more before a batch what hooks have changed, or tells why nothing of it may be started.
    pub(super) fn again(
        &mut self,
        said: String,
        run: &mut ActiveRun<'_, '_>,
    ) -> Result<(), NotStarted> {
        let Some(snapshots) = self.snapshots.as_deref_mut() else {
            return Ok(());
        };
        let state = snapshots.after_all(&run.message(self.batch, vec![said], CommitStep::Before));
        let state = state.map_err(|error| NotStarted(format!("git: {error}")))?;
        self.saved(state, run);
        Ok(())
    }

    /// Saves what a file task may change at these places and the repository leaves out. Returns what could not be saved.
    pub(super) fn guard(
        &mut self,
        places: impl FnOnce() -> Vec<PathBuf>,
        task: &Task<'_>,
        run: &mut ActiveRun<'_, '_>,
    ) -> Vec<Lost> {
        let Some(snapshots) = self.snapshots.as_deref_mut() else {
            return Vec::new();
        };
        let places = places();
        if places.is_empty() {
            return Vec::new();
        }
        let message = run.message(self.batch, vec![task.summary()], CommitStep::Before);
        let lost = snapshots.guard(&places, &message);
        run.notices(snapshots);
        lost
    }

    /// Notes what is there before a command.
    pub(super) fn expect_command(&mut self, run: &mut ActiveRun<'_, '_>) {
        self.save_waiting(run);
        self.settle(run);
        if let Some(snapshots) = self.snapshots.as_deref_mut() {
            snapshots.expect_command();
        }
    }

    /// The repository, and what the last save of this batch saw, where that is known.
    pub(super) fn seen(&self) -> Option<(&Snapshots, &SavedTree)> {
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
        let SavedTree(seen) = self.seen.as_ref().filter(|_| is_in_it)?;
        seen.as_deref()
    }

    pub(super) fn snapshots(&self) -> Option<&Snapshots> {
        self.snapshots.as_deref()
    }

    /// Saves what a task or hooks left, or has it saved with the batch.
    pub(super) fn after(&mut self, touched: Touched, work: Work<'_>, run: &mut ActiveRun<'_, '_>) {
        let Some(snapshots) = self.snapshots.as_deref_mut() else {
            return;
        };
        if touched.is_nothing() {
            return;
        }
        if let Touched::Paths(paths) = &touched {
            snapshots.named(paths);
            if !self.whole && self.together > 1 {
                self.body.push(work.line);
                self.touched.add(touched);
                self.waiting += 1;
                if self.waiting >= self.together {
                    self.save_waiting(run);
                }
                return;
            }
        }
        if self.whole {
            self.body.push(work.line);
            self.look_at(touched);
        } else {
            self.seen = None;
            let message = run.message_of(self.batch, &work);
            self.save(&touched, &message, work.who, run);
        }
    }

    /// Looks at what a task of a batch left that is one commit at its end.
    fn look_at(&mut self, touched: Touched) {
        let seen = self.seen.take();
        let Some(snapshots) = self.snapshots.as_deref_mut() else {
            return;
        };
        // Files go on top of what was seen before: to look at all of it each time would cost the square of it.
        let are_files = |paths: &[PathBuf]| !paths.iter().any(|path| snapshots.has_folder(path));
        let (news, since) = match (&touched, &seen) {
            (Touched::Paths(paths), Some(SavedTree(Some(since))))
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
        self.seen = is.ok().map(SavedTree);
    }

    /// Saves what tasks left that share a commit, as far as they have ended.
    fn save_waiting(&mut self, run: &mut ActiveRun<'_, '_>) {
        if self.waiting > 0 {
            self.waiting = 0;
            self.seen = None;
            self.save_touched("what several tasks did", run);
        }
    }

    /// Updates git's index to what was saved after file tasks: a command may ask git what has changed.
    fn settle(&mut self, run: &mut ActiveRun<'_, '_>) {
        if let Some(snapshots) = self.snapshots.as_deref_mut()
            && let Err(error) = snapshots.settle()
        {
            run.notice_once(Some(&format!(
                "⚠ git: the index was not updated after the commit: {error}"
            )));
        }
    }

    /// The file tasks of this batch were reverted for this reason: what is left to save is what else there is.
    pub(super) fn reverted(&mut self, why: &str) {
        self.body = vec![format!("reverted because {why}")];
        self.touched = Touched::Anything;
        if let Some(snapshots) = self.snapshots.as_deref_mut() {
            snapshots.unnamed();
        }
    }

    /// Saves what is not saved yet: all of a batch that is one commit.
    pub(super) fn end(&mut self, run: &mut ActiveRun<'_, '_>) {
        self.save_waiting(run);
        self.save_touched("this batch", run);
        self.settle(run);
    }

    fn save_touched(&mut self, what: &str, run: &mut ActiveRun<'_, '_>) {
        let touched = std::mem::take(&mut self.touched);
        if self.snapshots.is_some() && !touched.is_nothing() {
            let body = std::mem::take(&mut self.body);
            let message = run.message(self.batch, body, CommitStep::Task);
            self.save(&touched, &message, what, run);
        }
    }

    fn save(
        &mut self,
        touched: &Touched,
        message: &Message,
        what: &str,
        run: &mut ActiveRun<'_, '_>,
    ) {
        let Some(snapshots) = self.snapshots.as_deref_mut() else {
            return;
        };
        let state = match touched.paths() {
            Some(paths) => snapshots.after_paths(paths, message),
            None => snapshots.after_all(message),
        };
        match state {
            Ok(state) => self.saved(state, run),
            Err(error) => {
                let said = format!("⚠ git: {what} was not saved: {error}");
                run.report.notices.push(said);
            }
        }
    }

    fn saved(&mut self, state: SaveOutcome, run: &mut ActiveRun<'_, '_>) {
        if let Some(snapshots) = self.snapshots.as_deref_mut() {
            run.notices(snapshots);
            let is_loose = state.changed && snapshots.store.is_detached();
            run.notice_once(is_loose.then_some(DETACHED));
        }
        tracing::debug!(commit = state.commit, changed = state.changed, "saved");
        self.seen = Some(SavedTree(state.commit.clone()));
        run.saved(state);
    }
}
