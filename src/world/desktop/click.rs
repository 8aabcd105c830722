//! The notifications that a click may still answer, and the opening of their files. Nothing else comes of a click.

use std::collections::HashMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, ExitStatus, Stdio};
use std::rc::{Rc, Weak};

use notify_rust::{Notification, NotificationHandle, NotificationResponse};
use tokio::process::Command;
use tokio::task::{JoinHandle, spawn_local};

use crate::world::clipboard::display;
use crate::world::programs::{NoProgram, Programs};

/// The most notifications that wait for a click: each has a connection to the bus.
const CLICKABLE: usize = 8;
/// The name of the button's action, and that of a click beside it, as all desktops call it.
const OPEN: &str = "open";
const DEFAULT: &str = "default";
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

/// The notifications that wait for a click, the oldest first.
#[derive(Default)]
pub(super) struct Clickable(Vec<OpenNotice>);

/// A notification that waits for a click.
struct OpenNotice {
    path: PathBuf,
    /// Nothing once it was answered.
    handle: Weak<NotificationHandle>,
    answer: JoinHandle<()>,
}

impl OpenNotice {
    /// Takes it off the desktop, where it still waits.
    async fn close(self) {
        let handle = self.handle.upgrade();
        self.answer.abort();
        if let Some(handle) = handle {
            handle.close_async().await;
        }
    }
}

impl Clickable {
    /// Shows a notification which opens a file, in place of the last one that does.
    pub(super) async fn show(
        &mut self,
        mut notification: Notification,
        path: PathBuf,
    ) -> notify_rust::error::Result<()> {
        self.make_room(&path).await;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let label = format!("Open {name}");
        notification.action(DEFAULT, &label).action(OPEN, &label);
        let handle = Rc::new(notification.show_async().await?);
        self.0.push(OpenNotice {
            path: path.clone(),
            handle: Rc::downgrade(&handle),
            answer: spawn_local(answer(handle, path)),
        });
        Ok(())
    }

    /// Closes the notification of the same file, and the oldest one where there are too many.
    async fn make_room(&mut self, path: &Path) {
        self.0.retain(|notice| notice.handle.strong_count() > 0);
        while let Some(at) = self.0.iter().position(|notice| notice.path == path) {
            self.0.remove(at).close().await;
        }
        while self.0.len() >= CLICKABLE {
            self.0.remove(0).close().await;
        }
    }
}

/// Waits for a click, or for the end of the notification.
async fn answer(handle: Rc<NotificationHandle>, path: PathBuf) {
    let mut opens = false;
    let clicked = |response: &NotificationResponse| {
        opens = match response {
            NotificationResponse::Default => true,
            NotificationResponse::Action(name) => name == OPEN,
            _ => false,
        };
    };
    handle.wait_for_action_async(clicked).await;
    // The connection to the bus ends here, and not with the program that opens the file.
    drop(handle);
    if opens {
        open(&path).await;
    }
}

/// Opens a file with the desktop's program for it, and waits until that program has ended.
async fn open(path: &Path) {
    let vars: HashMap<OsString, OsString> = env::vars_os().collect();
    // Somebody clicked, so there is a desktop; without its display the opener would look for a terminal.
    let Some(vars) = display::of_desktop(&vars) else {
        tracing::warn!(path = %path.display(), "cannot open the notes: no display was found");
        return;
    };
    for opener in openers(&vars) {
        let failed = match opener {
            Err(error) => error.to_string(),
            Ok(opener) => match ended(opener, path).await {
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
