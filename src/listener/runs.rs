//! Runs batches: one run at a time under a root, recorded in the ledger, and shown in the notes file when it takes long.

use std::cell::RefCell;
use std::collections::HashSet;
use std::time::Instant;

use tokio::sync::{oneshot, watch};
use tokio::time::{sleep, sleep_until};

use crate::git::TRY_AGAIN;
use crate::listener::books::{Books, Entry};
use crate::listener::delivery::{self, passing_block};
use crate::listener::memory::{Known, Memory, names};
use crate::listener::ticked::Ticked;
use crate::listener::{Clock, Daemon, Listening, Refused, Shown, choices};
use crate::novelty::{self, Event};
use crate::reply::record::{Number, Offer, TaskPlan, TickSource};
use crate::reply::scan::{alone, scan};
use crate::reply::task::{Batch, Scan};
use crate::report::outcome::{Outcome, Status};
use crate::report::{self, Offered};
use crate::run::{FinishedRun, Job, Progress, Surroundings};
use crate::settings::places;
use crate::world::desktop::Desktop;
use crate::world::lock::{Lock, LockError, Occupant};
use crate::world::note_file::NoteFile;
use crate::world::output_file::RUNNING;
use crate::world::scarce;

/// The notice about settings that a listener keeps for its whole life.
const LATER: &str = "⚠ `watch.poll` or `watch.output_file` changed: restart clada to apply that";

/// Batches that are to run, in this order: those that were ticked, then those of the body.
#[derive(Default)]
pub(super) struct Wanted {
    again: Vec<(Entry, Vec<TaskPlan>)>,
    /// The batches of the body, by their places in it, each with its plan.
    jobs: Vec<(usize, Vec<TaskPlan>)>,
    entries: Vec<Entry>,
}

impl Wanted {
    pub(super) fn is_empty(&self) -> bool {
        self.again.is_empty() && self.jobs.is_empty()
    }

    /// A batch of the body.
    pub(super) fn add(
        &mut self,
        body: &str,
        found: &Batch<'_>,
        (batch, number, plan): (usize, Number, Vec<TaskPlan>),
        same_as: Option<i64>,
    ) {
        self.jobs.push((batch, plan));
        self.entries.push(Entry {
            number,
            text: alone(body, found),
            tasks: names(&found.tasks),
            again: None,
            source: None,
            same_as,
        });
    }

    /// A remembered batch, by its text. False where there is none to run.
    pub(super) fn add_again(
        &mut self,
        text: String,
        (of, number, plan): (Number, Number, Vec<TaskPlan>),
        source: Option<TickSource>,
    ) -> bool {
        let found = scan(&text);
        let whole = found.batches.first();
        let whole = whole.filter(|batch| batch.tasks.len() == plan.len());
        let Some(tasks) = whole.map(|batch| names(&batch.tasks)) else {
            return false;
        };
        // One tick may ask for several batches, and counts once.
        let is_used = |(entry, _): &(Entry, _)| source.is_some() && entry.source == source;
        let source = source.filter(|_| !self.again.iter().any(is_used));
        let entry = Entry {
            number,
            text,
            tasks,
            again: Some(of),
            source,
            same_as: None,
        };
        self.again.push((entry, plan));
        true
    }

    /// Asks again about the tasks of remembered batches that still wait for approval.
    fn ask_again(&mut self, memory: &Memory) {
        if self.again.is_empty() {
            return;
        }
        let questions = memory.questions();
        for (entry, plan) in &mut self.again {
            let Some(of) = entry.again.map(|of| memory.latest_of(of)) else {
                continue;
            };
            let left = plan.iter_mut().enumerate();
            for (task, plan) in left.filter(|(_, plan)| **plan == TaskPlan::Leave) {
                let mut all = questions.iter();
                if let Some((_, question)) = all.find(|(place, _)| *place == (of, task)) {
                    *plan = TaskPlan::Ask(question.clone());
                }
            }
        }
    }
}

