//! `clada watch`: watches a notes file until it is stopped.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::watch as channel;
use tokio::time::timeout;

use crate::cli::terminal::Terminal;
use crate::cli::{Listen, Watch};
use crate::clock::{self, Clock};
use crate::cmd::exclude::{self, ExcludeAnswer, ExcludeOffer};
use crate::cmd::{context, sharing, status};
use crate::error::Error;
use crate::git::{Survey, survey};
use crate::listener::board::Board;
use crate::listener::rules::{self, Login, Made, Source};
use crate::listener::{
    Begin, Daemon, Delivery, Doubt, Fresh, Limits, Listening, Memory, Parting, Pending, Shown,
    Told, not_followed,
};
use crate::reply::note::RESULTS;
use crate::run::Reader;
use crate::settings::places::{self, Folders};
use crate::settings::{Every, LoadedSettings, Settings};
use crate::start;
use crate::text::paths;
use crate::world::clipboard::{Around, Clipboard};
use crate::world::desktop::Desktop;
use crate::world::ledger::Ledger;
use crate::world::lock::Lock;
use crate::world::note_file::{NoteError, NoteFile, Reading};
use crate::world::output_file::OutputFile;
use crate::world::packet::Packets;
use crate::world::watch::{Hub, Mode, Settle, Watcher};
use crate::world::{roots, sandbox, scarce};

/// How long until clada retries a notes file behind a link that it cannot watch.
const AGAIN: Duration = Duration::from_secs(1);

/// What the terminal shows below results in which a command waits for approval.
const HOW_TO_APPROVE: &str =
    "  (to approve: tick the box in the notes file, or run `clada approve`)";

/// What a start says where no repository is.
const KEEPS_SNAPSHOTS: &str =
    "no git repository here: clada keeps private snapshots, so `clada undo` works";

/// The text of a new notes file.
const GREETING: &str = include_str!("../../config/greeting.md");

/// Watches.
///
/// # Errors
/// Where the file cannot be watched, or another clada process watches it.
pub fn main(args: &Listen) -> Result<ExitCode, Error> {
    let Listen { watch: args, yes } = args;
    let shared = Shared::start(start::stop_signal()?);
    let mut post = take(args, &shared)?;
    let mut terminal = Terminal::new(std::io::stdout());
    if let Some(shortfall) = scarce::shortfall() {
        terminal.trouble(&shortfall);
    }
    if let Begin::Made(_) = post.begin {
        let made = post.note.path().display();
        terminal.line(&format!("created {made}"));
    }
    if post.offer_to_exclude(*yes, &shared.stop)? == ExcludeAnswer::Stopped {
        return Ok(ExitCode::SUCCESS);
    }
    let board = Board::default();
    let _socket = status::answer(&post.place.folders, status::Kind::Watch, &board);
    let mut args = args.clone();
    let mut has_moved = false;
    loop {
        match listen(&args, &mut post, &shared, (&board, &mut terminal)) {
            Ok(Parting::Done) => return Ok(ExitCode::SUCCESS),
            Ok(Parting::Moved) => {}
            Err(error) if has_moved => terminal.trouble(&error.to_string()),
            Err(error) => return Err(error),
        }
        has_moved = true;
        board.remove(post.note.path());
        args.led = Some(post.note.lead().clone());
        let told = post.told.clone();
        // Its locks are released before others are taken.
        drop(post);
        // The replies that are already in the other file were not asked for.
        args.run_existing = false;
        let Some(other) = take_when_possible(&args, &shared, &mut terminal)? else {
            return Ok(ExitCode::SUCCESS);
        };
        post = other;
        post.told = told;
    }
}

/// Takes the notes file for this process.
fn take(args: &Watch, shared: &Shared) -> Result<Post, Error> {
    let place = Place::of(args)?;
    let ledger = Ledger::open(&place.folders.state)?;
    let settings = [Settings::user_file(&place.folders)];
    Post::take(args, place, (&shared.hub, &settings), &ledger, true)
}

/// Takes a notes file that is a regular file, or does not exist yet.
fn take_readable(args: &Watch, shared: &Shared) -> Result<Post, Error> {
    let post = take(args, shared)?;
    match post.note.read() {
        Err(error @ NoteError::NotAFile { .. }) => Err(error.into()),
        _ => Ok(post),
    }
}

