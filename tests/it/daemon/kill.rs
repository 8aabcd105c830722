//! clada is killed at any moment and started again: no task runs twice, what was cut short is told and offered, and no
//! line of the notes is lost.

use std::collections::BTreeSet;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{NOTES, Notes, exec, lines, tick_newest, wait_for_results};
use crate::chance::Chance;
#[cfg(target_os = "linux")]
use crate::harness::skip;
use crate::harness::{Project, Watching, save_by_rename, wait_until};

/// The longest time from a save, or from a start, to the kill.
const LATEST: Duration = Duration::from_millis(80);

/// Git's locks are files, and outlive whoever made them.
const GIT_LOCKS: [&str; 3] = ["index.lock", "HEAD.lock", "refs/heads/main.lock"];

/// A moment before the latest.
fn moment(chance: &mut Chance) -> Duration {
    Duration::from_micros(chance.below(LATEST.as_micros() as u64))
}

/// What a task does; each leaves a line of its own, which is there twice if it ran twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Appends,
    SleepsThenAppends,
    AppendsThenSleeps,
    Edits,
    /// The next task edits the same file, so the line of that is lost if this runs once more.
    Overwrites,
}

#[derive(Debug, Clone)]
struct Task {
    does: Does,
    line: String,
    /// Where the line is to be.
    file: String,
    batch: usize,
    /// How often the line is there, as was found right before.
    there: usize,
}

impl Task {
    /// Command and target, as in its line in the block.
    fn label(&self) -> String {
        let Self { line, file, .. } = self;
        match self.does {
            Does::Appends => format!("exec echo {line} >> {file}"),
            Does::AppendsThenSleeps => format!("exec echo {line} >> {file} …"),
            Does::SleepsThenAppends => format!("exec sleep 0.03; echo {line} >> {file}"),
            Does::Edits => format!("edit {file}"),
            Does::Overwrites => format!("overwrite {file}"),
        }
    }

    fn markup(&self) -> String {
        let Self { line, file, .. } = self;
        let exec = |script: &str| format!("<c>exec</c>\n<x>\n{script}\n</x>");
        let asks = match self.does {
            Does::Appends => exec(&format!("echo {line} >> {file}")),
            Does::SleepsThenAppends => exec(&format!("sleep 0.03; echo {line} >> {file}")),
            Does::AppendsThenSleeps => exec(&format!("echo {line} >> {file}\nsleep 0.03")),
            Does::Edits => format!(
                "<path>{file}</path>\n<c>edit</c>\n<search>\nanchor\n</search>\n<replace>\nanchor\n{line}\n</replace>"
            ),
            Does::Overwrites => {
                format!("<path>{file}</path>\n<c>overwrite</c>\n<x>\nanchor\n{line}\n</x>")
            }
        };
        format!("<task>\n{asks}\n</task>\n")
    }

    fn count(&self, project: &Project) -> usize {
        let text = fs::read_to_string(project.path(&self.file)).unwrap_or_default();
        text.lines().filter(|line| **line == self.line).count()
    }

    /// The sign in front of it in the block; `None` where the block does not tell of it.
    #[track_caller]
    fn mark<'n>(&self, notes: &'n Notes) -> Option<&'n str> {
        let label = self.label();
        let tells = |line: &&String| {
            let rest = line.splitn(3, ' ').nth(2).unwrap_or_default();
            let rest = rest.strip_prefix(label.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" - "))
        };
        let mut lines = notes.results.iter().filter(tells);
        let line = lines.next()?;
        assert_eq!(lines.next(), None, "told twice: {:#?}", notes.results);
        line.split(' ').nth(1)
    }
}

/// What came of all kills.
#[derive(Debug, Default)]
struct Figures {
    rounds: usize,
    ticks: usize,
    /// When the kills after a save hit.
    before_the_first_task: usize,
    in_the_middle: usize,
    after_the_end: usize,
    /// Kills of a clada that had just been started again.
    second_kills: usize,
    /// Rounds after which the block told of a batch that was cut short.
    told: usize,
    /// Locks of git that a killed clada left. No clada takes them away, as they may be another program's.
    git_locks: usize,
    /// Texts that were in no notes at the start and were kept beside them, at the end.
    kept_beside: usize,
    took: Duration,
}

/// One project through many kills.
struct Story<'c> {
    project: Project,
    clada: Option<Watching>,
    chance: &'c mut Chance,
    figures: &'c mut Figures,
    /// All that the person has written.
    body: String,
    tasks: Vec<Task>,
}

