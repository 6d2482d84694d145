package main

import (
	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/site/exact"
	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// newLabExactCommand returns `sluice lab exact`: a resized and killed training, compared
// with one that was never disturbed. The tables go to standard output, messages to
// standard error.
func newLabExactCommand() *cobra.Command {
	var o exact.Options
	c := &cobra.Command{
		Use:    "exact",
		Short:  "Resize and kill a training on a lab, and compare every step's loss",
		Hidden: true,
		Long: `Trains a small network with PyTorch DDP on a real Slurm with a real sluiced. First
it is resized between 1, 2, 3, 4 and 6 GPUs, and each step's loss compared with
that of a training never resized. Then workers, runners and nodes are killed at
random moments while it is being resized, and now and then a byte of the newest
checkpoint is changed: each time it must resume from the newest checkpoint that
was committed and complete, with the same losses. About 15 s per kill; the exit
code is 0 only if there was no violation.`,
		Example: "  sluice lab exact --kills 200 --seed 1",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bin, err := ownFolder()
			if err != nil {
				return err
			}
			o.Bin, o.Out, o.Story = bin, cmd.OutOrStdout(), cmd.ErrOrStderr()
			ctx, stop := terminal.Interruptible(cmd.Context())
			defer stop()
			return exact.Run(ctx, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Root, "root", "", "root of another tree whose Slurm to use, as debootstrap makes it")
	f.StringVar(&o.Python, "python", "/usr/bin/python3", "Python with torch")
	f.IntVar(&o.Kills, "kills", 200, "how many times to kill; 0 = the exactness table only")
	f.BoolVar(&o.Only, "kills-only", false, "kill at once, without the exactness tables")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the victims and moments")
	f.StringSliceVar(&o.Kinds, "kind", nil, "what to kill: worker, runner, node (default: all)")
	f.IntVar(&o.Labs, "labs", 1, "labs to kill on at the same time, 1 to 16")
	return c
}
