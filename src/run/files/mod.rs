//! What the file commands mean, in terms of [`Files`]: edit, overwrite, move and delete here, the others in files of their
//! own. Runs nothing and reads no reply.

mod chosen;
mod find;
mod folders;
mod left_out;
mod lines;
mod literal;
mod missed;
mod missing;
mod moved;
mod named;
mod read;
mod shown;

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use serde_json::{Value, json};

pub use self::missed::Searched;
pub(crate) use self::missing::not_found;
use crate::edit::{self, Adapted, Edit, Edited, Tier};
use crate::reply::hunk::Hunk;
use crate::reply::path::{PathError, RelPath};
use crate::reply::task::{Action, Change, Payload};
use crate::reply::text::Text;
use crate::report::fault::Fault;
use crate::report::outcome::{Section, Stretch};
use crate::report::{repair, wording};
use crate::world::workspace::{Files, FsError, Kind, Place};

use left_out::Use;

pub use chosen::{choices, edit_at};
pub(crate) use find::may_show;
pub use shown::{ShownLines, shown};

/// How often an edit starts over because somebody else saved the file at the same moment.
const TRIES: usize = 3;
/// How many files one task may name.
const MOST_FILES: usize = 1000;

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

/// Carries out a file command. With `preview` what it changes is described too. Says where a path was taken otherwise than
/// the reply wrote it, and which file could not keep its group.
///
/// # Errors
/// Where it cannot be done; then nothing is changed.
///
/// # Panics
/// For an exec, which is none.
pub fn perform(action: &Action<'_>, files: &mut dyn Files, preview: bool) -> Result<Done, Failure> {
    let taken = taken_otherwise(action, files);
    let result = carry_out(action, files, preview);
    told(taken, files, result)
}

/// The files that could not keep their group, if there are any.
fn regrouped(files: &mut dyn Files) -> Option<String> {
    let mut regrouped = files.regrouped();
    // An edit that starts over writes a file more than once.
    regrouped.sort_by(|(one, _), (other, _)| one.cmp(other));
    regrouped.dedup_by(|(one, _), (other, _)| one == other);
    match regrouped.as_slice() {
        [] => None,
        [(_, group)] => Some(format!("its group is now {group}")),
        [(place, group), others @ ..] => Some(format!(
            "the group of `{}` is now {group} (and {} more)",
            place.path().display(),
            others.len()
        )),
    }
}

fn carry_out(action: &Action<'_>, files: &mut dyn Files, preview: bool) -> Result<Done, Failure> {
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
            only_new,
        } => overwrite(path, content, (*final_newline, *only_new), files, preview),
        Action::Move {
            path,
            to,
            overwrite,
            exact,
        } => move_to(path, to, (*overwrite, *exact), files),
        Action::Delete {
            path,
            only_file,
            held,
        } => delete(path, (*only_file, held), files, preview),
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
            is_lenient,
        } => {
            let lines = lines.as_deref();
            read::read(paths, (lines, numbers.as_deref()), *is_lenient, files)
        }
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
            "only the user can do that: leave this task out and ask them to run `{}`",
            command.typed().unwrap_or_default()
        ))),
        Action::Exec { .. } | Action::Context(_) => unreachable!("no file command"),
    }
}

/// Adds to what came of a task how its paths were taken, and which file could not keep its group.
fn told(
    taken: Option<String>,
    files: &mut dyn Files,
    result: Result<Done, Failure>,
) -> Result<Done, Failure> {
    let said: Vec<String> = taken.into_iter().chain(regrouped(files)).collect();
    if said.is_empty() {
        return result;
    }
    let said = said.join("; ");
    match result {
        Ok(done) => Ok(Done {
            message: Some(match done.message {
                Some(message) => format!("{message}; {said}"),
                None => said,
            }),
            ..done
        }),
        Err(failure) => Err(Failure {
            message: format!("{}; {said}", failure.message).into(),
            ..failure
        }),
    }
}

/// How the paths of a task were taken, if any was taken otherwise than the reply wrote it.
fn taken_otherwise(action: &Action<'_>, files: &dyn Files) -> Option<String> {
    let of = |path: &str, rel: Result<RelPath, PathError>| {
        let rel = rel.ok()?;
        (files.parse(path).as_ref() != Ok(&rel)).then(|| rel.to_string())
    };
    let subjects = paths_of(action).into_iter();
    let subjects = subjects.filter_map(|path| of(path, meant(action, path, files)));
    let target = match action {
        Action::Move { to, .. } | Action::Edit { to: Some(to), .. } => Some(to),
        _ => None,
    };
    let target = target.and_then(|to| of(to, named::any(to, files)));
    let taken: Vec<String> = subjects.chain(target).collect();
    (!taken.is_empty()).then(|| wording::taken(&taken))
}

