//! Many listeners in one process: one for each file in the list.
//!
//! An idle file costs its locks, a place in the one watch on the file system, and a sleeping task. A save wakes it: an ordinary
//! listener then works on a thread of its own until nothing is left to do. So no batch delays another.
//!
//! The thread that these tasks share touches clada's own files only. The file system of one project may hang, as when its server
//! is down, and neither the other files, nor `clada status`, nor Ctrl-C may wait for it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, oneshot, watch as channel};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{sleep, timeout};

use crate::error::Error;
use crate::listener::board::{Board, ListenerState, ProcessKind};
use crate::listener::{
    Begin, Claim, Flags, Listener, Memory, News, Observer, Parting, ProcessShared, Site,
};
use crate::settings::Settings;
use crate::settings::places::Folders;
use crate::settings::registry::{Registry, WatchedFile};
use crate::start;
use crate::world::ledger::Ledger;
use crate::world::lock::Lock;
use crate::world::note_file::NoteReading;
use crate::world::scarce;
use crate::world::service::supervisor::Supervisor;
use crate::world::shell;
use crate::world::watch::{Hub, Stirred, WatchError, WatchMode, Watcher};

/// The time that an idle listener waits for the next save before it rests.
const REST: Duration = Duration::from_secs(60);
/// The first and the longest pause before clada retries a file that it cannot watch.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];
/// The number of files that the daemon reads at a time when it starts, and the time for which each of them counts.
const STARTING: (usize, Duration) = (4, Duration::from_secs(1));
/// The time for which the list must be unchanged before it is read again.
const QUIET: Duration = Duration::from_millis(50);
/// The time that listeners get to finish, and that where no batch runs.
const FAREWELL: [Duration; 2] = [Duration::from_secs(8), Duration::from_secs(2)];
/// The time between two checks then whether a batch still runs.
const GLANCE: Duration = Duration::from_millis(50);
/// The time that a file system may take to answer before clada reports it.
const SILENCE: Duration = Duration::from_secs(3);
/// The report.
const NO_ANSWER: &str = "the file system of the notes file or the project folder does not answer: clada waits until it does";

/// Watches all files in the list until it is stopped. With `copies`, results go onto the clipboard; with `allows_shared`, other
/// users may own or write to notes files and project folders.
///
/// # Errors
/// Where another daemon runs, or the state folder cannot be used.
pub fn watch_all(copies: bool, allows_shared: bool) -> Result<ExitCode, Error> {
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    // Made first, as no other user may have the folder.
    let ledger = Ledger::open(&folders.state)?;
    let _lock =
        Lock::try_take(&folders.locks(), "daemon", &folders.state).map_err(Error::DaemonRuns)?;
    shell::allow_many_files();
    if let Some(shortfall) = scarce::shortfall() {
        tracing::warn!("{shortfall}");
    }
    let (stop, reloads) = start::stop_and_reload()?;
    let shared = ProcessShared::start(stop);
    let board = shared.board.clone();
    let _socket = board.serve(&folders, ProcessKind::Daemon);
    drop(ledger);
    let house = House {
        folders,
        shared,
        board,
        starting: Semaphore::new(STARTING.0),
        said: RefCell::default(),
        copies,
        allows_shared,
    };
    let runtime = start::runtime()?;
    LocalSet::new().block_on(&runtime, run(Rc::new(house), reloads))?;
    Ok(ExitCode::SUCCESS)
}

/// The things that all files of the daemon share.
struct House {
    folders: Folders,
    shared: ProcessShared,
    board: Board,
    starting: Semaphore,
    /// Results may be copied.
    copies: bool,
    /// Other users may own or write to notes files and project folders.
    allows_shared: bool,
    /// The last errors of the list.
    said: RefCell<Vec<String>>,
}

/// The pending first read of a file: the daemon is ready when all of them are dropped.
type FirstRead = mpsc::Sender<()>;

/// The files that the daemon watches; true stops that.
type WatchedFiles = HashMap<WatchedFile, channel::Sender<bool>>;

