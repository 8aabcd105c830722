//! What of a save is new: `test-data/novelty`, and a property of any series of saves.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use clada::novelty::{Effect, Event, Look, NoveltyState, OfferReason, step};
use clada::reply::dialect::{Dialect, Dialects};
use clada::reply::record::{
    Fate, FileState, Key, Number, Offer, Record, Seed, Spot, TaskPlan, TaskTarget, Tick, TickSource,
};
use clada::reply::scan::{part_alone, scan, scan_for};
use clada::reply::task::{LineNumbers, Scan};
use clada::report::wording;
use proptest::prelude::*;

use crate::cases;

const SEED: Seed = Seed(1, 2);

#[test]
fn the_state_of_a_clada_that_read_nothing_but_cml_says_so() {
    let blocks = "notes\n<<<FILE>>>\na.txt\n<<<OVERWRITE>>>\na\n<<<END>>>\n";
    let cml = Dialects::from_iter([Dialect::Cml]);
    let mut story = Story {
        body: blocks.to_owned(),
        dialects: cml,
        ..Story::default()
    };
    story.look(true, true, false, false);
    let kept: serde_json::Value = serde_json::from_str(&story.kept).expect("a state");
    let mut older = kept.clone();
    older.as_object_mut().expect("fields").remove("dialects");
    assert_ne!(kept, older);
    story.kept = older.to_string();
    let state = NoveltyState::from_text(SEED, &story.kept, Vec::new(), &mut |_| String::new());
    story.state = state.expect("a kept state");
    story.dialects = Dialects::ALL;
    assert_eq!(
        story.look(true, true, false, false),
        "offer 1 tasks: other dialects\n"
    );
}

#[test]
fn cases_of_novelty() {
    cases::run("novelty", |case, verdict| {
        let mut story = Story::default();
        let mut got = String::new();
        for block in &case.blocks {
            let has = |flag| block.has(flag);
            match block.kind.as_str() {
                "save" => {
                    story.body = block.string();
                    story.end_runs("");
                    got = story.look(
                        !has("writing"),
                        has("settled"),
                        has("foreign"),
                        has("run-existing"),
                    );
                }
                "quiet" => {
                    story.end_runs("");
                    got = story.look(true, true, false, false);
                }
                "retry" => got = story.look(true, false, false, false),
                "tick" => {
                    story.end_runs("");
                    story.tick(block.string().trim().parse().expect("which offer"));
                    got = story.look(true, false, false, false);
                }
                "choose" => {
                    story.end_runs("");
                    block.string().lines().for_each(|line| story.choose(line));
                    got = story.look(true, false, false, false);
                }
                "dialects" => {
                    let text = block.string();
                    let names = text.split_whitespace().filter_map(Dialect::parse);
                    story.dialects = names.collect();
                }
                "refused" => story.refuse(block.string().trim().parse().expect("a line")),
                "ended" => story.end_runs(&block.string()),
                "restart" => {
                    story.end_runs("");
                    story.restart();
                    if !block.string().is_empty() {
                        story.body = block.string();
                    }
                    got = story.look(true, false, false, false);
                }
                "crash" => {
                    story.crash(&block.string());
                    story.restart();
                    got = story.look(true, false, false, false);
                }
                "effects" => verdict.expect(block, got.as_bytes()),
                other => panic!("{}: unknown block `{other}`", case.name),
            }
        }
    });
}

/// One file with what novelty knows of it, and what a ledger would keep.
struct Story {
    state: NoveltyState,
    dialects: Dialects,
    body: String,
    kept: String,
    records: BTreeMap<Number, (Record, String)>,
    /// Batches that are to run, with their lines.
    due: Vec<(Number, usize, Vec<TaskPlan>)>,
    offers: Vec<Offer>,
    ticks: Vec<Tick>,
}

impl Default for Story {
    fn default() -> Self {
        Self {
            state: NoveltyState::new(SEED),
            dialects: Dialects::ALL,
            body: String::new(),
            kept: String::new(),
            records: BTreeMap::new(),
            due: Vec::new(),
            offers: Vec::new(),
            ticks: Vec::new(),
        }
    }
}

