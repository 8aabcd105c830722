//! What clada's commits say, through the real program and as the real git shows it.

use crate::harness::{Ended, Project};

/// A task that writes a file, and its reason.
fn task(why: &str, path: &str, text: &str) -> String {
    let why = match why {
        "" => String::new(),
        why => format!("<i>{why}</i>\n"),
    };
    format!("<task>\n{why}<path>{path}</path>\n<c>overwrite</c>\n<x>\n{text}</x>\n</task>\n")
}

fn batch(attributes: &str, tasks: &[String]) -> String {
    format!("<tasks{attributes}>\n{}</tasks>\n", tasks.concat())
}

/// The subjects, newest first.
fn log(project: &Project) -> Vec<String> {
    let log = project.git(["log", "--format=%s"]);
    log.lines().map(str::to_owned).collect()
}

#[track_caller]
fn run(project: &Project, reply: &str) {
    project.clada_with(["run"], reply).exits(0);
}

/// A message with what differs from run to run replaced by what it is.
fn said(project: &Project, revision: &str) -> String {
    let text = project.git(["log", "-1", "--format=%B", revision]);
    let line = |line: &str| match line.split_once(": ") {
        Some(("Clada-Batch", _)) => "Clada-Batch: ID\n".to_owned(),
        Some(("Clada-Of", _)) => "Clada-Of: IDS\n".to_owned(),
        _ if is_time(line) => "TIME\n".to_owned(),
        _ => format!("{line}\n"),
    };
    text.trim_end().lines().map(line).collect()
}

fn is_time(line: &str) -> bool {
    let form: String = line
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    form == "0000-00-00 00:00:00"
}

#[test]
fn a_task_s_commit_says_why_and_its_body_what_and_when() {
    let project = Project::with_git();
    let tasks = [
        task("a greeting", "a.txt", "one\n"),
        task("", "b.txt", "two\n"),
        task("a\n  farewell", "c.txt", "three\n"),
    ];
    run(&project, &batch("", &tasks));
    assert_eq!(
        log(&project),
        [
            "a farewell 💚clada",
            "a greeting; a farewell 💚clada",
            "a greeting 💚clada"
        ]
    );
    assert_eq!(
        said(&project, "HEAD~2"),
        "a greeting 💚clada\n\n  overwrite a.txt - a greeting\nTIME\n\nClada-Batch: ID\nClada-Step: task\n"
    );
    assert_eq!(
        said(&project, "HEAD~1"),
        "a greeting; a farewell 💚clada\n\n  overwrite b.txt\nTIME\n\nClada-Batch: ID\nClada-Step: task\n"
    );
    let trailers = "--format=%(trailers:only,key=Clada-Step,valueonly)";
    assert_eq!(project.git(["log", "-1", trailers]).trim(), "task");
}

#[test]
fn without_a_reason_the_time_is_the_subject() {
    let project = Project::with_git();
    run(&project, &batch("", &[task("", "a.txt", "one\n")]));
    let subject = log(&project).remove(0);
    let time = subject.strip_suffix(" 💚clada").expect("the mark");
    assert!(is_time(time), "{subject}");
}

#[test]
fn a_message_that_is_given_is_the_subject_of_all() {
    let project = Project::with_git();
    let tasks = [
        task("a greeting", "a.txt", "one\n"),
        task("a farewell", "b.txt", "two\n"),
    ];
    run(&project, &batch(" message=\"Say hello\"", &tasks));
    assert_eq!(log(&project), ["Say hello 💚clada", "Say hello 💚clada"]);
    let reply = batch("", &[task("again", "c.txt", "three\n")]);
    let given = ["run", "--message", "From the command line"];
    project.clada_with(given, &reply).exits(0);
    assert_eq!(log(&project)[0], "From the command line 💚clada");
}

