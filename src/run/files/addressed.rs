//! The part of a file that an address names: finds it by the grammar of its language, writes it anew, and adds to its end.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use serde_json::json;

use super::edited::{Rewritten, rewrite};
use super::left_out::{self, Use};
use super::named_file::{FoundFile, NamedFile};
use super::{FileResult, failed, refused};
use crate::code::{AddressError, CodeLanguage, Definition, FoundPlace, LeadKind, MARK, Outline};
use crate::edit::{self, newline_at};
use crate::reply::path::RelPath;
use crate::reply::task::Payload;
use crate::report;
use crate::report::fault::Fault;
use crate::report::outcome::{Outcome, Section};
use crate::report::repair;
use crate::world::syntax::{self, CodeError};
use crate::world::workspace::ProjectFiles;

/// The part of a file that an address names.
pub(super) struct AddressedPart {
    outline: Outline,
    /// The definition, by its place in the outline.
    at: usize,
    /// Its bytes with all that belongs to it, whole lines where that can be.
    pub(super) range: Range<usize>,
}

impl AddressedPart {
    /// Finds what an address names in the text of a file.
    ///
    /// # Errors
    /// Where its language is not known, or not one definition has these names.
    pub(super) fn find(found: &FoundFile<'_>, names: &str) -> FileResult<Self> {
        let rel = &found.file.rel;
        let text = std::str::from_utf8(found.content).map_err(|_| {
            refused(format!(
                "`{rel}` is not UTF-8 text, so `{names}` cannot be looked for in it: name the file alone"
            ))
        })?;
        let outline = outline(rel, text, found).map_err(|why| {
            refused(format!(
                "`{names}` cannot be looked for in `{rel}`: {why}. Name the file alone"
            ))
        })?;
        if outline.is_cut {
            return Err(refused(format!(
                "`{rel}` has more definitions than clada reads, so `{names}` may be another one: name the file alone"
            )));
        }
        match outline.find(names) {
            Ok(at) => Ok(Self {
                range: outline.scope(at, found.content),
                outline,
                at,
            }),
            // Of a file that is not shown no name is told.
            Err(_) if found.text().is_err() => Err(refused(format!(
                "`{names}` does not name one definition in `{rel}`, whose content is not shown: name the file alone"
            ))),
            Err(error) => Err(not_there(rel.as_str(), names, &error, &outline)),
        }
    }

    fn definition(&self) -> &Definition {
        &self.outline.definitions[self.at]
    }

    /// Its name with those of what it is in.
    pub(super) fn full_name(&self) -> String {
        self.outline.full_name(self.at)
    }

    /// Refuses to go by where it ends, where that is not sure.
    fn check_end(&self, rel: &RelPath) -> FileResult<()> {
        if !self.definition().has_error {
            return Ok(());
        }
        let (first, last) = (self.definition().first_line, self.definition().last_line);
        let inside = |line: &&usize| (first..=last).contains(*line);
        let line = self.outline.errors.iter().find(inside).unwrap_or(&first);
        Err(refused(format!(
            "`{}` in `{rel}` does not parse (line {line}), so where it ends is not sure: use `edit`",
            self.full_name()
        )))
    }
}

/// The definitions of a file.
///
/// # Errors
/// Where they cannot be told.
pub(super) fn outline(
    rel: &RelPath,
    text: &str,
    found: &FoundFile<'_>,
) -> Result<Outline, NoOutline> {
    let language = CodeLanguage::of(rel.as_str(), text).ok_or(NoOutline::NoLanguage)?;
    Ok(found.syntax.outline(language, text)?)
}

/// The reason why the definitions of a file are not known.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoOutline {
    #[error("clada knows the definitions of {} files only", languages())]
    NoLanguage,
    #[error("{0}")]
    Code(#[from] CodeError),
}

/// The languages whose grammars were built in.
fn languages() -> String {
    let known = CodeLanguage::ALL
        .into_iter()
        .filter(|it| syntax::is_built(*it));
    known.map(CodeLanguage::name).collect::<Vec<_>>().join(", ")
}

