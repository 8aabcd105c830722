//! Shows files, or some of their lines.

use std::borrow::Cow;

use serde_json::json;

use super::lines::{range, split, too_few};
use super::literal::{errors, unread};
use super::named_file::{NamedFile, check_count};
use super::{failed, find, named, not_found};
use crate::reply::path::RelPath;
use crate::report;
use crate::report::fault::Fault;
use crate::report::outcome::{Outcome, Section, Stretch};
use crate::text::lines::LineRange;
use crate::text::size;
use crate::world::workspace::{Files, FsError, Kind};

/// The most that one task shows of several files, in bytes.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Shows files; `numbers` is what stands between the number of a line and the line, if they have one. `is_lenient`: folders
/// too, and of lines those that are there.
pub(super) fn read(
    paths: &[Cow<'_, str>],
    lines: Option<&str>,
    numbers: Option<&str>,
    is_lenient: bool,
    files: &dyn Files,
) -> Result<Outcome, Box<Outcome>> {
    let range = lines.map(|lines| range(lines, is_lenient)).transpose()?;
    let asked = ReadRequest {
        lines: lines.zip(range),
        numbers,
        is_lenient,
    };
    let [path] = paths else {
        return several(paths, &asked, files);
    };
    if let Some(listed) = asked.folder(path, files) {
        return listed;
    }
    let (shown, failure) = asked.of(path, files)?;
    let sections = shown.section().into_iter().collect();
    let data =
        json!({ "path": shown.rel.to_string(), "content": report::text_for_json(&shown.content) });
    if let Some(mut failure) = failure {
        failure.data = data;
        failure.sections = sections;
        return Err(failure);
    }
    Ok(Outcome {
        message: shown.note,
        data,
        sections,
        ..Outcome::default()
    })
}

/// Shows each that can be read, also where others cannot.
fn several(
    paths: &[Cow<'_, str>],
    asked: &ReadRequest<'_>,
    files: &dyn Files,
) -> Result<Outcome, Box<Outcome>> {
    check_count(paths)?;
    let listed: String = paths.iter().map(|path| format!("- {path}\n")).collect();
    let mut sections = vec![Section::Text(format!(
        "Reading {} files:\n{listed}\n",
        paths.len()
    ))];
    let (mut names, mut contents): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut all_failed = Vec::new();
    let mut bytes = 0;
    for path in paths {
        if let Some(Ok(listed)) = asked.folder(path, files) {
            let said = listed.message.unwrap_or_default();
            sections.push(Section::Text(format!("{path}: {said}\n")));
            sections.extend(listed.sections);
            sections.push(Section::Text("\n".to_owned()));
            names.push(path.as_ref().to_owned());
            contents.push(listed.data.to_string());
            continue;
        }
        let failure = match asked.of(path, files) {
            Ok((shown, _)) if bytes + shown.content.len() > MOST_BYTES => {
                let why = size::show(MOST_BYTES as u64);
                let message = format!(
                    "`{path}` and the files before it exceed {why}: read it in a task of its own"
                );
                Some(failed(Fault::Other, message))
            }
            Ok((shown, failure)) => {
                bytes += shown.content.len();
                sections.extend(shown.section());
                names.push(shown.rel.to_string());
                contents.push(report::text_for_json(&shown.content));
                failure
            }
            Err(failure) => Some(failure),
        };
        all_failed.extend(failure.map(|failure| (path.as_ref().to_owned(), failure)));
    }
    let mut data = json!({ "paths": names, "content": contents });
    if all_failed.is_empty() {
        return Ok(Outcome {
            data,
            sections,
            ..Outcome::default()
        });
    }
    data["failed"] = errors(&all_failed);
    let why: Vec<&str> = all_failed.iter().map(|(_, why)| why.said()).collect();
    let message = format!(
        "{} of {} files could not be read: {}",
        all_failed.len(),
        paths.len(),
        why.join("; ")
    );
    let mut failure = failed(unread(all_failed), message);
    failure.data = data;
    failure.sections = sections;
    Err(failure)
}

/// The part of each file that a task reads, and how it is shown.
struct ReadRequest<'a> {
    /// As the reply names them too.
    lines: Option<(&'a str, LineRange)>,
    numbers: Option<&'a str>,
    is_lenient: bool,
}

/// A file, or a part of it, as it is shown.
struct ShownFile {
    rel: RelPath,
    /// With the path as the reply wrote it.
    name: String,
    content: String,
    /// The place of its lines, unless they have numbers.
    at: Option<Stretch>,
    /// Nothing of what was asked for is there.
    is_missing: bool,
    /// Says that not all of it is there.
    note: Option<String>,
}

impl ShownFile {
    fn section(&self) -> Option<Section> {
        (!self.is_missing).then(|| Section::File {
            name: self.name.clone(),
            content: self.content.clone(),
            at: self.at.clone(),
        })
    }
}

impl ReadRequest<'_> {
    /// Lists a folder, where one is named and that is no mistake.
    fn folder(&self, path: &str, files: &dyn Files) -> Option<Result<Outcome, Box<Outcome>>> {
        let rel = named::text(path, files).ok();
        let rel = rel.filter(|_| self.is_lenient)?;
        let place = files.place(&rel, true).ok()?;
        if files.kind(&place).ok()? != Some(Kind::Dir) || find::may_show(&place, files).is_err() {
            return None;
        }
        Some(find::list(Some(path), files).map(|listed| Outcome {
            message: listed.message.map(|said| format!("a folder: {said}")),
            ..listed
        }))
    }

    /// Reads the part of a file that is asked for; with a failure where it is not all there.
    fn of(
        &self,
        path: &str,
        files: &dyn Files,
    ) -> Result<(ShownFile, Option<Box<Outcome>>), Box<Outcome>> {
        let NamedFile { rel, place } = NamedFile::existing(path, files)?;
        let bytes = match files.read(&place) {
            Err(FsError::NotFound(_)) => return Err(not_found(&rel, files)),
            content => content?.bytes,
        };
        let text = match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => text,
            _ => {
                let message = format!(
                    "`{rel}` is not UTF-8 text: look at it with an exec task, such as `file {rel}` or `strings {rel}`"
                );
                return Err(failed(Fault::Other, message));
            }
        };
        let path = &*named::shown(path, &rel, files);
        let end = text.split_inclusive('\n').count();
        let (name, content, missing) = match self.numbers {
            Some(delimiter) => self.numbered(path, &text, delimiter),
            None => self.plain(path, text),
        };
        let is_missing = missing.is_some() && content.is_empty();
        let is_clipped = self.is_lenient && !is_missing;
        let is_open = matches!(self.lines, Some((lines, _)) if lines.ends_with('-'));
        let first = self.lines.map_or(1, |(_, range)| range.first);
        let shown = ShownFile {
            at: self.numbers.is_none().then(|| Stretch {
                path: rel.to_string(),
                first,
                of: end,
            }),
            note: missing
                .filter(|_| is_clipped && !is_open)
                .map(|_| format!("the file ends at line {end}")),
            is_missing,
            name,
            content,
            rel,
        };
        let missing = missing.filter(|_| !is_clipped);
        let missing = missing.map(|(lines, count)| too_few(&shown.rel, lines, count));
        Ok((shown, missing))
    }

    /// The lines of a file, or all of it, as they stand in it.
    fn plain(&self, path: &str, text: String) -> (String, String, Option<(&str, usize)>) {
        let Some((lines, range)) = self.lines.filter(|_| !text.is_empty()) else {
            return (path.to_owned(), text, None);
        };
        let all: Vec<&str> = text.split_inclusive('\n').collect();
        let last = range.last.min(all.len());
        let content = all.get(range.first - 1..last).unwrap_or_default().concat();
        let part = if range.first == last {
            format!("line {last}")
        } else {
            format!("lines {}-{last}", range.first)
        };
        let name = format!("{path} ({part} of {})", all.len());
        (name, content, missing(lines, range, all.len()))
    }

    /// The same with numbers, aligned by the last one that is shown. What is behind the last line end counts as a line, also
    /// where that is nothing.
    fn numbered(
        &self,
        path: &str,
        text: &str,
        delimiter: &str,
    ) -> (String, String, Option<(&str, usize)>) {
        let name = format!("[numbered] {path}");
        if text.is_empty() {
            return (name, String::new(), None);
        }
        let all = split(text.as_bytes());
        let whole = LineRange {
            first: 1,
            last: all.len(),
        };
        let (lines, range) = self.lines.unwrap_or(("", whole));
        let last = range.last.min(all.len());
        let width = last.to_string().len();
        let shown = all.get(range.first - 1..last).unwrap_or_default();
        let numbered = shown.iter().zip(range.first..).map(|(line, number)| {
            let line = String::from_utf8_lossy(line);
            format!("{number:>width$}{delimiter}{line}")
        });
        let content = numbered.collect::<Vec<_>>().join("\n");
        (name, content, missing(lines, range, all.len()))
    }
}

/// The lines that are asked for, and how many there are, where that is too few.
fn missing(lines: &str, range: LineRange, count: usize) -> Option<(&str, usize)> {
    (range.last > count).then_some((lines, count))
}
