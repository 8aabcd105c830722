//! The file of the ledger: makes and opens it in its folder, and puts a damaged one aside. Never reads its tables.
//!
//! Opening is a matter for one process at a time, by a lock of its own. A new ledger is made whole under another name and
//! then renamed, so an empty file is a damaged ledger and never one that was just being made.
//!
//! Nothing here may open the database but SQLite: closing any descriptor of it would take away the locks that this
//! process has on it.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, ffi};

use super::error::{LedgerError, RequestError, Result};
use super::rows::cell;
use crate::world::folder::if_there;

/// The format that this program reads and writes, and its tables.
const FORMAT: usize = 5;
const SCHEMA: &str = include_str!("schema.sql");

const NAME: &str = "ledger.db";
const NEW: &str = "ledger.db.new";
const DAMAGED: &str = "ledger.db.damaged";
const LOCK: &str = "ledger.lock";
/// The end of the name of the write-ahead log, which SQLite has beside a database until that is closed by everybody.
const LOG: &str = "-wal";
/// The ends of the names of the files that SQLite may put beside a database.
const SIDECARS: [&str; 3] = [LOG, "-shm", "-journal"];
/// The longest wait for another process.
const PATIENCE: Duration = Duration::from_secs(5);

/// A database that is open.
#[derive(Debug)]
pub(super) struct DatabaseFile {
    pub(super) path: PathBuf,
    /// Its device and inode; `None` for a caller that may only look.
    id: Option<(u64, u64)>,
}

/// The ledger of a folder, for reading and writing; made where there is none.
pub(super) fn open(folder: &Path) -> Result<(Connection, DatabaseFile)> {
    make_folder(folder).map_err(|error| LedgerError::io(folder, error))?;
    let path = folder.join(NAME);
    let _alone = lock(folder)?;
    if !exists(&path)? {
        refuse_after_damage(folder)?;
        create(folder)?;
    }
    // There is none after a clean end.
    let has_log = fs::metadata(beside(&path, LOG)).is_ok_and(|log| log.len() > 0);
    let db = connect(&path).map_err(|error| LedgerError::of(error, &path))?;
    prepare(&db, &path, has_log).map_err(|error| match error {
        RequestError::Refused(error) => error,
        RequestError::Sqlite(error) => match LedgerError::of(error, &path) {
            LedgerError::DamagedInPlace(path) => put_aside(&path),
            error => error,
        },
    })?;
    let id = inode(&path).map_err(|error| LedgerError::io(&path, error))?;
    Ok((db, DatabaseFile { path, id: Some(id) }))
}

