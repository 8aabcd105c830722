//! Owns the programs that can copy where the display does not let clada do it itself. Chooses none that is not there.
//!
//! Each goes on in the background until somebody else copies something: the text outlives clada.

use std::io::{self, Seek, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::display::{Vars, var};

/// A program, what it is told, and the variable without which it can do nothing.
type Program = (&'static str, &'static [&'static str], Option<&'static str>);

const PROGRAMS: &[Program] = if cfg!(target_os = "macos") {
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

/// How long each may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Copies by the first that can; its name.
pub(super) fn copy(text: &str, vars: &Vars) -> Option<&'static str> {
    let can = |(name, args, needs): &&Program| {
        let is_apt = needs.is_none_or(|needs| var(vars, needs).is_some());
        is_apt && run(name, args, vars, text).unwrap_or(false)
    };
    PROGRAMS.iter().find(can).map(|(name, ..)| *name)
}

fn run(name: &str, args: &[&str], vars: &Vars, text: &str) -> io::Result<bool> {
    // One that waits for a display does not read: no pipe may fill up.
    let mut input = tempfile::tempfile()?;
    input.write_all(text.as_bytes())?;
    input.rewind()?;
    let mut command = Command::new(name);
    command
        .args(args)
        .env_clear()
        .envs(vars)
        .process_group(0)
        .current_dir("/");
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
