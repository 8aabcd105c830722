//! Owns the opening of a file with the desktop's program for it.

use std::collections::HashMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, ExitStatus, Stdio};

use tokio::process::Command;

use crate::world::clipboard::display;
use crate::world::programs::{NoProgram, Programs};

/// The program that opens a file with the desktop's program for it.
const OPENER: &str = "xdg-open";
/// The variable that systemd gives to the processes of its services, and its program that takes another out of one.
const OF_SERVICE: &str = "INVOCATION_ID";
const SCOPE: [&str; 6] = [
    "systemd-run",
    "--user",
    "--scope",
    "--quiet",
    "--collect",
    "--",
];

/// Opens a file with the desktop's program for it, and waits until that program has ended.
pub(super) async fn open(path: PathBuf) {
    let vars: HashMap<OsString, OsString> = env::vars_os().collect();
    // Somebody clicked, so there is a desktop; without its display the opener would look for a terminal.
    let Some(vars) = display::of_desktop(&vars) else {
        tracing::warn!(path = %path.display(), "cannot open the notes: no display was found");
        return;
    };
    for opener in openers(&vars) {
        let failed = match opener {
            Err(error) => error.to_string(),
            Ok(opener) => match ended(opener, &path).await {
                Ok(status) if status.success() => return,
                Ok(status) => status.to_string(),
                Err(error) => error.to_string(),
            },
        };
        tracing::warn!(error = failed, path = %path.display(), "cannot open the notes");
    }
}

/// Runs an opener to its end.
async fn ended(opener: process::Command, path: &Path) -> io::Result<ExitStatus> {
    let mut opener = Command::from(opener);
    opener
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // What ends clada in a terminal does not end the editor.
        .process_group(0);
    opener.spawn()?.wait().await
}

/// The programs that open files, without the file, each for where the one before it fails.
///
/// Of a service, systemd kills all processes when it stops. So the editor, in which there may be unsaved text, gets a scope
/// of its own.
fn openers(
    vars: &HashMap<OsString, OsString>,
) -> impl Iterator<Item = Result<process::Command, NoProgram>> {
    let programs = Programs::of_vars(vars);
    let is_service = vars.contains_key(OsStr::new(OF_SERVICE));
    let apart = || {
        let opener = programs.find(OPENER).ok()?;
        let mut command = programs.command_in(SCOPE[0], vars).ok()?;
        command.args(&SCOPE[1..]).arg(opener);
        Some(Ok(command))
    };
    let apart = is_service.then(apart).flatten();
    apart.into_iter().chain([programs.command_in(OPENER, vars)])
}
