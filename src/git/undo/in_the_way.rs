//! The changes in the way of an undo: an edit, a commit of the user's, a newer batch. Reads only; the sentences are here, as
//! each has its own next step.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use super::{BatchCommits, SHOWN, UndoError};
use crate::git::{CommitStep, ContentId, Saved, Store, short};

/// A path that is not as it was left, and why.
#[derive(Debug)]
pub struct InTheWay {
    path: PathBuf,
    /// Newest first; empty where nobody knows.
    by: Vec<Obstacle>,
}

/// The one who changed it.
#[derive(Debug, Clone)]
enum Obstacle {
    /// The user, who has not committed it.
    Edit,
    /// A commit of the user's: its id and subject.
    Commit(String, String),
    /// A change of the user's before a batch, which clada saved: the commit's id, and the words of that batch.
    Before(String, String),
    /// A batch, by its id and words.
    Batch(String, String),
    /// An undo, by its commit and words.
    Undo(String, String),
    /// A redo, likewise.
    Redo(String, String),
}

impl Obstacle {
    fn of(commit: &str, saved: Option<&Saved>, store: &Store) -> Result<Self, UndoError> {
        let id = short(commit).to_owned();
        let Some(saved) = saved else {
            return Ok(Self::Commit(id, store.subject(commit)?));
        };
        let words = saved.words().to_owned();
        Ok(match saved.message.step {
            CommitStep::Before | CommitStep::Add => Self::Before(id, words),
            CommitStep::Task | CommitStep::Squash => {
                Self::Batch(saved.message.batch.clone(), words)
            }
            CommitStep::Undo(_) => Self::Undo(id, words),
            CommitStep::Redo(_) => Self::Redo(id, words),
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
    stores: &[&Store],
    groups: &[BatchCommits],
    paths: Vec<PathBuf>,
) -> Result<Vec<InTheWay>, UndoError> {
    let mut by: BTreeMap<PathBuf, Vec<Obstacle>> =
        paths.into_iter().map(|path| (path, Vec::new())).collect();
    for (at, store) in stores.iter().enumerate() {
        let commits = groups.iter().flat_map(|group| &group.commits);
        let chosen: HashSet<&str> = commits
            .filter(|(of, _)| *of == at)
            .map(|(_, saved)| saved.commit.as_str())
            .collect();
        add_obstacles(store, &chosen, &mut by)?;
    }
    let in_the_way = by.into_iter().map(|(path, by)| InTheWay { path, by });
    Ok(in_the_way.collect())
}

/// A path on the way back through a history.
struct PathWalk {
    /// The content that it holds where the walk is.
    held: Option<ContentId>,
    /// The commit that had it hold that, as far as the walk is.
    since: Option<usize>,
    /// A chosen commit changed it.
    is_chosen: bool,
    is_stopped: bool,
}

impl PathWalk {
    /// Goes back over a commit that changed the path; a chosen one is taken back in thought.
    fn pass(&mut self, at: usize, [was, left]: [Option<ContentId>; 2], is_chosen: bool) {
        self.is_chosen |= is_chosen;
        let is_left = self.held == left && !self.is_stopped;
        if is_chosen && is_left {
            self.held = was;
            self.since = None;
        } else if is_chosen && self.held != was {
            self.is_stopped = true;
        } else if !is_chosen && is_left {
            self.since = Some(at);
        }
    }
}

/// Adds what is in the way of these chosen commits in a history: walks back as far as they go.
fn add_obstacles(
    store: &Store,
    chosen: &HashSet<&str>,
    by: &mut BTreeMap<PathBuf, Vec<Obstacle>>,
) -> Result<(), UndoError> {
    let mut walked: Vec<(String, Option<Saved>)> = Vec::new();
    let mut left = chosen.len();
    let mut history = store.history()?;
    while let Some((commit, _)) = history.peek() {
        let is_wanted = left > 0;
        left -= usize::from(chosen.contains(commit.as_str()));
        walked.push((commit, history.advance()?.flatten()));
        // One more: it is the parent of the last.
        if !is_wanted {
            break;
        }
    }
    let paths: Vec<PathBuf> = by.keys().cloned().collect();
    let at_tip = store.held_at_tip(&paths)?;
    let walks = paths.iter().zip(&at_tip).map(|(path, held)| {
        let walk = PathWalk {
            held: *held,
            since: None,
            is_chosen: false,
            is_stopped: false,
        };
        (path.as_path(), walk)
    });
    let mut walks: HashMap<&Path, PathWalk> = walks.collect();
    for (at, (commit, _)) in walked.iter().enumerate() {
        let parent = walked.get(at + 1).map(|(parent, _)| parent.as_str());
        let is_chosen = chosen.contains(commit.as_str());
        if parent.is_none() && !is_chosen {
            break;
        }
        for change in store.changes(parent, Some(commit))? {
            if let Some(walk) = walks.get_mut(change.path.as_path()) {
                walk.pass(at, change.held, is_chosen);
            }
        }
    }
    for ((path, obstacles), held) in by.iter_mut().zip(at_tip) {
        let Some(walk) = walks.get(path.as_path()).filter(|walk| walk.is_chosen) else {
            continue;
        };
        if store.held_now(path)? != held {
            obstacles.push(Obstacle::Edit);
        }
        if let Some(at) = walk.since.filter(|_| walk.is_stopped) {
            let (commit, saved) = &walked[at];
            obstacles.push(Obstacle::of(commit, saved.as_ref(), store)?);
        }
    }
    Ok(())
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
