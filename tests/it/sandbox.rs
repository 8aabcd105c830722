//! The fence around scripts, with real ones: what they try to get out by, and what they do all day.

use std::fs;
use std::future::pending;
use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use clada::world::sandbox::{self, Fence, Guard, Level, support};
use clada::world::shell::{self, Ending, Script};

use crate::harness::{Ended, LIMIT, Project, installed, skip};

/// What holds against an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    Stopped,
    /// Not stopped, and seen afterwards.
    Told,
    NotStopped,
}

impl std::fmt::Display for Holds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Stopped => "stopped",
            Self::Told => "told",
            Self::NotStopped => "**no**",
        })
    }
}

/// What holds where the system gives namespaces and Landlock, Landlock alone, and neither. System calls are filtered in all of
/// them.
pub(crate) type Held = [Holds; 3];

const STOPPED: Held = [Holds::Stopped; 3];
const LANDLOCK: Held = [Holds::Stopped, Holds::Stopped, Holds::NotStopped];
const NAMESPACES: Held = [Holds::Stopped, Holds::NotStopped, Holds::NotStopped];
const GUARDED: Held = [Holds::Stopped, Holds::Told, Holds::Told];
/// Landlock stops it, and without it a guard sees it.
const SEEN: Held = [Holds::Stopped, Holds::Stopped, Holds::Told];
const TOLD: Held = [Holds::Told; 3];
const NOT: Held = [Holds::NotStopped; 3];

/// How much of the fence this system is to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Given {
    Namespaces,
    Landlock,
    Neither,
}

impl Given {
    const ALL: [Self; 3] = [Self::Namespaces, Self::Landlock, Self::Neither];
    /// In the environment of a process of these tests: for which system it stands.
    const NAME: &str = "CLADA_TEST_FENCE";

    /// That of this process.
    fn here() -> Option<Self> {
        let name = std::env::var(Self::NAME).ok()?;
        Self::ALL.into_iter().find(|it| format!("{it:?}") == name)
    }

    /// Takes away what such a system does not give, for the process that a command starts.
    fn impose(self, command: &mut Command) {
        use std::os::unix::process::CommandExt;

        let filters = match self {
            Self::Namespaces => Vec::new(),
            Self::Landlock => vec![no_namespaces()],
            Self::Neither => vec![no_namespaces(), no_landlock()],
        };
        command.env(Self::NAME, format!("{self:?}"));
        #[expect(
            unsafe_code,
            reason = "pre_exec is the only way to act between fork and exec"
        )]
        // SAFETY: the closure makes system calls only.
        unsafe {
            command.pre_exec(move || {
                for filter in &filters {
                    seccompiler::apply_filter(filter).map_err(|_| std::io::ErrorKind::Other)?;
                }
                Ok(())
            });
        }
    }
}

type Calls = std::collections::BTreeMap<i64, Vec<seccompiler::SeccompRule>>;

fn filter(calls: Calls, error: i32) -> seccompiler::BpfProgram {
    use seccompiler::{SeccompAction, SeccompFilter};

    let arch = std::env::consts::ARCH.try_into().unwrap();
    let refused = SeccompAction::Errno(error as u32);
    let filter = SeccompFilter::new(calls, SeccompAction::Allow, refused, arch);
    filter.unwrap().try_into().unwrap()
}

fn no_namespaces() -> seccompiler::BpfProgram {
    use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

    let new = [libc::CLONE_NEWNS, libc::CLONE_NEWUSER].map(|flag| {
        let flag = flag as u64;
        let op = SeccompCmpOp::MaskedEq(flag);
        let is_set = SeccompCondition::new(0, SeccompCmpArgLen::Dword, op, flag).unwrap();
        SeccompRule::new(vec![is_set]).unwrap()
    });
    let calls = [libc::SYS_clone, libc::SYS_unshare].map(|call| (call, new.to_vec()));
    filter(calls.into(), libc::EPERM)
}

fn no_landlock() -> seccompiler::BpfProgram {
    let calls = [(libc::SYS_landlock_create_ruleset, Vec::new())];
    filter(calls.into(), libc::EOPNOTSUPP)
}

