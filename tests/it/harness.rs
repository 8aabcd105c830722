//! A project of its own for each test: a folder, a home, real git, and the real program.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// How long a condition may take to come true. Long, since machines are shared; nothing waits for it to pass.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The part of clada whose log says when a listener looked at its notes.
const LISTENER: &str = " clada::listener";
/// The part that says when it looked at a copied text.
const INTAKE: &str = " clada::listener::intake";

/// A folder with a home beside it.
pub(crate) struct Project {
    /// Holds `project` and `home`.
    top: TempDir,
    display: Option<String>,
}

impl Project {
    /// An empty folder, in no repository.
    pub(crate) fn new() -> Self {
        let top = tempfile::tempdir().expect("temp dir");
        for name in ["project", "home"] {
            std::fs::create_dir(top.path().join(name)).expect("mkdir");
        }
        Self { top, display: None }
    }

    /// An empty folder and a home that commands may not write to of themselves: not where temporary files are. Those of
    /// its programs are in a folder beside. `None`, and a line that says so, where this user has no such place.
    pub(crate) fn apart() -> Option<Self> {
        let of_all = ["/tmp", "/var/tmp", "/dev/shm"];
        let home = std::env::var_os("HOME").unwrap_or_default();
        let places = [env!("CARGO_TARGET_TMPDIR").into(), "/run/lock".into(), home];
        let place = places.iter().find_map(|place| {
            let place = Path::new(place).canonicalize().ok()?;
            let is_apart = of_all.iter().all(|temp| !place.starts_with(temp));
            is_apart.then(|| tempfile::tempdir_in(place).ok())?
        });
        let Some(top) = place else {
            skip("every folder that can be written here is a temporary one");
            return None;
        };
        for name in ["project", "home", "temp"] {
            std::fs::create_dir(top.path().join(name)).expect("mkdir");
        }
        Some(Self { top, display: None })
    }

    /// An empty folder and a home that is in no repository and, where such a place can be had, not where temporary files
    /// are: as a person's.
    pub(crate) fn at_home() -> Self {
        let home = std::env::var_os("HOME").unwrap_or_default();
        let places = [home, "/run/lock".into(), env!("CARGO_TARGET_TMPDIR").into()];
        let top = places.iter().find_map(|place| {
            let place = Path::new(place).canonicalize().ok()?;
            let is_apart = !place.starts_with("/tmp") && !place.starts_with("/var/tmp");
            let is_free = place.ancestors().all(|above| !above.join(".git").exists());
            (is_apart && is_free).then(|| tempfile::tempdir_in(place).ok())?
        });
        let Some(top) = top else {
            return Self::new();
        };
        for name in ["project", "home", "temp"] {
            std::fs::create_dir(top.path().join(name)).expect("mkdir");
        }
        Self { top, display: None }
    }

    /// An empty git repository.
    pub(crate) fn with_git() -> Self {
        let project = Self::new();
        project.git(["init", "-q", "-b", "main"]);
        project
    }

    /// Programs of this project have this X display.
    pub(crate) fn on_display(mut self, display: &str) -> Self {
        self.display = Some(display.to_owned());
        self
    }

