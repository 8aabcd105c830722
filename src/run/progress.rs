//! A run in progress: numbers its tasks and gathers what there is to tell. Acts on nothing.

use std::cell::OnceCell;
use std::path::PathBuf;

use super::changes::Changes;
use super::journal::{Journal, NotStarted};
use super::outcome_mask::OutcomeMask;
use super::states::SavedStates;
use super::{FinishedRun, JobEnd, Progress, Runner, Surroundings};
use crate::git::subject;
use crate::git::{CommitStep, Message, SaveOutcome, Snapshots};
use crate::reply::dialect::Dialect;
use crate::reply::task::{Batch, Cause, LineNumbers, Problem, Task};
use crate::report::outcome::{Misread, Outcome};
use crate::report::wording;
use crate::report::{Hooked, ParseError, Report};

/// A task or hooks that left something.
pub(super) struct Work<'p> {
    /// The name that notices call it by.
    pub(super) who: &'p str,
    /// A task's own reason, which is the subject of its commit.
    pub(super) why: Option<&'p str>,
    /// Its line in the message.
    pub(super) line: String,
}

/// A change that a task has made.
pub(super) struct PastChange {
    /// The name that the results call the task by.
    pub(super) label: String,
    /// The paths, where they are known, relative to the root.
    pub(super) paths: Vec<PathBuf>,
    /// The commit that has it, where it is one of its own.
    pub(super) commit: Option<String>,
}

/// A task of an atomic batch that cannot be done.
pub(super) struct Hindrance {
    /// Its place in the batch.
    pub(super) task: usize,
    pub(super) outcome: Outcome,
}

/// The jobs of a run: the ends of those before, and the one that runs.
pub(super) struct Jobs<'t> {
    pub(super) ended: Vec<JobEnd>,
    /// The text of the batch that runs, and its lines.
    text: &'t str,
    lines: LineNumbers<'t>,
    dialect: Dialect,
    /// It was left before its end.
    pub(super) cut: bool,
    /// The subject that its tasks give its commits, once a commit needs it.
    subject: OnceCell<String>,
    /// The failure of a hook before a batch, as the tasks tell it.
    pub(super) stopped_by: Option<NotStarted>,
}

/// A run in progress.
pub(super) struct ActiveRun<'r, 't> {
    pub(super) around: &'r Surroundings<'r>,
    pub(super) progress: &'r mut dyn FnMut(Progress<'_>),
    pub(super) report: Report,
    pub(super) jobs: Jobs<'t>,
    pub(super) states: SavedStates,
    /// The changes that tasks have made, in their order.
    pub(super) past: Vec<PastChange>,
    /// The account of what the chat knows, where there is a chat that is told.
    pub(super) changes: Option<Changes>,
    masking: OutcomeMask,
}

