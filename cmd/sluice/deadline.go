package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/sbatch"
)

func newDeadlineCommand() *cobra.Command {
	var mode string
	c := &cobra.Command{
		Use:   "deadline JOB... TIME|none",
		Short: "Give jobs a deadline, change it, or take it away",
		Long: `Changes when jobs should have ended, and says at once whether that is admitted: an
admitted job gets the GPUs that it needs to end in time. The times are those of
'sluice submit --deadline'; a job needs an amount of work, --epochs or --steps.

With --mode=soft a job runs even if its deadline cannot be admitted; else it waits.`,
		Example: "  sluice deadline 4711 now+8hours\n  sluice deadline 4711 2026-11-23T18:00 --mode=soft\n  sluice deadline 4711 none",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return fmt.Errorf("want jobs and a time, or none: sluice deadline JOB... TIME")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := deadlineOrder(args[len(args)-1], mode, time.Now())
			if err != nil {
				return err
			}
			client, err := daemonFor(cmd)
			if err != nil {
				return err
			}
			jobs, err := jobsNamed(cmd.Context(), args[:len(args)-1], client.Report)
			if err != nil {
				return err
			}
			return each(jobs, func(job elastic.JobID) error {
				change.Incarnation = incarnation(job)
				judged, err := client.Deadline(cmd.Context(), job, change)
				if err == nil {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "job %d: %s\n", job, terminal.Escape(judged.Text))
				}
				return err
			})
		},
	}
	c.Flags().StringVar(&mode, "mode", "hard", "hard, or soft: it runs in any case")
	return c
}

// deadlineOrder is the change that a time and a mode mean now.
func deadlineOrder(at, mode string, now time.Time) (wire.Change, error) {
	soft, err := sbatch.ParseMode(mode)
	if err != nil {
		return wire.Change{}, fmt.Errorf("invalid --mode %q: %w", mode, err)
	}
	change := wire.Change{Order: wire.NewDeadline, Soft: soft}
	if at == "none" {
		if soft {
			return change, fmt.Errorf("--mode belongs to a time")
		}
		return change, nil
	}
	if change.Deadline, err = sbatch.ParseTime(at, now); err != nil {
		return change, fmt.Errorf("invalid time %q: %w", at, err)
	}
	return change, nil
}