/// Takes the notes file that a link leads to now, as soon as that is possible; `None` if clada is stopped first.
fn take_when_possible(
    args: &Watch,
    shared: &Shared,
    terminal: &mut Terminal<io::Stdout>,
) -> Result<Option<Post>, Error> {
    let runtime = start::runtime()?;
    let mut stop = shared.stop.clone();
    let mut said = String::new();
    while !*stop.borrow() {
        match take_readable(args, shared) {
            Ok(post) => return Ok(Some(post)),
            Err(error) => {
                let why = format!("{error}; clada retries until it works");
                if why != said {
                    terminal.trouble(&why);
                    said = why;
                }
            }
        }
        let pause = async { timeout(AGAIN, stop.wait_for(|stop| *stop)).await.is_ok() };
        runtime.block_on(pause);
    }
    Ok(None)
}

/// Watches the notes file until its name leads to another one.
fn listen(
    args: &Watch,
    post: &mut Post,
    shared: &Shared,
    (board, terminal): (&Board, &mut Terminal<io::Stdout>),
) -> Result<Parting, Error> {
    let ledger = Ledger::open(&post.place.folders.state)?;
    let mut listener = Listener::new(args, post, ledger, shared)?;
    let (file, root) = (post.note.path().to_owned(), post.place.root.1.clone());
    // A file that a link leads to now is in the same project.
    let is_first = args.led.is_none();
    let mut notice = (is_first && listener.keeps_snapshots(&root)).then_some(KEEPS_SNAPSHOTS);
    let mut show = |shown: Shown<'_>| {
        board.shown((&file, &root), &shown, clock::time);
        show(terminal, &shown);
        if let Shown::Watching(_) = shown
            && let Some(notice) = notice.take()
        {
            terminal.line(notice);
        }
    };
    let (watcher, begin) = (&mut post.watcher, post.begin);
    let parting = listener.run(&mut show, async |daemon, stop, show| {
        daemon.listen(watcher, begin, stop, show).await
    });
    listener.leave(post);
    Ok(parting)
}

/// The folders and the notes file of a listener.
pub(crate) struct Place {
    pub(crate) folders: Folders,
    /// As it was given, and its canonical path.
    root: (PathBuf, PathBuf),
    /// The notes file, as it was given.
    pub(crate) file: PathBuf,
}

impl Place {
    pub(crate) fn of(args: &Watch) -> Result<Self, Error> {
        let root = start::find_root(args.root.as_deref())?;
        let file = args.file.clone();
        Ok(Self {
            folders: Folders::of_user().ok_or(Error::NoHome)?,
            file: file.unwrap_or_else(|| root.1.join(places::NOTES)),
            root,
        })
    }
}

/// Returns how a listener works: the flags override the settings.
fn listening(flags: &Watch, settings: &Settings) -> Listening {
    let (watch, ledger) = (&settings.watch, &settings.ledger);
    let Every(poll) = flags.poll.unwrap_or(watch.poll);
    let days = flags.ledger_days.unwrap_or(ledger.days);
    let size = flags.ledger_size.map(|mib| u64::from(mib) * 1024 * 1024);
    let output = flags.carrying.output_file.clone();
    Listening {
        debounce: flags.debounce.map_or(watch.debounce, Duration::from_millis),
        poll,
        output: output.unwrap_or_else(|| watch.output_file.clone()),
        clipboard: settings.clipboard.enabled && !flags.carrying.no_clipboard,
        packet: settings.clipboard.limit,
        notifies: flags.carrying.notify || flags.is_service && settings.notify.enabled,
        limits: Limits {
            seconds: i64::from(days) * 24 * 60 * 60,
            bytes: size.unwrap_or(ledger.size),
        },
    }
}

/// The things that the listeners of one process share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) hub: Hub,
    /// Becomes true when clada has to exit.
    pub(crate) stop: channel::Receiver<bool>,
    pub(crate) clipboard: Arc<Clipboard>,
    pub(crate) login: Login,
}

impl Shared {
    pub(crate) fn start(stop: channel::Receiver<bool>) -> Self {
        sandbox::warm_up();
        Self {
            hub: Hub::default(),
            stop,
            clipboard: Arc::new(Clipboard::start(Around::of_process())),
            login: Login::default(),
        }
    }
}

/// A notes file that only this process watches, even while its listener rests.
pub(crate) struct Post {
    place: Place,
    pub(crate) note: NoteFile,
    /// The path of the output file.
    output: PathBuf,
    pub(crate) watcher: Watcher,
    /// How the first read begins.
    pub(crate) begin: Begin,
    /// The last valid settings. Those of many files are the same, and are kept once.
    good: Arc<LoadedSettings>,
    /// The warnings about them that were shown.
    told: Told,
    locks: Vec<Lock>,
}

