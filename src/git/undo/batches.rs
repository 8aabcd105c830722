//! The batches that there are in the histories, undone or not. Reads commits only.

use std::collections::{BTreeSet, HashMap, HashSet};

use git2::Commit;

use super::{Direction, UndoError, UndoTarget};
use crate::git::history::{RootReach, first_parent};
use crate::git::subject;
use crate::git::{CommitStep, Saved, SnapshotError, Store, short};

/// The commits of a batch, or of an undo, which are taken back together.
#[derive(Debug, Clone)]
pub struct BatchCommits {
    /// The batch's id; that of the undo for one.
    pub id: String,
    /// Newest first, each with the store that it is in.
    pub commits: Vec<(usize, Saved)>,
    /// A batch that changed something outside of the root too can be taken back as a whole only where it ran.
    reach: RootReach,
}

impl BatchCommits {
    /// True if it holds several batches, and what the user changed between them.
    pub(super) fn is_squashed(&self) -> bool {
        let mut commits = self.commits.iter();
        commits.any(|(_, saved)| saved.message.step == CommitStep::Squash)
    }

    /// The words of the batch, of what its commits say.
    pub fn words(&self) -> String {
        let mut commits: Vec<&(usize, Saved)> = self.commits.iter().rev().collect();
        commits.sort_by_key(|(store, _)| *store);
        subject::of_batch(commits.into_iter().map(|(_, saved)| saved.words()))
    }

    /// The batches that are marked when this is taken back: those that an undo had taken back, or the batch itself.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        let newest = self.commits.first().map(|(_, saved)| &saved.message.step);
        let ids = match newest {
            Some(CommitStep::Undo(ids)) => ids,
            _ => &self.id,
        };
        ids.split(' ')
    }
}

/// The batches of the histories, newest first.
#[derive(Debug, Default)]
struct BatchHistory {
    /// Batches, undone or not; and what was squashed, which is one batch.
    batches: Vec<BatchCommits>,
    /// Batches that were undone and not done again.
    undone: HashSet<String>,
    /// The undos of them.
    undos: Vec<BatchCommits>,
    /// Batches that were undone or done again, with the last that was done.
    marks: HashMap<String, Mark>,
    /// The time of the oldest commit that was read, in Unix time in seconds.
    reached: Option<i64>,
}

/// The last thing that was done about a batch, with its Unix time in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Undone(i64),
    Redone(i64),
}

impl BatchHistory {
    /// Reads the histories back, as one, until it is `enough`.
    ///
    /// # Errors
    /// Where one cannot be read.
    fn of(stores: &[&Store], enough: impl Fn(&Self) -> bool) -> Result<Self, SnapshotError> {
        let mut known = Self::default();
        let mut reverts = Reverts::default();
        let mut all = Histories {
            own: stores[0].tip()?,
            aside: stores.get(1).map_or(Ok(None), |aside| aside.tip())?,
            waiting: None,
            seen: HashSet::new(),
        };
        while let Some((at, saved)) = all.next()? {
            let reach = stores[at].reach(&saved)?;
            known.add(at, saved, reach, &mut reverts);
            if enough(&known) {
                break;
            }
        }
        Ok(known)
    }

    fn add(&mut self, at: usize, mut saved: Saved, reach: RootReach, reverts: &mut Reverts) {
        let time = saved.time;
        self.reached = Some(time);
        match &saved.message.step {
            CommitStep::Before | CommitStep::Add => {}
            CommitStep::Task => {
                let batch = &mut saved.message.batch;
                // What the snapshots have of it goes with the one commit that git has.
                if let Some(squash) = reverts.squashed.get(batch).filter(|_| at > 0) {
                    batch.clone_from(squash);
                }
                push(&mut self.batches, at, saved, reach);
            }
            CommitStep::Squash => {
                let (id, of) = (saved.message.batch.clone(), saved.message.of.clone());
                push(&mut self.batches, at, saved, reach);
                self.gather(&id, &of);
                if let Some(mark) = self.marks.get(&id).copied() {
                    self.marks.extend(of.iter().map(|of| (of.clone(), mark)));
                }
                let squashed = of.into_iter().map(|of| (of, id.clone()));
                reverts.squashed.extend(squashed);
            }
            // What was done in two histories was done once.
            CommitStep::Redo(ids) => {
                self.mark(ids, Mark::Redone(time));
                if reverts.redos.insert(saved.message.batch.clone()) {
                    reverts.redone.extend(ids.split(' ').map(str::to_owned));
                }
            }
            CommitStep::Undo(ids) => {
                let batch = &saved.message.batch;
                let stands = match reverts.undos.get(batch) {
                    Some(stands) => *stands,
                    None => self.undo(at, ids, reverts),
                };
                reverts.undos.insert(batch.clone(), stands);
                if stands {
                    self.mark(ids, Mark::Undone(time));
                    push(&mut self.undos, at, saved, reach);
                }
            }
        }
    }

