//! Real shells with start-up files of all kinds. A shell that is not installed is passed over, and it says so.

use super::*;
use std::fs;
use std::os::unix::fs::symlink;
use std::time::Instant as Clock;

use rustix::process::test_kill_process;
use tempfile::TempDir;

const LONG: Duration = Duration::from_secs(60);

/// A home folder with start-up files, and an environment in which it is the home.
struct Home {
    dir: TempDir,
    own: EnvVars,
}

impl Home {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = dir.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let own = vec![
            ("HOME".into(), dir.path().into()),
            ("PATH".into(), "/usr/bin:/bin".into()),
        ];
        Self { dir, own }
    }

    fn asked(&self, shell: &Path, patience: Duration) -> Result<LoginEnv, LoginEnvError> {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(ask(shell, self.own.clone(), patience))
    }

    #[track_caller]
    fn bash(&self, patience: Duration) -> LoginEnv {
        self.asked(Path::new("/bin/bash"), patience).unwrap()
    }

    /// The number that a start-up file has written.
    fn number(&self, file: &str) -> Pid {
        let text = fs::read_to_string(self.dir.path().join(file)).unwrap();
        Pid::from_raw(text.trim().parse().unwrap()).unwrap()
    }
}

fn value<'e>(env: &'e LoginEnv, name: &str) -> Option<&'e str> {
    let (_, value) = env.vars().iter().find(|(known, _)| known == name)?;
    value.to_str()
}

/// Whether a process runs; one that is dead but not reaped does not.
fn runs(pid: Pid) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    test_kill_process(pid).is_ok() && !state.contains(") Z ")
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let clock = Clock::now();
    while !is_so() {
        assert!(clock.elapsed() < LONG, "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[expect(
    clippy::print_stderr,
    reason = "who reads the tests' output should see what was not tried"
)]
#[test]
fn every_shell_tells_what_its_start_up_files_made() {
    const POSIX: &str = "echo welcome; export MADE='a=b\nc'; PATH=/made:$PATH; export PATH";
    const CSH: &str = "echo welcome; setenv MADE 'a=b\\\nc'; setenv PATH /made:$PATH";
    const FISH: &str = "echo welcome; set -gx MADE 'a=b\nc'; set -gx PATH /made $PATH";
    let samples = [
        ("bash", ".bash_profile", POSIX),
        ("sh", ".profile", POSIX),
        ("dash", ".profile", POSIX),
        ("zsh", ".zprofile", POSIX),
        ("zsh", ".zshrc", POSIX),
        ("fish", ".config/fish/config.fish", FISH),
        ("tcsh", ".login", CSH),
        ("csh", ".cshrc", CSH),
        ("busybox", ".profile", POSIX),
    ];
    for (name, file, text) in samples {
        let home = Home::new(&[(file, text)]);
        let places = ["/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"];
        let mut shells = places.iter().map(|place| Path::new(place).join(name));
        let Some(mut shell) = shells.find(|shell| shell.is_file()) else {
            eprintln!("skipped: there is no {name} here");
            continue;
        };
        if name == "busybox" {
            // It is the shell by the name that it is called by.
            let sh = home.dir.path().join("sh");
            symlink(&shell, &sh).unwrap();
            shell = sh;
        }
        let env = home.asked(&shell, LONG).unwrap();
        assert_eq!(value(&env, "MADE"), Some("a=b\nc"), "{name} {file}");
        let path = value(&env, "PATH").unwrap();
        assert!(path.starts_with("/made:"), "{name} {file}: {path}");
        for name in OF_THE_SHELL {
            assert_eq!(value(&env, name), None);
        }
    }
}

#[test]
fn start_up_files_may_print_read_and_rename_what_they_like() {
    let home = Home::new(&[(
        ".bash_profile",
        "printf 'A=1\\0\\377\\n\\0B=2'; read answer; cat\n\
         set -xv\n\
         shopt -s expand_aliases; alias echo=false env=false; printf() { false; }\n\
         trap 'printf last' EXIT; export MADE=1 WHERE=$PWD",
    )]);
    let env = home.bash(LONG);
    assert_eq!(value(&env, "MADE"), Some("1"));
    assert_eq!((value(&env, "A"), value(&env, "B")), (None, None));
    let place = home.dir.path().canonicalize().unwrap();
    assert_eq!(value(&env, "WHERE").map(Path::new), Some(&*place));
}

#[test]
fn what_only_an_interactive_shell_does_wrong_is_gone_round() {
    for wrong in [
        "exit 3",
        "exec /bin/sh",
        "exec >/dev/null 2>&1; kill -9 $$",
        "while :; do sleep 0.1; done",
        "yes",
    ] {
        let text = format!("export MADE=1; case $- in *i*) {wrong};; esac");
        let env = Home::new(&[(".bash_profile", &text)]).bash(Duration::from_secs(2));
        assert_eq!(value(&env, "MADE"), Some("1"), "{wrong}");
    }
}

