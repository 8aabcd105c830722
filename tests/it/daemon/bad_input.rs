//! Files that are not as they should be: each gets a clear message, and nothing is lost.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

use super::{NOTES, OUTPUT, exec, lines, wait_for_results};
use crate::harness::{Project, Watching, save_by_rename, skip, wait_until};

#[test]
fn notes_that_are_gone_are_waited_for() {
    let project = Project::new();
    let watching = project.watch([]);
    save_by_rename(&project.path(NOTES), exec("echo one >> runs.txt"));
    let text = wait_for_results(&project, "1 ✅").body;
    fs::remove_file(project.path(NOTES)).expect("remove");
    watching.wait_for("the notes file does not exist: waiting for it");
    // What was there stays known, and what is new is new.
    fs::write(project.path(NOTES), text + &exec("echo two >> runs.txt")).expect("write");
    wait_for_results(&project, "1 ✅ exec echo two");
    assert_eq!(lines(&project, "runs.txt"), ["one", "two"]);
}

#[test]
fn what_is_no_file_is_refused() {
    let project = Project::new();
    fs::create_dir(project.path("folder.md")).expect("mkdir");
    let run = project.clada(["watch", "folder.md"]).exits(2);
    assert!(
        run.err
            .contains("is a directory: give clada a plain text file"),
        "{}",
        run.err
    );
    let run = project.clada(["watch", "no/such/notes.md"]).exits(2);
    assert!(
        run.err.contains("cannot create `no/such/notes.md`"),
        "{}",
        run.err
    );
    let run = project
        .clada(["watch", "--root", "no/such/folder"])
        .exits(2);
    assert!(
        run.err
            .contains("the project folder `no/such/folder` cannot be used"),
        "{}",
        run.err
    );
    project.write("a.txt", "");
    let run = project.clada(["watch", "--root", "a.txt"]).exits(2);
    assert!(run.err.contains("`a.txt` cannot be used"), "{}", run.err);
}

#[test]
fn what_is_not_text_is_left_alone_until_it_is() {
    let project = Project::new();
    let watching = project.watch([]);
    let reply = exec("echo one >> runs.txt");
    for (bytes, why) in [
        ([reply.as_bytes(), b"\xff"].concat(), "not UTF-8"),
        ([b"a\0", reply.as_bytes()].concat(), "a NUL at byte 1"),
    ] {
        fs::write(project.path(NOTES), &bytes).expect("write");
        watching.wait_for(why);
        watching.until_it_looked(&project.path(NOTES));
        assert_eq!(fs::read(project.path(NOTES)).expect("read"), bytes);
    }
    assert!(!project.exists("runs.txt"));
    fs::write(project.path(NOTES), reply).expect("write");
    wait_for_results(&project, "1 ✅");
}

#[test]
fn what_is_too_large_is_left_alone() {
    const SIZE: u64 = 200 * 1024 * 1024;
    let project = Project::new();
    let file = File::create(project.path(NOTES)).expect("create");
    file.set_len(SIZE).expect("set_len");
    let watching = project.watch([]);
    watching.wait_for(&format!(
        "has {SIZE} bytes, and clada reads at most {}",
        128 * 1024 * 1024
    ));
    assert_eq!(file.metadata().expect("metadata").len(), SIZE);
    // Made smaller, it is seen for the first time.
    fs::write(project.path(NOTES), exec("echo one >> runs.txt")).expect("write");
    wait_for_results(&project, "1 task was here");
    assert!(!project.exists("runs.txt"));
}

#[test]
fn an_output_file_that_cannot_be_written_holds_up_nothing() {
    let project = Project::with_git();
    fs::create_dir(project.path(OUTPUT)).expect("mkdir");
    let watching = project.watch([]);
    save_by_rename(&project.path(NOTES), exec("echo one >> runs.txt"));
    let notes = wait_for_results(&project, "1 ✅");
    let said = format!(
        "⚠ cannot write the output file `{}`",
        project.path(OUTPUT).display()
    );
    assert!(
        notes
            .results
            .iter()
            .any(|line| line.starts_with(&said) && line.ends_with("it is a folder: remove it")),
        "{:?}",
        notes.results
    );
    // Once in the terminal, and once in the block of results that it shows there.
    let told = || {
        watching
            .said()
            .matches("⚠ cannot write the output file")
            .count()
    };
    wait_until(|| told() >= 2, || watching.said());
    watching.until_it_rests();
    assert_eq!(told(), 2, "{}", watching.said());
    fs::remove_dir(project.path(OUTPUT)).expect("rmdir");
    save_by_rename(
        &project.path(NOTES),
        project.read(NOTES) + &exec("echo two"),
    );
    wait_for_results(&project, "1 ✅ exec echo two");
    assert!(project.read(OUTPUT).contains("\ntwo\n"));
}

#[test]
fn nothing_is_written_through_a_link_at_the_output_file() {
    let project = Project::new();
    project.write("precious.txt", "mine\n");
    let _watching = project.watch([]);
    save_by_rename(
        &project.path(NOTES),
        exec(&format!("ln -s precious.txt {OUTPUT}; echo one")),
    );
    wait_for_results(&project, "1 ✅");
    assert_eq!(project.read("precious.txt"), "mine\n");
}

