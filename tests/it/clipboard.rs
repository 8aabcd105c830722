//! The clipboard on real displays and terminals, read back by other programs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use clada::world::clipboard::{Clipboard, ClipboardContext, ClipboardError, Copied};
use rustix::process::Signal;

use crate::daemon::display::Xvfb;
use crate::daemon::{NOTES, exec, wait_for_results};
use crate::harness::{Project, Watching, installed, runs, save_by_rename, wait_until};

const PATIENCE: Duration = Duration::from_secs(20);

/// An environment with programs and these variables.
pub(crate) fn around(vars: &[(&str, &str)]) -> ClipboardContext {
    let path = std::env::var_os("PATH").unwrap();
    let home = [("HOME", "/tmp")];
    let vars = home.iter().chain(vars);
    let vars = vars.map(|(name, value)| ((*name).into(), (*value).into()));
    ClipboardContext {
        program: env!("CARGO_BIN_EXE_clada").into(),
        vars: vars.chain([(OsString::from("PATH"), path)]).collect(),
        terminal: None,
        is_remote: false,
        stays: false,
    }
}

fn copy(clipboard: &Clipboard, text: &str) -> Result<Copied, ClipboardError> {
    clipboard.copy(text.to_owned(), PATIENCE)
}

/// The folder of a session, and programs that run in it until they are dropped.
struct Session {
    folder: tempfile::TempDir,
    programs: Vec<Child>,
}

impl Session {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            programs: Vec::new(),
        }
    }

    fn runtime(&self) -> &str {
        self.folder.path().to_str().unwrap()
    }

    /// Starts a program with this environment.
    fn runs(&mut self, vars: &[(&str, &str)]) {
        let mut program = Command::new("sleep");
        program.arg("1000").env_clear().envs(vars.iter().copied());
        program.env("XDG_RUNTIME_DIR", self.folder.path());
        self.programs.push(program.spawn().unwrap());
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        for program in &mut self.programs {
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}

/// The processes that keep the clipboard for programs of this project.
pub(crate) fn owners(project: &Project) -> Vec<String> {
    let mut found = Vec::new();
    let home = format!("HOME={}", project.home().display());
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let read = |name: &str| std::fs::read(entry.path().join(name)).unwrap_or_default();
        let has = |bytes: Vec<u8>, part: &str| {
            bytes
                .split(|byte| *byte == 0)
                .any(|it| it == part.as_bytes())
        };
        let is_owner = has(read("cmdline"), "clipboard-owner");
        if is_owner && has(read("environ"), &home) {
            found.push(entry.file_name().into_string().unwrap());
        }
    }
    found
}

#[test]
fn no_display_is_said_and_what_to_do() {
    let clipboard = Clipboard::start(around(&[]));
    let error = copy(&clipboard, "text").unwrap_err();
    assert_eq!(error, ClipboardError::NoDisplay { looked: false });
    let said = "no display (DISPLAY and WAYLAND_DISPLAY are not set)";
    assert_eq!(error.to_string(), said);
    let clipboard = Clipboard::start(around(&[("DISPLAY", ":4711")]));
    let error = copy(&clipboard, "text").unwrap_err();
    assert!(
        matches!(error, ClipboardError::Unreachable { .. }),
        "{error}"
    );
}

#[test]
fn what_no_reader_would_get_is_an_error() {
    let clipboard = Clipboard::start(around(&[]));
    let most = 16 * 1024 * 1024;
    let failed = copy(&clipboard, &"x".repeat(most + 1));
    assert_eq!(
        failed,
        Err(ClipboardError::TooLong {
            bytes: most + 1,
            most
        })
    );
}

#[test]
fn readers_get_the_text_also_after_the_display_came_back() {
    let name = Xvfb::own_name(0);
    let Some(xvfb) = Xvfb::start_as(&name) else {
        return;
    };
    let project = Project::new();
    let home = project.home().display().to_string();
    let vars = [("HOME", &*home), ("DISPLAY", xvfb.name())];
    let clipboard = Clipboard::start(around(&vars));
    for text in ["first", "second 🌍 `$x`"] {
        assert_eq!(copy(&clipboard, text), Ok(Copied::Kept));
        assert_eq!(xvfb.clipboard(&project), text);
    }
    let long = "ä".repeat(4 * 1024 * 1024);
    assert_eq!(copy(&clipboard, &long), Ok(Copied::Kept));
    assert!(xvfb.clipboard(&project) == long);

    drop(xvfb);
    assert!(copy(&clipboard, "nobody there").is_err());
    let xvfb = Xvfb::start_as(&name).unwrap();
    assert_eq!(copy(&clipboard, "back"), Ok(Copied::Kept));
    assert_eq!(xvfb.clipboard(&project), "back");
    drop(clipboard);
    assert_eq!(owners(&project), [""; 0]);
}