    /// The root.
    pub(crate) fn root(&self) -> PathBuf {
        self.top
            .path()
            .join("project")
            .canonicalize()
            .expect("root")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.top.path().join("home")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Writes a file and its folders.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("parent")).expect("mkdir");
        std::fs::write(path, content).expect("write");
        self
    }

    /// Commits all that is there, as the user.
    pub(crate) fn commits(&self) -> &Self {
        self.commit("the user's");
        self
    }

    /// Reads a file. One that an editor is just replacing is there again in a moment.
    pub(crate) fn read(&self, name: &str) -> String {
        let path = self.path(name);
        let start = Instant::now();
        loop {
            match std::fs::read_to_string(&path) {
                Ok(text) => return text,
                Err(error)
                    if error.kind() == std::io::ErrorKind::NotFound
                        && start.elapsed() < Duration::from_secs(2) =>
                {
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(error) => panic!("{}: {error}", path.display()),
            }
        }
    }

    /// Writes a file that nobody may read. False, and said, where this user reads everything.
    pub(crate) fn write_unreadable(&self, name: &str) -> bool {
        use std::os::unix::fs::PermissionsExt;
        self.write(name, "x");
        let closed = std::fs::Permissions::from_mode(0o000);
        std::fs::set_permissions(self.path(name), closed).expect("permissions");
        let is_open = std::fs::read(self.path(name)).is_ok();
        if is_open {
            skip(ROOT_READS_EVERYTHING);
        }
        !is_open
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.path(name).symlink_metadata().is_ok()
    }

    /// A program in the root with an environment that holds nothing of the person who runs the tests.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.root())
            .env_clear()
            .env("HOME", self.home())
            // Not that of the person either.
            .env("XDG_RUNTIME_DIR", "");
        for keep in ["LANG", "TMPDIR", "LLVM_PROFILE_FILE"] {
            if let Some(value) = std::env::var_os(keep) {
                command.env(keep, value);
            }
        }
        let temp = self.top.path().join("temp");
        if temp.is_dir() {
            command.env("TMPDIR", temp);
        }
        // A test may put programs of its own into the home's `bin`.
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = std::iter::once(self.home().join("bin")).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(own).expect("PATH"));
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("TZ", "UTC");
        for who in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{who}_NAME"), "Test")
                .env(format!("GIT_{who}_EMAIL"), "test@example.org");
        }
        if let Some(display) = &self.display {
            command.env("DISPLAY", display);
        }
        command
    }

    /// The folder of the user's settings.
    pub(crate) fn config_folder(&self) -> PathBuf {
        self.own_folder(".config/clada")
    }

    /// The folder of what clada keeps between runs.
    pub(crate) fn state_folder(&self) -> PathBuf {
        self.own_folder(".local/state/clada")
    }

    /// A folder of clada's: macOS has one for all.
    fn own_folder(&self, on_linux: &str) -> PathBuf {
        let on_macos = "Library/Application Support/clada";
        let is_macos = cfg!(target_os = "macos");
        self.home().join(if is_macos { on_macos } else { on_linux })
    }

    /// Writes the user's settings.
    pub(crate) fn configure(&self, settings: &str) {
        let folder = self.config_folder();
        std::fs::create_dir_all(&folder).expect("mkdir");
        std::fs::write(folder.join("config.toml"), settings).expect("write");
    }

    /// Puts a shell script into the home's `bin`, which is first in PATH.
    pub(crate) fn program(&self, name: &str, script: &str) {
        let bin = self.home().join("bin");
        std::fs::create_dir_all(&bin).expect("mkdir");
        let path = bin.join(name);
        let script = format!("#!/bin/sh\n{script}\n");
        let mut command = Command::new("sh");
        command
            .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
            .arg(&path);
        Ended::of(command, &script).exits(0);
    }

    /// Runs git; its output. It must succeed.
    pub(crate) fn git<const N: usize>(&self, args: [&str; N]) -> String {
        let output = self.command("git").args(args).output().expect("git");
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Runs clada to its end.
    pub(crate) fn clada<const N: usize>(&self, args: [&str; N]) -> Ended {
        self.clada_with(args, "")
    }

    /// Runs clada to its end with this on standard input.
    pub(crate) fn clada_with<const N: usize>(&self, args: [&str; N], input: &str) -> Ended {
        let mut command = self.command(env!("CARGO_BIN_EXE_clada"));
        command.args(args);
        Ended::of(command, input)
    }

    /// Clada's program as somebody whom permissions bind, which root is not; the project becomes theirs. `None`, and a line that
    /// says so, where that cannot be had.
    pub(crate) fn as_user(&self) -> Option<impl Fn() -> Command> {
        self.as_user_with(65534)
    }

    /// The same as a user with this id, who has no other processes.
    pub(crate) fn as_user_with(&self, id: u32) -> Option<impl Fn() -> Command> {
        let mut start = vec![OsString::from(env!("CARGO_BIN_EXE_clada"))];
        if rustix::process::geteuid().is_root() {
            let top = self.top.path();
            // Nobody may not see where it was built.
            let copy = top.join("clada");
            copy_program(&copy);
            let works = |command: &mut Command| {
                let done = command.output();
                done.is_ok_and(|done| done.status.success())
            };
            let mut chown = self.command("chown");
            let is_theirs = works(chown.args(["-R", &format!("{id}:{id}")]).arg(top));
            let (user, group) = (format!("--reuid={id}"), format!("--regid={id}"));
            let they = [user.as_str(), &group, "--clear-groups"];
            if !is_theirs || !works(self.command("setpriv").args(they).arg("true")) {
                skip("cannot become another user here");
                return None;
            }
            start = std::iter::once("setpriv")
                .chain(they)
                .map(OsString::from)
                .collect();
            start.push(copy.into());
        }
        Some(move || {
            let mut command = self.command(&start[0]);
            command.args(&start[1..]);
            command
        })
    }

    /// Starts `clada watch` with these arguments, armed when this returns.
    pub(crate) fn watch<const N: usize>(&self, args: [&str; N]) -> Watching {
        let mut command = self.command(env!("CARGO_BIN_EXE_clada"));
        command.arg("watch").args(args);
        let watching = Watching::logged(command);
        watching.wait_for("watching ");
        watching
    }
}

