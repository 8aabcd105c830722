//! A run in progress: numbers its tasks and gathers what there is to tell. Acts on nothing.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value;

use super::changes::Changes;
use super::{JobEnd, Journal, Progress, Ran, Surroundings};
use crate::git::subject;
use crate::git::{self, LeftOff, Message, Skipped, Snapshots, State, Step, UsersWork};
use crate::reply::dialect::Dialect;
use crate::reply::record::Commits;
use crate::reply::task::{Action, Batch, Cause, Lines, Problem, Task};
use crate::report::fault::Fault;
use crate::report::outcome::{Misread, Outcome, Section, Status};
use crate::report::told::{ActionResult, told};
use crate::report::wording;
use crate::report::{Hooked, ParseError, Report};
use crate::run::exec::Executed;
use crate::run::files::{Done, Failure};
use crate::text::mask::Mask;

/// What came of taking back.
#[derive(Debug, Default)]
pub(super) struct TakenBack {
    /// Paths that were put back, or were back already.
    pub(super) back: BTreeSet<PathBuf>,
    /// Those that changed for it.
    pub(super) put: usize,
    /// Those that are not as the batch left them, or could not be put back, and why.
    pub(super) left: BTreeMap<PathBuf, String>,
}

/// How a task ended.
pub(super) struct Ended {
    pub(super) status: Status,
    pub(super) message: Option<String>,
    pub(super) data: Value,
    pub(super) sections: Vec<Section>,
    pub(super) misread: Option<Misread>,
    /// Why it failed, for dialects that have words of their own for it.
    pub(super) fault: Fault,
}

impl Ended {
    pub(super) fn done() -> Self {
        Self {
            status: Status::Done,
            message: None,
            data: Value::Null,
            sections: Vec::new(),
            misread: None,
            fault: Fault::Other,
        }
    }

    pub(super) fn not_run(why: String) -> Self {
        Self::because(Status::NotRun, why)
    }

    pub(super) fn because(status: Status, why: String) -> Self {
        Self {
            status,
            message: Some(why),
            ..Self::done()
        }
    }
}

impl From<Done> for Ended {
    fn from(done: Done) -> Self {
        Self {
            message: done.message,
            data: done.data,
            sections: done.sections,
            ..Self::done()
        }
    }
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self {
            status: Status::Failed,
            message: Some(failure.message.into()),
            data: *failure.data,
            sections: failure.sections,
            misread: None,
            fault: *failure.fault,
        }
    }
}

impl From<Executed> for Ended {
    fn from(executed: Executed) -> Self {
        let Executed {
            status,
            message,
            data,
            sections,
            fault,
        } = executed;
        Self {
            status,
            message,
            data,
            sections,
            misread: None,
            fault,
        }
    }
}

/// A task or hooks that left something.
pub(super) struct Work<'p> {
    /// Who that is, in the results.
    pub(super) who: &'p str,
    /// A task's own reason, which is the subject of its commit.
    pub(super) why: Option<&'p str>,
    /// Its line in the message.
    pub(super) line: String,
}

/// A task that has changed something.
pub(super) struct Left {
    /// What the results call it.
    pub(super) label: String,
    /// Where that is known, relative to the root.
    pub(super) paths: Vec<PathBuf>,
    /// The commit that has it, where it is one of its own.
    pub(super) commit: Option<String>,
}

