//! Results stay until they could be read: what comes before that is added above them, and every packet can be had again.

use rustix::process::Signal;

use super::{NOTES, Notes, OUTPUT, exec, is_time, lines, listen, ran, reply, save};
use super::{record, wait_for_results, wait_to_read};
use crate::harness::{Project, Watching, save_by_rename, wait_until};

/// A reply that says a word, and before it ends waits for a file of that name.
fn waiting(word: &str) -> String {
    let script = format!(
        "echo out of {word}; touch {word}.began; until test -e {word}; do sleep 0.01; done"
    );
    format!("reply {word}:\n{}", exec(&script))
}

/// Waits until that reply runs.
fn wait_for_begin(project: &Project, word: &str) {
    let file = format!("{word}.began");
    wait_until(|| project.exists(&file), || project.read(NOTES));
}

/// What the LLM was given last.
fn packet(project: &Project) -> String {
    project.clada(["copy", "--print"]).exits(0).out
}

/// The earlier results of the notes, without the lines with their times.
fn earlier(notes: &Notes) -> Vec<&str> {
    let lines = notes.earlier.iter().filter(|line| !is_time(line));
    lines.map(String::as_str).collect()
}

/// Asserts that notes, output file and packet have what these replies said, the newest first.
#[track_caller]
fn assert_all_told(project: &Project, words: &[&str]) {
    for text in [project.read(OUTPUT), packet(project)] {
        let at = |word: &&str| text.find(&format!("stdout:\nout of {word}\n"));
        let places: Vec<_> = words.iter().map(at).collect();
        assert!(places.iter().all(Option::is_some), "{words:?} in {text}");
        assert!(places.is_sorted(), "{words:?} in {text}");
        assert_eq!(text.matches("\n=== OUTPUTS ===\n").count(), 1, "{text}");
        assert_eq!(text.matches("stdout:\nout of").count(), words.len());
    }
    let block = packet(project);
    let block = block.split("=== END ===").next().expect("block");
    assert!(project.read(NOTES).contains(block), "{block}");
}

#[test]
fn a_reply_that_is_saved_while_another_runs_is_added() {
    let project = Project::new();
    let _watching = listen(&project);
    save(&project, &waiting("one"));
    wait_for_begin(&project, "one");
    let both = waiting("one") + &waiting("two");
    save(&project, &both);
    project.write("one", "").write("two", "");
    let notes = wait_for_results(&project, "out of two");
    assert_eq!(notes.results.len(), 1, "{:?}", notes.results);
    assert_eq!(notes.earlier.len(), 2, "{:?}", notes.earlier);
    assert!(is_time(&notes.earlier[0]), "{:?}", notes.earlier);
    assert!(notes.earlier[1].starts_with("1 ✅ exec echo out of one"));
    assert_eq!(notes.body, both);
    assert_all_told(&project, &["two", "one"]);
}

#[test]
fn five_results_stay_and_a_sixth_takes_the_place_of_the_oldest() {
    const WORDS: [&str; 6] = ["one", "two", "three", "four", "five", "six"];
    let project = Project::new();
    let _watching = listen(&project);
    let mut body = String::new();
    for (at, word) in WORDS.iter().enumerate() {
        body += &waiting(word);
        save(&project, &body);
        if at > 0 {
            project.write(WORDS[at - 1], "");
        }
        wait_for_begin(&project, word);
    }
    project.write("six", "");
    let notes = wait_for_results(&project, "out of six");
    let times = notes.earlier.iter().filter(|line| is_time(line));
    assert_eq!(times.count(), 4, "{:?}", notes.earlier);
    assert_all_told(&project, &["six", "five", "four", "three", "two"]);

    // Once they could be read they make room.
    wait_to_read(&project.path(NOTES));
    project.write("seven", "");
    save(&project, &(body + &waiting("seven")));
    let notes = wait_for_results(&project, "out of seven");
    assert_eq!(notes.earlier, [""; 0]);
    assert_all_told(&project, &["seven"]);
}

