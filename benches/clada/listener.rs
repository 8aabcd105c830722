//! Figures of a real listener on a real file: from a save to the command it asks for, and what it costs to wait.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use notify::{RecursiveMode, Watcher as _};

use crate::project::{CLADA, Project, Watch, number_behind, task};
use crate::table::{Pair, Row, ms, paired};

/// How long anything may take before the benchmark is given up.
const PATIENCE: Duration = Duration::from_secs(20);

/// The quiet time of a file that somebody keeps open.
const QUIET: Duration = Duration::from_millis(100);

pub(crate) fn saves(print: &mut dyn FnMut(Row)) {
    let at_once = Duration::from_millis(10);
    for (what, save) in [
        (
            "by rename",
            Listener::save_by_rename as fn(&mut Listener) -> Instant,
        ),
        ("by writing and closing", Listener::save_in_place),
    ] {
        let pair = Listener::new(false).measure(30, save, Duration::ZERO);
        print(row(
            what,
            &pair,
            format!("{} ms", at_once.as_millis()),
            pair.ours <= at_once,
        ));
    }
    let pair = Listener::new(false).measure(10, Listener::save_and_keep_open, QUIET);
    let in_time = pair.ours <= Duration::from_millis(5);
    print(row(
        "kept open, after 100 ms of quiet",
        &pair,
        "5 ms".to_owned(),
        in_time,
    ));
}

fn row(what: &str, pair: &Pair, goal: String, met: bool) -> Row {
    Row {
        what: what.to_owned(),
        ours: ms(pair.ours),
        baseline: ("bash -c of the same command", ms(pair.theirs)),
        ratio: pair.ratio,
        goal: Some((goal, met)),
    }
}

/// Nothing happens for some seconds, after a command has run.
pub(crate) fn idle(print: &mut dyn FnMut(Row)) {
    measure_idle("without a clipboard", false, print);
    if std::env::var_os("DISPLAY").is_some() {
        measure_idle("owning the clipboard", true, print);
    } else {
        println!("idle owning the clipboard: there is no DISPLAY to measure it on");
    }
}

fn measure_idle(what: &str, clipboard: bool, print: &mut dyn FnMut(Row)) {
    const LONG: Duration = Duration::from_secs(3);
    let mut listener = Listener::new(clipboard);
    listener.save_by_rename();
    listener.command_started();
    listener.wait_for_results();
    let mut sleep = Command::new("sleep").arg("1000").spawn().expect("sleep");
    thread::sleep(Duration::from_millis(500));
    let pids = [listener.clada.0.id(), sleep.id()];
    let before = pids.map(wake_ups);
    thread::sleep(LONG);
    let after = pids.map(wake_ups);
    let memory = pids.map(resident);
    let count = pids.map(|pid| threads(&pid.to_string()).len());
    let _ = sleep.kill().and_then(|()| sleep.wait());

    let woken = [0, 1].map(|which| after[which] - before[which]);
    print(Row {
        what: format!("{what}, wake-ups in 3 s"),
        ours: woken[0].to_string(),
        baseline: ("sleep 1000", woken[1].to_string()),
        ratio: f64::NAN,
        goal: Some(("none".to_owned(), woken[0] == 0)),
    });
    let mb = memory.map(|kib| kib as f64 * 1024.0 / 1e6);
    print(Row {
        what: format!("{what}, resident memory"),
        ours: format!("{:.1} MB", mb[0]),
        baseline: ("sleep 1000", format!("{:.1} MB", mb[1])),
        ratio: mb[0] / mb[1],
        goal: Some(("<= 9 MB".to_owned(), mb[0] <= 9.0)),
    });
    print(Row {
        what: format!("{what}, threads"),
        ours: count[0].to_string(),
        baseline: ("sleep 1000", count[1].to_string()),
        ratio: f64::NAN,
        goal: Some(("<= 4".to_owned(), count[0] <= 4)),
    });
}

