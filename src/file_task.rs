//! What the file commands mean, in terms of [`Files`]: edit, overwrite, move and delete here, the others in files of their
//! own. Runs nothing and reads no reply.

mod find;
mod folders;
mod lines;
mod literal;
mod moved;
mod read;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::lang::edit::{self, Cause, Edit, EditError, Tier};
use crate::lang::fault::Fault;
use crate::lang::outcome::Section;
use crate::lang::path::{PathError, RelPath};
use crate::lang::task::{Action, Change, Payload};
use crate::lang::text::Text;
use crate::lang::{repair, wording};
use crate::world::workspace::{Files, FsError, Kind, Place};

/// How often an edit starts over because somebody else saved the file at the same moment.
const TRIES: usize = 3;

/// What a file command did.
#[derive(Debug, Default)]
pub struct Done {
    /// What is worth saying about it.
    pub message: Option<String>,
    pub data: Value,
    /// The places it changed, relative to the root.
    pub touched: Vec<PathBuf>,
    /// What it changed, where a preview asked for it.
    pub diff: String,
    /// What it has to show.
    pub sections: Vec<Section>,
}

/// Why a file command did nothing.
#[derive(Debug)]
pub struct Failure {
    pub message: Box<str>,
    pub data: Box<Value>,
    /// What helps to repair it.
    pub sections: Vec<Section>,
    /// Why, for dialects that have words of their own for it.
    pub fault: Box<Fault>,
    /// The file that has not the text that an edit looked for.
    pub searched: Option<Box<Searched>>,
}

/// A file that was searched in vain.
#[derive(Debug)]
pub struct Searched {
    /// Relative to the root, no link in it; and as the reply names it.
    pub place: PathBuf,
    name: String,
    content: Vec<u8>,
    error: EditError,
    pairs: usize,
}

impl Failure {
    /// What has changed of it since, where an earlier state of the searched file has what the edit looks for.
    pub fn diff_since(&self, action: &Action<'_>, old: &[u8]) -> Option<String> {
        let (Some(searched), Action::Edit { change, .. }) = (&self.searched, action) else {
            return None;
        };
        with_edit(change, |edit| {
            let lines = repair::lines_in(old, &searched.error, edit)?;
            let file_name = searched.place.to_string_lossy();
            let names = (searched.name.as_str(), &*file_name);
            Some(repair::since(names, (old, &searched.content), &lines))
        })
    }

    /// Says that the text was there until something happened, and what has changed since.
    pub fn is_stale(&mut self, until: &str, diff: String) {
        let Some(searched) = &self.searched else {
            return;
        };
        self.message = wording::stale_edit(&searched.error, searched.pairs, until).into();
        if !diff.is_empty() {
            let shown = format!("{} since then:\n{diff}\n", searched.name);
            self.sections.insert(0, Section::Text(shown));
        }
        self.data["stale"] = json!({ "until": until, "diff": diff });
    }
}

/// Carries out a file command. With `preview` what it changes is described too.
///
/// # Errors
/// Where it cannot be done; then nothing is changed.
///
/// # Panics
/// For an exec, which is none.
pub fn perform(action: &Action<'_>, files: &mut dyn Files, preview: bool) -> Result<Done, Failure> {
    match action {
        Action::Edit {
            path,
            change: Change::Literal { search, replace },
            ..
        } => literal::replace(path, (search, replace), files, preview),
        Action::Edit {
            path,
            change:
                Change::LiteralRange {
                    beginning,
                    end,
                    replace,
                },
            ..
        } => literal::replace_range(path, (beginning, end, replace), files, preview),
        Action::Edit { path, change, to } => edit_file(path, change, to.as_deref(), files, preview),
        Action::Overwrite {
            path,
            content,
            final_newline,
            ..
        } => overwrite(path, content, *final_newline, files, preview),
        Action::Move {
            path,
            to,
            overwrite,
            ..
        } => move_to(path, to, *overwrite, files),
        Action::Delete { path, .. } => delete(path, files, preview),
        Action::Append {
            path,
            content,
            final_newline,
        } => lines::append(path, content, *final_newline, files, preview),
        Action::ReplaceAll {
            paths,
            search,
            replace,
            count,
        } => literal::replace_all(paths, (search, replace), *count, files, preview),
        Action::ReplaceLines {
            path,
            lines,
            content,
        } => lines::replace(path, lines, content, files, preview),
        Action::MakeFolder { path } => folders::make(path, files),
        Action::RemoveFolder { path } => folders::remove(path, files),
        Action::Read {
            paths,
            lines,
            numbers,
        } => read::read(paths, lines.as_deref(), numbers.as_deref(), files),
        Action::List { path } => find::list(path.as_deref(), files),
        Action::Grep {
            pattern,
            path,
            include,
            ignore_case,
        } => find::grep(
            pattern,
            path.as_deref(),
            (include.as_deref(), *ignore_case),
            files,
        ),
        Action::Glob { pattern, path } => find::glob(pattern, path.as_deref(), files),
        Action::ForUser(command) => Err(refused(format!(
            "only the user can do that: leave it out, and ask them to type `{}`",
            command.typed().unwrap_or_default()
        ))),
        Action::Exec { .. } | Action::Context(_) => unreachable!("no file command"),
    }
}

