// Command sluice-top is "sluice top": jobs, nodes and their time on a terminal, for as long as it is
// open. It is a separate program because what draws on terminals would slow every start of sluice.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// version is set when the program is built.
var version = "unknown"

func main() {
	os.Exit(terminal.Run(newCommand(), terminal.Typed(os.Args, "top"), os.Stdout, os.Stderr))
}

// newCommand returns the part of sluice's command tree that is in this program.
func newCommand() *cobra.Command {
	c := &cobra.Command{Use: "sluice", Short: "Elastic GPU jobs on Slurm"}
	terminal.Root(c, version)
	c.AddCommand(newTopCommand())
	return c
}