/// Other files in the directory change all the time. The baseline reads the same events at the same time.
pub(crate) fn storm(print: &mut dyn FnMut(Row)) {
    const LONG: Duration = Duration::from_secs(5);
    let listener = Listener::new(false);
    let root = listener.project.root();
    let before = threads("self");
    let mut watcher = notify::recommended_watcher(|_| {}).expect("a watcher");
    watcher
        .watch(&root, RecursiveMode::NonRecursive)
        .expect("a directory");
    // What reads the events is the thread that was not there before.
    let raw: Vec<PathBuf> = threads("self")
        .into_iter()
        .filter(|thread| !before.contains(thread))
        .collect();
    let ours = || threads(&listener.clada.0.id().to_string());
    change_others(&root, Duration::from_secs(1));

    let (cpu, memory) = ([busy(&ours()), busy(&raw)], resident(listener.clada.0.id()));
    let clock = Instant::now();
    let changes = change_others(&root, LONG);
    let took = clock.elapsed().as_secs_f64();
    thread::sleep(Duration::from_millis(100));
    let used = [busy(&ours()) - cpu[0], busy(&raw) - cpu[1]];
    let more = resident(listener.clada.0.id()).saturating_sub(memory);

    let [clada, notify] = used.map(|used| used.as_secs_f64() / took * 100.0);
    let a_second = changes as f64 / took;
    print(Row {
        what: format!("of {a_second:.0} a second, CPU"),
        ours: format!("{clada:.1} %"),
        baseline: ("notify, events thrown away", format!("{notify:.1} %")),
        ratio: clada / notify,
        goal: Some(("+ 5 %".to_owned(), clada <= notify + 5.0)),
    });
    let grown = more as f64 * 1024.0 / 1e6;
    print(Row {
        what: format!("of {changes}, more memory"),
        ours: format!("{grown:.1} MB"),
        baseline: ("none", "0.0 MB".to_owned()),
        ratio: f64::NAN,
        goal: Some(("< 1 MB".to_owned(), grown < 1.0)),
    });
}

/// Writes 10 of 100 files in each millisecond, as far as the system keeps up; how many it wrote.
fn change_others(root: &Path, long: Duration) -> usize {
    let others: Vec<PathBuf> = (0..100)
        .map(|number| root.join(format!("other{number}.txt")))
        .collect();
    let clock = Instant::now();
    let mut changes = 0;
    while clock.elapsed() < long {
        let due = clock.elapsed().as_millis() as usize * 10;
        while changes < due {
            fs::write(&others[changes % others.len()], "text\n").expect("write");
            changes += 1;
        }
        thread::sleep(Duration::from_millis(1));
    }
    changes
}

/// The threads of a process.
pub(crate) fn threads(pid: &str) -> Vec<PathBuf> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("a process");
    tasks.flatten().map(|task| task.path()).collect()
}

/// How long these threads have been running on some processor.
pub(crate) fn busy(threads: &[PathBuf]) -> Duration {
    let nanoseconds = |thread: &PathBuf| -> u64 {
        let told = fs::read_to_string(thread.join("schedstat")).unwrap_or_default();
        told.split_whitespace()
            .next()
            .and_then(|number| number.parse().ok())
            .expect("a scheduler that counts")
    };
    Duration::from_nanos(threads.iter().map(nanoseconds).sum())
}

/// How often all threads of a process went to sleep: each time they had been awake.
fn wake_ups(pid: u32) -> u64 {
    let of_thread = |status: String| number_behind(&status, "voluntary_ctxt_switches:");
    threads(&pid.to_string())
        .iter()
        .map(|thread| fs::read_to_string(thread.join("status")).map_or(0, of_thread))
        .sum()
}

/// In units of 1024 bytes.
pub(crate) fn resident(pid: u32) -> u64 {
    number_behind(
        &fs::read_to_string(format!("/proc/{pid}/status")).expect("a process"),
        "VmRSS:",
    )
}

