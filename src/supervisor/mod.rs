//! `clada daemon`: watches all files in the list, in one process.
//!
//! An idle file costs its locks, a place in the one watch on the file system, and a sleeping task. A save wakes it: an ordinary
//! listener then works on a thread of its own until nothing is left to do. So no batch delays another.
//!
//! The thread that these tasks share touches clada's own files only. The file system of one project may hang, as when its server
//! is down, and neither the other files, nor `clada status`, nor Ctrl-C may wait for it.

pub mod list;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore, oneshot, watch as channel};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{sleep, timeout};

use crate::cli::{self, Watch};
use crate::clock;
use crate::cmd::status;
use crate::cmd::watch::{Listener, Place, Post, Shared};
use crate::error::Error;
use crate::listener::board::{Board, State};
use crate::listener::{Begin, Memory, Parting, Shown};
use crate::settings::places::Folders;
use crate::start;
use crate::supervisor::list::{Entry, Registry};
use crate::world::ledger::Ledger;
use crate::world::lock::Lock;
use crate::world::note_file::Reading;
use crate::world::scarce;
use crate::world::service::supervisor::Supervisor;
use crate::world::shell;
use crate::world::watch::{Hub, Mode, Stirred, WatchError, Watcher};

/// How long an idle listener waits for the next save before it rests.
const REST: Duration = Duration::from_secs(60);
/// The first and the longest pause before clada retries a file that it cannot watch.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];
/// How many files the daemon reads at a time when it starts, and how long each of them counts.
const STARTING: (usize, Duration) = (4, Duration::from_secs(1));
/// How long the list must be unchanged before it is read again.
const QUIET: Duration = Duration::from_millis(50);
/// How long listeners may take to finish, and how long where no batch runs.
const FAREWELL: [Duration; 2] = [Duration::from_secs(8), Duration::from_secs(2)];
/// How often clada checks then whether a batch still runs.
const GLANCE: Duration = Duration::from_millis(50);
/// How long a file system may take to answer before clada reports it.
const SILENCE: Duration = Duration::from_secs(3);
/// The report.
const NO_ANSWER: &str = "the file system of the notes file or the project folder does not answer: clada waits until it does";

/// Watches until it is stopped.
///
/// # Errors
/// Where another daemon runs, or the state folder cannot be used.
pub fn main(args: &cli::DaemonArgs) -> Result<ExitCode, Error> {
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
    let shared = Shared::start(stop);
    let board = Board::default();
    let _socket = status::answer(&folders, status::Kind::Daemon, &board);
    drop(ledger);
    let house = House {
        folders,
        shared,
        board,
        starting: Semaphore::new(STARTING.0),
        unready: Arc::default(),
        said: RefCell::default(),
        copies: !args.no_clipboard,
        allows_shared: args.allow_shared,
    };
    let runtime = start::runtime()?;
    LocalSet::new().block_on(&runtime, run(Rc::new(house), reloads))?;
    Ok(ExitCode::SUCCESS)
}

/// The things that all files of the daemon share.
struct House {
    folders: Folders,
    shared: Shared,
    board: Board,
    starting: Semaphore,
    unready: Arc<Unready>,
    /// Whether results may be copied.
    copies: bool,
    /// Whether other users may own or write to notes files and project folders.
    allows_shared: bool,
    /// The last errors of the list.
    said: RefCell<Vec<String>>,
}

/// The number of files that were not read yet.
#[derive(Default)]
struct Unready {
    count: AtomicUsize,
    none: Notify,
}

impl Unready {
    /// Counts one more until the value is dropped.
    fn one(self: &Arc<Self>) -> First {
        self.count.fetch_add(1, Ordering::SeqCst);
        First(Arc::clone(self))
    }

    async fn none(&self) {
        while self.count.load(Ordering::SeqCst) > 0 {
            self.none.notified().await;
        }
    }
}

/// The pending first read of a file.
struct First(Arc<Unready>);

impl Drop for First {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.none.notify_one();
        }
    }
}

/// A file that the daemon watches.
struct Kept {
    root: PathBuf,
    shared: bool,
    stop: channel::Sender<bool>,
}

