//! Edits that look for one very text, without tiers: those of SHAM and NESL, and replacing everywhere.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::missing::not_found;
use super::{
    Done, Failure, Rewritten, TRIES, as_it_is, check_count, fault, file_path, refused, rewrite,
};
use crate::edit;
use crate::reply::path::RelPath;
use crate::reply::task::Payload;
use crate::reply::text::{Form, Text};
use crate::report::fault::{Fault, Sought};
use crate::report::outcome::Section;
use crate::report::repair;
use crate::world::workspace::{FileContent, FsError, ProjectFiles, ResolvedPath};

pub(super) fn replace(
    path: &str,
    (search, replace): (&str, &str),
    files: &mut dyn ProjectFiles,
    preview: bool,
) -> Result<Done, Failure> {
    let search = Wanted::new(search, Sought::Text)?;
    let rel = file_path(path, files)?;
    let place = files.place(&rel, true)?;
    rewrite((&rel, &place), files, preview, |file, may_show| {
        let start = search
            .only_one(file, 0)
            .map_err(|failure| shown(failure, path, (&rel, &place), (file, may_show)))?;
        Ok(spliced(
            &rel,
            file,
            start..start + search.text.len(),
            replace,
        ))
    })
}

pub(super) fn replace_range(
    path: &str,
    (beginning, end, replace): (&str, &str, &str),
    files: &mut dyn ProjectFiles,
    preview: bool,
) -> Result<Done, Failure> {
    let beginning = Wanted::new(beginning, Sought::Beginning)?;
    let end = Wanted::new(end, Sought::End)?;
    let rel = file_path(path, files)?;
    let place = files.place(&rel, true)?;
    rewrite((&rel, &place), files, preview, |file, may_show| {
        let shown = |failure| shown(failure, path, (&rel, &place), (file, may_show));
        let start = beginning.only_one(file, 0).map_err(shown)?;
        let inside = start + beginning.text.len();
        let last = end.only_one(file, inside).map_err(shown)?;
        Ok(spliced(&rel, file, start..last + end.text.len(), replace))
    })
}

fn shown(
    failure: Failure,
    path: &str,
    names: (&RelPath, &ResolvedPath),
    (file, may_show): (&[u8], &Result<(), FsError>),
) -> Failure {
    Failure {
        sections: as_it_is(path, names, file, may_show),
        ..failure
    }
}

fn spliced<'f>(
    rel: &RelPath,
    file: &'f [u8],
    range: std::ops::Range<usize>,
    replace: &str,
) -> Rewritten<'f> {
    let (head, tail) = (&file[..range.start], &file[range.end..]);
    Rewritten {
        shows: false,
        parts: vec![
            head.into(),
            replace.as_bytes().to_owned().into(),
            tail.into(),
        ],
        message: None,
        data: json!({ "path": rel.to_string(), "replacements": 1 }),
    }
}

/// A text that is to be in a file once.
struct Wanted<'w> {
    text: &'w str,
    what: Sought,
}

impl<'w> Wanted<'w> {
    fn new(text: &'w str, what: Sought) -> Result<Self, Failure> {
        let wanted = Self { text, what };
        match text {
            "" => {
                let message = format!("{} is empty: write text that is in the file", wanted.name());
                Err(fault(Fault::Empty(what), message))
            }
            _ => Ok(wanted),
        }
    }

    fn name(&self) -> &'static str {
        match self.what {
            Sought::Text => "the search text",
            Sought::Beginning => "the beginning",
            Sought::End => "the end",
        }
    }

    /// The place in a file where it starts, from `from` on.
    fn only_one(&self, file: &[u8], from: usize) -> Result<usize, Failure> {
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
            return Err(fault(Fault::NotFound(self.what), message));
        };
        match places.count() {
            0 => Ok(from + first),
            more => {
                let times = more + 1;
                let message = format!(
                    "{} found {times} times{behind}: include more of the text around it so that it matches once",
                    self.name()
                );
                Err(fault(Fault::Times(self.what, times), message))
            }
        }
    }
}

/// A file in which every place that has the text is replaced.
struct Replaced<'p> {
    /// As the reply wrote it.
    path: &'p str,
    rel: RelPath,
    place: ResolvedPath,
    old: FileContent,
    new: Vec<u8>,
    count: usize,
}

/// Replaces a text wherever it is, in all of these files or, if that cannot be, in none.
pub(super) fn replace_all(
    paths: &[Cow<'_, str>],
    (search, replace): (&Payload<'_>, &Payload<'_>),
    count: Option<usize>,
    files: &mut dyn ProjectFiles,
    preview: bool,
) -> Result<Done, Failure> {
    let (search_text, replace_text) = (search.text(), replace.text());
    let texts = (
        Text::of(search, &search_text),
        Text::of(replace, &replace_text),
    );
    // A block is lines: blank ones alone would be everywhere.
    if search_text.is_empty() || search.form == Form::Block && search.is_blank() {
        let message = "the search text is blank: write text that is in the file";
        return Err(fault(Fault::Empty(Sought::Text), message));
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
            return Err(other_count((wanted, found), &all, files));
        }
        match write(&all, files) {
            Err(FsError::Changed(_)) if attempt < TRIES => {}
            written => {
                written?;
                return Ok(done(&all, preview.then_some(&*files)));
            }
        }
    }
    unreachable!("the loop ends by returning")
}

