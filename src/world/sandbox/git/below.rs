//! Finds the git repositories in a project, and sees what scripts make of them. Never leaves the project, and follows no link.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::danger::{Danger, judge};
use super::index::gitlinks;
use super::{directories, guards_in, is_git_dir, nearest, shared_dir};
use crate::world::locked::locked;
use crate::world::sandbox::real;

/// The most that one look takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct LookLimits {
    pub(super) folders: usize,
    /// In all folders.
    pub(super) entries: usize,
    pub(super) time: Duration,
}

const LIMITS: LookLimits = LookLimits {
    folders: 10_000,
    entries: 300_000,
    time: Duration::from_millis(500),
};

/// The most repositories that are kept from scripts; the others are only looked at afterwards.
const KEPT: usize = 50;

/// The repositories of a project: the one that it is in, and those in it.
#[derive(Debug)]
pub struct Repositories {
    /// Canonical.
    root: PathBuf,
    /// Tells the folders that are passed over: those of tools. By their names alone, as a command could have any passed over
    /// by what it puts into it.
    is_left_out: fn(&Path) -> bool,
    limits: LookLimits,
    known: Mutex<LastLook>,
}

/// The findings of the last look.
#[derive(Debug, Default)]
struct LastLook {
    /// A `.git`, or a git directory itself.
    places: BTreeSet<PathBuf>,
    dangers: BTreeSet<Danger>,
    /// There was more than is looked at.
    is_cut: bool,
    /// It took longer than a look may.
    is_late: bool,
}

/// The results of a look.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Planted {
    /// The programs that could run now and could not before.
    pub dangers: Vec<Danger>,
    /// There are more folders now than are looked into, and there were not before.
    pub is_cut: bool,
}

impl Repositories {
    /// Looks for the repositories of a project.
    pub fn of(root: &Path, is_left_out: fn(&Path) -> bool) -> Self {
        Self::within(LIMITS, root, is_left_out)
    }

    /// Looks for them within such limits, now and later.
    pub(super) fn within(limits: LookLimits, root: &Path, is_left_out: fn(&Path) -> bool) -> Self {
        let root = real(root);
        let mut known = LastLook::default();
        known.walk(&root, is_left_out, limits);
        let own = nearest(&root).into_iter().chain(shared_dir(&root));
        known.places.extend(own.chain(in_index(&root)));
        Self {
            root,
            is_left_out,
            limits,
            known: Mutex::new(known),
        }
    }

    /// Tells that not all folders were looked into.
    pub fn is_cut(&self) -> bool {
        let known = self.known();
        known.is_cut || known.is_late
    }

    /// The repositories in the project, each by its `.git` or its git directory, without the one that the project is in.
    pub fn below(&self) -> Vec<PathBuf> {
        let own = [nearest(&self.root), shared_dir(&self.root)];
        let known = self.known();
        let below = known.places.iter();
        let below = below.filter(|place| !own.contains(&Some((*place).clone())));
        below.take(KEPT).cloned().collect()
    }

    /// Takes in what could run now.
    pub fn look(&self) {
        let mut known = self.known();
        known.dangers = known.judged(&self.root);
    }

    /// Looks again, and returns what came since the last look. That is known from then on.
    pub fn planted(&self) -> Planted {
        let mut known = self.known();
        let mut now = LastLook {
            places: known.places.clone(),
            ..LastLook::default()
        };
        now.walk(&self.root, self.is_left_out, self.limits);
        now.places.extend(in_index(&self.root));
        now.dangers = now.judged(&self.root);
        let planted = Planted {
            dangers: now.dangers.difference(&known.dangers).cloned().collect(),
            is_cut: now.is_cut && !known.is_cut,
        };
        *known = now;
        planted
    }

    fn known(&self) -> MutexGuard<'_, LastLook> {
        locked(&self.known)
    }
}

/// The repositories in a project that git goes into by itself, also in folders that are passed over.
fn in_index(root: &Path) -> Vec<PathBuf> {
    let own = nearest(root).and_then(|dot_git| Some((directories(&dot_git, &[])?.0, dot_git)));
    let Some((own, Some(top))) = own.as_ref().map(|(own, dot_git)| (own, dot_git.parent())) else {
        return Vec::new();
    };
    let found = gitlinks(&own.join("index")).into_iter();
    let found = found.map(|path| top.join(path).join(".git"));
    found
        .filter(|place| place.starts_with(root) && place.symlink_metadata().is_ok())
        .collect()
}

/// Lists the files in these repositories that tell git what to run, as far as they are there.
pub fn guards_of(places: &[PathBuf]) -> Vec<PathBuf> {
    let guards = places.iter().flat_map(|place| {
        let is_dir = place.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        if is_dir {
            guards_in(place).collect()
        } else {
            vec![place.clone()]
        }
    });
    let is_there = |path: &PathBuf| {
        let kind = fs::symlink_metadata(path).map(|meta| meta.file_type());
        kind.is_ok_and(|kind| kind.is_file() || kind.is_dir())
    };
    guards.filter(is_there).collect()
}

impl LastLook {
    fn judged(&self, root: &Path) -> BTreeSet<Danger> {
        let places = self.places.iter();
        places.flat_map(|place| judge(place, root)).collect()
    }

    /// Looks into all folders, the upper ones first.
    fn walk(&mut self, root: &Path, is_left_out: fn(&Path) -> bool, limits: LookLimits) {
        let until = Instant::now() + limits.time;
        let (mut folders, mut entries) = (0, 0);
        let mut next = VecDeque::from([root.to_owned()]);
        while let Some(folder) = next.pop_front() {
            folders += 1;
            self.is_cut = folders > limits.folders || entries > limits.entries;
            self.is_late = Instant::now() > until;
            if self.is_cut || self.is_late {
                return;
            }
            let mut has_head = false;
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                entries += 1;
                let name = entry.file_name();
                if name == ".git" {
                    self.places.insert(entry.path());
                } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    next.extend(Some(entry.path()).filter(|folder| !is_left_out(folder)));
                } else {
                    has_head |= name == "HEAD";
                }
            }
            // One without a work tree, which git takes for one where it is called in it.
            if has_head && is_git_dir(&folder) {
                self.places.insert(folder);
            }
        }
    }
}
