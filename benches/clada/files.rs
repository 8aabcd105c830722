//! Figures of replies that change many files, or a large one: the whole process, next to programs that apply the same patch.
//!
//! Each is measured in memory and on a disk: they differ in what the system does for a new file.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::process::{against, row};
use crate::project::{Project, whole};
use crate::table::{Pair, Row};

const ROUNDS: usize = 15;

/// The folders that projects are made in, and what they are.
const PLACES: [(&str, &str); 2] = [("in memory", "/dev/shm"), ("on disk", "/var/tmp")];

/// A reply, and a patch that does the same.
struct Change {
    reply: String,
    patch: String,
    /// Names and content of the files before.
    before: Vec<(String, String)>,
    /// The names of those that are there afterwards.
    after: Vec<String>,
}

/// 1,000 new files in 50 folders.
pub(crate) fn new_files(print: &mut dyn FnMut(Row)) {
    let mut change = Change::empty();
    let mut tasks = String::new();
    for file in 0..1000 {
        let name = format!("part{}/file{file}.rs", file % 50);
        let lines: Vec<String> = (1..=40).map(|number| line(file, number)).collect();
        let text = lines.concat();
        let _ = write!(
            tasks,
            "<task>\n<path>{name}</path>\n<c>overwrite</c>\n<x>\n{text}</x>\n</task>\n"
        );
        let added: String = lines.iter().map(|line| format!("+{line}")).collect();
        let _ = write!(
            change.patch,
            "--- /dev/null\n+++ b/{name}\n@@ -0,0 +1,40 @@\n{added}"
        );
        change.after.push(name);
    }
    change.reply = format!("<tasks>\n{tasks}</tasks>\n");
    change.measure("1,000", print, |_, patch| {
        ("ratio 1.5".to_owned(), patch.ratio <= 1.5)
    });
}

/// 200 edits in 200 files.
pub(crate) fn edit_many(print: &mut dyn FnMut(Row)) {
    let mut change = Change::empty();
    let mut tasks = String::new();
    for file in 0..200 {
        let (name, at) = (format!("part{}/file{file}.rs", file % 20), 20 + file % 60);
        let lines: Vec<String> = (1..=100).map(|number| line(file, number)).collect();
        let around = Around::of(&lines, at - 1);
        let new = "    let value = once(more);\n";
        let _ = write!(
            tasks,
            "<task>\n<path>{name}</path>\n<c>edit</c>\n<search>\n{}</search>\n<replace>\n{}</replace>\n</task>\n",
            around.with(&around.old),
            around.with(new)
        );
        change.patch.push_str(&around.hunk(&name, new));
        change.before.push((name.clone(), lines.concat()));
        change.after.push(name);
    }
    change.reply = format!("<tasks>\n{tasks}</tasks>\n");
    change.measure("one in each", print, |place, patch| {
        at_most(if place == "in memory" { 15 } else { 65 }, patch)
    });
}

/// One edit in the middle of a file of 9 MB.
pub(crate) fn edit_one(print: &mut dyn FnMut(Row)) {
    let mut lines = Vec::new();
    let mut size = 0;
    while size < 9_000_000 {
        let line = format!(
            "    line {} of the file, not much unlike its neighbours;\n",
            lines.len() + 1
        );
        size += line.len();
        lines.push(line);
    }
    let around = Around::of(&lines, lines.len() / 2);
    let name = "large.txt";
    let new = "    the middle of the file;\n";
    let change = Change {
        reply: format!(
            "<task><path>{name}</path><c>edit</c>\n<search>\n{}</search>\n<replace>\n{}</replace>\n</task>\n",
            around.with(&around.old),
            around.with(new)
        ),
        patch: around.hunk(name, new),
        before: vec![(name.to_owned(), lines.concat())],
        after: vec![name.to_owned()],
    };
    change.measure("of 9 MB", print, |_, patch| at_most(20, patch));
}

fn line(file: usize, number: usize) -> String {
    format!("    let value_{number} = compute(file_{file}, {number});\n")
}

fn at_most(limit: u64, pair: &Pair) -> (String, bool) {
    let is_met = pair.ours <= Duration::from_millis(limit);
    (format!("{limit} ms"), is_met)
}

/// A line of a file, and three before and behind it.
struct Around<'l> {
    before: &'l [String],
    old: String,
    behind: &'l [String],
    /// The number of the first of them.
    first: usize,
}

impl<'l> Around<'l> {
    fn of(lines: &'l [String], at: usize) -> Self {
        Self {
            before: &lines[at - 3..at],
            old: lines[at].clone(),
            behind: &lines[at + 1..at + 4],
            first: at - 2,
        }
    }

    fn with(&self, line: &str) -> String {
        [&self.before.concat(), line, &self.behind.concat()].concat()
    }

    /// The patch of a file that has another line there.
    fn hunk(&self, name: &str, new: &str) -> String {
        let marked = |lines: &[String]| {
            let lines = lines.iter().map(|line| format!(" {line}"));
            lines.collect::<String>()
        };
        let (before, behind) = (marked(self.before), marked(self.behind));
        let (first, old) = (self.first, &self.old);
        format!(
            "--- a/{name}\n+++ b/{name}\n@@ -{first},7 +{first},7 @@\n{before}-{old}+{new}{behind}"
        )
    }
}

impl Change {
    fn empty() -> Self {
        Self {
            reply: String::new(),
            patch: String::new(),
            before: Vec::new(),
            after: Vec::new(),
        }
    }

    /// Measures it at all places, beside GNU patch and beside git; `goal` judges the former.
    fn measure(
        &self,
        what: &str,
        print: &mut dyn FnMut(Row),
        goal: impl Fn(&str, &Pair) -> (String, bool),
    ) {
        for (place, folder) in PLACES.into_iter().filter(|it| Path::new(it.1).is_dir()) {
            let what = format!("{what}, {place}");
            let project = Project::below(Path::new(folder));
            let (reply, patch) = (project.path("reply.md"), project.path("changes.patch"));
            fs::write(&reply, &self.reply).expect("write");
            fs::write(&patch, &self.patch).expect("write");
            let ours = || self.fresh(&project, project.run(&reply));
            let by_patch = || {
                let mut command = project.command("/usr/bin/patch");
                command.args(["-p1", "-s", "-i"]).arg(&patch);
                self.fresh(&project, command)
            };
            let by_git = || {
                let mut command = project.command("git");
                command.arg("apply").arg(&patch);
                self.fresh(&project, command)
            };
            let tree = |command| self.result(&project, command);
            assert!(tree(ours()) == tree(by_patch()), "both make the same");
            let pair = against(ROUNDS, ours, by_patch);
            print(Row {
                goal: Some(goal(place, &pair)),
                ..row(&what, "patch", &pair, None)
            });
            let pair = against(ROUNDS, ours, by_git);
            print(row(&what, "git apply", &pair, None));
        }
    }

    /// Makes the files anew, and hands the command back.
    fn fresh(&self, project: &Project, command: Command) -> Command {
        let root = project.root();
        let _ = fs::remove_dir_all(&root);
        fs::create_dir(&root).expect("mkdir");
        for (name, text) in &self.before {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("mkdir");
            fs::write(path, text).expect("write");
        }
        command
    }

    /// The files as a command leaves them.
    fn result(&self, project: &Project, command: Command) -> Vec<String> {
        whole(command);
        let read = |name| fs::read_to_string(project.root().join(name)).expect("a file");
        self.after.iter().map(read).collect()
    }
}
