//! `clada retry`: what is left of the last batch runs again, here or in the clada that watches.

use rustix::process::Signal;

use super::{NOTES, Notes, exec, exec_task, lines, wait_for_results};
use crate::harness::{Project, save_by_rename, wait_until};

/// Three execs that say that they ran; the second fails until there is a file `ok`.
fn three() -> String {
    let scripts = [
        "echo one >> runs.txt",
        "echo two >> runs.txt; test -e ok",
        "echo three >> runs.txt",
    ];
    format!("<tasks>\n{}</tasks>\n", scripts.map(exec_task).concat())
}

const AGAIN: [&str; 3] = [
    "1 ⏭ exec echo one >> runs.txt - not run again",
    "2 ✅ exec echo two >> runs.txt; test -e ok",
    "3 ⏭ exec echo three >> runs.txt - not run again",
];

#[test]
fn nothing_to_run_again() {
    let project = Project::new();
    project.write(NOTES, "notes\n");
    let said = project.clada(["retry", "--no-clipboard"]).exits(0).out;
    assert!(
        said.starts_with("nothing to retry: no task of the last batch failed or is left to run; for an older one, tick its box in the notes"),
        "{said}"
    );
    assert_eq!(project.read(NOTES), "notes\n");
}

#[test]
fn where_nobody_watches() {
    let project = Project::with_git();
    let watching = project.watch([]);
    save_by_rename(&project.path(NOTES), three());
    wait_for_results(&project, "2 ❌");
    drop(watching);
    // What was pasted meanwhile is none of its business.
    let new = exec("echo new >> runs.txt");
    let text = project.read(NOTES) + "more\n" + &new;
    save_by_rename(&project.path(NOTES), text);

    let failed = project.clada(["retry", "--no-clipboard"]).exits(1);
    assert!(failed.out.contains("2 ❌"), "{}", failed.out);
    project.write("ok", "");
    project.clada(["retry", "--no-clipboard"]).exits(0);
    let notes = wait_for_results(&project, "2 ✅");
    assert_eq!(notes.tasks(), AGAIN);
    assert_eq!(notes.body, format!("{}more\n{new}", three()));
    assert_eq!(
        lines(&project, "runs.txt"),
        ["one", "two", "three", "two", "two"]
    );
    let said = project.clada(["retry", "--no-clipboard"]).exits(0).out;
    assert!(
        said.starts_with("nothing to retry: no task of the last batch failed or is left to run"),
        "{said}"
    );

    let _watching = project.watch([]);
    wait_for_results(&project, "echo new");
    assert_eq!(
        lines(&project, "runs.txt").last().map(String::as_str),
        Some("new")
    );
}

#[test]
fn where_a_clada_watches() {
    let project = Project::with_git();
    let watching = project.watch([]);
    save_by_rename(&project.path(NOTES), three());
    wait_for_results(&project, "2 ❌");
    project.write("ok", "");
    let asked = project.clada(["retry"]).exits(0).out;
    let pid = format!("process {}", watching.pid());
    assert!(
        asked.contains("1 task of") && asked.contains(&pid),
        "{asked}"
    );
    let notes = wait_for_results(&project, "2 ✅");
    assert_eq!(notes.tasks(), AGAIN);
    assert_eq!(notes.body, three());
    assert_eq!(lines(&project, "runs.txt"), ["one", "two", "three", "two"]);
}

#[test]
fn while_it_still_runs() {
    let project = Project::new();
    let _watching = project.watch([]);
    let script = "touch started; until [ -e go ]; do sleep 0.01; done; echo done >> runs.txt";
    save_by_rename(&project.path(NOTES), exec(script));
    wait_until(|| project.exists("started"), || "the run".to_owned());
    let refused = project.clada(["retry"]).exits(1);
    assert!(
        refused
            .err
            .contains("the last batch is still running: try again when it has finished"),
        "{}",
        refused.err
    );
    let uncopied = project.clada(["copy", "--print", "1"]).exits(1).err;
    assert_eq!(
        uncopied,
        "clada: batch `1` has no results yet: try again when it has finished\n"
    );
    project.write("go", "");
    wait_for_results(&project, "1 ✅");
    assert_eq!(lines(&project, "runs.txt"), ["done"]);
}

