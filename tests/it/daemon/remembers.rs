//! What clada remembers of a file, as a person meets it: nothing runs twice, and nothing is lost, whatever happens to the
//! notes, the files, clada and its ledger. Never reads the ledger.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;

use super::{
    END, NOTES, Notes, OUTPUT, exec, exec_task, lines, listen, modified, pause, ran, record, save,
    wait_for_results,
};
use crate::harness::{Project, Watching, save_by_rename, wait_until};

/// A reply whose exec records a word.
fn say(word: &str) -> String {
    exec(&record(word))
}

/// Ticks each box that is in the notes.
fn tick(project: &Project) {
    let text = project.read(NOTES);
    assert!(text.contains("- [ ] run"), "{text}");
    save_by_rename(&project.path(NOTES), text.replace("- [ ] run", "- [x] run"));
}

/// Waits until these have run.
#[track_caller]
fn wait_for_runs(project: &Project, words: &[&str]) {
    wait_until(
        || ran(project) == words,
        || format!("{words:?}: {:?}, {}", ran(project), project.read(NOTES)),
    );
}

/// Does something that must neither run anything nor change the notes that it leaves.
#[track_caller]
fn changes_nothing(project: &Project, watching: &Watching, what: impl FnOnce()) {
    stays(project, what, || {
        watching.until_it_looked(&project.path(NOTES));
    });
}

/// As [`changes_nothing`], while a run goes on: clada looks at nothing then, so that there is no look to wait for.
#[track_caller]
fn changes_nothing_in_a_run(project: &Project, what: impl FnOnce()) {
    stays(project, what, pause);
}

/// Does something, and then something else, which must neither run anything nor change the notes.
#[track_caller]
fn stays(project: &Project, what: impl FnOnce(), then: impl FnOnce()) {
    let before = ran(project);
    what();
    let (text, saved) = (project.read(NOTES), modified(project, NOTES));
    then();
    assert_eq!(project.read(NOTES), text);
    assert_eq!(modified(project, NOTES), saved);
    assert_eq!(ran(project), before);
}

/// Starts a listener, which must neither run anything nor change the notes.
#[track_caller]
fn starts_without_a_change(project: &Project, start: impl FnOnce() -> Watching) -> Watching {
    let mut watching = None;
    let starts = || {
        let watching = watching.insert(start());
        watching.until_it_looked(&project.path(NOTES));
    };
    stays(project, || (), starts);
    watching.expect("it was started")
}

/// A project whose notes are these, the one task of which has run, and the clada that goes on listening.
fn after(notes: &str) -> (Project, Watching) {
    let project = Project::new();
    let watching = listen(&project);
    save(&project, notes);
    wait_for_results(&project, "1 ✅");
    (project, watching)
}

#[test]
fn a_restart_runs_nothing_and_writes_nothing() {
    let (project, watching) = after(&format!("notes\n{}", say("one")));
    watching.stop(Signal::TERM);
    for signal in [Signal::TERM, Signal::KILL] {
        let output = modified(&project, OUTPUT);
        let watching = starts_without_a_change(&project, || listen(&project));
        watching.stop(signal);
        assert_eq!(modified(&project, OUTPUT), output);
    }
}

#[test]
fn what_is_pasted_while_clada_is_down_runs_at_the_next_start() {
    let (project, watching) = after(&say("one"));
    watching.stop(Signal::TERM);
    save(&project, &(say("one") + "and\n" + &say("two")));
    let watching = listen(&project);
    wait_for_results(&project, "1 ✅ exec echo two");
    watching.stop(Signal::KILL);
    let body = Notes::of(&project).body;
    // Above the block too, which is known to be one after a restart.
    save_by_rename(&project.path(NOTES), say("three") + &project.read(NOTES));
    let _watching = listen(&project);
    let notes = wait_for_results(&project, "1 ✅ exec echo three");
    assert_eq!(notes.body, say("three") + &body);
    assert_eq!(ran(&project), ["one", "two", "three"]);
}

#[test]
fn a_crash_before_the_first_task_leaves_the_batch_new() {
    let project = Project::with_git();
    let commit = |message: &str| project.git(["commit", "-q", "--allow-empty", "-m", message]);
    commit("base");
    let head = project.git(["rev-parse", "HEAD"]);
    project.write(".git/MERGE_HEAD", &head);
    let watching = project.watch(["--no-clipboard"]);
    save(&project, &say("one"));
    wait_for_results(&project, "a merge is in progress");
    watching.stop(Signal::KILL);
    // The cause is still there.
    let watching = project.watch(["--no-clipboard"]);
    watching.wait_for("a merge is in progress");
    watching.stop(Signal::KILL);
    assert!(ran(&project).is_empty());
    fs::remove_file(project.path(".git/MERGE_HEAD")).expect("remove");
    let watching = project.watch(["--no-clipboard"]);
    wait_for_results(&project, "1 ✅ exec echo one");
    changes_nothing(&project, &watching, || ());
    assert_eq!(ran(&project), ["one"]);
}

