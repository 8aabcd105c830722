//! The reasons why the ledger cannot be used, in words for the user. Never decides what is done about it.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// The outcome of a request to the ledger.
pub type Result<T> = std::result::Result<T, LedgerError>;

/// A reason why the ledger cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The folder, or something in it, cannot be made, read or written.
    #[error("cannot use `{}` for the ledger: {error}: make it and its folder readable and writable for this user", path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error("cannot open or write the ledger `{}`: make it and its folder readable and writable for this user", .0.display())]
    Denied(PathBuf),
    #[error("no disk space is left for the ledger `{}`: free some, then try again", .0.display())]
    Full(PathBuf),
    #[error("another program has locked the ledger `{}`: stop that program, then try again", .0.display())]
    Locked(PathBuf),
    /// It was put aside, so that no old task runs again with an empty ledger.
    #[error(
        "the ledger `{}` was damaged and is kept as `{}`. No task runs, as clada cannot know what ran already: repair \
         it with `sqlite3 '{}' .recover | sqlite3 '{}'`, or move that file away to begin with an empty ledger",
        path.display(), kept.display(), kept.display(), path.display()
    )]
    Damaged { path: PathBuf, kept: PathBuf },
    /// A reader that changes nothing found it damaged, or it could not be put aside.
    #[error("the ledger `{}` is damaged, so no task runs: repair it, or move it away to begin with an empty one", .0.display())]
    DamagedInPlace(PathBuf),
    #[error("the ledger `{}` has format {found}, and this clada knows only format {known}: use the newer clada that \
         wrote it", path.display())]
    Newer {
        path: PathBuf,
        found: usize,
        known: usize,
    },
    /// Part of what this would run began to run before.
    #[error("{0} has already started, perhaps in another clada: it does not run again")]
    Twice(String),
    /// Two files that both have a past cannot become one.
    #[error("the ledger already has a history of `{}`, which that of another file cannot replace", .0.display())]
    Taken(PathBuf),
    #[error("cannot use the ledger `{}`: {error}: check the disk, then try again", path.display())]
    Sqlite {
        path: PathBuf,
        error: rusqlite::Error,
    },
}

impl LedgerError {
    /// An error at a file or folder.
    pub(super) fn io(path: &Path, error: io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::StorageFull => Self::Full(path),
            _ => Self::Io { path, error },
        }
    }

    /// An error of the database at `path`, for a caller that changes nothing about it.
    pub(super) fn of(error: rusqlite::Error, path: &Path) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::DamagedInPlace(path)
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked(path),
            Some(ErrorCode::DiskFull) => Self::Full(path),
            Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                Self::Denied(path)
            }
            _ => Self::Sqlite { path, error },
        }
    }
}

/// The reason why a request was given up, before it is put into words.
#[derive(Debug, thiserror::Error)]
pub(super) enum RequestError {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Refused(#[from] LedgerError),
}