/// A server that accepts and never answers, as one does that is stopped.
#[test]
fn a_display_that_hangs_holds_up_nobody() {
    let Some(xvfb) = Xvfb::start() else { return };
    let project = Project::new();
    xvfb.signal(Signal::STOP);
    let home = project.home().display().to_string();
    let vars = [("HOME", &*home), ("DISPLAY", xvfb.name())];
    let clipboard = Clipboard::start(around(&vars));
    let patience = Duration::from_millis(300);
    let copy = |text: &str| clipboard.copy(text.to_owned(), patience);
    let refused = Err(ClipboardError::NoAnswer { patience });
    assert_eq!(copy("too early"), refused);
    assert_eq!(copy("also too early"), refused);
    xvfb.signal(Signal::CONT);
    while copy("later") != Ok(Copied::Kept) {}
    assert_eq!(xvfb.clipboard(&project), "later");
    let owner = owners(&project);
    xvfb.signal(Signal::STOP);
    drop(clipboard);
    xvfb.signal(Signal::CONT);
    wait_until(
        || !owner.iter().any(|pid| runs(pid)),
        || format!("{owner:?} to end"),
    );
}

/// The environment of a service has no display; what runs on the desktop has.
#[test]
fn the_display_of_the_desktop_is_found() {
    let Some(xvfb) = Xvfb::start() else { return };
    let Some(other) = Xvfb::start() else { return };
    let project = Project::new();
    let (mut session, mut elsewhere) = (Session::new(), Session::new());
    let runtime = session.runtime().to_owned();
    let looked = ClipboardError::NoDisplay { looked: true };
    // Who is logged in from elsewhere, a command of clada's, another session, a display that is gone.
    for var in ["SSH_CONNECTION", "CLADA"] {
        session.runs(&[("DISPLAY", other.name()), (var, "1")]);
    }
    elsewhere.runs(&[("DISPLAY", other.name())]);
    session.runs(&[("DISPLAY", ":4711")]);
    session.runs(&[("DISPLAY", "localhost:10.0")]);
    let clipboard = Clipboard::start(around(&[("XDG_RUNTIME_DIR", &runtime)]));
    assert_eq!(copy(&clipboard, "early"), Err(looked));

    // What most have is tried first.
    session.runs(&[("DISPLAY", other.name()), ("XAUTHORITY", "/nowhere")]);
    for _ in 0..2 {
        session.runs(&[("DISPLAY", xvfb.name())]);
    }
    assert_eq!(copy(&clipboard, "found"), Ok(Copied::Kept));
    assert_eq!(xvfb.clipboard(&project), "found");

    // One that outlived its desktop has another in its environment.
    let vars = [("XDG_RUNTIME_DIR", &*runtime), ("DISPLAY", ":4711")];
    assert_eq!(
        copy(&Clipboard::start(around(&vars)), "new"),
        Ok(Copied::Kept)
    );
}

#[test]
fn a_display_that_appears_gets_the_last_text() {
    let Some(xvfb) = Xvfb::start() else { return };
    let project = Project::new();
    let mut session = Session::new();
    let runtime = session.runtime().to_owned();
    let clipboard = Clipboard::start(around(&[("XDG_RUNTIME_DIR", &runtime)]));
    for text in ["older", "newer"] {
        assert!(copy(&clipboard, text).is_err());
    }
    session.runs(&[("DISPLAY", xvfb.name())]);
    wait_until(
        || xvfb.clipboard(&project) == "newer",
        || "the text".to_owned(),
    );
}

