//! Walks through the saved states for looking. What was there is kept first and comes back at the end.

use std::collections::BTreeSet;

use super::{UndoError, Write, present, write};
use crate::git::{Looking, Message, Snapshots, Stop};
use crate::world::workspace::Disk;

/// Where to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Back(usize),
    Forward(usize),
    /// To what was there.
    End,
}

/// What is there now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// An older state, and how many steps it is from what was there.
    Older(Box<Stop>, usize),
    /// What was there before looking.
    Present,
}

/// Shows another state. `message` is that of the commit which keeps what is there.
///
/// # Errors
/// Where there is none, where files have changed since the last step, and where git or the file system does not let it.
pub fn step(
    snapshots: &mut Snapshots,
    disk: &mut Disk,
    to: Step,
    message: &Message,
) -> Result<Shown, UndoError> {
    let begun = match (snapshots.where_looking()?, to) {
        (Some(_), _) => false,
        (None, Step::Back(_)) => {
            snapshots.begin_looking(message)?;
            true
        }
        (None, Step::Forward(_) | Step::End) => return Err(UndoError::NotLooking),
    };
    let snapshots = snapshots.where_looking()?.ok_or(UndoError::NotLooking)?;
    let looking = snapshots.looking()?.ok_or(UndoError::NotLooking)?;
    let shown = go(snapshots, disk, to, &looking);
    let is_over = match &shown {
        Ok(shown) => *shown == Shown::Present,
        Err(_) => begun,
    };
    if is_over {
        snapshots.end_looking(false)?;
    }
    shown
}

fn go(
    snapshots: &Snapshots,
    disk: &mut Disk,
    to: Step,
    looking: &Looking,
) -> Result<Shown, UndoError> {
    let edited = snapshots.edited(looking)?;
    if !edited.is_empty() {
        return Err(UndoError::Edited(edited));
    }
    let (stop, distance) = match to {
        Step::End => (None, 0),
        Step::Back(steps) | Step::Forward(steps) => {
            let further = match to {
                Step::Back(_) => steps,
                _ => 0,
            };
            let stops = snapshots.stops(looking, further)?;
            let here = stops.iter().position(|stop| stop.commit == looking.at);
            let here = here.unwrap_or_default();
            let there = match to {
                Step::Back(_) => here.saturating_add(steps),
                _ => here.saturating_sub(steps),
            };
            // As far back as there is anything.
            let there = there.min(stops.len() - 1);
            if there == here {
                return Err(UndoError::NoOlder);
            }
            (stops.into_iter().nth(there).filter(|_| there > 0), there)
        }
    };
    let target = stop.as_ref().map_or(&looking.present, |stop| &stop.commit);
    // A file may be of any of these.
    let mut paths = BTreeSet::new();
    for from in [&looking.at, &looking.to, &looking.present] {
        let changes = snapshots.changes(Some(from), Some(target))?;
        paths.extend(changes.into_iter().map(|change| change.path));
    }
    let mut shown = Vec::new();
    for path in paths {
        if !snapshots.is_users(&path)? {
            shown.push(path);
        }
    }
    let paths = shown;
    let mut writes = Vec::new();
    let mut in_the_way = Vec::new();
    let entries = snapshots.entries(Some(target), &paths)?;
    for (path, new) in paths.into_iter().zip(entries) {
        if !snapshots.shows(looking, &path)? {
            in_the_way.push(path);
            continue;
        }
        let old = present(disk, &path)?;
        writes.push(Write {
            path,
            old,
            new,
            tracked: true,
        });
    }
    if !in_the_way.is_empty() {
        return Err(UndoError::Edited(in_the_way));
    }
    snapshots.will_look_at(target)?;
    write(disk, &writes, || snapshots.looks_at(target))?;
    Ok(stop.map_or(Shown::Present, |stop| {
        Shown::Older(Box::new(stop), distance)
    }))
}