/// Runs a test of this module once for each system and user: in a process of its own, as that keeps what it found out of its
/// system. True in such a process.
fn in_each(test: &str) -> bool {
    if Given::here().is_some() {
        return true;
    }
    let users: &[bool] = match rustix::process::geteuid().is_root() {
        true => &[true, false],
        false => &[false],
    };
    let mut wrong = String::new();
    std::thread::scope(|scope| {
        let mut systems = Given::ALL.to_vec();
        if !support().alone {
            skip("this system gives commands no namespaces");
            systems.retain(|given| *given != Given::Namespaces);
        }
        let both = users
            .iter()
            .flat_map(|is_root| systems.iter().map(move |given| (is_root, *given)));
        let runs = both.map(|(is_root, given)| scope.spawn(move || run_as(test, *is_root, given)));
        for run in runs.collect::<Vec<_>>() {
            wrong += &run.join().unwrap();
        }
    });
    assert!(wrong.is_empty(), "{wrong}");
    false
}

/// Runs a test on such a system, as root or as an ordinary user; what went wrong.
fn run_as(test: &str, is_root: bool, given: Given) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    if !is_root && rustix::process::geteuid().is_root() {
        command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        command.arg(std::env::current_exe().unwrap());
    }
    let name = format!("sandbox::{test}");
    command.args(["--exact", &name, "--nocapture", "--test-threads=1"]);
    command.env("HOME", "/nonexistent");
    given.impose(&mut command);
    let output = command.output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    if output.status.success() && out.contains("1 passed") {
        return String::new();
    }
    format!("{given:?}, root: {is_root}\n{out}\n{err}\n")
}

/// One way to get out. The script ends with 0 if it succeeds.
pub(crate) struct Attempt {
    pub(crate) name: &'static str,
    pub(crate) held: Held,
    script: &'static str,
}

impl Attempt {
    /// Whether it needs rights that an ordinary user has not.
    fn needs_root(&self) -> bool {
        self.script.contains("mknod")
    }

    /// What holds on the system of this process.
    fn expected(&self) -> Holds {
        self.held[Given::here().unwrap() as usize]
    }
}

/// Above the table of them in the README.
pub(crate) const HEAD: &str = "| a command tries to | namespaces and Landlock | Landlock alone | neither |\n| --- | --- | --- | --- |\n";

