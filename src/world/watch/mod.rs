//! Owns the file system's notice that the watched file may have changed. Never reads it, and never says what changed.
//!
//! A signal means "look again", so signals that nobody has taken yet merge into one, and none can pile up or be lost. The watch is on
//! the directory: one on the file itself goes deaf when an editor renames another file over it, with `sed -i`, or with a checkout.
//!
//! Two things happen to a directory without an event: a directory above it gets another name, or another file system is mounted there
//! or taken away. The first is noticed at the next event that still comes from where the directory is now, as its path leads elsewhere
//! then; to watch all directories above would wake up for whatever happens in them. The second is asked of the system on Linux.
//! What is not seen at all is writing through another hard link of the file: its event, if any, has that name. Polling sees it.
//!
//! Events come from `notify` without a debouncer in between. The one of `notify-debouncer-full` sleeps in ticks of a quarter of its
//! timeout for as long as it lives, also while nothing happens: with 100 ms 40 wake-ups a second, with 500 ms 8; raw `notify` has none.
//! It is also slower by that tick, it gives about 80 callbacks for a second of writing where one would do, and of an exchange it tells
//! only the name of the temporary file. So what is left of debouncing is [`Settle`], which only has an opinion when something happened.
//! Where there are no events and the file is polled, ticking is inherent, and there the debouncer is used.

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind, RenameMode};
use notify::{Config, Event, PollWatcher, RecommendedWatcher, RecursiveMode, Watcher as _};
use notify_debouncer_full::{DebounceEventResult, Debouncer, NoCache, new_debouncer_opt};
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};
#[cfg(target_os = "linux")]
use tokio::io::{Interest, unix::AsyncFd};
use tokio::sync::Notify;

#[cfg(target_os = "linux")]
use super::attendant::attend;
use super::locked::locked;
use super::scarce;

/// The pause between two looks for a directory, or when polling a file, that is not there.
const RETRY: Duration = Duration::from_secs(1);

/// The time in which the events of a file that grows on and on become one. A save waits no longer than this for it.
const MERGED: Duration = Duration::from_millis(2);

/// A reason to look at a watched file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    /// Nothing happened to the file: somebody else wants its watcher to wake up.
    Asked,
    /// Something happened to the file. It may be half-written.
    Changing,
    /// It was closed after writing, or renamed into place: the save is over unless somebody else has the file open for writing.
    Over,
    /// Its directory is gone, or may be, or events were missed. It is looked for; when it is there, `Changing` follows.
    Lost,
}

/// The work of a watcher that was woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stirred {
    /// Something happened.
    Told,
    /// It is time to look for what is not there.
    Due,
}

/// The way to learn of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchMode {
    Events,
    /// For file systems that give no events (network, some containers): the file is read this often, as the polling watcher of `notify`
    /// sees times in whole seconds only and would miss the second save of a second.
    Poll {
        every: Duration,
    },
}

/// A reason why a file cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error("the directory `{}` does not exist: create it, or give another file to watch", path.display())]
    NoDirectory { path: PathBuf },
    #[error("`{}` is not a directory: give another file to watch", path.display())]
    NotADirectory { path: PathBuf },
    #[error(
        "the system has no file watches left: raise `sysctl fs.inotify.max_user_watches` (now {now}), or watch with \
         `--poll 1s`"
    )]
    TooManyWatches { now: String },
    #[error(
        "the system has no file watchers left: raise `sysctl fs.inotify.max_user_instances` (now {now}) or the limit of \
         open files, or watch with `--poll 1s`"
    )]
    TooManyWatchers { now: String },
    #[error("cannot watch any file now: {why}")]
    Scarce { why: String },
    #[error("cannot watch `{}`: {cause}: `--poll 1s` may work", path.display())]
    Other { path: PathBuf, cause: notify::Error },
}

