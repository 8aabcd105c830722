//! Shows files, or some of their lines.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::json;

use super::lines::{range, split, too_few};
use super::literal::{errors, unread};
use super::named_file::{FoundFile, NamedFile, check_count};
use super::{FileResult, find, named, not_found, refused};
use crate::reply::path::RelPath;
use crate::report;
use crate::report::outcome::{Outcome, Section, Status, Stretch};
use crate::text::lines::LineRange;
use crate::text::size;
use crate::world::workspace::{FileKind, FsError, ProjectFiles};

/// The most that one task shows of several files, in bytes.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Shows files; `numbers` is what stands between the number of a line and the line, if they have one. `is_lenient`: folders
/// too, and of lines those that are there.
pub(super) fn read(
    paths: &[Cow<'_, str>],
    lines: Option<&str>,
    numbers: Option<&str>,
    is_lenient: bool,
    files: &dyn ProjectFiles,
) -> FileResult {
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
    let shown = asked.of(path, files)?;
    let outcome = match shown.missing {
        Some(failure) => *failure,
        None => Outcome {
            message: shown.note,
            ..Outcome::default()
        },
    };
    let content = report::text_for_json(&shown.content);
    Ok(Outcome {
        data: json!({ "path": shown.rel.to_string(), "content": content }),
        sections: shown.section.into_iter().collect(),
        ..outcome
    })
}

/// Shows each that can be read, also where others cannot.
fn several(
    paths: &[Cow<'_, str>],
    asked: &ReadRequest<'_>,
    files: &dyn ProjectFiles,
) -> FileResult {
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
            sections.push(Section::Text(format!("{path}: {}\n", listed.said())));
            sections.extend(listed.sections);
            sections.push(Section::Text("\n".to_owned()));
            names.push(path.as_ref().to_owned());
            contents.push(listed.data.to_string());
            continue;
        }
        let why = match asked.of(path, files) {
            Ok(shown) if bytes + shown.content.len() > MOST_BYTES => {
                let most = size::show(MOST_BYTES as u64);
                Some(refused(format!(
                    "`{path}` and the files before it exceed {most}: read it in a task of its own"
                )))
            }
            Ok(shown) => {
                bytes += shown.content.len();
                sections.extend(shown.section);
                names.push(shown.rel.to_string());
                contents.push(report::text_for_json(&shown.content));
                shown.missing
            }
            Err(why) => Some(why),
        };
        all_failed.extend(why.map(|why| (path.as_ref().to_owned(), why)));
    }
    let mut outcome = Outcome {
        data: json!({ "paths": names, "content": contents }),
        sections,
        ..Outcome::default()
    };
    if !all_failed.is_empty() {
        let why: Vec<&str> = all_failed.iter().map(|(_, why)| why.said()).collect();
        outcome.message = Some(format!(
            "{} of {} files could not be read: {}",
            all_failed.len(),
            paths.len(),
            why.join("; ")
        ));
        outcome.data["failed"] = errors(&all_failed);
        outcome.status = Status::Failed;
        outcome.fault = unread(all_failed);
    }
    Ok(outcome)
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
    content: String,
    /// `None` if nothing of the lines that were asked for is there.
    section: Option<Section>,
    /// Says that not all of it is there.
    note: Option<String>,
    /// The failure, if that is a mistake.
    missing: Option<Box<Outcome>>,
}

/// The part of a file that was asked for.
struct FilePart {
    /// The path and the part, as it is shown.
    name: String,
    content: String,
    /// The number of lines that the file has.
    count: usize,
}

