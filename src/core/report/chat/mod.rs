//! The files of a project as a chat knows them: the lines that it was shown or wrote, and the changes since. Reads no file;
//! texts are lent for as long as they are compared.

pub(super) mod lines;

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::report::one_line;
use crate::text::diff::{DiffOp, DiffTag, LineDiff};
use lines::{AROUND, FILE_LINES, READ, Stretches};
use lines::{count, diff, joined, named_lines, place, without};

/// The most files that are remembered.
pub const MOST_FILES: usize = 200;
/// The largest text that is kept, in bytes; of a larger file only whether it has changed is known.
pub const LARGEST: usize = 256 * 1024;

/// The number of packets that tell of a change.
const PACKETS: u8 = 3;
/// The most lines of diffs that are told of all files.
const ALL_LINES: usize = 200;
/// The most lines that name files without a diff.
const NAMED: usize = 50;

/// The files that a chat knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chat {
    /// Tells one chat from the next.
    pub id: String,
    /// By their paths, relative to the root.
    pub files: BTreeMap<String, ChatFile>,
    /// Counts the uses of files, so that those that were not used for longest can be forgotten.
    uses: u64,
}

/// A file as a chat knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatFile {
    /// Its content when clada looked last.
    pub last: FileVersion,
    /// The lines of that which the chat was shown or wrote.
    lines: Stretches,
    /// The hash and those lines when the chat knew all there was to know.
    base: (String, Stretches),
    /// Changes since then that are to be told.
    changes: Vec<UntoldChange>,
    used: u64,
}

/// The content of a file at a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileVersion {
    pub hash: String,
    /// Its text may be kept, under that hash.
    pub has_text: bool,
    /// A text that stays the same with the file, where that is sure.
    pub mark: String,
    pub is_sure: bool,
}

/// The texts of a file that the chat wrote: when clada looked last, right before and right after.
#[derive(Debug, Clone, Copy)]
pub struct WrittenTexts<'t> {
    pub last: Option<&'t str>,
    pub before: Option<&'t str>,
    pub after: Option<&'t str>,
}

/// The author of a change to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum By {
    /// A command or a hook of a batch of this chat.
    Batch,
    /// The user, another chat, a checkout.
    Others,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct UntoldChange {
    by: By,
    what: FileChange,
    /// The number of packets that told of it.
    told: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum FileChange {
    /// These lines, as the file is now; with a diff where it is short enough.
    Lines {
        now: Stretches,
        diff: String,
    },
    /// A change somewhere in it.
    Content,
    Deleted,
    /// A move from this path.
    Moved(String),
}

/// The text that tells of changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ToldChanges {
    pub text: String,
    /// The files of which it tells.
    pub paths: Vec<String>,
}

impl Chat {
    /// Notes that the chat was shown these lines of a file; without lines, that it was shown what has changed. `texts` are those
    /// when clada looked last and now.
    pub fn shown(
        &mut self,
        path: &str,
        lines: &[Range<usize>],
        texts: (Option<&str>, Option<&str>),
        seen: FileVersion,
    ) {
        let end = texts.1.map_or(usize::MAX, count);
        let file = self.used(path, &seen);
        file.compare(texts, seen, By::Batch, false);
        if lines.is_empty() {
            file.changes.clear();
        }
        let lines: Stretches = lines
            .iter()
            .map(|it| it.start.min(end)..it.end.min(end))
            .collect();
        file.settle(&lines);
        file.lines.extend(lines);
        file.lines = joined(std::mem::take(&mut file.lines));
        file.rest();
    }