fn edit_file(
    path: &str,
    change: &Change<'_>,
    to: Option<&str>,
    files: &mut dyn Files,
    preview: bool,
) -> Result<Done, Failure> {
    let rel = files.parse(path)?;
    with_edit(change, |edit| match to {
        Some(to) => moved::edit_and_move(edit, (&rel, to), files, preview),
        None => {
            let place = files.place(&rel, true)?;
            apply(edit, &rel, &place, files, preview)
        }
    })
}

/// Lends what a change asks for as an edit.
fn with_edit<T>(change: &Change<'_>, act: impl FnOnce(&Edit<'_>) -> T) -> T {
    match change {
        Change::Pairs(pairs) => {
            let texts: Vec<_> = pairs
                .iter()
                .map(|(search, replace)| (search.text(), replace.text()))
                .collect();
            let texts = pairs.iter().zip(&texts);
            let pairs = texts
                .map(|((s, r), (search, replace))| (Text::of(s, search), Text::of(r, replace)))
                .collect();
            act(&Edit::Pairs(pairs))
        }
        Change::Stretch {
            head,
            tail,
            replace,
        } => {
            let (h, t, r) = (head.text(), tail.text(), replace.text());
            act(&Edit::Stretch {
                head: Text::of(head, &h),
                tail: Text::of(tail, &t),
                replace: Text::of(replace, &r),
            })
        }
        Change::Hunks(hunks) => act(&Edit::Hunks(hunks)),
        Change::Literal { .. } | Change::LiteralRange { .. } => act(&Edit::Pairs(Vec::new())),
    }
}

fn apply(
    edit: &Edit<'_>,
    rel: &RelPath,
    place: &Place,
    files: &mut dyn Files,
    preview: bool,
) -> Result<Done, Failure> {
    for attempt in 1.. {
        let content = match files.read(place) {
            Err(FsError::NotFound(_)) => return Err(not_found(rel, files)),
            content => content?,
        };
        let edited = edit::apply(&content.bytes, edit)
            .map_err(|error| edit_failure(&error, edit, (rel, place), &content.bytes))?;
        let parts: Vec<&[u8]> = edited.parts.iter().map(AsRef::as_ref).collect();
        match files.write(place, &parts, Some(&content)) {
            Err(FsError::Changed(_)) if attempt < TRIES => continue,
            written => written?,
        }
        let tier = edited
            .places
            .iter()
            .map(|place| place.tier)
            .max()
            .unwrap_or(Tier::Exact);
        let lines: Vec<usize> = edited.places.iter().map(|place| place.line).collect();
        return Ok(Done {
            message: (tier != Tier::Exact).then(|| format!("matched by {}", tier.name())),
            data: json!({
                "path": rel.to_string(),
                "replacements": lines.len(),
                "tier": tier.name(),
                "lines": lines,
            }),
            touched: vec![place.path().to_owned()],
            diff: if preview {
                repair::unified_diff(rel.as_str(), Some(&content.bytes), Some(&parts.concat()))
            } else {
                String::new()
            },
            sections: Vec::new(),
        });
    }
    unreachable!("the loop ends by returning")
}

