package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/bound"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// boundKey is what a bound depends on and may differ within one command.
type boundKey struct {
	workload string
	seed     uint64
	prompt   bool
}

// bounds computes each bound once, for all policies.
type bounds struct {
	mu    sync.Mutex
	known map[boundKey]func() (time.Duration, error)
}

// of returns a mean JCT that no policy under the rules of the run can go below on the
// workload. Two conditions raise it: without preemption every started job keeps its
// minimum; and if every job of the run had its first GPU within a round (prompt), the
// bound holds for such runs only. With restart costs by model the lowest cost is used for
// all jobs.
func (b *bounds) of(ctx context.Context, s *simulation, w workload.Workload, seed uint64, restart time.Duration, prompt bool) (time.Duration, error) {
	b.mu.Lock()
	key := boundKey{w.Name, seed, prompt}
	once, known := b.known[key]
	if !known {
		once = sync.OnceValues(func() (time.Duration, error) {
			got, err := bound.MeanJCT(ctx, bound.Config{
				Nodes: s.config.Nodes, Interval: s.config.Interval, Restart: restart, Keep: !s.config.Limits.Preempt, Prompt: prompt,
			}, w)
			if err != nil {
				return 0, fmt.Errorf("--bound: %w", err)
			}
			return got.MeanJCT, nil
		})
		if b.known == nil {
			b.known = map[boundKey]func() (time.Duration, error){}
		}
		b.known[key] = once
	}
	b.mu.Unlock()
	return once()
}

// prompt reports whether every job had its first GPU within a round.
func prompt(res replay.Result, interval time.Duration) bool {
	for _, j := range res.Jobs {
		if j.Wait() >= interval {
			return false
		}
	}
	return true
}
