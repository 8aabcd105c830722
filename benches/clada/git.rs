//! Figures of saves: what a snapshot costs in a small and in a large repository, beside the git commands that come to
//! the same. Ours are calls in this process, git's are processes; both begin with reading the index, but for one task
//! of a batch, which finds it read.

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use clada::git::{
    CommitStep, CommitTarget, Message, NotesFiles, Options, Snapshots, UntrackedRule,
};
use clada::policy::secrets::Secrets;
use tokio::sync::watch;

use crate::project::{Project, whole};
use crate::table::{Pair, Row, ms, paired, time};

const ROUNDS: usize = 15;

/// What the commit after a file task may take.
const LIMIT: Duration = Duration::from_millis(10);

const COMMIT_ALL: &str = "git add -A && git commit -qm x";

pub(crate) fn saves(print: &mut dyn FnMut(Row)) {
    for files in [5_000, 50_000] {
        let repo = Repo::with(files);
        let mut row = |what: &str, baseline, pair: Pair, goal: Goal| {
            let (goal, met) = match goal {
                Goal::Within(limit) => (format!("< {} ms", limit.as_millis()), pair.ours < limit),
                Goal::Ratio(most) => (format!("ratio {most}"), pair.ratio <= most),
            };
            print(Row {
                what: format!("{files} files, {what}"),
                ours: ms(pair.ours),
                baseline: (baseline, ms(pair.theirs)),
                ratio: pair.ratio,
                goal: Some((goal, met)),
            });
        };
        row(
            "before, clean",
            "git status",
            repo.clean(),
            Goal::Ratio(1.0),
        );
        row(
            "before, 10 changed",
            "git add -A, commit",
            repo.dirty(),
            Goal::Ratio(1.0),
        );
        row(
            "after a file task",
            "git add PATH, commit",
            repo.task(),
            Goal::Within(LIMIT),
        );
        row(
            "batch of 3 file tasks",
            "git status, 3 x add PATH, commit",
            repo.batch(),
            Goal::Ratio(1.0),
        );
        row(
            "after an exec",
            "git add -A, commit",
            repo.exec(COMMIT_ALL),
            Goal::Ratio(1.0),
        );
        row(
            "two snapshots around an exec",
            "git status",
            repo.around(),
            Goal::Ratio(1.2),
        );
        if files == 5_000 {
            repo.litter();
            let what = "50,000 untracked in node_modules, before, clean";
            row(what, "git status", repo.clean(), Goal::Ratio(1.0));
            let what = "50,000 untracked in node_modules, after an exec";
            row(
                what,
                "git add -u, commit",
                repo.exec("git add -u && git commit -qm x"),
                Goal::Ratio(1.0),
            );
        }
    }
}

/// What a figure is to be.
enum Goal {
    Within(Duration),
    Ratio(f64),
}

/// A repository of so many files, ten in a folder.
struct Repo {
    project: Project,
    files: usize,
    /// How many changes were made.
    changes: Cell<usize>,
}

impl Repo {
    /// Packed, as a clone is, and read by git after all files were written.
    fn with(files: usize) -> Self {
        let project = Project::new();
        let root = project.root();
        for number in 0..files {
            let path = root.join(name(number));
            fs::create_dir_all(path.parent().expect("a folder")).expect("mkdir");
            fs::write(path, content(number, 0)).expect("write");
        }
        fs::write(root.join(".gitignore"), "*.o\n/build/\ntmp-*\n").expect("write");
        let repo = Self {
            project,
            files,
            changes: Cell::new(0),
        };
        repo.git(
            "git init -q -b main && git config user.name Ada && git config user.email ada@example.org &&
             git config gc.auto 0 && git config maintenance.auto false && git add -A && git commit -qm all &&
             git repack -adq && git prune-packed -q && sleep 1.1 && rm .git/index && git reset -q",
        );
        repo
    }

    fn clean(&self) -> Pair {
        let ours = || time(|| assert!(!before(&mut self.open()), "nothing had changed"));
        paired(ROUNDS, ours, || self.git("git status --porcelain"))
    }

    fn dirty(&self) -> Pair {
        let change = || drop((0..10).map(|_| self.change()).collect::<Vec<_>>());
        let ours = || {
            change();
            time(|| assert!(before(&mut self.open()), "something had changed"))
        };
        paired(ROUNDS, ours, || {
            change();
            self.git(COMMIT_ALL)
        })
    }

