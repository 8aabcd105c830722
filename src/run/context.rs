//! Carries out the context commands: they choose the files that the chat works with. Changes no file of the project.

use std::borrow::Cow;
use std::io;

use serde_json::{Value, json};

use crate::reply::context::{Amount, ContextFile, ContextSet, range_text};
use crate::reply::task::ContextTask;
use crate::report::outcome::{Outcome, Section};
use crate::report::repair;
use crate::run::files::{self, FileResult};
use crate::text::lines::{LineError, LineRange};
use crate::world::context::ContextStore;
use crate::world::workspace::{FileKind, ProjectFiles};

/// A set with the present content of its files.
#[derive(Debug, Default)]
pub struct LoadedSet {
    pub files: Vec<LoadedFile>,
    pub amount: Amount,
}

/// A file of a set.
#[derive(Debug)]
pub struct LoadedFile {
    pub file: ContextFile,
    /// The parts of it that are in the set, each with the name that it is shown with.
    pub parts: Vec<(String, String)>,
    /// In bytes, of these parts.
    pub size: usize,
    /// The reason why it is not all that was asked for.
    pub missing: Option<String>,
    /// It is not there any more.
    pub is_gone: bool,
}

/// Carries out a context command; with `dry` tells what would come of it. A failed command has changed nothing.
pub fn perform(
    task: &ContextTask<'_>,
    files: &dyn ProjectFiles,
    store: &ContextStore,
    dry: bool,
) -> Outcome {
    carry_out(task, files, store, dry).unwrap_or_else(|failed| *failed)
}

fn carry_out(
    task: &ContextTask<'_>,
    files: &dyn ProjectFiles,
    store: &ContextStore,
    dry: bool,
) -> FileResult {
    match task {
        ContextTask::Add { paths, lines } => {
            let lines = lines.as_deref().map(range).transpose()?;
            let paths = adds(paths, lines, files)?;
            let (set, ()) = changed(store, dry, |set| {
                for path in &paths {
                    set.add(path, lines);
                }
            })?;
            Ok(now(&load(&set, files), ""))
        }
        ContextTask::Remove { paths } => {
            let names = paths.iter().map(|path| Ok(files.parse(path)?.to_string()));
            let names: Vec<String> = names.collect::<FileResult<_>>()?;
            let (set, absent) = changed(store, dry, |set| {
                let absent = names.iter().filter(|name| !set.remove(name));
                absent.cloned().collect::<Vec<_>>()
            })?;
            Ok(now(&load(&set, files), &listed("not in the set", &absent)))
        }
        ContextTask::List => Ok(list(&load(&read(store)?, files))),
        ContextTask::Prune => {
            let gone = load(&read(store)?, files).gone();
            let (set, ()) = changed(store, dry, |set| {
                set.files.retain(|file| !gone.contains(&file.path));
            })?;
            let mut done = now(&load(&set, files), &listed("removed", &gone));
            done.data["removed"] = gone.into();
            Ok(done)
        }
        ContextTask::Clear => {
            if !dry {
                store.clear().map_err(|error| trouble(&error))?;
            }
            Ok(now(&LoadedSet::default(), ""))
        }
    }
}

/// Reads the files of a set. What cannot be read is told of, not fatal.
pub fn load(set: &ContextSet, files: &dyn ProjectFiles) -> LoadedSet {
    let mut loaded = LoadedSet::default();
    for file in &set.files {
        let file = load_file(file, files);
        loaded.amount.files += usize::from(!file.parts.is_empty());
        for (_, text) in &file.parts {
            loaded.amount.add(text);
        }
        loaded.files.push(file);
    }
    loaded
}

impl LoadedSet {
    fn said(&self) -> String {
        if self.files.is_empty() {
            "empty".to_owned()
        } else {
            self.amount.text()
        }
    }

    /// The files that are not there any more.
    fn gone(&self) -> Vec<String> {
        let gone = self.files.iter().filter(|file| file.is_gone);
        gone.map(|file| file.file.path.clone()).collect()
    }

    /// The remarks on files that are not as they were when they were put in.
    pub fn missing(&self) -> impl Iterator<Item = String> {
        let files = self.files.iter();
        files.filter_map(|file| Some(format!("`{}`: {}", file.file.path, file.missing.as_ref()?)))
    }

    /// The files of the set, for `--json`.
    pub fn data(&self) -> Vec<Value> {
        let data = |file: &LoadedFile| {
            let mut data = json!({ "path": file.file.path });
            if let Some(lines) = file.file.lines_text() {
                data["lines"] = lines.into();
            }
            data["size"] = file.size.into();
            if let Some(missing) = &file.missing {
                data["missing"] = missing.as_str().into();
            }
            data
        };
        self.files.iter().map(data).collect()
    }

    /// The files of the set, each in a line.
    pub fn lines(&self) -> String {
        let line = |file: &LoadedFile| {
            let lines = file.file.lines_text();
            let lines = lines.map_or(String::new(), |lines| format!(":{lines}"));
            let missing = file.missing.as_ref();
            let missing = missing.map_or(String::new(), |missing| format!(" ({missing})"));
            format!("{:>9} {}{lines}{missing}\n", file.size, file.file.path)
        };
        self.files.iter().map(line).collect()
    }
}