/// A run in progress.
pub(super) struct Run<'r, 't> {
    lines: Lines<'t>,
    pub(super) around: &'r Surroundings<'r>,
    pub(super) progress: &'r mut dyn FnMut(Progress<'_>),
    pub(super) report: Report,
    /// What came of each batch so far.
    pub(super) jobs: Vec<JobEnd>,
    pub(super) number: usize,
    /// The batch that runs was left before its end.
    pub(super) cut: bool,
    /// The tasks that have changed anything, in their order.
    pub(super) left: Vec<Left>,
    /// The first and the last state that git saved, in all and of the batch that runs.
    saved: Option<Saved>,
    saved_of_batch: Option<Saved>,
    /// It saved them in a private repository.
    pub(super) private: bool,
    /// Why the state is not saved, though it should be.
    pub(super) unsaved: Option<String>,
    /// What was not saved.
    skipped: Vec<Skipped>,
    /// The user's own work that was committed.
    work: Vec<UsersWork>,
    /// What is not on the branch.
    left_off: Vec<LeftOff>,
    left_off_paths: BTreeSet<PathBuf>,
    /// What is not to be seen of anything that is told.
    mask: Mask,
    /// Whether outcomes carry what the reply asked for.
    with_params: bool,
    /// Of the batch that runs.
    pub(super) dialect: Dialect,
    /// The hook before a batch that failed, as its tasks say it.
    pub(super) stopped_by: Option<String>,
    /// The account of what the chat knows, where there is a chat that is told.
    pub(super) changes: Option<Changes>,
    /// The subject that the tasks of a batch give, by the number of batches before it.
    subject: RefCell<Option<(usize, String)>>,
}

/// How many of the files that were not saved are named.
const SKIPPED_SHOWN: usize = 5;

/// Two commits; `None` is a repository without one.
type Saved = (Option<String>, Option<String>);

