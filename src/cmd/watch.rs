//! `clada watch`: listens on a notes file until it is stopped.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::watch as channel;

use crate::cli::Watch;
use crate::cmd::rules::Source;
use crate::cmd::{self, context};
use crate::config::{self, Folders};
use crate::daemon::{Clock, Daemon, Delivery, Limits, Memory, Pending, Shown};
use crate::error::Error;
use crate::terminal::Terminal;
use crate::world::clipboard::Clipboard;
use crate::world::desktop::Desktop;
use crate::world::ledger::Ledger;
use crate::world::lock::Lock;
use crate::world::note_file::{NoteError, NoteFile, Reading};
use crate::world::output_file::OutputFile;
use crate::world::sandbox;
use crate::world::watch::{Mode, Settle, Watcher};

/// What a new notes file says.
const GREETING: &str = include_str!("../../config/greeting.md");

/// Listens.
///
/// # Errors
/// Where the file cannot be watched, or another clada watches it.
pub fn main(args: &Watch) -> Result<ExitCode, Error> {
    let place = Place::of(args)?;
    let mut listener = Listener::new(args, &place, true)?;
    listener.run(async |daemon, stop, show| daemon.listen(stop, show).await);
    Ok(ExitCode::SUCCESS)
}

/// Where a listener works.
pub(super) struct Place {
    pub(super) folders: Folders,
    /// As it was given, and its canonical path.
    root: (PathBuf, PathBuf),
    /// The notes, as they were named.
    pub(super) file: PathBuf,
}

impl Place {
    pub(super) fn of(args: &Watch) -> Result<Self, Error> {
        let root = cmd::find_root(args.root.as_deref())?;
        let file = args.file.clone();
        Ok(Self {
            folders: Folders::of_user().ok_or(Error::NoHome)?,
            file: file.unwrap_or_else(|| root.1.join(config::NOTES)),
            root,
        })
    }
}

/// A daemon with the locks that it needs.
pub(super) struct Listener {
    daemon: Daemon,
    runtime: Runtime,
    stop: channel::Receiver<bool>,
    _locks: (Lock, Option<Lock>),
}

impl Listener {
    /// Takes the locks on the file and its output. With `creates` makes a file that nobody knows of yet; one that was
    /// there may be about to come back.
    ///
    /// # Errors
    /// Where the file cannot be watched, or another clada watches it.
    pub(super) fn new(args: &Watch, place: &Place, creates: bool) -> Result<Self, Error> {
        let note = NoteFile::new(&place.file, config::NOTES_LIMIT)?;
        // First of all that is made: the folder is to be nobody else's.
        let ledger = Ledger::open(&place.folders.state)?;
        if creates && ledger.file(note.path())?.is_none() {
            create_if_missing(&place.file)?;
        }
        let text = match note.read() {
            Ok(Reading::Text { text, .. }) => Some(text),
            Err(error @ NoteError::NotAFile { .. }) => return Err(error.into()),
            _ => None,
        };
        let locks = place.folders.locks();
        let watched =
            Lock::try_take(&locks, "file", note.path()).map_err(|error| Error::Watched {
                path: note.path().to_owned(),
                error,
            })?;
        let (output, output_lock) = output(args, note.path(), &locks)?;
        let own: Vec<PathBuf> = note
            .places()
            .into_iter()
            .chain([output.path().to_owned()])
            .collect();
        let root = (place.root.0.as_path(), place.root.1.as_path());
        sandbox::warm_up();
        let runtime = cmd::runtime()?;
        let start = Source::start(&place.folders, root.1, Some(&args.exec), !args.no_git);
        let start = runtime.block_on(start)?;
        let (source, (setup, notice)) = (start.source, start.setup?);
        // The user's services and shells are theirs to mend: it is told once, at the start.
        let not_logged_in = start.login.and_then(Result::err);
        let warnings = not_logged_in
            .into_iter()
            .chain(setup.rules.unfenced())
            .chain(source.holds_home().map(str::to_owned))
            .collect();
        let runner = cmd::runner(root, &place.folders, (note.path(), &own), setup)?;
        let limits = Limits {
            seconds: i64::from(args.ledger_days) * 24 * 60 * 60,
            bytes: u64::from(args.ledger_size) * 1024 * 1024,
        };
        let others = Lock::held(&locks, config::WATCHED_LOCKS);
        let memory = Memory::open(ledger, limits, note.path(), text.as_deref(), &others)?;
        if let Some(was) = &memory.was {
            let set = context::store(&place.folders, root.1, was);
            // What is lost by that is put in again by the next reply.
            if let Err(error) = runner.context.take_over(&set) {
                tracing::error!(%error, "context");
            }
        }
        let mode = args.poll.map_or(Mode::Events, |every| Mode::Poll { every });
        let watcher = Watcher::start(&note.places(), mode)?;
        let stop = cmd::stop_signal()?;
        let clipboard = (!args.no_clipboard).then(Clipboard::start);
        let mut delivery =
            Delivery::new(note.hurried_by(stop.clone()), output, clipboard, cmd::time);
        delivery.desktop = args.notify.then(Desktop::of_process);
        let daemon = Daemon {
            watcher,
            settle: Settle::new(Duration::from_millis(args.debounce)),
            runner,
            delivery,
            locks,
            clock: Clock {
                date_time: cmd::date_time,
                now_ms: cmd::now_ms,
                when: cmd::when,
                id: cmd::run_id,
                word: cmd::word,
            },
            memory,
            run_existing: args.run_existing,
            refresh: Box::new(move || source.setup().map_err(|error| error.to_string())),
            pending: Pending::new(warnings, notice),
        };
        Ok(Self {
            daemon,
            runtime,
            stop,
            _locks: (watched, output_lock),
        })
    }

