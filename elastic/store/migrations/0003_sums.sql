-- A sum of every row, and of every table what its rows add up to, so that a byte
-- that changed by itself is seen. The program fills them in after this script.
ALTER TABLE intents    ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs       ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE segments   ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE samples    ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE complaints ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;

CREATE TABLE tally (
    of      TEXT    PRIMARY KEY,   -- a table's name, or 'store'
    n       INTEGER NOT NULL,      -- its rows; of the store: how often it was opened
    mix     INTEGER NOT NULL,      -- the rows' sums, by exclusive or
    last    INTEGER NOT NULL,      -- the highest id ever given; of the store: its schema
    sum     INTEGER NOT NULL       -- of this row
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 3;
