//! Real shells: their ends, their limits, what they leave behind.

mod languages;

use super::*;
use std::cell::Cell;
use std::env;
use std::fs;
use std::io::Read;
use std::sync::{LazyLock, mpsc};
use std::time::Instant as Clock;

use rustix::process::{Pid, test_kill_process};

const LONG: Duration = Duration::from_secs(60);

static OWN: LazyLock<Vec<(OsString, OsString)>> = LazyLock::new(|| env::vars_os().collect());

fn wait_for<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn ran(text: &str) -> ScriptRun {
    ran_within(LONG, text)
}

fn ran_within(timeout: Duration, text: &str) -> ScriptRun {
    ran_with(timeout, text, pending(), &mut ())
}

fn ran_with(
    timeout: Duration,
    text: &str,
    cancelled: impl Future<Output = ()>,
    on_output: &mut dyn OutputSink,
) -> ScriptRun {
    let dir = env::temp_dir();
    wait_for(run(
        &Script {
            text,
            dir: &dir,
            timeout,
            ..plain()
        },
        cancelled,
        on_output,
    ))
    .unwrap()
}

/// Nothing, without a fence, a mask or a limit.
fn plain() -> Script<'static> {
    Script {
        text: "",
        dir: Path::new("/"),
        timeout: LONG,
        lang: None,
        version: None,
        env: &OWN,
        fence: None,
        mask: None,
        output_limit: u64::MAX,
    }
}

fn error(text: &str, dir: &Path, shells: &[&str]) -> ShellError {
    let script = Script {
        text,
        dir,
        ..plain()
    };
    wait_for(run_by(shells, &script, pending(), &mut ())).unwrap_err()
}

fn whole(captured: &Captured) -> String {
    let mut text = String::new();
    captured.reader().read_to_string(&mut text).unwrap();
    assert_eq!(text.len() as u64, captured.len());
    text
}

/// A script that starts something, and ends when that has made the file `$up`.
#[cfg(target_os = "linux")]
fn until_up(start: &str) -> String {
    format!("export up=$(mktemp -u)\n{start}\nuntil [ -e $up ]; do sleep 0.01; done; rm $up")
}

/// Every number in an output is that of a process; all are gone, zombies too.
#[track_caller]
fn assert_gone(captured: &Captured) {
    let text = whole(captured);
    assert!(!text.is_empty(), "no process said its number");
    for number in text.split_whitespace() {
        let pid = Pid::from_raw(number.parse().unwrap()).unwrap();
        assert!(
            test_kill_process(pid).is_err(),
            "process {number} is still there"
        );
    }
}

#[test]
fn the_exit_code_is_that_of_the_script() {
    assert_eq!(ran("true").ending, Ending::Exited(0));
    assert_eq!(ran("exit 7").ending, Ending::Exited(7));
    assert_eq!(ran("no-such-command").ending, Ending::Exited(127));
    assert_eq!(ran("").ending, Ending::Exited(0));
}

#[test]
fn stdout_and_stderr_are_apart() {
    let mut pieces = (String::new(), String::new());
    let mut on_output = |stream, text: &[u8]| {
        let text = str::from_utf8(text).unwrap();
        match stream {
            Stream::Stdout => pieces.0.push_str(text),
            Stream::Stderr => pieces.1.push_str(text),
        }
    };
    let ran = ran_with(
        LONG,
        "echo out; echo err >&2; printf last",
        pending(),
        &mut on_output,
    );
    assert_eq!(
        (&*whole(&ran.stdout), &*whole(&ran.stderr)),
        ("out\nlast", "err\n")
    );
    assert_eq!((&*pieces.0, &*pieces.1), ("out\nlast", "err\n"));
    assert!(ran.stderr.len() == 4 && !ran.stderr.is_empty());
}

#[test]
fn output_is_plain_text() {
    let ran = ran(r"printf '\e[1mbold\e[0m\r\n 10%%\r 20%%\n\xff'");
    assert_eq!(whole(&ran.stdout), "bold\n 20%\n\u{fffd}");
}

#[test]
fn output_is_seen_while_the_script_runs() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    let text = format!(
        "mkfifo {0}; echo first; read word <{0}; echo got $word",
        fifo.display()
    );
    // The script waits for the answer to its first line.
    let mut answered = false;
    let mut on_output = |_, text: &[u8]| {
        if !answered && text == b"first\n" {
            fs::write(&fifo, "it\n").unwrap();
            answered = true;
        }
    };
    let ran = ran_with(LONG, &text, pending(), &mut on_output);
    assert_eq!(whole(&ran.stdout), "first\ngot it\n");
}

