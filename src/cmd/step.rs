//! `clada step-back` and `clada step-forward`: show older states of the files.

use std::io::Write;
use std::process::ExitCode;

use crate::cli::terminal;
use crate::cli::{StepBackArgs, StepForwardArgs};
use crate::clock;
use crate::cmd;
use crate::cmd::history::ProjectHistory;
use crate::error::Error;
use crate::git::undo::{self, LookStep, UndoError};
use crate::git::{self, CommitStep, Message, Stop};
use crate::report::one_line;

/// Shows an older state.
///
/// # Errors
/// Where a task calls this, and where nothing could be done, with the reason.
pub fn back(args: &StepBackArgs) -> Result<ExitCode, Error> {
    cmd::for_the_user("step-back")?;
    let mut history = ProjectHistory::open(args.root.as_deref(), true)?;
    go(&mut history, LookStep::Back(args.number.into()))
}

/// Shows a newer state, or continues from the one that is shown.
///
/// # Errors
/// As [`back`].
pub fn forward(args: &StepForwardArgs) -> Result<ExitCode, Error> {
    cmd::for_the_user("step-forward")?;
    let mut history = ProjectHistory::open(args.root.as_deref(), true)?;
    if args.stay {
        return stay(&history);
    }
    let to = if args.end {
        LookStep::End
    } else {
        LookStep::Forward(args.number.into())
    };
    go(&mut history, to)
}

fn go(history: &mut ProjectHistory, to: LookStep) -> Result<ExitCode, Error> {
    let message = Message {
        subject: "step-back".to_owned(),
        time: clock::date_time(),
        body: Vec::new(),
        batch: clock::run_id(),
        step: CommitStep::Before,
        of: Vec::new(),
        moved: None,
        beside: None,
    };
    let shown = undo::step(&mut history.snapshots, &mut history.disk, to, &message)?;
    let said = match shown {
        None => "the files are in their present state again\n".to_owned(),
        Some((stop, distance)) => format!(
            "{distance} back: {}\nreturn to the present with `clada step-forward --end`, or continue from here with `clada step-forward --stay`\n",
            name(&stop)
        ),
    };
    terminal::stdout().write_all(said.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn stay(history: &ProjectHistory) -> Result<ExitCode, Error> {
    let store = history.snapshots.where_looking()?;
    let kept = store.map(|store| store.end_looking(true)).transpose()?;
    let kept = kept.flatten().ok_or(UndoError::NotLooking)?;
    writeln!(
        terminal::stdout(),
        "the files stay as they are now. Their previous state is in `{kept}`: show it with `git log -p -1 {kept}`, or \
         restore a file with `git restore --source={kept} PATH`"
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Describes a state.
fn name(stop: &Stop) -> String {
    let commit = git::short(&stop.commit);
    match &stop.saved {
        None => format!("{commit}, your own commit"),
        Some(saved) => format!(
            "{commit} {} ({}, {})",
            one_line(&saved.message.subject),
            clock::when(saved.time),
            saved.message.batch
        ),
    }
}
