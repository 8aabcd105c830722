//! A run, while it goes on and when it is over: git, the output file, the terminal, and being stopped.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{NOTES, Notes, OUTPUT, exec, exec_task, lines, modified, pause, wait_for_results};
use crate::harness::{Project, save_by_rename, wait_until};

#[test]
fn git_has_the_state_before_and_after() {
    let project = Project::with_git();
    project.write("a.txt", "nothing\n").commits();
    project.write("a.txt", "one\n");
    let _watching = project.watch([]);
    let reply = "<tasks message=\"Say two\">\n<task>\n<i>two is more</i>\n<path>a.txt</path>\n<c>edit</c>\n\
                 <search>one</search>\n<replace>two</replace>\n</task>\n</tasks>\n";
    save_by_rename(&project.path(NOTES), reply);
    let notes = wait_for_results(&project, "1 ✅ edit a.txt");
    let log = project.git(["log", "--reverse", "--format=%h %s"]);
    let commits: Vec<(&str, &str)> = log
        .lines()
        .filter_map(|line| line.split_once(' '))
        .collect();
    let [_, (before, first), (after, second)] = commits.as_slice() else {
        panic!("{log}")
    };
    assert!(
        first.ends_with("💚clada") && *second == "Say two 💚clada",
        "{log}"
    );
    assert_eq!(
        notes.results[1..3],
        [
            format!("💚 saved your work: 1 file ({before})"),
            format!("💚 git {before} → {after}")
        ]
    );
    assert_eq!(project.git(["show", "HEAD~:a.txt"]), "one\n");
    assert_eq!(project.git(["show", "HEAD:a.txt"]), "two\n");
    let body = project.git(["log", "-1", "--format=%b"]);
    assert!(
        body.contains("edit a.txt - two is more\n") && body.contains("\nClada-Batch: "),
        "{body}"
    );
    // Neither the notes nor the output file, now or ever.
    assert_eq!(
        project.git(["log", "--all", "--name-only", "--format="]),
        "a.txt\na.txt\na.txt\n"
    );
    assert_eq!(
        project.git(["status", "--porcelain"]),
        format!("?? {OUTPUT}\n?? {NOTES}\n")
    );
}

#[test]
fn the_output_file_follows_a_run_and_has_its_final_form_then() {
    let project = Project::with_git();
    let watching = project.watch([]);
    let reply = exec("echo first; echo oops >&2; until [ -e go ]; do sleep 0.01; done; echo last")
        + &exec("exit 3");
    save_by_rename(&project.path(NOTES), &reply);
    wait_until(
        || project.exists(OUTPUT) && project.read(OUTPUT).contains("\nfirst\n"),
        || project.read(OUTPUT),
    );
    let live = project.read(OUTPUT);
    assert!(
        live.starts_with("⏳ running\n\n[1] exec echo first") && !live.contains("last\n"),
        "{live}"
    );
    watching.wait_for("▶ 1/2 exec echo first");
    watching.wait_for("  │ first\n");
    assert_eq!(
        project.read(NOTES),
        reply,
        "the file is left alone meanwhile"
    );
    project.write("go", "");
    let notes = wait_for_results(&project, "2 ❌ exec exit 3 - exit code 3");
    watching.wait_for("  │ last\n");
    watching.wait_for("2 ❌ exec exit 3 - exit code 3");
    let output = project.read(OUTPUT);
    let block = project.read(NOTES);
    let block = block.strip_suffix(&notes.body).expect("body");
    let title =
        "[1] exec echo first; echo oops >&2; until [ -e go ]; do sleep 0.01; done; echo last:";
    assert_eq!(
        output,
        format!(
            "{block}=== OUTPUTS ===\n\n{title}\nstdout:\nfirst\nlast\nstderr:\noops\n=== END ===\n"
        )
    );
}

#[test]
fn what_is_saved_during_a_run_stays_and_is_processed_next() {
    let project = Project::with_git();
    let watching = project.watch([]);
    let one = exec("touch started; until [ -e go ]; do sleep 0.01; done; echo one >> runs.txt");
    save_by_rename(&project.path(NOTES), &one);
    wait_until(|| project.exists("started"), || "the run".to_owned());
    let body = format!("typed meanwhile\n{one}{}", exec("echo two >> runs.txt"));
    save_by_rename(&project.path(NOTES), &body);
    // It is told of the save during the run, and looks only behind it.
    pause();
    project.write("go", "");
    let notes = wait_for_results(&project, "1 ✅ exec echo two");
    assert_eq!(notes.body, body);
    watching.until_it_looked(&project.path(NOTES));
    assert_eq!(lines(&project, "runs.txt"), ["one", "two"]);
}

#[test]
fn stopped_while_idle() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let project = Project::new();
        let watching = project.watch([]);
        let start = Instant::now();
        assert_eq!(watching.stop(signal), Some(0), "{signal:?}");
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "{:?}",
            start.elapsed()
        );
    }
}

