//! Values as columns of the ledger's tables, and rows as values. Never writes.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Params, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{FileId, KnownOffer, LogBatch, LogTask};
use crate::reply::record::{
    Commits, Fate, Key, Offer, Prose, Record, TaskRecord, TaskTarget, TickSource,
};

/// A key as a column: the number of the same bits, as SQLite knows signed ones only.
pub(super) struct KeyColumn(pub(super) Key);

impl ToSql for KeyColumn {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.0.cast_signed().into())
    }
}

impl FromSql for KeyColumn {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        i64::column_result(value).map(|key| Self(Key(key.cast_unsigned())))
    }
}

/// Returns the first column of a row.
pub(super) fn cell<T: FromSql>(row: &Row<'_>) -> rusqlite::Result<T> {
    row.get(0)
}

/// Returns all rows of a query, each as `read` makes a value of it.
pub(super) fn all<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    db.prepare(sql)?.query_map(params, read)?.collect()
}

/// A value that is kept as JSON.
pub(super) struct Json<T>(pub(super) T);

impl<T: Serialize> ToSql for Json<T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let text = serde_json::to_string(&self.0);
        text.map(Into::into)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
    }
}

impl<T: DeserializeOwned> FromSql for Json<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        serde_json::from_str(value.as_str()?)
            .map(Self)
            .map_err(FromSqlError::other)
    }
}

/// The columns `fate` and `changed`.
pub(super) fn fate_columns(fate: &Fate) -> (&'static str, Option<Json<&[TaskTarget]>>) {
    match fate {
        Fate::NotRun => ("not-run", None),
        Fate::Interrupted => ("interrupted", None),
        Fate::Failed => ("failed", None),
        Fate::Done(targets) => ("done", Some(Json(targets))),
    }
}

fn fate(row: &Row<'_>) -> rusqlite::Result<Fate> {
    let name: String = row.get("fate")?;
    match name.as_str() {
        "not-run" => Ok(Fate::NotRun),
        "interrupted" => Ok(Fate::Interrupted),
        "failed" => Ok(Fate::Failed),
        "done" => Ok(Fate::Done(row.get::<_, Json<_>>("changed")?.0)),
        _ => Err(FromSqlError::Other(format!("unknown fate {name:?}").into()).into()),
    }
}

pub(super) fn path(row: &Row<'_>) -> rusqlite::Result<PathBuf> {
    Ok(OsString::from_vec(row.get("path")?).into())
}

/// Returns the offers that these conditions find.
pub(super) fn offers(
    db: &Connection,
    conditions: &str,
    params: impl Params,
) -> rusqlite::Result<Vec<KnownOffer>> {
    let sql = format!("SELECT block, line, batches, approves, spot, used FROM offer {conditions}");
    all(db, &sql, params, |row| {
        Ok(KnownOffer {
            source: TickSource {
                block: row.get("block")?,
                line: row.get("line")?,
            },
            offer: Offer {
                batches: row.get::<_, Json<_>>("batches")?.0,
                approves: row.get("approves")?,
                spot: row.get::<_, Option<Json<_>>>("spot")?.map(|spot| spot.0),
            },
            used: row.get("used")?,
        })
    })
}

/// Returns the records of a file, in order of number.
pub(super) fn records(db: &Connection, file: FileId) -> rusqlite::Result<Vec<Record>> {
    let batches =
        "SELECT number, key, head, above, below, ran FROM batch WHERE file = ? ORDER BY number";
    let mut records = all(db, batches, [file.0], |row| {
        Ok(Record {
            number: row.get("number")?,
            key: row.get::<_, KeyColumn>("key")?.0,
            head: row.get::<_, KeyColumn>("head")?.0,
            prose: Prose {
                above: row.get::<_, Option<KeyColumn>>("above")?.map(|key| key.0),
                below: row.get::<_, Option<KeyColumn>>("below")?.map(|key| key.0),
            },
            ran: row.get("ran")?,
            tasks: Vec::new(),
        })
    })?;
    let mut tasks = db.prepare(
        "SELECT number, task.key, is_exec, fate, changed FROM batch JOIN task ON task.batch = batch.id
         WHERE file = ? ORDER BY number, position",
    )?;
    let mut rows = tasks.query([file.0])?;
    while let Some(row) = rows.next()? {
        let number = row.get("number")?;
        if let Ok(at) = records.binary_search_by_key(&number, |record| record.number) {
            records[at].tasks.push(TaskRecord {
                key: row.get::<_, KeyColumn>("key")?.0,
                tells: row.get("is_exec")?,
                fate: fate(row)?,
            });
        }
    }
    Ok(records)
}

/// Returns the batches that these conditions find, with their tasks.
pub(super) fn log_batches(
    db: &Connection,
    conditions: &str,
    params: impl Params,
) -> rusqlite::Result<Vec<LogBatch>> {
    let sql = format!(
        "SELECT batch.id, path, number, run, again, began_ms, ended_ms, commit_before, commit_after, is_private
         FROM batch JOIN file ON file.id = batch.file {conditions}"
    );
    all(db, &sql, params, |row| {
        let private = row.get("is_private")?;
        let before: Option<String> = row.get("commit_before")?;
        let commits = before.zip(row.get("commit_after")?);
        Ok(LogBatch {
            path: path(row)?,
            number: row.get("number")?,
            id: row.get("run")?,
            again: row.get("again")?,
            began_ms: row.get("began_ms")?,
            ended_ms: row.get("ended_ms")?,
            commits: commits.map(|(before, after)| Commits {
                before,
                after,
                private,
            }),
            tasks: log_tasks(db, row.get("id")?)?,
        })
    })
}

fn log_tasks(db: &Connection, batch: i64) -> rusqlite::Result<Vec<LogTask>> {
    let tasks = "SELECT command, target, mark, message, fate, changed, began_ms, ended_ms FROM task
         WHERE batch = ? ORDER BY position";
    all(db, tasks, [batch], |row| {
        Ok(LogTask {
            command: row.get("command")?,
            target: row.get("target")?,
            mark: row.get("mark")?,
            message: row.get("message")?,
            fate: fate(row)?,
            began_ms: row.get("began_ms")?,
            ended_ms: row.get("ended_ms")?,
        })
    })
}
