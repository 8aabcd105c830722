//! The changes in the way of an undo: an edit, a commit of the user's, a newer batch. Reads only; the sentences are here, as
//! each has its own next step.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use git2::Commit;

use super::{BatchCommits, SHOWN, UndoError};
use crate::git::history::first_parents;
use crate::git::{CommitStep, ContentId, Message, Saved, SnapshotError, Store, short};

/// The paths that are not as they were left, each with the sentences on who changed it, newest first; with none where nobody
/// knows.
type Obstacles = BTreeMap<PathBuf, Vec<String>>;

/// Says that the user has changed it and that no commit has that yet.
fn edit(is_private: bool) -> &'static str {
    if is_private {
        "you changed it after this batch: take that change back first"
    } else {
        "you changed it after this batch and did not commit: set your change aside with `git stash`"
    }
}

/// Says which commit is in the way, and what reverts it.
fn obstacle(commit: &Commit<'_>, is_private: bool) -> String {
    let id = commit.id().to_string();
    let id = short(&id);
    if let Some(saved) = Saved::of(commit) {
        return sentence(id, &saved.message, is_private);
    }
    let text = String::from_utf8_lossy(commit.message_bytes());
    let subject = text.trim_start().lines().next().unwrap_or_default();
    let subject = subject.trim_end();
    format!("commit {id} \"{subject}\": revert that first with `git revert {id}`")
}

/// The same of a commit of clada's. Nobody runs git in a private repository.
fn sentence(id: &str, message: &Message, is_private: bool) -> String {
    let (words, batch) = (message.step.words(&message.subject), &message.batch);
    let revert = if is_private {
        "take that change back first".to_owned()
    } else {
        format!("revert that first with `git revert {id}`")
    };
    match message.step {
        CommitStep::Before | CommitStep::Add => {
            format!("you changed it before \"{words}\": {revert}")
        }
        CommitStep::Task | CommitStep::Squash => {
            format!("batch {batch}, \"{words}\": revert that first with `clada undo {batch}`")
        }
        CommitStep::Undo(_) => {
            format!("the undo of \"{words}\", commit {id}: revert that first with `clada redo`")
        }
        CommitStep::Redo(_) => {
            format!("the redo of \"{words}\", commit {id}: {revert}")
        }
    }
}

/// Says what is in the way, a line for each path.
pub(super) fn list(all: &Obstacles, how: &str) -> String {
    let mut text = String::new();
    for (path, by) in all.iter().take(SHOWN) {
        let colon = if by.is_empty() { "" } else { ": " };
        let by = by.join("; ");
        text += &format!("\n  `{}` changed since{how}{colon}{by}", path.display());
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
) -> Result<Obstacles, UndoError> {
    let mut by: Obstacles = paths.into_iter().map(|path| (path, Vec::new())).collect();
    for (at, store) in stores.iter().enumerate() {
        let commits = groups.iter().flat_map(|group| &group.commits);
        let chosen: HashSet<&str> = commits
            .filter(|(of, _)| *of == at)
            .map(|(_, saved)| saved.commit.as_str())
            .collect();
        add_obstacles(store, &chosen, &mut by)?;
    }
    Ok(by)
}

/// A path on the way back through a history.
#[derive(Default)]
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
    by: &mut Obstacles,
) -> Result<(), UndoError> {
    let mut walked: Vec<Commit<'_>> = Vec::new();
    let mut left = chosen.len();
    for commit in first_parents(store.tip()?) {
        if left == 0 {
            break;
        }
        let commit = commit.map_err(SnapshotError::from)?;
        left -= usize::from(chosen.contains(commit.id().to_string().as_str()));
        walked.push(commit);
    }
    let paths: Vec<PathBuf> = by.keys().cloned().collect();
    let at_tip = store.held_at_tip(&paths)?;
    let walks = paths.iter().zip(&at_tip).map(|(path, held)| {
        let walk = PathWalk {
            held: *held,
            ..PathWalk::default()
        };
        (path.as_path(), walk)
    });
    let mut walks: HashMap<&Path, PathWalk> = walks.collect();
    for (at, commit) in walked.iter().enumerate() {
        let parent = commit.parent_id(0).ok().map(|id| id.to_string());
        let id = commit.id().to_string();
        let is_chosen = chosen.contains(id.as_str());
        if parent.is_none() && !is_chosen {
            break;
        }
        for change in store.changes(parent.as_deref(), Some(&id))? {
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
            obstacles.push(edit(store.is_private()).to_owned());
        }
        if let Some(at) = walk.since.filter(|_| walk.is_stopped) {
            obstacles.push(obstacle(&walked[at], store.is_private()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undo_and_a_redo_in_the_way_are_said_with_what_reverts_them() {
        let message = |step| Message {
            subject: "Add".into(),
            step,
            ..Message::default()
        };
        let said = |step| sentence("3f2a1bc", &message(step), false);
        assert_eq!(
            said(CommitStep::Undo("b1".into())),
            "the undo of \"Add\", commit 3f2a1bc: revert that first with `clada redo`"
        );
        assert_eq!(
            said(CommitStep::Redo("b1".into())),
            "the redo of \"Add\", commit 3f2a1bc: revert that first with `git revert 3f2a1bc`"
        );
    }
}
