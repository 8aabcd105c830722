//! The listener: waits for a save, asks the engine what is new, has it run, and hands out the results. Decides nothing
//! itself.

pub mod board;
mod books;
mod choices;
mod commands;
mod delivery;
mod memory;
mod notices;
mod recovery;
pub mod rules;
mod runs;
mod standing;
mod ticked;
mod ticks;
mod unread;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::{sleep, sleep_until};
use tracing::Instrument;

use crate::clock::Clock;
use crate::novelty::{self, Effect, Event, Look};
use crate::reply::record::{Number, TaskPlan, Tick};
use crate::reply::scan::{scan, scan_for};
use crate::reply::task::LineNumbers;
use crate::report::{Offered, ParseError, Report};
use crate::run::{Progress, Runner, Setup};
use crate::settings::places;
use crate::text::hex::hex;
use crate::world::ledger::LedgerError;
use crate::world::note_file::{NoteError, NoteReading};
use crate::world::watch::{Settle, Signal, Watcher};

use memory::{Hash, hash};
use notices::{FIXED, MISSING, UNREADABLE, swallowed};
use recovery::Remains;
use runs::Wanted;
use ticks::{Change, Counted, Void};

pub use choices::{OpenPlace, open_places};
pub use commands::Running;
pub use delivery::Delivery;
pub use memory::{Limits, Memory};
pub use notices::not_followed;
pub use recovery::Which;
pub use ticked::BY_COMMAND;