/// All that were tried. `$top` holds the project (the working directory), `home` and `sibling`; `$clada` is the process that
/// runs the scripts, `$victim` another one, `$pts` a terminal. What is behind a line of dashes is run as the next command.
pub(crate) const ATTEMPTS: &[Attempt] = {
    const fn row(name: &'static str, held: Held, script: &'static str) -> Attempt {
        Attempt { name, held, script }
    }
    &[
        row(
            "write to the home directory",
            LANDLOCK,
            "echo x >>$top/home/.profile",
        ),
        row(
            "write beside the project",
            LANDLOCK,
            "echo x >../sibling/new",
        ),
        row(
            "write through a symbolic link",
            LANDLOCK,
            "ln -s ../sibling link && echo x >link/new",
        ),
        row(
            "write through `/proc/self/root`",
            LANDLOCK,
            "echo x >/proc/self/root$top/sibling/new",
        ),
        row(
            "write through clada's `/proc/PID/root`",
            LANDLOCK,
            "echo x >/proc/$clada/root$top/sibling/new",
        ),
        row(
            "write through clada's `/proc/PID/cwd`",
            LANDLOCK,
            "cd /proc/$clada/cwd",
        ),
        row("remove a file outside", LANDLOCK, "rm ../sibling/kept"),
        row(
            "empty a file outside",
            LANDLOCK,
            "truncate -s 0 ../sibling/kept",
        ),
        row("make a directory outside", LANDLOCK, "mkdir ../sibling/new"),
        row("hard-link a file out", LANDLOCK, "ln file ../sibling/new"),
        row(
            "hard-link a file in and write to it",
            LANDLOCK,
            "ln ../sibling/kept in && echo x >>in",
        ),
        row(
            "rename a file out of the project",
            LANDLOCK,
            "mv file ../sibling/new",
        ),
        row(
            "rename a file into the project",
            LANDLOCK,
            "mv ../sibling/kept in",
        ),
        row(
            "rename the project",
            LANDLOCK,
            "mv ../project ../other && mv ../other ../project",
        ),
        row(
            "become another user by a setuid program",
            STOPPED,
            "grep -q 'NoNewPrivs:[[:space:]]*0' /proc/self/status",
        ),
        row(
            "use clada's open files",
            LANDLOCK,
            "readlink /proc/$clada/fd/0",
        ),
        row(
            "write to clada's memory",
            LANDLOCK,
            "exec 3<>/proc/$clada/mem",
        ),
        row(
            "make a device to write to, as root",
            STOPPED,
            "mknod device b 7 0",
        ),
        row("send clada a signal", LANDLOCK, "kill -0 $clada"),
        row(
            "send another process of yours a signal",
            LANDLOCK,
            "kill -TERM $victim",
        ),
        row("plant a git hook", GUARDED, "echo x >.git/hooks/pre-commit"),
        row(
            "set `core.hooksPath`",
            GUARDED,
            "git config core.hooksPath ../sibling",
        ),
        row(
            "rename `.git` and make another",
            GUARDED,
            "mv .git away && cp -r away .git",
        ),
        row(
            "rename the hooks and make others",
            GUARDED,
            "mv .git/hooks away && mkdir .git/hooks",
        ),
        row(
            "write to git's configuration through a hard link",
            GUARDED,
            "ln .git/config in && echo '# x' >>in",
        ),
        row(
            "plant a git hook through clada's `/proc/PID/root`",
            SEEN,
            "cd /proc/$clada/root$top/project && echo x >.git/hooks/pre-commit",
        ),
        row(
            "unmount what is protected",
            GUARDED,
            "umount .git/hooks .git/config .git 2>/dev/null; umount -l .git 2>/dev/null; echo x >.git/hooks/pre-commit",
        ),
        row(
            "remount what is protected",
            GUARDED,
            "mount -o remount,bind,rw .git/hooks 2>/dev/null; echo x >.git/hooks/pre-commit",
        ),
        row(
            "mount over what is protected in a namespace of its own",
            GUARDED,
            "unshare -Urm sh -c 'umount -l .git/hooks; mount -o remount,bind,rw .git/hooks; echo x >.git/hooks/pre-commit' 2>/dev/null || echo x >.git/hooks/pre-commit",
        ),
        row(
            "enter clada's mounts",
            GUARDED,
            "nsenter -t $clada -m sh -c \"echo x >$top/project/.git/hooks/pre-commit\" 2>/dev/null || echo x >.git/hooks/pre-commit",
        ),
        row("write to the notes", NOT, "echo x >>clada.md"),
        row("write to `clada.toml`", GUARDED, "echo x >>clada.toml"),
        row(
            "put another file in the place of `clada.toml`",
            GUARDED,
            "mv -f file clada.toml",
        ),
        row("chmod a protected file", GUARDED, "chmod 600 clada.toml"),
        row(
            "add a missing git file (`commondir`)",
            TOLD,
            "echo ../../sibling >.git/commondir",
        ),
        row(
            "connect by TCP, network off",
            LANDLOCK,
            "exec 3<>/dev/tcp/127.0.0.1/$port",
        ),
        row(
            "connect to an abstract Unix socket",
            LANDLOCK,
            "python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(\"\\0clada-test-\" + sys.argv[1])' $port",
        ),
        row(
            "send by UDP, network off",
            NAMESPACES,
            "python3 -c 'import socket, sys; s = socket.socket(type=socket.SOCK_DGRAM); s.settimeout(5); s.connect((\"127.0.0.1\", int(sys.argv[1]))); s.send(b\"x\"); s.recv(9)' $udp",
        ),
        row(
            "connect to an agent, the desktop, docker (`exec.sockets` opens them)",
            NAMESPACES,
            "python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' $top/home/agent",
        ),
        row(
            "connect to another Unix socket",
            NOT,
            "python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' $top/home/socket",
        ),
        row("see another process", NAMESPACES, "[ -e /proc/$victim ]"),
        row(
            "read another process's environment",
            LANDLOCK,
            "cat /proc/$victim/environ",
        ),
        row(
            "set a limit on another process (`prlimit`)",
            STOPPED,
            "prlimit --pid $victim --nofile=64",
        ),
        row(
            "type into another terminal, as root (`TIOCSTI`)",
            STOPPED,
            "python3 -c 'import fcntl, sys, termios; fcntl.ioctl(open(sys.argv[1]), termios.TIOCSTI, b\"x\")' $pts",
        ),
        row(
            "write escape sequences to another terminal",
            NAMESPACES,
            "printf x >$pts",
        ),
        row(
            "make a namespace in which it is root",
            STOPPED,
            "unshare -Ur true",
        ),
        row(
            "put a link to the home directory in the place of a writable folder",
            LANDLOCK,
            "mv $TMPDIR/cache $TMPDIR/was && ln -s $top/home $TMPDIR/cache\n---\necho x >>$top/home/.profile",
        ),
        row(
            "rename a writable folder and put a link in its place",
            LANDLOCK,
            "mv $top/cache $top/was && ln -s $top/home $top/cache\n---\necho x >>$top/home/.profile",
        ),
        row(
            "chmod a file outside",
            NAMESPACES,
            "chmod 600 ../sibling/kept",
        ),
        row(
            "change the times of a file outside",
            NAMESPACES,
            "touch -d 2000-01-01 ../sibling/kept",
        ),
        row(
            "write to a file outside through a hard link that is in the project already",
            NOT,
            "echo x >>linked",
        ),
        row("read a file outside", NOT, "cat ../sibling/kept"),
    ]
};

