package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// seconds is the interval of -i, in seconds; 0 = print once.
type seconds int

// maxInterval bounds -i: a day.
const maxInterval = 86400

func (s *seconds) flag(c *cobra.Command) {
	c.Flags().IntVarP((*int)(s), "iterate", "i", 0, "print again every so many seconds, until ^C")
}

// repeat prints once, or again and again until ^C: below a line with the time, as squeue -i
// does. It goes on without an answer: the daemon may be restarting.
func (s *seconds) repeat(cmd *cobra.Command, print func(context.Context) error) error {
	if !cmd.Flags().Changed("iterate") {
		return print(cmd.Context())
	}
	if *s < 1 || *s > maxInterval {
		return fmt.Errorf("invalid --iterate %d: want 1 to %d seconds", *s, maxInterval)
	}
	ctx, stop := terminal.Interruptible(cmd.Context())
	defer stop()
	wait := func() bool {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(time.Duration(*s) * time.Second):
			return true
		}
	}
	return again(cmd, func() error { return print(ctx) }, time.Now, wait)
}

// again prints, each time below the time, until wait returns false.
func again(cmd *cobra.Command, print func() error, now func() time.Time, wait func() bool) error {
	for {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), now().Format(time.ANSIC)); err != nil {
			return err // nobody reads any more
		}
		err := print()
		if err != nil {
			terminal.Complain(cmd.ErrOrStderr(), err)
		}
		if !wait() {
			return nil
		}
		fmt.Fprintln(cmd.OutOrStdout())
	}
}
