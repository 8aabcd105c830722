//! clada as a service: what the service manager is told and tells, with a real one where it can run.

use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::Signal;

use crate::harness::{
    Ended, Project, Watching, copy_program, installed, results, skip, wait_until,
};

const UNIT: &str = ".config/systemd/user/clada.service";

/// A `systemctl` that notes what it is asked, for a service in this state, and ends so.
fn fake_systemctl(project: &Project, state: &str, end: &str) {
    let home = project.home().display().to_string();
    project.program(
        "systemctl",
        &format!(
            "case $* in *show*) [ -e '{home}/{UNIT}' ] && echo '{state}' || echo LoadState=not-found;; \
             *) echo \"$*\" >> '{home}/calls';; esac\n{end}"
        ),
    );
}

fn calls(project: &Project) -> String {
    let path = project.home().join("calls");
    let calls = std::fs::read_to_string(&path).unwrap_or_default();
    let _ = std::fs::remove_file(path);
    calls
}

#[test]
fn orders_reach_systemd_in_turn() {
    let Some(project) = Project::apart() else {
        return;
    };
    fake_systemctl(&project, "LoadState=loaded\nActiveState=active", "");
    // What a login has is installed, and not what this terminal has, such as the home's `bin`.
    let profile = project.home().join(".profile");
    std::fs::write(profile, "PATH=\"$HOME/of login:$PATH\"\n").unwrap();
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.args(["service", "install"]).env("SHELL", "/bin/sh");
    let said = Ended::of(command, "").exits(0).out;
    assert!(
        said.starts_with(
            "clada now runs in the background, and starts at each login\nservice file: "
        ) && said.contains("it stops when you log out everywhere; to keep it running, from the start of the machine on, run `loginctl enable-linger`\n") && said.contains(UNIT),
        "{said}"
    );
    assert_eq!(
        calls(&project),
        "--user daemon-reload\n--user reset-failed clada.service\n--user enable clada.service\n--user restart clada.service\n"
    );
    let unit = std::fs::read_to_string(project.home().join(UNIT)).unwrap();
    let program = format!("\nExecStart=\":{}\" daemon\n", env!("CARGO_BIN_EXE_clada"));
    assert!(unit.contains(&program), "{unit}");
    let home = project.home().display().to_string();
    let path = format!("\nEnvironment=\"PATH={home}/of login:/");
    assert!(
        unit.contains(&path) && !unit.contains(&format!("{home}/bin")),
        "{unit}"
    );

    project.clada(["service", "stop"]).exits(0);
    assert_eq!(calls(&project), "--user stop clada.service\n");
    project.clada(["service", "restart"]).exits(0);
    assert_eq!(
        calls(&project),
        "--user reset-failed clada.service\n--user restart clada.service\n"
    );

    // What systemd makes beside the unit, for it and for others.
    let folder = project.home().join(".config/systemd");
    for name in [
        "user/clada.service.d/x.conf",
        "user.control/clada.service.d/x.conf",
    ] {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    for name in ["default.target.wants", "other.target.wants"] {
        let wants = folder.join("user").join(name);
        std::fs::create_dir(&wants).unwrap();
        std::os::unix::fs::symlink("../clada.service", wants.join("clada.service")).unwrap();
    }
    std::fs::write(folder.join("user/other.target.wants/own.service"), "").unwrap();
    let said = project.clada(["service", "uninstall"]).exits(0).out;
    assert_eq!(
        said,
        "removed the service; your settings, notes files and log stay\n"
    );
    assert_eq!(
        calls(&project),
        "--user stop clada.service\n--user disable clada.service\n--user daemon-reload\n--user reset-failed clada.service\n"
    );
    assert_eq!(files(&folder), ["user/other.target.wants/own.service"]);
    let again = project.clada(["service", "uninstall"]).exits(1);
    assert!(again.err.contains("not installed"), "{}", again.err);
}

/// The files and links below a folder.
fn files(folder: &Path) -> Vec<String> {
    let found = Command::new("find")
        .args([".", "!", "-type", "d", "-printf", "%P\n"])
        .current_dir(folder)
        .output()
        .unwrap();
    let mut files: Vec<String> = String::from_utf8(found.stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    files.sort();
    files
}

/// A package brings the unit, and that alone starts nothing; nor does one that was stopped.
#[test]
fn init_has_a_service_run_that_is_there_and_does_not() {
    for (state, is_started) in [
        ("ActiveState=inactive\nUnitFileState=disabled", true),
        ("ActiveState=inactive\nUnitFileState=enabled", true),
        ("ActiveState=active\nUnitFileState=enabled", false),
    ] {
        let Some(project) = Project::apart() else {
            return;
        };
        let unit = project.home().join(UNIT);
        std::fs::create_dir_all(unit.parent().unwrap()).unwrap();
        std::fs::write(unit, "").unwrap();
        fake_systemctl(&project, &format!("LoadState=loaded\n{state}"), "");
        let said = project.clada(["init", "--service"]).exits(0).out;
        assert!(
            said.contains("next: paste a reply into the notes file\n"),
            "{said}"
        );
        let said = project
            .clada(["init", "--service", "--clipboard"])
            .exits(0)
            .out;
        assert!(
            said.contains("next: copy a reply in the chat, or paste one into the notes file\n"),
            "{said}"
        );
        let calls = calls(&project);
        let started = "--user enable clada.service\n--user restart clada.service\n";
        assert_eq!(calls.contains(started), is_started, "{state}: {calls}");
    }
}

#[test]
fn what_cannot_be_done_is_told_with_the_next_step() {
    let Some(project) = Project::apart() else {
        return;
    };
    fake_systemctl(&project, "", "");
    let none = project.clada(["service", "status"]).exits(1);
    assert_eq!(
        none.out,
        "not installed: install it with `clada service install`\n"
    );
    for verb in ["start", "stop", "restart"] {
        let said = project.clada(["service", verb]).exits(1).err;
        let why = "clada is not installed as a service: run `clada service install`";
        assert!(said.contains(why), "{said}");
    }
    assert_eq!(calls(&project), "");

    let refuses = "case $* in *restart*) echo 'Job failed.' >&2; exit 1;; esac";
    fake_systemctl(
        &project,
        "LoadState=loaded\nActiveState=failed\nResult=watchdog",
        refuses,
    );
    let said = project.clada(["service", "install"]).exits(1).err;
    let expected = "clada: `systemctl --user restart clada.service` failed: Job failed; `clada service logs` shows what clada printed\n";
    assert_eq!(said, expected);
    let init = project.clada(["init", "--service"]).exits(1).out;
    assert!(
        init.contains(
            "next: start the daemon, now and at each login, with `clada service install`, or watch in this terminal with `clada`\n"
        ),
        "{init}"
    );
    let said = project.clada(["service", "status"]).exits(1).out;
    assert!(
        said.starts_with(
            "failed (it hung): read `clada service logs`, then try `clada service start`"
        ),
        "{said}"
    );

    let state = |state: &str| {
        fake_systemctl(&project, &format!("LoadState=loaded\n{state}"), "");
        project.clada(["service", "status"])
    };
    let said = state("ActiveState=reloading\nUnitFileState=disabled")
        .exits(0)
        .out;
    let expected = "reloading the settings\ndoes not start at login: run `clada service install`\n";
    assert_eq!(said, expected);
    let said = state("ActiveState=inactive\nUnitFileState=enabled\nNRestarts=2")
        .exits(1)
        .out;
    assert_eq!(
        said,
        "stopped: start it with `clada service start`\nstarts at each login\n\
         restarted 2 times after a failure: read `clada service logs`\n"
    );

    // Nobody is logged in, or it is another user that is.
    fake_systemctl(
        &project,
        "",
        "echo 'Failed to connect to bus: No medium found' >&2; exit 1",
    );
    let said = project.clada(["service", "stop"]).exits(1).err;
    assert!(
        said.contains("No medium found") && said.contains("loginctl"),
        "{said}"
    );
    // Its files are not left to start it again.
    project.clada(["service", "uninstall"]).exits(1);
    assert!(files(&project.home().join(".config/systemd")).is_empty());
    project.clada(["service", "install"]).exits(1);
    assert!(files(&project.home().join(".config/systemd")).is_empty());
}

#[test]
fn a_command_of_a_reply_cannot_change_the_service() {
    let Some(project) = Project::apart() else {
        return;
    };
    fake_systemctl(&project, "LoadState=loaded", "");
    for verb in ["install", "uninstall", "start", "stop", "restart"] {
        let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
        command.args(["service", verb]).env("CLADA", "1");
        let said = Ended::of(command, "").exits(2).err;
        assert!(said.contains("only you can run"), "{said}");
    }
    assert_eq!(calls(&project), "");
    assert!(!project.home().join(UNIT).exists());
}

/// Reads what is told until this is among it.
#[track_caller]
fn told(socket: &UnixDatagram, expected: &str) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let mut bytes = [0; 4096];
        let length = socket.recv(&mut bytes).expect("nothing more is told");
        all.push(String::from_utf8(bytes[..length].into()).unwrap());
        if all.last().unwrap().contains(expected) {
            return all;
        }
    }
}