impl<'c> Story<'c> {
    fn begin(project: Project, chance: &'c mut Chance, figures: &'c mut Figures) -> Self {
        let mut story = Self {
            project,
            clada: None,
            chance,
            figures,
            body: "My notes.\n".to_owned(),
            tasks: Vec::new(),
        };
        story.project.write(NOTES, &story.body);
        story.start();
        // Killed before it has noted its first look at the file, clada would take what is saved here for old text.
        story.body += "<tasks><task><c>exec</c><x>true</x></task></tasks>\n";
        save_by_rename(&story.project.path(NOTES), &story.body);
        wait_until(
            || story.project.read(NOTES).contains("1 ✅ exec true"),
            || format!("the first results in {}", story.project.read(NOTES)),
        );
        story
    }

    fn start(&mut self) {
        self.clada = Some(self.project.watch(["--no-clipboard"]));
    }

    fn kill(&mut self) {
        let clada = self.clada.take().expect("a clada");
        clada.signal(Signal::KILL);
        clada.end();
        let git = self.project.path(".git");
        let locks = GIT_LOCKS.map(|lock| fs::remove_file(git.join(lock)));
        self.figures.git_locks += locks.iter().filter(|deleted| deleted.is_ok()).count();
    }

    fn notes(&self) -> Option<Notes> {
        Notes::parse(&fs::read_to_string(self.project.path(NOTES)).unwrap_or_default())
    }

    /// Tasks of a batch that is new.
    fn invent(&mut self, batch: usize) -> Vec<Task> {
        let mut tasks = Vec::new();
        let mut add = |does, name: &str, file: &str| {
            tasks.push(Task {
                does,
                line: name.to_owned(),
                file: file.to_owned(),
                batch,
                there: 0,
            });
        };
        for place in 0..2 + self.chance.below(3) {
            let name = format!("b{batch}t{place}");
            let file = format!("{name}.txt");
            match self.chance.below(5) {
                0 => add(Does::Appends, &name, "n.txt"),
                1 => add(Does::SleepsThenAppends, &name, "n.txt"),
                2 => add(Does::AppendsThenSleeps, &name, "n.txt"),
                3 => {
                    self.project.write(&file, "anchor\n");
                    add(Does::Edits, &name, &file);
                }
                _ => {
                    self.project.write(&file, "anchor\nold\n");
                    add(Does::Overwrites, &name, &file);
                    add(Does::Edits, &format!("{name}e"), &file);
                }
            }
        }
        tasks
    }

    /// Pastes one batch or two, and goes on until nothing is offered or the person has enough.
    fn round(&mut self) {
        let round = self.figures.rounds;
        self.figures.rounds += 1;
        let first = self.tasks.len();
        let mut reply = format!("Reply {round}:\n");
        for batch in 2 * round..2 * round + 1 + self.chance.below(2) as usize {
            let tasks = self.invent(batch);
            let markup: String = tasks.iter().map(Task::markup).collect();
            reply += &format!("<tasks>\n{markup}</tasks>\n");
            self.tasks.extend(tasks);
        }
        let text = self.project.read(NOTES) + &reply;
        self.body += &reply;
        let mut asked: Vec<usize> = (first..self.tasks.len()).collect();
        self.save_and_kill(text, &asked);
        while self.chance.one_in(2) {
            let notes = Notes::of(&self.project);
            asked.retain(|task| self.tasks[*task].mark(&notes) != Some("✅"));
            let text = self.project.read(NOTES);
            // What older results offer is none of this round's.
            if !notes.results.concat().contains("- [ ] run again") {
                break;
            }
            let ticked = tick_newest(&text);
            self.figures.ticks += 1;
            self.save_and_kill(ticked, &asked);
        }
    }

