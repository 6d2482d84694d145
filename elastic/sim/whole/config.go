package whole

import (
	"cmp"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// Config is one simulation: that of a replay, and what only the whole protocol
// has. In replay.Config, Interval is the daemon's period, Restart and RestartOf are
// what Times is made from where Times is zero, and Placing can only be
// replay.Ours; an oracle also tells each job's price from its start. Of the
// Limits, Grace, Confirm and DeafAfter take the daemon's defaults where they are
// zero; the others are taken as they are.
type Config struct {
	replay.Config
	// Transition is the time between two looks while a job is between two sizes;
	// 0 = 500 ms.
	Transition time.Duration
	// Times is what each part of a start or a resize takes; zero = TimesFor(Restart).
	Times Times
	// Price is assumed for a job whose moves were not measured yet; zero = what
	// Times adds up to.
	Price elastic.Price
	// Hook says that the end of a job wakes the daemon, as Slurm's epilog can.
	// Without it freed GPUs are seen in the next cycle. A submit always does.
	Hook bool

	spread bool // Times were made from a restart
}

// Times is what the parts of a start and of a resize take, beyond the time the
// daemon itself takes to notice. Zero is no time at all.
type Times struct {
	Save       time.Duration // from the end of a training step to the commit
	Draining   time.Duration // from the kill to pending
	Scheduling time.Duration // from an event to Slurm's scheduling pass
	Starting   time.Duration // from RUNNING to the script's first line
	Load       time.Duration // from the first line to the first new work
	// Jitter bounds what is added to Draining, Scheduling and Starting each time,
	// drawn evenly from the configuration's Seed.
	Jitter time.Duration
	// Step is the longest a training step takes: a request to save is seen at the
	// end of one. 0 = 1 s.
	Step time.Duration
}

// protocol is roughly what a start takes however quick the job and its nodes are:
// the start in a later second than the kill, and the looks in between.
const protocol = 2 * time.Second

// TimesFor spreads a restart of one figure, as published simulators have it, over
// the parts: a quick Slurm, a short save, and the rest for loading, since a
// replay charges the whole of it to a job's first start, too.
func TimesFor(restart time.Duration) Times {
	t := Times{
		Save:     min(time.Second, restart/10),
		Draining: 300 * time.Millisecond, Scheduling: 100 * time.Millisecond, Starting: 200 * time.Millisecond,
	}
	t.Load = max(0, restart-t.Save-t.Draining-t.Scheduling-t.Starting-protocol)
	return t
}

// of is what the parts take one job.
func (c Config) of(j workload.Job) Times {
	t := c.Times
	if c.spread && c.RestartOf != nil {
		own := TimesFor(c.RestartOf(j))
		t.Save, t.Load = own.Save, own.Load
	}
	return t
}

// price is what a move should cost with these times.
func (c Config) price(t Times) elastic.Price {
	return elastic.Price{
		Save: t.Save + t.Step/2, Drain: t.Draining + t.Jitter/2 + c.Transition/2,
		Start: protocol + t.Scheduling + t.Starting + t.Jitter, Load: t.Load,
	}
}

// The daemon's defaults of what a replay does not know.
const (
	transition = 500 * time.Millisecond
	grace      = 5 * time.Minute
	confirm    = 2 * time.Minute
	deafAfter  = 3
	backoff    = 5 * time.Minute
)

// complete fills in the defaults and refuses what cannot be simulated.
func (c Config) complete() (Config, error) {
	switch {
	case c.Interval <= 0:
		return c, fmt.Errorf("interval %v: must be above zero", c.Interval)
	case len(c.Nodes) == 0:
		return c, fmt.Errorf("a cluster without nodes runs nothing")
	case c.Placing != "" && c.Placing != replay.Ours:
		return c, fmt.Errorf("placing %q: the daemon places by itself, so only %q can be simulated with it", c.Placing, replay.Ours)
	case c.Limits.AnySplit():
		return c, fmt.Errorf("any split: the simulated Slurm gives the splits that Slurm gives; leave it off")
	case c.Info != replay.Oracle && c.Info != replay.Learned:
		return c, fmt.Errorf("info %q: want %s or %s", c.Info, replay.Oracle, replay.Learned)
	case c.Policy.Allocate == nil:
		return c, fmt.Errorf("no policy to simulate")
	}
	c.Transition = cmp.Or(c.Transition, transition)
	if c.Times == (Times{}) {
		c.Times, c.spread = TimesFor(c.Restart), true
	}
	c.Times.Step = cmp.Or(c.Times.Step, time.Second)
	c.Price = cmp.Or(c.Price, c.price(c.Times))
	c.Limits.Grace = cmp.Or(c.Limits.Grace, grace)
	c.Limits.Confirm = cmp.Or(c.Limits.Confirm, confirm)
	c.Limits.DeafAfter = cmp.Or(c.Limits.DeafAfter, deafAfter)
	return c, nil
}

// cluster is the fake Slurm's configuration.
func (c Config) cluster() (fake.Config, error) {
	fc := fake.Config{
		Seed: c.Seed, Scheduling: some(c.Times.Scheduling), Starting: some(c.Times.Starting), Draining: some(c.Times.Draining),
		Jitter: c.Times.Jitter,
	}
	seen := map[string]bool{}
	for _, n := range c.Nodes {
		if n.Used > 0 || !n.Usable {
			return fc, fmt.Errorf("node %s: want it usable and free at the start", n.Name)
		}
		if n.Name == "" || seen[n.Name] {
			return fc, fmt.Errorf("node %q: want a name of its own for each", n.Name)
		}
		seen[n.Name] = true
		fc.Nodes = append(fc.Nodes, fake.NodeConfig{
			Name: n.Name, GPUs: n.GPUs, GPUType: n.Type, CPUs: n.CPUs, MemoryMB: n.MemoryMB, Partitions: n.Partitions,
		})
	}
	return fc, nil
}

// some is the duration for a field in which zero means the default.
func some(d time.Duration) time.Duration { return max(d, 1) }
