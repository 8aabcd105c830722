//! Edits that the user has to help with: the places to choose from, and the edit at the one that was chosen.

use serde_json::json;

use super::edited::{Rewritten, rewrite, tier_of, with_edit};
use super::named_file::{FoundFile, NamedFile};
use super::{FileResult, named, refused, taken_otherwise, with_remarks};
use crate::edit::{self, Choice, Edit, Tier};
use crate::reply::record::Spot;
use crate::reply::task::{Action, Replacement};
use crate::report::outcome::Outcome;
use crate::report::repair;
use crate::report::wording;
use crate::world::workspace::ProjectFiles;

/// Returns the places at which a failed edit could be carried out as the file is now, and true if the text there may be shown.
pub fn choices(action: &Action<'_>, files: &dyn ProjectFiles) -> (Vec<Choice>, bool) {
    let found = find(action, files).unwrap_or_default();
    files.disk().syntax().rest();
    found
}

fn find(action: &Action<'_>, files: &dyn ProjectFiles) -> Option<(Vec<Choice>, bool)> {
    let (path, change) = edit_of(action)?;
    let file = NamedFile::at(named::text(path, files).ok()?, files).ok()?;
    let content = files.read_to_change(&file.place).ok()?;
    let found = FoundFile::new(&file, &content, files).with_part().ok()?;
    let mut choices = with_edit(change, |edit| edit::choices(found.target(), edit));
    if !choices.is_empty()
        && let Some(outline) = found.outline()
    {
        for choice in &mut choices {
            let name = outline
                .at_line(choice.first, found.content)
                .map(|at| outline.full_name(at));
            choice.within = name.or(choice.within.take());
        }
    }
    Some((choices, found.text().is_ok()))
}

/// Carries out an edit at the place that the user chose, if that is still as it was; otherwise nothing is changed.
pub fn edit_at(action: &Action<'_>, spot: &Spot, files: &mut dyn ProjectFiles) -> Outcome {
    let Some((path, change)) = edit_of(action) else {
        return *refused("only an edit of one place in a file can be carried out at a chosen line");
    };
    let taken = taken_otherwise(action, files);
    let outcome = at_spot(path, change, spot, files);
    with_remarks(outcome, taken, files)
}

fn at_spot(
    path: &str,
    change: &Replacement<'_>,
    spot: &Spot,
    files: &mut dyn ProjectFiles,
) -> FileResult {
    let file = NamedFile::at(named::text(path, files)?, files)?;
    with_edit(change, |edit| {
        rewrite(&file, files, |found| {
            let Some(line) = edit::line_of(found.target(), edit, spot) else {
                return Err(moved(found, edit, spot));
            };
            let edited = edit::apply_at(found.target(), edit, line)
                .map_err(|errors| found.failure(&errors, edit))?;
            let tier = tier_of(&edited);
            Ok(Rewritten {
                parts: edited.parts,
                message: Some(wording::chosen(line, tier)),
                shows: tier != Tier::Exact,
                data: json!({
                    "path": file.rel.to_string(),
                    "replacements": 1,
                    "tier": tier.name(),
                    "lines": [line],
                }),
            })
        })
    })
}

/// The failure of an edit whose place is not there as it was, with the file as it is now.
fn moved(found: &FoundFile<'_>, edit: &Edit<'_>, spot: &Spot) -> Box<Outcome> {
    let may_choose = !edit::choices(found.target(), edit).is_empty();
    let said = |only| wording::moved_choice(spot.line, may_choose, only);
    let only = match edit::apply(found.target(), edit) {
        Err(errors) => {
            let mut failure = found.failure(&errors, edit);
            failure.message = Some(said(None));
            // Its own message would take the place of this one.
            failure.failed_edit = None;
            return failure;
        }
        Ok(edited) => edited.places.first().map(|place| place.line),
    };
    let mut failure = refused(said(only));
    if let Ok(text) = found.text() {
        let lines: Vec<_> = only.iter().map(|line| line - 1..*line).collect();
        failure.sections = repair::shown(found.file.rel.as_str(), text, &lines);
    }
    failure
}

/// The path and the pairs of an edit that leaves the file where it is.
fn edit_of<'a, 't>(action: &'a Action<'t>) -> Option<(&'a str, &'a Replacement<'t>)> {
    match action {
        Action::Edit {
            path,
            change: change @ Replacement::Pairs(_),
            to: None,
        } => Some((path, change)),
        _ => None,
    }
}
