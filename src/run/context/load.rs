//! A set as its files are now: the text of each at its level. What cannot be read is told of, and not fatal.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::named::{self, EntryKind};
use super::sources::CodeSources;
use crate::code::{AddressError, OutlineStyle};
use crate::reply::context::{Amount, ContextEntry, ContextLevel, ContextSet, range_text};
use crate::report;
use crate::report::context::{ContextBlock, FileBlock};
use crate::report::repair;
use crate::run::files::{self, FileResult};
use crate::text::lines::LineRange;
use crate::text::size::grouped;
use crate::text::tokens;
use crate::world::workspace::{FileKind, FsError, ProjectFiles};

/// A set with the present content of its files.
#[derive(Debug, Default)]
pub struct LoadedSet {
    pub entries: Vec<LoadedEntry>,
    /// Each file once, in the order of the entries.
    pub files: Vec<LoadedFile>,
    pub amount: Amount,
}

/// An entry of a set.
#[derive(Debug)]
pub struct LoadedEntry {
    pub entry: ContextEntry,
    /// The number of files that it stands for, where it is a folder or a glob.
    pub count: Option<usize>,
    /// In bytes and tokens, of what is shown of it.
    pub size: usize,
    pub tokens: usize,
    /// The reason why it is not all that was asked for.
    pub missing: Option<String>,
    /// It is not there any more.
    pub is_gone: bool,
}

/// A file of a set, or parts of one.
#[derive(Debug, Clone)]
pub struct LoadedFile {
    pub path: String,
    /// The entry that it came by, as that is written.
    pub name: String,
    /// The level at which it is shown: not an outline where it has none.
    pub level: ContextLevel,
    pub full: Vec<FileBlock>,
    pub outline: Option<FileBlock>,
}

impl LoadedFile {
    /// Its blocks at a level; none where it is only named.
    pub fn blocks(&self, level: ContextLevel) -> &[FileBlock] {
        match level {
            ContextLevel::Full => &self.full,
            ContextLevel::Outline => self.outline.as_slice(),
            ContextLevel::Name => &[],
        }
    }

    /// The text that says all of it at a level, without the lines around it.
    fn text(&self, level: ContextLevel) -> String {
        self.blocks(level)
            .iter()
            .map(|block| block.text.as_str())
            .collect()
    }
}

/// Reads the files of a set.
pub fn load(set: &ContextSet, sources: &CodeSources<'_>) -> LoadedSet {
    let mut loaded = LoadedSet::default();
    let members = all_members(set, sources);
    let whole = whole_levels(set, &members, sources);
    let mut done = BTreeSet::new();
    for entry in &set.files {
        let (mut of_entry, files) = LoadedEntry::read(entry, &whole, &members, sources);
        for file in files {
            let text = file.text(file.level);
            let count = match file.level {
                ContextLevel::Name => sources.tokens(&file.path),
                _ => sources.tokens(&text),
            };
            of_entry.size += text.len();
            of_entry.tokens += count;
            // A file is shown once, and parts of it only where not all of it is.
            let is_twice = if entry.is_part() {
                whole.get(&file.path) == Some(&ContextLevel::Full)
            } else {
                !done.insert(file.path.clone())
            };
            if !is_twice {
                loaded.amount.files += 1;
                loaded.amount.add(&text, count);
                loaded.files.push(file);
            }
        }
        loaded.entries.push(of_entry);
    }
    loaded
}

/// The files of folders and globs, by the paths of their entries.
type Members = BTreeMap<String, Vec<String>>;

fn all_members(set: &ContextSet, sources: &CodeSources<'_>) -> Members {
    let entries = set.files.iter().filter(|entry| !entry.is_part());
    let found = entries.filter_map(|entry| {
        let kind = named::kind(&entry.path, sources.files).ok()?;
        let has_members = matches!(kind, EntryKind::Folder | EntryKind::Glob);
        let members = has_members.then(|| named::members(&entry.path, &kind, sources.files))?;
        Some((entry.path.clone(), members.unwrap_or_default()))
    });
    found.collect()
}

