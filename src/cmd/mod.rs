//! One file per command, and what they share: reading a reply, opening a root, stopping.

pub mod approve;
pub mod check;
pub mod clipboard;
pub mod completions;
pub mod config;
pub mod context;
pub mod daemon;
pub mod diff;
pub mod doctor;
mod exclude;
pub mod help;
mod history;
pub mod init;
pub mod instructions;
pub mod log;
pub mod man;
mod notes;
pub mod retry;
mod rules;
pub mod run;
pub mod service;
mod sharing;
pub mod squash;
pub mod status;
pub mod step;
pub mod tail;
pub mod trust;
pub mod undo;
pub mod watch;
pub mod watched;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch as channel;

use crate::batch::{Runner, Setup};
use crate::cli::{Cli, Command};
use crate::config::settings::SettingsError;
use crate::config::{Folders, WATCHED_LOCKS};
use crate::error::Error;
use crate::terminal::{self, Terminal};
use crate::world::lock::{Lock, Occupant};
use crate::world::workspace::Disk;
use crate::world::{scarce, state};

/// Carries out a command line.
///
/// # Errors
/// For wrong usage, or where a tool that clada needs is broken.
pub fn dispatch(cli: Cli) -> Result<ExitCode, Error> {
    if let Some((given, nearest)) = cli.misspelt() {
        return Err(Error::NoCommand { given, nearest });
    }
    if let Some(folders) = Folders::of_user() {
        state::keep_private(&folders.state)?;
    }
    match cli.command {
        None => watch::main(&cli.listen),
        Some(Command::Watch(args)) => watch::main(&args),
        Some(Command::Run(args)) => run::main(&args),
        Some(Command::Check(args)) => check::main(&args),
        Some(Command::Log(args)) => log::main(&args),
        Some(Command::Retry(args)) => retry::main(&args),
        Some(Command::Approve(args)) => approve::main(&args),
        Some(Command::Trust(args)) => trust::main(&args),
        Some(Command::Undo(args)) => undo::main(&args),
        Some(Command::Redo(args)) => undo::redo(&args),
        Some(Command::StepBack(args)) => step::back(&args),
        Some(Command::StepForward(args)) => step::forward(&args),
        Some(Command::Diff(args)) => diff::main(&args),
        Some(Command::Squash(args)) => squash::main(&args),
        Some(Command::Context(args)) => context::main(&args),
        Some(Command::Daemon(args)) => daemon::main(&args),
        Some(Command::Status(args)) => status::main(&args),
        Some(Command::Config(args)) => config::main(&args),
        Some(Command::Copy(args)) => clipboard::main(&args),
        Some(Command::ClipboardOwner(args)) => clipboard::own(&args),
        Some(Command::Doctor(args)) => doctor::main(&args),
        Some(Command::Service(what)) => service::main(&what),
        Some(Command::Tail(args)) => tail::main(&args),
        Some(Command::Instructions(args)) => instructions::main(&args),
        Some(Command::Init(args)) => init::main(&args),
        Some(Command::Add(args)) => watched::add(&args),
        Some(Command::Remove(args)) => watched::remove(&args),
        Some(Command::List(args)) => watched::list(&args),
        Some(Command::Completions(args)) => completions::main(&args),
        Some(Command::Man(args)) => man::main(&args),
        Some(Command::Help(args)) => help::main(&args),
    }
}

/// Prints what is invalid in the settings, for a command that continues without it.
fn tell_wrong(wrong: &[SettingsError]) {
    for wrong in wrong {
        let said = format!("clada: {wrong}; the other settings apply\n");
        let _ = terminal::stderr().write_all(said.as_bytes());
    }
}

/// Refuses a command that only the user may run, in a command that clada runs.
fn for_the_user(command: &'static str) -> Result<(), Error> {
    match std::env::var_os("CLADA") {
        Some(_) => Err(Error::ForTheUser(command)),
        None => Ok(()),
    }
}

/// Reads the reply in a file, or on standard input.
fn read_reply(file: Option<&Path>) -> Result<String, Error> {
    let (bytes, name) = match file {
        None => (read_stdin()?, "standard input".to_owned()),
        Some(path) if path == Path::new("-") => (read_stdin()?, "standard input".to_owned()),
        Some(path) => {
            let bytes = std::fs::read(path).map_err(|error| Error::Reply {
                path: path.to_owned(),
                error,
            })?;
            (bytes, path.display().to_string())
        }
    };
    String::from_utf8(bytes).map_err(|error| Error::NotText {
        path: name,
        at: error.utf8_error().valid_up_to(),
    })
}

