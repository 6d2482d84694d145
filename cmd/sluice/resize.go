package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

func newResizeCommand() *cobra.Command {
	var size string
	c := &cobra.Command{
		Use:   "resize JOB... --gpus N|auto",
		Short: "Pin jobs to a number of GPUs, or let sluice decide again",
		Long: `Pins a job to a number of GPUs that it accepts. A running job is resized by
checkpoint as soon as the GPUs are free; other jobs keep at least their minimum.
'auto' undoes it.`,
		Example: "  sluice resize 4711 --gpus 4\n  sluice resize 4711 --gpus auto",
		Args:    someJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := sizeOrder(size)
			if err != nil {
				return err
			}
			return direct(cmd, args, change)
		},
	}
	c.Flags().StringVarP(&size, "gpus", "G", "", "number of GPUs, or auto")
	return c
}

func sizeOrder(size string) (wire.Change, error) {
	if size == "" {
		return wire.Change{}, fmt.Errorf("--gpus is required: a number, or auto")
	}
	if size == "auto" {
		return wire.Change{Order: wire.Unpin}, nil
	}
	n, err := strconv.Atoi(size)
	if err != nil {
		return wire.Change{}, fmt.Errorf("invalid --gpus %q: want a number, or auto", size)
	}
	change := wire.Change{Order: wire.Pin, GPUs: n}
	return change, change.Validate()
}
