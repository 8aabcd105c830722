//! Notes that lie elsewhere than their project, as in a vault: commands in the project's folder find them, and commands that
//! name them find the project.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;

use crate::daemon::{exec, lines, record};
use crate::harness::{Ended, Project, Watching, save_by_rename, wait_until};

const NAME: &str = "My chat.md";

/// The vault's file of this name, whose folder is made.
fn in_vault(project: &Project, name: &str) -> PathBuf {
    let vault = project.home().join("vault");
    fs::create_dir_all(&vault).expect("mkdir");
    vault.canonicalize().expect("vault").join(name)
}

/// clada in the project's folder.
fn clada(project: &Project, args: &[&str]) -> Ended {
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.args(args);
    Ended::of(command, "")
}

fn watch(project: &Project, notes: &std::path::Path) -> Watching {
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.arg("watch").arg(notes).args(["--root", "."]);
    command.args(["--no-clipboard", "--no-git"]);
    let watching = Watching::start(command);
    watching.wait_for("watching ");
    watching
}

#[track_caller]
fn wait_for(notes: &std::path::Path, text: &str) {
    let read = || fs::read_to_string(notes).unwrap_or_default();
    wait_until(
        || read().contains(text),
        || format!("{text:?} in {}", read()),
    );
}

#[test]
fn commands_in_the_project_find_its_notes_in_a_vault() {
    let project = Project::new();
    project.configure("[exec]\nask = [\"touch approved\"]\n");
    project.write("f.txt", "one\n");
    let notes = in_vault(&project, NAME);
    let shown = notes.display().to_string();
    let watching = watch(&project, &notes);
    save_by_rename(&notes, exec(&format!("test -e ok && {}", record("one"))));
    wait_for(&notes, "1 ❌ exec");

    let mut tail = project.command(env!("CARGO_BIN_EXE_clada"));
    tail.arg("tail");
    let tail = Watching::start(tail);
    tail.wait_for(&format!(
        "clada (process {}) is watching {shown}\n",
        watching.pid()
    ));
    tail.wait_for("1 ❌ exec");
    assert_eq!(tail.stop(Signal::INT), Some(0));

    let doctor = clada(&project, &["doctor"]).out;
    assert!(doctor.contains(&format!("notes: `{shown}`")), "{doctor}");
    let status = clada(&project, &["status"]).exits(0).out;
    assert!(status.contains(NAME), "{status}");
    let log = clada(&project, &["log"]).exits(0).out;
    assert!(log.contains(NAME), "{log}");
    let of_it = clada(&project, &["log", "--file", NAME]).exits(0).out;
    assert_eq!(of_it, log);
    let copy = clada(&project, &["copy"]);
    assert!(!copy.err.contains("clada.md"), "{}", copy.err);

    // The listener that watches them does what the command asks for.
    project.write("ok", "");
    let asked = clada(&project, &["retry"]).exits(0).out;
    let by = format!(
        "1 task of {shown} will run in the clada that watches it (process {})\n",
        watching.pid()
    );
    assert_eq!(asked, by);
    wait_until(
        || lines(&project, "runs.txt") == ["one"],
        || "one".to_owned(),
    );
    wait_for(&notes, "1 ✅ exec");
    save_by_rename(&notes, format!("more:\n{}", exec("touch approved")));
    wait_for(&notes, "1 ⏸ exec touch approved");
    let asked = clada(&project, &["approve"]).exits(0).out;
    assert_eq!(asked, by);
    wait_until(|| project.exists("approved"), || "approved".to_owned());
    wait_for(&notes, "1 ✅ exec touch approved");

    // Its set of files is that of the chat, by whatever way it is named; the root is the project.
    clada(&project, &["context", "add", "f.txt"]).exits(0);
    let tokens = if cfg!(feature = "tokens") { 2 } else { 1 };
    let list = format!(
        "        4       ≈ {tokens} full    f.txt\n1 file, 1 line, 4 B, ≈ {tokens} tokens\n"
    )
    .replace("≈ 1 tokens", "≈ 1 token");
    for way in [&["context", NAME, "list"][..], &["context", &shown, "list"]] {
        assert_eq!(clada(&project, way).exits(0).out, list, "{way:?}");
    }
    for folder in [notes.parent().expect("vault").to_owned(), project.home()] {
        let mut command: Command = project.command(env!("CARGO_BIN_EXE_clada"));
        command.current_dir(folder);
        let done = Ended::of(
            {
                command.args(["context", NAME, "add", "f.txt:1"]);
                command
            },
            "",
        );
        assert!(done.exits(0).out.starts_with("now 1 file"));
    }

    // Also when nobody watches them any more: here, in the project.
    assert_eq!(watching.stop(Signal::INT), Some(0));
    assert_eq!(clada(&project, &["context", "list"]).exits(0).out, list);
    fs::write(
        &notes,
        format!("last:\n{}", exec("test -e more && touch ran-in-project")),
    )
    .expect("write");
    let watching = watch(&project, &notes);
    wait_for(&notes, "1 ❌ exec");
    assert_eq!(watching.stop(Signal::INT), Some(0));
    project.write("more", "");
    clada(&project, &["retry", "--no-git", "--no-clipboard"]).exits(0);
    assert!(project.exists("ran-in-project"));
    // Nor are others made beside them.
    assert!(!project.exists("clada.md"));
}