#[test]
fn what_comes_back_is_offered() {
    let project = Project::new();
    let mut watching = listen(&project);
    let with = format!("above\n{}below\n", say("one"));
    save(&project, &with);
    wait_for_results(&project, "1 ✅");
    let restart = |watching: Watching, signal| {
        watching.stop(signal);
        listen(&project)
    };
    // Deleted and undone, with and without a restart in between.
    for signal in [None, Some(Signal::TERM), Some(Signal::KILL)] {
        changes_nothing(&project, &watching, || save(&project, "above\nbelow\n"));
        if let Some(signal) = signal {
            watching = restart(watching, signal);
        }
        changes_nothing(&project, &watching, || {
            save(&project, "above\n\n~~~\nbelow\n")
        });
        save_by_rename(
            &project.path(NOTES),
            format!("above\n\n```xml\n{}```\n\nbelow\n", say("one")),
        );
        let notes = wait_for_results(&project, "↩ 1 task came back (ran ");
        assert!(
            notes.results[0].ends_with(") - [ ] run again"),
            "{:?}",
            notes.results
        );
        let ran_at = notes.results[0].split_once("(ran ").expect("ran").1;
        assert_eq!(ran_at.find(')'), Some("10:32".len()), "{ran_at}");
    }
    // Undone while clada is down.
    changes_nothing(&project, &watching, || {
        save_by_rename(&project.path(NOTES), "above\nbelow\n")
    });
    watching.stop(Signal::TERM);
    save(&project, &with);
    let _watching = listen(&project);
    wait_for_results(&project, "↩ 1 task came back");
    assert_eq!(ran(&project), ["one"]);
    // The user wants it.
    tick(&project);
    wait_for_results(&project, "1 ✅ exec echo one");
    assert_eq!(ran(&project), ["one", "one"]);
}

#[test]
fn older_notes_are_checked_out_and_the_newest_again() {
    let project = Project::with_git();
    let watching = listen(&project);
    let mut body = "notes\n".to_owned();
    let keep = |message: &str| {
        project.git(["add", NOTES]);
        project.git(["commit", "-q", "-m", message]);
    };
    for word in ["one", "two", "three"] {
        body += &format!("{}behind {word}\n", say(word));
        save(&project, &body);
        wait_for_results(&project, &format!("1 ✅ exec echo {word}"));
        keep(word);
    }
    // Git takes a file away and puts another there.
    changes_nothing(&project, &watching, || {
        project.git(["checkout", "-q", "HEAD~2"]);
    });
    project.git(["checkout", "-q", "-f", "main"]);
    let notes = wait_for_results(&project, "↩ 2 tasks came back");
    assert_eq!(notes.body, body);
    assert_eq!(ran(&project), ["one", "two", "three"]);
}

fn edit(path: &str, search: &str, replace: &str) -> String {
    format!(
        "<task>\n<path>{path}</path>\n<c>edit</c>\n<search>\n{search}\n</search>\n<replace>\n{replace}\n</replace>\n</task>\n"
    )
}

fn file_task(command: &str, path: &str, x: &str) -> String {
    format!("<task>\n<path>{path}</path>\n<c>{command}</c>\n{x}</task>\n")
}

/// What each of these batches says of its tasks, in order, without what stands behind the target.
fn marks(notes: &Notes) -> Vec<String> {
    let tasks = notes
        .results
        .iter()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    let words = tasks.map(|line| {
        let line = line.split_once(' ').expect("a mark").1;
        let line = line.split(" - ").next().expect("a task");
        line.to_owned()
    });
    words.collect()
}

#[test]
fn of_a_repaired_batch_only_what_is_left_runs() {
    let project = Project::new();
    for name in ["a", "b", "c", "d", "f", "g", "h/x", "i/y", "k"] {
        project.write(name, "one\n");
    }
    let wrong = file_task("delete", "not-there", "");
    let batches = [
        // Several tasks on one file.
        [
            edit("a", "one", "two"),
            edit("a", "two", "three"),
            file_task("overwrite", "new", "<x>\nnew\n</x>\n"),
        ]
        .concat(),
        // Somebody changes these.
        [
            edit("b", "one", "two"),
            file_task("overwrite", "b2", "<x>\ntwo\n</x>\n"),
        ]
        .concat(),
        // These are undone.
        [
            edit("c", "one", "two"),
            file_task("delete", "k", ""),
            exec_task("echo after-c >> runs.txt"),
        ]
        .concat(),
        // A formatter at work behind an edit.
        [
            edit("f", "one", "two"),
            exec_task("sed -i 's/two/  two/' f; echo formatted >> runs.txt"),
        ]
        .concat(),
        // Moved, deleted, and folders of them.
        [
            file_task("move", "d", "<x>d2</x>\n"),
            file_task("delete", "g", ""),
            file_task("delete", "h", ""),
            file_task("move", "i", "<x>i2</x>\n"),
        ]
        .concat(),
    ];
    let body = |wrong: &str| {
        let batches = batches.iter().enumerate();
        let texts =
            batches.map(|(n, tasks)| format!("batch {n}\n<tasks>\n{tasks}{wrong}</tasks>\n"));
        texts.collect::<String>() + "end\n"
    };
    let watching = listen(&project);
    save(&project, &body(&wrong));
    let notes = wait_for_results(&project, "❌ delete not-there");
    assert_eq!(
        marks(&notes)
            .iter()
            .filter(|mark| mark.starts_with("✅"))
            .count(),
        14,
        "{:#?}",
        notes.results
    );
    assert_eq!(ran(&project), ["after-c", "formatted"]);
    project.write("b", "one\nmine\n").write("b2", "mine\n");
    project.write("c", "one\n").write("k", "one\n");
    project.write("there", "");
    save(&project, &body(&file_task("delete", "there", "")));
    let notes = wait_for_results(&project, "⏭");
    assert_eq!(
        marks(&notes),
        [
            "⏭ edit a",
            "⏭ edit a",
            "⏭ overwrite new",
            "✅ delete there",
            "⏸ edit b",
            "⏸ overwrite b2",
            "❌ delete there",
            "✅ edit c",
            "✅ delete k",
            "✅ exec echo after-c >> runs.txt",
            "❌ delete there",
            "⏭ edit f",
            "⏭ exec sed -i 's/two/  two/' f; echo formatted >> runs.txt",
            "❌ delete there",
            "⏭ move d → d2",
            "⏭ delete g",
            "⏭ delete h",
            "⏭ move i → i2",
            "❌ delete there",
        ],
        "{:#?}",
        notes.results
    );
    assert_eq!(ran(&project), ["after-c", "formatted", "after-c"]);
    assert_eq!(project.read("b"), "one\nmine\n");
    // The user wants one of those.
    let text = project.read(NOTES);
    let line = text
        .lines()
        .find(|line| line.contains("⏸ overwrite b2"))
        .expect("the line");
    assert!(
        line.ends_with(" - done before, but its target has changed since - [ ] run again"),
        "{line}"
    );
    save_by_rename(
        &project.path(NOTES),
        text.replace(line, &line.replace("[ ]", "[x]")),
    );
    let notes = wait_for_results(&project, "✅ overwrite b2");
    assert!(
        !marks(&notes).iter().any(|mark| mark == "✅ edit b"),
        "{:#?}",
        notes.results
    );
    assert_eq!(
        (project.read("b"), project.read("b2")),
        ("one\nmine\n".to_owned(), "two\n".to_owned())
    );
    changes_nothing(&project, &watching, || ());
}