/// The ledger of a folder, for a look at it as it is now; `None` where there is none. Nothing is made or changed.
pub(super) fn read(folder: &Path) -> Result<Option<(Connection, DatabaseFile)>> {
    let path = folder.join(NAME);
    if !exists(&path)? {
        return refuse_after_damage(folder).map(|()| None);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    // Without a log nobody writes just now, and SQLite would make one if it were not told that it need not.
    let as_it_is = if exists(&beside(&path, LOG))? {
        ""
    } else {
        "?immutable=1"
    };
    let open = || {
        let db = Connection::open_with_flags(uri(&path) + as_it_is, flags)?;
        db.busy_timeout(PATIENCE)?;
        check_format(&db, &path)?;
        Ok(db)
    };
    match open() {
        Ok(db) => Ok(Some((db, DatabaseFile { path, id: None }))),
        Err(RequestError::Refused(error)) => Err(error),
        Err(RequestError::Sqlite(error)) => Err(LedgerError::of(error, &path)),
    }
}

impl DatabaseFile {
    /// Puts into words what went wrong here. A database that turns out to be damaged is put aside by this.
    pub(super) fn explain(&self, error: RequestError) -> LedgerError {
        let error = match error {
            RequestError::Refused(error) => return error,
            RequestError::Sqlite(error) => LedgerError::of(error, &self.path),
        };
        let (LedgerError::DamagedInPlace(path), Some(_)) = (&error, self.id) else {
            return error;
        };
        let folder = path.parent().unwrap_or(Path::new("/"));
        let Ok(_alone) = lock(folder) else {
            return error;
        };
        // Somebody else may have put it aside, and there may even be a new one in its place.
        if inode(path).ok() == self.id {
            return put_aside(path);
        }
        refuse_after_damage(folder).err().unwrap_or(error)
    }
}

/// Puts a damaged ledger aside, under a name that nothing has.
///
/// Itself first: should this process end in between, it is not opened again without its log. The database may still be
/// open: SQLite sees that it was moved, and leaves what is beside it alone when it closes.
fn put_aside(path: &Path) -> LedgerError {
    let is_free = |kept: &PathBuf| all_of(kept).all(|name| name.symlink_metadata().is_err());
    let mut names = std::iter::once(DAMAGED.to_owned())
        .chain((2..).map(|n| format!("{DAMAGED}.{n}")))
        .map(|name| path.with_file_name(name));
    let Some(kept) = names.find(is_free) else {
        return LedgerError::DamagedInPlace(path.to_owned());
    };
    for (from, to) in all_of(path).zip(all_of(&kept)) {
        if if_there(fs::rename(from, to)).is_err() {
            return LedgerError::DamagedInPlace(path.to_owned());
        }
    }
    LedgerError::Damaged {
        path: path.to_owned(),
        kept,
    }
}

/// Refuses to begin with nothing where a damaged ledger waits for somebody to look at it.
fn refuse_after_damage(folder: &Path) -> Result<()> {
    let names = || {
        let entries = if_there(fs::read_dir(folder))?.into_iter().flatten();
        let names = entries.map(|entry| Ok(entry?.file_name()));
        names.collect::<io::Result<Vec<OsString>>>()
    };
    let mut names = names().map_err(|error| LedgerError::io(folder, error))?;
    names.sort();
    let is_ledger = |name: &&OsString| {
        let name = name.as_bytes();
        name.starts_with(DAMAGED.as_bytes())
            && !SIDECARS.iter().any(|end| name.ends_with(end.as_bytes()))
    };
    match names.iter().find(is_ledger) {
        Some(name) => Err(LedgerError::Damaged {
            path: folder.join(NAME),
            kept: folder.join(name),
        }),
        None => Ok(()),
    }
}

/// The folder, for this user alone, and on the disk: a power cut must not take it away with what is in it.
fn make_folder(folder: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = folder
        .ancestors()
        .take_while(|folder| !folder.exists())
        .collect();
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    for parent in missing.iter().filter_map(|folder| folder.parent()) {
        if parent != Path::new("") {
            File::open(parent)?.sync_all()?;
        }
    }
    Ok(())
}

fn lock(folder: &Path) -> Result<File> {
    let path = folder.join(LOCK);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let taken = options.open(&path).and_then(|file| {
        file.lock()?;
        Ok(file)
    });
    taken.map_err(|error| LedgerError::io(&path, error))
}

fn create(folder: &Path) -> Result<()> {
    let (path, new) = (folder.join(NAME), folder.join(NEW));
    let made = || {
        // Left by a process that ended while it made one; and by a ledger that somebody moved away without its log,
        // which would be taken for the log of this one.
        for left in all_of(&new).chain(sidecars(&path)) {
            if_there(fs::remove_file(left))?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600).open(&new)
    };
    made().map_err(|error| LedgerError::io(&new, error))?;
    let fill = || {
        let db = connect(&new)?;
        // These two have to be known before the first table is made.
        db.execute_batch("PRAGMA synchronous = FULL; PRAGMA auto_vacuum = INCREMENTAL;")?;
        db.execute_batch(&format!(
            "BEGIN; {SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;"
        ))
    };
    fill().map_err(|error| LedgerError::of(error, &path))?;
    fs::rename(&new, &path).map_err(|error| LedgerError::io(&path, error))
}

/// Makes a database that was opened ready for use. After an unclean end, or while others have it open, all of it is looked
/// through: 0.05 s for 80 MB.
fn prepare(db: &Connection, path: &Path, has_log: bool) -> std::result::Result<(), RequestError> {
    check_format(db, path)?;
    if db.is_readonly("main")? {
        return Err(LedgerError::Denied(path.to_owned()).into());
    }
    // Kept in the database, but one that was repaired has lost it.
    db.pragma_update(None, "journal_mode", "WAL")?;
    // In KiB where negative. A listener lives for weeks and looks at the same few pages again and again.
    db.pragma_update(None, "cache_size", -256)?;
    if has_log {
        check(db)?;
    }
    Ok(())
}

/// Refuses a database of another format. Without one it was emptied by somebody, and nothing older was ever released.
fn check_format(db: &Connection, path: &Path) -> std::result::Result<(), RequestError> {
    let found: usize = db.pragma_query_value(None, "user_version", cell)?;
    match found {
        FORMAT => Ok(()),
        ..FORMAT => Err(damage().into()),
        _ => Err(RequestError::Refused(LedgerError::Newer {
            path: path.to_owned(),
            found,
            known: FORMAT,
        })),
    }
}

/// Looks through all of a database.
pub(super) fn check(db: &Connection) -> rusqlite::Result<()> {
    let said: String = db.pragma_query_value(None, "quick_check", cell)?;
    if said == "ok" { Ok(()) } else { Err(damage()) }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(PATIENCE)?;
    // What macOS calls a sync leaves the data in the disk's own memory; this is the one that does not.
    db.pragma_update(None, "fullfsync", true)?;
    Ok(db)
}

fn damage() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT), None)
}

fn exists(path: &Path) -> Result<bool> {
    path.try_exists()
        .map_err(|error| LedgerError::io(path, error))
}

fn inode(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::metadata(path)?;
    Ok((found.dev(), found.ino()))
}

fn sidecars(path: &Path) -> impl Iterator<Item = PathBuf> {
    SIDECARS.iter().map(|end| beside(path, end))
}

/// A database and what may be beside it.
fn all_of(path: &Path) -> impl Iterator<Item = PathBuf> {
    std::iter::once(path.to_owned()).chain(sidecars(path))
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// A path as SQLite takes it where parameters follow.
fn uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/.-_".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            uri.push_str(&format!("%{byte:02x}"));
        }
    }
    uri
}