impl Drop for Post {
    fn drop(&mut self) {
        for lock in self.locks.drain(..) {
            // This process lives on, and readers of the lock's file would take it for the holder.
            if let Err(error) = lock.end() {
                tracing::debug!(%error, "lock");
            }
        }
    }
}

impl Post {
    /// Takes the locks on the file and its output file. With `creates`, it creates a file that clada does not know yet; a known
    /// one may be about to come back. A change of the project's settings or of these other files wakes it, as a save does.
    ///
    /// # Errors
    /// Where the file cannot be watched, another clada process watches it, or the settings are invalid.
    pub(crate) fn take(
        args: &Watch,
        place: Place,
        (hub, others): (&Hub, &[PathBuf]),
        ledger: &Ledger,
        creates: bool,
    ) -> Result<Self, Error> {
        let note = NoteFile::new(&place.file, places::NOTES_LIMIT)?;
        let root = &place.root.1;
        let loaded = Settings::load(&place.folders, root)?;
        check_links(args, &place, &note, &loaded.settings)?;
        sharing::check_notes(root, note.path(), args.carrying.allow_shared)?;
        let is_new = creates && ledger.file(note.path())?.is_none();
        let begin = match is_new && create_if_missing(&place.file)? {
            true => Begin::Made(GREETING),
            false => Begin::Anew,
        };
        let locks = place.folders.locks();
        let watched = Lock::try_take(&locks, "file", note.path()).map_err(|error| {
            let path = note.path().to_owned();
            match error.other_process() {
                Some(process) => Error::WatchedByAnother { path, process },
                None => Error::Watched { path, error },
            }
        })?;
        let listening = listening(args, &loaded.settings);
        if let Err(error) = roots::keep(&place.folders.roots(), note.path(), &place.root.1) {
            tracing::warn!(%error, "commands in the project folder will not find its notes file");
        }
        let (output, output_lock) = output(&listening.output, note.path(), &locks)?;
        let mode = listening
            .poll
            .map_or(Mode::Events, |every| Mode::Poll { every });
        let mut places = note.places();
        // Where they can be watched.
        let is_watchable = |file: &&PathBuf| file.parent().is_some_and(Path::is_dir);
        let settings = [place.root.1.join(places::PROJECT)];
        places.extend(settings.iter().chain(others).filter(is_watchable).cloned());
        let watcher = Watcher::start(hub, &places, mode)?;
        Ok(Self {
            place,
            note,
            output,
            watcher,
            begin,
            good: shared_settings(loaded),
            told: Told::default(),
            locks: std::iter::once(watched).chain(output_lock).collect(),
        })
    }
}

/// Refuses to follow a link that the user has not given: it may have come with the project, or a command may have made it.
fn check_links(
    args: &Watch,
    place: &Place,
    note: &NoteFile,
    settings: &Settings,
) -> Result<(), Error> {
    let (folders, root) = (&place.folders, &place.root.1);
    if args.file.is_none() {
        sharing::check_default(note, root)?;
    }
    if args.led.is_none() && !args.is_service {
        return Ok(());
    }
    let trees = rules::trees(folders, root, &settings.exec);
    let Some(link) = note.lead().diverted(args.led.as_ref(), root, &trees) else {
        return Ok(());
    };
    // A file in the list was given together with where it led.
    let known = (note.path().to_owned(), root.clone());
    if args.led.is_none() && roots::all(&folders.roots()).contains(&known) {
        return Ok(());
    }
    Err(Error::NotFollowed(not_followed(link, note.path())))
}

impl Post {
    /// Offers to make git ignore the notes file, under each of its names, and the output file.
    fn offer_to_exclude(
        &self,
        yes: bool,
        stop: &channel::Receiver<bool>,
    ) -> Result<ExcludeAnswer, Error> {
        let named = std::path::absolute(&self.place.file)?;
        let is_usual = named == self.place.root.1.join(places::NOTES);
        let command = if is_usual {
            "clada init --yes".to_owned()
        } else {
            let (given, root) = &self.place.root;
            let elsewhere = named.parent() != Some(root.as_path());
            let root = elsewhere.then(|| format!(" --root {}", paths::quoted(given)));
            let root = root.unwrap_or_default();
            format!(
                "clada watch --yes{root} {}",
                paths::quoted(&self.place.file)
            )
        };
        let files = [named, self.note.path().to_owned(), self.output.clone()];
        let offer = ExcludeOffer {
            yes,
            command: &command,
            stop,
        };
        exclude::offer(&self.place.folders, &files, &offer)
    }
}