/// Watches the files in the list until clada is stopped. A reload reads the list and the login shell's environment again; the
/// settings are read for each batch anyway.
async fn run(house: Rc<House>, mut reloads: channel::Receiver<u64>) -> Result<(), Error> {
    let mut supervisor = Supervisor::from_env();
    let path = Registry::path(&house.folders);
    std::fs::create_dir_all(&house.folders.config)?;
    let mut list = ListWatch::start(
        &house.shared.hub,
        [path, Settings::user_file(&house.folders)],
    );
    house.shared.intake.open(&house.folders, false);
    house.watch_clipboard();
    let mut stopped = house.shared.stop.clone();
    let (mut kept, mut tasks) = (HashMap::new(), JoinSet::new());
    let (first, mut unread) = mpsc::channel(1);
    take_list(&house, &mut kept, &mut tasks, Some(first));
    let count = |kept: &WatchedFiles| match kept.len() {
        1 => "watching 1 file".to_owned(),
        files => format!("watching {files} files"),
    };
    loop {
        tokio::select! {
            biased;
            _ = stopped.wait_for(|stop| *stop) => break,
            () = supervisor.beat() => continue,
            _ = unread.recv() => break,
        }
    }
    supervisor.ready(&count(&kept));
    tracing::info!(files = kept.len(), "watching");
    loop {
        tokio::select! {
            biased;
            _ = stopped.wait_for(|stop| *stop) => break,
            () = supervisor.beat() => {}
            () = list.changed() => {
                // Of a list that is just being written the rest follows.
                while timeout(QUIET, list.changed()).await.is_ok() {}
                house.watch_clipboard();
                take_list(&house, &mut kept, &mut tasks, None);
                supervisor.status(&count(&kept));
            }
            Ok(()) = reloads.changed() => {
                supervisor.reloading();
                house.shared.login.forget();
                house.watch_clipboard();
                take_list(&house, &mut kept, &mut tasks, None);
                supervisor.ready(&count(&kept));
            }
        }
    }
    supervisor.stopping();
    for stop in kept.values() {
        stop.send_replace(true);
    }
    // Includes files that are no longer in the list.
    let ended = async { while tasks.join_next().await.is_some() {} };
    let idle = async {
        sleep(FAREWELL[1]).await;
        while house.board.runs() {
            sleep(GLANCE).await;
        }
    };
    tokio::select! {
        () = ended => {}
        // The remaining ones wait for a file system.
        () = idle => {}
        () = sleep(FAREWELL[0]) => {}
    }
    Ok(())
}

/// The watch on the list. Where it cannot be had, clada retries, and reads the list each time.
struct ListWatch {
    hub: Hub,
    /// The list, and the user's settings.
    paths: [PathBuf; 2],
    watcher: Option<Watcher>,
}

impl ListWatch {
    fn start(hub: &Hub, paths: [PathBuf; 2]) -> Self {
        let mut list = Self {
            hub: hub.clone(),
            paths,
            watcher: None,
        };
        if let Err(error) = list.try_start() {
            tracing::warn!("changes of the list will be noticed late: {error}");
        }
        list
    }

    fn try_start(&mut self) -> Result<(), WatchError> {
        self.watcher = Some(Watcher::start(&self.hub, &self.paths, WatchMode::Events)?);
        Ok(())
    }

    /// Waits until the list may have changed.
    async fn changed(&mut self) {
        match &mut self.watcher {
            Some(watcher) => drop(watcher.next().await),
            None => {
                sleep(PAUSES[1]).await;
                let _ = self.try_start();
            }
        }
    }
}

/// Starts to watch what is new in the list, and stops watching what is no longer in it.
fn take_list(
    house: &Rc<House>,
    kept: &mut WatchedFiles,
    tasks: &mut JoinSet<()>,
    first: Option<FirstRead>,
) {
    let list = match Registry::load(&house.folders) {
        Ok(list) => list,
        Err(error) => return house.say(vec![error.to_string()]),
    };
    house.say(list.wrong);
    // A batch that runs is finished first.
    kept.retain(|entry, stop| {
        let stays = list.entries.contains(entry);
        if !stays {
            stop.send_replace(true);
        }
        stays
    });
    while tasks.try_join_next().is_some() {}
    for entry in list.entries {
        if let Entry::Vacant(new) = kept.entry(entry) {
            let (stop, stopped) = channel::channel(false);
            let post = Post::new(Rc::clone(house), new.key().clone(), stopped);
            tasks.spawn_local(post.keep(first.clone()));
            new.insert(stop);
        }
    }
}

impl House {
    /// Watches the clipboard if the user's settings say so. Invalid ones leave it as it is.
    fn watch_clipboard(&self) {
        match Settings::of_user(&self.folders) {
            Ok(settings) => self.shared.intake.watch(settings.clipboard.watch),
            Err(error) => self.say(vec![error.to_string()]),
        }
    }

    /// Logs the errors of the list, once.
    fn say(&self, wrong: Vec<String>) {
        if *self.said.borrow() != wrong {
            for wrong in &wrong {
                tracing::error!("{wrong}");
            }
            self.said.replace(wrong);
        }
    }
}

