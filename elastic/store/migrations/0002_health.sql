-- What jobs said against the GPUs of nodes, and which nodes are trusted all the same.
CREATE TABLE complaints (
    node       TEXT    NOT NULL,
    gpu        TEXT    NOT NULL,
    uid        INTEGER NOT NULL,
    label      TEXT    NOT NULL,
    job        INTEGER NOT NULL,
    user       TEXT    NOT NULL,
    unfit      TEXT    NOT NULL,
    first      INTEGER,
    last       INTEGER,
    muted      INTEGER NOT NULL, -- by an operator
    confirmed  INTEGER NOT NULL, -- by another user
    PRIMARY KEY (node, gpu, uid)
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 2;
