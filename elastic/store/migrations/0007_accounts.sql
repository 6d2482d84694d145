-- Slurm's account of a job: NULL in records of releases that did not store it, empty where Slurm
-- has none. The program gives the rows new sums after this script.
ALTER TABLE jobs ADD COLUMN account TEXT;

PRAGMA user_version = 7;
