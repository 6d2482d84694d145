package main

import (
	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

func newReleaseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "release JOB...",
		Short: "Let held jobs start ('sluice hold')",
		Args:  someJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return direct(cmd, args, wire.Change{Order: wire.Release})
		},
	}
}
