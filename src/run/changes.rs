//! Keeps account of what the chat of a listener knows of the project's files, and tells it what it does not know. Nothing here
//! fails a batch: what cannot be had is logged and left out.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use super::Runner;
use crate::reply::task::Action;
use crate::report::Report;
use crate::report::chat::{By, Chat, FileVersion, LARGEST, MOST_FILES, WrittenTexts};
use crate::report::outcome::Outcome;
use crate::report::repair;
use crate::run::files::{self, ShownLines};
use crate::text::hex::hex;
use crate::text::mask::Mask;
use crate::world::chat::{ChatStore, Texts};
use crate::world::workspace::{Disk, FileKind, FsError, ProjectFiles, ResolvedPath, TreeQuery};

/// The time in which files are compared line by line.
const COMPARING: Duration = Duration::from_secs(1);
/// The time in which files are looked for that are at another place now.
const PATIENCE: Duration = Duration::from_millis(300);

/// The chat that reads the results of a listener's runs.
pub struct ChatReader {
    store: ChatStore,
    /// The files that the last run tells of.
    telling: Vec<String>,
}

impl ChatReader {
    /// The chat of a store.
    pub fn new(store: ChatStore) -> Self {
        Self {
            store,
            telling: Vec::new(),
        }
    }

    /// Counts what the last run tells: it is in a packet.
    fn has_read(&mut self) {
        let paths = std::mem::take(&mut self.telling);
        if !paths.is_empty() {
            logged(self.store.change(&Texts::new(), |chat| chat.count(&paths)));
        }
    }
}

/// The thing at a path.
pub(super) enum FileSight {
    Gone,
    /// A folder, or something that the chat may not know of.
    Withheld,
    /// A file as it is, with its text where that may be kept.
    There(FileVersion, Option<String>),
}

/// The account of one run: what the chat knows, as it changes.
pub(super) struct Changes {
    store: ChatStore,
    /// As it was kept when the run began.
    was: Chat,
    chat: Chat,
    /// As it was when the atomic batch began.
    point: Chat,
    /// Texts that are not kept yet.
    texts: Texts,
    mask: Mask,
    /// The files that a task of this run wrote.
    written: BTreeSet<String>,
}

impl Changes {
    /// Reads what the chat knows.
    fn open(store: &ChatStore, mask: &Mask) -> Self {
        let was = logged(store.read()).unwrap_or_default();
        Self {
            store: store.clone(),
            chat: was.clone(),
            point: Chat::default(),
            was,
            texts: Texts::new(),
            mask: mask.clone(),
            written: BTreeSet::new(),
        }
    }

    /// Keeps what the chat knows so far: a command may be the last that clada lives to see.
    pub(super) fn keep_so_far(&mut self) {
        if self.chat == self.was {
            return;
        }
        let (was, chat) = (&self.was, self.chat.clone());
        let mut kept = None;
        logged(self.store.change(&self.texts, |now| {
            now.take_over(was, chat);
            kept = Some(now.clone());
        }));
        if let Some(kept) = kept {
            self.chat.clone_from(&kept);
            self.was = kept;
        }
    }

    /// Notes that an atomic batch begins, which may be reverted.
    pub(super) fn remember(&mut self) {
        self.point.clone_from(&self.chat);
    }

    /// These paths are again as they were when the atomic batch began.
    pub(super) fn reverted(&mut self, paths: &BTreeSet<PathBuf>) {
        for path in paths.iter().filter_map(|path| path.to_str()) {
            self.written.remove(path);
            match self.point.files.get(path) {
                Some(file) => {
                    self.chat.files.insert(path.to_owned(), file.clone());
                }
                None => self.chat.forget(path),
            }
        }
    }

    /// The files that a task may change, as they are before it.
    pub(super) fn before(&self, action: &Action<'_>, disk: &Disk) -> BTreeMap<String, FileSight> {
        if !action.changes() {
            return BTreeMap::new();
        }
        let places = files::places(action, disk).into_iter().take(MOST_FILES);
        let paths = places.filter_map(|path| Some(path.to_str()?.to_owned()));
        paths
            .map(|path| {
                let sight = look(&path, disk, &self.mask);
                (path, sight)
            })
            .collect()
    }

