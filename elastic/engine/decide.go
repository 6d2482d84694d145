package engine

import (
	"github.com/sluice-hpc/sluice/elastic"
)

// decide is pure: the same snapshot gives the same plan, in the daemon, in a dry
// run and in simulation.
func (e *Engine) decide(s elastic.Snapshot) elastic.Plan {
	allocation := e.cfg.Policy.Decide(s)
	return elastic.Reconcile(s, allocation, elastic.Arrange(s, allocation))
}
