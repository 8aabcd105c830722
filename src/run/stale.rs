//! Edits of a text that is no longer there: looks for it in what the file was. Changes nothing, and costs nothing where
//! an edit succeeds.

use crate::git::{Snapshots, Successor, short};
use crate::reply::task::Action;
use crate::report::brief;
use crate::run::files::Failure;
use crate::run::progress::Left;

/// How many texts of an edit are looked for.
const TEXTS: usize = 10;

/// Has a failed edit say since when its texts are not there, and what has changed, if an earlier state of the file has them.
/// `left` are the tasks of this run that changed anything so far; `when` names a moment, in seconds since 1970.
pub(super) fn explain(
    failure: &mut Failure,
    action: &Action<'_>,
    snapshots: Option<&Snapshots>,
    left: &[Left],
    when: &dyn Fn(i64) -> String,
) {
    let (Some(searched), Some(snapshots)) = (&failure.searched, snapshots) else {
        return;
    };
    let place = searched.place.clone();
    for at in failure.missing().into_iter().take(TEXTS) {
        let found = snapshots.earlier(&place, |old| failure.diff_since(at, action, old));
        match found {
            Ok(Some((diff, successor))) => {
                let by = left.iter().rev().find(|left| match &successor {
                    Some(Successor {
                        commit: Some(commit),
                        ..
                    }) => left.commit.as_ref() == Some(commit),
                    // It is in no commit that a task could name.
                    _ => left.paths.contains(&place),
                });
                let until = match by {
                    Some(left) => format!("task {} of this reply changed it", left.label),
                    None => until(successor, when),
                };
                failure.is_stale(at, &until, diff);
            }
            Ok(None) => {}
            // It would have been a help; the edit has failed all the same.
            Err(error) => {
                tracing::debug!(%error, "history");
                return;
            }
        }
    }
}

fn until(successor: Option<Successor>, when: &dyn Fn(i64) -> String) -> String {
    let Some(commit) = successor else {
        return "the last commit".to_owned();
    };
    let (time, subject) = (when(commit.time), brief(&commit.subject));
    match &commit.commit {
        Some(id) => format!("{} ({time}, \"{subject}\")", short(id)),
        None => format!("{time} (\"{subject}\")"),
    }
}
