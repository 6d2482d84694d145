// Command sluice-web is "sluice web": pages of the cluster, its jobs, their past and what is
// expected, and orders about them. It runs as one user, for that user, or as an account of its own
// behind a site's web server. It is a separate program because HTTP is a third of a program that
// every job starts twice.
package main

import (
	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// version is set when the program is built.
var version = "unknown"

func main() { terminal.Main(newCommand(), "web") }

func newCommand() *cobra.Command { return terminal.Tree(version, newWebCommand()) }
