//! Reverts batches, and reapplies what was reverted: new commits, never a reset. What was undone is known from the
//! history alone. Nothing here asks the user, and nothing is lost: what is in the way is saved first, or refuses all of it.

mod in_the_way;
mod known;
mod looking;
mod plan;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::git::subject;
use crate::git::{ChangeKind, Message, SnapshotError, Snapshots, Step, UsersWork};
use crate::world::file_or_link::FileOrLink;
use crate::world::workspace::{Disk, FsError};

pub use in_the_way::InTheWay;
pub use known::{Group, Mark, marks, newest};
pub use looking::{Shown, Step as Look, step};
use plan::{Plan, Write};

/// The batches to revert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which<'w> {
    /// The latest N.
    Last(usize),
    /// One, by its id or the beginning of it.
    Named(&'w str),
}

/// Which way it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Reverts batches.
    Undo,
    /// Reapplies what an undo reverted.
    Redo,
}

/// How it is done.
#[derive(Debug, Clone)]
pub struct How<'h> {
    pub way: Way,
    /// What has changed since is kept, and merged with.
    pub keep: bool,
    /// Only shows what would be done.
    pub dry_run: bool,
    /// Marks the commits.
    pub id: &'h str,
    /// The local time.
    pub time: &'h str,
}

/// What was done, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// The subjects of what was taken back, newest first, with the ids by which they can be named.
    pub taken: Vec<(String, String)>,
    pub changes: Vec<(PathBuf, ChangeKind)>,
    /// What of the user's own work was committed before.
    pub work: Vec<UsersWork>,
    /// All hex digits; none where nothing was saved but what git leaves out.
    pub commit: Option<String>,
}

/// Why nothing was done.
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
    Changed(Vec<InTheWay>),
    #[error(
        "nothing was done, because these changes are in the way:{}\n`--keep` cannot merge changes to the same lines",
        in_the_way::list(.0, " in the same lines")
    )]
    Collides(Vec<InTheWay>),
    #[error(
        "git cannot save {} as it is now, so nothing was done: move it away, then try again",
        list(.0)
    )]
    NotSaved(Vec<PathBuf>),
    #[error("{0}. The files are as they were before: fix that, then try again")]
    Failed(Box<Self>),
    #[error(
        "{why}. clada could not restore {}: see `git status` and `git diff`; the last commit has the earlier content", list(.left)
    )]
    Halfway { why: Box<Self>, left: Vec<PathBuf> },
    #[error("no older state exists here")]
    NoOlder,
    #[error("you are not looking at an older state: `clada step-back` shows one")]
    NotLooking,
    #[error(
        "{} changed after the older state was shown, so nothing was done: undo those edits and try again, or keep all \
         files as they are with `clada step-forward --stay`", list(.0)
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

