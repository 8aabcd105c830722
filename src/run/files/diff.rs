//! Shows what a file command changed in a preview. Changes nothing.

use std::path::Path;

use crate::reply::task::Action;
use crate::report::outcome::Outcome;
use crate::report::repair;
use crate::world::workspace::Preview;

/// The change that a task has made, by the files before and after it; nothing where it changes no file.
pub fn diff(
    action: &Action<'_>,
    outcome: &Outcome,
    before: &Preview<'_>,
    after: &Preview<'_>,
) -> String {
    let data = &outcome.data;
    let path = data["path"].as_str().unwrap_or_default();
    let renamed = match data["to"].as_str() {
        Some(to) => format!("rename from {path}\nrename to {to}\n"),
        None => String::new(),
    };
    let places = outcome.touched.paths().unwrap_or_default();
    match (action, places) {
        (Action::MakeFolder { .. }, _) if data["created"] == true => format!("new folder {path}\n"),
        (Action::RemoveFolder { .. }, _) => format!("deleted folder {path}\n"),
        (Action::Move { .. }, _) => renamed,
        (Action::Edit { to: Some(_), .. }, [from, to]) => {
            diff_of(action, path, [from, to], before, after) + &renamed
        }
        (Action::Delete { .. }, [place]) if before.shown(place).is_err() => {
            format!(
                "deleted {} {path}\n",
                data["kind"].as_str().unwrap_or_default()
            )
        }
        (_, places) => {
            let files = data["files"].as_array();
            let changed = files
                .into_iter()
                .flatten()
                .filter(|it| it["replacements"] != 0);
            let names = changed.filter_map(|it| it["path"].as_str()).chain([path]);
            let files = names.zip(places);
            files
                .map(|(name, place)| diff_of(action, name, [place, place], before, after))
                .collect()
        }
    }
}

/// The change of a file that had one place and has another, or the same; or why it is not shown.
fn diff_of(
    action: &Action<'_>,
    name: &str,
    [from, to]: [&Path; 2],
    before: &Preview<'_>,
    after: &Preview<'_>,
) -> String {
    let old = match before.shown(from) {
        Ok(None) => Ok(None),
        // All that is shown is what the reply wrote.
        Err(_) if matches!(action, Action::Overwrite { .. }) => Ok(None),
        // An edit may have moved it to where nobody may look.
        old => after.shown(to).and(old),
    };
    match old {
        Ok(old) => repair::unified_diff(name, old.as_deref(), after.written(to)),
        Err(why) => format!("{why}\n"),
    }
}
