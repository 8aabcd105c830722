//! Checks that the ledger gives back what it was given, after every kind of end, with real databases. Never runs outside tests.

use super::blocks::{BLOCKS, FOREIGN_BLOCKS};
use super::*;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::reply::record::{
    Commits, Fate, FileState, Key, Number, Offer, Prose, Record, Spot, TaskRecord, TaskTarget,
    TickSource,
};

const NO_STATE: SavedState<'_> = SavedState {
    state: "",
    present: &[],
};

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self { directory }
    }

    /// Missing at first.
    fn folder(&self) -> PathBuf {
        self.directory.path().join("state/clada")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    fn open(&self) -> Ledger {
        Ledger::open(&self.folder()).unwrap()
    }

    fn refused(&self) -> LedgerError {
        Ledger::open(&self.folder()).unwrap_err()
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "ledger.lock")
            .collect();
        names.sort();
        names
    }
}

/// The ledger with one file.
fn with_file(place: &Place) -> (Ledger, FileId) {
    let mut ledger = place.open();
    let file = ledger.add_file(Path::new("/n/clada.md")).unwrap();
    (ledger, file)
}

fn target(path: &str) -> TaskTarget {
    TaskTarget {
        path: path.to_owned(),
        before: FileState::UNKNOWN,
        after: FileState(Some("a".to_owned())),
    }
}

fn task(key: u64, fate: Fate) -> TaskRecord {
    TaskRecord {
        key: Key(key),
        tells: key % 2 == 1,
        fate,
    }
}

/// A record with extreme keys and a task of each fate.
fn record(number: Number) -> Record {
    Record {
        number,
        key: Key(u64::MAX - number),
        head: Key(0),
        prose: Prose {
            above: Some(Key(1 << 63)),
            below: None,
        },
        ran: None,
        tasks: vec![
            task(u64::MAX, Fate::Done(vec![target("a b/ü"), target("c")])),
            task(2, Fate::Failed),
            task(3, Fate::NotRun),
            task(4, Fate::Interrupted),
        ],
    }
}

/// A record of so many tasks that were not run.
fn fresh(number: Number, tasks: u64) -> Record {
    Record {
        tasks: (0..tasks).map(|key| task(key, Fate::NotRun)).collect(),
        ..record(number)
    }
}

fn words(record: &Record) -> Vec<(String, String)> {
    (0..record.tasks.len())
        .map(|n| ("edit".to_owned(), format!("f{n}")))
        .collect()
}

/// Begins a batch with its first task.
fn begin(ledger: &mut Ledger, file: FileId, record: &Record, now_ms: i64) -> Result<()> {
    begin_by(ledger, file, record, None, now_ms)
}

fn begin_by(
    ledger: &mut Ledger,
    file: FileId,
    record: &Record,
    offer: Option<TickSource>,
    now_ms: i64,
) -> Result<()> {
    let begun = BatchStart {
        record,
        text: "the text",
        id: "run-1",
        tasks: &words(record),
        again: None,
        first: Some(0),
        offer,
    };
    ledger.begin(file, &begun, NO_STATE, now_ms)
}

fn finish(ledger: &mut Ledger, file: FileId, number: Number, task: usize, now_ms: i64) {
    let ended = TaskEnded {
        fate: &Fate::Done(vec![target("t")]),
        mark: "done",
        message: Some("matched by white space"),
        now_ms,
    };
    ledger.finish(file, number, task, &ended).unwrap();
}

fn marks(batch: &LogBatch) -> Vec<&str> {
    let marks = batch.tasks.iter().map(|task| task.mark.as_deref());
    marks.map(|mark| mark.unwrap_or("-")).collect()
}

/// Runs a batch of one task from beginning to end.
fn run_whole(
    ledger: &mut Ledger,
    file: FileId,
    number: Number,
    now_ms: i64,
    sight: SavedState<'_>,
) {
    let record = fresh(number, 1);
    begin(ledger, file, &record, now_ms).unwrap();
    finish(ledger, file, number, 0, now_ms);
    let fates = [Fate::Done(Vec::new())];
    ledger
        .end(file, number, &fates, None, sight, now_ms)
        .unwrap();
}

#[test]
fn what_was_noted_comes_back() {
    let place = Place::new();
    let (mut ledger, file) = with_file(&place);
    let seed = ledger.seed();
    let mut ran = record(2);
    ran.ran = Some(77);
    let records = [record(1), ran];
    let tasks = words(&records[0]);
    let noted: Vec<Noted<'_>> = records
        .iter()
        .map(|record| Noted {
            record,
            text: "<tasks>\r\n",
            tasks: &tasks,
        })
        .collect();
    let sight = SavedState {
        state: "state 1",
        present: &[1, 2],
    };
    ledger.keep(file, &noted, sight, 5).unwrap();
    drop(ledger);

    let ledger = place.open();
    assert_eq!(ledger.seed(), seed);
    let known = ledger.file(Path::new("/n/clada.md")).unwrap().unwrap();
    assert_eq!((known.id, known.state.as_str()), (file, "state 1"));
    assert_eq!(ledger.records(file).unwrap(), records);
    assert_eq!(
        ledger.text(file, 1).unwrap().as_deref(),
        Some("<tasks>\r\n")
    );
    assert_eq!(ledger.text(file, 3).unwrap(), None);
    assert_eq!(ledger.file(Path::new("/n/other.md")).unwrap(), None);
    assert!(ledger.log(10, None).unwrap().is_empty(), "nothing began");
    assert_ne!(Place::new().open().seed(), seed);
}

