//! Runs a script in a shell, or another language's program, and ends every process it started. Never decides what may
//! run.
//!
//! The stages of [`run`]: spawn; read both pipes until the shell ends (or is made to); end what it left behind; read
//! what is still in the pipes. The pipes are read in every stage, so a process that writes while it is being ended is
//! neither blocked nor unheard.

mod captured;
#[cfg(target_os = "linux")]
mod family;
#[cfg(not(target_os = "linux"))]
#[path = "group.rs"]
mod family;
mod interpreter;
#[cfg(target_os = "linux")]
mod keeper;
mod launch;

use std::ffi::{OsStr, OsString};
use std::future::{Future, pending, poll_fn};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::pin::{Pin, pin};
use std::process::ExitStatus;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tempfile::NamedTempFile;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::text::language::Language;
use crate::text::mask::{Mask, Masking};
use crate::text::plain::{Plain, plain};
use crate::world::locked::locked;
use crate::world::long_text::LongText;
use crate::world::sandbox::{Fence, SandboxError};
use crate::world::scarce;
use crate::world::survivors::Survivor;

use captured::Spool;
use family::Family;
use interpreter::FoundProgram;
use launch::Launch;

pub use captured::Captured;
pub use interpreter::Missing;

/// The first of these that is in PATH runs the scripts that name no language.
const SHELLS: &[&str] = &["bash", "sh"];

/// A longer script goes by a file. One argument holds 128 KiB on Linux, all of them with the environment 1 MiB on macOS.
const LONGEST_ARGUMENT: usize = 64 * 1024;

/// From SIGTERM to SIGKILL.
const GRACE: Duration = Duration::from_secs(2);

/// The time that what a shell left behind gets to end by itself, as the `tee` of `exec > >(tee log)` does when its input ends.
const SETTLE: Duration = Duration::from_millis(100);

/// The time that a killed process is waited for: one that hangs in the kernel, or is another user's, is given up.
const STUCK: Duration = Duration::from_millis(500);

/// The time between two counts of the processes of a script, where the system does not bound them.
const COUNTED: Duration = Duration::from_secs(1);

/// The time that a pipe may be silent before it is given up, once everything that this script started has ended. Only a
/// process that was handed the pipe by other means can still hold it then.
const SILENCE: Duration = Duration::from_millis(200);

/// The number of reads of a pipe at that point: plenty for what pipes can hold, an end for a writer that never stops.
const LAST_READS: usize = 64;

/// The time that a program may take to tell its version, and the bytes of that which are read.
const ASKED: (Duration, usize) = (Duration::from_secs(5), 4096);

/// The bytes that are read at once: much more no longer fits into a processor's cache.
const CHUNK: usize = 256 * 1024;

/// The most of a line that is held back before its end is there, while all is plain text.
const HELD: usize = 16 * 1024;

/// The bytes that a pipe is to hold: as many as a user may ask for, so that a script that writes much waits seldom. By default it
/// is 64 KiB.
#[cfg(target_os = "linux")]
const PIPE: usize = 1024 * 1024;

/// A script that is to be run.
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
    /// The bounds of what it may do; `None` for none.
    pub fence: Option<&'a Fence>,
    /// The secrets that are not to be seen in its output.
    pub mask: Option<&'a Mask>,
    /// The bytes of plain text that it may write before it is ended.
    pub output_limit: u64,
}

impl Script<'_> {
    fn path(&self) -> &OsStr {
        let set = self.env.iter().find(|(name, _)| name == "PATH");
        set.map_or(OsStr::new("/bin:/usr/bin"), |(_, path)| path)
    }
}

/// The pipe that a piece of output was written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// A receiver of the output of a script, as it comes.
pub trait OutputSink {
    /// Takes a piece of it.
    fn take(&mut self, stream: Stream, text: &[u8]);

    /// Lends a place where an output may be kept that has become long, if there is one where it is read in the end. What
    /// is kept there is told all the same.
    fn lend(&mut self) -> Option<Rc<LongText>> {
        None
    }
}