    /// Puts to a squashed batch what the snapshots have of those that it was.
    fn gather(&mut self, id: &str, of: &[String]) {
        let gathered = self.batches.extract_if(.., |group| {
            of.contains(&group.id) && group.commits.iter().all(|(store, _)| *store > 0)
        });
        let mut commits: Vec<_> = gathered.flat_map(|group| group.commits).collect();
        if let Some(squash) = self.batches.iter_mut().rev().find(|group| group.id == id) {
            commits.append(&mut squash.commits);
            squash.commits = commits;
        }
    }

    /// Takes an undo of these batches into account; true where it stands for one of them.
    fn undo(&mut self, at: usize, ids: &str, reverts: &mut Reverts) -> bool {
        let mut stands = false;
        for id in ids.split(' ') {
            // A commit of the batch that is on top of this one was picked there by the user.
            let is_picked = self.batches.iter().any(|group| {
                let mut commits = group.commits.iter();
                group.id == id && commits.any(|(of, _)| *of == at)
            });
            match reverts.redone.iter().position(|other| other == id) {
                Some(found) => drop(reverts.redone.swap_remove(found)),
                None if is_picked => {}
                None => {
                    self.undone.insert(id.to_owned());
                    stands = true;
                }
            }
        }
        stands
    }

    /// Marks batches, but those that something newer was done about.
    fn mark(&mut self, ids: &str, mark: Mark) {
        for id in ids.split(' ') {
            self.marks.entry(id.to_owned()).or_insert(mark);
        }
    }

    /// The batches of this root.
    fn batches_here(&self) -> impl Iterator<Item = &BatchCommits> {
        self.batches.iter().filter(|group| group.reach.inside)
    }

    /// The undos of batches of this root.
    fn undos_here(&self) -> impl Iterator<Item = &BatchCommits> {
        self.undos.iter().filter(|group| group.reach.inside)
    }

    fn is_standing(&self, group: &BatchCommits) -> bool {
        !self.undone.contains(&group.id)
    }

    /// The batches of this root that are not undone.
    fn standing(&self) -> impl Iterator<Item = &BatchCommits> {
        self.batches_here().filter(|group| self.is_standing(group))
    }

    /// All batches of the run of that name, or the one batch whose id begins so.
    ///
    /// # Errors
    /// Where there is none, or more than one.
    fn named(&self, name: &str) -> Result<Vec<BatchCommits>, UndoError> {
        let whole = format!("{name}.");
        let exact = |group: &&BatchCommits| group.id == name || group.id.starts_with(&whole);
        let mut found: Vec<&BatchCommits> = self.batches.iter().filter(exact).collect();
        if found.is_empty() && !name.is_empty() {
            let begins = |group: &&BatchCommits| group.id.starts_with(name);
            found = self.batches.iter().filter(begins).collect();
        }
        let run = |group: &&BatchCommits| group.id.split('.').next().unwrap_or_default().to_owned();
        let runs: BTreeSet<String> = found.iter().map(run).collect();
        match runs.len() {
            0 => Err(UndoError::Unknown(name.to_owned())),
            1 => Ok(found.into_iter().cloned().collect()),
            _ => Err(UndoError::Ambiguous(
                name.to_owned(),
                runs.into_iter().collect(),
            )),
        }
    }
}

/// The undos and redos that were met on the way back.
#[derive(Default)]
struct Reverts {
    /// Batches that were done again since: an undo of these does not count.
    redone: Vec<String>,
    /// Squashed batches, and the ids of what they are by now.
    squashed: HashMap<String, String>,
    /// The redos, by their own ids.
    redos: HashSet<String>,
    /// The undos that were seen, with true if they stand.
    undos: HashMap<String, bool>,
}

/// Two histories as one, newest first: what the private snapshots have goes before the commit of git's that was the last
/// one when they were made. Where that is gone, time says what is newer, in seconds.
struct Histories<'h> {
    /// The next commit of each.
    own: Option<Commit<'h>>,
    aside: Option<Commit<'h>>,
    /// The next one of clada's in the second.
    waiting: Option<Saved>,
    /// Commits of the first.
    seen: HashSet<String>,
}

