//! Runs a script inside its fence, to its end or to one of its limits, and says how it ended. Knows no other command.

mod live;
mod planted;

use std::borrow::Cow;
use std::ffi::OsString;
use std::future::pending;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::policy::{Policy, Verdict};
use crate::reply::question::Question;
use crate::report;
use crate::report::fault::Fault;
use crate::report::outcome::{Outcome, Section, Status, Touched};
use crate::text::language::Language;
use crate::text::mask::Mask;
use crate::text::{duration, size};
use crate::world::long_text::LongText;
use crate::world::sandbox::{self, Fence, Guard, Level, Repositories};
use crate::world::shell::{self, Captured, Ending, OutputSink, Script, ShellError, Stream};
use crate::world::survivors::Survivor;
use live::Live;

/// The reason that the tasks of a stopped run give.
pub const STOPPED: &str = "clada was stopped";

/// The length of the end of an output that is searched for denials by the fence, in bytes.
const TAIL: usize = 16 * 1024;

/// The rules by which commands run, whoever asks for them.
#[derive(Debug)]
pub struct ExecRules {
    /// Otherwise none is run.
    pub enabled: bool,
    pub policy: Policy,
    /// For those that name no limit of their own.
    pub timeout: Duration,
    /// The most bytes of plain text that one may write.
    pub output_limit: u64,
    pub fence: Fence,
    /// The paths that are checked after each, as not every system can keep them from being changed.
    pub watched: Vec<PathBuf>,
    /// The repositories that are checked likewise, for changes that could run at the user's next git command.
    pub repositories: Repositories,
    /// The whole environment that they get.
    pub env: Vec<(OsString, OsString)>,
    pub mask: Mask,
}

impl ExecRules {
    /// Tells the user which part of the fence this system does not enforce.
    pub fn unfenced(&self) -> Option<String> {
        sandbox::shortfall(&self.fence)
    }

    /// Tells who starts clada which part of the fence is missing on this system, though the fence holds.
    pub fn weaker(&self) -> Option<String> {
        let support = sandbox::support();
        let is_weaker = support.by.is_some() && !support.lacks.is_empty();
        (is_weaker && self.fence.level != Level::Off).then(|| format!("⚠ {support}"))
    }

    /// The environment with these variables, which take the place of those of the same names.
    fn env_with(&self, vars: &[(OsString, OsString)]) -> Cow<'_, [(OsString, OsString)]> {
        if vars.is_empty() {
            return Cow::Borrowed(&self.env);
        }
        let is_kept = |(name, _): &&(OsString, OsString)| vars.iter().all(|(own, _)| own != name);
        self.env
            .iter()
            .filter(is_kept)
            .chain(vars)
            .cloned()
            .collect()
    }

    /// The folders that commands may not write in though the settings name them, for the user: some became links.
    pub fn left_out(&self) -> Vec<String> {
        let left_out = self.fence.left_out().into_iter();
        left_out.map(|it| it.to_string()).collect()
    }

    /// Returns why a script may not run, or not yet; `None` if it may. `target` is the line that names it, `approved`: the
    /// user was asked.
    pub fn hold(
        &self,
        script: &str,
        target: &str,
        lang: Option<Language>,
        approved: bool,
    ) -> Option<HeldBack> {
        if !self.enabled {
            let why = "commands are switched off here (`exec.enabled`): leave them to the user";
            return Some(HeldBack::Refused(why.to_owned()));
        }
        match self.policy.judge(script, lang.unwrap_or(Language::Bash)) {
            Verdict::Denied(denied) => Some(HeldBack::Refused(format!(
                "`{}` is denied here (`{}` in `exec.deny`): do it another way, or leave it to the user",
                report::brief(&denied.command),
                denied.pattern
            ))),
            Verdict::Ask(asked) if !approved => {
                let commands = asked.into_iter().map(|it| it.command);
                Some(HeldBack::Asks(Question::new(script, target, commands)))
            }
            Verdict::Ask(_) | Verdict::Allowed => None,
        }
    }
}