impl Daemon {
    /// Runs batches, one run at a time in this root. `None` if clada was stopped before it began.
    pub(super) async fn run(
        &mut self,
        body: &str,
        found: &Scan<'_>,
        mut wanted: Wanted,
        retry: bool,
        stop: &watch::Receiver<bool>,
        show: &mut dyn FnMut(Shown<'_>),
    ) -> Option<FinishedRun> {
        let mut lock = self.ready(stop, show).await?;
        wanted.ask_again(&self.memory);
        let around = around(&self.clock, stop);
        let untouched = untouched(&wanted);
        let (again, plans): (Vec<Entry>, Vec<_>) = wanted.again.into_iter().unzip();
        let texts: Vec<String> = again.iter().map(|entry| entry.text.clone()).collect();
        let scans: Vec<Scan<'_>> = texts.iter().map(|text| scan(text)).collect();
        let ticked = texts.iter().zip(&scans).zip(plans);
        let ticked = ticked.map(|((text, scan), plan)| Job {
            text,
            batch: &scan.batches[0],
            plan,
        });
        let of_body = wanted.jobs.into_iter().map(|(batch, plan)| Job {
            text: body,
            batch: &found.batches[batch],
            plan,
        });
        let jobs: Vec<Job<'_>> = ticked.chain(of_body).collect();
        let mut entries: Vec<Entry> = again.into_iter().chain(wanted.entries).collect();
        for (_, target) in entries.iter_mut().flat_map(|entry| &mut entry.tasks) {
            // The log and later results show it.
            *target = self.runner.setup.rules.mask.text(target).into_owned();
        }

        tracing::info!(run = %around.id, batches = entries.len(), "run begins");
        let began = Instant::now();
        let since = (self.delivery.time)();
        self.delivery.set_aside(&self.memory.unread);
        let output = &mut self.delivery.output;
        let running = RefCell::new("saving the state before the batch".to_owned());
        let notes = format!("`{}`", self.delivery.note.path().display());
        let mut tell = move |does: &str| {
            if let Some(lock) = &mut lock {
                lock.tell(format!("{notes}{does}"));
            }
        };
        tell("");
        // Until something starts there may be nothing new to show: the cause of the last try may still be there.
        let mut begun = false;
        let mut written = report::LiveLines::default();
        let mut progress = |progress: Progress<'_>| {
            // What cannot be written now is said once, at the end.
            let _ = match &progress {
                Progress::Started {
                    number,
                    total,
                    command,
                    target,
                } => {
                    if !std::mem::replace(&mut begun, true) {
                        let _ = output.begin(RUNNING);
                    }
                    let what = report::one_line(&format!("{command} {target}"));
                    *running.borrow_mut() = format!("{number}/{total} {what}");
                    tell(&format!(" runs {}", running.borrow()));
                    output.append(format!("\n[{number}] {what}:\n").as_bytes())
                }
                Progress::Output(_, bytes) => output.append(&written.next(bytes)),
                Progress::Finished(outcome) => {
                    let line = format!("{}{}\n", written.end(), report::outcome_line(outcome));
                    output.append(line.as_bytes())
                }
            };
            let is_untouched = match &progress {
                Progress::Finished(outcome) => untouched.contains(&outcome.number),
                _ => false,
            };
            if (begun || !retry) && !is_untouched {
                show(Shown::Progress(progress));
            }
        };
        let memory = RefCell::new(&mut self.memory);
        let places = (self.locks.as_path(), self.delivery.note.path());
        let mut books = Books::new(&memory, &entries, &around.id, self.clock.now_ms, places);
        let mut ran = {
            let run = self.runner.run(&jobs, &around, &mut books, &mut progress);
            tokio::pin!(run);
            let long = sleep_until((began + places::SHOW_RUNNING).into());
            tokio::select! {
                ran = &mut run => ran,
                () = long => {
                    let what = format!("running since {since}: {}", running.borrow());
                    let block = passing_block(&what, &memory.borrow().unread);
                    let now = (self.clock.now_ms)().div_euclid(1000);
                    let known = memory.borrow_mut().add_running(&block, now);
                    let shown = put_aside(&self.delivery.note, block, known);
                    let ran = run.await;
                    // Two write-backs at once would take each other's for a save of the user.
                    let ticked = shown.await.unwrap_or_default();
                    memory.borrow_mut().ticked_meanwhile(&ticked);
                    ran
                }
            }
        };
        if self.pending.settings != self.pending.told.settings {
            ran.report.notices.extend(self.pending.settings.clone());
            self.pending
                .told
                .settings
                .clone_from(&self.pending.settings);
        }
        if let Some(error) = books.close() {
            let said = format!("⚠ the log lacks part of this batch: {error}");
            ran.report.notices.push(said);
        }
        close(&mut self.memory, &mut ran, &entries);
        tell_of_twins(&mut ran, &entries, self.clock.when);
        if let Some(count) = ran.untracked {
            let files = if count == 1 { "file is" } else { "files are" };
            ran.report.offers.push(Offered {
                why: format!("{count} {files} not in git"),
                action: "add and commit them",
                offer: Offer::adding(),
            });
        }
        choices::offer(&self.memory, &self.runner, &mut ran, &entries);
        tracing::info!(
            run = %around.id,
            outcome = %ran.report.counts(),
            ms = began.elapsed().as_millis(),
            "run ended"
        );
        Some(ran)
    }

