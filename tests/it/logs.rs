//! The log on stderr: its forms, and that it does not tell what is in a reply.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::daemon::NOTES;
use crate::harness::{Ended, Project, Watching, save_by_rename, wait_until};

/// A word that is in the reply below in every place where something can go wrong.
const MARKER: &str = "xyzzy";

/// Tasks that fail, that are misread, and that go well; with problems in between, and one that never ends.
fn reply() -> String {
    let tasks = [
        "<path>a.txt</path>\n<c>overwrite</c>\n<x>\nxyzzy\n</x>",
        "<path>a.txt</path>\n<c>edit</c>\n<search>no xyzzy</search>\n<replace>xyzzy</replace>",
        "<path>xyzzy/../../xyzzy.txt</path>\n<c>delete</c>",
        "<path>a.txt</path>\n<c>xyzzy</c>",
        "<i>xyzzy</i>\n<c>exec</c>\n<x>echo xyzzy; exit 3 # xyzzy</x>",
        "<c>exec</c>\n<x>sleep 3; echo xyzzy</x>",
    ];
    let tasks: String = tasks
        .iter()
        .map(|task| format!("<task>\n{task}\n</task>\n"))
        .collect();
    format!("xyzzy\n<tasks message=\"xyzzy\">\n{tasks}</tasks>\nxyzzy\n<tasks>\n<task>\n<xyzzy>\n")
}

fn watching(project: &Project, env: &[(&str, &str)], args: &[&str]) -> Watching {
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.args(["watch", "--no-clipboard"]).args(args);
    command.envs(env.iter().copied()).stdout(Stdio::null());
    let watching = Watching::start(command);
    wait_until(|| project.exists(NOTES), || "the notes".to_owned());
    watching
}

/// The log of a clada that carries out the reply.
fn log_of(env: &[(&str, &str)], args: &[&str]) -> String {
    let project = Project::with_git();
    let watching = watching(&project, env, args);
    watching.wait_for("watching");
    save_by_rename(&project.path(NOTES), reply());
    // What never ends is told last.
    let told = || {
        project
            .read(NOTES)
            .contains("\n❌ the reply ends in task 1")
    };
    wait_until(told, || project.read(NOTES));
    watching.signal(rustix::process::Signal::TERM);
    watching.end().1
}

/// The lines of the log: what the terminal shows has no level.
fn of_log(said: &str) -> Vec<&str> {
    let levels = ["DEBUG", "INFO", "WARN", "ERROR", "TRACE"];
    let is_log = |line: &&str| levels.iter().any(|level| line.contains(level));
    said.lines().filter(is_log).collect()
}

#[test]
fn the_log_does_not_tell_what_is_in_a_reply() {
    let said = log_of(&[("CLADA_LOG", "debug")], &[]);
    let log = of_log(&said);
    assert!(log.iter().any(|line| line.contains("looked")), "{said}");
    let told: Vec<&&str> = log.iter().filter(|line| line.contains(MARKER)).collect();
    assert!(told.is_empty(), "{told:#?}");

    let said = log_of(&[("CLADA_LOG", "trace")], &[]);
    assert!(
        of_log(&said).iter().any(|line| line.contains(MARKER)),
        "{said}"
    );
}

#[test]
fn a_run_without_a_notes_file_is_in_the_log_too() {
    let project = Project::with_git();
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.arg("run").env("CLADA_LOG", "debug");
    let said = Ended::of(command, &reply()).exits(1).err;
    let log = of_log(&said);
    let has = |text: &str| log.iter().filter(|line| line.contains(text)).count();
    assert_eq!([has("run begins"), has("run ended")], [1, 1], "{said}");
    assert_eq!(has("task ended"), 6, "{said}");
    assert!(has("saved") >= 2, "{said}");
    assert_eq!(has(MARKER), 0, "{said}");
    assert!(said.contains(" outcome=2 done, 4 failed"), "{said}");
}