/// A project with something around it, none of it in what counts as a temporary directory.
struct Ground {
    dir: tempfile::TempDir,
    tcp: TcpListener,
    udp: u16,
    _sockets: [UnixListener; 3],
    /// The side of a terminal that shows what is written to it.
    pty: OwnedFd,
}

impl Ground {
    fn new() -> Self {
        Self::at_top(tempfile::tempdir().unwrap())
    }

    fn at_top(dir: tempfile::TempDir) -> Self {
        let top = dir.path();
        for name in ["project", "home", "sibling", "temp", "temp/cache", "cache"] {
            fs::create_dir(top.join(name)).unwrap();
        }
        for name in [
            "home/.profile",
            "sibling/kept",
            "project/file",
            "project/clada.md",
            "project/clada.toml",
        ] {
            fs::write(top.join(name), "# old\n").unwrap();
        }
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        fs::hard_link(top.join("sibling/kept"), top.join("project/linked")).unwrap();
        let socket = |name| UnixListener::bind(top.join(name)).unwrap();
        let of_name = {
            use std::os::linux::net::SocketAddrExt;
            let name = format!("clada-test-{}", tcp.local_addr().unwrap().port());
            let address = std::os::unix::net::SocketAddr::from_abstract_name(name).unwrap();
            UnixListener::bind_addr(&address).unwrap()
        };
        let ground = Self {
            tcp,
            udp: echo(),
            _sockets: [socket("home/socket"), socket("home/agent"), of_name],
            pty: terminal(),
            dir,
        };
        let cp = Command::new("cp")
            .arg("-a")
            .arg(repository().join(".git"))
            .arg(ground.at("project"))
            .status();
        assert!(cp.unwrap().success());
        ground
    }

    fn git(&self, words: &[&str]) {
        let git = Command::new("git")
            .args(words)
            .current_dir(self.at("project"))
            .status();
        assert!(git.unwrap().success(), "git {words:?}");
    }

    fn top(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    fn at(&self, name: &str) -> PathBuf {
        self.top().join(name)
    }

    fn fence(&self, level: Level) -> Fence {
        let root = self.at("project");
        let mut guarded = sandbox::guarded(&root);
        guarded.push(root.join("clada.toml"));
        Fence {
            level,
            network: false,
            temp: vec![self.at("temp")],
            writable: vec![self.at("temp/cache"), self.at("cache")],
            guarded,
            hidden: vec![self.at("home/agent")],
            ..Fence::nothing(&root)
        }
    }

    /// Runs a script in the project.
    fn run(&self, fence: &Fence, text: &str) -> Done {
        self.run_beside(fence, text, 0)
    }

    fn run_beside(&self, fence: &Fence, text: &str, victim: u32) -> Done {
        let port = self.tcp.local_addr().unwrap().port();
        let top = self.top();
        let (top, udp, clada) = (top.display(), self.udp, std::process::id());
        let pts = rustix::pty::ptsname(&self.pty, Vec::new()).unwrap();
        let pts = pts.to_str().unwrap();
        let text = format!(
            "export top={top} TMPDIR={top}/temp port={port} udp={udp} victim={victim} clada={clada} pts={pts}\n{text}"
        );
        Done::within(Duration::from_secs(120), fence, &text)
    }
}

/// A repository with one commit of the project's file, made once.
fn repository() -> &'static Path {
    static MADE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "# old\n").unwrap();
        for words in [
            &["init", "-q", "-b", "main"][..],
            &["config", "user.name", "Ada"],
            &["config", "user.email", "ada@example.org"],
            &["add", "file"],
            &["commit", "-q", "-m", "first"],
        ] {
            let git = Command::new("git")
                .args(words)
                .current_dir(dir.path())
                .status();
            assert!(git.unwrap().success(), "git {words:?}");
        }
        dir
    });
    made.path()
}