/// Copies clada's program to a path.
///
/// By another program, as [`Project::program`] writes one: a file that this process has open for writing is also open in
/// what another test starts just then, and cannot be run as long as it is.
pub(crate) fn copy_program(to: &Path) {
    let mut command = Command::new("cp");
    command.args([Path::new(env!("CARGO_BIN_EXE_clada")), to]);
    Ended::of(command, "").exits(0);
}

/// A program that has ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    /// Runs a program to its end with this on standard input.
    pub(crate) fn of(mut command: Command, input: &str) -> Self {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("start");
        // A program that fails early does not read its input.
        let _ = child
            .stdin
            .take()
            .expect("stdin")
            .write_all(input.as_bytes());
        Self::new(child.wait_with_output().expect("end"))
    }

    pub(crate) fn new(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Self {
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// Asserts on the exit status.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "stdout:\n{}\nstderr:\n{}",
            self.out,
            self.err
        );
        self
    }

    /// Its standard output as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }

    /// The lines between the results markers.
    pub(crate) fn results(&self) -> String {
        results(&self.out)
    }
}

/// The lines between the results markers of a text.
pub(crate) fn results(text: &str) -> String {
    let (_, rest) = text
        .split_once("=== CLADA RESULTS ===\n")
        .unwrap_or_else(|| panic!("no results in {text:?}"));
    rest.split_once("=== END ===")
        .expect("end of results")
        .0
        .to_owned()
}

/// A listening clada. Killed when dropped.
pub(crate) struct Watching {
    child: Child,
    said: Arc<Mutex<String>>,
    log: Arc<Mutex<Log>>,
    /// The number of copied texts that it looked at.
    heard: Arc<AtomicUsize>,
    readers: Vec<JoinHandle<()>>,
}

impl Watching {
    /// Starts a program that is heard by what it prints.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("clada");
        let out: Box<dyn Read + Send> = Box::new(child.stdout.take().expect("stdout"));
        let err: Box<dyn Read + Send> = Box::new(child.stderr.take().expect("stderr"));
        Self::heard(child, [out, err], |_| false)
    }

    /// Starts a listener that also logs when it looks, see [`Self::until_it_looked`]. The log is not among what it prints.
    pub(crate) fn logged(mut command: Command) -> Self {
        let mut set = command.get_envs().filter(|(name, _)| *name == "CLADA_LOG");
        let level = set.next().and_then(|(_, level)| level?.to_str());
        let level = format!("{},{}=debug", level.unwrap_or("off"), LISTENER.trim_start());
        // One pipe: what was printed before a line of the log is read before it.
        let (reader, writer) = std::io::pipe().expect("pipe");
        let child = command
            .env("CLADA_LOG", level)
            .stdout(writer.try_clone().expect("pipe"))
            .stderr(writer)
            .spawn()
            .expect("clada");
        Self::heard(child, [Box::new(reader)], |line| line.contains(LISTENER))
    }

    /// Reads what a program prints, and keeps apart what is of its log.
    fn heard<const N: usize>(
        child: Child,
        streams: [Box<dyn Read + Send>; N],
        is_logged: fn(&str) -> bool,
    ) -> Self {
        let said = Arc::new(Mutex::new(String::new()));
        let log = Arc::new(Mutex::new(Log::default()));
        let heard = Arc::<AtomicUsize>::default();
        let read = |stream| {
            let (said, log, heard) = (Arc::clone(&said), Arc::clone(&log), Arc::clone(&heard));
            std::thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    if line.contains(INTAKE) {
                        let is_heard = line.ends_with("looked at a copied text");
                        heard.fetch_add(usize::from(is_heard), Ordering::SeqCst);
                    } else if is_logged(&line) {
                        log.lock().expect("lock").0.push(line);
                    } else {
                        said.lock().expect("lock").push_str(&(line + "\n"));
                    }
                }
            })
        };
        let readers = streams.map(read).into();
        Self {
            child,
            said,
            log,
            heard,
            readers,
        }
    }

    /// The number of copied texts that it looked at.
    pub(crate) fn copies_heard(&self) -> usize {
        self.heard.load(Ordering::SeqCst)
    }

    /// Waits until it has looked at so many copied texts.
    #[track_caller]
    pub(crate) fn until_it_heard(&self, times: usize) {
        wait_until(
            || self.copies_heard() >= times,
            || {
                format!(
                    "{times} copied texts, {} came; {}",
                    self.copies_heard(),
                    self.said()
                )
            },
        );
    }

    /// What it printed so far.
    pub(crate) fn said(&self) -> String {
        self.said.lock().expect("lock").clone()
    }

    /// Waits until it has printed this.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        wait_until(
            || self.said().contains(text),
            || format!("{text:?} in {}", self.said()),
        );
    }

    /// Waits until it has looked at these notes as they are now, no run is in progress, and it waits for nothing but the
    /// next save. Only then has not happened what should not: time that passes shows nothing on a slow machine.
    ///
    /// Each save counts, also one of the same text. Notes that are no text were looked at in vain.
    #[track_caller]
    pub(crate) fn until_it_looked(&self, notes: &Path) {
        self.until(|log| log.is_done_with(notes));
    }

    /// As [`Self::until_it_looked`]; but it may have to look again by itself, as at half a reply.
    #[track_caller]
    pub(crate) fn until_it_saw(&self, notes: &Path) {
        self.until(|log| log.has_seen(notes));
    }

    /// Waits until no run is in progress, and it waits for nothing but the next save, of whatever notes.
    #[track_caller]
    pub(crate) fn until_it_rests(&self) {
        self.until(Log::is_done);
    }

    /// Waits until it has looked by itself so many times more, and what came of that is over.
    #[track_caller]
    pub(crate) fn until_it_looked_again(&self, times: usize) {
        let before = self.log.lock().expect("lock").looks();
        self.until(|log| log.looks() >= before + times && log.is_between_looks());
    }

    #[track_caller]
    fn until(&self, holds: impl Fn(&Log) -> bool) {
        wait_until(
            || holds(&self.log.lock().expect("lock")),
            || {
                let log = self.log.lock().expect("lock");
                let last = &log.0[log.0.len().saturating_sub(30)..];
                format!("a look, in this log:\n{}\n{}", last.join("\n"), self.said())
            },
        );
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal and waits for the end.
    pub(crate) fn stop(self, signal: rustix::process::Signal) -> Option<i32> {
        self.signal(signal);
        self.end().0
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("kill");
    }

    /// Waits for the end: the exit status, and all that it printed.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("wait") {
                for reader in self.readers.drain(..) {
                    reader.join().expect("reader");
                }
                return (status.code(), self.said());
            }
            assert!(start.elapsed() < LIMIT, "it does not end: {}", self.said());
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// What listeners log of their looks at the notes.
#[derive(Default)]
struct Log(Vec<String>);

