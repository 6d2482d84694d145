-- How a job ended, as it was known then; whether Slurm itself holds it, since its dependency
-- cannot be satisfied. The program gives the rows new sums after this script.
ALTER TABLE jobs ADD COLUMN barred INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN ending TEXT    NOT NULL DEFAULT '{}';

PRAGMA user_version = 6;
