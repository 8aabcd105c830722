//! Notes, settings and project folders that are not the user's alone, and links that lead out of the project.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;

use rustix::process::{Signal, geteuid};

use crate::daemon::{NOTES, exec, pause, wait_for_results};
use crate::harness::{Ended, Project, Watching, save_by_rename, wait_until};

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// What ends with this error, and what it says.
#[track_caller]
fn refused(project: &Project, args: &[&str], input: &str) -> String {
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.args(args);
    let ended = Ended::of(command, input);
    assert_eq!(ended.code, Some(2), "{args:?}: {}{}", ended.out, ended.err);
    ended.err
}

/// Each command that acts on notes or a project folder.
const ACTS: [(&[&str], bool); 4] = [
    (&["watch"], true),
    (&["add", NOTES], true),
    (&["run"], false),
    (&["trust"], false),
];

#[test]
fn what_others_may_write_is_refused_with_what_to_do() {
    let project = Project::new();
    project.write(NOTES, "notes\n").write("clada.toml", "");
    let (root, notes) = (project.root(), project.path(NOTES));
    let settings = project.path("clada.toml");
    for (path, open, closed) in [
        (&notes, 0o666, 0o644),
        (&root, 0o777, 0o755),
        (&settings, 0o646, 0o644),
    ] {
        mode(path, open);
        for (args, of_notes) in ACTS {
            if path == &notes && !of_notes {
                continue;
            }
            let said = refused(&project, args, &exec("echo ran > ran.txt"));
            let does = format!(
                "make it yours alone with `chmod go-w {}`, or allow it with `--allow-shared`",
                path.display()
            );
            assert!(said.contains("is writable by all users"), "{said}");
            assert!(said.contains(&does), "{said}");
        }
        assert!(!project.exists("ran.txt"));
        let allowed = project.clada_with(["run", "--allow-shared"], &exec("echo ran > ran.txt"));
        allowed.exits(0);
        fs::remove_file(project.path("ran.txt")).unwrap();
        mode(path, closed);
        project.clada_with(["run"], &exec("true")).exits(0);
    }
    // A folder in which nobody can change what is another's, as `/tmp` is.
    mode(&root, 0o1777);
    project.clada_with(["run"], &exec("true")).exits(0);
    project.clada(["add", NOTES]).exits(0);
}

#[test]
fn sharing_that_is_meant_is_remembered_in_the_list() {
    let project = Project::new();
    project.write(NOTES, "notes\n");
    mode(&project.path(NOTES), 0o666);
    project.clada(["add", "--allow-shared", NOTES]).exits(0);
    let list = project.config_folder().join("watched.toml");
    let list = fs::read_to_string(list).unwrap_or_default();
    if cfg!(target_os = "linux") {
        assert!(list.contains("shared = true"), "{list}");
    }
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    let daemon = Watching::start({
        command
            .args(["daemon", "--no-clipboard"])
            .env("CLADA_LOG", "info");
        command
    });
    daemon.wait_for("watching files=1");
    save_by_rename(&project.path(NOTES), exec("echo one > one.txt"));
    wait_for_results(&project, "1 ✅ exec echo one");
    assert_eq!(daemon.stop(Signal::TERM), Some(0));
}

/// The daemon tells it, waits, and goes on when it is mended.
#[test]
fn the_daemon_waits_for_notes_to_be_the_users() {
    let project = Project::new();
    project.write(NOTES, "notes\n");
    project.clada(["add", NOTES]).exits(0);
    mode(&project.path(NOTES), 0o666);
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command
        .args(["daemon", "--no-clipboard"])
        .env("CLADA_LOG", "info");
    let daemon = Watching::start(command);
    daemon.wait_for("is writable by all users");
    let path = project.path(NOTES);
    fs::write(&path, exec("echo one > one.txt")).unwrap();
    // It does not look.
    pause();
    assert!(!project.exists("one.txt"));
    let status = project.clada(["status"]).out;
    assert!(status.contains("chmod go-w"), "{status}");
    mode(&path, 0o644);
    // What came while it was not watched was not seen to come.
    wait_for_results(&project, "not run");
    save_by_rename(&path, "two:\n".to_owned() + &exec("echo two > two.txt"));
    wait_for_results(&project, "1 ✅ exec echo two");
    assert_eq!(daemon.stop(Signal::TERM), Some(0));
}

#[test]
fn settings_that_others_may_write_are_an_error() {
    let project = Project::new();
    project.configure("[exec]\nsandbox = \"off\"\n");
    let Some(file) = ["Library/Application Support/clada", ".config/clada"]
        .map(|folder| project.home().join(folder).join("config.toml"))
        .into_iter()
        .find(|file| file.exists())
    else {
        panic!("no settings");
    };
    let folder = file.parent().unwrap();
    for (path, closed) in [(file.as_path(), 0o644), (folder, 0o755)] {
        mode(path, 0o777);
        for args in [&["run"][..], &["watch"]] {
            let said = refused(&project, args, &exec("echo ran > ran.txt"));
            let names = format!("`{}` is writable by all users", path.display());
            assert!(
                said.contains(&names) && said.contains("chmod go-w"),
                "{said}"
            );
        }
        mode(path, closed);
    }
    assert!(!project.exists("ran.txt"));
    project.clada_with(["run"], &exec("true")).exits(0);
}

