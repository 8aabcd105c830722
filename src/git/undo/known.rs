//! Which batches there are in the histories, and which of them were undone. Reads commits only.

use std::collections::{HashMap, HashSet};

use super::{UndoError, Way, Which};
use crate::git::subject;
use crate::git::{History, Saved, SnapshotError, Snapshots, Step, short};

/// Commits that are taken back together.
#[derive(Debug, Clone)]
pub struct Group {
    /// The batch's id; that of the undo for one.
    pub id: String,
    /// Newest first, each with the store that it is in.
    pub commits: Vec<(usize, Saved)>,
    /// Whether it changed something below the root, and something outside: then only where it ran can it be taken back as
    /// a whole.
    reach: (bool, bool),
}

impl Group {
    fn widen(&mut self, (inside, outside): (bool, bool)) {
        self.reach.0 |= inside;
        self.reach.1 |= outside;
    }

    /// Whether it is one of this root.
    fn is_here(&self) -> bool {
        self.reach.0
    }

    /// Whether it holds several batches, and what the user changed between them.
    pub(super) fn is_squashed(&self) -> bool {
        let steps = self.commits.iter().map(|(_, saved)| &saved.step);
        steps.into_iter().any(|step| *step == Step::Squash)
    }

    /// The words of the batch, of what its commits say.
    pub fn words(&self) -> String {
        let mut commits: Vec<&(usize, Saved)> = self.commits.iter().rev().collect();
        commits.sort_by_key(|(store, _)| *store);
        subject::of_batch(commits.into_iter().map(|(_, saved)| saved.words()))
    }

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
    /// What batches did, undone or not; and what was squashed, which is one batch.
    pub batches: Vec<Group>,
    /// Batches that were undone and not done again.
    pub undone: HashSet<String>,
    /// What undid them.
    pub undos: Vec<Group>,
    /// Batches that were undone or done again, with the last that was done.
    pub marks: HashMap<String, Mark>,
    /// The time of the oldest commit that was read, in Unix time in seconds.
    reached: Option<i64>,
}

/// What was done about a batch after it, and when, in Unix time in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Undone(i64),
    Redone(i64),
}

impl Known {
    /// Reads the histories back, as one, until it is `enough`.
    ///
    /// # Errors
    /// Where one cannot be read.
    pub(super) fn of(
        stores: &[&Snapshots],
        enough: impl Fn(&Self) -> bool,
    ) -> Result<Self, SnapshotError> {
        let mut known = Self::default();
        let mut reverts = Reverts::default();
        let histories = stores.iter().map(|store| store.history());
        let histories = histories.collect::<Result<_, _>>()?;
        let mut all = Histories {
            waiting: Vec::new(),
            histories,
            seen: HashSet::new(),
        };
        while let Some((at, saved)) = all.next()? {
            let reach = stores[at].reach(&saved)?;
            known.add(at, saved, &mut reverts, reach);
            if enough(&known) {
                break;
            }
        }
        Ok(known)
    }

    fn add(&mut self, at: usize, saved: Saved, reverts: &mut Reverts, reach: (bool, bool)) {
        let time = saved.time;
        self.reached = Some(time);
        match &saved.step {
            Step::Before | Step::Add => {}
            Step::Task => {
                let mut saved = saved;
                // What the snapshots have of it goes with the one commit that git has.
                if let Some(squash) = reverts.squashed.get(&saved.batch).filter(|_| at > 0) {
                    saved.batch.clone_from(squash);
                }
                push(&mut self.batches, at, saved, reach);
            }
            Step::Squash => {
                let (id, of) = (saved.batch.clone(), saved.of.clone());
                push(&mut self.batches, at, saved, reach);
                self.gather(&id, &of);
                if let Some(mark) = self.marks.get(&id).copied() {
                    self.marks.extend(of.iter().map(|of| (of.clone(), mark)));
                }
                reverts
                    .squashed
                    .extend(of.into_iter().map(|of| (of, id.clone())));
            }
            // What was done in two histories was done once.
            Step::Redo(ids) => {
                self.mark(ids, Mark::Redone(time));
                if reverts.redos.insert(saved.batch.clone()) {
                    reverts.redone.extend(ids.split(' ').map(str::to_owned));
                }
            }
            Step::Undo(ids) => {
                let stands = match reverts.undos.get(&saved.batch) {
                    Some(stands) => *stands,
                    None => self.undo(at, ids, reverts),
                };
                reverts.undos.insert(saved.batch.clone(), stands);
                if stands {
                    self.mark(ids, Mark::Undone(time));
                    push(&mut self.undos, at, saved, reach);
                }
            }
        }
    }

    /// Puts to a squashed batch what the snapshots have of those that it was.
    fn gather(&mut self, id: &str, of: &[String]) {
        let is_of = |group: &Group| {
            of.contains(&group.id) && group.commits.iter().all(|(store, _)| *store > 0)
        };
        let mut commits = Vec::new();
        self.batches.retain_mut(|group| {
            let is_of = is_of(group);
            if is_of {
                commits.append(&mut group.commits);
            }
            !is_of
        });
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
    fn batches_here(&self) -> impl Iterator<Item = &Group> {
        self.batches.iter().filter(|group| group.is_here())
    }

    /// What undid batches of this root.
    fn undos_here(&self) -> impl Iterator<Item = &Group> {
        self.undos.iter().filter(|group| group.is_here())
    }

    /// The batches of this root that are not undone.
    fn standing(&self) -> impl Iterator<Item = &Group> {
        let undone = |group: &&Group| !self.undone.contains(&group.id);
        self.batches_here().filter(undone)
    }
}

/// The undos and redos that were met on the way back.
#[derive(Default)]
struct Reverts {
    /// What was done again since, batch by batch: an undo of these does not count.
    redone: Vec<String>,
    /// What squashed batches are by now.
    squashed: HashMap<String, String>,
    /// By their own ids.
    redos: HashSet<String>,
    /// Those that were seen, and whether they stand.
    undos: HashMap<String, bool>,
}

/// Several histories as one, newest first: what the private snapshots have goes before the commit of git's that was the last
/// one when they were made. Where that is gone, time says what is newer, in seconds.
struct Histories<'h> {
    /// Git's own first.
    histories: Vec<History<'h>>,
    /// What comes next of each, from the second on.
    waiting: Vec<Option<Saved>>,
    /// Commits of the first.
    seen: HashSet<String>,
}

