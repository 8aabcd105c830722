//! Writes a definition anew, and adds to the end of one: nothing beside it is lost, and the file parses as well as before.

use std::ops::Range;

use serde_json::json;

use super::addressed::outline;
use super::edited::{Rewritten, rewrite};
use super::fitted::{AppendPlace, fitted, in_line_ends, line_at, new_text};
use super::left_out::{self, Use};
use super::named_file::{FoundFile, NamedFile};
use super::{FileResult, refused};
use crate::code::{CodeLanguage, Definition, LeadKind, Outline};
use crate::edit::{self, newline_at};
use crate::reply::task::Payload;
use crate::report;
use crate::world::workspace::ProjectFiles;

/// Words before a name that a new text is easily sent without, while other code counts on them.
const MODIFIERS: [&str; 14] = [
    "abstract",
    "async",
    "constexpr",
    "final",
    "inline",
    "override",
    "private",
    "protected",
    "static",
    "synchronized",
    "template",
    "unsafe",
    "virtual",
    "volatile",
];

/// Writes a definition anew. What stands above it and the new text has no such of stays.
pub(super) fn overwrite(
    file: &NamedFile,
    content: &Payload<'_>,
    files: &mut dyn ProjectFiles,
) -> FileResult {
    rewrite(file, files, |found| {
        let part = found.addressed();
        let (rel, old) = (&file.rel, found.content);
        part.check_end(rel)?;
        let definition = part.definition();
        let range = definition.start()..definition.span.end;
        left_out::refuse(content, rel, Some(&old[range.clone()]), Use::Part)?;
        let text = new_text(content, found, range.clone())?;
        let mut put = Put::new(found, range, text);
        let written = put.written()?;
        let range = put.at..put.at + put.text.len();
        let Some(new) = written.inside(&range).next() else {
            return Err(refused(format!(
                "the new text defines nothing in place of `{}`: send the whole definition, from `{}` on",
                part.full_name(),
                definition.header
            )));
        };
        let is_there = |name: &str| written.inside(&range).any(|it| it.is_named(name));
        let said = lost(definition, new, is_there);
        if let Some(lead) = kept_lead(definition, new, old, put.at) {
            put.keep(&lead, new);
            put.written()?;
        }
        Ok(put.rewritten((!said.is_empty()).then(|| said.join("; "))))
    })
}

/// Adds a text at the end of what is in a definition.
pub(super) fn append(
    file: &NamedFile,
    content: &Payload<'_>,
    files: &mut dyn ProjectFiles,
) -> FileResult {
    rewrite(file, files, |found| {
        let part = found.addressed();
        let (rel, old) = (&file.rel, found.content);
        part.check_end(rel)?;
        left_out::refuse(content, rel, Some(old), Use::Added)?;
        let Some(end) = part.definition().inside_end else {
            return Err(refused(format!(
                "`{}` in `{rel}` has nothing that a text can be added to: use `edit`",
                part.full_name()
            )));
        };
        let place = AppendPlace::new(old, part.definition(), part.outline.language, end);
        let text = content.text();
        let fitted = fitted(&text, found, place.range.clone(), |text, file| {
            edit::indented_as(text, &place.indent, file)
        });
        let newline = newline_at(old, end);
        let text = in_line_ends(fitted?.trim_end(), newline);
        let put = Put::new(found, place.range, [newline, &text, &place.behind].concat());
        put.written()?;
        Ok(put.rewritten(None))
    })
}

/// A file with a text put in place of a part of it.
struct Put<'p, 'f> {
    found: &'p FoundFile<'f>,
    at: usize,
    end: usize,
    text: String,
}

impl<'p, 'f> Put<'p, 'f> {
    fn new(found: &'p FoundFile<'f>, range: Range<usize>, text: String) -> Self {
        Self {
            found,
            at: range.start,
            end: range.end,
            text,
        }
    }