    /// Notes what a task has shown or written.
    pub(super) fn after(
        &mut self,
        action: &Action<'_>,
        outcome: &Outcome,
        mut before: BTreeMap<String, FileSight>,
        disk: &Disk,
    ) {
        let paths = outcome.touched.paths().unwrap_or_default();
        if paths.is_empty() {
            self.shown(action, outcome, disk);
            return;
        }
        let paths: Vec<&str> = paths.iter().filter_map(|path| path.to_str()).collect();
        let moves = matches!(
            action,
            Action::Move { .. } | Action::Edit { to: Some(_), .. }
        );
        if let ([from, to], true) = (paths.as_slice(), moves) {
            self.chat.forget(to);
            self.chat.moved(from, to);
            if let Some(sight) = before.remove(*from) {
                before.insert((*to).to_owned(), sight);
            }
        }
        for path in paths.into_iter().take(MOST_FILES) {
            match look(path, disk, &self.mask) {
                FileSight::Gone => self.chat.forget(path),
                FileSight::Withheld => {
                    self.chat.files.remove(path);
                }
                FileSight::There(seen, text) if matches!(action, Action::Move { .. }) => {
                    self.found(path, seen, text, By::Batch);
                }
                FileSight::There(seen, text) => {
                    let whole = matches!(action, Action::Overwrite { .. });
                    self.wrote(whole, path, before.remove(path), seen, text);
                }
            }
        }
    }

    fn wrote(
        &mut self,
        whole: bool,
        path: &str,
        before: Option<FileSight>,
        seen: FileVersion,
        text: Option<String>,
    ) {
        let (was, old) = match before {
            Some(FileSight::There(was, old)) => (Some(was), old),
            _ => (None, None),
        };
        let whole = whole || was.is_none();
        let last = self.last(path);
        let texts = WrittenTexts {
            last: last.as_deref(),
            before: old.as_deref(),
            after: text.as_deref(),
        };
        let hash = self.chat.files.get(path).map(|file| file.last.hash.clone());
        self.chat.wrote(path, whole, texts, was, seen.clone());
        self.keep(&seen, text);
        // A file that is edited again and again is kept once.
        let mut files = self.chat.files.values().chain(self.point.files.values());
        if let Some(hash) = hash.filter(|hash| files.all(|file| file.last.hash != *hash)) {
            self.texts.remove(&hash);
        }
        self.written.insert(path.to_owned());
    }

    /// Notes what a task has shown that changed nothing.
    pub(super) fn shown(&mut self, action: &Action<'_>, outcome: &Outcome, disk: &Disk) {
        let is_diff = !outcome.data["stale"].is_null();
        let shown = files::shown(action, &outcome.sections, is_diff, disk);
        for ShownLines { place, lines } in shown {
            if let Some(path) = place.path().to_str() {
                self.shows(path, &lines, disk);
            }
        }
    }

    /// Notes that lines of a file are shown.
    fn shows(&mut self, path: &str, lines: &[Range<usize>], disk: &Disk) {
        if let FileSight::There(seen, text) = look(path, disk, &self.mask) {
            let last = self.last(path);
            let texts = (last.as_deref(), text.as_deref());
            self.chat.shown(path, lines, texts, seen.clone());
            self.keep(&seen, text);
        }
    }

    /// The text that a file had when it was looked at last.
    fn last(&self, path: &str) -> Option<String> {
        let last = &self.chat.files.get(path)?.last;
        let text = self.texts.get(&last.hash).cloned();
        text.or_else(|| self.store.text(&last.hash).filter(|_| last.has_text))
    }

    fn keep(&mut self, seen: &FileVersion, text: Option<String>) {
        if let Some(text) = text {
            self.texts.insert(seen.hash.clone(), text);
        }
        if self.texts.len() > 2 * MOST_FILES {
            self.chat.trim();
            let files = self.chat.files.values();
            let needed: BTreeSet<&str> = files.map(|file| file.last.hash.as_str()).collect();
            self.texts.retain(|hash, _| needed.contains(hash.as_str()));
        }
    }

    fn found(&mut self, path: &str, seen: FileVersion, text: Option<String>, by: By) {
        let last = self.last(path);
        let all = self.written.contains(path);
        let texts = (last.as_deref(), text.as_deref());
        self.chat.found(path, texts, seen.clone(), by, all);
        self.keep(&seen, text);
    }

    /// Notes what has changed of all files since they were looked at last.
    fn compare(&mut self, by: By, disk: &Disk) {
        let paths: Vec<String> = self.chat.files.keys().cloned().collect();
        let mut gone = Vec::new();
        let until = Instant::now() + COMPARING;
        for path in paths {
            let Some(file) = self.chat.files.get(&path) else {
                continue;
            };
            let mark = disk.mark(Path::new(&path));
            if mark.is_some_and(|(mark, is_sure)| {
                is_sure && file.last.is_sure && mark == file.last.mark
            }) {
                continue;
            }
            match look(&path, disk, &self.mask) {
                FileSight::Gone if file.is_gone() => {}
                FileSight::Gone => gone.push(path),
                FileSight::Withheld => self.chat.forget(&path),
                // Where a comparison line by line would take too long, it is told that they have changed.
                FileSight::There(seen, text) if Instant::now() > until => {
                    self.chat
                        .found(&path, (None, None), seen.clone(), by, false);
                    self.keep(&seen, text);
                }
                FileSight::There(seen, text) => self.found(&path, seen, text, by),
            }
        }
        let moved = self.moved(&gone, disk);
        for path in gone {
            let to = moved.get(&path).map(String::as_str);
            self.chat.gone(&path, to, by);
        }
    }

