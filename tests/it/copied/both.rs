//! One daemon for several chats, and a Wayland desktop.

use std::fs;

use rustix::process::Signal;

use super::{Desk, copied_by, key, keyed, reply};
use crate::clipboard::Sway;
use crate::daemon::{NOTES, exec, record, wait_for_results};
use crate::harness::{Project, Watching, wait_until};

/// The number of times that each of two chats has a reply copied; `TURNS` sets another.
const TURNS: usize = 10;

#[test]
fn two_chats_take_turns() {
    let Some(desk) = Desk::new() else { return };
    let project = &desk.project;
    project.configure("[clipboard]\nwatch = true\n[git]\nenabled = false\n");
    let names = ["one", "two"];
    for name in names {
        fs::create_dir(project.path(name)).unwrap();
        let notes = format!("{name}/clada.md");
        let root = format!("--root={name}");
        project.clada(["add", &root, &notes]).exits(0);
    }
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.arg("daemon").env("CLADA_LOG", "info");
    let daemon = Watching::logged(command);
    daemon.wait_for("watching files=2");
    let is_watching = || {
        let status = desk.status();
        status["way"]
            .as_str()
            .is_some_and(|way| way.starts_with("X11, "))
    };
    wait_until(is_watching, || daemon.said());
    let keys = names.map(|name| key(project, &[&format!("{name}/clada.md")]));
    assert_ne!(keys[0], keys[1]);
    let turns = std::env::var("TURNS").map_or(TURNS, |turns| turns.parse().unwrap());
    for turn in 0..turns {
        for (name, key) in names.iter().zip(&keys) {
            let word = format!("{name}{turn}");
            desk.copy(&keyed(key, &reply(&word)));
            let has_results = || {
                let on_clipboard = desk.clipboard();
                on_clipboard.contains("=== CLADA RESULTS ===") && on_clipboard.contains(&word)
            };
            wait_until(has_results, || format!("{word}: {}", desk.clipboard()));
        }
    }
    for name in names {
        let ran = fs::read_to_string(project.path(&format!("{name}/runs.txt"))).unwrap();
        let ran: Vec<_> = ran.lines().map(str::to_owned).collect();
        let expected: Vec<_> = (0..turns).map(|turn| format!("{name}{turn}")).collect();
        assert_eq!(ran, expected);
    }
    assert_eq!(daemon.stop(Signal::TERM), Some(0));
}

/// A block in a dialect that a project does not read is prose there, and needs no key.
#[test]
fn a_reply_counts_as_its_project_reads_it() {
    let Some(desk) = Desk::new() else { return };
    let project = &desk.project;
    project.configure("[clipboard]\nwatch = true\n[git]\nenabled = false\n");
    for (name, settings) in [("one", "dialects = [\"cml\"]\n"), ("two", "")] {
        fs::create_dir(project.path(name)).unwrap();
        project.write(&format!("{name}/clada.toml"), settings);
        let root = format!("--root={name}");
        project
            .clada(["add", &root, &format!("{name}/clada.md")])
            .exits(0);
    }
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.arg("daemon").env("CLADA_LOG", "info");
    let daemon = Watching::logged(command);
    daemon.wait_for("watching files=2");
    wait_until(|| desk.status()["way"].is_string(), || daemon.said());
    let diff = "``````diff\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n``````\n";
    let copy = |name: &str| {
        let key = key(project, &[&format!("{name}/clada.md")]);
        desk.copy_to(
            &daemon,
            &format!("{}\nor\n\n{diff}", keyed(&key, &reply(name))),
        );
    };
    copy("two");
    let why = || desk.status()["refused"]["why"].to_string();
    wait_until(|| why().contains("2 tasks on the clipboard without"), why);
    copy("one");
    let ran = project.path("one/runs.txt");
    wait_until(|| ran.exists(), || daemon.said());
    assert!(!project.exists("two/runs.txt") && !project.exists("one/new.txt"));
}

/// The daemon takes note of the setting while it runs.
#[test]
fn the_daemon_begins_and_ends_to_watch_with_the_setting() {
    let Some(desk) = Desk::new() else { return };
    let project = &desk.project;
    project.configure("");
    project.write(NOTES, "");
    project.clada(["add", NOTES]).exits(0);
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.arg("daemon").env("CLADA_LOG", "info");
    let daemon = Watching::logged(command);
    daemon.wait_for("watching files=1");
    assert!(desk.status().is_null());
    project.configure("[clipboard]\nwatch = true\n");
    wait_until(|| desk.status()["way"].is_string(), || daemon.said());
    desk.copy(&desk.reply("one"));
    wait_for_results(project, "echo one");
    project.configure("[clipboard]\nwatch = false\n");
    wait_until(|| desk.status().is_null(), || daemon.said());
}

#[test]
fn on_wayland_it_goes_the_same_way() {
    let Some(sway) = Sway::start() else { return };
    let project = Project::with_git();
    let on_sway = |program: &str| {
        let mut command = project.command(program);
        command.envs(sway.vars());
        command
    };
    let mut command = on_sway(env!("CARGO_BIN_EXE_clada"));
    command.args(["watch", "--from-clipboard"]);
    let watching = Watching::logged(command);
    watching.wait_for("watching the clipboard (Wayland, ");
    let key = key(&project, &[]);
    for word in ["one", "two", "three"] {
        copied_by(on_sway("wl-copy"), keyed(&key, &reply(word)).as_bytes());
        let notes = wait_for_results(&project, &format!("echo {word}"));
        assert!(
            notes.status.starts_with("📋 Copied to clipboard at "),
            "{}",
            notes.status
        );
        let pasted = on_sway("wl-paste").output().unwrap().stdout;
        let pasted = String::from_utf8(pasted).unwrap();
        assert!(pasted.contains(&format!("echo {word}")), "{pasted}");
    }
    let script = format!("until [ -e go ]; do sleep 0.01; done; {}", record("four"));
    copied_by(on_sway("wl-copy"), keyed(&key, &exec(&script)).as_bytes());
    watching.wait_for("until [ -e go ]");
    copied_by(on_sway("wl-copy"), b"my own");
    fs::write(project.path("go"), "").unwrap();
    let notes = wait_for_results(&project, "✅ exec until");
    assert!(
        notes.status.starts_with("📋 Not copied at "),
        "{}",
        notes.status
    );
}