#[test]
fn without_a_display_all_else_works() {
    let project = Project::with_git();
    let watching = project.watch([]);
    save_by_rename(&project.path(NOTES), exec("echo one >> runs.txt"));
    let notes = wait_for_results(&project, "1 ✅");
    let (start, why) = notes.status.split_once(" - ").expect("why");
    let time = start
        .strip_prefix("❌ Clipboard copy failed at ")
        .expect("status");
    assert!(
        time.len() == 8 && time.split(':').all(|n| n.parse::<u8>().is_ok()),
        "{start}"
    );
    assert!(why.starts_with("no display"), "{why}");
    let place = format!("; the text is in {OUTPUT}, and `clada copy --print` prints it");
    assert!(why.contains(&place), "{why}");
    let packet = project.clada(["copy", "--print"]).exits(0).out;
    assert!(
        packet.starts_with("=== CLADA RESULTS ===\n1 ✅"),
        "{packet}"
    );
    assert!(!packet.contains("Clipboard"), "{packet}");
    assert_eq!(
        project.read(OUTPUT).lines().next(),
        Some(notes.status.as_str())
    );
    watching.wait_for("❌ Clipboard copy failed");
}

/// As somebody whom permissions bind, which root is not. `None` where that cannot be had.
fn watch_as_user(project: &Project) -> Option<Watching> {
    let mut command = project.as_user()?();
    command.args(["watch", "--no-git"]);
    let watching = Watching::start(command);
    watching.wait_for("watching ");
    Some(watching)
}

fn chmod(project: &Project, name: &str, mode: u32) {
    fs::set_permissions(project.path(name), Permissions::from_mode(mode)).expect("chmod");
}

#[test]
fn unreadable_notes() {
    let project = Project::new();
    project.write(NOTES, exec("echo one >> runs.txt"));
    chmod(&project, NOTES, 0o000);
    let Some(watching) = watch_as_user(&project) else {
        return;
    };
    watching.wait_for("cannot read `");
    watching.wait_for("make it readable for this user");
    chmod(&project, NOTES, 0o600);
    // It is seen for the first time.
    wait_for_results(&project, "1 task was here");
    assert!(!project.exists("runs.txt"));
}

#[test]
fn notes_that_cannot_be_written() {
    let project = Project::new();
    project.write(NOTES, "notes\n");
    let Some(watching) = watch_as_user(&project) else {
        return;
    };
    let reply = format!("notes\n{}", exec("echo one >> runs.txt"));
    fs::write(project.path(NOTES), &reply).expect("write");
    wait_for_results(&project, "1 ✅");
    let reply = project.read(NOTES) + &exec("echo two >> runs.txt");
    project.write("new", &reply);
    if rustix::process::geteuid().is_root() {
        chown(project.path("new"), Some(65534), Some(65534)).expect("chown");
    }
    chmod(&project, "new", 0o444);
    fs::rename(project.path("new"), project.path(NOTES)).expect("rename");
    watching.wait_for("the results are not in the notes file, only in");
    watching.wait_for("cannot write `");
    assert_eq!(project.read(NOTES), reply);
    assert!(project.read(OUTPUT).contains("1 ✅ exec echo two"));
    // They are written when that is possible again.
    chmod(&project, NOTES, 0o644);
    wait_for_results(&project, "1 ✅ exec echo two");
    assert_eq!(lines(&project, "runs.txt"), ["one", "two"]);
}

#[test]
fn a_folder_that_cannot_be_written() {
    let project = Project::new();
    project.write(NOTES, "notes\n");
    let Some(watching) = watch_as_user(&project) else {
        return;
    };
    chmod(&project, "", 0o555);
    let reply = format!("notes\n{}", exec("echo one"));
    fs::write(project.path(NOTES), &reply).expect("write");
    watching.wait_for("the results are not in the notes");
    watching.wait_for("the output file");
    assert_eq!(project.read(NOTES), reply);
    chmod(&project, "", 0o755);
    fs::write(project.path(NOTES), reply + "prose\n").expect("write");
    wait_for_results(&project, "1 ✅ exec echo one");
    wait_until(
        || project.read(NOTES).ends_with("prose\n"),
        || project.read(NOTES),
    );
}

/// As with git and vim, the notes then have the user's own group.
#[test]
fn notes_of_a_group_that_the_user_is_not_in() {
    let project = Project::new();
    project.write(NOTES, "notes\n");
    let Some(watching) = watch_as_user(&project) else {
        return;
    };
    if chown(project.path(NOTES), None, Some(0)).is_err() {
        skip("only root can give a file to a group that the user is not in");
        return;
    }
    chmod(&project, NOTES, 0o660);
    let reply = format!("notes\n{}", exec("echo one"));
    fs::write(project.path(NOTES), reply).expect("write");
    wait_for_results(&project, "1 ✅ exec echo one");
    let notes = project.path(NOTES).metadata().expect("metadata");
    assert_eq!((notes.uid(), notes.gid()), (65534, 65534));
    assert_eq!(notes.mode() & 0o7777, 0o660);
    assert!(
        !watching.said().contains("not in the notes"),
        "{}",
        watching.said()
    );
}