    /// The new places of files that are gone from their places.
    fn moved(&self, gone: &[String], disk: &Disk) -> BTreeMap<String, String> {
        let mut moved = BTreeMap::new();
        let until = Instant::now() + PATIENCE;
        let top = disk
            .parse(".")
            .ok()
            .and_then(|top| disk.place(&top, true).ok());
        let Some(top) = top.filter(|_| !gone.is_empty()) else {
            return moved;
        };
        let reach = TreeQuery {
            wants: &|_, kind| kind == FileKind::File,
            depth: None,
            until,
        };
        for found in disk.tree(&top, &reach).paths {
            let (Some(to), Some((mark, _))) = (found.to_str(), disk.mark(&found)) else {
                continue;
            };
            let is_it = |path: &&String| self.chat.files[*path].last.mark == mark;
            if let Some(path) = gone.iter().find(is_it)
                && !self.chat.files.contains_key(to)
                && let FileSight::There(seen, _) = look(to, disk, &self.mask)
                && seen.hash == self.chat.files[path].last.hash
            {
                moved.insert(path.clone(), to.to_owned());
            }
            if moved.len() == gone.len() || Instant::now() > until {
                break;
            }
        }
        moved
    }
}

impl Runner {
    /// Begins the account of a run, where there is a chat that is told.
    pub(super) fn changes(&mut self) -> Option<Changes> {
        let reader = self.reader.as_mut()?;
        reader.telling.clear();
        if !self.setup.changes {
            logged(reader.store.clear());
            return None;
        }
        let mut changes = Changes::open(&reader.store, &self.setup.rules.mask);
        // Notes what was changed since the last run.
        changes.compare(By::Others, &self.disk);
        Some(changes)
    }

    /// Adds to the report of a run what the chat does not know, and keeps the rest.
    pub(super) fn tell_changes(&mut self, changes: Option<Changes>, report: &mut Report) {
        let (Some(reader), Some(mut changes)) = (&mut self.reader, changes) else {
            return;
        };
        changes.compare(By::Batch, &self.disk);
        let may_tell = |path: &str| {
            let place = place(path, &self.disk);
            place.is_some_and(|place| self.disk.may_read(&place)) && !repair::is_secret(path)
        };
        let told = changes.chat.told(&may_tell);
        report.changes = changes.mask.text(&told.text).into_owned();
        reader.telling = told.paths;
        changes.keep_so_far();
    }

    /// Notes that the results of the last run were handed out.
    pub fn changes_are_told(&mut self) {
        if let Some(reader) = &mut self.reader {
            reader.has_read();
        }
    }
}

/// Notes lines of files that the chat is shown outside a run.
pub fn show<'f>(
    store: &ChatStore,
    shown: impl Iterator<Item = (&'f str, Vec<Range<usize>>)>,
    disk: &Disk,
    mask: &Mask,
) {
    let mut changes = Changes::open(store, mask);
    for (path, lines) in shown.take(MOST_FILES) {
        changes.shows(path, &lines, disk);
    }
    changes.keep_so_far();
}

/// Looks at a path.
fn look(path: &str, disk: &Disk, mask: &Mask) -> FileSight {
    let Some(place) = place(path, disk) else {
        return FileSight::Withheld;
    };
    // Before the content: what changes in between is seen the next time.
    let mark = disk.mark(place.path());
    let content = match disk.read(&place) {
        Err(FsError::NotFound(_)) => return FileSight::Gone,
        Err(_) => return FileSight::Withheld,
        Ok(content) => content.bytes,
    };
    let Ok(text) = repair::showable(path, path, &content) else {
        return FileSight::Withheld;
    };
    let may_keep = text.len() <= LARGEST && mask.text(text) == text;
    let (mark, is_sure) = mark.unwrap_or_default();
    let seen = FileVersion {
        hash: hex(&Sha256::digest(&content)[..16]),
        has_text: may_keep,
        mark,
        is_sure,
    };
    FileSight::There(seen, may_keep.then(|| text.to_owned()))
}

fn place(path: &str, disk: &Disk) -> Option<ResolvedPath> {
    let place = disk.place(&disk.parse(path).ok()?, false).ok()?;
    // A name may look like markup or another form of a path.
    (place.path() == Path::new(path)).then_some(place)
}

/// Puts an error into the log.
fn logged<T>(result: io::Result<T>) -> Option<T> {
    result
        .inspect_err(|error| tracing::error!(%error, "what the chat knows of files"))
        .ok()
}
