package engine

import (
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy"
)

// decideIn is one decision of a cycle.
func decideIn(c *Config, s elastic.Snapshot) (p elastic.Plan) {
	run := func() { p = decide(c.Policy, s) }
	if c.Deciding == nil {
		run()
	} else {
		c.Deciding(run)
	}
	return p
}

// decide is pure: the same snapshot gives the same plan, in the daemon, in a dry
// run and in simulation.
func decide(p policy.Policy, s elastic.Snapshot) elastic.Plan {
	allocation := p.Decide(s)
	return plan.Reconcile(s, allocation, plan.Arrange(s, allocation))
}
