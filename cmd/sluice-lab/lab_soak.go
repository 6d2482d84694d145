package main

import (
	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/site/soak"
	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// newLabSoakCommand makes `sluice lab soak`: hours of trouble for one sluiced. The
// verdict goes to standard output, a line a minute to standard error.
func newLabSoakCommand() *cobra.Command {
	var o soak.Options
	c := &cobra.Command{
		Use:    "soak",
		Short:  "Let sluiced live for hours among random trouble, and see what grows",
		Hidden: true,
		Long: `Submits, cancels, resizes and holds emulated trainings at random on a real Slurm
with a real sluiced, while nodes fail and are drained, slurmctld is restarted and
killed and, in the first third of the time, sluiced is killed. Its memory, file
descriptors, goroutines and database are measured all the time; what Slurm recorded
is held against what sluiced said it did each time it was killed and at the end. The
exit code is 0 only if every promise was kept and nothing grew.`,
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
	f.Float64Var(&o.Hours, "hours", 1, "how long to make trouble")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the troubles")
	f.BoolVar(&o.Fast, "fast", false, "Slurm gives silent nodes up after 5 s and starts their jobs 6 s later (its defaults: 300 s and 121 s)")
	f.StringVar(&o.Root, "root", "", "root of another tree whose Slurm to use, as debootstrap makes it")
	return c
}