/// The reason why a task does not run, or not yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeldBack {
    /// It never will run.
    Refused(String),
    /// The user is to say whether it may.
    Asks(Question),
}

/// A script, as a task or a hook has it.
#[derive(Debug, Clone, Copy)]
pub struct ExecScript<'t> {
    pub text: &'t str,
    /// The folder it runs in.
    pub dir: &'t Path,
    pub timeout: Option<Duration>,
    pub lang: Option<Language>,
    pub version: Option<&'t str>,
    /// Variables that its environment has beside those of the rules, or instead.
    pub vars: &'t [(OsString, OsString)],
    /// The option that sets another time limit.
    pub limited_by: &'t str,
}

/// Runs a script until it ends, passes one of its limits, or `stop` becomes true. `sink` gets what it writes, as it comes,
/// but for floods.
pub async fn perform(
    exec: &ExecScript<'_>,
    rules: &ExecRules,
    stop: watch::Receiver<bool>,
    sink: &mut dyn OutputSink,
) -> Outcome {
    let mut shown = ShownOutput {
        live: Live::new(Instant::now()),
        sink,
    };
    let env = rules.env_with(exec.vars);
    let script = Script {
        text: exec.text,
        dir: exec.dir,
        timeout: exec.timeout.unwrap_or(rules.timeout),
        lang: exec.lang,
        version: exec.version,
        env: &env,
        fence: Some(&rules.fence),
        mask: Some(&rules.mask),
        output_limit: rules.output_limit,
    };
    let guard = (rules.fence.level != Level::Off).then(|| {
        rules.repositories.look();
        Guard::of(&rules.watched)
    });
    let missing = rules.fence.missing();
    let ran = shell::run(&script, stopped(stop), &mut shown).await;
    let ShownOutput { mut live, sink } = shown;
    if let Some(gap) = live.gap() {
        sink.take(Stream::Stdout, gap.as_bytes());
    }
    let changed = guard.map(|guard| {
        let (changed, planted) = (guard.changed(), rules.repositories.planted());
        planted::told(&rules.fence.root, changed, planted)
    });
    let outcome = match ran {
        Ok(ran) => ended(ran, rules, exec, &missing, changed.unwrap_or_default()),
        Err(error) => Outcome {
            fault: match &error {
                ShellError::NoProgram(missing) => Fault::NoProgram(missing.name().to_owned()),
                ShellError::NoShell => Fault::NoProgram("bash".to_owned()),
                _ => Fault::Other,
            },
            ..Outcome::failed(error.to_string())
        },
    };
    Outcome {
        touched: Touched::Anything,
        ..outcome
    }
}

/// Shows what a script writes, but for floods.
struct ShownOutput<'s> {
    live: Live,
    sink: &'s mut dyn OutputSink,
}

impl OutputSink for ShownOutput<'_> {
    fn take(&mut self, stream: Stream, text: &[u8]) {
        let (is_shown, gap) = self.live.take(text.len() as u64, Instant::now());
        if let Some(gap) = gap {
            self.sink.take(stream, gap.as_bytes());
        }
        if is_shown {
            self.sink.take(stream, text);
        }
    }

    /// Only of a flood: as long as all is shown, it is shown where it will not stay.
    fn lend(&mut self) -> Option<Rc<LongText>> {
        self.live.is_left_out().then(|| self.sink.lend()).flatten()
    }
}

/// Ends when `stop` becomes true.
async fn stopped(mut stop: watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        // Nobody is left who could stop it.
        pending::<()>().await;
    }
}