/// A server that sends back what it gets.
fn echo() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut bytes = [0; 16];
        while let Ok((length, from)) = socket.recv_from(&mut bytes) {
            let _ = socket.send_to(&bytes[..length], from);
        }
    });
    port
}

fn terminal() -> OwnedFd {
    let pty = rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR).unwrap();
    rustix::pty::grantpt(&pty).unwrap();
    rustix::pty::unlockpt(&pty).unwrap();
    pty
}

#[derive(Debug, PartialEq, Eq)]
struct Done {
    ending: Ending,
    out: String,
    err: String,
}

impl Done {
    /// Runs a script in the fence's root.
    fn within(timeout: Duration, fence: &Fence, text: &str) -> Self {
        let script = Script {
            text,
            dir: &fence.root,
            timeout,
            lang: None,
            version: None,
            env: &std::env::vars_os().collect::<Vec<_>>(),
            fence: Some(fence),
            mask: None,
            output_limit: u64::MAX,
        };
        let ran = wait_for(shell::run(&script, pending(), &mut ())).unwrap();
        let text = |captured: &shell::Captured| {
            let mut text = String::new();
            captured.reader().read_to_string(&mut text).unwrap();
            text
        };
        Self {
            ending: ran.ending,
            out: text(&ran.stdout),
            err: text(&ran.stderr),
        }
    }

    fn went_well(&self) -> bool {
        self.ending == Ending::Exited(0)
    }
}

fn wait_for<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

/// Every attempt does something without the fence, and in the fence what the table says.
#[test]
fn the_ways_out() {
    if !installed("python3") || !in_each("the_ways_out") {
        return;
    }
    let given = Given::here().unwrap();
    let by = match given {
        Given::Namespaces => "namespaces and Landlock",
        Given::Landlock => "Landlock",
        Given::Neither => "",
    };
    let found = support().by.clone().unwrap_or_default();
    assert!(
        found.starts_with(by) && found.is_empty() == by.is_empty(),
        "{}",
        support()
    );
    let is_root = rustix::process::geteuid().is_root();
    let mut wrong = String::new();
    for attempt in ATTEMPTS {
        for level in [Level::Off, Level::Workspace] {
            let is_possible = given == Given::Namespaces && is_possible(attempt, is_root);
            if level == Level::Off && !is_possible {
                continue;
            }
            let held = tried(attempt, level);
            let is_right = match level {
                Level::Off => held.0 != Holds::Stopped,
                _ if is_root == attempt.needs_root() => held.0 == attempt.expected(),
                // Root has no capabilities then, and can do less than the table says of an ordinary user.
                _ if is_root => held.0 == attempt.expected() || held.0 == Holds::Stopped,
                _ => held.0 == attempt.expected() || attempt.needs_root(),
            };
            if !is_right {
                wrong += &format!("{} ({level:?}): {held:?}\n", attempt.name);
            }
        }
    }
    assert!(wrong.is_empty(), "{given:?} {}\n{wrong}", support());
}

/// Whether the tester can do it without a fence.
fn is_possible(attempt: &Attempt, is_root: bool) -> bool {
    let rights = ["mknod", "/mem", "TIOCSTI"];
    let needs = |part: &&str| attempt.script.contains(*part);
    !(rights.iter().any(needs) || attempt.needs_root() && !is_root)
}