/// A watch that is always armed, or looking for what to watch.
pub struct Watcher {
    source: EventSource,
    subscriber: Arc<Subscriber>,
    armed: Vec<Armed>,
    /// The paths that are to be watched and are not there, and the time to look for them again.
    absent: Vec<PathBuf>,
    retry: Instant,
    every: Duration,
}

/// A path that is watched, and the directory that was there when that began.
struct Armed {
    path: PathBuf,
    directory: Option<Directory>,
}

/// Tells one directory from another: device and inode.
type Directory = (u64, u64);

enum EventSource {
    Events(Hub),
    Poll(Debouncer<PollWatcher, NoCache>),
}

/// The source of the events of all files of this process: the system allows few such sources, and each has a thread.
/// Clones are the same one.
#[derive(Clone, Default)]
pub struct Hub {
    /// Made when the first directory is watched.
    events: Arc<Mutex<Option<RecommendedWatcher>>>,
    /// Never locked while the other is waited for, as that is answered by the thread that reads this.
    told: Arc<Mutex<Subscriptions>>,
}

/// The subscribers of each directory.
type Subscriptions = HashMap<PathBuf, Directions>;

#[derive(Default)]
struct Directions {
    /// The directory that is watched under this path; none if that may have ended.
    directory: Option<Directory>,
    subscribers: Vec<Weak<Subscriber>>,
}

/// Somebody who wants to know of some places.
struct Subscriber {
    places: Vec<PathBuf>,
    directories: Vec<PathBuf>,
    mailbox: Mailbox,
}

/// Has a watcher give a signal; does nothing once that is gone.
#[derive(Clone)]
pub struct Waker(Weak<Subscriber>);

impl Waker {
    pub fn wake(&self) {
        if let Some(subscriber) = self.0.upgrade() {
            subscriber.mailbox.post(Signal::Asked);
        }
    }
}

impl Hub {
    fn told(&self) -> MutexGuard<'_, Subscriptions> {
        locked(&self.told)
    }

    /// Watches a directory for somebody; `None` if it is not there.
    fn arm(&self, path: &Path, subscriber: &Arc<Subscriber>) -> notify::Result<Option<Directory>> {
        // Before anything is locked: a file system that hangs keeps nobody else waiting.
        let Some(directory) = directory_at(path) else {
            return Ok(None);
        };
        let mut events = locked(&self.events);
        let events = match &mut *events {
            Some(events) => events,
            none => none.insert(self.start()?),
        };
        let is_watched = {
            let mut told = self.told();
            let directions = told.entry(path.to_owned()).or_default();
            let known = Arc::downgrade(subscriber);
            if !directions.subscribers.iter().any(|it| it.ptr_eq(&known)) {
                directions.subscribers.push(known);
            }
            // Before it is watched, so that what then ends it is not overwritten.
            directions.directory.replace(directory) == Some(directory)
        };
        if is_watched {
            return Ok(Some(directory));
        }
        // The watch of a directory that was moved away is still there, under this name.
        let _ = events.unwatch(path);
        let watched = events.watch(path, RecursiveMode::NonRecursive);
        if watched.is_err()
            && let Some(directions) = self.told().get_mut(path)
        {
            directions.directory = None;
        }
        self.after_a_change();
        watched.map(|()| Some(directory))
    }

    /// Nobody is told for this one any more; directories that nobody else wants are not watched.
    fn leave(&self, subscriber: &Arc<Subscriber>) {
        let leaving = Arc::downgrade(subscriber);
        let mut events = locked(&self.events);
        for path in &subscriber.directories {
            let is_last = {
                let mut told = self.told();
                let Some(directions) = told.get_mut(path) else {
                    continue;
                };
                directions.subscribers.retain(|it| !it.ptr_eq(&leaving));
                directions.subscribers.is_empty() && told.remove(path).is_some()
            };
            if is_last && let Some(events) = &mut *events {
                let _ = events.unwatch(path);
                self.after_a_change();
            }
        }
    }

    /// On macOS all directories have one stream of events, which begins anew with each change of what is watched: whatever
    /// happened meanwhile is told nobody, so all are to look.
    fn after_a_change(&self) {
        if cfg!(target_os = "macos") {
            tell_all(&mut self.told(), Signal::Changing);
        }
    }

    fn start(&self) -> notify::Result<RecommendedWatcher> {
        #[cfg(target_os = "linux")]
        tell_of_mounts(&self.told);
        let told = Arc::downgrade(&self.told);
        let mut growth = Growth::default();
        let handler = move |result: notify::Result<Event>| {
            let Some(told) = told.upgrade() else { return };
            match result {
                Ok(event) => {
                    let is_for_nobody = !tell(&mut locked(&told), &event);
                    if growth.goes_on(event) && is_for_nobody {
                        std::thread::sleep(MERGED);
                    }
                }
                Err(_) => tell_all(&mut locked(&told), Signal::Changing),
            }
        };
        // It has one, and where it gets none it panics when it is told what to watch.
        scarce::check_thread().map_err(notify::Error::io)?;
        RecommendedWatcher::new(handler, Config::default())
    }
}

