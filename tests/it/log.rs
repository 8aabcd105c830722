//! `clada log` of a ledger that was filled by the library.

use std::path::{Path, PathBuf};
use std::process::Command;

use clada::reply::record::{Commits, Fate, Key, Number, Prose, Record, TaskRecord};
use clada::world::ledger::{BatchStart, FileId, Ledger, SavedState, TaskEnded};
use clada::world::lock::Lock;

use crate::harness::{Ended, Project, Watching, save_by_rename, wait_until};

/// 2026-03-04 10:32:45 UTC, in milliseconds.
const TEN_THIRTY: i64 = 1_772_620_365_000;

const SIGHT: SavedState<'_> = SavedState {
    state: "",
    present: &[],
};

fn state(project: &Project) -> PathBuf {
    project.state_folder()
}

/// Begins a batch of an edit, a command and a move at that time.
fn begin(ledger: &mut Ledger, file: FileId, number: Number, now_ms: i64) {
    let task = |key| TaskRecord {
        key: Key(key),
        tells: key == 1,
        fate: Fate::NotRun,
    };
    let record = Record {
        number,
        key: Key(number),
        head: Key(0),
        prose: Prose::default(),
        ran: None,
        tasks: (0..3).map(task).collect(),
    };
    let words = [
        ("edit", "src/app.py"),
        ("exec", "sh te\u{1b}st.sh"),
        ("move", "a → b"),
    ];
    let begun = BatchStart {
        record: &record,
        text: "<tasks>",
        id: "20260304-103245-ab12",
        tasks: &words.map(|(command, target)| (command.to_owned(), target.to_owned())),
        again: (number > 1).then(|| number - 1),
        first: Some(0),
        offer: None,
    };
    ledger.begin(file, &begun, SIGHT, now_ms).expect("begin");
}

/// A whole batch: its edit is done, its command fails after 2.4 s, its move is not run.
fn run(ledger: &mut Ledger, file: FileId, number: Number, now_ms: i64) {
    begin(ledger, file, number, now_ms);
    let ends = [
        (Fate::Done(Vec::new()), "done", None),
        (Fate::Failed, "failed", Some("exit code 1 (2.4 s)")),
        (Fate::NotRun, "not-run", Some("stopped")),
    ];
    for (task, (fate, mark, message)) in ends.iter().enumerate() {
        if task == 1 {
            ledger.start(file, number, 1, now_ms + 10).expect("start");
        }
        let ended = TaskEnded {
            fate,
            mark,
            message: *message,
            now_ms: now_ms + if task == 0 { 10 } else { 2_410 },
        };
        ledger.finish(file, number, task, &ended).expect("finish");
    }
    let fates = ends.map(|(fate, ..)| fate);
    let commits = Commits {
        before: "3f2a1bc".to_owned(),
        after: "9d0e221".to_owned(),
        private: number > 1,
    };
    ledger
        .end(file, number, &fates, Some(&commits), SIGHT, now_ms + 2_500)
        .expect("end");
}

fn log<const N: usize>(project: &Project, args: [&str; N]) -> Ended {
    let mut command: Command = project.command(env!("CARGO_BIN_EXE_clada"));
    let output = command.arg("log").args(args).output().expect("clada");
    Ended::new(output).exits(0)
}

#[test]
fn a_missing_ledger_is_not_made() {
    let project = Project::new();
    let said = log(&project, []).out;
    assert_eq!(
        said,
        "nothing has run yet: the log begins with the first reply\n"
    );
    assert_eq!(log(&project, ["--json"]).json(), serde_json::json!([]));
    assert!(!state(&project).exists());
}

