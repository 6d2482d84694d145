package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/bound"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// boundKey names what a bound depends on and may differ within one command.
type boundKey struct {
	workload string
	seed     uint64
}

// bounds computes each bound once, whichever policy is first to ask.
type bounds struct {
	mu    sync.Mutex
	known map[boundKey]func() (time.Duration, error)
}

// of returns a mean JCT that no policy goes below on the workload. Without
// preemption every started job keeps its minimum, which raises the bound; with
// prices by model the least of them holds for all jobs.
func (b *bounds) of(ctx context.Context, s *simulation, w workload.Workload, seed uint64, restart time.Duration) (time.Duration, error) {
	b.mu.Lock()
	key := boundKey{w.Name, seed}
	once, known := b.known[key]
	if !known {
		once = sync.OnceValues(func() (time.Duration, error) {
			got, err := bound.MeanJCT(ctx, bound.Config{
				Nodes: s.config.Nodes, Interval: s.config.Interval, Restart: restart, Keep: !s.config.Limits.Preempt,
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
