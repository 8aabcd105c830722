//! The text that helps an LLM to repair a failed edit: where the text nearly is, how it differs, and what the file says there.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::path::PathBuf;

use super::chat::lines::joined;
use super::section::{Section, Stretch};
use crate::code::{MARK, Outline, OutlineStyle};
use crate::edit::habit::{Habit, habit};
use crate::edit::nearest::{Nearest, nearest};
use crate::edit::{self, Edit, EditCause, EditError, EditPart, EditedFile};
use crate::reply::path::RelPath;
use crate::text::diff::{self, DiffOp, DiffTag, LineDiff};

/// A file of up to so many lines is shown whole.
const WHOLE: usize = 200;
/// Lines shown before and after a place.
const AROUND: usize = 20;
/// The most places of an ambiguous text that are shown, and the least and the most lines around each.
const PLACES: usize = 10;
const APART: usize = 2;
const MOST_APART: usize = 30;
/// Lines shown before and after those that an edit has written, and how many of all.
const BESIDE: usize = 3;
const WRITTEN: usize = 100;
/// The most lines of an outline that are shown.
const OUTLINE: usize = 200;
/// No more than this of a line is shown.
const LINE: usize = 400;
/// The largest file whose earlier state is compared with it, and when there is enough to see of that, in bytes.
const COMPARED: usize = 512 * 1024;
const SHOWN: usize = 16 * 1024;

/// A unified diff of one file, which is not there before or after where it is `None`; for binary files only that they
/// differ.
pub fn unified_diff(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> String {
    let name = |side: &str, content: Option<&[u8]>| match content {
        Some(_) => format!("{side}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let (from, to) = (name("a", old), name("b", new));
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    match (std::str::from_utf8(old), std::str::from_utf8(new)) {
        (Ok(old), Ok(new)) if old == new => format!("--- {from}\n+++ {to}\n"),
        (Ok(old), Ok(new)) => format!("--- {from}\n+++ {to}\n{}", LineDiff::between(old, new)),
        _ => format!(
            "binary files {from} and {to} differ ({} → {} bytes)\n",
            old.len(),
            new.len()
        ),
    }
}

/// A text of an edit that stands in the way, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditMiss {
    pub error: EditError,
    /// The reason, if more is known than the error says.
    pub why: Option<MissReason>,
    /// The definitions that the lines of the error are in.
    pub within: LineNames,
    /// The part of the file that was searched, where that was not all of it.
    pub part: Option<SearchedPart>,
}

/// The full names of the definitions that lines of a file are in, by the lines.
pub type LineNames = BTreeMap<usize, LineName>;

/// A definition that a line is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineName {
    /// As its language writes it: `Widget::draw`.
    pub full: String,
    /// The address of it: `src/app.rs@@Widget@@draw`.
    pub address: String,
}

/// A part of a file that an edit was looked for in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchedPart {
    /// Its full name.
    pub name: String,
    /// Its first and its last line.
    pub lines: (usize, usize),
    /// The lines outside of it where the edit could be done.
    pub elsewhere: Vec<usize>,
}

/// An edit and the file that it fails in.
pub struct FailedPlace<'f> {
    /// As the reply names it, without links.
    pub rel: &'f RelPath,
    /// The file's real path.
    pub place: PathBuf,
    /// The content, and the part that was searched.
    pub target: EditedFile<'f>,
    /// The text, or the reason why it is not shown.
    pub text: Result<&'f str, NotShown>,
    /// The definitions, where they are known.
    pub outline: Option<&'f Outline>,
    /// The full name of the part that was searched, where that was not all.
    pub part: Option<String>,
}

impl FailedPlace<'_> {
    /// The definition that a line is in.
    fn name_of(&self, line: usize) -> Option<LineName> {
        let outline = self.outline?;
        let at = outline.at_line(line, self.target.bytes)?;
        Some(LineName {
            full: outline.full_name(at),
            address: format!("{}{MARK}{}", self.rel, outline.short_names(at)),
        })
    }

    /// The part that was searched in vain.
    fn searched_part(&self, edit: &Edit<'_>) -> Option<SearchedPart> {
        let name = self.part.clone()?;
        let elsewhere = edit::apply(self.target.bytes, edit);
        let places = elsewhere.map(|edited| edited.places).unwrap_or_default();
        Some(SearchedPart {
            name,
            lines: self.target.lines(),
            elsewhere: places.iter().map(|place| place.line).collect(),
        })
    }
}

/// The reason why a text is not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissReason {
    Habit(Habit),
    /// It is in the file, and a pair before it takes it away.
    TakenAway,
    /// An earlier state of the file has it, `until` something happened.
    Stale {
        until: String,
    },
}

