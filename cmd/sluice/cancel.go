package main

import (
	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

func newCancelCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel JOB...",
		Short: "Cancel jobs, as scancel does",
		Long: `Cancels jobs with Slurm's scancel, as you, and tells sluiced, so that their GPUs go
to other jobs at once. scancel by itself works as well: sluiced then notices at
its next look. A job in the middle of a resize is cancelled too.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			jobs, err := jobNumbers(args)
			if err != nil {
				return err
			}
			c, err := siteFor(cmd)
			if err != nil {
				return err
			}
			client, err := slurmFor(c)
			if err != nil {
				return err
			}
			daemon, err := dial(c)
			if err != nil {
				warn(cmd.ErrOrStderr(), err.Error())
			}
			return each(jobs, func(job elastic.JobID) error {
				if err := client.Cancel(cmd.Context(), slurm.JobID(job)); err != nil {
					return err
				}
				// The daemon is only woken: without it the job is cancelled all the same.
				if daemon != nil {
					_ = daemon.Event(cmd.Context(), job, "cancel")
				}
				return nil
			})
		},
	}
}
