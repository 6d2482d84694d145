-- By how much a user of an account had less than it deserved by shares, or more, in GPU-seconds, and
-- when: it decays from then on.
CREATE TABLE credits (
    account    TEXT    NOT NULL,
    user       TEXT    NOT NULL,
    seconds    REAL    NOT NULL,
    at         INTEGER,
    sum        INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (account, user)
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 8;
