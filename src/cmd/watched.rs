//! `clada add`, `remove` and `list`: the notes files that `clada daemon` watches.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;

use super::watch;
use crate::cli::{Add, List, Remove};
use crate::cmd::{self, sharing};
use crate::config::registry::{Added, Entry, Registry};
use crate::config::{Folders, NOTES_LIMIT};
use crate::error::Error;
use crate::terminal;
use crate::world::ledger::Ledger;
use crate::world::note_file::{NoteError, NoteFile};
use crate::world::roots;

/// Puts a file into the list.
///
/// # Errors
/// Where it cannot be watched, or the list cannot be changed.
pub fn add(args: &Add) -> Result<ExitCode, Error> {
    cmd::for_the_user("add")?;
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let said = register(
        &folders,
        &args.file,
        args.root.as_deref(),
        args.allow_shared,
    )?;
    writeln!(terminal::stdout(), "{said}")?;
    Ok(ExitCode::SUCCESS)
}

/// Puts a file into the list, makes it if it is missing, and says so.
///
/// # Errors
/// Where it cannot be watched, or the list cannot be changed.
pub(super) fn register(
    folders: &Folders,
    file: &Path,
    root: Option<&Path>,
    shared: bool,
) -> Result<String, Error> {
    let (file, root) = (absolute(file)?, root.map(absolute).transpose()?);
    let root = root.unwrap_or_else(|| file.parent().unwrap_or(Path::new("/")).to_owned());
    let mut warnings = Vec::new();
    match std::fs::metadata(&root) {
        Ok(meta) if !meta.is_dir() => {
            let error = io::ErrorKind::NotADirectory.into();
            return Err(Error::Root { path: root, error });
        }
        Ok(_) => {}
        Err(error) => warnings.push(format!(
            "⚠ the project folder `{}` cannot be used yet ({error}): the file waits until it can",
            root.display()
        )),
    }
    if folders.home.starts_with(&root) {
        warnings.push(format!(
            "⚠ the project folder is `{}`, with all of your home in it: `--root DIR` names a smaller one",
            root.display()
        ));
    }
    let note = NoteFile::new(&file, NOTES_LIMIT)?;
    if let Err(error @ NoteError::NotAFile { .. }) = note.read() {
        return Err(error.into());
    }
    let real_root = root.canonicalize().unwrap_or_else(|_| root.clone());
    sharing::check_notes(&real_root, note.path(), shared)?;
    // One that was there may be about to come back.
    if Ledger::open(&folders.state)?.file(note.path())?.is_none() {
        watch::create_if_missing(&file)?;
    }
    // The user has named it, and with it where it leads: so the daemon may follow it there.
    if let Err(error) = roots::keep(&folders.roots(), note.path(), &real_root) {
        tracing::warn!(%error, "commands in the project folder do not find its notes file");
    }
    let entry = Entry { file, root, shared };
    let mut held = waiting;
    let added = cmd::runtime()?.block_on(Registry::add(folders, &entry, &mut held))?;
    for warning in warnings {
        let _ = writeln!(terminal::stderr(), "{warning}");
    }
    let (file, root) = (entry.file.display(), entry.root.display());
    Ok(match added {
        Added::New => format!("`clada daemon` watches {file} for {root}"),
        Added::Already => format!("`clada daemon` watches {file} for {root} already"),
        Added::Instead(was) => {
            let was = was.map_or_else(|| "nothing".into(), |was| was.display().to_string());
            format!("`clada daemon` watches {file} for {root} now, no more for {was}")
        }
    })
}

/// Takes a file out of the list; the file itself stays.
///
/// # Errors
/// Where it is not in the list, or that cannot be changed.
pub fn remove(args: &Remove) -> Result<ExitCode, Error> {
    cmd::for_the_user("remove")?;
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let file = absolute(&args.file)?;
    let mut held = waiting;
    let name = cmd::runtime()?.block_on(Registry::remove(&folders, &file, &mut held))?;
    let name = name.display();
    writeln!(
        terminal::stdout(),
        "`clada daemon` does not watch {name} any more; the file is as it was"
    )?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
struct Listed<'a> {
    file: &'a Path,
    root: &'a Path,
    /// What is not there just now.
    missing: Vec<&'static str>,
}

/// Prints the list. Fails if something is wrong in it.
///
/// # Errors
/// Where it cannot be read.
pub fn list(args: &List) -> Result<ExitCode, Error> {
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let Registry { entries, wrong } = Registry::load(&folders)?;
    let listed = |entry: &'_ Entry| -> Vec<&'static str> {
        let parts = [("file", &entry.file), ("root", &entry.root)];
        let missing = parts.into_iter().filter(|(_, path)| !path.exists());
        missing.map(|(name, _)| name).collect()
    };
    let listed: Vec<Listed> = entries
        .iter()
        .map(|entry| Listed {
            file: &entry.file,
            root: &entry.root,
            missing: listed(entry),
        })
        .collect();
    let mut out = terminal::stdout();
    if args.json {
        terminal::print_json(&listed)?;
    } else if listed.is_empty() {
        writeln!(out, "no file yet: `clada add FILE` puts one in")?;
    } else {
        for one in listed {
            let missing = match one.missing.as_slice() {
                [] => String::new(),
                missing => format!("   (missing: {})", missing.join(", ")),
            };
            writeln!(
                out,
                "{}  for  {}{missing}",
                one.file.display(),
                one.root.display()
            )?;
        }
    }
    for wrong in &wrong {
        let _ = writeln!(terminal::stderr(), "{wrong}");
    }
    Ok(match wrong.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// A path from `/`, its folder by its real name: that is one, wherever it is called from. What its last name leads to may
/// change.
fn absolute(path: &Path) -> Result<PathBuf, Error> {
    if let Ok(folder) = path.canonicalize()
        && folder.is_dir()
    {
        return Ok(folder);
    }
    let path = std::path::absolute(path)?;
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(path);
    };
    let folder = folder.canonicalize();
    Ok(folder.map_or_else(|_| path.clone(), |folder| folder.join(name)))
}

fn waiting(pid: &str) {
    let _ = writeln!(
        terminal::stderr(),
        "waiting for another clada to change the list (process {pid})"
    );
}