#[test]
fn the_manager_is_told_how_it_goes() {
    let project = Project::new();
    let path = project.home().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket
        .set_read_timeout(Some(crate::harness::LIMIT))
        .unwrap();
    project.clada(["add", "clada.md"]).exits(0);
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command
        .arg("daemon")
        .env("NOTIFY_SOCKET", &path)
        .env("WATCHDOG_USEC", "200000");
    let daemon = Watching::start(command);
    let ready = told(&socket, "READY=1\n");
    assert!(
        ready.last().unwrap().contains("\nSTATUS=watching 1 file"),
        "{ready:?}"
    );
    told(&socket, "WATCHDOG=1\n");
    told(&socket, "WATCHDOG=1\n");

    daemon.signal(Signal::HUP);
    let reloading = told(&socket, "RELOADING=1\n");
    let now = reloading
        .last()
        .unwrap()
        .split_once("MONOTONIC_USEC=")
        .unwrap()
        .1;
    assert!(now.trim().parse::<u64>().is_ok_and(|now| now > 0), "{now}");
    told(&socket, "READY=1\n");
    told(&socket, "WATCHDOG=1\n");

    assert_eq!(daemon.stop(Signal::TERM), Some(0));
    told(&socket, "STOPPING=1\n");
}

/// One that was started by hand in a terminal ends with it, as everything there does.
#[test]
fn a_closed_terminal_is_no_reload() {
    if !installed("tmux") {
        return;
    }
    let project = Project::new();
    let path = project.home().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket
        .set_read_timeout(Some(crate::harness::LIMIT))
        .unwrap();
    let tmux = |args: &[&str]| {
        let mut command = project.command("tmux");
        command
            .arg("-S")
            .arg(project.home().join("tmux"))
            .args(args)
            .env("NOTIFY_SOCKET", &path);
        Ended::of(command, "").exits(0);
    };
    tmux(&["new-session", "-d", env!("CARGO_BIN_EXE_clada"), "daemon"]);
    told(&socket, "READY=1\n");
    tmux(&["kill-server"]);
    let all = told(&socket, "STOPPING=1\n");
    assert!(
        !all.iter().any(|told| told.contains("RELOADING")),
        "{all:?}"
    );
}

