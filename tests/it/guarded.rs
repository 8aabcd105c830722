//! What a hostile reply leaves behind for clada itself, which works outside the fence, and what is made of that.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use clada::world::sandbox;

use crate::daemon::{NOTES, exec, wait_for_results};
use crate::harness::{Ended, Project, Watching, save_by_rename};

const WRITE: &str = "<tasks message=\"x; touch planted\">\n<task><path>a.txt</path><c>overwrite</c><x>a</x></task>\n</tasks>\n";

/// A repository with a commit, and a folder outside it.
fn project() -> Project {
    let project = Project::with_git();
    project.write("first.txt", "1");
    project.git(["add", "."]);
    project.git(["commit", "-q", "-m", "first"]);
    fs::create_dir(project.home().join("outside")).unwrap();
    project
}

/// Puts a link to a copy outside in the place of what is in the git directory.
fn divert(project: &Project, name: &str) {
    let (place, outside) = (
        project.path(".git").join(name),
        project.home().join("outside"),
    );
    let copy = outside.join("copy");
    let cp = project
        .command("cp")
        .arg("-r")
        .args([&place, &copy])
        .status();
    assert!(cp.unwrap().success());
    let rm = project.command("rm").arg("-r").arg(&place).status();
    assert!(rm.unwrap().success());
    symlink(&copy, &place).unwrap();
}

/// Everything in a folder, with its contents.
fn contents(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(contents(&path)),
            false => found.push((path.display().to_string(), fs::read(&path).unwrap())),
        }
    }
    found.sort();
    found
}

#[test]
fn git_saves_nothing_through_links() {
    let names = [
        "logs/HEAD",
        "logs/refs/heads/main",
        "logs",
        "refs/heads/main",
        "refs/heads",
        "objects",
        "index",
    ];
    for name in names {
        let project = project();
        divert(&project, name);
        let outside = project.home().join("outside");
        let before = contents(&outside);
        let ended = project.clada_with(["run"], WRITE).exits(1);
        let results = ended.results();
        let said = format!(
            ".git/{name}` leads elsewhere or is not a file, so git would save in the wrong place: find out who made it, then restore git's own (`--no-git` works without git)"
        );
        assert!(results.contains(&said), "{name}: {results}");
        assert_eq!(contents(&outside), before, "{name}");
        assert!(!project.exists("a.txt"), "{name}");
    }
}

#[test]
fn git_does_not_wait_for_a_pipe() {
    for name in ["logs/HEAD", "index", "packed-refs", "info/exclude"] {
        let project = project();
        let place = project.path(".git").join(name);
        let _ = fs::remove_file(&place);
        assert!(
            project
                .command("mkfifo")
                .arg(&place)
                .status()
                .unwrap()
                .success()
        );
        let results = project.clada_with(["run"], WRITE).exits(1).results();
        assert!(results.contains("git: "), "{name}: {results}");
    }
}

#[test]
fn git_saves_nothing_into_another_repository() {
    for (by, said) in [
        (".git", "does not name this folder in return"),
        (".git/commondir", "leads elsewhere"),
    ] {
        let (project, other) = (project(), project());
        let victim = other.path(".git");
        if by == ".git" {
            fs::remove_dir_all(project.path(".git")).unwrap();
            project.write(".git", format!("gitdir: {}\n", victim.display()));
        } else {
            project.write(by, format!("{}\n", victim.display()));
        }
        let before = contents(&victim);
        let results = project.clada_with(["run"], WRITE).exits(1).results();
        assert!(results.contains(said), "{by}: {results}");
        assert_eq!(contents(&victim), before, "{by}");
    }
}

#[test]
fn settings_that_are_no_file_are_an_error() {
    for make in [
        "mkfifo clada.toml",
        "ln -s /dev/zero clada.toml",
        "mkdir clada.toml",
        "yes '# x' | head -c 2000000 >clada.toml",
    ] {
        let project = Project::new();
        let made = project.command("sh").args(["-c", make]).status();
        assert!(made.unwrap().success());
        for command in ["run", "trust"] {
            let ended = project.clada_with([command], WRITE).exits(2);
            assert!(ended.err.contains("/clada.toml`"), "{make}: {}", ended.err);
        }
    }
}

#[test]
fn a_command_cannot_settle_what_holds_where_the_root_is_the_home() {
    let plant =
        "mkdir -p .config/clada; printf \"[exec]\\nask = []\\n\" >.config/clada/config.toml";
    for (script, is_there) in [
        (plant.to_owned(), false),
        (plant.to_owned(), true),
        (format!("mv .config away\n{plant}"), true),
        (format!("mv .local away\n{plant}"), true),
    ] {
        let project = Project::new();
        project.program("sudo", "echo ran >ran");
        if is_there {
            project.configure("");
        }
        let run = |script: &str| {
            let mut clada = project.command(env!("CARGO_BIN_EXE_clada"));
            let clada = clada.current_dir(project.home()).args(["run", "--no-git"]);
            let reply = project.path("reply.md");
            fs::write(&reply, exec(script)).unwrap();
            Ended::new(clada.arg(reply).output().unwrap())
        };
        let ended = run(&script);
        if sandbox::support().guards {
            ended.exits(1);
        }
        let results = run("sudo x").results();
        if sandbox::support().guards {
            assert!(
                results.starts_with("1 ⏸ exec sudo x"),
                "{script}: {results}"
            );
            assert!(!project.home().join("ran").exists());
        }
    }
}

#[test]
fn a_secret_is_neither_in_commits_nor_in_the_log() {
    const SECRET: &str = "s3cr3t-value";
    let project = project();
    let mut clada = project.command(env!("CARGO_BIN_EXE_clada"));
    clada
        .args(["watch", "--no-clipboard"])
        .env("MY_TOKEN", SECRET);
    let watching = Watching::start(clada);
    watching.wait_for("watching ");
    let write = format!(
        "<tasks message=\"use {SECRET}\">\n<task><i>why {SECRET}</i><path>{SECRET}.txt</path><c>overwrite</c><x>a</x></task>\n</tasks>\n"
    );
    save_by_rename(&project.path(NOTES), write);
    wait_for_results(&project, "1 ✅");
    let log = project.clada(["log"]).exits(0).out;
    assert!(log.contains("[masked: MY_TOKEN].txt"), "{log}");
    let commits = project.git(["log", "--format=%B"]);
    assert!(commits.contains("use [masked: MY_TOKEN]"), "{commits}");
    assert!(!(log + &commits + &watching.said()).contains(SECRET));
}

#[test]
fn a_reply_cannot_speak_to_the_terminal() {
    let project = Project::new();
    let reply = "<tasks>\n<task>\n<c>\x1b[31mfoo</c>\n</task>\n</tasks>\n";
    let checked = project.clada_with(["check"], reply).exits(1);
    assert!(checked.out.contains("foo"), "{}", checked.out);
    let missing = project.clada(["check", "\x1b[31mfoo"]).exits(2);
    assert!(missing.err.contains("foo"), "{}", missing.err);
    assert!(!(checked.out + &missing.err).contains('\x1b'));
}