#[test]
fn one_commit_of_a_batch_has_the_words_of_all_its_tasks() {
    let project = Project::with_git();
    project.configure("git.commit = \"batch\"");
    let tasks = [
        task("Add a login form to the first page", "a.txt", "one\n"),
        task("Test the login form", "b.txt", "two\n"),
        task("Say in the README how to log in", "c.txt", "three\n"),
        task("Raise the version", "d.txt", "four\n"),
    ];
    run(&project, &batch("", &tasks));
    let subject = "Add a login form to the first page; Test the login form (+2 more) 💚clada";
    assert_eq!(log(&project), [subject]);
    assert_eq!(
        said(&project, "HEAD"),
        format!(
            "{subject}\n\n  overwrite a.txt - Add a login form to the first page\n  overwrite b.txt - Test the login form\n  \
             overwrite c.txt - Say in the README how to log in\n  overwrite d.txt - Raise the version\nTIME\n\n\
             Clada-Batch: ID\nClada-Step: task\n"
        )
    );
}

#[test]
fn what_was_there_before_undo_and_redo_are_said_in_the_same_words() {
    let project = Project::with_git();
    project.write("mine.txt", "one\n");
    project.commit("mine");
    project.write("mine.txt", "two\n");
    let tasks = [
        task("Add a login form", "a.txt", "one\n"),
        task("", "b.txt", "two\n"),
        task("Test it", "c.txt", "three\n"),
    ];
    run(&project, &batch("", &tasks));
    assert_eq!(
        log(&project)[3],
        "before: Add a login form; Test it 💚clada"
    );
    assert_eq!(
        said(&project, "HEAD~3"),
        "before: Add a login form; Test it 💚clada\n\n  overwrite a.txt - Add a login form\n  overwrite b.txt\n  \
         overwrite c.txt - Test it\nTIME\n\nClada-Batch: ID\nClada-Step: before\n"
    );
    project.write("mine.txt", "three\n");
    let told = project.clada(["undo"]).exits(0).out;
    assert!(
        told.starts_with("undo Add a login form; Test it ("),
        "{told}"
    );
    assert_eq!(
        log(&project)[..2],
        [
            "undo: Add a login form; Test it 💚clada",
            "before: undo: Add a login form; Test it 💚clada"
        ]
    );
    let told = project.clada(["redo"]).exits(0).out;
    assert!(
        told.starts_with("redo Add a login form; Test it ("),
        "{told}"
    );
    assert_eq!(log(&project)[0], "redo: Add a login form; Test it 💚clada");
    project.clada(["undo"]).exits(0);
    project.clada(["redo"]).exits(0);
    assert_eq!(log(&project)[0], "redo: Add a login form; Test it 💚clada");

    run(
        &project,
        &batch("", &[task("Raise the version", "d.txt", "four\n")]),
    );
    project.clada(["undo", "2"]).exits(0);
    assert_eq!(
        log(&project)[0],
        "undo: Add a login form; Test it; Raise the version 💚clada"
    );
}

#[test]
fn squashed_commits_keep_their_words() {
    let project = Project::with_git();
    project.write("mine.txt", "one\n");
    project.commit("mine");
    run(
        &project,
        &batch("", &[task("Add a login form", "a.txt", "one\n")]),
    );
    project.write("mine.txt", "two\n");
    let tasks = [
        task("Test it", "b.txt", "two\n"),
        task("", "c.txt", "three\n"),
    ];
    run(&project, &batch("", &tasks));
    project.clada(["undo"]).exits(0);
    project.clada(["squash"]).exits(0);
    assert_eq!(
        log(&project),
        ["Add a login form; Test it; undo: Test it 💚clada", "mine"]
    );
    assert_eq!(
        said(&project, "HEAD"),
        "Add a login form; Test it; undo: Test it 💚clada\n\n  overwrite a.txt - Add a login form\n  \
         what was changed before\n  overwrite b.txt - Test it\n  overwrite c.txt\n  Test it (ID)\nTIME\n\n\
         Clada-Batch: ID\nClada-Step: squash\nClada-Of: IDS\n"
            .replace("Test it (ID)", &format!("Test it ({})", batch_of(&project)))
    );
}

/// The id that the undo names in the squashed commit's body.
fn batch_of(project: &Project) -> String {
    let body = project.git(["log", "-1", "--format=%b"]);
    let (_, rest) = body.split_once("Test it (").expect("the undo's line");
    rest.split(')').next().expect("its end").to_owned()
}

