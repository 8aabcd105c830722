//! One file of settings: reads it, and says what is wrong in it, where, and what may have been meant.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table};

use super::readable::Readable;
use super::{Settings, SettingsError, defaults, get, shown};
use crate::settings::places::{PROJECT, SETTINGS_LIMIT};
use crate::text::names::{nearest_name, typos};
use crate::world::ownership::of_others;

/// A file of settings.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) text: String,
    pub(super) table: Table,
}

impl File {
    /// Reads it. One that is not there says nothing.
    pub(super) fn read(path: &Path) -> Result<Self, SettingsError> {
        let path = path.to_owned();
        let text = match text_of(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(SettingsError::Read { path, error }),
            Ok(text) => text,
        };
        match parse(&text) {
            Ok(table) => Ok(Self { path, text, table }),
            Err(mistake) => {
                let why = mistake.to_string();
                Err(SettingsError::Wrong { path, why })
            }
        }
    }

    /// Reads one that holds for all that the user does: nobody else is to have a say in it.
    pub(super) fn read_own(path: &Path) -> Result<Self, SettingsError> {
        match of_others(path) {
            None => Self::read(path),
            Some((path, doubt)) => Err(SettingsError::Shared {
                remedy: doubt.remedy(&path.display().to_string()),
                path,
                doubt,
            }),
        }
    }

    /// Reads that of a project. A link in its place may have come with the project.
    pub(super) fn read_project(root: &Path) -> Result<Self, SettingsError> {
        let path = root.join(PROJECT);
        let leads_out = || {
            path.canonicalize()
                .is_ok_and(|path| !path.starts_with(root))
        };
        if path.is_symlink() && leads_out() {
            return Err(SettingsError::LeadsOut(path));
        }
        Self::read(&path)
    }

    /// Returns the readable part of a file, the error of its reading, and true if the lost part may be about git.
    pub(super) fn readable(
        path: &Path,
        read: Result<Self, SettingsError>,
    ) -> (Self, Option<(SettingsError, bool)>) {
        let error = match read {
            Ok(file) => return (file, None),
            Err(error) => error,
        };
        let path = path.to_owned();
        let is_wrong = matches!(error, SettingsError::Wrong { .. });
        let text = text_of(&path).ok().filter(|_| is_wrong);
        let Some(text) = text else {
            let file = Self {
                path,
                ..Self::default()
            };
            return (file, Some((error, true)));
        };
        let found = Readable::of(&text);
        let has_lost_git = found.has_lost("git");
        let table = found.table;
        (Self { path, text, table }, Some((error, has_lost_git)))
    }

    /// An error if it has one of these sections and keys, which belong into another file.
    pub(super) fn refuse(&self, names: &[&str], home: &Path) -> Result<(), SettingsError> {
        let Some(name) = names.iter().find(|name| get(&self.table, name).is_some()) else {
            return Ok(());
        };
        let keys = keys(&self.text);
        let at = keys.iter().find(|(path, _)| path == name);
        let home = home.display();
        Err(SettingsError::Wrong {
            path: self.path.clone(),
            why: format!(
                "{}: {} applies to all projects, so a project cannot set it: move it to `{home}`",
                LineColumn::of(&self.text, at.map_or(0, |(_, at)| *at)),
                shown(name),
            ),
        })
    }

    /// The path of each key, and the line it is on.
    pub(super) fn lines(&self) -> Vec<(String, usize)> {
        let keys = keys(&self.text).into_iter();
        keys.map(|(path, at)| (path, LineColumn::of(&self.text, at).line))
            .collect()
    }
}