/// The failure of an address that leads nowhere, with the outline of the file where nothing is near.
pub(crate) fn not_there(
    rel: &str,
    names: &str,
    error: &AddressError,
    outline: &Outline,
) -> Box<Outcome> {
    let address =
        |place: &FoundPlace| format!("`{rel}{MARK}{}` (line {})", place.names, place.line);
    let listed = |places: &[FoundPlace]| places.iter().map(address).collect::<Vec<_>>().join(", ");
    let message = match error {
        AddressError::Empty => format!(
            "nothing stands behind a `{MARK}` of `{rel}{MARK}{names}`: write the name of a definition there"
        ),
        AddressError::Missing {
            part,
            within,
            nearest,
            has_others,
        } => {
            let within = within.as_ref().map(|within| format!(" in `{within}`"));
            let there = format!("`{rel}` has no `{part}`{}", within.unwrap_or_default());
            match (nearest.as_slice(), has_others) {
                ([], false) => format!("{there}, and no other definition: name the file alone"),
                ([], true) => {
                    format!("{there}: name one of its definitions, which `outline` lists")
                }
                (nearest, _) => format!("{there}: did you mean {}?", listed(nearest)),
            }
        }
        AddressError::Several { places, count } => format!(
            "`{names}` may be {count} definitions in `{rel}`: write {}{}",
            listed(places),
            if places.len() < *count { ", …" } else { "" }
        ),
    };
    let mut failure = failed(Fault::Other, message);
    let is_repaired = match error {
        AddressError::Missing { nearest, .. } => !nearest.is_empty(),
        AddressError::Several { .. } => true,
        AddressError::Empty => false,
    };
    failure.sections = (!is_repaired)
        .then(|| section(rel, outline))
        .flatten()
        .into_iter()
        .collect();
    failure
}

/// The outline of a file, as far as a failure shows it.
fn section(rel: &str, outline: &Outline) -> Option<Section> {
    let text = repair::outline_shown(outline);
    (!text.is_empty()).then(|| Section::Text(format!("outline of {rel}:\n{text}\n")))
}

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
        let new = written.first(put.at..put.at + put.text.len());
        let Some(new) = new else {
            return Err(refused(format!(
                "the new text defines nothing in place of `{}`: send the whole definition, from `{}` on",
                part.full_name(),
                definition.header
            )));
        };
        let mut said = Vec::new();
        if new.name != definition.name {
            said.push(format!("`{}` is `{}` now", definition.name, new.name));
        }
        let is_exported = |it: &Definition| !it.is_private && it.header.starts_with("export");
        let is_hidden = new.is_private && !definition.is_private;
        if is_hidden || is_exported(definition) && !is_exported(new) {
            said.push(format!("other files can no longer use `{}`", new.name));
        }
        if let Some(lead) = kept_lead(definition, new, old, put.at) {
            put.keep(&lead, new);
            put.written()?;
        }
        Ok(Rewritten {
            shows: false,
            message: (!said.is_empty()).then(|| said.join("; ")),
            data: json!({ "path": rel.to_string(), "bytesWritten": put.text.len() }),
            parts: put.parts(),
        })
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
        let place = AppendPlace::new(old, part.definition(), end);
        let text = content.text();
        let fitted = fitted(&text, found, place.range.clone(), |text, file| {
            edit::indented_as(text, &place.indent, file)
        });
        let newline = newline_at(old, end);
        let text = in_line_ends(fitted?.trim_end(), newline);
        let put = Put::new(found, place.range, [newline, &text, &place.behind].concat());
        put.written()?;
        Ok(Rewritten {
            shows: false,
            message: None,
            data: json!({ "path": rel.to_string(), "bytesWritten": put.text.len() }),
            parts: put.parts(),
        })
    })
}

/// The place of a text at the end of a definition.
struct AppendPlace {
    /// The indentation of what is there.
    indent: String,
    /// The bytes that it replaces: none, or blanks before a brace.
    range: Range<usize>,
    /// The text that follows it: a line end and the indentation of that brace, where the two were on one line.
    behind: String,
}

impl AppendPlace {
    fn new(old: &[u8], definition: &Definition, inside_end: usize) -> Self {
        let outer = indent_at(old, definition.span.start);
        let indent = inner_indent(old, definition, inside_end);
        let rest = &old[inside_end..];
        let line = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
        let blank = line.len() - line.trim_ascii_start().len();
        let is_closed = blank < line.len() && inside_end + blank < definition.span.end;
        if is_closed {
            return Self {
                indent,
                range: inside_end..inside_end + blank,
                behind: newline_at(old, inside_end).to_owned() + &outer,
            };
        }
        // What stands behind the last thing on its line, such as a comment, stays there.
        let end = inside_end + line.trim_ascii_end().len();
        Self {
            indent,
            range: end..end,
            behind: String::new(),
        }
    }
}