#[test]
fn a_run_from_beginning_to_end() {
    let place = Place::new();
    let (mut ledger, file) = with_file(&place);
    let record = fresh(1, 3);
    let begun = BatchStart {
        record: &record,
        text: "text",
        id: "run-7",
        tasks: &words(&record),
        again: Some(9),
        first: Some(1),
        offer: None,
    };
    let sight = |state| SavedState {
        state,
        present: &[1],
    };
    ledger.begin(file, &begun, sight("one"), 10_500).unwrap();
    finish(&mut ledger, file, 1, 1, 11_000);
    ledger.start(file, 1, 2, 11_500).unwrap();
    let failed = TaskEnded {
        fate: &Fate::Failed,
        mark: "failed",
        message: None,
        now_ms: 12_000,
    };
    ledger.finish(file, 1, 2, &failed).unwrap();
    let running = ledger.last_run(file).unwrap().remove(0);
    assert_eq!(
        (running.ended_ms, marks(&running)),
        (None, vec!["-", "done", "failed"])
    );

    let fates = [
        Fate::NotRun,
        Fate::Done(vec![target("last word")]),
        Fate::Failed,
    ];
    let commits = Commits {
        before: "aaa".to_owned(),
        after: "bbb".to_owned(),
        private: true,
    };
    ledger
        .end(file, 1, &fates, Some(&commits), sight("two"), 13_000)
        .unwrap();

    let log = ledger.log(10, None).unwrap();
    let [batch] = log.as_slice() else {
        panic!("{log:?}")
    };
    assert_eq!(batch.path, Path::new("/n/clada.md"));
    assert_eq!(
        (batch.number, batch.id.as_str(), batch.again),
        (1, "run-7", Some(9))
    );
    assert_eq!((batch.began_ms, batch.ended_ms), (10_500, Some(13_000)));
    assert_eq!(batch.commits, Some(commits));
    assert_eq!(marks(batch), ["not-run", "done", "failed"]);
    let done = &batch.tasks[1];
    assert_eq!(
        (done.command.as_str(), done.target.as_str()),
        ("edit", "f1")
    );
    assert_eq!(done.message.as_deref(), Some("matched by white space"));
    assert_eq!((done.began_ms, done.ended_ms), (Some(10_500), Some(11_000)));
    let kept = &ledger.records(file).unwrap()[0];
    assert_eq!(kept.ran, Some(10));
    assert!(kept.tasks.iter().map(|task| &task.fate).eq(&fates));
    assert_eq!(ledger.file(&batch.path).unwrap().unwrap().state, "two");
    assert_eq!(ledger.untold(file, 14_000).unwrap(), log, "not told yet");
}

#[test]
fn the_log_is_newest_first_and_of_all_files() {
    let place = Place::new();
    let (mut ledger, file) = with_file(&place);
    let other = ledger.add_file(Path::new("/n/other.md")).unwrap();
    for (number, file, now) in [(1, file, 3_000), (1, other, 1_000), (2, file, 2_000)] {
        run_whole(&mut ledger, file, number, now, NO_STATE);
    }
    let began = |limit| -> Vec<i64> {
        let log = ledger.log(limit, None).unwrap();
        log.iter().map(|batch| batch.began_ms).collect()
    };
    assert_eq!(began(10), [3_000, 2_000, 1_000]);
    assert_eq!(began(1), [3_000]);
    assert_eq!(ledger.last_run(other).unwrap()[0].began_ms, 1_000);
}

/// Each step of a run, and what is told of it if it was the last one before a crash.
const STEPS: [(&str, [&str; 3]); 4] = [
    ("begin", ["interrupted", "skipped", "not-run"]),
    ("finish", ["done", "skipped", "not-run"]),
    ("start", ["done", "skipped", "interrupted"]),
    ("end", ["done", "skipped", "interrupted"]),
];

/// Takes the steps of a run up to that one.
fn run_until(ledger: &mut Ledger, file: FileId, last: &str) {
    let mut record = fresh(1, 3);
    record.tasks[1].fate = Fate::Done(vec![target("earlier")]);
    for (step, _) in STEPS {
        match step {
            "begin" => begin(ledger, file, &record, 1_000).unwrap(),
            "finish" => finish(ledger, file, 1, 0, 2_000),
            "start" => ledger.start(file, 1, 2, 3_000).unwrap(),
            _ => {
                let fates = [const { Fate::Failed }; 3];
                ledger.end(file, 1, &fates, None, NO_STATE, 4_000).unwrap();
            }
        }
        if step == last {
            break;
        }
    }
}

/// A block of results.
fn block(key: u64, text: &str) -> NewBlock<'_> {
    offering(key, text, &[])
}

/// A block of results with offers in these lines.
fn offering<'b>(key: u64, text: &'b str, offers: &'b [(usize, Offer)]) -> NewBlock<'b> {
    NewBlock {
        key: Key(key),
        text,
        offers,
        is_result: true,
    }
}

const RUNNING_BLOCK: NewBlock<'_> = NewBlock {
    key: Key(0),
    text: "running",
    offers: &[],
    is_result: false,
};

/// Asserts on what is found after a run that came no further than to that step.
fn assert_found(place: &Place, step: &str, expected: [&str; 3]) {
    let (mut ledger, file) = with_file(place);
    let found = ledger.untold(file, 9_000).unwrap();
    let [batch] = found.as_slice() else {
        panic!("after {step}: {found:?}")
    };
    assert_eq!(marks(batch), expected, "after {step}");
    let ended = if step == "end" { 4_000 } else { 9_000 };
    assert_eq!(batch.ended_ms, Some(ended));
    for (task, record) in batch
        .tasks
        .iter()
        .zip(&ledger.records(file).unwrap()[0].tasks)
    {
        let expected = match task.mark.as_deref() {
            _ if step == "end" => Fate::Failed,
            Some("interrupted") => Fate::Interrupted,
            Some("not-run") => Fate::NotRun,
            Some("skipped") => Fate::Done(vec![target("earlier")]),
            _ => Fate::Done(vec![target("t")]),
        };
        assert_eq!((&task.fate, &record.fate), (&expected, &expected));
    }
    ledger.add_block(file, RUNNING_BLOCK, 9).unwrap();
    assert_eq!(ledger.untold(file, 9_500).unwrap(), found, "not told yet");
    ledger.add_block(file, block(1, "results"), 9).unwrap();
    assert_eq!(ledger.untold(file, 9_500).unwrap(), [], "told once");
    assert!(matches!(
        begin(&mut ledger, file, &fresh(1, 3), 9_600),
        Err(LedgerError::Twice(_))
    ));
}

#[test]
fn an_untold_batch_is_found_after_every_step() {
    for (step, expected) in STEPS {
        let place = Place::new();
        let (mut ledger, file) = with_file(&place);
        run_until(&mut ledger, file, step);
        drop(ledger);
        assert_found(&place, step, expected);
    }
}