#[test]
fn a_slow_reader_loses_nothing() {
    let mut seen = 0;
    let mut on_output = |_, text: &[u8]| {
        seen += text.len();
        std::thread::sleep(Duration::from_millis(20));
    };
    let ran = ran_with(
        LONG,
        "seq 300000; seq 300000 >&2",
        pending(),
        &mut on_output,
    );
    assert_eq!(ran.stdout.len(), 1_988_895);
    assert_eq!(seen as u64, ran.stdout.len() + ran.stderr.len());
    assert!(whole(&ran.stdout).ends_with("\n299999\n300000\n"));
}

#[test]
fn the_timeout_ends_the_whole_group() {
    let limit = Duration::from_secs(1);
    let ran = ran_within(limit, "bash -c 'sleep 300 & echo $!; wait' & echo $!; wait");
    assert_eq!(ran.ending, Ending::TimedOut(limit));
    assert!(
        ran.elapsed >= limit && ran.elapsed < limit + GRACE,
        "{:?}",
        ran.elapsed
    );
    assert_gone(&ran.stdout);
}

#[cfg(target_os = "linux")]
#[test]
fn the_timeout_ends_what_left_the_group() {
    let ran = ran_within(
        Duration::from_secs(1),
        "setsid sh -c 'echo $$; exec sleep 300' & wait",
    );
    assert!(matches!(ran.ending, Ending::TimedOut(_)));
    assert_gone(&ran.stdout);
}

#[test]
fn what_ignores_sigterm_is_killed_after_two_seconds() {
    let ran = ran_within(
        Duration::from_secs(1),
        "trap '' TERM; echo $$; while :; do sleep 1; done",
    );
    assert!(matches!(ran.ending, Ending::TimedOut(_)));
    assert!(ran.elapsed >= GRACE, "{:?}", ran.elapsed);
    assert_gone(&ran.stdout);
}

#[test]
fn output_after_sigterm_is_kept() {
    let script =
        "trap 'seq 100000; echo tidied up; exit 3' TERM; echo up; while :; do sleep 0.05; done";
    let ran = ran_within(Duration::from_secs(1), script);
    assert!(matches!(ran.ending, Ending::TimedOut(_)));
    assert!(whole(&ran.stdout).ends_with("100000\ntidied up\n"));
}

#[test]
fn it_can_be_cancelled() {
    let (started, is_started) = tokio::sync::oneshot::channel();
    let mut started = Some(started);
    let clock = Cell::new(None);
    let mut on_output = |_, _: &[u8]| {
        clock.set(Some(Clock::now()));
        let _ = started.take().map(|started| started.send(()));
    };
    let cancelled = async { is_started.await.unwrap() };
    let ran = ran_with(
        LONG,
        "trap '' TERM; echo $$; sleep 300",
        cancelled,
        &mut on_output,
    );
    assert_eq!(ran.ending, Ending::Cancelled);
    let took = clock.get().unwrap().elapsed();
    assert!(
        took >= GRACE && took < Duration::from_millis(2700),
        "{took:?}"
    );
    assert_gone(&ran.stdout);
}

#[test]
fn cancelled_at_once_it_does_not_start() {
    let ran = ran_with(LONG, "echo x; sleep 300", std::future::ready(()), &mut ());
    assert_eq!(
        (ran.ending, ran.elapsed, ran.stdout.len()),
        (Ending::Cancelled, Duration::ZERO, 0)
    );
}

