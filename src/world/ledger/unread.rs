//! What the newest results block of a file shows, and which block told of a batch. Knows nothing of how results look.

use rusqlite::{OptionalExtension, Transaction, params};

use super::{BlockId, Durability, FileId, Ledger, NewBlock, Result, insert_new, rows};
use crate::reply::record::Offer;

/// What the newest results block of a file shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub block: BlockId,
    /// A text that only the listener understands.
    pub results: String,
    /// When they came into the file, in Unix time in milliseconds; `None` if they are not there yet.
    pub written_ms: Option<i64>,
    /// They could be read.
    pub is_read: bool,
}

/// Where a batch was told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToldIn {
    Block(i64),
    /// It has not ended, or its results are still to come.
    Nowhere,
    /// Batches with different results have an id that begins so.
    Several,
}

impl Ledger {
    /// As [`Ledger::add_block`] a block of results, with what it shows, in one step.
    ///
    /// # Errors
    /// Where the ledger cannot be written.
    pub fn add_results(
        &mut self,
        file: FileId,
        new: NewBlock<'_>,
        results: &str,
        now: i64,
    ) -> Result<BlockId> {
        self.write(Durability::PowerCut, |db| {
            let block = insert_new(db, file, new, now)?;
            db.execute(
                "INSERT OR REPLACE INTO unread (file, block, results) VALUES (?, ?, ?)",
                params![file, block, results],
            )?;
            Ok(block)
        })
    }

    /// What the newest results block of a file shows; `None` if there is none.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn standing(&self, file: FileId) -> Result<Option<Standing>> {
        self.look(|db| {
            let mut standing = db
                .prepare("SELECT block, results, written_ms, is_read FROM unread WHERE file = ?")?;
            let standing = standing.query_row([file], |row| {
                Ok(Standing {
                    block: row.get("block")?,
                    results: row.get("results")?,
                    written_ms: row.get("written_ms")?,
                    is_read: row.get("is_read")?,
                })
            });
            standing.optional()
        })
    }

    /// The results of a file could be read.
    ///
    /// # Errors
    /// Where the ledger cannot be written.
    pub fn read_results(&mut self, file: FileId) -> Result<()> {
        self.write(Durability::ProcessEnd, |db| {
            db.execute("UPDATE unread SET is_read = 1 WHERE file = ?", [file])?;
            Ok(())
        })
    }

    /// The offers of a block that were taken up.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn taken_up(&self, block: BlockId) -> Result<Vec<Offer>> {
        self.look(|db| {
            let mut offers = db.prepare(
                "SELECT block, line, batches, approves, spot, used FROM offer WHERE block = ? AND used",
            )?;
            let offers = offers.query_map([block], rows::offer)?;
            offers.map(|known| Ok(known?.offer)).collect()
        })
    }

    /// The block that told of a batch of a file, which is named by its number, its id or the beginning of that; `None` if
    /// there is no such batch.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn told_in(&self, file: FileId, name: &str) -> Result<Option<ToldIn>> {
        self.look(|db| {
            let mut told = db.prepare(
                "SELECT told, CAST(number AS TEXT) = ?2 OR run = ?2 AS exact FROM batch
                 WHERE file = ?1 AND began_ms IS NOT NULL
                 AND (exact OR substr(run, 1, length(?2)) = ?2)",
            )?;
            let told = told.query_map(params![file, name], |row| {
                Ok((row.get("exact")?, row.get("told")?))
            })?;
            let mut told: Vec<(bool, i64)> = told.collect::<rusqlite::Result<_>>()?;
            if told.iter().any(|(exact, _)| *exact) {
                told.retain(|(exact, _)| *exact);
            }
            let Some((_, first)) = told.first() else {
                return Ok(None);
            };
            Ok(Some(match first {
                _ if told.iter().any(|(_, other)| other != first) => ToldIn::Several,
                0 => ToldIn::Nowhere,
                block => ToldIn::Block(*block),
            }))
        })
    }
}

impl BlockId {
    /// Its number, which no other block ever has.
    pub fn number(self) -> i64 {
        self.0
    }
}

/// Notes when results came into their file.
pub(super) fn written(db: &Transaction<'_>, block: BlockId, now_ms: i64) -> rusqlite::Result<()> {
    db.execute(
        "UPDATE unread SET written_ms = ? WHERE block = ? AND written_ms IS NULL",
        params![now_ms, block],
    )?;
    Ok(())
}