/// What a child process does with the folder that it is given: see [`child`].
#[test]
#[ignore = "the part of a test that runs in a process of its own"]
fn in_a_process_of_its_own() {
    let Some(folder) = std::env::var_os("LEDGER_FOLDER").map(PathBuf::from) else {
        return;
    };
    let act = std::env::var("LEDGER_ACT").unwrap();
    if act == "fill the disk" {
        return fill_the_disk(&folder);
    }
    let mut ledger = Ledger::open(&folder).unwrap();
    if let Some(name) = act.strip_prefix("many ") {
        let file = ledger.add_file(Path::new(name)).unwrap();
        for number in 1..=MANY {
            run_whole(&mut ledger, file, number, 1_000, NO_STATE);
        }
    } else {
        let file = ledger.add_file(Path::new("/n/clada.md")).unwrap();
        if act != "add" {
            run_until(&mut ledger, file, &act);
        }
    }
    #[allow(clippy::print_stdout, reason = "tells the parent")]
    {
        println!("\nREADY");
    }
    // The parent's end of it is closed when it has seen enough.
    let _ = std::io::stdin().read_line(&mut String::new());
}

const MANY: u64 = 20;

/// A process that does this with the ledger and then waits.
fn child(place: &Place, act: &str) -> Child {
    child_under(&[], place, act).spawn().unwrap()
}