/// The level of each file that is in a set as a whole: that of its own entry, else the fullest of those that it is in.
fn whole_levels(
    set: &ContextSet,
    members: &Members,
    sources: &CodeSources<'_>,
) -> BTreeMap<String, ContextLevel> {
    let mut levels = BTreeMap::new();
    let mut own = BTreeMap::new();
    for entry in set.files.iter().filter(|entry| !entry.is_part()) {
        for path in members.get(&entry.path).into_iter().flatten() {
            let level = levels.entry(path.clone()).or_insert(entry.level);
            *level = entry.level.min(*level);
        }
        if matches!(named::kind(&entry.path, sources.files), Ok(EntryKind::File)) {
            own.insert(entry.path.clone(), entry.level);
        }
    }
    levels.extend(own);
    levels
}

impl LoadedEntry {
    /// The entry, of which nothing is read.
    fn of(entry: &ContextEntry) -> Self {
        Self {
            entry: entry.clone(),
            count: None,
            size: 0,
            tokens: 0,
            missing: None,
            is_gone: false,
        }
    }

    /// Reads the files of an entry. Only one that is a file itself is told of where it cannot be read.
    fn read(
        entry: &ContextEntry,
        whole: &BTreeMap<String, ContextLevel>,
        members: &Members,
        sources: &CodeSources<'_>,
    ) -> (Self, Vec<LoadedFile>) {
        let mut loaded = Self::of(entry);
        let level = |path: &str| whole.get(path).copied().unwrap_or(entry.level);
        let kind = named::kind(&entry.path, sources.files).unwrap_or(EntryKind::Nothing);
        let files = match kind {
            EntryKind::Folder | EntryKind::Glob if !entry.is_part() => {
                let members = members.get(&entry.path).into_iter().flatten();
                let files: Vec<LoadedFile> = members
                    .filter_map(|path| whole_file(path, level(path), sources).ok())
                    .map(|file| LoadedFile {
                        name: entry.path.clone(),
                        ..file
                    })
                    .collect();
                loaded.count = Some(files.len());
                files
            }
            EntryKind::Nothing => {
                loaded.is_gone = true;
                loaded.missing = Some("no longer exists".to_owned());
                Vec::new()
            }
            _ => loaded.read_file(level(&entry.path), sources),
        };
        let unlike = files.iter().filter(|file| file.level > entry.level);
        let unlike = unlike.filter(|file| level(&file.path) == ContextLevel::Outline);
        let unlike = unlike.count();
        if unlike > 0 && loaded.missing.is_none() {
            loaded.missing = Some(match (loaded.count, unlike) {
                (None, _) => "no outline of it is known, so only its name is shown".to_owned(),
                (_, 1) => "no outline of 1 file is known, so only its name is shown".to_owned(),
                (_, more) => {
                    format!("no outline of {more} files is known, so only their names are shown")
                }
            });
        }
        (loaded, files)
    }

    /// Reads the file of an entry that is one, or parts of it.
    fn read_file(&mut self, level: ContextLevel, sources: &CodeSources<'_>) -> Vec<LoadedFile> {
        let entry = self.entry.clone();
        let read = match &entry.names {
            Some(names) => self.definition(&entry, names, sources),
            None if entry.is_part() => self.lines(&entry, sources),
            None => whole_file(&entry.path, level, sources),
        };
        match read {
            Ok(file) if file.full.is_empty() => Vec::new(),
            Ok(file) => vec![file],
            Err(failure) => {
                self.missing = failure.message;
                Vec::new()
            }
        }
    }

    /// Reads lines of a file: those that are there.
    fn lines(&mut self, entry: &ContextEntry, sources: &CodeSources<'_>) -> FileResult<LoadedFile> {
        let text = text_of(&entry.path, sources.files)?;
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut file = LoadedFile {
            path: entry.path.clone(),
            name: entry.text(),
            level: entry.level,
            full: Vec::new(),
            outline: None,
        };
        for range in entry.lines() {
            if range.last > lines.len() {
                let said = goes_past(&range, lines.len());
                self.missing.get_or_insert(said);
            }
            let shown = range.first - 1..range.last.min(lines.len());
            let there = lines.get(shown.clone()).filter(|shown| !shown.is_empty());
            file.full.extend(there.map(|there| FileBlock {
                path: entry.path.clone(),
                part: Some(format!("lines {}", range_text(&range))),
                text: sources.masked(&there.concat()),
                lines: Some(shown),
            }));
        }
        self.is_gone = file.full.is_empty();
        Ok(file)
    }