impl ReadRequest<'_> {
    /// Lists a folder, where one is named and that is no mistake.
    fn folder(&self, path: &str, files: &dyn ProjectFiles) -> Option<FileResult> {
        let meant = named::text(path, files).ok();
        let rel = meant.filter(|_| self.is_lenient)?.rel;
        let place = files.place(&rel, true).ok()?;
        if files.kind(&place).ok()? != Some(FileKind::Dir) || find::may_show(&place, files).is_err()
        {
            return None;
        }
        Some(find::list(Some(path), files).map(|listed| Outcome {
            message: listed.message.map(|said| format!("a folder: {said}")),
            ..listed
        }))
    }

    /// Reads the part of a file that is asked for.
    fn of(&self, path: &str, files: &dyn ProjectFiles) -> FileResult<ShownFile> {
        let meant = named::text(path, files)?;
        let shown = named::shown(path, &meant, files);
        let file = NamedFile::existing(path, files)?;
        let content = match files.read(&file.place) {
            Err(FsError::NotFound(_)) => return Err(not_found(&file.rel, files)),
            content => content?,
        };
        let part = match (&file.names, self.lines) {
            (None, _) => None,
            (Some(_), Some((lines, _))) => {
                return Err(refused(format!(
                    "`{}` names a definition, and lines {lines} are counted in the file: write one of the two",
                    file.address()
                )));
            }
            (Some(_), None) => Some(FoundFile::new(&file, &content, files).with_part()?.range()),
        };
        let (rel, bytes) = (file.rel, content.bytes);
        let text = match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => text,
            _ => {
                let message = format!(
                    "`{rel}` is not UTF-8 text: look at it with an exec task, such as `file {rel}` or `strings {rel}`"
                );
                return Err(refused(message));
            }
        };
        let end = text.split_inclusive('\n').count();
        let lines = part.as_ref().map(|part| lines_of(&text, part));
        let part = match (self.numbers, part) {
            (Some(delimiter), _) => self.numbered(&shown, &text, lines, delimiter),
            (None, Some(part)) => addressed(&shown, &text, part),
            (None, None) => self.plain(&shown, text),
        };
        let first = lines.or(self.lines.map(|(_, range)| range));
        // An empty file has the lines that it shows: none.
        let missing = self.lines.filter(|(_, range)| range.last > part.count);
        let missing = missing.filter(|_| part.count > 0);
        let is_missing = missing.is_some() && part.content.is_empty();
        let is_clipped = missing.is_some() && self.is_lenient && !is_missing;
        let is_open = self.lines.is_some_and(|(lines, _)| lines.ends_with('-'));
        let at = self.numbers.is_none().then(|| Stretch {
            path: rel.to_string(),
            first: first.map_or(1, |range| range.first),
            of: end,
        });
        let section = Section::File {
            name: part.name,
            content: part.content.clone(),
            at,
        };
        Ok(ShownFile {
            note: (is_clipped && !is_open).then(|| format!("the file ends at line {end}")),
            missing: missing
                .filter(|_| !is_clipped)
                .map(|(lines, _)| too_few(&rel, lines, part.count)),
            section: (!is_missing).then_some(section),
            content: part.content,
            rel,
        })
    }

    /// The lines of a file, or all of it, as they stand in it.
    fn plain(&self, path: &str, text: String) -> FilePart {
        let all: Vec<&str> = text.split_inclusive('\n').collect();
        let count = all.len();
        let Some((_, range)) = self.lines.filter(|_| !text.is_empty()) else {
            return FilePart {
                name: path.to_owned(),
                content: text,
                count,
            };
        };
        let last = range.last.min(count);
        let part = if range.first == last {
            format!("line {last}")
        } else {
            format!("lines {}-{last}", range.first)
        };
        FilePart {
            name: format!("{path} ({part} of {count})"),
            content: all.get(range.first - 1..last).unwrap_or_default().concat(),
            count,
        }
    }

    /// The same with numbers, aligned by the last one that is shown. The text behind the last line end counts as a line, even
    /// if it is empty.
    fn numbered(
        &self,
        path: &str,
        text: &str,
        part: Option<LineRange>,
        delimiter: &str,
    ) -> FilePart {
        let all = if text.is_empty() {
            Vec::new()
        } else {
            split(text.as_bytes())
        };
        let count = all.len();
        let asked = part.or(self.lines.map(|(_, range)| range));
        let (first, last) = asked.map_or((1, count), |range| (range.first, range.last.min(count)));
        let width = last.to_string().len();
        let shown = all.get(first - 1..last).unwrap_or_default();
        let numbered = shown.iter().zip(first..).map(|(line, number)| {
            let line = String::from_utf8_lossy(line);
            format!("{number:>width$}{delimiter}{line}")
        });
        FilePart {
            name: format!("[numbered] {path}"),
            content: numbered.collect::<Vec<_>>().join("\n"),
            count,
        }
    }
}

/// The lines of a part of a text.
fn lines_of(text: &str, part: &Range<usize>) -> LineRange {
    let number = |end: usize| text[..end].matches('\n').count() + 1;
    let bare = text[..part.end]
        .strip_suffix('\n')
        .map_or(part.end, str::len);
    LineRange {
        first: number(part.start),
        last: number(bare.max(part.start)),
    }
}

/// The text of a definition.
fn addressed(path: &str, text: &str, part: Range<usize>) -> FilePart {
    let count = text.split_inclusive('\n').count();
    let lines = lines_of(text, &part);
    let is_end = |at: usize| text[..at].is_empty() || text[..at].ends_with('\n');
    let name = match (is_end(part.start), lines.count()) {
        (false, _) => format!("{path} (in line {} of {count})", lines.first),
        (true, 1) => format!("{path} (line {} of {count})", lines.first),
        (true, _) => format!("{path} (lines {}-{} of {count})", lines.first, lines.last),
    };
    FilePart {
        name,
        content: text[part].to_owned(),
        count,
    }
}
