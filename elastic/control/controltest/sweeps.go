package controltest

import (
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// Sweep is the token of ann's sweep, whose lanes are Growing and Waiting.
var Sweep = strings.Repeat("5", 32)

// Sweeps returns the canned sweep.
func (s *Service) Sweeps() map[string]control.SweepReport {
	goal, best := 0.93, wire.SweepBest{At: Now.Add(-2 * time.Minute), Value: 0.912, Trial: 4, Epoch: 12}
	return map[string]control.SweepReport{Sweep: {Running: map[string]int{growing().Record.Token: 7}, Sweep: wire.Sweep{
		Number: int64(Growing), Token: Sweep, Name: "resnet", UID: AnnUID, State: "running", Algorithm: "asha", Metric: "val_acc", Max: true, Goal: &goal,
		Trials: 200, Begun: 7, Running: 1, Paused: 3, Failed: 1, Done: 2, Parallel: 12, Wants: 12, Level: 1, Gap: 0.002, Counted: 5, Bid: 0.0001,
		Best: &best, Bests: []wire.SweepBest{{At: Now.Add(-50 * time.Minute), Value: 0.5, Trial: 1, Epoch: 1}, best},
		Levels:  []wire.SweepLevel{{At: Now.Add(-5 * time.Minute), Level: 1, Gap: 0.002, Counted: 5}},
		Created: Now.Add(-80 * time.Minute), Began: Now.Add(-78 * time.Minute),
	}}}
}