/// The paths of what a task is about, without the one that something is moved to.
fn paths_of<'a>(action: &'a Action<'_>) -> Vec<&'a str> {
    match action {
        Action::Edit { path, .. }
        | Action::Overwrite { path, .. }
        | Action::Append { path, .. }
        | Action::ReplaceLines { path, .. }
        | Action::MakeFolder { path }
        | Action::Move { path, .. }
        | Action::Delete { path, .. }
        | Action::RemoveFolder { path } => vec![path],
        Action::ReplaceAll { paths, .. } | Action::Read { paths, .. } => {
            paths.iter().map(AsRef::as_ref).collect()
        }
        Action::List { path } | Action::Grep { path, .. } | Action::Glob { path, .. } => {
            path.as_deref().into_iter().collect()
        }
        Action::Exec { .. } | Action::Context(_) | Action::ForUser(_) => Vec::new(),
    }
}

/// The place that a task means by a path of what it is about.
fn meant(action: &Action<'_>, path: &str, files: &dyn Files) -> Result<RelPath, PathError> {
    match action {
        Action::Overwrite { .. } | Action::Append { .. } | Action::MakeFolder { .. } => {
            named::any(path, files)
        }
        Action::Edit { to: Some(_), .. }
        | Action::Move { .. }
        | Action::Delete { .. }
        | Action::RemoveFolder { .. } => named::existing(path, files),
        _ => named::text(path, files),
    }
}

