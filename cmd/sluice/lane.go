package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/checkpoint/lane"
)

// newLaneCommand returns "sluice lane", which is the program of the jobs of a sweep.
func newLaneCommand() *cobra.Command {
	var c lane.Config
	var standIn string
	cmd := &cobra.Command{
		Use:   "lane --sweep DIR --outbox DIR [-- ARGS...]",
		Short: "Run trials of a sweep inside one of its jobs",
		Long: `Every job that sluice submit --sweep makes runs this command. It asks sluiced for a
trial through files, runs the user's script with the trial's parameters under sluice
run, records what the script reports, and asks for the next trial. When the job is
asked to save, the trial saves and ends; it goes on in the next lane that is free.

A trial's script has, in addition to the variables of sluice run:
  SLUICE_SWEEP          the sweep
  SLUICE_TRIAL          the trial, from 1
  SLUICE_SEED           its seed: that of the sweep, plus one for each repeat before
  SLUICE_TRIAL_METRIC   the metric by which the sweep searches
  SLUICE_PARAM_NAME     the value of the parameter name, for each parameter
  SLUICE_PARAMS         a file with all of them as JSON`,
		RunE: func(_ *cobra.Command, args []string) error {
			if standIn != "" {
				return exitAs(lane.StandIn(standIn, os.Environ(), time.Now, os.Stderr))
			}
			c.Args, c.Env, c.Now = args, os.Environ(), time.Now
			c.Stdout, c.Stderr = os.Stdout, os.Stderr
			c.Sluice, _ = os.Executable()
			return exitAs(lane.Run(c))
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().StringVar(&c.Sweep, "sweep", "", "the sweep's folder")
	cmd.Flags().StringVar(&c.Outbox, "outbox", "", "directory of sluiced's requests")
	cmd.Flags().StringVar(&standIn, "stand-in", "", "hand the trial to the process with this folder")
	cmd.Flags().IntVar(&c.Slot, "slot", 0, "of the trials that the lane runs at once, run this one")
	cmd.Flags().DurationVar(&c.Measure, "measure", 0, "how long the speed of trials that share GPUs is measured (10s)")
	cmd.Flags().BoolVar(&c.Elastic, "elastic", false, "the job accepts several sizes: report how fast its trials are")
	cmd.Flags().DurationVar(&c.Grace, "grace", 0, "how long a trial may take to save when it is stopped")
	return cmd
}
