//! The results blocks in the ledger: those that are in their files, their offers, and the results that the newest shows.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};

use super::entries::{
    BlockId, ForeignBlock, KnownBlock, KnownOffer, NewBlock, ShownResults, ToldIn,
};
use super::rows::{self, Json, KeyColumn, all, cell};
use super::{Durability, FileId, Ledger, Result};
use crate::reply::record::{Key, Number, Offer, TickSource};

/// The numbers of results blocks that are kept of a file: ours, and those that are not ours.
pub(super) const BLOCKS: usize = 100;
pub(super) const FOREIGN_BLOCKS: usize = 20;

impl Ledger {
    /// Keeps a results block before it is written into its file; one of results is on the disk when this returns, as after a
    /// power cut the file must not have a block that nobody knows. `now` is Unix time in seconds. Old blocks of the file
    /// are forgotten.
    ///
    /// # Errors
    /// Where the ledger cannot be written.
    pub fn add_block(&mut self, file: FileId, new: NewBlock<'_>, now: i64) -> Result<BlockId> {
        let durability = if new.is_result {
            Durability::PowerCut
        } else {
            Durability::ProcessEnd
        };
        self.write(durability, |db| Ok(insert_new(db, file, new, now)?))
    }

    /// Adds a block of results as [`Ledger::add_block`] does, and keeps what it shows, in one step.
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
                params![file.0, block.0, results],
            )?;
            Ok(block)
        })
    }

    /// Notes that a results block is in its file since this moment, in Unix time in milliseconds.
    ///
    /// # Errors
    /// Where the ledger cannot be written.
    pub fn delivered(&mut self, block: BlockId, now_ms: i64) -> Result<()> {
        self.write(Durability::ProcessEnd, |db| {
            db.execute(
                "UPDATE unread SET written_ms = ? WHERE block = ? AND written_ms IS NULL",
                params![now_ms, block.0],
            )?;
            Ok(set_delivered(db, block.0)?)
        })
    }

    /// Returns the newest results block of a file, if it is not in there yet.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn owed(&self, file: FileId) -> Result<Option<(BlockId, String)>> {
        let newest = self.look(|db| newest(db, file))?;
        let owed = newest.filter(|block| !block.delivered);
        Ok(owed.map(|block| (block.id, block.text)))
    }

    /// Returns the newest results block of a file.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn newest(&self, file: FileId) -> Result<Option<String>> {
        let newest = self.look(|db| newest(db, file))?;
        Ok(newest.map(|block| block.text))
    }

    /// Returns the newest results block of a file, with the lines of it that offer what nobody has taken up.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn newest_offers(&self, file: FileId) -> Result<Option<(String, Vec<usize>)>> {
        self.look(|db| {
            let Some(block) = newest(db, file)? else {
                return Ok(None);
            };
            let sql = "SELECT line FROM offer WHERE block = ? AND NOT used ORDER BY line";
            let open = all(db, sql, [block.id.0], cell)?;
            Ok(Some((block.text, open)))
        })
    }

    /// Tells if a line is of the newest results block of a file. That may be one that is not in there yet.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn is_newest(&self, file: FileId, source: TickSource) -> Result<bool> {
        let newest = self.look(|db| newest(db, file))?;
        Ok(newest.is_some_and(|block| block.id.0 == source.block))
    }

    /// Returns the results block with this key of each file that has one: of several that read the same the newest that
    /// came into the file, as the newest of all may still be on its way.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn blocks_with(&self, key: Key) -> Result<Vec<KnownBlock>> {
        let blocks = "SELECT block.id, file, path FROM block JOIN file ON file.id = block.file
             WHERE key = ? AND NOT EXISTS (
                 SELECT 1 FROM block AS other WHERE other.key = block.key AND other.file = block.file
                 AND (other.delivered, other.id) > (block.delivered, block.id)
             ) ORDER BY file";
        self.look(|db| {
            all(db, blocks, [KeyColumn(key)], |row| {
                let id: i64 = row.get("id")?;
                Ok(KnownBlock {
                    id: BlockId(id),
                    file: FileId(row.get("file")?),
                    path: rows::path(row)?,
                    offers: rows::offers(db, "WHERE block = ? ORDER BY line", [id])?,
                })
            })
        })
    }

    /// Returns the keys of the results blocks that are kept of a file.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn blocks(&self, file: FileId) -> Result<Vec<Key>> {
        let keys = "SELECT key FROM block WHERE file = ? AND key IS NOT NULL";
        self.look(|db| all(db, keys, [file.0], |row| Ok(row.get::<_, KeyColumn>(0)?.0)))
    }

    /// Keeps the text of a results block that is not ours, so that it is not lost when ours takes its place. `now` is Unix
    /// time in seconds.
    ///
    /// # Errors
    /// Where the ledger cannot be written.
    pub fn keep_foreign(&mut self, file: FileId, text: &str, now: i64) -> Result<()> {
        self.write(Durability::ProcessEnd, |db| {
            insert_block(db, file, None, text, true, now)?;
            Ok(forget_blocks(db, file, false, FOREIGN_BLOCKS)?)
        })
    }

    /// Returns the results blocks that were taken off notes and are not ours, newest first, at most so many; those of the
    /// file at a path, if one is given.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn foreign(&self, limit: usize, file: Option<&Path>) -> Result<Vec<ForeignBlock>> {
        let file = file.map(|path| path.as_os_str().as_bytes());
        let blocks = "SELECT path, text, block.time FROM block JOIN file ON file.id = block.file
             WHERE key IS NULL AND (?2 IS NULL OR path = ?2) ORDER BY block.id DESC LIMIT ?1";
        self.look(|db| {
            all(db, blocks, params![limit, file], |row| {
                Ok(ForeignBlock {
                    path: rows::path(row)?,
                    text: row.get("text")?,
                    time: row.get("time")?,
                })
            })
        })
    }

    /// Returns the offers of the newest block of a file that has such: places that the user can choose for these edits.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn places(&self, file: FileId, batch: Number) -> Result<Vec<KnownOffer>> {
        let those =
            "WHERE spot IS NOT NULL AND json_extract(batches, '$[0][0]') = ?2 AND offer.block = (
                 SELECT max(block.id) FROM block JOIN offer ON offer.block = block.id
                 WHERE file = ?1 AND spot IS NOT NULL AND json_extract(batches, '$[0][0]') = ?2
             ) ORDER BY line";
        self.look(|db| rows::offers(db, those, params![file.0, batch]))
    }

    /// Returns the offers of a block that were taken up.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn taken_up(&self, block: BlockId) -> Result<Vec<Offer>> {
        let offers = self.look(|db| rows::offers(db, "WHERE block = ? AND used", [block.0]))?;
        Ok(offers.into_iter().map(|known| known.offer).collect())
    }

    /// Makes an offer count no more.
    ///
    /// # Errors
    /// Where the ledger cannot be written.
    pub fn void(&mut self, TickSource { block, line }: TickSource) -> Result<()> {
        self.write(Durability::ProcessEnd, |db| {
            db.execute(
                "UPDATE offer SET used = 1 WHERE block = ? AND line = ?",
                params![block, line],
            )?;
            Ok(set_delivered(db, block)?)
        })
    }

    /// Returns the results that the newest results block of a file shows; `None` if there is none.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn standing(&self, file: FileId) -> Result<Option<ShownResults>> {
        let sql = "SELECT block, results, written_ms, is_read FROM unread WHERE file = ?";
        self.look(|db| {
            let shown = db.query_row(sql, [file.0], |row| {
                Ok(ShownResults {
                    block: BlockId(row.get("block")?),
                    results: row.get("results")?,
                    written_ms: row.get("written_ms")?,
                    is_read: row.get("is_read")?,
                })
            });
            shown.optional()
        })
    }

    /// Notes that the results of a file could be read.
    ///
    /// # Errors
    /// Where the ledger cannot be written.
    pub fn read_results(&mut self, file: FileId) -> Result<()> {
        self.write(Durability::ProcessEnd, |db| {
            db.execute("UPDATE unread SET is_read = 1 WHERE file = ?", [file.0])?;
            Ok(())
        })
    }

    /// Returns the block that told of a batch of a file, which is named by its number, its id or the beginning of that;
    /// `None` if there is no such batch.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn told_in(&self, file: FileId, name: &str) -> Result<Option<ToldIn>> {
        let sql = "SELECT CAST(number AS TEXT) = ?2 OR run = ?2 AS exact, told FROM batch
             WHERE file = ?1 AND began_ms IS NOT NULL
             AND (exact OR substr(run, 1, length(?2)) = ?2)";
        let params = params![file.0, name];
        let mut told: Vec<(bool, i64)> =
            self.look(|db| all(db, sql, params, |row| row.try_into()))?;
        if told.iter().any(|(exact, _)| *exact) {
            told.retain(|(exact, _)| *exact);
        }
        told.dedup_by_key(|(_, block)| *block);
        Ok(match told[..] {
            [] => None,
            [(_, 0)] => Some(ToldIn::Nowhere),
            [(_, block)] => Some(ToldIn::Block(block)),
            _ => Some(ToldIn::Several),
        })
    }
}