#[test]
fn dropped_it_leaves_nothing() {
    let (sender, numbers) = mpsc::channel();
    let (started, is_started) = tokio::sync::oneshot::channel();
    let mut started = Some(started);
    let mut on_output = |_, text: &[u8]| {
        sender
            .send(String::from_utf8(text.to_vec()).unwrap())
            .unwrap();
        let _ = started.take().map(|started| started.send(()));
    };
    let script = Script {
        text: "sleep 300 & echo $! $$; wait",
        ..plain()
    };
    wait_for(async {
        tokio::select! {
            _ = run(&script, pending(), &mut on_output) => panic!("ended by itself"),
            _ = is_started => {}
        }
    });
    let numbers = numbers.recv().unwrap();
    for number in numbers.split_whitespace() {
        // It was killed; that takes the system a moment.
        let start = std::time::Instant::now();
        let state = || fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        let is_dead = |state: &str| state.is_empty() || state.contains(") Z ");
        while !is_dead(&state()) {
            assert!(start.elapsed() < LONG, "{}", state());
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

#[test]
fn a_background_process_does_not_hold_things_up() {
    let ran = ran("sleep 300 & echo $!");
    assert_eq!((ran.ending, ran.left_running), (Ending::Exited(0), 1));
    assert!(ran.elapsed < GRACE);
    assert_gone(&ran.stdout);
}

#[test]
fn a_background_process_that_has_ended_is_not_counted() {
    let ran = ran("true & sleep 0.05 & echo early");
    assert_eq!((ran.left_running, &*whole(&ran.stdout)), (0, "early\n"));
}

#[test]
fn what_only_finishes_its_work_is_let_finish() {
    let ran = ran("exec > >(while read -r line; do echo \"seen: $line\"; done); echo a; echo b");
    assert_eq!(
        (ran.left_running, &*whole(&ran.stdout)),
        (0, "seen: a\nseen: b\n")
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_session_of_its_own_does_not_save_a_process() {
    let ran = ran(&until_up(
        "setsid sh -c 'echo $$; touch $up; exec sleep 300' & disown",
    ));
    assert_eq!(ran.left_running, 1);
    assert_gone(&ran.stdout);
}

#[cfg(target_os = "linux")]
#[test]
fn a_daemon_is_found_and_so_are_its_children() {
    let daemon = "(nohup setsid bash -c 'trap \"\" TERM; sleep 300 & echo $! $$; touch $up; wait' 2>/dev/null &)";
    let ran = ran(&until_up(daemon));
    assert_eq!(ran.left_running, 2);
    assert_gone(&ran.stdout);
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_that_cleared_its_environment_is_found() {
    let ran = ran(&until_up(
        "env -i PATH=$PATH setsid sh -c 'echo $$; touch $0; exec sleep 300' $up &",
    ));
    assert_gone(&ran.stdout);
}

/// Tells if a process is there.
#[cfg(target_os = "linux")]
fn runs(pid: &str) -> bool {
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    test_kill_process(pid).is_ok()
}

#[cfg(target_os = "linux")]
#[test]
fn scripts_run_side_by_side_and_each_ends_its_own() {
    // Each waits until both run, and leaves something behind, with its environment and without.
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().display();
    let script = |own: &str, other: &str| {
        format!(
            "setsid sh -c 'echo $$ > {path}/{own}.kept; exec sleep 300' & \
             env -i PATH=$PATH setsid sh -c 'echo $$ > {path}/{own}.bare; exec sleep 300' & \
             disown -a; touch {path}/{own}; \
             until [ -e {path}/{other} ] && [ -s {path}/{own}.kept ] && [ -s {path}/{own}.bare ]; do sleep 0.01; done"
        )
    };
    let (first, second) = (script("a", "b"), script("b", "a") + "; sleep 0.5");
    let pid = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    std::thread::scope(|scope| {
        let late = scope.spawn(|| ran(&second).left_running);
        let early = ran(&first);
        assert_eq!(early.left_running, 2);
        for name in ["a.kept", "a.bare"] {
            assert!(!runs(&pid(name)), "{name}");
        }
        for name in ["b.kept", "b.bare"] {
            assert!(runs(&pid(name)), "{name} is another's");
        }
        assert_eq!(late.join().unwrap(), 2);
    });
    for name in ["b.kept", "b.bare"] {
        assert!(!runs(&pid(name)), "{name}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn children_of_others_are_left_alone() {
    let start = || {
        std::process::Command::new("setsid")
            .args(["sleep", "300"])
            .spawn()
            .unwrap()
    };
    let mut earlier = start();
    let mut during = None;
    let mut on_output = |_, _: &[u8]| during = Some(start());
    ran_with(
        LONG,
        "echo up; sleep 300 & sleep 0.1",
        pending(),
        &mut on_output,
    );
    for child in [&mut earlier, during.as_mut().unwrap()] {
        assert!(child.try_wait().unwrap().is_none(), "it was ended");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Faster than it can be looked for: each one starts the next in a session of its own and ends.
#[cfg(target_os = "linux")]
#[test]
fn what_forks_and_ends_without_end_is_ended() {
    if std::process::Command::new("python3")
        .arg("-V")
        .output()
        .is_err()
    {
        return; // `.ci/run` sees to it that there is one.
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().display();
    let next = dir.path().join("next.py");
    fs::write(
        &next,
        "import os\nwhile True:\n    if os.fork(): os._exit(0)\n    os.setsid()\n    open('beat', 'w').write(str(os.getpid()))\n",
    )
    .unwrap();
    let ran = ran(&format!(
        "cd {path}; python3 next.py & until [ -s beat ]; do sleep 0.01; done"
    ));
    assert_eq!((ran.ending, ran.survivors), (Ending::Exited(0), Vec::new()));
    let beat = dir.path().join("beat");
    fs::remove_file(&beat).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert!(!beat.exists(), "it lives on");
}

#[test]
fn stdin_is_at_its_end() {
    assert_eq!(ran("cat; read x || echo none").stdout.len(), 5);
}

#[test]
fn there_is_no_terminal_to_ask_on() {
    assert_eq!(
        ran("exec 2>/dev/null; : </dev/tty && echo tty")
            .stdout
            .len(),
        0
    );
}

#[test]
fn a_long_script_goes_by_a_file_that_is_removed() {
    let text = format!("echo $0\n: '{}'\necho end", "x".repeat(200 * 1024));
    let ran = ran(&text);
    assert_eq!(ran.ending, Ending::Exited(0));
    let out = whole(&ran.stdout);
    let (file, end) = out.split_once('\n').unwrap();
    assert_eq!(end, "end\n");
    assert!(file.contains("clada-script-") && !Path::new(file).exists());
}

#[test]
fn a_script_may_begin_with_a_dash() {
    let ran = ran("-x 2>/dev/null; echo $?");
    assert_eq!(whole(&ran.stdout), "127\n");
}

#[test]
fn a_nul_is_an_error() {
    assert!(matches!(
        error("echo a\0b", Path::new("/"), SHELLS),
        ShellError::Nul
    ));
}

#[test]
fn a_missing_directory_is_an_error() {
    assert!(matches!(
        error("true", Path::new("/no/such/place"), SHELLS),
        ShellError::NoDirectory
    ));
    assert!(matches!(
        error("true", Path::new("/dev/null"), SHELLS),
        ShellError::NoDirectory
    ));
}

#[test]
fn without_bash_sh_runs_it() {
    let script = Script {
        text: "echo $0",
        ..plain()
    };
    let shells = &["no-such-shell", "sh"];
    let ran = wait_for(run_by(shells, &script, pending(), &mut ())).unwrap();
    assert_eq!(whole(&ran.stdout), "sh\n");
    assert!(matches!(
        error("true", Path::new("/"), &["no-such-shell"]),
        ShellError::NoShell
    ));
}

#[test]
fn a_signal_is_told_from_an_exit() {
    assert_eq!(ran("kill -9 $$").ending, Ending::Signalled(9));
    assert_eq!(signal_name(11), "SIGSEGV");
    assert_eq!(signal_name(64), "signal 64");
}

#[test]
fn it_runs_in_its_directory() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().canonicalize().unwrap();
    let script = Script {
        text: "pwd",
        dir: &dir,
        ..plain()
    };
    let ran = wait_for(run(&script, pending(), &mut ())).unwrap();
    assert_eq!(whole(&ran.stdout), format!("{}\n", dir.display()));
}

#[test]
fn the_environment_is_the_users_and_a_little_more() {
    let ran = ran("echo $CLADA $NO_COLOR $TERM $GIT_TERMINAL_PROMPT; echo $PATH");
    assert_eq!(
        whole(&ran.stdout),
        format!("1 1 dumb 0\n{}\n", env::var("PATH").unwrap())
    );
}

#[test]
fn a_large_output_is_whole_and_not_in_memory() {
    let mut pieces = 0;
    let ran = ran_with(
        LONG,
        "seq 2600000",
        pending(),
        &mut |_: Stream, text: &[u8]| pieces += text.len(),
    );
    assert!(ran.stdout.is_on_disk());
    assert_eq!((pieces as u64, ran.stdout.len()), (19_688_896, 19_688_896));
    let mut expect = String::new();
    for number in 1..=2_600_000 {
        expect += &number.to_string();
        expect.push('\n');
    }
    assert!(whole(&ran.stdout) == expect);
    let cut = ran.stdout.cut(1000).unwrap();
    assert_eq!(
        (&*cut.head, &*cut.tail),
        (&expect[..1000], &expect[expect.len() - 1000..])
    );
    assert_eq!(cut.left_out, 19_688_896 - 2000);
}

#[test]
fn a_short_command_is_fast() {
    let best = (0..20).map(|_| {
        let clock = Clock::now();
        ran("true");
        clock.elapsed()
    });
    let best = best.min().unwrap();
    assert!(best < SETTLE, "{best:?}");
}