/// The indentation of the line that an offset is in.
fn indent_at(old: &[u8], at: usize) -> String {
    let start = line_start(old, at);
    let indent = old[start..]
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t'));
    String::from_utf8_lossy(&old[start..start + indent.count()]).into_owned()
}

fn line_start(old: &[u8], at: usize) -> usize {
    memchr::memrchr(b'\n', &old[..at]).map_or(0, |at| at + 1)
}

/// The indentation of what is in a body. In braces it is deeper than the definition, or a step of the file more where nothing is
/// in them; elsewhere it is that of the first line.
fn inner_indent(old: &[u8], definition: &Definition, inside_end: usize) -> String {
    let outer = indent_at(old, definition.span.start);
    let deeper = || outer.clone() + &step(old);
    let Some(body) = &definition.body else {
        return deeper();
    };
    let inside = &old[body.start..inside_end.max(body.start)];
    if !is_braced(old, body) {
        let blank = inside.len() - inside.trim_ascii_start().len();
        let first = body.start + blank;
        let is_head = !old[line_start(old, first)..first].trim_ascii().is_empty();
        return match (blank < inside.len(), is_head) {
            (true, true) => deeper(),
            (true, false) => indent_at(old, first),
            (false, _) => outer,
        };
    }
    let text = String::from_utf8_lossy(inside);
    let lines = text.lines().skip(1).filter(|line| !line.trim().is_empty());
    let mut indents =
        lines.map(|line| &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]);
    let own = indents.find(|indent| indent.len() > outer.len() && indent.starts_with(&outer));
    own.map_or_else(deeper, str::to_owned)
}

fn is_braced(old: &[u8], body: &Range<usize>) -> bool {
    old.get(body.start)
        .is_some_and(|first| b"{([".contains(first))
}

/// The least by which a file indents its lines; four blanks where it does not.
fn step(old: &[u8]) -> String {
    let text = String::from_utf8_lossy(old);
    let indents = text.lines().filter(|line| !line.trim().is_empty());
    let indents =
        indents.map(|line| &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]);
    let least = indents
        .filter(|indent| indent.len() > 1 || *indent == "\t")
        .min_by_key(|it| it.len());
    match least {
        Some(indent) if indent.starts_with('\t') => "\t".to_owned(),
        Some(indent) if indent.len() <= 8 => indent.to_owned(),
        _ => "    ".to_owned(),
    }
}

/// A text indented by `fit`, which also gets the file. The lines in strings stay as they were sent.
fn fitted(
    text: &str,
    found: &FoundFile<'_>,
    place: Range<usize>,
    fit: impl Fn(&str, &str) -> Option<String>,
) -> FileResult<String> {
    let verbatim = verbatim_lines(text, found, place);
    let lines = || text.split_inclusive('\n').enumerate();
    let blank = |(at, line): (usize, &str)| {
        let end = if line.ends_with('\n') { "\n" } else { "" };
        if verbatim.contains(&at) {
            end.to_owned()
        } else {
            line.to_owned()
        }
    };
    let file = String::from_utf8_lossy(found.content);
    let masked: String = lines().map(blank).collect();
    let fitted = fit(&masked, &file).ok_or_else(|| unclear(found.addressed()))?;
    let sent: Vec<&str> = lines().map(|(_, line)| line).collect();
    let restored = fitted.split_inclusive('\n').enumerate();
    let restored: String = restored
        .map(|(at, line)| {
            if verbatim.contains(&at) {
                sent[at]
            } else {
                line
            }
        })
        .collect();
    // A last line without an end that is blank now is none of those.
    let missing = sent.iter().skip(fitted.split_inclusive('\n').count());
    Ok(restored + &missing.copied().collect::<String>())
}

