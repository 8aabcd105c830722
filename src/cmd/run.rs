//! `clada run`: carries out one reply once, without a notes file and the clipboard.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::cli::RunArgs;
use crate::cli::terminal::{self, Terminal};
use crate::clock;
use crate::cmd::context;
use crate::cmd::notes::of_root;
use crate::cmd::reply_input::read_reply;
use crate::error::Error;
use crate::listener::rules::{Login, RuleSource, RunFlags, RunRules};
use crate::listener::{Running, project, sharing};
use crate::reply::scan::scan_for;
use crate::reply::task::{Batch, LineNumbers};
use crate::report::outcome::{Section, Status};
use crate::report::{ParseError, Report};
use crate::run::{Job, NoJournal, Progress, Surroundings};
use crate::settings::places::{self, Folders};
use crate::settings::{HookSettings, Settings};
use crate::start;
use crate::world::sandbox;

/// Runs one reply. Fails if a task failed or the reply has an error.
///
/// # Errors
/// Where the reply or the root cannot be read.
pub fn main(args: &RunArgs) -> Result<ExitCode, Error> {
    let (given, root) = start::find_root(args.root.as_deref())?;
    sharing::check_root(&root, args.allow_shared)?;
    let reply = read_reply(args.file.as_deref())?;
    let text = reply.text()?;
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let runtime = start::runtime()?;
    let loaded = Settings::load(&folders, &root)?;
    // A reply may be a notes file: its results block is not part of the reply, but its lines count.
    let found = scan_for(text, loaded.settings.dialects.iter().copied().collect());
    let flags = flags(args, &loaded.settings, &found.batches);
    let login = Login::default();
    let start = RuleSource::start(&folders, &root, loaded, &flags, &login);
    let start = runtime.block_on(start);
    let not_logged_in = start.login.and_then(Result::err);
    let RunRules {
        setup,
        settings,
        notice,
    } = start.made?;
    let own = [places::NOTES, &settings.watch.output_file].map(|name| root.join(name));
    // If several are watched for the root, none of them is meant.
    let notes = of_root(&folders, &root).map_or_else(|_| own[0].clone(), |chosen| chosen.file);
    let context = context::store(&folders, &root, &notes);
    let mut runner = project::runner((&given, &root), &folders, context, &own, setup)?;
    runner.protect(&start::watched_in(&folders, &root));
    let notes = args.file.as_deref().map(Path::canonicalize);
    runner.never.extend(notes.and_then(Result::ok));
    runner.with_params = args.json;
    let stop = start::stop_signal()?;
    runtime.block_on(async {
        let around = Surroundings {
            now: &clock::date_time,
            when: &clock::when,
            fence: clock::word(),
            message: args.message.clone(),
            id: clock::run_id(),
            stop,
        };
        if found.batches.iter().any(Batch::has_exec) {
            sandbox::warm_up();
        }
        let jobs = Job::all(text, &found, args.approve);
        let mut terminal = Terminal::new(std::io::stderr());
        let mut report = if args.dry_run {
            runner.preview(&jobs, &around)
        } else {
            let lock = start::lock_root(&folders, &root, &around.stop, &mut terminal).await?;
            let Some(mut lock) = lock else {
                terminal.line("stopped before anything ran");
                return Ok(ExitCode::FAILURE);
            };
            lock.tell("`clada run`".to_owned());
            // A listener must learn that a command may have written to its notes file.
            let runs = Running::begin(&folders.locks(), &root)?;
            let mut show = |progress: Progress<'_>| {
                if !args.json {
                    terminal.progress(&progress);
                }
            };
            let ran = runner.run(&jobs, &around, &mut NoJournal, &mut show).await;
            runs.end()?;
            ran.report
        };
        let mut lines = LineNumbers::new(text);
        let problems = found.problems.iter();
        let problems = problems.flat_map(|problem| ParseError::of(problem, &mut lines));
        report.problems.extend(problems);
        if !report.outcomes.is_empty() {
            let not_logged_in = not_logged_in.map(|error| error.to_string());
            report
                .notices
                .extend(not_logged_in.into_iter().chain(notice));
        }
        tell_how_to_approve(&mut report);
        print(args, &mut report)?;
        Ok(ExitCode::from(u8::from(!report.success())))
    })
}

/// The flags for a run of these batches.
fn flags(args: &RunArgs, settings: &Settings, batches: &[Batch<'_>]) -> RunFlags {
    RunFlags {
        no_commands: !runs_commands(&settings.hooks, batches),
        ..args.exec.flags(args.no_git)
    }
}

/// Tells if a run of these batches can start a command: one of its tasks, or a hook.
fn runs_commands(hooks: &HookSettings, batches: &[Batch<'_>]) -> bool {
    let has_hooks = !hooks.before.is_empty() || !hooks.after.is_empty();
    has_hooks || batches.iter().any(Batch::has_exec)
}

/// Adds the next step to each question, as there is no box to tick.
fn tell_how_to_approve(report: &mut Report) {
    let outcomes = report.outcomes.iter_mut();
    for outcome in outcomes.filter(|outcome| outcome.status == Status::Asks) {
        let what = outcome.message.as_deref().unwrap_or("needs approval");
        let (what, commands) = what.split_once('\n').unwrap_or((what, ""));
        let said = format!("{what}: run it with `clada run --approve`\n{commands}");
        outcome.message = Some(said.trim_end().to_owned());
    }
}

fn print(args: &RunArgs, report: &mut Report) -> Result<(), Error> {
    let mut out = terminal::stdout();
    if args.json {
        terminal::print_json(&report.json())?;
    } else if report.total == 0 && report.is_empty() {
        writeln!(
            out,
            "no task found: paste what `clada instructions` prints into your chat, so that the LLM writes tasks"
        )?;
    } else {
        if std::io::stdout().is_terminal() {
            // The output of the commands was shown live.
            for outcome in &mut report.outcomes {
                outcome
                    .sections
                    .retain(|section| !matches!(section, Section::Stream(..)));
            }
        }
        report.write_output(None, &mut out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::reply::scan::scan;
    use crate::settings::Hook;

    #[test]
    fn commands_are_those_of_tasks_and_of_hooks() {
        let read = scan("<task><path>a</path><c>read</c></task>\n").batches;
        let exec = scan("<task><c>exec</c><x>true</x></task>\n").batches;
        let none = HookSettings::default();
        assert!(!runs_commands(&none, &read));
        assert!(runs_commands(&none, &exec));
        let hook = Hook {
            run: "true".to_owned(),
            continue_on_error: false,
            timeout: Duration::from_secs(1),
            cwd: None,
        };
        let (mut before, mut after) = (none.clone(), none.clone());
        (before.before, after.after) = (vec![hook.clone()], vec![hook]);
        assert!(runs_commands(&before, &read) && runs_commands(&after, &read));
    }
}