/// Where clada cannot do it itself, as with a compositor that lets no background program copy.
#[test]
fn other_programs_copy_where_clada_cannot() {
    let Some(xvfb) = Xvfb::start() else { return };
    let project = Project::new();
    for (name, text) in [("xclip", "by xclip"), ("xsel", "by xsel")] {
        if !installed(name) {
            continue;
        }
        let found = Command::new("which").arg(name).output().unwrap().stdout;
        let found = String::from_utf8(found).unwrap();
        let bin = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(found.trim(), bin.path().join(name)).unwrap();
        let mut around = around(&[("DISPLAY", xvfb.name())]);
        around.program = "/bin/false".into();
        around.vars.insert("PATH".into(), bin.path().into());
        let clipboard = Clipboard::start(around);
        assert_eq!(copy(&clipboard, text), Ok(Copied::By(name)));
        drop(clipboard);
        // xsel says that it is done a moment before it is.
        wait_until(|| xvfb.clipboard(&project) == text, || format!("{text:?}"));
    }
}

/// A Wayland compositor without a screen. Ended when dropped.
pub(crate) struct Sway {
    server: Child,
    session: Session,
}

impl Sway {
    /// `None`, and a line that says so, where there is none; in CI there must be one.
    pub(crate) fn start() -> Option<Self> {
        if !installed("sway") || !installed("wl-paste") {
            return None;
        }
        let session = Session::new();
        let folder = session.folder.path();
        let config = folder.join("config");
        std::fs::write(&config, "xwayland disable\n").unwrap();
        let mut command = Command::new("sway");
        // It does not run as root.
        if rustix::process::getuid().is_root() {
            std::os::unix::fs::chown(folder, Some(65534), Some(65534)).unwrap();
            command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "sway"]);
        }
        command
            .arg("-c")
            .arg(config)
            .env_remove("DISPLAY")
            .env_remove("WAYLAND_DISPLAY");
        command
            .env("XDG_RUNTIME_DIR", folder)
            .env("WLR_BACKENDS", "headless");
        command
            .env("WLR_LIBINPUT_NO_DEVICES", "1")
            .env("WLR_RENDERER", "pixman");
        let server = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let sway = Self { server, session };
        wait_until(|| sway.name().is_some(), || "sway to start".to_owned());
        Some(sway)
    }

    /// The name of its socket.
    fn name(&self) -> Option<String> {
        let entries = std::fs::read_dir(self.session.folder.path())
            .unwrap()
            .flatten();
        let mut names = entries.map(|entry| entry.file_name().into_string().unwrap());
        names.find(|name| name.starts_with("wayland-") && !name.ends_with(".lock"))
    }

    pub(crate) fn vars(&self) -> [(&str, String); 2] {
        let runtime = self.session.runtime().to_owned();
        [
            ("XDG_RUNTIME_DIR", runtime),
            ("WAYLAND_DISPLAY", self.name().unwrap()),
        ]
    }

    fn clipboard(&self) -> String {
        let paste = Command::new("wl-paste")
            .arg("--no-newline")
            .envs(self.vars())
            .output();
        String::from_utf8(paste.unwrap().stdout).unwrap()
    }
}

impl Sway {
    /// Waits until this is on its clipboard: who had it before may be just going.
    #[track_caller]
    pub(crate) fn shows(&self, text: &str) {
        wait_until(
            || self.clipboard() == text,
            || format!("{text:?}, not {:?}", self.clipboard()),
        );
    }
}

