//! What a crash or a power cut left behind, found when listening begins: batches without an end, and results that were
//! not written.

use serde_json::Value;
use tokio::sync::watch;

use crate::batch::git_line;
use crate::daemon::{Daemon, Shown, choices};
use crate::lang::dialect::Dialect;
use crate::lang::note;
use crate::lang::outcome::{Outcome, Section, Status};
use crate::lang::record::{Fate, Number, Offer};
use crate::lang::report::Offered;
use crate::world::ledger::{FileId, Ledger, LedgerError, LogBatch, LogTask};
use crate::world::lock::Lock;
use crate::world::note_file::Reading;

/// Tasks that the user can ask for by a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// What failed, was interrupted or did not run in the last run.
    Undone,
    /// What waits for the user to say that it may run.
    Asked,
    /// The edit of the last run that could be carried out at this line.
    At(usize),
}

impl Which {
    /// Those of a file; `None` if there are none.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn offer(self, ledger: &Ledger, file: FileId) -> Result<Option<Offer>, LedgerError> {
        match self {
            Self::Undone => {
                // Of two that do the same again, the later one knows what is left.
                let mut batches = Vec::new();
                for batch in ledger.last_run(file)? {
                    if ledger.latest(file, batch.number)? == batch.number {
                        batches.push(batch);
                    }
                }
                Ok(undone(&batches))
            }
            Self::At(line) => choices::offer_at(line, ledger, file),
            Self::Asked => {
                let mut batches: Vec<(Number, Vec<usize>)> = Vec::new();
                for asked in ledger.asked(file, usize::MAX >> 1)? {
                    // The one that knows what was done since.
                    let latest = ledger.latest(file, asked.batch)?;
                    match batches.last_mut().filter(|(batch, _)| *batch == latest) {
                        Some((_, tasks)) => tasks.push(asked.task),
                        None => batches.push((latest, vec![asked.task])),
                    }
                }
                Ok((!batches.is_empty()).then(|| Offer::of_all(batches).approving(true)))
            }
        }
    }
}

/// What is left to do of these batches: all tasks that are not done.
fn undone(batches: &[LogBatch]) -> Option<Offer> {
    let of = |batch: &LogBatch| {
        let tasks = batch.tasks.iter().enumerate();
        // What is asked about has a line of its own, also where a later run has left it alone.
        let is_left = |task: &LogTask| {
            let mark = task.mark.as_deref().and_then(Status::parse);
            match task.fate {
                Fate::Done(_) => false,
                Fate::NotRun => !matches!(mark, Some(Status::Asks | Status::Skipped)),
                _ => mark != Some(Status::Asks),
            }
        };
        let undone = tasks.filter(|(_, task)| is_left(task));
        (
            batch.number,
            undone.map(|(task, _)| task).collect::<Vec<_>>(),
        )
    };
    let batches = batches
        .iter()
        .map(of)
        .filter(|(_, tasks)| !tasks.is_empty());
    let batches: Vec<_> = batches.collect();
    (!batches.is_empty()).then(|| Offer::of_all(batches))
}

