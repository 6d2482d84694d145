package main

import (
	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/site/reliability"
)

// newLabFiguresCommand returns `sluice lab figures`: the figures of all campaigns, in one
// table.
func newLabFiguresCommand() *cobra.Command {
	var o reliability.Options
	c := &cobra.Command{
		Use:    "figures [FOLDER]",
		Short:  "Print the figures that campaigns recorded",
		Hidden: true,
		Long: `Reads what campaigns printed, kept by etc/campaign in FOLDER (.campaigns unless told
otherwise), and prints a table of the figures in it with the commits they were made
at. What there is no record of is "not run here"; what failed or was interrupted is
marked.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Folder, o.Out = ".campaigns", cmd.OutOrStdout()
			if len(args) > 0 {
				o.Folder = args[0]
			}
			return reliability.Print(o)
		},
	}
	c.Flags().StringVar(&o.Track, "track-record", "TRACKRECORD.md", "whose bugs to count")
	return c
}
