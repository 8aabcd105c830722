//! Reverts batches, and reapplies what was reverted: new commits, never a reset. What was undone is known from the
//! history alone. Nothing here asks the user, and nothing is lost: what is in the way is saved first, or refuses all of it.

mod batches;
mod in_the_way;
mod looking;
mod plan;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::error::list;
use super::{ChangeKind, CommitStep, Message, SnapshotError, Snapshots, UsersWork, subject};
use crate::world::workspace::{Disk, FsError};

pub use batches::{BatchCommits, Mark, marks, newest};
pub use looking::{LookStep, OlderState, step};
use plan::{FileWrite, plan};

/// The number of paths that a message shows.
const SHOWN: usize = 10;

/// The batches to revert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoTarget<'w> {
    /// The latest N.
    Last(usize),
    /// One, by its id or the beginning of it.
    Named(&'w str),
}

/// The direction: back, or forth again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Reverts batches.
    Undo,
    /// Reapplies what an undo reverted.
    Redo,
}

/// The way in which batches are reverted.
#[derive(Debug, Clone)]
pub struct UndoOptions<'h> {
    pub direction: Direction,
    /// Later changes are kept, and merged with.
    pub keep: bool,
    /// Only shows what would be done.
    pub dry_run: bool,
    /// The batch id of the commits.
    pub id: &'h str,
    /// The local time.
    pub time: &'h str,
}

/// The result of an undo or a redo, or what it would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoOutcome {
    /// The subjects of what was taken back, newest first, with the ids by which they can be named.
    pub taken: Vec<(String, String)>,
    pub changes: Vec<(PathBuf, ChangeKind)>,
    /// The user's own work that was committed before.
    pub work: Vec<UsersWork>,
    /// All hex digits; none where nothing was saved but what git leaves out.
    pub commit: Option<String>,
}

