//! `clada daemon`: listens on all files of the list, in one process.
//!
//! A file that nothing happens to costs its locks, a place in the one watch on the file system, and a task that sleeps. A
//! save wakes it: it gets a thread on which an ordinary listener works until there is nothing more to do. So what one
//! batch does holds up no other.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore, oneshot, watch as channel};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{sleep, timeout};

use crate::cli::{self, Watch};
use crate::cmd::watch::{Listener, Place, Post, Shared};
use crate::cmd::{self, status};
use crate::config::Folders;
use crate::config::registry::{Entry, Registry};
use crate::daemon::board::{Board, State};
use crate::daemon::{Begin, Memory, Shown};
use crate::error::Error;
use crate::world::ledger::Ledger;
use crate::world::lock::Lock;
use crate::world::note_file::Reading;
use crate::world::service::supervisor::Supervisor;
use crate::world::shell;
use crate::world::watch::{Mode, Watcher};

/// How long a listener waits behind a save, with nothing to do, before it rests: the next one is often not far.
const REST: Duration = Duration::from_secs(60);
/// The pauses before a file that cannot be watched is tried again, the first and the longest.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];
/// How many files are looked at side by side when the daemon starts, and how long each of them counts.
const STARTING: (usize, Duration) = (4, Duration::from_secs(1));
/// How long the list must be quiet before it is read again.
const QUIET: Duration = Duration::from_millis(50);
/// How long listeners get to end what they do.
const FAREWELL: Duration = Duration::from_secs(8);

/// Listens until it is stopped.
///
/// # Errors
/// Where another one runs, or the state folder cannot be used.
pub fn main(args: &cli::Daemon) -> Result<ExitCode, Error> {
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    // First of all that is made: the folder is to be nobody else's.
    let ledger = Ledger::open(&folders.state)?;
    let _lock =
        Lock::try_take(&folders.locks(), "daemon", &folders.state).map_err(Error::DaemonRuns)?;
    shell::allow_many_files();
    let (stop, reloads) = cmd::stop_and_reload()?;
    let shared = Shared::start(stop);
    let board = Board::default();
    let _socket = status::answer(&folders, status::Kind::Daemon, &board);
    let house = House {
        folders,
        ledger,
        shared,
        board,
        starting: Semaphore::new(STARTING.0),
        unready: Arc::default(),
        said: RefCell::default(),
        copies: !args.no_clipboard,
    };
    let runtime = cmd::runtime()?;
    LocalSet::new().block_on(&runtime, run(Rc::new(house), reloads))?;
    Ok(ExitCode::SUCCESS)
}

/// What all files of the daemon share.
struct House {
    folders: Folders,
    /// For looks at it only: each listener has its own.
    ledger: Ledger,
    shared: Shared,
    board: Board,
    starting: Semaphore,
    unready: Arc<Unready>,
    /// Whether results may be copied at all.
    copies: bool,
    /// What was said of the list last.
    said: RefCell<Vec<String>>,
}

/// How many files were not looked at yet.
#[derive(Default)]
struct Unready {
    count: AtomicUsize,
    none: Notify,
}

impl Unready {
    /// One more, until the value is dropped.
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

/// The first look at a file, which is still to come.
struct First(Arc<Unready>);

impl Drop for First {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.none.notify_one();
        }
    }
}

/// A file that is kept.
struct Kept {
    root: PathBuf,
    stop: channel::Sender<bool>,
}