/// The file that was written to last. While a command's output floods into one that nobody watches, each write is an
/// event that wakes its reader, who then takes time from the command. Those that are not read yet are one for the system.
#[derive(Default)]
struct Growth {
    written: Vec<PathBuf>,
}

impl Growth {
    /// True if the same file was written to before, and nothing else happened since.
    fn goes_on(&mut self, event: Event) -> bool {
        let is_written = matches!(event.kind, EventKind::Modify(ModifyKind::Data(_)));
        let written = if is_written { event.paths } else { Vec::new() };
        let goes_on = is_written && written == self.written;
        self.written = written;
        goes_on
    }
}

/// Tells of an event those whom it is about; true if there are any.
fn tell(told: &mut Subscriptions, event: &Event) -> bool {
    // That a directory went may be among what was missed.
    if event.need_rescan() {
        tell_all(told, Signal::Lost);
        return true;
    }
    let mut is_for_somebody = false;
    for path in &event.paths {
        for directory in [Some(path.as_path()), path.parent()].into_iter().flatten() {
            let Some(directions) = told.get_mut(directory) else {
                continue;
            };
            for subscriber in directions.subscribers.iter().filter_map(Weak::upgrade) {
                let signal = meaning(event, &subscriber.places, &subscriber.directories);
                if signal == Some(Signal::Lost) {
                    directions.directory = None;
                }
                if let Some(signal) = signal {
                    subscriber.mailbox.post(signal);
                    is_for_somebody = true;
                }
            }
        }
    }
    is_for_somebody
}

/// Tells all of what may be about any of them.
fn tell_all(told: &mut Subscriptions, signal: Signal) {
    for directions in told.values() {
        for subscriber in directions.subscribers.iter().filter_map(Weak::upgrade) {
            subscriber.mailbox.post(signal);
        }
    }
}

impl Watcher {
    /// Watches `places`: the file, and each symbolic link on the way to it. They need not exist; their directories must, and must be
    /// given by their canonical paths, as that is how events name them.
    ///
    /// # Errors
    /// Where a directory is not there or none, and where the system does not let it be watched.
    pub fn start(hub: &Hub, places: &[PathBuf], mode: WatchMode) -> Result<Watcher, WatchError> {
        let directories = places.iter().filter_map(|place| place.parent());
        let directories: BTreeSet<PathBuf> = directories.map(Path::to_owned).collect();
        directories.iter().try_for_each(|path| check(path))?;
        let subscriber = Arc::new(Subscriber {
            places: places.to_vec(),
            directories: directories.into_iter().collect(),
            mailbox: Mailbox::default(),
        });
        let (source, watched, every) = match mode {
            WatchMode::Events => {
                let watched = subscriber.directories.clone();
                (EventSource::Events(hub.clone()), watched, RETRY)
            }
            WatchMode::Poll { every } => {
                let source = EventSource::poll(places, every, &subscriber)?;
                (source, places.to_vec(), every)
            }
        };
        let mut watcher = Watcher {
            source,
            subscriber,
            armed: Vec::new(),
            absent: Vec::new(),
            retry: Instant::now() + every,
            every,
        };
        for path in watched {
            match watcher.source.arm(&path, &watcher.subscriber) {
                Ok(Some(armed)) => watcher.armed.push(armed),
                Ok(None) => watcher.absent.push(path),
                Err(cause) => return Err(explain(path, cause)),
            }
        }
        Ok(watcher)
    }

