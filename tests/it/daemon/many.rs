//! `clada daemon`: many files in one process, each by itself.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use rustix::process::Signal;

use super::exec;
use crate::harness::{Project, Watching, results, save_by_rename, wait_until};

/// Folders beside each other, each with notes of its own, and the list of them.
struct Town {
    project: Project,
}

impl Town {
    fn new() -> Self {
        let project = Project::new();
        // Where no session's folder is, sockets are in the state.
        fs::create_dir_all(project.config_folder()).expect("mkdir");
        Self { project }
    }

    fn notes(&self, name: &str) -> PathBuf {
        self.project.path(name).join("clada.md")
    }

    /// Puts these, and no others, into the list.
    fn list(&self, names: &[&str]) {
        let entry = |name: &&str| {
            let (file, root) = (self.notes(name), self.project.path(name));
            format!("[[watch]]\nfile = {file:?}\nroot = {root:?}\n\n")
        };
        let list: String = names.iter().map(entry).collect();
        save_by_rename(&self.project.config_folder().join("watched.toml"), list);
    }

    fn build(&self, name: &str) {
        fs::create_dir(self.project.path(name)).expect("mkdir");
    }

    /// Starts the daemon; every file of the list was tried when this returns.
    fn daemon(&self) -> Watching {
        let mut command = self.project.command(env!("CARGO_BIN_EXE_clada"));
        command
            .args(["daemon", "--no-clipboard"])
            .env("CLADA_LOG", "info");
        let daemon = Watching::start(command);
        daemon.wait_for("watching files=");
        daemon
    }

    /// The results in notes, when they are there.
    #[track_caller]
    fn results(&self, name: &str, daemon: &Watching) -> String {
        let read = || fs::read_to_string(self.notes(name)).unwrap_or_default();
        let is_there = || read().contains("=== END ===") && !read().contains("⏳");
        wait_until(is_there, || {
            format!("results in {name}: {}{}", read(), daemon.said())
        });
        results(&read())
    }

    fn status(&self) -> serde_json::Value {
        self.project.clada(["status", "--json"]).json()
    }

    /// The states of all files, by the names of their folders.
    fn states(&self) -> Vec<(String, String)> {
        let status = self.status();
        let files = status["processes"][0]["files"].as_array().cloned();
        let state = |file: serde_json::Value| {
            let root = PathBuf::from(file["root"].as_str().expect("root"));
            let name = root
                .file_name()
                .expect("name")
                .to_string_lossy()
                .into_owned();
            (name, file["state"].to_string())
        };
        files.unwrap_or_default().into_iter().map(state).collect()
    }
}

