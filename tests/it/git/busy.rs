//! Files that other programs write to while they are saved.

use std::fs::{OpenOptions, read_to_string};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::store::{is_sound, overwrite, run};
use crate::harness::Project;

const LINE: &str = "what a server writes into its log\r\n";

/// Files that grow, with and without a conversion of line ends, and one that is written anew.
const NAMES: [&str; 3] = ["grows.log", "grows.txt", "anew.log"];

/// Writes to all files until it is done, or has waited for that too long.
fn write_to(project: &Project, done: &AtomicBool) {
    let began = Instant::now();
    let goes_on = || !done.load(Ordering::Relaxed) && began.elapsed() < Duration::from_mins(2);
    let rounds = (0..).take_while(|_| goes_on());
    for round in rounds {
        for name in ["grows.log", "grows.txt"] {
            let file = OpenOptions::new().append(true).open(project.path(name));
            file.unwrap().write_all(LINE.as_bytes()).unwrap();
        }
        project.write("anew.log", LINE.repeat(round % 50));
    }
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
    let done = AtomicBool::new(false);
    let ended = thread::scope(|scope| {
        scope.spawn(|| write_to(&project, &done));
        let rounds = ["one", "two", "three"];
        let ended = rounds.map(|text| run(&project, &[overwrite("b.txt", text)]));
        done.store(true, Ordering::Relaxed);
        ended
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