/// What the person at the terminal is shown.
pub enum Shown<'s> {
    /// The file is watched from now on.
    Watching(&'s Path),
    Progress(Progress<'s>),
    /// Something to know that is no result.
    Note(&'s str),
    /// Work that was begun waits, and why; nothing when it waits no more. It was said to the person already.
    Waits(Option<&'s str>),
    /// Something that clada could not do.
    Trouble(&'s str),
    /// A run is over.
    Results {
        block: &'s str,
        /// A command waits for approval.
        asks: bool,
    },
}

/// How a listener listens, tells and remembers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listening {
    /// How long the notes must be quiet.
    pub debounce: Duration,
    /// How often to look, where that is not told by events. It takes a new start to change that.
    pub poll: Option<Duration>,
    /// The name of the output file. It takes a new start to change that: it is locked, and no task may touch it.
    pub output: String,
    pub clipboard: bool,
    /// How large a packet may be, in bytes.
    pub packet: usize,
    /// The desktop tells of a batch that is over.
    pub notifies: bool,
    pub limits: Limits,
}

/// What the settings come to.
pub struct Fresh {
    pub setup: Setup,
    pub listening: Listening,
    /// Why not all of them hold.
    pub notice: Option<String>,
}

/// See [`Daemon::refresh`].
pub type Refresh = Box<dyn Fn() -> Result<Fresh, String>>;

/// Says why the notes may not be the person's alone any more, and what to do: a command may have let others write them.
pub type Doubt = Box<dyn Fn() -> Option<String>>;

/// Why a listener begins to listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// Nobody listened: what the file says now is looked at.
    Anew,
    /// The file was made, with this text: what is in it now came later.
    Made(&'static str),
    /// It rested, and something happened.
    Woken,
}

/// Why a listener does not listen any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parting {
    /// It is to leave, or has nothing more to do.
    Done,
    /// The name of the notes leads to another file now.
    Moved,
}

/// A listener on one file.
pub struct Daemon {
    pub settle: Settle,
    pub runner: Runner,
    pub delivery: Delivery,
    /// Where locks are.
    pub locks: PathBuf,
    pub clock: Clock,
    pub memory: Memory,
    /// What is there at first sight is to run.
    pub run_existing: bool,
    /// Becomes true when listening is to end. What runs goes on to its end.
    pub leave: watch::Receiver<bool>,
    /// After how long with nothing to do listening ends; nothing: never.
    pub rest: Option<Duration>,
    pub listening: Listening,
    /// Has what the settings come to now; or what is wrong with these.
    pub refresh: Refresh,
    /// See [`Doubt`].
    pub doubt: Doubt,
    pub pending: Pending,
}

/// What a listener has still to do.
#[derive(Default)]
pub struct Pending {
    /// A text was taken in since listening began.
    has_begun: bool,
    /// A text that may be half a save, and when it is taken as it is if it stays.
    unfinished: Option<(Instant, Hash)>,
    refused: Option<Refused>,
    /// When something is tried again for which the system had not enough.
    scarce: Option<Instant>,
    /// The name of the notes leads elsewhere, and they are looked at for the last time.
    is_leaving: bool,
    /// A paste without a task was mentioned since the last run.
    is_mentioned: bool,
    /// What a crash left, to be told with the next results.
    recovered: Report,
    /// What was last said of a file that cannot be read.
    complaint: String,
    /// What was last said of a link that is not followed.
    diverted: String,
    /// What was last said of a ledger that cannot be written.
    unkept: String,
    /// What is to be said when listening begins.
    warnings: Vec<String>,
    /// Why not all of the settings hold.
    settings: Option<String>,
    /// What is wrong with them.
    wrong: Option<String>,
    told: Told,
}

/// What was said of the settings last.
#[derive(Debug, Clone, Default)]
pub struct Told {
    /// Why not all of them hold.
    settings: Option<String>,
    /// What is wrong with them.
    wrong: Option<String>,
}

impl Pending {
    /// Nothing was done yet; `settings` is what there is to say of them.
    pub fn new(warnings: Vec<String>, settings: Option<String>, told: Told) -> Self {
        Self {
            warnings,
            settings,
            told,
            ..Self::default()
        }
    }

    /// What was said of the settings, for who listens next.
    pub fn told(&self) -> Told {
        self.told.clone()
    }

    /// What is to be said of wrong settings, or of some that are right again; once.
    fn news_of_wrong(&mut self) -> Option<String> {
        if self.wrong == self.told.wrong {
            return None;
        }
        self.told.wrong.clone_from(&self.wrong);
        Some(self.wrong.clone().unwrap_or_else(|| FIXED.to_owned()))
    }
}

/// Batches that could not be started.
struct Refused {
    /// When they are tried again; `None` during that try.
    due: Option<Instant>,
    why: String,
}

/// How a text was come by.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// Nobody had the file open for writing.
    over: bool,
    /// When the file was last changed, in Unix time in milliseconds.
    changed_ms: i64,
    /// The text that has been waited for, if its time is up.
    waited_for: Option<Hash>,
    /// It is time to try again what could not be started.
    retry: bool,
}

impl Seen {
    /// A text that is surely whole.
    fn whole() -> Self {
        Self {
            over: true,
            ..Self::default()
        }
    }
}

/// What there is to do and to tell after a look.
struct Found {
    wanted: Wanted,
    report: Report,
    /// An LLM is to read it.
    copies: bool,
}

impl Daemon {
    /// Listens until it is to leave, or there is nothing more to do. `stop` ends what runs.
    pub async fn listen(
        &mut self,
        watcher: &mut Watcher,
        begin: Begin,
        stop: &watch::Receiver<bool>,
        show: &mut dyn FnMut(Shown<'_>),
    ) -> Parting {
        let file = self.delivery.note.path().display();
        let span = tracing::info_span!("notes", %file);
        let listening = self.listen_inside(watcher, begin, stop, show);
        listening.instrument(span).await
    }

    async fn listen_inside(
        &mut self,
        watcher: &mut Watcher,
        begin: Begin,
        stop: &watch::Receiver<bool>,
        show: &mut dyn FnMut(Shown<'_>),
    ) -> Parting {
        match begin {
            Begin::Anew | Begin::Made(_) => tracing::info!("watching"),
            Begin::Woken => tracing::debug!("awake"),
        }
        let first = match begin {
            Begin::Anew => self.first_text(show),
            Begin::Made(text) => {
                self.settle.on(Signal::Changing, Instant::now());
                Some((text.to_owned(), Seen::whole()))
            }
            Begin::Woken => {
                self.pending.has_begun = true;
                None
            }
        };
        self.recover(show);
        if begin != Begin::Woken {
            self.clear_leftovers(show);
        }
        for warning in std::mem::take(&mut self.pending.warnings) {
            show(Shown::Trouble(&warning));
        }
        if let Some(notice) = &self.pending.settings {
            show(Shown::Trouble(notice));
        }
        show(Shown::Watching(self.delivery.note.path()));
        if let Some((text, seen)) = first {
            self.take_in(&text, seen, stop, show).await;
        }
        let mut leave = self.leave.clone();
        loop {
            let due = self.due();
            if due.is_some() {
                tracing::debug!("waits before it looks again");
            } else {
                tracing::debug!("nothing to do");
            }
            let rest = self.rest.filter(|_| due.is_none());
            tokio::select! {
                biased;
                _ = leave.wait_for(|leave| *leave) => return Parting::Done,
                signal = watcher.next() => {
                    let now = Instant::now();
                    tracing::debug!(?signal, "signal");
                    self.settle.on(signal, now);
                    if let Some((due, _)) = &mut self.pending.unfinished {
                        *due = now + places::PASTE_QUIET;
                    }
                }
                () = sleep_until(due.unwrap_or_else(Instant::now).into()), if due.is_some() => {
                    self.look(stop, show).await;
                    if self.has_moved(show) {
                        return Parting::Moved;
                    }
                }
                () = sleep(rest.unwrap_or_default()), if rest.is_some() => return Parting::Done,
            }
        }
    }

    /// Tells if its name leads to other notes now. These are looked at once more then: what was saved in them until then is theirs.
    fn has_moved(&mut self, show: &mut dyn FnMut(Shown<'_>)) -> bool {
        let is_quiet = self.settle.due().is_none() && self.pending.unfinished.is_none();
        if !is_quiet || !self.leads_elsewhere(show) {
            self.pending.is_leaving &= !is_quiet;
            return false;
        }
        if !self.pending.is_leaving {
            self.settle.on(Signal::Over, Instant::now());
        }
        std::mem::replace(&mut self.pending.is_leaving, true)
    }

    /// Tells if the name of the notes leads to others that may be followed. A link that a command may have made is not: what it
    /// leads to would be written.
    fn leads_elsewhere(&mut self, show: &mut dyn FnMut(Shown<'_>)) -> bool {
        let note = &self.delivery.note;
        let Some(lead) = note.leads_elsewhere() else {
            self.pending.diverted.clear();
            return false;
        };
        let fence = &self.runner.setup.rules.fence;
        let trees = fence.temp.iter().chain(&fence.writable);
        let mut trees: Vec<PathBuf> = trees.filter_map(|tree| tree.canonicalize().ok()).collect();
        trees.push(self.runner.disk.path().to_owned());
        let before = Some(note.lead());
        let Some(link) = lead.diverted(before, self.runner.disk.path(), &trees) else {
            self.pending.diverted.clear();
            return true;
        };
        let why = not_followed(link, &lead.path);
        say_once(&mut self.pending.diverted, &why, show);
        false
    }

    /// When to look next without a signal. A save that is under way is waited for first.
    fn due(&self) -> Option<Instant> {
        let unfinished = self.pending.unfinished.map(|(due, _)| due);
        let retry = self
            .pending
            .refused
            .as_ref()
            .and_then(|refused| refused.due);
        let other = [unfinished, retry, self.pending.scarce];
        let other = other.into_iter().flatten().min();
        self.settle.due().or(other)
    }

    /// What is in the file when listening begins. One that is not there has been seen empty, unless it is only gone.
    fn first_text(&mut self, show: &mut dyn FnMut(Shown<'_>)) -> Option<(String, Seen)> {
        match self.delivery.note.read() {
            Ok(NoteReading::Text {
                text,
                no_writer,
                changed_ms,
            }) => {
                let seen = Seen {
                    over: no_writer != Some(false),
                    changed_ms,
                    ..Seen::default()
                };
                Some((text, seen))
            }
            Ok(NoteReading::Missing) if self.memory.is_new() => {
                Some((String::new(), Seen::whole()))
            }
            Ok(NoteReading::Missing) => {
                self.complain(MISSING, show);
                None
            }
            Err(error) => {
                self.cannot_read(&error, show);
                None
            }
        }
    }

    /// Says once that the file cannot be read, and looks again soon where that may be for a moment only.
    fn cannot_read(&mut self, error: &NoteError, show: &mut dyn FnMut(Shown<'_>)) {
        self.complain(&error.to_string(), show);
        if error.is_scarce() {
            self.pending.scarce = Some(Instant::now() + places::RETRY);
        }
    }

    async fn look(&mut self, stop: &watch::Receiver<bool>, show: &mut dyn FnMut(Shown<'_>)) {
        let now = Instant::now();
        if let Some(why) = (self.doubt)() {
            self.settle.looked(Some(true), now);
            self.pending.unfinished = None;
            self.pending.scarce = Some(now + places::RETRY);
            self.complain(&why, show);
            return;
        }
        let reading = self.delivery.note.read();
        let no_writer = match &reading {
            Ok(NoteReading::Text { no_writer, .. }) => *no_writer,
            _ => None,
        };
        self.settle.looked(no_writer, now);
        if self.settle.due().is_some() {
            return;
        }
        let pending = &mut self.pending;
        pending.scarce.take_if(|due| *due <= now);
        let waited_for = pending.unfinished.take_if(|(due, _)| *due <= now);
        let refused = pending.refused.as_mut();
        let retry = refused.is_some_and(|refused| refused.due.take_if(|due| *due <= now).is_some());
        match reading {
            Ok(NoteReading::Missing) => {
                self.pending.unfinished = None;
                self.complain(MISSING, show);
            }
            Err(error) => {
                self.pending.unfinished = None;
                self.cannot_read(&error, show);
            }
            Ok(NoteReading::Text {
                text, changed_ms, ..
            }) => {
                self.pending.complaint.clear();
                let seen = Seen {
                    over: no_writer == Some(true),
                    changed_ms,
                    waited_for: waited_for.map(|(_, hash)| hash),
                    retry,
                };
                self.take_in(&text, seen, stop, show).await;
            }
        }
    }

    async fn take_in(
        &mut self,
        text: &str,
        mut seen: Seen,
        stop: &watch::Receiver<bool>,
        show: &mut dyn FnMut(Shown<'_>),
    ) {
        // Names the text without telling what is in it.
        tracing::debug!(text = %hex(&hash(text)[..8]), changed_ms = seen.changed_ms, "looks");
        self.take_settings();
        // What could not begin before the last end of clada is tried again.
        let is_start = !std::mem::replace(&mut self.pending.has_begun, true);
        seen.retry |= is_start;
        let note = self.memory.split(text);
        let hash = hash(&note.body);
        let is_same = self.memory.looked == Some(hash);
        // What stayed as it is until it could be tried again has settled too.
        let settled = seen.waited_for == Some(hash) || seen.retry && is_same;
        // An editor that empties the file and then fills it is in between.
        if text.is_empty() && !settled && !is_same && !self.memory.is_new() {
            self.wait_for_more(hash);
            return;
        }
        let change = Change {
            is_start,
            is_same: is_same || self.memory.differs_in_blanks_only(&note.body),
            is_framed: self.memory.has_frame(&note, text),
            changed_ms: seen.changed_ms,
        };
        let ticks = self.memory.ticks(&note).and_then(|ticks| {
            if !is_same || !ticks.is_empty() {
                self.memory.changed(seen.changed_ms);
            }
            self.counted(ticks, change)
        });
        let counted = ticks.unwrap_or_else(|error| {
            self.complain(&error.to_string(), show);
            Counted::default()
        });
        let Counted {
            ticks,
            adds,
            void,
            lost,
        } = counted;
        let pending = &self.pending;
        let is_untold = !pending.recovered.is_empty() || pending.wrong != pending.told.wrong;
        let is_void = void.is_some() || !change.is_framed;
        let asks = !ticks.is_empty() || !adds.is_empty();
        if is_same && !settled && !asks && !is_void && !is_untold {
            self.delivery.write_unwritten(text, &mut self.memory, show);
            return;
        }
        self.pending.unfinished = None;
        let foreign = note
            .blocks
            .iter()
            .find(|block| !block.is_known)
            .map(|block| block.text);
        let dialects = self.runner.setup.dialects;
        let scan = scan_for(&note.body, dialects);
        let scan = self.memory.engine.part(&note.body, scan);
        let look = Look {
            body: &note.body,
            scan: &scan,
            dialects,
            over: seen.over,
            settled,
            foreign: foreign.is_some(),
            run_existing: self.run_existing && self.memory.is_new(),
            ticks: &ticks,
        };
        let effects = self.memory.look(look, hash, note.above);
        tracing::debug!(effects = effects.len(), "looked");
        // Whoever asks for this asks for what is in the notes.
        tracing::trace!(body = look.body, ?effects, "looked");
        match self.keep(&look, &effects, foreign) {
            Ok(()) => self.pending.unkept.clear(),
            Err(error) => say_once(&mut self.pending.unkept, &error.to_string(), show),
        }
        let is_idle = effects.is_empty();
        let Found {
            wanted,
            mut report,
            mut copies,
        } = self.found(&look, effects, hash);
        report.void = void.as_ref().map(Void::said);
        if !adds.is_empty() {
            let said = self.add_untracked(&adds, stop, show).await;
            report.notices.extend(said);
        }
        if wanted.is_empty() {
            self.pending.refused = None;
        } else {
            // After a start nothing was said of it yet.
            let retry = seen.retry && self.pending.refused.is_some();
            let ran = self.run(&note.body, &scan, wanted, retry, stop, show).await;
            // Stopped before it began, there may still be something else to tell.
            if let Some(mut ran) = ran
                && !self.refused(&mut ran)
            {
                report.take(ran.report);
                copies = true;
            }
        }
        report.notices.extend(self.pending.news_of_wrong());
        self.offer_again(&lost, &mut report);
        if report.is_empty() {
            self.delivery.write_unwritten(text, &mut self.memory, show);
            self.mention_paste(&look, is_idle, show);
        } else {
            self.pending.is_mentioned = false;
            let mask = &self.runner.setup.rules.mask;
            self.memory.add_asked(&mut report, self.clock.when, mask);
            let now = (self.clock.now_ms)().div_euclid(1000);
            self.delivery
                .hand_out(report, copies, text, (&mut self.memory, now), show);
            self.runner.changes_are_told();
            self.memory.prune(now);
        }
        if self.delivery.is_starved() {
            self.pending.scarce = Some(Instant::now() + places::RETRY);
        }
        let waits = self.pending.refused.as_ref();
        show(Shown::Waits(waits.map(|refused| refused.why.as_str())));
    }

    /// Mentions a paste in which no task is, once until something runs: a person may wait for it.
    fn mention_paste(&mut self, look: &Look<'_>, is_idle: bool, show: &mut dyn FnMut(Shown<'_>)) {
        let Some(pasted) = self.memory.inserted().filter(|_| is_idle) else {
            return;
        };
        let is_in = |span: &Range<usize>| span.start < pasted.end && pasted.start < span.end;
        let has_tasks = look.scan.batches.iter().any(|batch| is_in(&batch.span));
        let has_problems = look.scan.problems.iter().any(|it| pasted.contains(&it.at));
        let text = look.body.get(pasted.clone()).unwrap_or_default();
        let size = text.chars().count();
        if size < places::PASTE || has_tasks || has_problems || self.pending.is_mentioned {
            return;
        }
        self.pending.is_mentioned = true;
        show(Shown::Note(&notices::no_task(size)));
    }

    /// What the engine made of a look, with what is still to be told from before.
    fn found(&mut self, look: &Look<'_>, effects: Vec<Effect>, hash: Hash) -> Found {
        let recovered = std::mem::take(&mut self.pending.recovered);
        let mut found = Found {
            wanted: Wanted::default(),
            // An LLM may wait for what came of them.
            copies: !recovered.outcomes.is_empty(),
            report: recovered,
        };
        let mut lines = LineNumbers::new(look.body);
        for effect in effects {
            match effect {
                Effect::Run {
                    batch,
                    number,
                    plan,
                } => {
                    let read = &look.scan.batches[batch];
                    let same_as = self.same_as(number, &plan);
                    let run = (batch, number, plan);
                    found.wanted.add(look.body, read, run, same_as);
                }
                Effect::Again {
                    of,
                    number,
                    plan,
                    source,
                } => {
                    let text = self.memory.text(of);
                    if !found.wanted.add_again(text, (of, number, plan), source) {
                        novelty::step(&mut self.memory.engine, Event::Refused(number));
                        found.report.notices.push(UNREADABLE.to_owned());
                    }
                }
                Effect::Remember { .. } | Effect::RememberPart { .. } => {}
                Effect::Swallowed(tasks) => found.report.notices.push(swallowed(tasks)),
                Effect::Offer { why, offer } => {
                    let (why, action) = notices::reason(why, offer.tasks(), self.clock.when);
                    found.report.offers.push(Offered { why, action, offer });
                }
                Effect::Tell { problem, typed, .. } => {
                    // What somebody may still be writing is no reply to an LLM.
                    found.copies |= !typed;
                    let problems = ParseError::of(&problem, &mut lines);
                    found.report.problems.extend(problems);
                }
                Effect::Wait => self.wait_for_more(hash),
            }
        }
        found
    }

    /// When a batch ran within the hour that did the same as this one, which runs as a whole.
    fn same_as(&self, number: Number, plan: &[TaskPlan]) -> Option<i64> {
        let now = (self.clock.now_ms)().div_euclid(1000);
        let is_whole = plan.iter().all(|plan| *plan == TaskPlan::Run);
        let ran = || self.memory.engine.same_as(number, now - places::SAME_REPLY);
        is_whole.then(ran).flatten()
    }

    /// Runs tasks that were seen before. Whether all went well; `None` if there was nothing to do.
    pub async fn retry(
        &mut self,
        which: Which,
        stop: &watch::Receiver<bool>,
        show: &mut dyn FnMut(Shown<'_>),
    ) -> Option<bool> {
        let remains = self.remains().unwrap_or_else(|error| {
            show(Shown::Trouble(&error.to_string()));
            Remains::default()
        });
        self.clear_leftovers(show);
        let offer = match which.offer(&self.memory.ledger, self.memory.file) {
            Ok(offer) => offer?,
            Err(error) => {
                show(Shown::Trouble(&error.to_string()));
                return Some(false);
            }
        };
        // Whoever asks for that has seen what came of it.
        self.memory.changed((self.clock.now_ms)());
        let tick = Tick {
            source: None,
            offer,
        };
        let mut wanted = Wanted::default();
        let mut asked = Vec::new();
        for effect in novelty::step(&mut self.memory.engine, Event::Asked(&[tick])) {
            if let Effect::Again {
                of,
                number,
                plan,
                source,
            } = effect
            {
                let tasks = (0..plan.len()).filter(|task| plan[*task] != TaskPlan::Leave);
                let tasks = tasks.collect();
                if wanted.add_again(self.memory.text(of), (of, number, plan), source) {
                    asked.push((of, tasks));
                }
            }
        }
        if wanted.is_empty() {
            show(Shown::Trouble(UNREADABLE));
            return Some(false);
        }
        let ran = self.run("", &scan(""), wanted, false, stop, show).await;
        let mut ran = ran?;
        self.tell_beside(remains, asked, &mut ran);
        let mut report = std::mem::take(&mut self.pending.recovered);
        report.take(ran.report);
        report.notices.extend(self.pending.news_of_wrong());
        let success = report.success();
        let mask = &self.runner.setup.rules.mask;
        self.memory.add_asked(&mut report, self.clock.when, mask);
        let now = (self.clock.now_ms)().div_euclid(1000);
        self.delivery
            .hand_out(report, true, "", (&mut self.memory, now), show);
        self.runner.changes_are_told();
        Some(success)
    }

    /// Keeps what was seen, and the block of another clada, which results are about to replace.
    fn keep(
        &mut self,
        look: &Look<'_>,
        effects: &[Effect],
        foreign: Option<&str>,
    ) -> Result<(), LedgerError> {
        let now = (self.clock.now_ms)().div_euclid(1000);
        self.memory.keep(look, effects, now)?;
        match foreign {
            Some(block) => self
                .memory
                .ledger
                .keep_foreign(self.memory.file, block, now),
            None => Ok(()),
        }
    }

    /// Looks again when this text has stayed as it is.
    fn wait_for_more(&mut self, text: Hash) {
        self.pending.unfinished = Some((Instant::now() + places::PASTE_QUIET, text));
    }

    /// Says once that the file cannot be read.
    fn complain(&mut self, why: &str, show: &mut dyn FnMut(Shown<'_>)) {
        tracing::debug!(why, "looks in vain");
        say_once(&mut self.pending.complaint, why, show);
    }
}

/// Says what was not said the last time.
fn say_once(said: &mut String, why: &str, show: &mut dyn FnMut(Shown<'_>)) {
    if said != why {
        why.clone_into(said);
        show(Shown::Trouble(why));
    }
}
