//! The offer to have git ignore the notes and output file, with the real `git status` as the judge.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::harness::{Ended, Project, Watching, installed};
use crate::terminal::Terminal;

const NOTES: &str = "clada.md";
const OUTPUT: &str = ".clada-output-latest.txt";
const HOW: &str = "git shows clada.md and .clada-output-latest.txt as untracked: run `clada init --yes` to make git \
                   ignore them\n";

/// What the real git shows in a folder, but for the settings.
#[track_caller]
fn status(project: &Project, folder: &Path) -> Vec<String> {
    let mut git = project.command("git");
    git.current_dir(folder)
        .args(["status", "--porcelain", "-z", "--untracked-files=all"]);
    let said = Ended::of(git, "").exits(0).out;
    let names = said.split('\0').filter(|name| !name.is_empty());
    names
        .filter(|name| !name.ends_with("clada.toml"))
        .map(str::to_owned)
        .collect()
}

fn clada(project: &Project, folder: &Path, args: &[&str]) -> Ended {
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.current_dir(folder).args(args);
    Ended::of(command, "")
}

/// `clada init --yes`, with an output file that is there.
#[track_caller]
fn init(project: &Project, folder: &Path) -> String {
    fs::write(folder.join(OUTPUT), "").expect("write");
    clada(project, folder, &["init", "--yes"]).exits(0).out
}

fn list(project: &Project) -> String {
    project.read(".git/info/exclude")
}

#[test]
fn init_with_yes_adds_both_files_once() {
    let project = Project::with_git();
    project.write(".git/info/exclude", "*.tmp");
    let said = init(&project, &project.root());
    assert!(
        said.contains("git now ignores clada.md and .clada-output-latest.txt"),
        "{said}"
    );
    assert_eq!(status(&project, &project.root()), [""; 0]);
    let expected = "*.tmp\n/clada.md\n/.clada-output-latest.txt\n";
    assert_eq!(list(&project), expected, "though no newline was at its end");
    let again = init(&project, &project.root());
    assert!(
        !again.contains("git now ignores") && !again.contains("untracked"),
        "{again}"
    );
    assert_eq!(list(&project), expected);
    assert_eq!(fs::read_dir(project.path(".git/info")).unwrap().count(), 1);
}

#[test]
fn work_trees_submodules_and_roots_below_the_top() {
    let project = Project::with_git();
    project.write("sub/a.txt", "a\n");
    project.commit("first");

    let below = project.path("sub");
    init(&project, &below);
    assert_eq!(status(&project, &project.root()), [""; 0]);
    assert!(list(&project).ends_with("/sub/clada.md\n/sub/.clada-output-latest.txt\n"));
    fs::write(project.path(NOTES), "of another folder\n").unwrap();
    assert_eq!(status(&project, &project.root()), ["?? clada.md"]);
    fs::remove_file(project.path(NOTES)).unwrap();

    project.git(["worktree", "add", "-q", "../linked"]);
    let linked = project.path("../linked");
    init(&project, &linked);
    assert_eq!(status(&project, &linked), [""; 0]);
    assert!(
        list(&project).contains("\n/clada.md\n"),
        "of all its work trees"
    );
    project.git([
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        "./",
        "module",
    ]);
    project.commit("a submodule");
    let module = project.path("module");
    init(&project, &module);
    assert_eq!(status(&project, &module), [""; 0]);
    fs::remove_file(module.join("clada.toml")).unwrap();
    assert_eq!(status(&project, &project.root()), [""; 0]);
    assert!(
        project
            .read(".git/modules/module/info/exclude")
            .contains("\n/clada.md\n")
    );
}

#[test]
fn a_plain_folder_is_not_spoken_of() {
    let project = Project::new();
    for args in [&["init"][..], &["init", "--yes"]] {
        let said = clada(&project, &project.root(), args).exits(0).out;
        assert!(!said.contains("git"), "{said}");
    }
}

#[test]
fn what_git_ignores_or_tracks_is_not_spoken_of() {
    let project = Project::with_git();
    project.write(".gitignore", "*.md\n.clada*\n");
    let said = clada(&project, &project.root(), &["init"]).exits(0).out;
    assert!(!said.contains("untracked"), "{said}");

    let tracked = Project::with_git();
    tracked.write(NOTES, "notes\n");
    tracked.commit("with the notes");
    let said = init(&tracked, &tracked.root());
    assert!(
        said.contains("git now ignores .clada-output-latest.txt"),
        "{said}"
    );
    assert!(!list(&tracked).contains("clada.md"));
    // A later rule shows it all the same: that is what the user wants.
    let shown = Project::with_git();
    shown.write(".gitignore", "!clada.md\n");
    init(&shown, &shown.root());
    let before = list(&shown);
    let again = init(&shown, &shown.root());
    assert!(!again.contains("clada.md from now on"), "{again}");
    assert_eq!(list(&shown), before);
}

