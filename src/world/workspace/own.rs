//! Tells if a place belongs to clada itself. Goes by identity, since a link or another spelling may
//! name it; what does not exist yet, by its names below what does.

use std::ffi::{OsStr, OsString};
use std::fs::{self, metadata, symlink_metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use cap_std::fs::{Metadata, MetadataExt as _};

use crate::world::locked::locked;

/// Device and inode.
pub(super) type Id = (u64, u64);

/// The time for which the identity of a folder counts once it was found.
const FRESH: Duration = Duration::from_millis(5);

/// The places that no task may touch.
pub(super) struct Own {
    places: Vec<PathBuf>,
    /// The root and the folders that it is in.
    above: Vec<Id>,
    found: Mutex<Option<FoundIds>>,
}

/// The identities of the places, in their order, and the time when they were looked for.
struct FoundIds {
    at: Instant,
    ids: Vec<OwnIds>,
}

/// The identities of one place.
#[derive(Clone, Copy)]
struct OwnIds {
    /// Its own, a link not followed.
    link: Option<Id>,
    /// That of what is there when a link is followed.
    target: Option<Id>,
    is_folder: bool,
}

/// The identities of what exists on the way to a place.
pub(super) struct PlaceIds<'w> {
    /// Its names.
    pub(super) path: &'w Path,
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
        Self {
            places,
            above,
            found: Mutex::default(),
        }
    }

    /// These are clada's too.
    pub(super) fn add(&mut self, places: &[PathBuf]) {
        self.places.extend_from_slice(places);
        self.places.sort();
        self.places.dedup();
        *locked(&self.found) = None;
    }

    /// Returns the identities of those that exist.
    pub(super) fn ids(&self) -> Vec<Id> {
        let targets = self.places.iter().map(|own| OwnIds::of(own).target);
        targets.flatten().collect()
    }

    /// The identities of all, found at this moment or not long ago.
    fn compared(&self, with: &PlaceIds<'_>) -> Vec<OwnIds> {
        let mut found = locked(&self.found);
        let known = found.take().filter(|known| known.at.elapsed() < FRESH);
        let now = match known {
            Some(mut known) => {
                for (own, ids) in self.places.iter().zip(&mut known.ids) {
                    if !ids.still_count(own, with) {
                        *ids = OwnIds::of(own);
                    }
                }
                known
            }
            None => FoundIds {
                at: Instant::now(),
                ids: self.places.iter().map(|own| OwnIds::of(own)).collect(),
            },
        };
        let ids = now.ids.clone();
        *found = Some(now);
        ids
    }

    /// Tells if a place is clada's, is in a folder of clada's, or holds something of clada's.
    pub(super) fn concerns(&self, found: &PlaceIds<'_>) -> Option<Concern> {
        let ids = self.compared(found);
        self.places.iter().zip(ids).find_map(|(own, ids)| {
            let OwnIds {
                link, target: id, ..
            } = ids;
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
                let OwnIds { link, target, .. } = OwnIds::of(holder);
                target == Some(itself) || link == Some(itself)
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
    let Some(first) = found.missing.first() else {
        return false;
    };
    // Mostly no name is the same, and then nothing need be looked at.
    if !own.iter().any(|name| name.eq_ignore_ascii_case(first)) {
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
    metadata(path).ok().map(|found| id_of(&found))
}

fn id_of(found: &fs::Metadata) -> Id {
    (found.dev(), found.ino())
}

impl OwnIds {
    /// Looks at a path. Mostly one system call.
    fn of(path: &Path) -> Self {
        let Ok(found) = symlink_metadata(path) else {
            return Self {
                link: None,
                target: None,
                is_folder: false,
            };
        };
        let link = Some(id_of(&found));
        if !found.is_symlink() {
            return Self {
                link,
                target: link,
                is_folder: found.is_dir(),
            };
        }
        Self {
            link,
            target: followed(path),
            is_folder: false,
        }
    }

    /// Tells if a place of clada need not be looked at again. What a new file could be in are folders alone, and what makes one anew is
    /// slow; but an editor puts another file in the place of the notes at each save. A file of the same name is looked at in any case.
    fn still_count(&self, own: &Path, with: &PlaceIds<'_>) -> bool {
        let name = own.file_name().unwrap_or_default();
        let is_named = || with.path.iter().any(|it| it.eq_ignore_ascii_case(name));
        match with.itself {
            None => !is_named(),
            Some((_, may_hold)) => self.is_folder && !may_hold && !is_named(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_in_the_place_of_cladas_file_is_known_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let (notes, saved) = (top.join("notes.md"), top.join("saved"));
        let own = Own::new(vec![notes.clone(), top.join("later")], &top.join("root"));
        let concern = |path: &str, above: &[Id], itself| {
            own.concerns(&PlaceIds {
                path: Path::new(path),
                above,
                itself,
                missing: &[],
            })
        };
        for _ in 0..20 {
            fs::write(&saved, "text").unwrap();
            let other = id_of(&metadata(&saved).unwrap());
            assert_eq!(concern("a", &[], Some((other, false))), None);
            fs::rename(&saved, &notes).unwrap();
            assert_eq!(
                concern("a", &[], Some((other, false))),
                Some(Concern::Is),
                "by its identity alone"
            );
        }
        fs::create_dir(top.join("later")).unwrap();
        let later = id_of(&metadata(top.join("later")).unwrap());
        assert_eq!(concern("Later/new", &[later], None), Some(Concern::Is));
    }
}
