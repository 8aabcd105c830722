//! What a command starts with: the project folder, its files and their lock, the signals that stop it, a runtime.

use std::io;
use std::path::{Path, PathBuf};

use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch as channel;

use crate::cli::terminal::Terminal;
use crate::error::Error;
use crate::settings::places::{Folders, WATCHED_LOCKS};
use crate::world::attendant::attend;
use crate::world::lock::{Lock, Occupant};
use crate::world::{process, scarce};

/// Returns the root as it was given, or this folder, and its canonical path.
pub(crate) fn find_root(given: Option<&Path>) -> Result<(PathBuf, PathBuf), Error> {
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
pub(crate) fn canonical(path: &Path) -> PathBuf {
    let in_folder = || {
        let folder = path.parent()?.canonicalize().ok()?;
        Some(folder.join(path.file_name()?))
    };
    let followed = path.canonicalize().ok().or_else(in_folder);
    followed.unwrap_or_else(|| path.to_owned())
}

/// Returns a relative path as the shell names it: the system knows the current folder without its links only, but people and
/// replies name it with them.
pub(crate) fn as_the_shell_says(path: &Path) -> PathBuf {
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

/// Returns the files in a root that listeners have: as protected as clada's own.
pub(crate) fn watched_in(folders: &Folders, root: &Path) -> Vec<PathBuf> {
    Lock::held_in(&folders.locks(), WATCHED_LOCKS, root)
}

/// Takes the lock on a root that a run needs, and prints which process it waits for; `None` if clada is stopped first.
pub(crate) async fn lock_root(
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
pub(crate) fn runtime() -> io::Result<Runtime> {
    scarce::check_files()?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

/// Returns a flag that becomes true at Ctrl-C, SIGTERM or SIGHUP (not under `nohup`); at the second signal the process exits at
/// once.
///
/// SIGIO gets a handler too: clada uses leases to learn whether another program is writing, and the system's signal about a
/// broken lease would kill the process. Commands do not inherit a handler, but would inherit an ignored signal.
pub(crate) fn stop_signal() -> io::Result<channel::Receiver<bool>> {
    signals(None)
}

/// Returns the same, and the number of SIGHUPs, which ask clada to read its settings again. A SIGHUP still stops clada when its
/// terminal was closed, unless clada was started with `nohup`.
pub(crate) fn stop_and_reload() -> io::Result<(channel::Receiver<bool>, channel::Receiver<u64>)> {
    let (reload, reloads) = channel::channel(0);
    Ok((signals(Some(reload))?, reloads))
}

pub(crate) fn signals(reload: Option<channel::Sender<u64>>) -> io::Result<channel::Receiver<bool>> {
    let has_terminal = || std::fs::File::open("/dev/tty").is_ok();
    let outlives = process::ignores_hangup();
    let had_terminal = has_terminal() && !outlives;
    let (stop, stopped) = channel::channel(false);
    attend(move || {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let io = signal(SignalKind::io())?;
        Ok(async move {
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
        })
    })?;
    Ok(stopped)
}
