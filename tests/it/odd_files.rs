//! What is neither text nor a folder, and what is too large for anything, in the project and in the place of git's own rules: it
//! holds nothing up, and is named.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::daemon::{NOTES, exec};
use crate::harness::{Ended, Project, save_by_rename, wait_until};

/// How long one run may take. It is far below what reading one of these files takes, which has no end.
const LIMIT: Duration = Duration::from_secs(50);

/// Runs clada to its end, or for so long.
#[track_caller]
fn clada(project: &Project, args: &[&str], input: &str) -> Ended {
    let mut command: Command = project.command("timeout");
    command
        .args(["--signal=KILL", &LIMIT.as_secs().to_string()])
        .arg(env!("CARGO_BIN_EXE_clada"))
        .args(args);
    let ended = Ended::of(command, input);
    assert!(
        matches!(ended.code, Some(0..=2)),
        "{args:?}: {:?} {}",
        ended.code,
        ended.err
    );
    ended
}

fn pipe(project: &Project, name: &str) {
    let mut make = project.command("mkfifo");
    assert!(make.arg(name).status().expect("mkfifo").success());
}

/// A reply of each kind of task that looks at files.
fn reply(word: &str) -> String {
    let task = |rest: &str| format!("<task>\n{rest}\n</task>\n");
    let tasks = [
        &format!("<path>src/{word}.txt</path>\n<c>overwrite</c>\n<x>\n{word}\n</x>"),
        &format!("<path>new/{word}.txt</path>\n<c>overwrite</c>\n<x>\n{word}\n</x>"),
        "<c>grep</c>\n<x>one</x>",
        "<c>glob</c>\n<x>**/*.txt</x>",
        "<c>ls</c>",
        "<path>src/a.txt</path>\n<c>read</c>",
        &format!("<c>exec</c>\n<x>\necho {word} > made-{word}.txt\n</x>"),
    ];
    let tasks: String = tasks.iter().map(|rest| task(rest)).collect();
    format!("{word}:\n<tasks>\n{tasks}</tasks>\n")
}

/// Pipes in the place of all that says what is ignored, at the top, below it and in a folder that is new; and a link to one.
fn with_pipes(project: &Project) {
    project
        .write("src/a.txt", "one\n")
        .write("new/b.txt", "one\n")
        .write("other/c.txt", "one\n");
    for name in [
        ".gitignore",
        ".gitattributes",
        ".gitmodules",
        ".ignore",
        "src/.gitignore",
        "src/.gitattributes",
        "new/.gitignore",
        "fifo",
        "src/id_rsa",
        ".env",
    ] {
        pipe(project, name);
    }
    let link = |to: &str, at: &str| std::os::unix::fs::symlink(to, project.path(at)).expect("link");
    link("../fifo", "other/.gitignore");
    link("/dev/zero", "other/.gitattributes");
}

#[test]
fn pipes_in_the_place_of_rules_hold_up_no_run() {
    for project in [Project::with_git(), Project::new()] {
        let has_git = project.exists(".git");
        project.write("src/a.txt", "one\n");
        if has_git {
            project.git(["add", "src/a.txt"]);
            project.git(["commit", "-qm", "first"]);
        }
        with_pipes(&project);
        let run = clada(&project, &["run"], &reply("x")).exits(0);
        let results = run.results();
        assert!(
            results.contains("not searched: `.env` (a pipe), `.gitattributes` (a pipe), "),
            "{results}"
        );
        assert!(
            results.contains(
                "⚠ git: skipped .gitignore, which is a pipe: its rules do not apply; remove it"
            ),
            "{results}"
        );
        assert!(run.out.contains("src/x.txt"), "{}", run.out);
        if has_git {
            assert_eq!(project.git(["show", "HEAD:made-x.txt"]), "x\n");
        }
        for args in [
            &["undo", "--dry-run"][..],
            &["undo"],
            &["redo"],
            &["step-back"],
            &["step-forward"],
            &["doctor"],
            &["diff"],
            &["config"],
            &["status"],
            &["context", "add", "src/a.txt"],
            &["context", "add", "fifo"],
            &["context"],
            &["init", "--yes"],
            &["log"],
        ] {
            clada(&project, args, "");
        }
        assert!(project.exists("made-x.txt"));
    }
}

#[test]
fn pipes_that_a_command_makes_hold_up_no_listener() {
    let project = Project::with_git();
    project.write("src/a.txt", "one\n").commits();
    let _watching = project.watch(["--no-clipboard"]);
    let script = "mkfifo .gitignore .gitattributes .gitmodules src/.gitignore fifo clada.toml; rm src/a.txt; mkfifo src/a.txt";
    // What is told of the settings may come on top of the results at once.
    let wait_for = |line: &str| {
        let notes = || std::fs::read_to_string(project.path(NOTES)).unwrap_or_default();
        wait_until(|| notes().contains(line), notes);
    };
    save_by_rename(&project.path(NOTES), exec(script));
    wait_for("\n1 ✅ exec mkfifo");
    save_by_rename(
        &project.path(NOTES),
        project.read(NOTES) + "next:\n" + &exec("rm clada.toml; echo two > b.txt"),
    );
    wait_for("\n1 ✅ exec rm clada.toml");
    assert_eq!(project.git(["show", "HEAD:b.txt"]), "two\n");
}

#[test]
fn a_file_without_end_is_neither_read_nor_saved() {
    for project in [Project::with_git(), Project::new()] {
        let has_git = project.exists(".git");
        project
            .write("src/a.txt", "one\n")
            .write("big.txt", "small\n");
        if has_git {
            project.git(["add", "-A"]);
            project.git(["commit", "-qm", "first"]);
        }
        let grow = |name: &str| {
            let mut truncate = project.command("truncate");
            assert!(
                truncate
                    .args(["-s", "1T", name])
                    .status()
                    .expect("truncate")
                    .success()
            );
        };
        for name in [".gitignore", ".gitattributes", "untracked.bin", "id_rsa"] {
            grow(name);
        }
        let began = Instant::now();
        let script = "truncate -s 1T big.txt made.bin; ln made.bin linked.bin; cp --sparse=always id_rsa copied";
        let script = format!(
            "<tasks>\n<task>\n<c>exec</c>\n<x>\n{}\n</x>\n</task>\n</tasks>\n",
            script.replace("; cp --sparse=always id_rsa copied", "")
        );
        let run = clada(&project, &["run"], &script).exits(0);
        assert!(run.results().contains("big.txt"), "{}", run.out);
        let read = "<tasks>\n<task>\n<path>big.txt</path>\n<c>read</c>\n</task>\n<task>\n<path>big.txt</path>\n<c>edit</c>\n<search>\na\n</search>\n<replace>\nb\n</replace>\n</task>\n</tasks>\n";
        let run = clada(&project, &["run"], read).exits(1);
        assert_eq!(
            run.results().matches("max_file_size").count(),
            2,
            "{}",
            run.out
        );
        clada(&project, &["run"], &reply("x")).exits(0);
        for args in [
            &["undo", "--dry-run"][..],
            &["undo"],
            &["redo"],
            &["doctor"],
            &["context", "add", "big.txt"],
            &["context"],
            &["status"],
        ] {
            clada(&project, args, "");
        }
        assert!(began.elapsed() < LIMIT, "{:?}", began.elapsed());
    }
}