/// A command of the same reply that is approved later does not have the others run once more.
#[test]
fn what_was_mended_stays_done_when_a_command_is_approved_after_it() {
    for ticks in [false, true] {
        let project = Project::with_git();
        project.configure("[exec]\nask = [\"asked\"]\n");
        std::fs::create_dir(project.path("f.txt")).expect("mkdir");
        let append = "<task><path>f.txt</path><c>append</c><x>\nline\n</x></task>\n";
        let asked = exec_task("asked; exit 3");
        let mut watching = Some(project.watch([]));
        save_by_rename(
            &project.path(NOTES),
            format!("<tasks>\n{append}{asked}</tasks>\n"),
        );
        wait_for_results(&project, "2 ⏸ exec asked");
        std::fs::remove_dir(project.path("f.txt")).expect("rmdir");
        if !ticks {
            watching = None;
        }
        project.clada(["retry", "--no-clipboard"]);
        wait_for_results(&project, "1 ✅ append f.txt");
        if ticks {
            let ticked = project
                .read(NOTES)
                .replacen("- [ ] run it", "- [x] run it", 1);
            save_by_rename(&project.path(NOTES), ticked);
        } else {
            project.clada(["approve", "--no-clipboard"]);
        }
        wait_for_results(&project, "2 ❌ exec asked");
        assert_eq!(project.read("f.txt"), "line\n");
        project.clada(["retry", "--no-clipboard"]);
        wait_for_results(&project, "1 ⏭ append f.txt");
        assert_eq!(project.read("f.txt"), "line\n", "ticks: {ticks}");
        drop(watching);
    }
}

/// Three execs that say that they ran, of which the second waits for a file `go`. clada is killed there.
fn killed_in_the_second(project: &Project) {
    let scripts = [
        "echo one >> runs.txt",
        "echo two >> runs.txt; until [ -e go ]; do sleep 0.01; done",
        "echo three >> runs.txt",
    ];
    let reply = format!("<tasks>\n{}</tasks>\n", scripts.map(exec_task).concat());
    let watching = project.watch(["--no-clipboard"]);
    save_by_rename(&project.path(NOTES), reply);
    wait_until(
        || lines(project, "runs.txt") == ["one", "two"],
        || watching.said(),
    );
    watching.stop(Signal::KILL);
    project.write("go", "");
}

#[test]
fn after_a_crash_nothing_is_left_that_says_it_is_still_to_be_run() {
    let project = Project::with_git();
    killed_in_the_second(&project);
    project.clada(["retry", "--no-clipboard"]).exits(0);
    let notes = Notes::of(&project);
    assert_eq!(
        notes.tasks()[..3],
        [
            "1 ⏭ exec echo one >> runs.txt - done before clada stopped, so not run again",
            "2 ✅ exec echo two >> runs.txt; until [ -e go ]; do sleep 0.01; done",
            "3 ✅ exec echo three >> runs.txt",
        ]
    );
    assert!(
        notes.tasks()[3].starts_with("⚠ clada stopped during this batch (started")
            && notes.tasks()[3].ends_with("): the rest has run now"),
        "{:?}",
        notes.results
    );
    assert_eq!(notes.tasks().len(), 4, "{:?}", notes.results);
    let ran = ["one", "two", "two", "three"];
    assert_eq!(lines(&project, "runs.txt"), ran);
    let said = project.clada(["retry", "--no-clipboard"]).exits(0).out;
    assert!(
        said.starts_with("nothing to retry: no task of the last batch failed or is left to run"),
        "{said}"
    );
    let watching = project.watch(["--no-clipboard"]);
    watching.until_it_looked(&project.path(NOTES));
    assert_eq!(lines(&project, "runs.txt"), ran);
}

#[test]
fn a_tick_in_results_from_before_a_retry_runs_nothing_a_second_time() {
    let project = Project::with_git();
    killed_in_the_second(&project);
    let watching = project.watch(["--no-clipboard"]);
    wait_for_results(&project, "clada stopped during tasks 1 to 3");
    let offered = project.read(NOTES);
    drop(watching);
    project.clada(["retry", "--no-clipboard"]).exits(0);
    let watching = project.watch(["--no-clipboard"]);
    watching.until_it_looked(&project.path(NOTES));
    // An editor that still had them saves them with the tick.
    save_by_rename(&project.path(NOTES), offered.replace("- [ ]", "- [x]"));
    wait_for_results(&project, "a tick in older results is ignored");
    watching.until_it_looked(&project.path(NOTES));
    assert_eq!(lines(&project, "runs.txt"), ["one", "two", "two", "three"]);
}

#[test]
fn a_file_that_nobody_watches() {
    let project = Project::new();
    for command in ["retry", "approve"] {
        let refused = project.clada([command, "nope.md"]).exits(2).err;
        assert!(
            refused.contains("no notes file `nope.md`: clada knows no notes file for this folder"),
            "{refused}"
        );
    }
    assert!(!project.exists("nope.md"));
    // One that is there, and that no clada ever saw.
    project.write("other.md", "notes\n");
    let refused = project.clada(["retry", "other.md"]).exits(2).err;
    assert!(refused.contains("other.md"), "{refused}");
}