/// Nobody.
impl OutputSink for () {
    fn take(&mut self, _: Stream, _: &[u8]) {}
}

impl<F: FnMut(Stream, &[u8])> OutputSink for F {
    fn take(&mut self, stream: Stream, text: &[u8]) {
        self(stream, text);
    }
}

/// The results of a script.
#[derive(Debug)]
pub struct ScriptRun {
    pub ending: Ending,
    /// Until the shell had ended; ending what it left behind is not counted.
    pub elapsed: Duration,
    /// The number of processes that still ran when the shell had ended, and had to be ended. Where there is no `/proc` to count
    /// them in: 1 if there were any.
    pub left_running: usize,
    /// The processes that could not be ended, and may still do something.
    pub survivors: Vec<Survivor>,
    pub stdout: Captured,
    pub stderr: Captured,
}

/// The ways in which a shell ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Exited(i32),
    Signalled(i32),
    /// It was ended after this time, the script's own limit.
    TimedOut(Duration),
    /// It was ended when it had written more than its limit; what is beyond that was let go.
    WroteTooMuch,
    /// It was ended when it had more processes than its limit.
    TooManyProcesses,
    Cancelled,
}

/// The reason why a script could not be run. What a script itself does wrong is a [`ScriptRun`].
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    #[error("neither `bash` nor `sh` is in PATH: install one")]
    NoShell,
    #[error("{0}")]
    NoProgram(Missing),
    #[error("the project folder no longer exists: put it back")]
    NoDirectory,
    #[error("the script contains a NUL character: remove it")]
    Nul,
    #[error(transparent)]
    Fence(#[from] SandboxError),
    #[error("cannot start the shell or program for it: {}", scarce::explain(.0))]
    Start(io::Error),
    #[error("cannot read its output: {0}")]
    Read(io::Error),
    #[error("cannot put its output, or a long script, into a temporary file: {}", scarce::explain(.0))]
    Spool(io::Error),
    #[error("cannot wait for its end: {0}")]
    Wait(io::Error),
}

