//! Real editors: each appends a reply to the notes and saves them in its own way. Terminals as Linux has them.

#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

use super::{NOTES, Notes, lines, record, reply, wait_for_results};
use crate::harness::{Project, installed, wait_until};

/// What an editor is to put below the notes.
const REPLY: &str = "reply.txt";

/// A name, and what puts the reply below the notes and saves them.
type Way<'w> = (&'w str, &'w dyn Fn(&Project));

/// Has the notes saved with a reply at their end, in one way after the other: each time it runs once, the results are on top,
/// and the text is whole.
fn saved_by(editor: &str, saves: &[Way<'_>]) {
    if !installed(editor) {
        return;
    }
    let project = Project::with_git();
    let mut body = "my notes – “typed” by hand\n".to_owned();
    project.write(NOTES, &body);
    let watching = project.watch([]);
    // Twice each: the second time there are results on top.
    for (count, (way, save)) in saves.iter().flat_map(|way| [(1, way), (2, way)]) {
        let word = format!("{way}-{count}");
        project.write(REPLY, reply(&word));
        save(&project);
        body += &reply(&word);
        let line = format!("1 ✅ exec {}", record(&word));
        let notes = wait_for_results(&project, &line);
        assert_eq!(notes.body, body, "{word}");
        assert_eq!(notes.tasks(), [line]);
    }
    watching.until_it_looked(&project.path(NOTES));
    let ways = saves
        .iter()
        .flat_map(|(way, _)| [format!("{way}-1"), format!("{way}-2")]);
    let ways: Vec<String> = ways.collect();
    assert_eq!(lines(&project, "runs.txt"), ways, "{}", watching.said());
    assert_eq!(Notes::of(&project).body, body);
}

/// A program in the root that knows the text to be UTF-8.
fn program(project: &Project, program: &str) -> Command {
    let mut command = project.command(program);
    command.env("LC_ALL", "C.UTF-8").env("TERM", "vt100");
    command
}

/// Runs a program to its good end.
fn run(project: &Project, name: &str, args: &[&str]) {
    let done = program(project, name).args(args).status();
    assert!(done.expect("a program").success(), "{name} {args:?}");
}

#[test]
fn vim_saves() {
    // Its backup is the old file renamed, or a copy of it; then it writes in place.
    let save = |project: &Project, backupcopy: &str| {
        let set = format!("set backupskip= backup writebackup backupcopy={backupcopy}");
        let read = format!("$r {REPLY}");
        let plain = ["-es", "-u", "NONE", "-i", "NONE", "-n"];
        let act = ["-c", &set, "-c", &read, "-c", "wq", NOTES];
        run(project, "vim", &[&plain[..], &act].concat());
    };
    saved_by(
        "vim",
        &[
            ("rename", &|project| save(project, "no")),
            ("in-place", &|project| save(project, "yes")),
            ("auto", &|project| save(project, "auto")),
        ],
    );
}

#[test]
fn nano_saves() {
    if !installed("script") {
        return;
    }
    saved_by(
        "nano",
        &[("nano", &|project| {
            let mut screen = Screen::start(project, &format!("nano --ignorercfiles {NOTES}"));
            screen.wait_for("GNU nano");
            // To the end, insert a file, write, leave.
            screen.type_in("\x1b/\x12");
            screen.wait_for("insert");
            screen.type_in(&format!("{REPLY}\r"));
            screen.wait_for("Read ");
            screen.type_in("\x0f");
            screen.wait_for("Write: ");
            screen.type_in("\r");
            screen.wait_for("Wrote ");
            screen.type_in("\x18");
            screen.wait_for_end();
        })],
    );
}

#[test]
fn emacs_saves() {
    let save = |project: &Project, by_copying: &str| {
        let script = format!(
            "(progn (setq backup-by-copying {by_copying}) (find-file \"{NOTES}\") (goto-char (point-max))
                    (insert-file-contents \"{REPLY}\") (save-buffer))"
        );
        run(project, "emacs", &["--batch", "-Q", "--eval", &script]);
    };
    saved_by(
        "emacs",
        &[
            ("rename", &|project| save(project, "nil")),
            ("in-place", &|project| save(project, "t")),
        ],
    );
}

#[test]
fn ed_saves() {
    let save = |project: &Project| {
        let script = format!("printf '$r {REPLY}\\nw\\nq\\n' | ed -s {NOTES}");
        run(project, "sh", &["-ec", &script]);
    };
    saved_by("ed", &[("ed", &save)]);
}

#[test]
fn programs_without_a_screen_save() {
    let sed = |project: &Project| run(project, "sed", &["-i", &format!("$r {REPLY}"), NOTES]);
    let script = format!("cat {NOTES} {REPLY} > .{NOTES}.tmp && mv .{NOTES}.tmp {NOTES}");
    let rename = |project: &Project| run(project, "sh", &["-ec", &script]);
    let script = format!("cat {REPLY} >> {NOTES}");
    let append = |project: &Project| run(project, "sh", &["-ec", &script]);
    saved_by(
        "sed",
        &[("sed", &sed), ("rename", &rename), ("append", &append)],
    );
}

/// An editor in which the file was opened before there were results goes on saving what it has. The old reply in it is not new.
#[test]
fn a_stale_buffer_is_saved() {
    const ASKED: &str = "really want to write";
    if !installed("vim") || !installed("script") {
        return;
    }
    for backupcopy in ["no", "yes"] {
        let project = Project::with_git();
        project.write(NOTES, "my notes\n");
        let watching = project.watch([]);
        let mut vim = Screen::start(
            &project,
            &format!(
                "vim -u NONE -i NONE -n -c 'set backupskip= backup backupcopy={backupcopy}' \
                 -c 'autocmd FileChangedShell * :' {NOTES}"
            ),
        );
        vim.wait_for("my notes");

        project.write(REPLY, reply("one"));
        vim.type_in(&format!(":$r {REPLY}\r:w\r"));
        wait_for_results(&project, "echo one");
        vim.type_in("Gotyped after that\x1b:w!\r");
        vim.wait_for(ASKED);
        vim.type_in("y");
        let saved = || project.read(NOTES).contains("typed after that");
        wait_until(saved, || project.read(NOTES));
        watching.until_it_looked(&project.path(NOTES));
        let text = project.read(NOTES);
        let body = Notes::parse(&text).map_or(text, |notes| notes.body);
        assert_eq!(
            body,
            format!("my notes\n{}typed after that\n", reply("one"))
        );
        assert_eq!(lines(&project, "runs.txt"), ["one"], "{}", watching.said());

        project.write(REPLY, reply("two"));
        vim.type_in(&format!(":$r {REPLY}\r:w!\r"));
        // It asks again if the results were put back.
        let saved = || project.read(NOTES).contains("echo two");
        wait_until(|| saved() || vim.shows(ASKED), || vim.shown());
        if !saved() {
            vim.type_in("y");
        }
        let notes = wait_for_results(&project, "echo two");
        assert_eq!(notes.tasks(), [format!("1 ✅ exec {}", record("two"))]);
        assert_eq!(notes.body, body + &reply("two"));
        vim.type_in(":q!\r");
        vim.wait_for_end();
        watching.until_it_looked(&project.path(NOTES));
        let runs = lines(&project, "runs.txt");
        assert_eq!(runs, ["one", "two"], "{}", watching.said());
    }
}

/// A program on a terminal. Ended when dropped.
struct Screen {
    child: Child,
    keys: ChildStdin,
    shown: Arc<Mutex<String>>,
    /// How much of it has been waited for.
    seen: usize,
}

impl Screen {
    fn start(project: &Project, command: &str) -> Self {
        let mut child = program(project, "script")
            .args(["-qec", command, "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("script");
        let shown = Arc::new(Mutex::new(String::new()));
        let (mut from, to) = (child.stdout.take().expect("stdout"), Arc::clone(&shown));
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = from.read(&mut buffer) {
                to.lock()
                    .expect("lock")
                    .push_str(&String::from_utf8_lossy(&buffer[..length]));
            }
        });
        let keys = child.stdin.take().expect("stdin");
        Self {
            child,
            keys,
            shown,
            seen: 0,
        }
    }

    fn type_in(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("it reads");
        self.keys.flush().expect("it reads");
    }

    fn shown(&self) -> String {
        self.shown.lock().expect("lock").clone()
    }

    /// Whether this is shown behind what was waited for before.
    fn shows(&self, text: &str) -> bool {
        self.shown()[self.seen..].contains(text)
    }

    /// Waits until this is shown behind what was waited for before.
    #[track_caller]
    fn wait_for(&mut self, text: &str) {
        wait_until(
            || self.shows(text),
            || format!("{text:?} in {:?}", self.shown()),
        );
        let at = self.shown()[self.seen..].find(text).expect("it is shown");
        self.seen += at + text.len();
    }

    #[track_caller]
    fn wait_for_end(&mut self) {
        let child = &mut self.child;
        wait_until(
            || child.try_wait().expect("wait").is_some(),
            || "the end of the program".to_owned(),
        );
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