/// The newest block of ours.
struct NewestBlock {
    id: BlockId,
    text: String,
    delivered: bool,
}

fn newest(db: &Connection, file: FileId) -> rusqlite::Result<Option<NewestBlock>> {
    let sql = "SELECT id, text, delivered FROM block
         WHERE file = ? AND key IS NOT NULL ORDER BY id DESC LIMIT 1";
    let block = db.query_row(sql, [file.0], |row| {
        Ok(NewestBlock {
            id: BlockId(row.get("id")?),
            text: row.get("text")?,
            delivered: row.get("delivered")?,
        })
    });
    block.optional()
}

/// Notes that a block is in its file. One in which something was ticked is, also where clada ended before it had noted that:
/// else a newer one that reads the same, and is not there yet, would be taken for it, and the tick would count once more.
pub(super) fn set_delivered(db: &Connection, block: i64) -> rusqlite::Result<()> {
    let sql = "UPDATE block SET delivered = 1 WHERE id = ?";
    db.execute(sql, [block]).map(drop)
}

/// Adds a block of ours with its offers. One of results tells of all batches of its file that have ended and were not told.
fn insert_new(
    db: &Connection,
    file: FileId,
    new: NewBlock<'_>,
    now: i64,
) -> rusqlite::Result<BlockId> {
    let block = insert_block(db, file, Some(new.key), new.text, !new.is_result, now)?;
    if new.is_result {
        db.execute(
            "UPDATE batch SET told = ? WHERE file = ? AND ended_ms IS NOT NULL AND NOT told",
            params![block.0, file.0],
        )?;
    }
    for (line, offer) in new.offers {
        let (batches, spot) = (Json(&offer.batches), offer.spot.as_ref().map(Json));
        db.execute(
            "INSERT INTO offer (block, line, batches, approves, spot) VALUES (?, ?, ?, ?, ?)",
            params![block.0, line, batches, offer.approves, spot],
        )?;
    }
    forget_blocks(db, file, true, BLOCKS)?;
    Ok(block)
}

fn insert_block(
    db: &Connection,
    file: FileId,
    key: Option<Key>,
    text: &str,
    delivered: bool,
    now: i64,
) -> rusqlite::Result<BlockId> {
    let sql = "INSERT INTO block (file, key, text, delivered, time) VALUES (?, ?, ?, ?, ?)";
    let block = db
        .prepare(sql)?
        .insert(params![file.0, key.map(KeyColumn), text, delivered, now]);
    block.map(BlockId)
}

/// Forgets all but the newest blocks of a file: ours, or those that are not ours.
fn forget_blocks(db: &Connection, file: FileId, ours: bool, newest: usize) -> rusqlite::Result<()> {
    let sql = "DELETE FROM block WHERE id IN (
             SELECT id FROM block WHERE file = ? AND (key IS NOT NULL) = ?
             ORDER BY id DESC LIMIT -1 OFFSET ?
         )";
    db.execute(sql, params![file.0, ours, newest]).map(drop)
}