    /// Returns what has this watcher give a signal though nothing happened to a file.
    pub fn waker(&self) -> Waker {
        Waker(Arc::downgrade(&self.subscriber))
    }

    /// The next signal; waits without waking up for as long as there is none. May be dropped and called again at any time.
    pub async fn next(&mut self) -> Signal {
        loop {
            if let Some(signal) = self.subscriber.mailbox.take() {
                let lost = self.disarm(signal == Signal::Lost);
                return if lost { Signal::Lost } else { signal };
            }
            tokio::select! {
                () = self.subscriber.mailbox.filled.notified() => {}
                () = tokio::time::sleep_until(self.retry.into()), if !self.absent.is_empty() => {
                    self.retry = Instant::now() + self.every;
                    if self.rearm() {
                        return Signal::Changing;
                    }
                }
            }
        }
    }

    /// Waits until there may be a signal, or it is time to look for what is not there: [`Self::next`] or [`Self::look_again`] is to be
    /// called then. Touches no file system, which may hang.
    pub async fn stirred(&mut self) -> Stirred {
        tokio::select! {
            () = self.subscriber.mailbox.has_one() => Stirred::Told,
            () = tokio::time::sleep_until(self.retry.into()), if !self.absent.is_empty() => Stirred::Due,
        }
    }

    /// Looks for what is not there.
    pub fn look_again(&mut self) {
        self.retry = Instant::now() + self.every;
        if self.rearm() {
            self.subscriber.mailbox.post(Signal::Changing);
        }
    }

    /// Gives up what is not the thing to watch any more, or all, and looks for it at once; false if that is nothing.
    fn disarm(&mut self, all: bool) -> bool {
        let before = self.absent.len();
        let is_gone = |armed: &mut Armed| all || armed.is_elsewhere();
        let gone = self.armed.extract_if(.., is_gone);
        self.absent.extend(gone.map(|armed| armed.path));
        let lost = self.absent.len() > before;
        if lost {
            self.retry = Instant::now();
        }
        lost
    }

    /// Looks for what is not there; whether any of it is.
    fn rearm(&mut self) -> bool {
        let before = self.armed.len();
        self.absent
            .retain(|path| match self.source.arm(path, &self.subscriber) {
                Ok(Some(armed)) => {
                    self.armed.push(armed);
                    false
                }
                // A limit that was reached meanwhile can be raised: try on as if it were not there.
                Ok(None) | Err(_) => true,
            });
        self.armed.len() > before
    }
}

impl Armed {
    /// True if the path of a watched directory leads to another one now, or to none.
    fn is_elsewhere(&self) -> bool {
        self.directory.is_some() && self.directory != directory_at(&self.path)
    }
}

fn directory_at(path: &Path) -> Option<Directory> {
    let meta = path.metadata().ok()?;
    Some((meta.dev(), meta.ino()))
}

impl EventSource {
    /// Polls the files themselves: of a directory it would read every file in it each time.
    fn poll(
        places: &[PathBuf],
        every: Duration,
        subscriber: &Arc<Subscriber>,
    ) -> Result<EventSource, WatchError> {
        let subscriber = Arc::clone(subscriber);
        let handler = move |result: DebounceEventResult| {
            // An error is a file that is not there, each time again; that it went is an event.
            if result.is_ok() {
                subscriber.mailbox.post(Signal::Changing);
            }
        };
        let config = Config::default()
            .with_poll_interval(every)
            .with_compare_contents(true);
        let timeout = (every / 2).clamp(Duration::from_millis(20), Duration::from_millis(500));
        match new_debouncer_opt(timeout, None, handler, NoCache, config) {
            Ok(debouncer) => Ok(EventSource::Poll(debouncer)),
            Err(cause) => Err(explain(places.first().cloned().unwrap_or_default(), cause)),
        }
    }

