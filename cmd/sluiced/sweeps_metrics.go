package main

import (
	"github.com/sluice-hpc/sluice/elastic/metrics"
)

// sweepFigures are the sweeps as the metrics know them, by token; nil where nobody can read metrics.
func (d *daemon) sweepFigures() map[string]metrics.Sweep {
	if d.metrics == nil || d.sweeps == nil {
		return nil
	}
	out := map[string]metrics.Sweep{}
	for token, s := range d.sweeps.Shown() {
		if s.Metric == "" {
			continue // no step has succeeded
		}
		v := metrics.Sweep{Number: s.Number, UID: s.UID, Metric: s.Metric, State: sweepState(s), Trials: map[string]int{}, Level: s.Level}
		for state, n := range s.Counts {
			v.Trials[string(state)] = n
		}
		if s.Best != nil {
			v.Best = &s.Best.Value
		}
		out[token] = v
	}
	return out
}
