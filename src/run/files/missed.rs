//! An edit that failed: all that stands in its way, told at once, with what helps to repair it.

use std::ops::Range;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Failure, refused, with_edit};
use crate::edit::{Cause, Edit, EditError};
use crate::reply::path::RelPath;
use crate::reply::task::Action;
use crate::report::outcome::Section;
use crate::report::repair::{self, EditMiss, Help, MissReason};
use crate::report::wording;
use crate::world::workspace::{FsError, Place};

/// A file that was searched in vain.
#[derive(Debug)]
pub struct Searched {
    /// Relative to the root, no link in it; and as the reply names it.
    pub place: PathBuf,
    name: String,
    content: Vec<u8>,
    /// Each text that stands in the way, with what is shown of the file because of it, or since when it is stale.
    misses: Vec<(EditMiss, Shown)>,
    pairs: usize,
    /// Why nothing of the file is shown.
    withheld: Option<String>,
}

/// What helps to repair one text of an edit.
#[derive(Debug)]
enum Shown {
    Help(Help),
    /// What has changed of the file since it was there.
    Diff(String),
}

impl Failure {
    /// The texts of the edit, by their places in it, that an earlier state of the file may have had.
    pub fn missing(&self) -> Vec<usize> {
        let misses = self.searched.iter().flat_map(|searched| &searched.misses);
        let misses = misses.enumerate();
        let missing = misses.filter(|(_, (miss, _))| miss.may_be_stale());
        missing.map(|(at, _)| at).collect()
    }

    /// What has changed of it since, where an earlier state of the searched file has one of those texts.
    pub fn diff_since(&self, at: usize, action: &Action<'_>, old: &[u8]) -> Option<String> {
        let (Some(searched), Action::Edit { change, .. }) = (&self.searched, action) else {
            return None;
        };
        if old == searched.content {
            return None;
        }
        let (miss, _) = searched.misses.get(at)?;
        with_edit(change, |edit| {
            let lines = repair::lines_in(old, &miss.error, edit)?;
            let file_name = searched.place.to_string_lossy();
            let (path, now) = (searched.name.as_str(), &searched.content);
            Some(repair::since(path, &file_name, old, now, &lines))
        })
    }

    /// Says of one of those texts that it was there until something happened, and what has changed since.
    pub fn is_stale(&mut self, at: usize, until: &str, diff: String) {
        let Some(searched) = &mut self.searched else {
            return;
        };
        let Some((miss, shown)) = searched.misses.get_mut(at) else {
            return;
        };
        if self.data["stale"].is_null() {
            self.data["stale"] = json!({ "until": until, "diff": diff });
        }
        miss.why = Some(MissReason::Stale {
            until: until.to_owned(),
        });
        *shown = Shown::Diff(diff);
        self.message = searched.message().into();
        self.sections = searched.sections();
        self.data["details"] = details(&self.sections);
    }
}

/// Why an edit failed, and of a file that may be shown what helps to repair it.
pub(super) fn failure(
    errors: &[EditError],
    edit: &Edit<'_>,
    (rel, place): (&RelPath, &Place),
    (file, may_show): (&[u8], &Result<(), FsError>),
) -> Failure {
    let pairs = match edit {
        Edit::Pairs(pairs) => pairs.len(),
        Edit::Hunks(hunks) => hunks.len(),
        Edit::Stretch { .. } => 1,
    };
    let real = place.path().to_string_lossy();
    let text = match may_show {
        Ok(()) => repair::showable(rel.as_str(), &real, file).map_err(|why| why.to_string()),
        Err(why) => Err(format!("{why}\n")),
    };
    let miss = |error: &EditError| {
        let help = match text {
            Ok(text) => repair::explain(error, edit, rel.as_str(), text),
            Err(_) => Help::default(),
        };
        (EditMiss::of(error, edit, file), Shown::Help(help))
    };
    let searched = Searched {
        place: place.path().to_owned(),
        name: rel.to_string(),
        content: file.to_vec(),
        misses: errors.iter().map(miss).collect(),
        pairs,
        withheld: text.as_ref().err().cloned(),
    };
    let (message, sections) = (searched.message(), searched.sections());
    Failure {
        data: Box::new(match may_show {
            Ok(()) => json!({ "path": rel.to_string(), "details": details(&sections) }),
            Err(_) => json!({ "path": rel.to_string() }),
        }),
        sections,
        // Of one that may not be shown nothing earlier is looked at either.
        searched: may_show.is_ok().then(|| Box::new(searched)),
        ..refused(message)
    }
}

impl Searched {
    fn message(&self) -> String {
        let misses: Vec<EditMiss> = self.misses.iter().map(|(miss, _)| miss.clone()).collect();
        wording::failed_edit(&misses, self.pairs)
    }

    /// What there is to say of each text, and then the file.
    fn sections(&self) -> Vec<Section> {
        if let Some(why) = &self.withheld {
            return vec![Section::Text(why.clone())];
        }
        let said = self.misses.iter().map(|(miss, shown)| {
            let said = match shown {
                Shown::Help(help) => help.said.clone(),
                Shown::Diff(diff) if diff.is_empty() => String::new(),
                Shown::Diff(diff) => format!("{} has changed since then:\n{diff}\n", self.name),
            };
            match said.is_empty() || self.pairs == 1 {
                true => said,
                false => format!("{}:\n{said}", wording::part(&miss.error, self.pairs)),
            }
        });
        let mut sections = vec![Section::Text(said.collect())];
        let is_blank = |(miss, _): &(EditMiss, Shown)| miss.error.cause == Cause::Blank;
        if !self.misses.iter().all(is_blank) {
            let lines = self.misses.iter().filter_map(|(_, shown)| match shown {
                Shown::Help(help) => help.lines.clone(),
                Shown::Diff(_) => None,
            });
            let lines: Vec<Range<usize>> = lines.collect();
            let text = String::from_utf8_lossy(&self.content);
            sections.extend(repair::shown(&self.name, &text, &lines));
        }
        sections
    }
}

/// The same as one text, for `--json`.
fn details(sections: &[Section]) -> Value {
    let text = sections.iter().map(|section| match section {
        Section::Text(text) => text.clone(),
        Section::File { name, content, .. } => {
            format!("=== START FILE: {name} ===\n{content}=== END FILE: {name} ===\n")
        }
        Section::Stream(..) => String::new(),
    });
    text.collect::<String>().into()
}
