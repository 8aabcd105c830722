//! `clada doctor`: what it says of what is right and of what is not, and that it leaves everything as it was.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::daemon::{NOTES, exec, wait_for_results};
use crate::harness::{Project, save_by_rename};

/// The line of a check.
#[track_caller]
fn line(project: &Project, code: i32, check: &str) -> String {
    let said = project.clada(["doctor"]).exits(code).out;
    let is_it = |line: &&str| {
        line.split_once(' ')
            .is_some_and(|(_, rest)| rest.starts_with(&format!("{check}: ")))
    };
    said.lines()
        .find(is_it)
        .unwrap_or_else(|| panic!("no {check} in {said}"))
        .to_owned()
}

#[track_caller]
fn says(project: &Project, code: i32, check: &str, start: &str) {
    let line = line(project, code, check);
    let begins = start.split_once(' ').expect("mark and text");
    assert!(
        line.starts_with(&format!("{} {check}: ", begins.0)) && line.contains(begins.1),
        "{start}: {line}"
    );
}

/// All that is in a folder, with what it was last changed.
fn all(folder: &Path) -> BTreeMap<PathBuf, (SystemTime, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("folder") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            found.extend(all(&path));
        }
        let modified = path.metadata().and_then(|meta| meta.modified());
        let content = std::fs::read(&path).unwrap_or_default();
        found.insert(path.clone(), (modified.expect("modified"), content));
    }
    found
}

#[test]
fn the_doctor_tells_what_works() {
    let project = Project::new();
    let ok = [
        ("settings", "✅ valid (you have none of your own yet: "),
        ("git", "✅ no repository here"),
        ("git program", "✅ git version"),
        (
            "environment",
            "✅ commands get the environment that clada was started in",
        ),
        (
            "notes",
            "✅ ` does not exist yet: create it with `clada watch`",
        ),
        ("watching", "✅ clada notices saves in `"),
        (
            "service",
            "✅ not installed: clada runs where you start it (to start it at login, run `clada service install`)",
        ),
        ("other cladas", "✅ no other clada process is running"),
        ("ledger", "✅ nothing has run yet"),
        ("disk", "✅ MiB free for `"),
        ("display", "⚠ DISPLAY and WAYLAND_DISPLAY are not set"),
    ];
    for (check, text) in ok {
        says(&project, 0, check, text);
    }
    let support = clada::world::sandbox::support();
    let mark = if support.lacks.is_empty() {
        "✅"
    } else {
        "⚠"
    };
    says(&project, 0, "sandbox", &format!("{mark} {support}"));
    #[cfg(target_os = "linux")]
    assert!(line(&project, 0, "inotify").contains(" watchers are in use"));

    project.configure("[exec]\nsandbox = 'off'\n");
    says(&project, 0, "settings", "✅ valid (yours are in ");
    says(
        &project,
        0,
        "sandbox",
        "⚠ `exec.sandbox` is \"off\": commands can do everything that you can do",
    );
    project.configure("[[hooks.after]]\nrun = 'true'\n");
    says(
        &project,
        0,
        "hooks",
        "✅ none before each batch, 1 after each batch",
    );
    project.configure("[git]\nenabled = false\n");
    says(
        &project,
        0,
        "git",
        "⚠ `git.enabled` is false: clada saves no states, and nothing can be undone",
    );
    project.configure("[exec]\nlogin_env = 'always'\n");
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.arg("doctor").env("SHELL", "/bin/sh");
    let said = command.output().expect("doctor").stdout;
    let said = String::from_utf8_lossy(&said);
    assert!(
        said.contains("✅ environment: commands get the environment of your login shell\n"),
        "{said}"
    );
    project.configure("[exec]\nsandbox = 'of'\n");
    says(&project, 1, "settings", "❌ line 2, column 11");
}

#[test]
fn the_doctor_says_whose_name_the_commits_have() {
    let project = Project::new();
    project.git(["init", "-q"]);
    let unknown = "; git does not know your name, so commits are by `clada <clada@localhost>`: set yours with `git config \
                   --global user.name NAME` and `git config --global user.email ADDRESS`";
    let said = line(&project, 0, "git");
    assert!(
        said.starts_with("✅ git: repository ") && said.ends_with(unknown),
        "{said}"
    );
    project.git(["config", "--global", "user.name", "Ada"]);
    project.git(["config", "--global", "user.email", "ada@example.org"]);
    let said = line(&project, 0, "git");
    assert!(!said.contains("clada@localhost"), "{said}");
}

