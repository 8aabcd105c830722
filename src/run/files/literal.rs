//! Edits that look for one very text, without tiers: those of SHAM and NESL, and replacing everywhere.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::{Value, json};

use super::edited::{Rewritten, TRIES, rewrite};
use super::named_file::{FoundFile, NamedFile, check_count};
use super::{FileResult, failed, not_found, refused};
use crate::edit;
use crate::reply::task::Payload;
use crate::reply::text::{Form, Text};
use crate::report::fault::{Fault, Sought};
use crate::report::outcome::{Outcome, Section, Touched};
use crate::world::workspace::{FileContent, FsError, ProjectFiles};

pub(super) fn replace(
    path: &str,
    search: &str,
    replace: &str,
    files: &mut dyn ProjectFiles,
) -> FileResult {
    let search = SoughtText::new(search, Sought::Text)?;
    splice(path, replace, files, |content| {
        let start = search.only_one(content, 0)?;
        Ok(start..start + search.text.len())
    })
}

pub(super) fn replace_range(
    path: &str,
    [beginning, end]: [&str; 2],
    replace: &str,
    files: &mut dyn ProjectFiles,
) -> FileResult {
    let beginning = SoughtText::new(beginning, Sought::Beginning)?;
    let end = SoughtText::new(end, Sought::End)?;
    splice(path, replace, files, |content| {
        let start = beginning.only_one(content, 0)?;
        let last = end.only_one(content, start + beginning.text.len())?;
        Ok(start..last + end.text.len())
    })
}

/// Replaces the range of a file that `find` finds; a failure to find it shows the file.
fn splice(
    path: &str,
    replace: &str,
    files: &mut dyn ProjectFiles,
    find: impl Fn(&[u8]) -> FileResult<Range<usize>>,
) -> FileResult {
    let file = NamedFile::existing(path, files)?;
    rewrite(&file, files, |found| {
        let within = found.range();
        let range = find(&found.content[within.clone()]).map_err(|mut failure| {
            failure.sections = vec![found.section(path)];
            failure
        })?;
        let range = within.start + range.start..within.start + range.end;
        Ok(Rewritten {
            shows: false,
            parts: vec![
                found.content[..range.start].into(),
                replace.as_bytes().to_owned().into(),
                found.content[range.end..].into(),
            ],
            message: None,
            data: json!({ "path": file.rel.to_string(), "replacements": 1 }),
        })
    })
}

/// A text that must be in a file exactly once.
struct SoughtText<'w> {
    text: &'w str,
    what: Sought,
}

impl<'w> SoughtText<'w> {
    fn new(text: &'w str, what: Sought) -> FileResult<Self> {
        let sought = Self { text, what };
        if text.is_empty() {
            let message = format!("{} is empty: write text that is in the file", sought.name());
            return Err(failed(Fault::Empty(what), message));
        }
        Ok(sought)
    }

    fn name(&self) -> &'static str {
        match self.what {
            Sought::Text => "the search text",
            Sought::Beginning => "the beginning",
            Sought::End => "the end",
        }
    }

    /// The place in a file where it starts, from `from` on.
    fn only_one(&self, file: &[u8], from: usize) -> FileResult<usize> {
        let behind = match self.what {
            Sought::End => " after the beginning",
            Sought::Text | Sought::Beginning => "",
        };
        let mut places = edit::places(&file[from..], self.text.as_bytes());
        let Some(first) = places.next() else {
            let message = format!(
                "{} not found{behind}: it must match the file exactly, character by character",
                self.name()
            );
            return Err(failed(Fault::NotFound(self.what), message));
        };
        match places.count() {
            0 => Ok(from + first),
            more => {
                let times = more + 1;
                let message = format!(
                    "{} found {times} times{behind}: include more of the text around it so that it matches once",
                    self.name()
                );
                Err(failed(Fault::Times(self.what, times), message))
            }
        }
    }
}

/// A file in which every place that has the text is replaced.
struct Replaced<'p> {
    /// As the reply wrote it.
    path: &'p str,
    file: NamedFile,
    old: FileContent,
    new: Vec<u8>,
    count: usize,
}

