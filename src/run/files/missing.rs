//! Files that are not there, and the names that may have been meant.

use std::time::{Duration, Instant};

use super::failed;
use super::named::MeantPlace;
use super::named_file::{FoundFile, NamedFile};
use crate::edit::{self, Edit};
use crate::reply::path::RelPath;
use crate::report::fault::Fault;
use crate::report::outcome::Outcome;
use crate::text::names::typos;
use crate::world::workspace::{FileKind, ProjectFiles, ResolvedPath, TreeQuery};

/// The number of names that are told.
const MOST: usize = 3;
/// The time in which a file of the same name is looked for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Existing names that may have been meant.
enum Near {
    Paths(Vec<String>),
    Folders(Vec<String>),
}

/// A missing file, with the names that may have been meant.
pub(crate) fn not_found(rel: &RelPath, files: &dyn ProjectFiles) -> Box<Outcome> {
    missing(rel, &nearest(rel, files))
}

/// The same for an edit: where one file alone may have been meant, with what the search finds in that.
pub(super) fn not_found_to_edit(
    rel: &RelPath,
    edit: &Edit<'_>,
    files: &dyn ProjectFiles,
) -> Box<Outcome> {
    let near = nearest(rel, files);
    let mut failure = missing(rel, &near);
    let Near::Paths(paths) = near else {
        return failure;
    };
    let [path] = paths.as_slice() else {
        return failure;
    };
    let meant = || {
        let file = NamedFile::at(MeantPlace::whole(files.parse(path).ok()?), files).ok()?;
        let content = files.read_to_change(&file.place).ok()?;
        Some((file, content))
    };
    let Some((file, content)) = meant() else {
        return failure;
    };
    match edit::apply(&content.bytes, edit) {
        Ok(edited) => {
            let lines: Vec<String> = edited.places.iter().map(|it| it.line.to_string()).collect();
            let (texts, lines) = match lines.as_slice() {
                [line] => ("the text to replace is", format!("line {line}")),
                lines => (
                    "the texts to replace are",
                    format!("lines {}", lines.join(", ")),
                ),
            };
            failure.also_says(&format!("{texts} in that file ({lines})"));
        }
        Err(errors) => {
            let there = FoundFile::new(&file, &content, files).failure(&errors, edit);
            failure.also_says(&format!("in that file: {}", there.said()));
            failure.sections = there.sections;
            failure.data = there.data;
        }
    }
    failure
}

fn missing(rel: &RelPath, near: &Near) -> Box<Outcome> {
    let (what, names) = match near {
        Near::Paths(paths) => ("", paths),
        Near::Folders(folders) => ("the folder ", folders),
    };
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let mut message = format!("file not found: `{rel}`");
    if !names.is_empty() {
        message += &format!(" (did you mean {what}{}?)", names.join(" or "));
    }
    failed(Fault::Missing, message)
}

/// The nearest existing names: in its folder or, where that does not exist either, in one of a like name; else files of that
/// very name anywhere, and at last those folders.
fn nearest(rel: &RelPath, files: &dyn ProjectFiles) -> Near {
    let names: Vec<&str> = rel.names().collect();
    let mut folder = String::new();
    for (depth, name) in names.iter().enumerate() {
        let next = join(&folder, name);
        if depth + 1 < names.len() && kind_of(&next, files) == Some(FileKind::Dir) {
            folder = next;
            continue;
        }
        let like = alike(name, &folder, files);
        let rest = names[depth + 1..].join("/");
        let (near, folders) = if rest.is_empty() {
            (like, Vec::new())
        } else {
            let folders: Vec<String> = like
                .into_iter()
                .filter(|path| kind_of(path, files) == Some(FileKind::Dir))
                .collect();
            let files_there = folders
                .iter()
                .map(|path| join(path, &rest))
                .filter(|path| kind_of(path, files).is_some());
            (files_there.collect(), folders)
        };
        if !near.is_empty() {
            return Near::Paths(near);
        }
        let elsewhere = of_that_name(rel, files);
        return if elsewhere.is_empty() {
            Near::Folders(folders)
        } else {
            Near::Paths(elsewhere)
        };
    }
    Near::Paths(Vec::new())
}

/// The first files of the same name in other folders.
fn of_that_name(rel: &RelPath, files: &dyn ProjectFiles) -> Vec<String> {
    let Some((name, root)) = rel.last().zip(place_of(".", files)) else {
        return Vec::new();
    };
    let is_it = |path: &str, kind: FileKind| {
        let last = path.rsplit('/').next().unwrap_or(path);
        kind == FileKind::File && last == name
    };
    let tree = files.disk().tree(
        &root,
        &TreeQuery {
            wants: &is_it,
            depth: None,
            until: Instant::now() + PATIENCE,
        },
    );
    let paths = tree.paths.iter().filter_map(|path| path.to_str());
    let paths = paths.filter(|path| kind_of(path, files) == Some(FileKind::File));
    paths.take(MOST).map(str::to_owned).collect()
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

fn place_of(path: &str, files: &dyn ProjectFiles) -> Option<ResolvedPath> {
    files.place(&files.parse(path).ok()?, true).ok()
}

fn kind_of(path: &str, files: &dyn ProjectFiles) -> Option<FileKind> {
    files.kind(&place_of(path, files)?).ok().flatten()
}

/// The up to three names in a folder that are most like this one.
fn alike(name: &str, folder: &str, files: &dyn ProjectFiles) -> Vec<String> {
    let folder_path = if folder.is_empty() { "." } else { folder };
    let Some(place) = place_of(folder_path, files) else {
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
        .take(MOST)
        .map(|(_, known)| join(folder, &known))
        .collect()
}

/// Returns the likeness of two names, from 0 to 1. One slip of the keyboard is very like, however short the name is.
fn likeness(a: &str, b: &str) -> f64 {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    if typos(&a, &b) <= 1 {
        return 1.0;
    }
    strsim::jaro_winkler(&a, &b)
}
