//! What clada remembers on disk of what it was asked and what it did, so that nothing ever runs twice. Decides nothing,
//! has no clock, and never tells the content of a file.
//!
//! One SQLite database per user, in the state folder, for all of that user's clada processes at once. Every request is
//! one transaction. What [`Ledger::begin`] and [`Ledger::start`] wrote is on the disk when they return and survives a
//! power cut; everything else survives the end of the process at least, and a power cut if one of those two came later.

mod entries;
mod error;
mod place;
mod rows;
mod schema;
#[cfg(test)]
mod tests;
mod unread;

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::reply::record::{Commits, Fate, Key, Number, Record, Seed, Source};
pub use entries::{
    Asked, Begun, BlockId, FileId, ForeignBlock, KnownBlock, KnownFile, KnownOffer, LogBatch,
    LogTask, NewBlock, Noted, Sight, TaskEnded,
};
use error::Failure;
pub use error::{LedgerError, Result};
use place::Place;
use rows::{Json, fate_columns};
pub use unread::{Standing, ToldIn};

/// How many results blocks of a file are kept: ours, and those that are not ours.
const BLOCKS: usize = 100;
const FOREIGN_BLOCKS: usize = 20;

/// The batches that repeat a batch, that it repeats, or that repeat one of these; and itself. Two ticks of one save may
/// have two batches repeat the same one.
const KIN: &str = "WITH RECURSIVE kin (number) AS (
    SELECT ?2
    UNION SELECT again FROM batch JOIN kin USING (number) WHERE file = ?1 AND again IS NOT NULL
    UNION SELECT batch.number FROM batch JOIN kin ON again = kin.number WHERE file = ?1
)";
/// The ledger of a user.
#[derive(Debug)]
pub struct Ledger {
    db: Connection,
    place: Place,
    seed: Seed,
}

