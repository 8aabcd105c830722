//! Lines of files that a regular expression matches, in the order of the paths, on all processors. Opens files by directory
//! handles only.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::ops::Range;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use cap_std::fs::{Dir, File};
use grep_matcher::Matcher;
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkFinish, SinkMatch};

use super::disk::{Disk, open_for_reading};
use super::own::{Id, id};
use super::{FsError, ResolvedPath};
use crate::world::folder::if_there;

/// No more of a line is shown, in bytes; and so much of it before the match.
const LINE: usize = 400;
const BEFORE: usize = 120;
/// A file with a longer line is not searched.
const LONGEST_LINE: usize = 16 * 1024 * 1024;
/// A file of less is read at once: half as many system calls as in parts, which is most of what a small file costs.
const AT_ONCE: u64 = 1024 * 1024;
/// Files that one processor is given at a time.
const SHARE: usize = 16;

/// A regular expression to look for.
#[derive(Debug, Clone)]
pub struct LineSearch {
    matcher: RegexMatcher,
}

/// A reason why a text cannot be looked for as a regular expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoSearch {
    /// It is none, and why.
    NoRegex(String),
    /// A match is within one line.
    SpansLines,
}

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchHit {
    /// Relative to the root.
    pub path: PathBuf,
    /// From 1.
    pub number: u64,
    /// Without its end; cut around the match where it is long.
    pub line: String,
}

/// The result of a search.
#[derive(Debug, Default)]
pub struct SearchHits {
    /// The first ones, in the order of the paths.
    pub shown: Vec<SearchHit>,
    /// The number of lines that match, and of files that they are in.
    pub lines: usize,
    pub files: usize,
    /// The number of files that were searched.
    pub searched: usize,
    /// The files that could not be.
    pub unread: Vec<PathBuf>,
    /// There was no time for all of it.
    pub cut: bool,
}

/// The first hits of one file, and the number of its lines that match.
type FileHits = (Vec<SearchHit>, usize);

impl LineSearch {
    /// Reads a regular expression.
    ///
    /// # Errors
    /// Where it is none, or spans lines.
    pub fn new(pattern: &str, ignore_case: bool) -> Result<Self, NoSearch> {
        let matcher = builder(ignore_case).build(pattern).map_err(|error| {
            if let ErrorKind::NotAllowed(_) = error.kind() {
                return NoSearch::SpansLines;
            }
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default().trim();
            NoSearch::NoRegex(last.strip_prefix("error: ").unwrap_or(last).to_owned())
        })?;
        Ok(Self { matcher })
    }

    /// Looks for this very text.
    ///
    /// # Errors
    /// Where it spans lines or is too long.
    pub fn literal(text: &str, ignore_case: bool) -> Result<Self, grep_regex::Error> {
        let matcher = builder(ignore_case).fixed_strings(true).build(text)?;
        Ok(Self { matcher })
    }
}

fn builder(ignore_case: bool) -> RegexMatcherBuilder {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(ignore_case)
        .crlf(true)
        .multi_line(true);
    builder
}

impl Disk {
    /// Searches these files, given in their order; at most `limit` hits are kept.
    pub fn search(
        &self,
        search: &LineSearch,
        paths: &[PathBuf],
        limit: usize,
        until: Instant,
    ) -> SearchHits {
        let own = self.own_files();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut worker = Worker::new(self, search, &own, until);
            let mut here = Vec::new();
            // Those of its own files, which come in their order: what it does not keep has enough before it.
            let mut room = limit;
            loop {
                let from = next.fetch_add(SHARE, Ordering::SeqCst);
                let share = paths.iter().enumerate().skip(from).take(SHARE);
                if share.len() == 0 {
                    break;
                }
                for (index, path) in share {
                    let searched = worker.search(path, room);
                    if let Ok(Some((hits, _))) = &searched {
                        room -= hits.len();
                    }
                    here.push((index, searched));
                }
            }
            here
        };
        let workers = thread::available_parallelism().map_or(1, usize::from);
        let workers = workers.min(paths.len().div_ceil(SHARE));
        let mut found = thread::scope(|scope| {
            // Those that can be had: each takes what is left.
            let start = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
            let others: Vec<_> = (1..workers).filter_map(start).collect();
            let mut found = work();
            for other in others {
                found.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
            }
            found
        });
        found.sort_by_key(|(index, _)| *index);
        let mut hits = SearchHits::default();
        for (index, searched) in found {
            hits.take(&paths[index], searched, limit);
        }
        hits
    }

    /// True if a file is clada's own: what is pasted into the notes is no part of the project.
    pub fn is_own(&self, place: &ResolvedPath) -> bool {
        matches!(self.way(place), Err(FsError::Protected(_)))
    }
}

impl SearchHits {
    fn take(&mut self, path: &Path, searched: io::Result<Option<FileHits>>, limit: usize) {
        match searched {
            Ok(Some((hits, lines))) => {
                self.searched += 1;
                self.files += usize::from(lines > 0);
                self.lines += lines;
                let room = limit - self.shown.len();
                self.shown.extend(hits.into_iter().take(room));
            }
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::TimedOut => self.cut = true,
            Err(_) => self.unread.push(path.to_owned()),
        }
    }
}

