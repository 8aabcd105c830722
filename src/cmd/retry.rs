//! `clada retry` and `clada approve`: run the tasks of the last batch that failed, were interrupted or did not run, those of
//! a whole batch once more, and the commands that wait for the user's approval.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use crate::cli::terminal;
use crate::cli::{Again, RetryArgs};
use crate::clock;
use crate::cmd;
use crate::cmd::notes::{NotesWithRoot, known_here};
use crate::cmd::watch::shown_here;
use crate::error::Error;
use crate::listener::{
    BY_COMMAND, Claim, Listener, OpenPlace, ProcessShared, Site, UserRequest, no_batch,
    open_places, sharing,
};
use crate::reply::note;
use crate::reply::record::Offer;
use crate::report::wording;
use crate::report::{Offered, Report};
use crate::settings::places::{self, Folders};
use crate::start;
use crate::world::ledger::{FileId, KnownFile, Ledger, NewBlock};
use crate::world::note_file::{NoteFile, NoteReading};

/// Retries them.
///
/// # Errors
/// Where the file or the ledger cannot be used.
pub fn main(args: &RetryArgs) -> Result<ExitCode, Error> {
    cmd::for_the_user("retry")?;
    let wanted = match &args.all {
        Some(batch) => Wanted::Whole(batch.as_deref()),
        None => Wanted::Known(args.at.map_or(UserRequest::Undone, UserRequest::At)),
    };
    again(&args.again, wanted)
}

/// The tasks that the command line asks for.
#[derive(Debug, Clone, Copy)]
enum Wanted<'w> {
    Known(UserRequest),
    /// All of the batch with this name, or of the last run.
    Whole(Option<&'w str>),
}

impl Wanted<'_> {
    /// Finds them in the ledger.
    fn of(self, ledger: &Ledger, file: FileId, notes: &Path) -> Result<UserRequest, Error> {
        match self {
            Self::Known(request) => Ok(request),
            Self::Whole(batch) => UserRequest::whole(ledger, file, notes, batch),
        }
    }

    /// The same for a notes file of which the ledger knows nothing.
    fn of_unknown(self, notes: &Path) -> Result<UserRequest, Error> {
        match self {
            Self::Known(request) => Ok(request),
            Self::Whole(None) => Ok(UserRequest::Whole(None)),
            Self::Whole(Some(batch)) => Err(no_batch(batch, notes)),
        }
    }
}

/// Runs the commands that wait for the user's approval.
///
/// # Errors
/// Where the file or the ledger cannot be used, or a task calls this.
pub fn approve(args: &Again) -> Result<ExitCode, Error> {
    cmd::for_the_user("approve")?;
    again(args, Wanted::Known(UserRequest::Asked))
}

/// Runs these tasks here, or lets the clada process that watches the file run them.
///
/// # Errors
/// Where the file or the ledger cannot be used.
fn again(args: &Again, wanted: Wanted<'_>) -> Result<ExitCode, Error> {
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let notes = NotesWithRoot::find(&folders, args.file.as_deref(), args.root.as_deref())?;
    if args.file.is_some() {
        refuse_unknown(&folders, &notes.file, args.root.as_deref())?;
    } else {
        let note = NoteFile::new(&notes.file, places::NOTES_LIMIT)?;
        if notes.file == notes.root.1.join(places::NOTES) {
            sharing::check_default(&note, &notes.root.1)?;
        }
    }
    let flags = args.carrying.flags();
    let site = || {
        let (given, root) = start::find_root(Some(&notes.root.0))?;
        Site::new(given, root, Some(notes.file.clone()))
    };
    let claimed = site()?;
    let ledger = Ledger::open(&claimed.folders.state)?;
    let shared = ProcessShared::start(start::stop_signal()?);
    let mut claim = match Claim::take(&flags, claimed, &shared, &[], &ledger, false) {
        Ok(claim) => claim,
        Err(Error::WatchedByAnother { process, .. }) => return ask(&site()?, wanted, &process),
        Err(error) => return Err(error),
    };
    let notes = NoteFile::new(&notes.file, places::NOTES_LIMIT)?;
    let ran = start::runtime()?.block_on(async {
        let observer = shown_here();
        let listener = Listener::open(&flags, &mut claim, ledger, &shared, observer).await;
        let mut listener = listener?;
        let (ledger, file) = listener.known();
        let which = wanted.of(ledger, file, notes.path())?;
        Ok::<_, Error>((which, listener.retry(which).await))
    });
    match ran? {
        (_, Some(success)) => Ok(ExitCode::from(u8::from(!success))),
        (which, None) => nothing(which, &site()?),
    }
}

