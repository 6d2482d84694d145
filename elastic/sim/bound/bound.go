package bound

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	"github.com/sluice-hpc/sluice/nodes"
)

// Config says what the bound is to hold for: the cluster and the rules of a replay.
type Config struct {
	Nodes []nodes.Node // all free and usable, as for a replay
	// Interval is the time between two decisions, above 0: GPUs change hands at
	// its multiples only.
	Interval time.Duration
	// Restart is what a start and every resize cost in time on the new GPUs.
	Restart time.Duration
	// RestartOf, when set, goes before Restart: a price for each job, asked for once
	// in the order of the workload.
	RestartOf func(workload.Job) time.Duration
	// Keep bounds only policies under which a started job never goes below its
	// minimum until it ends: a higher bound, and none for those that preempt.
	Keep bool
	// Prompt bounds only runs in which every job starts in the first round after its
	// submit, so that none waits as long as Interval: a higher bound again.
	Prompt bool
	// Iterations is how often prices are improved; 0 = 240. Each gives a valid bound.
	Iterations int
	// Slot is how long a price lasts, rounded up to a multiple of Interval; 0 =
	// Interval. It is doubled where a workload lasts for too many slots.
	Slot time.Duration
	// Splits lists the splits of n GPUs over the nodes that a job's best speed at n
	// is taken from; nil = Splits(Nodes). The bound holds for runs that use no other.
	Splits func(n int) [][]int
	// Progress, when set, is called after each iteration with the best bound so far.
	Progress func(done, of int, best time.Duration)
}

// Bound is what no policy can go below, whatever it knows about the future.
type Bound struct {
	// MeanJCT is the best bound on the mean JCT.
	MeanJCT time.Duration
	// Iterations is how many were made; fewer than asked for when there was nothing
	// left to gain.
	Iterations int
	// Alone is a weaker bound on the same: each job by itself at its best speed.
	Alone time.Duration
	// Machine is another: shortest remaining time first on one machine that does
	// the work of all GPUs, each job at the size that takes fewest GPU-seconds.
	Machine time.Duration
	// Trace is the best bound after each iteration.
	Trace []time.Duration
}

// What a computation may take at most.
const (
	standard  = 240    // iterations, when not said
	slots     = 3000   // with a price, when their length is not said
	mostSlots = 20_000 // when it is
	jobs      = 50_000
)

// MeanJCT bounds the mean JCT of the workload under any policy. It fails when a
// job has no work or accepts no size the cluster has, and with ctx's error.
func MeanJCT(ctx context.Context, cfg Config, w workload.Workload) (Bound, error) {
	if cfg.Interval <= 0 {
		return Bound{}, fmt.Errorf("interval %v: must be above zero", cfg.Interval)
	}
	c := &cluster{gpus: sum(room(cfg.Nodes))}
	if c.gpus == 0 {
		return Bound{}, fmt.Errorf("a cluster without GPUs runs nothing")
	}
	if err := c.take(cfg, w); err != nil {
		return Bound{}, err
	}
	if len(c.tasks) == 0 {
		return Bound{}, nil
	}
	a := newAscent(c, cfg)
	if err := a.climb(ctx); err != nil {
		return Bound{}, err
	}
	out := Bound{Iterations: len(a.trace), Alone: c.mean(c.alone()), Machine: c.mean(c.machine())}
	out.MeanJCT = max(c.mean(a.best), out.Alone, out.Machine)
	for _, v := range a.trace {
		out.Trace = append(out.Trace, c.mean(v))
	}
	return out, nil
}

// cluster is the workload and the GPUs it shares.
type cluster struct {
	gpus  int
	tasks []*task
}

// take reads the workload.
func (c *cluster) take(cfg Config, w workload.Workload) error {
	splits := cfg.Splits
	if splits == nil {
		splits = Splits(cfg.Nodes)
	}
	m := &menus{cluster: c.gpus, splits: splits, made: map[kind]menu{}}
	for j := range w.Jobs {
		if len(c.tasks) == jobs {
			return fmt.Errorf("workload %s has more than %d jobs: bound a part of it", w.Name, jobs)
		}
		if !(j.Spec.Total > 0) || math.IsInf(j.Spec.Total, 0) {
			return fmt.Errorf("job %s has no work: total %v", j.Name, j.Spec.Total)
		}
		sizes, err := m.of(j)
		if err != nil {
			return err
		}
		t, err := newTask(cfg, j, sizes)
		if err != nil {
			return err
		}
		c.tasks = append(c.tasks, t)
	}
	return nil
}

// newTask is the job as the bound sees it.
func newTask(cfg Config, j workload.Job, sizes menu) (*task, error) {
	restart := cfg.Restart
	if cfg.RestartOf != nil {
		restart = cfg.RestartOf(j)
	}
	if restart < 0 {
		return nil, fmt.Errorf("job %s: restart %v: want it not below zero", j.Name, restart)
	}
	t := &task{submit: j.Submit.Seconds(), work: j.Spec.Total, menu: sizes, restart: restart.Seconds(), prompt: cfg.Prompt}
	t.first = ((j.Submit + cfg.Interval - 1) / cfg.Interval * cfg.Interval).Seconds()
	if cfg.Keep {
		t.keeps = float64(j.Spec.Min)
	}
	return t, nil
}

// mean turns a sum of seconds over all jobs into a mean, rounded down.
func (c *cluster) mean(sum float64) time.Duration {
	const slack = 1e-9 // what sums of floating point may be off, relatively
	return time.Duration(sum * (1 - slack) / float64(len(c.tasks)) * float64(time.Second))
}

// alone sums the JCTs of jobs that have the cluster to themselves.
func (c *cluster) alone() float64 {
	sum := 0.0
	for _, t := range c.tasks {
		sum += t.quickest() - t.submit
	}
	return sum
}

// machine sums the JCTs under shortest remaining processing time, which is best on
// one machine (Schrage, Operations Research 16, 1968). A job needs at least its
// smallest size for a restart and its frugal GPU-seconds for its work.
func (c *cluster) machine() float64 {
	order := slices.Clone(c.tasks)
	slices.SortStableFunc(order, func(a, b *task) int { return cmp.Compare(a.first, b.first) })
	var left remaining
	sum, now := 0.0, 0.0
	for _, t := range order {
		sum += left.run(now, t.first)
		now = t.first
		need := (t.menu[0].gpus*t.restart + t.menu.frugal()*t.work) / float64(c.gpus)
		left.add(need, t.submit)
	}
	return sum + left.run(now, math.Inf(1))
}
