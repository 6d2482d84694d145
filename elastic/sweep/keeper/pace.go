package keeper

import "github.com/sluice-hpc/sluice/elastic/sweep/rung"

// rungs is the plan's rule with the paces of the trials. Numbers are from 0 there. Trials that are jobs of
// their own have no paces: these would be those of their sizes, and a trial that was given few GPUs would
// lose for it.
func (s *step) rungs() (rung.Rule, bool) {
	rule, ok := s.plan.rungs()
	if !ok || s.plan.Sweep.OwnJobs {
		return rule, ok
	}
	rule.Paces = make(map[int]float64, len(s.Trials))
	for _, t := range s.Trials {
		if pace := t.Pace(); pace > 0 {
			rule.Paces[t.Number-1] = pace
		}
	}
	return rule, true
}