#[test]
fn without_a_manager_nothing_is_told() {
    let project = Project::new();
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command
        .arg("daemon")
        .env("NOTIFY_SOCKET", project.home().join("gone"));
    let daemon = Watching::start(command);
    // It runs if it takes a signal as it should; before it does, that signal would end it by itself.
    let caught = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("SigCgt:"))
            .unwrap();
        let set = u64::from_str_radix(line["SigCgt:".len()..].trim(), 16).unwrap();
        set & (1 << (Signal::TERM.as_raw() - 1)) != 0
    };
    wait_until(caught, || "the daemon".to_owned());
    assert_eq!(daemon.stop(Signal::TERM), Some(0));
}

/// A program folder that nobody should have.
const ODD: &str = "a b %h $HOME `c` ä";
/// systemd takes no program in such a one.
const ODDER: &str = "it's \"here\" \\x $HOME %n";

/// The shipped unit, and those that are made of it, are taken by systemd without a word.
#[test]
fn units_are_valid() {
    if !installed("systemd-analyze") {
        return;
    }
    let Some(project) = Project::apart() else {
        return;
    };
    let runtime = project.home().join("run");
    std::fs::create_dir(&runtime).unwrap();
    fake_systemctl(&project, "LoadState=loaded", "");
    for folder in ["bin", ODD, ODDER] {
        install_from(&project, folder).exits(0);
        let verify = project
            .command("systemd-analyze")
            .args(["verify", "--user", "--man=no"])
            .arg(project.home().join(UNIT))
            .env("XDG_RUNTIME_DIR", &runtime)
            .output()
            .unwrap();
        let verify = Ended::new(verify).exits(0);
        let ours: Vec<&str> = verify
            .err
            .lines()
            .filter(|line| line.contains("clada"))
            .collect();
        assert!(ours.is_empty(), "{folder}: {ours:?}");
    }
}