#[test]
fn a_batch_of_one_file_holds_up_no_other() {
    let town = Town::new();
    for name in ["slow", "quick"] {
        town.build(name);
    }
    town.list(&["slow", "quick"]);
    let daemon = town.daemon();
    let watching = |name: &str| (name.to_owned(), r#""watching""#.to_owned());
    assert_eq!(town.states(), [watching("quick"), watching("slow")]);

    let until = town.project.path("go");
    let wait = format!(
        "touch ../started; while [ ! -e {} ]; do sleep 0.01; done",
        until.display()
    );
    save_by_rename(&town.notes("slow"), exec(&wait));
    wait_until(|| town.project.exists("started"), || daemon.said());
    for number in 0..3 {
        let reply = format!(
            "reply {number}\n{}",
            exec(&format!("echo {number} >> said"))
        );
        save_by_rename(&town.notes("quick"), reply);
        let said = || fs::read_to_string(town.project.path("quick/said")).unwrap_or_default();
        wait_until(|| said().lines().count() == number + 1, || daemon.said());
    }
    assert!(town.results("quick", &daemon).starts_with("1 ✅ exec"));
    let states = town.states();
    assert!(
        states[1].1.contains(r#""running":{"task":"exec touch"#),
        "{states:?}"
    );

    fs::write(until, "").expect("write");
    assert!(town.results("slow", &daemon).starts_with("1 ✅ exec"));
    let last = || town.status()["processes"][0]["files"][1]["last"]["done"].clone();
    assert_eq!(last(), 1);
    assert_eq!(daemon.stop(Signal::TERM), Some(0));
    let none = town.project.clada(["status"]).exits(1);
    assert!(
        none.out.starts_with("no clada process is running: start watching this folder with `clada`, or all files in your list with `clada service start`"),
        "{}",
        none.out
    );
}

#[test]
fn what_was_pasted_while_it_was_away_runs_and_the_rest_is_left_alone() {
    let town = Town::new();
    for name in ["one", "two", "three"] {
        town.build(name);
    }
    town.list(&["one", "two", "three"]);
    let daemon = town.daemon();
    save_by_rename(&town.notes("one"), exec("echo first >> said"));
    town.results("one", &daemon);
    assert_eq!(daemon.stop(Signal::TERM), Some(0));

    let before = fs::read_to_string(town.notes("one")).expect("read");
    save_by_rename(&town.notes("two"), exec("echo second >> said"));
    let daemon = town.daemon();
    assert!(town.results("two", &daemon).starts_with("1 ✅ exec"));
    assert_eq!(fs::read_to_string(town.notes("one")).expect("read"), before);
    assert_eq!(
        fs::read_to_string(town.project.path("one/said")).expect("read"),
        "first\n"
    );
    // Only what had something to do was woken.
    let told = || daemon.said().matches(": results").count();
    wait_until(|| told() > 0, || daemon.said());
    daemon.signal(Signal::TERM);
    let (code, said) = daemon.end();
    assert_eq!(code, Some(0));
    assert_eq!(said.matches(": results").count(), 1, "{said}");
}

#[test]
fn what_is_missing_is_waited_for_and_the_list_may_change() {
    let town = Town::new();
    town.build("there");
    town.list(&["there", "later"]);
    let daemon = town.daemon();
    let states = town.states();
    assert!(
        states[0].0 == "later" && states[0].1.contains("waiting"),
        "{states:?}"
    );

    town.build("later");
    wait_until(|| town.notes("later").exists(), || daemon.said());
    save_by_rename(&town.notes("later"), exec("echo late"));
    assert!(town.results("later", &daemon).starts_with("1 ✅ exec"));

    // A folder that goes comes back.
    fs::rename(town.project.path("there"), town.project.path("away")).expect("rename");
    fs::rename(town.project.path("away"), town.project.path("there")).expect("rename");
    save_by_rename(&town.notes("there"), exec("echo back"));
    assert!(town.results("there", &daemon).starts_with("1 ✅ exec"));

    town.build("new");
    town.list(&["new", "there"]);
    wait_until(
        || {
            let states = town.states();
            let names: Vec<&str> = states.iter().map(|(name, _)| name.as_str()).collect();
            names == ["new", "there"] && town.notes("new").exists()
        },
        || format!("{:?}", town.states()),
    );
    save_by_rename(&town.notes("new"), exec("echo new"));
    assert!(town.results("new", &daemon).starts_with("1 ✅ exec"));
    // Who is not in the list is free for another.
    let other = town
        .project
        .watch(["later/clada.md", "--root", "later", "--no-clipboard"]);
    let pids = |status: serde_json::Value| status["processes"].as_array().map_or(0, Vec::len);
    assert_eq!(pids(town.status()), 2);
    assert_eq!(other.stop(Signal::TERM), Some(0));
}

#[test]
fn a_file_that_another_clada_has_is_taken_over_when_that_ends() {
    let town = Town::new();
    town.build("shared");
    town.list(&["shared"]);
    let other = town
        .project
        .watch(["shared/clada.md", "--root", "shared", "--no-clipboard"]);
    let daemon = town.daemon();
    daemon.wait_for("is already watched");
    assert_eq!(other.stop(Signal::TERM), Some(0));
    save_by_rename(&town.notes("shared"), exec("echo mine"));
    assert!(town.results("shared", &daemon).starts_with("1 ✅ exec"));

    let second = town.project.clada(["daemon"]).exits(2);
    assert!(
        second.err.contains("the daemon is already running: "),
        "{}",
        second.err
    );
}

#[test]
fn a_batch_of_a_file_that_is_taken_out_of_the_list_goes_on_until_the_daemon_ends() {
    let town = Town::new();
    let begun = |name: &str| town.project.path(name).join("begun").exists();
    for name in ["short", "long", "other"] {
        town.build(name);
    }
    town.list(&["short", "long"]);
    let daemon = town.daemon();
    let short = exec("touch begun; until [ -e go ]; do sleep 0.02; done");
    save_by_rename(&town.notes("short"), short);
    // It must not live on behind the daemon.
    let long = exec("trap '' TERM; touch begun; while :; do sleep 0.02; done");
    save_by_rename(&town.notes("long"), long);
    wait_until(|| begun("short") && begun("long"), || daemon.said());

    town.list(&["other"]);
    wait_until(|| town.notes("other").exists(), || daemon.said());
    town.project.write("short/go", "");
    assert!(town.results("short", &daemon).starts_with("1 ✅ exec"));
    assert_eq!(daemon.stop(Signal::TERM), Some(0));
    let told = town.project.read("long/clada.md");
    assert!(told.contains("clada was stopped"), "{told}");
}

#[test]
fn what_another_clada_is_writing_while_a_file_rests_is_left_to_it() {
    let town = Town::new();
    town.build("notes");
    town.list(&["notes"]);
    let daemon = town.daemon();
    let is_awake = || {
        let threads = fs::read_dir(format!("/proc/{}/task", daemon.pid())).expect("threads");
        let names =
            threads.map(|thread| fs::read_to_string(thread.expect("thread").path().join("comm")));
        names
            .into_iter()
            .any(|name| name.is_ok_and(|name| name.trim() == "listener"))
    };
    wait_until(|| !is_awake(), || daemon.said());
    // As `clada retry` makes it, which cannot have the lock.
    let beside = "notes/.clada-tmp-clada.md-123456";
    town.project
        .write(beside, "results on top of other notes\n");
    save_by_rename(&town.notes("notes"), exec("echo awake"));
    assert!(town.results("notes", &daemon).starts_with("1 ✅ exec"));
    assert!(town.project.exists(beside), "{}", daemon.said());
}

#[test]
fn notes_of_one_folder_take_turns_and_a_file_is_listened_on_once() {
    let town = Town::new();
    town.build("a");
    town.project.write("a/two.md", "");
    symlink(town.notes("a"), town.project.path("a/again.md")).expect("link");
    let root = town.project.path("a");
    let entry = |name: &str| {
        let file = root.join(name);
        format!("[[watch]]\nfile = {file:?}\nroot = {root:?}\n\n")
    };
    let list: String = ["clada.md", "two.md", "again.md"].map(entry).concat();
    save_by_rename(&town.project.config_folder().join("watched.toml"), list);
    let daemon = town.daemon();
    daemon.wait_for("` is already watched: this clada already has it");
    let long = exec("touch begun; until [ -e go ]; do sleep 0.02; done");
    save_by_rename(&town.notes("a"), long);
    wait_until(|| root.join("begun").exists(), || daemon.said());
    save_by_rename(&root.join("two.md"), exec("echo two"));
    daemon.wait_for("waiting for another run in this folder");
    town.project.write("a/go", "");
    assert!(town.results("a", &daemon).starts_with("1 ✅ exec"));
    let two = || town.project.read("a/two.md");
    wait_until(|| two().contains("=== END ==="), two);
    assert!(results(&two()).starts_with("1 ✅ exec"));
}

#[test]
fn a_link_of_the_list_that_is_pointed_elsewhere_is_followed() {
    let town = Town::new();
    town.build("diary");
    for day in ["22", "23"] {
        town.project.write(&format!("diary/{day}.md"), "day\n");
    }
    symlink("22.md", town.notes("diary")).expect("link");
    town.list(&["diary"]);
    let daemon = town.daemon();
    let read = |day: &str| town.project.read(&format!("diary/{day}.md"));
    let run = |word: &str| {
        let path = town.notes("diary");
        let text = fs::read_to_string(&path).unwrap_or_default();
        fs::write(
            &path,
            format!(
                "{text}reply {word}\n{}",
                exec(&format!("echo {word} >> said"))
            ),
        )
        .expect("write");
    };
    let ran = |day: &str, word: &str| {
        let line = format!("1 ✅ exec echo {word} >> said");
        wait_until(|| read(day).contains(&line), || read(day) + &daemon.said());
    };
    run("one");
    ran("22", "one");
    for (day, word) in [("23", "two"), ("22", "three")] {
        let new = town.project.path("diary/new");
        symlink(format!("{day}.md"), &new).expect("link");
        fs::rename(&new, town.notes("diary")).expect("rename");
        let target = town.project.path(&format!("diary/{day}.md"));
        let is_there = || {
            let held = clada::world::lock::Lock::held(
                &town.project.state_folder().join("locks"),
                &["file"],
            );
            held == [target.clone()]
        };
        wait_until(is_there, || daemon.said());
        // It was looked at once, and nothing was to be done.
        let status = || town.status()["processes"][0]["files"][0]["notes"].clone();
        wait_until(
            || status() == target.display().to_string(),
            || status().to_string(),
        );
        run(word);
        ran(day, word);
    }
    assert_eq!(town.project.read("diary/said"), "one\ntwo\nthree\n");
}