    /// Saves a text that asks for tasks, kills clada at some moment, starts it again, and looks at what became of it.
    fn save_and_kill(&mut self, text: String, asked: &[usize]) {
        let path = self.project.path(NOTES);
        match self.chance.one_in(2) {
            true => save_by_rename(&path, text),
            false => fs::write(&path, text).expect("write"),
        }
        sleep(moment(self.chance));
        self.kill();
        let was_over = self.is_over(asked);
        if self.chance.one_in(4) {
            let line = format!("Written without clada, {}.\n", self.body.len());
            let text = self.project.read(NOTES) + &line;
            self.body += &line;
            save_by_rename(&path, text);
        }
        if self.chance.one_in(3) {
            let mut command = self.project.command(env!("CARGO_BIN_EXE_clada"));
            command.args(["watch", "--no-clipboard"]);
            self.clada = Some(Watching::start(command));
            sleep(moment(self.chance));
            self.kill();
            self.figures.second_kills += 1;
        }
        self.start();
        wait_until(
            || {
                self.tick_again();
                self.is_over(asked)
            },
            || {
                let said = self.clada.as_ref().map(Watching::said);
                let labels: Vec<_> = asked.iter().map(|task| self.tasks[*task].label()).collect();
                format!("{labels:#?} in {}\n{said:?}", self.project.read(NOTES))
            },
        );
        // The text from before goes when the new one is in its place.
        wait_until(
            || self.beside(".clada-tmp-") == 0,
            || "the temporary files to go".to_owned(),
        );
        self.check(asked);
        let told = Notes::of(&self.project)
            .results
            .concat()
            .contains("⚠ clada stopped");
        self.figures.told += usize::from(told);
        match (was_over, told) {
            (true, _) => self.figures.after_the_end += 1,
            (false, true) => self.figures.in_the_middle += 1,
            (false, false) => self.figures.before_the_first_task += 1,
        }
    }

    /// Ticks anew where a tick did not count, as nobody could tell who made it.
    fn tick_again(&self) {
        let is_void = |line: &String| {
            line.starts_with("⚠ a tick ") || line.starts_with("⚠ ticks are ignored")
        };
        let is_void = |notes: Notes| notes.results.len() == 1 && is_void(&notes.results[0]);
        if !self.notes().is_some_and(is_void) {
            return;
        }
        let text = self.project.read(NOTES);
        if !text.contains("- [x] run") {
            save_by_rename(&self.project.path(NOTES), tick_newest(&text));
        }
    }

    /// Whether the block tells of all these tasks, and no tick is left in it.
    fn is_over(&self, asked: &[usize]) -> bool {
        self.notes().is_some_and(|notes| {
            !notes.results.iter().any(|line| line.contains("- [x] "))
                && asked
                    .iter()
                    .all(|task| self.tasks[*task].mark(&notes).is_some())
        })
    }

    #[track_caller]
    fn check(&mut self, asked: &[usize]) {
        let notes = Notes::of(&self.project);
        let results = &notes.results;
        assert_eq!(notes.body, self.body, "a line is lost or doubled");
        let mut cut_short = BTreeSet::new();
        for index in 0..self.tasks.len() {
            let task = &self.tasks[index];
            let now = task.count(&self.project);
            let is_asked = asked.contains(&index);
            // A tick that clada took before it was killed runs what an earlier round had asked for.
            let mark = task.mark(&notes);
            assert!(mark.is_some() || !is_asked, "{task:?} is not told");
            let new = match task.does {
                // Once more makes no second line.
                Does::Overwrites if now > 0 && matches!(mark, Some("✅" | "⚠")) => 1,
                _ => now - task.there,
            };
            let may_be = match mark {
                Some("✅") if is_asked => 1..=1,
                Some("✅" | "⚠") => 0..=1,
                Some("⏹" | "⏭") | None => 0..=0,
                other => panic!("{other:?}: {results:#?}"),
            };
            assert!(
                may_be.contains(&new),
                "{task:?} is there {now} times: {results:#?}"
            );
            if matches!(mark, Some("⚠" | "⏹")) {
                cut_short.insert(task.batch);
            }
            self.tasks[index].there = now;
        }
        let offers = results
            .iter()
            .filter(|line| line.ends_with(" - [ ] run again"));
        assert_eq!(offers.count(), cut_short.len(), "{results:#?}");
        if self.project.exists(".git") {
            self.project.git(["fsck", "--no-dangling"]);
        }
    }

    /// How many files of clada's own are beside the notes.
    fn beside(&self, prefix: &str) -> usize {
        let entries = fs::read_dir(self.project.root()).expect("read dir");
        let names = entries.map(|entry| entry.expect("entry").file_name());
        names
            .filter(|name| name.to_string_lossy().starts_with(prefix))
            .count()
    }
}

/// Two projects, with git and without, are each killed in so many rounds, and two new ones after them.
fn killed_in(stories: usize, rounds: usize) -> Figures {
    let mut chance = Chance::new();
    let mut figures = Figures::default();
    let start = Instant::now();
    for story in 0..stories {
        let project = match story % 2 {
            0 => Project::with_git(),
            _ => Project::new(),
        };
        let mut story = Story::begin(project, &mut chance, &mut figures);
        for _ in 0..rounds {
            story.round();
        }
        let kept_beside = story.beside(".clada-saved-");
        figures.kept_beside += kept_beside;
    }
    figures.took = start.elapsed();
    figures
}

