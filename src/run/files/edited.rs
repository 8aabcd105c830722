//! Edits a file. An edit and a move are one: the file is changed and has another name, or neither.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::missing::{not_found, not_found_to_edit};
use super::named;
use super::named_file::{FoundFile, NamedFile};
use super::{FileResult, refused};
use crate::edit::{self, Adapted, Edit, Edited, Tier};
use crate::reply::hunk::Hunk;
use crate::reply::path::RelPath;
use crate::reply::task::Replacement;
use crate::reply::text::Text;
use crate::report::fault::Fault;
use crate::report::outcome::{Outcome, Touched};
use crate::report::wording;
use crate::world::workspace::{FileKind, FsError, ProjectFiles, ResolvedPath, SeenPlace};

/// The number of times that an edit starts because somebody else saved the file at the same moment.
pub(super) const TRIES: usize = 3;

pub(super) fn edit(
    path: &str,
    change: &Replacement<'_>,
    to: Option<&str>,
    files: &mut dyn ProjectFiles,
) -> FileResult {
    with_edit(change, |edit| {
        if let Some(to) = to {
            let rel = named::existing(path, files)?;
            return edit_and_move(edit, rel, to, files);
        }
        let file = NamedFile::at(named::text(path, files)?, files)?;
        let unnumbered = unnumbered(edit, &file.place, files);
        let unnumbered = unnumbered.as_deref().map(Edit::Hunks);
        let edit = unnumbered.as_ref().unwrap_or(edit);
        apply(edit, &file, files).map_err(|failure| match failure.fault {
            Fault::Missing => not_found_to_edit(&file.rel, edit, files),
            _ => failure,
        })
    })
}

/// Returns the hunks of an edit without their line numbers, where a task of this run has changed the file: the writer of the patch
/// has counted in another. Nothing where they count.
fn unnumbered<'e>(
    edit: &Edit<'e>,
    place: &ResolvedPath,
    files: &dyn ProjectFiles,
) -> Option<Vec<Hunk<'e>>> {
    let Edit::Hunks(hunks) = edit else {
        return None;
    };
    let without = |hunk: &Hunk<'e>| Hunk {
        line: None,
        ..hunk.clone()
    };
    files
        .was_changed(place)
        .then(|| hunks.iter().map(without).collect())
}

