//! Runs batches: one run at a time under a root, recorded in the ledger, and shown in the notes file when it takes long.

use std::cell::RefCell;
use std::collections::HashSet;
use std::time::Instant;

use tokio::sync::{oneshot, watch};
use tokio::time::{sleep, sleep_until};

use crate::clock;
use crate::git::TRY_AGAIN;
use crate::listener::Listener;
use crate::listener::books::Books;
use crate::listener::choices;
use crate::listener::delivery::{self, passing_block};
use crate::listener::due_batch::DueBatch;
use crate::listener::last_notes::KnownBlocks;
use crate::listener::memory::Memory;
use crate::listener::observer::{News, Observer};
use crate::listener::ticked::Ticked;
use crate::listener::waiting::Refused;
use crate::novelty::Event;
use crate::reply::record::{Offer, TaskPlan, TickSource};
use crate::report::outcome::{Outcome, Status};
use crate::report::{self, LiveLines, Offered};
use crate::run::{FinishedRun, Progress, Surroundings};
use crate::settings::places;
use crate::world::ledger::LedgerError;
use crate::world::lock::{Lock, LockError, Occupant};
use crate::world::note_file::NoteFile;
use crate::world::output_file::{OutputFile, RUNNING};
use crate::world::scarce;

/// The root's lock while a run has it, if it could be had. It tells others what the run does.
struct RunLock {
    lock: Option<Lock>,
    /// The notes file, as others are told of it.
    notes: String,
}

impl RunLock {
    fn tell(&mut self, does: &str) {
        if let Some(lock) = &mut self.lock {
            lock.tell(format!("{}{does}", self.notes));
        }
    }
}

/// The ones who follow a run: readers of the output file, other processes that wait for it, the person.
struct LiveRun<'r> {
    output: &'r mut OutputFile,
    observer: &'r Observer,
    lock: RunLock,
    /// The task that runs.
    task: &'r RefCell<String>,
    /// The numbers of the tasks that a tick did not ask for.
    untouched: HashSet<usize>,
    /// Until something starts there may be nothing new to show: the cause of the last try may still be there.
    is_retry: bool,
    has_begun: bool,
    lines: LiveLines,
}

impl LiveRun<'_> {
    fn follow(&mut self, mut progress: Progress<'_>) {
        let mut is_untouched = false;
        // What cannot be written now is said once, at the end.
        let _ = match &mut progress {
            Progress::Started {
                number,
                total,
                command,
                target,
            } => {
                if !std::mem::replace(&mut self.has_begun, true) {
                    let _ = self.output.begin(RUNNING);
                }
                let what = report::one_line(&format!("{command} {target}"));
                let task = format!("{number}/{total} {what}");
                self.lock.tell(&format!(" runs {task}"));
                self.task.replace(task);
                self.output.begin_part(&format!("\n[{number}] {what}:\n"))
            }
            Progress::Output(_, bytes) => self.output.append_output(&self.lines.next(bytes)),
            Progress::Long(place) => {
                **place = self.output.lend();
                return;
            }
            Progress::Finished(outcome) => {
                is_untouched = self.untouched.contains(&outcome.number);
                let line = format!("{}{}\n", self.lines.end(), report::outcome_line(outcome));
                self.output.append(line.as_bytes())
            }
        };
        if (self.has_begun || !self.is_retry) && !is_untouched {
            self.observer.tell(News::Progress(progress));
        }
    }
}