#[test]
fn a_kill_makes_no_task_run_twice_and_loses_no_line() {
    killed_in(2, 12);
}

/// `cargo test --test it many_kills -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes"]
fn many_kills_make_no_task_run_twice_and_lose_no_line() {
    eprintln!("{:#?}", killed_in(12, 25));
}

/// A command ends with clada, and so does all that it started.
#[test]
#[cfg(target_os = "linux")]
fn the_command_of_a_killed_clada_is_dead_when_that_is_told() {
    let project = Project::new();
    let clada = project.watch(["--no-clipboard"]);
    let script = "setsid sleep 300 & echo $! > child\necho $$ > shell\nwait";
    save_by_rename(&project.path(NOTES), exec(script));
    let written = || fs::read_to_string(project.path("shell")).is_ok_and(|pid| pid.ends_with('\n'));
    wait_until(written, || clada.said());
    clada.signal(Signal::KILL);
    clada.end();
    let _again = project.watch(["--no-clipboard"]);
    wait_for_results(
        &project,
        "1 ⚠ exec setsid sleep 300 & echo $! > child … - interrupted",
    );
    for file in ["shell", "child"] {
        assert!(!project.command_runs(&project.read(file)), "{file}");
    }
}

/// Where a line of strace shows that one of these has ended well, or that another has begun.
#[cfg(target_os = "linux")]
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// The ledger's journal is on the disk.
    Synced,
    /// The task that leaves this in its call was let loose.
    Acted(&'static str),
}

