package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/terminal"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the release of this program and of its sluiced",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			fmt.Fprintln(out, "sluice", version)
			client, err := daemonFor(cmd)
			if err == nil {
				s, asked := client.Status(cmd.Context())
				if err = asked; err == nil {
					fmt.Fprintf(out, "sluiced %s, on %s\n", terminal.Escape(s.Program), terminal.Escape(client.Where()))
					return nil
				}
			}
			fmt.Fprintf(out, "sluiced: none answers: %s\n", terminal.Escape(err.Error()))
			return nil
		},
	}
}
