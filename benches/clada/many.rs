//! What `clada daemon` costs with a thousand watched files, each in a project of its own.

use std::fmt::Write;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::listener::{busy, resident, threads};
use crate::project::{CLADA, Project};
use crate::table::{Row, ms, time};

const FILES: usize = 1000;

/// Start, rest, and a save of one of the files.
pub(crate) fn daemon(print: &mut dyn FnMut(Row)) {
    let project = Project::new();
    let mut list = String::new();
    for number in 0..FILES {
        let root = project.path(&format!("root/p{number}"));
        fs::create_dir(&root).expect("mkdir");
        let notes = root.join("clada.md");
        fs::write(&notes, format!("notes {number}\n")).expect("write");
        let _ = writeln!(list, "[[watch]]\nfile = {notes:?}\nroot = {root:?}\n");
    }
    project.configure("");
    fs::write(project.path("home/.config/clada/watched.toml"), list).expect("write");

    for (what, goal) in [("never seen before", None), ("known", Some(2.0))] {
        let mut cat = project.command("sh");
        cat.args(["-c", "cat p*/clada.md"]);
        let read = time(|| cat.status().expect("cat"));
        let clock = Instant::now();
        let daemon = Daemon::start(&project);
        let took = clock.elapsed();
        print(Row {
            what: format!("start, 1,000 files {what}"),
            ours: ms(took),
            baseline: ("cat of these files", ms(read)),
            ratio: took.as_secs_f64() / read.as_secs_f64(),
            goal: goal.map(|goal| (format!("< {goal} s"), took.as_secs_f64() < goal)),
        });
        if goal.is_some() {
            at_rest(&daemon, print);
            a_save(&project, print);
        }
    }
}

fn at_rest(daemon: &Daemon, print: &mut dyn FnMut(Row)) {
    const LONG: Duration = Duration::from_secs(5);
    let pid = daemon.0.id();
    thread::sleep(Duration::from_secs(1));
    let mb = resident(pid) as f64 * 1024.0 / 1e6;
    print(Row {
        what: "resident memory with 1,000 files".to_owned(),
        ours: format!("{mb:.1} MB"),
        baseline: ("none", "-".to_owned()),
        ratio: f64::NAN,
        goal: Some(("< 40 MB".to_owned(), mb < 40.0)),
    });
    let threads = threads(&pid.to_string());
    let before = busy(&threads);
    thread::sleep(LONG);
    let share = (busy(&threads) - before).as_secs_f64() / LONG.as_secs_f64() * 100.0;
    print(Row {
        what: "CPU at rest with 1,000 files".to_owned(),
        ours: format!("{share:.2} %"),
        baseline: ("none", "-".to_owned()),
        ratio: f64::NAN,
        goal: Some(("< 1 %".to_owned(), share < 1.0)),
    });
}

/// From a save of a file that rests to its results.
fn a_save(project: &Project, print: &mut dyn FnMut(Row)) {
    let notes = project.path("root/p500/clada.md");
    let new = project.path("root/p500/new");
    let reply = "<tasks>\n<task>\n<c>exec</c>\n<x>\ntrue\n</x>\n</task>\n</tasks>\n";
    fs::write(&new, reply).expect("write");
    let clock = Instant::now();
    fs::rename(&new, &notes).expect("rename");
    while !fs::read_to_string(&notes).is_ok_and(|text| text.contains("=== END ===")) {
        thread::sleep(Duration::from_micros(200));
    }
    let took = clock.elapsed();
    let mut bash = project.command("bash");
    bash.args(["-c", "true"]);
    let theirs = time(|| bash.status().expect("bash"));
    print(Row {
        what: "save of one of 1,000 to its results".to_owned(),
        ours: ms(took),
        baseline: ("bash -c of the same command", ms(theirs)),
        ratio: took.as_secs_f64() / theirs.as_secs_f64(),
        goal: None,
    });
}

/// A daemon, until this is dropped.
struct Daemon(Child);

impl Daemon {
    /// Every file was looked at when this returns.
    fn start(project: &Project) -> Self {
        let mut command = project.command(CLADA);
        command
            .args(["daemon", "--no-clipboard"])
            .env("CLADA_LOG", "info");
        let mut daemon = command.stderr(Stdio::piped()).spawn().expect("clada");
        let mut said = BufReader::new(daemon.stderr.take().expect("its log"));
        let mut line = String::new();
        while !line.contains("watching files=") {
            line.clear();
            assert!(
                said.read_line(&mut line).expect("a line") > 0,
                "it has ended"
            );
        }
        thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Self(daemon)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.0);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.0.wait();
    }
}