/// The paths to add, as the set names them. All of them must be there with these lines, or none is added.
fn adds(
    paths: &[Cow<'_, str>],
    lines: Option<LineRange>,
    files: &dyn ProjectFiles,
) -> FileResult<Vec<String>> {
    let add = |path: &str| {
        let text = text_of(path, files)?;
        let there = text.lines().count();
        match lines {
            Some(lines) if lines.last > there => Err(files::refused(format!(
                "`{path}` {}: name existing lines",
                goes_past(&lines, there)
            ))),
            _ => Ok(files.parse(path)?.to_string()),
        }
    };
    paths.iter().map(|path| add(path)).collect()
}

fn range(text: &str) -> FileResult<LineRange> {
    LineRange::parse(text).map_err(|error| {
        files::refused(match error {
            LineError::Invalid => {
                format!("`{text}` is not a line or a range: write `12` or `12-40`")
            }
            LineError::Reversed => {
                format!("`{text}` ends before it begins: write the smaller number first")
            }
        })
    })
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
        Some(FileKind::Dir) => {
            return Err(files::refused(format!(
                "`{rel}` is a folder: name the files that you need; `glob` finds them"
            )));
        }
        Some(_) => files::may_show(&place, files)?,
    }
    let content = files.read(&place)?;
    match String::from_utf8(content.bytes) {
        Ok(text) if repair::holds_key(&text) => Err(files::refused(format!(
            "`{rel}` holds a private key, so its content is not shown: continue without it"
        ))),
        Ok(text) => Ok(text),
        Err(_) => Err(files::refused(format!(
            "`{rel}` is not UTF-8 text: leave it out"
        ))),
    }
}

fn load_file(file: &ContextFile, files: &dyn ProjectFiles) -> LoadedFile {
    let mut loaded = LoadedFile {
        file: file.clone(),
        parts: Vec::new(),
        size: 0,
        missing: None,
        is_gone: false,
    };
    let text = match text_of(&file.path, files) {
        Ok(text) => text,
        Err(failure) => {
            let place = files.parse(&file.path).ok();
            let place = place.and_then(|rel| files.place(&rel, true).ok());
            loaded.is_gone = place.is_none_or(|place| matches!(files.kind(&place), Ok(None)));
            loaded.missing = if loaded.is_gone {
                Some("no longer exists".to_owned())
            } else {
                failure.message
            };
            return loaded;
        }
    };
    let mut ranges = file.lines().peekable();
    if ranges.peek().is_none() {
        loaded.parts.push((file.path.clone(), text));
    } else {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for range in ranges {
            if range.last > lines.len() {
                let said = goes_past(&range, lines.len());
                loaded.missing.get_or_insert(said);
            }
            let shown = range.first - 1..range.last.min(lines.len());
            if let Some(shown) = lines.get(shown).filter(|shown| !shown.is_empty()) {
                let name = format!("{} (lines {})", file.path, range_text(&range));
                loaded.parts.push((name, shown.concat()));
            }
        }
    }
    loaded.size = loaded.parts.iter().map(|(_, text)| text.len()).sum();
    loaded
}

/// Returns the set after a change, and the change's result. With `dry` the new set is not kept.
fn changed<T>(
    store: &ContextStore,
    dry: bool,
    change: impl FnOnce(&mut ContextSet) -> T,
) -> FileResult<(ContextSet, T)> {
    if dry {
        let mut set = read(store)?;
        let said = change(&mut set);
        return Ok((set, said));
    }
    let change = |set: &mut ContextSet| {
        let said = change(set);
        (set.clone(), said)
    };
    store.change(change).map_err(|error| trouble(&error))
}

fn read(store: &ContextStore) -> FileResult<ContextSet> {
    store.read().map_err(|error| trouble(&error))
}

fn trouble(error: &io::Error) -> Box<Outcome> {
    files::refused(format!("{error}: use `context-clear` to start a new set"))
}

/// A task is done: how much is in the set now.
fn now(loaded: &LoadedSet, also: &str) -> Outcome {
    let amount = loaded.amount;
    Outcome {
        message: Some(format!("now {}{also}", loaded.said())),
        data: json!({
            "files": amount.files,
            "lines": amount.lines,
            "size": amount.bytes,
            "tokens": amount.tokens(),
        }),
        ..Outcome::default()
    }
}

fn list(loaded: &LoadedSet) -> Outcome {
    let lines = loaded.lines();
    let sections = (!lines.is_empty()).then_some(Section::Text(lines));
    Outcome {
        message: Some(loaded.said()),
        data: loaded.data().into(),
        sections: sections.into_iter().collect(),
        ..Outcome::default()
    }
}

/// Names with what became of them; nothing where there are none.
fn listed(what: &str, names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => String::new(),
        names => format!("; {what}: {}", names.join(", ")),
    }
}
