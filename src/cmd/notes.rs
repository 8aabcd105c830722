//! The notes file that a command works on, and the project folder that it is watched for. Reads the list, the locks and the
//! records of watched files; changes none of them.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::cli::terminal;
use crate::error::Error;
use crate::report::one_line;
use crate::settings::places::{self, Folders};
use crate::settings::registry::Registry;
use crate::start;
use crate::text::paths;
use crate::world::ledger::Ledger;
use crate::world::lock::Lock;
use crate::world::roots;

/// A notes file with its root.
pub(super) struct NotesWithRoot {
    /// As it was given, or its canonical path.
    pub(super) file: PathBuf,
    /// As it was given, and its canonical path.
    pub(super) root: (PathBuf, PathBuf),
}

impl NotesWithRoot {
    /// Returns the given file and the root that it is watched for. Without a given file, it is the one that is watched for the
    /// root, or `clada.md` there; if others are watched too, that is printed.
    ///
    /// # Errors
    /// Where the root cannot be used, where several files may be meant, and for a given file that does not exist.
    pub(super) fn find(
        folders: &Folders,
        file: Option<&Path>,
        root: Option<&Path>,
    ) -> Result<Self, Error> {
        let Some(named) = file else {
            let root = start::find_root(root)?;
            let chosen = of_root(folders, &root.1)?;
            if !chosen.others.is_empty() {
                let files = names(&chosen.others);
                let is_one = chosen.others.len() == 1;
                let are = if is_one { "is" } else { "are" };
                let taken = chosen.file.display();
                let said = format!(
                    "using {taken}; {files} {are} watched for this folder too: give the path of the one you mean"
                );
                writeln!(terminal::stderr(), "{}", one_line(&said))?;
            }
            let file = chosen.file;
            return Ok(Self { file, root });
        };
        let file = named_file(folders, named, root)?;
        refuse_missing(folders, &file, root)?;
        let is_given = root.is_some();
        let watched = (!is_given).then(|| root_of(folders, &file)).flatten();
        let here = start::find_root(root)?;
        let root = match watched {
            Some(watched) if watched != here.1 && watched.is_dir() => {
                start::find_root(Some(&watched))?
            }
            _ => here,
        };
        Ok(Self { file, root })
    }
}

/// A notes file that clada watches or has watched.
struct KnownNotes {
    file: PathBuf,
    root: PathBuf,
    /// A clada process watches it now, or it is in the daemon's list.
    is_watched: bool,
}

/// Returns all of them, each once, by their canonical paths.
fn known(folders: &Folders) -> Vec<KnownNotes> {
    let watched = Lock::held(&folders.locks(), &places::WATCHED_LOCKS[..1]);
    let was = roots::all(&folders.roots());
    let (now, before): (Vec<_>, Vec<_>) = was
        .into_iter()
        .partition(|(file, _)| watched.contains(file));
    // Commands that use the list report what is wrong in it.
    let listed = Registry::load(folders).unwrap_or_default().entries;
    let listed = listed
        .into_iter()
        .map(|entry| (start::canonical(&entry.file), start::canonical(&entry.root)));
    let mut known: Vec<KnownNotes> = Vec::new();
    let with = |is_watched| {
        move |(file, root)| KnownNotes {
            file,
            root,
            is_watched,
        }
    };
    let watched = now.into_iter().chain(listed).map(with(true));
    for one in watched.chain(before.into_iter().map(with(false))) {
        if known.iter().all(|other| other.file != one.file) {
            known.push(one);
        }
    }
    known
}

/// Returns the root that a notes file is watched for, or was last watched for.
fn root_of(folders: &Folders, file: &Path) -> Option<PathBuf> {
    let file = start::canonical(file);
    let mut known = known(folders).into_iter();
    known
        .find(|known| known.file == file)
        .map(|known| known.root)
}

