package figures

import (
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
)

// size is a made-up site at which decisions are timed.
type size struct {
	cluster
	jobs, waiting int
	snapshots     int     // different ones
	most          float64 // goal for the 99th percentile, in ms
	typed         bool    // half of it is of faster GPUs
}

var sizes = []size{
	{cluster{16, 4}, 160, 100, 100, 3, false},
	{cluster{256, 8}, 640, 40, 20, 60, false},
	{cluster{1250, 8}, 1000, 60, 10, 200, false},
	{cluster{12500, 8}, 10_000, 300, 3, 2000, false},
}

// decisions times them, alone: nothing else runs meanwhile.
func decisions(b *bench) func(*sheet) {
	return func(s *sheet) {
		b.quiet()
		if b.failed() != nil || b.Clock == nil {
			return
		}
		defer debug.SetGCPercent(debug.SetGCPercent(100)) // as in the daemon
		s.heads("where", "jobs", "rules", "decisions", "p50 ms", "p99 ms", "most ms", "setting")
		var goals []func()
		if b.Testbench != "" {
			goals = append(goals, replayed(b, s)...)
		}
		for _, z := range either(b, sizes, sizes[:3]) {
			first, again := z.time(b)
			if b.ctx.Err() != nil {
				return
			}
			name := fmt.Sprintf("%d GPUs", z.nodes*z.gpus)
			setting := fmt.Sprintf("%s, seeds 1-%d, oracle, made-up snapshots", z.cluster, z.snapshots)
			s.line(timed(name, fmt.Sprint(z.jobs), slurms.name, first, setting+", curves asked the first time")...)
			s.line(timed(name, fmt.Sprint(z.jobs), slurms.name, again, setting)...)
			goals = append(goals, func() { s.goal(fmt.Sprintf("%s, %d jobs, p99", name, z.jobs), ms(rank(again, 99)), z.most, " ms") })
		}
		for _, g := range goals {
			g()
		}
		s.say("how far the plans may be from the best, at these sizes: go test -bench Lookahead ./elastic/policy/lookahead (gap-%%)")
	}
}

// replayed times the decisions of replays of workloads 1 to 4.
func replayed(b *bench, s *sheet) []func() {
	var goals []func()
	for _, entrant := range []contender{{"lookahead", slurms}, {"lookahead", anySplit}} {
		for _, info := range []replay.Info{replay.Oracle, replay.Learned} {
			var all []time.Duration
			for _, t := range testbenchTrials(entrant, info) {
				d, err := b.decisions(t)
				if err != nil {
					b.fail(err)
					return nil
				}
				all = append(all, d...)
			}
			s.line(timed("64 GPUs, replay", "160", entrant.rules.name, all,
				fmt.Sprintf("workloads 1-4, %s, %s, every %s, restart %s; with placing", info, testbenchA, short(everyB), short(restartB)))...)
			goals = append(goals, func() {
				s.goal(fmt.Sprintf("64 GPUs, 160 jobs, replay, %s, %s, p99", entrant.rules.name, info), ms(rank(all, 99)), 3, " ms")
			})
		}
	}
	return goals
}

// time decides about each snapshot twice.
func (z size) time(b *bench) (first, again []time.Duration) {
	lookahead, err := policy.ByName("lookahead")
	if err != nil {
		b.fail(err)
		return nil, nil
	}
	for seed := range uint64(z.snapshots) {
		if b.ctx.Err() != nil {
			return nil, nil
		}
		snap := z.snapshot(seed + 1)
		first = append(first, took(b.Clock, lookahead, snap))
		again = append(again, took(b.Clock, lookahead, snap))
	}
	return first, again
}

func took(clock func() time.Duration, p policy.Policy, s elastic.Snapshot) time.Duration {
	from := clock()
	p.Allocate(s)
	return clock() - from
}

// timed are the cells of a line about times.
func timed(where, jobs, rules string, d []time.Duration, setting string) []string {
	if len(d) == 0 {
		return nil
	}
	return []string{where, jobs, rules, fmt.Sprint(len(d)), fmt.Sprintf("%.2f", ms(rank(d, 50))), fmt.Sprintf("%.2f", ms(rank(d, 99))),
		fmt.Sprintf("%.2f", ms(slices.Max(d))), setting}
}

// rank is the p-th percentile by nearest rank; 0 of none.
func rank(d []time.Duration, p int) time.Duration {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d))
	return sorted[(len(sorted)*p+99)/100-1]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
