// Command sluice-lab is "sluice lab": a real Slurm on this machine, and tests that run on
// it. It is a separate program because users who submit jobs do not need it.
package main

import (
	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// version is set when the program is built.
var version = "unknown"

func main() { terminal.Main(newCommand(), "lab") }

func newCommand() *cobra.Command { return terminal.Tree(version, newLabCommand()) }
