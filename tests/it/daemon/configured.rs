//! Settings that are edited while clada listens.

use std::fs;

use super::{END, NOTES, Notes, OUTPUT, exec, listen, save, wait_for_results};
use crate::harness::{Project, Watching, save_by_rename, wait_until};

/// How often a text is in what clada said so far.
fn times(text: &str, said: &str) -> usize {
    said.matches(text).count()
}

const HOLDS: &str = ": the previous settings stay in effect";
const MENDED: &str = "✅ the settings are valid again";

#[test]
fn a_project_folder_with_the_home_in_it_is_told() {
    let project = Project::new();
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.args(["watch", "--no-clipboard", "--no-git"]);
    let watching = Watching::start({
        command.env("HOME", project.root());
        command
    });
    watching.wait_for("watching ");
    let warning = "⚠ your home folder is in this project folder, so commands can write to all of it: run clada in a \
                   smaller folder";
    wait_until(
        || watching.said().contains(warning) || project.read(NOTES).contains(warning),
        || watching.said() + &project.read(NOTES),
    );
}

/// Nobody saves the notes meanwhile; what is told is on top of them, once, and the user's text below.
#[test]
fn a_broken_edit_is_told_at_once_and_once() {
    let project = Project::new();
    project.write(NOTES, "my notes\n");
    let watching = listen(&project);
    project.write("clada.toml", "[watch]\ndebuonce = '1s'\n");
    let notes = wait_for_results(&project, HOLDS);
    assert_eq!(notes.results.len(), 1, "{:?}", notes.results);
    assert!(
        notes.results[0].contains(
            "clada.toml`, line 2, column 1: unknown key `watch.debuonce`: did you mean `debounce`?"
        ),
        "{:?}",
        notes.results
    );
    assert_eq!((&*notes.status, &*notes.body), ("", "my notes\n"));
    // Said once: not with the next results.
    save(
        &project,
        &format!("my notes\n{}", exec("echo one >> runs.txt")),
    );
    let notes = wait_for_results(&project, "1 ✅ exec echo one");
    assert_eq!(notes.results.len(), 1, "{:?}", notes.results);
    // Another mistake is another thing to say.
    project.write("clada.toml", "[watch]\npoll = 'x'\n");
    let notes = wait_for_results(&project, "line 2, column 8");
    assert_eq!(notes.results.len(), 1, "{:?}", notes.results);
    // Mended, it says so, once.
    project.write("clada.toml", "[watch]\ndebounce = '20ms'\n");
    let notes = wait_for_results(&project, MENDED);
    assert_eq!(notes.results.len(), 1, "{:?}", notes.results);
    save(&project, &exec("echo two >> runs.txt"));
    wait_for_results(&project, "1 ✅ exec echo two");
    let said = watching.said();
    assert_eq!(
        (times(HOLDS, &said), times(MENDED, &said)),
        (2, 1),
        "{said}"
    );
    assert_eq!(project.read("runs.txt"), "one\ntwo\n");
}

/// The user's file too, where its folder is there; and when it was not, at the next save.
#[test]
fn the_users_file_is_watched() {
    for is_there in [true, false] {
        let project = Project::new();
        if is_there {
            project.configure("");
        }
        let _watching = listen(&project);
        project.configure("[exec]\nsandbox = 'of'\n");
        if !is_there {
            save(&project, "some prose\n");
        }
        let notes = wait_for_results(&project, HOLDS);
        assert!(
            notes.results[0]
                .contains("config.toml`, line 2, column 11: unknown value `of`: the values are "),
            "{:?}",
            notes.results
        );
    }
}

/// An edit that is right disturbs nobody: notes and output stay as they are, and what it says holds for the next reply.
#[test]
fn a_right_edit_holds_silently() {
    let project = Project::new();
    let watching = listen(&project);
    save(&project, &exec("echo one"));
    wait_for_results(&project, "1 ✅ exec echo one");
    let before = project.read(NOTES);
    project.configure("[actions]\ndeny = ['exec']\n");
    save_by_rename(&project.path("clada.toml"), "[watch]\ndebounce = '30ms'\n");
    save(&project, &exec("echo two"));
    let notes = wait_for_results(&project, "1 ❌ exec echo two");
    assert_eq!(notes.results.len(), 1, "{:?}", notes.results);
    let block = before.split(END).next().expect("a block");
    assert!(!block.contains("settings"), "{block}");
    assert!(!watching.said().contains("settings"), "{}", watching.said());
}

