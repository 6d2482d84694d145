package figures

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/bound"
)

// floor is what a bound depends on: no policy's mean JCT is below it.
type floor struct {
	load       string
	seed       uint64
	times      float64
	interval   time.Duration
	restart    time.Duration
	keep       bool // under policies that let started jobs keep their minimum
	prompt     bool // under policies that start every job within a round
	iterations int
}

// bounds computes each bound once and caches it.
type bounds struct {
	mu    sync.Mutex
	known map[floor]func() (time.Duration, error)
}

// askBound queues, for each trial, a bound for all policies that keep the rules
// which the trial was seen to keep, and returns what will come of them.
func (b *bench) askBound(iterations int, trials ...trial) batch {
	out := batch{b: b}
	for _, t := range trials {
		run := b.ask(t)
		k := b.enqueue(func(k *task) (err error) {
			if !run.wait() { // it is before this one in the queue
				return b.ctx.Err()
			}
			k.bound, err = b.below(floor{
				t.load, t.seed, t.times, t.interval, t.restart,
				!t.rules.limits.Preempt, float64(run.tasks[0].sum.MaxWait) < t.interval.Seconds(), iterations,
			})
			return err
		})
		out.tasks = append(out.tasks, k)
	}
	return out
}

// below is a bound on the mean JCT.
func (b *bench) below(f floor) (time.Duration, error) {
	b.bounds.mu.Lock()
	once, known := b.bounds.known[f]
	if !known {
		once = sync.OnceValues(func() (time.Duration, error) { return f.compute(b.ctx, &b.loads) })
		if b.bounds.known == nil {
			b.bounds.known = map[floor]func() (time.Duration, error){}
		}
		b.bounds.known[f] = once
	}
	b.bounds.mu.Unlock()
	return once()
}

func (f floor) compute(ctx context.Context, l *loads) (time.Duration, error) {
	w, err := l.get(f.load, f.seed, f.times)
	if err != nil {
		return 0, err
	}
	got, err := bound.MeanJCT(ctx, bound.Config{
		Nodes: clusterOf(f.load).inventory(), Interval: f.interval, Restart: f.restart,
		Keep: f.keep, Prompt: f.prompt, Iterations: f.iterations,
	}, w)
	if err != nil {
		return 0, fmt.Errorf("bound of %s, seed %d: %w", f.load, f.seed, err)
	}
	return got.MeanJCT, nil
}
