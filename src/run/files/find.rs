//! Lists folders, and finds lines and names that match. Changes nothing.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::named_file::NamedFile;
use super::{FileResult, named, not_found, refused};
use crate::clock;
use crate::report::one_line;
use crate::report::outcome::{Outcome, Section};
use crate::text::glob::{self, Glob};
use crate::world::workspace::{
    FileKind, FileTree, FolderEntry, FsError, LineSearch, NoSearch, ProjectFiles, ResolvedPath,
    SearchHit, SearchHits, TreeQuery,
};

/// No more entries, lines or names are shown,
const MOST: usize = 1000;
/// and no more bytes of lines.
const MOST_TEXT: usize = 256 * 1024;
/// The time that a search may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The number of files named that could not be read.
const NAMED: usize = 3;

/// Lists a folder.
pub(super) fn list(path: Option<&str>, files: &dyn ProjectFiles) -> FileResult {
    let (place, kind) = base(path, files)?;
    let found = match kind {
        FileKind::Dir => files.disk().list(&place)?,
        _ => files.disk().list_one(&place)?.into_iter().collect(),
    };
    let shown = &found[..found.len().min(MOST)];
    let count = match kind {
        FileKind::Dir if found.is_empty() => "empty".to_owned(),
        FileKind::Dir => plural(found.len(), "entry", "entries"),
        _ => "a file".to_owned(),
    };
    let message = if found.len() > MOST {
        format!("the first {MOST} of {count}: use `glob` to find the others")
    } else {
        count
    };
    Ok(Outcome {
        message: Some(message),
        data: shown.iter().map(listed_data).collect(),
        sections: section(shown.iter().map(listed_line)),
        ..Outcome::default()
    })
}

/// Finds lines that match.
pub(super) fn grep(
    pattern: &str,
    path: Option<&str>,
    include: Option<&str>,
    ignore_case: bool,
    files: &dyn ProjectFiles,
) -> FileResult {
    let (search, literally) = search_for(pattern, ignore_case)?;
    let include = include.map(Glob::parse).transpose();
    let include = include.map_err(|error| refused(error.to_string()))?;
    let (place, kind) = base(path, files)?;
    let until = Instant::now() + PATIENCE;
    let tree = if kind == FileKind::Dir {
        // By its path from there, or from the root.
        let from_root = place.path().to_string_lossy();
        let is_included = |path: &str| {
            include.as_ref().is_none_or(|glob| {
                glob.includes(path) || glob.includes(&format!("{from_root}/{path}"))
            })
        };
        let reach = TreeQuery {
            wants: &|path, kind| kind == FileKind::File && is_included(path),
            depth: None,
            until,
        };
        files.disk().tree(&place, &reach)
    } else {
        may_show(&place, files)?;
        FileTree {
            paths: vec![place.path().to_owned()],
            ..FileTree::default()
        }
    };
    let mut hits = files.disk().search(&search, &tree.paths, MOST, until);
    let mut bytes = 0;
    hits.shown.retain(|hit| {
        bytes += hit.line.len();
        bytes <= MOST_TEXT
    });
    let name = |path: &Path| path.to_string_lossy().into_owned();
    let data = |hit: &SearchHit| json!({ "file": name(&hit.path), "line_number": hit.number, "line": hit.line });
    let lines = hits.shown.iter().map(|hit| {
        format!(
            "{}:{}: {}\n",
            one_line(&name(&hit.path)),
            hit.number,
            hit.line
        )
    });
    Ok(Outcome {
        message: Some(literally + &told(&hits, &tree, kind)),
        data: hits.shown.iter().map(data).collect(),
        sections: section(lines),
        ..Outcome::default()
    })
}

/// The search for a pattern, and a remark if the pattern is no regular expression.
fn search_for(pattern: &str, ignore_case: bool) -> FileResult<(LineSearch, String)> {
    match LineSearch::new(pattern, ignore_case) {
        Ok(search) => Ok((search, String::new())),
        Err(NoSearch::SpansLines) => Err(refused(format!(
            "`{pattern}` spans several lines, but a match is within one line: search for one of them"
        ))),
        Err(NoSearch::NoRegex(cause)) => {
            let search = LineSearch::literal(pattern, ignore_case);
            let search = search.map_err(|error| refused(error.to_string()))?;
            let said = format!(
                "not a valid regular expression ({cause}), so searched for as plain text: "
            );
            Ok((search, said))
        }
    }
}

/// Finds paths that match.
pub(super) fn glob(pattern: &str, path: Option<&str>, files: &dyn ProjectFiles) -> FileResult {
    let (folders, rest) = glob::split(pattern.trim());
    // A path of its own, or one in the folder that is named.
    let from = match path {
        _ if folders.starts_with(['/', '~']) => folders.to_owned(),
        Some(path) if !folders.is_empty() => format!("{path}/{folders}"),
        Some(path) => path.to_owned(),
        None if folders.is_empty() => ".".to_owned(),
        None => folders.to_owned(),
    };
    let is_folder = rest.ends_with('/');
    let (what, ending) = if is_folder {
        ("folder", "/")
    } else {
        ("file", "")
    };
    let glob =
        Glob::parse(rest.trim_end_matches('/')).map_err(|error| refused(error.to_string()))?;
    let (place, kind) = base(Some(&from), files)?;
    if kind != FileKind::Dir {
        return Err(FsError::NotAFolder(from).into());
    }
    let is_wanted = |kind| match kind {
        FileKind::Dir => is_folder,
        FileKind::File | FileKind::Link => !is_folder,
        FileKind::Other => false,
    };
    let reach = TreeQuery {
        wants: &|path, kind| is_wanted(kind) && glob.matches(path),
        depth: glob.depth,
        until: Instant::now() + PATIENCE,
    };
    let tree = files.disk().tree(&place, &reach);
    let shown = tree.paths.iter().take(MOST);
    let names = shown.map(|path| format!("{}{ending}", path.to_string_lossy()));
    let mut said = match tree.paths.len() {
        0 if !rest.contains('/') => {
            format!(
                "no match: `{rest}` searches one folder only; `**/{rest}` searches its subfolders too"
            )
        }
        0 => "no match".to_owned(),
        found if found > MOST => format!(
            "the first {MOST} of {}: narrow the pattern",
            counted(found, what)
        ),
        found => counted(found, what),
    };
    said += &beside(&tree, &[]);
    Ok(Outcome {
        message: Some(said),
        data: names.clone().map(Value::from).collect(),
        sections: section(names.map(|name| one_line(&name) + "\n")),
        ..Outcome::default()
    })
}