/// The same by another program, to which it is handed.
fn child_under(by: &[&str], place: &Place, act: &str) -> Command {
    let own = std::env::current_exe().unwrap();
    let mut words = by.iter().map(Path::new).chain([own.as_path()]);
    let mut command = Command::new(words.next().unwrap());
    command
        .args(words)
        .args(["--exact", "world::ledger::tests::in_a_process_of_its_own"])
        .args(["--ignored", "--nocapture"])
        .env("LEDGER_FOLDER", place.folder())
        .env("LEDGER_ACT", act)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

fn wait_until_ready(child: &mut Child) {
    let said = BufReader::new(child.stdout.as_mut().unwrap());
    assert!(
        said.lines().any(|line| line.unwrap() == "READY"),
        "the child failed"
    );
}

#[test]
fn a_killed_process_leaves_what_it_wrote() {
    for (step, expected) in STEPS {
        let place = Place::new();
        let mut child = child(&place, step);
        wait_until_ready(&mut child);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(place.names().contains(&"ledger.db-wal".to_owned()));
        assert_found(&place, step, expected);
    }
}

#[test]
fn processes_write_at_the_same_time() {
    let place = Place::new();
    let names = ["/n/a.md", "/n/b.md"];
    let mut children = names.map(|name| child(&place, &format!("many {name}")));
    for child in &mut children {
        wait_until_ready(child);
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
    let ledger = place.open();
    for name in names {
        let file = ledger.file(Path::new(name)).unwrap().unwrap().id;
        let records = ledger.records(file).unwrap();
        assert!(records.iter().map(|record| record.number).eq(1..=MANY));
        let done = |record: &Record| record.tasks[0].fate == Fate::Done(Vec::new());
        assert!(records.iter().all(done));
    }
    assert_eq!(ledger.log(1_000, None).unwrap().len() as u64, 2 * MANY);
}

fn skipped(why: &str) {
    #[allow(clippy::print_stderr, reason = "says why a test does nothing")]
    {
        eprintln!("skipped: {why}");
    }
}

#[test]
fn what_begins_and_starts_is_synced_before_it_is_told() {
    let syncs = |act| {
        let place = Place::new();
        let trace = place.directory.path().join("trace");
        let by = ["strace", "-f", "-y", "-e", "trace=fsync,fdatasync", "-o"];
        let by = [&by[..], &[trace.to_str().unwrap()]].concat();
        let ended = child_under(&by, &place, act)
            .spawn()
            .and_then(Child::wait_with_output);
        if !ended.is_ok_and(|ended| ended.status.success()) {
            return None;
        }
        let trace = fs::read_to_string(trace).unwrap();
        Some(trace.matches("ledger.db-wal>) = 0").count())
    };
    // Whatever is only written is synced at the end.
    let Some(added) = syncs("add") else {
        return skipped("no strace here");
    };
    let expected = [("begin", 1), ("finish", 1), ("start", 2), ("end", 2)];
    for (act, more) in expected {
        assert_eq!(syncs(act), Some(added + more), "{act}");
    }
}

/// On a disk that a child has for itself alone.
fn fill_the_disk(folder: &Path) {
    let filler = folder.parent().unwrap().join("filler");
    let fill = |size| {
        let mut file = fs::File::create(&filler).unwrap();
        // As much of it as there is room for.
        let _ = std::io::copy(&mut std::io::repeat(0).take(size), &mut file);
    };
    fill(u64::MAX);
    let told = Ledger::open(folder).unwrap_err();
    assert!(matches!(told, LedgerError::Full(_)), "{told}");
    fill(300_000);
    let mut ledger = Ledger::open(folder).unwrap();
    let file = ledger.add_file(Path::new("/n/clada.md")).unwrap();
    let text = "x".repeat(50_000);
    let mut begin = |number| {
        let record = fresh(number, 1);
        let begun = BatchStart {
            record: &record,
            text: &text,
            id: "",
            tasks: &words(&record),
            again: None,
            first: Some(0),
            offer: None,
        };
        ledger.begin(file, &begun, NO_STATE, 1_000)
    };
    let (full, told) = (1..)
        .find_map(|number| Some(number).zip(begin(number).err()))
        .unwrap();
    assert!(matches!(told, LedgerError::Full(_)), "{told}");
    fill(0);
    begin(full).expect("there is room again");
    assert_eq!(ledger.records(file).unwrap().len() as u64, full);
    drop(ledger);

    let ledger = Ledger::open(folder).unwrap();
    fill(u64::MAX);
    drop(ledger);
    let look = Ledger::read(folder).unwrap().unwrap();
    assert_eq!(look.log(1_000, None).unwrap().len() as u64, full);
}

#[test]
fn a_full_disk_is_told_and_spoils_nothing() {
    let place = Place::new();
    fs::create_dir(place.directory.path().join("state")).unwrap();
    let disk = format!(
        "mount -t tmpfs -o size=1m none '{}' || exit 77; exec \"$@\"",
        place.directory.path().join("state").display()
    );
    let by = ["unshare", "-r", "-m", "sh", "-c", &disk, "sh"];
    let ended = child_under(&by, &place, "fill the disk").output();
    match ended {
        Ok(ended) if ended.status.success() => {}
        Ok(ended) if ended.status.code() == Some(101) => {
            panic!("{}", String::from_utf8_lossy(&ended.stderr))
        }
        _ => skipped("no small disk can be mounted here"),
    }
}

#[test]
fn nothing_begins_twice() {
    let place = Place::new();
    let (mut ledger, file) = with_file(&place);
    let batch = record(1);
    let noted = Noted {
        record: &batch,
        text: "",
        tasks: &words(&batch),
    };
    ledger.keep(file, &[noted], NO_STATE, 1).unwrap();
    begin(&mut ledger, file, &fresh(1, 2), 1_000).expect("it was only noted");
    let told = begin(&mut ledger, file, &fresh(1, 2), 2_000).unwrap_err();
    assert_eq!(
        told.to_string(),
        "batch 1 has already started, perhaps in another clada: it does not run again"
    );
    let told = ledger.start(file, 1, 0, 3_000).unwrap_err();
    assert!(
        told.to_string()
            .starts_with("task 1 of batch 1 has already started")
    );
    assert_eq!(ledger.log(10, None).unwrap()[0].began_ms, 1_000);
}

#[test]
fn an_offer_is_used_once() {
    let place = Place::new();
    let (mut ledger, file) = with_file(&place);
    let offer = |batch, approves| Offer::of(batch, vec![0, 2]).approving(approves);
    let offers = [(3, offer(1, false)), (5, offer(2, true))];
    let new = offering(u64::MAX, "block", &offers);
    let block = ledger.add_block(file, new, 1).unwrap();
    let source = |line| TickSource {
        block: block.0,
        line,
    };
    begin_by(&mut ledger, file, &fresh(1, 1), Some(source(3)), 1_000).unwrap();
    let told = begin_by(&mut ledger, file, &fresh(2, 1), Some(source(3)), 2_000).unwrap_err();
    assert!(matches!(told, LedgerError::Twice(_)), "{told}");
    assert_eq!(
        ledger.records(file).unwrap().len(),
        1,
        "nothing of it is left"
    );
    drop(ledger);

    let known = place.open().blocks_with(Key(u64::MAX)).unwrap();
    let [known] = known.try_into().unwrap();
    assert_eq!((known.id, known.file), (block, file));
    assert_eq!(known.path, Path::new("/n/clada.md"));
    let expected = offers.map(|(line, offer)| KnownOffer {
        source: source(line),
        offer,
        used: line == 3,
    });
    assert_eq!(known.offers, expected);
}

#[test]
fn a_block_is_owed_until_it_is_delivered() {
    let place = Place::new();
    let (mut ledger, file) = with_file(&place);
    assert_eq!(ledger.owed(file).unwrap(), None);
    let old = ledger.add_block(file, block(1, "old"), 1).unwrap();
    let new = ledger.add_block(file, block(1, "new"), 2).unwrap();
    ledger.keep_foreign(file, "foreign", 3).unwrap();
    assert_eq!(ledger.owed(file).unwrap(), Some((new, "new".to_owned())));
    ledger.delivered(new, 2_000).unwrap();
    assert_eq!(
        ledger.owed(file).unwrap(),
        None,
        "the old one has had its day"
    );
    ledger.add_block(file, RUNNING_BLOCK, 3).unwrap();
    assert_eq!(ledger.owed(file).unwrap(), None, "it shows no results");
    assert_ne!(old, new);
    let other = ledger.add_file(Path::new("/n/other.md")).unwrap();
    let same = ledger.add_block(other, block(1, "new"), 4).unwrap();
    let blocks = ledger.blocks_with(Key(1)).unwrap();
    let blocks = blocks.into_iter().map(|block| (block.file, block.id));
    let newest = [(file, new), (other, same)];
    assert_eq!(blocks.collect::<Vec<_>>(), newest, "of each file");
    assert_eq!(ledger.blocks_with(Key(2)).unwrap(), []);
}

#[test]
fn what_the_newest_block_shows_is_kept_with_it() {
    let place = Place::new();
    let (mut ledger, file) = with_file(&place);
    assert_eq!(ledger.standing(file).unwrap(), None);
    begin(&mut ledger, file, &fresh(1, 1), 1_000).unwrap();
    let told = |ledger: &Ledger, name| ledger.told_in(file, name).unwrap();
    assert_eq!(told(&ledger, "1"), Some(ToldIn::Nowhere));
    ledger.untold(file, 2_000).unwrap();
    let shows = |ledger: &mut Ledger, key, text| {
        let new = ledger.add_results(file, block(key, text), text, 1);
        new.unwrap()
    };
    let first = shows(&mut ledger, 1, "first");
    let standing = ledger.standing(file).unwrap().unwrap();
    assert_eq!((standing.block, standing.results), (first, "first".into()));
    assert_eq!((standing.written_ms, standing.is_read), (None, false));
    ledger.delivered(first, 5_000).unwrap();
    ledger.delivered(first, 9_000).unwrap();
    ledger.read_results(file).unwrap();
    let standing = place.open().standing(file).unwrap().unwrap();
    assert_eq!((standing.written_ms, standing.is_read), (Some(5_000), true));
    let second = shows(&mut ledger, 2, "second");
    ledger.delivered(first, 9_500).unwrap();
    let standing = ledger.standing(file).unwrap().unwrap();
    assert_eq!((standing.block, standing.written_ms), (second, None));
    assert!(!standing.is_read, "they are new");
    let id = ledger.log(1, None).unwrap()[0].id.clone();
    for name in ["1", &id] {
        assert_eq!(told(&ledger, name), Some(ToldIn::Block(first.number())));
    }
    assert_eq!(told(&ledger, "2"), None);
    assert_eq!(told(&ledger, &id[..3]), told(&ledger, &id));
    begin(&mut ledger, file, &fresh(2, 1), 3_000).unwrap();
    assert_eq!(told(&ledger, &id[..3]), Some(ToldIn::Several));
    assert_eq!(told(&ledger, "2"), Some(ToldIn::Nowhere));
}

#[test]
fn the_newest_blocks_of_each_file_are_kept() {
    let place = Place::new();
    let (mut ledger, file) = with_file(&place);
    let other = ledger.add_file(Path::new("/n/other.md")).unwrap();
    ledger
        .add_block(other, block(0, "of another file"), 0)
        .unwrap();
    for n in 1..=BLOCKS as u64 + 1 {
        let offers = [(0, Offer::of(n, Vec::new()))];
        let new = offering(n, "ours", &offers);
        ledger.add_block(file, new, 0).unwrap();
        ledger.keep_foreign(file, "foreign", 0).unwrap();
    }
    let known = |n| !ledger.blocks_with(Key(n)).unwrap().is_empty();
    assert!(known(0) && !known(1) && known(2) && known(BLOCKS as u64 + 1));
    let count = |what: &str| -> usize {
        let sql = format!("SELECT count(*) FROM {what}");
        ledger.db.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(count("block WHERE key IS NULL"), FOREIGN_BLOCKS);
    assert_eq!(count("offer"), BLOCKS);
}

#[test]
fn a_file_is_moved_with_its_past() {
    let place = Place::new();
    let (mut ledger, file) = with_file(&place);
    let to = Path::new("/n/moved");
    let replaced = ledger.add_file(to).unwrap();
    run_whole(&mut ledger, file, 1, 1_000, NO_STATE);
    assert_eq!(ledger.add_file(Path::new("/n/clada.md")).unwrap(), file);
    ledger.move_file(file, to).unwrap();
    ledger.move_file(file, to).expect("it is there already");
    assert_eq!(ledger.file(to).unwrap().unwrap().id, file);
    assert_eq!(ledger.file(Path::new("/n/clada.md")).unwrap(), None);
    assert_eq!(ledger.log(1, None).unwrap()[0].path, to);
    assert!(ledger.records(replaced).unwrap().is_empty());

    let other = ledger.add_file(Path::new("/n/other.md")).unwrap();
    assert_ne!(other, replaced);
    assert!(matches!(
        ledger.move_file(other, to),
        Err(LedgerError::Taken(path)) if path == to
    ));
}

#[test]
fn a_path_need_not_be_text() {
    use std::ffi::OsStr;
    let place = Place::new();
    let mut ledger = place.open();
    let path = Path::new(OsStr::from_bytes(b"/n/\xff ?#%"));
    let file = ledger.add_file(path).unwrap();
    assert_eq!(ledger.file(path).unwrap().unwrap().id, file);
    run_whole(&mut ledger, file, 1, 1_000, NO_STATE);
    assert_eq!(ledger.log(1, None).unwrap()[0].path, path);
}

#[test]
fn old_details_are_forgotten_and_no_batch_is() {
    let place = Place::new();
    let (mut ledger, file) = with_file(&place);
    let sight = SavedState {
        state: "",
        present: &[2],
    };
    for number in 1..=4 {
        let now = 1_000 * i64::try_from(number).unwrap();
        run_whole(&mut ledger, file, number, now, sight);
    }
    // An old one that has not ended.
    begin(&mut ledger, file, &fresh(5, 1), 1_000).unwrap();
    ledger.keep(file, &[], sight, 4).unwrap();
    let before = ledger.records(file).unwrap();
    ledger.prune(4, u64::MAX).unwrap();

    let mut expected = before;
    for number in [1, 3] {
        expected[number - 1].tasks.clear();
    }
    assert_eq!(ledger.records(file).unwrap(), expected);
    let texts = (1..=5).map(|number| ledger.text(file, number).unwrap().is_some());
    assert!(texts.eq([false, true, false, true, true]));
    assert_eq!(ledger.log(10, None).unwrap().len(), 5);
    assert!(matches!(
        begin(&mut ledger, file, &fresh(1, 1), 9_000),
        Err(LedgerError::Twice(_))
    ));
}

#[test]
fn a_large_ledger_gives_room_back() {
    let place = Place::new();
    let (mut ledger, file) = with_file(&place);
    let text = "x".repeat(100_000);
    for number in 1..=40 {
        let record = fresh(number, 1);
        let noted = Noted {
            record: &record,
            text: &text,
            tasks: &words(&record),
        };
        let now = i64::try_from(number).unwrap();
        ledger.keep(file, &[noted], NO_STATE, now).unwrap();
    }
    let size = 2_000_000;
    assert!(used(&ledger.db).unwrap() > size);
    ledger.prune(0, size).unwrap();
    let left = used(&ledger.db).unwrap();
    assert!((size - 150_000..=size).contains(&left), "{left}");
    let has_text = |number| ledger.text(file, number).unwrap().is_some();
    assert!(!has_text(1) && has_text(40), "the oldest went first");
    drop(ledger);
    let on_disk = fs::metadata(place.path("ledger.db")).unwrap().len();
    assert!(on_disk <= size, "{on_disk}");
}

#[test]
fn it_is_for_this_user_alone() {
    let place = Place::new();
    let (_ledger, _) = with_file(&place);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place.folder()), 0o700);
    for name in ["ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.lock"] {
        assert_eq!(mode(&place.path(name)), 0o600, "{name}");
    }
}

#[test]
fn somebody_holds_it_locked() {
    let place = Place::new();
    let (mut ledger, file) = with_file(&place);
    let other = Connection::open(place.path("ledger.db")).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    ledger.db.busy_timeout(Duration::from_millis(20)).unwrap();
    let told = begin(&mut ledger, file, &fresh(1, 1), 1_000).unwrap_err();
    assert_eq!(
        told.to_string(),
        format!(
            "another program has locked the ledger `{}`: stop that program, then try again",
            place.path("ledger.db").display()
        )
    );
    other.execute_batch("COMMIT").unwrap();
    begin(&mut ledger, file, &fresh(1, 1), 1_000).unwrap();
}

/// A ledger that has ended cleanly, with some content.
fn filled() -> Place {
    let place = Place::new();
    let (mut ledger, file) = with_file(&place);
    for number in 1..=50 {
        run_whole(&mut ledger, file, number, 1_000, NO_STATE);
    }
    place
}

#[test]
fn a_damaged_ledger_is_put_aside_and_nothing_begins_anew() {
    type Damage = fn(&mut Vec<u8>);
    let damages: [(&str, Damage); 5] = [
        ("noise", |bytes| {
            let mut noise = 1_u32;
            bytes.fill_with(|| {
                noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                noise.to_le_bytes()[3]
            });
        }),
        ("half of it", |bytes| bytes.truncate(bytes.len() / 2)),
        ("a few bytes", |bytes| bytes.truncate(10)),
        ("nothing", Vec::clear),
        ("zeros", |bytes| bytes.fill(0)),
    ];
    for (name, damage) in damages {
        let place = filled();
        let mut bytes = fs::read(place.path("ledger.db")).unwrap();
        damage(&mut bytes);
        fs::write(place.path("ledger.db"), &bytes).unwrap();
        assert!(Ledger::read(&place.folder()).is_err(), "{name}: read");

        let told = place.refused();
        assert!(
            matches!(told, LedgerError::Damaged { .. }),
            "{name}: {told}"
        );
        let (path, kept) = (place.path("ledger.db"), place.path("ledger.db.damaged"));
        assert_eq!(
            told.to_string(),
            format!(
                "the ledger `{path}` was damaged and is kept as `{kept}`. No task runs, as clada cannot know what ran already: \
                 repair it with `sqlite3 '{kept}' .recover | sqlite3 '{path}'`, or move that file away to begin with an \
                 empty ledger",
                path = path.display(),
                kept = kept.display()
            )
        );
        assert_eq!(fs::read(&kept).unwrap(), bytes, "{name}: kept as it was");
        assert_eq!(place.refused().to_string(), told.to_string(), "{name}");
        let names = place.names();
        assert!(
            names.iter().all(|name| name.contains("damaged")),
            "{name}: {names:?}"
        );
        let read = Ledger::read(&place.folder()).unwrap_err();
        assert_eq!(read.to_string(), told.to_string(), "{name}");

        fs::rename(&kept, place.directory.path().join("away")).unwrap();
        assert!(
            place.open().log(10, None).unwrap().is_empty(),
            "{name}: fresh"
        );
    }
}

#[test]
fn a_second_damaged_ledger_gets_a_name_of_its_own() {
    let place = filled();
    fs::write(place.path("ledger.db.damaged-wal"), "left here").unwrap();
    for kept in ["ledger.db.damaged.2", "ledger.db.damaged.3"] {
        fs::write(place.path("ledger.db"), "noise").unwrap();
        assert!(place.refused().to_string().contains(kept));
    }
}

/// Damage in the middle does not show until somebody looks there.
#[test]
fn damage_that_is_found_later_is_put_aside_too() {
    let place = filled();
    let mut bytes = fs::read(place.path("ledger.db")).unwrap();
    bytes[4096..].fill(0x55);
    fs::write(place.path("ledger.db"), &bytes).unwrap();
    let Err(told) = Ledger::open(&place.folder()).and_then(|ledger| ledger.log(10, None)) else {
        panic!("not noticed")
    };
    assert!(matches!(told, LedgerError::Damaged { .. }), "{told}");
    assert!(place.names().contains(&"ledger.db.damaged".to_owned()));
    assert!(!place.names().contains(&"ledger.db".to_owned()));
    place.refused();
}

/// A process that still has the damaged one must not put aside the one that came after it.
#[test]
fn a_new_ledger_is_not_put_aside_for_an_old_ones_damage() {
    let place = filled();
    let old = place.open();
    fs::rename(place.path("ledger.db"), place.path("away")).unwrap();
    let new = place.open();
    let damage = rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT),
        None,
    );
    old.file.explain(damage.into());
    drop(old);
    assert!(place.names().contains(&"ledger.db-wal".to_owned()));
    new.log(1, None).unwrap();
    drop(new);
    assert!(place.open().log(1, None).unwrap().is_empty());
}

