//! Files that other programs write to while they are saved.

use std::fs::{OpenOptions, read_to_string, remove_file};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::store::{is_sound, overwrite, run};
use crate::harness::Project;

const LINE: &str = "what a server writes into its log\r\n";

/// Files that grow, with and without a conversion of line ends, and one that is written anew.
const NAMES: [&str; 3] = ["grows.log", "grows.txt", "anew.log"];

/// Does one thing in rounds for as long as another takes, or too long.
fn beside<T>(one: impl Fn(usize) + Sync, other: impl FnOnce() -> T) -> T {
    let (began, done) = (Instant::now(), AtomicBool::new(false));
    let goes_on = || !done.load(Ordering::Relaxed) && began.elapsed() < Duration::from_mins(2);
    thread::scope(|scope| {
        scope.spawn(|| (0..).take_while(|_| goes_on()).for_each(&one));
        let result = other();
        done.store(true, Ordering::Relaxed);
        result
    })
}

#[test]
fn a_file_that_is_written_to_all_the_time_is_saved_as_it_was_read() {
    let project = Project::with_git();
    project
        .write(".gitattributes", "*.txt text\n")
        .write("grows.log", LINE.repeat(100_000))
        .write("grows.txt", LINE.repeat(50_000))
        .write("anew.log", LINE);
    project.commits();
    let write = |round: usize| {
        for name in ["grows.log", "grows.txt"] {
            let file = OpenOptions::new().append(true).open(project.path(name));
            file.unwrap().write_all(LINE.as_bytes()).unwrap();
        }
        project.write("anew.log", LINE.repeat(round % 50));
    };
    let ended = beside(write, || {
        ["one", "two", "three"].map(|text| run(&project, &[overwrite("b.txt", text)]))
    });
    for ended in ended {
        let ended = ended.exits(0);
        let results = ended.results();
        assert!(!results.contains('⚠'), "{results}");
        assert!(results.contains("💚 git "), "{results}");
    }
    let committed = |name: &str| project.git(["show", &format!("HEAD:{name}")]);
    let is_whole = |name: &str| {
        let line = if name.ends_with(".txt") {
            LINE.replace('\r', "")
        } else {
            LINE.to_owned()
        };
        let committed = committed(name);
        let lines = committed.len() / line.len() + 1;
        line.repeat(lines).starts_with(&committed)
    };
    assert_eq!(NAMES.map(is_whole), [true; 3]);
    assert!(committed("grows.log").len() > 100_000 * LINE.len());

    // At rest, all that was written is saved.
    run(&project, &[overwrite("b.txt", "at rest")]).exits(0);
    assert_eq!(project.git(["status", "--porcelain"]), "");
    assert_eq!(
        committed("grows.log").trim(),
        read_to_string(project.path("grows.log")).unwrap().trim()
    );
    is_sound(&project);
}

#[test]
fn a_file_that_comes_and_goes_stops_nothing() {
    let project = Project::with_git();
    project.write("comes.txt", LINE);
    project.commits();
    let path = project.path("comes.txt");
    let ended = beside(
        |round| {
            project.write("comes.txt", LINE.repeat(round % 50));
            remove_file(&path).unwrap();
        },
        || {
            ["one", "two", "three", "four", "five"]
                .map(|text| run(&project, &[overwrite("b.txt", text)]))
        },
    );
    for ended in ended {
        ended.exits(0);
    }
    run(&project, &[overwrite("b.txt", "at rest")]).exits(0);
    assert_eq!(project.git(["status", "--porcelain"]), "");
    is_sound(&project);
}
