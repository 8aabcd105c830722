//! The things that an entry of a set can name: a file, a folder, a glob, a definition in a file. Shows nothing of them.

use std::time::{Duration, Instant};

use crate::code::Address;
use crate::report::repair;
use crate::run::files::{self, FileResult};
use crate::text::glob::{self, Glob};
use crate::world::workspace::{FileKind, ProjectFiles, ResolvedPath, TreeQuery};

/// The time that a walk may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The kind of what an entry names now.
pub(super) enum EntryKind {
    File,
    Folder,
    /// A pattern for files.
    Glob,
    /// Nothing is there.
    Nothing,
}

/// An entry as the set names it: its path from the root, and the names behind it.
pub(super) struct EntryName {
    pub(super) path: String,
    pub(super) names: Option<String>,
    pub(super) kind: EntryKind,
}

impl EntryName {
    /// Reads what a person or a reply wrote. A file that has this very name comes first, then an address, then a glob.
    ///
    /// # Errors
    /// Where nothing is there, or it cannot be looked at.
    pub(super) fn read(text: &str, files: &dyn ProjectFiles) -> FileResult<Self> {
        let plain = |path: String, kind| Self {
            path,
            names: None,
            kind,
        };
        let rel = files.parse(text)?;
        match kind(text, files)? {
            EntryKind::Nothing => {}
            EntryKind::Glob => return Ok(plain(glob_name(text, files)?, EntryKind::Glob)),
            there => return Ok(plain(rel.to_string(), there)),
        }
        for address in Address::readings(text) {
            if matches!(kind(address.file, files), Ok(EntryKind::File)) {
                return Ok(Self {
                    path: files.parse(address.file)?.to_string(),
                    names: Some(address.names.to_owned()),
                    kind: EntryKind::File,
                });
            }
        }
        let file = Address::readings(text)
            .last()
            .map(|address| files.parse(address.file));
        Err(files::not_found(&file.transpose()?.unwrap_or(rel), files))
    }

    /// True for one file as a whole.
    pub(super) fn has_lines(&self) -> bool {
        self.names.is_none() && matches!(self.kind, EntryKind::File)
    }

    /// The name of an entry to take out, which need not be there any more.
    pub(super) fn of_old(text: &str, files: &dyn ProjectFiles) -> FileResult<Self> {
        if let Ok(name) = Self::read(text, files) {
            return Ok(name);
        }
        let address = Address::readings(text).last();
        let path = address.map_or(text, |address| address.file);
        Ok(Self {
            path: files.parse(path)?.to_string(),
            names: address.map(|address| address.names.to_owned()),
            kind: EntryKind::Nothing,
        })
    }
}

/// Looks at what a path of an entry names.
pub(super) fn kind(path: &str, files: &dyn ProjectFiles) -> FileResult<EntryKind> {
    let rel = files.parse(path)?;
    let place = files.place(&rel, true)?;
    Ok(match files.kind(&place)? {
        Some(FileKind::Dir) => EntryKind::Folder,
        Some(_) => EntryKind::File,
        None if path.contains(['*', '?', '[', '{']) && !path.contains("@@") => EntryKind::Glob,
        None => EntryKind::Nothing,
    })
}

/// A glob as the set has it: from the root on.
fn glob_name(text: &str, files: &dyn ProjectFiles) -> FileResult<String> {
    let (folders, rest) = glob::split(text.trim());
    Glob::parse(rest).map_err(|error| files::refused(error.to_string()))?;
    let folders = if folders.is_empty() { "." } else { folders };
    let folder = files.parse(folders)?.to_string();
    Ok(match folder.as_str() {
        "." => rest.to_owned(),
        folder => format!("{folder}/{rest}"),
    })
}

/// The files of a folder or a glob, in the order of their paths: those that git does not ignore and that may be shown.
///
/// # Errors
/// Where there is no such folder, or the glob is none.
pub(super) fn members(
    path: &str,
    kind: &EntryKind,
    files: &dyn ProjectFiles,
) -> FileResult<Vec<String>> {
    let (folder, rest) = match kind {
        EntryKind::Glob => glob::split(path),
        _ => (path, "**"),
    };
    let glob = Glob::parse(rest).map_err(|error| files::refused(error.to_string()))?;
    let folder = if folder.is_empty() { "." } else { folder };
    let place = files.place(&files.parse(folder)?, true)?;
    let depth = glob.depth;
    let paths = walked(&place, files, depth, &|path| glob.matches(path));
    Ok(paths.into_iter().map(|file| file.path).collect())
}

/// A file that a walk finds.
pub(super) struct WalkedFile {
    pub(super) path: String,
    pub(super) signs: [i64; 5],
    pub(super) size: u64,
    /// It was not changed just now.
    pub(super) is_sure: bool,
}

/// Walks over the files below a folder.
pub(super) fn walked(
    folder: &ResolvedPath,
    files: &dyn ProjectFiles,
    depth: Option<usize>,
    wants: &dyn Fn(&str) -> bool,
) -> Vec<WalkedFile> {
    let disk = files.disk();
    let query = TreeQuery {
        wants: &|path, kind| kind == FileKind::File && wants(path) && !repair::is_secret(path),
        depth,
        until: Instant::now() + PATIENCE,
    };
    let paths = disk.tree(folder, &query).paths;
    let signs = disk.signs(&paths);
    let found = paths.iter().zip(signs).filter_map(|(path, signs)| {
        let signs = signs?;
        Some(WalkedFile {
            path: path.to_str()?.to_owned(),
            signs: signs.signs,
            size: signs.size,
            is_sure: signs.is_sure,
        })
    });
    let mut found: Vec<WalkedFile> = found.collect();
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}
