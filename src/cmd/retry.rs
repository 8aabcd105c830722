//! `clada retry`: has the tasks of the last batch run again that failed, were interrupted or did not run.

use std::io::Write;
use std::process::ExitCode;

use crate::cli::Watch;
use crate::cmd;
use crate::cmd::watch::{Listener, Place, Post, Shared};
use crate::config;
use crate::daemon::{BY_COMMAND, Which};
use crate::error::Error;
use crate::lang::note;
use crate::lang::record::Offer;
use crate::lang::report::{Offered, Report};
use crate::lang::wording;
use crate::world::ledger::{KnownFile, Ledger, NewBlock};
use crate::world::lock::LockError;
use crate::world::note_file::NoteFile;

/// Runs them.
///
/// # Errors
/// Where the file or the ledger cannot be used.
pub fn main(args: &Watch) -> Result<ExitCode, Error> {
    cmd::for_the_user("retry")?;
    again(args, Which::Undone)
}

/// Runs tasks here that were seen before, or where a clada watches the file has that do it.
///
/// # Errors
/// Where the file or the ledger cannot be used.
pub(super) fn again(args: &Watch, which: Which) -> Result<ExitCode, Error> {
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
        None => nothing(which)?,
    })
}

/// Ticks the tasks in the notes, as the user could: the clada that watches them sees it.
fn ask(place: &Place, which: Which, held: &LockError) -> Result<ExitCode, Error> {
    let note = NoteFile::new(&place.file, config::NOTES_LIMIT)?;
    let mut ledger = Ledger::open(&place.folders.state)?;
    let Some(KnownFile { id, .. }) = ledger.file(note.path())? else {
        return nothing(which);
    };
    let last = ledger.last_run(id)?;
    if last.iter().any(|batch| batch.ended_ms.is_none()) {
        return Err(Error::StillRuns);
    }
    let Some(offer) = which.offer(&ledger, id)? else {
        return nothing(which);
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
        std::io::stdout(),
        "{tasks} of {} will be run: {held}",
        note.path().display()
    )?;
    Ok(ExitCode::SUCCESS)
}

fn report(which: Which, tasks: &str, offer: Offer) -> Report {
    let (command, action) = match which {
        Which::Undone => ("retry", "run again"),
        Which::Asked => ("approve", "run it"),
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

fn nothing(which: Which) -> Result<ExitCode, Error> {
    let said = match which {
        Which::Undone => {
            "nothing to run again: all tasks of the last batch were done, or none ran yet"
        }
        Which::Asked => "nothing waits for an approval",
    };
    writeln!(std::io::stdout(), "{said}")?;
    Ok(ExitCode::SUCCESS)
}
