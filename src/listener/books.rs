//! Keeps account of a run in the ledger, as it goes on. Decides nothing.

use std::cell::RefCell;
use std::path::Path;

use crate::clock;
use crate::listener::commands::Running;
use crate::listener::due_batch::DueBatch;
use crate::listener::memory::Memory;
use crate::novelty::Event;
use crate::reply::record::{Commits, Fate, FileState};
use crate::report::outcome::Outcome;
use crate::run::{Journal, NotStarted, batch_id};
use crate::world::ledger::{BatchStart, LedgerError, SavedState, TaskEnded};

/// The account of one run.
pub(super) struct Books<'b> {
    memory: &'b RefCell<&'b mut Memory>,
    jobs: &'b [DueBatch<'b>],
    /// Marks its commits.
    run: &'b str,
    /// The folder of the locks.
    locks: &'b Path,
    notes: &'b Path,
    /// Commands may run.
    running: Option<Running>,
    /// The fates of the tasks of the batch that runs, as far as they are known.
    fates: Vec<Fate>,
    /// The first error of writing something that happened.
    trouble: Option<LedgerError>,
}

impl<'b> Books<'b> {
    pub(super) fn new(
        memory: &'b RefCell<&'b mut Memory>,
        jobs: &'b [DueBatch<'b>],
        run: &'b str,
        locks: &'b Path,
        notes: &'b Path,
    ) -> Self {
        Self {
            memory,
            jobs,
            run,
            locks,
            notes,
            running: None,
            fates: Vec::new(),
            trouble: None,
        }
    }

    /// Ends the account, and returns why something of the run could not be written.
    pub(super) fn close(self) -> Option<LedgerError> {
        if let Some(Err(error)) = self.running.map(Running::end) {
            // It counts as running until this clada exits.
            tracing::error!(%error, "cannot mark the run as over");
        }
        self.trouble
    }

    /// Keeps an error for the end: what happened cannot be undone because it could not be written.
    fn note(&mut self, written: Result<(), LedgerError>) {
        if let Err(error) = written {
            tracing::error!(%error, "cannot use the ledger");
            self.trouble.get_or_insert(error);
        }
    }
}

impl Journal for Books<'_> {
    fn keeps(&self) -> bool {
        true
    }

    fn commands(&mut self) -> Result<(), NotStarted> {
        if self.running.is_none() {
            let running = Running::begin(self.locks, self.notes);
            self.running = Some(running.map_err(NotStarted::because)?);
        }
        Ok(())
    }

    fn begin(&mut self, job: usize, first: Option<usize>) -> Result<(), NotStarted> {
        let entry = &self.jobs[job];
        let memory = &mut **self.memory.borrow_mut();
        let now = clock::now_ms();
        let caught_up = memory.catch_up(now.div_euclid(1000));
        caught_up.map_err(NotStarted::because)?;
        let state = memory.state(Some(entry.number));
        let record = memory.novelty.record(entry.number);
        let unknown = "the ledger does not know this batch: paste the reply again";
        let record = record.ok_or_else(|| NotStarted::because(unknown))?;
        let begun = BatchStart {
            record,
            text: &entry.text,
            id: &batch_id(self.run, job),
            tasks: &entry.tasks,
            again: entry.again,
            first,
            offer: entry.source,
        };
        let present = memory.novelty.present();
        let sight = SavedState {
            state: &state,
            present: &present,
        };
        self.fates = record.tasks.iter().map(|task| task.fate.clone()).collect();
        let written = memory.ledger.begin(memory.file, &begun, sight, now);
        written.map_err(NotStarted::because)?;
        memory.kept(state);
        memory.step(Event::Began(entry.number, now.div_euclid(1000)));
        Ok(())
    }

    fn start(&mut self, job: usize, task: usize) -> Result<(), NotStarted> {
        let memory = &mut **self.memory.borrow_mut();
        let (file, number) = (memory.file, self.jobs[job].number);
        let written = memory.ledger.start(file, number, task, clock::now_ms());
        written.map_err(NotStarted::because)
    }

    fn finish(&mut self, job: usize, task: usize, outcome: &Outcome, fate: Option<Fate>) {
        if let Some(fate) = fate {
            self.fates[task] = fate;
        }
        let written = {
            let memory = &mut **self.memory.borrow_mut();
            let ended = TaskEnded {
                fate: &self.fates[task],
                mark: outcome.status.name(),
                message: outcome.message.as_deref(),
                now_ms: clock::now_ms(),
            };
            memory
                .ledger
                .finish(memory.file, self.jobs[job].number, task, &ended)
        };
        self.note(written);
    }

    fn end(&mut self, job: usize, left: Vec<(String, FileState)>, commits: Option<Commits>) {
        for (path, state) in left {
            let last = self.fates.iter_mut().rev().find_map(|fate| match fate {
                Fate::Done(targets) => targets.iter_mut().rfind(|target| target.path == path),
                _ => None,
            });
            if let Some(target) = last {
                target.after = state;
            }
        }
        let written = {
            let memory = &mut **self.memory.borrow_mut();
            let number = self.jobs[job].number;
            memory.step(Event::Ended(number, self.fates.clone()));
            let state = memory.state(None);
            let present = memory.novelty.present();
            let sight = SavedState {
                state: &state,
                present: &present,
            };
            let now = clock::now_ms();
            let written = memory.ledger.end(
                memory.file,
                number,
                &self.fates,
                commits.as_ref(),
                sight,
                now,
            );
            if written.is_ok() {
                memory.kept(state);
            }
            written
        };
        self.note(written);
    }
}