/// Paths in words.
fn list(paths: &[PathBuf]) -> String {
    let shown = paths.iter().take(10);
    let shown: Vec<String> = shown.map(|path| format!("`{}`", path.display())).collect();
    let more = match paths.len().saturating_sub(shown.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    shown.join(", ") + &more
}

/// The histories here: what git saves, and what is kept beside it.
pub fn stores(snapshots: &Snapshots) -> Vec<&Snapshots> {
    [Some(snapshots), snapshots.aside()]
        .into_iter()
        .flatten()
        .collect()
}

/// Reverts what is asked for, all of it or nothing.
///
/// # Errors
/// Where there is no such thing, where files have changed since, and where git or the file system does not let it.
pub fn perform(
    snapshots: &mut Snapshots,
    disk: &mut Disk,
    which: Which<'_>,
    how: &How<'_>,
) -> Result<Done, UndoError> {
    if snapshots.where_looking()?.is_some() {
        return Err(SnapshotError::Looking.into());
    }
    let (plan, chosen) = {
        let stores = stores(snapshots);
        let chosen = known::choose(&stores, which, how.way)?;
        (Plan::of(&stores, &chosen, how.keep, disk)?, chosen)
    };
    let ids: Vec<&str> = chosen.iter().map(|group| group.id.as_str()).collect();
    let changed: Vec<&Path> = plan
        .writes
        .iter()
        .map(|write| write.path.as_path())
        .collect();
    if let Some(folder) = snapshots.saved_elsewhere(&ids, &changed) {
        return Err(UndoError::Elsewhere(ids.join(", "), folder));
    }
    let mut done = Done {
        taken: chosen
            .iter()
            .map(|group| (group.id.clone(), group.words()))
            .collect(),
        changes: plan.writes.iter().map(change).collect(),
        work: Vec::new(),
        commit: None,
    };
    done.changes.sort();
    if how.dry_run || plan.writes.is_empty() {
        return Ok(done);
    }
    let message = |step| message(&chosen, how, step);
    let paths: Vec<PathBuf> = plan.writes.iter().map(|write| write.path.clone()).collect();
    done.work = snapshots.before(&message(Step::Before))?.work;
    // What is not saved is in the way.
    snapshots.guard(&paths, &message(Step::Before));
    refuse_unsaved(snapshots, &plan.writes)?;
    let ids: Vec<&str> = chosen.iter().flat_map(Group::ids).collect();
    let message = message(match how.way {
        Way::Undo => Step::Undo(ids.join(" ")),
        Way::Redo => Step::Redo(ids.join(" ")),
    });
    let places = plan.writes.iter();
    let places: Vec<_> = places
        .map(|write| (write.path.clone(), write.tracked))
        .collect();
    let state = write(disk, &plan.writes, || {
        snapshots.after_restoring(&places, &message)
    })?;
    // Else the next save does it.
    let _ = snapshots.settle();
    done.commit = state.commit.filter(|_| state.changed);
    Ok(done)
}

fn change(write: &Write) -> (PathBuf, ChangeKind) {
    let kind = match (&write.old, &write.new) {
        (None, _) => ChangeKind::Added,
        (_, None) => ChangeKind::Deleted,
        _ => ChangeKind::Changed,
    };
    (write.path.clone(), kind)
}

/// What the commits say: the words of the batches, oldest first.
fn message(chosen: &[Group], how: &How<'_>, step: Step) -> Message {
    let words: Vec<String> = chosen.iter().rev().map(Group::words).collect();
    let words = subject::summed(words.iter().map(String::as_str));
    let subject = match (&step, how.way) {
        (Step::Before, Way::Undo) => format!("undo: {words}"),
        (Step::Before, Way::Redo) => format!("redo: {words}"),
        _ => words,
    };
    let newest_first = chosen.iter();
    Message {
        subject: Some(subject),
        time: how.time.to_owned(),
        body: newest_first
            .map(|group| format!("{} ({})", group.words(), group.id))
            .collect(),
        batch: how.id.to_owned(),
        step,
        of: Vec::new(),
        moved: None,
        beside: None,
    }
}

/// What is replaced must be in the last commit.
fn refuse_unsaved(snapshots: &Snapshots, writes: &[Write]) -> Result<(), UndoError> {
    let replaced = writes.iter().filter(|write| write.old.is_some());
    let paths: Vec<PathBuf> = replaced.map(|write| write.path.clone()).collect();
    // Each store has a file in its own way: one converts line ends, another does not.
    let mut saved = vec![false; paths.len()];
    for store in stores(snapshots) {
        for (at, held) in store.held_at_tip(&paths)?.into_iter().enumerate() {
            saved[at] |= held == store.held_now(&paths[at])?;
        }
    }
    let paths = paths.into_iter().zip(saved);
    let unsaved: Vec<PathBuf> = paths
        .filter_map(|(path, saved)| (!saved).then_some(path))
        .collect();
    match unsaved.is_empty() {
        true => Ok(()),
        false => Err(UndoError::NotSaved(unsaved)),
    }
}

/// Writes the files and then does `save`; where either fails, all is put back.
fn write<T>(
    disk: &mut Disk,
    writes: &[Write],
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
        let left = put_back(disk, &order[..written]);
        match left.is_empty() {
            true => UndoError::Failed(why),
            false => UndoError::Halfway { why, left },
        }
    })
}

/// What goes, goes first, the deepest before what it is in: a file may take a folder's place, and the other way round.
fn in_order(writes: &[Write]) -> Vec<&Write> {
    let (mut gone, mut here): (Vec<&Write>, Vec<&Write>) =
        writes.iter().partition(|write| write.new.is_none());
    gone.sort_by(|one, other| other.path.cmp(&one.path));
    here.sort_by(|one, other| one.path.cmp(&other.path));
    gone.append(&mut here);
    gone
}

/// Has these places hold again what they held; those where that cannot be.
fn put_back(disk: &mut Disk, written: &[&Write]) -> Vec<PathBuf> {
    let mut left = BTreeSet::new();
    for write in written.iter().rev() {
        let back = disk.put(&write.path, write.old.as_ref(), write.new.as_ref());
        if back.is_err() {
            left.insert(write.path.clone());
        }
    }
    left.into_iter().collect()
}

/// What is at a path, as far as it can be read at all.
fn present(disk: &Disk, path: &Path) -> Result<Option<FileOrLink>, UndoError> {
    Ok(disk.entry(path)?)
}