/// What a transaction must survive.
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
        let (db, place) = place::open(folder)?;
        Self::new(db, place)
    }

    /// Opens the ledger in a folder for a look at it, while others may write it; `None` where there is none.
    ///
    /// Nothing is made or changed. It shows what was there at the time of opening or later.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        place::read(folder)?
            .map(|(db, place)| Self::new(db, place))
            .transpose()
    }

    fn new(db: Connection, place: Place) -> Result<Self> {
        let seed = db.query_row("SELECT value FROM meta WHERE name = 'seed'", [], |row| {
            row.get(0)
        });
        let seed: [u8; 16] = seed.map_err(|error| place.explain(error.into()))?;
        let bytes = u128::from_le_bytes(seed);
        Ok(Self {
            db,
            place,
            seed: Seed((bytes >> 64) as u64, bytes as u64),
        })
    }

    /// Looks through all of it.
    ///
    /// # Errors
    /// Where it is damaged or cannot be read.
    pub fn check(&self) -> Result<()> {
        self.look(|db| {
            let said: String = db.pragma_query_value(None, "quick_check", |row| row.get(0))?;
            match said.as_str() {
                "ok" => Ok(()),
                _ => Err(place::damage()),
            }
        })
    }

    /// What the keys of this ledger are made with.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// What is known of the file at a path; `None` if it was never added.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn file(&self, path: &Path) -> Result<Option<KnownFile>> {
        self.look(|db| {
            let mut file = db.prepare("SELECT id, state FROM file WHERE path = ?")?;
            file.query_row([path.as_os_str().as_bytes()], |row| {
                Ok(KnownFile {
                    id: row.get("id")?,
                    state: row.get("state")?,
                })
            })
            .optional()
        })
    }

    /// Adds the file at a path; one that was added before stays as it is.
    ///
    /// # Errors
    /// Where the ledger cannot be written.
    pub fn add_file(&mut self, path: &Path) -> Result<FileId> {
        let path = path.as_os_str().as_bytes();
        self.write(Durability::ProcessEnd, |db| {
            db.execute(
                "INSERT INTO file (path) VALUES (?) ON CONFLICT DO NOTHING",
                [path],
            )?;
            Ok(
                db.query_row("SELECT id FROM file WHERE path = ?", [path], |row| {
                    row.get(0)
                })?,
            )
        })
    }

    /// A file was moved there with all that is remembered of it. An entry of that path without a past is replaced.
    ///
    /// # Errors
    /// [`LedgerError::Taken`] if something is remembered of what was at that path.
    pub fn move_file(&mut self, id: FileId, to: &Path) -> Result<()> {
        let path = to.as_os_str().as_bytes();
        self.write(Durability::ProcessEnd, |db| {
            let has_past = db
                .query_row(
                    "SELECT EXISTS (SELECT 1 FROM batch WHERE file = file.id)
                         OR EXISTS (SELECT 1 FROM block WHERE file = file.id)
                     FROM file WHERE path = ? AND id <> ?",
                    params![path, id],
                    |row| row.get(0),
                )
                .optional()?;
            match has_past {
                Some(true) => return Err(LedgerError::Taken(to.to_owned()).into()),
                Some(false) => {
                    db.execute("DELETE FROM file WHERE path = ?", [path])?;
                }
                None => {}
            }
            db.execute("UPDATE file SET path = ? WHERE id = ?", params![path, id])?;
            Ok(())
        })
    }

    /// All batches of a file in order of number, also those whose details are forgotten.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn records(&self, file: FileId) -> Result<Vec<Record>> {
        self.look(|db| rows::records(db, file))
    }

    /// A batch as it was in its file; `None` if that is forgotten, or there is no such batch.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn text(&self, file: FileId, number: Number) -> Result<Option<String>> {
        self.look(|db| {
            db.query_row(
                "SELECT text FROM batch WHERE file = ? AND number = ?",
                params![file, number],
                |row| row.get(0),
            )
            .optional()
            .map(Option::flatten)
        })
    }

    /// Keeps what was made of a file in which nothing runs. `now` is Unix time in seconds.
    ///
    /// # Errors
    /// Where the ledger cannot be written, or has one of these batches already.
    pub fn keep(
        &mut self,
        file: FileId,
        noted: &[Noted<'_>],
        sight: Sight<'_>,
        now: i64,
    ) -> Result<()> {
        self.write(Durability::ProcessEnd, |db| {
            for noted in noted {
                insert_batch(db, file, noted, noted.record.ran, now)?;
            }
            Ok(keep_sight(db, file, sight)?)
        })
    }

    /// A batch begins to run, and with it its first task. When this returns, that is on the disk.
    ///
    /// A batch that was noted before may begin under its number.
    ///
    /// # Errors
    /// [`LedgerError::Twice`] if the batch began before, or the offer was used before: it must not run.
    pub fn begin(
        &mut self,
        file: FileId,
        begun: &Begun<'_>,
        sight: Sight<'_>,
        now_ms: i64,
    ) -> Result<()> {
        let number = begun.record.number;
        self.write(Durability::PowerCut, |db| {
            let began_before = db
                .query_row(
                    "SELECT began_ms IS NOT NULL FROM batch WHERE file = ? AND number = ?",
                    params![file, number],
                    |row| row.get(0),
                )
                .optional()?;
            match began_before {
                Some(true) => return Err(LedgerError::Twice(format!("batch {number}")).into()),
                Some(false) => {
                    db.execute(
                        "DELETE FROM batch WHERE file = ? AND number = ?",
                        params![file, number],
                    )?;
                }
                None => {}
            }
            if let Some(Source { block, line }) = begun.offer {
                let taken = db.execute(
                    "UPDATE offer SET used = 1 WHERE block = ? AND line = ? AND used = 0",
                    params![block, line],
                )?;
                if taken == 0 {
                    return Err(LedgerError::Twice("what was ticked".to_owned()).into());
                }
                came(db, block)?;
            }
            let noted = Noted {
                record: begun.record,
                text: begun.text,
                tasks: begun.tasks,
            };
            let seconds = now_ms.div_euclid(1000);
            let batch = insert_batch(db, file, &noted, Some(seconds), seconds)?;
            db.execute(
                "UPDATE batch SET run = ?, again = ?, began_ms = ? WHERE id = ?",
                params![begun.id, begun.again, now_ms, batch],
            )?;
            if let Some(first) = begun.first {
                start_task(db, batch, number, first, now_ms)?;
            }
            Ok(keep_sight(db, file, sight)?)
        })
    }

    /// Another task of a batch starts. When this returns, that is on the disk.
    ///
    /// # Errors
    /// [`LedgerError::Twice`] if it started before: it must not run.
    pub fn start(&mut self, file: FileId, number: Number, task: usize, now_ms: i64) -> Result<()> {
        self.write(Durability::PowerCut, |db| {
            start_task(db, running(db, file, number)?, number, task, now_ms)
        })
    }

    /// A task of a batch that runs has an outcome, whether it was started or not.
    ///
    /// # Errors
    /// Where the ledger cannot be written.
    pub fn finish(
        &mut self,
        file: FileId,
        number: Number,
        task: usize,
        ended: &TaskEnded<'_>,
    ) -> Result<()> {
        self.write(Durability::ProcessEnd, |db| {
            let batch = running(db, file, number)?;
            set_fate(db, batch, task, ended.fate)?;
            db.execute(
                "UPDATE task SET mark = ?, message = ?, ended_ms = ? WHERE batch = ? AND position = ?",
                params![ended.mark, ended.message, ended.now_ms, batch, task],
            )?;
            Ok(())
        })
    }

    /// A batch has ended; `fates` has the last word on each of its tasks, in order. A task without an outcome gets the one
    /// that [`Ledger::untold`] would give it.
    ///
    /// # Errors
    /// Where the ledger cannot be written.
    pub fn end(
        &mut self,
        file: FileId,
        number: Number,
        fates: &[Fate],
        commits: Option<&Commits>,
        sight: Sight<'_>,
        now_ms: i64,
    ) -> Result<()> {
        self.write(Durability::ProcessEnd, |db| {
            let batch = running(db, file, number)?;
            close_batch(db, batch, now_ms)?;
            for (task, fate) in fates.iter().enumerate() {
                set_fate(db, batch, task, fate)?;
            }
            if let Some(commits) = commits {
                db.execute(
                    "UPDATE batch SET commit_before = ?, commit_after = ?, is_private = ? WHERE id = ?",
                    params![commits.before, commits.after, commits.private, batch],
                )?;
            }
            Ok(keep_sight(db, file, sight)?)
        })
    }

    /// The batches of a file of which no results block tells, oldest first. Those that a crash or a power cut left without
    /// an end are ended: the caller is the only one who may run batches of this file.
    ///
    /// The same come again until [`Ledger::add_block`] has added a block that tells of them. A task that was started and
    /// has no outcome was interrupted; one that was not started did not run, or is done since an earlier form of the batch
    /// and was skipped.
    ///
    /// # Errors
    /// Where the ledger cannot be written.
    pub fn untold(&mut self, file: FileId, now_ms: i64) -> Result<Vec<LogBatch>> {
        self.write(Durability::ProcessEnd, |db| {
            let mut open = db.prepare(
                "SELECT id FROM batch WHERE file = ? AND began_ms IS NOT NULL AND ended_ms IS NULL",
            )?;
            let open: Vec<i64> = open
                .query_map([file], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            for batch in open {
                close_batch(db, batch, now_ms)?;
            }
            let those = "WHERE file = ? AND began_ms IS NOT NULL AND NOT told ORDER BY batch.id";
            Ok(rows::log_batches(db, those, [file])?)
        })
    }

    /// Whether each batch of a file that began has ended, and was told of.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn is_told(&self, file: FileId) -> Result<bool> {
        self.look(|db| {
            let those =
                "WHERE file = ? AND began_ms IS NOT NULL AND (ended_ms IS NULL OR NOT told)";
            let is_untold = format!("SELECT EXISTS (SELECT 1 FROM batch {those})");
            db.query_row(&is_untold, [file], |row| Ok(!row.get::<_, bool>(0)?))
        })
    }

    /// Keeps a results block before it is written into its file; one of results is on the disk when this returns, as after a
    /// power cut the file must not have a block that nobody knows. `now` is Unix time in seconds. Old blocks of the file
    /// are forgotten.
    ///
    /// # Errors
    /// Where the ledger cannot be written.
    pub fn add_block(&mut self, file: FileId, new: NewBlock<'_>, now: i64) -> Result<BlockId> {
        let durability = match new.is_result {
            true => Durability::PowerCut,
            false => Durability::ProcessEnd,
        };
        self.write(durability, |db| Ok(insert_new(db, file, new, now)?))
    }

    /// A results block is in its file since this moment, in Unix time in milliseconds.
    ///
    /// # Errors
    /// Where the ledger cannot be written.
    pub fn delivered(&mut self, block: BlockId, now_ms: i64) -> Result<()> {
        self.write(Durability::ProcessEnd, |db| {
            unread::written(db, block, now_ms)?;
            Ok(came(db, block.0)?)
        })
    }

    /// The newest results block of a file, if it is not in there yet.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn owed(&self, file: FileId) -> Result<Option<(BlockId, String)>> {
        self.look(|db| {
            db.query_row(
                "SELECT id, iif(delivered, NULL, text) FROM block
                 WHERE file = ? AND key IS NOT NULL ORDER BY id DESC LIMIT 1",
                [file],
                |row| {
                    Ok(row
                        .get::<_, Option<String>>(1)?
                        .map(|text| (row.get(0), text)))
                },
            )
            .optional()?
            .flatten()
            .map(|(id, text)| Ok((id?, text)))
            .transpose()
        })
    }

    /// The results block with this key of each file that has one: of several that read the same the newest that came into
    /// the file, as the newest of all may still be on its way.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn blocks_with(&self, key: Key) -> Result<Vec<KnownBlock>> {
        self.look(|db| {
            let mut blocks = db.prepare(
                "SELECT block.id, file, path FROM block JOIN file ON file.id = block.file
                 WHERE key = ? AND NOT EXISTS (
                     SELECT 1 FROM block AS other WHERE other.key = block.key AND other.file = block.file
                     AND (other.delivered, other.id) > (block.delivered, block.id)
                 ) ORDER BY file",
            )?;
            let mut offers =
                db.prepare("SELECT block, line, batches, approves, spot, used FROM offer WHERE block = ? ORDER BY line")?;
            let blocks = blocks.query_map([key], |row| {
                let id: BlockId = row.get("id")?;
                let offers = offers.query_map([id], rows::offer)?;
                Ok(KnownBlock {
                    id,
                    file: row.get("file")?,
                    path: rows::path(row)?,
                    offers: offers.collect::<rusqlite::Result<_>>()?,
                })
            })?;
            blocks.collect()
        })
    }

    /// What was read from it makes no sense.
    pub fn damaged(&self) -> LedgerError {
        LedgerError::DamagedInPlace(self.place.path.clone())
    }

    /// The keys of the results blocks that are kept of a file.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn blocks(&self, file: FileId) -> Result<Vec<Key>> {
        self.look(|db| {
            let mut keys =
                db.prepare("SELECT key FROM block WHERE file = ? AND key IS NOT NULL")?;
            let keys = keys.query_map([file], |row| row.get(0))?;
            keys.collect()
        })
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

    /// All files that were ever listened to, also by a clada that has ended.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn files(&self) -> Result<Vec<PathBuf>> {
        self.look(|db| {
            let mut files = db.prepare("SELECT path FROM file")?;
            let files = files.query_map([], |row| row.get::<_, Vec<u8>>(0))?;
            let path = |bytes| PathBuf::from(OsString::from_vec(bytes));
            files.map(|bytes| bytes.map(path)).collect()
        })
    }

    /// The batches that began, newest first, at most so many.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn log(&self, limit: usize) -> Result<Vec<LogBatch>> {
        self.log_of(limit, None)
    }

    /// As [`Ledger::log`], those of the file at a path, if one is given.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn log_of(&self, limit: usize, file: Option<&Path>) -> Result<Vec<LogBatch>> {
        let those = "WHERE began_ms IS NOT NULL AND (?2 IS NULL OR path = ?2)
             ORDER BY began_ms DESC, batch.id DESC LIMIT ?1";
        let file = file.map(|path| path.as_os_str().as_bytes());
        self.look(|db| rows::log_batches(db, those, params![limit, file]))
    }

    /// The results blocks that were taken off notes and are not ours, newest first, at most so many.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn foreign(&self, limit: usize, file: Option<&Path>) -> Result<Vec<ForeignBlock>> {
        let file = file.map(|path| path.as_os_str().as_bytes());
        self.look(|db| {
            let mut blocks = db.prepare(
                "SELECT path, text, block.time FROM block JOIN file ON file.id = block.file
                 WHERE key IS NULL AND (?2 IS NULL OR path = ?2) ORDER BY block.id DESC LIMIT ?1",
            )?;
            let blocks = blocks.query_map(params![limit, file], |row| {
                Ok(ForeignBlock {
                    path: rows::path(row)?,
                    text: row.get("text")?,
                    time: row.get("time")?,
                })
            })?;
            blocks.collect()
        })
    }

    /// Tasks that wait for the user to say that they may run, in batches that are still in the file; at most so many, the
    /// oldest first.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn asked(&self, file: FileId, limit: usize) -> Result<Vec<Asked>> {
        let mut asked = self.asked_once(file, limit)?;
        // Answered on behalf of a batch that ran others of its tasks again.
        let mut open = Vec::with_capacity(asked.len());
        for asked in asked.drain(..) {
            if !self.is_over(file, asked.batch, asked.task)? {
                open.push(asked);
            }
        }
        Ok(open)
    }

    fn asked_once(&self, file: FileId, limit: usize) -> Result<Vec<Asked>> {
        self.look(|db| {
            let mut asked = db.prepare(
                // A batch that runs tasks of another again stands for that one.
                "WITH RECURSIVE shown (number) AS (
                     SELECT value FROM file, json_each(present) WHERE file.id = ?1
                     UNION SELECT again FROM batch JOIN shown USING (number)
                     WHERE file = ?1 AND again IS NOT NULL
                 )
                 SELECT number, position, command, target, message, batch.began_ms
                 FROM shown JOIN batch USING (number) JOIN task ON task.batch = batch.id
                 WHERE file = ?1 AND mark = 'asks' AND batch.ended_ms IS NOT NULL AND NOT EXISTS (
                     SELECT 1 FROM batch AS later JOIN task AS answer ON answer.batch = later.id
                     WHERE later.file = ?1 AND later.again = batch.number
                     AND answer.position = task.position AND (
                         answer.began_ms IS NOT NULL
                         -- Asked again there.
                         OR answer.mark = 'asks' AND later.ended_ms IS NOT NULL
                     )
                 ) ORDER BY number, position LIMIT ?2",
            )?;
            let asked = asked.query_map(params![file, limit], |row| {
                Ok(Asked {
                    batch: row.get("number")?,
                    task: row.get("position")?,
                    command: row.get("command")?,
                    target: row.get("target")?,
                    message: row.get("message")?,
                    asked_ms: row.get("began_ms")?,
                })
            })?;
            asked.collect()
        })
    }

    /// The newest results block of a file.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn newest(&self, file: FileId) -> Result<Option<String>> {
        self.look(|db| {
            db.query_row(
                "SELECT text FROM block WHERE file = ? AND key IS NOT NULL ORDER BY id DESC LIMIT 1",
                [file],
                |row| row.get(0),
            )
            .optional()
        })
    }

    /// The newest results block of a file, with the lines of it that offer what nobody has taken up.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn newest_offers(&self, file: FileId) -> Result<Option<(String, Vec<usize>)>> {
        let newest = self.look(|db| {
            db.query_row(
                "SELECT id, text FROM block WHERE file = ? AND key IS NOT NULL ORDER BY id DESC LIMIT 1",
                [file],
                |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)),
            )
            .optional()
        })?;
        let Some((block, text)) = newest else {
            return Ok(None);
        };
        let open = self.look(|db| {
            let mut open =
                db.prepare("SELECT line FROM offer WHERE block = ? AND NOT used ORDER BY line")?;
            let open = open.query_map([block], |row| row.get(0))?;
            open.collect()
        })?;
        Ok(Some((text, open)))
    }

    /// Whether a line is of the newest results block of a file. That may be one that is not in there yet.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn is_newest(&self, file: FileId, source: Source) -> Result<bool> {
        self.look(|db| {
            db.query_row(
                "SELECT max(id) IS ? FROM block WHERE file = ? AND key IS NOT NULL",
                params![source.block, file],
                |row| row.get(0),
            )
        })
    }

    /// Whether a task of a batch is not to be tried once more on behalf of that batch: a later one that does the same
    /// started it since, or it was done when it was started last.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn is_over(&self, file: FileId, batch: Number, task: usize) -> Result<bool> {
        self.look(|db| {
            let last = db.query_row(
                &format!(
                    "{KIN} SELECT number > ?2 OR fate = 'done'
                     FROM kin JOIN batch USING (number) JOIN task ON task.batch = batch.id
                     WHERE file = ?1 AND position = ?3 AND task.began_ms IS NOT NULL
                     ORDER BY number DESC LIMIT 1"
                ),
                params![file, batch, task],
                |row| row.get(0),
            );
            Ok(last.optional()?.unwrap_or(false))
        })
    }

    /// Tells if a task was started again on behalf of a batch since the block of an offer was written.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn ran_since(
        &self,
        file: FileId,
        (batch, task): (Number, usize),
        source: Source,
    ) -> Result<bool> {
        self.look(|db| {
            db.query_row(
                &format!(
                    "{KIN} SELECT EXISTS (
                         SELECT 1 FROM kin JOIN batch USING (number) JOIN task ON task.batch = batch.id
                         WHERE file = ?1 AND number > ?2 AND position = ?3 AND task.began_ms IS NOT NULL
                         AND batch.began_ms >= (SELECT time FROM block WHERE id = ?4) * 1000
                     )"
                ),
                params![file, batch, task, source.block],
                |row| row.get(0),
            )
        })
    }

    /// The batch that stands for another by now: the last that does the same again, or itself.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn latest(&self, file: FileId, batch: Number) -> Result<Number> {
        self.look(|db| {
            db.query_row(
                &format!("{KIN} SELECT max(number) FROM kin"),
                params![file, batch],
                |row| row.get(0),
            )
        })
    }

    /// The offers of the newest block of a file that has such: places that the user can choose for these edits.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn places(&self, file: FileId, batch: Number) -> Result<Vec<KnownOffer>> {
        self.look(|db| {
            let mut offers = db.prepare(
                "SELECT offer.block, line, batches, approves, spot, used FROM offer
                 WHERE spot IS NOT NULL AND json_extract(batches, '$[0][0]') = ?2 AND offer.block = (
                     SELECT max(block.id) FROM block JOIN offer ON offer.block = block.id
                     WHERE file = ?1 AND spot IS NOT NULL AND json_extract(batches, '$[0][0]') = ?2
                 ) ORDER BY line",
            )?;
            let offers = offers.query_map(params![file, batch], rows::offer)?;
            offers.collect()
        })
    }

    /// An offer does not count any more.
    ///
    /// # Errors
    /// Where the ledger cannot be written.
    pub fn void(&mut self, Source { block, line }: Source) -> Result<()> {
        self.write(Durability::ProcessEnd, |db| {
            db.execute(
                "UPDATE offer SET used = 1 WHERE block = ? AND line = ?",
                params![block, line],
            )?;
            Ok(came(db, block)?)
        })
    }

    /// The batches of a file that ran last, those of one save, in their order.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn last_run(&self, file: FileId) -> Result<Vec<LogBatch>> {
        // The name of the run is what is before the dot.
        let run = "iif(instr(run, '.'), substr(run, 1, instr(run, '.') - 1), run)";
        let those = format!(
            "WHERE file = ?1 AND began_ms IS NOT NULL AND {run} =
             (SELECT {run} FROM batch WHERE file = ?1 AND began_ms IS NOT NULL ORDER BY batch.id DESC LIMIT 1)
             ORDER BY batch.id"
        );
        self.look(|db| rows::log_batches(db, &those, [file]))
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
            let mut old = db.prepare(
                "SELECT batch.id, time FROM batch JOIN file ON file.id = batch.file
                 WHERE text IS NOT NULL AND (began_ms IS NULL OR ended_ms IS NOT NULL)
                 AND number NOT IN (SELECT value FROM json_each(present)) ORDER BY time, batch.id",
            )?;
            let old: Vec<(i64, i64)> = old
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<_>>()?;
            for (batch, time) in old {
                if time >= oldest && used(db)? <= size {
                    break;
                }
                db.execute("DELETE FROM task WHERE batch = ?", [batch])?;
                db.execute("UPDATE batch SET text = NULL WHERE id = ?", [batch])?;
            }
            // Each row that this returns is a page that was given back.
            let mut vacuum = db.prepare("PRAGMA incremental_vacuum")?;
            let mut pages = vacuum.query([])?;
            while pages.next()?.is_some() {}
            Ok(())
        })
    }

    /// Reads, all of it at one moment.
    fn look<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let read = || {
            let db = self.db.unchecked_transaction()?;
            read(&db)
        };
        read().map_err(|error| self.place.explain(error.into()))
    }

    fn write<T>(
        &mut self,
        durability: Durability,
        write: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, Failure>,
    ) -> Result<T> {
        let Self { db, place, .. } = self;
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
        write().map_err(|failure| place.explain(failure))
    }
}

