//! `clada undo` and `clada redo`: revert batches, and reapply what an undo reverted.

use std::io::Write;
use std::process::ExitCode;

use crate::cli::terminal;
use crate::cli::{self, Back, RedoArgs, UndoArgs};
use crate::clock;
use crate::cmd;
use crate::cmd::history::ProjectHistory;
use crate::error::Error;
use crate::git::undo::{self, Direction, UndoOptions, UndoOutcome, UndoTarget};
use crate::git::{self, ChangeKind};
use crate::report::one_line;
use crate::run::saved_work;

/// Reverts batches.
///
/// # Errors
/// Where a task calls this, and where nothing could be done, with the reason.
pub fn main(args: &UndoArgs) -> Result<ExitCode, Error> {
    cmd::for_the_user("undo")?;
    let which = match &args.which {
        None => UndoTarget::Last(1),
        Some(cli::UndoneBatches::Last(number)) => UndoTarget::Last(*number),
        Some(cli::UndoneBatches::Named(name)) => UndoTarget::Named(name),
    };
    revert(which, Direction::Undo, &args.back)
}

/// Reapplies what was undone.
///
/// # Errors
/// As [`main`].
pub fn redo(args: &RedoArgs) -> Result<ExitCode, Error> {
    cmd::for_the_user("redo")?;
    revert(
        UndoTarget::Last(args.number.into()),
        Direction::Redo,
        &args.back,
    )
}

fn revert(which: UndoTarget<'_>, direction: Direction, args: &Back) -> Result<ExitCode, Error> {
    let mut history = ProjectHistory::open(args.root.as_deref(), true)?;
    let how = UndoOptions {
        direction,
        keep: args.keep,
        dry_run: args.dry_run,
        id: &clock::run_id(),
        time: &clock::date_time(),
    };
    let done = undo::perform(&mut history.snapshots, &mut history.disk, which, &how)?;
    let private = history.snapshots.store.is_private();
    terminal::stdout().write_all(said(&done, &how, which, private).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Describes what was done.
fn said(done: &UndoOutcome, how: &UndoOptions<'_>, which: UndoTarget<'_>, private: bool) -> String {
    let (word, back) = match how.direction {
        Direction::Undo => ("undo", "redo"),
        Direction::Redo => ("redo", "undo"),
    };
    let mut text = String::new();
    for (id, subject) in &done.taken {
        text += &format!("{word} {} ({id})\n", one_line(subject));
    }
    for (path, kind) in &done.changes {
        let what = match (how.dry_run, kind) {
            (false, ChangeKind::Added) => "added  ",
            (false, ChangeKind::Changed) => "changed",
            (false, ChangeKind::Deleted) => "deleted",
            (true, ChangeKind::Added) => "would restore",
            (true, ChangeKind::Changed) => "would change ",
            (true, ChangeKind::Deleted) => "would delete ",
        };
        text += &format!("  {what} {}\n", one_line(&path.to_string_lossy()));
    }
    if let Some(work) = saved_work(&done.work) {
        text += &format!("{work}\n");
    }
    text += &match &done.commit {
        _ if done.changes.is_empty() => match which {
            UndoTarget::Last(asked) => format!(
                "nothing was changed, as the files are already like that; to include the previous batch, run `clada {word} {}`\n",
                asked + 1
            ),
            UndoTarget::Named(_) => {
                "nothing was changed, as the files are already like that\n".to_owned()
            }
        },
        _ if how.dry_run => "this was a dry run: nothing was changed\n".to_owned(),
        None => {
            format!(
                "💚 saved in a private snapshot, as git ignores these files; `clada {back}` reverts it\n"
            )
        }
        Some(commit) => format!(
            "💚 {} {}; `clada {back}` reverts it\n",
            if private { "snapshot" } else { "git" },
            git::short(commit)
        ),
    };
    text
}