fn overwrite(
    path: &str,
    content: &Payload<'_>,
    final_newline: bool,
    files: &mut dyn Files,
    preview: bool,
) -> Result<Done, Failure> {
    let rel = files.parse(path)?;
    if rel.is_root() || path.trim_end().ends_with('/') {
        return Err(FsError::IsAFolder(rel.to_string()).into());
    }
    let place = files.place(&rel, true)?;
    let text = content.text();
    let bytes = if final_newline {
        text.as_bytes()
    } else {
        text.strip_suffix('\n').unwrap_or(&text).as_bytes()
    };
    let old = if preview {
        content_of(&place, files)
    } else {
        None
    };
    files.write(&place, &[bytes], None)?;
    Ok(Done {
        message: None,
        data: json!({ "path": rel.to_string(), "bytesWritten": bytes.len() }),
        touched: vec![place.path().to_owned()],
        diff: if preview {
            repair::unified_diff(rel.as_str(), old.as_deref(), Some(bytes))
        } else {
            String::new()
        },
        sections: Vec::new(),
    })
}

fn move_to(path: &str, to: &str, overwrite: bool, files: &mut dyn Files) -> Result<Done, Failure> {
    let rel = files.parse(path)?;
    let source = files.place(&rel, false)?;
    let (Some(kind), Some(name)) = (files.kind(&source)?, rel.last()) else {
        return Err(if rel.is_root() {
            refused("the project folder itself cannot be moved")
        } else {
            not_found(&rel, files)
        });
    };
    let (to_rel, target_rel, target) = destination(to, name, files)?;
    if target == source {
        return Err(refused("source and destination are the same"));
    }
    if target.path().starts_with(source.path()) {
        return Err(refused(format!("`{rel}` cannot be moved into itself")));
    }
    let replaced = files.kind(&target)?;
    match (kind, replaced) {
        (Kind::Dir, Some(Kind::Dir)) => {
            return Err(refused(format!(
                "`{target_rel}` exists already: delete it first, or move what is in `{rel}`"
            )));
        }
        (Kind::Dir, Some(_)) => {
            return Err(refused(format!(
                "`{target_rel}` is a file: a folder cannot be moved onto it"
            )));
        }
        (_, Some(Kind::Dir)) => return Err(FsError::IsAFolder(target_rel.to_string()).into()),
        (_, Some(_)) if !overwrite => {
            let message = format!(
                "`{target_rel}` exists already: to replace it, write `<x overwrite=\"yes\">`"
            );
            return Err(refused(message));
        }
        _ => {}
    }
    files.rename(&source, &target, overwrite)?;
    let diff = format!("rename from {rel}\nrename to {target_rel}\n");
    let data = json!({ "path": rel.to_string(), "to": target_rel.to_string(), "overwrote": replaced.is_some() });
    let message = (target_rel != to_rel).then(|| format!("now `{target_rel}`"));
    Ok(Done {
        message,
        data,
        touched: vec![source.path().to_owned(), target.path().to_owned()],
        diff,
        sections: Vec::new(),
    })
}

/// Where a thing of this name is moved to: the path as it was given, as it is meant, and its place.
fn destination(
    to: &str,
    name: &str,
    files: &dyn Files,
) -> Result<(RelPath, RelPath, Place), Failure> {
    let into = to.trim_end().ends_with('/');
    let to_rel = files.parse(to)?;
    let followed = files.place(&to_rel, true)?;
    let (target_rel, target) = match files.kind(&followed)? {
        Some(Kind::Dir) => (to_rel.child(name), followed.child(name)),
        None if into => (to_rel.child(name), followed.child(name)),
        Some(_) if into => return Err(FsError::NotAFolder(to_rel.to_string()).into()),
        _ => (to_rel.clone(), files.place(&to_rel, false)?),
    };
    Ok((to_rel, target_rel, target))
}

