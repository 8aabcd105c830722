//! What clada itself runs, outside the fence: never a program that a command of a reply, or another user, could have put there.

#![cfg(target_os = "linux")]

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::daemon::{NOTES, exec, wait_for_results};
use crate::harness::{Ended, Project, Watching, installed, save_by_rename};

/// A project whose `.venv/bin` is first in PATH, as where a virtual environment is active, with programs in it that leave a
/// mark in the home: inside the fence they could not.
struct Planted {
    project: Project,
    bin: PathBuf,
}

impl Planted {
    fn new(names: &[&str]) -> Option<Self> {
        let project = Project::apart()?;
        project.git(["init", "-q", "-b", "main"]);
        let bin = project.path(".venv/bin");
        let planted = Self { project, bin };
        for name in names {
            planted.plant(&planted.bin, name);
        }
        planted.project.write(".gitignore", ".venv\n");
        planted.project.git(["add", "-A"]);
        planted.project.git(["commit", "-qm", "first"]);
        Some(planted)
    }

    /// Puts a program into a folder that says whether it ran.
    fn plant(&self, folder: &Path, name: &str) {
        fs::create_dir_all(folder).unwrap();
        let script = format!("#!/bin/sh\necho {name} >> '{}'\n", self.mark().display());
        let mut command = Command::new("sh");
        command
            .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
            .arg(folder.join(name));
        Ended::of(command, &script).exits(0);
    }

    fn mark(&self) -> PathBuf {
        self.project.home().join("ran-outside")
    }

    /// Which of them ran.
    fn ran(&self) -> String {
        fs::read_to_string(self.mark()).unwrap_or_default()
    }

    /// A command with these folders first in PATH.
    fn first_in_path(&self, mut command: Command, folders: &[&Path]) -> Command {
        let path = std::env::var_os("PATH").unwrap();
        let own = folders.iter().map(|folder| folder.to_path_buf());
        let path = own.chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(path).unwrap());
        command
    }

    fn clada(&self, args: &[&str]) -> Command {
        let mut command = self.project.command(env!("CARGO_BIN_EXE_clada"));
        command.args(args);
        self.first_in_path(command, &[&self.bin])
    }
}

const CLIPBOARD: [&str; 4] = ["xclip", "xsel", "wl-copy", "tmux"];

#[test]
fn the_clipboard_programs_of_a_project_are_not_run() {
    let Some(planted) = Planted::new(&CLIPBOARD) else {
        return;
    };
    // A display that is not there, so that other programs are asked.
    let mut command = planted.clada(&["watch", "--no-git"]);
    command
        .env("DISPLAY", ":4711")
        .env("TMUX", "/nowhere,1,0")
        // Where commands find a shell, and clada nothing that copies.
        .env("PATH", {
            let bin = planted.project.home().join("bin");
            fs::create_dir_all(&bin).unwrap();
            for name in ["bash", "sh"] {
                symlink("/bin/sh", bin.join(name)).unwrap();
            }
            std::env::join_paths([&planted.bin, &bin]).unwrap()
        });
    let watching = Watching::start(command);
    watching.wait_for("watching ");
    let text = planted.project.read(NOTES) + &exec("echo one > one.txt");
    save_by_rename(&planted.project.path(NOTES), text);
    let notes = wait_for_results(&planted.project, "1 ✅ exec echo one");
    assert_eq!(planted.ran(), "", "{}", notes.status);
    assert!(notes.status.starts_with("❌ Clipboard copy failed"));
    let why = format!(
        "`xclip` is only in `{}`, which commands can write to",
        planted.bin.display()
    );
    assert!(notes.status.contains(&why), "{}", notes.status);
}

/// By whichever way the PATH leads to a place that commands may write.
#[test]
fn git_is_never_that_of_a_project() {
    let Some(planted) = Planted::new(&["git", "ssh-keygen", "gpg", "less"]) else {
        return;
    };
    let (project, top) = (&planted.project, planted.project.home());
    project.configure("[git]\nsign = true\nhooks = true\n[exec]\nwrite = [\"~/writable\"]\n");
    let (link, writable, open) = (top.join("link"), top.join("writable"), top.join("open"));
    symlink(&planted.bin, &link).unwrap();
    for folder in [&writable, &open] {
        planted.plant(folder, "git");
    }
    fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
    // A folder of the user's in which a link leads into the project.
    let own = top.join("own");
    fs::create_dir(&own).unwrap();
    symlink(planted.bin.join("git"), own.join("git")).unwrap();
    planted.plant(&project.root(), "git");
    let ways: [&Path; 7] = [
        &planted.bin,
        &link,
        &writable,
        &open,
        &own,
        Path::new("."),
        Path::new(".venv/bin"),
    ];
    for (number, way) in ways.into_iter().enumerate() {
        let mut run = planted.first_in_path(planted.clada(&[]), &[way]);
        run.args(["run"]);
        // Not signed, as there is no key; what matters is by whom.
        let reply = exec(&format!("echo {number} > {number}.txt"));
        Ended::of(run, &reply);
        assert_eq!(planted.ran(), "", "{}", way.display());
    }
    project.configure("");
    let run = planted.clada(&["run"]);
    Ended::of(run, &exec("echo changed > changed.txt")).exits(0);
    let mut diff = planted.first_in_path(planted.clada(&["diff"]), &[&planted.bin]);
    diff.env("PAGER", "cat");
    let shown = Ended::of(diff, "").exits(0).out;
    assert_eq!(planted.ran(), "");
    assert!(shown.contains("+changed"), "{shown}");
}