/// Runs a script and gives its output as it comes to `sink`: plain text that has kept its colours.
///
/// However it ends, no process that it started is left: also those that left its session, where the system can tell
/// (Linux). When `cancelled` resolves, the script is ended as at its timeout: SIGTERM, and SIGKILL 2 s later.
///
/// - If clada ends, so do they: at once where they have namespaces or Landlock knows signals, else soon after.
/// - Drop it and everything is sent SIGKILL, without waiting; cancel it to see the ending.
pub async fn run(
    script: &Script<'_>,
    cancelled: impl Future<Output = ()>,
    sink: &mut (dyn OutputSink + '_),
) -> Result<ScriptRun, ShellError> {
    run_by(SHELLS, script, cancelled, sink).await
}

async fn run_by(
    shells: &[&str],
    script: &Script<'_>,
    cancelled: impl Future<Output = ()>,
    sink: &mut (dyn OutputSink + '_),
) -> Result<ScriptRun, ShellError> {
    let mut cancelled = pin!(cancelled);
    let poll = |cx: &mut Context<'_>| Poll::Ready(cancelled.as_mut().poll(cx).is_ready());
    if poll_fn(poll).await {
        return Ok(ScriptRun::not_started());
    }
    if script.text.contains('\0') {
        return Err(ShellError::Nul);
    }
    let Some(program) = program(shells, script, cancelled.as_mut()).await? else {
        return Ok(ScriptRun::not_started());
    };
    let (launch, _script_file) = launch(&program, script)?;
    see_through(launch, script, script.timeout, cancelled, sink).await
}

/// The program for a script; nothing if it was cancelled before that was known.
async fn program(
    shells: &[&str],
    script: &Script<'_>,
    mut cancelled: Pin<&mut impl Future<Output = ()>>,
) -> Result<Option<FoundProgram>, ShellError> {
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

/// Asks a program for its version: nothing where it does not say it well and in time. It is asked in the script's
/// own directory and environment, on which the answer of a version manager depends. `None` if that was cancelled.
async fn ask(
    program: &FoundProgram,
    script: &Script<'_>,
    cancelled: Pin<&mut impl Future<Output = ()>>,
) -> Result<Option<String>, ShellError> {
    let mut launch = prepared(program, script)?;
    launch.arg("--version");
    let (limit, most) = ASKED;
    let mut said = Vec::new();
    // Python 2 says it on stderr.
    let mut sink = |_: Stream, text: &[u8]| {
        let room = text.len().min(most.saturating_sub(said.len()));
        said.extend_from_slice(&text[..room]);
    };
    let ran = see_through(launch, script, limit, cancelled, &mut sink).await;
    match ran {
        Ok(ran) if ran.ending == Ending::Cancelled => Ok(None),
        Ok(ran) if ran.ending == Ending::Exited(0) => Ok(Some(plain(&said))),
        Ok(_) | Err(ShellError::Start(_)) => Ok(Some(String::new())),
        Err(error) => Err(error),
    }
}

/// Runs a program to its end, with all that it starts.
async fn see_through(
    launch: Launch,
    script: &Script<'_>,
    limit: Duration,
    cancelled: impl Future<Output = ()>,
    sink: &mut (dyn OutputSink + '_),
) -> Result<ScriptRun, ShellError> {
    let start = || {
        let (stdout, out) = io::pipe()?;
        let (stderr, err) = io::pipe()?;
        let pipes = [
            Receiver::from_owned_fd(stdout.into())?,
            Receiver::from_owned_fd(stderr.into())?,
        ];
        let family = Family::start(&launch, [out.into(), err.into()], FILES.get().copied())?;
        Ok((family, pipes))
    };
    let (mut family, pipes) = start().map_err(|error| {
        if script.dir.is_dir() {
            ShellError::Start(error)
        } else {
            ShellError::NoDirectory
        }
    })?;
    // The ruleset and the like are needed no more.
    drop(launch);
    let output = Output::new(pipes, script, sink);
    let processes = script.fence.map_or(u32::MAX, |fence| fence.processes);
    let ran = conduct(limit, processes, cancelled, &mut family, output).await;
    if ran.is_err() {
        family.kill();
        end_rest(&mut family, Some(Instant::now())).await;
    }
    ran
}

/// The program for a script with its arguments, and the file that holds it if it is long; the file goes when it is dropped.
fn launch(
    program: &FoundProgram,
    script: &Script<'_>,
) -> Result<(Launch, Option<NamedTempFile>), ShellError> {
    let mut command = prepared(program, script)?;
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
                (_, Some(file)) => {
                    command.stdin = Some(file.reopen().map_err(ShellError::Spool)?);
                    command.arg("-")
                }
                (Language::Python, None) => command.args(["-c", text]),
                // `-e` takes no script that begins with a dash.
                (Language::JavaScript, None) => command.arg(format!("--eval={text}")),
                (_, None) => command.args(["-e", text]),
            };
        }
    }
    Ok((command, file))
}

/// A program with what does not depend on its arguments.
fn prepared(program: &FoundProgram, script: &Script<'_>) -> Result<Launch, ShellError> {
    const OWN: [(&str, &str); 4] = [
        ("CLADA", "1"),
        ("NO_COLOR", "1"),
        ("TERM", "dumb"),
        ("GIT_TERMINAL_PROMPT", "0"),
    ];
    let fence = script.fence.map(|fence| fence.ready(script.dir));
    // A shell's messages begin with the name it was called by. Others look for their libraries by that name.
    let name = if script.lang.is_none_or(interpreter::is_shell) {
        OsString::from(&program.name)
    } else {
        program.file.clone().into_os_string()
    };
    let is_own = |name: &OsStr| OWN.iter().any(|(own, _)| name == *own);
    let kept = script.env.iter().filter(|(name, _)| !is_own(name));
    let own = OWN.map(|(name, value)| (name.into(), value.into()));
    Ok(Launch {
        program: program.file.clone(),
        words: vec![name],
        env: kept.cloned().chain(own).collect(),
        dir: script.dir.to_owned(),
        stdin: None,
        fence: fence.transpose()?.flatten(),
    })
}

fn script_file(text: &str) -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::with_prefix("clada-script-")?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

/// The files that are open in the first process of each command that is started.
static KEPT: Mutex<Vec<Arc<OwnedFd>>> = Mutex::new(Vec::new());

/// A file that commands have open: see [`keep`].
#[derive(Debug)]
pub struct KeptFile(Arc<OwnedFd>);

/// Makes every command that is started from now on keep a file open, until the result is dropped. The file stays open for as
/// long as anything of the command lives. The command's own processes do not get it.
pub fn keep(file: OwnedFd) -> KeptFile {
    let file = Arc::new(file);
    kept().push(Arc::clone(&file));
    KeptFile(file)
}

fn kept() -> MutexGuard<'static, Vec<Arc<OwnedFd>>> {
    locked(&KEPT)
}

