-- The user that Slurm runs a job as. user and uid are its owner, by which all rules go; the two differ
-- for confined jobs. The program gives the rows new sums after this script.
ALTER TABLE jobs ADD COLUMN slurm_uid INTEGER NOT NULL DEFAULT 0;
UPDATE jobs SET slurm_uid = uid;

PRAGMA user_version = 9;