/// What held when it was tried, and how it went.
fn tried(attempt: &Attempt, level: Level) -> (Holds, Vec<Done>, Vec<PathBuf>) {
    let ground = Ground::new();
    let guard = Guard::of(&ground.fence(level).guarded);
    let mut victim = Command::new("sleep").arg("300").spawn().unwrap();
    // Each as after a start of clada, which finds the trees anew.
    let done: Vec<Done> = attempt
        .script
        .split("\n---\n")
        .map(|script| ground.run_beside(&ground.fence(level), script, victim.id()))
        .collect();
    victim.kill().unwrap();
    victim.wait().unwrap();
    let changed = guard.changed();
    let went_well = done.last().is_some_and(Done::went_well);
    let held = match (went_well, changed.is_empty()) {
        (true, true) => Holds::NotStopped,
        (_, false) => Holds::Told,
        (false, true) => Holds::Stopped,
    };
    (held, done, changed)
}

#[test]
fn reading_only_it_writes_in_temporary_directories() {
    let ground = Ground::new();
    let fence = ground.fence(Level::ReadOnly);
    let done = ground.run(&fence, "cat file && echo x >$TMPDIR/new && ! echo x >new");
    assert_eq!(done.went_well(), support().by.is_some(), "{done:?}");

    // A project in such a directory is not for writing either.
    let fence = Fence {
        temp: vec![ground.top()],
        ..ground.fence(Level::ReadOnly)
    };
    let done = ground.run(&fence, "cat file && echo x >$TMPDIR/new && ! echo x >new");
    assert_eq!(done.went_well(), support().guards, "{done:?}");
}

/// Temporary files in shared memory keep nobody from namespaces.
#[test]
fn temporary_files_may_be_in_the_shared_memory() {
    let Some(project) = Project::apart() else {
        return;
    };
    let Ok(temp) = tempfile::tempdir_in("/dev/shm") else {
        skip("there is no shared memory");
        return;
    };
    let says = |temp: &Path| {
        let mut doctor = project.command(env!("CARGO_BIN_EXE_clada"));
        let output = doctor.arg("doctor").env("TMPDIR", temp).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let line = said.lines().find(|line| line.contains("sandbox: "));
        line.unwrap_or_else(|| panic!("{said}")).to_owned()
    };
    assert_eq!(says(temp.path()), says(Path::new("/tmp")));
}

/// A command gets shared memory of its own, and the project is in it where it was.
#[test]
fn a_project_in_the_shared_memory_is_fenced_as_others() {
    if !in_each("a_project_in_the_shared_memory_is_fenced_as_others") {
        return;
    }
    let Ok(dir) = tempfile::tempdir_in("/dev/shm") else {
        skip("there is no shared memory");
        return;
    };
    let ground = Ground::at_top(dir);
    let work = "echo x >new && mv new file && echo x >$TMPDIR/new && test -f $TMPDIR/new && \
                f=$(mktemp /dev/shm/clada-test-XXXX) && rm $f";
    let done = ground.run(&ground.fence(Level::Workspace), work);
    assert!(done.went_well(), "{done:?}");
    assert_eq!(
        fs::read_to_string(ground.at("project/file")).unwrap(),
        "x\n"
    );
    assert!(ground.at("temp/new").exists());

    if support().alone {
        let leave = "! ls ../sibling && echo x >/dev/shm/clada-test-shared && ! echo x >clada.toml";
        let done = ground.run(&ground.fence(Level::Workspace), leave);
        assert!(done.went_well(), "{done:?}");
        assert!(!Path::new("/dev/shm/clada-test-shared").exists());

        let read = "cat file && ! echo x >newer && echo x >$TMPDIR/newer";
        let done = ground.run(&ground.fence(Level::ReadOnly), read);
        assert!(done.went_well(), "{done:?}");
        assert!(!ground.at("project/newer").exists() && ground.at("temp/newer").exists());

        fs::create_dir(ground.at("project/src")).unwrap();
        let project = Project::new();
        let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
        command.args(["run", "--no-git", "--sandbox", "read-only", "--root"]);
        command.arg(ground.at("project"));
        let task = "<c>exec</c>\n<x cwd=\"src\">cat ../file; touch ../newer</x>";
        let reply = format!("<tasks>\n<task>\n{task}\n</task>\n</tasks>\n");
        let ended = Ended::of(command, &reply).exits(1);
        assert!(ended.out.contains("stdout:\nx\nstderr:\n"), "{}", ended.out);
        assert!(ended.out.contains("Read-only file system"), "{}", ended.out);
    }
}

