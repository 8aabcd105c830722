//! Desktop notifications, on a real bus with a desktop that only takes notes, and presses buttons.

mod connection;
mod desktop;

use std::sync::Mutex;

use crate::daemon::idle::wake_ups;
use crate::daemon::{NOTES, exec, wait_for_results};
use crate::harness::{Ended, Project, Watching, save_by_rename, wait_until};
pub(crate) use desktop::{Bus, Desktop, Told, desktop};

/// Waits for the first notification, and clicks on its button, which opens the notes.
fn clicks_open(desktop: &Desktop, told: &Mutex<Told>, project: &Project, watching: &Watching) {
    let is_shown = || told.lock().expect("lock").shown.len() == 1;
    wait_until(is_shown, || watching.said());
    desktop.click(1, "open");
    wait_until(|| opened(project).len() == 1, || watching.said());
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
    let (_desktop, told) = desktop(&bus, false);
    let project = Project::with_git();
    let watching = watching(&project, &bus.address, &["--notify"]);
    save_by_rename(&project.path(NOTES), exec("echo 'much output'"));
    let first = || told.lock().expect("lock").texts().first().cloned();
    wait_until(|| first().is_some(), || watching.said());
    let title = "clada.md: 1 done".to_owned();
    assert_eq!(first(), Some((title, String::new())));

    let failing = exec("echo 'much output'; exit 3 # <b>");
    save_by_rename(&project.path(NOTES), format!("once more:\n{failing}"));
    let second = || told.lock().expect("lock").texts().get(1).cloned();
    wait_until(|| second().is_some(), || watching.said());
    let (title, body) = second().expect("a notification");
    assert_eq!(title, "clada.md: 1 failed");
    let line = "1 ❌ exec echo 'much output'; exit 3 # &lt;b&gt; - exit code 3";
    assert!(body.starts_with(line), "{body}");
    let shown = told.lock().expect("lock").shown.clone();
    let buttons = shown.iter().flat_map(|it| &it.actions);
    assert_eq!(buttons.count(), 0, "this desktop has none");
    assert_eq!(watching.stop(rustix::process::Signal::INT), Some(0));
}

