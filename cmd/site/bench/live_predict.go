package bench

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/whole"
	"github.com/sluice-hpc/sluice/nodes"
)

// The live site: the cluster, and the daemon's periods and rules, which are those of an
// installed one as far as jobs that run sixty times faster allow.
const (
	liveNodes, liveGPUs = 3, 4
	livePeriod          = time.Second
	liveTransition      = 200 * time.Millisecond
	liveStep            = 100 * time.Millisecond // STEP of live_train.py
)

var liveLimits = elastic.Limits{
	Cooldown: 2 * time.Second, Payback: 2, Grace: 30 * time.Second, Confirm: time.Minute, Moves: 8, DeafAfter: 3,
}

// prediction is the simulators' result: means over variants; seconds.
type prediction struct {
	whole, replay                 float64 // mean completion time
	least, most                   float64 // of the variants of whole
	wholeRestarts, replayRestarts float64 // a job
	makespan                      float64
	jobs                          []story // of the first variant
}

// story is what happened to one job.
type story struct {
	jct   float64 // seconds
	sizes []int   // GPUs of each run
}

// String is the completion time, and the sizes in their order.
func (s story) String() string {
	return fmt.Sprintf("%.1f s on %s", s.jct, strings.ReplaceAll(splitKey(s.sizes), ",", ">"))
}

// variants is how often each prediction is made. A small delay early in a run may change
// a later decision, in the real run and in a simulated one: a mean over slightly
// different delays is a better prediction than a single one.
const variants = 5

// predict simulates the jobs in two ways: with the daemon's engine and the whole
// protocol, under delays drawn around the measured ones, and in rounds with a single
// restart cost, slightly smaller and slightly larger.
func (l *live) predict(ctx context.Context, p policy.Policy) (prediction, error) {
	said := prediction{least: math.Inf(1)}
	for i := range variants {
		c := l.simulation(p)
		c.Seed += uint64(i)
		sizes := map[int][]int{}
		c.Events = func(e replay.Event) {
			if len(e.To) > 0 {
				sizes[e.Job] = append(sizes[e.Job], e.To.GPUs())
			}
		}
		full, err := whole.Simulate(ctx, c, l.jobs)
		if err != nil {
			return said, fmt.Errorf("simulating: %w", err)
		}
		if i == 0 {
			for k, j := range full.Jobs {
				said.jobs = append(said.jobs, story{j.JCT().Seconds(), sizes[k]})
			}
		}
		c.Events = nil
		c.Restart += c.Restart * time.Duration(i-variants/2) / 20
		rounds, err := replay.Run(ctx, c.Config, l.jobs)
		if err != nil {
			return said, fmt.Errorf("replaying: %w", err)
		}
		jct, n := meanJCT(full.Jobs), float64(len(full.Jobs))
		said.least, said.most = min(said.least, jct), max(said.most, jct)
		said.whole += jct / variants
		said.replay += meanJCT(rounds.Jobs) / variants
		said.makespan += full.Makespan.Seconds() / variants
		said.wholeRestarts += float64(full.Restarts) / n / variants
		said.replayRestarts += float64(rounds.Restarts) / n / variants
	}
	return said, nil
}

// simulation is the live site as a simulator's configuration.
func (l *live) simulation(p policy.Policy) whole.Config {
	inventory := make([]nodes.Node, liveNodes)
	for i := range inventory {
		inventory[i] = nodes.Node{
			Name: fmt.Sprintf("gpu%d", i+1), GPUs: liveGPUs, CPUs: 16, MemoryMB: 64000, Usable: true, Partitions: []string{"gpu"},
		}
	}
	return whole.Config{
		Config: replay.Config{
			Nodes: inventory, Policy: p, Interval: livePeriod, Restart: l.price.Total(),
			Info: replay.Learned, Placing: replay.Ours, Limits: liveLimits, Seed: l.o.Seed,
		},
		Transition: liveTransition, Times: l.times, Price: l.price,
	}
}

func meanJCT(jobs []replay.JobResult) float64 {
	sum := 0.0
	for _, j := range jobs {
		sum += j.JCT().Seconds()
	}
	return sum / float64(len(jobs))
}

// fit chooses the durations of the parts so that moves cost the same in the simulated
// engine as they did in the real one: a part of the cost is the engine's own polling,
// which the simulation has in any case.
func (l *live) fit(ctx context.Context) error {
	p, err := policy.ByName("knapsack")
	if err != nil {
		return err
	}
	l.times = whole.Times{
		Save: l.price.Save / 2, Draining: l.price.Drain / 2, Starting: l.price.Start / 2, Load: l.price.Load,
		Scheduling: 50 * time.Millisecond, Step: liveStep, Jitter: l.price.Total() / 10,
	}
	for range 4 {
		out, err := whole.Simulate(ctx, l.simulation(p), l.jobs)
		if err != nil {
			return err
		}
		if out.Moves == 0 {
			return nil // nothing is resized, so nothing depends on it
		}
		l.times.Save = max(0, l.times.Save+l.price.Save-out.Price.Save)
		l.times.Draining = max(0, l.times.Draining+l.price.Drain-out.Price.Drain)
		l.times.Starting = max(0, l.times.Starting+l.price.Start-out.Price.Start)
		l.times.Load = max(0, l.times.Load+l.price.Load-out.Price.Load)
	}
	return nil
}