/// The lines of a new text, from 0, that begin inside a string.
fn verbatim_lines(text: &str, found: &FoundFile<'_>, place: Range<usize>) -> HashSet<usize> {
    if !text.trim_end().contains('\n') || !text.contains(['"', '\'', '`', '<']) {
        return HashSet::new();
    }
    let old = found.content;
    let before = [&old[..place.start], b"\n"].concat();
    let whole = [&before, text.as_bytes(), b"\n", &old[place.end..]].concat();
    let outline = outline(&found.file.rel, &String::from_utf8_lossy(&whole), found);
    let strings = outline.map(|outline| outline.verbatim).unwrap_or_default();
    let line = |at: usize| memchr::memchr_iter(b'\n', &whole[before.len()..at]).count();
    let inside = strings
        .into_iter()
        .filter(|it| it.start >= before.len() && it.start < before.len() + text.len());
    inside
        .flat_map(|it| {
            line(it.start) + 1
                ..=line(
                    it.end
                        .min(before.len() + text.len())
                        .saturating_sub(1)
                        .max(it.start),
                )
        })
        .collect()
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

    fn parts(self) -> Vec<Cow<'f, [u8]>> {
        let old = self.found.content;
        vec![
            old[..self.at].into(),
            self.text.into_bytes().into(),
            old[self.end..].into(),
        ]
    }

    /// The definitions of the file as it would be. Refused where that parses worse than the file as it is.
    fn written(&self) -> FileResult<WrittenOutline> {
        let old = self.found.content;
        let new = [&old[..self.at], self.text.as_bytes(), &old[self.end..]].concat();
        let rel = &self.found.file.rel;
        let text = String::from_utf8_lossy(&new);
        let outline =
            outline(rel, &text, self.found).map_err(|why| refused(format!("`{rel}`: {why}")))?;
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
            let is_in = |it: &Definition| place.start <= it.start() && it.span.end <= place.end;
            let others = outline.definitions.iter().filter(|it| !is_in(it));
            others
                .map(|it| format!("{} {}", it.keyword, it.name))
                .collect()
        };
        let new_end = self.at + self.text.len();
        let old = outside(before, self.at..self.end);
        let new = outside(after, self.at..new_end);
        let behind = &self.found.content[self.end..];
        let behind = &behind[..memchr::memchr(b'\n', behind).unwrap_or(behind.len())];
        let behind = behind.trim_ascii();
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
    /// The first definition that begins in this part.
    fn first(&self, range: Range<usize>) -> Option<&Definition> {
        let mut all = self.0.definitions.iter();
        all.find(|it| range.contains(&it.start()) && it.span.end <= range.end)
    }
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

/// The new text of a definition: indented as the old one, in the file's line ends, without a mark at its end that follows
/// anyway.
fn new_text(
    content: &Payload<'_>,
    found: &FoundFile<'_>,
    range: Range<usize>,
) -> FileResult<String> {
    let (text, old) = (content.text(), found.content);
    if text.trim().is_empty() {
        return Err(refused(format!(
            "the new text of `{}` is empty: to take it out, use `edit` with an empty replacement",
            found.addressed().full_name()
        )));
    }
    let start = line_start(old, range.start);
    let own = String::from_utf8_lossy(&old[start..range.end]);
    let is_own_line = old[start..range.start]
        .iter()
        .all(|byte| b" \t".contains(byte));
    let fitted = if is_own_line {
        fitted(&text, found, range.clone(), |text, file| {
            edit::refitted(text, &own, file)
        })?
    } else {
        text.into_owned()
    };
    let mut fitted = fitted.trim_start_matches(['\n', '\r']).trim_end();
    fitted = fitted.trim_start_matches([' ', '\t']);
    // What follows on the line is there anyway, also where it was sent along.
    let behind = &old[range.end..];
    let behind = &behind[..memchr::memchr(b'\n', behind).unwrap_or(behind.len())];
    let behind = String::from_utf8_lossy(behind.trim_ascii());
    let marks = behind
        .chars()
        .next()
        .filter(|mark| ",;".contains(*mark))
        .map(String::from);
    for twice in [Some(behind.clone().into_owned()), marks]
        .into_iter()
        .flatten()
    {
        let is_its_own = old[..range.end].ends_with(twice.as_bytes());
        if !twice.is_empty() && !is_its_own {
            fitted = fitted
                .strip_suffix(twice.as_str())
                .unwrap_or(fitted)
                .trim_end();
        }
    }
    Ok(in_line_ends(fitted, newline_at(old, range.start)))
}

fn unclear(part: &AddressedPart) -> Box<Outcome> {
    refused(format!(
        "how the new text is to be indented in `{}` is not clear: send it with the indentation that the file has there",
        part.full_name()
    ))
}

/// Lines with the line ends of a file.
fn in_line_ends(text: &str, newline: &str) -> String {
    let plain = text.replace("\r\n", "\n");
    if newline == "\n" {
        plain
    } else {
        plain.replace('\n', newline)
    }
}
