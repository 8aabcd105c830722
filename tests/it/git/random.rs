//! Batches among whatever a user does with files and git: after each batch HEAD is what git would have saved, and so is
//! the snapshot before it.

use std::fmt::Write;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::judge::Judge;
use crate::chance::Chance;
use crate::harness::Project;

/// Names that get in each other's way: files where others have folders, ignored and taken back, odd to a shell or to git.
const PATHS: [&str; 24] = [
    "a.txt",
    "b.txt",
    "c d.txt",
    "-dash",
    "grün/ß.txt",
    "[x]*.txt",
    "!bang",
    "#hash",
    "sub/a.txt",
    "sub/b.log",
    "sub/keep.log",
    "sub/deep/a.txt",
    "sub/deep/er/a.txt",
    "sub-a.txt",
    "sub.txt",
    "x",
    "x/y",
    "x/y/z",
    "build/made.txt",
    "build/sub/made.txt",
    "other/build/made.txt",
    "only/b.log",
    "e.log",
    "keep.log",
];

const IGNORE: [&str; 6] = [
    "",
    "*.log\n!keep.log\n",
    "build/\n",
    "/build/*\n!/build/sub/\n*.log\n",
    "sub/**/a.txt\nonly\n",
    "x/y\n\\#hash\n\\!bang\n",
];

struct Story<'p> {
    project: &'p Project,
    judge: Judge<'p>,
    chance: Chance,
    /// Commits and the trees that they must have.
    saved: Vec<(String, String)>,
    /// Makes every content a new one.
    changes: usize,
    branches: usize,
    /// What was done, for whoever must understand a failure.
    diary: String,
}

