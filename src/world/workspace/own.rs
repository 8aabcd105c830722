//! Tells if a place belongs to clada itself. Goes by identity, since a link or another spelling may
//! name it; what does not exist yet, by its names below what does.

use std::ffi::{OsStr, OsString};
use std::fs::{metadata, symlink_metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use cap_std::fs::{Metadata, MetadataExt as _};

/// Device and inode.
pub(super) type Id = (u64, u64);

/// The places that no task may touch.
pub(super) struct Own {
    places: Vec<PathBuf>,
    /// The root and the folders that it is in.
    above: Vec<Id>,
}

/// The identities of what exists on the way to a place.
pub(super) struct PlaceIds<'w> {
    /// The folders from the root to it, as far as they exist.
    pub(super) above: &'w [Id],
    /// The identity of what is at the place, and true if something may be in it: in a folder, or a link to one.
    pub(super) itself: Option<(Id, bool)>,
    /// The names below the last of these that do not exist.
    pub(super) missing: &'w [OsString],
}

/// The relation of a place to what is clada's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Concern {
    Is,
    Holds,
}

impl Own {
    pub(super) fn new(mut places: Vec<PathBuf>, root: &Path) -> Self {
        places.sort();
        places.dedup();
        let above = root.ancestors().filter_map(followed).collect();
        Self { places, above }
    }

    /// These are clada's too.
    pub(super) fn add(&mut self, places: &[PathBuf]) {
        self.places.extend_from_slice(places);
        self.places.sort();
        self.places.dedup();
    }

    /// Returns the identities of those that exist.
    pub(super) fn ids(&self) -> Vec<Id> {
        self.places.iter().filter_map(|own| both(own).1).collect()
    }

    /// Tells if a place is clada's, is in a folder of clada's, or holds something of clada's.
    pub(super) fn concerns(&self, found: &PlaceIds<'_>) -> Option<Concern> {
        self.places.iter().find_map(|own| {
            let (link, id) = both(own);
            let same = |other: &Id| id.as_ref() == Some(other);
            if found.above.iter().chain(&self.above).any(same)
                || found
                    .itself
                    .is_some_and(|(itself, _)| same(&itself) || link == Some(itself))
                || id.is_none() && will_be(own, found)
            {
                return Some(Concern::Is);
            }
            let (itself, may_hold) = found.itself?;
            let holds = |holder: &Path| {
                let (link, id) = both(holder);
                id == Some(itself) || link == Some(itself)
            };
            // What is a link is held by the folders of its target as well.
            let target = if may_hold {
                own.canonicalize().ok()
            } else {
                None
            };
            let mut holders = own
                .ancestors()
                .skip(1)
                .chain(target.iter().flat_map(|target| target.ancestors().skip(1)));
            (may_hold && holders.any(holds)).then_some(Concern::Holds)
        })
    }
}

/// True if creating what is found missing would create clada's, or what is above or below it. In any letter case, as
/// the file system may not tell them apart.
fn will_be(own: &Path, found: &PlaceIds<'_>) -> bool {
    if found.missing.is_empty() {
        return false;
    }
    let mut names: Vec<&OsStr> = Vec::new();
    for above in own.ancestors() {
        if let Some(id) = followed(above) {
            let both = names.iter().rev().zip(found.missing);
            return Some(&id) == found.above.last()
                && both
                    .into_iter()
                    .all(|(own, other)| own.eq_ignore_ascii_case(other));
        }
        names.extend(above.file_name());
    }
    false
}

pub(super) fn id(found: &Metadata) -> Id {
    (found.dev(), found.ino())
}

fn followed(path: &Path) -> Option<Id> {
    metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// Returns the identity of what is at a path itself, and of what is there when a link is followed. Mostly one system call:
/// this is asked for each of clada's own files at each task, and took most of the time of 200 edits when it was two or more.
fn both(path: &Path) -> (Option<Id>, Option<Id>) {
    match symlink_metadata(path) {
        Ok(found) => {
            let id = Some((found.dev(), found.ino()));
            let is_link = found.is_symlink();
            (id, if is_link { followed(path) } else { id })
        }
        Err(_) => (None, None),
    }
}