    /// Watches a path for somebody; `None` if it is not there.
    fn arm(&mut self, path: &Path, subscriber: &Arc<Subscriber>) -> notify::Result<Option<Armed>> {
        let armed = match self {
            EventSource::Events(hub) => hub.arm(path, subscriber).map(|found| found.map(Some)),
            // It would take a path that is not there without an error and never look again.
            EventSource::Poll(_) if !path.exists() => return Ok(None),
            // It goes by the path each time.
            EventSource::Poll(debouncer) => debouncer
                .watch(path, RecursiveMode::NonRecursive)
                .map(|()| Some(None)),
        };
        let path = path.to_owned();
        match armed {
            Ok(armed) => Ok(armed.map(|directory| Armed { path, directory })),
            Err(error) if matches!(error.kind, notify::ErrorKind::PathNotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if let EventSource::Events(hub) = &self.source {
            hub.leave(&self.subscriber);
        }
    }
}

/// Takes all directories for lost whenever something is mounted or taken away, anywhere: so they are looked for, and watched anew.
/// `notify` passes over the event of a file system that goes, and also the same one at the same place is not watched after that.
#[cfg(target_os = "linux")]
fn tell_of_mounts(told: &Arc<Mutex<Subscriptions>>) {
    let told = Arc::downgrade(told);
    // Where there is no such table nothing tells.
    let _ = attend(move || {
        let table = std::fs::File::open("/proc/self/mountinfo")?;
        #[expect(unsafe_code, reason = "tokio wants a promise that the file stays open")]
        // SAFETY: a `File` has one descriptor, and is open until it is dropped, which the `AsyncFd` does.
        let table = unsafe { AsyncFd::register_with_interest(table, Interest::PRIORITY) }?;
        Ok(async move {
            while let Ok(mut changed) = table.ready(Interest::PRIORITY).await {
                changed.clear_ready();
                let Some(told) = told.upgrade() else {
                    return;
                };
                let mut told = locked(&told);
                for directions in told.values_mut() {
                    directions.directory = None;
                }
                tell_all(&mut told, Signal::Lost);
            }
        })
    });
}

/// Returns the signal that an event is for these places, if it is any.
fn meaning(event: &Event, places: &[PathBuf], directories: &[PathBuf]) -> Option<Signal> {
    let is_about = |path: Option<&PathBuf>| path.is_some_and(|path| places.contains(path));
    let gone = matches!(
        event.kind,
        EventKind::Remove(_)
            | EventKind::Modify(ModifyKind::Name(RenameMode::From | RenameMode::Any))
    );
    if gone && event.paths.iter().any(|path| directories.contains(path)) {
        return Some(Signal::Lost);
    }
    if !event.paths.iter().any(|path| places.contains(path)) {
        return None;
    }
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(Signal::Over),
        // Reading is an event too, and one would answer one's own for ever.
        EventKind::Access(_) => None,
        EventKind::Modify(ModifyKind::Name(RenameMode::To)) => Some(Signal::Over),
        EventKind::Modify(ModifyKind::Name(RenameMode::Both)) if is_about(event.paths.last()) => {
            Some(Signal::Over)
        }
        _ => Some(Signal::Changing),
    }
}

/// Holds at most one signal: of several the greatest, as what it leads to covers the others. Who looks after `Over` asks for the lease, so
/// a writer that began after it is noticed there; after `Lost` comes `Changing`.
#[derive(Default)]
struct Mailbox {
    waiting: Mutex<Option<Signal>>,
    filled: Notify,
}

impl Mailbox {
    fn post(&self, signal: Signal) {
        let mut waiting = locked(&self.waiting);
        *waiting = waiting.max(Some(signal));
        self.filled.notify_one();
    }

