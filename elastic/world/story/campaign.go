package story

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Campaign plays the scenarios of many seeds, several at a time.
type Campaign struct {
	From, Seeds uint64
	Workers     int
	Shelves     Shelves // of stories on disk
	// Failed is called for each scenario that violated an invariant, one at a time.
	Failed func(seed uint64, s Story, o Outcome)
}

// Total is the result of a campaign.
type Total struct {
	Seeds, Failed, OnDisk int
	Simulated             time.Duration
	Effects, Runs, Moves  int
	Happened              map[string]int
}

// Run plays until all seeds are done or ctx ends.
func (c Campaign) Run(ctx context.Context) Total {
	t := Total{Happened: map[string]int{}}
	seeds := make(chan uint64)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range max(1, c.Workers) {
		wg.Go(func() {
			for seed := range seeds {
				s := Draw(seed)
				o := Play(ctx, s, c.Shelves, nil)
				if ctx.Err() != nil {
					return
				}
				mu.Lock()
				t.add(s, o)
				if len(o.Broken) > 0 && c.Failed != nil {
					c.Failed(seed, s, o)
				}
				mu.Unlock()
			}
		})
	}
feed:
	for seed := c.From; seed < c.From+c.Seeds; seed++ {
		select {
		case seeds <- seed:
		case <-ctx.Done():
			break feed
		}
	}
	close(seeds)
	wg.Wait()
	return t
}

func (t *Total) add(s Story, o Outcome) {
	t.Seeds++
	t.Simulated += o.Simulated
	t.Effects += o.Effects
	t.Runs += o.Runs
	t.Moves += o.Moves
	if s.Disk {
		t.OnDisk++
	}
	if len(o.Broken) > 0 {
		t.Failed++
	}
	for what, n := range o.Happened {
		t.Happened[what] += n
	}
}

// String formats the total: a line of sums, then what happened, by kind.
func (t Total) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d seeds (%d on disk), %d failed; %.1f simulated days, %d runs of jobs, %d moves, %d effects of the daemon's\n",
		t.Seeds, t.OnDisk, t.Failed, t.Simulated.Hours()/24, t.Runs, t.Moves, t.Effects)
	all := 0
	for _, what := range slices.Sorted(maps.Keys(t.Happened)) {
		fmt.Fprintf(&b, "%9d %s\n", t.Happened[what], what)
		all += t.Happened[what]
	}
	fmt.Fprintf(&b, "%9d in all, of %d kinds", all, len(t.Happened))
	return b.String()
}
