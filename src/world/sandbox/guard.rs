//! Sees whether guarded paths were changed while something ran. Never reads their contents, and stops nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The state of paths at one moment.
#[derive(Debug)]
pub struct Guard {
    paths: Vec<PathBuf>,
    before: BTreeMap<PathBuf, Print>,
}

/// The most paths that are looked at: a link could lead to a whole disk.
const MOST: usize = 10_000;

/// The data by which a file is known again. The times of a directory are left out: they change with its entries, which have
/// their own.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Print {
    device: u64,
    inode: u64,
    mode: u32,
    owner: (u32, u32),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Guard {
    /// Looks at these paths and at every entry below them. What is missing may be missing.
    pub fn of(paths: &[PathBuf]) -> Self {
        Self {
            paths: paths.to_vec(),
            before: prints(paths),
        }
    }

    /// Lists the paths that are new, gone or changed now.
    pub fn changed(&self) -> Vec<PathBuf> {
        let now = prints(&self.paths);
        let paths: BTreeSet<&PathBuf> = self.before.keys().chain(now.keys()).collect();
        let is_changed = |path: &&PathBuf| self.before.get(*path) != now.get(*path);
        paths.into_iter().filter(is_changed).cloned().collect()
    }
}

fn prints(paths: &[PathBuf]) -> BTreeMap<PathBuf, Print> {
    let mut prints = BTreeMap::new();
    let mut next = paths.to_vec();
    while let Some(path) = next.pop() {
        if prints.len() == MOST {
            break;
        }
        let Ok(meta) = fs::symlink_metadata(&path) else {
            continue;
        };
        if meta.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            next.extend(entries.map(|entry| entry.path()));
        } else if meta.is_symlink() {
            // The link can stay while what it leads to changes.
            let target = path.canonicalize().ok();
            next.extend(target.filter(|target| !prints.contains_key(target)));
        }
        prints.insert(path, Print::of(&meta));
    }
    prints
}

impl Print {
    pub(super) fn of(meta: &Metadata) -> Self {
        let timed = !meta.is_dir();
        let time = |seconds, nanos| if timed { (seconds, nanos) } else { (0, 0) };
        Self {
            device: meta.dev(),
            inode: meta.ino(),
            mode: meta.mode(),
            owner: (meta.uid(), meta.gid()),
            size: if timed { meta.size() } else { 0 },
            modified: time(meta.mtime(), meta.mtime_nsec()),
            changed: time(meta.ctime(), meta.ctime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_gone_or_changed_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("hooks")).unwrap();
        for name in ["hooks/same", "hooks/gone", "hooks/rewritten", "config"] {
            fs::write(at(name), "old").unwrap();
        }
        let guard = Guard::of(&[at("hooks"), at("config"), at("missing"), at("absent")]);
        assert_eq!(guard.changed(), Vec::<PathBuf>::new());

        fs::remove_file(at("hooks/gone")).unwrap();
        fs::write(at("hooks/new"), "").unwrap();
        fs::write(at("hooks/rewritten"), "new").unwrap();
        fs::write(at("missing"), "").unwrap();
        let expect = ["hooks/gone", "hooks/new", "hooks/rewritten", "missing"];
        assert_eq!(guard.changed(), expect.map(at));
    }

    #[test]
    fn a_replaced_directory_and_a_changed_target_are_seen() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        fs::create_dir(dir.join("hooks")).unwrap();
        fs::write(dir.join("target"), "").unwrap();
        std::os::unix::fs::symlink("target", dir.join("link")).unwrap();
        let guard = Guard::of(&[dir.join("hooks"), dir.join("link")]);
        fs::rename(dir.join("hooks"), dir.join("moved")).unwrap();
        fs::create_dir(dir.join("hooks")).unwrap();
        fs::write(dir.join("target"), "more").unwrap();
        assert_eq!(guard.changed(), [dir.join("hooks"), dir.join("target")]);
    }
}
