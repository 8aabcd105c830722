//! Results as a person comes upon them: below what was written above them meanwhile, and after a crash. Knows nothing of
//! how they are made.

use rustix::process::Signal;

use super::{NOTES, OUTPUT, exec, lines, record, reply, wait_for_results};
use crate::harness::{Project, wait_until};

/// Saves the notes as they are with a change.
fn change(project: &Project, change: impl FnOnce(String) -> String) {
    let text = change(project.read(NOTES));
    project.write(NOTES, text);
}

#[test]
fn a_tick_below_what_was_written_above_the_results() {
    let project = Project::new();
    project.write(NOTES, reply("one"));
    let watching = project.watch(["--no-clipboard"]);
    wait_for_results(&project, "run it");
    change(&project, |text| format!("a thought\n{text}"));
    watching.until_it_looked(&project.path(NOTES));
    change(&project, |text| text.replace("- [ ]", "- [x]"));
    let notes = wait_for_results(&project, "1 ✅");
    assert_eq!(notes.body, format!("a thought\n{}", reply("one")));
    assert_eq!(lines(&project, "runs.txt"), ["one"]);
}

#[test]
fn results_that_were_written_above_are_taken_off_however_the_notes_go_on() {
    for bom in ["", "\u{feff}"] {
        let project = Project::new();
        let watching = project.watch(["--no-clipboard"]);
        project.write(NOTES, format!("{bom}{}", reply("one")));
        let ran = |word: &str| {
            wait_until(
                || {
                    project
                        .read(NOTES)
                        .contains(&format!("1 ✅ exec {}", record(word)))
                },
                || project.read(NOTES),
            );
        };
        ran("one");
        change(&project, |text| {
            format!("{bom}a thought\n{}", &text[bom.len()..])
        });
        watching.until_it_looked(&project.path(NOTES));
        change(&project, |text| text + &reply("two"));
        ran("two");
        let text = project.read(NOTES);
        let body = format!("a thought\n{}{}", reply("one"), reply("two"));
        assert!(text.ends_with(&format!("=== END ===\n\n{body}")), "{text}");
        assert_eq!(lines(&project, "runs.txt"), ["one", "two"]);
    }
}

#[test]
fn half_a_reply_above_the_results_is_told_of_without_leaving_them_behind() {
    let project = Project::new();
    let watching = project.watch(["--no-clipboard"]);
    project.write(NOTES, reply("one"));
    wait_for_results(&project, "1 ✅");
    change(&project, |text| text.replace(&reply("one"), "the end\n"));
    watching.until_it_looked(&project.path(NOTES));
    change(&project, |text| format!("half:\n<tasks>\n{text}"));
    let notes = wait_for_results(&project, "❌ the reply ends after its `<tasks>`");
    assert_eq!(notes.body, "half:\n<tasks>\nthe end\n");
}

/// Runs a batch whose second task of three writes a word and goes on, and kills clada there.
fn killed_in_the_second_task(project: &Project) {
    let task = |script: &str| format!("<task><c>exec</c><x>{script}</x></task>\n");
    let tasks = [
        task("echo first"),
        task("echo halfway; sleep 60"),
        task("echo never >> runs.txt"),
    ];
    let watching = project.watch(["--no-clipboard"]);
    project.write(NOTES, format!("<tasks>\n{}</tasks>\n", tasks.concat()));
    let output = || std::fs::read_to_string(project.path(OUTPUT)).unwrap_or_default();
    wait_until(|| output().contains("\nhalfway\n"), output);
    watching.stop(Signal::KILL);
}

#[test]
fn what_an_interrupted_task_wrote_is_shown_as_its_output() {
    let project = Project::new();
    killed_in_the_second_task(&project);
    let _watching = project.watch(["--no-clipboard"]);
    wait_for_results(&project, "2 ⚠");
    let output = project.read(OUTPUT);
    let (_, outputs) = output.split_once("=== OUTPUTS ===\n").expect("outputs");
    assert!(
        outputs.starts_with("\n[2] exec echo halfway; sleep 60 (failed):\n"),
        "{output}"
    );
    assert!(outputs.contains("\nhalfway\n"), "{output}");
    assert!(!outputs.contains("first"), "of another task: {output}");
}

#[test]
fn what_was_interrupted_is_told_beside_what_ran_since() {
    let project = Project::new();
    killed_in_the_second_task(&project);
    change(&project, |text| text + &reply("new"));
    let _watching = project.watch(["--no-clipboard", "--no-git"]);
    let notes = wait_for_results(&project, "4 ✅");
    let lines: Vec<&str> = notes.results.iter().map(String::as_str).collect();
    assert_eq!(lines.len(), 5, "{lines:?}");
    assert_eq!(lines[0], "1 ✅ exec echo first");
    assert!(lines[1].starts_with("2 ⚠ exec echo halfway; sleep 60 - interrupted"));
    assert!(
        lines[2].starts_with("3 ⏹ exec echo never >> runs.txt - not run: clada stopped before it")
    );
    assert_eq!(lines[3], format!("4 ✅ exec {}", record("new")));
    assert!(lines[4].starts_with("⚠ clada stopped during tasks 1 to 3 (started"));
    let output = project.read(OUTPUT);
    assert!(
        output.contains("output until it was interrupted:\n") && output.contains("\nhalfway\n"),
        "{output}"
    );
}

