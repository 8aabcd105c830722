//! Owns the question which displays there may be: that of this process, else those of the user's desktop. Opens none.
//!
//! A service that started before the desktop has no display in its environment, and one that outlives a desktop has that of the
//! last. Whatever runs on the desktop has the right one; so the environments of the user's processes are looked through. That
//! takes some milliseconds and asks nobody, so that it cannot hang. `systemctl --user show-environment` knows no more than
//! these processes, less on desktops that tell systemd nothing, and may hang; the sockets of X11 say neither whose they are
//! nor how to get in.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::process::getuid;

/// An environment.
pub type EnvMap = HashMap<OsString, OsString>;

/// The variables that name a display.
const NAMES: [&str; 3] = ["WAYLAND_DISPLAY", "DISPLAY", "XAUTHORITY"];
/// The variable that names the folder with the sockets of a user's session.
const RUNTIME: &str = "XDG_RUNTIME_DIR";
/// Processes of somebody who sits elsewhere, and of commands that clada runs: what they call a display is not the desktop.
const NOT_OF_DESKTOP: [&str; 3] = ["SSH_CONNECTION", "SSH_TTY", "CLADA"];
/// The most of a process's environment that is read, in bytes.
const MOST: u64 = 256 * 1024;
/// The most displays that are tried.
const TRIED: usize = 3;

/// The values of [`NAMES`].
type Display = [Option<OsString>; 3];

/// Returns true if a display that the environment does not name can be found.
pub(super) fn can_appear(vars: &EnvMap) -> bool {
    var(vars, RUNTIME).is_some()
}

/// This environment with each display that may be the desktop's, the likeliest first. Where it is `elsewhere`, the user does
/// not sit before a screen of this machine, and none is looked for.
pub(super) fn candidates(vars: &EnvMap, elsewhere: bool) -> Vec<EnvMap> {
    if cfg!(target_os = "macos") {
        return vec![vars.clone()];
    }
    let is_named = NAMES[..2].iter().any(|name| var(vars, name).is_some());
    let own = is_named.then(|| NAMES.map(|name| var(vars, name).cloned()));
    let mut displays: Vec<Display> = own.into_iter().collect();
    if !elsewhere && let Some(runtime) = var(vars, RUNTIME) {
        let found = of_processes(runtime).into_iter().chain(sockets(runtime));
        for display in found {
            if !displays.contains(&display) {
                displays.push(display);
            }
        }
    }
    let with = |display: Display| {
        let mut with = vars.clone();
        for (name, value) in NAMES.iter().zip(display) {
            match value {
                Some(value) => with.insert((*name).into(), value),
                None => with.remove(OsStr::new(name)),
            };
        }
        with
    };
    displays.into_iter().take(TRIED).map(with).collect()
}

/// This environment with the display of the user's desktop, wherever the user sits; `None` where no display is found.
#[cfg(not(target_os = "macos"))]
pub(crate) fn of_desktop(vars: &EnvMap) -> Option<EnvMap> {
    let mut displays = candidates(vars, false);
    let there = displays.iter().position(|vars| server(vars).is_some());
    // That of another machine cannot be asked so.
    (!displays.is_empty()).then(|| displays.swap_remove(there.unwrap_or(0)))
}

/// A variable that is set to something.
pub(super) fn var<'v>(vars: &'v EnvMap, name: &str) -> Option<&'v OsString> {
    vars.get(OsStr::new(name)).filter(|value| !value.is_empty())
}

/// The displays of this user's processes of the same session, and there first which most have.
fn of_processes(runtime: &OsStr) -> Vec<Display> {
    let mut found: Vec<(usize, Display)> = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let is_process = entry.file_name().as_bytes().iter().all(u8::is_ascii_digit);
        let is_own = || {
            let meta = entry.metadata();
            meta.is_ok_and(|meta| meta.uid() == getuid().as_raw())
        };
        if !is_process || !is_own() {
            continue;
        }
        let Some(display) = of_process(&entry.path().join("environ"), runtime) else {
            continue;
        };
        match found.iter_mut().find(|(_, known)| *known == display) {
            Some((count, _)) => *count += 1,
            None => found.push((1, display)),
        }
    }
    found.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    found.into_iter().map(|(_, display)| display).collect()
}

/// `None` where it has no display, or one that is not there.
fn of_process(environ: &Path, runtime: &OsStr) -> Option<Display> {
    let mut bytes = Vec::new();
    let file = File::open(environ).ok()?;
    file.take(MOST).read_to_end(&mut bytes).ok()?;
    let value = |name: &str| {
        let mut vars = bytes.split(|byte| *byte == 0);
        let value = vars.find_map(|var| var.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        let value = OsStr::from_bytes(value).to_owned();
        (!value.is_empty()).then_some(value)
    };
    let is_of_desktop = NOT_OF_DESKTOP.iter().all(|name| value(name).is_none());
    if !is_of_desktop || value(RUNTIME)? != runtime {
        return None;
    }
    let [wayland, x11, authority] = NAMES.map(value);
    let wayland = wayland.filter(|name| is_socket(&Path::new(runtime).join(name)));
    let x11 = x11.filter(|name| x11_socket(name).is_some_and(|path| is_socket(&path)));
    let is_there = wayland.is_some() || x11.is_some();
    is_there.then_some([wayland, x11, authority])
}

/// Returns the socket of a display of this machine, such as `:1` or `:1.0`.
pub(super) fn x11_socket(name: &OsStr) -> Option<PathBuf> {
    let number = name.to_str()?.strip_prefix(':')?.split('.').next()?;
    Some(format!("/tmp/.X11-unix/X{number}").into())
}

/// Identifies the server that the display of this environment has now: another one may come in its place. `None` where none
/// accepts a connection, or that cannot be asked.
pub(super) fn server(vars: &EnvMap) -> Option<(u64, i64, i64)> {
    let path = match var(vars, "WAYLAND_DISPLAY") {
        Some(name) => Path::new(var(vars, RUNTIME)?).join(name),
        None => x11_socket(var(vars, "DISPLAY")?)?,
    };
    UnixStream::connect(&path).ok()?;
    let meta = fs::metadata(path).ok()?;
    Some((meta.ino(), meta.ctime(), meta.ctime_nsec()))
}

/// The sockets of Wayland compositors in the session's folder: one whose processes cannot be looked into may stand there alone.
fn sockets(runtime: &OsStr) -> Vec<Display> {
    let entries = fs::read_dir(runtime).into_iter().flatten().flatten();
    let mut names: Vec<OsString> = entries
        .filter(|entry| is_socket(&entry.path()))
        .map(|entry| entry.file_name())
        .filter(|name| name.as_bytes().starts_with(b"wayland-"))
        .collect();
    names.sort();
    let names = names.into_iter();
    names.map(|name| [Some(name), None, None]).collect()
}

fn is_socket(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.file_type().is_socket())
}