/// The part of the outputs that helps to repair a failed text of an edit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Help {
    pub said: String,
    /// The lines of the file, from 0, that are to be shown with those around them.
    pub lines: Option<Range<usize>>,
}

impl EditMiss {
    /// An error with what is seen from the edit and the file: an earlier state of that is not asked for.
    pub fn of(error: &EditError, edit: &Edit<'_>, place: &FailedPlace<'_>) -> Self {
        let text = match error.cause {
            EditCause::NotFound {
                applied_at: None, ..
            } => std::str::from_utf8(place.target.bytes).ok(),
            _ => None,
        };
        let is_taken = || match (edit, alone(error, edit)) {
            (Edit::Pairs(_), Some(alone)) => edit::apply(place.target, &alone).is_ok(),
            _ => false,
        };
        let why = text.and_then(|_| is_taken().then_some(MissReason::TakenAway));
        let why = why.or_else(|| Some(MissReason::Habit(habit(&searched(error, edit), text?)?)));
        let part = place.searched_part(edit);
        let lines = error.cause.lines().into_iter();
        let lines = lines.chain(part.iter().flat_map(|part| part.elsewhere.iter().copied()));
        Self {
            error: error.clone(),
            why,
            within: lines
                .filter_map(|line| Some((line, place.name_of(line)?)))
                .collect(),
            part,
        }
    }

    /// True if an earlier state of the file may have it.
    pub fn may_be_stale(&self) -> bool {
        let is_missing = matches!(
            self.error.cause,
            EditCause::NotFound {
                applied_at: None,
                ..
            }
        );
        is_missing && self.why != Some(MissReason::TakenAway)
    }
}

/// Explains what is known about a text of an edit that cannot be done in this file.
pub fn explain(error: &EditError, edit: &Edit<'_>, place: &FailedPlace<'_>, text: &str) -> Help {
    let at = |line: &usize| Help {
        said: String::new(),
        lines: Some(line - 1..*line),
    };
    let said = |said: String| Help { said, lines: None };
    let name_of = |line| place.name_of(line);
    match &error.cause {
        EditCause::Blank
        | EditCause::NoContext
        | EditCause::NoAnchor { .. }
        | EditCause::LeftOut { .. }
        | EditCause::ElisionsDiffer => Help::default(),
        EditCause::ManyAnchors { lines, .. } => said(places(&name_of, text, lines, 1)),
        EditCause::Ambiguous { lines, .. } => said(places(
            &name_of,
            text,
            lines,
            searched(error, edit).lines().count(),
        )),
        EditCause::NotAtEnd { line }
        | EditCause::OutOfOrder { line }
        | EditCause::Unclear { at: line, .. }
        | EditCause::NothingChanges { at: line }
        | EditCause::NotFound {
            applied_at: Some(line),
            ..
        } => at(line),
        EditCause::NotFound {
            applied_at: None, ..
        } => not_found(&searched(error, edit), place, text),
    }
}

/// Shows a file; of a long one only the lines around these, with a name for each part.
pub fn shown(path: &str, text: &str, lines: &[Range<usize>]) -> Vec<Section> {
    let all: Vec<&str> = text.lines().collect();
    let of = |name: String, lines: Range<usize>| Section::File {
        name,
        at: Some(Stretch {
            path: path.to_owned(),
            first: lines.start + 1,
            of: all.len(),
        }),
        content: all[lines].iter().map(|line| clipped(line) + "\n").collect(),
    };
    if all.len() <= WHOLE {
        return vec![of(path.to_owned(), 0..all.len())];
    }
    let around = |lines: &Range<usize>| {
        lines.start.saturating_sub(AROUND)..(lines.end + AROUND).min(all.len())
    };
    let part = |part: Range<usize>| {
        let name = format!(
            "{path} (lines {}-{} of {})",
            part.start + 1,
            part.end,
            all.len()
        );
        of(name, part)
    };
    let parts = joined(lines.iter().map(around).collect());
    parts.into_iter().map(part).collect()
}