#[test]
fn batches_are_told_newest_first() {
    let project = Project::new();
    let mut ledger = Ledger::open(&state(&project)).expect("ledger");
    let home = project.home().join("notes/clada.md");
    let file = ledger.add_file(&home).expect("file");
    let other = ledger.add_file(Path::new("/elsewhere.md")).expect("file");
    run(&mut ledger, file, 1, TEN_THIRTY);
    run(&mut ledger, other, 2, TEN_THIRTY + 60_000);
    let tasks = "  ✅ edit src/app.py\n  ❌ exec sh te st.sh - exit code 1 (2.4 s)\n  ⏹ move a → b - stopped\n";
    let first = format!(
        "2026-03-04 10:32:45  ~/notes/clada.md  batch 1  2.5 s  20260304-103245-ab12\n{tasks}  💚 git 3f2a1bc → 9d0e221\n"
    );
    let second = format!(
        "2026-03-04 10:33:45  /elsewhere.md  batch 2 (retry of batch 1)  2.5 s  20260304-103245-ab12\n{tasks}  💚 snapshot 3f2a1bc → 9d0e221\n"
    );
    assert_eq!(log(&project, []).out, format!("{second}\n{first}"));
    assert_eq!(log(&project, ["-n", "1"]).out, second);
    let file = home.display().to_string();
    assert_eq!(log(&project, ["--file", &file]).out, first, "of one file");

    drop(ledger);
    assert_eq!(
        log(&project, ["--number", "1"]).out,
        second,
        "and when nobody has it open"
    );
    let mut ledger = Ledger::open(&state(&project)).expect("ledger");
    ledger.prune(i64::MAX, 0).expect("prune");
    let told = log(&project, ["-n", "1"]).out;
    assert!(
        told.ends_with(
            "2.5 s  20260304-103245-ab12\n  (its tasks are no longer kept)\n  💚 snapshot 3f2a1bc → 9d0e221\n"
        ),
        "{told}"
    );
}

#[test]
fn a_running_batch_is_told_from_an_interrupted_one() {
    let project = Project::new();
    let mut ledger = Ledger::open(&state(&project)).expect("ledger");
    let notes = project.path("clada.md");
    let file = ledger.add_file(&notes).expect("file");
    begin(&mut ledger, file, 1, TEN_THIRTY);
    let expected = |how| {
        format!(
            "2026-03-04 10:32:45  {}  batch 1  {how}  20260304-103245-ab12\n  ▶ edit src/app.py\n  · exec sh te st.sh\n  · move a → b\n",
            notes.display()
        )
    };
    assert_eq!(log(&project, []).out, expected("interrupted"));
    let _watched = Lock::try_take(&state(&project).join("locks"), "file", &notes).expect("lock");
    assert_eq!(log(&project, []).out, expected("running"));
}

#[test]
fn as_json() {
    let project = Project::new();
    let mut ledger = Ledger::open(&state(&project)).expect("ledger");
    let file = ledger.add_file(Path::new("/n/clada.md")).expect("file");
    run(&mut ledger, file, 1, TEN_THIRTY);
    begin(&mut ledger, file, 2, TEN_THIRTY + 1_000);
    let told = log(&project, ["--json"]).json();
    assert_eq!(told[0]["ended"], serde_json::Value::Null);
    assert_eq!(told[0]["again"], 1);
    let expected = serde_json::json!({
        "file": "/n/clada.md",
        "batch": 1,
        "id": "20260304-103245-ab12",
        "again": null,
        "began": "2026-03-04T10:32:45Z",
        "ended": "2026-03-04T10:32:47.5Z",
        "commitBefore": "3f2a1bc",
        "commitAfter": "9d0e221",
        "privateCommits": false,
        "undone": null,
        "redone": null,
        "tasks": [
            {
                "command": "edit",
                "target": "src/app.py",
                "status": "done",
                "message": null,
                "began": "2026-03-04T10:32:45Z",
                "ended": "2026-03-04T10:32:45.01Z",
            },
            {
                "command": "exec",
                "target": "sh te\u{1b}st.sh",
                "status": "failed",
                "message": "exit code 1 (2.4 s)",
                "began": "2026-03-04T10:32:45.01Z",
                "ended": "2026-03-04T10:32:47.41Z",
            },
            {
                "command": "move",
                "target": "a → b",
                "status": "not-run",
                "message": "stopped",
                "began": null,
                "ended": "2026-03-04T10:32:47.41Z",
            },
        ],
    });
    assert_eq!(told[1], expected);
}

#[test]
fn a_damaged_ledger_is_told_and_left_where_it_is() {
    let project = Project::new();
    drop(Ledger::open(&state(&project)).expect("ledger"));
    let path = state(&project).join("ledger.db");
    std::fs::write(&path, "noise").expect("write");
    let ended = project.clada(["log"]).exits(1);
    let expected = format!(
        "clada: the ledger `{}` is damaged, so no task runs: repair it, or move it away to begin with an empty one",
        path.display()
    );
    assert!(ended.err.starts_with(&expected), "{}", ended.err);
    assert!(path.exists());
}