#[test]
fn what_is_only_cut_is_offered() {
    let project = Project::new();
    let _watching = listen(&project);
    let tasks = |words: &[&str]| {
        let tasks = words.iter().map(|word| exec_task(&record(word)));
        format!(
            "above\n<tasks>\n{}</tasks>\nbelow\n",
            tasks.collect::<String>()
        )
    };
    save(&project, &tasks(&["one", "two", "three"]));
    wait_for_results(&project, "3 ✅");
    save(&project, &tasks(&["one", "three"]));
    let notes = wait_for_results(
        &project,
        "⏭ 2 tasks left of a shortened batch: not run - [ ] run again",
    );
    assert_eq!(notes.results.len(), 1);
    assert_eq!(ran(&project), ["one", "two", "three"]);
    tick(&project);
    wait_for_runs(&project, &["one", "two", "three", "one", "three"]);
}

#[test]
fn typing_runs_what_was_typed_once() {
    let project = Project::new();
    project.write(NOTES, "notes\n");
    let watching = listen(&project);
    let reply = say("one");
    let mut typed = String::from("notes\n");
    for piece in reply.as_bytes().chunks(reply.len() / 12 + 1) {
        typed += std::str::from_utf8(piece).expect("ASCII");
        fs::write(project.path(NOTES), &typed).expect("write");
        // An editor that saves as one types takes its time.
        std::thread::sleep(Duration::from_millis(100));
    }
    wait_for_results(&project, "1 ✅");
    // A typo in it, and its undo: told, perhaps, and never run.
    let text = project.read(NOTES);
    for (from, to) in [
        ("</x>", "</x"),
        ("<tasks>", "tasks>"),
        ("</tasks>", "</task>"),
        ("one", "on"),
    ] {
        let body = Notes::of(&project).body;
        save(&project, &body.replacen(from, to, 1));
        watching.until_it_saw(&project.path(NOTES));
        save(&project, &body);
        watching.until_it_saw(&project.path(NOTES));
    }
    watching.until_it_looked(&project.path(NOTES));
    assert_eq!(ran(&project), ["one"]);
    assert_eq!(
        Notes::of(&project).body,
        Notes::parse(&text).expect("a block").body
    );
}

#[test]
fn a_tick_counts_once() {
    let (project, watching) = after(&format!("above\n{}below\n", say("one")));
    let came_back = || {
        let body = Notes::of(&project).body;
        save(&project, "above\nbelow\n");
        watching.until_it_looked(&project.path(NOTES));
        save(&project, &body);
        wait_for_results(&project, "- [ ] run again");
    };
    let ticked = |tick: &str| {
        project
            .read(NOTES)
            .replace("- [ ] run", &format!("- [{tick}] run"))
    };
    let again = |text: &str| {
        wait_for_results(&project, "1 ✅");
        for _ in 0..2 {
            save_by_rename(&project.path(NOTES), text);
            watching.until_it_looked(&project.path(NOTES));
        }
    };
    // By rename; and that text once more, from a backup.
    came_back();
    let text = ticked("x");
    save_by_rename(&project.path(NOTES), &text);
    again(&text);
    assert_eq!(ran(&project), ["one"; 2]);
    assert_eq!(project.read(NOTES), text, "clada did not touch it");
    // In place, with the other letter.
    came_back();
    let text = ticked("X");
    fs::write(project.path(NOTES), &text).expect("write");
    again(&text);
    assert_eq!(ran(&project), ["one"; 3]);
    // With line ends of Windows.
    save(&project, &Notes::of(&project).body.replace('\n', "\r\n"));
    watching.until_it_looked(&project.path(NOTES));
    let body = project
        .read(NOTES)
        .split_once(END)
        .expect("end")
        .1
        .to_owned();
    assert!(body.contains("\r\n"));
    save_by_rename(&project.path(NOTES), "above\r\nbelow\r\n");
    watching.until_it_looked(&project.path(NOTES));
    save_by_rename(&project.path(NOTES), &body);
    let is_offered = || {
        let text = project.read(NOTES);
        text.contains("- [ ] run again\r\n") && text.ends_with(&body)
    };
    wait_until(is_offered, || project.read(NOTES));
    let text = ticked("x");
    save_by_rename(&project.path(NOTES), &text);
    wait_until(|| ran(&project).len() == 4, || project.read(NOTES));
    assert_eq!(ran(&project), ["one"; 4]);
    save_by_rename(&project.path(NOTES), &text);
    watching.until_it_looked(&project.path(NOTES));
    assert_eq!(ran(&project), ["one"; 4]);
}

