//! What is seen of a command while it runs: in the output file, and on the terminal.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc;

use super::{clada, reply};
use crate::daemon::{NOTES, OUTPUT, exec, wait_for_results};
use crate::harness::{Ended, LIMIT, Project, Watching, installed, save_by_rename};
use crate::terminal::Terminal;

/// Writes to both streams, and ends when there is a file `go`.
const TALKS: &str =
    "echo to stdout; echo to stderr >&2; until [ -e go ]; do sleep 0.01; done; echo at the end";

#[test]
fn who_follows_the_output_file_sees_each_line_as_it_is_written() {
    let project = Project::new();
    let watching = project.watch(["--no-git", "--no-clipboard"]);
    // The file is there before the run that is followed.
    save_by_rename(&project.path(NOTES), exec("echo earlier"));
    wait_for_results(&project, "1 ✅ exec echo earlier");
    let mut tail = project.command("tail");
    tail.args(["-n", "+1", "-f", OUTPUT]);
    let mut tail = Killed(
        tail.stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("tail"),
    );
    let (send, seen) = mpsc::channel();
    let out = tail.0.stdout.take().expect("stdout");
    std::thread::spawn(move || {
        let lines = BufReader::new(out).split(b'\n').map_while(Result::ok);
        let mut lines = lines.map(|line| String::from_utf8_lossy(&line).into_owned());
        lines.try_for_each(|line| send.send(line))
    });
    // In any order: there are two pipes.
    let shows = |wanted: &[&str]| {
        let mut wanted = wanted.to_vec();
        while !wanted.is_empty() {
            let line = seen
                .recv_timeout(LIMIT)
                .unwrap_or_else(|_| panic!("`tail -f` does not show {wanted:?}"));
            wanted.retain(|wanted| *wanted != line);
        }
    };
    shows(&["earlier"]);
    save_by_rename(&project.path(NOTES), exec(TALKS));
    shows(&["to stdout", "to stderr"]);
    let live = project.read(OUTPUT);
    assert!(
        live.ends_with("to stdout\nto stderr\n") || live.ends_with("to stderr\nto stdout\n"),
        "{live}"
    );
    watching.wait_for("  │ to stdout\n");
    watching.wait_for("  │ to stderr\n");
    assert!(!watching.said().contains("1 ✅ exec echo to stdout"));
    project.write("go", "");
    wait_for_results(&project, "1 ✅ exec echo to stdout");
    assert!(
        project
            .read(OUTPUT)
            .contains("stdout:\nto stdout\nat the end\nstderr:\nto stderr\n")
    );
}

struct Killed(std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The line that tells what runs, and the time in it.
fn running(lines: &[String]) -> Option<&str> {
    let lines = lines.iter().filter(|line| !line.starts_with('▶'));
    let (line, _) = lines
        .filter_map(|line| line.split_once(" 1/1 exec echo to stdout;"))
        .next()?;
    line.rsplit(' ').next()
}

#[test]
fn a_terminal_shows_what_runs_and_for_how_long() {
    if !installed("tmux") {
        return;
    }
    let project = Project::new();
    project.write("reply.md", reply(&[TALKS]));
    // That of the listener, and of a single run whose results go elsewhere.
    for command in [
        "$0 watch --no-git --no-clipboard --run-existing reply.md",
        "$0 run --no-git reply.md >results",
    ] {
        let _ = std::fs::remove_file(project.path("go"));
        project.write("reply.md", reply(&[TALKS]));
        // It stays when the command has ended.
        let script = format!("{command}; echo ended; cat");
        let shell = ["sh", "-c", &script, env!("CARGO_BIN_EXE_clada")];
        let terminal = Terminal::start(&project, "streaming", (80, 24), &shell);
        let has = |lines: &[String], line: &str| lines.iter().any(|shown| shown == line);
        terminal.wait_for(|lines| has(lines, "  │ to stdout") && has(lines, "  │ to stderr"));
        terminal.wait_for(|lines| running(lines).is_some());
        let at_first = running(&terminal.shows()).map(str::to_owned);
        terminal
            .wait_for(|lines| running(lines).is_some_and(|now| Some(now) != at_first.as_deref()));
        // Below what was written, and once.
        let lines = terminal.shows();
        let drawn = lines
            .iter()
            .filter(|line| line.contains("1/1 exec echo to stdout;"));
        assert_eq!(drawn.count(), 2, "{lines:?}");
        assert!(running(&lines[3..]).is_some(), "{lines:?}");

        project.write("go", "");
        terminal.wait_for(|lines| {
            lines
                .iter()
                .any(|line| line.starts_with("1 ✅ exec echo to stdout;"))
        });
        let lines = terminal.shows();
        assert_eq!(running(&lines), None, "{lines:?}");
        assert!(has(&lines, "  │ at the end"), "{lines:?}");
    }
    let results = project.read("results");
    assert!(
        results.contains("stderr:\nto stderr\n") && !results.contains('\u{1b}'),
        "{results:?}"
    );
}

#[test]
fn without_a_terminal_there_are_plain_lines_only() {
    let project = Project::new();
    project.write("go", "");
    let script = format!("printf '\\033[1mbold\\033[0m\\n'; {TALKS}");
    let vars = [
        ("TERM", "xterm-256color"),
        ("CLICOLOR_FORCE", "1"),
        ("FORCE_COLOR", "1"),
    ];
    let run = clada(&project, &["run", "--no-git"], &vars);
    let run = Ended::of(run, &reply(&[&script])).exits(0);
    for line in ["  │ bold\n", "  │ to stderr\n", "\n1 ✅ exec printf"] {
        assert!(run.err.contains(line), "{}", run.err);
    }
    assert!(
        !run.err.contains('\u{1b}') && !run.err.contains('\r'),
        "{:?}",
        run.err
    );
    assert!(!run.out.contains('\u{1b}'), "{:?}", run.out);

    let watching = Watching::start(clada(
        &project,
        &["watch", "--no-git", "--no-clipboard"],
        &vars,
    ));
    watching.wait_for("watching ");
    save_by_rename(&project.path(NOTES), exec(&script));
    watching.wait_for("\n1 ✅ exec printf");
    let said = watching.said();
    assert!(said.contains("  │ bold\n"), "{said}");
    assert!(!said.contains('\u{1b}') && !said.contains('\r'), "{said:?}");
}