/// The lines of a file that were changed, as they are now, with a few around them and a name for each part; nothing of one that
/// may not be shown.
pub fn written(path: &str, real: &str, old: &[u8], new: &[u8]) -> Vec<(String, String)> {
    let (Ok(old), Ok(new)) = (showable(path, real, old), showable(path, real, new)) else {
        return Vec::new();
    };
    if old.len().max(new.len()) > COMPARED {
        return Vec::new();
    }
    let diff = LineDiff::between(old, new);
    let all = diff.new_lines();
    let mut left = WRITTEN;
    let mut parts = Vec::new();
    for part in diff.parts(BESIDE) {
        let Range { start, end } = part.new_range();
        let end = end.min(start + left);
        left -= end.saturating_sub(start);
        if start < end {
            let lines = all[start..end].iter();
            let lines = lines.map(|line| clipped(line.trim_end_matches(['\n', '\r'])) + "\n");
            let lines_shown = if start + 1 == end {
                format!("line {end}")
            } else {
                format!("lines {}-{end}", start + 1)
            };
            let name = format!("{path} ({lines_shown} of {})", all.len());
            parts.push((name, lines.collect()));
        }
    }
    parts
}

/// Returns a file's text if it may be shown. `path` may lead through a link to a file of another name, `real`.
pub fn showable<'f>(path: &str, real: &str, file: &'f [u8]) -> Result<&'f str, NotShown> {
    let named = || path.to_owned();
    let text = std::str::from_utf8(file).map_err(|_| NotShown::NotText { path: named() })?;
    if is_secret(path) || is_secret(real) || holds_key(text) {
        return Err(NotShown::Secret { path: named() });
    }
    Ok(text)
}

/// The reason why a file is not shown, as a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotShown {
    /// A rule keeps the file from the chat; in words.
    #[error("{0}\n")]
    Withheld(String),
    #[error("{path} is not UTF-8 text, so it is not shown.\n")]
    NotText { path: String },
    #[error("{path} looks like a secret, so its content is not shown.\n")]
    Secret { path: String },
}

/// Returns the lines of an earlier state of a file, from 0, that hold the text which the edit looks for. `None` if it cannot be done there
/// either.
pub fn lines_in(old: &[u8], error: &EditError, edit: &Edit<'_>) -> Option<Range<usize>> {
    // Where an earlier pair has moved the lines, only the pair itself says where it is in the file.
    let alone = alone(error, edit).and_then(|alone| edit::apply(old, &alone).ok());
    let line = match &alone {
        Some(edited) => edited.places.first()?.line,
        None => {
            edit::apply(old, edit)
                .ok()?
                .places
                .get(error.pair - 1)?
                .line
        }
    } - 1;
    let end = match edit {
        Edit::Pairs(_) | Edit::Hunks(_) => line + searched(error, edit).lines().count(),
        Edit::Stretch { .. } => {
            let new = edit::apply(old, edit).ok()?.bytes();
            let ends = old.iter().rev().zip(new.iter().rev());
            let same = ends.take_while(|(old, new)| old == new).count();
            memchr::memchr_iter(b'\n', &old[..old.len() - same]).count() + 1
        }
    };
    Some(line..end)
}

/// Shows what became of lines of a file since an earlier state of it, as a unified diff. Empty if that must not be shown.
pub fn since(path: &str, real: &str, old: &[u8], now: &[u8], lines: &Range<usize>) -> String {
    let (Ok(old), Ok(now)) = (showable(path, real, old), showable(path, real, now)) else {
        return String::new();
    };
    if old.len().max(now.len()) > COMPARED {
        return String::new();
    }
    let is_there = |change: &DiffOp| {
        let changed = change.old_range();
        change.tag() != DiffTag::Equal && changed.start <= lines.end && changed.end >= lines.start
    };
    let mut shown = String::new();
    for part in LineDiff::between(old, now).parts(diff::AROUND) {
        if part.changes().iter().any(is_there) && shown.len() < SHOWN {
            shown += &part.to_string();
        }
    }
    shown
}

/// The one pair or part that failed, without the others.
fn alone<'e>(error: &EditError, edit: &Edit<'e>) -> Option<Edit<'e>> {
    match edit {
        Edit::Pairs(pairs) => Some(Edit::Pairs(vec![pairs[error.pair - 1]])),
        Edit::Hunks(hunks) => Some(Edit::Hunks(&hunks[error.pair - 1..error.pair])),
        Edit::Stretch { .. } => None,
    }
}