/// Copies of an open ledger are what a killed process leaves.
#[test]
fn an_unclean_end_is_followed_by_a_full_look() {
    let place = filled();
    let (mut ledger, file) = with_file(&place);
    begin(&mut ledger, file, &fresh(100, 1), 1_000).unwrap();
    let names = ["ledger.db", "ledger.db-shm", "ledger.db-wal"];
    let copies = names.map(|name| fs::read(place.path(name)).unwrap());
    drop(ledger);

    let place = Place::new();
    fs::create_dir_all(place.folder()).unwrap();
    for (name, copy) in names.iter().zip(&copies) {
        fs::write(place.path(name), copy).unwrap();
    }
    let last_page = copies[0].len() - 4096;
    let mut bytes = copies[0].clone();
    bytes[last_page..].fill(0x55);
    fs::write(place.path("ledger.db"), bytes).unwrap();
    assert!(matches!(place.refused(), LedgerError::Damaged { .. }));
    assert_eq!(
        place.names(),
        names.map(|name| name.replace(".db", ".db.damaged"))
    );
    let log = fs::read(place.path("ledger.db.damaged-wal")).unwrap();
    assert_eq!(log, copies[2], "nothing of it is lost");
}

/// What a repair writes is a plain database, without a log.
#[test]
fn a_repaired_ledger_goes_on() {
    let place = filled();
    let repaired = place.directory.path().join("repaired");
    let db = Connection::open(place.path("ledger.db")).unwrap();
    db.execute("VACUUM INTO ?", [repaired.to_str()]).unwrap();
    drop(db);
    fs::write(place.path("ledger.db"), "noise").unwrap();
    place.refused();
    fs::rename(repaired, place.path("ledger.db")).unwrap();

    let (mut ledger, file) = with_file(&place);
    assert_eq!(ledger.log(100, None).unwrap().len(), 50);
    run_whole(&mut ledger, file, 99, 1_000, NO_STATE);
    assert!(place.names().contains(&"ledger.db-wal".to_owned()));
}

