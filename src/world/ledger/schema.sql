-- The tables of the ledger.
--
-- Ids are never used again (`AUTOINCREMENT`), so that one which a process still has cannot come to mean something else.
-- Times are Unix time: in milliseconds where the name ends with `_ms`, else in seconds.

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
    -- The commits are in a private repository.
    is_private INTEGER NOT NULL DEFAULT 0,
    -- The results block that tells of its end; 0 while none does.
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
    -- It is in its file, or need not come there.
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
    -- It answers a question before a task runs.
    approves INTEGER NOT NULL DEFAULT 0,
    -- The place at which it carries out an edit, as JSON.
    spot TEXT,
    PRIMARY KEY (block, line)
) STRICT, WITHOUT ROWID;

-- The results that the newest block of a file shows.
CREATE TABLE unread (
    file INTEGER PRIMARY KEY REFERENCES file ON DELETE CASCADE,
    block INTEGER NOT NULL,
    -- As JSON.
    results TEXT NOT NULL,
    -- NULL until they are in the file.
    written_ms INTEGER,
    is_read INTEGER NOT NULL DEFAULT 0
) STRICT;