    /// The file as it is to be, and what is told of it.
    fn rewritten(self, message: Option<String>) -> Rewritten<'f> {
        let old = self.found.content;
        let rel = self.found.file.rel.to_string();
        Rewritten {
            shows: false,
            message,
            data: json!({ "path": rel, "bytesWritten": self.text.len() }),
            parts: vec![
                old[..self.at].into(),
                self.text.into_bytes().into(),
                old[self.end..].into(),
            ],
        }
    }

    /// The definitions of the file as it would be. Refused where that parses worse than the file as it is.
    fn written(&self) -> FileResult<WrittenOutline> {
        let old = self.found.content;
        let new = [&old[..self.at], self.text.as_bytes(), &old[self.end..]].concat();
        let rel = &self.found.file.rel;
        let text = String::from_utf8_lossy(&new);
        let outline = outline(rel, &text, &self.found.syntax)
            .map_err(|why| refused(format!("`{rel}`: {why}")))?;
        let before = &self.found.addressed().outline;
        if outline.error_count <= before.error_count {
            self.check_others(before, &outline)?;
            return Ok(WrittenOutline(outline));
        }
        let first = memchr::memchr_iter(b'\n', &old[..self.at]).count() + 1;
        let count = self.text.lines().count();
        let known = |line: &&usize| !before.errors.contains(line);
        let mut errors = outline.errors.iter().filter(known);
        let is_new = |line: &&usize| (first..first + count).contains(*line);
        let line = errors
            .clone()
            .find(is_new)
            .or_else(|| errors.next())
            .copied();
        let line = line.unwrap_or(first);
        // Only what was sent is told: what stands beside it may be secret.
        let sent = self
            .text
            .lines()
            .nth(line.wrapping_sub(first))
            .map(str::trim);
        let place = match sent.filter(|sent| !sent.is_empty()) {
            Some(sent) => format!("`{}` in the new text", report::brief(sent)),
            None => format!("line {line}"),
        };
        Err(refused(format!(
            "with this text `{rel}` would no longer parse (at {place}), so nothing was written: send it whole and without \
             a mistake, with the commas it needs, or use `edit`",
        )))
    }

    /// Refuses a text that swallows what stands beside it, as a comment does at the end of a line that goes on.
    fn check_others(&self, before: &Outline, after: &Outline) -> FileResult<()> {
        let outside = |outline: &Outline, place: Range<usize>| -> Vec<String> {
            // The comment above what is added may have been there.
            let is_in = |it: &Definition| place.start <= it.span.start && it.span.end <= place.end;
            let others = outline.definitions.iter().filter(|it| !is_in(it));
            others
                .map(|it| format!("{} {}", it.keyword, it.name))
                .collect()
        };
        let new_end = self.at + self.text.len();
        let old = outside(before, self.at..self.end);
        let new = outside(after, self.at..new_end);
        let behind = line_at(self.found.content, self.end).trim_ascii();
        let behind = behind
            .strip_prefix(b";")
            .or(behind.strip_prefix(b","))
            .unwrap_or(behind);
        let marks: &[&str] = match before.language {
            CodeLanguage::Python | CodeLanguage::Ruby | CodeLanguage::Bash => &["#"],
            CodeLanguage::Toml | CodeLanguage::Yaml => &["#"],
            CodeLanguage::Php => &["#", "//"],
            _ => &["//"],
        };
        let is_comment = marks
            .iter()
            .any(|mark| behind.trim_ascii().starts_with(mark.as_bytes()));
        let is_code = !behind.trim_ascii().is_empty() && !is_comment;
        let last = self.text.lines().next_back().unwrap_or_default();
        let has_comment = marks.iter().any(|mark| last.contains(mark));
        if old == new && !(is_code && has_comment) {
            return Ok(());
        }
        Err(refused(format!(
            "with this text something beside `{}` in `{}` would be lost, so nothing was written: leave out a comment at its \
             end, close what it opens, or use `edit`",
            self.found.addressed().full_name(),
            self.found.file.rel
        )))
    }

    /// Keeps what stood above the old definition: comments come first, attributes directly before the new one.
    fn keep(&mut self, lead: &KeptLead, new: &Definition) {
        let at = new.span.start - self.at;
        self.text.insert_str(at, &lead.below);
        self.text.insert_str(0, &lead.above);
    }
}