/// Watches the files in the list until clada is stopped. A reload reads the list and the login shell's environment again; the
/// settings are read for each batch anyway.
async fn run(house: Rc<House>, mut reloads: channel::Receiver<u64>) -> Result<(), Error> {
    let mut supervisor = Supervisor::from_env();
    let path = Registry::path(&house.folders);
    std::fs::create_dir_all(&house.folders.config)?;
    let mut list = ListWatch::start(&house.shared.hub, path);
    let mut stopped = house.shared.stop.clone();
    let (mut kept, mut tasks) = (HashMap::new(), JoinSet::new());
    take_list(&house, &mut kept, &mut tasks);
    let count = |kept: &HashMap<PathBuf, Kept>| match kept.len() {
        1 => "watching 1 file".to_owned(),
        files => format!("watching {files} files"),
    };
    loop {
        tokio::select! {
            biased;
            _ = stopped.wait_for(|stop| *stop) => break,
            () = supervisor.beat() => continue,
            () = house.unready.none() => break,
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
                take_list(&house, &mut kept, &mut tasks);
                supervisor.status(&count(&kept));
            }
            Ok(()) = reloads.changed() => {
                supervisor.reloading();
                house.shared.login.forget();
                take_list(&house, &mut kept, &mut tasks);
                supervisor.ready(&count(&kept));
            }
        }
    }
    supervisor.stopping();
    for kept in kept.values() {
        kept.stop.send_replace(true);
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
    path: PathBuf,
    watcher: Option<Watcher>,
}

impl ListWatch {
    fn start(hub: &Hub, path: PathBuf) -> Self {
        let mut list = Self {
            hub: hub.clone(),
            path,
            watcher: None,
        };
        if let Err(error) = list.try_start() {
            tracing::warn!("changes of the list will be noticed late: {error}");
        }
        list
    }