impl Listener<'_> {
    /// Runs batches, one run at a time in this root. `None` if clada was stopped before it began.
    pub(super) async fn run(
        &mut self,
        mut jobs: Vec<DueBatch<'_>>,
        retry: bool,
    ) -> Option<FinishedRun> {
        let lock = self.ready().await?;
        self.memory.ask_again(&mut jobs);
        for (_, target) in jobs.iter_mut().flat_map(|job| &mut job.tasks) {
            // The log and later results show it.
            *target = self.runner.setup.rules.mask.text(target).into_owned();
        }
        let around = around(&self.stop);
        let (began, since) = (Instant::now(), clock::time());
        self.delivery.set_aside(&self.memory.unread);
        let task = RefCell::new("saving the state before the batch".to_owned());
        let notes = self.delivery.note.path();
        let mut live = LiveRun {
            output: &mut self.delivery.output,
            observer: &self.observer,
            lock: RunLock {
                lock,
                notes: format!("`{}`", notes.display()),
            },
            task: &task,
            untouched: untouched(&jobs),
            is_retry: retry,
            has_begun: false,
            lines: LiveLines::default(),
        };
        live.lock.tell("");
        let mut progress = |progress: Progress<'_>| live.follow(progress);
        let locks = self.claim.site.folders.locks();
        let memory = RefCell::new(&mut self.memory);
        let mut books = Books::new(&memory, &jobs, &around.id, &locks, notes);
        let mut ran = {
            let to_run: Vec<_> = jobs.iter().map(DueBatch::job).collect();
            let run = self.runner.run(&to_run, &around, &mut books, &mut progress);
            tokio::pin!(run);
            tokio::select! {
                ran = &mut run => ran,
                () = sleep_until((began + places::SHOW_RUNNING).into()) => {
                    let what = format!("running since {since}: {}", task.borrow());
                    let shown = memory.borrow_mut().show_passing(&self.delivery.note, &what);
                    let ran = run.await;
                    // Two write-backs at once would take each other's for a save of the user.
                    let ticked = shown.await.unwrap_or_default();
                    memory.borrow_mut().ticked_meanwhile(&ticked);
                    ran
                }
            }
        };
        let trouble = books.close();
        self.complete(&mut ran, &jobs, trouble);
        Some(ran)
    }

    /// Adds to the report of a run what the ledger, the settings and earlier runs have to say of it.
    fn complete(
        &mut self,
        ran: &mut FinishedRun,
        jobs: &[DueBatch<'_>],
        trouble: Option<LedgerError>,
    ) {
        ran.report.notices.extend(self.news_of_settings());
        if let Some(error) = trouble {
            let said = format!("⚠ the log lacks part of this batch: {error}");
            ran.report.notices.push(said);
        }
        self.memory.close(ran, jobs);
        tell_of_twins(ran, jobs);
        if let Some(count) = ran.untracked {
            let files = if count == 1 { "file is" } else { "files are" };
            ran.report.offers.push(Offered {
                why: format!("{count} {files} not in git"),
                action: "add and commit them",
                offer: Offer::adding(),
            });
        }
        choices::offer(&self.memory, &self.runner, ran, jobs);
    }

    /// Has git track what it does not, as these ticks ask. Returns what there is to say of it, if clada was not stopped before.
    pub(super) async fn add_untracked(&mut self, ticks: &[TickSource]) -> Option<String> {
        let _lock = self.ready().await?;
        let said = self.runner.add_untracked(&around(&self.stop));
        // Done twice, it adds nothing more.
        for tick in ticks {
            if let Err(error) = self.memory.ledger.void(*tick) {
                self.observer.trouble(&error.to_string());
            }
        }
        Some(said)
    }

    /// Takes the root's lock, and protects the files of other listeners. `None` if clada was stopped first; no lock where its
    /// file cannot be used.
    async fn ready(&mut self) -> Option<Option<Lock>> {
        let (lock, has_waited) = self.lock().await?;
        if has_waited {
            self.apply_settings();
        }
        // The files of other listeners here are no more a task's business than one's own.
        let locks = self.claim.site.folders.locks();
        let others = Lock::held_in(&locks, places::WATCHED_LOCKS, self.runner.disk.path());
        self.runner.protect(&others);
        Some(lock)
    }

    /// Takes the root's lock, and tells if that took a wait. `None` if clada was stopped first. Where the lock's file cannot be
    /// opened for now it is waited for too.
    async fn lock(&mut self) -> Option<(Option<Lock>, bool)> {
        let mut has_waited = false;
        let mut is_told = false;
        loop {
            let (taken, waited) = self.wait_for_lock().await?;
            has_waited |= waited;
            let why = match taken {
                Ok(lock) => return Some((Some(lock), has_waited)),
                Err(LockError::Io { error, .. }) if scarce::is_scarce(&error) => format!(
                    "the run waits, because clada cannot check for other runs in this folder: {}",
                    scarce::explain(&error)
                ),
                Err(error) => {
                    self.observer.trouble(&error.to_string());
                    return Some((None, has_waited));
                }
            };
            has_waited = true;
            if !std::mem::replace(&mut is_told, true) {
                self.observer.trouble(&why);
            }
            self.observer.tell(News::Waits(Some(&why)));
            let mut stopped = self.stop.clone();
            tokio::select! {
                _ = stopped.wait_for(|stop| *stop) => return None,
                () = sleep(places::RETRY) => {}
            }
        }
    }

    /// Waits for the root's lock, and tells if another run had it. `None` if clada was stopped first. A wait that is long is shown
    /// in the notes too.
    async fn wait_for_lock(&mut self) -> Option<(Result<Lock, LockError>, bool)> {
        let locks = self.claim.site.folders.locks();
        let said = RefCell::new(None);
        let observer = &self.observer;
        let mut held = |occupant: &Occupant| {
            let why = waiting_for(occupant);
            // What that one does changes; the person is told once.
            if said.borrow().is_none() {
                observer.tell(News::Note(&why));
            }
            observer.tell(News::Waits(Some(&why)));
            said.replace(Some(why));
        };
        let mut stopped = self.stop.clone();
        let taken = Lock::take(&locks, "root", self.runner.disk.path(), &mut held);
        tokio::pin!(taken);
        let long = sleep(places::SHOW_RUNNING);
        tokio::pin!(long);
        let mut is_shown = false;
        loop {
            tokio::select! {
                biased;
                _ = stopped.wait_for(|stop| *stop) => return None,
                taken = &mut taken => {
                    let has_waited = said.borrow().is_some();
                    return Some((taken, has_waited));
                }
                () = &mut long, if !is_shown => {
                    is_shown = true;
                    let why = said.borrow().clone();
                    if let Some(why) = why {
                        let what = format!("{why} (since {})", clock::time());
                        let shown = self.memory.show_passing(&self.delivery.note, &what);
                        self.memory.ticked_meanwhile(&shown.await.unwrap_or_default());
                    }
                }
            }
        }
    }

    /// Plans another try for what could not be started, and says so there. True if that is nothing new, and all there is to say.
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
        let wait = if ran.report.is_stopped() {
            places::HOOK_RETRY
        } else {
            places::RETRY
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

/// Returns the numbers of the tasks that a tick did not ask for, as a run numbers them.
fn untouched(jobs: &[DueBatch<'_>]) -> HashSet<usize> {
    let is_left = jobs.iter().flat_map(|job| {
        let tasks = 0..job.tasks.len();
        tasks.map(|task| job.plan.get(task) == Some(&TaskPlan::Leave))
    });
    let numbered = (1..).zip(is_left);
    numbered
        .filter_map(|(number, is_left)| is_left.then_some(number))
        .collect()
}

/// Puts a block on top of the notes, on a thread of its own, which is no loss where none can be had.
fn put_aside(note: &NoteFile, block: String, known: KnownBlocks) -> oneshot::Receiver<Vec<Ticked>> {
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

/// Returns the time and chance of a run.
fn around(stop: &watch::Receiver<bool>) -> Surroundings<'static> {
    Surroundings {
        now: &clock::date_time,
        when: &clock::when,
        fence: clock::word(),
        message: None,
        id: clock::run_id(),
        stop: stop.clone(),
    }
}

/// Says which batches do what another one did a short time ago.
fn tell_of_twins(ran: &mut FinishedRun, jobs: &[DueBatch<'_>]) {
    let both = ran.jobs.iter().zip(jobs).filter(|(end, _)| !end.refused);
    for (end, job) in both {
        let Some(time) = job.same_as else { continue };
        let tasks = end.outcomes.clone();
        let which = match tasks.len() {
            _ if ran.jobs.len() == 1 => String::new(),
            0 | 1 => format!("task {}: ", tasks.start + 1),
            _ => format!("tasks {} to {}: ", tasks.start + 1, tasks.end),
        };
        let time = clock::when(time);
        let said = format!("{which}the same as the reply that ran at {time}");
        ran.report.notices.push(said);
    }
}

impl Memory {
    /// Asks again about the tasks of remembered batches that still wait for approval.
    fn ask_again(&self, jobs: &mut [DueBatch<'_>]) {
        if jobs.iter().all(|job| job.again.is_none()) {
            return;
        }
        let questions = self.questions();
        for job in jobs {
            let Some(of) = job.again.map(|of| self.latest_of(of)) else {
                continue;
            };
            let left = job.plan.iter_mut().enumerate();
            for (task, plan) in left.filter(|(_, plan)| **plan == TaskPlan::Leave) {
                let mut all = questions.iter();
                if let Some((_, question)) = all.find(|(place, _)| *place == (of, task)) {
                    *plan = TaskPlan::Ask(question.clone());
                }
            }
        }
    }

    /// Shows in the notes what goes on, above what could not be read yet. What is ticked below it comes back when it is there.
    fn show_passing(&mut self, note: &NoteFile, what: &str) -> oneshot::Receiver<Vec<Ticked>> {
        let block = passing_block(what, &self.unread);
        let known = self.add_running(&block, clock::now_ms().div_euclid(1000));
        put_aside(note, block, known)
    }

    /// Tells `novelty` what could not begin, and offers what was left undone.
    fn close(&mut self, ran: &mut FinishedRun, jobs: &[DueBatch<'_>]) {
        let mut batches = Vec::new();
        for (end, job) in ran.jobs.iter().zip(jobs) {
            if end.refused {
                self.step(Event::Refused(job.number));
                continue;
            }
            let outcomes = &mut ran.report.outcomes[end.outcomes.clone()];
            let mut undone = Vec::new();
            for (task, outcome) in outcomes.iter_mut().enumerate() {
                match outcome.status {
                    Status::Waits | Status::Asks => {
                        let asks = outcome.status == Status::Asks;
                        outcome.offer = Some(Offer::of(job.number, vec![task]).approving(asks));
                    }
                    Status::Done | Status::Skipped => {}
                    Status::Failed | Status::NotRun | Status::Interrupted => undone.push(task),
                }
            }
            if end.cut {
                batches.push((job.number, undone));
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
}
