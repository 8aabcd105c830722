//! The batches in the ledger: those that began, the outcome of each task, and the batches that repeat others.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::entries::{
    BatchStart, KnownBatch, LogBatch, Noted, SavedState, TaskEnded, UnapprovedTask,
};
use super::rows::{self, Json, KeyColumn, all, cell, fate_columns};
use super::{Durability, FileId, Ledger, LedgerError, RequestError, Result, blocks};
use crate::reply::record::{Commits, Fate, Key, Number, Record, TickSource};

/// The batches that repeat a batch, that it repeats, or that repeat one of these; and itself. Two ticks of one save may
/// have two batches repeat the same one.
const KIN: &str = "WITH RECURSIVE kin (number) AS (
    SELECT ?2
    UNION SELECT again FROM batch JOIN kin USING (number) WHERE file = ?1 AND again IS NOT NULL
    UNION SELECT batch.number FROM batch JOIN kin ON again = kin.number WHERE file = ?1
)";

impl Ledger {
    /// Returns all batches of a file in order of number, also those whose details are forgotten.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn records(&self, file: FileId) -> Result<Vec<Record>> {
        self.look(|db| rows::records(db, file))
    }

    /// Returns a batch as it was in its file; `None` if that is forgotten, or there is no such batch.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn text(&self, file: FileId, number: Number) -> Result<Option<String>> {
        self.look(|db| {
            let sql = "SELECT text FROM batch WHERE file = ? AND number = ?";
            let text = db.query_row(sql, params![file.0, number], cell);
            text.optional().map(Option::flatten)
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
        state: SavedState<'_>,
        now: i64,
    ) -> Result<()> {
        self.write(Durability::ProcessEnd, |db| {
            for noted in noted {
                insert_batch(db, file, noted, noted.record.ran, now)?;
            }
            Ok(save_state(db, file, state)?)
        })
    }

    /// Notes that a batch begins to run, and with it its first task. When this returns, that is on the disk.
    ///
    /// A batch that was noted before may begin under its number.
    ///
    /// # Errors
    /// [`LedgerError::Twice`] if the batch began before, or the offer was used before: it must not run.
    pub fn begin(
        &mut self,
        file: FileId,
        start: &BatchStart<'_>,
        state: SavedState<'_>,
        now_ms: i64,
    ) -> Result<()> {
        let number = start.record.number;
        self.write(Durability::PowerCut, |db| {
            db.execute(
                "DELETE FROM batch WHERE file = ? AND number = ? AND began_ms IS NULL",
                params![file.0, number],
            )?;
            let began = "SELECT EXISTS (SELECT 1 FROM batch WHERE file = ? AND number = ?)";
            if db.query_row(began, params![file.0, number], cell)? {
                return Err(LedgerError::Twice(format!("batch {number}")).into());
            }
            if let Some(TickSource { block, line }) = start.offer {
                let taken = db.execute(
                    "UPDATE offer SET used = 1 WHERE block = ? AND line = ? AND used = 0",
                    params![block, line],
                )?;
                if taken == 0 {
                    return Err(LedgerError::Twice("what was ticked".to_owned()).into());
                }
                blocks::set_delivered(db, block)?;
            }
            let noted = Noted {
                record: start.record,
                text: start.text,
                tasks: start.tasks,
            };
            let seconds = now_ms.div_euclid(1000);
            let batch = insert_batch(db, file, &noted, Some(seconds), seconds)?;
            db.execute(
                "UPDATE batch SET run = ?, again = ?, began_ms = ? WHERE id = ?",
                params![start.id, start.again, now_ms, batch],
            )?;
            if let Some(first) = start.first {
                start_task(db, batch, number, first, now_ms)?;
            }
            Ok(save_state(db, file, state)?)
        })
    }

    /// Notes that another task of a batch starts. When this returns, that is on the disk.
    ///
    /// # Errors
    /// [`LedgerError::Twice`] if it started before: it must not run.
    pub fn start(&mut self, file: FileId, number: Number, task: usize, now_ms: i64) -> Result<()> {
        self.write(Durability::PowerCut, |db| {
            start_task(db, running(db, file, number)?, number, task, now_ms)
        })
    }

    /// Notes the outcome of a task of a batch that runs, whether it was started or not.
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

    /// Notes that a batch has ended; `fates` has the last word on each of its tasks, in order. A task without an outcome
    /// gets the one that [`Ledger::untold`] would give it.
    ///
    /// # Errors
    /// Where the ledger cannot be written.
    pub fn end(
        &mut self,
        file: FileId,
        number: Number,
        fates: &[Fate],
        commits: Option<&Commits>,
        state: SavedState<'_>,
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
            Ok(save_state(db, file, state)?)
        })
    }

    /// Returns the batches of a file of which no results block tells, oldest first. Those that a crash or a power cut left
    /// without an end are ended: the caller is the only one who may run batches of this file.
    ///
    /// The same come again until [`Ledger::add_block`] has added a block that tells of them. A task that was started and
    /// has no outcome was interrupted; one that was not started did not run, or is done since an earlier form of the batch
    /// and was skipped.
    ///
    /// # Errors
    /// Where the ledger cannot be written.
    pub fn untold(&mut self, file: FileId, now_ms: i64) -> Result<Vec<LogBatch>> {
        self.write(Durability::ProcessEnd, |db| {
            let open = "SELECT id FROM batch
                 WHERE file = ? AND began_ms IS NOT NULL AND ended_ms IS NULL";
            for batch in all(db, open, [file.0], cell)? {
                close_batch(db, batch, now_ms)?;
            }
            let those = "WHERE file = ? AND began_ms IS NOT NULL AND NOT told ORDER BY batch.id";
            Ok(rows::log_batches(db, those, [file.0])?)
        })
    }

    /// Tells if each batch of a file that began has ended, and was told of.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn is_told(&self, file: FileId) -> Result<bool> {
        self.look(|db| {
            let sql = "SELECT NOT EXISTS (SELECT 1 FROM batch
                 WHERE file = ? AND began_ms IS NOT NULL AND (ended_ms IS NULL OR NOT told))";
            db.query_row(sql, [file.0], cell)
        })
    }

    /// Returns the batches that began, newest first, at most so many; those of the file at a path, if one is given.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn log(&self, limit: usize, file: Option<&Path>) -> Result<Vec<LogBatch>> {
        let those = "WHERE began_ms IS NOT NULL AND (?2 IS NULL OR path = ?2)
             ORDER BY began_ms DESC, batch.id DESC LIMIT ?1";
        let file = file.map(|path| path.as_os_str().as_bytes());
        self.look(|db| rows::log_batches(db, those, params![limit, file]))
    }

    /// Returns a batch with this key, of whichever file; one that ran, if any did.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn batch_with(&self, key: Key) -> Result<Option<KnownBatch>> {
        let sql = "SELECT run, began_ms, ended_ms FROM batch WHERE key = ?
             ORDER BY began_ms IS NULL, id DESC LIMIT 1";
        self.look(|db| db.query_row(sql, [KeyColumn(key)], known_batch).optional())
    }

    /// Returns the batches whose first line is indented, of all files, with their texts.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn indented(&self) -> Result<Vec<(String, KnownBatch)>> {
        let sql = "SELECT text, run, began_ms, ended_ms FROM batch
             WHERE text GLOB ' *' OR text GLOB char(9) || '*'
             ORDER BY began_ms IS NULL, id DESC";
        self.look(|db| all(db, sql, [], |row| Ok((row.get("text")?, known_batch(row)?))))
    }

    /// Returns the batches of a file that ran last, those of one save, in their order.
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
        self.look(|db| rows::log_batches(db, &those, [file.0]))
    }

    /// Returns the batches of a file that a name can mean, oldest first: a number or an id, or the beginning of ids.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn named(&self, file: FileId, name: &str) -> Result<Vec<LogBatch>> {
        let those = "WHERE file = ?1 AND began_ms IS NOT NULL AND substr(run, 1, length(?2)) = ?2
             ORDER BY batch.id";
        let exact =
            "WHERE file = ?1 AND began_ms IS NOT NULL AND (CAST(number AS TEXT) = ?2 OR run = ?2)
             ORDER BY batch.id";
        self.look(|db| {
            let exact = rows::log_batches(db, exact, params![file.0, name])?;
            if !exact.is_empty() || name.is_empty() {
                return Ok(exact);
            }
            rows::log_batches(db, those, params![file.0, name])
        })
    }

    /// Returns the tasks that wait for the user's approval, in batches that are still in the file; at most so many, the
    /// oldest first.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn asked(&self, file: FileId, limit: usize) -> Result<Vec<UnapprovedTask>> {
        self.look(|db| {
            let asked = all(
                db,
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
                params![file.0, limit],
                |row| {
                    Ok(UnapprovedTask {
                        batch: row.get("number")?,
                        task: row.get("position")?,
                        command: row.get("command")?,
                        target: row.get("target")?,
                        message: row.get("message")?,
                        asked_ms: row.get("began_ms")?,
                    })
                },
            )?;
            let mut open = Vec::with_capacity(asked.len());
            for task in asked {
                // Some are answered on behalf of a batch that ran others of its tasks again.
                if !is_over(db, file, task.batch, task.task)? {
                    open.push(task);
                }
            }
            Ok(open)
        })
    }

    /// Tells if a task of a batch is not to be tried once more on behalf of that batch: a later one that does the same
    /// started it since, or it was done when it was started last.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn is_over(&self, file: FileId, batch: Number, task: usize) -> Result<bool> {
        self.look(|db| is_over(db, file, batch, task))
    }

    /// Tells if a task was started again on behalf of a batch since the block of an offer was written.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn ran_since(
        &self,
        file: FileId,
        batch: Number,
        task: usize,
        source: TickSource,
    ) -> Result<bool> {
        let sql = format!(
            "{KIN} SELECT EXISTS (
                 SELECT 1 FROM kin JOIN batch USING (number) JOIN task ON task.batch = batch.id
                 WHERE file = ?1 AND number > ?2 AND position = ?3 AND task.began_ms IS NOT NULL
                 AND batch.began_ms >= (SELECT time FROM block WHERE id = ?4) * 1000
             )"
        );
        self.look(|db| db.query_row(&sql, params![file.0, batch, task, source.block], cell))
    }

    /// Returns the batch that stands for another by now: the last that does the same again, or itself.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn latest(&self, file: FileId, batch: Number) -> Result<Number> {
        let sql = format!("{KIN} SELECT max(number) FROM kin");
        self.look(|db| db.query_row(&sql, params![file.0, batch], cell))
    }
}