/// Settings that were broken and mended are told above the results; also by the very command that broke them.
#[test]
fn a_notice_takes_no_results_away() {
    let project = Project::new();
    let _watching = listen(&project);
    let script = "echo out of one; echo 'no settings' > clada.toml";
    save(&project, &exec(script));
    let notes = wait_for_results(&project, "the previous settings stay in effect");
    let task = format!("1 ✅ exec {script}");
    assert_eq!(earlier(&notes).len(), 1, "{:?}", notes.earlier);
    assert!(earlier(&notes)[0].starts_with(&task));
    save_by_rename(&project.path("clada.toml"), "");
    let notes = wait_for_results(&project, "the settings are valid again");
    let lines = earlier(&notes);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("the previous settings stay in effect"));
    assert!(lines[1].starts_with(&task), "{lines:?}");
    let output = project.read(OUTPUT);
    assert!(output.contains("\nstdout:\nout of one\n"), "{output}");
    assert!(packet(&project).contains("\nstdout:\nout of one\n"));
}

/// What was offered in results that are not the newest any more is offered anew, counts once, and its box goes.
#[test]
fn offers_of_earlier_results_are_made_anew() {
    let project = Project::new();
    project.write(NOTES, reply("old"));
    let watching = listen(&project);
    let offer = "1 task was here before clada began to watch: not run";
    wait_for_results(&project, offer);
    save_by_rename(&project.path("clada.toml"), "no settings");
    let notes = wait_for_results(&project, "the previous settings stay in effect");
    assert_eq!(earlier(&notes), [format!("⏸ {offer} - [ ] run it")]);
    let ticked = project.read(NOTES).replace("- [ ] run", "- [x] run");
    save_by_rename(&project.path(NOTES), &ticked);
    let notes = wait_for_results(&project, "1 ✅ exec echo old");
    assert_eq!(ran(&project), ["old"]);
    // Where the tick came late, they were read.
    let below = earlier(&notes);
    if !below.is_empty() {
        assert_eq!(below[1..], [format!("⏸ {offer}")]);
    }
    // The same text once more, by an undo of the editor: it was used.
    save_by_rename(&project.path(NOTES), &ticked);
    save_by_rename(&project.path("clada.toml"), "");
    wait_for_results(&project, "the settings are valid again");
    assert_eq!(ran(&project), ["old"], "{}", watching.said());
}

#[test]
fn a_kill_between_two_results_loses_none() {
    let project = Project::new();
    let watching = listen(&project);
    save(&project, &waiting("one"));
    wait_for_begin(&project, "one");
    save(&project, &(waiting("one") + &waiting("two")));
    project.write("one", "");
    wait_for_begin(&project, "two");
    // What it wrote is with clada only once that has read it.
    wait_until(
        || project.read(OUTPUT).contains("out of two\n"),
        || watching.said(),
    );
    watching.stop(Signal::KILL);
    let _watching = listen(&project);
    let notes = wait_for_results(&project, "clada stopped during task 1");
    assert!(notes.results[0].starts_with("1 ⚠ exec echo out of two"));
    assert_eq!(earlier(&notes).len(), 1, "{:?}", notes.earlier);
    assert!(earlier(&notes)[0].starts_with("1 ✅ exec echo out of one"));
    for text in [project.read(OUTPUT), packet(&project)] {
        assert!(text.contains("stdout:\nout of one\n"), "{text}");
        assert!(text.contains("out of two\n"), "{text}");
    }
}

/// The daemon's listener rests between saves, and another one comes after it.
#[test]
fn what_is_unread_outlives_a_listener_that_rests() {
    let project = Project::new();
    let daemon = || {
        let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
        command
            .args(["daemon", "--no-clipboard"])
            .env("CLADA_LOG", "debug");
        let daemon = Watching::start(command);
        daemon.wait_for("watching files=");
        daemon
    };
    project.write(NOTES, "");
    project.clada(["add", NOTES]).exits(0);
    daemon().stop(Signal::TERM);
    project.write("one", "");
    project.write(NOTES, waiting("one"));
    let first = daemon();
    wait_for_results(&project, "out of one");
    first.stop(Signal::TERM);
    // There is nothing to do at the start, so its listener rests.
    let daemon = daemon();
    save_by_rename(&project.path("clada.toml"), "no settings");
    daemon.wait_for("awake");
    let notes = wait_for_results(&project, "the previous settings stay in effect");
    assert!(earlier(&notes)[0].starts_with("1 ✅ exec echo out of one"));
    let output = project.read(OUTPUT);
    assert!(output.contains("stdout:\nout of one\n"), "{output}");
}

