//! The list of the notes files that `clada daemon` watches: `watched.toml` in the user's settings folder. Reads it, and
//! changes it as a whole or not at all; looks at none of the files in it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use toml_edit::{ArrayOfTables, Document, DocumentMut, Item, Table, TomlError, value};

use crate::settings::file::{LineColumn, text_of};
use crate::settings::places::Folders;
use crate::text::names::nearest_name;
use crate::world::lock::{Lock, LockError, Occupant};
use crate::world::note_file::NoteFile;
use crate::world::ownership::{NotOwn, of_others};

/// The list's file.
const FILE: &str = "watched.toml";
/// The key of its entries.
const WATCH: &str = "watch";
const KEYS: [&str; 3] = ["file", "root", "shared"];
/// The head of a new list.
const HEAD: &str = "# The notes files that `clada daemon` watches. Edit this list here, or with `clada add` and `clada \
     remove`.\n\n";

/// A notes file and the project folder that its tasks work in, both absolute.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WatchedFile {
    pub file: PathBuf,
    pub root: PathBuf,
    /// Others may have them, or write them.
    pub shared: bool,
}

/// The contents of the list.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Registry {
    /// In the order of the list, each file once.
    pub entries: Vec<WatchedFile>,
    /// The errors of the others, each with its place.
    pub wrong: Vec<String>,
}

/// The outcome of putting a file into the list.
#[derive(Debug, PartialEq, Eq)]
pub enum Added {
    New,
    /// It was there, as it is.
    Already,
    /// It was there with this root, or with none that could be one.
    Instead(Option<PathBuf>),
}

/// The reason why the list cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("cannot read the list of watched files `{}`: {error}: make it a text file that this user can read", path.display())]
    Read { path: PathBuf, error: io::Error },
    #[error("the list of watched files `{}` is invalid: {why}: fix that file", path.display())]
    Wrong { path: PathBuf, why: String },
    #[error("`{}` {doubt}, so clada does not use the list of watched files: run `{remedy}`", path.display())]
    Shared {
        path: PathBuf,
        doubt: NotOwn,
        remedy: String,
    },
    #[error("cannot write the list of watched files `{}`: {error}: the list is unchanged; check the folder's \
         permissions and disk space", path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error("the name `{}` is not UTF-8, so it cannot be in the list of watched files: rename it", .0.display())]
    NotText(PathBuf),
    #[error("`{}` is not in the list of watched files: run `clada list` to see the list", .0.display())]
    Unknown(PathBuf),
    #[error(transparent)]
    Lock(#[from] LockError),
}

impl Registry {
    /// Returns the path of the list.
    pub fn path(folders: &Folders) -> PathBuf {
        folders.config.join(FILE)
    }

    /// Reads the list; one that is not there is empty.
    ///
    /// # Errors
    /// Where it cannot be read or is not TOML. What is wrong with an entry alone costs that entry only.
    pub fn load(folders: &Folders) -> Result<Self, RegistryError> {
        let path = Self::path(folders);
        let text = text(&path)?;
        let document = parse(&path, &text)?;
        let mut found = Self::default();
        let mut told = |at: Option<usize>, why: String| {
            let place = LineColumn::of(&text, at.unwrap_or_default());
            let said = format!("`{}`, {place}: {why}", path.display());
            found.wrong.push(said);
        };
        for (key, item) in document.iter() {
            let at = document.key(key).and_then(|key| key.span());
            if key != WATCH {
                let why = format!("unknown key `{key}`: write each file as `[[{WATCH}]]`");
                told(at.map(|span| span.start), why);
            } else if item.as_array_of_tables().is_none() {
                let why = format!("write each file as `[[{WATCH}]]` with `file = \"/…\"` below");
                told(at.map(|span| span.start), why);
            }
        }
        let tables = document.get(WATCH).and_then(Item::as_array_of_tables);
        for table in tables.into_iter().flatten() {
            let at = table.span().map(|span| span.start);
            match entry(table, &folders.home) {
                Err((place, why)) => told(place.or(at), why),
                Ok(entry) if found.entries.iter().any(|other| other.file == entry.file) => {
                    let file = entry.file.display();
                    let why = format!("`{file}` is already in the list: remove one of the two");
                    told(at, why);
                }
                Ok(entry) => found.entries.push(entry),
            }
        }
        Ok(found)
    }