/// Each line works in the fence as it does without.
#[test]
fn the_days_work() {
    if !in_each("the_days_work") {
        return;
    }
    const WORK: &[&str] = &[
        "echo x >new && rm new && mkdir -p a/b && mv a c && rm -r c",
        "echo x >f.tmp && mv f.tmp file && ln file file2 && ln -s file file3",
        "mkdir d && echo x >d/f && mv d/f g && mv g d/f",
        "git add -A && git commit -q -m 'second' && git log --oneline",
        "git checkout -q -b topic && git checkout -q main && git merge -q topic",
        "echo y >file && git stash -q && git stash pop -q",
        "git worktree add -q wt && git -C wt status --short",
        "git gc -q && git fsck && git tag v1",
        "git clone -q . copy && git -C copy config a.b c",
        "echo x >/dev/null && echo y >/dev/stderr && echo z >/dev/stdout",
        "f=$(mktemp) && echo x >$f && rm $f && cat <<<text",
        "exec > >(tee log); echo a; echo b",
        "sleep 300 & kill $! && ! wait $!",
        "(cd .git && git rev-parse HEAD); cd .git/hooks && ls",
        "test \"$(stat -c %u file)\" = \"$(id -u)\" && pwd",
        "echo x >/dev/shm/clada-test-$$ && rm /dev/shm/clada-test-$$",
        "setsid sh -c 'echo up'; nohup true; (trap 'exit 0' TERM; kill -TERM $BASHPID; exit 1)",
        "df . && find . -xdev -name file && tar cf - file | tar tf -",
    ];
    let mut wrong = String::new();
    for work in WORK {
        let ground = Ground::new();
        let mut fence = ground.fence(Level::Workspace);
        fence.network = true;
        let done = ground.run(&fence, work);
        if !done.went_well() {
            wrong += &format!("{work}: {done:?}\n");
        }
    }
    assert!(wrong.is_empty(), "{}\n{wrong}", support());
}

#[test]
fn cargo_builds_in_the_fence() {
    if !installed("cargo") {
        return;
    }
    let ground = Ground::new();
    let mut fence = ground.fence(Level::Workspace);
    fs::create_dir(ground.at("home/cargo")).unwrap();
    fence.writable = vec![ground.at("home/cargo"), ground.at("no/such/cache")];
    let done = ground.run(
        &fence,
        "export CARGO_HOME=$top/home/cargo && cargo init -q --name tiny && cargo build -q --offline && target/debug/tiny",
    );
    assert!(
        done.went_well() && done.out == "Hello, world!\n",
        "{done:?}"
    );
    assert!(
        ground.at("home/cargo").join(".package-cache").exists()
            || fs::read_dir(ground.at("home/cargo")).unwrap().count() > 0
    );
}

/// The git directory of a linked work tree is elsewhere, and that of a subdirectory above.
#[test]
fn git_works_where_its_directory_is_elsewhere() {
    let ground = Ground::new();
    ground.git(&["worktree", "add", "-q", "../linked"]);
    fs::create_dir(ground.at("project/sub")).unwrap();
    for root in ["linked", "project/sub"] {
        let root = ground.at(root);
        let fence = Fence {
            writable: sandbox::git_dirs(&root, std::slice::from_ref(&root)),
            guarded: sandbox::guarded(&root),
            root,
            ..ground.fence(Level::Workspace)
        };
        let done = ground.run(
            &fence,
            "echo x >new && git add new && git commit -q -m new && git status --short",
        );
        assert!(done.went_well(), "{done:?}");
        let done = ground.run(
            &fence,
            "echo x >\"$(git rev-parse --git-common-dir)\"/hooks/pre-push",
        );
        assert_eq!(done.went_well(), !support().guards, "{done:?}");
    }
}

/// What stopped a real script is said with the setting that allows it.
#[test]
fn a_denial_is_explained() {
    if !support().alone {
        return skip("this system gives commands no namespaces");
    }
    let ground = Ground::new();
    let fence = ground.fence(Level::Workspace);
    for (script, expect) in [
        ("echo x >../sibling/new", "sibling/new` (`exec.write`"),
        ("mkdir ../sibling/new", "`exec.write`"),
        ("git init -q ../sibling/new", "`exec.write`"),
        (
            "git config a.b c",
            "` (change it yourself, or allow it with `exec.sandbox = \"off\"`)",
        ),
        ("mv file clada.toml", "exec may not change `clada.toml`"),
        ("exec 3<>/dev/tcp/127.0.0.1/$port", "exec has no network"),
    ] {
        let done = ground.run(&fence, script);
        let said = sandbox::denied(&fence, &fence.root, &[], &done.err).unwrap_or_default();
        assert!(said.contains(expect), "{script}: {said:?} {done:?}");
    }
    let done = ground.run(&fence, "cat no-such-file; false");
    assert_eq!(sandbox::denied(&fence, &fence.root, &[], &done.err), None);
}