    fn task(&self) -> Pair {
        let ours = || {
            let mut snapshots = self.open();
            before(&mut snapshots);
            let path = self.change();
            let took = time(|| after(&mut snapshots, path));
            snapshots.settle().expect("index");
            took
        };
        paired(ROUNDS, ours, || {
            let path = self.change();
            self.git(&format!("git add {0} && git commit -qm x", path.display()))
        })
    }

    fn batch(&self) -> Pair {
        let ours = || {
            time(|| {
                let mut snapshots = self.open();
                before(&mut snapshots);
                for _ in 0..3 {
                    after(&mut snapshots, self.change());
                }
                snapshots.settle().expect("index");
            })
        };
        paired(ROUNDS, ours, || {
            let mut took = self.git("git status --porcelain");
            for _ in 0..3 {
                let path = self.change();
                took += self.git(&format!("git add {} && git commit -qm x", path.display()));
            }
            took
        })
    }

    fn exec(&self, theirs: &str) -> Pair {
        let ours = || {
            let mut snapshots = self.open();
            before(&mut snapshots);
            self.change();
            time(|| {
                snapshots.expect_command();
                let state = snapshots.after_all(&message()).expect("saved");
                assert!(state.changed, "something had changed");
            })
        };
        paired(ROUNDS, ours, || {
            self.change();
            self.git(theirs)
        })
    }

    /// Both snapshots of a batch with a command that changes one file, without the time of the command.
    fn around(&self) -> Pair {
        let ours = || {
            let mut snapshots = None;
            let opening = time(|| before(snapshots.insert(self.open())));
            self.change();
            let closing = time(|| {
                let snapshots = snapshots.as_mut().expect("open");
                snapshots.expect_command();
                snapshots.after_all(&message()).expect("saved");
            });
            opening + closing
        };
        paired(ROUNDS, ours, || self.git("git status --porcelain"))
    }

    /// Makes what a package manager makes, which nobody has ignored.
    fn litter(&self) {
        for number in 0..50_000 {
            let path = format!("node_modules/p{}/{}.js", number / 50, number);
            let path = self.project.root().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("mkdir");
            fs::write(path, content(number, 0)).expect("write");
        }
    }

    fn open(&self) -> Snapshots {
        let options = Options {
            target: CommitTarget::Branch,
            untracked: UntrackedRule::Leave,
            new_file: 5 << 20,
            secrets: Secrets::new(&[]),
            notes: NotesFiles::default(),
            private: self.project.root().with_file_name("snapshots"),
            home: PathBuf::from("/nonexistent"),
            private_limit: 20_000,
            private_file: 64 << 20,
            sign: false,
            hooks: false,
            env: Vec::new(),
        };
        let stop = watch::channel(false).1;
        let opened = Snapshots::open(&self.project.root(), &[], &options, &stop);
        opened.expect("usable").expect("a repository")
    }

    /// Changes a file, each time another one.
    fn change(&self) -> PathBuf {
        let change = self.changes.get() + 1;
        self.changes.set(change);
        let number = change * 7_919 % self.files;
        let path = name(number);
        fs::write(self.project.root().join(&path), content(number, change)).expect("write");
        path
    }

    /// How long some git commands take.
    fn git(&self, script: &str) -> Duration {
        let mut command = self.project.command("/bin/sh");
        command.args(["-c", script]);
        whole(command)
    }
}

/// Whether there was something to save.
fn before(snapshots: &mut Snapshots) -> bool {
    snapshots.before(&message()).expect("saved").changed
}

fn after(snapshots: &mut Snapshots, path: PathBuf) {
    let state = snapshots.after_paths(&[path], &message()).expect("saved");
    assert!(state.changed, "something had changed");
}

fn message() -> Message {
    Message {
        subject: "A benchmark's".to_owned(),
        time: "2024-05-06 07:08".to_owned(),
        body: vec!["overwrite file".to_owned()],
        batch: "benchmark".to_owned(),
        step: CommitStep::Task,
        ..Message::default()
    }
}

fn name(number: usize) -> PathBuf {
    let folder = number / 10;
    let (area, module) = (folder / 100, folder / 10 % 10);
    format!(
        "area{area}/module{module}/part{}/file{number}.rs",
        folder % 10
    )
    .into()
}

fn content(number: usize, change: usize) -> String {
    format!("// {number}, change {change}\n") + &"let value = compute(value, 1);\n".repeat(30)
}