/// The part of a search that one processor does.
struct Worker<'w> {
    disk: &'w Disk,
    matcher: &'w RegexMatcher,
    own: &'w [Id],
    until: Instant,
    searcher: Searcher,
    /// The content of the file that is searched, where it is small.
    content: Vec<u8>,
    /// The folder that was looked into last: files that follow each other are mostly in the same.
    last: Option<(&'w Path, Arc<Dir>)>,
}

impl<'w> Worker<'w> {
    fn new(disk: &'w Disk, search: &'w LineSearch, own: &'w [Id], until: Instant) -> Self {
        Self {
            disk,
            matcher: &search.matcher,
            own,
            until,
            searcher: SearcherBuilder::new()
                .line_terminator(grep_matcher::LineTerminator::crlf())
                .binary_detection(BinaryDetection::quit(0))
                .heap_limit(Some(LONGEST_LINE))
                .build(),
            content: Vec::new(),
            last: None,
        }
    }

    /// Searches one file; `None` if it is binary, clada's own, or gone.
    fn search(&mut self, path: &'w Path, keep: usize) -> io::Result<Option<FileHits>> {
        if Instant::now() >= self.until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let Some((file, size)) = if_there(self.open(path))?.flatten() else {
            return Ok(None);
        };
        let mut finds = Finds {
            path,
            matcher: self.matcher,
            keep,
            hits: Vec::new(),
            lines: 0,
            is_binary: false,
        };
        let mut timed = Timed {
            file,
            until: self.until,
        };
        let searched = if size < AT_ONCE {
            self.content.clear();
            let read = timed.take(AT_ONCE).read_to_end(&mut self.content);
            read.and_then(|_| {
                self.searcher
                    .search_slice(self.matcher, &self.content, &mut finds)
            })
        } else {
            self.searcher
                .search_reader(self.matcher, &mut timed, &mut finds)
        };
        searched?;
        Ok((!finds.is_binary).then_some((finds.hits, finds.lines)))
    }

    /// A regular file that is not clada's own, and its size.
    fn open(&mut self, path: &'w Path) -> io::Result<Option<(File, u64)>> {
        let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else {
            return Ok(None);
        };
        let folder = match self.last.take() {
            Some((last, folder)) if last == parent => folder,
            _ => self.disk.folder(parent)?,
        };
        let opened = opened(&folder, name, self.own);
        self.last = Some((parent, folder));
        opened
    }
}

fn opened(folder: &Dir, name: &OsStr, own: &[Id]) -> io::Result<Option<(File, u64)>> {
    let file = open_for_reading(folder, name)?;
    let found = file.metadata()?;
    let is_wanted = found.is_file() && !own.contains(&id(&found));
    Ok(is_wanted.then_some((file, found.len())))
}

/// Cuts a search short that takes too long within one file.
struct Timed {
    file: File,
    until: Instant,
}

impl Read for Timed {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if Instant::now() >= self.until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.file.read(to)
    }
}

/// Gathers the hits of one file.
struct Finds<'f> {
    path: &'f Path,
    matcher: &'f RegexMatcher,
    keep: usize,
    hits: Vec<SearchHit>,
    lines: usize,
    is_binary: bool,
}

impl Sink for Finds<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.lines += 1;
        if self.hits.len() < self.keep {
            let line = found.bytes();
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let is_long = line.len() > LINE;
            let at = is_long.then(|| self.matcher.find(line).ok().flatten());
            self.hits.push(SearchHit {
                path: self.path.to_owned(),
                number: found.line_number().unwrap_or_default(),
                line: around(line, at.flatten().map_or(0, |at| at.start())),
            });
        }
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> Result<(), io::Error> {
        self.is_binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// A line, or the part of a long one where something is.
fn around(line: &[u8], at: usize) -> String {
    if line.len() <= LINE {
        return String::from_utf8_lossy(line).into_owned();
    }
    // Cut between characters.
    let is_start = |at: &usize| *at >= line.len() || line[*at] & 0xc0 != 0x80;
    let start = at.saturating_sub(BEFORE).min(line.len() - LINE);
    let next = |at: usize| (at..=at + 3).find(is_start).unwrap_or(at);
    let Range { start, end } = next(start)..next(start + LINE);
    let text = String::from_utf8_lossy(&line[start..end.min(line.len())]);
    let before = if start > 0 { "…" } else { "" };
    let after = if end < line.len() { "…" } else { "" };
    format!("{before}{text}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_around_the_match() {
        assert_eq!(around(b"short", 0), "short");
        let long = "ä".repeat(1000);
        for at in [0, 1, 2, 500, 1001, 1998, 1999] {
            let cut = around(long.as_bytes(), at);
            assert!(!cut.contains('\u{fffd}'), "{at}: {cut}");
            assert!(cut.len() <= LINE + 8, "{at}");
            assert_eq!(cut.starts_with('…'), at > BEFORE, "{at}");
        }
        let mut line = vec![b'x'; 5000];
        line[4000..4004].copy_from_slice(b"here");
        assert!(around(&line, 4000).contains("here"));
        // No text at all.
        around(&[0x80; 5000], 2000);
    }
}