impl Drop for KeptFile {
    fn drop(&mut self) {
        kept().retain(|file| !Arc::ptr_eq(file, &self.0));
    }
}

/// The limit of open files of each of clada's children, where clada itself may have more.
static FILES: OnceLock<Rlimit> = OnceLock::new();

/// The limit to ask for where the system names none: macOS has one all the same, and refuses a request for no limit.
const MOST_FILES: Option<u64> = if cfg!(target_os = "macos") {
    Some(10_240)
} else {
    None
};

/// Raises this process's limit of open files to what the system allows. Commands get the previous limit: some rely on a low
/// one.
pub fn allow_many_files() {
    let files = getrlimit(Resource::Nofile);
    let many = Rlimit {
        current: files.maximum.or(MOST_FILES),
        maximum: files.maximum,
    };
    match setrlimit(Resource::Nofile, many) {
        Ok(()) => drop(FILES.set(files)),
        Err(error) => tracing::warn!(%error, "cannot raise the limit of open files"),
    }
}

/// Goes through the stages with a shell that has been started, which is ended after a time or at a number of processes.
async fn conduct(
    limit: Duration,
    processes: u32,
    cancelled: impl Future<Output = ()>,
    family: &mut Family,
    mut output: Output<'_, '_>,
) -> Result<ScriptRun, ShellError> {
    let started = Instant::now();
    let full = Rc::clone(&output.full);
    let first = async {
        let mut cancelled = pin!(cancelled);
        loop {
            tokio::select! {
                status = family.ended() => return status.map(ending),
                () = sleep(limit.saturating_sub(started.elapsed())) => return Ok(Ending::TimedOut(limit)),
                () = full.notified() => return Ok(Ending::WroteTooMuch),
                () = &mut cancelled => return Ok(Ending::Cancelled),
                () = sleep(COUNTED) => {}
            }
            if family.count() > processes as usize {
                return Ok(Ending::TooManyProcesses);
            }
        }
    };
    let ending = output.until(first).await?.map_err(ShellError::Wait)?;

    let mut kill_at = None;
    if !matches!(ending, Ending::Exited(_) | Ending::Signalled(_)) {
        let mut deadline = Instant::now();
        if ending != Ending::TooManyProcesses {
            deadline += GRACE;
            family.terminate();
        }
        kill_at = Some(deadline);
        if output
            .until(timeout_at(deadline, family.ended()))
            .await?
            .is_err()
        {
            family.kill();
            let _ = output.until(timeout(STUCK, family.ended())).await?;
        }
    }
    let elapsed = started.elapsed();

    let (left_running, survivors) = output.until(end_rest(family, kill_at)).await?;
    output.rest().await?;
    let ending = if output.is_full {
        Ending::WroteTooMuch
    } else {
        ending
    };
    let [stdout, stderr] = output.pipes.map(|pipe| pipe.spool.captured());
    let stdout = stdout.map_err(ShellError::Spool)?;
    let stderr = stderr.map_err(ShellError::Spool)?;
    Ok(ScriptRun {
        ending,
        elapsed,
        left_running,
        survivors,
        stdout,
        stderr,
    })
}

