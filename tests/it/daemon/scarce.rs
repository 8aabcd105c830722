//! What the system has no more of: threads, open files, watches, and a file system that does not answer. Each ends a wait
//! or a command with a message; the listener goes on, and does what it owes when there is more.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, prlimit};

use super::{NOTES, exec, lines, listed, wait_for_results};
use crate::harness::{Ended, Project, Watching, save_by_rename, skip, wait_until};

/// Has another limit hold for a process that runs; the one of before.
fn limit(watching: &Watching, of: Resource, to: Rlimit) -> Rlimit {
    let pid = Pid::from_raw(watching.pid().cast_signed()).expect("a pid");
    prlimit(Some(pid), of, to).expect("prlimit")
}

/// Has no more of something be had; the limit of before.
fn none(watching: &Watching, of: Resource) -> Rlimit {
    least(watching, of, 1)
}

/// Has only so much of something be had; the limit of before.
fn least(watching: &Watching, of: Resource, current: u64) -> Rlimit {
    let own = getrlimit(of);
    let least = Rlimit {
        current: Some(current),
        maximum: own.maximum,
    };
    limit(watching, of, least)
}

/// A program under a limit of the shell's.
fn limited(command: &Command, how: &str) -> Command {
    let mut limited = Command::new("prlimit");
    limited.arg(how).arg(command.get_program());
    limited.args(command.get_args()).env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            limited.env(name, value);
        }
    }
    if let Some(folder) = command.get_current_dir() {
        limited.current_dir(folder);
    }
    limited
}

#[test]
fn a_save_waits_for_open_files() {
    let project = Project::new();
    let watching = project.watch(["--no-clipboard"]);
    let before = none(&watching, Resource::Nofile);
    save_by_rename(&project.path(NOTES), exec("echo one >> runs.txt"));
    watching.wait_for("raise the limit of open files (`ulimit -n`, for a service `LimitNOFILE=`)");
    assert!(!project.exists("runs.txt"));
    limit(&watching, Resource::Nofile, before);
    // Nothing has to be saved again.
    wait_for_results(&project, "1 ✅ exec echo one");
    assert_eq!(lines(&project, "runs.txt"), ["one"]);
    let said = watching.said();
    assert!(said.matches("`ulimit -n`").count() < 4, "{said}");
}

#[test]
fn open_files_that_run_out_at_any_moment_lose_no_save() {
    let project = Project::with_git();
    let watching = project.watch(["--no-clipboard"]);
    let mut words: Vec<String> = Vec::new();
    let mut text = String::new();
    // So many files are open while it waits; the limit is that and a few more.
    let folder = format!("/proc/{}/fd", watching.pid());
    let open = fs::read_dir(folder).expect("fds").count() as u64;
    for more in 0..24 {
        let word = format!("more{more}");
        text += &format!(
            "reply {word}\n{}",
            exec(&format!("echo {word} >> runs.txt"))
        );
        let before = least(&watching, Resource::Nofile, open + more);
        save_by_rename(&project.path(NOTES), &text);
        // The limit holds for as long as a run takes, or for some of it.
        std::thread::sleep(Duration::from_millis(150));
        limit(&watching, Resource::Nofile, before);
        let told = format!("exec echo {word} >> runs.txt");
        let is_told = || {
            project
                .read(NOTES)
                .lines()
                .any(|line| line.ends_with(&told) || line.contains(&format!("{told} - ")))
        };
        wait_until(is_told, || {
            format!("{} {}", project.read(NOTES), watching.said())
        });
        // A command that could not be started is a failure of it, and no more than that.
        words.extend(
            lines(&project, "runs.txt")
                .into_iter()
                .filter(|ran| *ran == word),
        );
    }
    assert_eq!(lines(&project, "runs.txt"), words, "each at most once");
    assert!(!watching.said().contains("panicked"), "{}", watching.said());
}

