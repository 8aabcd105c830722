//! Edits of a text that is no longer there: looks for it in what the file was. Changes nothing, and costs nothing where
//! an edit succeeds.

use crate::file_task::Failure;
use crate::lang::report::brief;
use crate::lang::task::Action;
use crate::world::snapshot::{Snapshots, Successor, short};

/// Has a failed edit say since when its text is not there, and what has changed, if an earlier state of the file has it.
/// `when` names a moment, in seconds since 1970.
pub(super) fn explain(
    failure: &mut Failure,
    action: &Action<'_>,
    snapshots: Option<&Snapshots>,
    when: &dyn Fn(i64) -> String,
) {
    let (Some(searched), Some(snapshots)) = (&failure.searched, snapshots) else {
        return;
    };
    let found = snapshots.earlier(&searched.place, |old| failure.diff_since(action, old));
    match found {
        Ok(Some((diff, successor))) => failure.is_stale(&until(successor, when), diff),
        Ok(None) => {}
        // It would have been a help; the edit has failed all the same.
        Err(error) => tracing::debug!(%error, "history"),
    }
}

fn until(successor: Option<Successor>, when: &dyn Fn(i64) -> String) -> String {
    let Some(commit) = successor else {
        return "the last commit".to_owned();
    };
    let (id, time) = (short(&commit.commit), when(commit.time));
    format!("{id} ({time}, \"{}\")", brief(&commit.subject))
}