fn read_stdin() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the root as it was given, or this folder, and its canonical path.
fn find_root(given: Option<&Path>) -> Result<(PathBuf, PathBuf), Error> {
    let given = given.unwrap_or(Path::new("."));
    let failed = |error| Error::Root {
        path: given.to_owned(),
        error,
    };
    let canonical = given.canonicalize().map_err(failed)?;
    if !canonical.is_dir() {
        return Err(failed(io::ErrorKind::NotADirectory.into()));
    }
    // Otherwise each task would fail by itself.
    std::fs::read_dir(&canonical).map_err(failed)?;
    Ok((as_the_shell_says(given), canonical))
}

/// Returns a path as the listener knows it, with all links followed.
fn canonical(path: &Path) -> PathBuf {
    let in_folder = || {
        let folder = path.parent()?.canonicalize().ok()?;
        Some(folder.join(path.file_name()?))
    };
    let followed = path.canonicalize().ok().or_else(in_folder);
    followed.unwrap_or_else(|| path.to_owned())
}

/// Returns a relative path as the shell names it: the system knows the current folder without its links only, but people and
/// replies name it with them.
fn as_the_shell_says(path: &Path) -> PathBuf {
    let shell = std::env::var_os("PWD").map(PathBuf::from);
    let same = |dir: &PathBuf| {
        let here = Path::new(".").canonicalize();
        dir.is_absolute() && dir.canonicalize().ok() == here.ok()
    };
    match shell.filter(same) {
        Some(dir) if path.is_relative() => dir.join(path),
        _ => path.to_owned(),
    }
}

/// Returns the runner of batches in a root. `own` are the notes file and its output file: protected, and never committed.
fn runner(
    (given, canonical): (&Path, &Path),
    folders: &Folders,
    (notes, own): (&Path, &[PathBuf]),
    setup: Setup,
) -> Result<Runner, Error> {
    let mut disk = workspace((given, canonical), folders, own)?;
    disk.limit(setup.largest_file);
    disk.obey(setup.paths);
    Ok(Runner {
        disk,
        git: setup.git,
        context: context::store(folders, canonical, notes),
        reader: None,
        never: own.to_vec(),
        root: canonical.to_owned(),
        rules: setup.rules,
        actions: setup.actions,
        hooks: setup.hooks,
        dialects: setup.dialects,
        with_params: false,
    })
}

/// Returns the files in a root that listeners have: as protected as clada's own.
fn watched_in(folders: &Folders, root: &Path) -> Vec<PathBuf> {
    Lock::held_in(&folders.locks(), WATCHED_LOCKS, root)
}

/// Opens the files in a root. `own` are protected, besides clada's own files.
fn workspace(
    (given, canonical): (&Path, &Path),
    folders: &Folders,
    own: &[PathBuf],
) -> Result<Disk, Error> {
    let mut protected = folders.protected(canonical);
    protected.extend_from_slice(own);
    let failed = |error| Error::Root {
        path: given.to_owned(),
        error,
    };
    let disk = Disk::open(given, Some(&folders.home), protected).map_err(failed)?;
    match disk.path() == canonical {
        true => Ok(disk),
        false => Err(failed(io::Error::other(format!(
            "it is no longer at `{}`, because `{}` leads elsewhere: move it back, or restart clada to continue there",
            canonical.display(),
            given.display()
        )))),
    }
}

/// Takes the lock on a root that a run needs, and prints which process it waits for; `None` if clada is stopped first.
async fn lock_root(
    folders: &Folders,
    root: &Path,
    stop: &channel::Receiver<bool>,
    terminal: &mut Terminal<io::Stderr>,
) -> Result<Option<Lock>, Error> {
    let mut is_told = false;
    let mut held = |occupant: &Occupant| {
        let Occupant { pid, does } = occupant;
        if std::mem::replace(&mut is_told, true) {
            return;
        }
        let does = does.as_ref().map(|does| format!(": {does}"));
        terminal.line(&format!(
            "waiting for the run of another clada here (process {pid}){}",
            does.unwrap_or_default()
        ));
    };
    let mut stopped = stop.clone();
    let locks = folders.locks();
    tokio::select! {
        lock = Lock::take(&locks, "root", root, &mut held) => Ok(Some(lock?)),
        _ = stopped.wait_for(|stop| *stop) => Ok(None),
    }
}