#[test]
fn two_ticks_at_once() {
    let project = Project::new();
    let watching = listen(&project);
    let body = |last: &str| {
        let x = "<x>\ntheirs\n</x>\n";
        let tasks = file_task("overwrite", "a", x) + &file_task("overwrite", "b", x);
        format!(
            "above\n<tasks>\n{tasks}{}</tasks>\nbelow\n",
            exec_task(last)
        )
    };
    save(&project, &body("exit 3"));
    wait_for_results(&project, "3 ❌");
    project.write("a", "mine\n").write("b", "mine\n");
    save(&project, &body(&record("one")));
    let notes = wait_for_results(&project, "3 ✅");
    assert_eq!(marks(&notes)[..2], ["⏸ overwrite a", "⏸ overwrite b"]);
    tick(&project);
    wait_until(
        || [project.read("a"), project.read("b")] == ["theirs\n"; 2],
        || project.read(NOTES),
    );
    wait_until(
        || {
            Notes::of(&project)
                .results
                .concat()
                .matches("✅ overwrite")
                .count()
                == 2
        },
        || project.read(NOTES),
    );
    changes_nothing(&project, &watching, || ());
    assert_eq!(ran(&project), ["one"]);
}

#[test]
fn a_tick_elsewhere_does_nothing() {
    let project = Project::new();
    project.write(NOTES, format!("above\n{}below\n", say("old")));
    let watching = listen(&project);
    wait_for_results(&project, "1 task was here");
    let text = project.read(NOTES);
    let (block, body) = text.split_at(text.find(END).expect("end") + END.len());
    let ticked = block.replace("[ ]", "[x]");
    // A quotation below.
    changes_nothing(&project, &watching, || {
        save_by_rename(
            &project.path(NOTES),
            format!("{block}{body}\n{ticked}quoted\n"),
        );
        watching.until_it_looked(&project.path(NOTES));
    });
    // A block that clada did not write.
    changes_nothing(&project, &watching, || {
        save_by_rename(
            &project.path(NOTES),
            format!("{}{body}", ticked.replace("1 task", "2 tasks")),
        );
        watching.until_it_looked(&project.path(NOTES));
    });
    assert!(ran(&project).is_empty());
    // Nor in a block of its own that was replaced meanwhile; what it offers is offered again.
    save_by_rename(&project.path(NOTES), format!("{block}{body}{}", say("new")));
    wait_for_runs(&project, &["new"]);
    wait_for_results(&project, "1 ✅");
    save_by_rename(
        &project.path(NOTES),
        format!("{ticked}{body}{}", say("new")),
    );
    wait_for_results(&project, "a tick in older results is ignored");
    assert_eq!(ran(&project), ["new"]);
    tick(&project);
    wait_for_runs(&project, &["new", "old"]);
    wait_for_results(&project, "1 ✅ exec echo old");
}

#[test]
fn what_is_there_at_first_sight() {
    let project = Project::new();
    let body = format!("notes\n{}and\n{}", say("one"), say("two"));
    project.write(NOTES, &body);
    let watching = listen(&project);
    let notes = wait_for_results(
        &project,
        "⏸ 2 tasks were here before clada began to watch: not run - [ ] run them",
    );
    assert_eq!(
        (notes.results.len(), notes.body.as_str()),
        (1, body.as_str())
    );
    watching.stop(Signal::TERM);
    // Nobody saw who ticked while clada was down. The offer still holds.
    tick(&project);
    let watching = listen(&project);
    wait_for_results(
        &project,
        "a tick made while no clada watched this file is ignored: tick it again",
    );
    tick(&project);
    wait_for_results(&project, "2 ✅ exec echo two");
    changes_nothing(&project, &watching, || ());
    assert_eq!(ran(&project), ["one", "two"]);
    watching.stop(Signal::TERM);

    let other = Project::new();
    other.write(NOTES, &body);
    let run_existing = ["--no-git", "--no-clipboard", "--run-existing"];
    let watching = other.watch(run_existing);
    wait_for_results(&other, "2 ✅ exec echo two");
    watching.stop(Signal::TERM);
    drop(starts_without_a_change(&other, || {
        other.watch(run_existing)
    }));
    assert_eq!(ran(&other), ["one", "two"]);
}

#[test]
fn a_file_under_another_name_is_itself_and_a_copy_is_not() {
    let (project, watching) = after(&format!("notes\n{}", say("one")));
    let text = project.read(NOTES);
    watching.stop(Signal::TERM);
    let options = |file| ["--no-git", "--no-clipboard", file];
    fs::rename(project.path(NOTES), project.path("notes.md")).expect("rename");
    let watching = project.watch(options("notes.md"));
    watching.until_it_looked(&project.path("notes.md"));
    assert_eq!(project.read("notes.md"), text);
    let comes_back = |watching: &Watching, name: &str| {
        save_by_rename(&project.path(name), "notes\n");
        watching.until_it_looked(&project.path(name));
        save_by_rename(&project.path(name), format!("notes\n{}", say("one")));
        wait_until(
            || project.read(name).contains("1 task came back (ran "),
            || project.read(name),
        );
    };
    comes_back(&watching, "notes.md");
    watching.stop(Signal::TERM);
    fs::copy(project.path("notes.md"), project.path("copy.md")).expect("copy");
    let watching = project.watch(options("copy.md"));
    wait_until(
        || project.read("copy.md").contains("not run"),
        || project.read("copy.md"),
    );
    watching.stop(Signal::TERM);
    // The first has kept its past.
    let watching = project.watch(options("notes.md"));
    comes_back(&watching, "notes.md");
    assert_eq!(ran(&project), ["one"]);
}

/// The reply's three tasks; the second waits for a file `go` and leaves its process in `pid`.
fn long_reply(end: &str) -> String {
    let one = exec_task(&record("one"));
    let two =
        exec_task("echo $$ > pid; until [ -e go ]; do sleep 0.02; done; echo two >> runs.txt");
    let three = exec_task(&record("three"));
    format!("above\n<tasks>\n{one}{two}{three}</tasks>\n{end}\n")
}

