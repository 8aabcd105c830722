//! An edit that failed: all that stands in its way, told at once, with what helps to repair it.

use std::ops::Range;
use std::path::PathBuf;

use super::repair::{self, EditMiss, FailedPlace, Help, MissReason};
use super::section::Section;
use super::wording;
use crate::edit::{Edit, EditCause, EditError};

/// A file that an edit searched in vain.
#[derive(Debug)]
pub struct FailedEdit {
    /// Relative to the root, no link in it.
    pub place: PathBuf,
    /// The path as the reply names it.
    name: String,
    content: Vec<u8>,
    /// Each text that stands in the way, with what is shown because of it.
    misses: Vec<(EditMiss, Aid)>,
    pairs: usize,
    /// The line that is shown instead of a file that may not be shown.
    withheld: Option<String>,
}

/// The help to repair one text of an edit.
#[derive(Debug)]
enum Aid {
    Help(Help),
    /// The difference between the file and an earlier state of it that has the text.
    Diff(String),
}

impl FailedEdit {
    /// Explains these errors of an edit.
    pub fn new(errors: &[EditError], edit: &Edit<'_>, place: FailedPlace<'_>) -> Self {
        let pairs = match edit {
            Edit::Pairs(pairs) => pairs.len(),
            Edit::Hunks(hunks) => hunks.len(),
            Edit::Stretch { .. } => 1,
        };
        let miss = |error: &EditError| {
            let help = match &place.text {
                Ok(text) => repair::explain(error, edit, &place, text),
                Err(_) => Help::default(),
            };
            (EditMiss::of(error, edit, &place), Aid::Help(help))
        };
        Self {
            misses: errors.iter().map(miss).collect(),
            name: place.rel.to_string(),
            content: place.target.bytes.to_vec(),
            place: place.place,
            pairs,
            withheld: place.text.err().map(|why| why.to_string()),
        }
    }

    /// The texts of the edit, by their places in it, that an earlier state of the file may have had.
    pub fn missing(&self) -> Vec<usize> {
        let misses = self.misses.iter().enumerate();
        let missing = misses.filter(|(_, (miss, _))| miss.may_be_stale());
        missing.map(|(at, _)| at).collect()
    }

    /// Returns how the file differs from an earlier state of it, if that has one of the missing texts.
    pub fn diff_since(&self, at: usize, edit: &Edit<'_>, old: &[u8]) -> Option<String> {
        let (miss, _) = self.misses.get(at).filter(|_| old != self.content)?;
        let lines = repair::lines_in(old, &miss.error, edit)?;
        let file_name = self.place.to_string_lossy();
        Some(repair::since(
            &self.name,
            &file_name,
            old,
            &self.content,
            &lines,
        ))
    }

    /// Notes of one of the texts that it was there until something happened, and what has changed since.
    pub fn mark_stale(&mut self, at: usize, until: String, diff: String) {
        if let Some((miss, aid)) = self.misses.get_mut(at) {
            miss.why = Some(MissReason::Stale { until });
            *aid = Aid::Diff(diff);
        }
    }

    pub fn message(&self) -> String {
        let misses: Vec<EditMiss> = self.misses.iter().map(|(miss, _)| miss.clone()).collect();
        wording::failed_edit(&misses, self.pairs)
    }

    /// The explanation of each text, and then the file.
    pub fn sections(&self) -> Vec<Section> {
        if let Some(why) = &self.withheld {
            return vec![Section::Text(why.clone())];
        }
        let said = self.misses.iter().map(|(miss, aid)| {
            let said = match aid {
                Aid::Help(help) => help.said.clone(),
                Aid::Diff(diff) if diff.is_empty() => String::new(),
                Aid::Diff(diff) => format!("{} has changed since then:\n{diff}\n", self.name),
            };
            if said.is_empty() || self.pairs == 1 {
                said
            } else {
                format!("{}:\n{said}", wording::part(&miss.error, self.pairs))
            }
        });
        let mut sections = vec![Section::Text(said.collect())];
        let is_blank = |(miss, _): &(EditMiss, Aid)| miss.error.cause == EditCause::Blank;
        if !self.misses.iter().all(is_blank) {
            let lines = self.misses.iter().filter_map(|(_, aid)| match aid {
                Aid::Help(help) => help.lines.clone(),
                Aid::Diff(_) => None,
            });
            let lines: Vec<Range<usize>> = lines.collect();
            let text = String::from_utf8_lossy(&self.content);
            sections.extend(repair::shown(&self.name, &text, &lines));
        }
        sections
    }

    /// The same as one text, for `--json`.
    pub fn details(&self) -> String {
        let text = self.sections().into_iter().map(|section| match section {
            Section::Text(text) => text,
            Section::File { name, content, .. } => {
                format!("=== START FILE: {name} ===\n{content}=== END FILE: {name} ===\n")
            }
            Section::Stream(..) => String::new(),
        });
        text.collect()
    }
}