/// The reason why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    #[error("nothing to undo: no batch that changed files is left to undo")]
    NothingToUndo,
    #[error("nothing to redo: no undo is left to redo")]
    NothingToRedo,
    #[error("{} can be undone here, not {asked}: nothing was changed; run `clada undo {there}` instead", only(*.there, "batch", "batches"))]
    TooMany { asked: usize, there: usize },
    /// One undo may have taken back several batches.
    #[error("{} can be redone here, not {asked}: nothing was changed; run `clada redo {there}` instead", undos(*.there, *.batches))]
    TooManyToRedo {
        asked: usize,
        there: usize,
        batches: usize,
    },
    #[error(
        "git's history here has no batch `{0}`: `clada log` shows the ids, and so do the last lines of clada's commits"
    )]
    Unknown(String),
    #[error("`{0}` matches several batches: {list}. Give more of the id", list = .1.join(", "))]
    Ambiguous(String, Vec<String>),
    #[error(
        "several batches were squashed there, perhaps with changes of yours in between: see `clada diff {0}`, and \
         revert all of it with `clada undo {0}`"
    )]
    Squashed(String),
    #[error(
        "`{0}` also changed files outside this folder, so nothing was done: go to the folder where it ran, or name that \
         with `--root`"
    )]
    ReachesOut(String),
    #[error(
        "`{0}` ran in `{folder}`, and its changes to untracked files are saved there, so nothing was done: run this \
         there, or with `--root {folder}`", folder = .1.display()
    )]
    Elsewhere(String, PathBuf),
    #[error(
        "a command of batch `{0}` moved the branch, so nothing was done: `git diff {1}` shows what differs from before, \
         `git restore --source={1} PATH` restores a file"
    )]
    Moved(String, String),
    #[error("batch `{0}` is already undone: `clada redo` reapplies it")]
    Undone(String),
    #[error(
        "nothing was done, because these changes are in the way:{}\ntry `--keep`, which merges them unless the same lines changed",
        in_the_way::list(.0, "")
    )]
    Changed(BTreeMap<PathBuf, Vec<String>>),
    #[error(
        "nothing was done, because these changes are in the way:{}\n`--keep` cannot merge changes to the same lines",
        in_the_way::list(.0, " in the same lines")
    )]
    Collides(BTreeMap<PathBuf, Vec<String>>),
    #[error(
        "git cannot save {} as it is now, so nothing was done: move it away, then try again",
        list(.0, SHOWN)
    )]
    NotSaved(Vec<PathBuf>),
    #[error("{0}. The files are as they were before: fix that, then try again")]
    Failed(Box<Self>),
    #[error(
        "{why}. clada could not restore {}: see `git status` and `git diff`; the last commit has the earlier content", list(.left, SHOWN)
    )]
    Halfway { why: Box<Self>, left: Vec<PathBuf> },
    #[error("no older state exists here")]
    NoOlder,
    #[error("you are not looking at an older state: `clada step-back` shows one")]
    NotLooking,
    #[error(
        "{} changed after the older state was shown, so nothing was done: undo those edits and try again, or keep all \
         files as they are with `clada step-forward --stay`", list(.0, SHOWN)
    )]
    Edited(Vec<PathBuf>),
    #[error("git: {0}")]
    Snapshot(#[from] SnapshotError),
    #[error(transparent)]
    Files(#[from] FsError),
}

/// A number of things, as all that there is.
fn only(count: usize, one: &str, several: &str) -> String {
    match count {
        1 => format!("only 1 {one}"),
        _ => format!("only {count} {several}"),
    }
}

/// All undos that there are, in words.
fn undos(count: usize, batches: usize) -> String {
    if count == batches {
        only(count, "batch", "batches")
    } else {
        format!(
            "{}, which reverted {batches} batches,",
            only(count, "undo", "undos")
        )
    }
}

/// Reverts what is asked for, all of it or nothing.
///
/// # Errors
/// Where there is no such thing, where files have changed since, and where git or the file system does not let it.
pub fn perform(
    snapshots: &mut Snapshots,
    disk: &mut Disk,
    target: UndoTarget<'_>,
    options: &UndoOptions<'_>,
) -> Result<UndoOutcome, UndoError> {
    if snapshots.where_looking()?.is_some() {
        return Err(SnapshotError::Looking.into());
    }
    let stores = snapshots.stores();
    let chosen = batches::choose(&stores, target, options.direction)?;
    let writes = plan(&stores, &chosen, options.keep, disk)?;
    let ids: Vec<&str> = chosen.iter().map(|group| group.id.as_str()).collect();
    let changed: Vec<&Path> = writes.iter().map(|write| write.path.as_path()).collect();
    if let Some(folder) = snapshots.saved_elsewhere(&ids, &changed) {
        return Err(UndoError::Elsewhere(ids.join(", "), folder));
    }
    let taken = chosen.iter().map(|group| (group.id.clone(), group.words()));
    let changes = writes.iter().map(|write| {
        let kind = ChangeKind::of(write.old.as_ref(), write.new.as_ref());
        (write.path.clone(), kind)
    });
    let mut done = UndoOutcome {
        taken: taken.collect(),
        changes: changes.collect(),
        work: Vec::new(),
        commit: None,
    };
    done.changes.sort();
    if options.dry_run || writes.is_empty() {
        return Ok(done);
    }
    let before = message(&chosen, options, CommitStep::Before);
    done.work = snapshots.before(&before)?.work;
    // What is not saved is in the way.
    let paths: Vec<PathBuf> = writes.iter().map(|write| write.path.clone()).collect();
    snapshots.guard(&paths, &before);
    refuse_unsaved(snapshots, &writes)?;
    let ids: Vec<&str> = chosen.iter().flat_map(BatchCommits::ids).collect();
    let message = message(
        &chosen,
        options,
        match options.direction {
            Direction::Undo => CommitStep::Undo(ids.join(" ")),
            Direction::Redo => CommitStep::Redo(ids.join(" ")),
        },
    );
    let places = writes
        .iter()
        .map(|write| (write.path.clone(), write.tracked));
    let places: Vec<_> = places.collect();
    let outcome = write(disk, &writes, || {
        snapshots.after_restoring(&places, &message)
    })?;
    // Else the next save does it.
    let _ = snapshots.settle();
    done.commit = outcome.commit.filter(|_| outcome.changed);
    Ok(done)
}

/// Makes the message of the commits: the words of the batches, oldest first.
fn message(chosen: &[BatchCommits], options: &UndoOptions<'_>, step: CommitStep) -> Message {
    let words: Vec<String> = chosen.iter().rev().map(BatchCommits::words).collect();
    let words = subject::summed(words.iter().map(String::as_str));
    let subject = match (&step, options.direction) {
        (CommitStep::Before, Direction::Undo) => format!("undo: {words}"),
        (CommitStep::Before, Direction::Redo) => format!("redo: {words}"),
        _ => words,
    };
    let newest_first = chosen.iter();
    Message {
        subject,
        time: options.time.to_owned(),
        body: newest_first
            .map(|group| format!("{} ({})", group.words(), group.id))
            .collect(),
        batch: options.id.to_owned(),
        step,
        ..Message::default()
    }
}

/// # Errors
/// Where something that is replaced is not in the last commit.
fn refuse_unsaved(snapshots: &Snapshots, writes: &[FileWrite]) -> Result<(), UndoError> {
    let replaced = writes.iter().filter(|write| write.old.is_some());
    let mut unsaved: Vec<PathBuf> = replaced.map(|write| write.path.clone()).collect();
    // Each store has a file in its own way: one converts line ends, another does not.
    for store in snapshots.stores() {
        let held = store.held_at_tip(&unsaved)?;
        let mut left = Vec::new();
        for (path, held) in unsaved.into_iter().zip(held) {
            if held != store.held_now(&path)? {
                left.push(path);
            }
        }
        unsaved = left;
    }
    if unsaved.is_empty() {
        return Ok(());
    }
    Err(UndoError::NotSaved(unsaved))
}

/// Writes the files and then does `save`; where either fails, all is put back.
fn write<T>(
    disk: &mut Disk,
    writes: &[FileWrite],
    save: impl FnOnce() -> Result<T, SnapshotError>,
) -> Result<T, UndoError> {
    let order = in_order(writes);
    let mut written = 0;
    let mut put_all = || -> Result<(), FsError> {
        for write in &order {
            disk.put(&write.path, write.new.as_ref(), write.old.as_ref())?;
            written += 1;
        }
        Ok(())
    };
    let put = put_all().map_err(UndoError::from);
    let saved = put.and_then(|()| Ok(save()?));
    disk.settle();
    saved.map_err(|why| {
        let why = Box::new(why);
        // Places that cannot have again what they held.
        let mut left = BTreeSet::new();
        for write in order[..written].iter().rev() {
            let back = disk.put(&write.path, write.old.as_ref(), write.new.as_ref());
            if back.is_err() {
                left.insert(write.path.clone());
            }
        }
        if left.is_empty() {
            return UndoError::Failed(why);
        }
        let left = left.into_iter().collect();
        UndoError::Halfway { why, left }
    })
}

/// The writes in their order. What goes, goes first, the deepest before what it is in: a file may take a folder's place, and
/// the other way round.
fn in_order(writes: &[FileWrite]) -> Vec<&FileWrite> {
    let (mut gone, mut here): (Vec<&FileWrite>, Vec<&FileWrite>) =
        writes.iter().partition(|write| write.new.is_none());
    gone.sort_by(|one, other| other.path.cmp(&one.path));
    here.sort_by(|one, other| one.path.cmp(&other.path));
    gone.append(&mut here);
    gone
}
