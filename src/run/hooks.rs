//! The user's own commands around a batch: which of them run when, what they are told of it, and what came of them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use super::due::Due;
use super::{Course, Runner, Touched};
use crate::policy::hook::{self, VariableError};
use crate::reply::task::{Batch, Task};
use crate::report::outcome::{Outcome, Status};
use crate::report::{Hooked, brief};
use crate::run::exec::{self, Exec, Executed};
use crate::run::progress::{Run, Work};
use crate::settings::Hook;
use crate::world::shell::Stream;

/// The hooks, and what they are told beside what there is of each batch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hooks {
    pub before: Vec<Hook>,
    pub after: Vec<Hook>,
    pub vars: BTreeMap<String, String>,
}

/// A longer value cannot be in an environment, in bytes.
const VALUE: usize = 100 * 1024;

/// The values of variables by their names, each with its name in the environment.
struct Values(BTreeMap<String, (String, String)>);

impl Values {
    /// What is known of a batch before it.
    fn before(hooks: &Hooks, batch: &Batch<'_>) -> Self {
        let vars = hooks.vars.iter();
        let vars = vars.map(|(name, value)| (name.clone(), (name.clone(), value.clone())));
        let operations = batch.tasks.iter().map(operation).collect::<Vec<_>>();
        let mut values = Self(vars.collect());
        values.set("total_blocks", batch.tasks.len());
        values.set("operations", operations.join("\n"));
        values
    }

    /// The same with what came of it.
    fn after(hooks: &Hooks, batch: &Batch<'_>, outcomes: &[Outcome], files: &[String]) -> Self {
        let was_tried = |outcome: &&Outcome| {
            matches!(
                outcome.status,
                Status::Done | Status::Failed | Status::Interrupted
            )
        };
        let errors = outcomes.iter().filter(|outcome| !outcome.status.is_good());
        let errors = errors.map(|outcome| {
            let message = outcome.message.as_deref().unwrap_or_default();
            format!("{}: {message}", outcome.label()).replace('\n', " ")
        });
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

    /// What a variable is called in the environment.
    fn named(&self, name: &str) -> Result<String, String> {
        match self.0.get(name) {
            Some((_, value)) if !is_passed(value) => Err(format!(
                "`${{{name}}}` is too long for a variable ({} bytes)",
                value.len()
            )),
            Some((variable, _)) => Ok(variable.clone()),
            None => {
                let known: Vec<String> = self.0.keys().map(|name| format!("`{name}`")).collect();
                Err(format!(
                    "unknown variable `${{{name}}}`: use one of {}; or add it to [vars], or write `\\${{` for the \
                     shell's own",
                    known.join(", ")
                ))
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

/// Whether hooks run around a batch: something that is due may change the project.
pub(super) fn are_due(batch: &Batch<'_>, due: &[Due]) -> bool {
    let changes = |task: &Task<'_>| task.action.as_ref().is_ok_and(|action| action.changes());
    batch
        .tasks
        .iter()
        .zip(due)
        .any(|(task, due)| *due == Due::Run && changes(task))
}

impl Runner {
    /// Runs the hooks before a batch; why it cannot begin.
    pub(super) async fn hooks_before(
        &self,
        batch: &Batch<'_>,
        run: &mut Run<'_, '_>,
    ) -> Result<(), String> {
        // What failed for one batch of a run is not asked again for the next.
        if let Some(why) = &run.stopped_by {
            return Err(why.clone());
        }
        let values = Values::before(&self.hooks, batch);
        let failed = self.all(("before", &self.hooks.before), &values, run).await;
        run.stopped_by.clone_from(&failed);
        failed.map_or(Ok(()), Err)
    }

    /// Runs the hooks after a batch, whose outcomes begin with `first`, and has saved what they change.
    pub(super) async fn hooks_after(
        &self,
        course: &mut Course<'_, '_>,
        (first, touched): (usize, &[Vec<PathBuf>]),
        run: &mut Run<'_, '_>,
    ) {
        let outcomes = &run.report.outcomes[first..];
        let done = outcomes.iter().zip(touched);
        let done = done.filter(|(outcome, _)| outcome.status == Status::Done);
        let mut files: Vec<String> = done
            .flat_map(|(_, paths)| paths)
            .map(|path| path.to_string_lossy().into_owned())
            .collect();
        files.sort();
        files.dedup();
        let values = Values::after(&self.hooks, course.batch, outcomes, &files);
        course.saving.expect_command(course.batch, run);
        self.all(("after", &self.hooks.after), &values, run).await;
        let work = Work {
            who: "what the hooks changed",
            why: None,
            line: said("after", &self.hooks.after),
        };
        let touched = Touched::Anything;
        course.saving.after(touched, (course.batch, work), run);
    }

    /// Names all hooks, in a run that changes nothing.
    pub(super) fn hooks_would_run(&self, run: &mut Run<'_, '_>) {
        for (when, hooks) in [("before", &self.hooks.before), ("after", &self.hooks.after)] {
            for hook in hooks {
                let command = self.rules.mask.text(&hook.run);
                let said = format!("would run the {when} hook `{command}`");
                run.report.notices.push(said);
            }
        }
    }

    /// Runs hooks until one fails; that it did.
    async fn all(
        &self,
        (when, hooks): (&'static str, &[Hook]),
        values: &Values,
        run: &mut Run<'_, '_>,
    ) -> Option<String> {
        for hook in hooks {
            let executed = match self.hook(hook, values, run).await {
                Ok(executed) => executed,
                Err(why) => Executed::failed(why),
            };
            let interrupted = executed.status == Status::Interrupted;
            let failed = executed.status != Status::Done && !hook.continue_on_error;
            run.hooked(Hooked {
                when,
                command: hook.run.clone(),
                failed: executed.status != Status::Done,
                counts: !hook.continue_on_error,
                message: executed.message,
                errors: executed.data["stderr"]
                    .as_str()
                    .unwrap_or_default()
                    .trim()
                    .to_owned(),
                sections: executed.sections,
            });
            if interrupted {
                return Some(exec::STOPPED.to_owned());
            }
            if failed {
                return Some(format!(
                    "the {when} hook `{}` failed: fix it first",
                    brief(&hook.run)
                ));
            }
        }
        None
    }

    async fn hook(
        &self,
        hook: &Hook,
        values: &Values,
        run: &mut Run<'_, '_>,
    ) -> Result<Executed, String> {
        let named = |name: &str| values.named(name).map_err(VariableError::NoValue);
        let script = hook::interpolated(&hook.run, named).map_err(|error| error.to_string())?;
        let dir = self.folder(hook.cwd.as_deref());
        let dir = dir.map_err(|ended| ended.message.unwrap_or_default())?;
        run.notice_once(self.rules.unfenced().as_deref());
        let exec = Exec {
            text: &script,
            dir: &dir,
            timeout: Some(hook.timeout),
            lang: None,
            version: None,
            vars: &values.environment(),
            limited_by: "the hook's `timeout`",
        };
        let stop = run.around.stop.clone();
        let mut silent = |_: Stream, _: &[u8]| {};
        Ok(exec::perform(&exec, &self.rules, stop, &mut silent).await)
    }
}

/// Hooks in a commit's message.
pub(super) fn said(when: &str, hooks: &[Hook]) -> String {
    let commands: Vec<&str> = hooks.iter().map(|hook| hook.run.trim()).collect();
    format!("hooks {when}: {}", commands.join("; "))
}
