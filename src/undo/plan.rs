//! What taking commits back comes to, path by path. Changes nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Group, UndoError, in_the_way, present};
use crate::lang::entry::Entry;
use crate::world::snapshot::{Held, Saved, Snapshots, merge};
use crate::world::workspace::Disk;

/// A place that is to hold something else.
#[derive(Debug)]
pub(super) struct Write {
    pub(super) path: PathBuf,
    pub(super) old: Option<Entry>,
    pub(super) new: Option<Entry>,
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
    Present(Option<Held>),
    /// What a commit has; `None` is before the first.
    Of(Option<Held>, Option<String>),
    Merged(Option<Entry>),
}

impl Value {
    fn held(&self) -> Option<Option<Held>> {
        match self {
            Self::Present(held) | Self::Of(held, _) => Some(*held),
            Self::Merged(_) => None,
        }
    }
}

impl Plan {
    /// Takes back these groups, newest first: a path that has what a commit left gets what was there before it. One that
    /// has something else is in the way, unless what changed since is to be kept: then the two are merged.
    pub(super) fn of(
        stores: &[&Snapshots],
        groups: &[Group],
        keep: bool,
        disk: &Disk,
    ) -> Result<Self, UndoError> {
        let mut plan = Self::default();
        let mut trouble = Vec::new();
        for (at, store) in stores.iter().enumerate() {
            let commits: Vec<&Saved> = groups
                .iter()
                .flat_map(|group| &group.commits)
                .filter(|(of, _)| *of == at)
                .map(|(_, saved)| saved)
                .collect();
            let store = Store {
                store,
                disk,
                keep,
                oldest: commits.last().and_then(|saved| saved.parent.clone()),
            };
            store.take_back(&commits, &mut plan, &mut trouble)?;
        }
        trouble.sort();
        if trouble.is_empty() {
            return Ok(plan);
        }
        let trouble = in_the_way::name(stores, groups, trouble)?;
        Err(match keep {
            false => UndoError::Changed(trouble),
            true => UndoError::Collides(trouble),
        })
    }
}

struct Store<'s> {
    store: &'s Snapshots,
    disk: &'s Disk,
    keep: bool,
    /// What was before all of it: most paths get what that has, so it is read in one go.
    oldest: Option<String>,
}

impl Store<'_> {
    fn take_back(
        &self,
        commits: &[&Saved],
        plan: &mut Plan,
        trouble: &mut Vec<PathBuf>,
    ) -> Result<(), UndoError> {
        let mut values: BTreeMap<PathBuf, Option<Value>> = BTreeMap::new();
        for saved in commits {
            let after = Some(saved.commit.as_str());
            let before = saved.parent.as_deref();
            for change in self.store.changes(before, after)? {
                let value = match values.get(&change.path) {
                    Some(None) => continue,
                    Some(Some(value)) => value.clone(),
                    None => Value::Present(self.store.held_now(&change.path)?),
                };
                let next = self.step(&change.path, value, (before, after), change.held)?;
                values.insert(change.path, next);
            }
        }
        let mut of: BTreeMap<Option<String>, Vec<PathBuf>> = BTreeMap::new();
        for (path, value) in values {
            match value {
                None => trouble.push(path),
                Some(Value::Present(_)) => {}
                Some(Value::Merged(new)) => self.write(path, new, plan)?,
                Some(Value::Of(held, commit)) => {
                    if held == self.store.held_now(&path)? {
                        continue;
                    }
                    let oldest = commit == self.oldest
                        || self.store.held(self.oldest.as_deref(), &path)? == held;
                    let commit = if oldest { self.oldest.clone() } else { commit };
                    of.entry(commit).or_default().push(path);
                }
            }
        }
        for (commit, paths) in of {
            let entries = self.store.entries(commit.as_deref(), &paths)?;
            for (path, new) in paths.into_iter().zip(entries) {
                self.write(path, new, plan)?;
            }
        }
        Ok(())
    }

    fn write(&self, path: PathBuf, new: Option<Entry>, plan: &mut Plan) -> Result<(), UndoError> {
        let old = present(self.disk, &path)?;
        if old != new {
            plan.writes.push(Write { path, old, new });
        }
        Ok(())
    }

    /// What a path holds when one commit is taken back; `None` where something is in the way.
    fn step(
        &self,
        path: &Path,
        value: Value,
        (before, after): (Option<&str>, Option<&str>),
        [was, left]: [Option<Held>; 2],
    ) -> Result<Option<Value>, UndoError> {
        let held = value.held();
        if held == Some(left) {
            return Ok(Some(Value::Of(was, before.map(str::to_owned))));
        }
        if held == Some(was) {
            return Ok(Some(value));
        }
        if !self.keep {
            return Ok(None);
        }
        let ours = match value {
            Value::Present(_) => present(self.disk, path)?,
            Value::Of(_, commit) => self.store.entry(commit.as_deref(), path)?,
            Value::Merged(entry) => entry,
        };
        let left = self.store.entry(after, path)?;
        let was = self.store.entry(before, path)?;
        Ok(merge(left.as_ref(), ours.as_ref(), was.as_ref()).map(Value::Merged))
    }
}
