//! Tries out the display and its clipboard, and leaves on it what is there: a text that this put back would be gone with
//! this process. Never tells what is on the clipboard.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use arboard::Clipboard;
#[cfg(target_os = "linux")]
use arboard::{GetExtLinux, LinuxClipboardKind, SetExtLinux};

use super::ClipboardContext;
use super::display::{self, candidates, x11_socket};
use super::owning::short;
use super::program;
use super::terminal::{Closed, route};
use super::watching::{self, WatchFault};
use crate::world::programs::{NoProgram, Programs};

/// The text that is put there to be read again.
const PROBE: &str = "clada doctor";

/// A fault of the display or its clipboard, and what helps.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    #[error("none here: DISPLAY and WAYLAND_DISPLAY are not set, {0}")]
    NoDisplay(String),
    #[error(
        "{name} cannot be reached ({}: {error}): start clada where the desktop runs, or log in there again",
        socket.display()
    )]
    Display {
        name: String,
        socket: PathBuf,
        error: io::Error,
    },
    #[error(
        "the compositor has no {0}, so clada copies through X11 or `wl-copy`: install wl-clipboard, and keep \
         Xwayland on"
    )]
    NoDataControl(String),
    #[error(
        "the compositor has no ext-data-control, so programs without a window cannot watch its clipboard (as on GNOME \
         under Wayland): paste replies into the notes"
    )]
    NoWatching,
    #[error("cannot be watched ({0}): paste replies into the notes")]
    Unwatchable(String),
    #[error("the compositor does not answer: {0}")]
    Compositor(String),
    #[error("{fault} ({cause}): results are only in the notes file and the output file")]
    Clipboard { fault: &'static str, cause: String },
}

/// The results of a trial.
pub struct Trial {
    /// The display that there is.
    pub display: Result<String, TrialError>,
    /// `Ok` if the Wayland compositor lets programs without a window copy; `None` where there is none.
    pub data_control: Option<Result<(), TrialError>>,
    /// The part of the clipboard that works.
    pub clipboard: Result<&'static str, TrialError>,
    /// The way in which it can be watched.
    pub watching: Result<String, TrialError>,
}

/// Tries all of it; `None` if the display does not answer within this time.
pub fn try_out(patience: Duration) -> Option<Trial> {
    let (done, ended) = sync_channel(1);
    let trial = move || {
        let _ = done.send(trial());
    };
    // Not joined: a display that hangs holds it up to the end of the process.
    thread::Builder::new().spawn(trial).ok()?;
    ended.recv_timeout(patience).ok()
}

/// The programs that could help to copy, and are not run: why.
pub fn not_run() -> Vec<NoProgram> {
    let programs = Programs::of_process();
    let names = program::names().chain(["tmux"]);
    let not_run = names.filter_map(|name| programs.find(name).err());
    not_run.filter(NoProgram::is_risk).collect()
}