impl Log {
    fn looks(&self) -> usize {
        self.0.iter().filter(|line| is_look(line)).count()
    }

    /// Tells if the last line says that a listener waits.
    fn is_between_looks(&self) -> bool {
        let last = self.0.last();
        last.is_some_and(|line| line.ends_with(DONE) || line.ends_with(WAITS))
    }

    fn is_done(&self) -> bool {
        self.0.last().is_some_and(|line| line.ends_with(DONE))
    }

    fn is_done_with(&self, notes: &Path) -> bool {
        self.rests(notes, &[DONE])
    }

    fn has_seen(&self, notes: &Path) -> bool {
        self.rests(notes, &[DONE, WAITS])
    }

    /// Tells if the last look at these notes was at what they are now, and one of these is all that came of it.
    fn rests(&self, notes: &Path, ends: &[&str]) -> bool {
        let folder = notes.parent().expect("a folder");
        let path = match notes.canonicalize() {
            Ok(path) => path,
            Err(_) => folder.join(notes.file_name().expect("a name")),
        };
        let of_notes = format!("file={}}}", path.display());
        let mut lines = self.0.iter().rev().filter(|line| line.contains(&of_notes));
        let rests = lines
            .next()
            .is_some_and(|line| ends.iter().any(|end| line.ends_with(end)));
        let look = lines.find(|line| is_look(line));
        rests && look.is_some_and(|line| line.contains(&look_at(&path)))
    }
}

/// The end of a line that says that the listener waits for nothing but the next save.
const DONE: &str = ": nothing to do";
/// The end of a line that says that the listener looks again by itself.
const WAITS: &str = ": waits before it looks again";
/// In a line that says what a listener looks at.
const LOOKS: &str = ": looks ";
/// In one that says that there is no text.
const IN_VAIN: &str = ": looks in vain ";

fn is_look(line: &str) -> bool {
    line.contains(LOOKS)
}

