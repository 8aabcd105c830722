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

/// The time for which the identities that were found count, as long as they refuse nothing.
const FRESH: Duration = Duration::from_millis(5);

/// The places that no task may touch.
pub(super) struct Own {
    places: Vec<PathBuf>,
    /// Their last names.
    names: Vec<OsString>,
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
}

/// The identities of what exists on the way to a place.
pub(super) struct PlaceIds<'w> {
    /// Its names.
    pub(super) path: &'w Path,
    /// The folders from the root to it, as far as they exist.
    pub(super) above: &'w [Id],
    pub(super) itself: Option<ItselfId>,
    /// The names below the last of these that do not exist.
    pub(super) missing: &'w [OsString],
}

/// The identity of what is at a place.
#[derive(Clone, Copy)]
pub(super) struct ItselfId {
    pub(super) id: Id,
    /// Something may be in it: it is a folder, or a link to one.
    pub(super) may_hold: bool,
    /// It has no other name.
    pub(super) is_sole: bool,
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
            names: last_names(&places),
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
        self.names = last_names(&self.places);
        *locked(&self.found) = None;
    }

    /// Returns the identities of those that exist.
    pub(super) fn ids(&self) -> Vec<Id> {
        let targets = self.places.iter().map(|own| OwnIds::of(own).target);
        targets.flatten().collect()
    }

    /// Tells if a place is clada's, is in a folder of clada's, or holds something of clada's. What is refused is refused by
    /// what is there at this moment.
    pub(super) fn concerns(&self, found: &PlaceIds<'_>) -> Option<Concern> {
        let mut known = locked(&self.found);
        let is_known =
            |known: &FoundIds| known.at.elapsed() < FRESH && self.may_count(known, found);
        if let Some(known) = known.as_ref().filter(|known| is_known(known))
            && self.compared(&known.ids, found).is_none()
        {
            return None;
        }
        let now = FoundIds {
            at: Instant::now(),
            ids: self.places.iter().map(|own| OwnIds::of(own)).collect(),
        };
        let concern = self.compared(&now.ids, found);
        *known = Some(now);
        concern
    }

    /// Tells if identities that were found a moment ago tell enough of a place.
    ///
    /// An editor puts another file in the place of the notes at each save, so an identity is soon that of nothing. But a file with one
    /// name can only be one of clada's that has the same name, unless that is a link. What a new file could be in are folders, and what
    /// makes one anew is slow.
    fn may_count(&self, known: &FoundIds, found: &PlaceIds<'_>) -> bool {
        let is_link = |ids: &OwnIds| ids.link != ids.target;
        let is_plain = |itself: ItselfId| itself.is_sole && !itself.may_hold;
        // In any letter case, as the file system may not tell them apart; what else it may not tell apart is beyond ASCII.
        let is_named = |name: &OsStr| {
            let mut names = self.names.iter();
            !name.is_ascii() || names.any(|own| own.eq_ignore_ascii_case(name))
        };
        found.itself.is_none_or(is_plain)
            && !known.ids.iter().any(is_link)
            && self.names.iter().all(|name| name.is_ascii())
            && !found.path.iter().any(is_named)
    }

    /// The same as [`Self::concerns`], by the identities of the places in their order.
    fn compared(&self, ids: &[OwnIds], found: &PlaceIds<'_>) -> Option<Concern> {
        self.places.iter().zip(ids).find_map(|(own, ids)| {
            let OwnIds { link, target: id } = *ids;
            let same = |other: &Id| id.as_ref() == Some(other);
            if found.above.iter().chain(&self.above).any(same)
                || found
                    .itself
                    .is_some_and(|itself| same(&itself.id) || link == Some(itself.id))
                || id.is_none() && will_be(own, found)
            {
                return Some(Concern::Is);
            }
            let ItselfId {
                id: itself,
                may_hold,
                ..
            } = found.itself?;
            let holds = |holder: &Path| {
                let OwnIds { link, target } = OwnIds::of(holder);
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

fn last_names(places: &[PathBuf]) -> Vec<OsString> {
    let names = places.iter().filter_map(|place| place.file_name());
    names.map(OsStr::to_owned).collect()
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
            };
        };
        let link = Some(id_of(&found));
        if !found.is_symlink() {
            return Self { link, target: link };
        }
        Self {
            link,
            target: followed(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with the notes in it, and what is clada's there.
    fn with_notes() -> (tempfile::TempDir, PathBuf, Own) {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::write(top.join("notes.md"), "text").unwrap();
        let places = vec![top.join("notes.md"), top.join("later")];
        let own = Own::new(places, &top.join("root"));
        (dir, top, own)
    }

    fn concern(own: &Own, path: &str, above: &[Id], itself: Option<Id>) -> Option<Concern> {
        own.concerns(&PlaceIds {
            path: Path::new(path),
            above,
            itself: itself.map(|id| ItselfId {
                id,
                may_hold: false,
                is_sole: true,
            }),
            missing: &[],
        })
    }

    fn identity(path: &Path) -> Id {
        followed(path).unwrap()
    }

    #[test]
    fn what_came_in_the_place_of_cladas_file_is_known_at_once() {
        let (_dir, top, own) = with_notes();
        let (notes, saved) = (top.join("notes.md"), top.join("saved"));
        for _ in 0..20 {
            fs::write(&saved, "text").unwrap();
            let other = identity(&saved);
            assert_eq!(concern(&own, "Notes.md", &[], Some(other)), None);
            fs::rename(&saved, &notes).unwrap();
            let now = concern(&own, "Notes.md", &[], Some(other));
            assert_eq!(now, Some(Concern::Is), "a name in another letter case");
        }
        let alias = concern(&own, "NOTES~1.MD", &[], Some(identity(&notes)));
        assert_eq!(alias, Some(Concern::Is), "by its identity alone");
        fs::create_dir(top.join("later")).unwrap();
        let later = identity(&top.join("later"));
        assert_eq!(
            concern(&own, "Later/new", &[later], None),
            Some(Concern::Is)
        );
    }

    #[test]
    fn the_target_of_a_link_is_known_at_once() {
        let (_dir, top, own) = with_notes();
        let (notes, other) = (top.join("notes.md"), top.join("other.md"));
        fs::remove_file(&notes).unwrap();
        std::os::unix::fs::symlink(&other, &notes).unwrap();
        for _ in 0..20 {
            fs::write(top.join("saved"), "text").unwrap();
            fs::rename(top.join("saved"), &other).unwrap();
            let target = concern(&own, "other.md", &[], Some(identity(&other)));
            assert_eq!(target, Some(Concern::Is));
        }
    }

    #[test]
    fn what_has_the_number_of_an_older_file_of_cladas_is_not_cladas() {
        let (_dir, top, own) = with_notes();
        let (notes, saved) = (top.join("notes.md"), top.join("saved"));
        for _ in 0..20 {
            let before = identity(&notes);
            assert_eq!(concern(&own, "a", &[], None), None, "all are looked at");
            fs::write(&saved, "text").unwrap();
            fs::rename(&saved, &notes).unwrap();
            assert_eq!(concern(&own, "a/new", &[before], None), None, "a folder");
            assert_eq!(concern(&own, "b", &[], Some(before)), None, "a file");
        }
    }
}
