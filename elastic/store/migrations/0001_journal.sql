-- Times are nanoseconds since 1970 in UTC, NULL when unknown. Durations are
-- nanoseconds. Placements and tags are JSON.
PRAGMA application_id = 1936487779; -- "slic"

CREATE TABLE intents (
    id           INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice
    job          INTEGER NOT NULL,
    kind         TEXT    NOT NULL,
    step         INTEGER NOT NULL,
    incarnation  INTEGER NOT NULL,
    placed       TEXT    NOT NULL, -- before
    target       TEXT    NOT NULL, -- after
    any_nodes    INTEGER NOT NULL,
    restarts     INTEGER NOT NULL,
    request      TEXT    NOT NULL,
    checkpoint   TEXT    NOT NULL,
    cause        TEXT    NOT NULL,
    fallbacks    INTEGER NOT NULL,
    opened       INTEGER,
    moved        INTEGER,
    asked_at     INTEGER,
    saved_at     INTEGER,
    requeued_at  INTEGER,
    pending_at   INTEGER,
    released_at  INTEGER,
    outcome      TEXT,             -- NULL while open
    why          TEXT,
    closed_at    INTEGER
) STRICT;

-- One open move a job.
CREATE UNIQUE INDEX intents_open ON intents (job) WHERE outcome IS NULL;
CREATE INDEX intents_closed ON intents (closed_at) WHERE outcome IS NOT NULL;

CREATE TABLE jobs (
    token       TEXT    PRIMARY KEY,
    id          INTEGER NOT NULL,
    name        TEXT    NOT NULL,
    user        TEXT    NOT NULL,
    uid         INTEGER NOT NULL,
    partition   TEXT    NOT NULL,
    tag         TEXT    NOT NULL,
    submitted   INTEGER,
    first_run   INTEGER,
    ended       INTEGER,           -- NULL while alive
    state       TEXT    NOT NULL,
    place       TEXT    NOT NULL,
    restarts    INTEGER NOT NULL,
    speaks      INTEGER NOT NULL,
    deaf        INTEGER NOT NULL,
    done        REAL    NOT NULL,
    read_to     INTEGER NOT NULL,  -- offset in progress.jsonl
    moved       INTEGER,
    save_ns     INTEGER NOT NULL,
    drain_ns    INTEGER NOT NULL,
    start_ns    INTEGER NOT NULL,
    load_ns     INTEGER NOT NULL,
    measured    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX jobs_ended ON jobs (ended);

CREATE TABLE segments (
    token        TEXT    NOT NULL,
    restarts     INTEGER NOT NULL,
    incarnation  INTEGER NOT NULL,
    place        TEXT    NOT NULL,
    started      INTEGER,
    ended        INTEGER,          -- NULL while it runs
    done_from    REAL    NOT NULL,
    done_to      REAL    NOT NULL,
    seconds      REAL    NOT NULL,
    cause        TEXT    NOT NULL,
    save_ns      INTEGER NOT NULL,
    drain_ns     INTEGER NOT NULL,
    start_ns     INTEGER NOT NULL,
    load_ns      INTEGER NOT NULL,
    measured     INTEGER NOT NULL,
    PRIMARY KEY (token, restarts)
) STRICT, WITHOUT ROWID;

CREATE TABLE samples (
    id       INTEGER PRIMARY KEY,
    model    TEXT    NOT NULL,
    gpus     INTEGER NOT NULL,
    nodes    INTEGER NOT NULL,
    seconds  REAL    NOT NULL,
    units    REAL    NOT NULL,
    at       INTEGER NOT NULL     -- the smallest integer when unknown, so that it sorts first
) STRICT;

CREATE INDEX samples_model ON samples (model, at, id);

PRAGMA user_version = 1;
