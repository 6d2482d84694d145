package story

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/policy"
)

// retune changes the configuration and makes sluiced reload it after the present cycle. A daemon that
// starts later has it too. An invalid one never reaches the engine, because cmd/sluiced rejects
// it and keeps the old one.
func (d *daemon) retune(way uint64) {
	d.tunes = append(d.tunes, func(c *engine.Config) { tune(c, way) })
	if d.now != nil && !d.inCycle {
		d.now.Reconfigure(d.tunes[len(d.tunes)-1])
	} else {
		d.reload = true
	}
}

// tune changes some of the settings that a reload may change, selected by way.
func tune(c *engine.Config, way uint64) {
	names := []string{"knapsack", "lookahead", "srpt", "fcfs"}
	if p, err := policy.ByName(names[way%uint64(len(names))]); err == nil && way&(1<<4) != 0 {
		c.Policy = p
		c.Limits.Preempt = way&(1<<5) != 0
	}
	for bit, change := range []func(){
		func() { c.Limits.Cooldown = 10 * time.Second },
		func() { c.Limits.Grace = 15 * time.Second },
		func() { c.Limits.Confirm = 30 * time.Second },
		func() { c.Limits.Payback = 3 },
		func() { c.Limits.DeafAfter = 1 },
		func() { c.Limits.Moves = 1 },
		func() { c.Limits.ShareNodes = !c.Limits.ShareNodes },
		func() { c.Health = elastic.HealthRules{} },
		func() { c.Price = elastic.Price{Save: 10 * time.Minute} },
		func() { c.Period = 10 * time.Second },
		func() { c.Transition = 4 * time.Second },
		func() { c.Backoff = 5 * time.Second },
	} {
		if way&(1<<(8+bit)) != 0 {
			change()
		}
	}
}