impl Histories<'_> {
    /// What clada made of the next commits, and in which history.
    fn next(&mut self) -> Result<Option<(usize, Saved)>, SnapshotError> {
        loop {
            for at in 1..self.histories.len() {
                if self.waiting.len() < at {
                    self.waiting.push(self.histories[at].next_saved()?);
                }
            }
            let next = self.histories[0].peek();
            if let Some((commit, _)) = &next {
                self.seen.insert(commit.clone());
            }
            for at in 1..self.histories.len() {
                let seen = &self.seen;
                let is_due = |saved: &Saved| match &next {
                    None => true,
                    Some((_, time)) => {
                        let beside = saved.beside.as_ref();
                        beside.is_some_and(|it| seen.contains(it)) || saved.time > *time
                    }
                };
                if let Some(saved) = self.waiting[at - 1].take_if(|saved| is_due(saved)) {
                    self.waiting[at - 1] = self.histories[at].next_saved()?;
                    return Ok(Some((at, saved)));
                }
            }
            match self.histories[0].advance()? {
                None => return Ok(None),
                Some(Some(saved)) => return Ok(Some((0, saved))),
                // One of the user's.
                Some(None) => {}
            }
        }
    }
}

fn push(groups: &mut Vec<Group>, at: usize, saved: Saved, reach: (bool, bool)) {
    match groups
        .iter_mut()
        .rev()
        .find(|group| group.id == saved.batch)
    {
        Some(group) => {
            group.commits.push((at, saved));
            group.widen(reach);
        }
        None => groups.push(Group {
            id: saved.batch.clone(),
            commits: vec![(at, saved)],
            reach,
        }),
    }
}

/// What is to be taken back, newest first.
pub(super) fn choose(
    stores: &[&Snapshots],
    which: Which<'_>,
    way: Way,
) -> Result<Vec<Group>, UndoError> {
    let chosen = asked_for(stores, which, way)?;
    for group in &chosen {
        if group.reach.1 {
            return Err(UndoError::ReachesOut(group.id.clone()));
        }
        let mut moved = group
            .commits
            .iter()
            .filter_map(|(_, saved)| saved.moved.as_deref());
        if let Some(commit) = moved.next() {
            let commit = short(commit).to_owned();
            return Err(UndoError::Moved(group.id.clone(), commit));
        }
    }
    Ok(chosen)
}

fn asked_for(stores: &[&Snapshots], which: Which<'_>, way: Way) -> Result<Vec<Group>, UndoError> {
    match (way, which) {
        (Way::Undo, Which::Last(asked)) => {
            // Until the first of the next one, as only then the last one is known to be whole.
            let known = Known::of(stores, |known| known.standing().nth(asked).is_some())?;
            let found: Vec<Group> = known.standing().take(asked).cloned().collect();
            if let Some(squashed) = found.iter().find(|group| group.is_squashed()) {
                return Err(UndoError::Squashed(squashed.id.clone()));
            }
            let there = found.len();
            let few = UndoError::TooMany { asked, there };
            enough(found, asked, UndoError::NothingToUndo, few)
        }
        (Way::Redo, Which::Last(asked)) => {
            let known = Known::of(stores, |known| known.undos_here().nth(asked).is_some())?;
            let found: Vec<Group> = known.undos_here().take(asked).cloned().collect();
            let few = UndoError::TooManyToRedo {
                asked,
                there: found.len(),
                batches: found.iter().flat_map(Group::ids).count(),
            };
            enough(found, asked, UndoError::NothingToRedo, few)
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

fn enough(
    found: Vec<Group>,
    asked: usize,
    none: UndoError,
    few: UndoError,
) -> Result<Vec<Group>, UndoError> {
    match found.len() {
        0 => Err(none),
        there if there < asked => Err(few),
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
            let known = Known::of(stores, |known| known.batches_here().nth(1).is_some())?;
            let newest = known.batches_here().next().cloned();
            Ok(vec![newest.ok_or(UndoError::NothingToUndo)?])
        }
    }
}

/// The batches that were undone or done again, of those that began at a time or later, in Unix time in seconds.
///
/// # Errors
/// Where a history cannot be read.
pub fn marks(stores: &[&Snapshots], since: i64) -> Result<HashMap<String, Mark>, SnapshotError> {
    let known = Known::of(stores, |known| {
        known.reached.is_some_and(|time| time < since)
    })?;
    Ok(known.marks)
}

/// All batches of the run of that name, or the one batch whose id begins so.
///
/// # Errors
/// Where there is none, or more than one.
pub(super) fn named(known: &Known, name: &str) -> Result<Vec<Group>, UndoError> {
    let all = || known.batches.iter();
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