    /// Puts a file in. `held` is told the process that has the list meanwhile, if one has.
    ///
    /// # Errors
    /// Where the list cannot be read or written; it is then as it was.
    pub async fn add(
        folders: &Folders,
        entry: &WatchedFile,
        held: &mut dyn FnMut(&str),
    ) -> Result<Added, RegistryError> {
        let name = |path: &Path| {
            let not_text = || RegistryError::NotText(path.to_owned());
            path.to_str().map(str::to_owned).ok_or_else(not_text)
        };
        let (name_of_file, name_of_root) = (name(&entry.file)?, name(&entry.root)?);
        let mut list = RegistryEdit::open(folders, held).await?;
        let there = list.position(&entry.file);
        let tables = list.tables()?;
        let added = match there.and_then(|at| tables.get_mut(at)) {
            Some(table) => {
                let was = root(table, &entry.file, &folders.home).ok();
                let is_same = was.as_ref() == Some(&entry.root);
                let is_new_to_others = entry.shared && shared(table) != Ok(true);
                if is_same && !is_new_to_others {
                    return Ok(Added::Already);
                }
                if is_new_to_others {
                    table["shared"] = value(true);
                }
                table["root"] = value(name_of_root);
                if is_same {
                    Added::Already
                } else {
                    Added::Instead(was)
                }
            }
            None => {
                let mut table = Table::new();
                table["file"] = value(name_of_file);
                table["root"] = value(name_of_root);
                if entry.shared {
                    table["shared"] = value(true);
                }
                if !tables.is_empty() {
                    table.decor_mut().set_prefix("\n");
                }
                tables.push(table);
                Added::New
            }
        };
        list.write()?;
        Ok(added)
    }

    /// Takes a file out, and tells by which name it was in. The comment right above it goes with it.
    ///
    /// # Errors
    /// Where it is not in, or the list cannot be read or written; it is then as it was.
    pub async fn remove(
        folders: &Folders,
        file: &Path,
        held: &mut dyn FnMut(&str),
    ) -> Result<PathBuf, RegistryError> {
        let mut list = RegistryEdit::open(folders, held).await?;
        let unknown = || RegistryError::Unknown(file.to_owned());
        let at = list.position(file).ok_or_else(unknown)?;
        let tables = list.tables()?;
        let gone = tables.remove(at);
        let kept = head(&gone);
        match tables.get_mut(at) {
            Some(next) => {
                let mut own = prefix(next);
                if at == 0 || !kept.is_empty() {
                    own = own.trim_start_matches('\n');
                }
                let prefix = kept + own;
                next.decor_mut().set_prefix(prefix);
            }
            None => {
                let rest = list.document.trailing().as_str().unwrap_or_default();
                list.document.set_trailing(kept + rest);
            }
        }
        list.write()?;
        Ok(path_of(&gone, "file", &folders.home).unwrap_or_else(|_| file.to_owned()))
    }
}

/// The list while it is being changed; nobody else changes it meanwhile.
struct RegistryEdit {
    /// At the end of all links, so that one to it stays one.
    path: PathBuf,
    document: DocumentMut,
    home: PathBuf,
    _lock: Lock,
}

impl RegistryEdit {
    async fn open(folders: &Folders, held: &mut dyn FnMut(&str)) -> Result<Self, RegistryError> {
        let path = Registry::path(folders);
        let mut held = |occupant: &Occupant| held(&occupant.pid);
        let lock = Lock::take(&folders.locks(), "list", &path, &mut held).await?;
        let path = path.canonicalize().unwrap_or(path);
        let mut text = text(&path)?;
        if text.is_empty() {
            text = HEAD.to_owned();
        }
        let mut document = parse(&path, &text)?.into_mut();
        if document.get(WATCH).is_none() {
            // What the file says so far comes before what is put in.
            let before = document.trailing().as_str().unwrap_or_default().to_owned();
            document.set_trailing("");
            document.decor_mut().set_prefix(before);
        }
        Ok(Self {
            path,
            document,
            home: folders.home.clone(),
            _lock: lock,
        })
    }

    fn tables(&mut self) -> Result<&mut ArrayOfTables, RegistryError> {
        let wrong = RegistryError::Wrong {
            path: self.path.clone(),
            why: format!("`{WATCH}` must be written as `[[{WATCH}]]`"),
        };
        let none = Item::ArrayOfTables(ArrayOfTables::new());
        let tables = self.document.entry(WATCH).or_insert(none);
        tables.as_array_of_tables_mut().ok_or(wrong)
    }

    /// Finds the place of a file in the list, by whatever name.
    fn position(&self, file: &Path) -> Option<usize> {
        let tables = self.document.get(WATCH)?.as_array_of_tables()?;
        let names = |table| path_of(table, "file", &self.home).ok();
        let known: Vec<Option<PathBuf>> = tables.iter().map(names).collect();
        let real = real(file);
        let find = |is_same: &dyn Fn(&PathBuf) -> bool| {
            let mut known = known.iter();
            known.position(|known| known.as_ref().is_some_and(is_same))
        };
        find(&|known| known == file).or_else(|| find(&|known| self::real(known) == real))
    }

