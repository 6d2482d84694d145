package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// daemonFor returns the daemon of the site in force.
func daemonFor(cmd *cobra.Command) (*client.Client, error) {
	c, err := reach.Site(cmd)
	if err != nil {
		return nil, err
	}
	if cmd.Name() != "event" {
		reach.TellRival(cmd)
	}
	return reach.Dial(c)
}

// each applies an operation to every job and continues after a failure, as Slurm's
// commands do; the errors are joined, each naming its job.
func each(jobs []elastic.JobID, do func(elastic.JobID) error) error {
	var errs []error
	for _, job := range jobs {
		if err := do(job); err != nil {
			errs = append(errs, named(job, err))
			if errors.Is(err, wire.ErrNoDaemon) {
				break // the next one will fail too
			}
		}
	}
	return errors.Join(errs...)
}

// named makes sure that an error names its job.
func named(job elastic.JobID, err error) error {
	if strings.Contains(err.Error(), fmt.Sprint(job)) {
		return err
	}
	return fmt.Errorf("job %d: %w", job, err)
}

// warnBlind warns the user if the data shown is old.
func warnBlind(errs io.Writer, blind string, seconds float64, at time.Time) {
	if blind == "" {
		return
	}
	terminal.Warn(errs, fmt.Sprintf("sluiced has had no answer from Slurm for %s; this is the state of %s: %s",
		present.Span(seconds), present.When(at), terminal.Escape(blind)))
}

// helpWithoutShorthand frees -h, which means "no header" in Slurm's tools.
func helpWithoutShorthand(c *cobra.Command) { c.Flags().Bool("help", false, "print this help") }