    /// Has git track what it does not, as these ticks ask; what there is to say of it, if clada was not stopped before.
    pub(super) async fn add_untracked(
        &mut self,
        ticks: &[TickSource],
        stop: &watch::Receiver<bool>,
        show: &mut dyn FnMut(Shown<'_>),
    ) -> Option<String> {
        let _lock = self.ready(stop, show).await?;
        let said = self.runner.add_untracked(&around(&self.clock, stop));
        // Done twice, it adds nothing more.
        for tick in ticks {
            if let Err(error) = self.memory.ledger.void(*tick) {
                show(Shown::Trouble(&error.to_string()));
            }
        }
        Some(said)
    }

    /// Applies the current settings to the run; invalid settings leave the previous ones in effect.
    pub(super) fn take_settings(&mut self) {
        let fresh = match (self.refresh)() {
            Ok(fresh) => fresh,
            Err(error) => {
                self.pending.wrong =
                    Some(format!("⚠ {error}: the previous settings stay in effect"));
                return;
            }
        };
        self.pending.wrong = None;
        self.runner.take(fresh.setup);
        let Listening { poll, output, .. } = &self.listening;
        let new = &fresh.listening;
        let is_later = *poll != new.poll || *output != new.output;
        let later = is_later.then(|| LATER.to_owned());
        self.pending.settings = fresh.notice.or(later);
        self.listening = Listening {
            poll: *poll,
            output: output.clone(),
            ..fresh.listening
        };
        self.settle.take(self.listening.debounce);
        self.delivery.copies(self.listening.clipboard);
        self.delivery.limit = self.listening.packet;
        self.delivery.desktop = self.listening.notifies.then(Desktop::of_process);
        self.memory.limits = self.listening.limits;
    }

    /// Takes the root's lock, and what holds now. `None` if clada was stopped first.
    async fn ready(
        &mut self,
        stop: &watch::Receiver<bool>,
        show: &mut dyn FnMut(Shown<'_>),
    ) -> Option<Option<Lock>> {
        let lock = self.lock(stop, show).await?;
        self.take_settings();
        // The files of other listeners here are no more a task's business than one's own.
        let others = Lock::held_in(&self.locks, places::WATCHED_LOCKS, self.runner.disk.path());
        self.runner.protect(&others);
        Some(lock)
    }

    /// `None` if clada was stopped first. Where the lock's file cannot be opened for now it is waited for too.
    async fn lock(
        &mut self,
        stop: &watch::Receiver<bool>,
        show: &mut dyn FnMut(Shown<'_>),
    ) -> Option<Option<Lock>> {
        let mut is_told = false;
        loop {
            let said = match self.wait_for_lock(stop, show).await? {
                Ok(lock) => return Some(Some(lock)),
                Err(LockError::Io { error, .. }) if scarce::is_scarce(&error) => format!(
                    "the run waits, because clada cannot check for other runs in this folder: {}",
                    scarce::explain(&error)
                ),
                Err(error) => {
                    show(Shown::Trouble(&error.to_string()));
                    return Some(None);
                }
            };
            if !std::mem::replace(&mut is_told, true) {
                show(Shown::Trouble(&said));
            }
            show(Shown::Waits(Some(&said)));
            let mut stopped = stop.clone();
            tokio::select! {
                _ = stopped.wait_for(|stop| *stop) => return None,
                () = sleep(places::RETRY) => {}
            }
        }
    }

    /// `None` if clada was stopped first. A wait that is long is shown in the notes too.
    async fn wait_for_lock(
        &mut self,
        stop: &watch::Receiver<bool>,
        show: &mut dyn FnMut(Shown<'_>),
    ) -> Option<Result<Lock, LockError>> {
        let said = RefCell::new(None);
        let mut held = |occupant: &Occupant| {
            let why = waiting_for(occupant);
            // What that one does changes; the person is told once.
            if said.borrow().is_none() {
                show(Shown::Note(&why));
            }
            show(Shown::Waits(Some(&why)));
            said.replace(Some(why));
        };
        let mut stopped = stop.clone();
        let taken = Lock::take(&self.locks, "root", self.runner.disk.path(), &mut held);
        tokio::pin!(taken);
        let long = sleep(places::SHOW_RUNNING);
        tokio::pin!(long);
        let mut is_shown = false;
        loop {
            tokio::select! {
                biased;
                _ = stopped.wait_for(|stop| *stop) => return None,
                taken = &mut taken => return Some(taken),
                () = &mut long, if !is_shown => {
                    is_shown = true;
                    let why = said.borrow().clone();
                    if let Some(why) = why {
                        let what = format!("{why} (since {})", (self.delivery.time)());
                        let block = passing_block(&what, &self.memory.unread);
                        let note = &self.delivery.note;
                        put_meanwhile(note, &mut self.memory, block, &self.clock).await;
                    }
                }
            }
        }
    }

    /// Plans another try for what could not be started, and says so there. Whether that is nothing new, and all there is to say.
    pub(super) fn refused(&mut self, ran: &mut FinishedRun) -> bool {
        let before = self.pending.refused.take();
        if !ran.jobs.iter().any(|job| job.refused) {
            return false;
        }
        for job in ran.jobs.iter().filter(|job| job.refused) {
            for outcome in &mut ran.report.outcomes[job.outcomes.clone()] {
                // Whoever reads it has nothing to try.
                if let Some(message) = &mut outcome.message
                    && let Some(cause) = message.strip_suffix(TRY_AGAIN)
                {
                    *message = format!("{cause}; the batch then runs by itself");
                }
            }
        }
        let is_not_run = |outcome: &&Outcome| outcome.status == Status::NotRun;
        let not_run: Vec<&Outcome> = ran.report.outcomes.iter().filter(is_not_run).collect();
        let mut why: Vec<&str> = not_run
            .iter()
            .filter_map(|outcome| outcome.message.as_deref())
            .collect();
        why.dedup();
        let why = why.join("; ");
        let all = not_run.len() == ran.report.outcomes.len();
        let known = all && before.is_some_and(|before| before.why == why);
        // A hook is no small thing to try, and mends itself seldom.
        let wait = match ran.report.is_stopped() {
            true => places::HOOK_RETRY,
            false => places::RETRY,
        };
        let due = Some(Instant::now() + wait);
        self.pending.refused = Some(Refused { due, why });
        known
    }
}

/// Says who has the root's lock, and what for.
fn waiting_for(occupant: &Occupant) -> String {
    let Occupant { pid, does } = occupant;
    // The daemon may listen on other notes of this folder.
    let mut why = if *pid == std::process::id().to_string() {
        "waiting for another run in this folder".to_owned()
    } else {
        format!("waiting for the run of another clada in this folder (process {pid})")
    };
    if let Some(does) = does {
        why += &format!(": {does}");
    }
    why
}

/// The numbers of the tasks that a tick did not ask for, as a run numbers them.
fn untouched(wanted: &Wanted) -> HashSet<usize> {
    let again = wanted.again.iter().map(|(entry, plan)| (entry, plan));
    let of_body = wanted.entries.iter().zip(&wanted.jobs);
    let all = again.chain(of_body.map(|(entry, (_, plan))| (entry, plan)));
    let is_left = all.flat_map(|(entry, plan)| {
        (0..entry.tasks.len()).map(|task| plan.get(task) == Some(&TaskPlan::Leave))
    });
    let numbered = (1..).zip(is_left);
    numbered
        .filter_map(|(number, is_left)| is_left.then_some(number))
        .collect()
}

/// Puts a block on top of the notes, on a thread of its own, which is no loss where none can be had.
fn put_aside(note: &NoteFile, block: String, known: Known) -> oneshot::Receiver<Vec<Ticked>> {
    let (done, ticked) = oneshot::channel();
    let note = note.clone();
    let put = move || {
        // Nobody waits for it any more where clada ends.
        let _ = done.send(delivery::put(&note, &block, &known));
    };
    let thread = std::thread::Builder::new().name("block".to_owned());
    if let Err(error) = thread.spawn(put) {
        tracing::warn!(%error, "cannot show the run in the notes file");
    }
    ticked
}

/// Shows in the notes what goes on, and takes in what was ticked there.
async fn put_meanwhile(note: &NoteFile, memory: &mut Memory, block: String, clock: &Clock) {
    let now = (clock.now_ms)().div_euclid(1000);
    let known = memory.add_running(&block, now);
    let ticked = put_aside(note, block, known).await.unwrap_or_default();
    memory.ticked_meanwhile(&ticked);
}

/// A run's time and chance.
fn around<'c>(clock: &'c Clock, stop: &watch::Receiver<bool>) -> Surroundings<'c> {
    Surroundings {
        now: &clock.date_time,
        when: &clock.when,
        fence: (clock.word)(),
        message: None,
        id: (clock.id)(),
        stop: stop.clone(),
    }
}

/// Says which batches do what another one did a short time ago.
fn tell_of_twins(ran: &mut FinishedRun, entries: &[Entry], when: fn(i64) -> String) {
    let both = ran.jobs.iter().zip(entries).filter(|(job, _)| !job.refused);
    for (job, entry) in both {
        let Some(time) = entry.same_as else { continue };
        let tasks = job.outcomes.clone();
        let which = match tasks.len() {
            _ if ran.jobs.len() == 1 => String::new(),
            0 | 1 => format!("task {}: ", tasks.start + 1),
            _ => format!("tasks {} to {}: ", tasks.start + 1, tasks.end),
        };
        let time = when(time);
        let said = format!("{which}the same as the reply that ran at {time}");
        ran.report.notices.push(said);
    }
}

/// Tells the engine what could not begin, and offers what was left undone.
fn close(memory: &mut Memory, ran: &mut FinishedRun, entries: &[Entry]) {
    let mut batches = Vec::new();
    for (job, entry) in ran.jobs.iter().zip(entries) {
        if job.refused {
            novelty::step(&mut memory.engine, Event::Refused(entry.number));
            continue;
        }
        let outcomes = &mut ran.report.outcomes[job.outcomes.clone()];
        let mut undone = Vec::new();
        for (task, outcome) in outcomes.iter_mut().enumerate() {
            match outcome.status {
                Status::Waits | Status::Asks => {
                    let asks = outcome.status == Status::Asks;
                    outcome.offer = Some(Offer::of(entry.number, vec![task]).approving(asks));
                }
                Status::Done | Status::Skipped => {}
                Status::Failed | Status::NotRun | Status::Interrupted => undone.push(task),
            }
        }
        if job.cut {
            batches.push((entry.number, undone));
        }
    }
    let why = match batches.len() {
        0 => return,
        1 => "⚠ this batch was interrupted",
        _ => "⚠ these batches were interrupted",
    };
    ran.report.offers.push(Offered {
        why: why.to_owned(),
        action: "run again",
        offer: Offer::of_all(batches),
    });
}
