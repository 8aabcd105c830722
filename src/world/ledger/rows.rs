//! Values as columns of the ledger's tables, and rows as values. Never writes.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, Type, ValueRef};
use rusqlite::{Connection, Params, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{BlockId, FileId, KnownOffer, LogBatch, LogTask, schema};
use crate::reply::record::{Commits, Fate, Key, Offer, Prose, Record, Source, Target, TaskRecord};

impl ToSql for Key {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.cast_signed().into())
    }
}

impl FromSql for Key {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        i64::column_result(value).map(|key| Self(key.cast_unsigned()))
    }
}

impl ToSql for FileId {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        self.0.to_sql()
    }
}

impl FromSql for FileId {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        i64::column_result(value).map(Self)
    }
}

impl ToSql for BlockId {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        self.0.to_sql()
    }
}

impl FromSql for BlockId {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        i64::column_result(value).map(Self)
    }
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
pub(super) fn fate_columns(fate: &Fate) -> (&'static str, Option<Json<&[Target]>>) {
    match fate {
        Fate::NotRun => ("not-run", None),
        Fate::Interrupted => ("interrupted", None),
        Fate::Failed => ("failed", None),
        Fate::Done(targets) => ("done", Some(Json(targets))),
    }
}

fn fate(row: &Row<'_>) -> rusqlite::Result<Fate> {
    let name: String = row.get("fate")?;
    Ok(match name.as_str() {
        "not-run" => Fate::NotRun,
        "interrupted" => Fate::Interrupted,
        "failed" => Fate::Failed,
        "done" => Fate::Done(row.get::<_, Json<_>>("changed")?.0),
        _ => {
            let why = format!("unknown fate {name:?}");
            let column = row.as_ref().column_index("fate")?;
            return Err(rusqlite::Error::FromSqlConversionFailure(
                column,
                Type::Text,
                why.into(),
            ));
        }
    })
}

pub(super) fn path(row: &Row<'_>) -> rusqlite::Result<PathBuf> {
    Ok(OsString::from_vec(row.get("path")?).into())
}

/// An offer, of a row with all of its columns.
pub(super) fn offer(row: &Row<'_>) -> rusqlite::Result<KnownOffer> {
    Ok(KnownOffer {
        source: Source {
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
}

/// The records of a file, in order of number.
pub(super) fn records(db: &Connection, file: FileId) -> rusqlite::Result<Vec<Record>> {
    let mut batches = db.prepare(
        "SELECT number, key, head, above, below, ran FROM batch WHERE file = ? ORDER BY number",
    )?;
    let mut records = batches
        .query_map([file], |row| {
            Ok(Record {
                number: row.get("number")?,
                key: row.get("key")?,
                head: row.get("head")?,
                prose: Prose {
                    above: row.get("above")?,
                    below: row.get("below")?,
                },
                ran: row.get("ran")?,
                tasks: Vec::new(),
            })
        })?
        .collect::<rusqlite::Result<Vec<Record>>>()?;
    let mut tasks = db.prepare(
        "SELECT number, task.key, is_exec, fate, changed FROM batch JOIN task ON task.batch = batch.id
         WHERE file = ? ORDER BY number, position",
    )?;
    let mut rows = tasks.query([file])?;
    while let Some(row) = rows.next()? {
        let number = row.get("number")?;
        if let Ok(at) = records.binary_search_by_key(&number, |record| record.number) {
            records[at].tasks.push(TaskRecord {
                key: row.get("key")?,
                is_for_output: row.get("is_exec")?,
                fate: fate(row)?,
            });
        }
    }
    Ok(records)
}

/// The batches that these conditions find, with their tasks.
pub(super) fn log_batches(
    db: &Connection,
    conditions: &str,
    params: impl Params,
) -> rusqlite::Result<Vec<LogBatch>> {
    // An older ledger that is only read has no such column.
    let private = match schema::format(db)? {
        schema::PRIVATE_SINCE.. => "is_private",
        _ => "0 AS is_private",
    };
    let mut batches = db.prepare(&format!(
        "SELECT batch.id, path, number, run, again, began_ms, ended_ms, commit_before, commit_after, {private}
         FROM batch JOIN file ON file.id = batch.file {conditions}"
    ))?;
    let mut rows = batches.query(params)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let commits: (Option<String>, Option<String>) =
            (row.get("commit_before")?, row.get("commit_after")?);
        let private = row.get("is_private")?;
        let commits = commits.0.zip(commits.1).map(|(before, after)| Commits {
            before,
            after,
            private,
        });
        found.push(LogBatch {
            path: path(row)?,
            number: row.get("number")?,
            id: row.get("run")?,
            again: row.get("again")?,
            began_ms: row.get("began_ms")?,
            ended_ms: row.get("ended_ms")?,
            commits,
            tasks: log_tasks(db, row.get("id")?)?,
        });
    }
    Ok(found)
}

fn log_tasks(db: &Connection, batch: i64) -> rusqlite::Result<Vec<LogTask>> {
    let mut tasks = db.prepare(
        "SELECT command, target, mark, message, fate, changed, began_ms, ended_ms FROM task
         WHERE batch = ? ORDER BY position",
    )?;
    let tasks = tasks.query_map([batch], |row| {
        Ok(LogTask {
            command: row.get("command")?,
            target: row.get("target")?,
            mark: row.get("mark")?,
            message: row.get("message")?,
            fate: fate(row)?,
            began_ms: row.get("began_ms")?,
            ended_ms: row.get("ended_ms")?,
        })
    })?;
    tasks.collect()
}