/// Replaces a text wherever it is, in all of these files or, if that cannot be, in none.
pub(super) fn replace_all(
    paths: &[Cow<'_, str>],
    search: &Payload<'_>,
    replace: &Payload<'_>,
    count: Option<usize>,
    files: &mut dyn ProjectFiles,
) -> FileResult {
    let (search_text, replace_text) = (search.text(), replace.text());
    let texts = [
        Text::of(search, &search_text),
        Text::of(replace, &replace_text),
    ];
    // A block is lines: blank ones alone would be everywhere.
    if search_text.is_empty() || search.form == Form::Block && search.is_blank() {
        let message = "the search text is blank: write text that is in the file";
        return Err(failed(Fault::Empty(Sought::Text), message));
    }
    check_count(paths)?;
    for attempt in 1.. {
        let all = look(paths, texts, files)?;
        let found = all.iter().map(|file| file.count).sum();
        let is_same = |file: &Replaced<'_>| file.new == file.old.bytes;
        if search_text == replace_text || found > 0 && all.iter().all(is_same) {
            return Err(refused(
                "search text and replacement are the same, so nothing would change: write the new text, or leave \
                 this task out",
            ));
        }
        if let Some(wanted) = count.filter(|wanted| *wanted != found) {
            return Err(other_count(wanted, found, &all, files));
        }
        match write(&all, files) {
            Err(FsError::Changed(_)) if attempt < TRIES => {}
            written => {
                written?;
                return Ok(done(&all));
            }
        }
    }
    unreachable!("the loop ends by returning")
}

/// The files with the text replaced in each, each of them once.
fn look<'p>(
    paths: &'p [Cow<'_, str>],
    [search, replace]: [Text<'_>; 2],
    files: &dyn ProjectFiles,
) -> FileResult<Vec<Replaced<'p>>> {
    let mut all: Vec<Replaced<'_>> = Vec::new();
    let mut all_failed: Vec<(String, Box<Outcome>)> = Vec::new();
    for path in paths {
        let read = || {
            let file = NamedFile::existing(path, files)?;
            match files.read_to_change(&file.place) {
                Err(FsError::NotFound(_)) => Err(not_found(&file.rel, files)),
                content => Ok((file, content?)),
            }
        };
        let replaced = |file: &NamedFile, old: &FileContent| {
            let range = FoundFile::new(file, old, files).with_part()?.range();
            let (before, rest) = old.bytes.split_at(range.start);
            let (part, behind) = rest.split_at(range.end - range.start);
            let (new, count) = edit::replace_all(part, search, replace);
            FileResult::Ok(([before, &new, behind].concat(), count))
        };
        let is_same = |known: &Replaced<'_>, file: &NamedFile| known.file.place == file.place;
        let read = read().and_then(|(file, old)| {
            let known = all.iter().find(|known| is_same(known, &file));
            if known.is_some_and(|known| known.file.names != file.names) {
                return Err(refused(format!(
                    "`{}` and `{}` are of one file: write a task for each",
                    known.map(|known| known.file.address()).unwrap_or_default(),
                    file.address()
                )));
            }
            let done = if known.is_none() {
                Some(replaced(&file, &old)?)
            } else {
                None
            };
            Ok((file, old, done))
        });
        match read {
            Ok((_, _, None)) => {}
            Ok((file, old, Some((new, count)))) => {
                all.push(Replaced {
                    path,
                    file,
                    old,
                    new,
                    count,
                });
            }
            Err(failure) => all_failed.push((path.as_ref().to_owned(), failure)),
        }
    }
    if all_failed.is_empty() {
        return Ok(all);
    }
    if paths.len() == 1
        && let Some((_, failure)) = all_failed.pop()
    {
        return Err(failure);
    }
    let why: Vec<&str> = all_failed.iter().map(|(_, why)| why.said()).collect();
    let message = format!("nothing was replaced in any file: {}", why.join("; "));
    let data = json!({ "files": errors(&all_failed) });
    let mut failure = failed(unread(all_failed), message);
    failure.data = data;
    Err(failure)
}

/// The failures of several files, for `--json`.
pub(super) fn errors(failed: &[(String, Box<Outcome>)]) -> Value {
    let entry = |(path, why): &(String, Box<Outcome>)| json!({ "path": path, "error": why.said() });
    failed.iter().map(entry).collect()
}

/// The fault of a task of which several files failed.
pub(super) fn unread(failed: Vec<(String, Box<Outcome>)>) -> Fault {
    let faults = failed.into_iter().map(|(path, why)| (path, why.fault));
    Fault::Unread(faults.collect())
}

fn other_count(
    wanted: usize,
    found: usize,
    all: &[Replaced<'_>],
    files: &dyn ProjectFiles,
) -> Box<Outcome> {
    let message = format!(
        "expected {} but found {found}, so nothing was replaced: correct `count`, or leave it out",
        places(wanted)
    );
    let section = |replaced: &Replaced<'_>| {
        FoundFile::new(&replaced.file, &replaced.old, files).section(replaced.path)
    };
    let mut failure = failed(Fault::Count { wanted, found }, message);
    failure.sections = all.iter().map(section).collect();
    failure
}

/// Writes the files that have the text. Where one cannot be written, the others are as they were.
fn write(all: &[Replaced<'_>], files: &mut dyn ProjectFiles) -> Result<(), FsError> {
    let changed = || all.iter().filter(|it| it.count > 0);
    for (index, it) in changed().enumerate() {
        if let Err(error) = files.write(&it.file.place, &[&it.new], Some(&it.old)) {
            for written in changed().take(index) {
                // What somebody saved over it since is theirs.
                let place = &written.file.place;
                if let Ok(now) = files.read_to_change(place)
                    && now.bytes == written.new
                {
                    files.write(place, &[&written.old.bytes], Some(&now))?;
                }
            }
            return Err(error);
        }
    }
    Ok(())
}

fn done(all: &[Replaced<'_>]) -> Outcome {
    let found: usize = all.iter().map(|it| it.count).sum();
    let changed: Vec<&Replaced> = all.iter().filter(|it| it.count > 0).collect();
    let each = |it: &Replaced| json!({ "path": it.file.rel.to_string(), "replacements": it.count });
    let said = match (all, found) {
        (_, 0) => "not found: nothing was replaced".to_owned(),
        ([_], found) => places(found),
        (all, found) => format!(
            "{} in {} of {} files",
            places(found),
            changed.len(),
            all.len()
        ),
    };
    let (data, sections) = match all {
        [only] => (each(only), Vec::new()),
        all => {
            let line = |it: &Replaced| format!("{}: {}\n", it.file.rel, places(it.count));
            let lines = all.iter().map(line).collect();
            let files: Value = all.iter().map(each).collect();
            let data = json!({ "replacements": found, "files": files });
            (data, vec![Section::Text(lines)])
        }
    };
    let touched = changed.iter().map(|it| it.file.path()).collect();
    Outcome {
        message: Some(said),
        data,
        touched: Touched::Paths(touched),
        sections,
        ..Outcome::default()
    }
}

fn places(count: usize) -> String {
    match count {
        1 => "1 place".to_owned(),
        count => format!("{count} places"),
    }
}