#[test]
fn names_are_taken_as_they_are() {
    let project = Project::with_git();
    for name in [
        "#a [1]*?.md",
        "!b\\c.md",
        "new\nline",
        "at the end ",
        " at the start",
        "höher.md",
    ] {
        let folder = project.path("deep [er]");
        fs::create_dir_all(&folder).unwrap();
        let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
        command
            .current_dir(&folder)
            .args(["watch", "--yes", "--", name]);
        let watching = Watching::start(command);
        watching.wait_for("watching ");
        drop(watching);
        fs::write(folder.join(OUTPUT), "").unwrap();
        assert_eq!(status(&project, &project.root()), [""; 0], "{name:?}");
    }
    project
        .write("deep [er]/#a [1]x.md", "")
        .write("deep e/#a [1]*?.md", "");
    assert_eq!(
        status(&project, &project.root()).len(),
        2,
        "which only look like it"
    );
}

/// A command may have put a link there, to have clada write outside the fence.
#[test]
fn nothing_is_written_through_a_link() {
    let list = ".git/info/exclude";
    let linked = |from: &str, to: &str| {
        let project = Project::with_git();
        project.write("../elsewhere/exclude", "theirs\n");
        let _ = fs::remove_dir_all(project.path(".git/info"));
        fs::create_dir_all(project.path(from).parent().unwrap()).unwrap();
        symlink(project.path(to), project.path(from)).unwrap();
        let ended = clada(&project, &project.root(), &["init", "--yes"]).exits(1);
        assert!(
            ended
                .out
                .contains("` is a symbolic link, and clada follows none in a git directory")
                && ended.out.contains("\n/clada.md\n"),
            "{}",
            ended.out
        );
        assert_eq!(project.read("../elsewhere/exclude"), "theirs\n");
        assert!(project.path(from).symlink_metadata().unwrap().is_symlink());
    };
    linked(list, "../elsewhere/exclude");
    linked(list, "../elsewhere/new");
    linked(".git/info", "../elsewhere");
}

#[test]
fn a_list_that_is_missing_or_read_only() {
    let project = Project::with_git();
    let _ = fs::remove_dir_all(project.path(".git/info"));
    init(&project, &project.root());
    assert_eq!(status(&project, &project.root()), [""; 0]);
    assert_eq!(list(&project), "/clada.md\n/.clada-output-latest.txt\n");

    let project = Project::with_git();
    project.write(".git/info/exclude", "# mine\n");
    let place = project.path(".git/info/exclude");
    fs::set_permissions(&place, fs::Permissions::from_mode(0o444)).unwrap();
    let said = clada(&project, &project.root(), &["init", "--yes"])
        .exits(1)
        .out;
    assert!(
        said.contains("⚠ git still shows clada.md and ")
            && said.contains("is read-only. Add these lines there by hand, or to .gitignore:"),
        "{said}"
    );
    assert_eq!(list(&project), "# mine\n");
    fs::set_permissions(&place, fs::Permissions::from_mode(0o640)).unwrap();
    init(&project, &project.root());
    assert_eq!(
        list(&project),
        "# mine\n/clada.md\n/.clada-output-latest.txt\n"
    );
    let mode = place.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    // A pipe is not waited for.
    let project = Project::with_git();
    let _ = fs::remove_file(project.path(".git/info/exclude"));
    fs::create_dir_all(project.path(".git/info")).unwrap();
    let made = project.command("mkfifo").arg(".git/info/exclude").status();
    assert!(made.unwrap().success());
    let said = clada(&project, &project.root(), &["init", "--yes"])
        .exits(1)
        .out;
    assert!(said.contains("is not a regular file"), "{said}");
}