/// The outcome of a script that ran. `missing`: the paths of the fence that were not there when it began.
fn ended(
    mut ran: shell::ScriptRun,
    rules: &ExecRules,
    exec: &ExecScript<'_>,
    missing: &[PathBuf],
    changed: Vec<String>,
) -> Outcome {
    let (status, fault, ending) = ending(&ran, rules, exec);
    let left = match ran.left_running {
        0 => None,
        1 => Some("stopped a process that it left running".to_owned()),
        n => Some(format!("stopped {n} processes that it left running")),
    };
    let denied = match status {
        Status::Failed => [&ran.stderr, &ran.stdout]
            .into_iter()
            .find_map(|out| sandbox::denied(&rules.fence, exec.dir, missing, &tail(out)?)),
        Status::Done => tail(&ran.stderr)
            .and_then(|tail| sandbox::unsaved_setting(&rules.fence, exec.dir, &tail)),
        _ => None,
    };
    let said = ending.into_iter().chain(denied).chain(left);
    let said = said.chain(survivors(&ran.survivors)).chain(changed);
    let said: Vec<String> = said.collect();
    let text = |captured: &mut Captured| report::for_json(captured).unwrap_or_default();
    let mut data = json!({ "stdout": text(&mut ran.stdout), "stderr": text(&mut ran.stderr) });
    match ran.ending {
        Ending::Exited(code) => data["exit_code"] = code.into(),
        Ending::Signalled(signal) => data["signal"] = shell::signal_name(signal).into(),
        _ => {}
    }
    Outcome {
        status,
        message: (!said.is_empty()).then(|| said.join("; ")),
        fault,
        data,
        sections: vec![
            Section::Stream("stdout", Box::new(ran.stdout)),
            Section::Stream("stderr", Box::new(ran.stderr)),
        ],
        ..Outcome::default()
    }
}

/// Returns how a script ended: its status, the fault, and a sentence unless it went well.
fn ending(
    ran: &shell::ScriptRun,
    rules: &ExecRules,
    exec: &ExecScript<'_>,
) -> (Status, Fault, Option<String>) {
    let took = duration::show(ran.elapsed);
    let (fault, said) = match ran.ending {
        Ending::Exited(0) => return (Status::Done, Fault::Exit, None),
        Ending::Cancelled => {
            let said = format!("{STOPPED} ({took})");
            return (Status::Interrupted, Fault::Other, Some(said));
        }
        Ending::Exited(code) => (Fault::Exit, format!("exit code {code} ({took})")),
        Ending::Signalled(signal) => {
            let signal = shell::signal_name(signal);
            (Fault::Exit, format!("killed by {signal} ({took})"))
        }
        Ending::TimedOut(limit) => {
            let said = format!(
                "stopped at its time limit of {}: set another with {}",
                duration::show(limit),
                exec.limited_by
            );
            (Fault::TimedOut(limit), said)
        }
        Ending::WroteTooMuch => {
            let limit = size::show(rules.output_limit);
            let said = format!(
                "stopped at {limit} of output (`limits.output`): write it to a file instead"
            );
            (Fault::Other, said)
        }
        Ending::TooManyProcesses => {
            let most = rules.fence.processes;
            let said = format!(
                "stopped at more than {most} processes (`exec.processes`): start fewer at a time"
            );
            (Fault::Other, said)
        }
    };
    (Status::Failed, fault, Some(said))
}

/// The processes of a command that could not be ended, for the user.
fn survivors(survivors: &[Survivor]) -> Option<String> {
    const NAMED: usize = 5;
    if survivors.is_empty() {
        return None;
    }
    let named = survivors.iter().take(NAMED).map(|survivor| {
        let Survivor { pid, name, .. } = survivor;
        format!("{pid} ({})", report::brief(name))
    });
    let named = named.collect::<Vec<_>>().join(", ");
    let more = match survivors.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "⚠ it left processes that could not be killed: {named}{more}; kill them with `kill -9 {}`",
        survivors[0].pid
    ))
}