impl Drop for Sway {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn wayland_has_the_text_too() {
    let Some(sway) = Sway::start() else { return };
    let [runtime, display] = sway.vars();
    let (runtime, display) = ((runtime.0, &*runtime.1), (display.0, &*display.1));
    let clipboard = Clipboard::start(around(&[runtime, display]));
    for text in ["first", "second 🌍"] {
        assert_eq!(copy(&clipboard, text), Ok(Copied::Kept));
        sway.shows(text);
    }
    drop(clipboard);
    // Found by its socket alone.
    let clipboard = Clipboard::start(around(&[runtime]));
    assert_eq!(copy(&clipboard, "found"), Ok(Copied::Kept));
    sway.shows("found");
    drop(clipboard);
    let mut by_program = around(&[runtime, display]);
    by_program.program = "/bin/false".into();
    let clipboard = Clipboard::start(by_program);
    assert_eq!(copy(&clipboard, "by wl-copy"), Ok(Copied::By("wl-copy")));
    drop(clipboard);
    assert_eq!(sway.clipboard(), "by wl-copy");
}

#[test]
fn the_owner_ends_with_clada_however_that_ends() {
    for signal in [Signal::KILL, Signal::TERM] {
        let Some(xvfb) = Xvfb::start() else { return };
        let project = Project::new().on_display(xvfb.name());
        let watching = project.watch(["--no-git"]);
        save_by_rename(&project.path(NOTES), exec("echo fine"));
        let notes = wait_for_results(&project, "1 ✅");
        assert!(
            notes.status.starts_with("📋 Copied to clipboard at "),
            "{}",
            notes.status
        );
        let owner = owners(&project);
        assert_eq!(owner.len(), 1);
        watching.stop(signal);
        wait_until(
            || !runs(&owner[0]),
            || format!("{owner:?} to end after {signal:?}"),
        );
    }
}

/// A package manager puts a new program in the place of the one that runs.
#[test]
fn an_owner_is_found_though_the_program_was_replaced() {
    let Some(xvfb) = Xvfb::start() else { return };
    let project = Project::new().on_display(xvfb.name());
    std::fs::create_dir(project.home().join("bin")).unwrap();
    let program = project.home().join("bin/clada");
    // A file that this process writes cannot be started while another test starts something.
    let mut cp = Command::new("cp");
    cp.arg(env!("CARGO_BIN_EXE_clada")).arg(&program);
    assert!(cp.status().unwrap().success());
    let mut command = project.command(&program);
    command.args(["watch", "--no-git"]);
    let watching = Watching::start(command);
    watching.wait_for("watching ");
    std::fs::remove_file(program).unwrap();
    project.program("clada", "exit 1");
    save_by_rename(&project.path(NOTES), exec("echo fine"));
    let notes = wait_for_results(&project, "1 ✅");
    assert!(notes.status.starts_with("📋"), "{}", notes.status);
}

#[test]
fn copy_puts_the_last_results_there_until_something_else_is_copied() {
    let Some(xvfb) = Xvfb::start() else { return };
    let project = Project::new().on_display(xvfb.name());
    let nothing = project.clada(["copy"]).exits(1);
    assert!(
        nothing.err.contains("have been copied yet"),
        "{}",
        nothing.err
    );
    // Also where the clipboard is off, and of a file by its name.
    let watching = project.watch(["--no-git", "--no-clipboard", "my.md"]);
    save_by_rename(&project.path("my.md"), exec("echo one"));
    let done = || project.read("my.md").contains("1 ✅");
    wait_until(done, || watching.said());
    assert!(
        project.read("my.md").starts_with('\n'),
        "{}",
        project.read("my.md")
    );
    drop(watching);
    assert_eq!(owners(&project), [""; 0]);
    let copied = project.clada(["copy", "--file", "my.md"]).exits(0);
    assert_eq!(copied.err, "copied to the clipboard\n");
    let text = xvfb.clipboard(&project);
    assert!(text.starts_with("=== CLADA RESULTS ===\n1 ✅"), "{text}");
    assert!(
        text.ends_with("[1] exec echo one:\nstdout:\none\n=== END ===\n"),
        "{text}"
    );
    let owner = owners(&project);
    assert_eq!(owner.len(), 1);

    let mut xclip = project.command("xclip");
    xclip
        .args(["-selection", "clipboard", "-in"])
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    assert!(xclip.status().unwrap().success());
    wait_until(|| !runs(&owner[0]), || "the owner to end".to_owned());
    // What it was there for is gone with the display.
    project.clada(["copy", "--file", "my.md"]).exits(0);
    let owner = owners(&project);
    assert_eq!(owner.len(), 1);
    drop(xvfb);
    wait_until(|| !runs(&owner[0]), || "the owner to end".to_owned());
    project.clada(["copy", "--file", "clada.md"]).exits(2);
    project
        .clada(["copy", "--root", "..", "--file", "project/my.md"])
        .exits(2);
}

/// A tmux of one's own, which is a terminal that takes OSC 52.
struct Tmux<'p> {
    project: &'p Project,
    /// Also that of its socket and its settings.
    name: &'static str,
    /// Its user sits at another machine.
    over_ssh: bool,
}

impl<'p> Tmux<'p> {
    fn start(project: &'p Project, name: &'static str, settings: &str, command: &str) -> Self {
        Self::begin((project, name), true, settings, command)
    }

    fn local(project: &'p Project, name: &'static str, settings: &str, command: &str) -> Self {
        Self::begin((project, name), false, settings, command)
    }