/// Not asked for, nothing is told; and where there is no desktop, the log says so once and the results come as ever.
#[test]
fn who_has_no_desktop_misses_nothing() {
    let Some(bus) = Bus::start() else { return };
    let (desktop, told) = desktop(&bus, false);
    let project = Project::with_git();
    let quiet = watching(&project, &bus.address, &[]);
    save_by_rename(&project.path(NOTES), exec("true"));
    wait_for_results(&project, "✅");
    assert_eq!(quiet.stop(rustix::process::Signal::INT), Some(0));
    drop(desktop);
    assert!(told.lock().expect("lock").shown.is_empty());

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

/// A project in which `xdg-open` notes what it is to open, with the file that has the notes of it.
fn with_opener() -> Option<Project> {
    let project = Project::apart()?;
    let opened = project.home().join("opened");
    let script = format!("echo \"$DISPLAY $*\" >> '{}'", opened.display());
    project.program("xdg-open", &script);
    Some(project)
}

/// The lines that `xdg-open` noted.
fn opened(project: &Project) -> Vec<String> {
    let text = std::fs::read_to_string(project.home().join("opened")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_click_opens_the_notes() {
    let Some(bus) = Bus::start() else { return };
    let Some(project) = with_opener() else { return };
    let project = project.on_display(":4711");
    let (desktop, told) = desktop(&bus, true);
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command
        .args(["watch", "--no-clipboard", "--notify", "--no-git"])
        .env("DBUS_SESSION_BUS_ADDRESS", &bus.address);
    let watching = Watching::logged(command);
    watching.wait_for("watching ");
    let count = || told.lock().expect("lock").shown.len();
    let run = |number: usize| {
        let reply = format!("{number}:\n{}", exec(&format!("true {number}")));
        let before = std::fs::read_to_string(project.path(NOTES)).unwrap_or_default();
        save_by_rename(&project.path(NOTES), before + &reply);
        wait_until(|| count() == number, || watching.said());
        watching.until_it_rests();
    };
    let notes = project.path(NOTES).canonicalize().expect("notes");
    let line = format!(":4711 {}", notes.display());
    let clicked = |id: u32, action: &str, times: usize| {
        desktop.click(id, action);
        wait_until(|| opened(&project).len() == times, || watching.said());
    };
    run(1);
    let buttons = told.lock().expect("lock").shown[0].actions.clone();
    let label = "Open clada.md";
    assert_eq!(buttons, ["default", label, "open", label]);
    clicked(1, "open", 1);
    run(2);
    clicked(2, "default", 2);
    // What was answered is not closed; a newer one takes the place of one that was not.
    run(3);
    run(4);
    assert_eq!(told.lock().expect("lock").closed, [3]);
    desktop.click(3, "open");
    clicked(4, "open", 3);
    // Another action, which no button has.
    run(5);
    desktop.click(5, "approve");
    run(6);
    // It was an answer all the same: nothing is left to close.
    assert_eq!(told.lock().expect("lock").closed, [3]);
    assert_eq!(opened(&project).len(), 3);
    clicked(6, "open", 4);
    assert_eq!(opened(&project), [&*line, &*line, &*line, &*line]);
    assert_eq!(watching.stop(rustix::process::Signal::INT), Some(0));
}

/// Where a virtual environment of the project is first in PATH.
#[test]
fn a_click_runs_no_program_of_the_project() {
    let Some(bus) = Bus::start() else { return };
    let Some(project) = with_opener() else { return };
    let project = project.on_display(":4711");
    let bin = project.path("bin");
    std::fs::create_dir(&bin).expect("mkdir");
    let mut planting = project.command("sh");
    planting
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
        .arg(bin.join("xdg-open"));
    let script = format!(
        "#!/bin/sh\necho of the project >> '{}'\n",
        project.home().join("opened").display()
    );
    Ended::of(planting, &script).exits(0);
    let (desktop, told) = desktop(&bus, true);
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    let paths = [bin, project.home().join("bin"), "/usr/bin".into()];
    command
        .args(["watch", "--no-clipboard", "--notify", "--no-git"])
        .env("PATH", std::env::join_paths(paths).expect("PATH"))
        .env("DBUS_SESSION_BUS_ADDRESS", &bus.address);
    let watching = Watching::start(command);
    watching.wait_for("watching ");
    let reply = exec("true");
    save_by_rename(&project.path(NOTES), reply);
    clicks_open(&desktop, &told, &project, &watching);
    assert!(
        opened(&project)[0].starts_with(":4711 "),
        "{:?}",
        opened(&project)
    );
}

/// Ten notes files, each with a notification that nobody answers.
#[test]
fn few_notifications_wait_for_a_click_and_none_of_them_wakes_clada_up() {
    let Some(bus) = Bus::start() else { return };
    let (_desktop, told) = desktop(&bus, true);
    let project = Project::new();
    let names: Vec<String> = (1..=10).map(|number| format!("{number}.md")).collect();
    for name in &names {
        let root = project.path(name.trim_end_matches(".md"));
        std::fs::create_dir(&root).expect("mkdir");
        let root = root.to_str().expect("UTF-8");
        let notes = format!("{root}/{name}");
        project.clada(["add", &notes, "--root", root]).exits(0);
    }
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command
        .args(["daemon", "--no-clipboard"])
        .env("DBUS_SESSION_BUS_ADDRESS", &bus.address)
        .env("CLADA_LOG", "info");
    let daemon = Watching::start(command);
    daemon.wait_for("watching files=");
    for (number, name) in (1..).zip(&names) {
        let notes = project.path(name.trim_end_matches(".md")).join(name);
        save_by_rename(&notes, exec("true"));
        let is_shown = || told.lock().expect("lock").shown.len() == number;
        wait_until(is_shown, || daemon.said());
    }
    assert_eq!(told.lock().expect("lock").closed, [1, 2]);
    assert_eq!(bus.connections_of(daemon.pid()), 1);
    let rests = || {
        let before = wake_ups(&daemon);
        std::thread::sleep(std::time::Duration::from_millis(700));
        wake_ups(&daemon) == before
    };
    wait_until(rests, || format!("{:?}", wake_ups(&daemon)));
}

#[test]
fn a_click_that_opens_nothing_is_logged() {
    let Some(bus) = Bus::start() else { return };
    let (desktop, told) = desktop(&bus, true);
    let clicked = |project: &Project, says: &str| {
        told.lock().expect("lock").shown.clear();
        let watching = watching(project, &bus.address, &["--notify", "--no-git"]);
        save_by_rename(&project.path(NOTES), exec("true"));
        let is_shown = || told.lock().expect("lock").shown.len() == 1;
        wait_until(is_shown, || watching.said());
        desktop.click(1, "open");
        watching.wait_for(says);
    };
    let Some(project) = with_opener() else { return };
    clicked(&project, "cannot open the notes: no display was found");
    assert_eq!(opened(&project).len(), 0);
    let Some(project) = with_opener() else { return };
    project.program("xdg-open", "exit 3");
    let project = project.on_display(":4711");
    clicked(&project, r#"cannot open the notes error="exit status: 3""#);
}

/// systemd kills what is left of a service that stops, and an editor may hold unsaved text.
#[test]
fn what_a_click_opens_does_not_end_with_the_service() {
    let Some(bus) = Bus::start() else { return };
    let (desktop, told) = desktop(&bus, true);
    for works in [true, false] {
        let Some(project) = with_opener() else { return };
        let asked = project.home().join("asked");
        let then = match works {
            true => "shift 5; exec \"$@\"",
            false => "exit 1",
        };
        let script = format!("echo \"$*\" >> '{}'; {then}", asked.display());
        project.program("systemd-run", &script);
        let project = project.on_display(":4711");
        told.lock().expect("lock").shown.clear();
        let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
        command
            .args(["watch", "--no-clipboard", "--notify", "--no-git"])
            .env("DBUS_SESSION_BUS_ADDRESS", &bus.address)
            .env("INVOCATION_ID", "a9a4");
        let watching = Watching::start(command);
        watching.wait_for("watching ");
        save_by_rename(&project.path(NOTES), exec("true"));
        clicks_open(&desktop, &told, &project, &watching);
        let asked = std::fs::read_to_string(asked).expect("systemd-run");
        let opener = project.home().join("bin/xdg-open").canonicalize();
        let begins = "--user --scope --quiet --collect -- ";
        let opener = opener.expect("opener").display().to_string();
        assert!(asked.starts_with(&format!("{begins}{opener} ")), "{asked}");
    }
}
