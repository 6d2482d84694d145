// Package sbatch parses what a user gives to 'sluice submit': a command line with options
// of sbatch and sluice, the environment, and a job script with #SBATCH and #SLUICE lines.
// It returns what the job requests (Request), refuses what cannot be resized, and renders
// the batch script and the arguments for the real sbatch.
//
// The command line is read as getopt_long reads it for sbatch 20.11 to 26.05, script
// lines as sbatch itself reads them. Options that do not concern sluice reach sbatch as
// typed and where they were typed: on the command line or on a script line.
//
// The package is pure: it opens no file, runs no program and reads no environment.
package sbatch