/// A file's text. A command may have put anything in its place: a pipe is not waited for, nor is all read of a device.
pub(super) fn text_of(path: &Path) -> io::Result<String> {
    let mut options = OpenOptions::new();
    let file = options
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    let file = file.open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if meta.len() > SETTINGS_LIMIT {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    let mut text = String::new();
    file.take(SETTINGS_LIMIT).read_to_string(&mut text)?;
    Ok(text)
}

/// Reads a file's text. Every value in it must be one that its setting can have.
pub(super) fn parse(text: &str) -> Result<Table, Mistake> {
    let wrong = |error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        let keys = keys(text);
        let key = keys.iter().find(|(_, place)| *place == at);
        let why = told(error.message(), key.map(|(path, _)| path.as_str()));
        Mistake(format!("{}: {why}", LineColumn::of(text, at)))
    };
    toml::from_str::<Settings>(text).map_err(wrong)?;
    toml::from_str(text).map_err(wrong)
}

/// A mistake in a file of settings.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Mistake(String);

/// A place in a text, from 1.
#[derive(Debug)]
pub(super) struct LineColumn {
    line: usize,
    column: usize,
}

impl LineColumn {
    pub(super) fn of(text: &str, at: usize) -> Self {
        let before = text.get(..at).unwrap_or_default();
        Self {
            line: before.matches('\n').count() + 1,
            column: before.chars().rev().take_while(|c| *c != '\n').count() + 1,
        }
    }
}

impl std::fmt::Display for LineColumn {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "line {}, column {}", self.line, self.column)
    }
}

/// The path of each key, and the byte at which it stands. Nothing where the text is not well-formed.
fn keys(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    if let Ok(all) = DeTable::parse(text) {
        collect(all.get_ref(), "", &mut found);
    }
    found
}

fn collect(table: &DeTable<'_>, prefix: &str, into: &mut Vec<(String, usize)>) {
    for (key, value) in table {
        let path = joined(prefix, key.get_ref());
        into.push((path.clone(), key.span().start));
        inside(value, &path, into);
    }
}

fn inside(value: &Spanned<DeValue<'_>>, path: &str, into: &mut Vec<(String, usize)>) {
    match value.get_ref() {
        DeValue::Table(table) => collect(table, path, into),
        DeValue::Array(values) => values.iter().for_each(|value| inside(value, path, into)),
        _ => {}
    }
}

/// The path of a key below another, as TOML writes it.
pub(super) fn joined(prefix: &str, key: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let key = if !key.is_empty() && key.chars().all(is_plain) {
        key.to_owned()
    } else {
        // JSON writes a text as TOML reads one.
        serde_json::Value::from(key).to_string()
    };
    match prefix {
        "" => key,
        _ => format!("{prefix}.{key}"),
    }
}

/// A message of the reader in clada's words: for a key or a word of a list that nobody knows, with what may have been meant.
fn told(message: &str, path: Option<&str>) -> String {
    let unknown = |what| {
        let (given, known) = message.strip_prefix(what)?.split_once("`, expected ")?;
        let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        Some((given, known))
    };
    if let Some((given, known)) = unknown("unknown variant `") {
        return format!("unknown value `{given}`: the values are {}", listed(&known));
    }
    let Some((given, known)) = unknown("unknown field `") else {
        return message.to_owned();
    };
    let path = path.unwrap_or(given);
    // Right, but in the wrong section.
    let mut sections = defaults().iter();
    let home = sections.find(|(_, section)| section.get(given).is_some());
    let meant = match (nearest(given, &known), home) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, Some((section, _))) => format!("did you mean `{section}.{given}`?"),
        (None, None) => format!("the keys are {}", listed(&known)),
    };
    format!("unknown key `{path}`: {meant}")
}

/// The name that looks most like this one; `None` where none does.
fn nearest<'n>(given: &str, names: &[&'n str]) -> Option<&'n str> {
    let given = given.to_lowercase();
    let near = nearest_name(&given, names.iter().copied())?;
    (typos(near, &given) <= 1.max(near.len() / 3)).then_some(near)
}

fn listed(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => {
            format!("{} and {last}", others.join(", "))
        }
        _ => names.concat(),
    }
}
