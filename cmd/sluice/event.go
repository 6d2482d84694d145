package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/elastic"
)

func newEventCommand() *cobra.Command {
	var job, kind string
	c := &cobra.Command{
		Use:   "event",
		Short: "Notify sluiced of an event, so that it starts a cycle at once",
		Long: `Wakes sluiced, which then queries Slurm now instead of at its next period. The event
carries no data and any user may send it; sluiced bounds how many it accepts. The
hook epilog-sluice calls it when a job ends.`,
		Example: "  sluice event --job $SLURM_JOB_ID",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var id elastic.JobID
			var err error
			if job != "" {
				if id, err = jobNamed(cmd.Context(), job, reportFor(cmd)); err != nil {
					return err
				}
			}
			if kind == "" || len(kind) > 32 { // as sluiced
				return fmt.Errorf("invalid --kind %q: want a word of at most 32 letters", kind)
			}
			client, err := daemonFor(cmd)
			if err != nil {
				return err
			}
			return client.Event(cmd.Context(), id, kind)
		},
	}
	c.Flags().StringVar(&job, "job", "", "the job concerned")
	c.Flags().StringVar(&kind, "kind", "end", "what happened: submit, cancel, end")
	return c
}