    /// Waits until there is one, and leaves it there.
    async fn has_one(&self) {
        loop {
            let filled = self.filled.notified();
            let waiting = *locked(&self.waiting);
            if waiting.is_some() {
                return;
            }
            filled.await;
        }
    }

    fn take(&self) -> Option<Signal> {
        locked(&self.waiting).take()
    }
}

/// Decides when to look: at once after a save that is over, else after a quiet time, and under constant writing after a
/// longest wait.
///
/// It has no clock and no timer: it is told of each signal, says when to look, and is told when that was done. The quiet time is not what
/// keeps clada from acting on half a text, so it may be short; below 10 ms it would only make more work of the same save.
#[derive(Debug)]
pub struct Settle {
    quiet: Duration,
    /// Since when there is something to look at, and when it last changed.
    since: Option<(Instant, Instant)>,
    over: bool,
}

impl Settle {
    pub const QUIET: Duration = Duration::from_millis(100);
    const LEAST: Duration = Duration::from_millis(10);
    const LONGEST: Duration = Duration::from_secs(2);

    pub fn new(quiet: Duration) -> Settle {
        Settle {
            quiet: quiet.max(Settle::LEAST),
            since: None,
            over: false,
        }
    }

    /// Makes another quiet time count from now on.
    pub fn take(&mut self, quiet: Duration) {
        self.quiet = quiet.max(Settle::LEAST);
    }

    pub fn on(&mut self, signal: Signal, now: Instant) {
        let first = self.since.map_or(now, |(first, _)| first);
        self.since = Some((first, now));
        // Not taken back by what follows (an editor that sets the mode after closing): who looks asks whether somebody writes.
        self.over |= signal == Signal::Over;
    }

    /// Returns the time to look; `None` while there is nothing to look at.
    pub fn due(&self) -> Option<Instant> {
        let (first, last) = self.since?;
        Some(if self.over {
            last
        } else {
            (last + self.quiet).min(first + Settle::LONGEST)
        })
    }

    /// Notes a look. It was the last one if the file is surely whole (`no_writer` of its reading), or the time was up.
    /// Else the quiet time counts after all, from the last signal on.
    pub fn looked(&mut self, no_writer: Option<bool>, now: Instant) {
        self.over = false;
        if no_writer == Some(true) || self.due().is_some_and(|due| due <= now) {
            self.since = None;
        }
    }
}

fn check(directory: &Path) -> Result<(), WatchError> {
    let path = directory.to_owned();
    let found = directory.metadata();
    match found.map_err(|error| (error.kind(), error)) {
        Ok(meta) if meta.is_dir() => Ok(()),
        Ok(_) | Err((io::ErrorKind::NotADirectory, _)) => Err(WatchError::NotADirectory { path }),
        Err((io::ErrorKind::NotFound, _)) => Err(WatchError::NoDirectory { path }),
        Err((_, error)) => Err(explain(path, notify::Error::io(error))),
    }
}

fn explain(path: PathBuf, cause: notify::Error) -> WatchError {
    let now = |what| {
        let value = std::fs::read_to_string(format!("/proc/sys/fs/inotify/{what}"));
        value.map_or_else(|_| "unknown".into(), |value| value.trim().to_owned())
    };
    match &cause.kind {
        notify::ErrorKind::MaxFilesWatch => WatchError::TooManyWatches {
            now: now("max_user_watches"),
        },
        notify::ErrorKind::Io(error) if error.raw_os_error() == Some(libc::EMFILE) => {
            WatchError::TooManyWatchers {
                now: now("max_user_instances"),
            }
        }
        notify::ErrorKind::PathNotFound => WatchError::NoDirectory { path },
        notify::ErrorKind::Io(error) if scarce::remedy(error).is_some() => WatchError::Scarce {
            why: scarce::explain(error),
        },
        _ => WatchError::Other { path, cause },
    }
}

#[cfg(test)]
mod tests;
