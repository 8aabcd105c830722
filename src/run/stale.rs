//! Explains an edit of a text that is no longer there: looks for the text in earlier states of the file. Changes nothing, and
//! costs nothing where an edit succeeds.

use serde_json::json;

use super::progress::PastChange;
use crate::git::{Snapshots, Successor, short};
use crate::reply::task::Action;
use crate::report::brief;
use crate::report::outcome::Outcome;
use crate::run::files;

/// The number of texts of an edit that are looked for.
const TEXTS: usize = 10;

/// Adds to a failed edit since when its texts are not there, and what has changed, if an earlier state of the file has them.
/// `past` are the changes of this run so far; `when` names a moment, in seconds since 1970.
pub(super) fn explain(
    outcome: &mut Outcome,
    action: &Action<'_>,
    snapshots: Option<&Snapshots>,
    past: &[PastChange],
    when: &dyn Fn(i64) -> String,
) {
    let failed = outcome.failed_edit.take();
    let (Some(mut failed), Some(snapshots), Action::Edit { change, .. }) =
        (failed, snapshots, action)
    else {
        return;
    };
    for at in failed.missing().into_iter().take(TEXTS) {
        let diff_since =
            |old: &[u8]| files::with_edit(change, |edit| failed.diff_since(at, edit, old));
        match snapshots.earlier(&failed.place, diff_since) {
            Ok(Some((diff, successor))) => {
                let by = past.iter().rev().find(|change| match &successor {
                    Some(Successor {
                        commit: Some(commit),
                        ..
                    }) => change.commit.as_ref() == Some(commit),
                    // It is in no commit that a task could name.
                    _ => change.paths.contains(&failed.place),
                });
                let until = match by {
                    Some(change) => format!("task {} of this reply changed it", change.label),
                    None => until(successor, when),
                };
                if outcome.data["stale"].is_null() {
                    outcome.data["stale"] = json!({ "until": until, "diff": diff });
                }
                failed.mark_stale(at, until, diff);
                outcome.explain(&failed);
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

/// Names the commit that took a text away.
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