impl Story {
    /// A line for each effect.
    fn look(&mut self, over: bool, settled: bool, foreign: bool, run_existing: bool) -> String {
        let body = self.body.clone();
        let scan = self.state.part(&body, scan_for(&body, self.dialects));
        let ticks = std::mem::take(&mut self.ticks);
        let look = Look {
            body: &body,
            scan: &scan,
            dialects: self.dialects,
            over,
            settled,
            foreign,
            run_existing,
            copied: &[],
            ticks: &ticks,
        };
        let mut lines = LineNumbers::new(&body);
        let mut out = String::new();
        let mut offers = Vec::new();
        for effect in step(&mut self.state, Event::Looked(look)) {
            let text_of = |batch: usize| body[scan.batches[batch].span.clone()].to_owned();
            let _ = match effect {
                Effect::Run {
                    batch,
                    number,
                    plan,
                } => {
                    let line = lines.of(scan.batches[batch].span.start);
                    let said = writeln!(out, "run line {line} ({})", plan_words(&plan));
                    self.due.push((number, line, plan));
                    self.keep(number, text_of(batch));
                    said
                }
                Effect::Again {
                    of, number, plan, ..
                } => {
                    let text = self.records[&of].1.clone();
                    let line = body.find(&text).map_or(0, |at| lines.of(at));
                    let said = writeln!(out, "again line {line} ({})", plan_words(&plan));
                    self.due.push((number, line, plan));
                    self.keep(number, text);
                    said
                }
                Effect::Remember { batch, number } => {
                    self.keep(number, text_of(batch));
                    Ok(())
                }
                Effect::RememberPart { batch, number } => {
                    let part = part_alone(&body, &scan.batches[batch]);
                    self.keep(number, part.expect("a part"));
                    Ok(())
                }
                Effect::Swallowed(tasks) => writeln!(out, "swallowed {tasks} tasks"),
                Effect::Offer { why, offer } => {
                    let why = match why {
                        OfferReason::FirstSight => "first sight",
                        OfferReason::Foreign => "foreign",
                        OfferReason::Dialects => "other dialects",
                        OfferReason::CameBack { ran: Some(_) } => "came back, ran",
                        OfferReason::CameBack { ran: None } => "came back",
                        OfferReason::Moved { .. } => "moved",
                        OfferReason::Copied { .. } => "copied",
                        OfferReason::Trimmed => "trimmed",
                        OfferReason::Inside => "inside",
                        OfferReason::Freed => "freed",
                        OfferReason::CutOff(_) => "cut off",
                        OfferReason::Joined => "joined",
                    };
                    let said = writeln!(out, "offer {} tasks: {why}", offer.tasks());
                    offers.push(offer);
                    said
                }
                Effect::Tell { problem, .. } => {
                    let said = wording::problem(&problem);
                    let said = said.split([',', ':', ';']).next().unwrap_or_default();
                    writeln!(out, "tell line {}: {said}", lines.of(problem.at))
                }
                Effect::Wait => writeln!(out, "wait"),
            };
        }
        if !offers.is_empty() {
            self.offers = offers;
        }
        let due: Vec<Number> = self.due.iter().map(|(number, ..)| *number).collect();
        self.kept = self.state.to_text(None);
        for (number, (record, _)) in &mut self.records {
            if let Some(now) = self.state.record(*number).filter(|_| !due.contains(number)) {
                record.clone_from(now);
            }
        }
        if out.is_empty() {
            "nothing\n".to_owned()
        } else {
            out
        }
    }

    fn keep(&mut self, number: Number, text: String) {
        let record = self.state.record(number).expect("a record").clone();
        self.records.insert(number, (record, text));
    }

    /// Has each batch that is due run; what comes of their tasks is `LINE: FATE …`, else what was to run is done.
    fn end_runs(&mut self, fates: &str) {
        let fates = by_line(fates);
        for (number, line, plan) in std::mem::take(&mut self.due) {
            self.begin(number);
            let record = self.state.record(number).expect("a record");
            let given = fates.get(&line).cloned().unwrap_or_default();
            let tasks = record.tasks.iter().zip(&plan).enumerate();
            let fates = tasks.map(|(index, (task, plan))| match (given.get(index), plan) {
                (Some(word), _) => fate(word, index),
                (None, TaskPlan::Run | TaskPlan::Chosen(_)) => fate("done", index),
                (None, _) => task.fate.clone(),
            });
            let fates = fates.collect();
            step(&mut self.state, Event::Ended(number, fates));
            self.update(number);
        }
    }

