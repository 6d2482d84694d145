package main

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// boundOf returns a mean JCT that no policy can beat on the workload.
func (s *simulation) boundOf(ctx context.Context, cfg replay.Config, w workload.Workload) (time.Duration, error) {
	return 0, errors.New("no bound yet")
}
