// Command sluice-lab is "sluice lab": a real Slurm on this machine, and tests that run on
// it. It is a separate program because users who submit jobs do not need it.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// version is set when the program is built.
var version = "unknown"

func main() {
	os.Exit(terminal.Run(newCommand(), terminal.Typed(os.Args, "lab"), os.Stdout, os.Stderr))
}

// newCommand returns the part of sluice's command tree that is in this program.
func newCommand() *cobra.Command {
	c := &cobra.Command{Use: "sluice", Short: "Elastic GPU jobs on Slurm"}
	terminal.Root(c, version)
	c.AddCommand(newLabCommand())
	return c
}