/// The clipboard is turned off and on again; without a display that shows in line 1 of the results.
#[test]
fn the_clipboard_is_switched_while_clada_listens() {
    let project = Project::new();
    project.write("clada.toml", "[clipboard]\nenabled = false\n");
    let _watching = project.watch(["--no-git"]);
    save(&project, &exec("echo one"));
    assert_eq!(wait_for_results(&project, "echo one").status, "");
    project.write("clada.toml", "[clipboard]\nenabled = true\n");
    save(&project, &exec("echo two"));
    let status = wait_for_results(&project, "echo two").status;
    assert!(status.starts_with("❌ Clipboard copy failed"), "{status}");
    project.write("clada.toml", "[clipboard]\nenabled = false\n");
    save(&project, &exec("echo three"));
    assert_eq!(wait_for_results(&project, "echo three").status, "");
}

/// The output file has the name that the settings give it, needs trust for that in a project, and flags come first.
#[test]
fn the_output_file_is_named_in_the_settings() {
    let project = Project::with_git();
    project.write("clada.toml", "[watch]\noutput_file = 'out of clada.txt'\n");
    let run = |word: &str, args: &[&str]| {
        let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
        command.arg("watch").args(args).arg("--no-clipboard");
        let watching = crate::harness::Watching::start(command);
        watching.wait_for("watching ");
        let before = fs::read_to_string(project.path(NOTES)).unwrap_or_default();
        save_by_rename(
            &project.path(NOTES),
            before + &exec(&format!("echo {word} > run.txt")),
        );
        wait_for_results(&project, &format!("echo {word}"));
    };
    run("one", &[]);
    assert!(project.exists(OUTPUT) && !project.exists("out of clada.txt"));
    project.clada(["trust"]).exits(0);
    run("two", &[]);
    assert!(project.read("out of clada.txt").contains("echo two"));
    // A file of clada's own, for git and for undo.
    project.clada(["undo"]).exits(0);
    let committed = project.git(["log", "--all", "--name-only", "--format="]);
    assert!(!committed.contains("out of clada.txt"), "{committed}");
    run("three", &["--output-file", "third.txt"]);
    assert!(project.read("third.txt").contains("echo three"));
}

/// How much clada says of its own work is the user's to set.
#[test]
fn the_log_is_as_loud_as_the_settings_say() {
    let project = Project::new();
    project.configure("[log]\nlevel = 'debug'\n");
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.args(["watch", "--no-git", "--no-clipboard"]);
    // Without a level of its own from the test.
    let watching = Watching::start(command);
    watching.wait_for("watching ");
    save(&project, &exec("echo one"));
    wait_for_results(&project, "echo one");
    watching.wait_for("DEBUG");
}

/// What takes a new start is said with the next results.
#[test]
fn what_takes_a_new_start_says_so() {
    let project = Project::new();
    let _watching = listen(&project);
    project.write("clada.toml", "[watch]\npoll = '1s'\n");
    save(&project, &exec("echo one"));
    let notes = wait_for_results(&project, "echo one");
    assert!(
        notes.results.iter().any(|line| line
            == "⚠ `watch.poll` or `watch.output_file` changed: restart clada to apply that"),
        "{:?}",
        notes.results
    );
    save(&project, &exec("echo two"));
    let notes = wait_for_results(&project, "echo two");
    assert_eq!(notes.results.len(), 1, "{:?}", notes.results);
}

/// Missing notes are no reason to end: what is wrong is told when they are there.
#[test]
fn notes_that_are_gone_get_it_when_they_are_back() {
    let project = Project::new();
    let watching = listen(&project);
    fs::remove_file(project.path(NOTES)).expect("remove");
    watching.wait_for("the notes file does not exist");
    project.write("clada.toml", "[nothing]\n");
    save_by_rename(&project.path(NOTES), "back\n");
    wait_until(
        || Notes::parse(&project.read(NOTES)).is_some_and(|notes| notes.body == "back\n"),
        || project.read(NOTES),
    );
    wait_for_results(&project, HOLDS);
}
