//! A wish to stop that comes while clada waits for somebody else: it ends in time, and nothing is lost.

use std::fs;
#[cfg(target_os = "linux")]
use std::fs::{File, OpenOptions};
#[cfg(target_os = "linux")]
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{NOTES, Notes, exec, pause};
use crate::harness::{Project, Watching, save_by_rename, wait_until};

/// How soon clada has to be gone.
const SOON: Duration = Duration::from_secs(3);

/// Stops it; what it printed.
#[track_caller]
fn stopped(watching: Watching) -> String {
    let start = Instant::now();
    watching.signal(Signal::TERM);
    let (code, said) = watching.end();
    let took = start.elapsed();
    assert!(code == Some(0) && took < SOON, "{code:?}, {took:?}: {said}");
    said
}

/// What is kept beside the notes.
fn saved(project: &Project) -> Vec<PathBuf> {
    let entries = fs::read_dir(project.root()).expect("read dir");
    let paths = entries.map(|entry| entry.expect("entry").path());
    paths
        .filter(|path| {
            let name = path.file_name().expect("name").to_string_lossy();
            assert!(!name.starts_with(".clada-tmp-"), "{name}");
            name.starts_with(".clada-saved-")
        })
        .collect()
}

/// A clada in the middle of this reply's exec.
fn in_a_run(project: &Project, reply: &str) -> Watching {
    let watching = project.watch(["--no-git", "--no-clipboard"]);
    save_by_rename(&project.path(NOTES), reply);
    wait_until(|| project.exists("started"), || watching.said());
    watching
}

#[test]
#[cfg(target_os = "linux")]
fn while_somebody_has_the_notes_open_for_writing() {
    let reply = exec("touch started; sleep 60");
    let late = "typed late\n";
    for half_written in [false, true] {
        let project = Project::new();
        let watching = in_a_run(&project, &reply);
        let (mut writer, there, rest) = if half_written {
            let (there, rest) = reply.split_at(reply.len() / 2);
            let mut writer = File::create(project.path(NOTES)).expect("create");
            writer.write_all(there.as_bytes()).expect("write");
            (writer, there, rest)
        } else {
            let append = OpenOptions::new().append(true).open(project.path(NOTES));
            (append.expect("open"), reply.as_str(), "")
        };
        let said = stopped(watching);
        let notes = Notes::of(&project);
        assert!(notes.results[0].starts_with("1 ⚠ exec touch started"));
        assert_eq!(notes.body, there);
        // What the writer goes on writing is in the file that the person was told of.
        writer
            .write_all([rest, late].concat().as_bytes())
            .expect("write");
        let [saved] = saved(&project).try_into().expect("one saved file");
        let says = format!(
            "your notes file lacks a save that came in meanwhile: compare it with {}",
            saved.display()
        );
        assert!(said.contains(&says), "{said}");
        assert_eq!(
            fs::read_to_string(saved).expect("read"),
            format!("{reply}{late}")
        );
    }
}

#[test]
#[cfg(target_os = "linux")]
fn while_somebody_has_notes_with_a_second_name_open() {
    let reply = exec("touch started; sleep 60");
    let project = Project::new();
    let watching = in_a_run(&project, &reply);
    fs::hard_link(project.path(NOTES), project.path("second.md")).expect("link");
    let _reader = File::open(project.path(NOTES)).expect("open");
    let said = stopped(watching);
    assert!(said.contains(
            "another program keeps it open, so clada cannot write it safely: watch it through a symbolic link instead"
        ), "{said}");
    assert_eq!(project.read(NOTES), reply);
    assert_eq!(project.read("second.md"), reply);
}

#[test]
#[cfg(target_os = "linux")]
fn a_second_signal_ends_it_at_once() {
    let reply = exec("touch started; sleep 60");
    let project = Project::new();
    let watching = in_a_run(&project, &reply);
    let _writer = OpenOptions::new()
        .append(true)
        .open(project.path(NOTES))
        .expect("open");
    watching.signal(Signal::TERM);
    watching.signal(Signal::INT);
    let (code, said) = watching.end();
    assert_eq!(code, Some(130), "{said}");
    assert_eq!(project.read(NOTES), reply);
    assert!(saved(&project).is_empty());
}

