//! The listener: waits for a save, reads what is new in it, has that run, and hands out the results.
//!
//! This file is the loop, from top to bottom: wait, read, split, scan, decide, record, run, report, write back. `novelty` decides
//! what is new.

pub mod board;
mod books;
mod choices;
mod claim;
mod commands;
mod copied;
mod delivery;
mod due_batch;
mod inbox;
pub mod intake;
mod last_notes;
mod memory;
mod notices;
mod observer;
mod opening;
pub mod project;
mod recovery;
pub mod rules;
mod runs;
pub mod sharing;
mod site;
mod standing;
mod ticked;
mod ticks;
mod unread;
mod waiting;

use std::ops::Range;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::{sleep, sleep_until};
use tracing::Instrument;

use crate::clock;
use crate::novelty::{Effect, Event, Look};
use crate::reply::note::Note;
use crate::reply::record::{Number, TaskPlan, Tick};
use crate::reply::scan::scan_for;
use crate::reply::task::LineNumbers;
use crate::report::{Offered, ParseError, Report};
use crate::run::Runner;
use crate::settings::places;
use crate::world::ledger::{FileId, Ledger};
use crate::world::note_file::NoteReading;
use crate::world::watch::Signal;

use delivery::{Delivery, Going};
use due_batch::{BatchesAgain, DueBatch, Remembered};
use last_notes::Hash;
use notices::{MISSING, UNREADABLE, swallowed};
use opening::ListenerSettings;
use ticks::{Counted, SaveChange};
use waiting::Pending;

pub use choices::{OpenPlace, open_places};
pub(crate) use claim::create_if_missing;
pub use claim::{Claim, ProcessShared};
pub use commands::Running;
pub use memory::Memory;
pub use observer::{News, Observer};
pub use recovery::{UserRequest, no_batch};
pub use site::{Flags, Site};
pub use ticked::BY_COMMAND;

/// The way in which a listener begins to listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// Nobody listened: the text that is in the file now is looked at.
    Anew,
    /// The file was made, with this text: everything else in it came later.
    Made(&'static str),
    /// The listener rested, and something happened.
    Woken,
}

/// The reason why a listener stops listening.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parting {
    /// It is to leave, or has nothing more to do.
    Done,
    /// The name of the notes leads to another file now.
    Moved,
}

/// A listener on one notes file.
pub struct Listener<'c> {
    claim: &'c mut Claim,
    settings: ListenerSettings,
    runner: Runner,
    delivery: Delivery,
    memory: Memory,
    /// Becomes true when clada has to exit: it ends a batch that runs.
    stop: watch::Receiver<bool>,
    observer: Observer,
    pending: Pending,
}

/// A text that was read from the notes file.
struct Save {
    text: String,
    /// Nobody had the file open for writing.
    over: bool,
    /// The time of the file's last change, in Unix time in milliseconds.
    changed_ms: i64,
    /// The text that was waited for, if its time is up.
    waited_for: Option<Hash>,
    /// It is time to try again what could not be started.
    retry: bool,
}

impl Save {
    /// A text that is surely whole.
    fn whole(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            over: true,
            changed_ms: 0,
            waited_for: None,
            retry: false,
        }
    }
}

/// The work and the news that a look leads to.
struct Decided<'s> {
    jobs: Vec<DueBatch<'s>>,
    report: Report,
    /// An LLM is to read the report.
    copies: bool,
}