impl<'r, 't> ActiveRun<'r, 't> {
    pub(super) fn new(
        total: usize,
        runner: &Runner,
        around: &'r Surroundings<'r>,
        progress: &'r mut dyn FnMut(Progress<'_>),
    ) -> Self {
        Self {
            around,
            progress,
            report: Report {
                total,
                fence: around.fence.clone(),
                ..Report::default()
            },
            jobs: Jobs {
                ended: Vec::new(),
                text: "",
                lines: LineNumbers::new(""),
                dialect: Dialect::Cml,
                cut: false,
                subject: OnceCell::new(),
                stopped_by: None,
            },
            states: SavedStates::default(),
            past: Vec::new(),
            changes: None,
            masking: OutcomeMask {
                mask: runner.setup.rules.mask.clone(),
                with_params: runner.with_params,
            },
        }
    }

    /// The next batch is this one, in this text.
    pub(super) fn begins(&mut self, batch: &Batch<'_>, text: &'t str) {
        // Batches of one text count its lines once.
        if !std::ptr::eq(self.jobs.text, text) {
            self.jobs.text = text;
            self.jobs.lines = LineNumbers::new(text);
        }
        self.jobs.dialect = batch.dialect;
        self.jobs.subject = OnceCell::new();
    }

    /// The outcomes from `first` on are those of the batch that ends.
    pub(super) fn ends(&mut self, first: usize, refused: bool) {
        self.jobs.ended.push(JobEnd {
            outcomes: first..self.report.outcomes.len(),
            refused,
            cut: std::mem::take(&mut self.jobs.cut),
        });
    }

    /// The place of the batch that runs among those of the run.
    pub(super) fn job(&self) -> usize {
        self.jobs.ended.len()
    }

    /// The number of the next task.
    pub(super) fn number(&self) -> usize {
        self.report.outcomes.len() + 1
    }

    /// Tells of a hook.
    pub(super) fn hooked(&mut self, hook: Hooked) {
        let text = |text| self.masking.text(text);
        self.report.hooks.push(Hooked {
            command: text(hook.command),
            message: hook.message.map(text),
            errors: text(hook.errors),
            ..hook
        });
    }

    pub(super) fn problem(&mut self, problem: &Problem) {
        let problems = ParseError::of(problem, &mut self.jobs.lines);
        self.report.problems.extend(problems);
    }

    pub(super) fn not_run(&mut self, batch: &Batch<'_>, why: &str) {
        self.end_with(batch, |_| Outcome::not_run(why));
    }

    /// Ends a batch of which nothing runs: `outcome` makes the outcome of the task at a place in it.
    fn end_with(&mut self, batch: &Batch<'_>, mut outcome: impl FnMut(usize) -> Outcome) {
        for (at, task) in batch.tasks.iter().enumerate() {
            let outcome = self.complete(task, outcome(at));
            self.finished(outcome);
        }
    }

    /// Keeps account of a batch that begins and ends without a task: `tell` says what came of each.
    pub(super) fn without_a_task(
        &mut self,
        journal: &mut dyn Journal,
        tell: impl FnOnce(&mut Self),
    ) -> Result<(), NotStarted> {
        let job = self.job();
        journal.begin(job, None)?;
        let first = self.report.outcomes.len();
        tell(self);
        for (task, outcome) in self.report.outcomes[first..].iter().enumerate() {
            // What was done in an earlier form of the batch is still done.
            journal.finish(job, task, outcome, None);
        }
        journal.end(job, Vec::new(), None);
        Ok(())
    }

    /// None of an atomic batch is run, because one task of it cannot be done.
    pub(super) fn hindered(&mut self, batch: &Batch<'_>, hindrance: Hindrance) {
        let number = self.number() + hindrance.task;
        let mut why = Some(hindrance.outcome);
        self.end_with(batch, |at| {
            why.take_if(|_| at == hindrance.task).unwrap_or_else(|| {
                Outcome::not_run(format!("task {number} of this atomic batch cannot be done"))
            })
        });
    }

    pub(super) fn misread(&mut self, problem: &Problem) -> Outcome {
        let line = self.jobs.lines.of(problem.at);
        let errors = match &problem.cause {
            Cause::Block(errors) => errors.clone(),
            _ => Vec::new(),
        };
        Outcome {
            misread: Some(Misread { line, errors }),
            ..Outcome::failed(format!("{} (line {line})", wording::problem(problem)))
        }
    }

    pub(super) fn started(&mut self, task: &Task<'_>) {
        let (number, total) = (self.number(), self.report.total);
        let target = task.target();
        let (command, target) = (task.command_name(), self.masking.mask.text(&target));
        (self.progress)(Progress::Started {
            number,
            total,
            command,
            target: &target,
        });
    }

    /// Completes the outcome of the next task.
    pub(super) fn complete(&self, task: &Task<'_>, outcome: Outcome) -> Outcome {
        let dialect = self.jobs.dialect;
        self.masking.complete(outcome, task, self.number(), dialect)
    }

    pub(super) fn finished(&mut self, outcome: Outcome) {
        (self.progress)(Progress::Finished(&outcome));
        self.report.outcomes.push(outcome);
    }

    /// The same for a task that was looked at, with what is odd about it.
    pub(super) fn finished_with_warnings(&mut self, task: &Task<'_>, outcome: Outcome) {
        self.finished(outcome);
        for warning in &task.warnings {
            self.problem(warning);
        }
    }

    /// The message of a commit that a batch makes, masked.
    pub(super) fn message(
        &self,
        batch: &Batch<'_>,
        body: Vec<String>,
        step: CommitStep,
    ) -> Message {
        let subject = match self.given(batch) {
            Some(given) => self.masking.text(given.to_owned()),
            None => self.joined_reasons(batch).to_owned(),
        };
        Message {
            subject,
            time: (self.around.now)(),
            body: body.into_iter().map(|it| self.masking.text(it)).collect(),
            batch: batch_id(&self.around.id, self.job()),
            step,
            of: Vec::new(),
            moved: None,
            beside: None,
        }
    }

    /// The message of a part of a batch: a task's own reason is its subject, where it has one and nothing else is given.
    pub(super) fn message_of(&self, batch: &Batch<'_>, work: &Work<'_>) -> Message {
        let mut message = self.message(batch, vec![work.line.clone()], CommitStep::Task);
        let own = work.why.filter(|_| self.given(batch).is_none());
        let own = own.map(|why| subject::joined([&*self.masking.mask.text(why)]));
        if let Some(own) = own.filter(|own| !own.is_empty()) {
            message.subject = own;
        }
        message
    }

    /// The subject that the reply or the user gives.
    fn given<'g>(&'g self, batch: &'g Batch<'_>) -> Option<&'g str> {
        batch.message.as_deref().or(self.around.message.as_deref())
    }

    /// The subject that the tasks of the batch give.
    fn joined_reasons(&self, batch: &Batch<'_>) -> &str {
        self.jobs.subject.get_or_init(|| {
            let reasons = batch.tasks.iter();
            let reasons = reasons.map(|task| self.masking.text(task.why.to_owned()));
            let reasons: Vec<String> = reasons.collect();
            subject::joined(reasons.iter().map(String::as_str))
        })
    }

    pub(super) fn saved(&mut self, state: SaveOutcome) {
        if let Some(why) = &state.hook {
            self.notice_once(Some(&format!("⚠ git: committed, but {why}")));
        }
        self.states.add(state);
    }

    /// Tells what the repository has to say of saving.
    pub(super) fn notices(&mut self, snapshots: &mut Snapshots) {
        for said in snapshots.take_notices() {
            self.notice_once(Some(&said));
        }
    }

    /// Adds a notice, if there is one and it was not told before.
    pub(super) fn notice_once(&mut self, said: Option<&str>) {
        let notices = &mut self.report.notices;
        if let Some(said) = said.filter(|said| !notices.iter().any(|known| known == said)) {
            notices.push(said.to_owned());
        }
    }

    pub(super) fn finish(mut self) -> FinishedRun {
        self.states.tell(&mut self.report);
        FinishedRun {
            report: self.report,
            jobs: self.jobs.ended,
            untracked: None,
        }
    }
}

/// The id of a batch of a run, by its place in it: that of the run for the first, and `RUN.2`, `RUN.3` and so on.
pub fn batch_id(run: &str, job: usize) -> String {
    match job {
        0 => run.to_owned(),
        _ => format!("{run}.{}", job + 1),
    }
}