/// The end of an output.
fn tail(captured: &Captured) -> Option<String> {
    let cut = captured.cut(TAIL).ok()?;
    Some(if cut.left_out > 0 { cut.tail } else { cut.head })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> ExecRules {
        ExecRules {
            enabled: true,
            policy: Policy::new(&[], &[]).expect("no pattern"),
            timeout: Duration::from_secs(30),
            output_limit: u64::MAX,
            fence: Fence {
                level: Level::Off,
                ..Fence::nothing(Path::new("/"))
            },
            watched: Vec::new(),
            repositories: Repositories::of(Path::new("/nonexistent"), |_| false),
            env: std::env::vars_os().collect(),
            mask: Mask::default(),
        }
    }

    fn exec(text: &str) -> ExecScript<'_> {
        ExecScript {
            text,
            dir: Path::new("/"),
            timeout: None,
            lang: None,
            version: None,
            vars: &[],
            limited_by: "",
        }
    }

    async fn executed(text: &str, rules: &ExecRules) -> (Outcome, u64) {
        let (_keep, stop) = watch::channel(false);
        let mut written = 0;
        let mut count = |_: Stream, bytes: &[u8]| written += bytes.len() as u64;
        let done = perform(&exec(text), rules, stop, &mut count).await;
        (done, written)
    }

    #[tokio::test]
    async fn output_ends_at_its_limit_and_what_is_beyond_is_let_go() {
        let rules = ExecRules {
            output_limit: 3 * 1024 * 1024,
            ..rules()
        };
        // One goes on, one ignores the signal, one has ended when it is noticed.
        for script in [
            "yes",
            "trap '' TERM; yes",
            "yes é | head -c 3145729; sleep 0.2",
        ] {
            let (done, written) = executed(script, &rules).await;
            assert_eq!(done.status, Status::Failed);
            assert_eq!(
                done.message.as_deref(),
                Some("stopped at 3 MiB of output (`limits.output`): write it to a file instead")
            );
            assert!(written <= rules.output_limit && written > rules.output_limit - 4);
            let Section::Stream("stdout", spool) = &done.sections[0] else {
                panic!("{:?}", done.sections);
            };
            assert_eq!(spool.size(), written);
        }
    }

    #[tokio::test]
    async fn stopping_is_no_failure_of_the_script() {
        let (stop, stopped) = watch::channel(false);
        let on_time = async {
            tokio::task::yield_now().await;
            stop.send_replace(true);
            pending::<()>().await;
        };
        let rules = rules();
        let exec = exec("sleep 30");
        let mut nobody = ();
        let done = tokio::select! {
            done = perform(&exec, &rules, stopped, &mut nobody) => done,
            () = on_time => unreachable!(),
        };
        assert_eq!(done.status, Status::Interrupted);
    }

    #[tokio::test]
    async fn without_anybody_to_stop_it_a_script_runs_to_its_end() {
        let (stop, stopped) = watch::channel(false);
        drop(stop);
        let done = perform(&exec("echo done"), &rules(), stopped, &mut ()).await;
        assert_eq!((done.status, done.message), (Status::Done, None));
    }

    #[tokio::test]
    async fn what_is_watched_and_changes_is_told() {
        let root = tempfile::tempdir().expect("temp dir");
        let mut rules = rules();
        rules.fence.level = Level::Workspace;
        rules.fence.root = root.path().to_owned();
        rules.watched = [".git/hooks", ".git/config", "clada.toml"]
            .map(|name| root.path().join(name))
            .into();
        let (done, _) = executed("true", &rules).await;
        assert_eq!(done.message, None);
        let script = format!(
            "cd {} && mkdir -p .git/hooks && touch .git/hooks/pre-push clada.toml",
            root.path().display()
        );
        let (done, _) = executed(&script, &rules).await;
        let said = done.message.expect("a message");
        assert!(
            said.contains(
                "⚠ .git/hooks/pre-push was changed while this ran: check it before you use git"
            ),
            "{said}"
        );
        assert!(
            said.ends_with("⚠ clada.toml was changed while this ran: check it"),
            "{said}"
        );
    }
}
