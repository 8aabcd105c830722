//! What the listener is told by its command line.

use std::fs::{self, File};
use std::io::Write;
use std::time::{Duration, Instant};

use super::{NOTES, Notes, OUTPUT, exec, lines, wait_for_results};
use crate::harness::{Project, save_by_rename, wait_until};

#[test]
fn without_git() {
    let project = Project::with_git();
    let _watching = project.watch(["--no-git"]);
    save_by_rename(&project.path(NOTES), exec("echo one >> runs.txt"));
    let notes = wait_for_results(&project, "1 ✅");
    assert_eq!(notes.results, ["1 ✅ exec echo one >> runs.txt"]);
    assert_eq!(project.git(["rev-list", "--all", "--count"]), "0\n");
}

#[test]
fn without_a_repository() {
    let project = Project::new();
    let _watching = project.watch([]);
    save_by_rename(&project.path(NOTES), exec("echo one >> runs.txt"));
    let notes = wait_for_results(&project, "1 ✅");
    assert!(
        notes.results[1].starts_with("💚 snapshot "),
        "{:?}",
        notes.results
    );
    assert!(!project.exists(".git"));
}

#[test]
fn without_a_clipboard_line_1_is_blank() {
    let project = Project::with_git();
    let _watching = project.watch(["--no-clipboard"]);
    save_by_rename(&project.path(NOTES), exec("echo one"));
    let notes = wait_for_results(&project, "1 ✅");
    assert_eq!(notes.status, "");
    assert!(
        project
            .read(OUTPUT)
            .starts_with("\n=== CLADA RESULTS ===\n")
    );
}

#[test]
fn the_output_file_has_the_name_that_was_given() {
    let project = Project::with_git();
    let _watching = project.watch(["--output-file", "results of clada.txt"]);
    save_by_rename(&project.path(NOTES), exec("echo one"));
    wait_for_results(&project, "1 ✅");
    assert!(
        project
            .read("results of clada.txt")
            .contains("[1] exec echo one:\nstdout:\none\n")
    );
    assert!(!project.exists(OUTPUT));
    assert!(
        project
            .git(["status", "--porcelain"])
            .contains("?? \"results of clada.txt\"")
    );
}

#[test]
fn an_output_file_must_be_a_bare_name() {
    let project = Project::new();
    for name in ["a/b.txt", "/tmp/b.txt", "..", ".", "", "b/"] {
        let run = project
            .clada(["watch", &format!("--output-file={name}")])
            .exits(2);
        assert!(
            run.err.contains(
                "it must be a file name without a folder: the output file is next to the notes file"
            ),
            "{}",
            run.err
        );
    }
    let run = project
        .clada(["watch", "--output-file", NOTES, NOTES])
        .exits(2);
    assert!(
        run.err
            .contains("` is the watched file: give the output file another name"),
        "{}",
        run.err
    );
}

#[test]
fn a_second_clada_on_the_same_file_is_refused() {
    let project = Project::new();
    let watching = project.watch([]);
    std::os::unix::fs::symlink(NOTES, project.path("link.md")).expect("symlink");
    for file in [NOTES, "link.md"] {
        let run = project.clada(["watch", file]).exits(2);
        assert!(
            run.err.contains(&format!(
                "` is already watched by another clada (process {}): save replies in it, or stop that process first",
                watching.pid()
            )),
            "{}",
            run.err
        );
    }
    // One that was killed leaves nothing behind.
    drop(watching);
    drop(project.watch([]));
}

#[test]
fn a_second_file_has_an_output_file_of_its_own() {
    let project = Project::with_git();
    let _one = project.watch([]);
    let _two = project.watch(["two.md"]);
    save_by_rename(&project.path(NOTES), exec("echo one"));
    wait_for_results(&project, "1 ✅");
    save_by_rename(&project.path("two.md"), exec("echo two"));
    wait_until(
        || Notes::parse(&project.read("two.md")).is_some(),
        || project.read("two.md"),
    );
    assert!(project.read(OUTPUT).contains("\none\n"));
    assert!(
        project
            .read(".clada-output-latest.two.md.txt")
            .contains("\ntwo\n")
    );
    let committed = project.git(["log", "--all", "--name-only", "--format="]);
    assert_eq!(committed.trim(), "", "{committed}");
}

#[test]
fn the_quiet_time_is_for_writers_that_keep_the_file_open() {
    let project = Project::with_git();
    assert_eq!(project.clada(["watch", "--debounce", "9"]).code, Some(2));
    let watching = project.watch(["--debounce", "1900"]);
    let start = Instant::now();
    let mut file = File::create(project.path(NOTES)).expect("create");
    file.write_all(exec("echo open >> runs.txt").as_bytes())
        .expect("write");
    wait_until(|| project.exists("runs.txt"), || watching.said());
    assert!(
        start.elapsed() >= Duration::from_millis(1900),
        "{:?}",
        start.elapsed()
    );
    drop(file);
    wait_for_results(&project, "echo open");
    if cfg!(target_os = "linux") {
        // Closed and nobody writes: the quiet time is not waited for, though a busy machine may take as long now and then.
        let is_faster = |word: &str| {
            let start = Instant::now();
            let text = project.read(NOTES) + "and\n" + &exec(&format!("echo {word} >> runs.txt"));
            fs::write(project.path(NOTES), text).expect("write");
            wait_for_results(&project, &format!("1 ✅ exec echo {word}"));
            start.elapsed() < Duration::from_millis(1900)
        };
        assert!(["a", "b", "c", "d", "e"].into_iter().any(is_faster));
    }
}

#[test]
fn polling() {
    let project = Project::with_git();
    let _watching = project.watch(["--poll", "200ms"]);
    for word in ["one", "two"] {
        let text = project.read(NOTES) + &exec(&format!("echo {word} >> runs.txt"));
        save_by_rename(&project.path(NOTES), text);
        wait_for_results(&project, &format!("1 ✅ exec echo {word}"));
    }
    assert_eq!(lines(&project, "runs.txt"), ["one", "two"]);
}
