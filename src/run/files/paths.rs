//! The paths of a file command: those that it names, and those that it changes.

use std::path::PathBuf;

use super::named::MeantPlace;
use super::{moved, named};
use crate::reply::path::{PathError, RelPath};
use crate::reply::task::Action;
use crate::world::workspace::{ProjectFiles, ResolvedPath};

/// The paths of what a task is about, without the one that something is moved to.
pub(super) fn paths_of<'a>(action: &'a Action<'_>) -> Vec<&'a str> {
    match action {
        Action::Edit { path, .. }
        | Action::Overwrite { path, .. }
        | Action::Append { path, .. }
        | Action::ReplaceLines { path, .. }
        | Action::MakeFolder { path }
        | Action::Move { path, .. }
        | Action::Delete { path, .. }
        | Action::RemoveFolder { path } => vec![path],
        Action::ReplaceAll { paths, .. }
        | Action::Read { paths, .. }
        | Action::Outline { paths, .. } => paths.iter().map(AsRef::as_ref).collect(),
        Action::List { path } | Action::Grep { path, .. } | Action::Glob { path, .. } => {
            path.as_deref().into_iter().collect()
        }
        Action::Exec { .. } | Action::Context(_) | Action::ForUser(_) => Vec::new(),
    }
}

/// The place that a task means by a path of what it is about.
pub(super) fn meant<'p>(
    action: &Action<'_>,
    path: &'p str,
    files: &dyn ProjectFiles,
) -> Result<MeantPlace<'p>, PathError> {
    match action {
        Action::Overwrite { .. } | Action::Append { .. } => named::writable(path, files),
        Action::MakeFolder { .. } => named::any(path, files).map(MeantPlace::whole),
        Action::Edit { to: Some(_), .. }
        | Action::Move { .. }
        | Action::Delete { .. }
        | Action::RemoveFolder { .. } => named::existing(path, files).map(MeantPlace::whole),
        _ => named::text(path, files),
    }
}

/// The places of what a file command is about and may change; none where it cannot be done or changes nothing.
pub fn subjects(action: &Action<'_>, files: &dyn ProjectFiles) -> Vec<ResolvedPath> {
    let follow = match action {
        action if action.tells() => return Vec::new(),
        Action::Edit { to: Some(_), .. }
        | Action::Move { .. }
        | Action::Delete { .. }
        | Action::RemoveFolder { .. } => false,
        _ => true,
    };
    let place = |path: &str| {
        let rel = meant(action, path, files).ok().map(|meant| meant.rel);
        let rel = rel.filter(|rel| !rel.is_root())?;
        files.place(&rel, follow).ok()
    };
    let mut places: Vec<ResolvedPath> = paths_of(action).into_iter().filter_map(place).collect();
    places.sort();
    places.dedup();
    places
}

/// The places that a file command would change, relative to the root: those, and where something is moved to.
pub fn places(action: &Action<'_>, files: &dyn ProjectFiles) -> Vec<PathBuf> {
    let target = match action {
        Action::Move {
            path, to, exact, ..
        } => {
            let rel = named::existing(path, files).ok();
            let name = rel.as_ref().and_then(RelPath::last);
            let target = name.and_then(|name| moved::destination(to, name, *exact, files).ok());
            target.map(|target| target.place)
        }
        Action::Edit { to: Some(to), .. } => {
            let rel = named::any(to, files).ok();
            rel.and_then(|rel| files.place(&rel, false).ok())
        }
        _ => None,
    };
    let places = subjects(action, files).into_iter().chain(target);
    places.map(|place| place.path().to_owned()).collect()
}

/// The paths of which a task leaves nothing that was there: those that it deletes, moves away, or writes or moves over.
pub fn destroyed(action: &Action<'_>, files: &dyn ProjectFiles) -> Vec<PathBuf> {
    match action {
        Action::Delete { .. } | Action::Overwrite { .. } | Action::Move { .. } => {
            places(action, files)
        }
        _ => Vec::new(),
    }
}