/// Keeps the files of the list until clada is stopped. A reload reads all anew: the list, and what the login shell says;
/// settings are read for each batch in any case.
async fn run(house: Rc<House>, mut reloads: channel::Receiver<u64>) -> Result<(), Error> {
    let mut supervisor = Supervisor::from_env();
    let path = Registry::path(&house.folders);
    std::fs::create_dir_all(&house.folders.config)?;
    let mut list = Watcher::start(&house.shared.hub, std::slice::from_ref(&path), Mode::Events)?;
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
            _ = list.next() => {
                // Of a list that is just being written the rest follows.
                while timeout(QUIET, list.next()).await.is_ok() {}
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
    // Also those of files that are not in the list any more.
    let ended = async { while tasks.join_next().await.is_some() {} };
    let _ = timeout(FAREWELL, ended).await;
    Ok(())
}

/// Begins to keep what is new in the list, and ends with what is not in it any more.
fn take_list(house: &Rc<House>, kept: &mut HashMap<PathBuf, Kept>, tasks: &mut JoinSet<()>) {
    let list = match Registry::load(&house.folders) {
        Ok(list) => list,
        Err(error) => return house.say(vec![error.to_string()]),
    };
    house.say(list.wrong);
    let is_listed = |file: &Path, root: &Path| {
        let mut entries = list.entries.iter();
        entries.any(|entry| entry.file == file && entry.root == root)
    };
    // What is still at work goes on to its end, and gives the file back then.
    kept.retain(|file, known| {
        let stays = is_listed(file, &known.root);
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
        let (file, root) = (entry.file.clone(), entry.root.clone());
        let first = house.unready.one();
        tasks.spawn_local(keep(Rc::clone(house), entry, stopped, first));
        kept.insert(file, Kept { root, stop });
    }
}

impl House {
    /// Says what is wrong with the list, once.
    fn say(&self, wrong: Vec<String>) {
        if *self.said.borrow() != wrong {
            for wrong in &wrong {
                tracing::error!("{wrong}");
            }
            self.said.replace(wrong);
        }
    }

    /// Takes a file for this process, and whether nothing is to be done about what is in it.
    fn take(&self, args: &Watch) -> Result<(Post, bool), Error> {
        let place = Place::of(args)?;
        let post = Post::take(args, place, (&self.shared.hub, &[]), &self.ledger, true)?;
        let at_rest = match post.note.read() {
            Ok(Reading::Text { text, .. }) => {
                Memory::is_at_rest(&self.ledger, post.note.path(), &text)?
            }
            // It wakes its listener when it comes back.
            Ok(Reading::Missing) => true,
            Err(_) => false,
        };
        Ok((post, at_rest))
    }

    /// Says why a file cannot be watched now, and that once.
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

/// Keeps a file until it is stopped: what is missing, or is another's now, is waited for. `first` is dropped when what is
/// in the file has been read, or cannot be.
async fn keep(house: Rc<House>, entry: Entry, mut stop: channel::Receiver<bool>, first: First) {
    let mut args = Watch::of(&entry.file, &entry.root);
    args.no_clipboard = !house.copies;
    args.is_service = true;
    let mut pause = PAUSES[0];
    let mut first = Some(first);
    while !*stop.borrow() {
        let first = first.take();
        match house.take(&args) {
            Ok((post, true)) => {
                drop(first);
                pause = PAUSES[0];
                serve(&house, &entry, &args, (post, None), &stop).await;
            }
            Ok((post, false)) => {
                pause = PAUSES[0];
                let begin = Some((post.begin, first));
                serve(&house, &entry, &args, (post, begin), &stop).await;
            }
            Err(error) => house.waits(&entry, &error),
        }
        rest(&mut stop, &mut pause).await;
    }
    house.board.remove(&entry.file);
}

/// A pause that a stop ends, and the next one of which is longer.
async fn rest(stop: &mut channel::Receiver<bool>, pause: &mut Duration) {
    let _ = timeout(*pause, stop.wait_for(|stop| *stop)).await;
    *pause = (*pause * 2).min(PAUSES[1]);
}

/// Has a listener work whenever something happens to a file; returns when it is stopped, or the listener has broken down.
async fn serve(
    house: &House,
    entry: &Entry,
    args: &Watch,
    (mut post, mut begin): (Post, Option<(Begin, Option<First>)>),
    stop: &channel::Receiver<bool>,
) {
    let mut stopped = stop.clone();
    let mut pause = PAUSES[0];
    loop {
        let (now, first) = match begin.take() {
            Some(begin) => begin,
            None => {
                house.board.set(&entry.file, &entry.root, State::Watching);
                tokio::select! {
                    biased;
                    _ = stopped.wait_for(|stop| *stop) => return,
                    signal = post.watcher.next() => (Begin::Woken(signal), None),
                }
            }
        };
        let ended = {
            let work = work(house, entry, args, (post, now, first), stop);
            match now {
                Begin::Anew | Begin::Made(_) => in_turn(&house.starting, work).await,
                Begin::Woken(_) => work.await,
            }
        };
        match ended {
            None => return,
            Some((back, Ok(()))) => (post, pause) = (back, PAUSES[0]),
            Some((back, Err(error))) => {
                house.waits(entry, &error);
                (post, begin) = (back, Some((now, None)));
                rest(&mut stopped, &mut pause).await;
            }
        }
        if *stopped.borrow() {
            return;
        }
    }
}

/// Does some work in its turn. What takes long lets the next one begin.
async fn in_turn<T>(turns: &Semaphore, work: impl Future<Output = T>) -> T {
    let turn = turns.acquire().await;
    tokio::pin!(work);
    tokio::select! {
        done = &mut work => return done,
        () = sleep(STARTING.1) => drop(turn),
    }
    work.await
}

/// Has a listener work on a thread of its own until it rests. Nothing comes back of one that panics.
async fn work(
    house: &House,
    entry: &Entry,
    args: &Watch,
    (mut post, begin, first): (Post, Begin, Option<First>),
    stop: &channel::Receiver<bool>,
) -> Option<(Post, Result<(), Error>)> {
    let (done, ended) = oneshot::channel();
    let (shared, stop) = (house.shared.clone(), stop.clone());
    let (board, folders) = (house.board.clone(), house.folders.clone());
    let (args, entry) = (args.clone(), entry.clone());
    let work = move || {
        let mut first = first;
        let mut show = |shown: Shown<'_>| {
            if matches!(shown, Shown::Watching(_)) {
                first = None;
            }
            log(&shown);
            board.shown((&entry.file, &entry.root), &shown, cmd::time);
        };
        let of_all = (&folders, &shared);
        let worked = listen(&args, (&mut post, begin), of_all, stop, &mut show);
        // Nobody waits for it any more where clada ends.
        let _ = done.send((post, worked));
    };
    let thread = std::thread::Builder::new().name("listener".to_owned());
    if let Err(error) = thread.spawn(work) {
        tracing::error!(%error, "no thread");
        return None;
    }
    ended.await.ok()
}

fn listen(
    args: &Watch,
    (post, begin): (&mut Post, Begin),
    (folders, shared): (&Folders, &Shared),
    stop: channel::Receiver<bool>,
    show: &mut dyn FnMut(Shown<'_>),
) -> Result<(), Error> {
    let ledger = Ledger::open(&folders.state)?;
    let mut listener = Listener::new(args, post, ledger, shared)?;
    listener.daemon.leave = stop;
    listener.daemon.rest = Some(match begin {
        Begin::Anew | Begin::Made(_) => Duration::ZERO,
        Begin::Woken(_) => REST,
    });
    let watcher = &mut post.watcher;
    listener.run(show, async |daemon, stop, show| {
        daemon.listen(watcher, begin, stop, show).await;
    });
    listener.leave(post);
    Ok(())
}

/// Puts into the log what happens to a file, which the daemon's span names, and nothing that a reply says.
fn log(shown: &Shown<'_>) {
    match shown {
        Shown::Watching(_) | Shown::Progress(_) | Shown::Waits(_) => {}
        Shown::Note(note) => tracing::info!("{note}"),
        Shown::Trouble(trouble) => tracing::warn!("{trouble}"),
        Shown::Results(_) => tracing::info!("results"),
    }
}
