//! `clada add`, `remove` and `list`: the notes files that `clada daemon` watches.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;

use crate::cli::AddArgs;
use crate::cli::terminal;
use crate::cmd;
use crate::error::Error;
use crate::listener::{create_if_missing, sharing};
use crate::settings::places::{Folders, NOTES_LIMIT};
use crate::settings::registry::{Added, Registry, WatchedFile};
use crate::start;
use crate::world::ledger::Ledger;
use crate::world::note_file::{NoteError, NoteFile};
use crate::world::roots;

/// Adds a file to the list.
///
/// # Errors
/// Where it cannot be watched, or the list cannot be changed.
pub fn add(args: &AddArgs) -> Result<ExitCode, Error> {
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

/// Adds a file to the list, creates it if it is missing, and returns what to print.
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
    let warnings = warnings(folders, &root)?;
    let note = NoteFile::new(&file, NOTES_LIMIT)?;
    if let Err(error @ NoteError::NotAFile { .. }) = note.read() {
        return Err(error.into());
    }
    let real_root = root.canonicalize().unwrap_or_else(|_| root.clone());
    sharing::check_notes(&real_root, note.path(), shared)?;
    // A file that existed before may be about to come back.
    if Ledger::open(&folders.state)?.file(note.path())?.is_none() {
        create_if_missing(&file)?;
    }
    // The user has given the path, so the daemon may follow its links.
    if let Err(error) = roots::keep(&folders.roots(), note.path(), &real_root) {
        tracing::warn!(%error, "commands in the project folder will not find its notes file");
    }
    let entry = WatchedFile { file, root, shared };
    let mut held = waiting;
    let added = start::runtime()?.block_on(Registry::add(folders, &entry, &mut held))?;
    for warning in warnings {
        let _ = writeln!(terminal::stderr(), "{warning}");
    }
    let (file, root) = (entry.file.display(), entry.root.display());
    let of_root = if entry.file.parent() == Some(&*entry.root) {
        String::new()
    } else {
        format!(", for {root}")
    };
    Ok(match added {
        Added::New => format!("added {file} to the list of `clada daemon`{of_root}"),
        Added::Already => format!("{file} is already in the list of `clada daemon`{of_root}"),
        Added::Instead(was) => {
            let was = was.map_or_else(|| "nothing".into(), |was| was.display().to_string());
            format!("{file} in the list of `clada daemon` is now for {root}, no longer for {was}")
        }
    })
}

/// Returns what may be wrong with a project folder.
fn warnings(folders: &Folders, root: &Path) -> Result<Vec<String>, Error> {
    let mut warnings = Vec::new();
    match std::fs::metadata(root) {
        Ok(meta) if !meta.is_dir() => {
            let error = io::ErrorKind::NotADirectory.into();
            let path = root.to_owned();
            return Err(Error::Root { path, error });
        }
        Ok(_) => {}
        Err(error) => warnings.push(format!(
            "⚠ the project folder `{}` cannot be used yet ({error}): clada waits until it can",
            root.display()
        )),
    }
    if folders.home.starts_with(root) {
        warnings.push(format!(
            "⚠ the project folder is `{}`, which contains your home folder: choose a smaller one with `--root DIR`",
            root.display()
        ));
    }
    Ok(warnings)
}

/// Removes a file from the list; the file itself stays.
///
/// # Errors
/// Where it is not in the list, or the list cannot be changed.
pub fn remove(file: &Path) -> Result<ExitCode, Error> {
    cmd::for_the_user("remove")?;
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let file = absolute(file)?;
    let mut held = waiting;
    let name = start::runtime()?.block_on(Registry::remove(&folders, &file, &mut held))?;
    let name = name.display();
    writeln!(
        terminal::stdout(),
        "`clada daemon` no longer watches {name}; the file itself is unchanged"
    )?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
struct ListedNotes<'a> {
    file: &'a Path,
    root: &'a Path,
    /// The name of each of the two that does not exist now.
    missing: Vec<&'static str>,
}

impl<'a> ListedNotes<'a> {
    fn of(WatchedFile { file, root, .. }: &'a WatchedFile) -> Self {
        let missing = [("file", file), ("root", root)]
            .into_iter()
            .filter(|(_, path)| !path.exists())
            .map(|(name, _)| name);
        Self {
            file,
            root,
            missing: missing.collect(),
        }
    }
}

/// Prints the list. Fails if something in it is invalid.
///
/// # Errors
/// Where it cannot be read.
pub fn list(json: bool) -> Result<ExitCode, Error> {
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let Registry { entries, wrong } = Registry::load(&folders)?;
    let listed: Vec<ListedNotes> = entries.iter().map(ListedNotes::of).collect();
    let mut out = terminal::stdout();
    if json {
        terminal::print_json(&listed)?;
    } else if listed.is_empty() {
        writeln!(
            out,
            "the list is empty: add a notes file with `clada add FILE`"
        )?;
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
    Ok(ExitCode::from(u8::from(!wrong.is_empty())))
}

/// Returns a path from `/`, with the links of its folder followed, so that it does not depend on the current folder. Its last name
/// may be a link that changes.
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
