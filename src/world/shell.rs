//! Runs a script in a shell, or another language's program, and ends every process it started. Never decides what may
//! run.
//!
//! The stages of [`run`]: spawn; read both pipes until the shell ends (or is made to); end what it left behind; read
//! what is still in the pipes. The pipes are read in every stage, so a process that writes while it is being ended is
//! neither blocked nor unheard.

mod captured;
mod family;
mod interpreter;

use std::ffi::{OsStr, OsString};
use std::future::{Future, pending};
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::pin::{Pin, pin};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::setsid;
use tempfile::NamedTempFile;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::lang::language::Language;
use crate::lang::plain::Plain;
use crate::world::turn::TURN;

use captured::Spool;
use family::{Family, GRACE, STUCK};
use interpreter::Program;

pub use captured::Captured;
pub use interpreter::Missing;

/// The first of these that is in PATH runs the scripts that name no language.
const SHELLS: &[&str] = &["bash", "sh"];

/// A longer script goes by a file. One argument holds 128 KiB on Linux, all of them with the environment 1 MiB on macOS.
const LONGEST_ARGUMENT: usize = 64 * 1024;

/// How long a pipe may be silent before it is given up, once everything that this script started has ended. Only a
/// process that was handed the pipe by other means can still hold it then.
const SILENCE: Duration = Duration::from_millis(200);

/// How often a pipe is read at that point: plenty for what pipes can hold, an end for a writer that never stops.
const LAST_READS: usize = 64;

/// How long a program may take to tell its version, and how much of that is read.
const ASKED: (Duration, usize) = (Duration::from_secs(5), 4096);

/// How much is read at once: what a pipe holds by default.
const CHUNK: usize = 64 * 1024;

/// What to run.
#[derive(Debug, Clone, Copy)]
pub struct Script<'a> {
    pub text: &'a str,
    /// The directory it runs in.
    pub dir: &'a Path,
    pub timeout: Duration,
    /// Nothing: it runs in `bash`, or `sh` where there is none.
    pub lang: Option<Language>,
    /// As much of the program's version as matters; it goes with a language.
    pub version: Option<&'a str>,
    /// The whole environment that it gets, but for a few variables that every script has. Programs are looked for in
    /// its PATH.
    pub env: &'a [(OsString, OsString)],
}

impl Script<'_> {
    fn path(&self) -> &OsStr {
        let set = self.env.iter().find(|(name, _)| name == "PATH");
        set.map_or(OsStr::new("/bin:/usr/bin"), |(_, path)| path)
    }
}

/// Where a piece of output was written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// How a script went.
#[derive(Debug)]
pub struct Ran {
    pub ending: Ending,
    /// Until the shell had ended; ending what it left behind is not counted.
    pub elapsed: Duration,
    /// How many processes still ran when the shell had ended, and had to be ended. Where there is no `/proc` to count
    /// them in: 1 if there were any.
    pub left_running: usize,
    pub stdout: Captured,
    pub stderr: Captured,
}

/// How the shell ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Exited(i32),
    Signalled(i32),
    /// It was ended after this time, the script's own limit.
    TimedOut(Duration),
    Cancelled,
}

/// Why a script could not be run. What a script itself does wrong is a [`Ran`].
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    #[error("neither `bash` nor `sh` is in PATH")]
    NoShell,
    #[error("{0}")]
    NoProgram(Missing),
    #[error("the project folder is gone")]
    NoDirectory,
    #[error("the script holds a NUL character, which no program can take")]
    Nul,
    #[error("the shell or program for it could not be started: {0}")]
    Start(io::Error),
    #[error("its output could not be read: {0}")]
    Read(io::Error),
    #[error("its output, or a long script, could not be put into a temporary file: {0}")]
    Spool(io::Error),
    #[error("its end could not be waited for: {0}")]
    Wait(io::Error),
}