/// A `clada watch` in a small git repository, and a pipe into which its commands write.
struct Listener {
    // Ends before its project does.
    clada: Watch,
    project: Project,
    notes: PathBuf,
    text: String,
    replies: usize,
    started: Receiver<Instant>,
    /// A save that is not closed yet.
    open: Option<File>,
}

impl Listener {
    fn new(clipboard: bool) -> Self {
        let project = Project::with_git();
        let notes = project.path("root/clada.md");
        fs::write(&notes, "notes\n").expect("write");
        let mut pipe = project.pipe("started");
        let (sender, started) = mpsc::channel();
        thread::spawn(move || {
            let mut buffer = [0; 64];
            while pipe.read(&mut buffer).is_ok_and(|read| read > 0)
                && sender.send(Instant::now()).is_ok()
            {}
        });
        let mut command = project.command(CLADA);
        command.arg("watch");
        match std::env::var_os("DISPLAY").filter(|_| clipboard) {
            Some(display) => command.env("DISPLAY", display),
            None => command.arg("--no-clipboard"),
        };
        Self {
            clada: Watch::start(&mut command),
            project,
            notes,
            text: "notes\n".to_owned(),
            replies: 0,
            started,
            open: None,
        }
    }

    /// Saves, in turn with running the same command without clada. So long after a save it may count as one.
    fn measure(self, rounds: usize, save: fn(&mut Self) -> Instant, due: Duration) -> Pair {
        let listener = RefCell::new(self);
        let ours = || {
            let mut listener = listener.borrow_mut();
            let saved = save(&mut listener);
            let took = listener
                .command_started()
                .saturating_duration_since(saved + due);
            listener.open = None;
            listener.wait_for_results();
            took
        };
        let theirs = || {
            let listener = listener.borrow();
            let mut bash = listener.project.command("/bin/bash");
            bash.arg("-c").arg(listener.command());
            let clock = Instant::now();
            let mut child = bash.spawn().expect("bash");
            let took = listener.command_started().duration_since(clock);
            let _ = child.wait();
            took
        };
        paired(rounds, ours, theirs)
    }

    /// A command that says by its first act that it has started.
    fn command(&self) -> String {
        format!(
            "echo {} >'{}'",
            self.replies,
            self.project.path("started").display()
        )
    }

    /// The text with one more reply at its end.
    fn next_reply(&mut self) -> &str {
        self.replies += 1;
        let command = self.command();
        let _ = write!(
            self.text,
            "\nReply {0}, as it came from the chat:\n\n<tasks>\n{1}</tasks>\n\nThat was reply {0}.\n",
            self.replies,
            task(&command)
        );
        &self.text
    }

    fn save_by_rename(&mut self) -> Instant {
        let beside = self.project.path("root/.clada.md.swp");
        fs::write(&beside, self.next_reply()).expect("write");
        let saved = Instant::now();
        fs::rename(&beside, &self.notes).expect("rename");
        saved
    }

    fn save_in_place(&mut self) -> Instant {
        let file = self.write_in_place();
        let saved = Instant::now();
        drop(file);
        saved
    }

    fn save_and_keep_open(&mut self) -> Instant {
        let file = self.write_in_place();
        self.open = Some(file);
        Instant::now()
    }

    fn write_in_place(&mut self) -> File {
        let mut file = File::create(&self.notes).expect("create");
        file.write_all(self.next_reply().as_bytes()).expect("write");
        file
    }

    fn command_started(&self) -> Instant {
        self.started
            .recv_timeout(PATIENCE)
            .expect("the command starts")
    }

    /// They are on top of the file when all else is done.
    fn wait_for_results(&self) {
        let clock = Instant::now();
        while !fs::read_to_string(&self.notes).is_ok_and(|text| text.contains("=== END ===")) {
            assert!(
                clock.elapsed() < PATIENCE,
                "no results in {}",
                self.notes.display()
            );
            thread::sleep(Duration::from_millis(5));
        }
        // What follows the results (the listener sees its own save) is no part of the next round.
        thread::sleep(Duration::from_millis(20));
    }
}