    fn begin(
        (project, name): (&'p Project, &'static str),
        over_ssh: bool,
        settings: &str,
        command: &str,
    ) -> Self {
        let tmux = Self {
            project,
            name,
            over_ssh,
        };
        std::fs::write(project.home().join(format!("{name}.conf")), settings).unwrap();
        let mut start = tmux.command();
        let started = start.args(["new", "-d", command]).status();
        assert!(started.unwrap().success());
        tmux
    }

    fn command(&self) -> Command {
        let mut tmux = self.project.command("tmux");
        tmux.env("LC_ALL", "C.UTF-8");
        if self.over_ssh {
            tmux.env("SSH_CONNECTION", "1 2 3 4");
        }
        tmux.args(self.place());
        tmux
    }

    fn place(&self) -> [String; 4] {
        let home = self.project.home();
        let of = |end: &str| format!("{}/{}{end}", home.display(), self.name);
        ["-S".to_owned(), of(""), "-f".to_owned(), of(".conf")]
    }

    fn shows(&self) -> String {
        let shown = self.command().args(["capture-pane", "-p"]).output();
        String::from_utf8(shown.unwrap().stdout).unwrap()
    }

    fn buffer(&self) -> String {
        let shown = self.command().arg("show-buffer").output().unwrap();
        String::from_utf8(shown.stdout).unwrap()
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        let _ = self.command().arg("kill-server").output();
    }
}

#[test]
fn over_ssh_the_terminal_gets_it() {
    if !installed("tmux") {
        return;
    }
    let project = Project::new();
    project.write(NOTES, "");
    let watch = format!("'{}' watch --no-git", env!("CARGO_BIN_EXE_clada"));
    let tmux = Tmux::start(&project, "tmux", "set -s set-clipboard on\n", &watch);
    let shows = || tmux.shows();
    wait_until(|| shows().contains("watching "), shows);
    save_by_rename(&project.path(NOTES), exec("echo ‘one’"));
    let notes = wait_for_results(&project, "1 ✅");
    assert!(
        notes
            .status
            .starts_with("📋 Sent to the terminal's clipboard at ")
            && notes.status.ends_with(
                "not every terminal accepts it (OSC 52); if pasting inserts something else, copy from the output file"
            ),
        "{}",
        notes.status
    );
    wait_until(
        || tmux.buffer().ends_with("stdout:\n‘one’\n=== END ===\n"),
        shows,
    );

    // The block is known by its first line: it is replaced as a whole.
    save_by_rename(
        &project.path(NOTES),
        project.read(NOTES) + &exec("head -c 75000 /dev/zero | tr '\\0' x; exit 1"),
    );
    save_by_rename(&project.path(NOTES), project.read(NOTES));
    let notes = wait_for_results(&project, "1 ❌");
    assert!(notes.body.starts_with("<tasks>"), "{}", notes.body);
}

/// One that is not to take it for itself passes it on to the terminal around it, here another tmux.
#[test]
fn it_passes_through_a_tmux() {
    if !installed("tmux") {
        return;
    }
    let project = Project::new();
    project.write("a.txt", "one\n");
    project.clada(["context", "add", "a.txt"]).exits(0);
    let outer = Tmux::start(&project, "outer", "set -s set-clipboard on\n", "cat");
    let inner = Tmux {
        project: &project,
        name: "inner",
        over_ssh: true,
    };
    let settings = "set -s set-clipboard off\nset -g allow-passthrough on\n";
    std::fs::write(project.home().join("inner.conf"), settings).unwrap();
    let attach = format!("env -u TMUX tmux '{}'", inner.place().join("' '"));
    let copy = format!("'{}' context --copy; cat", env!("CARGO_BIN_EXE_clada"));
    let mut split = outer.command();
    split.args(["respawn-pane", "-k", &format!("{attach} new \"{copy}\"")]);
    assert!(split.status().unwrap().success());
    let text = "=== START FILE: a.txt ===\none\n=== END FILE: a.txt ===\n";
    wait_until(|| outer.buffer() == text, || outer.shows());
}

/// The words of the notes' first line, where clada watches in a local tmux, by its options and the environment there; and
/// that tmux.
fn copied_in_tmux<'p>(project: &'p Project, settings: &str, env: &str) -> (String, Tmux<'p>) {
    project.write(NOTES, "");
    let watch = format!("{env} '{}' watch --no-git", env!("CARGO_BIN_EXE_clada"));
    let tmux = Tmux::local(project, "tmux", settings, &watch);
    let shows = || tmux.shows();
    wait_until(|| shows().contains("watching "), shows);
    save_by_rename(&project.path(NOTES), exec("echo one"));
    (wait_for_results(project, "1 ✅").status, tmux)
}

