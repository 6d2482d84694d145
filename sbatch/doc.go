// Package sbatch understands what a user hands to 'sluice submit': a command
// line of sbatch's options and sluice's own, the environment, and a job script
// with #SBATCH and #SLUICE lines. It says what the job wants (Request), refuses
// what cannot be resized, and renders the batch script and the arguments that
// the real sbatch then gets.
//
// The command line is read as getopt_long reads it for sbatch 20.11 to 26.05,
// script lines as sbatch itself reads them. What sluice has no word to say about
// reaches sbatch as it was typed and where it was typed: command line to command
// line, script line to script line.
//
// The package is pure: it opens no file, runs nothing and reads no environment.
package sbatch