#[test]
fn without_threads_a_batch_fails_and_the_next_runs() {
    let project = Project::new();
    let Some(clada) = project.as_user() else {
        return;
    };
    let mut command = clada();
    command.args(["watch", "--no-clipboard"]);
    let watching = Watching::start(command);
    watching.wait_for("watching ");
    let save = |text: &str| fs::write(project.path(NOTES), text).expect("write");
    // Who is not root has only their own processes limited, and only by themselves.
    let limit_to = |most: &str| {
        let mut command = Command::new("setpriv");
        if rustix::process::geteuid().is_root() {
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        }
        let pid = watching.pid().to_string();
        command.args(["prlimit", "--pid", &pid, &format!("--nproc={most}:")]);
        Ended::of(command, "").exits(0);
    };
    // While a command runs for so long that the notes show it.
    save(&exec("touch began; until [ -e go ]; do sleep 0.05; done"));
    wait_until(|| project.exists("began"), || watching.said());
    limit_to("1");
    // The notes cannot show it now, which is no loss. Nothing tells when it was tried, after two seconds.
    std::thread::sleep(Duration::from_millis(2_500));
    project.write("go", "");
    wait_for_results(&project, "1 ✅ exec touch began");
    save(&(project.read(NOTES) + "another\n" + &exec("echo one >> runs.txt")));
    let notes = wait_for_results(&project, "1 ❌ exec echo one");
    assert!(
        notes.results[0].contains(
            "close programs, or raise the limit of processes (`ulimit -u`, for a service `TasksMax=`)"
        ),
        "{:?}",
        notes.results
    );
    let most = getrlimit(Resource::Nproc).maximum;
    limit_to(&most.map_or("unlimited".to_owned(), |most| most.to_string()));
    save(&(project.read(NOTES) + "a third\n" + &exec("echo two >> runs.txt")));
    wait_for_results(&project, "1 ✅ exec echo two");
    assert_eq!(lines(&project, "runs.txt"), ["two"]);
    assert!(!watching.said().contains("panicked"), "{}", watching.said());
}

#[test]
fn a_command_ends_with_a_message_where_there_is_not_enough() {
    let project = Project::with_git();
    let reply = exec("echo one >> runs.txt");
    project.write("reply.md", &reply);
    let Some(clada) = project.as_user_with(65_432) else {
        return;
    };
    // Those that the system's own start needs fail without clada.
    for files in 5..40 {
        for args in [
            &["run", "reply.md"][..],
            &["log"],
            &["status"],
            &["retry"],
            &["doctor"],
        ] {
            let mut command = clada();
            command.args(args);
            let ended = Ended::of(limited(&command, &format!("--nofile={files}")), "");
            let said = ended.out + &ended.err;
            assert!(!said.contains("panicked"), "{files} {args:?}: {said}");
            assert!(ended.code.is_some(), "{files} {args:?}: {said}");
        }
    }
    for args in [
        &["run", "reply.md"][..],
        &["watch"],
        &["daemon"],
        &["undo"],
        &["retry"],
    ] {
        let mut command = clada();
        command.args(args);
        let (mut code, mut said) = (None, String::new());
        // While a process of this user from the last time ends, clada itself cannot be started.
        let has_begun = || {
            let ended = Ended::of(limited(&command, "--nproc=1"), "");
            (code, said) = (ended.code, ended.out + &ended.err);
            !said.contains("failed to execute")
        };
        wait_until(has_begun, || format!("{args:?} to begin"));
        assert!(said.contains("`ulimit -u`"), "{args:?}: {said}");
        assert!(!said.contains("panicked"), "{args:?}: {said}");
        assert_ne!(code, Some(0), "{args:?}: {said}");
    }
}

/// The daemon in namespaces of its own, beside what a script does there. `None`, and a line that says so, where the system does
/// not have any.
fn apart(project: &Project, how: &[&str], script: &str) -> Option<Watching> {
    let mut command = project.command("unshare");
    let can = command.args(how).arg("true").output();
    if !can.is_ok_and(|can| can.status.success()) {
        skip("no namespaces here");
        return None;
    }
    let mut command = project.command("unshare");
    command.args(how).args(["sh", "-c"]);
    let clada = env!("CARGO_BIN_EXE_clada");
    command.arg(format!("{script}\nexec {clada} daemon --no-clipboard"));
    command.env("CLADA_LOG", "info");
    Some(Watching::start(command))
}