    /// Notes that the chat wrote a file, or with `whole` all of it. It was `was` right before, and `is` is right after.
    pub fn wrote(
        &mut self,
        path: &str,
        whole: bool,
        texts: WrittenTexts<'_>,
        was: Option<FileVersion>,
        is: FileVersion,
    ) {
        let WrittenTexts {
            last,
            before,
            after,
        } = texts;
        let file = self.used(path, was.as_ref().unwrap_or(&is));
        if let Some(was) = was {
            file.compare((last, before), was, By::Batch, true);
        }
        match (before, after) {
            (Some(before), Some(after)) if !whole => {
                let diff = LineDiff::between(before, after);
                file.shift(diff.changes());
                let end = count(after);
                let written = diff
                    .changes()
                    .iter()
                    .filter(|change| change.tag() != DiffTag::Equal)
                    .map(|change| {
                        let new = change.new_range();
                        new.start.saturating_sub(AROUND)..(new.end + AROUND).min(end)
                    });
                file.lines.extend(written);
                file.lines = joined(std::mem::take(&mut file.lines));
                file.settle(&[]);
            }
            _ => {
                let all = 0..after.map_or(usize::MAX, count);
                file.settle(std::slice::from_ref(&all));
                file.lines = vec![all];
            }
        }
        file.last = is;
        file.rest();
    }

    /// Notes the present state of a file. `texts` are those when clada looked last and now. With `all`, every change is worth telling, as the
    /// chat has just written in it.
    pub fn found(
        &mut self,
        path: &str,
        texts: (Option<&str>, Option<&str>),
        seen: FileVersion,
        by: By,
        all: bool,
    ) {
        if let Some(file) = self.files.get_mut(path) {
            file.compare(texts, seen, by, all);
        }
    }

    /// Notes that a file is gone, or that it is at another place now.
    pub fn gone(&mut self, path: &str, to: Option<&str>, by: By) {
        let Some(mut file) = self.files.remove(path) else {
            return;
        };
        match to {
            Some(to) => {
                file.changes
                    .retain(|change| !matches!(change.what, FileChange::Moved(_)));
                file.changes
                    .push(UntoldChange::new(by, FileChange::Moved(path.to_owned())));
                self.files.insert(to.to_owned(), file);
            }
            None => {
                if !file.is_gone() {
                    file.changes = vec![UntoldChange::new(by, FileChange::Deleted)];
                }
                self.files.insert(path.to_owned(), file);
            }
        }
    }

    /// Notes that the chat itself has moved a file or a folder.
    pub fn moved(&mut self, from: &str, to: &str) {
        for path in self.at(from) {
            if let Some(file) = self.files.remove(&path) {
                let new = format!("{to}{}", &path[from.len()..]);
                self.files.insert(new, file);
            }
        }
    }

    /// Forgets a file or a folder that the chat itself has deleted, or may not know of.
    pub fn forget(&mut self, path: &str) {
        for path in self.at(path) {
            self.files.remove(&path);
        }
    }

    /// The paths of a file, or of all in a folder.
    fn at(&self, path: &str) -> Vec<String> {
        let is_there = |known: &&String| {
            let rest = known.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.files.keys().filter(is_there).cloned().collect()
    }

    /// Tells what has changed of the files that may be told of.
    pub fn told(&self, may_tell: &dyn Fn(&str) -> bool) -> ToldChanges {
        let mut told = ToldChanges::default();
        let (mut named, mut left, mut more) = (Vec::new(), ALL_LINES, 0);
        for (path, file) in &self.files {
            if file.changes.is_empty() || !may_tell(path) {
                continue;
            }
            let (diffs, lines) = file.told(path, left);
            if named.len() + lines.len() > NAMED {
                more += 1;
                continue;
            }
            left -= diffs.lines().count();
            told.text += &diffs;
            named.extend(lines);
            told.paths.push(path.clone());
        }
        told.text.extend(named.into_iter().map(|line| line + "\n"));
        if more > 0 {
            let files = if more == 1 { "file" } else { "files" };
            told.text += &format!("and {more} more {files}: read a file before you edit it\n");
        }
        told
    }

    /// Notes that a packet told of these files.
    pub fn count(&mut self, paths: &[String]) {
        for path in paths {
            let Some(file) = self.files.get_mut(path) else {
                continue;
            };
            let is_gone = file.is_gone();
            for change in &mut file.changes {
                change.told += 1;
            }
            file.changes.retain(|change| change.told < PACKETS);
            file.rest();
            if is_gone && file.changes.is_empty() {
                self.files.remove(path);
            }
        }
    }

    /// Takes over what became of files in a run that began with `was`, unless something else became of them meanwhile.
    pub fn take_over(&mut self, was: &Self, mut run: Self) {
        if self.id != was.id {
            return;
        }
        for (path, file) in &self.files {
            if was.files.get(path) != Some(file) {
                run.files.insert(path.clone(), file.clone());
            }
        }
        run.uses = run.uses.max(self.uses);
        *self = run;
    }

    /// Forgets the files that were not used for longest, where there are too many.
    pub fn trim(&mut self) {
        let Some(more) = self.files.len().checked_sub(MOST_FILES + 1) else {
            return;
        };
        let mut uses: Vec<u64> = self.files.values().map(|file| file.used).collect();
        uses.sort_unstable();
        self.files.retain(|_, file| file.used > uses[more]);
    }

    fn used(&mut self, path: &str, seen: &FileVersion) -> &mut ChatFile {
        self.uses += 1;
        let new = || ChatFile {
            last: seen.clone(),
            lines: Vec::new(),
            base: (seen.hash.clone(), Vec::new()),
            changes: Vec::new(),
            used: 0,
        };
        let file = self.files.entry(path.to_owned()).or_insert_with(new);
        file.used = self.uses;
        file
    }
}

impl ChatFile {
    /// True if it was not there when clada looked last.
    pub fn is_gone(&self) -> bool {
        let mut changes = self.changes.iter();
        changes.any(|change| change.what == FileChange::Deleted)
    }

