//! Which batches there are in the histories, and which of them were undone. Reads commits only.

use std::collections::HashSet;

use super::{UndoError, Way, Which};
use crate::world::snapshot::{Saved, SnapshotError, Snapshots, Step};

/// Commits that are taken back together.
#[derive(Debug, Clone)]
pub struct Group {
    /// The batch's id; that of the undo for one.
    pub id: String,
    pub subject: String,
    /// Unix time in seconds.
    pub time: i64,
    /// Newest first, each with the store that it is in.
    pub commits: Vec<(usize, Saved)>,
}

impl Group {
    /// The batches that are marked when this is taken back: those that an undo had taken back, or the batch itself.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        let step = self.commits.first().map(|(_, saved)| &saved.step);
        let ids = match step {
            Some(Step::Undo(ids)) => ids,
            _ => &self.id,
        };
        ids.split(' ')
    }
}

/// What the histories tell, newest first.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// What batches did, undone or not.
    pub batches: Vec<Group>,
    /// Batches that were undone and not done again.
    pub undone: HashSet<String>,
    /// What undid them.
    pub undos: Vec<Group>,
    /// Commits that hold several batches, and may hold what the user changed.
    pub squashed: Vec<Group>,
}

impl Known {
    /// Reads the histories back until it is `enough`.
    ///
    /// # Errors
    /// Where one cannot be read.
    pub(super) fn of(
        stores: &[&Snapshots],
        enough: impl Fn(&Self) -> bool,
    ) -> Result<Self, SnapshotError> {
        let mut all = Self::default();
        for (at, store) in stores.iter().enumerate() {
            let mut known = Self::default();
            // What was done again since: an undo of these does not count.
            let mut redone: Vec<String> = Vec::new();
            store.walk(|_, saved| {
                if let Some(saved) = saved {
                    known.add(at, saved, &mut redone);
                }
                !enough(&known)
            })?;
            all.join(known);
        }
        Ok(all)
    }

    fn add(&mut self, at: usize, saved: Saved, redone: &mut Vec<String>) {
        match &saved.step {
            Step::Before => {}
            Step::Task => push(&mut self.batches, at, saved),
            Step::Squash => push(&mut self.squashed, at, saved),
            Step::Redo(ids) => redone.push(ids.clone()),
            Step::Undo(ids) => match redone.iter().position(|other| other == ids) {
                Some(found) => drop(redone.remove(found)),
                None => {
                    self.undone.extend(ids.split(' ').map(str::to_owned));
                    push(&mut self.undos, at, saved);
                }
            },
        }
    }

    /// What another store tells, by time among what this one does. What is in both is one.
    fn join(&mut self, other: Self) {
        for (ours, theirs) in [
            (&mut self.batches, other.batches),
            (&mut self.undos, other.undos),
            (&mut self.squashed, other.squashed),
        ] {
            for group in theirs {
                match ours.iter_mut().find(|one| one.id == group.id) {
                    Some(one) => one.commits.extend(group.commits),
                    None => {
                        let older = ours.iter().position(|one| one.time < group.time);
                        ours.insert(older.unwrap_or(ours.len()), group);
                    }
                }
            }
        }
        self.undone.extend(other.undone);
    }

    /// The batches that are not undone.
    fn standing(&self) -> impl Iterator<Item = &Group> {
        let undone = |group: &&Group| !self.undone.contains(&group.id);
        self.batches.iter().filter(undone)
    }
}

fn push(groups: &mut Vec<Group>, at: usize, saved: Saved) {
    match groups.iter_mut().find(|group| group.id == saved.batch) {
        Some(group) => group.commits.push((at, saved)),
        None => groups.push(Group {
            id: saved.batch.clone(),
            subject: saved.subject.clone(),
            time: saved.time,
            commits: vec![(at, saved)],
        }),
    }
}

/// What is to be taken back, newest first.
pub(super) fn choose(
    stores: &[&Snapshots],
    which: Which<'_>,
    way: Way,
) -> Result<Vec<Group>, UndoError> {
    match (way, which) {
        (Way::Undo, Which::Last(asked)) => {
            // Until the first of the next one, as only then the last one is known to be whole.
            let known = Known::of(stores, |known| known.standing().nth(asked).is_some())?;
            let found: Vec<Group> = known.standing().take(asked).cloned().collect();
            enough(found, asked, UndoError::NothingToUndo)
        }
        (Way::Redo, Which::Last(asked)) => {
            let known = Known::of(stores, |known| known.undos.len() >= asked)?;
            let found = known.undos.into_iter().take(asked).collect();
            enough(found, asked, UndoError::NothingToRedo)
        }
        (_, Which::Named(name)) => {
            let known = Known::of(stores, |_| false)?;
            let chosen = named(&known, name)?;
            let standing = |group: &Group| !known.undone.contains(&group.id);
            match chosen.iter().any(standing) {
                true => Ok(chosen.into_iter().filter(standing).collect()),
                false => Err(UndoError::Undone(name.to_owned())),
            }
        }
    }
}

fn enough(found: Vec<Group>, asked: usize, none: UndoError) -> Result<Vec<Group>, UndoError> {
    match found.len() {
        0 => Err(none),
        there if there < asked => Err(UndoError::TooMany { asked, there }),
        _ => Ok(found),
    }
}

/// The batches of that name, or the newest one.
///
/// # Errors
/// Where there is none, or the name is that of several.
pub fn newest(stores: &[&Snapshots], name: Option<&str>) -> Result<Vec<Group>, UndoError> {
    match name {
        Some(name) => named(&Known::of(stores, |_| false)?, name),
        None => {
            let known = Known::of(stores, |known| known.batches.len() > 1)?;
            let found = known.batches.into_iter().take(1).collect();
            enough(found, 1, UndoError::NothingToUndo)
        }
    }
}

/// All batches of the run of that name, or the one batch whose id begins so.
///
/// # Errors
/// Where there is none, or more than one.
pub(super) fn named(known: &Known, name: &str) -> Result<Vec<Group>, UndoError> {
    let all = || known.batches.iter().chain(&known.squashed);
    let whole = format!("{name}.");
    let exact = |group: &&Group| group.id == name || group.id.starts_with(&whole);
    let mut found: Vec<&Group> = all().filter(exact).collect();
    if found.is_empty() && !name.is_empty() {
        found = all().filter(|group| group.id.starts_with(name)).collect();
    }
    let run = |group: &Group| group.id.split('.').next().unwrap_or_default().to_owned();
    let mut runs: Vec<String> = found.iter().map(|group| run(group)).collect();
    runs.sort();
    runs.dedup();
    match runs.len() {
        0 => Err(UndoError::Unknown(name.to_owned())),
        1 => Ok(found.into_iter().cloned().collect()),
        _ => Err(UndoError::Ambiguous(name.to_owned(), runs)),
    }
}
