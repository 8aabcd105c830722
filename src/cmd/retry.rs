//! `clada retry`: has the tasks of the last batch run again that failed, were interrupted or did not run.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use crate::cli::{Retry, Watch};
use crate::cmd::notes::Notes;
use crate::cmd::watch::{Listener, Place, Post, Shared};
use crate::cmd::{self, sharing};
use crate::config::{self, Folders};
use crate::daemon::{BY_COMMAND, OpenPlace, Which, open_places};
use crate::error::Error;
use crate::lang::note;
use crate::lang::record::Offer;
use crate::lang::report::{Offered, Report};
use crate::lang::wording;
use crate::terminal;
use crate::world::ledger::{KnownFile, Ledger, NewBlock};
use crate::world::lock::LockError;
use crate::world::note_file::{NoteFile, Reading};

/// Runs them.
///
/// # Errors
/// Where the file or the ledger cannot be used.
pub fn main(args: &Retry) -> Result<ExitCode, Error> {
    cmd::for_the_user("retry")?;
    again(&args.watch, args.at.map_or(Which::Undone, Which::At))
}

/// Runs tasks here that were seen before, or where a clada watches the file has that do it.
///
/// # Errors
/// Where the file or the ledger cannot be used.
pub(super) fn again(args: &Watch, which: Which) -> Result<ExitCode, Error> {
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let notes = Notes::find(&folders, args.file.as_deref(), args.root.as_deref())?;
    if args.file.is_some() {
        refuse_unknown(&folders, &notes.file)?;
    }
    if args.file.is_none() {
        let note = NoteFile::new(&notes.file, config::NOTES_LIMIT)?;
        if notes.file == notes.root.1.join(config::NOTES) {
            sharing::check_default(&note, &notes.root.1)?;
        }
    }
    let args = &Watch {
        file: Some(notes.file),
        root: Some(notes.root.0),
        ..args.clone()
    };
    let place = Place::of(args)?;
    let ledger = Ledger::open(&place.folders.state)?;
    let shared = Shared::start(cmd::stop_signal()?);
    let mut post = match Post::take(args, place, (&shared.hub, &[]), &ledger, false) {
        Ok(post) => post,
        Err(Error::Watched {
            error: held @ LockError::Held(_),
            ..
        }) => return ask(&Place::of(args)?, which, &held),
        Err(error) => return Err(error),
    };
    let mut listener = Listener::new(args, &mut post, ledger, &shared)?;
    let ran = listener.run_here(async |daemon, stop, show| daemon.retry(which, stop, show).await);
    Ok(match ran {
        Some(success) => ExitCode::from(u8::from(!success)),
        None => nothing(which, &Place::of(args)?)?,
    })
}

/// Refuses a file that no clada ever saw. One that was renamed has results on top.
fn refuse_unknown(folders: &Folders, file: &Path) -> Result<(), Error> {
    let note = NoteFile::new(file, config::NOTES_LIMIT)?;
    let known = match Ledger::read(&folders.state)? {
        Some(ledger) => ledger.file(note.path())?,
        None => None,
    };
    let has_results = || match note.read() {
        Ok(Reading::Text { text, .. }) => note::top_block(&text).is_some(),
        _ => false,
    };
    if known.is_some() || has_results() {
        Ok(())
    } else {
        Err(Error::NeverWatched(note.path().to_owned()))
    }
}

/// Why nothing can be carried out at a line, and where something can.
fn no_place(line: usize, place: &Place) -> Result<ExitCode, Error> {
    let note = NoteFile::new(&place.file, config::NOTES_LIMIT)?;
    let ledger = Ledger::open(&place.folders.state)?;
    let places = match ledger.file(note.path())? {
        Some(KnownFile { id, .. }) => open_places(&ledger, id)?,
        None => Vec::new(),
    };
    let there = places.iter().filter(|place| place.line == line);
    let possible = match (places.len(), there.count()) {
        (0, _) => "none of it offers a choice of places".to_owned(),
        (_, 0) => format!("possible are {}", named(&places)),
        _ => format!("several can be ({}): tick one in the notes", named(&places)),
    };
    Err(Error::NoPlace { line, possible })
}

/// `lines 4 and 19 of src/app.py` and so on, file by file.
fn named(places: &[OpenPlace]) -> String {
    let of_file = places.chunk_by(|one, next| one.target == next.target);
    let of_file = of_file.map(|places| {
        let lines: Vec<String> = places.iter().map(|place| place.line.to_string()).collect();
        let many = if lines.len() == 1 { "" } else { "s" };
        format!("line{many} {} of {}", lines.join(", "), places[0].target)
    });
    of_file.collect::<Vec<_>>().join("; ")
}

/// Ticks the tasks in the notes, as the user could: the clada that watches them sees it.
fn ask(place: &Place, which: Which, held: &LockError) -> Result<ExitCode, Error> {
    let note = NoteFile::new(&place.file, config::NOTES_LIMIT)?;
    let mut ledger = Ledger::open(&place.folders.state)?;
    let Some(KnownFile { id, .. }) = ledger.file(note.path())? else {
        return nothing(which, place);
    };
    let last = ledger.last_run(id)?;
    if last.iter().any(|batch| batch.ended_ms.is_none()) {
        return Err(Error::StillRuns);
    }
    let Some(offer) = which.offer(&ledger, id)? else {
        return nothing(which, place);
    };
    let tasks = wording::tasks(offer.tasks());
    let report = report(which, &tasks, offer);
    let block = report.block(Some(""));
    let key = note::key(ledger.seed(), &block);
    let now = cmd::now_ms().div_euclid(1000);
    let new = NewBlock {
        key,
        text: &block,
        offers: &report.offer_lines(),
        is_result: false,
    };
    ledger.add_block(id, new, now)?;
    // The other clada takes off what is below.
    let ticked = block.replace("- [ ] ", "- [x] ");
    note.write_back("", &mut |text| note::join(&ticked, text))?;
    writeln!(
        terminal::stdout(),
        "{tasks} of {} will be run: {held}",
        note.path().display()
    )?;
    Ok(ExitCode::SUCCESS)
}

fn report(which: Which, tasks: &str, offer: Offer) -> Report {
    let (command, action) = match which {
        Which::Undone => ("retry".to_owned(), "run again"),
        Which::At(line) => (format!("retry --at {line}"), "run it"),
        Which::Asked => ("approve".to_owned(), "run it"),
    };
    Report {
        offers: vec![Offered {
            why: format!("{BY_COMMAND}{command}` at {}: {tasks}", cmd::time()),
            action,
            offer,
        }],
        ..Report::default()
    }
}

fn nothing(which: Which, place: &Place) -> Result<ExitCode, Error> {
    let said = match which {
        Which::At(line) => return no_place(line, place),
        Which::Undone => {
            "nothing to run again: all tasks of the last batch were done, or none ran yet"
        }
        Which::Asked => "nothing waits for an approval",
    };
    writeln!(terminal::stdout(), "{said}")?;
    Ok(ExitCode::SUCCESS)
}
