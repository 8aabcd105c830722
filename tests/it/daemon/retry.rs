//! `clada retry`: what is left of the last batch runs again, here or in the clada that watches.

use rustix::process::Signal;

use super::{NOTES, Notes, exec, exec_task, lines, ran, record, wait_for_results};
use crate::harness::{Ended, Project, save_by_rename, wait_until};

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

/// `clada retry` with these arguments, where nothing is copied.
fn retry(project: &Project, args: &[&str]) -> Ended {
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.args(["retry", "--no-clipboard"]).args(args);
    Ended::of(command, "")
}

/// Two tasks, of which the second waits for approval.
fn with_question() -> String {
    let scripts = ["echo one >> runs.txt", "echo asked >> runs.txt"];
    format!("<tasks>\n{}</tasks>\n", scripts.map(exec_task).concat())
}

#[test]
fn a_whole_batch_runs_again_where_nobody_watches() {
    let project = Project::with_git();
    let watching = project.watch([]);
    for word in ["first", "second"] {
        save_by_rename(&project.path(NOTES), exec(&record(word)));
        wait_for_results(&project, &format!("✅ exec {}", record(word)));
    }
    drop(watching);
    retry(&project, &["--all"]).exits(0);
    assert_eq!(ran(&project), ["first", "second", "second"]);
    // An older one, by its number and by its id.
    retry(&project, &["--all", "1"]).exits(0);
    assert_eq!(ran(&project), ["first", "second", "second", "first"]);
    let id = id_of(&project, 1);
    retry(&project, &["--all", &id]).exits(0);
    assert_eq!(ran(&project).last().map(String::as_str), Some("first"));
    assert_eq!(ran(&project).len(), 5);
    let log = project.clada(["log"]).exits(0).out;
    for line in ["batch 3 (retry of batch 2)", "batch 4 (retry of batch 1)"] {
        assert!(log.contains(line), "{line}: {log}");
    }
    // By then batch 4 stands for batch 1.
    assert!(log.contains("batch 5 (retry of batch 4)"), "{log}");
    // What ran again is in the notes still, and runs no further time by itself.
    let watching = project.watch(["--no-clipboard"]);
    watching.until_it_looked(&project.path(NOTES));
    assert_eq!(ran(&project).len(), 5);
}

/// The id of a batch, as `clada log` shows it.
fn id_of(project: &Project, number: u64) -> String {
    let log = project.clada(["log", "--json"]).exits(0).out;
    let log: serde_json::Value = serde_json::from_str(&log).expect("JSON");
    let batches = log.as_array().expect("an array");
    let batch = batches.iter().find(|batch| batch["batch"] == number);
    let id = &batch.expect("the batch")["id"];
    id.as_str().expect("an id").to_owned()
}

#[test]
fn a_whole_batch_runs_again_in_the_clada_that_watches_and_asks_again() {
    let project = Project::with_git();
    project.configure("[exec]\nask = [\"echo asked\"]\n");
    let watching = project.watch([]);
    save_by_rename(&project.path(NOTES), with_question());
    wait_for_results(&project, "2 ⏸ exec echo asked");
    project.clada(["approve"]).exits(0);
    wait_for_results(&project, "2 ✅ exec echo asked");
    assert_eq!(ran(&project), ["one", "asked"]);
    let asked = project.clada(["retry", "--all"]).exits(0).out;
    let pid = format!("process {}", watching.pid());
    assert!(
        asked.starts_with("2 tasks of") && asked.contains(&pid),
        "{asked}"
    );
    // Nothing approves it: the question is there once more.
    wait_for_results(&project, "2 ⏸ exec echo asked");
    assert_eq!(ran(&project), ["one", "asked", "one"]);
    let notes = Notes::of(&project);
    assert_eq!(notes.body, with_question());
    project.clada(["retry", "--all", "1"]).exits(0);
    wait_until(|| ran(&project).len() == 4, || watching.said());
    assert_eq!(ran(&project), ["one", "asked", "one", "one"]);
}

/// A save with two replies is one run.
#[test]
fn all_batches_of_the_last_run_run_again() {
    let project = Project::new();
    let watching = project.watch([]);
    let both = ["first", "second"].map(crate::daemon::reply).concat();
    save_by_rename(&project.path(NOTES), both);
    wait_for_results(&project, "2 ✅ exec");
    drop(watching);
    let said = retry(&project, &["--all", "--no-git"]).exits(0).out;
    assert!(said.contains("2 ✅ exec"), "{said}");
    assert_eq!(ran(&project), ["first", "second", "first", "second"]);
    // The beginning of an id that both have is not enough; the whole one is that of the first.
    let id = id_of(&project, 1);
    let wrong = retry(&project, &["--all", &id[..8]]).exits(2).err;
    assert!(
        wrong.contains("the ids of several batches start with"),
        "{wrong}"
    );
    retry(&project, &["--all", &id, "--no-git"]).exits(0);
    assert_eq!(ran(&project).len(), 5);
}