/// The files with the text replaced in each, each of them once.
fn look<'p>(
    paths: &'p [Cow<'_, str>],
    (search, replace): (Text<'_>, Text<'_>),
    files: &dyn ProjectFiles,
) -> Result<Vec<Replaced<'p>>, Failure> {
    let mut all: Vec<Replaced<'_>> = Vec::new();
    let mut failed: Vec<(String, Failure)> = Vec::new();
    for path in paths {
        let file = || {
            let rel = file_path(path, files)?;
            let place = files.place(&rel, true)?;
            match files.read_to_change(&place) {
                Err(FsError::NotFound(_)) => Err(not_found(&rel, files)),
                content => Ok((rel, place, content?)),
            }
        };
        match file() {
            Ok((_, place, _)) if all.iter().any(|known| known.place == place) => {}
            Ok((rel, place, old)) => {
                let (new, count) = edit::replace_all(&old.bytes, search, replace);
                all.push(Replaced {
                    path,
                    rel,
                    place,
                    old,
                    new,
                    count,
                });
            }
            Err(failure) => failed.push((path.as_ref().to_owned(), failure)),
        }
    }
    if failed.is_empty() {
        return Ok(all);
    }
    if paths.len() == 1
        && let Some((_, failure)) = failed.pop()
    {
        return Err(failure);
    }
    let why: Vec<&str> = failed.iter().map(|(_, why)| &*why.message).collect();
    let message = format!("nothing was replaced in any file: {}", why.join("; "));
    let entry =
        |(path, failure): &(String, Failure)| json!({ "path": path, "error": failure.message });
    let data = json!({ "files": failed.iter().map(entry).collect::<Vec<_>>() });
    let unread = failed
        .into_iter()
        .map(|(path, failure)| (path, *failure.fault));
    Err(Failure {
        data: Box::new(data),
        ..fault(Fault::Unread(unread.collect()), message)
    })
}

fn other_count(
    (wanted, found): (usize, usize),
    all: &[Replaced<'_>],
    files: &dyn ProjectFiles,
) -> Failure {
    let message = format!(
        "expected {} but found {found}, so nothing was replaced: correct `count`, or leave it out",
        places(wanted)
    );
    let sections = all.iter().flat_map(|file| {
        let may_show = files.may_show(&file.place);
        as_it_is(
            file.path,
            (&file.rel, &file.place),
            &file.old.bytes,
            &may_show,
        )
    });
    Failure {
        sections: sections.collect(),
        ..fault(Fault::Count { wanted, found }, message)
    }
}

/// Writes the files that have the text. Where one cannot be written, the others are as they were.
fn write(all: &[Replaced<'_>], files: &mut dyn ProjectFiles) -> Result<(), FsError> {
    let changed = || all.iter().filter(|file| file.count > 0);
    for (index, file) in changed().enumerate() {
        if let Err(error) = files.write(&file.place, &[&file.new], Some(&file.old)) {
            for written in changed().take(index) {
                // What somebody saved over it since is theirs.
                if let Ok(now) = files.read_to_change(&written.place)
                    && now.bytes == written.new
                {
                    files.write(&written.place, &[&written.old.bytes], Some(&now))?;
                }
            }
            return Err(error);
        }
    }
    Ok(())
}

/// `preview`: the files by which it is known what may be shown of a change.
fn done(all: &[Replaced<'_>], preview: Option<&dyn ProjectFiles>) -> Done {
    let found: usize = all.iter().map(|file| file.count).sum();
    let changed: Vec<&Replaced> = all.iter().filter(|file| file.count > 0).collect();
    let each =
        |file: &Replaced| json!({ "path": file.rel.to_string(), "replacements": file.count });
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
        [file] => (each(file), Vec::new()),
        all => {
            let files: Vec<Value> = all.iter().map(each).collect();
            let line = |file: &Replaced| format!("{}: {}\n", file.rel, places(file.count));
            let lines = all.iter().map(line).collect();
            let data = json!({ "replacements": found, "files": files });
            (data, vec![Section::Text(lines)])
        }
    };
    let diff = |(file, files): (&&Replaced, &dyn ProjectFiles)| match files.may_show(&file.place) {
        Ok(()) => {
            let (old, new) = (&file.old.bytes, &file.new);
            repair::unified_diff(file.rel.as_str(), Some(old), Some(new))
        }
        Err(why) => format!("{why}\n"),
    };
    Done {
        message: Some(said),
        data,
        touched: changed
            .iter()
            .map(|file| file.place.path().to_owned())
            .collect(),
        diff: match preview {
            Some(files) => changed.iter().map(|file| diff((file, files))).collect(),
            None => String::new(),
        },
        sections,
    }
}

fn places(count: usize) -> String {
    match count {
        1 => "1 place".to_owned(),
        count => format!("{count} places"),
    }
}
