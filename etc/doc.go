// Package etc is sluice's configuration: the documented sluice.toml, the defaults, which
// are the values in that file, and its reader, which reports file, line, column and the
// allowed values if a file is invalid. The systemd units and Slurm snippets for an
// installation are in the same folder.
package etc