impl Story<'_> {
    fn path(&mut self) -> &'static str {
        PATHS[self.chance.below(PATHS.len() as u64) as usize]
    }

    fn content(&mut self) -> String {
        self.changes += 1;
        // Some are of the same length as the one before.
        match self.chance.below(3) {
            0 => format!("{:06}\n", self.changes),
            1 => String::new(),
            _ => format!("change {}\n", self.changes).repeat(1 + self.changes % 7),
        }
    }

    /// As a user does it: what is in the way goes.
    fn write(&mut self, path: &str) {
        let file = self.project.path(path);
        self.clear(path);
        fs::write(&file, self.content()).expect("write");
    }

    fn clear(&self, path: &str) {
        let file = self.project.path(path);
        let root = self.project.root();
        let folders = file.ancestors().skip(1);
        for folder in folders.take_while(|folder| *folder != root) {
            if folder.is_symlink() || folder.is_file() {
                fs::remove_file(folder).expect("remove");
            }
        }
        fs::create_dir_all(file.parent().expect("folder")).expect("mkdir");
        remove(&file);
    }

    /// Not all of it is possible at every time.
    fn git<const N: usize>(&self, args: [&str; N]) -> bool {
        let done = self.project.command("git").args(args).output();
        done.expect("git").status.success()
    }

    fn user(&mut self) {
        let path = self.path();
        let deed = self.chance.below(17);
        let _ = writeln!(self.diary, "  user {deed} {path}");
        match deed {
            0..=3 => self.write(path),
            4 => remove(&self.project.path(path)),
            5 => drop(self.git(["add", "--", path])),
            6 => {
                self.write(path);
                self.git(["add", "-f", "--", path]);
                self.write(path);
            }
            7 => drop(self.git(["add", "-N", "--", path])),
            8 => drop(self.git(["commit", "-qam", "user's"])),
            9 => drop(self.git(["rm", "-rq", "--cached", "--", path])),
            10 => {
                if self.git(["stash", "push", "-qu"]) && self.chance.one_in(2) {
                    self.write(path);
                }
                if !self.git(["stash", "pop", "-q"]) {
                    self.git(["reset", "-q", "--hard"]);
                    self.git(["stash", "drop", "-q"]);
                }
            }
            11 => {
                self.branches += 1;
                self.git(["checkout", "-qb", &format!("b{}", self.branches), "HEAD~1"]);
            }
            12 => {
                let branch = self.chance.below(self.branches as u64 + 1);
                self.git(["checkout", "-q", &format!("b{branch}")]);
            }
            13 => {
                let path = self.project.path(path);
                if path.is_file() && !path.is_symlink() {
                    let mode = self.chance.one_of(&[0o644, 0o755]);
                    fs::set_permissions(path, Permissions::from_mode(*mode)).expect("chmod");
                }
            }
            14 => {
                self.clear(path);
                let to = self.chance.one_of(&["sub", "../a.txt", "nowhere"]);
                symlink(to, self.project.path(path)).expect("link");
            }
            15 => {
                let folder = self.chance.one_of(&["", "sub/", "other/"]);
                let path = format!("{folder}.gitignore");
                self.clear(&path);
                let ignore = self.chance.one_of(&IGNORE);
                fs::write(self.project.path(&path), ignore).expect("write");
            }
            _ => {
                let to = self.path();
                self.git(["mv", "-f", "--", path, to]);
            }
        }
    }

    fn task(&mut self) -> String {
        let (path, to) = (self.path(), self.path());
        let content = self.content();
        let task = match self.chance.below(8) {
            0..=2 => format!("<path>{path}</path><c>overwrite</c>\n<x>\n{content}</x>"),
            3 => format!("<path>{path}</path><c>delete</c>"),
            4 => format!("<path>{path}</path><c>move</c><x overwrite=\"yes\">{to}</x>"),
            5 => "<path>sub</path><c>move</c><x>moved</x>".to_owned(),
            6 => "<path>moved</path><c>move</c><x>sub</x>".to_owned(),
            _ => format!(
                "<c>exec</c>\n<x>\nmkdir -p sub/deep build\necho {} >> sub/deep/a.txt\necho > build/made.txt\n\
                 rm -f -- '{path}'\n</x>",
                self.changes
            ),
        };
        let _ = writeln!(self.diary, "  task {}", task.replace('\n', "|"));
        format!("<task>\n{task}\n</task>\n")
    }

    fn round(&mut self, round: usize) {
        let _ = writeln!(self.diary, "round {round}");
        for _ in 0..self.chance.below(6) {
            self.user();
        }
        self.judge.begin();
        let (wanted, old) = (self.judge.tree(), self.head());
        let tasks: String = (0..=self.chance.below(4)).map(|_| self.task()).collect();
        let reply = format!("<tasks>\n{tasks}</tasks>\n");
        let ran = self.project.clada_with(["run"], &reply);
        let results = ran.results();
        let told = |what: &str| format!("{what}\n{}{results}{}", self.diary, ran.err);
        assert!(!results.contains("⚠ git"), "{}", told("not saved"));
        assert!(!results.contains('⏹'), "{}", told("not run"));

        let new = self.head();
        if new.is_empty() {
            return; // There was nothing to save, and no task made anything.
        }
        let range = match old.is_empty() {
            true => new.clone(),
            false => format!("{old}..{new}"),
        };
        let log = self.project.git([
            "log",
            "--first-parent",
            "--format=%H %(trailers:key=Clada-Step,valueonly,separator=)",
            &range,
        ]);
        // What is staged is one of its own ahead of it.
        let before = log.lines().find_map(|line| line.strip_suffix(" before"));
        let before = before.map_or(old, str::to_owned);
        if !before.is_empty() {
            let is = self.judge.tree_of(&before);
            assert!(is == wanted, "{}", told("before the batch"));
            self.saved.push((before, wanted));
        }
        let is = self.judge.tree_of(&new);
        let mut wanted = self.judge.tree();
        if is != wanted && reply.contains("move") {
            // What is ignored though it is tracked is so no longer once it was moved away, even if it comes back.
            self.judge.begin();
            wanted = self.judge.tree();
        }
        let shown = |is: &str| told(&self.project.git(["ls-tree", "-r", is]));
        assert!(is == wanted, "{}", shown(&is));
        let status = self.project.git(["status", "--porcelain"]);
        assert!(status.is_empty(), "{}", told(&status));
        self.saved.push((new, wanted));
    }

    fn head(&self) -> String {
        let head = self
            .project
            .command("git")
            .args(["rev-parse", "-q", "--verify", "HEAD"])
            .output();
        let head = String::from_utf8(head.expect("git").stdout).expect("UTF-8");
        head.trim_end().to_owned()
    }
}

fn remove(path: &Path) {
    match path.symlink_metadata() {
        Ok(there) if there.is_dir() => fs::remove_dir_all(path).expect("remove"),
        Ok(_) => fs::remove_file(path).expect("remove"),
        Err(_) => {}
    }
}

fn batches(rounds: usize) {
    let project = Project::new();
    project.git(["init", "-q", "-b", "b0"]);
    project.configure("[git]\nuntracked = \"commit\"\n");
    let mut story = Story {
        judge: Judge::new(&project),
        project: &project,
        chance: Chance::new(),
        saved: Vec::new(),
        changes: 0,
        branches: 0,
        diary: String::new(),
    };
    for round in 0..rounds {
        story.round(round);
    }
    story.judge.finds_it_sound();
    for (commit, tree) in &story.saved {
        assert_eq!(story.judge.tree_of(commit), *tree);
    }
}

#[test]
fn every_snapshot_is_what_git_would_have_saved() {
    batches(40);
}

/// `cargo test --test it what_git_would_have_saved -- --ignored`
#[test]
#[ignore = "takes minutes"]
fn each_of_200_snapshots_is_what_git_would_have_saved() {
    batches(200);
}