/// The steps of clada in the order of its calls. A call that another process interrupted has two lines.
#[cfg(target_os = "linux")]
fn steps(trace: &str, acts: &[&'static str]) -> Vec<Step> {
    let mut syncing = BTreeSet::new();
    let mut steps = Vec::new();
    for line in trace.lines() {
        let Some((process, call)) = line.split_once(' ') else {
            continue;
        };
        if call.contains("sync(") && call.contains("/ledger.db-wal>") {
            syncing.insert(process);
        }
        if call.contains("sync") && call.ends_with("= 0") && syncing.remove(process) {
            steps.push(Step::Synced);
        }
        let begins = !call.contains("resumed>") && !call.contains("sync(");
        if let Some(act) = acts.iter().find(|act| begins && call.contains(**act)) {
            steps.push(Step::Acted(act));
        }
    }
    steps
}

/// A power cut leaves what was synced.
#[test]
#[cfg(target_os = "linux")]
fn each_task_starts_when_its_start_is_on_the_disk() {
    let project = Project::new();
    project.write("e.txt", "anchor\n");
    let trace = project.home().join("trace");
    let mut command = project.command("strace");
    command
        .args(["-f", "-y", "-s", "200", "-e"])
        .arg("trace=fsync,fdatasync,execve,rename,renameat,renameat2,linkat")
        .arg("-o")
        .arg(&trace)
        .args([env!("CARGO_BIN_EXE_clada"), "watch", "--no-clipboard"]);
    let can_trace = project.command("strace").args(["-f", "true"]).output();
    if !can_trace.is_ok_and(|ended| ended.status.success()) {
        skip("no strace here");
        return;
    }
    let clada = Watching::start(command);
    clada.wait_for("watching ");
    let edit = Task {
        does: Does::Edits,
        line: "edited".to_owned(),
        file: "e.txt".to_owned(),
        batch: 0,
        there: 0,
    };
    let edit = edit.markup();
    let reply = exec("echo one").replace("</tasks>", &format!("{edit}</tasks>"));
    save_by_rename(&project.path(NOTES), reply + &exec("echo two"));
    wait_for_results(&project, "3 ✅ exec echo two");
    let acts = ["\"echo one", "\"e.txt\"", "\"echo two"];
    let trace = fs::read_to_string(&trace).expect("trace");
    // Where strace is killed, clada goes on.
    let pid = trace
        .split_whitespace()
        .next()
        .and_then(|pid| pid.parse().ok());
    let pid = pid
        .and_then(rustix::process::Pid::from_raw)
        .expect("a process");
    rustix::process::kill_process(pid, Signal::TERM).expect("it runs");
    let steps = steps(&trace, &acts);
    let mut acted = steps
        .iter()
        .enumerate()
        .filter(|(_, step)| **step != Step::Synced);
    for act in acts {
        let (place, step) = acted.next().expect("a task that was started");
        assert_eq!(*step, Step::Acted(act), "{steps:?}");
        assert!(
            place > 0 && steps[place - 1] == Step::Synced,
            "{act} is not behind a sync of its own: {steps:?}"
        );
    }
    assert_eq!(acted.next(), None, "{steps:?}");
}

/// A notes file and its clada, beside others in the same root.
struct Desk {
    notes: &'static str,
    clada: Option<Watching>,
    body: String,
    lines: Vec<String>,
}

impl Desk {
    fn start(&mut self, project: &Project) {
        self.clada = Some(project.watch(["--no-clipboard", self.notes]));
    }

    fn kill(&mut self) {
        let clada = self.clada.take().expect("a clada");
        clada.signal(Signal::KILL);
        clada.end();
    }

    /// Saves a batch of execs. Each takes a lock that nobody else may have, and gives it back before it leaves its line.
    fn paste(&mut self, project: &Project, round: usize) {
        let tasks = (0..3).map(|task| {
            let line = format!("{}-{round}-{task}", self.notes);
            let script = format!(
                "name={line}\nmkdir lock || echo \"$(cat lock/name)\" >> met.txt\necho $name > lock/name\n\
                 sleep 0.02\nrm lock/name\nrmdir lock\necho $name >> n.txt"
            );
            self.lines.push(line);
            exec(&script)
        });
        let reply: String = tasks.collect();
        let path = project.path(self.notes);
        let text = fs::read_to_string(&path).expect("read") + &reply;
        self.body += &reply;
        save_by_rename(&path, text);
    }

    /// The marks of the last batches' tasks; `None` until the block tells of all of them.
    fn marks(&self, project: &Project) -> Option<Vec<String>> {
        let text = fs::read_to_string(project.path(self.notes)).unwrap_or_default();
        let notes = Notes::parse(&text)?;
        let marks = self.lines[self.lines.len() - 3..].iter().map(|line| {
            let tells = |told: &&String| told.contains(&format!(" exec name={line} "));
            let told = notes.results.iter().find(tells)?;
            told.split(' ').nth(1).map(str::to_owned)
        });
        marks.collect()
    }
}

#[test]
fn batches_of_two_cladas_that_are_killed_never_overlap() {
    let project = Project::new();
    let mut chance = Chance::new();
    let mut desks = ["a.md", "b.md"].map(|notes| {
        project.write(notes, "My notes.\n");
        Desk {
            notes,
            clada: None,
            body: "My notes.\n".to_owned(),
            lines: Vec::new(),
        }
    });
    desks.iter_mut().for_each(|desk| desk.start(&project));
    let mut done = 0;
    for round in 0..10 {
        for desk in &mut desks {
            desk.paste(&project, round);
            sleep(moment(&mut chance) / 4);
        }
        sleep(moment(&mut chance));
        let first = chance.below(2) as usize;
        for which in [first, 1 - first] {
            if chance.one_in(4) {
                continue;
            }
            desks[which].kill();
            sleep(moment(&mut chance) / 4);
            desks[which].start(&project);
        }
        for desk in &desks {
            wait_until(
                || desk.marks(&project).is_some(),
                || format!("{:?} in {}", desk.lines.last(), project.read(desk.notes)),
            );
            let left = lines(&project, "n.txt");
            let marks = desk.marks(&project).expect("marks");
            for (line, mark) in desk.lines[desk.lines.len() - 3..].iter().zip(&marks) {
                let times = left.iter().filter(|left| *left == line).count();
                let may_be = match mark.as_str() {
                    "✅" => 1..=1,
                    "⚠" => 0..=1,
                    other => panic!("{other}: {line}"),
                };
                assert!(
                    may_be.contains(&times),
                    "{line} {mark} is there {times} times"
                );
                done += times;
            }
            let notes = Notes::parse(&project.read(desk.notes)).expect("block");
            assert_eq!(notes.body, desk.body);
        }
    }
    let left = lines(&project, "n.txt");
    assert_eq!(left.len(), done, "{left:?}");
    // Whoever was killed left its lock, and no line.
    for met in lines(&project, "met.txt") {
        assert!(!left.contains(&met), "another batch ran beside {met}");
    }
}

#[test]
fn a_tick_for_several_batches_outlives_a_kill_in_the_first() {
    let project = Project::new();
    let body = exec("echo one >> n.txt; touch started; sleep 300") + &exec("echo two >> n.txt");
    project.write(NOTES, &body);
    let clada = project.watch(["--no-clipboard"]);
    wait_for_results(&project, "2 tasks were here before clada began to watch");
    let ticked = project.read(NOTES).replace("- [ ] ", "- [x] ");
    save_by_rename(&project.path(NOTES), ticked);
    wait_until(|| project.exists("started"), || clada.said());
    clada.signal(Signal::KILL);
    clada.end();
    let _again = project.watch(["--no-clipboard"]);
    let notes = wait_for_results(&project, "✅ exec echo two");
    assert!(
        notes
            .results
            .iter()
            .any(|line| line.starts_with("1 ⚠ exec echo one"))
    );
    assert_eq!(lines(&project, "n.txt"), ["one", "two"]);
}

#[test]
fn a_tick_does_not_count_for_a_block_that_reads_the_same() {
    let project = Project::new();
    let started = |clada: &Watching| {
        wait_until(|| project.exists("started"), || clada.said());
        fs::remove_file(project.path("started")).expect("remove");
        clada.signal(Signal::KILL);
    };
    let clada = project.watch(["--no-clipboard"]);
    let text = exec("echo one >> n.txt; touch started; sleep 300");
    save_by_rename(&project.path(NOTES), text);
    started(&clada);
    clada.end();
    let clada = project.watch(["--no-clipboard"]);
    wait_for_results(&project, "⚠ clada stopped");
    let ticked = project.read(NOTES).replace("- [ ] ", "- [x] ");
    save_by_rename(&project.path(NOTES), ticked);
    started(&clada);
    clada.end();
    // Within one minute the block that tells of the second run is the one that told of the first.
    let _again = project.watch(["--no-clipboard"]);
    wait_for_results(&project, " - [ ] run again");
    let text = project.read(NOTES) + &exec("echo late >> n.txt");
    save_by_rename(&project.path(NOTES), text);
    wait_for_results(&project, "✅ exec echo late");
    assert_eq!(lines(&project, "n.txt"), ["one", "one", "late"]);
}

#[test]
fn what_had_not_begun_runs_when_the_notes_can_be_read_again() {
    let project = Project::with_git();
    let clada = project.watch(["--no-clipboard"]);
    project.write(".git/index.lock", "");
    save_by_rename(&project.path(NOTES), exec("echo one >> n.txt"));
    wait_for_results(&project, "1 ⏹ exec echo one");
    clada.signal(Signal::KILL);
    clada.end();
    fs::remove_file(project.path(".git/index.lock")).expect("remove");
    fs::rename(project.path(NOTES), project.path("good.md")).expect("rename");
    project.write(NOTES, "\0");
    let again = project.watch(["--no-clipboard"]);
    again.wait_for("is not text");
    fs::rename(project.path("good.md"), project.path(NOTES)).expect("rename");
    wait_for_results(&project, "1 ✅ exec echo one");
    assert_eq!(lines(&project, "n.txt"), ["one"]);
}

#[test]
#[cfg(target_os = "linux")]
fn what_could_not_be_noted_does_not_run_after_a_kill() {
    let project = Project::new();
    project.write(NOTES, "My notes.\n");
    let clada = project.watch(["--no-clipboard"]);
    let ledger = project.state_folder().join("ledger.db");
    let ledger = rusqlite::Connection::open(ledger).expect("ledger");
    ledger.execute_batch("BEGIN IMMEDIATE").expect("lock");
    let other = "\n=== CLADA RESULTS ===\n1 ✅ exec date\n=== END ===\n\n";
    let body = format!("My notes.\n{}", exec("echo theirs >> n.txt"));
    save_by_rename(&project.path(NOTES), format!("{other}{body}"));
    clada.wait_for("another program has locked the ledger");
    ledger.execute_batch("COMMIT").expect("unlock");
    wait_for_results(&project, "1 task came with results of another clada");
    let text = project.read(NOTES) + &exec("echo mine >> n.txt");
    save_by_rename(&project.path(NOTES), text);
    wait_for_results(&project, "1 ✅ exec echo mine");
    clada.signal(Signal::KILL);
    clada.end();
    let _again = project.watch(["--no-clipboard"]);
    let text = project.read(NOTES) + &exec("echo late >> n.txt");
    save_by_rename(&project.path(NOTES), text);
    wait_for_results(&project, "✅ exec echo late");
    assert_eq!(lines(&project, "n.txt"), ["mine", "late"]);
}