#[test]
fn stopped_in_a_run() {
    for signal in [Signal::INT, Signal::TERM] {
        let project = Project::with_git();
        let watching = project.watch([]);
        let reply =
            exec("echo $$ > pid; sleep 60 & echo $! > child; wait") + &exec("echo two >> runs.txt");
        save_by_rename(&project.path(NOTES), &reply);
        let started = || !lines(&project, "child").is_empty();
        wait_until(started, || watching.said());
        let start = Instant::now();
        assert_eq!(watching.stop(signal), Some(0), "{signal:?}");
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "{:?}",
            start.elapsed()
        );
        for file in ["pid", "child"] {
            assert!(!project.command_runs(&project.read(file)), "{file}");
        }
        let notes = Notes::of(&project);
        assert!(
            notes.tasks()[0].starts_with("1 ⚠ exec echo $$ > pid"),
            "{:?}",
            notes.results
        );
        assert_eq!(
            notes.tasks()[1],
            "2 ⏹ exec echo two >> runs.txt - clada was stopped"
        );
        assert_eq!(notes.body, reply);
        assert!(!project.exists("runs.txt"));
        assert!(project.read(OUTPUT).contains("2 ⏹ exec echo two"));
        // Stopped, not crashed: another can begin.
        drop(project.watch([]));
    }
}

#[test]
fn a_merge_in_progress_is_waited_for() {
    let project = Project::with_git();
    let commit = |message: &str| project.git(["commit", "-q", "--allow-empty", "-m", message]);
    commit("base");
    project.git(["checkout", "-q", "-b", "other"]);
    project.write("other.txt", "");
    project.git(["add", "other.txt"]);
    commit("other");
    project.git(["checkout", "-q", "main"]);
    project.git(["merge", "-q", "--no-commit", "--no-ff", "other"]);
    let watching = project.watch([]);
    let reply = exec("echo one >> runs.txt");
    save_by_rename(&project.path(NOTES), &reply);
    let notes = wait_for_results(
        &project,
        "1 ⏹ exec echo one >> runs.txt - git: a merge is in progress",
    );
    assert_eq!(notes.body, reply);
    assert!(
        notes.results[0].ends_with("; the batch then runs by itself"),
        "{:?}",
        notes.results
    );
    let status = || project.clada(["status"]).exits(0).out;
    wait_until(|| status().contains("⏸"), status);
    assert!(
        status().contains("    git: a merge is in progress"),
        "{}",
        status()
    );
    // The last line of a run on the terminal; it is read by another thread.
    watching.wait_for("❌ Clipboard copy failed");
    // Tried again and again, and told once.
    let (saved, said, output) = (
        modified(&project, NOTES),
        watching.said(),
        project.read(OUTPUT),
    );
    assert!(output.contains("a merge is in progress"), "{output}");
    watching.until_it_looked_again(2);
    assert_eq!(modified(&project, NOTES), saved);
    assert_eq!((watching.said(), project.read(OUTPUT)), (said, output));
    // Also by a save that adds nothing.
    save_by_rename(&project.path(NOTES), project.read(NOTES) + "prose\n");
    watching.until_it_saw(&project.path(NOTES));
    assert!(project.read(NOTES).ends_with("prose\n") && !project.exists("runs.txt"));
    project.git(["merge", "--abort"]);
    wait_for_results(&project, "1 ✅ exec echo one");
    wait_until(|| status().contains("    watching\n"), status);
    watching.until_it_looked(&project.path(NOTES));
    assert_eq!(lines(&project, "runs.txt"), ["one"]);
}

#[test]
fn a_refused_batch_that_is_taken_out_is_forgotten() {
    let project = Project::with_git();
    project.git(["commit", "-q", "--allow-empty", "-m", "base"]);
    project.git(["bisect", "start"]);
    let watching = project.watch([]);
    save_by_rename(&project.path(NOTES), exec("echo one >> runs.txt"));
    wait_for_results(&project, "a bisect is in progress");
    std::fs::remove_file(project.path(NOTES)).expect("remove");
    watching.wait_for("waiting for it");
    // Neither this nor the next leaves it busy with looking again and again.
    let spent = || {
        let stat =
            std::fs::read_to_string(format!("/proc/{}/stat", watching.pid())).unwrap_or_default();
        let fields: Vec<u64> = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .skip(11)
            .take(2)
            .filter_map(|f| f.parse().ok())
            .collect();
        fields.iter().sum::<u64>()
    };
    let before = spent();
    // The figure is one per time, which is longer than the batch would be tried again.
    std::thread::sleep(Duration::from_millis(2_500));
    save_by_rename(&project.path(NOTES), "prose\n");
    std::thread::sleep(Duration::from_millis(2_500));
    assert!(spent() - before < 30, "{} ticks of CPU", spent() - before);
    project.git(["bisect", "reset"]);
    save_by_rename(&project.path(NOTES), exec("echo two >> runs.txt"));
    wait_for_results(&project, "1 ✅ exec echo two");
    assert_eq!(lines(&project, "runs.txt"), ["two"]);
}