impl Daemon {
    /// Finds what was left: it is told with the next results.
    pub(super) fn recover(&mut self, show: &mut dyn FnMut(Shown<'_>)) {
        if let Err(error) = self.try_recover() {
            show(Shown::Trouble(&error.to_string()));
        }
    }

    fn try_recover(&mut self) -> Result<(), LedgerError> {
        self.recover_block()?;
        self.take_back();
        let batches = self.memory.recover((self.clock.now_ms)())?;
        for batch in &batches {
            self.tell(batch);
        }
        let outcomes = self.pending.recovered.outcomes.iter_mut();
        if let Some(written) = self.delivery.output.unfinished()
            && let Some(outcome) =
                outcomes.max_by_key(|outcome| outcome.status == Status::Interrupted)
        {
            let text = format!("what the run wrote until then:\n{written}");
            outcome.sections.push(Section::Text(text));
        }
        Ok(())
    }

    /// Takes back an atomic batch that was cut short here. Where another clada runs, that one has.
    fn take_back(&mut self) {
        if let Ok(_lock) = Lock::try_take(&self.locks, "root", &self.runner.root) {
            let said = self.runner.recover(&watch::channel(false).1);
            self.pending.recovered.notices.extend(said);
        }
    }

    /// Finds the results that the notes did not get. Those that are there are left alone, as the user may just be ticking
    /// one of them.
    fn recover_block(&mut self) -> Result<(), LedgerError> {
        let owed = self.memory.ledger.owed(self.memory.file)?;
        if let Some((id, block)) = &owed
            && let Ok(Reading::Text { text, .. }) = self.delivery.note.read()
            && let Some(top) = self.memory.split(&text).blocks.first()
            && top.ticks().is_empty()
            && top.canonical() == note::canonical(block)
        {
            return self.memory.delivered(*id, self.delivery.note.changed_ms());
        }
        self.delivery.unwritten = owed;
        Ok(())
    }

    /// Clears away what is left of a write-back; what is not in the notes is kept and told. Only before anything is written:
    /// while this clada has the file, a `clada retry` may be at work with what looks the same.
    pub(super) fn clear_leftovers(&mut self, show: &mut dyn FnMut(Shown<'_>)) {
        let Ok(Reading::Text { text, .. }) = self.delivery.note.read() else {
            return;
        };
        let body = self.memory.split(&text).body.into_owned();
        let memory = &mut self.memory;
        let mut is_in = |left: &str| note::has_lines(&body, &memory.split(left).body);
        for kept in self.delivery.note.leftovers(&mut is_in) {
            show(Shown::Trouble(&format!(
                "clada ended in a write-back, and what is not in the notes is kept in {}",
                kept.display()
            )));
        }
    }

    /// Tells of a batch that was left without an end, or whose end was not told.
    fn tell(&mut self, batch: &LogBatch) {
        let report = &mut self.pending.recovered;
        let began = (self.clock.when)(batch.began_ms.div_euclid(1000));
        let is_cut = |task: &LogTask| match task.fate {
            Fate::Interrupted => true,
            // Else the run itself did not want it.
            Fate::NotRun => task.message.is_none(),
            _ => false,
        };
        let first = report.outcomes.len() + 1;
        let which = match batch.tasks.len() {
            0 | 1 => format!("task {first}"),
            tasks => format!("tasks {first} to {}", first + tasks - 1),
        };
        let left = undone(std::slice::from_ref(batch));
        if let Some(offer) = left.filter(|_| batch.tasks.iter().any(is_cut)) {
            report.offers.push(Offered {
                why: format!("⚠ clada ended in the middle of {which} (begun {began})"),
                action: "run again",
                offer,
            });
        } else {
            let said = format!("⚠ clada ended before it could tell of {which} (begun {began})");
            report.notices.push(said);
        }
        let numbered = (first..).zip(&batch.tasks);
        report
            .outcomes
            .extend(numbered.map(|(number, task)| outcome(number, task)));
        report.total = report.outcomes.len();
        let text = self.memory.text(batch.number);
        let those = first - 1..report.outcomes.len();
        let outcomes = (&mut *report.outcomes, those);
        choices::offer_of(&self.memory, &self.runner, (batch.number, &text), outcomes);
        if let Some(commits) = &batch.commits {
            report.git = Some(git_line(commits));
        }
    }
}

/// A task as the ledger tells it.
fn outcome(number: usize, task: &LogTask) -> Outcome {
    let status = task.mark.as_deref().and_then(Status::parse);
    let status = status.unwrap_or(Status::Interrupted);
    let why = match status {
        Status::Interrupted => Some("interrupted: clada ended while it ran"),
        Status::NotRun => Some("not run: clada ended before it"),
        _ => None,
    };
    let message = task.message.clone().or(why.map(str::to_owned));
    Outcome {
        number,
        id: None,
        dialect: Dialect::Cml,
        command: task.command.clone(),
        target: task.target.clone(),
        status,
        message,
        error: None,
        sections: Vec::new(),
        misread: None,
        params: Value::Null,
        data: Value::Null,
        offer: None,
        places: Vec::new(),
    }
}