/// Runs a script and gives its output, as plain text, to `on_output` as it comes.
///
/// However it ends, no process that it started is left: also those that left its session, where the system can tell
/// (Linux). When `cancelled` resolves, the script is ended as at its timeout: SIGTERM, and SIGKILL 2 s later.
///
/// - One script runs at a time in this process; others wait their [turn](TURN), and their time does not run yet.
/// - Poll it on a thread that lives as long as the process. The shell is told to die when clada does
///   (`PR_SET_PDEATHSIG`), and for Linux that is the *thread* that started it.
/// - Drop it and everything is sent SIGKILL at once, without waiting; cancel it to see the ending.
pub async fn run(
    script: &Script<'_>,
    cancelled: impl Future<Output = ()>,
    on_output: &mut (dyn FnMut(Stream, &[u8]) + '_),
) -> Result<Ran, ShellError> {
    run_by(SHELLS, script, cancelled, on_output).await
}

async fn run_by(
    shells: &[&str],
    script: &Script<'_>,
    cancelled: impl Future<Output = ()>,
    on_output: &mut (dyn FnMut(Stream, &[u8]) + '_),
) -> Result<Ran, ShellError> {
    let mut cancelled = pin!(cancelled);
    let _turn = tokio::select! {
        biased;
        () = &mut cancelled => return Ok(Ran::not_started()),
        turn = TURN.lock() => turn,
    };

    if script.text.contains('\0') {
        return Err(ShellError::Nul);
    }
    let Some(program) = program(shells, script, cancelled.as_mut()).await? else {
        return Ok(Ran::not_started());
    };
    let (command, _script_file) = command(&program, script)?;
    see_through(command, script.dir, script.timeout, cancelled, on_output).await
}

/// The program for a script; nothing if it was cancelled before that was known.
async fn program(
    shells: &[&str],
    script: &Script<'_>,
    mut cancelled: Pin<&mut impl Future<Output = ()>>,
) -> Result<Option<Program>, ShellError> {
    let path = script.path();
    let Some(lang) = script.lang else {
        let found = shells.iter().find_map(|name| interpreter::find(name, path));
        return found.map(Some).ok_or(ShellError::NoShell);
    };
    let mut missing = Missing::new(lang, script.version);
    for candidate in interpreter::candidates(lang, script.version) {
        let Some(program) = interpreter::find(&candidate.name, path) else {
            missing.sought(&candidate.name, None);
            continue;
        };
        let Some(wanted) = script.version.filter(|_| !candidate.says_version) else {
            return Ok(Some(program));
        };
        let Some(said) = ask(&program, script, cancelled.as_mut()).await? else {
            return Ok(None);
        };
        let version = interpreter::said_version(&said);
        if version.is_some_and(|version| interpreter::is_version(version, wanted)) {
            return Ok(Some(program));
        }
        missing.sought(&candidate.name, Some(version));
    }
    missing.look_around(path);
    Err(ShellError::NoProgram(missing))
}

/// What a program says of its version: nothing where it does not say it well and in time. It is asked in the script's
/// own directory and environment, on which the answer of a version manager depends. `None` if that was cancelled.
async fn ask(
    program: &Program,
    script: &Script<'_>,
    cancelled: Pin<&mut impl Future<Output = ()>>,
) -> Result<Option<String>, ShellError> {
    let mut command = prepared(program, script);
    command.arg("--version");
    let (limit, most) = ASKED;
    let mut said = Vec::new();
    // Python 2 says it on stderr.
    let mut on_output = |_, text: &[u8]| {
        let room = text.len().min(most.saturating_sub(said.len()));
        said.extend_from_slice(&text[..room]);
    };
    let ran = see_through(command, script.dir, limit, cancelled, &mut on_output).await;
    match ran {
        Ok(ran) if ran.ending == Ending::Cancelled => Ok(None),
        Ok(ran) if ran.ending == Ending::Exited(0) => {
            Ok(Some(String::from_utf8_lossy(&said).into_owned()))
        }
        Ok(_) | Err(ShellError::Start(_)) => Ok(Some(String::new())),
        Err(error) => Err(error),
    }
}

/// Runs a command to its end, with all that it starts.
async fn see_through(
    mut command: Command,
    dir: &Path,
    limit: Duration,
    cancelled: impl Future<Output = ()>,
    on_output: &mut (dyn FnMut(Stream, &[u8]) + '_),
) -> Result<Ran, ShellError> {
    let earlier = family::adopt_orphans();
    let mut child = command.spawn().map_err(|error| {
        if dir.is_dir() {
            ShellError::Start(error)
        } else {
            ShellError::NoDirectory
        }
    })?;
    // Declared after `child`, so dropped before it, while nobody has reaped the shell and its number is still its own.
    let mut family = Family::of(&child, earlier);

    let ran = conduct(limit, cancelled, &mut child, &mut family, on_output).await;
    if ran.is_err() {
        family.kill();
        let _ = timeout(STUCK, child.wait()).await;
        family.end(Some(Instant::now())).await;
    }
    ran
}

/// The command for a script, and the file that holds it if it is long; the file goes when it is dropped.
fn command(
    program: &Program,
    script: &Script<'_>,
) -> Result<(Command, Option<NamedTempFile>), ShellError> {
    let mut command = prepared(program, script);
    let text = script.text;
    let is_long = text.len() > LONGEST_ARGUMENT;
    let file = is_long.then(|| script_file(text)).transpose();
    let file = file.map_err(ShellError::Spool)?;
    match (script.lang, &file) {
        (None | Some(Language::Bash | Language::Sh), None) => {
            // Without `--` a script that begins with a dash would be read as options.
            command.args(["-c", "--", text]);
        }
        (None | Some(Language::Bash | Language::Sh), Some(file)) => {
            command.arg(file.path());
        }
        (Some(lang), file) => {
            match lang {
                // Else what it printed would be lost at the time limit, and seen late before.
                Language::Python => command.arg("-u"),
                // Else a script that is not ASCII would be an error where the locale is unknown.
                Language::Ruby => command.arg("-Ku"),
                _ => &mut command,
            };
            match (lang, file) {
                // With the file's path as an argument, imports would be looked for beside that file.
                (_, Some(file)) => command
                    .arg("-")
                    .stdin(file.reopen().map_err(ShellError::Spool)?),
                (Language::Python, None) => command.args(["-c", text]),
                // `-e` takes no script that begins with a dash.
                (Language::JavaScript, None) => command.arg(format!("--eval={text}")),
                (_, None) => command.args(["-e", text]),
            };
        }
    }
    Ok((command, file))
}

/// A command with what does not depend on its arguments.
fn prepared(program: &Program, script: &Script<'_>) -> Command {
    let mut command = Command::new(&program.file);
    if script.lang.is_none_or(interpreter::is_shell) {
        // Its messages begin with the name it was called by. Others look for their libraries by that name.
        command.arg0(&program.name);
    }
    command
        .current_dir(script.dir)
        .env_clear()
        .envs(script.env.iter().map(|(name, value)| (name, value)))
        .envs([
            ("CLADA", "1"),
            ("NO_COLOR", "1"),
            ("TERM", "dumb"),
            ("GIT_TERMINAL_PROMPT", "0"),
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    in_own_session(&mut command);
    command
}

fn script_file(text: &str) -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::with_prefix("clada-script-")?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

/// Makes the child the leader of its own session, without a terminal to ask on, and lets it die with clada.
#[allow(
    unsafe_code,
    reason = "pre_exec is the only way to act between fork and exec"
)]
fn in_own_session(command: &mut Command) {
    #[cfg(target_os = "linux")]
    let parent = rustix::process::getpid();
    let prepare = move || {
        setsid()?;
        #[cfg(target_os = "linux")]
        {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            if rustix::process::getppid() != Some(parent) {
                // It died before the line above, and the signal will never come.
                return Err(rustix::io::Errno::SRCH.into());
            }
        }
        Ok(())
    };
    // SAFETY: the closure makes system calls only; it neither allocates nor takes a lock.
    unsafe { command.pre_exec(prepare) };
}

/// Goes through the stages with a shell that has been started.
async fn conduct(
    limit: Duration,
    cancelled: impl Future<Output = ()>,
    child: &mut Child,
    family: &mut Family,
    on_output: &mut (dyn FnMut(Stream, &[u8]) + '_),
) -> Result<Ran, ShellError> {
    let started = Instant::now();
    let mut output = Output {
        stdout: Pipe::new(Stream::Stdout, child.stdout.take()),
        stderr: Pipe::new(Stream::Stderr, child.stderr.take()),
        on_output,
    };

    let first = async {
        tokio::select! {
            status = child.wait() => status.map(ending),
            () = sleep(limit) => Ok(Ending::TimedOut(limit)),
            () = cancelled => Ok(Ending::Cancelled),
        }
    };
    let ending = output.until(first).await?.map_err(ShellError::Wait)?;

    let mut kill_at = None;
    if matches!(ending, Ending::TimedOut(_) | Ending::Cancelled) {
        let deadline = Instant::now() + GRACE;
        kill_at = Some(deadline);
        family.terminate();
        if output
            .until(timeout_at(deadline, child.wait()))
            .await?
            .is_err()
        {
            family.kill();
            let _ = output.until(timeout(STUCK, child.wait())).await?;
        }
    }
    let elapsed = started.elapsed();

    let left_running = output.until(family.end(kill_at)).await?;
    output.rest().await?;
    Ok(Ran {
        ending,
        elapsed,
        left_running,
        stdout: output.stdout.spool.captured(),
        stderr: output.stderr.spool.captured(),
    })
}

fn ending(status: ExitStatus) -> Ending {
    match status.code() {
        Some(code) => Ending::Exited(code),
        None => Ending::Signalled(status.signal().unwrap_or_default()),
    }
}

impl Ran {
    fn not_started() -> Self {
        Self {
            ending: Ending::Cancelled,
            elapsed: Duration::ZERO,
            left_running: 0,
            stdout: Captured::default(),
            stderr: Captured::default(),
        }
    }
}

/// Both pipes, and who is told what comes from them.
struct Output<'a, 'b> {
    stdout: Pipe<ChildStdout>,
    stderr: Pipe<ChildStderr>,
    on_output: &'a mut (dyn FnMut(Stream, &[u8]) + 'b),
}

impl Output<'_, '_> {
    /// Reads until something happens.
    async fn until<T>(&mut self, event: impl Future<Output = T>) -> Result<T, ShellError> {
        let mut event = pin!(event);
        loop {
            tokio::select! {
                happened = &mut event => return Ok(happened),
                read = self.read() => read?,
            }
        }
    }

    /// Reads on to the end of both pipes, which has come when nobody is left that could write.
    async fn rest(&mut self) -> Result<(), ShellError> {
        for _ in 0..LAST_READS {
            if self.stdout.source.is_none() && self.stderr.source.is_none() {
                return Ok(());
            }
            match timeout(SILENCE, self.read()).await {
                Ok(read) => read?,
                Err(_) => break,
            }
        }
        self.stdout.take(0, self.on_output)?;
        self.stderr.take(0, self.on_output)
    }

    /// Reads once from the pipe that has something first, and never returns when both are at their end. Nothing is lost
    /// if it is dropped.
    async fn read(&mut self) -> Result<(), ShellError> {
        tokio::select! {
            read = self.stdout.read() => self.stdout.take(read.map_err(ShellError::Read)?, self.on_output),
            read = self.stderr.read() => self.stderr.take(read.map_err(ShellError::Read)?, self.on_output),
        }
    }
}

/// One of the two pipes, on its way to the spool.
struct Pipe<R> {
    stream: Stream,
    /// Nothing once its end is reached.
    source: Option<R>,
    chunk: Vec<u8>,
    plain: Plain,
    text: Vec<u8>,
    spool: Spool,
}

impl<R: AsyncRead + Unpin> Pipe<R> {
    fn new(stream: Stream, source: Option<R>) -> Self {
        Self {
            stream,
            source,
            chunk: vec![0; CHUNK],
            plain: Plain::default(),
            text: Vec::new(),
            spool: Spool::new(),
        }
    }

    async fn read(&mut self) -> io::Result<usize> {
        match &mut self.source {
            Some(source) => source.read(&mut self.chunk).await,
            None => pending().await,
        }
    }

    /// Passes on what has been read: 0 bytes are the end.
    fn take(
        &mut self,
        read: usize,
        on_output: &mut dyn FnMut(Stream, &[u8]),
    ) -> Result<(), ShellError> {
        if read > 0 {
            self.plain.push(&self.chunk[..read], &mut self.text);
        } else {
            self.source = None;
            self.plain.finish(&mut self.text);
        }
        if !self.text.is_empty() {
            self.spool.write(&self.text).map_err(ShellError::Spool)?;
            on_output(self.stream, &self.text);
            self.text.clear();
        }
        Ok(())
    }
}

/// The name of a signal, as `SIGSEGV`.
pub fn signal_name(number: i32) -> String {
    const NAMES: &[(i32, &str)] = &[
        (libc::SIGHUP, "SIGHUP"),
        (libc::SIGINT, "SIGINT"),
        (libc::SIGQUIT, "SIGQUIT"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGTRAP, "SIGTRAP"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGUSR1, "SIGUSR1"),
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGUSR2, "SIGUSR2"),
        (libc::SIGPIPE, "SIGPIPE"),
        (libc::SIGALRM, "SIGALRM"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGVTALRM, "SIGVTALRM"),
        (libc::SIGPROF, "SIGPROF"),
        (libc::SIGXCPU, "SIGXCPU"),
        (libc::SIGXFSZ, "SIGXFSZ"),
        (libc::SIGSYS, "SIGSYS"),
    ];
    match NAMES.iter().find(|(known, _)| *known == number) {
        Some((_, name)) => (*name).to_owned(),
        None => format!("signal {number}"),
    }
}

#[cfg(test)]
mod tests;
