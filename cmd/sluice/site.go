package main

import (
	"time"

	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/etc"
	"github.com/sluice-hpc/sluice/slurm/command"
)

// The functions of cmd/reach, by the names that the verbs use.
var (
	siteFor   = reach.Site
	loadSite  = reach.Load
	tellRival = reach.TellRival
	dial      = reach.Dial
	addressOf = reach.Address
	askable   = reach.Askable
)

// slurmFor returns the Slurm that the site's configuration names.
func slurmFor(c etc.Config) (*command.Client, error) {
	return command.New(command.Config{Dir: c.Slurm.Bin, Conf: c.Slurm.Conf, Timeout: c.Slurm.Timeout, Now: time.Now})
}