/// Refuses a file that clada has never watched. One that was renamed has results at its top.
fn refuse_unknown(folders: &Folders, file: &Path, root: Option<&Path>) -> Result<(), Error> {
    let note = NoteFile::new(file, places::NOTES_LIMIT)?;
    let known = match Ledger::read(&folders.state)? {
        Some(ledger) => ledger.file(note.path())?,
        None => None,
    };
    let has_results = || match note.read() {
        Ok(NoteReading::Text { text, .. }) => note::top_block(&text).is_some(),
        _ => false,
    };
    if known.is_some() || has_results() {
        Ok(())
    } else {
        let known = known_here(folders, file, root);
        let path = note.path().to_owned();
        Err(Error::NeverWatched { path, known })
    }
}

/// Explains why no edit can be applied at a line, and where one can.
fn no_place(line: usize, site: &Site) -> Result<ExitCode, Error> {
    let note = NoteFile::new(&site.file, places::NOTES_LIMIT)?;
    let ledger = Ledger::open(&site.folders.state)?;
    let places = match ledger.file(note.path())? {
        Some(KnownFile { id, .. }) => open_places(&ledger, id)?,
        None => Vec::new(),
    };
    let there = places.iter().filter(|place| place.line == line);
    let possible = match (places.len(), there.count()) {
        (0, _) => "no edit in it offers a choice of lines".to_owned(),
        (_, 0) => format!("choose one of {}", named(&places)),
        _ => format!(
            "several edits can ({}), so tick one in the notes file",
            named(&places)
        ),
    };
    Err(Error::NoPlace { line, possible })
}

/// Lists the lines file by file: `lines 4, 19 of src/app.py`.
fn named(places: &[OpenPlace]) -> String {
    let of_file = places.chunk_by(|one, next| one.target == next.target);
    let of_file = of_file.map(|places| {
        let lines: Vec<String> = places.iter().map(|place| place.line.to_string()).collect();
        let many = if lines.len() == 1 { "" } else { "s" };
        format!("line{many} {} of {}", lines.join(", "), places[0].target)
    });
    of_file.collect::<Vec<_>>().join("; ")
}

/// Ticks the tasks in the notes file, as the user could, for the clada process that watches it.
fn ask(site: &Site, wanted: Wanted<'_>, process: &str) -> Result<ExitCode, Error> {
    let note = NoteFile::new(&site.file, places::NOTES_LIMIT)?;
    let mut ledger = Ledger::open(&site.folders.state)?;
    let Some(KnownFile { id, .. }) = ledger.file(note.path())? else {
        return nothing(wanted.of_unknown(note.path())?, site);
    };
    let which = wanted.of(&ledger, id, note.path())?;
    let last = ledger.last_run(id)?;
    if last.iter().any(|batch| batch.ended_ms.is_none()) {
        return Err(Error::StillRuns);
    }
    let Some(offer) = which.offer(&ledger, id)? else {
        return nothing(which, site);
    };
    let tasks = wording::tasks(offer.tasks());
    let report = report(which, &tasks, offer);
    let block = report.block(Some(""));
    let key = note::key(ledger.seed(), &block);
    let now = clock::now_ms().div_euclid(1000);
    let new = NewBlock {
        key,
        text: &block,
        offers: &report.offer_lines(),
        is_result: false,
    };
    ledger.add_block(id, new, now)?;
    // The other process removes the results below.
    let ticked = block.replace("- [ ] ", "- [x] ");
    note.write_back("", &mut |text| note::join(&ticked, text))?;
    writeln!(
        terminal::stdout(),
        "{tasks} of {} will run in the clada that watches it (process {process})",
        note.path().display()
    )?;
    Ok(ExitCode::SUCCESS)
}

fn report(which: UserRequest, tasks: &str, offer: Offer) -> Report {
    let (command, action) = match which {
        UserRequest::Undone => ("retry".to_owned(), "run again"),
        UserRequest::At(line) => (format!("retry --at {line}"), "run it"),
        UserRequest::Asked => ("approve".to_owned(), "run it"),
        UserRequest::Whole(None) => ("retry --all".to_owned(), "run again"),
        UserRequest::Whole(Some(batch)) => (format!("retry --all {batch}"), "run again"),
    };
    Report {
        offers: vec![Offered {
            why: format!("{BY_COMMAND}{command}` at {}: {tasks}", clock::time()),
            action,
            offer,
        }],
        ..Report::default()
    }
}

fn nothing(which: UserRequest, site: &Site) -> Result<ExitCode, Error> {
    let said = match which {
        UserRequest::At(line) => return no_place(line, site),
        UserRequest::Undone => {
            "nothing to retry: no task of the last batch failed or is left to run; for an older one, tick its box in the notes"
        }
        UserRequest::Asked => "no command waits for approval",
        UserRequest::Whole(_) => "nothing to run again: no batch of this notes file has run yet",
    };
    writeln!(terminal::stdout(), "{said}")?;
    Ok(ExitCode::SUCCESS)
}
