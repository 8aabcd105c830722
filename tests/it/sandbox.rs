//! The fence around scripts, with real ones: what they try to get out by, and what they do all day.

use std::fs;
use std::future::pending;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use clada::world::sandbox::{self, Fence, Guard, Level, support};
use clada::world::shell::{self, Ending, Script};

use crate::harness::LIMIT;

/// What holds against an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    Stopped,
    /// Not stopped, and seen afterwards.
    Told,
    NotStopped,
}

/// What it is that stops an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Landlock,
    /// Own mounts, or else the watch.
    Guards,
    Watch,
    Network,
    Signals,
    Nothing,
}

impl By {
    /// What holds on this system.
    pub(crate) fn holds(self) -> Holds {
        let held = match self {
            Self::Landlock => support().by.is_some(),
            Self::Guards => support().guards,
            Self::Network => support().network,
            Self::Signals => support().signals,
            Self::Watch | Self::Nothing => false,
        };
        match self {
            _ if held => Holds::Stopped,
            Self::Guards | Self::Watch => Holds::Told,
            _ => Holds::NotStopped,
        }
    }
}

/// One way to get out. The script ends with 0 if it succeeds.
pub(crate) struct Attempt {
    pub(crate) name: &'static str,
    pub(crate) by: By,
    script: &'static str,
}

/// All that were tried. `$top` holds the project (the working directory), `home` and `sibling`.
pub(crate) const ATTEMPTS: &[Attempt] = {
    const fn row(name: &'static str, by: By, script: &'static str) -> Attempt {
        Attempt { name, by, script }
    }
    use By::{Guards, Landlock, Network, Nothing, Signals, Watch};
    &[
        row(
            "write to the home directory",
            Landlock,
            "echo x >>$top/home/.profile",
        ),
        row(
            "write beside the project",
            Landlock,
            "echo x >../sibling/new",
        ),
        row(
            "write through a symbolic link",
            Landlock,
            "ln -s ../sibling link && echo x >link/new",
        ),
        row(
            "write through `/proc/self/root`",
            Landlock,
            "echo x >/proc/self/root$top/sibling/new",
        ),
        row(
            "write through clada's `/proc/PID/root`",
            Landlock,
            "echo x >/proc/$PPID/root$top/sibling/new",
        ),
        row(
            "write through clada's `/proc/PID/cwd`",
            Landlock,
            "cd /proc/$PPID/cwd",
        ),
        row("remove a file outside", Landlock, "rm ../sibling/kept"),
        row(
            "empty a file outside",
            Landlock,
            "truncate -s 0 ../sibling/kept",
        ),
        row("make a directory outside", Landlock, "mkdir ../sibling/new"),
        row("hard-link a file out", Landlock, "ln file ../sibling/new"),
        row(
            "hard-link a file in and write to it",
            Landlock,
            "ln ../sibling/kept in && echo x >>in",
        ),
        row(
            "rename a file out of the project",
            Landlock,
            "mv file ../sibling/new",
        ),
        row(
            "rename a file into the project",
            Landlock,
            "mv ../sibling/kept in",
        ),
        row(
            "rename the project",
            Landlock,
            "mv ../project ../other && mv ../other ../project",
        ),
        row(
            "become another user by a setuid program",
            Landlock,
            "grep -q 'NoNewPrivs:[[:space:]]*0' /proc/self/status",
        ),
        row(
            "use clada's open files",
            Landlock,
            "readlink /proc/$PPID/fd/0",
        ),
        row(
            "write to clada's memory",
            Landlock,
            "exec 3<>/proc/$PPID/mem",
        ),
        row(
            "make a device to write to, as root",
            Landlock,
            "mknod device b 7 0",
        ),
        row("send clada a signal", Signals, "kill -0 $PPID"),
        row(
            "send another process of yours a signal",
            Signals,
            "kill -TERM $victim",
        ),
        row("plant a git hook", Guards, "echo x >.git/hooks/pre-commit"),
        row(
            "set `core.hooksPath`",
            Guards,
            "git config core.hooksPath ../sibling",
        ),
        row(
            "rename `.git` and make another",
            Guards,
            "mv .git away && cp -r away .git",
        ),
        row(
            "rename the hooks and make others",
            Guards,
            "mv .git/hooks away && mkdir .git/hooks",
        ),
        row(
            "write to git's configuration through a hard link",
            Guards,
            "ln .git/config in && echo '# x' >>in",
        ),
        row(
            "plant a git hook through clada's `/proc/PID/root`",
            Landlock,
            "cd /proc/$PPID/root$top/project && echo x >.git/hooks/pre-commit",
        ),
        row(
            "unmount what is protected",
            Guards,
            "umount .git/hooks .git/config .git 2>/dev/null; umount -l .git 2>/dev/null; echo x >.git/hooks/pre-commit",
        ),
        row(
            "remount what is protected",
            Guards,
            "mount -o remount,bind,rw .git/hooks 2>/dev/null; echo x >.git/hooks/pre-commit",
        ),
        row(
            "mount over what is protected in a namespace of its own",
            Guards,
            "unshare -Urm sh -c 'umount -l .git/hooks; mount -o remount,bind,rw .git/hooks; echo x >.git/hooks/pre-commit' 2>/dev/null || echo x >.git/hooks/pre-commit",
        ),
        row(
            "enter clada's mounts",
            Guards,
            "nsenter -t $PPID -m sh -c \"echo x >$top/project/.git/hooks/pre-commit\" 2>/dev/null || echo x >.git/hooks/pre-commit",
        ),
        row("write to the notes", Nothing, "echo x >>clada.md"),
        row("write to `clada.toml`", Guards, "echo x >>clada.toml"),
        row(
            "put another file in the place of `clada.toml`",
            Guards,
            "mv -f file clada.toml",
        ),
        row("chmod a protected file", Guards, "chmod 600 clada.toml"),
        row(
            "add a missing git file (`commondir`)",
            Watch,
            "echo ../../sibling >.git/commondir",
        ),
        row(
            "connect by TCP, network off",
            Network,
            "exec 3<>/dev/tcp/127.0.0.1/$port",
        ),
        row(
            "listen on TCP, network off",
            Network,
            "python3 -c 'import socket; socket.socket().bind((\"127.0.0.1\", 0))'",
        ),
        row(
            "connect to an abstract Unix socket, network off",
            Signals,
            "python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(\"\\0clada-test-\" + sys.argv[1])' $port",
        ),
        row(
            "connect to a Unix socket",
            Nothing,
            "python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' $top/home/socket",
        ),
        row("send by UDP", Nothing, "echo x >/dev/udp/127.0.0.1/9"),
        row("chmod a file outside", Nothing, "chmod 600 ../sibling/kept"),
        row(
            "change the times of a file outside",
            Nothing,
            "touch -d 2000-01-01 ../sibling/kept",
        ),
        row("read a file outside", Nothing, "cat ../sibling/kept"),
    ]
};