#[test]
fn a_long_run_shows_in_the_notes() {
    let project = Project::new();
    let watching = listen(&project);
    let body = long_reply("below");
    save(&project, &body);
    let notes = wait_for_results(&project, "⏳ running since ");
    assert!(
        notes.results[0].contains(": 2/3 exec echo $$ > pid"),
        "{:?}",
        notes.results
    );
    assert_eq!(
        (notes.results.len(), &notes.body, notes.status.as_str()),
        (1, &body, "")
    );
    changes_nothing_in_a_run(&project, || ());
    // Pasted on top of it, and below.
    let text = project.read(NOTES);
    save_by_rename(&project.path(NOTES), say("above") + &text + &say("below"));
    changes_nothing_in_a_run(&project, || ());
    project.write("go", "");
    let notes = wait_for_results(&project, "2 ✅ exec echo below");
    assert_eq!(notes.body, say("above") + &body + &say("below"));
    assert_eq!(ran(&project), ["one", "two", "three", "above", "below"]);
    changes_nothing(&project, &watching, || ());
    assert_eq!(watching.said().matches("⏳").count(), 0);
}

#[test]
fn stopped_in_a_batch_and_the_rest_run_on_request() {
    let project = Project::new();
    let watching = listen(&project);
    let body = long_reply("below");
    save(&project, &body);
    wait_for_results(&project, "⏳ running since ");
    let start = std::time::Instant::now();
    assert_eq!(watching.stop(Signal::TERM), Some(0));
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "{:?}",
        start.elapsed()
    );
    assert!(!project.command_runs(&project.read("pid")));
    let notes = Notes::of(&project);
    assert_eq!(notes.body, body);
    let starts: Vec<&str> = notes
        .results
        .iter()
        .map(|line| line.split(" exec").next().expect("a word"))
        .collect();
    assert_eq!(
        starts,
        [
            "1 ✅",
            "2 ⚠",
            "3 ⏹",
            "⚠ this batch was interrupted - [ ] run again"
        ]
    );
    project.write("go", "");
    the_rest_runs_on_request(&project);
}

/// Nothing runs by itself at the next start; the tick runs what is left of [`long_reply`].
fn the_rest_runs_on_request(project: &Project) {
    let _watching = starts_without_a_change(project, || listen(project));
    tick(project);
    wait_for_results(project, "3 ✅");
    assert_eq!(ran(project), ["one", "two", "three"]);
}

#[test]
fn killed_in_a_batch_and_the_rest_run_on_request() {
    let project = Project::new();
    let watching = listen(&project);
    let body = long_reply("below");
    save(&project, &body);
    wait_until(|| !lines(&project, "pid").is_empty(), || watching.said());
    watching.stop(Signal::KILL);
    wait_until(
        || !project.command_runs(&project.read("pid")),
        || "the end of the exec".to_owned(),
    );
    project.write("go", "");
    let watching = listen(&project);
    let notes = wait_for_results(&project, "clada stopped during task");
    assert_eq!(notes.body, body);
    let starts: Vec<&str> = notes
        .results
        .iter()
        .map(|line| line.split(" exec").next().expect("a word"))
        .collect();
    assert_eq!(starts[..3], ["1 ✅", "2 ⚠", "3 ⏹"]);
    assert!(starts[3].ends_with("- [ ] run again"), "{starts:?}");
    changes_nothing(&project, &watching, || ());
    watching.stop(Signal::KILL);
    the_rest_runs_on_request(&project);
}

#[test]
fn notes_that_another_machine_has_too() {
    let (here, there) = (Project::new(), Project::new());
    let both = [listen(&here), listen(&there)];
    wait_until(
        || here.exists(NOTES) && there.exists(NOTES),
        || "notes".to_owned(),
    );
    let mut synced = here.read(NOTES);
    // As a sync client does: what changed on one side goes to the other, until nothing changes any more.
    let mut sync = |least: usize| {
        let (mut passes, mut quiet) = (0, 0);
        while quiet < 3 || passes < least {
            let changed = [(&here, &there), (&there, &here)]
                .into_iter()
                .find(|(from, _)| from.read(NOTES) != synced);
            match changed {
                Some((from, to)) => {
                    synced = from.read(NOTES);
                    save_by_rename(&to.path(NOTES), &synced);
                    (passes, quiet) = (passes + 1, 0);
                    assert!(passes < 6, "it does not come to rest: {synced}");
                }
                None => quiet += 1,
            }
            for (project, watching) in [&here, &there].into_iter().zip(&both) {
                watching.until_it_looked(&project.path(NOTES));
            }
        }
    };
    save(&here, &format!("notes\n{}", say("one")));
    wait_for_results(&here, "1 ✅");
    sync(2);
    assert_eq!(
        (ran(&here).as_slice(), ran(&there).as_slice()),
        (["one".to_owned()].as_slice(), [].as_slice())
    );
    let notes = Notes::of(&there);
    assert_eq!(notes.body, format!("notes\n{}", say("one")));
    assert!(
        notes.results[0].contains(
            "came with results of another clada, or with results that were edited: not run here"
        ) && notes.results[0].ends_with("not run here - [ ] run it"),
        "{:?}",
        notes.results
    );
    // And the other way round.
    save(&there, &format!("notes\n{}{}", say("one"), say("two")));
    wait_for_results(&there, "1 ✅");
    sync(2);
    assert_eq!(ran(&here), ["one"]);
    assert_eq!(ran(&there), ["two"]);
    wait_for_results(&here, "not run here - [ ] run it");
    tick(&here);
    wait_for_runs(&here, &["one", "two"]);
    wait_for_results(&here, "1 ✅");
    sync(1);
    assert_eq!(ran(&there), ["two"]);
}