/// What older cladas wrote: no indentation, no time, and a subject in quotes.
#[test]
fn commits_of_older_cladas_are_read() {
    let project = Project::with_git();
    let commit = |text: &str| {
        project.git(["add", "-A"]);
        project.git(["commit", "-qm", text]);
    };
    project.write("a.txt", "one\n");
    commit("mine");
    project.write("a.txt", "two\n");
    commit("Greet 💚clada\n\noverwrite a.txt\n\nClada-Batch: 20250101-1\nClada-Step: task\n");
    project.write("a.txt", "one\n");
    commit(
        "Undo \"Greet\" 💚clada\n\nGreet (20250101-1)\n\nClada-Batch: 20250102-1\nClada-Step: undo 20250101-1\n",
    );
    project.clada(["redo"]).exits(0);
    assert_eq!(project.read("a.txt"), "two\n");
    assert_eq!(log(&project)[0], "redo: Greet 💚clada");
    project.clada(["undo", "20250101"]).exits(0);
    assert_eq!(log(&project)[0], "undo: Greet 💚clada");
    project.clada(["squash"]).exits(0);
    let body = project.git(["log", "-1", "--format=%b"]);
    assert!(
        body.starts_with("  overwrite a.txt\n  Greet (20250101-1)\n"),
        "{body}"
    );
}

#[test]
fn what_is_masked_is_masked_before_it_is_cut() {
    let project = Project::with_git();
    let reply = batch(
        "",
        &[task("Use hunter2-hunter2 to log in", "a.txt", "one\n")],
    );
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.arg("run").env("MY_TOKEN", "hunter2-hunter2");
    Ended::of(command, &reply).exits(0);
    assert_eq!(log(&project)[0], "Use [masked: MY_TOKEN] to log in 💚clada");
    let all = project.git(["log", "--format=%B"]);
    assert!(!all.contains("hunter2"), "{all}");
}

#[test]
fn what_is_kept_while_an_older_state_is_shown_says_so() {
    let project = Project::with_git();
    project.write("a.txt", "one\n");
    project.commit("mine");
    run(&project, &batch("", &[task("Change it", "a.txt", "two\n")]));
    project.clada(["step-back"]).exits(0);
    let told = project.clada(["step-forward", "--stay"]).exits(0).out;
    let kept = told.split('`').nth(1).expect("its name");
    assert_eq!(
        project.git(["log", "-1", "--format=%s", kept]).trim(),
        "before: step-back 💚clada"
    );
}

#[test]
fn commits_on_a_detached_head_are_told() {
    const TOLD: &str =
        "⚠ HEAD is detached: these commits are on no branch; `git switch -c NAME` keeps them";
    let project = Project::with_git();
    project.write("a.txt", "one\n");
    project.commit("mine");
    let told = |reply: &str| {
        let results = project.clada_with(["run"], reply).exits(0).results();
        results.matches(TOLD).count()
    };
    let doctor = || {
        project
            .clada(["doctor"])
            .out
            .contains("`git switch -c NAME`")
    };
    assert_eq!(told(&batch("", &[task("", "a.txt", "two\n")])), 0);
    assert!(!doctor());
    project.git(["checkout", "-q", "--detach"]);
    let two = [task("", "a.txt", "three\n"), task("", "b.txt", "one\n")];
    assert_eq!(told(&batch("", &two)), 1);
    assert!(doctor());
    // Nothing is committed.
    let looks = "<tasks><task><c>exec</c><x>true</x></task></tasks>";
    assert_eq!(told(looks), 0);
    project.configure("git.target = \"side\"");
    assert_eq!(told(&batch("", &[task("", "a.txt", "four\n")])), 0);
    assert!(!doctor());
    project.configure("");
    project.git(["switch", "-qc", "kept"]);
    assert_eq!(told(&batch("", &[task("", "a.txt", "five\n")])), 0);
    let plain = Project::new();
    let reply = batch("", &[task("", "a.txt", "one\n")]);
    let results = plain.clada_with(["run"], &reply).exits(0).results();
    assert!(
        results.contains("💚 snapshot") && !results.contains("HEAD"),
        "{results}"
    );
}