    fn begin(&mut self, number: Number) {
        let kept = self.state.to_text(Some(number));
        step(&mut self.state, Event::Began(number, 1_000));
        self.update(number);
        // What vanished may be forgotten by now; a crash in between must make no other difference.
        let left = |text: &str| text.split("\"replaced\"").next().map(str::to_owned);
        assert_eq!(left(&kept), left(&self.kept), "kept when it began");
        self.kept = kept;
    }

    fn update(&mut self, number: Number) {
        let now = self.state.record(number).expect("a record").clone();
        self.records.get_mut(&number).expect("kept").0 = now;
        self.kept = self.state.to_text(None);
    }

    /// The batch on this line could not be started; those before it ran.
    fn refuse(&mut self, line: usize) {
        let at = self.due.iter().position(|(_, at, _)| *at == line);
        let (number, ..) = self.due.remove(at.expect("a batch on that line"));
        step(&mut self.state, Event::Refused(number));
        self.records.remove(&number);
        self.kept = self.state.to_text(None);
    }

    /// clada ends in the middle: the batches that are named have begun.
    fn crash(&mut self, fates: &str) {
        let fates = by_line(fates);
        for (number, line, _) in std::mem::take(&mut self.due) {
            let Some(words) = fates.get(&line) else {
                self.records.remove(&number);
                continue;
            };
            self.begin(number);
            let record = &mut self.records.get_mut(&number).expect("kept").0;
            for (index, (task, word)) in record.tasks.iter_mut().zip(words).enumerate() {
                task.fate = fate(word, index);
            }
        }
    }

    fn restart(&mut self) {
        let records = self
            .records
            .values()
            .map(|(record, _)| record.clone())
            .collect();
        let mut text_of = |number| self.records[&number].1.clone();
        let state = NoveltyState::from_text(SEED, &self.kept, records, &mut text_of);
        self.state = state.expect("a kept state");
        assert_eq!(
            self.state.to_text(None),
            self.kept,
            "the state after a restart"
        );
    }

    /// The user ticks the offer of this number in the last results.
    fn tick(&mut self, which: usize) {
        let offer = self.offers[which - 1].clone();
        let source = Some(TickSource {
            block: 1,
            line: which,
        });
        self.ticks.push(Tick { source, offer });
    }

    /// The user chooses a place: the line of the batch, the number of the task, and the line of its file.
    fn choose(&mut self, words: &str) {
        let numbers: Vec<usize> = words
            .split(' ')
            .map(|it| it.parse().expect("a number"))
            .collect();
        let [batch, task, line] = numbers.try_into().expect("BATCH TASK LINE");
        let mut lines = LineNumbers::new(&self.body);
        let mut present = self.state.present().into_iter();
        let is_there = |number: &Number| {
            let at = self.body.find(&self.records[number].1);
            at.is_some_and(|at| lines.of(at) == batch)
        };
        let spot = Spot {
            line,
            around: 3,
            key: Key(0),
        };
        self.ticks.push(Tick {
            source: Some(TickSource {
                block: 2,
                line: self.ticks.len() + 1,
            }),
            offer: Offer::at(present.find(is_there).expect("a batch"), task - 1, spot),
        });
    }
}

/// `3 tasks`, or what is planned for each where not all just run.
fn plan_words(plan: &[TaskPlan]) -> String {
    if plan.iter().all(|plan| *plan == TaskPlan::Run) {
        return format!("{} tasks", plan.len());
    }
    let word = |plan: &TaskPlan| match plan {
        TaskPlan::Run => "run".to_owned(),
        TaskPlan::Approved => "run without asking".to_owned(),
        TaskPlan::Chosen(spot) => format!("run at {}", spot.line),
        TaskPlan::Leave => "leave".to_owned(),
        TaskPlan::Ask(_) => "ask".to_owned(),
        TaskPlan::Done(_) => "done".to_owned(),
        TaskPlan::DoneExec => "done exec".to_owned(),
    };
    plan.iter().map(word).collect::<Vec<_>>().join(", ")
}

fn by_line(text: &str) -> BTreeMap<usize, Vec<String>> {
    let lines = text.lines().map(|line| {
        let (line, words) = line.split_once(':').expect("LINE: FATE …");
        let words = words.split_whitespace().map(str::to_owned).collect();
        (line.parse().expect("a line"), words)
    });
    lines.collect()
}

fn fate(word: &str, index: usize) -> Fate {
    let state = |text: &str| FileState(Some(text.to_owned()));
    match word {
        "done" => Fate::Done(vec![TaskTarget {
            path: index.to_string(),
            before: state("old"),
            after: state("new"),
        }]),
        "failed" => Fate::Failed,
        "interrupted" => Fate::Interrupted,
        "not-run" => Fate::NotRun,
        other => panic!("unknown fate {other}"),
    }
}

