//! The first day of somebody new: an empty home, a terminal, an editor, and nothing but the README, which is followed as it is
//! written, from its blocks. The pictures in it are made here.
//!
//! The program that was built for the tests stands for the one that `cargo install --path .` builds and puts into PATH.

#![cfg(target_os = "linux")]

use std::process::Command;

use crate::daemon::display::Xvfb;
use crate::daemon::{NOTES, Notes, OUTPUT, exec, wait_to_read};
use crate::docs::{blocks, without_commits};
use crate::harness::{Project, installed, wait_until};
use crate::screenshot;
use crate::terminal::Terminal;

/// The columns of both terminals, and the lines of each.
const COLUMNS: u16 = 108;
const IN_SHELL: u16 = 15;
const IN_EDITOR: u16 = 18;

/// What the shell asks with, behind its folder.
const PROMPT: &str = "$";

/// Somebody's home, with a terminal for a shell and one for an editor.
struct Day<'p> {
    project: &'p Project,
    shell: Terminal<'p>,
    editor: Terminal<'p>,
}

impl<'p> Day<'p> {
    /// Follows the block that begins; a program that stays in the foreground is its last line.
    fn begin(project: &'p Project, setup: &str) -> Self {
        let home = project.home();
        std::fs::create_dir(home.join("bin")).expect("mkdir");
        let clada = env!("CARGO_BIN_EXE_clada");
        std::os::unix::fs::symlink(clada, home.join("bin/clada")).expect("install");
        let shell = ["sh", "-c", "cd && PS1='\\w$ ' exec bash --norc"];
        let shell = Terminal::start(project, "shell", (COLUMNS, IN_SHELL), &shell);
        for line in setup.lines() {
            shell.wait_for(asks);
            shell.type_in(line);
            shell.wait_for(|lines| last_of(lines).ends_with(line));
            shell.press("Enter");
        }
        shell.wait_for(|lines| last_of(lines).ends_with("[Y/n]"));
        shell.press("Enter");
        shell.wait_for(|lines| shown(lines, "watching "));
        let vim = format!(
            "cd ~/hello && exec vim -u DEFAULTS -i NONE -c 'set noruler noshowcmd shortmess+=F' {NOTES}"
        );
        let editor = ["sh", "-c", &vim];
        let editor = Terminal::start(project, "editor", (COLUMNS, IN_EDITOR), &editor);
        editor.wait_for(|lines| shown(lines, "Paste an LLM's reply"));
        Self {
            project,
            shell,
            editor,
        }
    }

    fn read(&self, name: &str) -> String {
        let path = self.project.home().join("hello").join(name);
        std::fs::read_to_string(path).unwrap_or_default()
    }

    /// Runs a program in the folder, in yet another terminal.
    fn run(&self, program: &str, args: &[&str]) -> String {
        let mut command: Command = self.project.command(program);
        command
            .args(args)
            .current_dir(self.project.home().join("hello"));
        let output = command.output().expect("a program");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{program} {args:?}: {output:?}");
        said
    }

    /// Pastes a reply below what is in the notes, and saves. Before that a person takes the time to read.
    fn paste(&self, reply: &str) {
        let notes = self.project.home().join("hello").join(NOTES);
        wait_to_read(&notes);
        self.editor.type_in("Go");
        self.editor.paste(reply.trim_end());
        let last = reply.lines().last().expect("a line");
        self.editor.wait_for(|lines| shown(lines, last));
        self.editor.press("Escape");
        self.editor.type_in(":w");
        self.editor.press("Enter");
        let saved = || self.read(NOTES).contains(reply);
        wait_until(saved, || self.editor.shows().join("\n"));
    }

    /// Waits for these results, and looks at them.
    fn results(&self, expected: &str) {
        let expected = without_commits(expected);
        let got = || Notes::parse(&self.read(NOTES)).map(|notes| notes.results.join("\n"));
        let come = || got().is_some_and(|got| without_commits(&got) == expected);
        wait_until(come, || {
            format!(
                "{expected} in\n{}\nwith\n{}",
                self.read(NOTES),
                self.shell.shows().join("\n")
            )
        });
        self.editor.type_in(":e");
        self.editor.press("Enter");
        self.editor.type_in("gg");
        let first = expected.lines().next().expect("a line");
        let start: String = first.chars().take(60).collect();
        let top = |lines: &[String]| lines[1].contains("CLADA RESULTS") && shown(lines, &start);
        self.editor.wait_for(top);
        // The command itself stays below the text until then.
        self.editor.press("C-l");
        let is_clear = |lines: &[String]| lines.last().is_some_and(String::is_empty);
        self.editor.wait_for(is_clear);
        let last = expected.lines().last();
        // The line below says how the copying went.
        let told = |lines: &[String]| match lines.iter().rposition(|line| line.contains("📋")) {
            Some(copied) => last == without_commits(last_of(&lines[..copied])).lines().next(),
            None => false,
        };
        self.shell.wait_for(told);
    }