/// Notes that a block is in its file. One in which something was ticked is, also where clada ended before it had noted that:
/// else a newer one that reads the same, and is not there yet, would be taken for it, and the tick would count once more.
fn came(db: &Connection, block: i64) -> rusqlite::Result<()> {
    db.execute("UPDATE block SET delivered = 1 WHERE id = ?", [block])?;
    Ok(())
}

/// The row of a batch that runs.
fn running(db: &Connection, file: FileId, number: Number) -> rusqlite::Result<i64> {
    let mut batch = db.prepare(
        "SELECT id FROM batch
         WHERE file = ? AND number = ? AND began_ms IS NOT NULL AND ended_ms IS NULL",
    )?;
    batch.query_row(params![file, number], |row| row.get(0))
}

fn insert_batch(
    db: &Connection,
    file: FileId,
    noted: &Noted<'_>,
    ran: Option<i64>,
    now: i64,
) -> rusqlite::Result<i64> {
    let record = noted.record;
    let mut batch = db.prepare(
        "INSERT INTO batch (file, number, key, head, above, below, ran, time, text)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    let id = batch.insert(params![
        file,
        record.number,
        record.key,
        record.head,
        record.prose.above,
        record.prose.below,
        ran,
        now,
        noted.text
    ])?;
    let mut row = db.prepare(
        "INSERT INTO task (batch, position, key, is_exec, command, target, fate, changed)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    debug_assert_eq!(record.tasks.len(), noted.tasks.len());
    for (position, (task, (command, target))) in record.tasks.iter().zip(noted.tasks).enumerate() {
        let (fate, changed) = fate_columns(&task.fate);
        row.execute(params![
            id,
            position,
            task.key,
            task.is_for_output,
            command,
            target,
            fate,
            changed
        ])?;
    }
    Ok(id)
}