impl<'r, 't> Run<'r, 't> {
    pub(super) fn new(
        total: usize,
        around: &'r Surroundings<'r>,
        progress: &'r mut dyn FnMut(Progress<'_>),
        (mask, with_params): (&Mask, bool),
    ) -> Self {
        let report = Report {
            total,
            fence: around.fence.clone(),
            ..Report::default()
        };
        Self {
            lines: Lines::new(""),
            around,
            progress,
            report,
            jobs: Vec::new(),
            subject: RefCell::default(),
            number: 0,
            cut: false,
            left: Vec::new(),
            saved: None,
            saved_of_batch: None,
            private: false,
            unsaved: None,
            skipped: Vec::new(),
            work: Vec::new(),
            left_off: Vec::new(),
            left_off_paths: BTreeSet::new(),
            mask: mask.clone(),
            with_params,
            dialect: Dialect::Cml,
            stopped_by: None,
            changes: None,
        }
    }

    /// The batches that follow are in this text.
    pub(super) fn reads(&mut self, text: &'t str) {
        self.lines = Lines::new(text);
    }

    /// The outcomes from `first` on are those of the next batch.
    pub(super) fn job(&mut self, first: usize, refused: bool) {
        self.jobs.push(JobEnd {
            outcomes: first..self.report.outcomes.len(),
            refused,
            cut: std::mem::take(&mut self.cut),
        });
    }

    /// The commits before and after the batch that runs.
    pub(super) fn take_commits(&mut self) -> Option<Commits> {
        let (first, last) = self.saved_of_batch.take()?;
        Some(Commits {
            before: first.unwrap_or_default(),
            after: last.unwrap_or_default(),
            private: self.private,
        })
    }

    /// Tells of a hook.
    pub(super) fn hooked(&mut self, hook: Hooked) {
        let text = |text: String| self.mask.text(&text).into_owned();
        self.report.hooks.push(Hooked {
            command: text(hook.command),
            message: hook.message.map(text),
            errors: text(hook.errors),
            ..hook
        });
    }

    pub(super) fn problem(&mut self, problem: &Problem) {
        let problems = ParseError::of(problem, &mut self.lines);
        self.report.problems.extend(problems);
    }

    pub(super) fn not_run(&mut self, batch: &Batch<'_>, why: &str) {
        for task in &batch.tasks {
            self.number += 1;
            let outcome = self.outcome(task, Ended::not_run(why.to_owned()));
            self.finished(outcome);
        }
    }

    /// Keeps account of a batch that begins and ends without a task: `tell` says what came of each.
    pub(super) fn without_a_task(
        &mut self,
        journal: &mut dyn Journal,
        tell: impl FnOnce(&mut Self),
    ) -> Result<(), String> {
        let job = self.jobs.len();
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
    pub(super) fn hindered(&mut self, batch: &Batch<'_>, index: usize, why: Ended) {
        let by = self.number + index + 1;
        let mut why = Some(why);
        for (at, task) in batch.tasks.iter().enumerate() {
            self.number += 1;
            let ended = why.take_if(|_| at == index).unwrap_or_else(|| {
                Ended::not_run(format!("task {by} of this atomic batch cannot be done"))
            });
            let outcome = self.outcome(task, ended);
            self.finished(outcome);
        }
    }

    /// Tells of the tasks of an atomic batch, whose outcomes begin with `first`, that their changes went back; which of them
    /// that is so of. `paths` are those of a task, `None` for one that only looked.
    pub(super) fn taken_back<'p>(
        &mut self,
        first: usize,
        (number, how): (usize, &str),
        paths: impl Fn(usize) -> Option<&'p BTreeSet<PathBuf>>,
        taken: &TakenBack,
    ) -> Vec<bool> {
        let outcomes = self.report.outcomes[first..].iter_mut().enumerate();
        let mut any = false;
        let mut tell = |(task, outcome): (usize, &mut Outcome)| {
            let (Status::Done, Some(paths)) = (outcome.status, paths(task)) else {
                return false;
            };
            let is_back = |path: &PathBuf| taken.back.contains(path);
            let message = match &outcome.command {
                command if command.eq_ignore_ascii_case("exec") => {
                    "its changes were not reverted".to_owned()
                }
                // It has changed nothing.
                _ if paths.is_empty() => return false,
                _ if paths.iter().all(is_back) => {
                    outcome.status = Status::Failed;
                    any = true;
                    format!("reverted because task {number} of this atomic batch {how}")
                }
                _ => format!("not reverted, although task {number} of this atomic batch {how}"),
            };
            outcome.message = Some(match outcome.message.take() {
                Some(said) if outcome.status == Status::Done => format!("{said}; {message}"),
                _ => message,
            });
            outcome.status == Status::Failed
        };
        let told: Vec<bool> = outcomes.map(&mut tell).collect();
        if any {
            let said = format!(
                "⚠ task {number} {how}: the file changes of this atomic batch were reverted"
            );
            self.notice_once(Some(&said));
        }
        if let Some(left) = taken.left() {
            self.notice_once(Some(&format!("⚠ not as before this atomic batch: {left}")));
        }
        told
    }

    pub(super) fn misread(&mut self, problem: &Problem) -> Ended {
        let line = self.lines.of(problem.at);
        let message = format!("{} (line {line})", wording::problem(problem));
        Ended {
            status: Status::Failed,
            message: Some(message),
            misread: Some(Misread {
                line,
                errors: match &problem.cause {
                    Cause::Block(errors) => errors.clone(),
                    _ => Vec::new(),
                },
            }),
            ..Ended::done()
        }
    }

    pub(super) fn started(&mut self, task: &Task<'_>) {
        self.number += 1;
        let (number, total) = (self.number, self.report.total);
        let target = task.target();
        let (command, target) = (task.command_name(), self.mask.text(&target));
        (self.progress)(Progress::Started {
            number,
            total,
            command,
            target: &target,
        });
    }

    pub(super) fn outcome(&self, task: &Task<'_>, ended: Ended) -> Outcome {
        let text = |text: String| match self.mask.text(&text) {
            Cow::Owned(masked) => masked,
            Cow::Borrowed(_) => text,
        };
        let section = |section| match section {
            Section::Text(shown) => Section::Text(text(shown)),
            Section::File { name, content, at } => {
                let lines = content.lines().count();
                let content = text(content);
                Section::File {
                    name: text(name),
                    // What is taken out may be more than one line.
                    at: at.filter(|_| content.lines().count() == lines),
                    content,
                }
            }
            // Masked as it came.
            stream @ Section::Stream(..) => stream,
        };
        let params = match (&task.action, &task.call) {
            (Ok(_), Some(call)) if self.with_params => call.params(),
            (Ok(action), None) if self.with_params => action.params(),
            _ => Value::Null,
        };
        let mut said = ActionResult {
            message: ended.message,
            error: None,
            data: ended.data,
        };
        let is_silent = matches!(&task.action, Ok(Action::Exec { quiet: true, .. }));
        let shown = |_: &Section| !(is_silent && ended.status.is_good());
        if let (Some(call), Ok(action)) = (&task.call, &task.action) {
            said = told(call, action, ended.status, &ended.fault, said);
        }
        Outcome {
            number: self.number,
            id: task.call.as_ref().map(|call| call.id.to_owned()),
            dialect: self.dialect,
            command: task.command_name().to_owned(),
            target: text(task.target().into_owned()),
            status: ended.status,
            message: said.message.map(text),
            error: said.error.map(text),
            sections: ended
                .sections
                .into_iter()
                .filter(shown)
                .map(section)
                .collect(),
            misread: ended.misread,
            params: masked(params, &self.mask),
            data: masked(said.data, &self.mask),
            offer: None,
            places: Vec::new(),
        }
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

    /// What a commit says that a batch makes: its words, masked.
    pub(super) fn message(&self, batch: &Batch<'_>, body: Vec<String>, step: Step) -> Message {
        let masked = |text: &str| self.mask.text(text).into_owned();
        let subject = self.given(batch).map(masked).unwrap_or_else(|| {
            let mut known = self.subject.borrow_mut();
            if known
                .as_ref()
                .is_none_or(|(job, _)| *job != self.jobs.len())
            {
                let reasons: Vec<String> =
                    batch.tasks.iter().map(|task| masked(task.why)).collect();
                let joined = subject::joined(reasons.iter().map(String::as_str));
                *known = Some((self.jobs.len(), joined));
            }
            known
                .as_ref()
                .map(|(_, subject)| subject.clone())
                .unwrap_or_default()
        });
        Message {
            subject: Some(subject),
            time: (self.around.now)(),
            body: body.iter().map(|line| masked(line)).collect(),
            batch: batch_id(&self.around.id, self.jobs.len()),
            step,
            of: Vec::new(),
            moved: None,
            beside: None,
        }
    }

    /// What the commit of a part of a batch says: a task's own reason, where it has one.
    pub(super) fn message_of(&self, batch: &Batch<'_>, work: Work<'_>) -> Message {
        let mut message = self.message(batch, vec![work.line], Step::Task);
        let own = work.why.filter(|_| self.given(batch).is_none());
        let own = own.map(|why| subject::joined([&*self.mask.text(why)]));
        message.subject = own.filter(|own| !own.is_empty()).or(message.subject);
        message
    }

    /// The subject that the reply or the user gives.
    fn given<'g>(&'g self, batch: &'g Batch<'_>) -> Option<&'g str> {
        batch.message.as_deref().or(self.around.message.as_deref())
    }

    pub(super) fn saved(&mut self, state: State) {
        for saved in [&mut self.saved, &mut self.saved_of_batch] {
            match saved {
                None => *saved = Some((state.commit.clone(), state.commit.clone())),
                Some((_, last)) => last.clone_from(&state.commit),
            }
        }
        if let Some(why) = &state.hook {
            self.notice_once(Some(&format!("⚠ git: committed, but {why}")));
        }
        self.work.extend(state.work);
        for left in state.left_off {
            if self.left_off_paths.insert(left.path.clone()) {
                self.left_off.push(left);
            }
        }
        for skipped in state.skipped {
            if !self.skipped.contains(&skipped) {
                self.skipped.push(skipped);
            }
        }
    }

    /// What there is to say of saving.
    pub(super) fn notices(&mut self, snapshots: &mut Snapshots) {
        for said in snapshots.take_notices() {
            self.notice_once(Some(&said));
        }
    }

    /// Something to know, if there is; it is told once.
    pub(super) fn notice_once(&mut self, said: Option<&str>) {
        let notices = &mut self.report.notices;
        if let Some(said) = said.filter(|said| !notices.iter().any(|known| known == said)) {
            notices.push(said.to_owned());
        }
    }

    pub(super) fn finish(mut self) -> Ran {
        for skipped in self.skipped.iter().take(SKIPPED_SHOWN) {
            let said = format!("⚠ git: {skipped}");
            self.report.notices.push(said);
        }
        if let Some(more) = self.skipped.len().checked_sub(SKIPPED_SHOWN + 1) {
            let said = format!("⚠ git: not saved either: {} more", more + 1);
            self.report.notices.push(said);
        }
        let not_committed = not_committed(&self.left_off);
        self.report.notices.extend(not_committed);
        self.report.notices.extend(saved_work(&self.work));
        let unsaved = self.unsaved.take();
        let unsaved = unsaved.map(|why| format!("⚠ the state was not saved: {why}"));
        self.report.git = self.saved.take().map(|(first, last)| {
            let id = |commit: Option<String>| commit.unwrap_or_default();
            git_line(&Commits {
                before: id(first),
                after: id(last),
                private: self.private,
            })
        });
        match unsaved {
            Some(said) if self.report.git.is_some() => self.report.notices.push(said),
            said if !self.report.outcomes.is_empty() => {
                self.report.git = self.report.git.take().or(said);
            }
            _ => {}
        }
        Ran {
            report: self.report,
            jobs: self.jobs,
            untracked: None,
        }
    }
}