/// A project with something around it, none of it in what counts as a temporary directory.
struct Ground {
    dir: tempfile::TempDir,
    tcp: TcpListener,
    _unix: UnixListener,
    _abstract: UnixListener,
}

impl Ground {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        for name in ["project", "home", "sibling", "temp"] {
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
        let _unix = UnixListener::bind(top.join("home/socket")).unwrap();
        let _abstract = {
            use std::os::linux::net::SocketAddrExt;
            let name = format!("clada-test-{}", tcp.local_addr().unwrap().port());
            let address = std::os::unix::net::SocketAddr::from_abstract_name(name).unwrap();
            UnixListener::bind_addr(&address).unwrap()
        };
        let ground = Self {
            tcp,
            _unix,
            _abstract,
            dir,
        };
        ground.git(&["init", "-q", "-b", "main"]);
        ground.git(&["config", "user.name", "Ada"]);
        ground.git(&["config", "user.email", "ada@example.org"]);
        ground.git(&["add", "file"]);
        ground.git(&["commit", "-q", "-m", "first"]);
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
            writable: Vec::new(),
            guarded,
            root,
        }
    }

    /// Runs a script in the project.
    fn run(&self, fence: &Fence, text: &str) -> Done {
        self.run_beside(fence, text, 0)
    }

    fn run_beside(&self, fence: &Fence, text: &str, victim: u32) -> Done {
        let port = self.tcp.local_addr().unwrap().port();
        let top = self.top();
        let top = top.display();
        let text =
            format!("export top={top} TMPDIR={top}/temp port={port} victim={victim}\n{text}");
        Done::within(Duration::from_secs(120), fence, &text)
    }
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
        let ran = wait_for(shell::run(&script, pending(), &mut |_, _| {})).unwrap();
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

fn has(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output();
    found.is_ok_and(|output| output.status.success())
}

