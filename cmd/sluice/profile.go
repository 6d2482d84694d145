package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/checkpoint/runner"
	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// usualProfile is the default number of steps to measure.
var usualProfile = runner.Profile{Warmup: 5, Steps: 20}

// newProfileCommand returns "sluice profile". Like submit it accepts sbatch's options,
// which cobra cannot parse.
func newProfileCommand() *cobra.Command {
	return &cobra.Command{
		Use:                   "profile JOBSCRIPT --sizes 1,2,4 [options] [script args...]",
		Short:                 "Measure how fast a job script is at several sizes",
		Long:                  profileHelp,
		Example:               profileExample,
		DisableFlagParsing:    true,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			p := profiling{out: cmd.OutOrStdout(), errs: cmd.ErrOrStderr(), environ: os.Environ(), in: os.Stdin}
			err := p.profile(ctx, cmd, args)
			var code terminal.ExitCode
			if err == nil || errors.As(err, &code) {
				return err
			}
			terminal.Complain(p.errs, err)
			return terminal.ExitCode(1)
		},
	}
}

const (
	profileHelp = `Runs a job script for a few steps at each of several sizes, as normal jobs of yours,
and prints how fast it is at each: the curve from which sluice decides. The result is
kept under the script's --model, for your later jobs of that name.

A program that uses sluice's library, or whose log is read by --progress-regex,
needs no change. Each run ends by itself once its steps are measured; its folder,
checkpoints and output are removed. A program that writes into its working directory
does so here too: redirect it with its own arguments, and use --sequential if
concurrent runs would disturb each other. A step must be the same work at every
size: the same global batch.

Only idle GPUs are used: a size waits until that many are idle in its partitions (all,
if none is named) and no other job waits for GPUs there. All sizes run at once if they
fit.

  --sizes=LIST          numbers of GPUs, such as 1,2,4, at most 16 of them (a few from
                        the script's --min-gpus to its --max-gpus, each at least
                        twice the one before)
  --steps=N             steps to measure at each size (20)
  --warmup=N            steps before them that do not count (5)
  --limit=TIME          longest time for one run, from its first line on (10m)
  --wait=TIME           longest time to wait until a run can start (10m)
  --sequential          one run after the other
  -o, --output=FILE     draw the curve: .png or .svg
  --json, --csv         print that instead of the table

Write them before the script or right after it; what follows is the script's own,
at the latest after "--". All options of 'sluice submit' and sbatch are accepted
before the script, except --output and --wait, which are profile's.`

	profileExample = `  sluice profile train.sh --sizes 1,2,4,8 -o curve.png
  sluice profile -p gpu --model=resnet50 --sizes 1,4 train.sh --batch-size 256
  sluice profile train.sh --sizes 1,2 -- --sizes-of-the-script`
)