#[test]
fn what_was_interrupted_is_told_when_the_notes_can_be_read_again() {
    let project = Project::new();
    killed_in_the_second_task(&project);
    let text = project.read(NOTES);
    project.write(NOTES, [text.as_bytes(), b"\xff"].concat());
    let watching = project.watch(["--no-clipboard"]);
    watching.wait_for("UTF-8");
    project.write(NOTES, &text);
    let notes = wait_for_results(&project, "2 ⚠");
    assert_eq!(notes.body, text);
}

#[test]
fn what_comes_below_results_that_were_changed_by_hand_waits_for_a_tick() {
    let project = Project::new();
    let _watching = project.watch(["--no-clipboard"]);
    project.write(NOTES, reply("one"));
    wait_for_results(&project, "1 ✅");
    change(&project, |text| {
        text.replace("1 ✅", "1 ok") + &reply("two")
    });
    wait_for_results(&project, "that were edited: not run here - [ ] run it");
    assert_eq!(lines(&project, "runs.txt"), ["one"]);
    change(&project, |text| text.replace("- [ ]", "- [x]"));
    wait_for_results(&project, "1 ✅");
    assert_eq!(lines(&project, "runs.txt"), ["one", "two"]);
}

#[test]
fn a_batch_that_is_forgotten_comes_back_and_is_repaired() {
    let project = Project::new();
    let forgetful = ["--no-clipboard", "--ledger-days=0", "--ledger-size=0"];
    let batch = |second: &str| {
        let task = |script: &str| format!("<task><c>exec</c><x>{script}</x></task>\n");
        let tasks = task(&record("old")) + &task(second);
        format!("the top\n<tasks>\n{tasks}</tasks>\nthe end\n")
    };
    let watching = project.watch(forgetful);
    project.write(NOTES, batch("false"));
    wait_for_results(&project, "2 ❌");
    project.write(NOTES, "the top\nthe end\n");
    drop(watching);
    // What is forgotten is so at the first results of a start, when its second is over.
    let mut start = 0;
    wait_until(
        || {
            start += 1;
            let _watching = project.watch(forgetful);
            let word = format!("start{start}");
            change(&project, |text| text + &reply(&word));
            wait_for_results(&project, &record(&word));
            let log = project.clada(["log", "-n", "1000"]).exits(0).out;
            log.contains("its tasks are no longer kept")
        },
        || project.clada(["log"]).out,
    );
    let _watching = project.watch(["--no-clipboard"]);
    project.write(NOTES, batch("false"));
    wait_for_results(&project, "↩ 2 tasks came back");
    project.write(NOTES, batch("true"));
    let notes = wait_for_results(&project, "2 ✅ exec true");
    assert!(notes.results[0].starts_with("1 ⏭"), "{:?}", notes.results);
    let olds = lines(&project, "runs.txt");
    assert_eq!(olds.iter().filter(|line| *line == "old").count(), 1);
}

#[test]
fn a_tick_counts_once_where_the_next_results_are_the_same() {
    let project = Project::new();
    let begun = |times: usize| {
        wait_until(
            || lines(&project, "runs.txt").len() == times,
            || format!("{times} times in {:?}", lines(&project, "runs.txt")),
        );
    };
    let offered = || {
        wait_for_results(&project, "clada stopped during task");
        wait_until(
            || project.read(NOTES).contains("- [ ] run again"),
            || project.read(NOTES),
        );
    };
    let watching = project.watch(["--no-clipboard"]);
    project.write(NOTES, exec(&format!("{}; sleep 60", record("x"))));
    begun(1);
    watching.stop(Signal::KILL);
    let watching = project.watch(["--no-clipboard"]);
    offered();
    change(&project, |text| text.replace("- [ ]", "- [x]"));
    begun(2);
    watching.stop(Signal::KILL);
    let watching = project.watch(["--no-clipboard"]);
    offered();
    watching.until_it_looked(&project.path(NOTES));
    assert_eq!(lines(&project, "runs.txt").len(), 2, "{}", watching.said());
    change(&project, |text| text.replace("- [ ]", "- [x]"));
    begun(3);
}

#[test]
fn a_tick_counts_where_another_file_has_the_same_results() {
    let project = Project::new();
    let other = "other.md";
    project.write(NOTES, reply("one"));
    project.write(other, reply("two"));
    let _watching = project.watch(["--no-clipboard"]);
    wait_for_results(&project, "run it");
    let _other = project.watch([other, "--no-clipboard"]);
    wait_until(
        || project.read(other).contains("run it"),
        || project.read(other),
    );
    change(&project, |text| text.replace("- [ ]", "- [x]"));
    wait_for_results(&project, "1 ✅");
    assert_eq!(lines(&project, "runs.txt"), ["one"]);
}
