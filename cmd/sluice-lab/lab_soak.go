package main

import (
	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/site/soak"
	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// newLabSoakCommand returns `sluice lab soak`: hours of faults for one sluiced. The
// verdict goes to standard output, a line per minute to standard error.
func newLabSoakCommand() *cobra.Command {
	var o soak.Options
	c := &cobra.Command{
		Use:    "soak",
		Short:  "Run sluiced for hours under random faults, and check what grows",
		Hidden: true,
		Long: `Submits, cancels, resizes and holds emulated trainings at random on a real Slurm
with a real sluiced, while nodes fail and are drained, slurmctld is restarted and
killed and, in the first third of the time, sluiced is killed. Its memory, file
descriptors, goroutines and database are measured all the time; its event log is
compared with Slurm's records each time it was killed and at the end. The exit code
is 0 only if there was no violation and nothing grew.`,
		Example: "  sluice lab soak --hours 8 --seed 1",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bin, err := ownFolder()
			if err != nil {
				return err
			}
			o.Bin, o.Out, o.Story = bin, cmd.OutOrStdout(), cmd.ErrOrStderr()
			ctx, stop := terminal.Interruptible(cmd.Context())
			defer stop()
			return soak.Run(ctx, o)
		},
	}
	f := c.Flags()
	f.Float64Var(&o.Hours, "hours", 1, "how long to cause faults")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the faults")
	f.BoolVar(&o.Fast, "fast", false, "Slurm gives silent nodes up after 5 s and starts their jobs 6 s later (its defaults: 300 s and 121 s)")
	f.StringVar(&o.Root, "root", "", "root of another tree whose Slurm to use, as debootstrap makes it")
	return c
}
