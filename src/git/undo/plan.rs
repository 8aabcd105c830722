//! What taking commits back comes to, path by path. Changes nothing.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Group, UndoError, in_the_way, present};
use crate::git::{Held, Saved, Snapshots, merge};
use crate::world::file_or_link::FileOrLink;
use crate::world::workspace::Disk;

/// A place that is to hold something else.
#[derive(Debug)]
pub(super) struct Write {
    pub(super) path: PathBuf,
    pub(super) old: Option<FileOrLink>,
    pub(super) new: Option<FileOrLink>,
    /// Git is to track it.
    pub(super) tracked: bool,
}

/// All that is to be written.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) writes: Vec<Write>,
}

/// What a path holds by now, as commit after commit is taken back.
#[derive(Debug, Clone)]
enum Value {
    /// What is on the disk.
    Present,
    /// What a commit of a store has; no commit is before the first.
    Of(usize, Option<Held>, Option<String>),
    Merged(Option<FileOrLink>),
}

/// A path, and whether git is to track it.
type TrackedPath = (PathBuf, bool);

/// A path on the way back.
#[derive(Debug)]
struct Course {
    /// `None` where something is in the way.
    value: Option<Value>,
    /// What the first store, which is git's own, had after the newest and before the oldest of these commits that changed
    /// it there.
    git: Option<[Option<Held>; 2]>,
}

/// A change of a path by a commit of a store.
struct Changed<'c> {
    store: usize,
    saved: &'c Saved,
    held: [Option<Held>; 2],
}

impl Plan {
    /// Takes back these groups, newest first: a path that has what a commit left gets what was there before it. One that
    /// has something else is in the way, unless what changed since is to be kept: then the two are merged.
    ///
    /// Of a path that git did not track for a part of the time, the private snapshots have what was on the disk then. The
    /// histories are one here, newest first.
    pub(super) fn of(
        stores: &[&Snapshots],
        groups: &[Group],
        keep: bool,
        disk: &Disk,
    ) -> Result<Self, UndoError> {
        let stores = Stores {
            stores,
            disk,
            keep,
            oldest: (0..stores.len())
                .map(|store| oldest(groups, store))
                .collect(),
        };
        let mut courses: BTreeMap<PathBuf, Course> = BTreeMap::new();
        for group in groups {
            for (path, changes) in stores.changes(group)? {
                let course = courses.entry(path.clone()).or_insert(Course {
                    value: Some(Value::Present),
                    git: None,
                });
                stores.take_back(&path, &changes, course)?;
            }
        }
        let mut trouble: Vec<PathBuf> = Vec::new();
        let mut plan = Self::default();
        stores.write(courses, &mut plan, &mut trouble)?;
        if trouble.is_empty() {
            return Ok(plan);
        }
        let trouble = in_the_way::name(stores.stores, groups, trouble)?;
        Err(if keep {
            UndoError::Collides(trouble)
        } else {
            UndoError::Changed(trouble)
        })
    }
}

/// The commit before all of a store's that are taken back.
fn oldest(groups: &[Group], store: usize) -> Option<String> {
    let commits = groups.iter().flat_map(|group| &group.commits);
    let oldest = commits.rev().find(|(of, _)| *of == store);
    oldest.and_then(|(_, saved)| saved.parent.clone())
}

struct Stores<'s> {
    stores: &'s [&'s Snapshots],
    disk: &'s Disk,
    keep: bool,
    /// What was before all of it, in each store: most paths get what that has, so it is read in one go.
    oldest: Vec<Option<String>>,
}

