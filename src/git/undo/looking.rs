//! A walk through the saved states, to look at them. What was there is kept first and comes back at the end.

use std::collections::BTreeSet;

use super::{FileWrite, UndoError, write};
use crate::git::{Looking, Message, Snapshots, Stop, Store};
use crate::world::workspace::Disk;

/// A step to another state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookStep {
    Back(usize),
    Forward(usize),
    /// To what was there.
    End,
}

/// An older state, and how many steps it is from what was there before looking.
pub type OlderState = (Stop, usize);

/// Shows another state and returns it; none is the one that was there before looking. `message` is that of the commit which
/// keeps what is there.
///
/// # Errors
/// Where there is none, where files have changed since the last step, and where git or the file system does not let it.
pub fn step(
    snapshots: &mut Snapshots,
    disk: &mut Disk,
    to: LookStep,
    message: &Message,
) -> Result<Option<OlderState>, UndoError> {
    let begins = snapshots.where_looking()?.is_none();
    if begins {
        if !matches!(to, LookStep::Back(_)) {
            return Err(UndoError::NotLooking);
        }
        snapshots.begin_looking(message)?;
    }
    let store = snapshots.where_looking()?.ok_or(UndoError::NotLooking)?;
    let looking = store.looking()?.ok_or(UndoError::NotLooking)?;
    let shown = go(snapshots, store, disk, to, &looking);
    let is_over = match &shown {
        Ok(shown) => shown.is_none(),
        Err(_) => begins,
    };
    if is_over {
        store.end_looking(false)?;
    }
    shown
}

fn go(
    snapshots: &Snapshots,
    store: &Store,
    disk: &mut Disk,
    to: LookStep,
    looking: &Looking,
) -> Result<Option<OlderState>, UndoError> {
    let edited = snapshots.edited(store, looking)?;
    if !edited.is_empty() {
        return Err(UndoError::Edited(edited));
    }
    let older = aim(store, to, looking)?;
    let target = match &older {
        Some((stop, _)) => &stop.commit,
        None => &looking.present,
    };
    // A file may be of any of these.
    let mut changed = BTreeSet::new();
    for from in [&looking.at, &looking.to, &looking.present] {
        let changes = store.changes(Some(from), Some(target))?;
        changed.extend(changes.into_iter().map(|change| change.path));
    }
    let mut paths = Vec::new();
    for path in changed {
        if !snapshots.is_users(store, &path)? {
            paths.push(path);
        }
    }
    let mut writes = Vec::new();
    let mut in_the_way = Vec::new();
    let entries = store.entries(Some(target), &paths)?;
    for (path, new) in paths.into_iter().zip(entries) {
        if store.shows(looking, &path)? {
            writes.push(FileWrite {
                old: disk.entry(&path)?,
                path,
                new,
                tracked: true,
            });
        } else {
            in_the_way.push(path);
        }
    }
    if !in_the_way.is_empty() {
        return Err(UndoError::Edited(in_the_way));
    }
    store.look_at("to", target)?;
    write(disk, &writes, || store.look_at("at", target))?;
    Ok(older)
}

/// Finds the state to show; none is what was there.
fn aim(store: &Store, to: LookStep, looking: &Looking) -> Result<Option<OlderState>, UndoError> {
    let further = match to {
        LookStep::End => return Ok(None),
        LookStep::Back(steps) => steps,
        LookStep::Forward(_) => 0,
    };
    let mut stops = store.stops(looking, further)?;
    let here = stops.iter().position(|stop| stop.commit == looking.at);
    let here = here.unwrap_or_default();
    let there = match to {
        LookStep::Forward(steps) => here.saturating_sub(steps),
        _ => here.saturating_add(further),
    };
    // As far back as there is anything.
    let there = there.min(stops.len() - 1);
    if there == here {
        return Err(UndoError::NoOlder);
    }
    Ok((there > 0).then(|| (stops.swap_remove(there), there)))
}