#[test]
fn where_several_are_watched_they_are_named() {
    let project = Project::new();
    project.write("f.txt", "one\n");
    let (one, two) = (in_vault(&project, NAME), in_vault(&project, "two.md"));
    for notes in [&one, &two] {
        clada(
            &project,
            &["add", &notes.display().to_string(), "--root", "."],
        )
        .exits(0);
    }
    let both = format!(
        "`{}` and `{}` are watched for `{}`: give the path of the one you mean",
        one.display(),
        two.display(),
        project.root().display()
    );
    for command in [
        &["context"][..],
        &["copy"],
        &["tail"],
        &["retry"],
        &["approve"],
    ] {
        let refused = clada(&project, command).exits(2).err;
        assert!(refused.contains(&both), "{refused}");
    }
    assert!(clada(&project, &["doctor"]).out.contains(&both));
    let taught = clada(&project, &["instructions"]).exits(0).err;
    assert!(taught.contains(&both), "{taught}");
    assert!(
        taught.ends_with(", to start a new chat for it\n"),
        "{taught}"
    );
    clada(&project, &["context", "two.md", "add", "f.txt"]).exits(0);
    let list = |file: &str| clada(&project, &["context", file, "list"]).exits(0).out;
    assert!(list("two.md").contains("f.txt"));
    assert!(!list(NAME).contains("f.txt"));

    // The one in the project is what it always was, and the others are named.
    clada(&project, &["add", "clada.md"]).exits(0);
    let taken = clada(&project, &["context", "list"]).exits(0).err;
    let said = format!(
        "using {}; `{}` and `{}` are watched for this folder too: give the path of the one you mean",
        project.path("clada.md").display(),
        one.display(),
        two.display()
    );
    assert!(taken.contains(&said), "{taken}");
}

#[test]
fn a_notes_file_that_watching_makes_is_named() {
    let project = Project::new();
    let made = |watching: &Watching, name: &str| {
        let path = project.path(name).display().to_string();
        watching.wait_for(&format!("created {path}\n"));
        // Where the fence is not whole, a line between them says so.
        watching.wait_for(&format!("watching {path}\n"));
    };
    made(&project.watch(["typo.md"]), "typo.md");
    let again = project.watch(["typo.md"]);
    assert!(!again.said().contains("made"), "{}", again.said());
    made(&project.watch([]), "clada.md");
}

#[test]
fn a_notes_file_that_does_not_exist_is_refused_with_those_that_do() {
    let project = Project::new();
    let commands: [&[&str]; 9] = [
        &["tail", "nope.md"],
        &["retry", "nope.md"],
        &["approve", "nope.md"],
        &["copy", "--file", "nope.md"],
        &["doctor", "nope.md"],
        &["log", "--file", "nope.md"],
        &["log", "3", "--output", "--file", "nope.md"],
        &["context", "nope.md"],
        &["instructions", "nope.md"],
    ];
    let refused = |known: &str| {
        for args in commands {
            let said = clada(&project, args).exits(2).err;
            assert_eq!(
                said,
                format!("clada: no notes file `nope.md`: {known}\n"),
                "{args:?}"
            );
        }
        assert!(!project.exists("nope.md"));
    };
    refused(
        "clada knows no notes file for this folder: start watching one with `clada watch nope.md`",
    );
    let root = project.root().canonicalize().expect("root");
    clada(&project, &["add", "clada.md"]).exits(0);
    let own = format!("`{}`", root.join("clada.md").display());
    refused(&format!("the notes file of this folder is {own}"));
    let other = in_vault(&project, NAME);
    let given = other.display().to_string();
    clada(&project, &["add", &given, "--root", "."]).exits(0);
    refused(&format!(
        "the notes files of this folder are {own} and `{given}`"
    ));

    // A file that clada never watched has nothing to retry.
    project.write("other.md", "prose\n");
    let said = clada(&project, &["retry", "other.md"]).exits(2).err;
    assert!(said.contains("clada has never watched `"), "{said}");
    assert!(said.contains("`, so it has no batch to run: "), "{said}");
    assert!(
        said.contains("the notes files of this folder are "),
        "{said}"
    );
    // A known file may be missing for a while.
    fs::remove_file(&other).expect("remove");
    let said = clada(&project, &["copy", "--file", &given]).exits(1).err;
    assert!(said.contains("have been copied yet"), "{said}");
}