#[test]
fn results_of_a_ledger_that_is_gone() {
    let (project, watching) = after(&format!("notes\n{}", say("one")));
    watching.stop(Signal::TERM);
    fs::remove_dir_all(project.home().join(".local")).expect("remove");
    let _watching = listen(&project);
    let notes = wait_for_results(&project, "- [ ] run it");
    assert_eq!(notes.body, format!("notes\n{}", say("one")));
    assert_eq!(ran(&project), ["one"]);
    tick(&project);
    wait_for_runs(&project, &["one", "one"]);
}

#[test]
fn blocks_in_the_notes() {
    let project = Project::new();
    let watching = listen(&project);
    save(&project, &format!("notes\n{}", say("one")));
    wait_for_results(&project, "1 ✅ exec echo one");
    let first = project.read(NOTES);
    let block = &first[..first.find(END).expect("end") + END.len()];
    // A quotation of it stays, wherever a reply is pasted.
    let quoting = format!("notes\n{}I had this:\n{block}quoted\n", say("one"));
    changes_nothing(&project, &watching, || save(&project, &quoting));
    save_by_rename(&project.path(NOTES), say("two") + &project.read(NOTES));
    let notes = wait_for_results(&project, "1 ✅ exec echo two");
    assert_eq!(notes.body, say("two") + &quoting);
    watching.stop(Signal::TERM);
    let _watching = listen(&project);
    save_by_rename(&project.path(NOTES), say("three") + &project.read(NOTES));
    let notes = wait_for_results(&project, "1 ✅ exec echo three");
    let body = say("three") + &say("two") + &quoting;
    assert_eq!(notes.body, body);
    // A bad merge puts both sides' blocks on top.
    save_by_rename(
        &project.path(NOTES),
        format!("{block}{}{}", project.read(NOTES), say("four")),
    );
    let notes = wait_for_results(&project, "1 ✅ exec echo four");
    assert_eq!(notes.body, body + &say("four"));
    assert_eq!(ran(&project), ["one", "two", "three", "four"]);
}

/// The ledger of this project's user.
fn ledger(project: &Project) -> std::path::PathBuf {
    let found = project
        .command("find")
        .args(["../home", "-name", "ledger.db"])
        .output()
        .expect("find");
    let path = String::from_utf8(found.stdout).expect("UTF-8");
    project.root().join(path.trim_end())
}

#[test]
fn a_locked_ledger_is_waited_for() {
    let (project, watching) = after(&say("one"));
    watching.until_it_looked(&project.path(NOTES));
    let other = rusqlite::Connection::open(ledger(&project)).expect("open");
    other.execute_batch("BEGIN IMMEDIATE").expect("lock");
    save(&project, &(say("one") + &say("two")));
    watching.wait_for("1 ⏹ exec echo two >> runs.txt - another program has locked the ledger");
    assert_eq!(ran(&project), ["one"]);
    other.execute_batch("ROLLBACK").expect("unlock");
    wait_for_results(&project, "1 ✅ exec echo two");
    changes_nothing(&project, &watching, || ());
    assert_eq!(ran(&project), ["one", "two"]);
}

#[test]
fn a_ledger_that_is_locked_in_the_middle_of_a_batch_ends_it() {
    let project = Project::new();
    let watching = listen(&project);
    save(&project, &long_reply("below"));
    wait_until(|| !lines(&project, "pid").is_empty(), || watching.said());
    let other = rusqlite::Connection::open(ledger(&project)).expect("open");
    other.execute_batch("BEGIN IMMEDIATE").expect("lock");
    project.write("go", "");
    // What cannot be kept does not run.
    watching.wait_for("2 ✅ exec");
    watching.wait_for("3 ⏹ exec");
    other.execute_batch("ROLLBACK").expect("unlock");
    wait_for_results(&project, "⚠ this batch was interrupted - [ ] run again");
    assert_eq!(ran(&project), ["one", "two"]);
    tick(&project);
    wait_for_results(&project, "3 ✅");
    assert_eq!(ran(&project), ["one", "two", "three"]);
}

#[test]
fn a_damaged_ledger_is_not_replaced() {
    let (project, watching) = after(&say("one"));
    watching.stop(Signal::TERM);
    let path = ledger(&project);
    fs::write(
        &path,
        "no database at all, but as long as one would be".repeat(1_000),
    )
    .expect("write");
    let refuses = || {
        for _ in 0..2 {
            let ended = project.clada(["watch"]).exits(1);
            assert!(
                ended.err.contains("was damaged and is kept as")
                    && ended.err.contains("to begin with an empty ledger"),
                "{}",
                ended.err
            );
        }
    };
    stays(&project, || (), refuses);
    fs::remove_file(path.with_file_name("ledger.db.damaged")).expect("remove");
    let _watching = listen(&project);
    wait_for_results(&project, "not run");
    assert_eq!(ran(&project), ["one"]);
}

#[test]
fn a_home_that_cannot_be_used() {
    let project = Project::new();
    fs::write(project.home().join(".local"), "").expect("write");
    let ended = project.clada(["watch"]).exits(1);
    assert!(ended.err.contains("` for the ledger: "), "{}", ended.err);
    assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
}

#[test]
fn two_files_in_one_folder_and_two_clada_on_one_file() {
    let project = Project::new();
    let (one, _two) = (
        listen(&project),
        project.watch(["--no-git", "--no-clipboard", "two.md"]),
    );
    let refused = project.clada(["watch"]).exits(2);
    assert!(
        refused.err.contains("is already watched")
            && refused.err.contains(&format!("(process {})", one.pid())),
        "{}",
        refused.err
    );
    save(&project, &say("one"));
    wait_for_results(&project, "1 ✅");
    // The same reply is new in another file.
    save_by_rename(&project.path("two.md"), say("one"));
    wait_until(
        || project.read("two.md").contains("1 ✅"),
        || project.read("two.md"),
    );
    assert_eq!(ran(&project), ["one", "one"]);
    // What a crash leaves is in nobody's way.
    one.stop(Signal::KILL);
    drop(listen(&project));
}