/// The definitions of a file as it would be.
struct WrittenOutline(Outline);

impl WrittenOutline {
    /// The definitions in this part.
    fn inside(&self, range: &Range<usize>) -> impl Iterator<Item = &Definition> {
        let all = self.0.definitions.iter();
        all.filter(|it| range.contains(&it.start()) && it.span.end <= range.end)
    }
}

/// Tells what other code may miss now that a definition is another one. `is_there` is true for a name that the new text defines.
fn lost(old: &Definition, new: &Definition, is_there: impl Fn(&str) -> bool) -> Vec<String> {
    let mut said = Vec::new();
    if new.name != old.name {
        said.push(format!("`{}` is `{}` now", old.name, new.name));
    }
    // Such as `b` of `int a, b;`, and no other spelling of the name itself.
    let is_word = |name: &&String| {
        name.chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '$'))
    };
    let beside = old.aliases.iter().filter(is_word);
    for name in beside.filter(|name| *name != old.last_name() && !is_there(name)) {
        said.push(format!("`{name}` is no longer defined"));
    }
    let is_exported = |it: &Definition| !it.is_private && it.header.starts_with("export");
    let is_hidden = new.is_private && !old.is_private;
    if is_hidden || is_exported(old) && !is_exported(new) {
        said.push(format!("other files can no longer use `{}`", new.name));
    }
    let (before, now) = (modifiers(old), modifiers(new));
    // With another one in its place it was meant to go.
    if now.iter().all(|word| before.contains(word)) {
        let gone = before.iter().filter(|word| !now.contains(word));
        said.extend(gone.map(|word| format!("`{word}` is left out")));
    }
    said
}

/// The words of [`MODIFIERS`] in the header of a definition before its name.
fn modifiers(definition: &Definition) -> Vec<&str> {
    let header = &definition.header;
    let end = header.find(definition.last_name()).unwrap_or(header.len());
    let words = header[..end].split(|c: char| !c.is_alphanumeric());
    words.filter(|word| MODIFIERS.contains(word)).collect()
}

/// The text above a definition that stays.
struct KeptLead {
    /// It comes before all of the new text.
    above: String,
    /// It comes directly before what the new text defines.
    below: String,
}

/// The parts above the old definition that have no counterpart above the new one, which begins at `at`; `None` where there
/// are none.
fn kept_lead(old: &Definition, new: &Definition, file: &[u8], at: usize) -> Option<KeptLead> {
    let is_new = |kind: LeadKind| {
        let mut parts = new.lead.iter();
        parts.any(|part| part.kind == kind && part.span.start >= at)
    };
    let text = |range: Range<usize>| String::from_utf8_lossy(&file[range]).into_owned();
    let kept = |kind: LeadKind| -> String {
        let ends = old.lead.iter().skip(1).map(|part| part.span.start);
        let parts = old.lead.iter().zip(ends.chain([old.span.start]));
        let parts = parts.filter(|(part, _)| part.kind == kind);
        parts
            .map(|(part, end)| text(part.span.start..end))
            .collect()
    };
    let (above, below) = match (is_new(LeadKind::Comment), is_new(LeadKind::Attribute)) {
        (true, true) => (String::new(), String::new()),
        (true, false) => (String::new(), kept(LeadKind::Attribute)),
        (false, true) => (kept(LeadKind::Comment), String::new()),
        // All of it, as it stands.
        (false, false) => (text(old.start()..old.span.start), String::new()),
    };
    (!above.is_empty() || !below.is_empty()).then_some(KeptLead { above, below })
}