/// Returns a runtime that waits for events on this thread.
fn runtime() -> io::Result<Runtime> {
    check_files()?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

/// Checks that this process can open as many files as tokio needs at its start: without the last ones it panics.
fn check_files() -> io::Result<()> {
    drop([
        UnixStream::pair()?,
        UnixStream::pair()?,
        UnixStream::pair()?,
    ]);
    Ok(())
}

/// Returns a flag that becomes true at Ctrl-C, SIGTERM or SIGHUP (not under `nohup`); at the second signal the process exits at
/// once.
///
/// A thread of its own handles the signals: the thread that does the work also blocks in places (a write-back, git's locks), and
/// could not be interrupted there.
///
/// SIGIO gets a handler too: clada uses leases to learn whether another program is writing, and the system's signal about a
/// broken lease would kill the process. Commands do not inherit a handler, but would inherit an ignored signal.
fn stop_signal() -> io::Result<channel::Receiver<bool>> {
    signals(None)
}

/// Returns the same, and the number of SIGHUPs, which ask clada to read its settings again. A SIGHUP still stops clada when its
/// terminal was closed, unless clada was started with `nohup`.
fn stop_and_reload() -> io::Result<(channel::Receiver<bool>, channel::Receiver<u64>)> {
    let (reload, reloads) = channel::channel(0);
    Ok((signals(Some(reload))?, reloads))
}

fn signals(reload: Option<channel::Sender<u64>>) -> io::Result<channel::Receiver<bool>> {
    let has_terminal = || std::fs::File::open("/dev/tty").is_ok();
    let outlives = ignores_hangup();
    let had_terminal = has_terminal() && !outlives;
    let (stop, stopped) = channel::channel(false);
    check_files()?;
    scarce::check_thread()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let of_this_thread = runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let io = signal(SignalKind::io())?;
    drop(of_this_thread);
    let listen = async move {
        let _io = io;
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {
                    if let Some(reload) = reload.as_ref().filter(|_| !had_terminal || has_terminal()) {
                        reload.send_modify(|times| *times += 1);
                        continue;
                    }
                    if outlives {
                        continue;
                    }
                }
            }
            if stop.send_replace(true) {
                std::process::exit(130);
            }
        }
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || runtime.block_on(listen))?;
    Ok(stopped)
}

/// Returns whether clada was started with SIGHUP ignored, as by `nohup`.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|signals| u64::from_str_radix(signals.trim(), 16).ok());
    // SIGHUP is the first signal, so the lowest bit.
    ignored.is_some_and(|signals| signals & 1 == 1)
}

fn time() -> String {
    now().strftime("%H:%M:%S").to_string()
}

fn date_time() -> String {
    now().strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Returns the milliseconds since 1970.
fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}

/// Formats the local time of a second since 1970, with its date if that is not today.
fn when(second: i64) -> String {
    let Ok(moment) = Timestamp::from_second(second) else {
        return "at an unknown time".to_owned();
    };
    let moment = local(moment);
    let form = if moment.date() == now().date() {
        "%H:%M"
    } else {
        "%Y-%m-%d %H:%M"
    };
    moment.strftime(form).to_string()
}

fn now() -> Zoned {
    local(Timestamp::now())
}

/// Returns the local time of a moment.
///
/// Where TZ names no zone the system's is read directly: `TimeZone::system` would first list all folders of the zone
/// database to learn the zone's name, which took 1.1 ms of the 2.6 ms that `clada run` of an empty reply took.
fn local(moment: Timestamp) -> Zoned {
    let of_system = || {
        let data = std::fs::read("/etc/localtime").ok()?;
        TimeZone::tzif("local", &data).ok()
    };
    let zone = std::env::var_os("TZ").map_or_else(of_system, |_| None);
    moment.to_zoned(zone.unwrap_or_else(TimeZone::system))
}

fn run_id() -> String {
    format!("{}-{}", now().strftime("%Y%m%d-%H%M%S"), &word()[..4])
}

/// Returns a word that cannot be guessed. `RandomState` takes its keys from the system's random numbers.
fn word() -> String {
    let number = RandomState::new().build_hasher().finish();
    format!("{number:016x}")
}

/// Quotes a path for a shell.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@".contains(c);
    if path.chars().all(is_plain) {
        path
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

/// Shortens a path by `~` for the home folder.
fn short(path: &Path, home: &Path) -> String {
    match path.strip_prefix(home) {
        Ok(below) => Path::new("~").join(below).display().to_string(),
        Err(_) => path.display().to_string(),
    }
}
