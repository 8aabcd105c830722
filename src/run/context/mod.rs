//! Carries out the context commands: they choose the files that the chat works with. Changes no file of the project.

pub mod budget;
mod load;
mod named;
mod sources;

use std::borrow::Cow;
use std::io;

use serde_json::json;

use crate::reply::context::{ContextEntry, ContextLevel, ContextSet};
use crate::reply::task::ContextTask;
use crate::report::outcome::{Outcome, Section};
use crate::run::files::{self, FileResult};
use crate::text::lines::{LineError, LineRange};
use crate::text::mask::Mask;
use crate::world::context::ContextStore;
use crate::world::workspace::ProjectFiles;

pub use load::{LoadedEntry, LoadedFile, LoadedSet, load};
pub use sources::CodeSources;

use named::EntryName;

/// Carries out a context command; with `dry` tells what would come of it. A failed command has changed nothing.
pub fn perform(
    task: &ContextTask<'_>,
    files: &dyn ProjectFiles,
    store: &ContextStore,
    dry: bool,
) -> Outcome {
    let mask = Mask::default();
    let sources = CodeSources::new(files, store, &mask);
    let done = carry_out(task, &sources, store, dry);
    sources.finish();
    done.unwrap_or_else(|failed| *failed)
}

fn carry_out(
    task: &ContextTask<'_>,
    sources: &CodeSources<'_>,
    store: &ContextStore,
    dry: bool,
) -> FileResult {
    match task {
        ContextTask::Add {
            paths,
            lines,
            level,
        } => {
            let lines = lines.as_deref().map(ranges).transpose()?;
            let entries = adds(paths, &lines.unwrap_or_default(), *level, sources)?;
            let (set, ()) = changed(store, dry, |set| {
                entries.into_iter().for_each(|entry| set.add(entry));
            })?;
            Ok(now(&load(&set, sources), ""))
        }
        ContextTask::Remove { paths } => {
            let names = paths
                .iter()
                .map(|path| EntryName::of_old(path, sources.files));
            let names: Vec<EntryName> = names.collect::<FileResult<_>>()?;
            let (set, absent) = changed(store, dry, |set| {
                let absent = names
                    .iter()
                    .filter(|it| !set.remove(&it.path, it.names.as_deref()));
                absent.map(|it| it.path.clone()).collect::<Vec<_>>()
            })?;
            Ok(now(
                &load(&set, sources),
                &listed("not in the set", &absent),
            ))
        }
        ContextTask::List => Ok(list(&load(&read(store)?, sources))),
        ContextTask::Prune => {
            let gone = load(&read(store)?, sources).gone();
            let (set, ()) = changed(store, dry, |set| {
                set.files.retain(|file| !gone.contains(file));
            })?;
            let gone: Vec<String> = gone.iter().map(ContextEntry::text).collect();
            let mut done = now(&load(&set, sources), &listed("removed", &gone));
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

/// The entries to add, as the set names them. All of them must be there with these lines, or none is added.
fn adds(
    paths: &[Cow<'_, str>],
    lines: &[LineRange],
    level: Option<ContextLevel>,
    sources: &CodeSources<'_>,
) -> FileResult<Vec<ContextEntry>> {
    if !lines.is_empty() && level == Some(ContextLevel::Outline) {
        return Err(files::refused(
            "lines have no outline: leave out either the lines or the level".to_owned(),
        ));
    }
    let add = |path: &str| {
        let name = EntryName::read(path, sources.files)?;
        if !lines.is_empty() && !name.has_lines() {
            return Err(files::refused(format!(
                "`{path}` is not one file, so it has no lines: name them with a file"
            )));
        }
        let level = level.unwrap_or_default();
        let entry = ContextEntry::new(&name.path, name.names.as_deref(), lines, level);
        load::check(&entry, sources)?;
        Ok(entry)
    };
    paths.iter().map(|path| add(path)).collect()
}

/// Reads `12`, `12-40`, or several of them with commas between.
fn ranges(text: &str) -> FileResult<Vec<LineRange>> {
    let range = |text: &str| {
        LineRange::parse(text.trim()).map_err(|error| {
            files::refused(match error {
                LineError::Invalid => {
                    format!("`{text}` is not a line or a range: write `12` or `12-40`")
                }
                LineError::Reversed => {
                    format!("`{text}` ends before it begins: write the smaller number first")
                }
            })
        })
    };
    text.split(',').map(range).collect()
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
    files::refused(format!(
        "{error}: use `context-clear` (`clada context clear`) to start a new set"
    ))
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
            "tokens": amount.tokens,
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