/// A repair that fails may leave an empty database: that is no ledger to begin with.
#[test]
fn a_failed_repair_is_no_ledger() {
    let place = filled();
    fs::write(place.path("ledger.db"), "noise").unwrap();
    place.refused();
    let empty = Connection::open(place.path("ledger.db")).unwrap();
    empty.execute_batch("VACUUM").unwrap();
    drop(empty);
    let told = place.refused().to_string();
    assert!(told.contains("ledger.db.damaged.2"), "{told}");
}

#[test]
fn a_newer_ledger_is_left_alone() {
    let place = filled();
    let db = Connection::open(place.path("ledger.db")).unwrap();
    db.pragma_update(None, "user_version", FORMAT_OF_TOMORROW)
        .unwrap();
    drop(db);
    let before = fs::read(place.path("ledger.db")).unwrap();
    let expected = format!(
        "the ledger `{}` has format 99, and this clada knows only format 5: use the newer clada that wrote it",
        place.path("ledger.db").display()
    );
    assert_eq!(place.refused().to_string(), expected);
    let read = Ledger::read(&place.folder()).unwrap_err();
    assert_eq!(read.to_string(), expected);
    assert_eq!(fs::read(place.path("ledger.db")).unwrap(), before);
    assert_eq!(place.names(), ["ledger.db"]);
}