#[test]
fn the_doctor_leaves_everything_as_it_was() {
    let project = Project::with_git();
    let watching = project.watch(["--no-clipboard"]);
    save_by_rename(&project.path(NOTES), exec("echo x > made.txt"));
    wait_for_results(&project, "✅");
    says(
        &project,
        0,
        "other cladas",
        &format!("✅ process {} watches `", watching.pid()),
    );
    assert_eq!(watching.stop(rustix::process::Signal::INT), Some(0));
    let before = (all(&project.root()), all(&project.home()));
    says(&project, 0, "ledger", "✅ intact, in `");
    says(&project, 0, "notes", "✅ bytes of text");
    assert!((all(&project.root()), all(&project.home())) == before);
}

#[test]
fn the_doctor_finds_what_is_wrong() {
    let project = Project::new();
    project.write(NOTES, b"not \xff text");
    says(
        &project,
        1,
        "notes",
        "❌ ): save it as UTF-8; until then clada leaves it alone",
    );
    project.write(NOTES, "much\n".repeat(14_000_000));
    says(
        &project,
        0,
        "notes",
        "⚠ has 66 of at most 128 MiB: move old replies into another file",
    );
    project.write(NOTES, "text");
    let state = project.state_folder();
    std::fs::create_dir_all(&state).expect("mkdir");
    std::fs::write(state.join("ledger.db"), "no database, and not at all empty").expect("write");
    says(&project, 1, "ledger", "❌ is damaged");
    assert!(state.join("ledger.db").exists());
    let Some(project) = Project::apart() else {
        return;
    };
    project.program("git", "exit 1");
    says(
        &project,
        0,
        "git program",
        "⚠ ), and `clada diff`, signatures and hooks need git: install git",
    );
    project.configure("[git]\nhooks = true\n");
    says(
        &project,
        1,
        "git program",
        "❌ ), and `git.sign` or `git.hooks` needs git: install git, or turn these settings off",
    );
}

#[test]
fn the_doctor_says_that_there_is_no_place_for_what_ran() {
    let project = Project::new();
    let local = project.home().join(".local");
    std::fs::create_dir_all(&local).expect("mkdir");
    std::fs::write(local.join("state"), "no folder").expect("write");
    says(
        &project,
        1,
        "ledger",
        "❌ ), so nothing runs: make it writable for this user, or set HOME to another folder",
    );
}

#[test]
fn the_doctor_says_that_results_cannot_be_written() {
    let project = Project::new();
    project.write(NOTES, "text");
    let Some(clada) = project.as_user() else {
        return;
    };
    let mode = |mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(project.root(), mode).expect("chmod");
    };
    mode(0o555);
    let said = clada().arg("doctor").output().expect("doctor").stdout;
    mode(0o755);
    let said = String::from_utf8_lossy(&said);
    let wrong = "`, so results cannot be written either (Permission denied (os error 13)): make it writable for this user\n";
    assert!(
        said.contains("❌ watching: clada cannot write to `") && said.contains(wrong),
        "{said}"
    );
}