    /// Notes the changes in the lines that the chat knows; with `all`, in any lines.
    fn compare(
        &mut self,
        texts: (Option<&str>, Option<&str>),
        seen: FileVersion,
        by: By,
        all: bool,
    ) {
        self.changes
            .retain(|change| change.what != FileChange::Deleted);
        let is_same = self.last.hash == seen.hash;
        let last = std::mem::replace(&mut self.last, seen);
        if is_same {
            return;
        }
        if self.last.hash == self.base.0 {
            // What was changed was changed back.
            self.lines.clone_from(&self.base.1);
            self.changes
                .retain(|change| matches!(change.what, FileChange::Moved(_)));
            return;
        }
        let what = match texts {
            (Some(old), Some(new)) if last.has_text => {
                let diff = LineDiff::between(old, new);
                let what = self.lines_changed(&diff, by, all);
                self.shift(diff.changes());
                what
            }
            _ => Some(FileChange::Content),
        };
        if let Some(what) = what {
            self.note(by, what);
        }
    }

    /// Adds a change to those that are to be told, or to one of them.
    fn note(&mut self, by: By, what: FileChange) {
        let same = self.changes.iter_mut().find(|change| match change.what {
            FileChange::Lines { .. } => change.by == by && by == By::Others,
            FileChange::Content => what == FileChange::Content || change.by == by,
            FileChange::Deleted | FileChange::Moved(_) => false,
        });
        match (same, what) {
            (
                Some(UntoldChange {
                    what: FileChange::Lines { now, .. },
                    told,
                    ..
                }),
                FileChange::Lines { now: more, .. },
            ) => {
                now.extend(more);
                *now = joined(std::mem::take(now));
                *told = 0;
            }
            (Some(change), FileChange::Content) if change.by == by => {
                change.what = FileChange::Content;
                change.told = 0;
            }
            (
                Some(UntoldChange {
                    what: FileChange::Content,
                    told,
                    ..
                }),
                _,
            ) => *told = 0,
            (_, what) => self.changes.push(UntoldChange::new(by, what)),
        }
    }

    /// Finds changes in the lines that the chat knows; with `all` in any lines.
    fn lines_changed(&self, compared: &LineDiff<'_>, by: By, all: bool) -> Option<FileChange> {
        let is_known = |change: &DiffOp| {
            let old = change.old_range();
            change.tag() != DiffTag::Equal
                && self.lines.iter().any(|known| {
                    if old.is_empty() {
                        known.start <= old.start && old.start <= known.end
                    } else {
                        known.start < old.end && old.start < known.end
                    }
                })
        };
        let is_told = |change: &DiffOp| change.tag() != DiffTag::Equal && all || is_known(change);
        let end = compared.new_lines().len();
        let told = compared.changes().iter().filter(|change| is_told(change));
        let now = told.map(|change| {
            let now = change.new_range();
            // What was taken out is named by the line that is there now.
            let start = if now.is_empty() {
                now.start.min(end.saturating_sub(1))
            } else {
                now.start
            };
            start..now.end.max(start + 1)
        });
        let now = joined(now.collect());
        if now.is_empty() {
            return None;
        }
        let diff = match by {
            By::Others => String::new(),
            By::Batch => diff(compared, &is_told, &is_known),
        };
        Some(FileChange::Lines { now, diff })
    }