const FORMAT_OF_TOMORROW: usize = 99;

#[test]
fn what_a_broken_creation_left_is_in_nobodys_way() {
    let place = Place::new();
    fs::create_dir_all(place.folder()).unwrap();
    for name in ["ledger.db.new", "ledger.db.new-journal", "ledger.db-wal"] {
        fs::write(place.path(name), "half of it").unwrap();
    }
    drop(with_file(&place));
    assert_eq!(place.names(), ["ledger.db"]);
}

#[test]
fn a_look_changes_nothing() {
    let place = Place::new();
    assert!(Ledger::read(&place.folder()).unwrap().is_none());
    assert!(!place.folder().exists());

    let place = filled();
    let state = |place: &Place| {
        let file = |name: &String| {
            let data = fs::metadata(place.path(name)).unwrap();
            (name.clone(), data.mtime_nsec(), data.mtime(), data.len())
        };
        place.names().iter().map(file).collect::<Vec<_>>()
    };
    let before = state(&place);
    let mut look = Ledger::read(&place.folder()).unwrap().unwrap();
    assert_eq!(look.log(100, None).unwrap().len(), 50);
    assert!(look.add_file(Path::new("/x")).is_err());
    drop(look);
    assert_eq!(state(&place), before);
}

#[test]
fn a_look_sees_what_is_being_written() {
    let place = filled();
    let (mut ledger, file) = with_file(&place);
    begin(&mut ledger, file, &fresh(100, 1), 5_000).unwrap();
    let look = Ledger::read(&place.folder()).unwrap().unwrap();
    assert_eq!(look.log(1, None).unwrap()[0].number, 100);
    finish(&mut ledger, file, 100, 0, 6_000);
    assert_eq!(look.seed(), ledger.seed());
    drop(ledger);
    assert_eq!(marks(&look.log(1, None).unwrap()[0]), ["done"]);
}