fn known_batch(row: &Row<'_>) -> rusqlite::Result<KnownBatch> {
    Ok(KnownBatch {
        run: row.get("run")?,
        began_ms: row.get("began_ms")?,
        ended_ms: row.get("ended_ms")?,
    })
}

fn is_over(db: &Connection, file: FileId, batch: Number, task: usize) -> rusqlite::Result<bool> {
    let sql = format!(
        "{KIN} SELECT number > ?2 OR fate = 'done'
         FROM kin JOIN batch USING (number) JOIN task ON task.batch = batch.id
         WHERE file = ?1 AND position = ?3 AND task.began_ms IS NOT NULL
         ORDER BY number DESC LIMIT 1"
    );
    let last = db.query_row(&sql, params![file.0, batch, task], cell);
    Ok(last.optional()?.unwrap_or(false))
}

/// Returns the row of a batch that runs.
fn running(db: &Connection, file: FileId, number: Number) -> rusqlite::Result<i64> {
    db.query_row(
        "SELECT id FROM batch
         WHERE file = ? AND number = ? AND began_ms IS NOT NULL AND ended_ms IS NULL",
        params![file.0, number],
        cell,
    )
}

fn insert_batch(
    db: &Connection,
    file: FileId,
    noted: &Noted<'_>,
    ran: Option<i64>,
    now: i64,
) -> rusqlite::Result<i64> {
    let record = noted.record;
    let prose = &record.prose;
    let mut batch = db.prepare(
        "INSERT INTO batch (file, number, key, head, above, below, ran, time, text)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    let columns = params![
        file.0,
        record.number,
        KeyColumn(record.key),
        KeyColumn(record.head),
        prose.above.map(KeyColumn),
        prose.below.map(KeyColumn),
        ran,
        now,
        noted.text
    ];
    let id = batch.insert(columns)?;
    let mut row = db.prepare(
        "INSERT INTO task (batch, position, key, is_exec, command, target, fate, changed)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    debug_assert_eq!(record.tasks.len(), noted.tasks.len());
    for (position, (task, (command, target))) in record.tasks.iter().zip(noted.tasks).enumerate() {
        let (fate, changed) = fate_columns(&task.fate);
        let (key, is_exec) = (KeyColumn(task.key), task.tells);
        row.execute(params![
            id, position, key, is_exec, command, target, fate, changed
        ])?;
    }
    Ok(id)
}

fn save_state(db: &Connection, file: FileId, saved: SavedState<'_>) -> rusqlite::Result<()> {
    let sql = "UPDATE file SET state = ?, present = ? WHERE id = ?";
    one_row(db.execute(sql, params![saved.state, Json(saved.present), file.0])?)
}

fn start_task(
    db: &Connection,
    batch: i64,
    number: Number,
    task: usize,
    now_ms: i64,
) -> std::result::Result<(), RequestError> {
    let started = db.execute(
        "UPDATE task SET began_ms = ? WHERE batch = ? AND position = ? AND began_ms IS NULL",
        params![now_ms, batch, task],
    )?;
    if started == 0 {
        let which = format!("task {} of batch {number}", task + 1);
        return Err(LedgerError::Twice(which).into());
    }
    Ok(())
}

fn set_fate(db: &Connection, batch: i64, task: usize, fate: &Fate) -> rusqlite::Result<()> {
    let (fate, changed) = fate_columns(fate);
    let sql = "UPDATE task SET fate = ?, changed = ? WHERE batch = ? AND position = ?";
    one_row(db.execute(sql, params![fate, changed, batch, task])?)
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
    let sql = "UPDATE batch SET ended_ms = ? WHERE id = ?";
    db.execute(sql, params![now_ms, batch]).map(drop)
}

/// Refuses a change of a row that is not there.
fn one_row(changed: usize) -> rusqlite::Result<()> {
    if changed == 1 {
        Ok(())
    } else {
        Err(rusqlite::Error::StatementChangedRows(changed))
    }
}
