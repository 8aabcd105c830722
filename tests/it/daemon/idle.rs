//! An idle listener costs nothing. Only where `/proc` tells.

#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use super::display::Xvfb;
use super::{NOTES, exec, pause, wait_for_results};
use crate::harness::{Project, Watching, save_by_rename, wait_until};

/// How often each of its threads woke up, by the thread's number.
pub(crate) fn wake_ups(watching: &Watching) -> BTreeMap<String, u64> {
    let threads = fs::read_dir(format!("/proc/{}/task", watching.pid())).expect("threads");
    let of = |status: String| -> u64 {
        let lines = status.lines().filter(|line| line.contains("ctxt_switches"));
        lines
            .filter_map(|line| line.split_whitespace().last()?.parse::<u64>().ok())
            .sum()
    };
    threads
        .filter_map(|thread| {
            let thread = thread.expect("thread");
            // A thread of a run may end between the two.
            let status = fs::read_to_string(thread.path().join("status")).ok()?;
            Some((
                thread.file_name().into_string().expect("a number"),
                of(status),
            ))
        })
        .collect()
}

/// Its memory, in kB.
fn memory(watching: &Watching) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", watching.pid())).expect("status");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS"))
        .expect("VmRSS");
    line.split_whitespace()
        .nth(1)
        .and_then(|kb| kb.parse().ok())
        .expect("kB")
}

#[test]
fn nothing_wakes_it_up() {
    let display = Xvfb::start();
    let mut project = Project::with_git();
    if let Some(display) = &display {
        project = project.on_display(display.name());
    }
    let watching = project.watch([]);
    save_by_rename(&project.path(NOTES), exec("echo one"));
    wait_for_results(&project, "1 ✅");
    watching.until_it_looked(&project.path(NOTES));
    // What only a run needs, such as its threads, comes to rest behind that.
    let rests = || {
        let before = wake_ups(&watching);
        pause();
        wake_ups(&watching) == before
    };
    wait_until(rests, || watching.said());
    let before = wake_ups(&watching);
    // The figure is one per time.
    std::thread::sleep(Duration::from_secs(2));
    // Threads that a run needed may end: tokio keeps them for 10 s.
    let woke = |(thread, times): &(String, u64)| before.get(thread) != Some(times);
    let woken: Vec<_> = wake_ups(&watching).into_iter().filter(woke).collect();
    assert!(woken.is_empty(), "{woken:?} {}", watching.said());
    let kb = memory(&watching);
    assert!(kb < 40_000, "{kb} kB, even for a debug build");
}

#[test]
fn what_waits_shares_a_thread() {
    let project = Project::with_git();
    let watching = project.watch([]);
    watching.until_it_rests();
    let names = || -> BTreeSet<String> {
        let threads = fs::read_dir(format!("/proc/{}/task", watching.pid())).expect("threads");
        // A thread of the start may end between the two.
        let name = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("comm")).ok();
        let names = threads.filter_map(|thread| name(thread.expect("thread")));
        names.map(|name| name.trim_end().to_owned()).collect()
    };
    let usual = ["attendant", "clada", "clipboard", "notify-rs inoti"];
    wait_until(
        || names().iter().eq(usual),
        || format!("{:?} {}", names(), watching.said()),
    );
}

/// Tokens are counted by a vocabulary of 30 MB.
#[test]
fn what_a_task_needs_in_memory_is_given_back() {
    let project = Project::with_git();
    project.write("src/a.rs", "fn one() {}\n");
    let watching = project.watch([]);
    save_by_rename(&project.path(NOTES), exec("echo one"));
    wait_for_results(&project, "1 ✅");
    let before = memory(&watching);
    let task = "<tasks>\n<task><c>context-add</c><path>src/a.rs</path></task>\n</tasks>\n";
    save_by_rename(&project.path(NOTES), exec("echo one") + task);
    wait_for_results(&project, "tokens");
    let after = || memory(&watching);
    wait_until(
        || after() < before + 15_000,
        || format!("{before} kB, then {} kB", after()),
    );
}
