//! Batches, undo and redo among whatever a user does with files and git: what was untracked is in no commit, unless the user
//! added it or a file task named it, and an undo brings all of it back.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::*;
use crate::chance::Chance;

const PATHS: [&str; 12] = [
    "a.txt",
    "b.txt",
    "src/main.rs",
    "src/lib.rs",
    "src/deep/mod.rs",
    "docs/draft.md",
    "docs/idea.md",
    ".env",
    "config/.env.local",
    "id_rsa",
    "c d.txt",
    "grün.txt",
];

const NOTES: [&str; 2] = ["clada.md", ".clada-output-latest.txt"];

struct Story<'p> {
    project: &'p Project,
    /// The root, and the notes of a clada that has ended.
    root: PathBuf,
    in_git: bool,
    chance: Chance,
    /// Makes every content a new one.
    contents: usize,
    /// Words of untracked files that must be in no commit.
    private: BTreeSet<String>,
    diary: String,
}

impl Story<'_> {
    fn path(&mut self) -> &'static str {
        PATHS[self.chance.below(PATHS.len() as u64) as usize]
    }

    /// A word that is nowhere else.
    fn word(&mut self) -> String {
        self.contents += 1;
        format!("word-{}-of-the-user", self.contents)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn put(&self, path: &str, content: &str) {
        let place = self.at(path);
        // As a user does it: what is in the way goes.
        for folder in place.ancestors().skip(1) {
            if folder.is_file() && folder != self.root {
                fs::remove_file(folder).expect("remove");
            }
        }
        remove(&place);
        fs::create_dir_all(place.parent().expect("folder")).expect("mkdir");
        fs::write(place, content).expect("write");
    }

    fn git(&self, args: &[&str]) -> (bool, String) {
        let mut git = self.project.command("git");
        let ran = git
            .current_dir(&self.root)
            .args(args)
            .output()
            .expect("git");
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        (ran.status.success(), said)
    }

    /// Paths by what git tracks.
    fn tracked(&self) -> BTreeSet<String> {
        let (_, said) = self.git(&["ls-files", "-z"]);
        said.split_terminator('\0').map(str::to_owned).collect()
    }

    fn untracked(&self) -> BTreeSet<String> {
        let (_, said) = self.git(&["ls-files", "-z", "--others", "--exclude-standard"]);
        let paths = said.split_terminator('\0');
        let others = paths.filter(|path| !path.contains("node_modules"));
        others.map(str::to_owned).collect()
    }

    /// All files but those of tools and clada's own, with their contents.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("list").flatten() {
                let (path, name) = (entry.path(), entry.file_name());
                if name == ".git" || name == "node_modules" {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let below = path.strip_prefix(&self.root).expect("below");
                files.insert(below.display().to_string(), fs::read(&path).expect("read"));
            }
        }
        files
    }

    /// Words of these files may be in commits from now on.
    fn release<'f>(&mut self, paths: impl IntoIterator<Item = &'f str>) {
        for path in paths {
            let text = fs::read(self.at(path)).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).into_owned();
            self.private.retain(|word| !text.contains(word.as_str()));
        }
    }

    fn user(&mut self) {
        let path = self.path();
        let deed = self.chance.below(14);
        let _ = writeln!(self.diary, "  user {deed} {path}");
        let word = self.word();
        let is_tracked = self.in_git && self.tracked().contains(path);
        match deed {
            0..=4 => {
                let text = match path {
                    "id_rsa" => format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{word}\n"),
                    "docs/draft.md" => format!("{word}\n").repeat(100),
                    _ => format!("{word}\n"),
                };
                self.put(path, &text);
                if self.in_git && !is_tracked {
                    self.private.insert(word);
                }
            }
            5 => remove(&self.at(path)),
            6 if self.at(path).is_file() => {
                self.release([path]);
                self.git(&["add", "-f", "--", path]);
            }
            // Part of a file is staged.
            7 if is_tracked => {
                self.put(path, &format!("staged {word}\n"));
                self.git(&["add", "--", path]);
                self.put(path, &format!("staged {word}\nand more\n"));
            }
            8 => drop(self.git(&["commit", "-qam", "the user's"])),
            9 if is_tracked && self.at(path).is_file() => {
                self.git(&["rm", "-q", "--cached", "--", path]);
            }
            10 if self.at(path).is_file() && !is_tracked && self.in_git => {
                self.release([path]);
                self.git(&["add", "-N", "--", path]);
            }
            11 => {
                let text = format!("my notes: {word}\n");
                for notes in ["clada.md", "old-notes.md"] {
                    self.put(notes, &text);
                }
                if self.in_git {
                    self.private.insert(word);
                }
            }
            12 => self.put("node_modules/x/index.js", &format!("{word}\n")),
            _ => {}
        }
    }

    /// A task, and the paths that it names.
    fn task(&mut self) -> (String, Vec<&'static str>) {
        let (path, to) = (self.path(), self.path());
        let number = self.contents;
        self.contents += 1;
        let (task, named) = match self.chance.below(9) {
            0 | 1 => (
                format!("<path>{path}</path><c>overwrite</c>\n<x>\nby task {number}\n</x>"),
                vec![path],
            ),
            2 => (
                format!("<path>{path}</path><c>append</c>\n<x>\nby task {number}\n</x>"),
                vec![path],
            ),
            3 => (format!("<path>{path}</path><c>delete</c>"), vec![path]),
            4 => (
                format!("<path>{path}</path><c>move</c><x overwrite=\"yes\">{to}</x>"),
                vec![path, to],
            ),
            5 => ("<path>src</path><c>move</c><x>moved</x>".to_owned(), vec![]),
            6 => ("<path>moved</path><c>move</c><x>src</x>".to_owned(), vec![]),
            _ => (self.script(path, to), vec![]),
        };
        let _ = writeln!(self.diary, "  task {}", task.replace('\n', "|"));
        (format!("<task>\n{task}\n</task>\n"), named)
    }

    fn script(&mut self, path: &str, to: &str) -> String {
        let number = self.contents;
        let deed = match self.chance.below(9) {
            0 => format!("mkdir -p made; echo made {number} > made/{number}.txt"),
            1 => format!("echo changed {number} >> '{path}'"),
            2 => format!("mkdir -p copies; cp '{path}' copies/{number}.txt"),
            3 => format!("mkdir -p copies; mv '{path}' copies/{number}.moved"),
            4 => format!("rm -f '{path}' '{to}'"),
            5 => "git add -A .".to_owned(),
            6 => {
                format!("echo KEY={number} > .env; cp .env copied.env; cp .env plain-{number}.txt")
            }
            7 => format!("mkdir -p node_modules/y; echo {number} > node_modules/y/index.js"),
            _ => format!("head -c 3000 /dev/zero > large-{number}.bin"),
        };
        format!("<c>exec</c>\n<x>\n{deed} || true\n</x>")
    }

    fn clada(&self, args: &[&str], input: &str) -> Ended {
        let mut clada = self.project.command(env!("CARGO_BIN_EXE_clada"));
        clada.args(args).current_dir(&self.root);
        Ended::of(clada, input)
    }

    fn round(&mut self, round: usize) {
        let _ = writeln!(self.diary, "round {round}");
        for _ in 0..self.chance.below(5) {
            self.user();
        }
        let before = (self.files(), self.untracked());
        let mut tasks = String::new();
        for _ in 0..=self.chance.below(3) {
            let (task, named) = self.task();
            tasks += &task;
            // Whatever it holds when the task comes to it.
            self.release(named);
        }
        let moves_words = tasks.contains("append") || tasks.contains("<c>move");
        if moves_words && tasks.contains("exec") {
            // A command may bring other words to a path that a task after it names.
            self.private.clear();
        }
        let reply = format!("<tasks>\n{tasks}</tasks>\n");
        let ran = self.clada(&["run", "--approve", "--sandbox", "off"], &reply);
        let _ = writeln!(self.diary, "{}", ran.results());
        assert!(!ran.results().contains("undo will not"), "{}", self.diary);
        self.sees_nothing_private();
        let after = (self.files(), self.untracked());
        if before.0 == after.0 {
            return;
        }
        for _ in 0..self.chance.below(3) {
            self.goes("undo", &before, &after);
            self.goes("redo", &after, &before);
        }
        if self.chance.one_in(2) {
            self.goes("undo", &before, &after);
        }
        if self.chance.one_in(6) {
            let looked = self.clada(&["step-back"], "");
            let _ = writeln!(self.diary, "step-back {}{}", looked.out, looked.err);
            if looked.code == Some(0) {
                self.sees_nothing_private();
                self.clada(&["step-forward", "--end"], "").exits(0);
            }
        }
        if self.chance.one_in(8) {
            let squashed = self.clada(&["squash"], "");
            let _ = writeln!(self.diary, "squash {}{}", squashed.out, squashed.err);
            self.sees_nothing_private();
        }
    }

    fn goes(
        &mut self,
        how: &str,
        to: &(BTreeMap<String, Vec<u8>>, BTreeSet<String>),
        from: &(BTreeMap<String, Vec<u8>>, BTreeSet<String>),
    ) {
        let _ = writeln!(self.diary, "{how}");
        let done = self.clada(&[how], "");
        let _ = writeln!(self.diary, "{}{}", done.out, done.err);
        assert_eq!(done.code, Some(0), "{}", self.diary);
        let (files, untracked) = (self.files(), self.untracked());
        let differs = |path: &&String| files.get(*path) != to.0.get(*path);
        let wrong: Vec<&String> = files.keys().chain(to.0.keys()).filter(differs).collect();
        assert!(wrong.is_empty(), "{wrong:?} differ\n{}", self.diary);
        if self.in_git && how == "undo" {
            // What was untracked before is so again; what git tracked then, and the batch took out, may be either.
            let lost: Vec<_> = to.1.difference(&untracked).collect();
            assert!(lost.is_empty(), "{lost:?} are tracked\n{}", self.diary);
        }
        let _ = from;
        self.sees_nothing_private();
    }

    /// No commit of any ref has a word that is the user's alone, or a file of clada's.
    fn sees_nothing_private(&self) {
        if !self.in_git {
            return;
        }
        let (_, objects) = self.git(&["rev-list", "--objects", "--all"]);
        let mut ids = String::new();
        for line in objects.lines() {
            let (id, path) = line.split_once(' ').unwrap_or((line, ""));
            assert!(
                !NOTES.contains(&path) && path != "old-notes.md" && !path.contains("node_modules"),
                "{path}\n{}",
                self.diary
            );
            ids += id;
            ids.push('\n');
        }
        let mut git = self.project.command("git");
        git.current_dir(&self.root).args(["cat-file", "--batch"]);
        let mut git = git
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("git");
        let mut stdin = git.stdin.take().expect("stdin");
        let writes = std::thread::spawn(move || stdin.write_all(ids.as_bytes()));
        let out = git.wait_with_output().expect("git").stdout;
        writes.join().expect("thread").expect("written");
        let text = String::from_utf8_lossy(&out);
        for word in &self.private {
            // `word-1-` is not the beginning of another.
            assert!(!text.contains(word.as_str()), "{word}\n{}", self.diary);
        }
    }
}