#[test]
fn a_batch_that_is_repaired_twice() {
    let project = Project::new();
    project.write("f", "one\n");
    let _watching = listen(&project);
    let body = |rest: &str| {
        format!(
            "above\n<tasks>\n{}{rest}</tasks>\nbelow\n",
            edit("f", "one", "two")
        )
    };
    save(&project, &body(&exec_task("exit 3")));
    wait_for_results(&project, "2 ❌");
    let format = exec_task("sed -i 's/two/  two/' f; echo formatted >> runs.txt");
    save(
        &project,
        &body(&(format.clone() + &file_task("delete", "not-there", ""))),
    );
    let notes = wait_for_results(&project, "3 ❌");
    assert!(notes.results[0].starts_with("1 ⏭"), "{:?}", notes.results);
    project.write("there", "");
    save(
        &project,
        &body(&(format + &file_task("delete", "there", ""))),
    );
    let notes = wait_for_results(&project, "3 ✅");
    assert_eq!(marks(&notes)[0], "⏭ edit f", "{:?}", notes.results);
    assert_eq!(ran(&project), ["formatted"]);
}

#[test]
fn a_tick_in_a_run_is_offered_again_when_it_is_over() {
    // Before the notes show that it goes on, and results are written over the tick; or that line is.
    for is_shown in [false, true] {
        let project = Project::new();
        project.write(NOTES, format!("above\n{}below\n", say("old")));
        let watching = listen(&project);
        wait_for_results(&project, "1 task was here");
        let wait = "touch started; until [ -e go ]; do sleep 0.02; done";
        let new = exec(&format!("{wait}; echo new >> runs.txt"));
        save(&project, &format!("above\n{}below\n{new}", say("old")));
        wait_until(|| project.exists("started"), || watching.said());
        tick(&project);
        if is_shown {
            wait_for_results(&project, "⏳");
        }
        project.write("go", "");
        wait_for_runs(&project, &["new"]);
        wait_for_results(&project, "a tick in older results is ignored");
        changes_nothing(&project, &watching, || ());
        tick(&project);
        wait_for_runs(&project, &["new", "old"]);
        wait_for_results(&project, "1 ✅ exec echo old");
        changes_nothing(&project, &watching, || ());
    }
}

#[test]
fn what_could_not_be_noted_is_noted_later() {
    let project = Project::new();
    let watching = listen(&project);
    let other = rusqlite::Connection::open(ledger(&project)).expect("open");
    other.execute_batch("BEGIN IMMEDIATE").expect("lock");
    let foreign = "\n=== CLADA RESULTS ===\n1 ✅ delete a\n=== END ===\n\n";
    save_by_rename(&project.path(NOTES), foreign.to_owned() + &say("one"));
    watching.wait_for("⏸ 1 task came with results of another clada");
    other.execute_batch("ROLLBACK").expect("unlock");
    wait_for_results(&project, "not run here - [ ] run it");
    // What this clada knows, the next one has to know too.
    changes_nothing(&project, &watching, || {
        save(&project, &(say("one") + "prose\n"))
    });
    watching.stop(Signal::TERM);
    let _watching = starts_without_a_change(&project, || listen(&project));
    assert!(ran(&project).is_empty());
}

#[test]
fn what_is_put_into_the_results_runs_and_stays() {
    let project = Project::new();
    let old = say("one") + "below\n";
    let watching = listen(&project);
    save(&project, &old);
    wait_for_results(&project, "1 ✅ exec echo one");
    let put = |text: &str| {
        let notes = project.read(NOTES);
        let at = notes.find("1 ✅").expect("results");
        let (above, below) = notes.split_at(at);
        save_by_rename(&project.path(NOTES), format!("{above}{text}{below}"));
    };
    let new = say("two") + "a remark\n";
    put(&new);
    let notes = wait_for_results(&project, "1 ✅ exec echo two");
    assert_eq!(notes.body, format!("{new}{old}"));
    watching.stop(Signal::TERM);
    let watching = listen(&project);
    let newest = say("three");
    put(&newest);
    let notes = wait_for_results(&project, "1 ✅ exec echo three");
    assert_eq!(notes.body, format!("{newest}{new}{old}"));
    assert_eq!(ran(&project), ["one", "two", "three"]);
    changes_nothing(&project, &watching, || ());
}

#[test]
fn what_stands_behind_a_batch_that_was_stopped_waits_for_the_user_too() {
    let project = Project::new();
    let watching = listen(&project);
    save(&project, &(long_reply("below") + &say("four")));
    wait_until(|| !lines(&project, "pid").is_empty(), || watching.said());
    assert_eq!(watching.stop(Signal::TERM), Some(0));
    wait_for_results(&project, "⚠ these batches were interrupted - [ ] run again");
    project.write("go", "");
    let _watching = starts_without_a_change(&project, || listen(&project));
    tick(&project);
    wait_for_results(&project, "✅ exec echo four");
    assert_eq!(ran(&project), ["one", "two", "three", "four"]);
}

#[test]
fn an_atomic_batch_that_is_repaired_twice() {
    let project = Project::new();
    project.write("a", "one\n");
    let _watching = listen(&project);
    let body = |rest: &str| {
        format!(
            "above\n<tasks atomic=\"yes\">\n{}{rest}</tasks>\nbelow\n",
            edit("a", "one", "one more")
        )
    };
    save(&project, &body(""));
    wait_for_results(&project, "1 ✅");
    save(&project, &body(&file_task("delete", "not-there", "")));
    wait_for_results(&project, "2 ❌");
    project.write("there", "");
    save(&project, &body(&file_task("delete", "there", "")));
    let notes = wait_for_results(&project, "2 ✅");
    assert_eq!(marks(&notes), ["⏭ edit a", "✅ delete there"]);
    assert_eq!(project.read("a"), "one more\n");
}

