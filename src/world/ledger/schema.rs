//! The tables of the ledger and the way from each format to the next. Never touches what is in them.

use rusqlite::{Connection, Transaction};

/// What makes each format out of the one before; the first makes it out of an empty database. `PRAGMA user_version` says
/// how many of these were done. A format that was released is never edited here: changes are a new one.
const MIGRATIONS: [&str; 5] = [FIRST, APPROVALS, PRIVATE, SPOTS, UNREAD];

/// The first format that knows of private repositories.
pub(super) const PRIVATE_SINCE: usize = 3;

/// The format that this program reads and writes.
pub(super) const FORMAT: usize = MIGRATIONS.len();

/// Ids are never used again (`AUTOINCREMENT`), so that one which a process still has cannot come to mean something else.
/// Times are Unix time: in milliseconds where the name ends with `_ms`, else in seconds.
const FIRST: &str = "
CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;
INSERT INTO meta VALUES ('seed', randomblob(16));

CREATE TABLE file (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path BLOB NOT NULL UNIQUE,
    state TEXT NOT NULL DEFAULT '',
    -- The numbers of the batches that are in the file, as a JSON array.
    present TEXT NOT NULL DEFAULT '[]'
) STRICT;

CREATE TABLE batch (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    file INTEGER NOT NULL REFERENCES file ON DELETE CASCADE,
    number INTEGER NOT NULL,
    key INTEGER NOT NULL,
    head INTEGER NOT NULL,
    above INTEGER,
    below INTEGER,
    ran INTEGER,
    -- When this row was written.
    time INTEGER NOT NULL,
    -- NULL when the details are forgotten.
    text TEXT,
    run TEXT,
    again INTEGER,
    -- NULL for a batch that was only noted.
    began_ms INTEGER,
    ended_ms INTEGER,
    commit_before TEXT,
    commit_after TEXT,
    -- Whether a results block tells of its end.
    told INTEGER NOT NULL DEFAULT 0,
    UNIQUE (file, number)
) STRICT;
CREATE INDEX batch_began ON batch (began_ms) WHERE began_ms IS NOT NULL;

CREATE TABLE task (
    batch INTEGER NOT NULL REFERENCES batch ON DELETE CASCADE,
    position INTEGER NOT NULL,
    key INTEGER NOT NULL,
    is_exec INTEGER NOT NULL,
    command TEXT NOT NULL,
    target TEXT NOT NULL,
    fate TEXT NOT NULL,
    -- The targets of a task that is done, as a JSON array.
    changed TEXT,
    -- NULL until the task has an outcome.
    mark TEXT,
    message TEXT,
    began_ms INTEGER,
    ended_ms INTEGER,
    PRIMARY KEY (batch, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE block (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    file INTEGER NOT NULL REFERENCES file ON DELETE CASCADE,
    -- NULL for a block that is not ours.
    key INTEGER,
    text TEXT NOT NULL,
    -- Whether it is in its file, or need not come there.
    delivered INTEGER NOT NULL,
    time INTEGER NOT NULL
) STRICT;
CREATE INDEX block_file ON block (file);
CREATE INDEX block_key ON block (key) WHERE key IS NOT NULL;

CREATE TABLE offer (
    block INTEGER NOT NULL REFERENCES block ON DELETE CASCADE,
    line INTEGER NOT NULL,
    -- A JSON array of pairs: a batch, and its tasks.
    batches TEXT NOT NULL,
    used INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (block, line)
) STRICT, WITHOUT ROWID;
";

/// Offers that answer a question before a task runs.
const APPROVALS: &str = "ALTER TABLE offer ADD COLUMN approves INTEGER NOT NULL DEFAULT 0;";

/// Commits in a private repository.
const PRIVATE: &str = "ALTER TABLE batch ADD COLUMN is_private INTEGER NOT NULL DEFAULT 0;";

/// Offers to carry out an edit at a place, as JSON.
const SPOTS: &str = "ALTER TABLE offer ADD COLUMN spot TEXT;";

/// The results that the newest block of a file shows, and the block that told of a batch: `told` holds its id from now on.
const UNREAD: &str = "
CREATE TABLE unread (
    file INTEGER PRIMARY KEY REFERENCES file ON DELETE CASCADE,
    block INTEGER NOT NULL,
    -- As JSON.
    results TEXT NOT NULL,
    -- NULL until they are in the file.
    written_ms INTEGER,
    is_read INTEGER NOT NULL DEFAULT 0
) STRICT;
";

/// The format of a database; 0 for an empty one.
pub(super) fn format(db: &Connection) -> rusqlite::Result<usize> {
    db.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Brings a database from its format to this program's.
pub(super) fn migrate(db: &Transaction<'_>) -> rusqlite::Result<()> {
    for step in MIGRATIONS.iter().skip(format(db)?) {
        db.execute_batch(step)?;
    }
    db.pragma_update(None, "user_version", FORMAT)
}
