// Command sluice-top is "sluice top": jobs, nodes and their time on a terminal, for as long as it is
// open. It is a separate program because what draws on terminals would slow every start of sluice.
package main

import (
	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// version is set when the program is built.
var version = "unknown"

func main() { terminal.Main(newCommand(), "top") }

func newCommand() *cobra.Command { return terminal.Tree(version, newTopCommand()) }
