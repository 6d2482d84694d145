-- Which scripts and models of which users have answered a request with a checkpoint.
CREATE TABLE answers (
    uid        INTEGER NOT NULL,
    key        TEXT    NOT NULL, -- script/DIGEST or model/NAME
    at         INTEGER NOT NULL, -- when that was noted last
    sum        INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (uid, key)
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 5;