/// Ends what the shell left behind: SIGTERM, and SIGKILL at `kill_at` or after the usual grace. Says how many processes there
/// were that did not end by themselves, and which there still are.
///
/// It looks again and again instead of waiting for events: nearly always the first look finds nothing.
async fn end_rest(family: &mut Family, kill_at: Option<Instant>) -> (usize, Vec<Survivor>) {
    // One that ends within a moment is not worth a pause of the runtime.
    for _ in 0..10 {
        if family.has_ended() {
            return (0, Vec::new());
        }
        std::thread::sleep(Duration::from_micros(50));
    }
    let settled = Instant::now() + SETTLE;
    let mut pause = Duration::from_millis(1);
    while !family.has_ended() && Instant::now() < settled {
        sleep(pause).await;
        pause *= 2;
    }
    let left_running = family.count();
    let kill_at = kill_at.unwrap_or_else(|| Instant::now() + GRACE);
    let given_up = kill_at.max(Instant::now()) + STUCK;
    let mut pause = Duration::from_millis(1);
    while !family.has_ended() && Instant::now() < given_up {
        if Instant::now() < kill_at {
            family.terminate();
        } else {
            family.kill();
        }
        sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(16));
    }
    (left_running, family.survivors())
}

fn ending(status: ExitStatus) -> Ending {
    match status.code() {
        Some(code) => Ending::Exited(code),
        None => Ending::Signalled(status.signal().unwrap_or_default()),
    }
}

impl ScriptRun {
    fn not_started() -> Self {
        Self {
            ending: Ending::Cancelled,
            elapsed: Duration::ZERO,
            left_running: 0,
            survivors: Vec::new(),
            stdout: Captured::default(),
            stderr: Captured::default(),
        }
    }
}

/// Both pipes, and who is told what comes from them.
struct Output<'a, 'b> {
    /// By their [`Stream`].
    pipes: [Pipe<'a>; 2],
    /// The bytes that it may still write.
    room: u64,
    /// Tells if that was passed, and who is told then.
    is_full: bool,
    full: Rc<Notify>,
    sink: &'a mut (dyn OutputSink + 'b),
}

impl<'a, 'b> Output<'a, 'b> {
    fn new(pipes: [Receiver; 2], script: &Script<'a>, sink: &'a mut (dyn OutputSink + 'b)) -> Self {
        Self {
            pipes: pipes.map(|pipe| Pipe::new(pipe, script.mask)),
            room: script.output_limit,
            is_full: false,
            full: Rc::default(),
            sink,
        }
    }

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
            if self.pipes.iter().all(|pipe| pipe.source.is_none()) {
                return Ok(());
            }
            match timeout(SILENCE, self.read()).await {
                Ok(read) => read?,
                Err(_) => break,
            }
        }
        self.pass_on(Stream::Stdout, 0)?;
        self.pass_on(Stream::Stderr, 0)
    }

    /// Reads once from the pipe that has something first, and never returns when both are at their end. Nothing is lost
    /// if it is dropped.
    async fn read(&mut self) -> Result<(), ShellError> {
        let [stdout, stderr] = &mut self.pipes;
        let (stream, read) = tokio::select! {
            read = stdout.read() => (Stream::Stdout, read),
            read = stderr.read() => (Stream::Stderr, read),
        };
        let read = read.map_err(ShellError::Read)?;
        self.pass_on(stream, read)
    }

    /// Keeps and tells what has been read from a pipe, as far as there is room: 0 bytes are its end.
    fn pass_on(&mut self, stream: Stream, read: usize) -> Result<(), ShellError> {
        let pipe = &mut self.pipes[stream as usize];
        if read == 0 {
            pipe.source = None;
        }
        pipe.reading.take(read);
        let coloured = pipe.reading.coloured.take();
        let text = pipe.reading.text();
        let mut fits = text.len();
        if text.len() as u64 > self.room {
            fits = self.room as usize;
            while fits > 0 && text[fits] & 0xc0 == 0x80 {
                fits -= 1;
            }
            self.is_full = true;
            self.full.notify_one();
        }
        self.room -= fits as u64;
        let shown = coloured.filter(|_| fits == text.len());
        if fits > 0 || shown.is_some() {
            if pipe.spool.is_long()
                && let Some(place) = self.sink.lend()
            {
                pipe.spool.move_to(place).map_err(ShellError::Spool)?;
            }
            pipe.spool.write(&text[..fits]).map_err(ShellError::Spool)?;
            self.sink
                .take(stream, shown.as_deref().unwrap_or(&text[..fits]));
        }
        pipe.reading.done();
        Ok(())
    }
}

