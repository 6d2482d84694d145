package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/elastic/audit"
)

// newLabAuditCommand returns `sluice lab audit`: sluiced's event log, compared with
// Slurm's own records.
func newLabAuditCommand() *cobra.Command {
	var events string
	var o audit.Options
	c := &cobra.Command{
		Use:    "audit DIR",
		Short:  "Compare sluiced's event log with a lab's own records of Slurm",
		Hidden: true,
		Long: `Reads the event log of sluiced (DIR/sluiced.log, JSON at level debug), slurmctld's
log, the job completion log and slurm.conf of the lab in DIR, and derives from
them whether any job had two runs at once, was forgotten, lost progress, had
GPUs of another job, or was changed before sluiced had recorded that it would.
The lab need not run. Each violation is printed with its job, its time and the
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
				return fmt.Errorf("%d violations", n)
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&events, "events", "", "sluiced's log (default: DIR/sluiced.log)")
	f.Int64Var(&o.Confined, "service-uid", 0, "uid of the service account, which runs confined jobs (default: read from sluiced's log)")
	f.DurationVar(&o.Patience, "patience", 15*time.Second, "how long sluiced may take to notice something")
	return c
}
