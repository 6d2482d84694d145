package main

import (
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

func newHoldCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "hold JOB...",
		Short: "Keep jobs from starting (again) until released",
		Long: `Keeps a waiting job from being started. A running job goes on, and is not started
again if it is stopped.`,
		Args: someJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return direct(cmd, args, wire.Change{Order: wire.Hold})
		},
	}
}

// direct sends the same order for every job named.
func direct(cmd *cobra.Command, args []string, change wire.Change) error {
	return eachNamed(cmd, args, change, func(c *client.Client, job elastic.JobID, change wire.Change) error {
		return c.Direct(cmd.Context(), job, change)
	})
}

// eachNamed gives an order about every job named.
func eachNamed(cmd *cobra.Command, args []string, change wire.Change, order func(*client.Client, elastic.JobID, wire.Change) error) error {
	c, err := daemonFor(cmd)
	if err != nil {
		return err
	}
	jobs, err := jobsNamed(cmd.Context(), args, c.Report)
	if err != nil {
		return err
	}
	return each(jobs, func(job elastic.JobID) error {
		change.Incarnation = incarnation(job)
		return order(c, job, change)
	})
}

// incarnation is the number of the placement of the job that this process belongs to; 0
// outside a job. Processes left of an earlier run MUST NOT direct the next.
func incarnation(job elastic.JobID) int {
	if os.Getenv("SLUICE_JOB_ID") != strconv.FormatInt(int64(job), 10) {
		return 0
	}
	n, err := strconv.Atoi(os.Getenv("SLUICE_INCARNATION"))
	if err != nil {
		return 0
	}
	return max(n, 0)
}
