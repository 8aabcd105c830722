//! The connection to the bus: one for all notifications, only while one of them waits for a click, and found again.

use std::fs;
use std::os::unix::net::UnixListener;

use super::desktop::{Bus, desktop};
use super::{opened, watching, with_opener};
use crate::daemon::{NOTES, exec, wait_for_results};
use crate::harness::{Project, Watching, save_by_rename, wait_until};

/// Tells if it has a thread for the desktop.
fn has_thread(watching: &Watching) -> bool {
    let threads = fs::read_dir(format!("/proc/{}/task", watching.pid())).expect("threads");
    let is_of_desktop = |thread: fs::DirEntry| {
        let name = fs::read_to_string(thread.path().join("comm"));
        name.is_ok_and(|name| name.trim() == "desktop")
    };
    threads.flatten().any(is_of_desktop)
}

#[test]
fn it_is_there_while_a_notification_waits_for_a_click() {
    let Some(bus) = Bus::start() else { return };
    let Some(project) = with_opener() else { return };
    let project = project.on_display(":4711");
    let (desktop, told) = desktop(&bus, true);
    let args = ["--notify", "--no-git"];
    let watching = watching(&project, &bus.address, &args);
    let connections = || bus.connections_of(watching.pid());
    assert_eq!((connections(), has_thread(&watching)), (0, false));
    let run = |number: usize| {
        let reply = format!("{number}:\n{}", exec(&format!("true {number}")));
        save_by_rename(&project.path(NOTES), reply);
        let is_shown = || told.lock().expect("lock").texts().len() == number;
        wait_until(is_shown, || watching.said());
    };
    let is_closed = || connections() == 0;
    run(1);
    assert_eq!((connections(), has_thread(&watching)), (1, true));
    desktop.dismiss(1);
    wait_until(is_closed, || watching.said());
    run(2);
    assert_eq!(connections(), 1);
    desktop.click(2, "open");
    wait_until(is_closed, || watching.said());
    wait_until(|| opened(&project).len() == 1, || watching.said());
    assert_eq!(watching.stop(rustix::process::Signal::INT), Some(0));
}

#[test]
fn a_click_is_heard_before_the_desktop_has_answered() {
    let Some(bus) = Bus::start() else { return };
    let Some(project) = with_opener() else { return };
    let project = project.on_display(":4711");
    let (_desktop, told) = desktop(&bus, true);
    told.lock().expect("lock").clicked_at_once = Some("open");
    let args = ["--notify", "--no-git"];
    let watching = watching(&project, &bus.address, &args);
    save_by_rename(&project.path(NOTES), exec("true"));
    wait_until(|| opened(&project).len() == 1, || watching.said());
}

#[test]
fn a_bus_that_no_variable_names_is_found_in_the_folder_of_the_session() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(bus) = Bus::start_at(&folder.path().join("bus")) else {
        return;
    };
    let (_desktop, told) = desktop(&bus, false);
    let project = Project::new();
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command
        .args(["watch", "--no-clipboard", "--notify", "--no-git"])
        .env_remove("DBUS_SESSION_BUS_ADDRESS")
        .env("XDG_RUNTIME_DIR", folder.path());
    let watching = Watching::start(command);
    watching.wait_for("watching ");
    save_by_rename(&project.path(NOTES), exec("true"));
    let is_shown = || told.lock().expect("lock").texts().len() == 1;
    wait_until(is_shown, || watching.said());
}

#[test]
fn a_bus_that_ends_the_connection_is_none() {
    let Some(project) = with_opener() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("bus");
    let ends = UnixListener::bind(&socket).expect("a socket");
    ends.set_nonblocking(true).expect("a socket");
    let address = format!("unix:path={}", socket.display());
    let watching = watching(&project, &address, &["--notify", "--no-git"]);
    save_by_rename(&project.path(NOTES), exec("true"));
    wait_until(|| ends.accept().is_ok(), || watching.said());
    watching.wait_for("running? error=the connection to the message bus has ended");
    wait_for_results(&project, "1 ✅");
}

/// First the bus hangs, then there is one, that ends while a notification waits, and one more that takes its place.
#[test]
fn a_bus_that_comes_back_is_found() {
    let Some(project) = with_opener() else { return };
    let project = project.on_display(":4711");
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("bus");
    let hangs = UnixListener::bind(&socket).expect("a socket");
    let address = format!("unix:path={}", socket.display());
    let watching = watching(&project, &address, &["--notify", "--no-git"]);
    let save = |word: &str| {
        let reply = exec(&format!("true {word}"));
        save_by_rename(&project.path(NOTES), format!("{word}:\n{reply}"));
        wait_for_results(&project, word);
    };
    save("one");
    watching.wait_for("running? error=no answer over the message bus within 2 s");
    drop(hangs);

    for (number, word) in ["two", "three"].into_iter().enumerate() {
        let Some(bus) = Bus::start_at(&socket) else {
            return;
        };
        let (desktop, told) = desktop(&bus, true);
        save(word);
        let count = || told.lock().expect("lock").texts().len();
        wait_until(|| count() == 1, || watching.said());
        assert_eq!(bus.connections_of(watching.pid()), 1);
        // That of the first bus is still waiting when the bus ends.
        if number == 1 {
            desktop.click(1, "default");
            wait_until(|| opened(&project).len() == 1, || watching.said());
        }
    }
    let said = watching.said();
    let failures = said.matches("cannot show notifications").count();
    assert_eq!(failures, 1, "{said}");
}
