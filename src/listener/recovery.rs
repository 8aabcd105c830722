//! What a crash or a power cut left behind, found when listening begins: batches without an end, and results that were
//! not written.

use std::path::Path;

use tokio::sync::watch;

use crate::clock;
use crate::error::Error;
use crate::listener::delivery::Unwritten;
use crate::listener::ticks::left_behind;
use crate::listener::{Listener, choices, commands};

use crate::reply::note;
use crate::reply::record::{Fate, Number, Offer};
use crate::reply::scan::scan;
use crate::report::outcome::{Outcome, Section, Status};
use crate::report::{self, Offered};
use crate::run::{FinishedRun, git_line};
use crate::text::plain::plain;
use crate::world::ledger::{FileId, Ledger, LedgerError, LogBatch, LogTask};
use crate::world::lock::Lock;
use crate::world::note_file::NoteReading;

/// Tasks that the user can ask for by a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserRequest {
    /// The tasks that failed, were interrupted or did not run in the last run.
    Undone,
    /// The tasks that wait for the user's approval.
    Asked,
    /// The edit of the last run that could be carried out at this line.
    At(usize),
    /// All tasks of a batch, or of all batches of the last run.
    Whole(Option<Number>),
}

impl UserRequest {
    /// All tasks of the batch of this name, which is its number, its id or the beginning of that; without a name, all tasks
    /// of the last run. `notes` is the file's path.
    ///
    /// # Errors
    /// Where no batch of the file has this name or several have, where its tasks are forgotten, and where the ledger cannot
    /// be read.
    pub fn whole(
        ledger: &Ledger,
        file: FileId,
        notes: &Path,
        name: Option<&str>,
    ) -> Result<Self, Error> {
        let batches = match name {
            None => last_run(ledger, file)?,
            Some(name) => match ledger.named(file, name)?.as_slice() {
                [] => return Err(no_batch(name, notes)),
                [one] => ledger.named(file, &ledger.latest(file, one.number)?.to_string())?,
                _ => return Err(Error::SeveralBatches(name.to_owned())),
            },
        };
        if let Some(forgotten) = batches.iter().find(|batch| batch.tasks.is_empty()) {
            let name = name.map_or_else(|| forgotten.number.to_string(), str::to_owned);
            return Err(Error::ForgottenTasks(name));
        }
        // That one stands for it in the notes, and is what later ones repeat.
        let number = batches.first().map(|batch| batch.number);
        Ok(Self::Whole(number.filter(|_| name.is_some())))
    }

