//! Runs a script in a shell and ends every process it started. Never decides what may run, and words nothing.
//!
//! The stages of [`run`]: spawn; read both pipes until the shell ends (or is made to); end what it left behind; read
//! what is still in the pipes. The pipes are read in every stage, so a process that writes while it is being ended is
//! neither blocked nor unheard.

mod captured;
mod family;

use std::env;
use std::ffi::OsString;
use std::future::{Future, pending};
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::fs::{Access, access};
use rustix::process::setsid;
use tempfile::NamedTempFile;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::lang::plain::Plain;
use crate::world::sandbox::{Fence, Ready, SandboxError};

pub use captured::Captured;
use captured::Spool;
use family::{Family, GRACE, STUCK};

/// The first of these that is in PATH runs the scripts.
const SHELLS: &[&str] = &["bash", "sh"];

/// A longer script goes by a file. One argument holds 128 KiB on Linux, all of them with the environment 1 MiB on macOS.
const LONGEST_ARGUMENT: usize = 64 * 1024;

/// How long a pipe may be silent before it is given up, once everything that this script started has ended. Only a
/// process that was handed the pipe by other means can still hold it then.
const SILENCE: Duration = Duration::from_millis(200);

/// How often a pipe is read at that point: plenty for what pipes can hold, an end for a writer that never stops.
const LAST_READS: usize = 64;

/// How much is read at once: what a pipe holds by default.
const CHUNK: usize = 64 * 1024;

/// What to run.
#[derive(Debug, Clone, Copy)]
pub struct Script<'a> {
    pub text: &'a str,
    /// The directory it runs in.
    pub dir: &'a Path,
    pub timeout: Duration,
    /// What it may do; nothing for all.
    pub fence: Option<&'a Fence>,
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
    #[error("the project folder is gone")]
    NoDirectory,
    #[error("the script holds a NUL character, which no shell can take")]
    Nul,
    #[error(transparent)]
    Fence(#[from] SandboxError),
    #[error("the shell could not be started: {0}")]
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
/// - One script runs at a time in this process; others wait their turn, and their time does not run yet. With two at
///   once, nothing could tell whose an orphan is.
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

/// Held by the script that runs.
static TURN: Mutex<()> = Mutex::const_new(());

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

    let (mut command, _script_file) = command(shells, script)?;
    let earlier = family::adopt_orphans();
    let mut child = command.spawn().map_err(|error| {
        if script.dir.is_dir() {
            ShellError::Start(error)
        } else {
            ShellError::NoDirectory
        }
    })?;
    // Declared after `child`, so dropped before it, while nobody has reaped the shell and its number is still its own.
    let mut family = Family::of(&child, earlier);

    let ran = conduct(
        script.timeout,
        cancelled,
        &mut child,
        &mut family,
        on_output,
    )
    .await;
    if ran.is_err() {
        family.kill();
        let _ = timeout(STUCK, child.wait()).await;
        family.end(Some(Instant::now())).await;
    }
    ran
}

/// The command for a script, and the file that holds it if it is long; the file goes when it is dropped.
fn command(
    shells: &[&str],
    script: &Script<'_>,
) -> Result<(Command, Option<NamedTempFile>), ShellError> {
    if script.text.contains('\0') {
        return Err(ShellError::Nul);
    }
    let (name, program) = find(shells, env::var_os("PATH")).ok_or(ShellError::NoShell)?;
    let ready = match script.fence {
        Some(fence) => fence.ready(script.dir)?,
        None => None,
    };
    let mut command = match ready.as_ref().map_or(&[][..], Ready::prefix) {
        [] => {
            let mut command = Command::new(program);
            // Its messages begin with the name it was called by.
            command.arg0(name);
            command
        }
        [first, rest @ ..] => {
            let mut command = Command::new(first);
            command.args(rest).arg(program);
            command
        }
    };
    let file = if script.text.len() > LONGEST_ARGUMENT {
        let file = script_file(script.text).map_err(ShellError::Spool)?;
        command.arg(file.path());
        Some(file)
    } else {
        // Without `--` a script that begins with a dash would be read as options.
        command.args(["-c", "--", script.text]);
        None
    };
    command
        .current_dir(script.dir)
        .envs([
            ("CLADA", "1"),
            ("NO_COLOR", "1"),
            ("TERM", "dumb"),
            ("GIT_TERMINAL_PROMPT", "0"),
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    in_own_session(&mut command, ready);
    Ok((command, file))
}

/// Finds the first of the programs in PATH. Relative entries are passed over: they would name a file of the project.
fn find<'a>(programs: &[&'a str], path: Option<OsString>) -> Option<(&'a str, PathBuf)> {
    let path = path.unwrap_or_else(|| "/bin:/usr/bin".into());
    let dirs: Vec<PathBuf> = env::split_paths(&path)
        .filter(|dir| dir.is_absolute())
        .collect();
    programs.iter().find_map(|name| {
        let mut files = dirs.iter().map(|dir| dir.join(name));
        let file = files.find(|file| file.is_file() && access(file, Access::EXEC_OK).is_ok())?;
        Some((*name, file))
    })
}

fn script_file(text: &str) -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::with_prefix("clada-script-")?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

/// Makes the child the leader of its own session, without a terminal to ask on, lets it die with clada, and fences it in.
#[allow(
    unsafe_code,
    reason = "pre_exec is the only way to act between fork and exec"
)]
fn in_own_session(command: &mut Command, ready: Option<Ready>) {
    #[cfg(target_os = "linux")]
    let parent = rustix::process::getpid();
    let prepare = move || {
        setsid()?;
        if let Some(ready) = &ready {
            ready.enter()?;
        }
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