#[test]
fn blocks_that_read_the_same_are_each_of_their_own_file() {
    let project = Project::new();
    let two = "two.md";
    project.write(NOTES, say("one")).write(two, say("two"));
    let _watching = listen(&project);
    wait_for_results(&project, "- [ ] run it");
    let _other = project.watch(["--no-git", "--no-clipboard", two]);
    wait_until(
        || project.read(two).contains("- [ ] run it"),
        || project.read(two),
    );
    tick(&project);
    wait_for_runs(&project, &["one"]);
    wait_for_results(&project, "1 ✅");
    // What is copied from one to the other came with results of another file.
    let text = project.read(NOTES);
    save_by_rename(&project.path(two), &text);
    wait_until(
        || project.read(two).contains("not run here - [ ] run it"),
        || project.read(two),
    );
    assert_eq!(ran(&project), ["one"]);
}

#[test]
fn the_past_of_a_file_that_is_gone_goes_to_itself_alone() {
    let (project, watching) = after(&say("one"));
    // It is renamed under the eyes of a clada that waits for it.
    let renamed = "renamed.md";
    fs::rename(project.path(NOTES), project.path(renamed)).expect("rename");
    watching.wait_for("waiting for it");
    let other = project.watch(["--no-git", "--no-clipboard", renamed]);
    wait_until(
        || project.read(renamed).contains("not run"),
        || project.read(renamed),
    );
    other.stop(Signal::TERM);
    watching.stop(Signal::TERM);
    // Another file that happens to have the same results on top.
    let block = "\n=== CLADA RESULTS ===\n1 ✅ exec echo one >> runs.txt\n";
    let text = format!("{block}{END}other notes\n{}", say("two"));
    project.write("other.md", &text);
    let _watching = project.watch(["--no-git", "--no-clipboard", "other.md"]);
    wait_until(
        || project.read("other.md").contains("not run"),
        || project.read("other.md"),
    );
    assert_eq!(ran(&project), ["one"]);
}

#[test]
fn a_tick_that_cannot_be_carried_out_waits_also_over_a_crash() {
    let project = Project::with_git();
    let commit = |message: &str| project.git(["commit", "-q", "--allow-empty", "-m", message]);
    commit("base");
    project.write(NOTES, format!("above\n{}below\n", say("old")));
    let watching = project.watch(["--no-clipboard"]);
    wait_for_results(&project, "1 task was here");
    project.write(".git/MERGE_HEAD", project.git(["rev-parse", "HEAD"]));
    tick(&project);
    wait_for_results(&project, "a merge is in progress");
    watching.stop(Signal::KILL);
    fs::remove_file(project.path(".git/MERGE_HEAD")).expect("remove");
    let watching = project.watch(["--no-clipboard"]);
    wait_for_results(&project, "1 ✅ exec echo old");
    watching.stop(Signal::KILL);
    let _watching = starts_without_a_change(&project, || project.watch(["--no-clipboard"]));
    assert_eq!(ran(&project), ["old"]);
}

#[test]
fn what_the_log_has_forgotten_does_not_run_again() {
    let (project, watching) = after(&format!("above\n{}below\n", say("one")));
    changes_nothing(&project, &watching, || save(&project, "above\nbelow\n"));
    watching.stop(Signal::TERM);
    let _watching = project.watch(["--no-git", "--no-clipboard", "--ledger-days", "0"]);
    save(&project, &format!("above\n{}below\n", say("one")));
    wait_for_results(&project, "1 task came back (ran ");
    assert_eq!(ran(&project), ["one"]);
    tick(&project);
    wait_for_runs(&project, &["one", "one"]);
}

#[test]
fn an_offer_is_not_lost_where_the_run_beside_it_is_stopped() {
    let project = Project::new();
    let other = project.watch(["--no-git", "--no-clipboard", "two.md"]);
    let watching = listen(&project);
    let body = format!("above\n{}below\n", say("one"));
    save(&project, &body);
    wait_for_results(&project, "1 ✅");
    changes_nothing(&project, &watching, || save(&project, "above\nbelow\n"));
    save_by_rename(&project.path("two.md"), long_reply("end"));
    wait_until(|| !lines(&project, "pid").is_empty(), || other.said());
    // One that comes back, and a new one, which has to wait for the other clada's run.
    let body = body + &say("new");
    save(&project, &body);
    watching.wait_for("waiting for the run of another clada");
    assert_eq!(watching.stop(Signal::TERM), Some(0));
    let notes = wait_for_results(&project, "1 task came back");
    assert_eq!(notes.body, body);
    other.stop(Signal::TERM);
    // Nobody has seen the new one begin.
    let _watching = listen(&project);
    wait_for_results(&project, "1 ✅ exec echo new");
}

#[test]
fn no_tick_counts_where_the_results_are_there_twice() {
    for prose in ["", "As you see:\n\n"] {
        let project = Project::new();
        project.write(NOTES, say("old"));
        let watching = listen(&project);
        let offers = "⏸ 1 task was here before clada began to watch: not run - [ ] run it";
        wait_for_results(&project, offers);
        let text = project.read(NOTES);
        let end = text.find("<tasks").expect("the reply");
        let quoted = text[..end].replace("[ ] run it", "[x] run it");
        save_by_rename(&project.path(NOTES), format!("{prose}{quoted}{text}"));
        let notes = wait_for_results(&project, "the results are in the notes file twice");
        assert!(
            notes.all().iter().any(|line| line == offers),
            "{:?}",
            notes.all()
        );
        watching.until_it_looked(&project.path(NOTES));
        assert_eq!(ran(&project), [""; 0]);
        // It is offered again.
        let again = project.read(NOTES).replacen("[ ] run it", "[x] run it", 1);
        save_by_rename(&project.path(NOTES), again);
        wait_for_runs(&project, &["old"]);
    }
}
