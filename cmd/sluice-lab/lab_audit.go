package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/elastic/audit"
)

// newLabAuditCommand makes `sluice lab audit`: what sluiced says it did, held
// against Slurm's own records.
func newLabAuditCommand() *cobra.Command {
	var events string
	var o audit.Options
	c := &cobra.Command{
		Use:    "audit DIR",
		Short:  "Hold sluiced's event log against a lab's own records of Slurm",
		Hidden: true,
		Long: `Reads the event log of sluiced (DIR/sluiced.log, JSON at level debug), slurmctld's
log, the job completion log and slurm.conf of the lab in DIR, and derives from
them alone whether any job had two runs at once, was forgotten, lost progress, had
GPUs of another's, or was changed before sluiced had written down that it would.
The lab need not run. Each broken promise is printed with its job, its time and the
lines of both sides; the exit code is 0 only if there is none.`,
		Example: "  sluice lab audit /tmp/sluice-demo-4711",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			places := audit.Site(args[0])
			if events != "" {
				places.Events = events
			}
			evidence, err := audit.Read(places, time.Local)
			if err != nil {
				return err
			}
			report := audit.Check(evidence, o)
			fmt.Fprint(cmd.OutOrStdout(), report)
			if n := len(report.Violations); n > 0 {
				return fmt.Errorf("%d broken promises", n)
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&events, "events", "", "sluiced's log (default: DIR/sluiced.log)")
	f.DurationVar(&o.Patience, "patience", 15*time.Second, "how long sluiced may take to notice something")
	return c
}
