package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

func newCheckpointCommand() *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use:   "checkpoint JOB... [--wait]",
		Short: "Make running jobs save now, and continue",
		Long: `Asks running jobs for a checkpoint. They continue training in place once they have
saved. With --wait it returns when the checkpoint is verified, and prints its name
and step; it fails if there is no checkpoint within the job's grace period.`,
		Args: someJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !wait {
				return direct(cmd, args, wire.Change{Order: wire.Save})
			}
			client, err := daemonFor(cmd)
			if err != nil {
				return err
			}
			jobs, err := jobsNamed(cmd.Context(), args, client.Report)
			if err != nil {
				return err
			}
			return each(jobs, func(job elastic.JobID) error {
				saved, err := saveAndWait(cmd.Context(), client, job)
				if err == nil {
					fmt.Fprintf(cmd.OutOrStdout(), "job %d saved checkpoint %s at step %d, epoch %s\n", job, saved.Checkpoint, saved.Step, strconv.FormatFloat(saved.Epoch, 'f', -1, 64))
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "return when the checkpoint is verified, and print it")
	return cmd
}

func newRequeueCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "requeue JOB...",
		Short: "Make running jobs save, stop, and start again when their turn comes",
		Long: `Asks running jobs for a checkpoint, requeues them once it is verified, and lets them
wait for their turn like any other job: they are placed again and resume from it. A job
that does not save within its grace period runs on; "scontrol requeue" stops such a job,
and it resumes from its newest checkpoint, if it has one.`,
		Args: someJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return direct(cmd, args, wire.Change{Order: wire.Requeue})
		},
	}
}

// lookEvery is how often --wait checks.
const lookEvery = 300 * time.Millisecond

// saveAndWait makes a job save and returns the verified checkpoint. The job is looked at BEFORE the
// order, so that also a checkpoint that is verified at once differs from the one before.
func saveAndWait(ctx context.Context, client *client.Client, job elastic.JobID) (wire.Saved, error) {
	before, err := client.Explain(ctx, job)
	if err == nil {
		err = client.Direct(ctx, job, wire.Change{Order: wire.Save, Incarnation: incarnation(job)})
	}
	if err != nil {
		return wire.Saved{}, err
	}
	for {
		now, err := client.Explain(ctx, job)
		if err != nil {
			return wire.Saved{}, err
		}
		switch j, was := now.Job, before.Job.Saved; {
		case j.Saved != nil && (was == nil || was.Request != j.Saved.Request):
			return *j.Saved, nil
		case j.Ended:
			return wire.Saved{}, fmt.Errorf("job %d ended (%s) before it had saved", job, j.State)
		case j.Move == nil && j.Last != before.Job.Last: // how the request was closed
			return wire.Saved{}, fmt.Errorf("job %d has not saved: %s", job, j.Last)
		}
		select {
		case <-ctx.Done():
			return wire.Saved{}, ctx.Err()
		case <-time.After(lookEvery):
		}
	}
}
