//! Files that are not there, and the names that may have been meant.

use super::{Failure, fault};
use crate::lang::fault::Fault;
use crate::lang::path::RelPath;
use crate::world::workspace::{Files, Kind};

/// A missing file, with the names that may have been meant.
pub(crate) fn not_found(rel: &RelPath, files: &dyn Files) -> Failure {
    let mut message = format!("file not found: `{rel}`");
    if let Some(near) = nearest(rel, files) {
        message += &format!(" (did you mean {near}?)");
    }
    fault(Fault::Missing, message)
}

/// The nearest existing names: in its folder or, where that does not exist either, in one of a like name; else those
/// folders.
fn nearest(rel: &RelPath, files: &dyn Files) -> Option<String> {
    let names: Vec<&str> = rel.names().collect();
    let mut folder = String::new();
    for (depth, name) in names.iter().enumerate() {
        let next = join(&folder, name);
        if depth + 1 < names.len() && kind_of(&next, files) == Some(Kind::Dir) {
            folder = next;
            continue;
        }
        let like = alike(name, &folder, files);
        let rest = names[depth + 1..].join("/");
        if rest.is_empty() {
            return one_of("", &like);
        }
        let folders: Vec<String> = like
            .into_iter()
            .filter(|path| kind_of(path, files) == Some(Kind::Dir))
            .collect();
        let files_there: Vec<String> = folders
            .iter()
            .map(|path| join(path, &rest))
            .filter(|path| kind_of(path, files).is_some())
            .collect();
        return one_of("", &files_there).or_else(|| one_of("the folder ", &folders));
    }
    None
}

fn one_of(what: &str, names: &[String]) -> Option<String> {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| format!("{what}{}", names.join(" or ")))
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

fn kind_of(path: &str, files: &dyn Files) -> Option<Kind> {
    let place = files
        .parse(path)
        .ok()
        .and_then(|rel| files.place(&rel, true).ok())?;
    files.kind(&place).ok().flatten()
}

/// The up to three names in a folder that are most like this one.
fn alike(name: &str, folder: &str, files: &dyn Files) -> Vec<String> {
    let rel = files.parse(if folder.is_empty() { "." } else { folder });
    let Some(place) = rel.ok().and_then(|rel| files.place(&rel, true).ok()) else {
        return Vec::new();
    };
    let mut found: Vec<(f64, String)> = files
        .names(&place)
        .into_iter()
        .filter(|known| known != name)
        .map(|known| (likeness(name, &known), known))
        .filter(|(likeness, _)| *likeness > 0.8)
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found
        .into_iter()
        .take(3)
        .map(|(_, known)| join(folder, &known))
        .collect()
}

/// How like two names are, from 0 to 1. One slip of the keyboard is very like, however short the name is.
fn likeness(a: &str, b: &str) -> f64 {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    if strsim::osa_distance(&a, &b) <= 1 {
        return 1.0;
    }
    strsim::jaro_winkler(&a, &b)
}
