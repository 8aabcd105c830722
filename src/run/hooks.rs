//! Runs the user's own commands around a batch, and tells them of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use super::Runner;
use super::job::JobTask;
use super::journal::NotStarted;
use super::progress::{ActiveRun, Work};
use super::running::RunningJob;
use super::saving::Saving;
use crate::policy::hook::{self, VariableError};
use crate::reply::task::{Batch, Task};
use crate::report::outcome::{Outcome, Status, Touched};
use crate::report::{Hooked, brief};
use crate::run::exec::{self, ExecScript};
use crate::settings::Hook;

/// The hooks, and the user's variables for them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HookSetup {
    pub before: Vec<Hook>,
    pub after: Vec<Hook>,
    pub vars: BTreeMap<String, String>,
}

/// A longer value cannot be in an environment, in bytes.
const VALUE: usize = 100 * 1024;

/// The values of variables by their names, each with its name in the environment.
struct HookValues(BTreeMap<String, (String, String)>);

impl HookValues {
    /// The facts about a batch before it.
    fn before(hooks: &HookSetup, batch: &Batch<'_>) -> Self {
        let vars = hooks.vars.iter();
        let vars = vars.map(|(name, value)| (name.clone(), (name.clone(), value.clone())));
        let operations = batch.tasks.iter().map(operation).collect::<Vec<_>>();
        let mut values = Self(vars.collect());
        values.set("total_blocks", batch.tasks.len());
        values.set("operations", operations.join("\n"));
        values
    }

    /// The same with the results.
    fn after(hooks: &HookSetup, batch: &Batch<'_>, outcomes: &[Outcome], files: &[String]) -> Self {
        let was_tried = |outcome: &&Outcome| {
            matches!(
                outcome.status,
                Status::Done | Status::Failed | Status::Interrupted
            )
        };
        let errors = outcomes.iter().filter(|outcome| !outcome.status.is_good());
        let errors = errors
            .map(|outcome| format!("{}: {}", outcome.label(), outcome.said()).replace('\n', " "));
        let errors: Vec<String> = errors.collect();
        let mut values = Self::before(hooks, batch);
        values.set("success", errors.is_empty());
        values.set(
            "executed_actions",
            outcomes.iter().filter(was_tried).count(),
        );
        values.set("modified_files", files.join("\n"));
        values.set("error_count", errors.len());
        values.set("errors", errors.join("\n"));
        values
    }

    fn set(&mut self, name: &str, value: impl ToString) {
        let variable = format!("CLADA_{}", name.to_uppercase());
        self.0
            .insert(name.to_owned(), (variable, value.to_string()));
    }

    /// Returns the name of a variable in the environment.
    fn named(&self, name: &str) -> Result<String, VariableError> {
        match self.0.get(name) {
            Some((_, value)) if !is_passed(value) => Err(VariableError::NoValue(format!(
                "`${{{name}}}` is too long for a variable ({} bytes)",
                value.len()
            ))),
            Some((variable, _)) => Ok(variable.clone()),
            None => {
                let known: Vec<String> = self.0.keys().map(|name| format!("`{name}`")).collect();
                Err(VariableError::NoValue(format!(
                    "unknown variable `${{{name}}}`: use one of {}; or add it to [vars], or write `\\${{` for the \
                     shell's own",
                    known.join(", ")
                )))
            }
        }
    }

    fn environment(&self) -> Vec<(OsString, OsString)> {
        let all = self.0.values().filter(|(_, value)| is_passed(value));
        all.map(|(name, value)| (name.into(), value.into()))
            .collect()
    }
}

fn is_passed(value: &str) -> bool {
    value.len() <= VALUE && !value.contains('\0')
}

fn operation(task: &Task<'_>) -> String {
    let text = format!("{} {}", task.command_name(), task.target());
    text.replace('\n', " ").trim_end().to_owned()
}