/// Claims a file for this process, and returns whether it needs no work.
fn take(flags: &Flags, entry: WatchedFile, shared: &ProcessShared) -> Result<(Claim, bool), Error> {
    let (given, root) = start::find_root(Some(&entry.root))?;
    let site = Site::new(given, root, Some(entry.file))?;
    let ledger = Ledger::open(&site.folders.state)?;
    let claim = Claim::take(flags, site, shared, &[], &ledger, true)?;
    let at_rest = match claim.note.read() {
        Ok(NoteReading::Text { text, .. }) => {
            claim.inbox.is_empty() && Memory::is_at_rest(&ledger, claim.note.path(), &text)?
        }
        // It wakes its listener when it exists again.
        Ok(NoteReading::Missing) => true,
        Err(_) => false,
    };
    Ok((claim, at_rest))
}

/// The place of one file of the list in this process. What it does is boxed, so that a sleeping file has no room for it.
struct Post {
    house: Rc<House>,
    entry: WatchedFile,
    flags: Flags,
    stop: channel::Receiver<bool>,
}

impl Post {
    fn new(house: Rc<House>, entry: WatchedFile, stop: channel::Receiver<bool>) -> Self {
        let flags = Flags {
            no_clipboard: !house.copies,
            is_service: true,
            allow_shared: house.allows_shared || entry.shared,
            ..Flags::default()
        };
        Self {
            house,
            entry,
            flags,
            stop,
        }
    }

    /// Watches the file until it is stopped, and waits while it is missing or another process has it. `first` is dropped when the
    /// file has been read, or cannot be.
    async fn keep(mut self, mut first: Option<FirstRead>) {
        let mut pause = PAUSES[0];
        while !*self.stop.borrow() {
            let mut first = first.take();
            let taken = {
                let mut taken = Box::pin(self.take());
                tokio::select! {
                    taken = &mut taken => taken,
                    () = sleep(SILENCE) => {
                        // The daemon is ready without a file whose file system does not answer.
                        first = None;
                        taken.await
                    }
                }
            };
            let mut parting = Parting::Done;
            match taken {
                None => break,
                Some(Ok((claim, is_at_rest))) => {
                    pause = PAUSES[0];
                    self.flags.led = Some(claim.note.lead().clone());
                    let begin = (!is_at_rest).then_some(claim.begin);
                    let first = first.filter(|_| !is_at_rest);
                    parting = self.serve(claim, begin, first).await;
                }
                Some(Err(error)) => self.waits(error),
            }
            if parting == Parting::Done {
                self.rest(&mut pause).await;
            }
        }
        self.house.board.remove(&self.entry.file);
    }

    /// Claims the file for this process, and returns whether it needs no work; `None` where it is stopped first.
    async fn take(&self) -> Option<Result<(Claim, bool), Error>> {
        let (flags, entry) = (self.flags.clone(), self.entry.clone());
        let shared = self.house.shared.clone();
        let taken = self.aside(move || take(&flags, entry, &shared));
        let taken = in_turn(&self.house.starting, taken).await?;
        Some(taken.flatten())
    }

    /// Lets a listener work whenever something happens to the file. Returns when it is stopped, when the listener failed, or when
    /// the file's name leads to another file.
    async fn serve(
        &self,
        mut claim: Claim,
        mut begin: Option<Begin>,
        mut first: Option<FirstRead>,
    ) -> Parting {
        let House {
            board, starting, ..
        } = &*self.house;
        let mut pause = PAUSES[0];
        while !*self.stop.borrow() {
            let now = match begin.take() {
                Some(begin) => begin,
                None => {
                    let watching = ListenerState::Watching;
                    board.set(&self.entry.file, &self.entry.root, watching);
                    board.leads_to(&self.entry.file, claim.note.path());
                    let stirred = tokio::select! {
                        biased;
                        () = self.stopped() => break,
                        stirred = claim.watcher.stirred() => stirred,
                    };
                    if stirred == Stirred::Due {
                        let looked = self.aside(move || {
                            claim.watcher.look_again();
                            claim
                        });
                        let Some(Ok(back)) = Box::pin(looked).await else {
                            break;
                        };
                        claim = back;
                        continue;
                    }
                    Begin::Woken
                }
            };
            let work = Box::pin(self.work(claim, now, first.take()));
            let ended = if now == Begin::Woken {
                work.await
            } else {
                in_turn(starting, work).await
            };
            match ended {
                None => break,
                Some((_, Ok(Parting::Moved))) => return Parting::Moved,
                Some((back, Ok(Parting::Done))) => (claim, pause) = (back, PAUSES[0]),
                Some((back, Err(error))) => {
                    self.waits(error);
                    (claim, begin) = (back, Some(now));
                    self.rest(&mut pause).await;
                }
            }
        }
        Parting::Done
    }

