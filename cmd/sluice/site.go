package main

import (
	"time"

	"github.com/sluice-hpc/sluice/etc"
	"github.com/sluice-hpc/sluice/slurm/command"
)

// slurmFor returns the Slurm that the site's configuration names.
func slurmFor(c etc.Config) (*command.Client, error) {
	return command.New(command.Config{Dir: c.Slurm.Bin, Conf: c.Slurm.Conf, Timeout: c.Slurm.Timeout, Now: time.Now})
}