/// The place that a file command is about; none where it cannot be done or is an exec.
pub fn place(action: &Action<'_>, files: &dyn Files) -> Option<Place> {
    let (path, follow) = match action {
        Action::Edit {
            path, to: Some(_), ..
        } => (path, false),
        Action::Edit { path, .. } | Action::Overwrite { path, .. } => (path, true),
        Action::Move { path, .. } | Action::Delete { path, .. } => (path, false),
        _ => return None,
    };
    let rel = files.parse(path).ok().filter(|rel| !rel.is_root())?;
    files.place(&rel, follow).ok()
}

/// The places that a file command would change, relative to the root: that one, and where something is moved to.
pub fn places(action: &Action<'_>, files: &dyn Files) -> Vec<PathBuf> {
    let target = match action {
        Action::Move { path, to, .. } => {
            let rel = files.parse(path).ok();
            let name = rel.as_ref().and_then(RelPath::last);
            let target = name.and_then(|name| destination(to, name, files).ok());
            target.map(|(_, _, target)| target)
        }
        Action::Edit { to: Some(to), .. } => {
            let rel = files.parse(to).ok();
            rel.and_then(|rel| files.place(&rel, false).ok())
        }
        _ => None,
    };
    let places = place(action, files).into_iter().chain(target);
    places.map(|place| place.path().to_owned()).collect()
}

fn delete(path: &str, files: &mut dyn Files, preview: bool) -> Result<Done, Failure> {
    let rel = files.parse(path)?;
    if rel.is_root() {
        return Err(refused("the project folder itself cannot be deleted"));
    }
    let place = files.place(&rel, false)?;
    let Some(kind) = files.kind(&place)? else {
        return Err(not_found(&rel, files));
    };
    let old = if preview {
        content_of(&place, files)
    } else {
        None
    };
    files.remove(&place)?;
    let what = match kind {
        Kind::Dir => "folder",
        Kind::Link => "link",
        Kind::File | Kind::Other => "file",
    };
    Ok(Done {
        message: None,
        data: json!({ "path": rel.to_string(), "kind": what }),
        touched: vec![place.path().to_owned()],
        diff: match old {
            Some(old) => repair::unified_diff(rel.as_str(), Some(&old), None),
            None => format!("deleted {what} {rel}\n"),
        },
        sections: Vec::new(),
    })
}

/// What a file holds now, if it is one that can be read.
fn content_of(place: &Place, files: &dyn Files) -> Option<Vec<u8>> {
    files.read(place).ok().map(|content| content.bytes)
}

fn edit_failure(
    error: &EditError,
    edit: &Edit<'_>,
    (rel, place): (&RelPath, &Place),
    file: &[u8],
) -> Failure {
    let pairs = match edit {
        Edit::Pairs(pairs) => pairs.len(),
        Edit::Hunks(hunks) => hunks.len(),
        Edit::Stretch { .. } => 1,
    };
    let names = (rel.as_str(), &*place.path().to_string_lossy());
    let details = repair::explain(error, edit, names, file);
    let is_missing = matches!(
        error.cause,
        Cause::NotFound {
            applied_at: None,
            ..
        }
    );
    let searched = is_missing.then(|| {
        Box::new(Searched {
            place: place.path().to_owned(),
            name: rel.to_string(),
            content: file.to_vec(),
            error: error.clone(),
            pairs,
        })
    });
    Failure {
        message: wording::edit_error(error, pairs).into(),
        data: Box::new(json!({ "path": rel.to_string(), "details": details })),
        sections: vec![Section::Text(details)],
        fault: Box::default(),
        searched,
    }
}

/// A missing file, with the names that may have been meant.
fn not_found(rel: &RelPath, files: &dyn Files) -> Failure {
    let mut message = format!("file not found: `{rel}`");
    if let Some(near) = nearest(rel, files) {
        message += &format!(" (did you mean {near}?)");
    }
    refused(message)
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

fn refused(message: impl Into<Box<str>>) -> Failure {
    Failure {
        message: message.into(),
        data: Box::default(),
        sections: Vec::new(),
        fault: Box::default(),
        searched: None,
    }
}

impl From<PathError> for Failure {
    fn from(error: PathError) -> Self {
        refused(error.to_string())
    }
}

impl From<FsError> for Failure {
    fn from(error: FsError) -> Self {
        refused(error.to_string())
    }
}
