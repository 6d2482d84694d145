package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// oneJob requires exactly one job number after the verb.
func oneJob(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("one job at a time: %s", usage(cmd))
	}
	return someJobs(cmd, args)
}

// someJobs requires the numbers of one or more jobs.
func someJobs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("which job? %s; 'sluice queue' lists them", usage(cmd))
	}
	return nil
}

// usage is the command's usage line.
func usage(cmd *cobra.Command) string { return "sluice " + cmd.Use }
