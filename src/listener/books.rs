//! Keeps account of a run in the ledger, as it goes on. Decides nothing.

use std::cell::RefCell;
use std::path::Path;

use crate::listener::commands::Running;
use crate::listener::memory::Memory;
use crate::novelty::{self, Event};
use crate::reply::record::{Commits, Fate, FileState, Number, TickSource};
use crate::report::outcome::Outcome;
use crate::run::{Journal, NotStarted, batch_id};
use crate::world::ledger::{BatchStart, LedgerError, SavedState, TaskEnded};

/// A batch of a run.
pub(super) struct Entry {
    pub(super) number: Number,
    pub(super) text: String,
    /// Command and target of each task.
    pub(super) tasks: Vec<(String, String)>,
    /// The batch of which it runs tasks again, and the tick that asked for it.
    pub(super) again: Option<Number>,
    pub(super) source: Option<TickSource>,
    /// When a batch ran, a short time ago, of which every task is the same.
    pub(super) same_as: Option<i64>,
}

/// The account of one run.
pub(super) struct Books<'b> {
    pub(super) memory: &'b RefCell<&'b mut Memory>,
    pub(super) entries: &'b [Entry],
    /// Marks its commits.
    pub(super) run: &'b str,
    /// Milliseconds since 1970.
    pub(super) now: fn() -> i64,
    /// Where locks are, and the notes.
    places: (&'b Path, &'b Path),
    /// Commands may run.
    running: Option<Running>,
    /// What is known of the tasks of the batch that runs.
    fates: Vec<Fate>,
    /// What could not be written, though it happened.
    trouble: Option<LedgerError>,
}

impl<'b> Books<'b> {
    pub(super) fn new(
        memory: &'b RefCell<&'b mut Memory>,
        entries: &'b [Entry],
        run: &'b str,
        now: fn() -> i64,
        places: (&'b Path, &'b Path),
    ) -> Self {
        Self {
            memory,
            entries,
            run,
            now,
            places,
            running: None,
            fates: Vec::new(),
            trouble: None,
        }
    }

    /// The run is over; what could not be written of it.
    pub(super) fn close(self) -> Option<LedgerError> {
        if let Some(Err(error)) = self.running.map(Running::end) {
            // It counts as running until this clada exits.
            tracing::error!(%error, "cannot mark the run as over");
        }
        self.trouble
    }

    /// What happened cannot be undone because it could not be written: it is told at the end.
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
            let (locks, notes) = self.places;
            let running = Running::begin(locks, notes).map_err(NotStarted::because)?;
            self.running = Some(running);
        }
        Ok(())
    }

    fn begin(&mut self, job: usize, first: Option<usize>) -> Result<(), NotStarted> {
        let entry = &self.entries[job];
        let memory = &mut **self.memory.borrow_mut();
        let now = (self.now)();
        let caught_up = memory.catch_up(now.div_euclid(1000));
        caught_up.map_err(NotStarted::because)?;
        let state = memory.state(Some(entry.number));
        let record = memory.engine.record(entry.number);
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
        let present = memory.engine.present();
        let sight = SavedState {
            state: &state,
            present: &present,
        };
        self.fates = record.tasks.iter().map(|task| task.fate.clone()).collect();
        let written = memory.ledger.begin(memory.file, &begun, sight, now);
        written.map_err(NotStarted::because)?;
        memory.kept(state);
        novelty::step(
            &mut memory.engine,
            Event::Began(entry.number, now.div_euclid(1000)),
        );
        Ok(())
    }

    fn start(&mut self, job: usize, task: usize) -> Result<(), NotStarted> {
        let memory = &mut **self.memory.borrow_mut();
        let (file, number) = (memory.file, self.entries[job].number);
        let written = memory.ledger.start(file, number, task, (self.now)());
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
                now_ms: (self.now)(),
            };
            memory
                .ledger
                .finish(memory.file, self.entries[job].number, task, &ended)
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
            let number = self.entries[job].number;
            novelty::step(&mut memory.engine, Event::Ended(number, self.fates.clone()));
            let state = memory.state(None);
            let present = memory.engine.present();
            let sight = SavedState {
                state: &state,
                present: &present,
            };
            let now = (self.now)();
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