    /// Reads a definition.
    fn definition(
        &mut self,
        entry: &ContextEntry,
        names: &str,
        sources: &CodeSources<'_>,
    ) -> FileResult<LoadedFile> {
        let path = &entry.path;
        let text = text_of(path, sources.files)?;
        let outline = sources.outline(path, &text).ok_or_else(|| {
            files::refused(format!(
                "clada knows no definitions in the language of `{path}`: name lines of it"
            ))
        })?;
        let outline = outline.map_err(|error| {
            files::refused(format!(
                "the definitions of `{path}` are not known: {error}; name lines of it"
            ))
        })?;
        let at = outline.find(names).map_err(|error| {
            self.is_gone = matches!(error, AddressError::Missing { .. });
            files::not_there(path, names, &error, &outline)
        })?;
        let scope = outline.scope(at, text.as_bytes());
        let line = |end: usize| text[..end].matches('\n').count();
        let (first, last) = (line(scope.start), line(scope.end.max(1) - 1) + 1);
        let range = LineRange {
            first: first + 1,
            last,
        };
        let part = |what: String, text: String, lines| FileBlock {
            path: path.clone(),
            part: Some(what),
            text: sources.masked(&text),
            lines,
        };
        let said = format!("{names}, lines {}", range_text(&range));
        let inside = outline.part(at).text(OutlineStyle::default());
        Ok(LoadedFile {
            path: path.clone(),
            name: entry.text(),
            level: entry.level,
            full: vec![part(said, text[scope].to_owned(), Some(first..last))],
            outline: Some(part(format!("{names}, outline"), inside, None)),
        })
    }
}

/// Reads a file as a whole. Where it has no outline, its name is in the place of that.
pub(super) fn whole_file(
    path: &str,
    level: ContextLevel,
    sources: &CodeSources<'_>,
) -> FileResult<LoadedFile> {
    let text = text_of(path, sources.files)?;
    // An outline costs more than the text.
    let wants_outline = level == ContextLevel::Outline;
    let outline = wants_outline
        .then(|| sources.outline_text(path, &text))
        .flatten()
        .map(|text| FileBlock::outline(path, text));
    let is_lacking = wants_outline && outline.is_none();
    Ok(LoadedFile {
        path: path.to_owned(),
        name: path.to_owned(),
        level: if is_lacking {
            ContextLevel::Name
        } else {
            level
        },
        full: vec![FileBlock {
            path: path.to_owned(),
            part: None,
            text: sources.masked(&text),
            lines: Some(0..usize::MAX),
        }],
        outline,
    })
}

impl LoadedSet {
    pub(super) fn said(&self) -> String {
        if self.entries.is_empty() {
            "empty".to_owned()
        } else {
            self.amount.text()
        }
    }

    /// The entries that are not there any more.
    pub(super) fn gone(&self) -> Vec<ContextEntry> {
        let gone = self.entries.iter().filter(|entry| entry.is_gone);
        gone.map(|loaded| loaded.entry.clone()).collect()
    }

    /// The blocks of its files at their levels, those that are only named behind the others.
    pub fn blocks(&self, sources: &CodeSources<'_>) -> Vec<ContextBlock> {
        let mut blocks = Vec::new();
        let mut names = Vec::new();
        for file in &self.files {
            let of_file = file.blocks(file.level).iter().cloned();
            blocks.extend(of_file.map(ContextBlock::File));
            if file.level == ContextLevel::Name {
                let cost = sources.tokens(&file.text(ContextLevel::Full));
                names.push((file.own_name(), cost));
            }
        }
        if !names.is_empty() {
            blocks.push(report::context::by_name(&names));
        }
        blocks
    }

    /// The remarks on entries that are not as they were when they were put in.
    pub fn missing(&self) -> impl Iterator<Item = String> {
        let entries = self.entries.iter();
        entries.filter_map(|it| Some(format!("`{}`: {}", it.entry.path, it.missing.as_ref()?)))
    }