    /// What a person sees now, as a picture of the README.
    fn picture(&self, name: &str) {
        let home = self.project.home().display().to_string();
        let lines = |terminal: &Terminal<'_>| -> Vec<String> {
            let lines = terminal.shows().into_iter();
            // Where the test has its home is nothing for a reader.
            lines.map(|line| line.replace(&home, "/home/you")).collect()
        };
        let windows = [
            ("clada.md – editor", lines(&self.editor)),
            ("terminal", lines(&self.shell)),
        ];
        screenshot::check(name, COLUMNS, &windows);
    }
}

fn shown(lines: &[String], text: &str) -> bool {
    lines.iter().any(|line| line.contains(text))
}

/// Whether the shell waits for a command.
fn asks(lines: &[String]) -> bool {
    last_of(lines).ends_with(PROMPT)
}

/// The last line that is not empty.
fn last_of(lines: &[String]) -> &str {
    let last = lines.iter().rfind(|line| !line.is_empty());
    last.map_or("", String::as_str)
}

#[test]
fn a_first_day_with_the_readme() {
    if !["tmux", "vim", "bash"].into_iter().all(installed) {
        return;
    }
    let Some(display) = Xvfb::start() else { return };
    let project = Project::new().on_display(display.name());
    let mut blocks = blocks("Five minutes").into_iter();
    let (language, setup) = blocks.next().expect("a beginning");
    assert_eq!(language, "sh");
    let day = Day::begin(&project, &setup);
    assert!(day.run("clada", &["instructions"]).contains("<tasks>"));

    // What the text between the blocks says of each.
    let expected: [(&str, &[&str]); 3] = [
        ("first-results.svg", &["Hello, world\nGood night, world\n"]),
        (
            "",
            &[
                "search text found 2 times",
                "Hello, $name",
                "Good night, $name",
            ],
        ),
        ("first-repair.svg", &["Hello, Ada!\nGood night, Ada\n"]),
    ];
    for (picture, has) in expected {
        let (reply, results) = (blocks.next(), blocks.next());
        let (reply, results) = reply.zip(results).expect("a reply and its results");
        assert_eq!((reply.0.as_str(), results.0.as_str()), ("xml", "text"));
        day.paste(&reply.1);
        day.results(&results.1);
        let copied = display.clipboard(&project);
        for text in has {
            assert!(copied.contains(text), "{text:?} in {copied}");
            assert!(day.read(OUTPUT).contains(text), "{text:?} in the output");
        }
        if !picture.is_empty() {
            day.picture(picture);
        }
    }
    let (_, log) = blocks.next().expect("the log");
    assert_eq!(blocks.next(), None);
    let got = day.run("git", &["log", "--oneline"]);
    assert_eq!(without_commits(&got), without_commits(&log));
    // The editor has a file of its own there.
    let status = day.run("git", &["status", "--porcelain"]);
    assert!(
        ![NOTES, OUTPUT]
            .iter()
            .any(|name| status.contains(&format!(" {name}\n"))),
        "{status}"
    );
    assert_eq!(day.run("git", &["ls-files"]), "greet.sh\n");
    assert!(day.read("greet.sh").contains("$name!"));
    day.run("clada", &["undo"]);
    assert!(!day.read("greet.sh").contains("$name!"));

    day.shell.press("C-c");
    day.shell.wait_for(asks);
    let before = Notes::parse(&day.read(NOTES)).expect("results").body;
    let meanwhile = exec("sh greet.sh again");
    day.paste(&meanwhile);
    day.shell.type_in("clear; clada");
    day.shell.press("Enter");
    day.results("1 ✅ exec sh greet.sh again\n💚 git 1d2c3b4 (nothing changed)\n");
    assert_eq!(
        Notes::parse(&day.read(NOTES)).expect("results").body,
        before + &meanwhile
    );
    assert!(display.clipboard(&project).contains("\nHello, again\n"));
}
