//! How a command ends, by itself or not, and that nothing of it is left then.

use rustix::process::Signal;

use super::{all_over, clada, reply, run, task, tasks};
use crate::daemon::{NOTES, exec};
use crate::harness::{Ended, Project, save_by_rename, wait_until};
use clada::world::sandbox::support;

#[test]
fn the_nearest_time_limit_holds() {
    let project = Project::new();
    project.configure("[exec]\ntimeout = '300ms'\n");
    let limited = |flags: &[&str], attributes: &str, limit: &str| {
        let args = [&["run", "--no-git"], flags].concat();
        let script = "echo $$ >> pids; sleep 300 & echo $! >> pids; sleep 300";
        let ended = Ended::of(clada(&project, &args, &[]), &task(attributes, script)).exits(1);
        assert_eq!(
            tasks(&ended),
            format!(
                "1 ❌ exec {script} - stopped at its time limit of {limit}: set another with `<x timeout=\"…\">`\n"
            )
        );
    };
    limited(&[], "", "0.3 s");
    limited(&["--exec-timeout", "400ms"], "", "0.4 s");
    limited(&["--exec-timeout", "400ms"], "timeout=\"200ms\"", "0.2 s");
    assert_eq!(project.read("pids").lines().count(), 6);
    all_over(&project, &["pids"]);
}

#[test]
fn what_ignores_the_signal_to_end_is_killed() {
    let project = Project::new();
    let script = "trap '' TERM\n\
                  sh -c 'echo $$ > child; while :; do sleep 0.05; done' &\n\
                  echo $$ > shell; echo up; while :; do sleep 0.05; done";
    let ended = Ended::of(
        clada(&project, &["run", "--no-git", "--json"], &[]),
        &task("timeout=\"300ms\"", script),
    );
    let ended = ended.exits(1).json();
    let result = &ended["results"][0];
    assert_eq!(result["data"]["stdout"], "up\n");
    assert!(
        result["error"]
            .as_str()
            .is_some_and(|error| error.starts_with("stopped at its time limit")),
        "{result}"
    );
    all_over(&project, &["shell", "child"]);
}

#[test]
fn a_daemon_is_found_and_ended() {
    let project = Project::new();
    // Two forks, a session of its own, no pipe, no environment.
    let script = "(setsid env -i /bin/sh -c 'cd /; sleep 300 & echo $! > \"$0/child\"; echo $$ > \"$0/daemon\"; wait' \"$PWD\" \
                  </dev/null >/dev/null 2>&1 &)\n\
                  until [ -s daemon ]; do sleep 0.01; done; echo away";
    let ended = run(&project, &[], &[script]).exits(0);
    assert!(
        tasks(&ended).ends_with(" … - stopped 2 processes that it left running\n"),
        "{}",
        ended.out
    );
    assert!(ended.out.contains("stdout:\naway\n"));
    all_over(&project, &["daemon", "child"]);
}

#[test]
fn a_process_in_the_background_holds_nothing_up() {
    let project = Project::new();
    let scripts = [
        "sleep 300 & echo $! > holds; echo started",
        "test -s holds && echo next",
    ];
    let ended = run(&project, &[], &scripts).exits(0);
    assert_eq!(
        tasks(&ended),
        format!(
            "1 ✅ exec {} - stopped a process that it left running\n2 ✅ exec {}\n",
            scripts[0], scripts[1]
        )
    );
    assert!(ended.out.contains("stdout:\nnext\n"));
    all_over(&project, &["holds"]);
}

#[test]
fn there_is_nothing_to_read_from() {
    let project = Project::new();
    // What comes on clada's own standard input is not the command's.
    let script = "cat; read line; echo \"read: $?\"; sh -c 'read line' || echo none";
    project.write("reply.md", reply(&[script]));
    let run = clada(&project, &["run", "--no-git", "reply.md"], &[]);
    let ended = Ended::of(run, "for clada\n").exits(0);
    assert!(
        ended.out.contains("stdout:\nread: 1\nnone\n"),
        "{}",
        ended.out
    );
}

#[test]
fn the_signal_that_ended_it_is_named() {
    let project = Project::new();
    let args = ["run", "--no-git", "--json"];
    for signal in ["SEGV", "KILL", "ABRT"] {
        let script = format!("ulimit -c 0; sleep 300 & echo $$ $! > pids; kill -{signal} $$");
        let ended = Ended::of(clada(&project, &args, &[]), &reply(&[&script]));
        let ended = ended.exits(1).json();
        let result = &ended["results"][0];
        assert_eq!(result["data"]["signal"], format!("SIG{signal}"));
        let error = result["error"].as_str().expect("an error");
        assert!(
            error.starts_with(&format!("killed by SIG{signal} ("))
                && error.ends_with("; stopped a process that it left running"),
            "{error}"
        );
        all_over(&project, &["pids"]);
    }
}

/// Entering the fence must not take back that the shell dies with clada.
#[test]
fn the_shell_of_a_killed_clada_dies_in_every_fence() {
    for level in ["workspace", "read-only", "off"] {
        // The guarded paths of a repository are what mounts are made for.
        let project = Project::with_git();
        let watching = project.watch(["--no-clipboard", "--sandbox", level]);
        // Only there can each of them write.
        let pid = tempfile::NamedTempFile::new().expect("temp file");
        let script = format!(
            "readlink /proc/self/ns/mnt > {0}; grep NoNewPrivs /proc/self/status >> {0}; echo pid $$ >> {0}\n\
             while :; do sleep 0.05; done",
            pid.path().display()
        );
        save_by_rename(&project.path(NOTES), exec(&script));
        let told = || std::fs::read_to_string(pid.path()).unwrap_or_default();
        let shell = || {
            let told = told();
            let (_, shell) = told.split_once("pid ")?;
            shell.strip_suffix('\n').map(str::to_owned)
        };
        wait_until(|| shell().is_some(), || watching.said());
        let own = std::fs::read_link("/proc/self/ns/mnt").expect("a namespace");
        let has_mounts = !told().starts_with(own.to_str().expect("UTF-8"));
        assert_eq!(has_mounts, level != "off" && support().guards, "{}", told());
        let fenced = told().contains("NoNewPrivs:\t1") || support().by.is_none();
        assert!(level == "off" || fenced, "{}", told());
        watching.stop(Signal::KILL);
        let shell = shell().expect("a number");
        wait_until(
            || !project.command_runs(&shell),
            || format!("{level}: {shell} to end"),
        );
    }
}