#[test]
#[cfg(not(target_os = "macos"))]
fn the_doctor_looks_at_the_service() {
    let project = Project::new();
    let units = project.home().join(".config/systemd/user");
    std::fs::create_dir_all(units.join("default.target.wants")).expect("mkdir");
    let unit = |program: &str, path: &str| {
        let text = format!("[Service]\nExecStart={program} daemon\nEnvironment=\"PATH={path}\"\n");
        std::fs::write(units.join("clada.service"), text).expect("write");
    };
    let this = env!("CARGO_BIN_EXE_clada");
    unit("/nowhere/clada", "/bin");
    says(
        &project,
        1,
        "service",
        "❌ `, which does not exist: run `clada service install` again",
    );
    unit("/bin/sh", "/bin");
    says(
        &project,
        0,
        "service",
        "⚠ `, not the clada that you run here: run `clada service install` again with the one you want",
    );
    unit(this, "/bin");
    says(
        &project,
        0,
        "service",
        "⚠ ` does not start at login: run `systemctl --user enable --now clada`",
    );
    let wants = units.join("default.target.wants/clada.service");
    std::os::unix::fs::symlink("../clada.service", wants).expect("link");
    unit(this, "/nowhere");
    says(
        &project,
        0,
        "service",
        "⚠ without git, /nowhere: run `clada service install` again in a shell whose PATH has the programs that you need",
    );
    project.program("git", "true");
    let bin = project.home().join("bin").display().to_string();
    unit(this, &bin);
    says(
        &project,
        0,
        "service",
        &format!("✅ `, with the PATH {bin}"),
    );
    std::fs::write(units.join("clada.service"), "[Service]\nExecStart=\n").expect("write");
    says(
        &project,
        1,
        "service",
        "❌ ` starts nothing: run `clada service install` again",
    );
    let text = format!("[Service]\nExecStart={this} daemon\n");
    std::fs::write(units.join("clada.service"), text).expect("write");
    says(
        &project,
        0,
        "service",
        "✅ `, with the PATH of your login shell",
    );
}

#[test]
fn the_doctors_json_has_each_check() {
    let project = Project::new();
    project.configure("[exec]\nsandbox = 'of'\n");
    let told = project.clada(["doctor", "--json"]).exits(1).json();
    let checks = told.as_array().expect("array");
    assert!(checks.len() > 8, "{told:#}");
    for check in checks {
        let status = check["status"].as_str().expect("status");
        assert!(["ok", "warn", "fail"].contains(&status), "{check}");
        assert!(
            check["check"].is_string() && check["message"].is_string(),
            "{check}"
        );
    }
    assert_eq!(checks[0]["check"], "settings");
    assert_eq!(checks[0]["status"], "fail");
}

#[test]
#[cfg(target_os = "linux")]
fn the_doctor_leaves_the_clipboard_as_it_was() {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use crate::daemon::display::Xvfb;

    let Some(xvfb) = Xvfb::start() else { return };
    let project = Project::new().on_display(xvfb.name());
    says(&project, 0, "display", &format!("✅ X11, {}", xvfb.name()));
    says(
        &project,
        0,
        "clipboard",
        "✅ a text was written and read back; what you have copied is still there",
    );
    let mut owner = project.command("xclip");
    owner.args(["-selection", "clipboard", "-i"]);
    // It goes on in the background, with what it has open.
    owner
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut owner = owner.spawn().expect("xclip");
    let mut text = owner.stdin.take().expect("stdin");
    text.write_all(b"mine").expect("write");
    drop(text);
    owner.wait().expect("xclip");
    says(
        &project,
        0,
        "clipboard",
        "✅ a text was written and read back; what you have copied is still there",
    );
    says(&project, 0, "clipboard watching", "✅ X11 (XFIXES ");
    assert_eq!(xvfb.clipboard(&project), "mine");

    let runtime = project.home().join("run").display().to_string();
    std::fs::create_dir_all(&runtime).expect("mkdir");
    let mut window = project.command("sleep");
    window.arg("600").env("XDG_RUNTIME_DIR", &runtime);
    let mut window = window.spawn().expect("sleep");
    let mut beside = Command::new(env!("CARGO_BIN_EXE_clada"));
    beside.arg("doctor").current_dir(project.root()).env_clear();
    beside
        .env("HOME", project.home())
        .env("XDG_RUNTIME_DIR", &runtime);
    let said = beside.output().expect("doctor").stdout;
    window
        .kill()
        .and_then(|()| window.wait().map(drop))
        .expect("end");
    let said = String::from_utf8_lossy(&said);
    let copied = format!(
        "none here: DISPLAY and WAYLAND_DISPLAY are not set, but your desktop is running: results are copied to its display, {}",
        xvfb.name()
    );
    assert!(said.contains(&copied), "{said}");

    let gone = Project::new().on_display(":4711");
    says(
        &gone,
        0,
        "display",
        "⚠ ): start clada where the desktop runs, or log in there again",
    );
}