#[test]
fn results_that_were_taken_off_are_told() {
    let project = Project::new();
    let mut ledger = Ledger::open(&state(&project)).expect("ledger");
    let file = ledger.add_file(Path::new("/n/clada.md")).expect("file");
    run(&mut ledger, file, 1, TEN_THIRTY);
    let block = "=== CLADA RESULTS ===\n1 ✅ delete a\n=== END ===\n";
    let later = TEN_THIRTY / 1000 + 60;
    ledger.keep_foreign(file, block, later).expect("keep");
    drop(ledger);
    assert_eq!(
        log(&project, ["-n", "1"]).out,
        "2026-03-04 10:33:45  /n/clada.md  results of another clada, removed from the notes file\n  \
         === CLADA RESULTS ===\n  1 ✅ delete a\n  === END ===\n"
    );
    let told = log(&project, ["--json"]).json();
    assert_eq!(told[0]["results"], block);
    assert_eq!(told[1]["batch"], 1);
}

/// Runs replies in a listener, each in its turn, and tells how often results were there.
fn replies(project: &Project, replies: &[&str]) {
    let watching = project.watch(["--no-clipboard"]);
    let notes = project.path("clada.md");
    for reply in replies {
        let text = project.read("clada.md") + reply;
        save_by_rename(&notes, text);
        let is_there = || {
            let log = project.clada(["log", "--json"]).json();
            log.as_array().is_some_and(|log| {
                !log.is_empty()
                    && !log[0]["ended"].is_null()
                    && reply.contains(log[0]["tasks"][0]["target"].as_str().unwrap_or("?"))
            })
        };
        wait_until(is_there, || watching.said());
    }
}

#[test]
fn batches_that_were_undone_and_redone_are_marked() {
    for git in [true, false] {
        let project = match git {
            true => Project::with_git(),
            false => Project::new(),
        };
        let write = |name: &str| {
            format!(
                "text {name}\n<tasks>\n<task>\n<path>{name}</path>\n<c>overwrite</c>\n<x>\na\n</x>\n</task>\n</tasks>\n"
            )
        };
        replies(&project, &[&write("one.txt"), &write("two.txt")]);
        let marks = || {
            let log = project.clada(["log", "--json"]).json();
            let is_there = |value: &serde_json::Value| !value.is_null();
            let mark = |batch: usize| {
                (
                    is_there(&log[batch]["undone"]),
                    is_there(&log[batch]["redone"]),
                )
            };
            [mark(0), mark(1)]
        };
        assert_eq!(marks(), [(false, false); 2]);
        project.clada(["undo"]).exits(0);
        assert_eq!(marks(), [(true, false), (false, false)]);
        let text = project.clada(["log"]).exits(0).out;
        let heads: Vec<&str> = text.lines().filter(|line| !line.starts_with(' ')).collect();
        assert!(heads[0].contains("  undone "), "{text}");
        assert!(!heads[2].contains("undone"), "{text}");
        project.clada(["redo"]).exits(0);
        assert_eq!(marks(), [(false, true), (false, false)]);
        let text = project.clada(["log", "-n", "1"]).exits(0).out;
        assert!(
            text.contains("  redone ") && !text.contains("undone"),
            "{text}"
        );
        // Undone once more, together with the other one.
        project.clada(["undo", "2"]).exits(0);
        assert_eq!(marks(), [(true, false); 2]);
    }
}

#[test]
fn of_this_project_only() {
    let project = Project::new();
    for name in ["one", "two"] {
        std::fs::create_dir(project.path(name)).expect("mkdir");
        let run = |word: &str| {
            let notes = format!("{name}/clada.md");
            let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
            command.args(["watch", "--no-clipboard", "--root", name, &notes]);
            let watching = Watching::start(command);
            watching.wait_for("watching ");
            let reply = format!("<task><c>exec</c><x>echo {word}</x></task>\n");
            save_by_rename(&project.path(&notes), reply);
            watching.wait_for("1 ✅");
            wait_until(|| project.read(&notes).contains("1 ✅"), || watching.said());
        };
        run(name);
    }
    let all = log(&project, []).out;
    assert!(
        all.contains("echo one") && all.contains("echo two"),
        "{all}"
    );
    let one = log(&project, ["--here", "--root", "one"]).out;
    assert!(
        one.contains("echo one") && !one.contains("echo two"),
        "{one}"
    );
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command
        .args(["log", "--here"])
        .current_dir(project.path("two"));
    let two = Ended::of(command, "").exits(0).out;
    assert!(
        two.contains("echo two") && !two.contains("echo one"),
        "{two}"
    );
    let none = log(&project, ["--here"]).out;
    assert!(
        none.starts_with("nothing has run here yet: `clada log` shows what ran elsewhere"),
        "{none}"
    );
}
