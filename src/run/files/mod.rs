//! Carries out file commands on [`ProjectFiles`]: tells each kind of command from the others. Runs nothing and reads no reply.

mod addressed;
mod chosen;
mod definition;
mod diff;
mod edited;
mod fault;
mod find;
mod fitted;
mod folders;
mod left_out;
mod lines;
mod literal;
mod missing;
mod moved;
mod named;
mod named_file;
mod outlined;
mod overwritten;
mod paths;
mod read;
mod shown;

use crate::reply::path::PathError;
use crate::reply::task::{Action, Replacement};
use crate::report::outcome::Outcome;
use crate::report::wording;
use crate::world::workspace::ProjectFiles;

pub(crate) use addressed::not_there;
pub use chosen::{choices, edit_at};
pub use diff::diff;
pub(crate) use edited::with_edit;
pub(crate) use fault::{FileResult, failed, refused};
pub(crate) use find::may_show;
pub(crate) use missing::not_found;
pub use paths::{destroyed, places, subjects};
pub use shown::{ShownLines, shown};

use named::MeantPlace;
use paths::{meant, paths_of};

/// The number of files that one task may name.
const MOST_FILES: usize = 1000;

/// Carries out a file command. Says where a path was taken otherwise than the reply wrote it, and which file could not keep its
/// group. A failed command has changed nothing.
///
/// # Panics
/// For an exec, which is none.
pub fn perform(action: &Action<'_>, files: &mut dyn ProjectFiles) -> Outcome {
    let taken = taken_otherwise(action, files);
    let outcome = carry_out(action, files);
    with_remarks(outcome, taken, files)
}

fn carry_out(action: &Action<'_>, files: &mut dyn ProjectFiles) -> FileResult {
    match action {
        Action::Edit {
            path,
            change: Replacement::Literal { search, replace },
            ..
        } => literal::replace(path, search, replace, files),
        Action::Edit {
            path,
            change:
                Replacement::LiteralRange {
                    beginning,
                    end,
                    replace,
                },
            ..
        } => literal::replace_range(path, [beginning, end], replace, files),
        Action::Edit { path, change, to } => edited::edit(path, change, to.as_deref(), files),
        Action::Overwrite {
            path,
            content,
            final_newline,
            only_new,
        } => overwritten::overwrite(path, content, *final_newline, *only_new, files),
        Action::Move {
            path,
            to,
            overwrite,
            exact,
        } => moved::move_to(path, to, *overwrite, *exact, files),
        Action::Delete {
            path,
            only_file,
            held,
        } => moved::delete(path, *only_file, held, files),
        Action::Append {
            path,
            content,
            final_newline,
        } => lines::append(path, content, *final_newline, files),
        Action::ReplaceAll {
            paths,
            search,
            replace,
            count,
        } => literal::replace_all(paths, search, replace, *count, files),
        Action::ReplaceLines {
            path,
            lines,
            content,
        } => lines::replace(path, lines, content, files),
        Action::MakeFolder { path } => folders::make(path, files),
        Action::RemoveFolder { path } => folders::remove(path, files),
        Action::Read {
            paths,
            lines,
            numbers,
            is_lenient,
        } => {
            let lines = lines.as_deref();
            read::read(paths, lines, numbers.as_deref(), *is_lenient, files)
        }
        Action::Outline { paths, only_public } => outlined::show(paths, *only_public, files),
        Action::List { path } => find::list(path.as_deref(), files),
        Action::Grep {
            pattern,
            path,
            include,
            ignore_case,
        } => find::grep(
            pattern,
            path.as_deref(),
            include.as_deref(),
            *ignore_case,
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

/// Adds how the paths of a task were taken, and which file could not keep its group.
fn with_remarks(
    outcome: FileResult,
    taken: Option<String>,
    files: &mut dyn ProjectFiles,
) -> Outcome {
    let mut outcome = outcome.unwrap_or_else(|failed| *failed);
    for remark in taken.into_iter().chain(regrouped(files)) {
        outcome.also_says(&remark);
    }
    outcome
}

/// The files that could not keep their group, if there are any.
fn regrouped(files: &mut dyn ProjectFiles) -> Option<String> {
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

/// Says which paths of a task were taken otherwise than the reply wrote them, if any were.
fn taken_otherwise(action: &Action<'_>, files: &dyn ProjectFiles) -> Option<String> {
    let of = |path: &str, meant: Result<MeantPlace<'_>, PathError>| {
        let meant = meant.ok()?;
        meant.is_otherwise(path, files).then(|| meant.written())
    };
    let subjects = paths_of(action).into_iter();
    let subjects = subjects.filter(|path| named::is_doubtful(path));
    let subjects = subjects.filter_map(|path| of(path, meant(action, path, files)));
    let target = match action {
        Action::Move { to, .. } | Action::Edit { to: Some(to), .. } => Some(to),
        _ => None,
    };
    let target = target.and_then(|to| of(to, named::any(to, files).map(MeantPlace::whole)));
    let taken: Vec<String> = subjects.chain(target).collect();
    (!taken.is_empty()).then(|| wording::taken(&taken))
}
