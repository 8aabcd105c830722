//! The plan of taking commits back, path by path. Changes nothing.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{BatchCommits, UndoError, in_the_way};
use crate::git::{ContentId, Saved, Store, merge};
use crate::world::file_or_link::FileOrLink;
use crate::world::workspace::Disk;

/// A place that is to hold something else.
#[derive(Debug)]
pub(super) struct FileWrite {
    pub(super) path: PathBuf,
    pub(super) old: Option<FileOrLink>,
    pub(super) new: Option<FileOrLink>,
    /// Git is to track it.
    pub(super) tracked: bool,
}

/// The content of a path, as commit after commit is taken back.
#[derive(Debug, Clone)]
enum PathContent {
    /// The content on the disk.
    Present,
    /// The content that a commit of a store has; no commit is before the first.
    Of(usize, Option<ContentId>, Option<String>),
    Merged(Option<FileOrLink>),
}

/// A path on the way back.
#[derive(Debug)]
struct Rollback {
    /// `None` where something is in the way.
    content: Option<PathContent>,
    /// The contents that the first store, which is git's own, had after the newest and before the oldest of these commits
    /// that changed it there.
    git: Option<[Option<ContentId>; 2]>,
}

/// A change of a path by a commit of a store.
struct CommittedChange<'c> {
    store: usize,
    saved: &'c Saved,
    held: [Option<ContentId>; 2],
}

/// Takes back these groups, newest first: a path that has what a commit left gets what was there before it. One that
/// has something else is in the way, unless what changed since is to be kept: then the two are merged.
///
/// Of a path that git did not track for a part of the time, the private snapshots have what was on the disk then. The
/// histories are one here, newest first.
pub(super) fn plan(
    stores: &[&Store],
    groups: &[BatchCommits],
    keep: bool,
    disk: &Disk,
) -> Result<Vec<FileWrite>, UndoError> {
    let planner = Planner {
        stores,
        disk,
        keep,
        oldest: (0..stores.len())
            .map(|store| oldest(groups, store))
            .collect(),
    };
    let mut rollbacks: BTreeMap<PathBuf, Rollback> = BTreeMap::new();
    for group in groups {
        for (path, changes) in planner.changes(group)? {
            let rollback = rollbacks.entry(path.clone()).or_insert(Rollback {
                content: Some(PathContent::Present),
                git: None,
            });
            planner.take_back(&path, &changes, rollback)?;
        }
    }
    let of_paths = rollbacks.iter();
    let blocked = of_paths.filter(|(_, rollback)| rollback.content.is_none());
    let blocked: Vec<PathBuf> = blocked.map(|(path, _)| path.clone()).collect();
    if blocked.is_empty() {
        return planner.writes(rollbacks);
    }
    let named = in_the_way::name(stores, groups, blocked)?;
    Err(if keep {
        UndoError::Collides(named)
    } else {
        UndoError::Changed(named)
    })
}

/// The commit before all of a store's that are taken back.
fn oldest(groups: &[BatchCommits], store: usize) -> Option<String> {
    let commits = groups.iter().flat_map(|group| &group.commits);
    let oldest = commits.rev().find(|(of, _)| *of == store);
    oldest.and_then(|(_, saved)| saved.parent.clone())
}

/// The planning of it.
struct Planner<'s> {
    stores: &'s [&'s Store],
    disk: &'s Disk,
    keep: bool,
    /// The commit before all of it, in each store: most paths get what that has, so it is read in one go.
    oldest: Vec<Option<String>>,
}

