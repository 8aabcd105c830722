//! Edits that the user has to help with: the places to choose from, and the edit at the one that was chosen.

use serde_json::json;

use super::{
    Done, Failure, Rewritten, missed, named, refused, rewrite, taken_otherwise, tier_of, told,
    with_edit,
};
use crate::edit::{self, Choice, Edit, Tier};
use crate::reply::path::RelPath;
use crate::reply::record::Spot;
use crate::reply::task::{Action, Change};
use crate::report::repair;
use crate::report::wording;
use crate::world::workspace::{Files, FsError, Place};

/// The places at which a failed edit could be carried out as the file is now, and whether what stands there may be shown.
pub fn choices(action: &Action<'_>, files: &dyn Files) -> (Vec<Choice>, bool) {
    find(action, files).unwrap_or_default()
}

fn find(action: &Action<'_>, files: &dyn Files) -> Option<(Vec<Choice>, bool)> {
    let (path, change) = edit_of(action)?;
    let rel = named::text(path, files).ok()?;
    let place = files.place(&rel, true).ok()?;
    let content = files.read_to_change(&place).ok()?.bytes;
    let real = place.path().to_string_lossy();
    let may_show =
        files.may_show(&place).is_ok() && repair::showable(rel.as_str(), &real, &content).is_ok();
    let choices = with_edit(change, |edit| edit::choices(&content, edit));
    Some((choices, may_show))
}

/// Carries out an edit at the place that the user chose, if that is still as it was.
///
/// # Errors
/// Where it cannot be done; then nothing is changed.
pub fn edit_at(action: &Action<'_>, spot: &Spot, files: &mut dyn Files) -> Result<Done, Failure> {
    let Some((path, change)) = edit_of(action) else {
        return Err(refused(
            "only an edit of one place in a file can be carried out at a chosen line",
        ));
    };
    let taken = taken_otherwise(action, files);
    let rel = named::text(path, files)?;
    let place = files.place(&rel, true)?;
    let result = with_edit(change, |edit| {
        rewrite((&rel, &place), files, false, |content, may_show| {
            let Some(line) = edit::line_of(content, edit, spot) else {
                return Err(moved((&rel, &place), edit, spot, (content, may_show)));
            };
            let edited = edit::apply_at(content, edit, line).map_err(|errors| {
                missed::failure(&errors, edit, (&rel, &place), (content, may_show))
            })?;
            let tier = tier_of(&edited);
            Ok(Rewritten {
                parts: edited.parts,
                message: Some(wording::chosen(line, tier)),
                shows: tier != Tier::Exact,
                data: json!({
                    "path": rel.to_string(),
                    "replacements": 1,
                    "tier": tier.name(),
                    "lines": [line],
                }),
            })
        })
    });
    told(taken, files, result)
}

/// Why an edit is not carried out at a place that is not there as it was, with the file as it is now.
fn moved(
    (rel, place): (&RelPath, &Place),
    edit: &Edit<'_>,
    spot: &Spot,
    (content, may_show): (&[u8], &Result<(), FsError>),
) -> Failure {
    let may_choose = !edit::choices(content, edit).is_empty();
    let said = |only| wording::moved_choice(spot.line, may_choose, only);
    let found = match edit::apply(content, edit) {
        Err(errors) => {
            return Failure {
                message: said(None).into(),
                // Its own message would take the place of this one.
                searched: None,
                ..missed::failure(&errors, edit, (rel, place), (content, may_show))
            };
        }
        Ok(edited) => edited.places.first().map(|place| place.line),
    };
    let real = place.path().to_string_lossy();
    let text = may_show
        .is_ok()
        .then(|| repair::showable(rel.as_str(), &real, content));
    let lines: Vec<_> = found.iter().map(|line| line - 1..*line).collect();
    let sections = match text {
        Some(Ok(text)) => repair::shown(rel.as_str(), text, &lines),
        _ => Vec::new(),
    };
    Failure {
        sections,
        ..refused(said(found))
    }
}

/// An edit of pairs that leaves the file where it is.
fn edit_of<'a, 't>(action: &'a Action<'t>) -> Option<(&'a str, &'a Change<'t>)> {
    match action {
        Action::Edit {
            path,
            change: change @ Change::Pairs(_),
            to: None,
        } => Some((path, change)),
        _ => None,
    }
}
