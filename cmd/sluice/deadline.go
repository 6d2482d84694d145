package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/sbatch"
)

func newDeadlineCommand() *cobra.Command {
	var at, mode string
	c := &cobra.Command{
		Use:   "deadline JOB... --at TIME|none [--mode hard|soft]",
		Short: "Change the time by which jobs should end",
		Long: `Changes the deadline of a waiting or running job, or takes it away, and prints at once
whether it is admitted. An admission stays if the deadline moves to a later time. A
running job is not stopped. The job needs --epochs or --steps from its submission.

Modes: hard, a waiting job starts only once its deadline is admitted; soft, it runs
in any case.`,
		Example: "  sluice deadline 4711 --at 18:00\n  sluice deadline 4711 --at now+8hours --mode soft\n  sluice deadline 4711 --at none",
		Args:    someJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := deadlineOrder(at, mode, time.Now())
			if err != nil {
				return err
			}
			return redate(cmd, args, change)
		},
	}
	c.Flags().StringVar(&at, "at", "", "now+8hours, 18:00, 2026-11-23T18:00, or none")
	c.Flags().StringVar(&mode, "mode", "hard", "hard or soft")
	return c
}

// deadlineOrder reads the options.
func deadlineOrder(at, mode string, now time.Time) (wire.Change, error) {
	change := wire.Change{Order: wire.NewDeadline}
	soft, err := sbatch.ParseDeadlineMode(mode)
	switch {
	case err != nil:
		return change, fmt.Errorf("invalid --mode %q: %w", mode, err)
	case at == "":
		return change, fmt.Errorf("--at is required: a time, or none")
	case at == "none" && soft:
		return change, fmt.Errorf("--mode soft needs a time in --at")
	case at == "none":
		return change, nil
	}
	if change.Deadline, err = sbatch.ParseDeadline(at, now); err != nil {
		return change, fmt.Errorf("invalid --at %q: %w, or none", at, err)
	}
	change.Soft = soft
	return change, change.Validate()
}

// redate sends the order for every job named and prints what was decided about each.
func redate(cmd *cobra.Command, args []string, change wire.Change) error {
	return eachNamed(cmd, args, change, func(c *client.Client, job elastic.JobID, change wire.Change) error {
		said, err := c.Deadline(cmd.Context(), job, change)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "job %d: %s\n", job, judgedLine(said))
		return err
	})
}

// judgedLine is what was decided about a new deadline, and what to do about it.
func judgedLine(said wire.Judgement) string {
	if said.Deadline.IsZero() {
		return "no deadline"
	}
	return admissionLine(wire.Explanation{Policy: said.Policy, Promises: said.Promises, Job: wire.Job{
		JobID: said.JobID, Deadline: said.Deadline, Soft: said.Soft, Promised: said.Promised, Ends: said.Ends, Due: said.Due}})
}