impl Histories<'_> {
    /// The next commit that clada made, with the number of the history that it is in.
    fn next(&mut self) -> Result<Option<(usize, Saved)>, SnapshotError> {
        loop {
            while self.waiting.is_none()
                && let Some(commit) = self.aside.take()
            {
                self.waiting = Saved::of(&commit);
                self.aside = first_parent(&commit)?;
            }
            let next = self.own.as_ref();
            self.seen.extend(next.map(|commit| commit.id().to_string()));
            let is_due = |saved: &mut Saved| {
                let beside = saved.message.beside.as_ref();
                beside.is_some_and(|it| self.seen.contains(it))
                    || next.is_none_or(|next| saved.time > next.time().seconds())
            };
            if let Some(saved) = self.waiting.take_if(is_due) {
                return Ok(Some((1, saved)));
            }
            let Some(commit) = self.own.take() else {
                return Ok(None);
            };
            self.own = first_parent(&commit)?;
            if let Some(saved) = Saved::of(&commit) {
                return Ok(Some((0, saved)));
            }
        }
    }
}

fn push(groups: &mut Vec<BatchCommits>, at: usize, saved: Saved, reach: RootReach) {
    let id = &saved.message.batch;
    match groups.iter_mut().rev().find(|group| group.id == *id) {
        Some(group) => {
            group.commits.push((at, saved));
            group.reach.inside |= reach.inside;
            group.reach.outside |= reach.outside;
        }
        None => groups.push(BatchCommits {
            id: id.clone(),
            commits: vec![(at, saved)],
            reach,
        }),
    }
}

/// Chooses the batches to take back, newest first.
pub(super) fn choose(
    stores: &[&Store],
    target: UndoTarget<'_>,
    direction: Direction,
) -> Result<Vec<BatchCommits>, UndoError> {
    let chosen = asked_for(stores, target, direction)?;
    for group in &chosen {
        if group.reach.outside {
            return Err(UndoError::ReachesOut(group.id.clone()));
        }
        let mut commits = group.commits.iter();
        if let Some(commit) = commits.find_map(|(_, saved)| saved.message.moved.as_deref()) {
            let commit = short(commit).to_owned();
            return Err(UndoError::Moved(group.id.clone(), commit));
        }
    }
    Ok(chosen)
}

fn asked_for(
    stores: &[&Store],
    target: UndoTarget<'_>,
    direction: Direction,
) -> Result<Vec<BatchCommits>, UndoError> {
    match (direction, target) {
        (Direction::Undo, UndoTarget::Last(asked)) => {
            // Until the first of the next one, as only then the last one is known to be whole.
            let known = BatchHistory::of(stores, |known| known.standing().nth(asked).is_some())?;
            let found: Vec<BatchCommits> = known.standing().take(asked).cloned().collect();
            if let Some(squashed) = found.iter().find(|group| group.is_squashed()) {
                return Err(UndoError::Squashed(squashed.id.clone()));
            }
            match found.len() {
                0 => Err(UndoError::NothingToUndo),
                there if there < asked => Err(UndoError::TooMany { asked, there }),
                _ => Ok(found),
            }
        }
        (Direction::Redo, UndoTarget::Last(asked)) => {
            let known = BatchHistory::of(stores, |known| known.undos_here().nth(asked).is_some())?;
            let found: Vec<BatchCommits> = known.undos_here().take(asked).cloned().collect();
            match found.len() {
                0 => Err(UndoError::NothingToRedo),
                there if there < asked => Err(UndoError::TooManyToRedo {
                    asked,
                    there,
                    batches: found.iter().flat_map(BatchCommits::ids).count(),
                }),
                _ => Ok(found),
            }
        }
        (_, UndoTarget::Named(name)) => {
            let known = BatchHistory::of(stores, |_| false)?;
            let mut chosen = known.named(name)?;
            chosen.retain(|group| known.is_standing(group));
            if chosen.is_empty() {
                return Err(UndoError::Undone(name.to_owned()));
            }
            Ok(chosen)
        }
    }
}

/// The batches of that name, or the newest one.
///
/// # Errors
/// Where there is none, or the name is that of several.
pub fn newest(stores: &[&Store], name: Option<&str>) -> Result<Vec<BatchCommits>, UndoError> {
    if let Some(name) = name {
        return BatchHistory::of(stores, |_| false)?.named(name);
    }
    let known = BatchHistory::of(stores, |known| known.batches_here().nth(1).is_some())?;
    let newest = known.batches_here().next().cloned();
    Ok(vec![newest.ok_or(UndoError::NothingToUndo)?])
}

/// The batches that were undone or done again, of those that began at a time or later, in Unix time in seconds.
///
/// # Errors
/// Where a history cannot be read.
pub fn marks(stores: &[&Store], since: i64) -> Result<HashMap<String, Mark>, SnapshotError> {
    let is_over = |known: &BatchHistory| known.reached.is_some_and(|time| time < since);
    Ok(BatchHistory::of(stores, is_over)?.marks)
}