#[test]
fn a_batch_that_nobody_knows_is_not_run_again() {
    let project = Project::new();
    let nothing = "nothing to run again: no batch of this notes file has run yet";
    project.write(NOTES, "notes\n");
    let said = project
        .clada(["retry", "--all", "--no-clipboard"])
        .exits(0)
        .out;
    assert!(said.starts_with(nothing), "{said}");
    let watching = project.watch(["--no-clipboard"]);
    let said = project.clada(["retry", "--all"]).exits(0).out;
    assert!(said.starts_with(nothing), "{said}");
    save_by_rename(&project.path(NOTES), exec(&record("here")));
    wait_for_results(&project, "1 ✅");
    let unknown = |args: &[&str]| retry(&project, args).exits(2).err;
    let wanted = "`: find its number or id with `clada log`, or choose another notes file with `clada retry FILE --all BATCH`";
    let wrong = unknown(&["--all", "7"]);
    assert!(wrong.contains("no batch `7` ran for `"), "{wrong}");
    assert!(wrong.contains(wanted), "{wrong}");
    // A batch of another notes file.
    project.write("other.md", "notes\n");
    let mut other = project.command(env!("CARGO_BIN_EXE_clada"));
    other.args([
        "watch",
        "other.md",
        "--no-clipboard",
        "--output-file",
        "other.txt",
    ]);
    let other = crate::harness::Watching::start(other);
    other.wait_for("watching ");
    let id = id_of(&project, 1);
    let wrong = unknown(&["other.md", "--all", &id]);
    assert!(
        wrong.contains(&format!("no batch `{id}` ran for `")),
        "{wrong}"
    );
    drop((watching, other));
    let wrong = unknown(&["other.md", "--all", &id]);
    assert!(wrong.contains(wanted), "{wrong}");
    let wrong = unknown(&["--all", "--at", "3"]);
    assert!(wrong.contains("cannot be used with"), "{wrong}");
    assert_eq!(ran(&project), ["here"]);
}

#[test]
fn a_batch_whose_tasks_are_forgotten_is_not_run_again() {
    let project = Project::new();
    let watching = project.watch(["--no-clipboard"]);
    save_by_rename(&project.path(NOTES), exec(&record("old")));
    wait_for_results(&project, "1 ✅");
    drop(watching);
    let ledger = project.state_folder().join("ledger.db");
    let ledger = rusqlite::Connection::open(ledger).expect("ledger");
    let forget = "DELETE FROM task; UPDATE batch SET text = NULL";
    ledger.execute_batch(forget).expect("forget");
    drop(ledger);
    for batch in [&["1"][..], &[]] {
        let wrong = retry(&project, &[&["--all"], batch].concat()).exits(1).err;
        let said = "the tasks of batch `1` are no longer kept (`ledger.days`): paste the reply again to run them";
        assert!(wrong.contains(said), "{wrong}");
    }
    assert_eq!(ran(&project), ["old"]);
}

/// Nobody knows in which state of the file the lines of a diff were counted that ran before.
#[test]
fn a_diff_that_is_tried_again_goes_by_no_line_number() {
    let project = Project::with_git();
    let source =
        "def start():\n    log()\n    run()\ndef stop():\n    log()\n    run()\nprint(1)\n";
    project.write("a.py", source).commits();
    let watching = project.watch(["--no-clipboard"]);
    // It means the second of two equal places, and its last hunk does not fit yet.
    let diff = "``````diff\n--- a/a.py\n+++ b/a.py\n@@ -5,2 +5,2 @@\n-    log()\n+    log(2)\n     run()\n\
                @@ -7,1 +7,1 @@\n-print(2)\n+print(3)\n``````\n";
    save_by_rename(&project.path(NOTES), diff);
    wait_for_results(&project, "1 ❌");
    // The person mends that, and adds lines on top: now the number is that of the first place.
    let mended = "import sys\nimport os\n\n".to_owned() + &source.replace("print(1)", "print(2)");
    project.write("a.py", &mended);
    drop(watching);
    let said = project.clada(["retry", "--no-clipboard"]).exits(1).out;
    assert!(said.contains("found 2 times ("), "{said}");
    assert_eq!(project.read("a.py"), mended);
}