#[test]
fn while_a_run_waits_for_that_of_another() {
    let project = Project::new();
    let _watching = in_a_run(&project, &exec("touch started; sleep 60"));
    project.write("reply", exec("echo one >> runs.txt"));
    let mut run = project.command(env!("CARGO_BIN_EXE_clada"));
    run.args(["run", "--no-git", "reply"]);
    let run = Watching::start(run);
    run.wait_for("waiting for the run of another clada here (process ");
    let start = Instant::now();
    run.signal(Signal::TERM);
    let (code, said) = run.end();
    let took = start.elapsed();
    assert!(code == Some(1) && took < SOON, "{code:?}, {took:?}: {said}");
    assert!(said.ends_with("stopped before anything ran\n"), "{said}");
    assert!(!project.exists("runs.txt"));

    let mut undo = project.command(env!("CARGO_BIN_EXE_clada"));
    undo.arg("undo");
    let undo = Watching::start(undo);
    undo.wait_for("waiting for the run of another clada here (process ");
    undo.signal(Signal::TERM);
    let (code, said) = undo.end();
    assert_ne!(code, Some(0), "{said}");
    assert!(
        said.ends_with("stopped before anything was done\n"),
        "{said}"
    );
}

/// Git's lock is the existence of the file, whoever made it.
const LOCK: &str = ".git/index.lock";

#[test]
#[cfg(target_os = "linux")]
fn while_gits_lock_is_held_before_a_batch() {
    let project = Project::with_git();
    let watching = project.watch(["--no-clipboard"]);
    project.write(LOCK, "");
    let reply = exec("echo one >> runs.txt") + &exec("echo two >> runs.txt").repeat(20);
    save_by_rename(&project.path(NOTES), &reply);
    // The first that it does for a batch is to take its own lock; then it finds git's, and waits for it for seconds.
    let begun = || {
        let locks = fs::read_dir(project.state_folder().join("locks"));
        let mut locks = locks.into_iter().flatten().flatten();
        locks.any(|lock| lock.file_name().to_string_lossy().starts_with("root-"))
    };
    wait_until(begun, || watching.said());
    // It waits for git's lock by then, most likely; where it does not, it finds it later.
    pause();
    let said = stopped(watching);
    let text = project.read(NOTES);
    assert!(text.ends_with(&reply), "{text}");
    assert!(
        text.contains("1 ⏹ exec echo one >> runs.txt - git: another git process holds"),
        "{text}\n{said}"
    );
    assert!(!project.exists("runs.txt"));
    assert_eq!(project.git(["rev-list", "--all", "--count"]), "0\n");
}

#[test]
fn while_gits_lock_is_held_after_a_task() {
    let project = Project::with_git();
    let watching = project.watch(["--no-clipboard"]);
    let reply = exec(&format!(
        "echo done > made.txt; touch {LOCK}; echo $$ > pid"
    )) + &exec("echo two >> runs.txt");
    save_by_rename(&project.path(NOTES), &reply);
    let over = || {
        let pid = fs::read_to_string(project.path("pid")).unwrap_or_default();
        pid.ends_with('\n') && !project.command_runs(&pid)
    };
    wait_until(over, || watching.said());
    // It waits for git's lock by then, most likely; where it does not, it finds it later.
    pause();
    let said = stopped(watching);
    let notes = Notes::of(&project);
    assert!(
        notes.results[0].starts_with("1 ✅ exec echo done"),
        "{said}"
    );
    assert!(
        notes
            .results
            .iter()
            .any(|line| line.starts_with("⚠ git: task 1 was not saved: another git process holds")),
        "{:?}",
        notes.results
    );
    assert_eq!(notes.body, reply);
    assert_eq!(project.read("made.txt"), "done\n");
    assert!(!project.exists("runs.txt"));
}