fn keep_sight(db: &Connection, file: FileId, sight: Sight<'_>) -> rusqlite::Result<()> {
    let mut row = db.prepare("UPDATE file SET state = ?, present = ? WHERE id = ?")?;
    one_row(row.execute(params![sight.state, Json(sight.present), file])?)
}

fn start_task(
    db: &Connection,
    batch: i64,
    number: Number,
    task: usize,
    now_ms: i64,
) -> std::result::Result<(), Failure> {
    let mut row = db.prepare(
        "UPDATE task SET began_ms = ? WHERE batch = ? AND position = ? AND began_ms IS NULL",
    )?;
    match row.execute(params![now_ms, batch, task])? {
        0 => Err(LedgerError::Twice(format!("task {} of batch {number}", task + 1)).into()),
        _ => Ok(()),
    }
}

fn set_fate(db: &Connection, batch: i64, task: usize, fate: &Fate) -> rusqlite::Result<()> {
    let (fate, changed) = fate_columns(fate);
    let mut row =
        db.prepare("UPDATE task SET fate = ?, changed = ? WHERE batch = ? AND position = ?")?;
    one_row(row.execute(params![fate, changed, batch, task])?)
}

/// Ends a batch, and gives an outcome to each task that has none.
fn close_batch(db: &Connection, batch: i64, now_ms: i64) -> rusqlite::Result<()> {
    db.execute(
        "UPDATE task SET fate = 'interrupted', changed = NULL, mark = 'interrupted'
         WHERE batch = ? AND mark IS NULL AND began_ms IS NOT NULL",
        [batch],
    )?;
    db.execute(
        "UPDATE task SET mark = iif(fate = 'done', 'skipped', 'not-run')
         WHERE batch = ? AND mark IS NULL",
        [batch],
    )?;
    db.execute(
        "UPDATE batch SET ended_ms = ? WHERE id = ?",
        params![now_ms, batch],
    )?;
    Ok(())
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
            params![block, file],
        )?;
    }
    for (line, offer) in new.offers {
        db.execute(
            "INSERT INTO offer (block, line, batches, approves, spot) VALUES (?, ?, ?, ?, ?)",
            params![
                block,
                line,
                Json(&offer.batches),
                offer.approves,
                offer.spot.as_ref().map(Json)
            ],
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
    let mut block =
        db.prepare("INSERT INTO block (file, key, text, delivered, time) VALUES (?, ?, ?, ?, ?)")?;
    block
        .insert(params![file, key, text, delivered, now])
        .map(BlockId)
}

/// Forgets all but the newest blocks of a file: ours, or those that are not ours.
fn forget_blocks(db: &Connection, file: FileId, ours: bool, newest: usize) -> rusqlite::Result<()> {
    db.execute(
        "DELETE FROM block WHERE id IN (
             SELECT id FROM block WHERE file = ? AND (key IS NOT NULL) = ?
             ORDER BY id DESC LIMIT -1 OFFSET ?
         )",
        params![file, ours, newest],
    )?;
    Ok(())
}

/// In bytes, without the pages that are free.
fn used(db: &Connection) -> rusqlite::Result<u64> {
    db.query_row(
        "SELECT (page_count - freelist_count) * page_size
         FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()",
        [],
        |row| row.get(0),
    )
}

/// What is written to must be there.
fn one_row(changed: usize) -> rusqlite::Result<()> {
    match changed {
        1 => Ok(()),
        _ => Err(rusqlite::Error::StatementChangedRows(changed)),
    }
}