fn edit_file(
    path: &str,
    change: &Change<'_>,
    to: Option<&str>,
    files: &mut dyn Files,
    preview: bool,
) -> Result<Done, Failure> {
    with_edit(change, |edit| match to {
        Some(to) => {
            let rel = named::existing(path, files)?;
            moved::edit_and_move(edit, (&rel, to), files, preview)
        }
        None => {
            let rel = named::text(path, files)?;
            let place = files.place(&rel, true)?;
            match apply(edit, &rel, &place, files, preview) {
                Err(failure) if *failure.fault == Fault::Missing => {
                    Err(missing::not_found_to_edit(&rel, edit, files))
                }
                done => done,
            }
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
    rewrite((rel, place), files, preview, |content, may_show| {
        let edited = edit::apply(content, edit)
            .map_err(|errors| missed::failure(&errors, edit, (rel, place), (content, may_show)))?;
        let tier = tier_of(&edited);
        let lines: Vec<usize> = edited.places.iter().map(|place| place.line).collect();
        let adapted = edited.places.iter().map(|place| place.adapted);
        let adapted = adapted.reduce(Adapted::and).unwrap_or_default();
        Ok(Rewritten {
            parts: edited.parts,
            message: (tier != Tier::Exact).then(|| wording::matched(tier, adapted)),
            shows: tier != Tier::Exact,
            data: json!({
                "path": rel.to_string(),
                "replacements": lines.len(),
                "tier": tier.name(),
                "lines": lines,
            }),
        })
    })
}

/// The least exact of what found the places of an edit.
fn tier_of(edited: &Edited<'_>) -> Tier {
    let tiers = edited.places.iter().map(|place| place.tier);
    tiers.max().unwrap_or(Tier::Exact)
}

/// What is to be in a file, and what there is to say of it.
struct Rewritten<'f> {
    parts: Vec<Cow<'f, [u8]>>,
    message: Option<String>,
    data: Value,
    /// The lines that were changed are shown as they are now: they may be other ones than the reply meant.
    shows: bool,
}

/// Has a file hold what `make` makes of its content, which is told whether it may be shown. Starts over where somebody else
/// saved it meanwhile.
fn rewrite(
    (rel, place): (&RelPath, &Place),
    files: &mut dyn Files,
    preview: bool,
    make: impl for<'f> Fn(&'f [u8], &Result<(), FsError>) -> Result<Rewritten<'f>, Failure>,
) -> Result<Done, Failure> {
    for attempt in 1.. {
        let content = match files.read_to_change(place) {
            Err(FsError::NotFound(_)) => return Err(not_found(rel, files)),
            content => content?,
        };
        let may_show = files.may_show(place);
        let rewritten = make(&content.bytes, &may_show)?;
        let parts: Vec<&[u8]> = rewritten.parts.iter().map(AsRef::as_ref).collect();
        match files.write(place, &parts, Some(&content)) {
            Err(FsError::Changed(_)) if attempt < TRIES => continue,
            written => written?,
        }
        let real = place.path().to_string_lossy();
        let sections = match &may_show {
            Ok(()) if rewritten.shows => {
                repair::written(rel.as_str(), &real, &content.bytes, &parts.concat())
            }
            _ => Vec::new(),
        };
        return Ok(Done {
            sections: sections
                .into_iter()
                .map(|(name, content)| Section::File {
                    name,
                    content,
                    at: None,
                })
                .collect(),
            diff: match &may_show {
                _ if !preview => String::new(),
                Ok(()) => {
                    repair::unified_diff(rel.as_str(), Some(&content.bytes), Some(&parts.concat()))
                }
                Err(why) => format!("{why}\n"),
            },
            message: rewritten.message,
            data: rewritten.data,
            touched: vec![place.path().to_owned()],
        });
    }
    unreachable!("the loop ends by returning")
}

fn overwrite(
    path: &str,
    content: &Payload<'_>,
    (final_newline, only_new): (bool, bool),
    files: &mut dyn Files,
    preview: bool,
) -> Result<Done, Failure> {
    let rel = new_file_path(path, files)?;
    let place = files.place(&rel, true)?;
    if only_new && files.kind(&place)?.is_some() {
        let message = format!("`{rel}` already exists: edit it, or delete it first");
        return Err(fault(Fault::Exists, message));
    }
    let text = file_text(content, final_newline);
    let bytes = text.as_bytes();
    let replaced = files.read_to_change(&place).ok();
    let replaced = replaced.as_ref().map(|content| content.bytes.as_slice());
    if !only_new {
        left_out::refuse(content, (&rel, replaced), Use::Whole)?;
    }
    let old = if preview {
        content_of(&place, files)
    } else {
        None
    };
    files.write(&place, &[bytes], None)?;
    Ok(Done {
        message: replaced.and_then(|old| loss(old, bytes)),
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

/// The text of a file that is made of a payload.
fn file_text<'p>(content: &'p Payload<'_>, final_newline: bool) -> Cow<'p, str> {
    let mut text = content.file_text();
    if !final_newline {
        let bare = text.strip_suffix('\n').unwrap_or(&text);
        let bare = bare
            .strip_suffix('\r')
            .filter(|_| content.is_crlf)
            .unwrap_or(bare);
        text = bare.to_owned().into();
    }
    text
}

/// How many lines a file had and has, where it loses more than half of them.
fn loss(old: &[u8], new: &[u8]) -> Option<String> {
    let count = |text: &[u8]| text.split_inclusive(|byte| *byte == b'\n').count();
    let (old, new) = (count(old), count(new));
    let lines = if new == 1 { "line" } else { "lines" };
    (2 * new < old).then(|| format!("{old} → {new} {lines}"))
}

/// The path of what can only be a file, and is to be there with its text.
fn file_path(path: &str, files: &dyn Files) -> Result<RelPath, Failure> {
    of_a_file(path, named::text(path, files)?, files)
}

/// The same where it may be new.
fn new_file_path(path: &str, files: &dyn Files) -> Result<RelPath, Failure> {
    of_a_file(path, named::any(path, files)?, files)
}

fn of_a_file(path: &str, rel: RelPath, files: &dyn Files) -> Result<RelPath, Failure> {
    if rel.is_root() || path.trim_end().ends_with('/') {
        if files.kind(&files.place(&rel, true)?)? == Some(Kind::File) {
            let message = format!("`{rel}` is a file: write its path without the `/` at the end");
            return Err(fault(Fault::NotAFolder, message));
        }
        return Err(FsError::IsAFolder(rel.to_string()).into());
    }
    Ok(rel)
}

/// Refuses a task without a file, and one with more than anybody means.
fn check_count(paths: &[Cow<'_, str>]) -> Result<(), Failure> {
    match paths.len() {
        0 => Err(refused("this task has no path: name the files")),
        1..=MOST_FILES => Ok(()),
        files => Err(refused(format!(
            "{files} files in one task, but at most {MOST_FILES} are allowed: write several tasks"
        ))),
    }
}

fn move_to(
    path: &str,
    to: &str,
    (overwrite, exact): (bool, bool),
    files: &mut dyn Files,
) -> Result<Done, Failure> {
    let rel = named::existing(path, files)?;
    let source = files.place(&rel, false)?;
    let (Some(kind), Some(name)) = (files.kind(&source)?, rel.last()) else {
        return Err(if rel.is_root() {
            refused("the project folder itself cannot be moved")
        } else {
            not_found(&rel, files)
        });
    };
    let (to_rel, target_rel, target) = destination(to, name, exact, files)?;
    if target == source {
        return Err(refused(
            "source and destination are the same: leave this task out",
        ));
    }
    if target.path().starts_with(source.path()) {
        return Err(refused(format!(
            "`{rel}` cannot be moved into itself: choose another destination"
        )));
    }
    let replaced = files.kind(&target)?;
    match (kind, replaced) {
        (Kind::Dir, Some(Kind::Dir)) => {
            let message = format!(
                "`{target_rel}` already exists: delete it first, or move the contents of `{rel}`"
            );
            return Err(fault(Fault::Exists, message));
        }
        (Kind::Dir, Some(_)) => {
            let message = format!(
                "`{target_rel}` is a file, which a folder cannot replace: delete it first, or \
                                  choose another name"
            );
            return Err(fault(Fault::NotAFolder, message));
        }
        (_, Some(Kind::Dir)) => return Err(FsError::IsAFolder(target_rel.to_string()).into()),
        (_, Some(_)) if !overwrite => {
            let message = format!(
                "`{target_rel}` already exists: write `<x overwrite=\"yes\">` to replace it"
            );
            return Err(fault(Fault::Exists, message));
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

/// Where a thing of this name is moved to: the path as it was given, as it is meant, and its place. `exact`: to this very
/// path, not into a folder there.
fn destination(
    to: &str,
    name: &str,
    exact: bool,
    files: &dyn Files,
) -> Result<(RelPath, RelPath, Place), Failure> {
    let into = to.trim_end().ends_with('/');
    let to_rel = named::any(to, files)?;
    if exact {
        let target = files.place(&to_rel, false)?;
        return Ok((to_rel.clone(), to_rel, target));
    }
    let followed = files.place(&to_rel, true)?;
    let (target_rel, target) = match files.kind(&followed)? {
        Some(Kind::Dir) => (to_rel.child(name), followed.child(name)),
        None if into => (to_rel.child(name), followed.child(name)),
        Some(_) if into => return Err(FsError::NotAFolder(to_rel.to_string()).into()),
        _ => (to_rel.clone(), files.place(&to_rel, false)?),
    };
    Ok((to_rel, target_rel, target))
}

/// The places of what a file command is about and may change; none where it cannot be done or changes nothing.
pub fn subjects(action: &Action<'_>, files: &dyn Files) -> Vec<Place> {
    let follow = match action {
        Action::Edit { to: Some(_), .. } => false,
        Action::Edit { .. }
        | Action::Overwrite { .. }
        | Action::Append { .. }
        | Action::ReplaceLines { .. }
        | Action::MakeFolder { .. }
        | Action::ReplaceAll { .. } => true,
        Action::Move { .. } | Action::Delete { .. } | Action::RemoveFolder { .. } => false,
        Action::Read { .. }
        | Action::List { .. }
        | Action::Grep { .. }
        | Action::Glob { .. }
        | Action::Exec { .. }
        | Action::Context(_)
        | Action::ForUser(_) => return Vec::new(),
    };
    let place = |path: &str| {
        let rel = meant(action, path, files).ok();
        let rel = rel.filter(|rel| !rel.is_root())?;
        files.place(&rel, follow).ok()
    };
    let mut places: Vec<Place> = paths_of(action).into_iter().filter_map(place).collect();
    places.sort();
    places.dedup();
    places
}

/// The places that a file command would change, relative to the root: those, and where something is moved to.
pub fn places(action: &Action<'_>, files: &dyn Files) -> Vec<PathBuf> {
    let target = match action {
        Action::Move {
            path, to, exact, ..
        } => {
            let rel = named::existing(path, files).ok();
            let name = rel.as_ref().and_then(RelPath::last);
            let target = name.and_then(|name| destination(to, name, *exact, files).ok());
            target.map(|(_, _, target)| target)
        }
        Action::Edit { to: Some(to), .. } => {
            let rel = named::any(to, files).ok();
            rel.and_then(|rel| files.place(&rel, false).ok())
        }
        _ => None,
    };
    let places = subjects(action, files).into_iter().chain(target);
    places.map(|place| place.path().to_owned()).collect()
}

/// Paths of which a task leaves nothing that was there: what it deletes, moves away, or writes or moves something over.
pub fn destroyed(action: &Action<'_>, files: &dyn Files) -> Vec<PathBuf> {
    match action {
        Action::Delete { .. } | Action::Overwrite { .. } | Action::Move { .. } => {
            places(action, files)
        }
        _ => Vec::new(),
    }
}

fn delete(
    path: &str,
    (only_file, held): (bool, &[Hunk<'_>]),
    files: &mut dyn Files,
    preview: bool,
) -> Result<Done, Failure> {
    let rel = named::existing(path, files)?;
    if rel.is_root() {
        return Err(refused("the project folder itself cannot be deleted"));
    }
    let place = files.place(&rel, false)?;
    let Some(kind) = files.kind(&place)? else {
        return Err(not_found(&rel, files));
    };
    if only_file && kind == Kind::Dir {
        return Err(FsError::IsAFolder(rel.to_string()).into());
    }
    let is_read = preview || !held.is_empty();
    let old = is_read.then(|| content_of(&place, files)).flatten();
    let text: String = held.iter().map(Hunk::search).collect();
    if !held.is_empty()
        && !old
            .as_ref()
            .is_some_and(|old| is_alike(old, text.as_bytes()))
    {
        return Err(refused(format!(
            "`{rel}` differs from the lines that the diff removes: copy all lines from the file, or write `deleted \
             file mode 100644` without a hunk to delete it as it is"
        )));
    }
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
        diff: match old.filter(|_| preview) {
            Some(old) => repair::unified_diff(rel.as_str(), Some(&old), None),
            None => format!("deleted {what} {rel}\n"),
        },
        sections: Vec::new(),
    })
}

/// Whether two texts are the same but for white space.
fn is_alike(one: &[u8], other: &[u8]) -> bool {
    let marks = |text: &[u8]| {
        let marks = text.iter().copied().filter(|b| !b.is_ascii_whitespace());
        marks.collect::<Vec<_>>()
    };
    marks(one) == marks(other)
}

/// What a file holds now, if it is one that can be read.
fn content_of(place: &Place, files: &dyn Files) -> Option<Vec<u8>> {
    files.read(place).ok().map(|content| content.bytes)
}

/// A file as it is, for whoever is to repair a task that failed on it, if it may be shown; by the name that the reply has for it.
fn as_it_is(
    path: &str,
    (rel, place): (&RelPath, &Place),
    content: &[u8],
    may_show: &Result<(), FsError>,
) -> Vec<Section> {
    let real = place.path().to_string_lossy();
    let shown = match may_show {
        Ok(()) => repair::showable(rel.as_str(), &real, content).map_err(|why| why.to_string()),
        Err(why) => Err(format!("{why}\n")),
    };
    vec![match shown {
        Ok(text) => Section::File {
            name: path.to_owned(),
            content: text.to_owned(),
            at: Some(Stretch {
                path: rel.to_string(),
                first: 1,
                of: text.lines().count(),
            }),
        },
        Err(why) => Section::Text(why),
    }]
}

pub(crate) fn refused(message: impl Into<Box<str>>) -> Failure {
    fault(Fault::Other, message)
}

fn fault(fault: Fault, message: impl Into<Box<str>>) -> Failure {
    Failure {
        message: message.into(),
        data: Box::default(),
        sections: Vec::new(),
        fault: Box::new(fault),
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
        let what = match &error {
            FsError::NotFound(_) => Fault::Missing,
            FsError::Exists(_) => Fault::Exists,
            FsError::IsAFolder(_) => Fault::IsFolder,
            FsError::NotAFolder(_) => Fault::NotAFolder,
            FsError::NotEmpty(_) => Fault::NotEmpty,
            FsError::ReadOnly(_) => Fault::Denied,
            FsError::Io { error, .. } => fault_of(error),
            _ => Fault::Other,
        };
        fault(what, error.to_string())
    }
}

/// What the system said.
fn fault_of(error: &io::Error) -> Fault {
    let code = match error.kind() {
        io::ErrorKind::NotFound => return Fault::Missing,
        io::ErrorKind::AlreadyExists => return Fault::Exists,
        io::ErrorKind::PermissionDenied => return Fault::Denied,
        io::ErrorKind::NotADirectory => return Fault::NotAFolder,
        io::ErrorKind::IsADirectory => return Fault::IsFolder,
        io::ErrorKind::DirectoryNotEmpty => return Fault::NotEmpty,
        io::ErrorKind::InvalidFilename => "ENAMETOOLONG",
        io::ErrorKind::StorageFull => "ENOSPC",
        io::ErrorKind::QuotaExceeded => "EDQUOT",
        io::ErrorKind::ReadOnlyFilesystem => "EROFS",
        io::ErrorKind::ResourceBusy => "EBUSY",
        io::ErrorKind::FileTooLarge => "EFBIG",
        io::ErrorKind::InvalidInput => "EINVAL",
        _ => "EIO",
    };
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    Fault::System {
        code: code.to_owned(),
        text: text.to_lowercase(),
    }
}