/// Shares the memory of settings that equal the last ones.
fn shared_settings(loaded: LoadedSettings) -> Arc<LoadedSettings> {
    static LAST: Mutex<Weak<LoadedSettings>> = Mutex::new(Weak::new());
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    match last.upgrade().filter(|last| **last == loaded) {
        Some(same) => same,
        None => {
            let new = Arc::new(loaded);
            *last = Arc::downgrade(&new);
            new
        }
    }
}

/// A daemon with its runtime.
pub(crate) struct Listener {
    pub(crate) daemon: Daemon,
    runtime: Runtime,
    stop: channel::Receiver<bool>,
}

impl Listener {
    /// Makes a daemon from the ledger and the settings. Invalid settings leave the previous ones in effect.
    ///
    /// # Errors
    /// Where the project folder or the ledger cannot be used, or the notes file is not a regular file.
    pub(crate) fn new(
        args: &Watch,
        post: &mut Post,
        ledger: Ledger,
        shared: &Shared,
    ) -> Result<Self, Error> {
        let (place, note) = (&post.place, &post.note);
        let text = match note.read() {
            Ok(Reading::Text { text, .. }) => Some(text),
            Err(error @ NoteError::NotAFile { .. }) => return Err(error.into()),
            _ => None,
        };
        let locks = place.folders.locks();
        let own: Vec<PathBuf> = note
            .places()
            .into_iter()
            .chain([post.output.clone()])
            .collect();
        let root = (place.root.0.as_path(), place.root.1.as_path());
        let runtime = start::runtime()?;
        let flags = (Some(&args.carrying.exec), !args.carrying.no_git);
        rules::avoid_known(&place.folders);
        let loaded =
            Settings::load(&place.folders, root.1).unwrap_or_else(|_| (*post.good).clone());
        let start = Source::start(&place.folders, (root.1, loaded), flags, &shared.login);
        let start = runtime.block_on(start);
        let source = start.source;
        // Errors are reported at the first read.
        let made = start
            .made
            .or_else(|_| source.made_of((*post.good).clone()))?;
        let Made {
            setup,
            settings,
            notice,
        } = made;
        post.good = shared_settings(LoadedSettings {
            settings: settings.clone(),
            notice: notice.clone(),
        });
        let listening = listening(args, &settings);
        // The user's services and shells are reported once, at the start.
        let not_logged_in = start.login.and_then(Result::err);
        let warnings = not_logged_in
            .into_iter()
            .chain(setup.rules.unfenced().or_else(|| setup.rules.weaker()))
            .chain(setup.rules.left_out())
            .chain(source.holds_home().map(str::to_owned))
            .collect();
        let tells_changes = setup.changes;
        let mut runner = start::runner(root, &place.folders, (note.path(), &own), setup)?;
        let others = || Lock::held(&locks, places::WATCHED_LOCKS);
        let memory = Memory::open(
            ledger,
            listening.limits,
            note.path(),
            text.as_deref(),
            &others,
        )?;
        let chat = context::chat(&place.folders, root.1, note.path());
        if let Some(was) = &memory.was {
            let set = context::store(&place.folders, root.1, was);
            // The next reply can add the files again.
            if let Err(error) = runner.context.take_over(&set) {
                tracing::error!(%error, "context");
            }
            if let Err(error) = chat.take_over(&context::chat(&place.folders, root.1, was)) {
                tracing::error!(%error, "what the chat knows of files");
            }
        }
        runner.reader = Some(Reader::new(chat, tells_changes));
        let flags = args.clone();
        let packets = Packets::of(&place.folders.packets(), note.path());
        let mut delivery = Delivery::new(
            note.clone().hurried_by(shared.stop.clone()),
            OutputFile::new(post.output.clone()),
            packets,
            (Arc::clone(&shared.clipboard), listening.clipboard),
            clock::time,
        );
        delivery.name = name_among_others(&place.folders, note.path());
        delivery.limit = listening.packet;
        delivery.desktop = listening.notifies.then(Desktop::of_process);
        let doubt: Doubt = {
            let (root, path) = (root.1.to_owned(), note.path().to_owned());
            let allowed = args.carrying.allow_shared;
            Box::new(move || {
                let doubt = sharing::check_notes(&root, &path, allowed).err();
                doubt.map(|doubt| doubt.to_string())
            })
        };
        let daemon = Daemon {
            settle: Settle::new(listening.debounce),
            runner,
            delivery,
            locks,
            clock: Clock {
                date_time: clock::date_time,
                now_ms: clock::now_ms,
                when: clock::when,
                id: clock::run_id,
                word: clock::word,
            },
            memory,
            run_existing: args.run_existing,
            leave: shared.stop.clone(),
            rest: None,
            listening,
            refresh: Box::new(move || {
                let made = source.setup().map_err(|error| error.to_string())?;
                Ok(Fresh {
                    setup: made.setup,
                    listening: self::listening(&flags, &made.settings),
                    notice: made.notice,
                })
            }),
            doubt,
            pending: Pending::new(warnings, notice, post.told.clone()),
        };
        Ok(Self {
            daemon,
            runtime,
            stop: shared.stop.clone(),
        })
    }