#[test]
fn without_a_terminal_it_is_said_how_once() {
    let project = Project::with_git();
    let first = project.watch(["--no-clipboard"]);
    assert!(first.said().contains(HOW), "{}", first.said());
    drop(first);
    let second = project.watch(["--no-clipboard"]);
    assert!(!second.said().contains("untracked"), "{}", second.said());
    drop(second);
    assert_eq!(status(&project, &project.root()), ["?? clada.md"]);
    let project = Project::with_git();
    let other = project.watch(["--no-clipboard", "work.md"]);
    let how = "as untracked: run `clada watch --yes work.md` to make git ignore them";
    assert!(other.said().contains(how), "{}", other.said());
    drop(other);

    let project = Project::with_git();
    let said = clada(&project, &project.root(), &["init"]).exits(0).out;
    assert!(said.contains(HOW), "{said}");
    let said = clada(&project, &project.root(), &["init"]).exits(0).out;
    assert!(!said.contains("untracked"), "{said}");
    let watching = project.watch(["--yes"]);
    assert!(
        watching.said().contains("git now ignores"),
        "{}",
        watching.said()
    );
    drop(watching);
    assert_eq!(status(&project, &project.root()), [""; 0]);
}

#[test]
fn the_daemon_asks_and_says_nothing() {
    let project = Project::with_git();
    project.write(NOTES, "notes\n");
    project.clada(["add", NOTES]).exits(0);
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.args(["daemon", "--no-clipboard"]);
    let daemon = Watching::start(command);
    daemon.wait_for("watching ");
    assert!(!daemon.said().contains("exclude"), "{}", daemon.said());
    drop(daemon);
    assert_eq!(status(&project, &project.root()), ["?? clada.md"]);
}

/// Starts `clada` on a terminal.
fn started<'p>(project: &'p Project, name: &str) -> Terminal<'p> {
    let inside = format!(
        "cd '{}' && exec '{}'",
        project.root().display(),
        env!("CARGO_BIN_EXE_clada")
    );
    Terminal::start(project, name, (150, 20), &["sh", "-c", &inside])
}

fn shows(terminal: &Terminal<'_>, text: &str) -> bool {
    terminal.shows().iter().any(|line| line.contains(text))
}

const QUESTION: &str =
    "Make git ignore clada.md and .clada-output-latest.txt (in .git/info/exclude)? [Y/n]";

#[test]
fn on_a_terminal_it_asks_once() {
    if !installed("tmux") {
        return;
    }
    let yes = Project::with_git();
    let terminal = started(&yes, "first");
    terminal.wait_for(|lines| lines.iter().any(|line| line.contains(QUESTION)));
    assert!(!shows(&terminal, "watching "));
    terminal.press("Enter");
    terminal.wait_for(|lines| lines.iter().any(|line| line.contains("watching ")));
    assert_eq!(status(&yes, &yes.root()), [""; 0]);
    drop(terminal);
    let terminal = started(&yes, "second");
    terminal.wait_for(|lines| lines.iter().any(|line| line.contains("watching ")));
    assert!(!shows(&terminal, "[Y/n]"));
    drop(terminal);

    let no = Project::with_git();
    let before = list(&no);
    let terminal = started(&no, "first");
    terminal.wait_for(|lines| lines.iter().any(|line| line.contains(QUESTION)));
    terminal.type_in("n");
    terminal.press("Enter");
    terminal.wait_for(|lines| lines.iter().any(|line| line.contains("watching ")));
    assert!(shows(
        &terminal,
        "not changed; run `clada init --yes` to do it later"
    ));
    drop(terminal);
    let terminal = started(&no, "second");
    terminal.wait_for(|lines| lines.iter().any(|line| line.contains("watching ")));
    assert!(!shows(&terminal, "[Y/n]"));
    drop(terminal);
    assert_eq!(list(&no), before);
    let said = clada(&no, &no.root(), &["init"]).exits(0).out;
    assert!(!said.contains("untracked"), "{said}");
    init(&no, &no.root());
    assert_eq!(status(&no, &no.root()), [""; 0]);
}

#[test]
fn ctrl_c_ends_the_question() {
    if !installed("tmux") {
        return;
    }
    let project = Project::with_git();
    let before = list(&project);
    let inside = format!(
        "trap : INT; cd '{}'; '{}'; echo \"status $?\"; read -r _",
        project.root().display(),
        env!("CARGO_BIN_EXE_clada")
    );
    let terminal = Terminal::start(&project, "one", (150, 20), &["sh", "-c", &inside]);
    terminal.wait_for(|lines| lines.iter().any(|line| line.contains(QUESTION)));
    terminal.press("C-c");
    terminal.wait_for(|lines| lines.iter().any(|line| line.starts_with("status ")));
    assert!(!shows(&terminal, "watching "));
    assert_eq!(list(&project), before);
}