fn var(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn trial() -> Trial {
    let wayland = var("WAYLAND_DISPLAY").filter(|_| cfg!(not(target_os = "macos")));
    Trial {
        display: display(wayland.as_deref()),
        data_control: wayland.map(|_| data_control().map(drop)),
        clipboard: clipboard(),
        watching: watching(),
    }
}

/// Opens the display as for watching, and looks at nothing.
fn watching() -> Result<String, TrialError> {
    match watching::open() {
        Ok(display) => Ok(display.by),
        Err(WatchFault::NoDataControl) => Err(TrialError::NoWatching),
        Err(fault) => Err(TrialError::Unwatchable(fault.to_string())),
    }
}

fn display(wayland: Option<&str>) -> Result<String, TrialError> {
    if cfg!(target_os = "macos") {
        return Ok("macOS".to_owned());
    }
    let (name, socket) = match (wayland, var("DISPLAY")) {
        (Some(name), _) => {
            let folder = PathBuf::from(var("XDG_RUNTIME_DIR").unwrap_or_default());
            (format!("Wayland, {name}"), folder.join(name))
        }
        (None, Some(name)) => {
            let Some(socket) = x11_socket(OsStr::new(&name)) else {
                return Ok(format!("X11 on another machine, {name}"));
            };
            (format!("X11, {name}"), socket)
        }
        (None, None) => return Err(TrialError::NoDisplay(instead())),
    };
    match UnixStream::connect(&socket) {
        Ok(_) => Ok(name),
        // It may only be reached by a socket without a file.
        Err(_) if wayland.is_none() && Clipboard::new().is_ok() => Ok(name),
        Err(error) => Err(TrialError::Display {
            name,
            socket,
            error,
        }),
    }
}

/// Says where results are copied to without a display.
fn instead() -> String {
    let around = ClipboardContext::of_process();
    let found = candidates(&around.vars, around.is_remote);
    let name = |vars| {
        let mut names = ["WAYLAND_DISPLAY", "DISPLAY"].iter();
        names.find_map(|name| display::var(vars, name))
    };
    match found.first().and_then(name) {
        Some(name) => format!(
            "but your desktop is running: results are copied to its display, {}",
            name.display()
        ),
        None if around.terminal.is_some() => {
            match route(&around.vars, &Programs::of_vars(&around.vars)) {
                Ok(_) => "so results go to the clipboard of your terminal (OSC 52)".to_owned(),
                Err(Closed(setting)) => format!(
                    "and tmux blocks its clipboard (`set-clipboard` is {setting}): run `tmux set -s set-clipboard on`"
                ),
            }
        }
        None => "so results are only in the notes file and the output file".to_owned(),
    }
}

/// Returns true if something is on the clipboard of the Wayland display.
#[cfg(target_os = "linux")]
fn data_control() -> Result<bool, TrialError> {
    use wl_clipboard_rs::paste::{ClipboardType, Error, Seat, get_mime_types};
    match get_mime_types(ClipboardType::Regular, Seat::Unspecified) {
        Ok(types) => Ok(!types.is_empty()),
        Err(Error::ClipboardEmpty | Error::NoSeats) => Ok(false),
        Err(Error::MissingProtocol { name, .. }) => {
            Err(TrialError::NoDataControl(name.to_string()))
        }
        Err(error) => Err(TrialError::Compositor(error.to_string())),
    }
}

#[cfg(not(target_os = "linux"))]
fn data_control() -> Result<bool, TrialError> {
    Ok(true)
}

fn clipboard() -> Result<&'static str, TrialError> {
    let failed = |fault, error| TrialError::Clipboard {
        fault,
        cause: short(error),
    };
    let mut clipboard = Clipboard::new().map_err(|error| failed("cannot be reached", error))?;
    let there = match clipboard.get_text() {
        Ok(text) => Some(text),
        Err(arboard::Error::ContentNotAvailable) => None,
        Err(error) => return Err(failed("cannot be read", error)),
    };
    write(&mut clipboard, there).map_err(|error| failed("accepts no text", error))
}

/// On X11 to the selection that nobody uses; on Wayland there is none such, so only to a clipboard that is empty.
#[cfg(target_os = "linux")]
fn write(
    clipboard: &mut Clipboard,
    _there: Option<String>,
) -> Result<&'static str, arboard::Error> {
    let kind = LinuxClipboardKind::Secondary;
    match clipboard.set().clipboard(kind).text(PROBE) {
        Ok(()) => {
            let read = clipboard.get().clipboard(kind).text()?;
            is_probe(&read)
        }
        Err(arboard::Error::ClipboardNotSupported) if matches!(data_control(), Ok(false)) => {
            clipboard.set_text(PROBE)?;
            let read = clipboard.get_text()?;
            clipboard.clear()?;
            is_probe(&read)
        }
        Err(arboard::Error::ClipboardNotSupported) => {
            Ok("can be read; nothing was written, to keep what you have copied")
        }
        Err(error) => Err(error),
    }
}

/// There a text stays when its process ends.
#[cfg(not(target_os = "linux"))]
fn write(clipboard: &mut Clipboard, there: Option<String>) -> Result<&'static str, arboard::Error> {
    let Some(text) = there else {
        return Ok("can be read; nothing was written, as it has no text to restore");
    };
    clipboard.set_text(PROBE)?;
    let read = clipboard.get_text();
    clipboard.set_text(text)?;
    is_probe(&read?)
}

fn is_probe(read: &str) -> Result<&'static str, arboard::Error> {
    if read != PROBE {
        return Err(arboard::Error::ContentNotAvailable);
    }
    Ok("a text was written and read back; what you have copied is still there")
}