/// Every attempt does something without the fence, and in the fence what the table says.
#[test]
fn the_ways_out() {
    let mut wrong = String::new();
    for attempt in ATTEMPTS {
        if attempt.script.contains("python3") && !has("python3") {
            eprintln!("skipped without python3: {}", attempt.name);
            continue;
        }
        // These may need rights that the tester does not have.
        let is_open = !["mknod", "/mem"]
            .iter()
            .any(|part| attempt.script.contains(part));
        for level in [Level::Off, Level::Workspace] {
            if level == Level::Off && !is_open {
                continue;
            }
            let ground = Ground::new();
            let fence = ground.fence(level);
            let guard = Guard::of(&fence.guarded);
            let mut victim = Command::new("sleep").arg("300").spawn().unwrap();
            let done = ground.run_beside(&fence, attempt.script, victim.id());
            victim.kill().unwrap();
            victim.wait().unwrap();
            let changed = guard.changed();
            let held = match (done.went_well(), changed.is_empty()) {
                (true, true) => Holds::NotStopped,
                (_, false) => Holds::Told,
                (false, true) => Holds::Stopped,
            };
            let expect = attempt.by.holds();
            let is_right = match level {
                Level::Off => held != Holds::Stopped,
                _ => held == expect,
            };
            if !is_right {
                wrong += &format!(
                    "{} ({level:?}): {held:?}, not {expect:?}; {done:?} {changed:?}\n",
                    attempt.name
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{wrong}", support());
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
        ..fence
    };
    let done = ground.run(&fence, "cat file && echo x >$TMPDIR/new && ! echo x >new");
    assert_eq!(done.went_well(), support().guards, "{done:?}");
}

/// Each line works in the fence as it does without.
#[test]
fn the_days_work() {
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
    if !has("cargo") {
        eprintln!("skipped without cargo");
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
    let ground = Ground::new();
    let fence = ground.fence(Level::Workspace);
    for (script, by, expect) in [
        (
            "echo x >../sibling/new",
            By::Landlock,
            "sibling/new` is outside what exec may write (`exec.write`",
        ),
        ("mkdir ../sibling/new", By::Landlock, "`exec.write`"),
        ("git init -q ../sibling/new", By::Landlock, "`exec.write`"),
        ("git config a.b c", By::Guards, "is protected from exec"),
        (
            "mv file clada.toml",
            By::Guards,
            "`clada.toml` is protected from exec",
        ),
        (
            "exec 3<>/dev/tcp/127.0.0.1/$port",
            By::Network,
            "exec has no network",
        ),
    ] {
        let done = ground.run(&fence, script);
        let said = sandbox::denied(&fence, &fence.root, &[], &done.err).unwrap_or_default();
        assert_eq!(
            said.contains(expect),
            by.holds() == Holds::Stopped,
            "{script}: {said:?} {done:?}"
        );
    }
    let done = ground.run(&fence, "cat no-such-file; false");
    assert_eq!(sandbox::denied(&fence, &fence.root, &[], &done.err), None);
}

/// clada can still end what it fenced in.
#[test]
fn the_timeout_holds_in_the_fence() {
    let ground = Ground::new();
    let fence = ground.fence(Level::Workspace);
    let script = "setsid sh -c 'echo $$; exec sleep 300' & echo $$; sleep 300";
    let done = Done::within(Duration::from_millis(500), &fence, script);
    assert!(matches!(done.ending, Ending::TimedOut(_)));
    assert!(!done.out.is_empty());
    if cfg!(target_os = "linux") {
        for pid in done.out.split_whitespace() {
            assert!(!Path::new("/proc").join(pid).exists(), "{pid} still runs");
        }
    }
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

/// Figures, for a look by hand: `cargo test --release --test it the_fence_costs -- --ignored --nocapture`.
#[test]
#[ignore = "it measures"]
fn the_fence_costs() {
    let ground = Ground::new();
    eprintln!("{}", support());
    let mut guardless = ground.fence(Level::Workspace);
    guardless.guarded.clear();
    let fences = [
        ("off", ground.fence(Level::Off)),
        ("Landlock", guardless),
        ("and mounts", ground.fence(Level::Workspace)),
    ];
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..200 {
        for ((_, fence), times) in fences.iter().zip(&mut times) {
            let start = Instant::now();
            assert!(ground.run(fence, "true").went_well());
            times.push(start.elapsed());
        }
    }
    for ((name, _), times) in fences.iter().zip(&mut times) {
        times.sort();
        eprintln!("{name}: best {:?}, median {:?}", times[0], times[100]);
    }
}