fn remove(path: &Path) {
    match path.symlink_metadata() {
        Ok(there) if there.is_dir() => fs::remove_dir_all(path).expect("remove"),
        Ok(_) => fs::remove_file(path).expect("remove"),
        Err(_) => {}
    }
}

fn story(project: &Project, root: PathBuf, in_git: bool) {
    project.configure("[git]\nnew_file = '2 KiB'\n");
    let mut story = Story {
        project,
        root,
        in_git,
        chance: Chance::new(),
        contents: 0,
        private: BTreeSet::new(),
        diary: String::new(),
    };
    // Notes of a clada that has ended.
    let mut watching = project.command(env!("CARGO_BIN_EXE_clada"));
    watching.current_dir(&story.root);
    watching.args(["watch", "old-notes.md", "--no-clipboard"]);
    let watching = crate::harness::Watching::start(watching);
    crate::harness::wait_until(|| watching.said().contains("watching"), || watching.said());
    watching.stop(rustix::process::Signal::TERM);
    for round in 0..20 {
        story.round(round);
    }
    if in_git {
        let (sound, said) = story.git(&["fsck", "--strict", "--no-dangling"]);
        assert!(sound, "{said}");
    }
}

#[test]
fn in_a_repository() {
    let project = Project::with_git();
    project.write("a.txt", "a\n").write("src/main.rs", "main\n");
    project.commits();
    story(&project, project.root(), true);
}

#[test]
fn in_a_repository_without_a_commit() {
    let project = Project::with_git();
    story(&project, project.root(), true);
}

#[test]
fn in_a_folder_of_a_repository() {
    let project = Project::with_git();
    project.write("outside.txt", "o\n").write("in/a.txt", "a\n");
    project.commits();
    story(&project, project.path("in"), true);
}

#[test]
fn in_a_plain_folder() {
    let project = Project::new();
    project.write("a.txt", "a\n");
    story(&project, project.root(), false);
}

#[test]
fn in_a_linked_work_tree() {
    let project = Project::with_git();
    project.write("a.txt", "a\n").commits();
    let tree = project.home().join("tree");
    let path = tree.display().to_string();
    project.git(["worktree", "add", "-q", "-b", "other", &path]);
    story(&project, tree.canonicalize().unwrap(), true);
}

#[test]
fn in_a_submodule() {
    let project = Project::with_git();
    let inner = Project::with_git();
    inner.write("a.txt", "a\n").commits();
    let from = inner.root().display().to_string();
    let allow = "protocol.file.allow=always";
    project.git(["-c", allow, "submodule", "add", "-q", &from, "sub"]);
    project.git(["commit", "-qm", "first"]);
    story(&project, project.path("sub"), true);
}