    /// Has the daemon do something, and shows it in this terminal.
    pub(super) fn run<T>(
        &mut self,
        what: impl AsyncFnOnce(&mut Daemon, &channel::Receiver<bool>, &mut dyn FnMut(Shown<'_>)) -> T,
    ) -> T {
        let mut terminal = Terminal::new(io::stdout());
        let mut show = |shown: Shown<'_>| show(&mut terminal, &shown);
        let Self { daemon, stop, .. } = self;
        self.runtime.block_on(what(daemon, stop, &mut show))
    }
}

fn show(terminal: &mut Terminal<io::Stdout>, shown: &Shown<'_>) {
    match shown {
        Shown::Watching(path) => terminal.line(&format!("watching {}", path.display())),
        Shown::Progress(progress) => terminal.progress(progress),
        Shown::Note(note) => terminal.line(note),
        Shown::Trouble(trouble) => terminal.trouble(trouble),
        Shown::Results(block) => {
            // The tasks were shown as they ended; the block's other lines are new.
            let new = |line: &&str| {
                !line.starts_with("===") && !line.starts_with(|c: char| c.is_ascii_digit())
            };
            for line in block.lines().filter(|line| !line.is_empty()).filter(new) {
                terminal.line(line);
            }
        }
    }
}

/// A missing notes file is created with a greeting; where its folder is missing too, that is the caller's mistake.
fn create_if_missing(file: &Path) -> Result<(), Error> {
    match OpenOptions::new().write(true).create_new(true).open(file) {
        Ok(mut created) => created
            .write_all(GREETING.as_bytes())
            .map_err(|error| Error::Create {
                path: file.to_owned(),
                error,
            }),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(Error::Create {
            path: file.to_owned(),
            error,
        }),
    }
}

/// The output file beside the watched one. A second watched file in the same folder gets one of its own name.
fn output(args: &Watch, file: &Path, locks: &Path) -> Result<(OutputFile, Option<Lock>), Error> {
    let name = Path::new(&args.output_file);
    if name.file_name() != Some(name.as_os_str()) {
        return Err(Error::OutputName(args.output_file.clone()));
    }
    let path = file.with_file_name(name);
    if path == file {
        return Err(Error::OutputIsNotes(path));
    }
    if let Ok(lock) = Lock::try_take(locks, "output", &path) {
        return Ok((OutputFile::new(path), Some(lock)));
    }
    let stem = args
        .output_file
        .strip_suffix(".txt")
        .unwrap_or(&args.output_file);
    let own = file.file_name().unwrap_or_default().to_string_lossy();
    let path = file.with_file_name(format!("{stem}.{own}.txt"));
    // Nobody else watches this file, so nobody else takes this name.
    let lock = Lock::try_take(locks, "output", &path).ok();
    Ok((OutputFile::new(path), lock))
}