impl Listener<'_> {
    /// Listens until `leave` becomes true, or nothing happened for as long as it may `rest`.
    pub async fn listen(
        &mut self,
        begin: Begin,
        leave: watch::Receiver<bool>,
        rest: Option<Duration>,
    ) -> Parting {
        let file = self.claim.note.path().display();
        let span = tracing::info_span!("notes", %file);
        self.listen_inside(begin, leave, rest)
            .instrument(span)
            .await
    }

    async fn listen_inside(
        &mut self,
        begin: Begin,
        mut leave: watch::Receiver<bool>,
        rest: Option<Duration>,
    ) -> Parting {
        self.claim.intake.watch(self.delivery.listening.watches);
        self.take_copied();
        if let Some(save) = self.begin(begin) {
            self.take_in(save).await;
        }
        loop {
            let due = self.pending.due();
            if due.is_some() {
                tracing::debug!("waits before it looks again");
            } else {
                tracing::debug!("nothing to do");
            }
            let rest = rest.filter(|_| due.is_none());
            tokio::select! {
                biased;
                _ = leave.wait_for(|leave| *leave) => return Parting::Done,
                signal = self.claim.watcher.next() => {
                    self.take_copied();
                    if signal != Signal::Asked {
                        self.pending.on(signal);
                    }
                }
                () = sleep_until(due.unwrap_or_else(Instant::now).into()), if due.is_some() => {
                    self.take_copied();
                    if let Some(save) = self.read() {
                        self.take_in(save).await;
                    }
                    if self.has_moved() {
                        return Parting::Moved;
                    }
                }
                () = sleep(rest.unwrap_or_default()), if rest.is_some() => return Parting::Done,
            }
        }
    }

    /// Tells of everything that was left from before, and returns the text that is looked at first.
    fn begin(&mut self, begin: Begin) -> Option<Save> {
        match begin {
            Begin::Anew | Begin::Made(_) => tracing::info!("watching"),
            Begin::Woken => tracing::debug!("awake"),
        }
        let first = match begin {
            Begin::Anew => self.first_text(),
            Begin::Made(text) => {
                self.pending.settle.on(Signal::Changing, Instant::now());
                Some(Save::whole(text))
            }
            Begin::Woken => {
                self.pending.has_begun = true;
                None
            }
        };
        self.recover();
        if begin != Begin::Woken {
            self.clear_leftovers();
        }
        let warnings = std::mem::take(&mut self.settings.warnings);
        for warning in warnings.iter().chain(&self.settings.news.notice) {
            self.observer.trouble(warning);
        }
        self.observer
            .tell(News::Watching(self.delivery.note.path()));
        self.tell_of_snapshots();
        first
    }

    /// Reads the notes file, which has changed or is due; nothing where its text cannot be used yet.
    fn read(&mut self) -> Option<Save> {
        let now = Instant::now();
        if let Some(why) = self.doubt() {
            self.pending.settle.looked(Some(true), now);
            self.pending.unfinished = None;
            self.pending.scarce = Some(now + places::RETRY);
            self.complain(&why);
            return None;
        }
        let reading = self.delivery.note.read();
        let no_writer = match &reading {
            Ok(NoteReading::Text { no_writer, .. }) => *no_writer,
            _ => None,
        };
        self.pending.settle.looked(no_writer, now);
        if self.pending.settle.due().is_some() {
            return None;
        }
        let (waited_for, retry) = self.pending.take_due(now);
        match reading {
            Ok(NoteReading::Missing) => {
                self.pending.unfinished = None;
                self.complain(MISSING);
                None
            }
            Err(error) => {
                self.pending.unfinished = None;
                self.cannot_read(&error);
                None
            }
            Ok(NoteReading::Text {
                text, changed_ms, ..
            }) => {
                self.pending.complaints.file.clear();
                Some(Save {
                    text,
                    over: no_writer == Some(true),
                    changed_ms,
                    waited_for,
                    retry,
                })
            }
        }
    }

    /// Takes in a save, from its text to its results.
    async fn take_in(&mut self, mut save: Save) {
        // Names the text without telling what is in it.
        let text = &Hash::of(&save.text).hex()[..16];
        tracing::debug!(%text, changed_ms = save.changed_ms, "looks");
        self.apply_settings();
        let is_start = !std::mem::replace(&mut self.pending.has_begun, true);
        // What could not begin before the last end of clada is tried again.
        save.retry |= is_start;
        let note = self.memory.split(&save.text);
        let is_copied = self.claim.inbox.look(&note.body);
        let hash = Hash::of(&note.body);
        let is_same = self.memory.last.looked == Some(hash);
        // What stayed as it is until it could be tried again has settled too.
        let settled = save.waited_for == Some(hash) || save.retry && is_same;
        // An editor that empties the file and then fills it is in between.
        if save.text.is_empty() && !settled && !is_same && !self.memory.last.is_new() {
            self.pending.wait_for_more(hash);
            return;
        }
        let change = SaveChange {
            is_start,
            is_same: is_same || self.memory.last.differs_in_blanks_only(&note.body),
            is_framed: self.memory.last.has_frame(&note, &save.text),
            changed_ms: save.changed_ms,
            is_copied,
        };
        let counted = self.read_ticks(&note, change, is_same);
        let is_void = counted.void.is_some() || !change.is_framed;
        if is_same && !settled && !counted.asks() && !is_void && !self.is_untold() {
            self.write_back(&save.text);
            self.finish_copied();
            return;
        }
        self.pending.unfinished = None;
        let foreign = note.blocks.iter().find(|block| !block.is_known);
        let dialects = self.runner.setup.dialects;
        let mut scan = scan_for(&note.body, dialects);
        self.claim.inbox.settle(&note.body, &mut scan);
        let copied = self.claim.inbox.keys(self.memory.ledger.seed());
        let look = Look {
            body: &note.body,
            scan: &self.memory.novelty.part(&note.body, scan),
            dialects,
            over: save.over,
            settled,
            foreign: foreign.is_some(),
            run_existing: self.settings.flags.run_existing && self.memory.last.is_new(),
            copied: &copied,
            ticks: &counted.ticks,
        };
        let effects = self.memory.look(look, hash, note.above);
        tracing::debug!(effects = effects.len(), "looked");
        // Whoever asks for this asks for what is in the notes.
        tracing::trace!(body = look.body, ?effects, "looked");
        self.record(&look, &effects, foreign.map(|block| block.text));
        let is_idle = effects.is_empty();
        let remembered = self.memory.remembered(&effects);
        let texts: Vec<_> = remembered.iter().map(Remembered::scan).collect();
        let again = remembered.iter().zip(&texts);
        let Decided {
            jobs,
            mut report,
            mut copies,
        } = self.decide(&look, effects, hash, DueBatch::again(again));
        report.void = counted.void.as_ref().map(ticks::Void::said);
        if !counted.adds.is_empty() {
            let said = self.add_untracked(&counted.adds).await;
            report.notices.extend(said);
        }
        copies |= self.run_due(jobs, save.retry, &mut report).await;
        self.offer_again(&counted.lost, &mut report);
        if !self.report(report, copies, &save.text) {
            self.mention_paste(&look, is_idle);
        }
        self.finish_copied();
    }

    /// Reads the ticks of a save, and finds which of them count.
    fn read_ticks(&mut self, note: &Note<'_>, change: SaveChange, is_same: bool) -> Counted {
        let counted = self.memory.ticks(note).and_then(|ticks| {
            if change.is_copied {
                self.memory.copied_results_are_read();
            } else if !is_same || !ticks.is_empty() {
                self.memory.changed(change.changed_ms);
            }
            self.counted(ticks, change)
        });
        counted.unwrap_or_else(|error| {
            self.complain(&error.to_string());
            Counted::default()
        })
    }

    /// Records what was seen, and the block of another clada, which results are about to replace.
    fn record(&mut self, look: &Look<'_>, effects: &[Effect], foreign: Option<&str>) {
        let now = clock::now_ms().div_euclid(1000);
        let memory = &mut self.memory;
        let kept = memory.keep(look, effects, now).and_then(|()| {
            let keep = |block| memory.ledger.keep_foreign(memory.file, block, now);
            foreign.map_or(Ok(()), keep)
        });
        let said = &mut self.pending.complaints.ledger;
        match kept {
            Ok(()) => said.clear(),
            Err(error) => self.observer.trouble_once(said, &error.to_string()),
        }
    }

    /// Turns the effects of a look into work and news. `again` are the batches that were ticked.
    fn decide<'s>(
        &mut self,
        look: &Look<'s>,
        effects: Vec<Effect>,
        hash: Hash,
        again: BatchesAgain<'s>,
    ) -> Decided<'s> {
        let recovered = std::mem::take(&mut self.pending.recovered);
        let mut decided = Decided {
            jobs: again.jobs,
            // An LLM may wait for what came of them.
            copies: !recovered.outcomes.is_empty(),
            report: recovered,
        };
        let report = &mut decided.report;
        for number in again.unreadable {
            self.memory.step(Event::Refused(number));
            report.notices.push(UNREADABLE.to_owned());
        }
        let mut lines = LineNumbers::new(look.body);
        for effect in effects {
            match effect {
                Effect::Run {
                    batch,
                    number,
                    plan,
                } => {
                    let same_as = self.same_as(number, &plan);
                    let mut job = DueBatch::of_body(look, batch, number, plan);
                    job.same_as = same_as;
                    decided.jobs.push(job);
                }
                Effect::Again { .. } | Effect::Remember { .. } | Effect::RememberPart { .. } => {}
                Effect::Swallowed(tasks) => report.notices.push(swallowed(tasks)),
                Effect::Offer { why, offer } => {
                    let (why, action) = notices::reason(why, offer.tasks(), clock::when);
                    report.offers.push(Offered { why, action, offer });
                }
                Effect::Tell { problem, typed, .. } => {
                    // What somebody may still be writing is no reply to an LLM.
                    decided.copies |= !typed;
                    let problems = ParseError::of(&problem, &mut lines);
                    report.problems.extend(problems);
                }
                Effect::Wait => self.pending.wait_for_more(hash),
            }
        }
        decided
    }

    /// Returns the time at which a batch ran within the hour that did the same as this one, which runs as a whole.
    fn same_as(&self, number: Number, plan: &[TaskPlan]) -> Option<i64> {
        let now = clock::now_ms().div_euclid(1000);
        let is_whole = plan.iter().all(|plan| *plan == TaskPlan::Run);
        let ran = || {
            self.memory
                .novelty
                .same_as(number, now - places::SAME_REPLY)
        };
        is_whole.then(ran).flatten()
    }

    /// Runs the batches that are due, and adds what came of them to the report. True if that is something to tell.
    async fn run_due(&mut self, jobs: Vec<DueBatch<'_>>, retry: bool, report: &mut Report) -> bool {
        if jobs.is_empty() {
            self.pending.refused = None;
            return false;
        }
        // After a start nothing was said of it yet.
        let retry = retry && self.pending.refused.is_some();
        // Stopped before it began, there may still be something else to tell.
        let Some(mut ran) = self.run(jobs, retry).await else {
            return false;
        };
        if self.refused(&mut ran) {
            return false;
        }
        report.take(ran.report);
        true
    }

    /// Reports what came of a save, whose whole text is given. True if there was something to tell.
    fn report(&mut self, mut report: Report, copies: bool, text: &str) -> bool {
        report.notices.extend(self.news_of_wrong());
        let is_told = !report.is_empty();
        if is_told {
            self.pending.complaints.paste = false;
            self.hand_out(report, copies, text);
            self.memory.prune(clock::now_ms().div_euclid(1000));
        } else {
            self.write_back(text);
        }
        if self.delivery.is_starved() {
            self.pending.scarce = Some(Instant::now() + places::RETRY);
        }
        let waits = self.pending.refused.as_ref();
        self.observer
            .tell(News::Waits(waits.map(|refused| refused.why.as_str())));
        is_told
    }

    /// Hands out a report: to the output file, the clipboard and the notes, whose whole text is given.
    fn hand_out(&mut self, mut report: Report, copies: bool, text: &str) {
        let mask = &self.runner.setup.rules.mask;
        self.memory.add_asked(&mut report, mask);
        let going = Going {
            copies,
            source: self.claim.inbox.source(),
        };
        self.delivery
            .hand_out(report, going, text, &mut self.memory);
        self.runner.changes_are_told();
    }

    /// Writes the results that are not in the notes yet.
    fn write_back(&mut self, text: &str) {
        self.delivery.write_unwritten(text, &mut self.memory);
    }

    /// Mentions a paste in which no task is, once until something runs: a person may wait for it.
    fn mention_paste(&mut self, look: &Look<'_>, is_idle: bool) {
        let Some(pasted) = self.memory.last.inserted().filter(|_| is_idle) else {
            return;
        };
        let is_in = |span: &Range<usize>| span.start < pasted.end && pasted.start < span.end;
        let has_tasks = look.scan.batches.iter().any(|batch| is_in(&batch.span));
        let has_problems = look.scan.problems.iter().any(|it| pasted.contains(&it.at));
        let text = look.body.get(pasted.clone()).unwrap_or_default();
        let size = text.chars().count();
        let is_mentioned = &mut self.pending.complaints.paste;
        if size < places::PASTE || has_tasks || has_problems || *is_mentioned {
            return;
        }
        *is_mentioned = true;
        self.observer.tell(News::Note(&notices::no_task(size)));
    }

    /// The ledger, and the file in it that is listened to.
    pub fn known(&self) -> (&Ledger, FileId) {
        (&self.memory.ledger, self.memory.file)
    }

    /// Runs tasks that were seen before. True if all went well; `None` if there was nothing to do.
    pub async fn retry(&mut self, request: UserRequest) -> Option<bool> {
        self.apply_settings();
        let remains = self.remains().unwrap_or_else(|error| {
            self.observer.trouble(&error.to_string());
            recovery::Remains::default()
        });
        self.clear_leftovers();
        let offer = match request.offer(&self.memory.ledger, self.memory.file) {
            Ok(offer) => offer?,
            Err(error) => {
                self.observer.trouble(&error.to_string());
                return Some(false);
            }
        };
        // Whoever asks for that has seen what came of it.
        self.memory.changed(clock::now_ms());
        let source = None;
        let effects = self.memory.step(Event::Asked(&[Tick { source, offer }]));
        let remembered = self.memory.remembered(&effects);
        let texts: Vec<_> = remembered.iter().map(Remembered::scan).collect();
        let jobs = DueBatch::again(remembered.iter().zip(&texts)).jobs;
        if jobs.is_empty() {
            self.observer.trouble(UNREADABLE);
            return Some(false);
        }
        let asked = jobs.iter().filter_map(DueBatch::asked).collect();
        let mut ran = self.run(jobs, false).await?;
        self.tell_beside(remains, asked, &mut ran);
        let mut report = std::mem::take(&mut self.pending.recovered);
        report.take(ran.report);
        report.notices.extend(self.news_of_wrong());
        let success = report.success();
        self.hand_out(report, true, "");
        Some(success)
    }
}
