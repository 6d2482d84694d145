// Package etc is sluice's configuration: the documented sluice.toml, the defaults,
// which are what that file says, and the reader that says file, line, column and
// what is allowed when a file is wrong. Beside it lie the systemd units and the Slurm
// snippets that an installation copies.
package etc