#[test]
fn a_local_tmux_gets_it_where_there_is_no_display() {
    if !installed("tmux") {
        return;
    }
    let project = Project::new();
    let settings = "set -s set-clipboard on\n";
    let (status, tmux) = copied_in_tmux(&project, settings, "exec");
    let sent = "📋 Sent to the terminal's clipboard at ";
    assert!(status.starts_with(sent), "{status}");
    let end = "stdout:\none\n=== END ===\n";
    wait_until(|| tmux.buffer().ends_with(end), || tmux.shows());
}

/// `external` is what tmux begins with.
#[test]
fn a_tmux_that_takes_nothing_is_told_of_and_how_to_copy_nothing_once() {
    if !installed("tmux") {
        return;
    }
    let project = Project::new();
    let (status, tmux) = copied_in_tmux(&project, "", "exec");
    let why = " - no display, and tmux blocks its clipboard (`set-clipboard` is external): run `tmux set -s \
               set-clipboard on`; the text is in .clada-output-latest.txt, and `clada copy --print` prints it";
    let advice = "; to turn copying off, start clada with `--no-clipboard` or set `clipboard.enabled = false`";
    assert!(status.ends_with(&format!("{why}{advice}")), "{status}");
    assert_eq!(tmux.buffer(), "");
    let again = format!("again:\n{}", exec("echo two"));
    save_by_rename(&project.path(NOTES), project.read(NOTES) + &again);
    let status = wait_for_results(&project, "1 ✅ exec echo two").status;
    assert!(status.ends_with(why), "{status}");
    // What it says helps, at once.
    let mut set = tmux.command();
    assert!(
        set.args(["set", "-s", "set-clipboard", "on"])
            .status()
            .unwrap()
            .success()
    );
    let has = || tmux.buffer().contains("stdout:\ntwo\n");
    wait_until(has, || tmux.shows());
}

/// The tmux is the terminal here, and clada does not know that it is one.
#[test]
fn a_local_terminal_gets_it_if_it_is_known_to_take_it() {
    if !installed("tmux") {
        return;
    }
    let settings = "set -s set-clipboard on\n";
    let project = Project::new();
    let env = "exec env -u TMUX TERM=xterm-kitty";
    let (status, tmux) = copied_in_tmux(&project, settings, env);
    assert!(
        status.starts_with("📋 Sent to the terminal's clipboard at "),
        "{status}"
    );
    let end = "stdout:\none\n=== END ===\n";
    wait_until(|| tmux.buffer().ends_with(end), || tmux.shows());

    for term in ["linux", "xterm-256color"] {
        let project = Project::new();
        let env = format!("exec env -u TMUX TERM={term}");
        let (status, tmux) = copied_in_tmux(&project, settings, &env);
        assert!(
            status.contains(" - no display (DISPLAY and WAYLAND_DISPLAY are not set"),
            "{status}"
        );
        assert!(status.contains("`--no-clipboard`"), "{status}");
        assert_eq!(tmux.buffer(), "");
    }
}

/// What a terminal takes in all is limited, and nothing tells what became of too much.
#[test]
fn what_is_too_long_for_a_terminal_is_an_error() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut around = around(&[]);
    around.terminal = Some(PathBuf::from(file.path()));
    let clipboard = Clipboard::start(around);
    let most = 74_994;
    let text = "x".repeat(most);
    assert_eq!(copy(&clipboard, &text), Ok(Copied::Sent));
    assert_eq!(written(file.path()), text);
    let failed = copy(&clipboard, &(text + "x"));
    assert_eq!(
        failed,
        Err(ClipboardError::TooLong {
            bytes: most + 1,
            most
        })
    );
}

/// What a terminal was sent, as another program decodes it.
fn written(terminal: &Path) -> String {
    let sent = std::fs::read_to_string(terminal).unwrap();
    assert!(sent.len() <= 100_000 && sent.starts_with("\x1b]52;c;") && sent.ends_with('\x07'));
    let mut base64 = Command::new("sh");
    base64
        .args(["-c", "tail -c +8 \"$1\" | head -c -1 | base64 -d", "sh"])
        .arg(terminal);
    String::from_utf8(base64.output().unwrap().stdout).unwrap()
}