    fn try_start(&mut self) -> Result<(), WatchError> {
        let places = std::slice::from_ref(&self.path);
        self.watcher = Some(Watcher::start(&self.hub, places, Mode::Events)?);
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
fn take_list(house: &Rc<House>, kept: &mut HashMap<PathBuf, Kept>, tasks: &mut JoinSet<()>) {
    let list = match Registry::load(&house.folders) {
        Ok(list) => list,
        Err(error) => return house.say(vec![error.to_string()]),
    };
    house.say(list.wrong);
    let is_listed = |file: &Path, known: &Kept| {
        let mut entries = list.entries.iter();
        entries.any(|entry| {
            let is_as_before = entry.root == known.root && entry.shared == known.shared;
            entry.file == file && is_as_before
        })
    };
    // A batch that runs is finished first.
    kept.retain(|file, known| {
        let stays = is_listed(file, known);
        if !stays {
            known.stop.send_replace(true);
        }
        stays
    });
    while tasks.try_join_next().is_some() {}
    for entry in list.entries {
        if kept.contains_key(&entry.file) {
            continue;
        }
        let (stop, stopped) = channel::channel(false);
        let (file, root, shared) = (entry.file.clone(), entry.root.clone(), entry.shared);
        let first = house.unready.one();
        tasks.spawn_local(keep(Rc::clone(house), entry, stopped, first));
        kept.insert(file, Kept { root, shared, stop });
    }
}

impl House {
    /// Logs the errors of the list, once.
    fn say(&self, wrong: Vec<String>) {
        if *self.said.borrow() != wrong {
            for wrong in &wrong {
                tracing::error!("{wrong}");
            }
            self.said.replace(wrong);
        }
    }

    /// Takes a file for this process, and returns whether it needs no work; `None` where it is stopped first.
    async fn take(
        &self,
        args: &Watch,
        entry: &Entry,
        stop: &channel::Receiver<bool>,
    ) -> Option<Result<(Post, bool), Error>> {
        let (args, folders) = (args.clone(), self.folders.clone());
        let hub = self.shared.hub.clone();
        let taken = self.aside(entry, stop, move || take(&args, &folders, &hub));
        let taken = in_turn(&self.starting, taken).await?;
        Some(taken.and_then(|taken| taken))
    }

    /// Does work that a file system may delay on a thread of its own, and reports one that does not answer. `None` where the file
    /// is no longer watched: nothing waits for the thread then.
    async fn aside<T: Send + 'static>(
        &self,
        entry: &Entry,
        stop: &channel::Receiver<bool>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<Result<T, Error>> {
        let (done, mut ended) = oneshot::channel();
        let thread = std::thread::Builder::new().name("files".to_owned());
        let started = thread.spawn(move || drop(done.send(work())));
        if let Err(error) = started {
            return Some(Err(error.into()));
        }
        let mut stop = stop.clone();
        let mut is_late = false;
        loop {
            tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => return None,
                done = &mut ended => return done.ok().map(Ok),
                () = sleep(SILENCE), if !is_late => {
                    is_late = true;
                    self.says_nothing(entry);
                }
            }
        }
    }

    /// Reports that a file's file system does not answer.
    fn says_nothing(&self, entry: &Entry) {
        tracing::warn!(file = %entry.file.display(), "{NO_ANSWER}");
        let why = NO_ANSWER.to_owned();
        self.board
            .set(&entry.file, &entry.root, State::Waiting { why });
    }

    /// Reports once why a file cannot be watched now.
    fn waits(&self, entry: &Entry, error: &Error) {
        let why = error.to_string();
        let state = State::Waiting { why: why.clone() };
        let known = self.board.read_one(&entry.file);
        if known.is_none_or(|known| known.state != state) {
            tracing::warn!(file = %entry.file.display(), "{why}");
        }
        self.board.set(&entry.file, &entry.root, state);
    }
}

/// Takes a file for this process, and returns whether it needs no work.
fn take(args: &Watch, folders: &Folders, hub: &Hub) -> Result<(Post, bool), Error> {
    let place = Place::of(args)?;
    let ledger = Ledger::open(&folders.state)?;
    let post = Post::take(args, place, (hub, &[]), &ledger, true)?;
    let at_rest = match post.note.read() {
        Ok(Reading::Text { text, .. }) => Memory::is_at_rest(&ledger, post.note.path(), &text)?,
        // It wakes its listener when it exists again.
        Ok(Reading::Missing) => true,
        Err(_) => false,
    };
    Ok((post, at_rest))
}

/// Watches a file until it is stopped, and waits while it is missing or another process has it. `first` is dropped when the file
/// has been read, or cannot be.
async fn keep(house: Rc<House>, entry: Entry, mut stop: channel::Receiver<bool>, first: First) {
    let mut args = Watch::of(&entry.file, &entry.root);
    args.carrying.no_clipboard = !house.copies;
    args.is_service = true;
    args.carrying.allow_shared = house.allows_shared || entry.shared;
    let mut pause = PAUSES[0];
    let mut first = Some(first);
    while !*stop.borrow() {
        let mut first = first.take();
        let taken = {
            let taken = house.take(&args, &entry, &stop);
            tokio::pin!(taken);
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
            Some(Ok((post, is_at_rest))) => {
                pause = PAUSES[0];
                args.led = Some(post.note.lead().clone());
                let begin = (!is_at_rest).then(|| (post.begin, first.take()));
                drop(first);
                parting = serve(&house, &entry, &args, (post, begin), &stop).await;
            }
            Some(Err(error)) => house.waits(&entry, &error),
        }
        if parting == Parting::Done {
            rest(&mut stop, &mut pause).await;
        }
    }
    house.board.remove(&entry.file);
}

/// Pauses until a stop, and makes the next pause longer.
async fn rest(stop: &mut channel::Receiver<bool>, pause: &mut Duration) {
    let _ = timeout(*pause, stop.wait_for(|stop| *stop)).await;
    *pause = (*pause * 2).min(PAUSES[1]);
}

/// Lets a listener work whenever something happens to a file. Returns when it is stopped, when the listener failed, or when the
/// file's name leads to another file.
async fn serve(
    house: &House,
    entry: &Entry,
    args: &Watch,
    (mut post, mut begin): (Post, Option<(Begin, Option<First>)>),
    stop: &channel::Receiver<bool>,
) -> Parting {
    let mut stopped = stop.clone();
    let mut pause = PAUSES[0];
    loop {
        let (now, first) = match begin.take() {
            Some(begin) => begin,
            None => {
                house.board.set(&entry.file, &entry.root, State::Watching);
                house.board.leads_to(&entry.file, post.note.path());
                let stirred = tokio::select! {
                    biased;
                    _ = stopped.wait_for(|stop| *stop) => return Parting::Done,
                    stirred = post.watcher.stirred() => stirred,
                };
                if stirred == Stirred::Due {
                    let looked = house.aside(entry, stop, move || {
                        post.watcher.look_again();
                        post
                    });
                    match looked.await {
                        Some(Ok(back)) => post = back,
                        _ => return Parting::Done,
                    }
                    continue;
                }
                (Begin::Woken, None)
            }
        };
        let ended = {
            let work = work(house, entry, args, (post, now, first), stop);
            match now {
                Begin::Anew | Begin::Made(_) => in_turn(&house.starting, work).await,
                Begin::Woken => work.await,
            }
        };
        match ended {
            None => return Parting::Done,
            Some((_, Ok(Parting::Moved))) => return Parting::Moved,
            Some((back, Ok(Parting::Done))) => (post, pause) = (back, PAUSES[0]),
            Some((back, Err(error))) => {
                house.waits(entry, &error);
                (post, begin) = (back, Some((now, None)));
                rest(&mut stopped, &mut pause).await;
            }
        }
        if *stopped.borrow() {
            return Parting::Done;
        }
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

/// Lets a listener work on a thread of its own until it rests. `None` where it panics or no thread can be had: the file is taken
/// again after a pause, and what was saved is found then.
async fn work(
    house: &House,
    entry: &Entry,
    args: &Watch,
    (mut post, begin, first): (Post, Begin, Option<First>),
    stop: &channel::Receiver<bool>,
) -> Option<(Post, Result<Parting, Error>)> {
    let (done, mut ended) = oneshot::channel();
    let is_silent = Arc::new(AtomicBool::new(true));
    let silent = Arc::clone(&is_silent);
    let (shared, stop) = (house.shared.clone(), stop.clone());
    let (board, folders) = (house.board.clone(), house.folders.clone());
    let (args, of) = (args.clone(), entry.clone());
    let work = move || {
        let mut first = first;
        let mut show = |shown: Shown<'_>| {
            if matches!(shown, Shown::Watching(_)) {
                first = None;
            }
            silent.store(false, Ordering::SeqCst);
            log(&shown);
            board.shown((&of.file, &of.root), &shown, clock::time);
        };
        let of_all = (&folders, &shared);
        let worked = listen(&args, (&mut post, begin), of_all, stop, &mut show);
        // Nothing waits for it where clada exits.
        let _ = done.send((post, worked));
    };
    let thread = std::thread::Builder::new().name("listener".to_owned());
    if let Err(error) = thread.spawn(work) {
        house.waits(entry, &error.into());
        return None;
    }
    tokio::select! {
        done = &mut ended => return done.ok(),
        () = sleep(SILENCE) => {}
    }
    // It reports that it is watching as soon as it has read the file.
    if is_silent.load(Ordering::SeqCst) {
        house.says_nothing(entry);
    }
    ended.await.ok()
}

fn listen(
    args: &Watch,
    (post, begin): (&mut Post, Begin),
    (folders, shared): (&Folders, &Shared),
    stop: channel::Receiver<bool>,
    show: &mut dyn FnMut(Shown<'_>),
) -> Result<Parting, Error> {
    let ledger = Ledger::open(&folders.state)?;
    let mut listener = Listener::new(args, post, ledger, shared)?;
    listener.daemon.leave = stop;
    listener.daemon.rest = Some(match begin {
        Begin::Anew | Begin::Made(_) => Duration::ZERO,
        Begin::Woken => REST,
    });
    let watcher = &mut post.watcher;
    let parting = listener.run(show, async |daemon, stop, show| {
        daemon.listen(watcher, begin, stop, show).await
    });
    listener.leave(post);
    Ok(parting)
}

/// Logs what happens to a file, which the daemon's span names, without the contents of replies.
fn log(shown: &Shown<'_>) {
    match shown {
        Shown::Watching(_) | Shown::Progress(_) | Shown::Waits(_) => {}
        Shown::Note(note) => tracing::info!("{note}"),
        Shown::Trouble(trouble) => tracing::warn!("{trouble}"),
        Shown::Results { .. } => tracing::info!("results"),
    }
}