/// What a hook runs by its name is looked for in the user's own folders, and not in the project's.
#[test]
fn hooks_have_the_users_path_without_the_projects() {
    let Some(planted) = Planted::new(&["helper"]) else {
        return;
    };
    let project = &planted.project;
    project.configure("[git]\nhooks = true\n");
    let own = format!("echo own helper >> '{}/own'", project.home().display());
    project.program("helper", &own);
    project.write(".git/hooks/pre-commit", "#!/bin/sh\nhelper\n");
    let hook = project.path(".git/hooks/pre-commit");
    fs::set_permissions(hook, Permissions::from_mode(0o755)).unwrap();
    let bin = project.home().join("bin");
    let mut run = planted.first_in_path(planted.clada(&[]), &[&planted.bin, &bin]);
    run.args(["run"]);
    Ended::of(run, &exec("echo two > a.txt")).exits(0);
    let helped = fs::read_to_string(project.home().join("own")).unwrap_or_default();
    assert!(helped.contains("own helper"), "{helped}");
    assert_eq!(planted.ran(), "");
}

/// The service manager is asked by the system's program also in a project with one of its own.
#[test]
fn the_service_manager_is_never_that_of_a_project() {
    let Some(planted) = Planted::new(&["systemctl", "journalctl"]) else {
        return;
    };
    let project = &planted.project;
    project.clada(["add", NOTES]).exits(0);
    for args in [
        &["service", "status"][..],
        &["service", "logs"],
        &["service", "install"],
        &["init", "--service"],
    ] {
        Ended::of(planted.clada(args), "");
        assert_eq!(planted.ran(), "", "{args:?}");
    }
}

#[test]
fn the_doctor_names_what_is_not_run() {
    let Some(planted) = Planted::new(&["git", "xclip"]) else {
        return;
    };
    let mut doctor = planted.clada(&["doctor"]);
    // Without the system's own.
    let none = OsString::from(planted.bin.as_os_str());
    doctor.env("PATH", none);
    let said = Ended::of(doctor, "").out;
    for name in ["git", "xclip"] {
        let why = format!(
            "`{name}` is only in `{}`, which commands can write to: clada does not run it there; install it for the whole system",
            planted.bin.display()
        );
        assert!(said.contains(&why), "{said}");
    }
    assert_eq!(planted.ran(), "");
}

/// The login shell's start-up files find their programs by PATH; commands find those of the project all the same.
#[test]
fn start_up_files_find_no_program_of_the_project() {
    if !installed("bash") {
        return;
    }
    let Some(planted) = Planted::new(&["helper"]) else {
        return;
    };
    let project = &planted.project;
    project.configure("[exec]\nlogin_env = \"always\"\n");
    fs::write(project.home().join(".profile"), "helper\n").unwrap();
    let mut run = planted.clada(&["run", "--no-git"]);
    let shells = planted.project.path("shells");
    planted.plant(&shells, "bash");
    run.env("SHELL", shells.join("bash"));
    Ended::of(run, &exec("true"));
    assert_eq!(planted.ran(), "");
    let mut run = planted.clada(&["run", "--no-git"]);
    run.env("SHELL", "/bin/sh");
    // In its fence it cannot leave its mark, but it runs.
    let said = Ended::of(run, &exec("command -v helper")).out;
    assert!(
        said.contains(&*planted.bin.join("helper").to_string_lossy()),
        "{said}"
    );
    assert_eq!(planted.ran(), "");
}

/// As somebody whom permissions bind: what another user may write is left out, what is the system's is not.
#[test]
fn an_ordinary_user_gets_the_systems_programs() {
    let Some(planted) = Planted::new(&["git"]) else {
        return;
    };
    let project = &planted.project;
    project.configure("[git]\nhooks = true\n");
    project.write(
        ".git/hooks/pre-commit",
        "#!/bin/sh\ntouch \"$HOME/hooked\"\n",
    );
    let hook = project.path(".git/hooks/pre-commit");
    fs::set_permissions(hook, Permissions::from_mode(0o755)).unwrap();
    let Some(user) = project.as_user() else {
        return;
    };
    let mut run = planted.first_in_path(user(), &[&planted.bin]);
    run.args(["run"]);
    Ended::of(run, &exec("echo two > a.txt")).exits(0);
    assert_eq!(planted.ran(), "");
    assert!(project.home().join("hooked").exists());
}
