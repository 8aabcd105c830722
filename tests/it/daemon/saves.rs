//! Each way in which a text comes into the watched file.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::time::Duration;

use rustix::process::Signal;

use super::{NOTES, Notes, OUTPUT, exec, lines, modified, pause, wait_for_results};
use crate::harness::{Project, save_by_rename, wait_until};

/// A way to save the notes with a reply at their end, and its name.
type Way<'w> = (&'w str, &'w dyn Fn(&Project, &str));

/// Appends a reply to the notes in one way after the other; each runs once, and the text stays to the byte.
fn saved_by(ways: &[Way<'_>]) {
    let project = Project::with_git();
    let mut body = "my notes\n\n".to_owned();
    project.write(NOTES, &body);
    let watching = project.watch([]);
    for (way, save) in ways {
        let reply = exec(&format!("echo {way} >> runs.txt"));
        save(&project, &reply);
        body += &reply;
        let notes = wait_for_results(&project, &format!("1 ✅ exec echo {way} "));
        assert_eq!(notes.body, body, "{way}");
        assert_eq!(notes.tasks(), [format!("1 ✅ exec echo {way} >> runs.txt")]);
    }
    watching.until_it_looked(&project.path(NOTES));
    let names: Vec<&str> = ways.iter().map(|(way, _)| *way).collect();
    assert_eq!(lines(&project, "runs.txt"), names, "{}", watching.said());
    assert_eq!(Notes::of(&project).body, body);
    let left = fs::read_dir(project.root()).expect("read dir");
    let left = left.map(|entry| {
        entry
            .expect("entry")
            .file_name()
            .into_string()
            .expect("name")
    });
    let left: Vec<String> = left
        .filter(|name| name.starts_with(".clada-") && name != OUTPUT)
        .collect();
    assert_eq!(left, [""; 0]);
}

fn appended(project: &Project, reply: &str) -> String {
    project.read(NOTES) + reply
}

#[test]
fn by_programs() {
    saved_by(&[
        ("in-place", &|project, reply| {
            fs::write(project.path(NOTES), appended(project, reply)).expect("write");
        }),
        ("rename", &|project, reply| {
            save_by_rename(&project.path(NOTES), appended(project, reply));
        }),
        ("append", &|project, reply| {
            let mut file = OpenOptions::new()
                .append(true)
                .open(project.path(NOTES))
                .expect("open");
            file.write_all(reply.as_bytes()).expect("write");
        }),
        ("delete-and-recreate", &|project, reply| {
            let text = appended(project, reply);
            fs::remove_file(project.path(NOTES)).expect("remove");
            // Here and below longer than what is written must be quiet before it is looked at.
            pause();
            fs::write(project.path(NOTES), text).expect("write");
        }),
        ("truncate-then-write", &|project, reply| {
            let text = appended(project, reply);
            let mut file = fs::File::create(project.path(NOTES)).expect("create");
            pause();
            file.write_all(text.as_bytes()).expect("write");
        }),
        ("pieces-with-pauses", &|project, reply| {
            let text = appended(project, reply);
            let mut file = fs::File::create(project.path(NOTES)).expect("create");
            for piece in text.as_bytes().chunks(text.len() / 3 + 1) {
                file.write_all(piece).expect("write");
                pause();
            }
        }),
    ]);
}

#[test]
fn a_first_file_says_what_to_do_and_a_paste_into_it_runs() {
    let project = Project::with_git();
    let watching = project.watch([]);
    assert!(
        watching
            .said()
            .contains(&format!("watching {}\n", project.path(NOTES).display()))
    );
    let greeting = project.read(NOTES);
    assert!(
        greeting.contains("clada instructions") && greeting.lines().count() == 2,
        "{greeting}"
    );
    save_by_rename(
        &project.path(NOTES),
        greeting.clone() + &exec("echo one >> runs.txt"),
    );
    let notes = wait_for_results(&project, "1 ✅");
    assert_eq!(notes.body, greeting + &exec("echo one >> runs.txt"));
    assert_eq!(lines(&project, "runs.txt"), ["one"]);
}

#[test]
fn what_is_there_at_first_sight_is_noted_and_not_run() {
    let project = Project::new();
    project.write(NOTES, exec("echo old >> runs.txt"));
    let watching = project.watch([]);
    let notes = wait_for_results(&project, "1 task was here before clada began to watch");
    assert_eq!(notes.status, "");
    assert!(
        notes.results[0].ends_with("not run - [ ] run it"),
        "{:?}",
        notes.results
    );
    assert_eq!(notes.body, exec("echo old >> runs.txt"));
    save_by_rename(
        &project.path(NOTES),
        notes.body + &exec("echo new >> runs.txt"),
    );
    wait_for_results(&project, "1 ✅");
    drop(watching);
    // They are known by now: the results stay.
    let before = project.read(NOTES);
    let watching = project.watch([]);
    watching.until_it_looked(&project.path(NOTES));
    assert_eq!(project.read(NOTES), before);
    assert_eq!(lines(&project, "runs.txt"), ["new"]);
    // A paste above them takes their place.
    let body = Notes::of(&project).body;
    let reply = exec("echo newest >> runs.txt");
    save_by_rename(&project.path(NOTES), reply.clone() + &before);
    let notes = wait_for_results(&project, "echo newest");
    assert_eq!(notes.body, reply + &body);
}

#[test]
fn pastes_above_and_below_and_once_more() {
    let project = Project::with_git();
    project.write(NOTES, "notes\n");
    let _watching = project.watch([]);
    let (one, two) = (exec("echo one >> runs.txt"), exec("echo two >> runs.txt"));
    save_by_rename(&project.path(NOTES), format!("notes\n{one}"));
    wait_for_results(&project, "echo one");
    // On top of everything, the results block included.
    save_by_rename(&project.path(NOTES), two.clone() + &project.read(NOTES));
    let notes = wait_for_results(&project, "echo two");
    assert_eq!(notes.body, format!("{two}notes\n{one}"));
    // The same once more, and its last line lacks its end, as what is copied from a page often does.
    save_by_rename(
        &project.path(NOTES),
        two.trim_end().to_owned() + &project.read(NOTES),
    );
    wait_until(
        || lines(&project, "runs.txt").len() == 3,
        || "the third run".to_owned(),
    );
    let notes = wait_for_results(&project, "echo two");
    wait_until(
        || Notes::of(&project).body == format!("{two}{two}notes\n{one}"),
        || project.read(NOTES),
    );
    let [task, same] = notes.tasks()[..] else {
        panic!("{:?}", notes.results)
    };
    assert!(task.starts_with("1 ✅") && same.starts_with("the same as the reply"));
    assert_eq!(lines(&project, "runs.txt"), ["one", "two", "two"]);
}

#[test]
fn nothing_new_and_nothing_is_touched() {
    let project = Project::with_git();
    project.write(NOTES, "notes\n");
    let watching = project.watch([]);
    save_by_rename(
        &project.path(NOTES),
        format!("notes\n{}", exec("echo one >> runs.txt")),
    );
    wait_for_results(&project, "1 ✅");
    watching.until_it_looked(&project.path(NOTES));
    let text = project.read(NOTES);
    for text in [
        text.clone(),
        text.replace("\nnotes\n", "\nmore notes\n"),
        text.clone() + "prose\n",
        "all new\n".to_owned(),
    ] {
        fs::write(project.path(NOTES), &text).expect("write");
        let (saved, output) = (modified(&project, NOTES), modified(&project, OUTPUT));
        watching.until_it_looked(&project.path(NOTES));
        assert_eq!(project.read(NOTES), text);
        assert_eq!(
            (modified(&project, NOTES), modified(&project, OUTPUT)),
            (saved, output)
        );
    }
    assert_eq!(lines(&project, "runs.txt"), ["one"]);
    assert_eq!(project.git(["rev-list", "--count", "HEAD"]), "1\n");
}

#[test]
fn batches_of_one_save_are_numbered_through() {
    let project = Project::with_git();
    project.write("a.txt", "a\n");
    let _watching = project.watch([]);
    let delete = |path: &str| format!("<task><c>delete</c><path>{path}</path></task>\n");
    let text = format!(
        "<tasks>\n{}{}</tasks>\nand\n<tasks>\n{}</tasks>\n",
        delete("a.txt"),
        delete("b.txt"),
        delete("c.txt")
    );
    save_by_rename(&project.path(NOTES), &text);
    let notes = wait_for_results(&project, "3 ❌");
    let starts: Vec<&str> = notes
        .tasks()
        .iter()
        .map(|line| line.split(" - ").next().expect("a word"))
        .collect();
    assert_eq!(
        starts,
        [
            "1 ✅ delete a.txt",
            "2 ❌ delete b.txt",
            "3 ❌ delete c.txt"
        ]
    );
}

#[test]
fn crlf_and_bom_stay() {
    let project = Project::with_git();
    project.write(NOTES, "\u{feff}notes\r\n");
    let _watching = project.watch([]);
    let body = format!("\u{feff}notes\r\n{}", exec("echo one >> runs.txt"))
        .replace('\n', "\r\n")
        .replace("\r\r", "\r");
    save_by_rename(&project.path(NOTES), &body);
    wait_until(
        || project.read(NOTES).contains("1 ✅ exec"),
        || project.read(NOTES),
    );
    let text = project.read(NOTES);
    let rest = text.strip_prefix('\u{feff}').expect("BOM first");
    assert!(rest.starts_with("❌ Clipboard copy failed at "), "{text:?}");
    let (block, below) = rest
        .split_once("=== END ===\r\n\r\n")
        .expect("end of block");
    assert_eq!(format!("\u{feff}{below}"), body);
    assert_eq!(block.matches("\r\n").count(), block.matches('\n').count());
    assert_eq!(lines(&project, "runs.txt"), ["one"]);
}

#[test]
fn a_symbolic_link_stays_one() {
    let project = Project::with_git();
    project.write("elsewhere/real.md", "notes\n");
    std::os::unix::fs::symlink("elsewhere/real.md", project.path(NOTES)).expect("symlink");
    let watching = project.watch([]);
    watching.wait_for("elsewhere/real.md");
    fs::write(
        project.path(NOTES),
        format!("notes\n{}", exec("echo one >> runs.txt")),
    )
    .expect("write");
    wait_for_results(&project, "1 ✅");
    save_by_rename(
        &project.path("elsewhere/real.md"),
        project.read(NOTES) + &exec("echo two >> runs.txt"),
    );
    wait_for_results(&project, "echo two");
    assert!(
        project
            .path(NOTES)
            .symlink_metadata()
            .expect("metadata")
            .is_symlink()
    );
    assert!(project.exists(&format!("elsewhere/{OUTPUT}")));
    assert_eq!(lines(&project, "runs.txt"), ["one", "two"]);
}

#[test]
fn half_a_paste_is_waited_for() {
    let project = Project::with_git();
    let watching = project.watch([]);
    let reply = exec("echo one >> runs.txt\necho two >> runs.txt");
    let half = reply.find("echo two").expect("half");
    save_by_rename(&project.path(NOTES), &reply[..half]);
    watching.until_it_saw(&project.path(NOTES));
    assert_eq!(project.read(NOTES), reply[..half]);
    save_by_rename(&project.path(NOTES), &reply);
    let notes = wait_for_results(&project, "1 ✅");
    assert_eq!(notes.body, reply);
    watching.until_it_looked(&project.path(NOTES));
    assert_eq!(lines(&project, "runs.txt"), ["one", "two"]);
    assert!(
        !watching.said().contains("the reply ends"),
        "{}",
        watching.said()
    );
}

#[test]
fn what_stays_unclosed_is_told_once() {
    let project = Project::with_git();
    let watching = project.watch([]);
    let reply = exec("echo one >> runs.txt");
    let rest = "</x>\n</task>\n</tasks>\n";
    let half = reply.strip_suffix(rest).expect("half");
    let start = std::time::Instant::now();
    save_by_rename(&project.path(NOTES), half);
    let notes = wait_for_results(&project, "❌ the reply ends in task 1 (exec)");
    assert!(
        start.elapsed() >= Duration::from_secs(2),
        "{:?}",
        start.elapsed()
    );
    // It may still be typed at: nothing for the clipboard.
    assert_eq!(notes.status, "");
    assert_eq!(notes.body, half);
    save_by_rename(&project.path(NOTES), project.read(NOTES) + "prose\n");
    let saved = modified(&project, NOTES);
    watching.until_it_looked(&project.path(NOTES));
    assert_eq!(modified(&project, NOTES), saved, "told again");
    save_by_rename(
        &project.path(NOTES),
        project.read(NOTES).replace("prose\n", rest),
    );
    wait_for_results(&project, "1 ✅");
    assert_eq!(lines(&project, "runs.txt"), ["one"]);
    drop(watching);
}

#[test]
fn a_file_that_stays_empty_has_an_empty_body() {
    let project = Project::new();
    project.write(NOTES, exec("echo one >> runs.txt"));
    let watching = project.watch([]);
    wait_for_results(&project, "1 task was here");
    let text = project.read(NOTES);
    fs::write(project.path(NOTES), "").expect("write");
    watching.until_it_saw(&project.path(NOTES));
    fs::write(project.path(NOTES), &text).expect("write");
    watching.until_it_looked(&project.path(NOTES));
    assert!(!project.exists("runs.txt"), "only saved in two steps");
    fs::write(project.path(NOTES), "").expect("write");
    watching.until_it_looked(&project.path(NOTES));
    fs::write(project.path(NOTES), exec("echo one >> runs.txt")).expect("write");
    wait_for_results(&project, "1 task came back");
    assert!(!project.exists("runs.txt"), "it came back");
}

#[test]
fn notes_that_were_there_are_waited_for_and_not_made_anew() {
    let project = Project::new();
    project.write(NOTES, "notes\n");
    project.watch([]).stop(Signal::TERM);
    fs::remove_file(project.path(NOTES)).expect("remove");
    let watching = project.watch([]);
    watching.wait_for("the notes file does not exist");
    assert!(!project.exists(NOTES));
    let text = format!("notes\n{}", exec("echo one >> runs.txt"));
    save_by_rename(&project.path(NOTES), &text);
    let notes = wait_for_results(&project, "1 ✅");
    assert_eq!(notes.body, text);
}