impl Planner<'_> {
    /// The changes of a group, newest first, by path.
    fn changes<'g>(
        &self,
        group: &'g BatchCommits,
    ) -> Result<BTreeMap<PathBuf, Vec<CommittedChange<'g>>>, UndoError> {
        let mut all: BTreeMap<PathBuf, Vec<CommittedChange<'g>>> = BTreeMap::new();
        let mut commits: Vec<&(usize, Saved)> = group.commits.iter().collect();
        if group.is_squashed() {
            // All of git's are one.
            commits.sort_by_key(|(store, _)| Reverse(*store));
        }
        for (store, saved) in commits {
            let changes =
                self.stores[*store].changes(saved.parent.as_deref(), Some(&saved.commit))?;
            for change in changes {
                all.entry(change.path).or_default().push(CommittedChange {
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
        changes: &[CommittedChange<'_>],
        rollback: &mut Rollback,
    ) -> Result<(), UndoError> {
        let mut aside: Vec<&CommittedChange<'_>> = Vec::new();
        for change in changes {
            if change.store == 0 {
                let left = rollback.git.map_or(change.held[1], |[left, _]| left);
                rollback.git = Some([left, change.held[0]]);
            }
            let Some(content) = rollback.content.take() else {
                return Ok(());
            };
            let twin = match change.store {
                0 => self.twin(path, change, &aside)?,
                _ => None,
            };
            rollback.content = match twin.map(|twin| twin.held[0]) {
                // The snapshots have what was there.
                Some(Some(_)) => Some(content),
                // Only git had it.
                Some(None) => {
                    let before = change.saved.parent.clone();
                    Some(PathContent::Of(0, change.held[0], before))
                }
                None => self.step(path, content, change)?,
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
        change: &CommittedChange<'_>,
        aside: &[&'t CommittedChange<'t>],
    ) -> Result<Option<&'t CommittedChange<'t>>, UndoError> {
        let left = |change: &CommittedChange<'_>| {
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

    /// The content of a path when one commit is taken back; `None` where something is in the way.
    fn step(
        &self,
        path: &Path,
        content: PathContent,
        change: &CommittedChange<'_>,
    ) -> Result<Option<PathContent>, UndoError> {
        let store = self.stores[change.store];
        let (before, after) = (change.saved.parent.clone(), &change.saved.commit);
        let [was, left] = change.held;
        let entry = |commit: Option<&str>| store.entry(commit, path);
        let (is_left, is_was) = match &content {
            PathContent::Present => {
                let held = store.held_now(path)?;
                (held == left, held == was)
            }
            PathContent::Of(of, held, _) if *of == change.store => (*held == left, *held == was),
            // Another store has it in its own way, and a merge has none.
            other => {
                let now = self.entry(path, other)?;
                (now == entry(Some(after))?, now == entry(before.as_deref())?)
            }
        };
        if is_left {
            return Ok(Some(PathContent::Of(change.store, was, before)));
        }
        if is_was {
            return Ok(Some(content));
        }
        if !self.keep {
            return Ok(None);
        }
        let ours = self.entry(path, &content)?;
        let (left, was) = (entry(Some(after))?, entry(before.as_deref())?);
        Ok(merge(left.as_ref(), ours.as_ref(), was.as_ref()).map(PathContent::Merged))
    }

    fn entry(&self, path: &Path, content: &PathContent) -> Result<Option<FileOrLink>, UndoError> {
        Ok(match content {
            PathContent::Present => self.disk.entry(path)?,
            PathContent::Of(store, _, commit) => {
                self.stores[*store].entry(commit.as_deref(), path)?
            }
            PathContent::Merged(entry) => entry.clone(),
        })
    }

    /// Lists what is to be written in the end.
    fn writes(&self, rollbacks: BTreeMap<PathBuf, Rollback>) -> Result<Vec<FileWrite>, UndoError> {
        let mut writes = Vec::new();
        let mut of: BTreeMap<_, (Vec<PathBuf>, Vec<bool>)> = BTreeMap::new();
        for (path, Rollback { content, git }) in rollbacks {
            let tracked = self.is_to_be_tracked(&path, git)?;
            match content {
                None | Some(PathContent::Present) => {}
                Some(PathContent::Merged(new)) => {
                    writes.extend(self.write(path, new, tracked)?);
                }
                Some(PathContent::Of(at, held, commit)) => {
                    let (store, oldest) = (self.stores[at], &self.oldest[at]);
                    let is_there = held == store.held_now(&path)?;
                    if is_there && !self.is_otherwise(&path, tracked)? {
                        continue;
                    }
                    let is_oldest =
                        commit == *oldest || store.held(oldest.as_deref(), &path)? == held;
                    let commit = if is_oldest { oldest.clone() } else { commit };
                    let places = of.entry((at, commit)).or_default();
                    places.0.push(path);
                    places.1.push(tracked);
                }
            }
        }
        for ((store, commit), (paths, tracked)) in of {
            let entries = self.stores[store].entries(commit.as_deref(), &paths)?;
            for ((path, tracked), new) in paths.into_iter().zip(tracked).zip(entries) {
                writes.extend(self.write(path, new, tracked)?);
            }
        }
        Ok(writes)
    }

    /// Decides that git tracks a path afterwards: as it did before the oldest of the commits that changed it there. What the
    /// user took out of git since stays out.
    fn is_to_be_tracked(
        &self,
        path: &Path,
        git: Option<[Option<ContentId>; 2]>,
    ) -> Result<bool, UndoError> {
        let is_tracked = self.stores[0].is_tracked(path)?;
        let Some([left, was]) = git else {
            return Ok(is_tracked);
        };
        let is_taken_out = !is_tracked && left.is_some() && self.disk.entry(path)?.is_some();
        Ok(was.is_some() && !is_taken_out)
    }

    /// True if git tracks a path that it is not to, or the other way round. Private snapshots have all.
    fn is_otherwise(&self, path: &Path, tracked: bool) -> Result<bool, UndoError> {
        let git = self.stores[0];
        Ok(!git.is_private() && git.is_tracked(path)? != tracked)
    }

    fn write(
        &self,
        path: PathBuf,
        new: Option<FileOrLink>,
        tracked: bool,
    ) -> Result<Option<FileWrite>, UndoError> {
        // What a link leads to is not at this path.
        let old = match self.stores[0].held_now(&path)? {
            Some(_) => self.disk.entry(&path)?,
            None => None,
        };
        if old == new && (new.is_none() || !self.is_otherwise(&path, tracked)?) {
            return Ok(None);
        }
        Ok(Some(FileWrite {
            path,
            old,
            new,
            tracked,
        }))
    }
}