const A: &str = "<tasks>\n<task><c>delete</c><path>a</path></task>\n</tasks>\n";
const B: &str = "<tasks>\n<task>\n<c>exec</c>\n<x>\nmake\n</x>\n</task>\n</tasks>\n";
const LONE: &str = "<task><c>delete</c><path>a</path></task>\n";

/// Pieces of notes, some of which break or hide what stands around them.
const PIECES: [&str; 13] = [
    A,
    B,
    LONE,
    "prose\n",
    "`code` <b>\n",
    "<tasks>\n",
    "</tasks>\n",
    "<x>\n",
    "</x>\n",
    "x", // Whatever follows is not first on its line.
    "<!-- clada:off -->\n",
    "<!-- clada:on -->\n",
    "&lt;tasks&gt;\n",
];

#[derive(Debug, Clone)]
enum Edit {
    Insert(prop::sample::Index, usize),
    Remove(prop::sample::Index),
}

fn edit() -> impl Strategy<Value = (Edit, bool, bool, bool)> {
    let insert = (any::<prop::sample::Index>(), 0..PIECES.len())
        .prop_map(|(at, piece)| Edit::Insert(at, piece));
    let remove = any::<prop::sample::Index>().prop_map(Edit::Remove);
    // Mostly whole saves; sometimes the file settles before the next one.
    let over = prop::bool::weighted(0.8);
    let restarts = prop::bool::weighted(0.2);
    (prop_oneof![insert, remove], over, any::<bool>(), restarts)
}

/// How often this text is a batch or a task of one.
fn readable(body: &str, scan: &Scan<'_>, text: &str) -> usize {
    let spans = scan.batches.iter().flat_map(|batch| {
        let tasks = batch.tasks.iter().map(|task| task.span.clone());
        let own =
            (!batch.tasks.iter().any(|task| task.span == batch.span)).then(|| batch.span.clone());
        tasks.chain(own)
    });
    spans
        .filter(|span| &body[span.clone()] == text.trim_end())
        .count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 2_000 } else { 20_000 }))]

    /// Whatever is done around it, and whenever clada starts anew, a batch runs at most once for each time that its text was
    /// added to the notes.
    #[test]
    fn a_text_that_stays_runs_once_for_each_copy_added(
        first in prop::collection::vec(0..PIECES.len(), 0..4),
        edits in prop::collection::vec(edit(), 1..12),
    ) {
        let mut pieces: Vec<&str> = first.into_iter().map(|piece| PIECES[piece]).collect();
        let mut story = Story::default();
        let mut before = String::new();
        let mut may: HashMap<&str, usize> = HashMap::new();
        let mut looks = vec![(pieces.concat(), true, true, false)];
        for (edit, over, settles, restarts) in edits {
            match edit {
                Edit::Insert(at, piece) => pieces.insert(at.index(pieces.len() + 1), PIECES[piece]),
                Edit::Remove(at) if !pieces.is_empty() => drop(pieces.remove(at.index(pieces.len()))),
                Edit::Remove(_) => {}
            }
            looks.push((pieces.concat(), over, false, restarts));
            if settles {
                looks.push((pieces.concat(), true, true, false));
            }
        }
        for (index, (body, over, settled, restarts)) in looks.iter().enumerate() {
            let scan = scan(body);
            for text in [A, B, LONE] {
                let copies = |body: &str| body.matches(text.trim_end()).count();
                let added = copies(body).saturating_sub(copies(&before));
                // At first sight it is noted, unless it is in something that is not closed yet.
                let noted = if index == 0 { readable(body, &scan, text) } else { 0 };
                *may.entry(text).or_default() += added.saturating_sub(noted);
            }
            if *restarts {
                story.restart();
            }
            story.body.clone_from(body);
            story.look(*over, *settled, false, false);
            for (number, ..) in &story.due {
                let text = &story.records[number].1;
                let known = [A, B, LONE].iter().find(|known| known.trim_end() == text);
                if let Some(left) = known.and_then(|known| may.get_mut(known)) {
                    prop_assert!(*left > 0, "again: {text:?} in {body:?}");
                    *left -= 1;
                }
            }
            story.end_runs("");
            before.clone_from(body);
        }
    }
}