    fn write(&self) -> Result<(), RegistryError> {
        let write = || -> io::Result<()> {
            let folder = self.path.parent().unwrap_or(Path::new("/"));
            fs::create_dir_all(folder)?;
            // The lock makes the name one's own; what a crash left there is written over.
            let new = self.path.with_extension("toml.new");
            let mut file = File::create(&new)?;
            if let Ok(old) = fs::metadata(&self.path) {
                file.set_permissions(old.permissions())?;
            }
            file.write_all(self.document.to_string().as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &self.path)?;
            File::open(folder)?.sync_all()
        };
        write().map_err(|error| RegistryError::Write {
            path: self.path.clone(),
            error,
        })
    }
}

/// Returns the path that a file's name leads to.
fn real(file: &Path) -> PathBuf {
    NoteFile::new(file, 0).map_or_else(|_| file.to_owned(), |note| note.path().to_owned())
}

fn text(path: &Path) -> Result<String, RegistryError> {
    if let Some((path, doubt)) = of_others(path) {
        let remedy = doubt.remedy(&path.display().to_string());
        return Err(RegistryError::Shared {
            path,
            doubt,
            remedy,
        });
    }
    match text_of(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        text => text.map_err(|error| RegistryError::Read {
            path: path.to_owned(),
            error,
        }),
    }
}

fn parse<'a>(path: &Path, text: &'a str) -> Result<Document<&'a str>, RegistryError> {
    let wrong = |error: TomlError| {
        let at = error.span().map_or(0, |span| span.start);
        RegistryError::Wrong {
            path: path.to_owned(),
            why: format!("{}: {}", LineColumn::of(text, at), error.message()),
        }
    };
    Document::parse(text).map_err(wrong)
}

/// An error in an entry, and its position where it has one.
type InvalidEntry = (Option<usize>, String);

/// Reads a table; where it names no root, that is the file's folder.
fn entry(table: &Table, home: &Path) -> Result<WatchedFile, InvalidEntry> {
    for (key, _) in table {
        if !KEYS.contains(&key) {
            let at = table.key(key).and_then(|key| key.span());
            let near = nearest_name(key, KEYS);
            let why = format!(
                "unknown key `{key}`: did you mean `{}`?",
                near.unwrap_or("file")
            );
            return Err((at.map(|span| span.start), why));
        }
    }
    let file = path_of(table, "file", home)?;
    let root = root(table, &file, home)?;
    let shared = shared(table)?;
    Ok(WatchedFile { file, root, shared })
}

fn shared(table: &Table) -> Result<bool, InvalidEntry> {
    let Some(item) = table.get("shared") else {
        return Ok(false);
    };
    let wrong = || {
        let why = "`shared` must be `true` or `false`".to_owned();
        (item.span().map(|span| span.start), why)
    };
    item.as_bool().ok_or_else(wrong)
}

fn root(table: &Table, file: &Path, home: &Path) -> Result<PathBuf, InvalidEntry> {
    if table.contains_key("root") {
        return path_of(table, "root", home);
    }
    Ok(file.parent().unwrap_or(Path::new("/")).to_owned())
}

/// Reads an absolute path; `~/` is the user's home.
fn path_of(table: &Table, key: &str, home: &Path) -> Result<PathBuf, InvalidEntry> {
    let item = table.get(key);
    let wrong = |why: &str| {
        let at = item.and_then(Item::span).map(|span| span.start);
        (at, format!("{why}: write `{key} = \"/…\"`"))
    };
    let item = item.ok_or_else(|| wrong(&format!("`{key}` is missing")))?;
    let text = item
        .as_str()
        .ok_or_else(|| wrong(&format!("`{key}` is not a string")))?;
    match text.strip_prefix("~/") {
        Some(rest) => Ok(home.join(rest)),
        None if text.starts_with('/') => Ok(text.into()),
        None => Err(wrong(&format!("`{text}` is not an absolute path"))),
    }
}

fn prefix(table: &Table) -> &str {
    let prefix = table.decor().prefix().and_then(|prefix| prefix.as_str());
    prefix.unwrap_or_default()
}

/// Returns the text above a table that is not about it: up to the last empty line.
fn head(table: &Table) -> String {
    let prefix = prefix(table);
    let end = prefix.rfind("\n\n").map_or(0, |at| at + 2);
    prefix[..end].to_owned()
}

#[cfg(test)]
mod tests;