impl Runner {
    /// True if hooks run around these tasks: one that is due may change the project.
    pub(super) fn has_hooks_for(&self, tasks: &[JobTask<'_>]) -> bool {
        let HookSetup { before, after, .. } = &self.setup.hooks;
        !(before.is_empty() && after.is_empty()) && tasks.iter().any(JobTask::will_change)
    }

    /// Runs the hooks before a batch, and saves what they change: beside what was there before, and before the tasks change
    /// anything.
    pub(super) async fn hooks_before(
        &self,
        saving: &mut Saving<'_>,
        run: &mut ActiveRun<'_, '_>,
    ) -> Result<(), NotStarted> {
        let hooks = &self.setup.hooks.before;
        if hooks.is_empty() {
            return Ok(());
        }
        saving.expect_command(run);
        // What failed for one batch of a run is not asked again for the next.
        if run.jobs.stopped_by.is_none() {
            let values = HookValues::before(&self.setup.hooks, saving.batch);
            run.jobs.stopped_by = self.run_hooks("before", hooks, &values, run).await.err();
        }
        let ready = match &run.jobs.stopped_by {
            None => saving.again(said("before", hooks), run),
            Some(why) => Err(why.clone()),
        };
        if ready.is_err() {
            run.states.take_commits();
        }
        ready
    }

    /// Runs the hooks after a batch, and saves what they change.
    pub(super) async fn hooks_after(&self, job: &mut RunningJob<'_>, run: &mut ActiveRun<'_, '_>) {
        let outcomes = &run.report.outcomes[job.first..];
        let done = outcomes.iter().filter(|it| it.status == Status::Done);
        let paths = done.flat_map(|outcome| outcome.touched.paths().unwrap_or_default());
        let files: BTreeSet<String> = paths
            .map(|path| path.to_string_lossy().into_owned())
            .collect();
        let files: Vec<String> = files.into_iter().collect();
        let hooks = &self.setup.hooks;
        let values = HookValues::after(hooks, job.saving.batch, outcomes, &files);
        job.saving.expect_command(run);
        // A failure is in the report.
        let _ = self.run_hooks("after", &hooks.after, &values, run).await;
        let work = Work {
            who: "what the hooks changed",
            why: None,
            line: said("after", &hooks.after),
        };
        job.saving.after(Touched::Anything, work, run);
    }

    /// Names all hooks, in a run that changes nothing.
    pub(super) fn hooks_would_run(&self, run: &mut ActiveRun<'_, '_>) {
        let HookSetup { before, after, .. } = &self.setup.hooks;
        for (when, hooks) in [("before", before), ("after", after)] {
            for hook in hooks {
                let command = self.setup.rules.mask.text(&hook.run);
                let said = format!("would run the {when} hook `{command}`");
                run.report.notices.push(said);
            }
        }
    }

    /// Runs hooks until one fails.
    async fn run_hooks(
        &self,
        when: &'static str,
        hooks: &[Hook],
        values: &HookValues,
        run: &mut ActiveRun<'_, '_>,
    ) -> Result<(), NotStarted> {
        for hook in hooks {
            let outcome = self.run_hook(hook, values, run).await;
            let (status, counts) = (outcome.status, !hook.continue_on_error);
            let errors = outcome.data["stderr"].as_str().unwrap_or_default().trim();
            run.hooked(Hooked {
                when,
                command: hook.run.clone(),
                failed: status != Status::Done,
                counts,
                errors: errors.to_owned(),
                message: outcome.message,
                sections: outcome.sections,
            });
            if status == Status::Interrupted {
                return Err(NotStarted::because(exec::STOPPED));
            }
            if status != Status::Done && counts {
                return Err(NotStarted(format!(
                    "the {when} hook `{}` failed: fix it first",
                    brief(&hook.run)
                )));
            }
        }
        Ok(())
    }

    async fn run_hook(
        &self,
        hook: &Hook,
        values: &HookValues,
        run: &mut ActiveRun<'_, '_>,
    ) -> Outcome {
        let script = match hook::interpolated(&hook.run, |name| values.named(name)) {
            Ok(script) => script,
            Err(error) => return Outcome::failed(error.to_string()),
        };
        let dir = match self.folder(hook.cwd.as_deref()) {
            Ok(dir) => dir,
            Err(failed) => return Outcome::failed(failed.said()),
        };
        run.notice_once(self.setup.rules.unfenced().as_deref());
        let exec = ExecScript {
            text: &script,
            dir: &dir,
            timeout: Some(hook.timeout),
            lang: None,
            version: None,
            vars: &values.environment(),
            limited_by: "the hook's `timeout`",
        };
        let stop = run.around.stop.clone();
        exec::perform(&exec, &self.setup.rules, stop, &mut ()).await
    }
}

/// The line that names hooks in a commit's message.
fn said(when: &str, hooks: &[Hook]) -> String {
    let commands: Vec<&str> = hooks.iter().map(|hook| hook.run.trim()).collect();
    format!("hooks {when}: {}", commands.join("; "))
}
