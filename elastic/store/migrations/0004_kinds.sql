-- On which type of GPUs, in which split and beside how many other jobs a speed was seen;
-- whether a job was told that it ends by its deadline. The program gives the rows new
-- sums after this script.
ALTER TABLE samples ADD COLUMN kind     TEXT    NOT NULL DEFAULT '';
ALTER TABLE samples ADD COLUMN split    TEXT    NOT NULL DEFAULT '';
ALTER TABLE samples ADD COLUMN beside   INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs    ADD COLUMN promised INTEGER NOT NULL DEFAULT 0;

PRAGMA user_version = 4;