    /// Lets a listener work on a thread of its own until it rests. `None` where it panics or no thread can be had: the file is
    /// taken again after a pause, and what was saved is found then.
    async fn work(
        &self,
        mut claim: Claim,
        begin: Begin,
        mut first: Option<FirstRead>,
    ) -> Option<(Claim, Result<Parting, Error>)> {
        // It reports that it is watching as soon as it has read the file.
        let heard = Arc::new(AtomicBool::new(false));
        let hears = Arc::clone(&heard);
        let (shared, board) = (self.house.shared.clone(), self.house.board.clone());
        let (of, flags, stop) = (self.entry.clone(), self.flags.clone(), self.stop.clone());
        let work = move || {
            let observer = Observer::new(move |news| {
                if matches!(news, News::Watching(_)) {
                    drop(first.take());
                }
                hears.store(true, Ordering::SeqCst);
                log(&news);
                board.hear(&of.file, &of.root, &news);
            });
            let worked = listen(&flags, &mut claim, begin, &shared, stop, observer);
            (claim, worked)
        };
        let ended = self.on_thread("listener", heard, work).await;
        ended.unwrap_or_else(|error| {
            self.waits(error);
            None
        })
    }

    /// Does work that a file system may delay on a thread of its own, and reports one that does not answer. `None` where the file
    /// is no longer watched: nothing waits for the thread then.
    async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<Result<T, Error>> {
        let done = self.on_thread("files", Arc::default(), work);
        tokio::select! {
            biased;
            () = self.stopped() => None,
            done = done => done.transpose(),
        }
    }

    /// Does work on a thread of its own, and reports its file system if nothing was `heard` of it for long. Nothing comes of
    /// work that panics.
    async fn on_thread<T: Send + 'static>(
        &self,
        name: &str,
        heard: Arc<AtomicBool>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Option<T>, Error> {
        let (done, mut ended) = oneshot::channel();
        let thread = std::thread::Builder::new().name(name.to_owned());
        // Nothing waits for it where clada exits.
        thread.spawn(move || drop(done.send(work())))?;
        tokio::select! {
            done = &mut ended => return Ok(done.ok()),
            () = sleep(SILENCE) => {}
        }
        if !heard.load(Ordering::SeqCst) {
            self.waits(NO_ANSWER);
        }
        Ok(ended.await.ok())
    }

    /// Reports once why the file cannot be watched now.
    fn waits(&self, why: impl ToString) {
        let (board, entry) = (&self.house.board, &self.entry);
        let why = why.to_string();
        let state = ListenerState::Waiting { why: why.clone() };
        if board.state(&entry.file).as_ref() != Some(&state) {
            tracing::warn!(file = %entry.file.display(), "{why}");
        }
        board.set(&entry.file, &entry.root, state);
    }

    /// Waits until the file is not to be watched any more.
    async fn stopped(&self) {
        let _ = self.stop.clone().wait_for(|stop| *stop).await;
    }

    /// Pauses until a stop, and makes the next pause longer.
    async fn rest(&self, pause: &mut Duration) {
        let _ = timeout(*pause, self.stopped()).await;
        *pause = (*pause * 2).min(PAUSES[1]);
    }
}

/// Does some work in its turn. Work that takes long lets the next start.
async fn in_turn<T>(turns: &Semaphore, work: impl Future<Output = T>) -> T {
    let turn = turns.acquire().await;
    tokio::pin!(work);
    tokio::select! {
        done = &mut work => return done,
        () = sleep(STARTING.1) => drop(turn),
    }
    work.await
}

fn listen(
    flags: &Flags,
    claim: &mut Claim,
    begin: Begin,
    shared: &ProcessShared,
    stop: channel::Receiver<bool>,
    observer: Observer,
) -> Result<Parting, Error> {
    let ledger = Ledger::open(&claim.site.folders.state)?;
    let rest = if begin == Begin::Woken {
        REST
    } else {
        Duration::ZERO
    };
    start::runtime()?.block_on(async {
        let mut listener = Listener::open(flags, claim, ledger, shared, observer).await?;
        Ok(listener.listen(begin, stop, Some(rest)).await)
    })
}

/// Logs what happens to a file, which the daemon's span names, without the contents of replies.
fn log(shown: &News<'_>) {
    match shown {
        News::Watching(_) | News::Progress(_) | News::Waits(_) => {}
        News::Note(note) => tracing::info!("{note}"),
        News::Trouble(trouble) => tracing::warn!("{trouble}"),
        News::Results { .. } => tracing::info!("results"),
    }
}