#[test]
fn json_has_file_run_and_outcome() {
    let said = log_of(&[], &["--log-format", "json"]);
    let events = said
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let ended = |event: &Value| event["message"] == "run ended";
    let event = events.into_iter().find(ended).expect("the end of the run");
    assert_eq!(event["level"], "INFO");
    assert_eq!(event["outcome"], "2 done, 4 failed");
    assert!(
        event["run"].as_str().is_some_and(|run| run.len() > 15),
        "{event}"
    );
    let file = event["span"]["file"].as_str().expect("file");
    assert!(file.ends_with("/project/clada.md"), "{event}");
}

/// The variable says which stream leads to the journal: here a file is taken for it.
#[test]
fn the_journal_gets_priorities_and_no_times() {
    use std::os::unix::fs::MetadataExt;
    let project = Project::new();
    project.write("journal", "");
    let meta = std::fs::metadata(project.path("journal")).expect("metadata");
    let run = |journal: &str, args: &[&str]| {
        let log = std::fs::File::create(project.path("journal")).expect("journal");
        let mut command: Command = project.command(env!("CARGO_BIN_EXE_clada"));
        command.args(args).env("JOURNAL_STREAM", journal);
        command.stderr(log).stdout(Stdio::null());
        let _ = command.status().expect("clada");
        project.read("journal")
    };
    let here = format!("{}:{}", meta.dev(), meta.ino());
    let wrong = ["watch", "missing/clada.md"];
    assert!(run(&here, &wrong).starts_with("<3>clada: "));
    assert!(run("1:2", &wrong).starts_with("clada: "));

    let log = std::fs::File::create(project.path("journal")).expect("journal");
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.args(["watch", "--no-clipboard"]);
    command.env("JOURNAL_STREAM", here).stderr(log);
    let mut child = command.stdout(Stdio::null()).spawn().expect("clada");
    let line = || project.read("journal");
    wait_until(|| line().contains("watching"), line);
    child.kill().expect("kill");
    child.wait().expect("wait");
    let file = project.path(NOTES).display().to_string();
    let expected = format!("<6>clada::listener: file={file} watching");
    let said = line();
    assert_eq!(
        said.lines().find(|line| line.contains("watching")),
        Some(&*expected)
    );
}

/// As where a terminal is closed, or what reads the log ends.
#[test]
fn a_log_that_nobody_takes_ends_nothing() {
    let project = Project::new();
    let (reader, writer) = std::io::pipe().expect("pipe");
    drop(reader);
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.args(["watch", "--no-clipboard"]);
    command.env("CLADA_LOG", "debug").stderr(writer);
    let mut child = command.stdout(Stdio::null()).spawn().expect("clada");
    wait_until(|| project.exists(NOTES), || "the notes".to_owned());
    save_by_rename(&project.path(NOTES), reply());
    let told = || project.read(NOTES).contains("=== END ===");
    wait_until(told, || project.read(NOTES));
    assert_eq!(child.try_wait().expect("wait"), None);
    child.kill().expect("kill");
    child.wait().expect("wait");
}

#[test]
fn what_is_asked_of_the_log_and_there_is_not_is_said() {
    let project = Project::new();
    let run = |name: &str, value: &str| {
        let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
        command.args(["log"]).env(name, value);
        Ended::of(command, "").exits(0).err
    };
    assert!(
        run("CLADA_LOG_FORMAT", "xml")
            .contains("CLADA_LOG_FORMAT is \"xml\": set it to text or json")
    );
    let loud = run("CLADA_LOG", "clada=loud");
    assert!(loud.contains("CLADA_LOG is \"clada=loud\" ("), "{loud}");
    assert!(
        loud.contains("): set it to error, warn, info, debug or trace"),
        "{loud}"
    );
    let word = run("CLADA_LOG", "warn,verbose");
    assert!(
        word.contains("CLADA_LOG is \"warn,verbose\" (there is no level \"verbose\"): set it to"),
        "{word}"
    );
    assert_eq!(run("CLADA_LOG_FORMAT", "json"), "");
    assert_eq!(
        run("CLADA_LOG", "WARN,clada::git=debug,notify=info,clada::run"),
        ""
    );
    project.clada(["log", "--log-format", "xml"]).exits(2);
}