/// Who could have root run something would be root.
#[test]
fn root_works_for_no_other_user_unless_told_to() {
    if !geteuid().is_root() {
        return;
    }
    let project = Project::new();
    project.write(NOTES, "notes\n").write("a.txt", "a\n");
    let own = |path: &Path, user| chown(path, Some(user), Some(user)).unwrap();
    let (root, notes) = (project.root(), project.path(NOTES));
    for path in [&root, &notes] {
        own(path, 4711);
        let said = refused(&project, &["watch"], "");
        assert!(said.contains("belongs to the user 4711"), "{said}");
        assert!(said.contains("`sudo chown root "), "{said}");
        own(path, 0);
    }
    own(&root, 4711);
    let allowed = ["run", "--allow-shared"];
    project
        .clada_with(allowed, &exec("echo x > b.txt"))
        .exits(0);
}

/// A command that lets others write the notes ends what clada does there, until they cannot any more.
#[test]
fn notes_that_others_may_write_since_are_waited_for() {
    let project = Project::new();
    let watching = project.watch(["--no-clipboard"]);
    save_by_rename(&project.path(NOTES), exec("chmod 666 clada.md"));
    wait_for_results(&project, "1 ✅ exec chmod");
    let text = project.read(NOTES) + &exec("touch ran");
    fs::write(project.path(NOTES), text).unwrap();
    watching.wait_for("is writable by all users");
    assert!(!project.exists("ran"));
    mode(&project.path(NOTES), 0o644);
    wait_for_results(&project, "1 ✅ exec touch ran");
}

/// An ordinary user is refused what is another's, and has what is the user's own.
#[test]
fn an_ordinary_user_is_refused_what_is_anothers() {
    let project = Project::new();
    project.write(NOTES, "notes\n");
    let Some(user) = project.as_user() else {
        return;
    };
    let run = |args: &[&str]| {
        let mut command = user();
        command.args(args);
        Ended::of(command, &exec("echo ran > ran.txt"))
    };
    run(&["run"]).exits(0);
    run(&["add", NOTES]).exits(0);
    if geteuid().is_root() {
        chown(project.path(NOTES), Some(4711), None).unwrap();
        let said = run(&["add", NOTES]).exits(2).err;
        assert!(said.contains("belongs to the user 4711"), "{said}");
        run(&["add", "--allow-shared", NOTES]).exits(0);
    }
}

/// What a cloned repository could have brought: its `clada.md` leads to a file of the user's.
#[test]
fn notes_that_nobody_named_are_not_followed_out_of_the_project() {
    let project = Project::new();
    let outside = project.home().join("outside.md");
    for exists in [true, false] {
        let _ = fs::remove_file(project.path(NOTES));
        if exists {
            fs::write(&outside, "the user's\n").unwrap();
        } else {
            fs::remove_file(&outside).unwrap();
        }
        symlink(&outside, project.path(NOTES)).unwrap();
        for args in [&["watch"][..], &[], &["retry"], &["init"]] {
            let said = refused(&project, args, "");
            assert!(
                said.contains("` is a symbolic link out of the project folder to `"),
                "{args:?}: {said}"
            );
            assert!(
                said.contains("`, perhaps by another author: run `clada watch ")
                    && said.contains("` if you trust it, or replace it with a file"),
                "{said}"
            );
        }
        assert_eq!(outside.exists(), exists);
    }
    let said = project.clada(["doctor"]).exits(1).out;
    assert!(
        said.contains("❌ notes: ") && said.contains("out of the project"),
        "{said}"
    );
    // Who names it means it; and a link inside the project is followed.
    fs::write(&outside, "the user's\n").unwrap();
    let watching = project.watch(["--no-git", "--no-clipboard", NOTES]);
    save_by_rename(&outside, exec("echo one > one.txt"));
    wait_until(|| project.exists("one.txt"), || watching.said());
    drop(watching);
    fs::remove_file(project.path(NOTES)).unwrap();
    project.write("notes/today.md", "notes\n");
    symlink("notes/today.md", project.path(NOTES)).unwrap();
    drop(project.watch(["--no-git", "--no-clipboard"]));
}

#[test]
fn settings_of_a_project_are_not_read_out_of_it() {
    let project = Project::new();
    let outside = project.home().join("outside.toml");
    fs::write(&outside, "[watch]\ndebounce_ms = 50\n").unwrap();
    symlink(&outside, project.path("clada.toml")).unwrap();
    for args in [&["run"][..], &["watch"], &["trust"]] {
        let said = refused(&project, args, &exec("true"));
        assert!(said.contains("` is a symbolic link that leads out of the project folder, so clada does not read it: replace it with a file"), "{said}");
    }
}

#[test]
fn the_state_folder_is_made_the_users_alone() {
    if cfg!(target_os = "macos") {
        return;
    }
    let project = Project::new();
    let state = project.state_folder();
    let shown = || state.metadata().unwrap().mode() & 0o777;
    project.clada_with(["run"], &exec("true")).exits(0);
    assert_eq!(shown(), 0o700);
    mode(&state, 0o777);
    project.clada_with(["run"], &exec("true")).exits(0);
    assert_eq!(shown(), 0o700);
    if geteuid().is_root() {
        chown(&state, Some(4711), None).unwrap();
        let said = refused(&project, &["run"], &exec("true"));
        assert!(said.contains("belongs to the user 4711, so clada does not use it: run clada as that user, or set XDG_STATE_HOME or HOME to a folder that you own"), "{said}");
        chown(&state, Some(0), None).unwrap();
    }
    // A link that another user could have made.
    let (local, elsewhere) = (
        project.home().join(".local/state"),
        project.home().join("elsewhere"),
    );
    fs::rename(&state, &elsewhere).unwrap();
    symlink(&elsewhere, &state).unwrap();
    project.clada_with(["run"], &exec("true")).exits(0);
    mode(&local, 0o777);
    let said = refused(&project, &["run"], &exec("true"));
    assert!(
        said.contains(
            ": run `chmod go-w` on that folder, or set XDG_STATE_HOME to a folder that you own"
        ),
        "{said}"
    );
}