    /// Tells if the states of the project folder are saved outside any repository of the user's.
    fn keeps_snapshots(&self, root: &Path) -> bool {
        let git = self.daemon.runner.git.as_ref();
        git.is_some_and(|git| matches!(survey(root, &git.options), Ok(Survey::Private(_))))
    }

    /// Leaves the warnings that were shown to the next listener.
    pub(crate) fn leave(self, post: &mut Post) {
        post.told = self.daemon.pending.told();
    }

    /// Lets the daemon work.
    pub(crate) fn run<T>(
        &mut self,
        show: &mut dyn FnMut(Shown<'_>),
        what: impl AsyncFnOnce(&mut Daemon, &channel::Receiver<bool>, &mut dyn FnMut(Shown<'_>)) -> T,
    ) -> T {
        let Self { daemon, stop, .. } = self;
        self.runtime.block_on(what(daemon, stop, show))
    }

    /// Lets the daemon work, and shows it in this terminal.
    pub(crate) fn run_here<T>(
        &mut self,
        what: impl AsyncFnOnce(&mut Daemon, &channel::Receiver<bool>, &mut dyn FnMut(Shown<'_>)) -> T,
    ) -> T {
        let mut terminal = Terminal::new(std::io::stdout());
        self.run(&mut |shown: Shown<'_>| show(&mut terminal, &shown), what)
    }
}

fn show(terminal: &mut Terminal<io::Stdout>, shown: &Shown<'_>) {
    match shown {
        Shown::Watching(path) => terminal.line(&format!("watching {}", path.display())),
        Shown::Progress(progress) => terminal.progress(progress),
        Shown::Note(note) => terminal.line(note),
        Shown::Waits(_) => {}
        Shown::Trouble(trouble) => terminal.trouble(trouble),
        Shown::Results { block, asks } => {
            // The tasks were shown as they ended; the block's other lines are new.
            let new = |line: &&str| {
                !line.starts_with("===") && !line.starts_with(|c: char| c.is_ascii_digit())
            };
            let (status, results) = block.split_once(RESULTS).unwrap_or(("", block));
            let hint = asks.then_some(HOW_TO_APPROVE);
            // Boxes belong below their tasks, so how the copying went comes last.
            let lines = results.lines().chain(hint).chain(status.lines());
            for line in lines.filter(|line| !line.is_empty()).filter(new) {
                terminal.line(line);
            }
        }
    }
}

/// Returns the name of a notes file, if this user watches others too.
fn name_among_others(folders: &Folders, file: &Path) -> Box<dyn Fn() -> Option<String>> {
    let (name, locks) = (paths::short(file, &folders.home), folders.locks());
    let watched = &places::WATCHED_LOCKS[..1];
    Box::new(move || (Lock::held(&locks, watched).len() > 1).then(|| name.clone()))
}

/// Creates a missing notes file with a greeting, and returns whether it was missing.
pub(crate) fn create_if_missing(file: &Path) -> Result<bool, Error> {
    let made = match OpenOptions::new().write(true).create_new(true).open(file) {
        Ok(mut created) => created.write_all(GREETING.as_bytes()).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    };
    made.map_err(|error| Error::Create {
        path: file.to_owned(),
        error,
    })
}

/// Returns the path of the output file next to the notes file. A second watched file in the folder gets one with its own name.
fn output(name: &str, file: &Path, locks: &Path) -> Result<(PathBuf, Option<Lock>), Error> {
    let path = file.with_file_name(name);
    if path == file {
        return Err(Error::OutputIsNotes(path));
    }
    if let Ok(lock) = Lock::try_take(locks, "output", &path) {
        return Ok((path, Some(lock)));
    }
    let stem = name.strip_suffix(".txt").unwrap_or(name);
    let own = file.file_name().unwrap_or_default().to_string_lossy();
    let path = file.with_file_name(format!("{stem}.{own}.txt"));
    // No other process watches this file, so none takes this name.
    let lock = Lock::try_take(locks, "output", &path).ok();
    Ok((path, lock))
}