fn not_found(search: &str, place: &FailedPlace<'_>, text: &str) -> Help {
    let path = place.rel.as_str();
    let Some(near) = nearest_in(place, search, text) else {
        let is_long = text.lines().count() > WHOLE;
        if is_long && let Some(outline) = place.outline.filter(|it| !it.definitions.is_empty()) {
            return Help {
                said: format!(
                    "nothing in {path} is similar. Its outline (`read` shows one of these as `{path}{MARK}NAME`):\n{}\n",
                    outline_shown(outline)
                ),
                lines: None,
            };
        }
        let look = if is_long {
            format!(" Look at the file first: exec `grep -n WORD {path}`, `sed -n 1,200p {path}`.")
        } else {
            String::new()
        };
        return Help {
            said: format!("nothing in {path} is similar.{look}\n"),
            lines: None,
        };
    };
    let lines: Vec<&str> = text.lines().collect();
    let there = lines[near.lines.clone()].join("\n") + "\n";
    let mut shown = match (near.lines.start + 1, near.lines.end) {
        (first, last) if first >= last => format!("nearest place: line {first}"),
        (first, last) => format!("nearest place: lines {first}-{last}"),
    };
    if let Some(name) = place.name_of(near.lines.start + 1) {
        shown += &format!(", in `{}`", name.full);
    }
    if let Some((wanted, is)) = near.first_difference {
        shown += &format!(
            "; the first line that differs is line {}\n  search: {}\n  file:   {}",
            is + 1,
            search
                .lines()
                .nth(wanted)
                .map_or("(nothing)".to_owned(), visible),
            lines
                .get(is)
                .map_or("(end of the file)".to_owned(), |line| visible(line)),
        );
    }
    shown.push('\n');
    let search = if search.ends_with('\n') {
        search.to_owned()
    } else {
        format!("{search}\n")
    };
    // Without the names that would make it a patch.
    let diff = LineDiff::between(&search, &there);
    shown += &format!("\n- search text, + {path}\n{diff}\n");
    Help {
        said: shown,
        lines: Some(near.lines),
    }
}

/// The text that was looked for.
fn searched<'e>(error: &EditError, edit: &Edit<'e>) -> Cow<'e, str> {
    match (edit, error.part) {
        (Edit::Pairs(pairs), _) => pairs[error.pair - 1].0.text.into(),
        (Edit::Stretch { tail, .. }, EditPart::Tail) => tail.text.into(),
        (Edit::Stretch { head, .. }, _) => head.text.into(),
        (Edit::Hunks(hunks), _) => hunks[error.pair - 1].search().into(),
    }
}

/// The place that is most like a text: in the part that was searched or, where nothing is like it there, anywhere.
fn nearest_in(place: &FailedPlace<'_>, search: &str, text: &str) -> Option<Nearest> {
    let within = place.target.within();
    let part = text
        .get(within.clone())
        .filter(|_| !place.target.is_whole());
    let in_part = part.and_then(|part| nearest(part, search)).map(|near| {
        let before = memchr::memchr_iter(b'\n', &text.as_bytes()[..within.start]).count();
        Nearest {
            lines: near.lines.start + before..near.lines.end + before,
            first_difference: near
                .first_difference
                .map(|(wanted, is)| (wanted, is + before)),
        }
    });
    in_part.or_else(|| nearest(text, search))
}

/// An outline as far as it is shown.
pub fn outline_shown(outline: &Outline) -> String {
    let text = outline.text(OutlineStyle::default());
    let all = text.lines().count();
    let shown = text.lines().take(OUTLINE);
    let mut shown: String = shown.map(|line| format!("{line}\n")).collect();
    if all > OUTLINE {
        shown += &format!("… and {} more\n", all - OUTLINE);
    }
    shown
}

/// Places of a text of so many lines, each with as many lines around it as tell them apart.
fn places(
    name_of: &dyn Fn(usize) -> Option<LineName>,
    text: &str,
    lines: &[usize],
    length: usize,
) -> String {
    let all: Vec<&str> = text.lines().collect();
    let places = &lines[..lines.len().min(PLACES)];
    let window = |line: usize, more: usize| {
        let end = (line - 1 + length.max(1) + more).min(all.len());
        (line - 1).saturating_sub(more).min(end)..end
    };
    let differ = |more: &usize| {
        let mut seen = HashSet::new();
        places
            .iter()
            .all(|line| seen.insert(&all[window(*line, *more)]))
    };
    let more = (APART..MOST_APART).find(differ).unwrap_or(MOST_APART);
    let shown = places.iter().map(|line| {
        let window = window(*line, more);
        let stretch: String = window
            .map(|index| format!("{:>6}: {}\n", index + 1, clipped(all[index])))
            .collect();
        let name = name_of(*line);
        let name = name.map_or(String::new(), |name| format!(", in `{}`", name.full));
        format!("line {line}{name}:\n{stretch}")
    });
    shown.collect()
}