    /// Moves lines to where they are after these changes.
    fn shift(&mut self, changes: &[DiffOp]) {
        let moved = |lines: &mut Stretches| {
            let new = lines
                .iter()
                .map(|it| place(changes, it.start, false)..place(changes, it.end, true));
            *lines = joined(new.collect());
        };
        moved(&mut self.lines);
        for change in &mut self.changes {
            if let FileChange::Lines { now, .. } = &mut change.what {
                moved(now);
            }
        }
    }

    /// Settles the changes when the chat has worked on the file: those that it was told of or just shown are done. What was never told
    /// is told once.
    fn settle(&mut self, shown: &[Range<usize>]) {
        self.changes.retain_mut(|change| {
            let FileChange::Lines { now, diff } = &mut change.what else {
                return change.told == 0 && shown.is_empty();
            };
            let left = without(now, shown);
            if left != *now {
                diff.clear();
            }
            *now = left;
            change.told == 0 && !now.is_empty()
        });
        for change in &mut self.changes {
            change.told = PACKETS - 1;
        }
    }

    /// Notes that the chat knows the file as it is, if nothing is left to tell.
    fn rest(&mut self) {
        if self.changes.is_empty() {
            self.base = (self.last.hash.clone(), self.lines.clone());
        }
    }

    /// Diffs of no more than `left` lines, and the lines that name what else has changed.
    fn told(&self, path: &str, left: usize) -> (String, Vec<String>) {
        let (mut diffs, mut named) = (String::new(), Vec::new());
        let left = left.min(FILE_LINES);
        let path = one_line(path);
        let is_text = |change: &&UntoldChange| {
            matches!(change.what, FileChange::Lines { .. } | FileChange::Content)
        };
        let texts = self.changes.iter().filter(is_text).count();
        let mut left_of_texts = texts;
        for change in &self.changes {
            let UntoldChange { by, what, .. } = change;
            let by = match by {
                By::Batch => "by a command or a hook",
                By::Others => "not by you",
            };
            left_of_texts -= usize::from(is_text(&change));
            match what {
                FileChange::Lines { .. } | FileChange::Content if texts > 1 => {
                    // Only the last is as it is now, and may hold what others wrote.
                    let said = format!("{path}: changed more than once, last {by}; {READ}");
                    named.extend((left_of_texts == 0).then_some(said));
                }
                FileChange::Lines { diff, .. }
                    if !diff.is_empty() && diff.lines().count() < left =>
                {
                    // Without the names that would make it a patch.
                    diffs +=
                        &format!("{path}, changed {by} (- as you saw it, + as it is now):\n{diff}");
                }
                FileChange::Lines { now, .. } => {
                    named.push(format!("{path}: {}, {by}; {READ}", named_lines(now)));
                }
                FileChange::Content => named.push(format!("{path}: changed, {by}; {READ}")),
                FileChange::Deleted => named.push(format!("{path}: deleted, {by}")),
                FileChange::Moved(from) => {
                    named.push(format!("{}: moved to {path}, {by}", one_line(from)));
                }
            }
        }
        (diffs, named)
    }
}

impl UntoldChange {
    fn new(by: By, what: FileChange) -> Self {
        Self { by, what, told: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_that_were_not_used_for_longest_are_forgotten() {
        let mut chat = Chat::default();
        for number in 0..MOST_FILES + 2 {
            let lines = std::slice::from_ref(&(0..1));
            chat.shown(
                &format!("{number}"),
                lines,
                (None, None),
                FileVersion::default(),
            );
        }
        chat.trim();
        assert_eq!(chat.files.len(), MOST_FILES);
        assert!(!chat.files.contains_key("1") && chat.files.contains_key("2"));
    }
}