/// One of the two pipes, on its way to the spool.
struct Pipe<'m> {
    /// Nothing once its end is reached.
    source: Option<Receiver>,
    reading: PipeText<'m>,
    spool: Spool,
}

impl<'m> Pipe<'m> {
    fn new(source: Receiver, mask: Option<&'m Mask>) -> Self {
        // More room than by default, where the system lets us.
        #[cfg(target_os = "linux")]
        let _ = rustix::pipe::fcntl_setpipe_size(&source, PIPE);
        Self {
            source: Some(source),
            reading: PipeText::new(mask),
            spool: Spool::new(),
        }
    }

    async fn read(&mut self) -> io::Result<usize> {
        match &mut self.source {
            Some(source) => source.read(self.reading.room()).await,
            None => pending().await,
        }
    }
}

/// The bytes from a pipe, as they become the text that is passed on. Nearly all output is plain text already, and is not copied.
struct PipeText<'m> {
    /// The bytes that were read, behind the start of a line that was held back.
    bytes: Vec<u8>,
    held: usize,
    /// The number of bytes.
    end: usize,
    /// The number of bytes that are lines of plain text as they are; 0 if `seen` is what is made of the bytes.
    lines: usize,
    plain: Plain,
    seen: Vec<u8>,
    /// The masking, and its output; `None` where there is nothing to take out.
    masking: Option<(Masking<'m>, Vec<u8>)>,
    /// The text with its colours, where it has some and nothing is taken out of it.
    coloured: Option<Vec<u8>>,
}

impl<'m> PipeText<'m> {
    fn new(mask: Option<&'m Mask>) -> Self {
        let mask = mask.filter(|mask| !mask.is_empty());
        Self {
            bytes: vec![0; HELD + CHUNK],
            held: 0,
            end: 0,
            lines: 0,
            plain: Plain::with_colours(),
            seen: Vec::new(),
            masking: mask.map(|mask| (Masking::new(mask), Vec::new())),
            coloured: None,
        }
    }

    /// The room for what is read next.
    fn room(&mut self) -> &mut [u8] {
        &mut self.bytes[self.held..][..CHUNK]
    }

    /// Makes text of what has been read: 0 bytes are the end.
    fn take(&mut self, read: usize) {
        self.end = self.held + read;
        let bytes = &self.bytes[..self.end];
        let whole = self.plain.whole_lines(bytes);
        let is_as_it_is = read > 0 && bytes.len() - whole <= HELD;
        self.lines = if is_as_it_is { whole } else { 0 };
        let seen = if self.lines > 0 {
            &bytes[..self.lines]
        } else {
            self.plain.push(bytes, &mut self.seen);
            if read == 0 {
                self.plain.finish(&mut self.seen);
            }
            self.coloured = self.plain.coloured(&self.seen);
            &self.seen
        };
        if let Some((masking, masked)) = &mut self.masking {
            masking.push(seen, masked);
            if read == 0 {
                masking.finish(masked);
            }
            self.coloured = self.coloured.take().filter(|_| seen == masked);
        }
    }

    /// The text that is to be passed on.
    fn text(&self) -> &[u8] {
        match &self.masking {
            Some((_, masked)) => masked,
            None if self.lines > 0 => &self.bytes[..self.lines],
            None => &self.seen,
        }
    }

    /// The text was passed on.
    fn done(&mut self) {
        self.held = 0;
        if self.lines > 0 {
            self.bytes.copy_within(self.lines..self.end, 0);
            self.held = self.end - self.lines;
        }
        self.seen.clear();
        if let Some((_, masked)) = &mut self.masking {
            masked.clear();
        }
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