    /// Offers those of a file; `None` if there are none.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn offer(self, ledger: &Ledger, file: FileId) -> Result<Option<Offer>, LedgerError> {
        match self {
            Self::Undone => Ok(undone(&last_run(ledger, file)?)),
            Self::Whole(None) => Ok(whole(&last_run(ledger, file)?)),
            Self::Whole(Some(number)) => Ok(whole(&ledger.named(file, &number.to_string())?)),
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

/// The error of a name that no batch of a notes file has.
pub fn no_batch(name: &str, notes: &Path) -> Error {
    Error::NoBatch {
        batch: name.to_owned(),
        notes: notes.to_owned(),
        choice: "clada retry FILE --all BATCH",
    }
}

/// Returns the batches of the last run. Of two that do the same again, only the later one: it knows what is left.
fn last_run(ledger: &Ledger, file: FileId) -> Result<Vec<LogBatch>, LedgerError> {
    let mut batches = Vec::new();
    for batch in ledger.last_run(file)? {
        if ledger.latest(file, batch.number)? == batch.number {
            batches.push(batch);
        }
    }
    Ok(batches)
}

/// Offers all tasks of these batches.
fn whole(batches: &[LogBatch]) -> Option<Offer> {
    let batches = batches.iter().filter(|batch| !batch.tasks.is_empty());
    let batches = batches.map(|batch| (batch.number, (0..batch.tasks.len()).collect()));
    let batches: Vec<_> = batches.collect();
    (!batches.is_empty()).then(|| Offer::of_all(batches))
}

/// Offers what is left to do of these batches: all tasks that are not done.
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

/// The remains of a crash, not told yet.
#[derive(Default)]
pub(super) struct Remains {
    /// Batches without an end, or whose end was not told.
    batches: Vec<LogBatch>,
    /// The output of the last run until then.
    written: Option<String>,
}

impl Remains {
    /// Puts what was left of a batch into the outcomes of the run that has done the rest: what was done before is told there, and
    /// so is that clada ended. Not where more of it is left than that run was asked for.
    pub(super) fn join(
        &mut self,
        of: Number,
        asked: &[usize],
        outcomes: &mut [Outcome],
        notices: &mut Vec<String>,
    ) {
        let Some(at) = self.batches.iter().position(|batch| batch.number == of) else {
            return;
        };
        let batch = &self.batches[at];
        let all = undone(std::slice::from_ref(batch));
        let all = all.is_none_or(|left| left.without(&[(of, asked.to_vec())]).is_none());
        if !all || batch.tasks.len() != outcomes.len() {
            return;
        }
        for (outcome, task) in outcomes.iter_mut().zip(&batch.tasks) {
            let is_done = matches!(task.fate, Fate::Done(_));
            if is_done && outcome.status == Status::Skipped {
                let said = task.message.as_deref().map(|said| format!("{said}; "));
                let said = said.unwrap_or_default();
                outcome.message =
                    Some(format!("{said}done before clada stopped, so not run again"));
            }
            if matches!(task.fate, Fate::Interrupted)
                && let Some(written) = self.written.take()
            {
                outcome.sections.insert(0, until_then(&written));
            }
        }
        let began = clock::when(batch.began_ms.div_euclid(1000));
        let how = if batch.tasks.iter().any(is_cut) {
            "during this batch"
        } else {
            "before it could report this batch"
        };
        notices.push(format!(
            "⚠ clada stopped {how} (started {began}): the rest has run now"
        ));
        self.batches.remove(at);
    }
}

/// True if a task was cut short, or was still to come.
fn is_cut(task: &LogTask) -> bool {
    match task.fate {
        Fate::Interrupted => true,
        // Else the run itself did not want it.
        Fate::NotRun => task.message.is_none(),
        _ => false,
    }
}

/// The output of the last task that a run began before it was cut short.
fn until_then(written: &str) -> Section {
    let written = plain(report::last_part(written).as_bytes());
    Section::Text(format!("output until it was interrupted:\n{written}"))
}

impl Listener<'_> {
    /// Finds what was left: it is told with the next results.
    pub(super) fn recover(&mut self) {
        if let Err(error) = self.try_recover() {
            self.observer.trouble(&error.to_string());
        }
    }

    fn try_recover(&mut self) -> Result<(), LedgerError> {
        let remains = self.remains()?;
        self.tell_all(remains, &[]);
        let left = commands::dying(&self.claim.site.folders.locks());
        if !left.is_empty() && !self.pending.recovered.is_empty() {
            let said = format!("⚠ {}", left_behind(&left));
            self.pending.recovered.notices.push(said);
        }
        Ok(())
    }

    /// Finds what was left, and ends it in the ledger. It is still to be told.
    pub(super) fn remains(&mut self) -> Result<Remains, LedgerError> {
        self.recover_block()?;
        self.take_back();
        Ok(Remains {
            batches: self.memory.recover(clock::now_ms())?,
            written: self.delivery.output.unfinished(),
        })
    }

    /// Tells of what was left in the results of the run that has done the rest of it, `asked` of these batches.
    pub(super) fn tell_beside(
        &mut self,
        mut remains: Remains,
        asked: Vec<(Number, Vec<usize>)>,
        ran: &mut FinishedRun,
    ) {
        let mut begun = Vec::new();
        for (job, (of, tasks)) in ran.jobs.iter().zip(asked) {
            if job.refused {
                continue;
            }
            let outcomes = &mut ran.report.outcomes[job.outcomes.clone()];
            let notices = &mut ran.report.notices;
            remains.join(of, &tasks, outcomes, notices);
            begun.push((of, tasks));
        }
        self.tell_all(remains, &begun);
    }

    /// Tells of what was left. Of these batches these tasks were begun again since, and are not offered.
    pub(super) fn tell_all(&mut self, remains: Remains, again: &[(Number, Vec<usize>)]) {
        for batch in &remains.batches {
            self.tell(batch, again);
        }
        let outcomes = self.pending.recovered.outcomes.iter_mut();
        let outcomes = outcomes.filter(|outcome| outcome.status != Status::NotRun);
        if let Some(written) = remains.written
            && let Some(outcome) =
                outcomes.max_by_key(|outcome| outcome.status == Status::Interrupted)
        {
            outcome.sections.push(until_then(&written));
        }
    }

    /// Takes back an atomic batch that was cut short here. Where another clada runs, that one has.
    fn take_back(&mut self) {
        if let Ok(_lock) = Lock::try_take(
            &self.claim.site.folders.locks(),
            "root",
            self.runner.disk.path(),
        ) {
            let said = self.runner.recover(&watch::channel(false).1);
            self.pending.recovered.notices.extend(said);
        }
    }

    /// Finds the results that the notes did not get. Those that are there are left alone, as the user may just be ticking
    /// one of them.
    fn recover_block(&mut self) -> Result<(), LedgerError> {
        let owed = self.memory.ledger.owed(self.memory.file)?;
        if let Some((id, _)) = &owed {
            self.delivery.keep_lost_packet(*id, &self.memory.unread);
        }
        if let Some((id, block)) = &owed
            && let Ok(NoteReading::Text { text, .. }) = self.delivery.note.read()
            && let Some(top) = self.memory.split(&text).blocks.first()
            && top.ticks().is_empty()
            && top.canonical() == note::canonical(block)
        {
            return self.memory.delivered(*id, self.delivery.note.changed_ms());
        }
        let why = None;
        self.delivery.unwritten = owed.map(|(id, block)| Unwritten { id, block, why });
        Ok(())
    }

    /// Clears away what is left of a write-back; what is not in the notes is kept and told. Only before anything is written:
    /// while this clada has the file, a `clada retry` may be at work with what looks the same.
    pub(super) fn clear_leftovers(&mut self) {
        let Ok(NoteReading::Text { text, .. }) = self.delivery.note.read() else {
            return;
        };
        let body = self.memory.split(&text).body.into_owned();
        let memory = &mut self.memory;
        let mut is_in = |left: &str| note::has_lines(&body, &memory.split(left).body);
        for kept in self.delivery.note.leftovers(&mut is_in) {
            self.observer.trouble(&format!(
                "clada stopped while it wrote your notes file: the text that is missing there is in {}",
                kept.display()
            ));
        }
    }

    /// Tells of a batch that was left without an end, or whose end was not told. What ran again since is not offered.
    fn tell(&mut self, batch: &LogBatch, again: &[(Number, Vec<usize>)]) {
        let report = &mut self.pending.recovered;
        let began = clock::when(batch.began_ms.div_euclid(1000));
        let first = report.outcomes.len() + 1;
        let which = match batch.tasks.len() {
            0 | 1 => format!("task {first}"),
            tasks => format!("tasks {first} to {}", first + tasks - 1),
        };
        let left = undone(std::slice::from_ref(batch)).and_then(|left| left.without(again));
        if let Some(offer) = left.filter(|_| batch.tasks.iter().any(is_cut)) {
            report.offers.push(Offered {
                why: format!("⚠ clada stopped during {which} (started {began})"),
                action: "run again",
                offer,
            });
        } else {
            let said = format!("⚠ clada stopped before it could report {which} (started {began})");
            report.notices.push(said);
        }
        let numbered = (first..).zip(&batch.tasks);
        report
            .outcomes
            .extend(numbered.map(|(number, task)| outcome(number, task)));
        report.total = report.outcomes.len();
        let text = self.memory.text(batch.number);
        if let Some(read) = scan(&text).batches.first() {
            let those = first - 1..report.outcomes.len();
            let outcomes = &mut *report.outcomes;
            choices::offer_of(
                &self.memory,
                &self.runner,
                batch.number,
                read,
                outcomes,
                those,
            );
        }
        if let Some(commits) = &batch.commits {
            report.git = Some(git_line(commits));
        }
    }
}

/// Returns the outcome of a task as the ledger has it.
fn outcome(number: usize, task: &LogTask) -> Outcome {
    let status = task.mark.as_deref().and_then(Status::parse);
    let status = status.unwrap_or(Status::Interrupted);
    let why = match status {
        Status::Interrupted => Some("interrupted: clada stopped while it ran"),
        Status::NotRun => Some("not run: clada stopped before it"),
        _ => None,
    };
    let message = task.message.clone().or(why.map(str::to_owned));
    Outcome {
        number,
        command: task.command.clone(),
        target: task.target.clone(),
        status,
        message,
        ..Outcome::default()
    }
}