/// The part of the line in the log that says that these notes were looked at.
fn look_at(notes: &Path) -> String {
    let (Ok(meta), Ok(text)) = (notes.metadata(), std::fs::read(notes)) else {
        return IN_VAIN.to_owned();
    };
    if std::str::from_utf8(&text).is_err() || text.contains(&0) {
        return IN_VAIN.to_owned();
    }
    let hash = Sha256::digest(text);
    let hash: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let changed_ms = meta.ctime() * 1000 + meta.ctime_nsec() / 1_000_000;
    format!("{LOOKS}text={hash} changed_ms={changed_ms}")
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for a condition, and panics with what was waited for at the limit.
#[track_caller]
pub(crate) fn wait_until(mut condition: impl FnMut() -> bool, what: impl Fn() -> String) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LIMIT, "waited in vain for {}", what());
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether a process does anything any more: one that is dead may still wait for its parent to take note.
#[cfg(target_os = "linux")]
pub(crate) fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| !"ZX".contains(state))
}

/// Whether a process does anything any more, by what `ps` says of it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn runs(pid: &str) -> bool {
    let mut ps = Command::new("ps");
    let said = ps.args(["-o", "stat=", "-p", pid.trim()]).output();
    let state = String::from_utf8(said.expect("ps").stdout).expect("text");
    !state.trim().is_empty() && !state.starts_with('Z')
}

impl Project {
    /// Whether a process does anything any more that a command of this project calls by that number: it has no other one.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn command_runs(&self, pid: &str) -> bool {
        assert!(!pid.trim().is_empty(), "no number");
        runs(pid)
    }

    /// Whether a process does anything any more that a command of this project calls by that number: it may have numbers of its
    /// own.
    #[cfg(target_os = "linux")]
    pub(crate) fn command_runs(&self, pid: &str) -> bool {
        let pid = pid.trim();
        assert!(!pid.is_empty(), "no number");
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut processes = numbers.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
        processes.any(|process| {
            let status = std::fs::read_to_string(format!("/proc/{process}/status"));
            let status = status.unwrap_or_default();
            let line = |name| status.lines().find_map(|line| line.strip_prefix(name));
            let numbers: Vec<&str> = line("NSpid:")
                .unwrap_or_default()
                .split_whitespace()
                .collect();
            numbers.last() == Some(&pid) && runs(&process) && self.has_process(&process)
        })
    }

    /// Whether the environment of a process, or where it is, says that it is of this project.
    #[cfg(target_os = "linux")]
    fn has_process(&self, process: &str) -> bool {
        let root = self.root().canonicalize().unwrap();
        let (root, home) = (root.to_str().unwrap(), self.home());
        let of = |name: &str| std::fs::read(format!("/proc/{process}/{name}")).unwrap_or_default();
        let told = ["environ", "cmdline", "mountinfo"].map(of);
        let told = told.map(|told| String::from_utf8_lossy(&told).into_owned());
        let cwd = std::fs::read_link(format!("/proc/{process}/cwd")).unwrap_or_default();
        cwd.starts_with(root)
            || told
                .iter()
                .any(|told| told.contains(root) || told.contains(home.to_str().unwrap()))
    }
}

/// The reason that holds for root alone.
const ROOT_READS_EVERYTHING: &str = "root reads everything";

/// The reasons to skip a test that hold in CI too, each with why nothing can be done about it there.
const HOLD_IN_CI: &[(&str, &str)] = &[(
    ROOT_READS_EVERYTHING,
    "CI is root in a container, and no permissions of a file keep root from reading it",
)];

/// Says why a test, or a part of it, is skipped. In CI that is a failure: there all is installed that tests need, and one
/// that is skipped in silence guards nothing.
#[track_caller]
pub(crate) fn skip(why: &str) {
    let in_ci = std::env::var_os("CI").is_some();
    assert!(!in_ci || holds_in_ci(why), "skipped in CI: {why}");
    eprintln!("skipped: {why}");
}

fn holds_in_ci(why: &str) -> bool {
    HOLD_IN_CI.iter().any(|(reason, _)| *reason == why)
}

#[test]
fn only_some_reasons_to_skip_a_test_hold_in_ci() {
    assert!(holds_in_ci(ROOT_READS_EVERYTHING));
    assert!(!holds_in_ci("there is no program here"));
}

/// Whether a program is installed. In CI it must be; elsewhere a line says that its test is skipped.
#[track_caller]
pub(crate) fn installed(program: &str) -> bool {
    let found = Command::new("which").arg(program).output();
    let found = found.is_ok_and(|found| found.status.success());
    if !found {
        skip(&format!("there is no {program} here"));
    }
    found
}

/// Saves as most editors do: a new file, renamed over the old one.
pub(crate) fn save_by_rename(path: &Path, text: impl AsRef<[u8]>) {
    let new = path.with_extension("new");
    std::fs::write(&new, text).expect("write");
    std::fs::rename(new, path).expect("rename");
}
