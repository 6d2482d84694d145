package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic"
)

func newCancelCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel JOB...",
		Short: "Cancel jobs, as scancel does",
		Long: `Cancels jobs with Slurm's scancel, as you, and tells sluiced, so that their GPUs go
to other jobs at once. scancel by itself works as well: sluiced then notices at
its next cycle. A job in the middle of a resize is cancelled too.

A number is one job, for sluice as for Slurm, also that of an array's first: 101_* is
every task of array 101, 101_3 and 101_[4-7] are some.`,
		Example: "  sluice cancel 4711\n  sluice cancel '101_*'",
		Args:    someJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := reach.Site(cmd)
			if err != nil {
				return err
			}
			client, err := slurmFor(c)
			if err != nil {
				return err
			}
			daemon, err := reach.Dial(c)
			if err != nil { // jobs can be cancelled without sluiced
				terminal.Warn(cmd.ErrOrStderr(), err.Error())
			}
			words, err := present.JobWords(args)
			if err != nil {
				return err
			}
			var known []present.ArrayTask
			if slices.ContainsFunc(words, present.JobWord.Many) { // Slurm knows them without sluiced
				all, err := client.Jobs(cmd.Context())
				if err != nil {
					return err
				}
				known = tagged(all)
			}
			jobs, err := expand(words, known)
			if err != nil {
				return err
			}
			if daemon != nil {
				if report, err := daemon.Report(cmd.Context()); err == nil {
					for _, text := range goOn(present.Reported(report), jobs) {
						defer terminal.Warn(cmd.ErrOrStderr(), text) // below what Slurm says of these jobs
					}
				}
			}
			confined := confinedJobsAt(cmd.Context(), c)
			return each(jobs, func(job elastic.JobID) error {
				if err := confined.cancel(cmd.Context(), client, job); err != nil {
					return err
				}
				// sluiced is only woken: without it the job is cancelled all the same.
				if daemon != nil {
					_ = daemon.Event(cmd.Context(), job, "cancel")
				}
				return nil
			})
		},
	}
}

// goOn warns a user who cancels the first job of an array, which has the array's number,
// that the other tasks go on.
func goOn(known []present.ArrayTask, cancelled []elastic.JobID) (out []string) {
	for _, id := range cancelled {
		first, others := slices.IndexFunc(known, func(t present.ArrayTask) bool { return t.Job == id && t.Array == id }), 0
		for _, t := range known {
			if first >= 0 && t.Array == id && t.UID == known[first].UID && !t.Ended && !slices.Contains(cancelled, t.Job) {
				others++
			}
		}
		if others > 0 {
			out = append(out, fmt.Sprintf("job %d is task %d of array %d; its %s continue: sluice cancel '%d_*' ends them", id, known[first].Index, id, terminal.Plural(others, "other task"), id))
		}
	}
	return out
}