/// A packet tells whose it is where more than one file is watched, and does no harm on top of notes.
#[test]
fn a_packet_names_its_notes_where_there_are_others() {
    let project = Project::new();
    project.write("one", "").write("two", "");
    let watching = listen(&project);
    save(&project, &waiting("one"));
    wait_for_results(&project, "out of one");
    let alone = packet(&project);
    assert!(alone.starts_with("=== CLADA RESULTS ===\n"), "{alone}");
    let _other = project.watch(["--no-git", "--no-clipboard", "other.md"]);
    let both = waiting("one") + &waiting("two");
    save(&project, &both);
    wait_for_results(&project, "out of two");
    let notes = ["copy", "--print", "--file", NOTES];
    let named = project.clada(notes).exits(0).out;
    let file = project.path(NOTES);
    let (first, rest) = named.split_once('\n').expect("lines");
    assert_eq!(first, format!("📋 Results of {}", file.display()));
    assert!(rest.starts_with("=== CLADA RESULTS ===\n"), "{rest}");

    // On top of the notes it is results like others: nothing of it runs.
    let text = named + &project.read(NOTES);
    save_by_rename(&file, &text);
    save_by_rename(&file, text + &reply("three"));
    wait_for_results(&project, "echo three");
    assert_eq!(ran(&project), ["three"], "{}", watching.said());
}

#[test]
fn each_packet_can_be_had_again() {
    let project = Project::new();
    let _watching = listen(&project);
    let mut body = String::new();
    for word in ["one", "two"] {
        project.write(word, "");
        body += &waiting(word);
        save(&project, &body);
        wait_for_results(&project, &format!("out of {word}"));
    }
    let log = project.clada(["log", "--json"]).json();
    let id = log[1]["id"].as_str().expect("id").to_owned();
    let said = |args: &[&str]| {
        let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
        command.args(args);
        crate::harness::Ended::of(command, "")
    };
    let first = said(&["copy", "--print", "1"]).exits(0).out;
    assert!(first.contains("stdout:\nout of one\n"), "{first}");
    assert!(!first.contains("out of two"), "{first}");
    assert_eq!(said(&["copy", "--print", &id]).exits(0).out, first);
    assert_eq!(said(&["log", "1", "--output"]).exits(0).out, first);
    let last = said(&["log", "2", "--output", "--file", NOTES]);
    assert_eq!(last.exits(0).out, packet(&project));
    let uncopied = said(&["copy"]).exits(1).err;
    assert!(
        uncopied.starts_with("❌ not copied to the clipboard: "),
        "{uncopied}"
    );
    assert!(
        uncopied.ends_with("; print the text with `clada copy --print`\n"),
        "{uncopied}"
    );
    let several = said(&["copy", "--print", &id[..4]]).exits(2).err;
    assert!(
        several.contains("`: give more of the id, as `clada log` shows it"),
        "{several}"
    );
    let unknown = said(&["copy", "--print", "7"]).exits(2).err;
    assert!(unknown.contains("no batch `7` ran for"), "{unknown}");
    assert!(unknown.contains("`: find its number or id with `clada log`, or choose another notes file with `--file FILE`"), "{unknown}");

    // The last twenty are kept.
    let packets = project.state_folder().join("packets");
    let mut folders = std::fs::read_dir(packets).expect("packets");
    let folder = folders.next().expect("a folder").expect("entry").path();
    let files = std::fs::read_dir(folder).expect("files").flatten();
    let mut files: Vec<_> = files.map(|entry| entry.path()).collect();
    files.sort();
    assert_eq!(files.len(), 2, "{files:?}");
    std::fs::remove_file(&files[0]).expect("remove");
    let forgotten = said(&["copy", "--print", "1"]).exits(1).err;
    assert!(forgotten.contains("` are no longer kept, only the last 20 of each notes file: run `clada log` to see how its tasks ended"), "{forgotten}");
}