/// Waits for the results of a file of [`listed`].
#[track_caller]
fn results(project: &Project, name: &str, line: &str, daemon: &Watching) {
    let read = || fs::read_to_string(project.path(name).join(NOTES)).unwrap_or_default();
    wait_until(|| read().contains(line), || read() + &daemon.said());
}

#[test]
fn the_daemon_lives_on_without_watches() {
    let watches = "/proc/sys/user/max_inotify_watches";
    let instances = "/proc/sys/user/max_inotify_instances";
    for (what, said) in [
        (watches, "max_user_watches"),
        (instances, "max_user_instances"),
    ] {
        let project = Project::new();
        listed(&project, &["one"]);
        let script = format!(
            "was=$(cat {what}); echo 0 > {what} || exit 9\n\
             (until [ -e go ]; do sleep 0.02; done; echo $was > {what}) > /dev/null 2>&1 &"
        );
        let Some(daemon) = apart(&project, &["--user", "--map-root-user"], &script) else {
            return;
        };
        daemon.wait_for(said);
        let status = || project.clada(["status"]).exits(0).out;
        wait_until(|| status().contains(said), status);
        project.write("go", "");
        let notes = project.path("one").join(NOTES);
        wait_until(|| notes.exists(), || daemon.said());
        let watching = || project.clada(["status"]).out.contains("    watching\n");
        wait_until(watching, || daemon.said());
        save_by_rename(&notes, exec("echo one >> runs.txt"));
        results(&project, "one", "1 ✅ exec echo one", &daemon);
        // The list is watched too by then.
        listed(&project, &["one", "two"]);
        let two = project.path("two").join(NOTES);
        wait_until(|| two.exists(), || daemon.said());
        assert_eq!(daemon.stop(Signal::TERM), Some(0));
    }
}

/// Mounts at a folder, when there is a file `hang`, what never answers anybody; takes it away when there is `over`.
fn hanging(folder: &Path) -> String {
    format!(
        "(until [ -e hang ]; do sleep 0.02; done; exec 3<>/dev/fuse\n\
         mount -i -n -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 hang '{}' || exit 9\n\
         : > mounted; i=0; while [ $i -lt 1200 ] && ! [ -e over ]; do sleep 0.05; i=$((i + 1)); done) > /dev/null 2>&1 &",
        folder.display()
    )
}

/// The folder of notes does not answer any more, from the start on or later.
#[test]
fn a_file_system_that_hangs_keeps_nothing_else_waiting() {
    if !Path::new("/dev/fuse").exists() {
        skip("no FUSE here");
        return;
    }
    for later in [false, true] {
        let project = Project::new();
        listed(&project, &["dead", "well"]);
        project.write("well/clada.md", "notes\n");
        project.write("dead/clada.md", "notes\n");
        let mut script = hanging(&project.path("dead"));
        if !later {
            project.write("hang", "");
            script += "\nuntil [ -e mounted ]; do sleep 0.02; done";
        }
        let how = ["--user", "--map-root-user", "--mount"];
        let Some(daemon) = apart(&project, &how, &script) else {
            return;
        };
        let status = || project.clada(["status"]).out;
        if later {
            daemon.wait_for("watching files=");
            project.write("hang", "");
            wait_until(|| project.exists("mounted"), || daemon.said());
        }
        let well: PathBuf = project.path("well").join(NOTES);
        let is_watched = || status().matches("    watching\n").count() >= 1;
        wait_until(is_watched, || status() + &daemon.said());
        for word in ["one", "two", "three"] {
            let text = project.read("well/clada.md");
            save_by_rename(&well, text + word + "\n" + &exec(&format!("echo {word}")));
            results(&project, "well", &format!("1 ✅ exec echo {word}"), &daemon);
        }
        // A listener that is awake when its file system dies waits for that itself, and nobody is told.
        if !later {
            let says = "the file system of the notes file or the project folder does not answer: clada waits until it does";
            wait_until(|| status().contains(says), || status() + &daemon.said());
        }
        assert_eq!(daemon.stop(Signal::INT), Some(0), "later: {later}");
        project.write("over", "");
    }
}