/// Runs `clada service install` of a clada in a folder of the home.
fn install_from(project: &Project, folder: &str) -> Ended {
    let mut command = project.command(put(project, folder));
    command.args(["service", "install"]);
    Ended::of(command, "")
}

/// Puts the program into a folder of the home, in the place of one that is there, as an upgrade does.
fn put(project: &Project, folder: &str) -> PathBuf {
    let folder = project.home().join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let new = folder.join("new");
    copy_program(&new);
    std::fs::rename(new, folder.join("clada")).unwrap();
    folder.join("clada")
}

/// A real systemd of a user, whose home is the project's. Ends when dropped.
struct UserManager<'a> {
    project: &'a Project,
    namespaces: Child,
    /// The first process in them.
    inside: String,
}

impl<'a> UserManager<'a> {
    /// `None`, and a line that says so, where none can run.
    fn start(project: &'a Project) -> Option<Self> {
        for program in ["unshare", "nsenter", "systemctl", "journalctl"] {
            if !installed(program) {
                return None;
            }
        }
        let may_mount = || {
            let mut command = project.command("unshare");
            command.args(["--mount", "--cgroup", "mount", "-t", "cgroup2", "none"]);
            command.arg("/sys/fs/cgroup");
            Ended::of(command, "").code == Some(0)
        };
        if Path::new("/run/systemd/system").exists() || !may_mount() {
            skip(
                "a systemd for this test needs to be root with control groups, where none runs yet",
            );
            return None;
        }
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("cladatest{}_{number}", std::process::id());
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/user_manager.sh");
        let mut namespaces = project
            .command("unshare")
            .args([
                "--mount",
                "--pid",
                "--fork",
                "--mount-proc",
                "--cgroup",
                "bash",
            ])
            .args([script, &name])
            .env("XDG_RUNTIME_DIR", project.home().join("run"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = std::io::BufReader::new(namespaces.stdout.take().unwrap());
        let mut line = String::new();
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        assert_eq!(line, "ready\n", "the user manager does not start");
        let pid = namespaces.id();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        Some(Self {
            project,
            namespaces,
            inside: children.unwrap().trim().to_owned(),
        })
    }

    /// Runs a program where that systemd is.
    fn run<const N: usize>(&self, program: impl AsRef<std::ffi::OsStr>, args: [&str; N]) -> Ended {
        let mut command = self.project.command("nsenter");
        command
            .args([
                "--target",
                &self.inside,
                "--mount",
                "--pid",
                "--cgroup",
                "--",
            ])
            .arg(program.as_ref())
            .args(args)
            .env("XDG_RUNTIME_DIR", self.project.home().join("run"))
            .env("XDG_DATA_HOME", self.project.home().join(ODDER));
        Ended::of(command, "")
    }

    fn main_pid(&self) -> String {
        let args = ["--user", "show", "clada", "--property=MainPID", "--value"];
        self.run("systemctl", args).exits(0).out.trim().to_owned()
    }

    /// Waits until another process than this one runs as the service.
    fn wait_for_another(&self, than: &str) -> String {
        let is_running = |text: &str| text.contains("running (process");
        let mut now = String::new();
        wait_until(
            || {
                now = self.main_pid();
                let status = self.run(env!("CARGO_BIN_EXE_clada"), ["service", "status"]);
                now != than && now != "0" && is_running(&status.out)
            },
            || format!("another process than {than}"),
        );
        now
    }
}

impl Drop for UserManager<'_> {
    fn drop(&mut self) {
        drop(self.namespaces.stdin.take());
        let _ = self.namespaces.wait();
    }
}

#[test]
fn a_real_systemd_keeps_it_running() {
    let project = Project::new();
    let Some(manager) = UserManager::start(&project) else {
        return;
    };
    for folder in [ODD, ODDER] {
        let clada = put(&project, folder);
        let service = |verb: &str| manager.run(&clada, ["service", verb]);
        service("install").exits(0);
        let status = service("status").exits(0).out;
        let lines: Vec<&str> = status.lines().collect();
        let first = manager.main_pid();
        let running = format!("running (process {first}) since ");
        assert!(
            lines[0].starts_with(&running) && lines[0].contains(": watching"),
            "{status}"
        );
        assert_eq!(lines[1..], ["starts at each login"]);
        let program = manager.run("readlink", [&format!("/proc/{first}/exe")]).out;
        assert_eq!(program.trim_end(), clada.to_str().unwrap());
        let env = manager.run("cat", [&format!("/proc/{first}/environ")]).out;
        let data = format!("XDG_DATA_HOME={}", project.home().join(ODDER).display());
        assert!(env.split('\0').any(|var| var == data), "{env}");

        manager.run("kill", ["-9", &first]).exits(0);
        let second = manager.wait_for_another(&first);
        let status = service("status").exits(0).out;
        assert!(
            status.contains("restarted once after a failure"),
            "{status}"
        );

        manager
            .run("systemctl", ["--user", "reload", "clada"])
            .exits(0);
        assert_eq!(manager.main_pid(), second);
        assert!(service("status").exits(0).out.contains("process "));

        // It hangs.
        let beside = project.home().join(".config/systemd/user/clada.service.d");
        std::fs::create_dir_all(&beside).unwrap();
        std::fs::write(beside.join("test.conf"), "[Service]\nWatchdogSec=1\n").unwrap();
        service("install").exits(0);
        let third = manager.main_pid();
        manager.run("kill", ["-STOP", &third]).exits(0);
        manager.wait_for_another(&third);
        let logs = service("logs").exits(0).out;
        assert!(logs.contains("Watchdog timeout"), "{logs}");

        service("stop").exits(0);
        let status = service("status").exits(1).out;
        assert!(
            status.starts_with("stopped: start it with `clada service start`"),
            "{status}"
        );
        service("start").exits(0);

        let old = manager.main_pid();
        put(&project, folder);
        let status = service("status").exits(0).out;
        assert!(
            status.contains("it runs another program than this one, perhaps from before an upgrade: run `clada service restart`, or `clada service install` to use this one"),
            "{status}"
        );
        service("restart").exits(0);
        assert_ne!(manager.main_pid(), old);
        let status = service("status").exits(0).out;
        assert!(!status.contains("`clada service restart`"), "{status}");

        service("uninstall").exits(0);
        assert_eq!(manager.main_pid(), "0");
        let status = service("status").exits(1).out;
        assert!(status.starts_with("not installed: "), "{status}");
        assert!(files(&project.home().join(".config/systemd")).is_empty());
    }
}

fn exec(script: &str) -> String {
    format!("<tasks>\n<task>\n<c>exec</c>\n<x>\n{script}\n</x>\n</task>\n</tasks>\n")
}

/// The daemon under a real systemd: what the unit says takes nothing from commands, they have the login's PATH and the fence,
/// and what a crash interrupts is told and not run again. A batch that is at work is no hang, and `clada status` finds the
/// service from any terminal.
#[test]
fn replies_run_in_the_service_and_none_twice() {
    let project = Project::with_git();
    let Some(manager) = UserManager::start(&project) else {
        return;
    };
    let clada = env!("CARGO_BIN_EXE_clada");
    let run = |args: [&str; 2]| manager.run(clada, args).exits(0).out;
    for name in ["one", "two"] {
        project.write(&format!("{name}/.keep"), "");
        run(["add", project.path(name).join("clada.md").to_str().unwrap()]);
    }
    let tool = project.home().join("of login");
    std::fs::create_dir(&tool).unwrap();
    std::os::unix::fs::symlink("/bin/echo", tool.join("tool-of-login")).unwrap();
    let profile = project.home().join(".bash_profile");
    std::fs::write(profile, "PATH=\"$HOME/of login:$PATH\"\n").unwrap();
    let beside = project.home().join(".config/systemd/user/clada.service.d");
    std::fs::create_dir_all(&beside).unwrap();
    std::fs::write(beside.join("test.conf"), "[Service]\nWatchdogSec=2\n").unwrap();
    run(["service", "install"]);
    let logs = || manager.run(clada, ["service", "logs"]).out;
    let has = |name: &str, what: &str| {
        let text = || std::fs::read_to_string(project.path(name)).unwrap_or_default();
        wait_until(
            || text().contains(what),
            || format!("{what} in {}{}", text(), logs()),
        );
    };

    let script = "tool-of-login here > here.txt\ngit config some.thing of-a-reply || echo refused > refused.txt";
    project.write("one/clada.md", exec(script));
    has("one/clada.md", "=== END ===");
    let got = results(&project.read("one/clada.md"));
    assert!(got.starts_with("1 ✅ exec"), "{got}");
    assert_eq!(project.read("one/here.txt"), "here\n");
    assert_eq!(project.read("one/refused.txt"), "refused\n");

    // It is killed in the middle of one, and takes with it what that has started.
    let script = "echo once >> said; (setsid sleep 1000; echo later >> said) & sleep 1000";
    project.write("two/clada.md", exec(script));
    has("two/said", "once\n");
    let status = run(["status", "--json"]);
    assert!(status.contains(r#""running""#), "{status}");
    let first = manager.main_pid();
    manager.run("kill", ["-9", &first]).exits(0);
    let second = manager.wait_for_another(&first);
    has("two/clada.md", "interrupted: clada stopped while it ran");
    assert_eq!(project.read("two/said"), "once\n");

    // Longer than the watchdog waits.
    project.write("one/clada.md", exec("sleep 5; echo still here > still.txt"));
    has("one/still.txt", "still here");
    has("one/clada.md", "=== END ===");
    assert_eq!(manager.main_pid(), second);

    run(["remove", project.path("two/clada.md").to_str().unwrap()]);
    manager
        .run("systemctl", ["--user", "reload", "clada"])
        .exits(0);
    let status = || run(["status", "--json"]);
    wait_until(|| !status().contains("two/clada.md"), status);
    assert!(status().contains("one/clada.md"));

    let logs = manager
        .run(clada, ["service", "logs", "-n", "1000"])
        .exits(0)
        .out;
    assert!(
        logs.contains("run ended") && !logs.contains("of-login"),
        "{logs}"
    );
    run(["service", "uninstall"]);
    let none = manager.run(clada, ["status"]).exits(1).out;
    assert!(none.starts_with("no clada process is running: start watching this folder with `clada`, or all files in your list with `clada service start`"), "{none}");
}
