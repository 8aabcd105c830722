//! The memory on disk of what clada was asked and what it did, so that nothing ever runs twice. Decides nothing,
//! has no clock, and never tells the content of a file.
//!
//! One SQLite database per user, in the state folder, for all of that user's clada processes at once. Every request is
//! one transaction. What [`Ledger::begin`] and [`Ledger::start`] wrote is on the disk when they return and survives a
//! power cut; everything else survives the end of the process at least, and a power cut if one of those two came later.

mod batches;
mod blocks;
mod database;
mod entries;
mod error;
mod rows;
#[cfg(test)]
mod tests;

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::reply::record::Seed;
use database::DatabaseFile;
pub use entries::{
    BatchStart, BlockId, FileId, ForeignBlock, KnownBatch, KnownBlock, KnownFile, KnownOffer,
    LogBatch, LogTask, NewBlock, Noted, SavedState, ShownResults, TaskEnded, ToldIn,
    UnapprovedTask,
};
use error::RequestError;
pub use error::{LedgerError, Result};
use rows::{all, cell};

/// The ledger of a user.
#[derive(Debug)]
pub struct Ledger {
    db: Connection,
    file: DatabaseFile,
    seed: Seed,
}

/// The events that a transaction must survive.
#[derive(Debug, Clone, Copy)]
enum Durability {
    PowerCut,
    ProcessEnd,
}

impl Ledger {
    /// Opens the ledger in a folder, and makes both where they are missing.
    ///
    /// # Errors
    /// Where it cannot be used. A damaged one is put aside, and from then on this fails until somebody has repaired it or
    /// moved it away: to begin with nothing would be to run again what ran.
    pub fn open(folder: &Path) -> Result<Self> {
        let (db, file) = database::open(folder)?;
        Self::new(db, file)
    }

    /// Opens the ledger in a folder for a look at it, while others may write it; `None` where there is none.
    ///
    /// Nothing is made or changed. It shows what was there at the time of opening or later.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let opened = database::read(folder)?;
        opened.map(|(db, file)| Self::new(db, file)).transpose()
    }

    fn new(db: Connection, file: DatabaseFile) -> Result<Self> {
        let seed = db.query_row("SELECT value FROM meta WHERE name = 'seed'", [], cell);
        let seed: [u8; 16] = seed.map_err(|error| file.explain(error.into()))?;
        let bytes = u128::from_le_bytes(seed);
        let seed = Seed((bytes >> 64) as u64, bytes as u64);
        Ok(Self { db, file, seed })
    }

    /// Looks through all of it.
    ///
    /// # Errors
    /// Where it is damaged or cannot be read.
    pub fn check(&self) -> Result<()> {
        self.look(database::check)
    }

    /// The seed of all keys in this ledger.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// An error that says that the ledger is damaged, for a caller that can make no sense of what it read.
    pub fn damaged(&self) -> LedgerError {
        LedgerError::DamagedInPlace(self.file.path.clone())
    }

    /// The file at a path, as far as it is known; `None` if it was never added.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn file(&self, path: &Path) -> Result<Option<KnownFile>> {
        self.look(|db| {
            let sql = "SELECT id, state FROM file WHERE path = ?";
            let file = db.query_row(sql, [path.as_os_str().as_bytes()], |row| {
                Ok(KnownFile {
                    id: FileId(row.get("id")?),
                    state: row.get("state")?,
                })
            });
            file.optional()
        })
    }

    /// Returns the paths of all files that were ever listened to, also by a clada that has ended.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn files(&self) -> Result<Vec<PathBuf>> {
        self.look(|db| all(db, "SELECT path FROM file", [], rows::path))
    }

    /// Adds the file at a path; one that was added before stays as it is.
    ///
    /// # Errors
    /// Where the ledger cannot be written.
    pub fn add_file(&mut self, path: &Path) -> Result<FileId> {
        let path = path.as_os_str().as_bytes();
        self.write(Durability::ProcessEnd, |db| {
            let add = "INSERT INTO file (path) VALUES (?) ON CONFLICT DO NOTHING";
            db.execute(add, [path])?;
            let id = db.query_row("SELECT id FROM file WHERE path = ?", [path], cell)?;
            Ok(FileId(id))
        })
    }

    /// Notes that a file was moved, with all that is remembered of it. An entry of the new path without a past is replaced.
    ///
    /// # Errors
    /// [`LedgerError::Taken`] if something is remembered of what was at that path.
    pub fn move_file(&mut self, id: FileId, to: &Path) -> Result<()> {
        let path = to.as_os_str().as_bytes();
        self.write(Durability::ProcessEnd, |db| {
            let has_past = db.query_row(
                "SELECT EXISTS (SELECT 1 FROM batch WHERE file = file.id)
                     OR EXISTS (SELECT 1 FROM block WHERE file = file.id)
                 FROM file WHERE path = ? AND id <> ?",
                params![path, id.0],
                cell,
            );
            if has_past.optional()? == Some(true) {
                return Err(LedgerError::Taken(to.to_owned()).into());
            }
            db.execute(
                "DELETE FROM file WHERE path = ? AND id <> ?",
                params![path, id.0],
            )?;
            db.execute("UPDATE file SET path = ? WHERE id = ?", params![path, id.0])?;
            Ok(())
        })
    }

    /// Forgets the details (text, tasks and their messages) of batches from before `oldest`, in Unix time in seconds, and
    /// then of the oldest ones until the database has no more than `size` bytes. Gives the room back to the disk.
    ///
    /// Never those of a batch that is in its file, or that has not ended. What stays of each is enough to know it again.
    ///
    /// # Errors
    /// Where the ledger cannot be written.
    pub fn prune(&mut self, oldest: i64, size: u64) -> Result<()> {
        self.write(Durability::ProcessEnd, |db| {
            let old = "SELECT batch.id, time FROM batch JOIN file ON file.id = batch.file
                 WHERE text IS NOT NULL AND (began_ms IS NULL OR ended_ms IS NOT NULL)
                 AND number NOT IN (SELECT value FROM json_each(present)) ORDER BY time, batch.id";
            let old: Vec<(i64, i64)> = all(db, old, [], |row| row.try_into())?;
            for (batch, time) in old {
                if time >= oldest && used(db)? <= size {
                    break;
                }
                db.execute("DELETE FROM task WHERE batch = ?", [batch])?;
                db.execute("UPDATE batch SET text = NULL WHERE id = ?", [batch])?;
            }
            // Each row that this returns is a page that was given back.
            all(db, "PRAGMA incremental_vacuum", [], |_| Ok(()))?;
            Ok(())
        })
    }

    /// Reads, all of it at one moment.
    fn look<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let read = || {
            let db = self.db.unchecked_transaction()?;
            read(&db)
        };
        read().map_err(|error| self.file.explain(error.into()))
    }

    fn write<T>(
        &mut self,
        durability: Durability,
        write: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, RequestError>,
    ) -> Result<T> {
        let Self { db, file, .. } = self;
        let write = || {
            let synchronous = match durability {
                Durability::PowerCut => "FULL",
                Durability::ProcessEnd => "NORMAL",
            };
            db.pragma_update(None, "synchronous", synchronous)?;
            let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let written = write(&transaction)?;
            transaction.commit()?;
            Ok(written)
        };
        write().map_err(|error| file.explain(error))
    }
}

/// The size of the database in bytes, without the pages that are free.
fn used(db: &Connection) -> rusqlite::Result<u64> {
    db.query_row(
        "SELECT (page_count - freelist_count) * page_size
         FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()",
        [],
        cell,
    )
}