/// True if a file's path says that its content is secret.
pub fn is_secret(path: &str) -> bool {
    const ENDINGS: [&str; 13] = [
        ".env",
        ".pem",
        ".key",
        ".p8",
        ".p12",
        ".pfx",
        ".ppk",
        ".keystore",
        ".jks",
        ".kdbx",
        ".asc",
        ".gpg",
        ".tfvars",
    ];
    const STARTS: [&str; 4] = [".env.", ".envrc", "secrets.", "service-account"];
    const NAMES: [&str; 14] = [
        ".netrc",
        "_netrc",
        ".npmrc",
        ".pypirc",
        ".htpasswd",
        ".pgpass",
        ".git-credentials",
        ".vault-token",
        "credentials",
        "credentials.json",
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
    ];
    const FOLDERS: [&str; 4] = [".ssh", ".gnupg", ".aws", ".kube"];
    /// Patterns to fill in, which are made to be shown.
    const HARMLESS: [&str; 3] = [".example", ".sample", ".template"];
    let path = path.to_ascii_lowercase();
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let named = ENDINGS.iter().any(|ending| name.ends_with(ending))
        || STARTS.iter().any(|start| name.starts_with(start))
        || NAMES.contains(&name);
    named && !HARMLESS.iter().any(|ending| name.ends_with(ending))
        || folders.split('/').any(|folder| FOLDERS.contains(&folder))
}

/// True if a text holds a private key, whatever its file is called.
pub fn holds_key(text: &str) -> bool {
    text.lines()
        .any(|line| line.starts_with("-----BEGIN ") && line.contains("PRIVATE KEY"))
}

/// A line with its white space made visible where it could be what differs.
fn visible(line: &str) -> String {
    let trimmed = line.trim_end();
    let indent = trimmed.len() - trimmed.trim_start().len();
    let leading: String = trimmed[..indent]
        .chars()
        .map(|c| if c == '\t' { '→' } else { c })
        .collect();
    let trailing = "·".repeat(line.len() - trimmed.len());
    clipped(&format!("|{leading}{}{trailing}|", &trimmed[indent..]))
}

fn clipped(line: &str) -> String {
    if line.len() <= LINE {
        return line.to_owned();
    }
    let end = line.floor_char_boundary(LINE);
    format!("{}… ({} bytes more)", &line[..end], line.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(count: usize) -> String {
        (1..=count).map(|line| format!("line {line}\n")).collect()
    }

    fn file(section: Section) -> (String, String) {
        match section {
            Section::File { name, content, .. } => (name, content),
            section => panic!("{section:?}"),
        }
    }

    #[test]
    fn a_long_file_is_shown_around_the_places_and_each_line_once() {
        let names = |lines: &[Range<usize>], count| {
            let parts = shown("a.txt", &numbered(count), lines).into_iter();
            parts.map(|part| file(part).0).collect::<Vec<_>>()
        };
        assert_eq!(names(&[], 200), ["a.txt"]);
        assert_eq!(names(&[], 201), Vec::<String>::new());
        assert_eq!(
            names(&[270..271, 0..2, 30..31, 299..300], 300),
            ["a.txt (lines 1-51 of 300)", "a.txt (lines 251-300 of 300)"]
        );
        let parts = shown("a.txt", &numbered(300), std::slice::from_ref(&(99..100)));
        let (name, content) = file(parts.into_iter().next().unwrap());
        assert_eq!(name, "a.txt (lines 80-120 of 300)");
        assert!(content.starts_with("line 80\n") && content.ends_with("line 120\n"));
    }

    #[test]
    fn places_are_shown_until_they_differ_and_no_further() {
        let block = |name: &str| format!("{name}\n{}", "same\n".repeat(6));
        let text = block("one") + &block("two");
        // Two lines around each are alike, three tell them apart.
        let said = places(&|_| None, &text, &[4, 11], 1);
        let expected =
            "line 4:\n     1: one\n     2: same\n     3: same\n     4: same\n     5: same\n";
        assert!(said.starts_with(expected), "{said}");
        assert!(said.contains("line 11:\n     8: two\n"), "{said}");
        let alike = places(&|_| None, &"same\n".repeat(300), &[100, 200], 2);
        assert_eq!(alike.lines().count(), 2 * (1 + 2 + 2 * MOST_APART));
    }

    #[test]
    fn what_looks_secret() {
        for path in [
            ".env",
            ".env.local",
            "deploy/prod.env",
            "tls/Server.KEY",
            "id_ed25519",
            "home/.ssh/config",
            ".aws/credentials",
            "secrets.yaml",
        ] {
            assert!(is_secret(path), "{path}");
        }
        for path in [
            "a.txt",
            ".env.example",
            "src/env.rs",
            "keys.rs",
            "id_rsa.pub",
            "ssh/config",
            "environment",
        ] {
            assert!(!is_secret(path), "{path}");
        }
        assert!(holds_key("x\n-----BEGIN RSA PRIVATE KEY-----\n"));
        assert!(!holds_key("-----BEGIN CERTIFICATE-----\n"));
    }
}
