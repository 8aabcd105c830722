//! The changes in the way of an undo: an edit, a commit of the user's, a newer batch. Reads only; the sentences are here, as
//! each has its own next step.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use super::{Group, UndoError};
use crate::git::{Held, Saved, Snapshots, Step, short};

/// How many paths are shown.
const SHOWN: usize = 10;

/// A path that is not as it was left, and why.
#[derive(Debug)]
pub struct InTheWay {
    path: PathBuf,
    /// Newest first; empty where nobody knows.
    by: Vec<Obstacle>,
}

/// Who changed it.
#[derive(Debug, Clone)]
enum Obstacle {
    /// It is not committed.
    Edit,
    /// A commit of the user's: its id and subject.
    Commit(String, String),
    /// What the user had changed before a batch, which clada saved: the commit's id, and the words of that batch.
    Before(String, String),
    /// A batch, by its id and words.
    Batch(String, String),
    /// An undo, by its commit and words.
    Undo(String, String),
    /// A redo, likewise.
    Redo(String, String),
}

impl Obstacle {
    fn of(commit: &str, saved: Option<&Saved>, store: &Snapshots) -> Result<Self, UndoError> {
        let id = short(commit).to_owned();
        let Some(saved) = saved else {
            return Ok(Self::Commit(id, store.subject(commit)?));
        };
        let words = saved.words().to_owned();
        Ok(match saved.step {
            Step::Before | Step::Add => Self::Before(id, words),
            Step::Task | Step::Squash => Self::Batch(saved.batch.clone(), words),
            Step::Undo(_) => Self::Undo(id, words),
            Step::Redo(_) => Self::Redo(id, words),
        })
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Edit => write!(
                f,
                "you changed it after this batch and did not commit: set your change aside with `git stash`"
            ),
            Self::Commit(id, subject) => write!(
                f,
                "commit {id} \"{subject}\": revert that first with `git revert {id}`"
            ),
            Self::Before(id, words) => write!(
                f,
                "you changed it before \"{words}\": revert that first with `git revert {id}`"
            ),
            Self::Batch(id, words) => write!(
                f,
                "batch {id}, \"{words}\": revert that first with `clada undo {id}`"
            ),
            Self::Undo(id, words) => write!(
                f,
                "the undo of \"{words}\", commit {id}: revert that first with `clada redo`"
            ),
            Self::Redo(id, words) => write!(
                f,
                "the redo of \"{words}\", commit {id}: revert that first with `git revert {id}`"
            ),
        }
    }
}

/// Says what is in the way, a line for each path.
pub(super) fn list(all: &[InTheWay], how: &str) -> String {
    let mut text = String::new();
    for InTheWay { path, by } in all.iter().take(SHOWN) {
        let by: Vec<String> = by.iter().map(Obstacle::to_string).collect();
        let by = if by.is_empty() {
            String::new()
        } else {
            format!(": {}", by.join("; "))
        };
        text += &format!("\n  `{}` changed since{how}{by}", path.display());
    }
    if let Some(more) = all.len().checked_sub(SHOWN + 1) {
        text += &format!("\n  and {} more", more + 1);
    }
    text
}

/// Names what is in the way at each of these paths.
///
/// # Errors
/// Where the histories cannot be read.
pub(super) fn name(
    stores: &[&Snapshots],
    groups: &[Group],
    paths: Vec<PathBuf>,
) -> Result<Vec<InTheWay>, UndoError> {
    let mut by: HashMap<&Path, Vec<Obstacle>> = HashMap::new();
    for (at, store) in stores.iter().enumerate() {
        let commits = groups.iter().flat_map(|group| &group.commits);
        let chosen: HashSet<&str> = commits
            .filter(|(of, _)| *of == at)
            .map(|(_, saved)| saved.commit.as_str())
            .collect();
        for (path, found) in of_store(store, &chosen, &paths)? {
            by.entry(path).or_default().extend(found);
        }
    }
    let mut named: HashMap<PathBuf, Vec<Obstacle>> = by
        .into_iter()
        .map(|(path, found)| (path.to_owned(), found))
        .collect();
    let in_the_way = paths.into_iter().map(|path| InTheWay {
        by: named.remove(&path).unwrap_or_default(),
        path,
    });
    Ok(in_the_way.collect())
}

/// A path on the way back through a history.
struct Way {
    /// What it holds where the walk is.
    held: Option<Held>,
    /// It is not so on the disk.
    is_edited: bool,
    /// The commit that had it hold that, as far as the walk is.
    since: Option<usize>,
    /// A chosen commit changed it.
    is_chosen: bool,
    is_stopped: bool,
}

/// Walks back as far as the chosen commits go, and takes these back in thought.
fn of_store<'p>(
    store: &Snapshots,
    chosen: &HashSet<&str>,
    paths: &'p [PathBuf],
) -> Result<Vec<(&'p Path, Vec<Obstacle>)>, UndoError> {
    let mut walked: Vec<(String, Option<Saved>)> = Vec::new();
    let mut left = chosen.len();
    store.walk(|commit, saved| {
        // One more: it is the parent of the last.
        let is_wanted = left > 0;
        left -= usize::from(chosen.contains(commit));
        walked.push((commit.to_owned(), saved));
        is_wanted
    })?;
    let mut ways: HashMap<&Path, Way> = HashMap::new();
    for (path, held) in paths.iter().zip(store.held_at_tip(paths)?) {
        let way = Way {
            held,
            is_edited: store.held_now(path)? != held,
            since: None,
            is_chosen: false,
            is_stopped: false,
        };
        ways.insert(path, way);
    }
    for (at, (commit, _)) in walked.iter().enumerate() {
        let parent = walked.get(at + 1).map(|(parent, _)| parent.as_str());
        if at + 1 == walked.len() && !chosen.contains(commit.as_str()) {
            break;
        }
        for change in store.changes(parent, Some(commit))? {
            let [was, left] = change.held;
            let Some(way) = ways.get_mut(change.path.as_path()) else {
                continue;
            };
            if chosen.contains(commit.as_str()) {
                way.is_chosen = true;
                if way.held == left && !way.is_stopped {
                    way.held = was;
                    way.since = None;
                } else if way.held != was {
                    way.is_stopped = true;
                }
            } else if way.held == left && !way.is_stopped {
                way.since = Some(at);
            }
        }
    }
    let mut found = Vec::new();
    for path in paths {
        let Some(way) = ways.remove(path.as_path()).filter(|way| way.is_chosen) else {
            continue;
        };
        let mut by = Vec::new();
        if way.is_edited {
            by.push(Obstacle::Edit);
        }
        if let Some((commit, saved)) = way.since.filter(|_| way.is_stopped).map(|at| &walked[at]) {
            by.push(Obstacle::of(commit, saved.as_ref(), store)?);
        }
        found.push((path.as_path(), by));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undo_and_a_redo_in_the_way_are_said_with_what_reverts_them() {
        let said =
            |of: fn(String, String) -> Obstacle| of("3f2a1bc".into(), "Add".into()).to_string();
        assert_eq!(
            said(Obstacle::Undo),
            "the undo of \"Add\", commit 3f2a1bc: revert that first with `clada redo`"
        );
        assert_eq!(
            said(Obstacle::Redo),
            "the redo of \"Add\", commit 3f2a1bc: revert that first with `git revert 3f2a1bc`"
        );
    }
}