/// Returns a path; if no such file exists, the known file of that name, preferably in the root.
pub(super) fn named_file(
    folders: &Folders,
    named: &Path,
    root: Option<&Path>,
) -> Result<PathBuf, Error> {
    if named.exists() || named.components().count() != 1 {
        return Ok(named.to_owned());
    }
    let here = root.unwrap_or(Path::new(".")).canonicalize().ok();
    let known = known(folders)
        .into_iter()
        .filter(|known| known.file.file_name() == named.file_name() && known.file.exists());
    let (of_root, others): (Vec<_>, Vec<_>) =
        known.partition(|known| Some(&known.root) == here.as_ref());
    let mut files = if of_root.is_empty() { others } else { of_root };
    match files.len() {
        0 => Ok(named.to_owned()),
        1 => Ok(files.remove(0).file),
        _ => Err(Error::WhichNotes {
            files: names(&paths(files)),
            of: format!("called `{}`", named.display()),
        }),
    }
}

/// The notes file for a command that was given none.
pub(super) struct Chosen {
    pub(super) file: PathBuf,
    /// The other files that are watched for the same root.
    others: Vec<PathBuf>,
}

/// Returns the notes file of a root, given by its canonical path: the one that is watched for it, or its `clada.md`, or the one
/// that was watched before.
pub(super) fn of_root(folders: &Folders, root: &Path) -> Result<Chosen, Error> {
    let default = root.join(places::NOTES);
    let known = known(folders).into_iter();
    let known = known.filter(|known| known.root == root);
    let (watched, before): (Vec<_>, Vec<_>) = known.partition(|known| known.is_watched);
    let mut files = if !watched.is_empty() {
        paths(watched)
    } else if default.exists() {
        Vec::new()
    } else {
        let there = before.into_iter().filter(|known| known.file.exists());
        paths(there.collect())
    };
    let own = start::canonical(&default);
    let is_own = files.iter().position(|file| *file == own);
    let file = match (is_own, files.len()) {
        (Some(at), _) => {
            files.remove(at);
            default
        }
        (None, 0) => default,
        (None, 1) => files.remove(0),
        (None, _) => {
            return Err(Error::WhichNotes {
                files: names(&files),
                of: format!("watched for `{}`", root.display()),
            });
        }
    };
    let others = files;
    Ok(Chosen { file, others })
}

/// Refuses a notes file that does not exist, unless clada has watched it before.
pub(super) fn refuse_missing(
    folders: &Folders,
    file: &Path,
    root: Option<&Path>,
) -> Result<(), Error> {
    let in_ledger = || {
        let ledger = Ledger::read(&folders.state).ok().flatten()?;
        ledger.file(&start::canonical(file)).ok().flatten()
    };
    if file.exists() || root_of(folders, file).is_some() || in_ledger().is_some() {
        return Ok(());
    }
    let known = known_here(folders, file, root);
    let path = file.to_owned();
    Err(Error::NoNotes { path, known })
}

/// Returns the next step for a notes file that clada does not know: the files that it knows for a project folder.
pub(super) fn known_here(folders: &Folders, file: &Path, root: Option<&Path>) -> String {
    let here = root.unwrap_or(Path::new(".")).canonicalize().ok();
    let known = known(folders).into_iter();
    let known = known.filter(|known| Some(&known.root) == here.as_ref() && known.file.exists());
    let files = paths(known.collect());
    match files.len() {
        0 => format!(
            "clada knows no notes file for this folder: start watching one with `clada watch {}`",
            paths::quoted(file)
        ),
        1 => format!("the notes file of this folder is {}", names(&files)),
        _ => format!("the notes files of this folder are {}", names(&files)),
    }
}

fn paths(known: Vec<KnownNotes>) -> Vec<PathBuf> {
    known.into_iter().map(|known| known.file).collect()
}

/// Lists paths in a sentence.
fn names(files: &[PathBuf]) -> String {
    let files = files.iter().map(|file| format!("`{}`", file.display()));
    let files: Vec<String> = files.collect();
    match files.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}