#[test]
fn an_error_says_what_was_tried() {
    let told = |text: &str, patience| {
        let home = Home::new(&[(".bash_profile", text)]);
        let error = home.asked(Path::new("/bin/bash"), patience).unwrap_err();
        error.to_string()
    };
    assert_eq!(
        told("case $- in *i*) exit 3;; *) kill -9 $$;; esac", LONG),
        "the login shell printed no environment (`/bin/bash -l -i -c` exited with code 3 before it printed one; \
         `/bin/bash -l -c` was killed by a signal before it printed one), so commands get clada's own: fix the shell's \
         start-up files, or start clada from a terminal"
    );
    let text = told("while :; do sleep 0.1; done", Duration::from_millis(200));
    assert!(
        text.contains("`/bin/bash -l -i -c` printed none within 0.2 s; `/bin/bash -l -c` printed"),
        "{text}"
    );
    let home = Home::new(&[]);
    let text = home.asked(Path::new("/no/such/shell"), LONG).unwrap_err();
    assert!(
        text.to_string().contains("was not started: No such"),
        "{text}"
    );
}

#[test]
fn at_the_limit_all_that_was_started_is_ended() {
    let home = Home::new(&[(
        ".bash_profile",
        "sh -c 'trap \"\" TERM HUP; echo $$ > $HOME/near; while :; do sleep 0.1; done' &\n\
         if command -v setsid; then start=setsid; fi\n\
         ($start sh -c 'echo $$ > $HOME/far; exec sleep 300' &)\n\
         until [ -s $HOME/near ] && [ -s $HOME/far ]; do sleep 0.01; done\n\
         echo $$ > $HOME/shell; while :; do sleep 0.1; done",
    )]);
    let patience = Duration::from_secs(2);
    home.asked(Path::new("/bin/bash"), patience).unwrap_err();
    for file in ["near", "far", "shell"] {
        let pid = home.number(file);
        wait_until(file, || !runs(pid));
    }
}

#[test]
fn what_runs_in_the_background_neither_holds_things_up_nor_is_ended() {
    let home = Home::new(&[(
        ".bash_profile",
        "sleep 300 & echo $! > $HOME/agent; export MADE=1",
    )]);
    let env = home.bash(LONG);
    assert_eq!(value(&env, "MADE"), Some("1"));
    let agent = home.number("agent");
    assert!(runs(agent));
    kill_process(agent, Signal::KILL).unwrap();
}

#[test]
fn a_farewell_that_does_not_end_is_broken_off() {
    let home = Home::new(&[(
        ".bash_profile",
        "echo $$ > $HOME/shell; trap 'while :; do sleep 0.1; done' EXIT; export MADE=1",
    )]);
    assert_eq!(value(&home.bash(LONG), "MADE"), Some("1"));
    let shell = home.number("shell");
    wait_until("the shell has ended", || !runs(shell));
}

#[test]
fn the_session_is_clada_s_own_and_the_manager_is_nobodys() {
    let mut home = Home::new(&[(
        ".bash_profile",
        "export DISPLAY=:9 SSH_AUTH_SOCK=/theirs MADE=1",
    )]);
    for (name, text) in [
        ("DISPLAY", ":1"),
        ("NOTIFY_SOCKET", "/run/x"),
        ("LISTEN_FDS", "1"),
        ("XPC_SERVICE_NAME", "clada"),
        ("INVOCATION_ID", "1"),
        ("SYSTEMD_EXEC_PID", "1"),
        ("MEMORY_PRESSURE_WATCH", "/"),
        ("OLDPWD", "/"),
        ("KEPT", "2"),
    ] {
        home.own.push((name.into(), text.into()));
    }
    let env = home.bash(LONG);
    let names: Vec<&str> = env
        .vars()
        .iter()
        .map(|(name, _)| name.to_str().unwrap())
        .collect();
    assert_eq!(value(&env, "DISPLAY"), Some(":1"));
    assert_eq!(value(&env, "SSH_AUTH_SOCK"), Some("/theirs"));
    assert_eq!(value(&env, "KEPT"), Some("2"));
    assert_eq!(
        names,
        [
            "DISPLAY",
            "HOME",
            "KEPT",
            "MADE",
            "PATH",
            "SSH_AUTH_SOCK",
            "TERM"
        ]
    );
}

#[test]
fn the_shell_is_the_users() {
    let shell = passwd_shell().unwrap();
    assert!(shell.is_absolute(), "{shell:?}");
    let own = LoginEnv::own();
    assert_eq!(value(&own, "PATH"), env::var("PATH").ok().as_deref());
    assert_eq!(value(&own, "INVOCATION_ID"), None);
}

#[test]
fn a_service_is_told_from_a_terminal() {
    let from_manager = |vars: &[(&str, &str)], is_first, name: &str| {
        let parent = Parent {
            is_first,
            name: name.to_owned(),
        };
        let var = |name: &str| {
            let mut vars = vars.iter();
            let found = vars.find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        is_from_manager(&var, &parent)
    };
    assert!(from_manager(&[("INVOCATION_ID", "1")], false, "sh"));
    assert!(from_manager(&[("NOTIFY_SOCKET", "/run/x")], false, "sh"));
    assert!(from_manager(&[], false, "systemd"));
    assert!(from_manager(&[("XPC_SERVICE_NAME", "org.clada")], true, ""));
    assert!(!from_manager(&[("XPC_SERVICE_NAME", "0")], true, ""));
    assert!(!from_manager(
        &[("XPC_SERVICE_NAME", "org.other")],
        false,
        ""
    ));
    assert!(!from_manager(&[], true, "bash"));
    assert!(!from_manager(&[], false, "bash"));
}