#[test]
fn a_run_waits_for_another_in_the_same_folder() {
    let project = Project::with_git();
    let one = project.watch([]);
    let two = project.watch(["two.md"]);
    save_by_rename(
        &project.path(NOTES),
        exec("touch started; until [ -e go ]; do sleep 0.01; done; echo one >> runs.txt"),
    );
    wait_until(|| project.exists("started"), || one.said());
    save_by_rename(&project.path("two.md"), exec("echo two >> runs.txt"));
    two.wait_for("waiting for the run of another clada in this folder (process ");
    two.wait_for(&one.pid().to_string());
    let what = format!(
        "`{}` runs 1/1 exec touch started",
        project.path(NOTES).display()
    );
    two.wait_for(&what);
    let status = project.clada(["status"]).exits(0).out;
    assert!(status.contains(&what) && status.contains("⏸"), "{status}");
    // Whoever looks at the notes learns it there.
    wait_until(
        || project.read("two.md").contains(&what),
        || project.read("two.md"),
    );
    project.write("go", "");
    wait_until(
        || lines(&project, "runs.txt") == ["one", "two"],
        || two.said(),
    );
}

#[test]
fn a_tick_prints_only_what_it_runs() {
    let project = Project::new();
    project.configure("[exec]\nask = [\"asked\"]\n");
    let watching = project.watch(["--no-clipboard"]);
    let tasks = ["echo one", "asked; echo two", "echo three"].map(exec_task);
    let reply = format!("<tasks>\n{}</tasks>\n", tasks.concat());
    save_by_rename(&project.path(NOTES), &reply);
    wait_for_results(&project, "2 ⏸ exec asked");
    watching.wait_for("3 ✅ exec echo three");
    let before = watching.said().len();
    let ticked = project.read(NOTES).replace("- [ ] run it", "- [x] run it");
    save_by_rename(&project.path(NOTES), ticked);
    wait_for_results(&project, "2 ✅ exec asked");
    watching.wait_for("2 ✅ exec asked");
    let said = watching.said().split_off(before);
    assert!(
        !said.contains("echo one") && !said.contains("echo three"),
        "{said}"
    );
}

/// What came of each task is counted, and what waits for a tick is told.
#[test]
fn the_status_counts_every_task_of_the_last_run() {
    let project = Project::new();
    project.configure("[exec]\nask = [\"asked\"]\n");
    let watching = project.watch(["--no-clipboard"]);
    let tasks = ["true", "false", "asked"].map(exec_task).concat();
    let reply = format!("<tasks>\n{tasks}</tasks>\nand\n{}", exec("echo more"));
    save_by_rename(&project.path(NOTES), &reply);
    wait_for_results(&project, "3 ⏸ exec asked");
    let status = project.clada(["status"]).exits(0).out;
    let process = format!("in a terminal, process {}, since ", watching.pid());
    assert!(status.contains(&process), "{status}");
    assert!(
        status.contains(": 4 tasks, 2 done, 1 failed, 1 waiting for approval\n"),
        "{status}"
    );
    assert!(
        status.contains("    waiting for your tick: exec asked"),
        "{status}"
    );
    let status = project.clada(["status", "--json"]).json();
    let last = &status["processes"][0]["files"][0]["last"];
    assert_eq!(
        (
            &last["tasks"],
            &last["done"],
            &last["failed"],
            &last["asks"]
        ),
        (&4.into(), &2.into(), &1.into(), &1.into())
    );
}

/// A paste without a task is mentioned once, and never in the notes; what is typed is not.
#[test]
fn a_reply_without_tasks_is_mentioned_once() {
    let project = Project::new();
    let watching = project.watch(["--no-clipboard"]);
    let said = || watching.said().matches("no task").count();
    let mut text = "my notes\n".to_owned();
    for word in "what one types comes in pieces "
        .repeat(20)
        .split_inclusive(' ')
    {
        text += word;
        save_by_rename(&project.path(NOTES), &text);
        // As fast as saves come, and some of them together.
        std::thread::sleep(Duration::from_millis(5));
    }
    // A task that is seen after it tells that all of that was.
    text += &exec("echo one >> runs.txt");
    save_by_rename(&project.path(NOTES), &text);
    wait_for_results(&project, "1 ✅ exec echo one");
    assert_eq!(said(), 0, "{}", watching.said());
    let block = project.read(NOTES);
    text = block.clone() + &"The answer is that nothing has to be done about it. ".repeat(10);
    save_by_rename(&project.path(NOTES), &text);
    watching.wait_for("no task");
    for more in ["a", "b", "c"] {
        text += more;
        save_by_rename(&project.path(NOTES), &text);
        watching.until_it_looked(&project.path(NOTES));
    }
    assert_eq!(said(), 1, "{}", watching.said());
    assert_eq!(project.read(NOTES), text);
}
