//! Owns the programs that can copy where the display does not let clada do it itself. Chooses none that is not there.
//!
//! Each goes on in the background until somebody else copies something: the text outlives clada.

use std::io::{self, Seek, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::display::{EnvMap, var};
use crate::world::programs::{NoProgram, Programs};

/// A program, what it is told, and the variable without which it can do nothing.
type CopyProgram = (&'static str, &'static [&'static str], Option<&'static str>);

const PROGRAMS: &[CopyProgram] = if cfg!(target_os = "macos") {
    &[("pbcopy", &[], None)]
} else {
    &[
        (
            "wl-copy",
            &["--type", "text/plain"],
            Some("WAYLAND_DISPLAY"),
        ),
        (
            "xclip",
            &["-selection", "clipboard", "-in"],
            Some("DISPLAY"),
        ),
        ("xsel", &["--clipboard", "--input"], Some("DISPLAY")),
    ]
};

/// The longest time that each may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// The names of all of them.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    PROGRAMS.iter().map(|(name, ..)| *name)
}

/// Copies by the first that can, and returns its name.
///
/// # Errors
/// Where none can, and one is there that is not run.
pub(super) fn copy(
    text: &str,
    vars: &EnvMap,
    programs: &Programs,
) -> Result<Option<&'static str>, NoProgram> {
    let mut not_run = None;
    for (name, args, needs) in PROGRAMS {
        if needs.is_some_and(|needs| var(vars, needs).is_none()) {
            continue;
        }
        match programs.command_in(name, vars) {
            Ok(command) => {
                if run(command, args, text).unwrap_or(false) {
                    return Ok(Some(name));
                }
            }
            Err(why) => not_run = not_run.or(Some(why).filter(NoProgram::is_risk)),
        }
    }
    not_run.map_or(Ok(None), Err)
}

fn run(mut command: Command, args: &[&str], text: &str) -> io::Result<bool> {
    // One that waits for a display does not read: no pipe may fill up.
    let mut input = tempfile::tempfile()?;
    input.write_all(text.as_bytes())?;
    input.rewind()?;
    command.args(args).process_group(0).current_dir("/");
    command
        .stdin(input)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    succeeds(&mut command.spawn()?)
}

/// Waits for a program's end, which comes soon or is made.
pub(super) fn succeeds(program: &mut Child) -> io::Result<bool> {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = program.try_wait()? {
            return Ok(status.success());
        }
        if Instant::now() > until {
            program.kill()?;
            program.wait()?;
            return Ok(false);
        }
        thread::sleep(Duration::from_millis(5));
    }
}