    /// The entries, for `--json`.
    pub fn data(&self) -> Vec<Value> {
        let data = |loaded: &LoadedEntry| {
            let mut data = json!({ "path": loaded.entry.path });
            if let Some(names) = &loaded.entry.names {
                data["names"] = names.as_str().into();
            }
            if let Some(lines) = loaded.entry.lines_text() {
                data["lines"] = lines.into();
            }
            data["level"] = loaded.entry.level.word().into();
            if let Some(count) = loaded.count {
                data["files"] = count.into();
            }
            data["size"] = loaded.size.into();
            data["tokens"] = loaded.tokens.into();
            if let Some(missing) = &loaded.missing {
                data["missing"] = missing.as_str().into();
            }
            data
        };
        self.entries.iter().map(data).collect()
    }

    /// The entries, each in a line: size, tokens, level and path.
    pub fn lines(&self) -> String {
        let line = |loaded: &LoadedEntry| {
            let count = loaded.count.map_or(String::new(), |count| {
                let files = if count == 1 { "file" } else { "files" };
                format!(" ({} {files})", grouped(count as u64))
            });
            let missing = loaded.missing.as_ref();
            let missing = missing.map_or(String::new(), |missing| format!(" ({missing})"));
            format!(
                "{:>9} {:>9} {:<7} {}{count}{missing}\n",
                loaded.size,
                tokens::rounded(loaded.tokens),
                loaded.entry.level.word(),
                loaded.entry.text(),
            )
        };
        self.entries.iter().map(line).collect()
    }
}

impl LoadedFile {
    /// Its path with what part of it is meant.
    pub(super) fn own_name(&self) -> String {
        if self.full.iter().any(|block| block.part.is_some()) {
            self.name.clone()
        } else {
            self.path.clone()
        }
    }
}

/// Refuses what cannot be put in as it is named.
pub(super) fn check(entry: &ContextEntry, sources: &CodeSources<'_>) -> FileResult<()> {
    let path = &entry.path;
    if let Some(names) = &entry.names {
        let mut loaded = LoadedEntry::of(entry);
        return loaded.definition(entry, names, sources).map(drop);
    }
    let kind = named::kind(path, sources.files)?;
    if matches!(kind, EntryKind::Folder | EntryKind::Glob) {
        let members = named::members(path, &kind, sources.files)?;
        let is_shown = |path: &String| text_of(path, sources.files).is_ok();
        if members.iter().any(is_shown) {
            return Ok(());
        }
        return Err(files::refused(format!(
            "`{path}` has no text file that may be shown and that git does not ignore: name others"
        )));
    }
    let there = text_of(path, sources.files)?.lines().count();
    match entry.lines().find(|lines| lines.last > there) {
        Some(lines) => Err(files::refused(format!(
            "`{path}` {}: name existing lines",
            goes_past(&lines, there)
        ))),
        None => Ok(()),
    }
}

fn goes_past(lines: &LineRange, end: usize) -> String {
    format!(
        "ends at line {end}, but {} was asked for",
        range_text(lines)
    )
}

/// The text of a file that may be shown.
fn text_of(path: &str, files: &dyn ProjectFiles) -> FileResult<String> {
    let rel = files.parse(path)?;
    let place = files.place(&rel, true)?;
    match files.kind(&place)? {
        None => return Err(files::not_found(&rel, files)),
        Some(FileKind::Dir) => return Err(FsError::IsAFolder(rel.to_string()).into()),
        Some(_) => files::may_show(&place, files)?,
    }
    let content = files.read(&place)?;
    let real = place.path().to_string_lossy();
    let looks_secret = repair::is_secret(path) || repair::is_secret(&real);
    match String::from_utf8(content.bytes) {
        Ok(_) if looks_secret => Err(files::refused(format!(
            "`{rel}` looks like a secret, so its content is not shown: continue without it"
        ))),
        Ok(text) if repair::holds_key(&text) => Err(files::refused(format!(
            "`{rel}` holds a private key, so its content is not shown: continue without it"
        ))),
        Ok(text) => Ok(text),
        Err(_) => Err(files::refused(format!(
            "`{rel}` is not UTF-8 text: leave it out"
        ))),
    }
}