/// The place that is looked in or at, and what is there; the root where none is named.
fn base(path: Option<&str>, files: &dyn ProjectFiles) -> FileResult<(ResolvedPath, FileKind)> {
    let file = NamedFile::at(named::text(path.unwrap_or("."), files)?, files)?.whole()?;
    match files.kind(&file.place)? {
        Some(kind) => Ok((file.place, kind)),
        None => Err(not_found(&file.rel, files)),
    }
}

/// Refuses a file that may not be shown.
pub(crate) fn may_show(place: &ResolvedPath, files: &dyn ProjectFiles) -> FileResult<()> {
    files.may_show(place)?;
    let name = place.path().display();
    if files.disk().is_own(place) {
        return Err(refused(format!(
            "`{name}` belongs to clada, not to the project: continue without it"
        )));
    }
    Ok(())
}

/// Says what a search found, and what it left out.
fn told(hits: &SearchHits, tree: &FileTree, kind: FileKind) -> String {
    let mut said = match (hits.lines, hits.shown.len()) {
        (0, _) if hits.searched > 0 => format!("no match in {}", counted(hits.searched, "file")),
        (0, _) if !hits.unread.is_empty() => "no match".to_owned(),
        (0, _) if kind != FileKind::Dir => "no match: the file is not text".to_owned(),
        (0, _) => "no match: there is no file to search".to_owned(),
        (lines, shown) => {
            let matches = plural(lines, "match", "matches");
            let all = format!("{matches} in {}", counted(hits.files, "file"));
            if lines == shown {
                all
            } else {
                format!("the first {shown} of {all}: narrow it by path, include or pattern")
            }
        }
    };
    said += &beside(tree, &hits.unread);
    let odd = tree.odd.iter();
    let odd = odd.map(|(path, what)| format!("`{}` ({what})", path.display()));
    if let Some(named) = some_of(odd) {
        said += &format!("; not searched: {named}");
    }
    if hits.cut && !tree.cut {
        said += &out_of_time();
    }
    said
}

/// Says what was not looked at.
fn beside(tree: &FileTree, unread: &[PathBuf]) -> String {
    let mut said = String::new();
    if tree.withheld > 0 {
        said += &format!(
            "; left out: {} that may not be shown",
            counted(tree.withheld, "file")
        );
    }
    let mut unread: Vec<&PathBuf> = tree.unread.iter().chain(unread).collect();
    unread.sort();
    let names = unread.iter().map(|path| match path {
        path if path.as_os_str().is_empty() => "`.`".to_owned(),
        path => format!("`{}`", path.display()),
    });
    if let Some(named) = some_of(names) {
        said += &format!("; could not be read: {named}");
    }
    if tree.cut {
        said += &out_of_time();
    }
    said
}

/// The first of these names, and how many more there are.
fn some_of(mut names: impl ExactSizeIterator<Item = String>) -> Option<String> {
    let first: Vec<String> = names.by_ref().take(NAMED).collect();
    let shown = first.join(", ");
    match names.len() {
        _ if first.is_empty() => None,
        0 => Some(shown),
        more => Some(format!("{shown} and {more} more")),
    }
}

fn out_of_time() -> String {
    format!(
        "; stopped after {} s, before everything was searched: name a folder",
        PATIENCE.as_secs()
    )
}

pub(super) fn counted(number: usize, what: &str) -> String {
    plural(number, what, &format!("{what}s"))
}

fn plural(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

fn listed_data(found: &FolderEntry) -> Value {
    json!({
        "name": found.name.to_string_lossy(),
        "type": match found.kind {
            FileKind::File => "file",
            FileKind::Dir => "directory",
            FileKind::Link => "link",
            FileKind::Other => "other",
        },
        "size": found.size,
        "modified": clock::utc(found.modified),
    })
}

/// Size, time and name; a folder has no size that means anything.
fn listed_line(found: &FolderEntry) -> String {
    let size = match found.kind {
        FileKind::File => found.size.to_string(),
        _ => "-".to_owned(),
    };
    let name = one_line(&found.name.to_string_lossy());
    let name = match (found.kind, &found.target) {
        (FileKind::Dir, _) => format!("{name}/"),
        (_, Some(target)) => format!("{name} -> {}", one_line(&target.to_string_lossy())),
        _ => name,
    };
    format!("{size:>9} {} {name}\n", clock::utc(found.modified))
}

/// Lines to show, if there are any.
fn section(lines: impl Iterator<Item = String>) -> Vec<Section> {
    let text: String = lines.collect();
    let section = (!text.is_empty()).then_some(Section::Text(text));
    section.into_iter().collect()
}