/// A value with every text in it masked.
fn masked(mut value: Value, mask: &Mask) -> Value {
    match &mut value {
        _ if mask.is_empty() => {}
        Value::String(text) => *text = mask.text(text).into_owned(),
        Value::Array(values) => values
            .iter_mut()
            .for_each(|it| *it = masked(it.take(), mask)),
        Value::Object(values) => values
            .values_mut()
            .for_each(|it| *it = masked(it.take(), mask)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    value
}

/// The id of a batch of a run, by its place in it: that of the run for the first, and `RUN.2`, `RUN.3` and so on.
pub fn batch_id(run: &str, job: usize) -> String {
    match job {
        0 => run.to_owned(),
        _ => format!("{run}.{}", job + 1),
    }
}

/// The line that names what is not on the branch.
fn not_committed(left: &[LeftOff]) -> Option<String> {
    let shown = left.iter().take(SKIPPED_SHOWN).map(LeftOff::to_string);
    let shown: Vec<String> = shown.collect();
    let more = match left.len().saturating_sub(SKIPPED_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!left.is_empty()).then(|| format!("⚠ not committed: {}{more}", shown.join(", ")))
}

/// The user's own work that was committed, in a line.
pub fn saved_work(work: &[UsersWork]) -> Option<String> {
    // A submodule is none.
    let parts = work.iter().filter(|work| work.files > 0).map(|work| {
        let staged = if work.staged { "staged " } else { "" };
        let files = if work.files == 1 { "file" } else { "files" };
        let commit = git::short(&work.commit);
        format!("{} {staged}{files} ({commit})", work.files)
    });
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| format!("💚 saved your work: {}", parts.join(", ")))
}

/// What was saved, in a line; an empty name is a repository without a commit.
pub fn git_line(commits: &Commits) -> String {
    let short = |commit| match commit {
        "" => "(empty)",
        commit => git::short(commit),
    };
    let (first, last) = (commits.before.as_str(), commits.after.as_str());
    let what = if commits.private { "snapshot" } else { "git" };
    if first == last {
        format!("💚 {what} {} (nothing changed)", short(first))
    } else {
        format!("💚 {what} {} → {}", short(first), short(last))
    }
}