impl Stores<'_> {
    /// What a group changed, newest first, by path.
    fn changes<'g>(
        &self,
        group: &'g Group,
    ) -> Result<BTreeMap<PathBuf, Vec<Changed<'g>>>, UndoError> {
        let mut all: BTreeMap<PathBuf, Vec<Changed<'g>>> = BTreeMap::new();
        let mut commits: Vec<&(usize, Saved)> = group.commits.iter().collect();
        if group.is_squashed() {
            // All of git's are one.
            commits.sort_by_key(|(store, _)| Reverse(*store));
        }
        for (store, saved) in commits {
            let changes =
                self.stores[*store].changes(saved.parent.as_deref(), Some(&saved.commit))?;
            for change in changes {
                all.entry(change.path).or_default().push(Changed {
                    store: *store,
                    saved,
                    held: change.held,
                });
            }
        }
        Ok(all)
    }

    /// Takes back what one group did to a path.
    fn take_back(
        &self,
        path: &Path,
        changes: &[Changed<'_>],
        course: &mut Course,
    ) -> Result<(), UndoError> {
        let mut aside: Vec<&Changed<'_>> = Vec::new();
        for change in changes {
            if change.store == 0 {
                let left = course.git.map_or(change.held[1], |[left, _]| left);
                course.git = Some([left, change.held[0]]);
            }
            let Some(value) = course.value.take() else {
                return Ok(());
            };
            let twin = match change.store {
                0 => self.twin(path, change, &aside)?,
                _ => None,
            };
            course.value = match twin.map(|twin| twin.held[0]) {
                // The snapshots have what was there.
                Some(Some(_)) => Some(value),
                // Only git had it.
                Some(None) => {
                    let before = change.saved.parent.clone();
                    Some(Value::Of(0, change.held[0], before))
                }
                None => self.step(path, value, change)?,
            };
            if change.store != 0 {
                aside.push(change);
            }
        }
        Ok(())
    }

    /// The same change in the private snapshots: what was untracked before a task, and is tracked after it, is in both.
    fn twin<'t>(
        &self,
        path: &Path,
        change: &Changed<'_>,
        aside: &[&'t Changed<'t>],
    ) -> Result<Option<&'t Changed<'t>>, UndoError> {
        let left = |change: &Changed<'_>| {
            let store = self.stores[change.store];
            store.entry(Some(&change.saved.commit), path)
        };
        if change.held[1].is_none() || aside.is_empty() {
            return Ok(None);
        }
        let ours = left(change)?;
        for twin in aside {
            if left(twin)? == ours {
                return Ok(Some(twin));
            }
        }
        Ok(None)
    }

    /// What a path holds when one commit is taken back; `None` where something is in the way.
    fn step(
        &self,
        path: &Path,
        value: Value,
        change: &Changed<'_>,
    ) -> Result<Option<Value>, UndoError> {
        let store = self.stores[change.store];
        let (before, after) = (change.saved.parent.clone(), &change.saved.commit);
        let [was, left] = change.held;
        let entry = |commit: Option<&str>| store.entry(commit, path);
        let (is_left, is_was) = match &value {
            Value::Present => {
                let held = store.held_now(path)?;
                (held == left, held == was)
            }
            Value::Of(of, held, _) if *of == change.store => (*held == left, *held == was),
            // Another store has it in its own way, and a merge has none.
            other => {
                let now = self.entry(path, other)?;
                (now == entry(Some(after))?, now == entry(before.as_deref())?)
            }
        };
        if is_left {
            return Ok(Some(Value::Of(change.store, was, before)));
        }
        if is_was {
            return Ok(Some(value));
        }
        if !self.keep {
            return Ok(None);
        }
        let ours = self.entry(path, &value)?;
        let (left, was) = (entry(Some(after))?, entry(before.as_deref())?);
        Ok(merge(left.as_ref(), ours.as_ref(), was.as_ref()).map(Value::Merged))
    }

    fn entry(&self, path: &Path, value: &Value) -> Result<Option<FileOrLink>, UndoError> {
        Ok(match value {
            Value::Present => present(self.disk, path)?,
            Value::Of(store, _, commit) => self.stores[*store].entry(commit.as_deref(), path)?,
            Value::Merged(entry) => entry.clone(),
        })
    }

    /// What is to be written in the end, and what is in the way.
    fn write(
        &self,
        courses: BTreeMap<PathBuf, Course>,
        plan: &mut Plan,
        trouble: &mut Vec<PathBuf>,
    ) -> Result<(), UndoError> {
        let mut of: BTreeMap<(usize, Option<String>), Vec<TrackedPath>> = BTreeMap::new();
        for (path, Course { value, git }) in courses {
            let Some(value) = value else {
                trouble.push(path);
                continue;
            };
            let tracked = self.is_to_be_tracked(&path, git)?;
            match value {
                Value::Present => {}
                Value::Merged(new) => self.put(path, (new, tracked), plan)?,
                Value::Of(at, held, commit) => {
                    let (store, oldest) = (self.stores[at], &self.oldest[at]);
                    let is_there = held == store.held_now(&path)?;
                    if is_there && !self.is_otherwise(&path, tracked)? {
                        continue;
                    }
                    let is_oldest =
                        commit == *oldest || store.held(oldest.as_deref(), &path)? == held;
                    let commit = if is_oldest { oldest.clone() } else { commit };
                    of.entry((at, commit)).or_default().push((path, tracked));
                }
            }
        }
        for ((store, commit), places) in of {
            let paths: Vec<PathBuf> = places.iter().map(|(path, _)| path.clone()).collect();
            let entries = self.stores[store].entries(commit.as_deref(), &paths)?;
            for ((path, tracked), new) in places.into_iter().zip(entries) {
                self.put(path, (new, tracked), plan)?;
            }
        }
        Ok(())
    }

    /// Decides that git tracks a path afterwards: as it did before the oldest of the commits that changed it there. What the
    /// user took out of git since stays out.
    fn is_to_be_tracked(
        &self,
        path: &Path,
        git: Option<[Option<Held>; 2]>,
    ) -> Result<bool, UndoError> {
        let is_tracked = self.stores[0].is_tracked(path)?;
        let Some([left, was]) = git else {
            return Ok(is_tracked);
        };
        let is_taken_out = !is_tracked && left.is_some() && present(self.disk, path)?.is_some();
        Ok(was.is_some() && !is_taken_out)
    }

    /// Tells that git tracks a path that it is not to, or the other way round. Private snapshots have all.
    fn is_otherwise(&self, path: &Path, tracked: bool) -> Result<bool, UndoError> {
        let git = self.stores[0];
        Ok(!git.is_private() && git.is_tracked(path)? != tracked)
    }

    fn put(
        &self,
        path: PathBuf,
        (new, tracked): (Option<FileOrLink>, bool),
        plan: &mut Plan,
    ) -> Result<(), UndoError> {
        // What a link leads to is not at this path.
        let old = match self.stores[0].held_now(&path)? {
            Some(_) => present(self.disk, &path)?,
            None => None,
        };
        let is_otherwise = new.is_some() && self.is_otherwise(&path, tracked)?;
        if old != new || is_otherwise {
            plan.writes.push(Write {
                path,
                old,
                new,
                tracked,
            });
        }
        Ok(())
    }
}
