//! Desktop notifications, on a real bus with a desktop that only takes notes.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use zbus::{Connection, OwnedVariant, connection, interface};

use crate::daemon::{NOTES, exec, wait_for_results};
use crate::harness::{Project, Watching, installed, save_by_rename, wait_until};

/// A message bus. Ended when dropped.
struct Bus {
    daemon: Child,
    address: String,
}

impl Bus {
    /// `None`, and a line that says so, where there is none; in CI there must be one.
    fn start() -> Option<Self> {
        if !installed("dbus-daemon") {
            return None;
        }
        let mut daemon = Command::new("dbus-daemon");
        daemon.args(["--session", "--nofork", "--nopidfile", "--print-address"]);
        let mut daemon = daemon.stdout(Stdio::piped()).spawn().expect("dbus-daemon");
        let mut address = String::new();
        BufReader::new(daemon.stdout.take().expect("stdout"))
            .read_line(&mut address)
            .expect("address");
        let address = address.trim().to_owned();
        Some(Self { daemon, address })
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

type Told = Arc<Mutex<Vec<(String, String)>>>;

struct Desktop(Told);

#[interface(name = "org.freedesktop.Notifications")]
impl Desktop {
    fn get_capabilities(&self) -> Vec<String> {
        vec!["body".to_owned(), "body-markup".to_owned()]
    }

    #[allow(clippy::too_many_arguments, reason = "the interface of all desktops")]
    fn notify(
        &self,
        app: String,
        _replaces: u32,
        _icon: String,
        summary: String,
        body: String,
        _actions: Vec<String>,
        _hints: HashMap<String, OwnedVariant>,
        _timeout: i32,
    ) -> u32 {
        assert_eq!(app, "clada");
        self.0.lock().expect("lock").push((summary, body));
        1
    }
}

fn desktop(bus: &Bus) -> (Connection, Told) {
    let told = Told::default();
    let service = connection::Builder::address(bus.address.as_str())
        .serve_at("/org/freedesktop/Notifications", Desktop(Arc::clone(&told)))
        .name("org.freedesktop.Notifications")
        .build();
    (zbus::block_on(service).expect("desktop"), told)
}

fn watching(project: &Project, bus: &str, args: &[&str]) -> Watching {
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.args(["watch", "--no-clipboard"]).args(args);
    command.env("DBUS_SESSION_BUS_ADDRESS", bus);
    command.env("CLADA_LOG", "warn");
    let watching = Watching::start(command);
    watching.wait_for("watching ");
    watching
}

#[test]
fn the_desktop_is_told_of_a_finished_batch() {
    let Some(bus) = Bus::start() else { return };
    let (_desktop, told) = desktop(&bus);
    let project = Project::with_git();
    let watching = watching(&project, &bus.address, &["--notify"]);
    save_by_rename(&project.path(NOTES), exec("echo 'much output'"));
    let first = || told.lock().expect("lock").first().cloned();
    wait_until(|| first().is_some(), || watching.said());
    let title = "clada.md: 1 done".to_owned();
    assert_eq!(first(), Some((title, String::new())));

    let failing = exec("echo 'much output'; exit 3 # <b>");
    save_by_rename(&project.path(NOTES), format!("once more:\n{failing}"));
    let second = || told.lock().expect("lock").get(1).cloned();
    wait_until(|| second().is_some(), || watching.said());
    let (title, body) = second().expect("a notification");
    assert_eq!(title, "clada.md: 1 failed");
    let line = "1 ❌ exec echo 'much output'; exit 3 # &lt;b&gt; - exit code 3";
    assert!(body.starts_with(line), "{body}");
    assert_eq!(watching.stop(rustix::process::Signal::INT), Some(0));
}

/// Not asked for, nothing is told; and where there is no desktop, the log says so once and the results come as ever.
#[test]
fn who_has_no_desktop_misses_nothing() {
    let Some(bus) = Bus::start() else { return };
    let (desktop, told) = desktop(&bus);
    let project = Project::with_git();
    let quiet = watching(&project, &bus.address, &[]);
    save_by_rename(&project.path(NOTES), exec("true"));
    wait_for_results(&project, "✅");
    assert_eq!(quiet.stop(rustix::process::Signal::INT), Some(0));
    drop(desktop);
    assert!(told.lock().expect("lock").is_empty());

    for address in [bus.address.as_str(), "unix:path=/nonexistent"] {
        let project = Project::with_git();
        let watching = watching(&project, address, &["--notify"]);
        for word in ["one", "two"] {
            let reply = exec(&format!("true {word}"));
            save_by_rename(&project.path(NOTES), format!("{word}:\n{reply}"));
            wait_for_results(&project, word);
        }
        watching.wait_for("cannot show notifications: is a desktop running?");
        let said = watching.said();
        assert_eq!(
            said.matches("cannot show notifications").count(),
            1,
            "{said}"
        );
        assert_eq!(watching.stop(rustix::process::Signal::INT), Some(0));
    }
}