/// Lends a change as an edit.
pub(crate) fn with_edit<T>(change: &Replacement<'_>, act: impl FnOnce(&Edit<'_>) -> T) -> T {
    match change {
        Replacement::Pairs(pairs) => {
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
        Replacement::Stretch {
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
        Replacement::Hunks(hunks) => act(&Edit::Hunks(hunks)),
        Replacement::Literal { .. } | Replacement::LiteralRange { .. } => {
            act(&Edit::Pairs(Vec::new()))
        }
    }
}

fn apply(edit: &Edit<'_>, file: &NamedFile, files: &mut dyn ProjectFiles) -> FileResult {
    rewrite(file, files, |found| {
        let edited =
            edit::apply(found.target(), edit).map_err(|errors| found.failure(&errors, edit))?;
        let tier = tier_of(&edited);
        let lines: Vec<usize> = edited.places.iter().map(|place| place.line).collect();
        let adapted = edited.places.iter().map(|place| place.adapted);
        let adapted = adapted.reduce(Adapted::and).unwrap_or_default();
        Ok(Rewritten {
            parts: edited.parts,
            message: (tier != Tier::Exact).then(|| wording::matched(tier, adapted)),
            shows: tier != Tier::Exact,
            data: json!({
                "path": file.rel.to_string(),
                "replacements": lines.len(),
                "tier": tier.name(),
                "lines": lines,
            }),
        })
    })
}

fn edit_and_move(
    edit: &Edit<'_>,
    rel: RelPath,
    to: &str,
    files: &mut dyn ProjectFiles,
) -> FileResult {
    let to_rel = named::any(to, files)?;
    let SeenPlace { place, kind } = files.see(&rel, false)?;
    let source = NamedFile {
        rel,
        place,
        kind,
        names: None,
    };
    match kind {
        None => return Err(not_found_to_edit(&source.rel, edit, files)),
        Some(FileKind::Link) => {
            return Err(refused(format!(
                "`{}` is a link: edit the file that it points to, and move the link in a task of its own",
                source.rel
            )));
        }
        Some(_) => {}
    }
    let target = NamedFile {
        place: free_place(&source, &to_rel, to, files)?,
        kind,
        rel: source.rel.clone(),
        names: None,
    };
    let unnumbered = unnumbered(edit, &source.place, files);
    let unnumbered = unnumbered.as_deref().map(Edit::Hunks);
    let edit = unnumbered.as_ref().unwrap_or(edit);
    let before = files.read_to_change(&source.place)?;
    if let Err(errors) = edit::apply(&before.bytes, edit) {
        return Err(FoundFile::new(&source, &before, files).failure(&errors, edit));
    }
    // A file that cannot be written at all must fail before it has its other name.
    files.write(&source.place, &[&before.bytes], Some(&before))?;
    files.rename(&source.place, &target.place, false)?;
    let mut done = match apply(edit, &target, files) {
        Ok(done) => done,
        Err(mut failure) => {
            if files.rename(&target.place, &source.place, false).is_err() {
                let why = format!("moved to `{to_rel}`, but not edited: {}", failure.said());
                failure.message = Some(why);
            }
            return Err(failure);
        }
    };
    done.touched = Touched::Paths(vec![source.path(), target.path()]);
    done.data["to"] = json!(to_rel.to_string());
    done.data["overwrote"] = json!(false);
    Ok(done)
}

/// The place that an edited file is moved to, where nothing may be.
fn free_place(
    source: &NamedFile,
    to_rel: &RelPath,
    to: &str,
    files: &dyn ProjectFiles,
) -> FileResult<ResolvedPath> {
    if to_rel.is_root() || to.trim_end().ends_with('/') {
        return Err(FsError::IsAFolder(to_rel.to_string()).into());
    }
    let place = files.place(to_rel, false)?;
    if place == source.place {
        return Err(refused(
            "source and destination are the same: leave the move out",
        ));
    }
    if files.kind(&place)?.is_some() {
        let why = format!("`{to_rel}` already exists: delete it first, or choose another name");
        return Err(refused(why));
    }
    Ok(place)
}

/// The least exact of the tiers that found the places of an edit.
pub(super) fn tier_of(edited: &Edited<'_>) -> Tier {
    let tiers = edited.places.iter().map(|place| place.tier);
    tiers.max().unwrap_or(Tier::Exact)
}

/// The new content of a file, and what there is to say of it.
pub(super) struct Rewritten<'f> {
    pub(super) parts: Vec<Cow<'f, [u8]>>,
    pub(super) message: Option<String>,
    pub(super) data: Value,
    /// The lines that were changed are shown as they are now: they may be other ones than the reply meant.
    pub(super) shows: bool,
}

/// Replaces the content of a file by what `make` makes of it. Starts over if somebody else saved the file meanwhile.
pub(super) fn rewrite(
    file: &NamedFile,
    files: &mut dyn ProjectFiles,
    make: impl for<'f> Fn(&FoundFile<'f>) -> FileResult<Rewritten<'f>>,
) -> FileResult {
    for attempt in 1.. {
        let content = match files.read_to_change(&file.place) {
            Err(FsError::NotFound(_)) => return Err(not_found(&file.rel, files)),
            content => content?,
        };
        let found = FoundFile::new(file, &content, files).with_part()?;
        let rewritten = make(&found)?;
        let parts: Vec<&[u8]> = rewritten.parts.iter().map(AsRef::as_ref).collect();
        match files.write(&file.place, &parts, Some(&content)) {
            Err(FsError::Changed(_)) if attempt < TRIES => continue,
            written => written?,
        }
        let shows = found.may_show.is_ok() && rewritten.shows;
        let sections = shows.then(|| found.written(&parts.concat()));
        return Ok(Outcome {
            message: rewritten.message,
            data: rewritten.data,
            sections: sections.unwrap_or_default(),
            touched: file.touched(),
            ..Outcome::default()
        });
    }
    unreachable!("the loop ends by returning")
}