#[test]
fn a_look_at_what_a_killed_process_left() {
    let place = Place::new();
    let mut child = child(&place, "begin");
    wait_until_ready(&mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    let look = Ledger::read(&place.folder()).unwrap().unwrap();
    assert_eq!(marks(&look.log(1, None).unwrap()[0]), ["-", "-", "-"]);
}

#[test]
fn it_must_be_writable() {
    let place = filled();
    let deny = |name: &str, mode| {
        fs::set_permissions(place.path(name), Permissions::from_mode(mode)).unwrap();
    };
    deny("ledger.db", 0o400);
    let is_root = fs::OpenOptions::new()
        .write(true)
        .open(place.path("ledger.db"))
        .is_ok();
    if is_root {
        return skipped("permissions do not bind this user");
    }
    let advice = ": make it and its folder readable and writable for this user";
    for mode in [0o400, 0o000] {
        deny("ledger.db", mode);
        let told = place.refused().to_string();
        assert!(
            told.contains("ledger.db") && told.contains(advice),
            "{told}"
        );
    }
    deny("ledger.db", 0o600);
    fs::remove_file(place.path("ledger.lock")).unwrap();
    deny("", 0o500);
    let told = place.refused().to_string();
    assert!(
        told.contains("Permission denied") && told.contains(advice),
        "{told}"
    );
    let look = Ledger::read(&place.folder()).unwrap().unwrap();
    assert_eq!(look.log(100, None).unwrap().len(), 50, "to look is allowed");
    deny("", 0o700);
    place.open();
}

#[test]
fn what_is_asked_waits_for_an_answer_while_it_is_in_the_file() {
    let place = Place::new();
    let (mut ledger, file) = with_file(&place);
    let ask = |ledger: &mut Ledger, number, again, tasks: &[(usize, &str)], present: &[Number]| {
        let record = fresh(number, 3);
        let first = tasks
            .iter()
            .find(|(_, mark)| *mark == "done")
            .map(|(task, _)| *task);
        let begun = BatchStart {
            record: &record,
            text: "the text",
            id: "run-1",
            tasks: &words(&record),
            again,
            first,
            offer: None,
        };
        let sight = SavedState { state: "", present };
        ledger.begin(file, &begun, sight, 1_000).unwrap();
        for (task, mark) in tasks {
            let ended = TaskEnded {
                fate: &Fate::NotRun,
                mark,
                message: None,
                now_ms: 1_000,
            };
            ledger.finish(file, number, *task, &ended).unwrap();
        }
        let fates = [Fate::NotRun, Fate::NotRun, Fate::NotRun];
        ledger
            .end(file, number, &fates, None, sight, 2_000)
            .unwrap();
    };
    let asked = |ledger: &Ledger| {
        let asked = ledger.asked(file, 10).unwrap();
        asked
            .into_iter()
            .map(|asked| (asked.batch, asked.task))
            .collect::<Vec<_>>()
    };
    ask(
        &mut ledger,
        1,
        None,
        &[(0, "done"), (1, "asks"), (2, "asks")],
        &[1],
    );
    assert_eq!(asked(&ledger), [(1, 1), (1, 2)]);
    assert_eq!(ledger.asked(file, 1).unwrap()[0].target, "f1");
    // The second batch runs one of them and stands for the first.
    ask(
        &mut ledger,
        2,
        Some(1),
        &[(0, "skipped"), (1, "done"), (2, "skipped")],
        &[2],
    );
    assert_eq!(asked(&ledger), [(1, 2)]);
    // Another is there; the first is gone.
    ask(&mut ledger, 3, None, &[(0, "asks")], &[3]);
    assert_eq!(asked(&ledger), [(3, 0)]);
    let other = ledger.add_file(Path::new("/n/other.md")).unwrap();
    assert_eq!(ledger.asked(other, 10).unwrap(), []);
}

#[test]
fn an_offer_that_is_void_is_used() {
    let place = Place::new();
    let (mut ledger, file) = with_file(&place);
    let offers = [(1, Offer::of(1, vec![0]))];
    let new = offering(7, "block", &offers);
    let block = ledger.add_block(file, new, 1).unwrap().0;
    ledger.void(TickSource { block, line: 1 }).unwrap();
    assert!(ledger.blocks_with(Key(7)).unwrap()[0].offers[0].used);
}

/// None was ever released, so nothing reads it; but it is kept.
#[test]
fn a_ledger_of_an_older_format_is_put_aside() {
    let place = filled();
    let db = Connection::open(place.path("ledger.db")).unwrap();
    db.pragma_update(None, "user_version", 1).unwrap();
    drop(db);
    let read = Ledger::read(&place.folder()).unwrap_err();
    assert!(matches!(read, LedgerError::DamagedInPlace(_)), "{read}");
    let told = place.refused().to_string();
    assert!(told.contains("ledger.db.damaged"), "{told}");
}

#[test]
fn a_tick_does_not_count_for_a_newer_block_that_reads_the_same_and_is_not_there_yet() {
    let place = Place::new();
    let (mut ledger, file) = with_file(&place);
    let offers = [(1, Offer::of(1, vec![0]))];
    let new = offering(7, "block", &offers);
    // It came into the file, and clada was killed before it had noted that.
    let old = ledger.add_block(file, new, 1).unwrap().0;
    let source = TickSource {
        block: old,
        line: 1,
    };
    begin_by(&mut ledger, file, &fresh(1, 1), Some(source), 1_000).unwrap();
    ledger.add_block(file, new, 2).unwrap();
    let known = ledger.blocks_with(Key(7)).unwrap().remove(0);
    assert_eq!((known.id.0, known.offers[0].used), (old, true));
}

#[test]
fn places_are_offered_until_their_task_is_started_again() {
    let place = Place::new();
    let (mut ledger, file) = with_file(&place);
    let other = ledger.add_file(Path::new("/n/other.md")).unwrap();
    let spot = |line| Spot {
        line,
        around: 3,
        key: Key(u64::MAX),
    };
    begin(&mut ledger, file, &fresh(1, 3), 1_000).unwrap();
    let old = [(2, Offer::at(1, 1, spot(4)))];
    ledger.add_block(file, offering(1, "old", &old), 1).unwrap();
    let new = [(2, Offer::at(1, 1, spot(5))), (3, Offer::of(1, vec![2]))];
    let block = ledger.add_block(file, offering(2, "new", &new), 2).unwrap();
    // Another file's batches have numbers of their own.
    let theirs = [(1, Offer::at(1, 1, spot(6)))];
    ledger
        .add_block(other, offering(3, "theirs", &theirs), 3)
        .unwrap();
    let source = TickSource {
        block: block.0,
        line: 2,
    };
    drop(ledger);
    let (mut ledger, file) = with_file(&place);
    let known = KnownOffer {
        source,
        offer: new[0].1.clone(),
        used: false,
    };
    assert_eq!(ledger.places(file, 1).unwrap(), [known]);
    assert_eq!(ledger.places(file, 2).unwrap(), []);
    assert!(ledger.is_newest(file, source).unwrap());
    ledger.add_block(file, RUNNING_BLOCK, 4).unwrap();
    assert!(!ledger.is_newest(file, source).unwrap());

    // The second batch repeats the first, and the third the second.
    for (number, again, first) in [(2, 1, Some(0)), (3, 2, Some(1))] {
        assert!(!ledger.is_over(file, 1, 1).unwrap());
        let begun = BatchStart {
            record: &fresh(number, 3),
            text: "the text",
            id: "run-1",
            tasks: &words(&fresh(number, 3)),
            again: Some(again),
            first,
            offer: None,
        };
        ledger.begin(file, &begun, NO_STATE, 2_000).unwrap();
        assert_eq!(ledger.latest(file, 1).unwrap(), number);
    }
    assert!(ledger.is_over(file, 1, 1).unwrap());
    assert!(!ledger.is_over(file, 1, 2).unwrap());
    assert!(!ledger.is_over(other, 1, 1).unwrap());
    assert_eq!(ledger.latest(file, 3).unwrap(), 3);

    // The fourth repeats the first too, as the second did.
    let begun = BatchStart {
        record: &fresh(4, 3),
        text: "the text",
        id: "run-1",
        tasks: &words(&fresh(4, 3)),
        again: Some(1),
        first: Some(2),
        offer: None,
    };
    ledger.begin(file, &begun, NO_STATE, 3_000).unwrap();
    for number in 1..4 {
        assert_eq!(ledger.latest(file, number).unwrap(), 4);
        assert!(ledger.is_over(file, number, 2).unwrap(), "{number}");
    }
    assert!(!ledger.is_over(file, 4, 2).unwrap());
    let done = TaskEnded {
        fate: &Fate::Done(Vec::new()),
        mark: "done",
        message: None,
        now_ms: 4_000,
    };
    ledger.finish(file, 4, 2, &done).unwrap();
    assert!(ledger.is_over(file, 4, 2).unwrap());
    // It left that one alone.
    assert!(!ledger.is_over(file, 4, 1).unwrap());
}