#[test]
fn the_same_reply_once_more_says_so() {
    let project = Project::new();
    let _watching = listen(&project);
    let two = exec(&record("a")) + &exec(&record("b"));
    let body = format!("first:\n{two}");
    save(&project, &body);
    let notes = wait_for_results(&project, "2 ✅ exec echo b");
    assert_eq!(notes.results.len(), 2, "{:?}", notes.results);
    let body = format!(
        "{body}second:\n{}third:\n{}",
        exec(&record("b")),
        reply("c")
    );
    save(&project, &body);
    let notes = wait_for_results(&project, "2 ✅ exec echo c");
    let said = notes.results.last().expect("lines");
    let time = said.strip_prefix("task 1: the same as the reply that ran at ");
    assert!(time.is_some_and(|time| time.len() == 5), "{said}");
    let body = format!("{body}fourth:\n{}", reply("c"));
    save(&project, &body);
    let notes = wait_for_results(&project, "1 ✅ exec echo c");
    assert_eq!(notes.results.len(), 2, "{:?}", notes.results);
    let said = &notes.results[1];
    assert!(
        said.starts_with("the same as the reply that ran at "),
        "{said}"
    );
    assert_eq!(lines(&project, "runs.txt"), ["a", "b", "b", "c", "c"]);
}

/// Who ticked while no clada was there nobody knows: the offers are made anew.
#[test]
fn a_tick_that_no_clada_saw_does_not_count() {
    let project = Project::new();
    project.write(NOTES, reply("old"));
    let watching = listen(&project);
    wait_for_results(&project, "1 task was here");
    watching.stop(Signal::TERM);
    let tick = || {
        let text = project.read(NOTES);
        assert!(text.contains("- [ ] run it"), "{text}");
        save_by_rename(&project.path(NOTES), text.replace("- [ ] run", "- [x] run"));
    };
    tick();
    let _watching = listen(&project);
    let notes = wait_for_results(&project, "made while no clada watched this file is ignored");
    assert_eq!(notes.body, reply("old"));
    assert_eq!(ran(&project), [""; 0]);
    tick();
    wait_for_results(&project, "1 ✅ exec echo old");
    assert_eq!(ran(&project), ["old"]);
}

/// `clada retry` where nobody listens adds to what could not be read yet.
#[test]
fn a_retry_adds_too() {
    let project = Project::new();
    // Each attempt is two batches.
    let told = |attempt: usize| {
        let batch = (2 * attempt + 1).to_string();
        project.clada(["copy", "--print", &batch]).code == Some(0)
    };
    // On a slow machine it is asked late, and the results before it count as read.
    let is_added = |attempt: usize| {
        let watching = listen(&project);
        let fails = exec("echo out of one; test -e ok");
        let text = std::fs::read_to_string(project.path(NOTES)).unwrap_or_default();
        let body = Notes::parse(&text).map_or(text, |notes| notes.body);
        save(&project, &format!("{body}attempt {attempt}\n{fails}"));
        wait_until(|| told(attempt), || watching.said());
        drop(watching);
        let failed = project.clada(["retry", "--no-git", "--no-clipboard"]);
        assert!(failed.exits(1).out.contains("1 ❌"));
        let notes = Notes::of(&project);
        let below = earlier(&notes);
        below.first().is_some_and(|line| line.starts_with("1 ❌"))
    };
    assert!((0..9).any(is_added), "{}", project.read(NOTES));
    let packet = packet(&project);
    assert!(packet.matches("stdout:\nout of one\n").count() > 1);
    wait_to_read(&project.path(NOTES));
    project.write("ok", "");
    let retry = ["retry", "--no-git", "--no-clipboard"];
    project.clada(retry).exits(0);
    assert_eq!(Notes::of(&project).earlier, [""; 0]);
}