/// clada can still end what it fenced in.
#[test]
fn the_timeout_holds_in_the_fence() {
    let ground = Ground::new();
    let fence = ground.fence(Level::Workspace);
    let script = "setsid sh -c 'echo $$; exec sleep 31421' & echo $$; sleep 31421";
    let done = Done::within(Duration::from_millis(500), &fence, script);
    assert!(matches!(done.ending, Ending::TimedOut(_)));
    assert!(!done.out.is_empty());
    assert_eq!(named("31421"), 0);
}

/// How many processes have this among their words.
fn named(word: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let words = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let has = |line: &Vec<u8>| {
        line.split(|byte| *byte == 0)
            .any(|it| it == word.as_bytes())
    };
    words.filter(has).count()
}

/// However a command's processes come about, and whatever the system gives.
#[test]
fn nothing_outlives_a_command() {
    if !installed("python3") || !in_each("nothing_outlives_a_command") {
        return;
    }
    for level in [Level::Off, Level::Workspace] {
        let ground = Ground::new();
        let next = "import os\nwhile True:\n    if os.fork(): os._exit(0)\n    os.setsid()\n    open('beat', 'w').write('x')\n";
        fs::write(ground.at("project/next.py"), next).unwrap();
        let script = "python3 next.py & for i in $(seq 50); do setsid sleep 31422 & done; until [ -s beat ]; do sleep 0.01; done";
        let done = ground.run(&ground.fence(level), script);
        assert!(done.went_well(), "{done:?}");
        let beat = ground.at("project/beat");
        fs::remove_file(&beat).unwrap();
        // What lives beats again in a few milliseconds, and nobody else would say that it does.
        let until = Instant::now() + Duration::from_millis(300);
        while Instant::now() < until {
            assert!(!beat.exists(), "it lives on");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn processes_are_bounded() {
    if !installed("python3") {
        return;
    }
    let ground = Ground::new();
    let fence = Fence {
        processes: 400,
        ..ground.fence(Level::Workspace)
    };
    let script = "import os, time\nchildren = 0\ntry:\n    while children < 1000:\n        if not os.fork(): time.sleep(300)\n        children += 1\nexcept OSError as error: print(children, error.errno)\n";
    fs::write(ground.at("project/many.py"), script).unwrap();
    let done = ground.run(&fence, "python3 many.py");
    let (children, error) = done.out.trim().split_once(' ').expect(&done.err);
    let children: u32 = children.parse().unwrap();
    assert!(children > 300 && children < 400, "{done:?}");
    assert_eq!(error, libc::EAGAIN.to_string());
}

/// The mounts are the script's own: an editor, or clada, replaces what it may not.
#[test]
fn what_is_protected_can_be_saved_meanwhile() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};

    let ground = Ground::new();
    let fence = ground.fence(Level::Workspace);
    let saved = std::thread::scope(|scope| {
        scope.spawn(|| {
            let end = Instant::now() + LIMIT;
            while !ground.at("temp/up").exists() && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(5));
            }
            for (name, flags) in [
                (".git/config", RenameFlags::EXCHANGE),
                ("clada.toml", RenameFlags::empty()),
            ] {
                let new = ground.at("home/new");
                fs::write(&new, "# new\n").unwrap();
                let path = fence.root.join(name);
                renameat_with(CWD, &new, CWD, &path, flags).unwrap();
            }
            fs::write(fence.root.join(".git/hooks/post-commit"), "").unwrap();
            fs::write(ground.at("temp/go"), "").unwrap();
        });
        ground.run(
            &fence,
            "touch $TMPDIR/up; until [ -e $TMPDIR/go ]; do sleep 0.01; done
            cat .git/config clada.toml; ls .git/hooks/post-commit",
        )
    });
    assert_eq!(
        saved.out, "# new\n# new\n.git/hooks/post-commit\n",
        "{saved:?}"
    );
}
