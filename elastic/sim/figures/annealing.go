package figures

import (
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/policy/lookahead"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
)

// annealers are the policies shown beside annealing: the knapsack of system A, the
// default, and annealing with the score it was published with.
var annealers = []string{"knapsack", "lookahead", "annealing", policy.BySpeeds.Name}

// annealings shows annealing on testbench A, of one type of GPU and of two.
func annealings(b *bench) func(*sheet) {
	type row struct {
		contender
		info replay.Info
		on   string // ends the names of its loads
		runs batch
	}
	var rows []row
	for _, on := range []string{"", onTwoTypes} {
		for _, info := range []replay.Info{replay.Oracle, replay.Learned} {
			for _, r := range []rules{slurms, asPublished} {
				if b.Quick && (info == replay.Learned || r == asPublished) || on == onTwoTypes && r == asPublished {
					continue
				}
				for _, name := range annealers {
					entrant := contender{name, r}
					rows = append(rows, row{entrant, info, on, b.ask(trialsOn(on, entrant, info)...)})
				}
			}
		}
	}
	return func(s *sheet) {
		s.heads("policy", "rules", "info", "jct", "/knapsack", "1", "2", "3", "4", "p99", "makespan", "/knapsack", "restarts", "setting")
		var yardstick means
		for _, r := range rows {
			m, each := r.runs.means(), r.runs.each()
			if r.policy == "knapsack" {
				yardstick = m
			}
			s.line(r.policy, r.rules.name, string(r.info), secs(m.jct), ratio(m.jct, yardstick.jct), secs(each[0]), secs(each[1]), secs(each[2]), secs(each[3]),
				secs(m.p99), hours(m.makespan), ratio(m.makespan, yardstick.makespan), two(m.restarts), "workloads 1-4, "+settingOn(r.on))
		}
		annealingTimes(b, s)
		annealingGaps(b, s)
	}
}

// trialsOn are a contender's runs of workloads 1 to 4 on one type of GPU, or on two.
func trialsOn(on string, entrant contender, info replay.Info) []trial {
	out := testbenchTrials(entrant, info)
	for i := range out {
		out[i].load += on
	}
	return out
}

// annealingTimes times the decisions of replays, alone.
func annealingTimes(b *bench, s *sheet) {
	b.quiet()
	if b.failed() != nil || b.Clock == nil {
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as in the daemon
	s.heads("policy", "rules", "decisions", "CPU ms, p50", "p99", "longest", "setting")
	for _, on := range []string{"", onTwoTypes} {
		for _, name := range annealers[:3] {
			var all []time.Duration
			for _, t := range trialsOn(on, contender{name, slurms}, replay.Oracle) {
				d, err := b.decisions(t)
				if err != nil {
					b.fail(err)
					return
				}
				all = append(all, d...)
			}
			s.line(name, slurms.name, fmt.Sprint(len(all)), fmt.Sprintf("%.2f", ms(rank(all, 50))), fmt.Sprintf("%.2f", ms(rank(all, 99))),
				fmt.Sprintf("%.2f", ms(slices.Max(all))), "oracle, with placing, workloads 1-4, "+settingOn(on))
		}
	}
}

// tinySites are so small that all plans can be looked at.
var tinySites = []size{
	{cluster: cluster{2, 4}, jobs: 3, waiting: 1, snapshots: 200},
	{cluster: cluster{2, 4}, jobs: 4, waiting: 1, snapshots: 200},
	{cluster: cluster{2, 4}, jobs: 3, waiting: 1, snapshots: 200, typed: true},
	{cluster: cluster{2, 4}, jobs: 4, waiting: 1, snapshots: 200, typed: true},
}

// annealingGaps holds what policies answer on tiny sites against the best of all plans.
func annealingGaps(b *bench, s *sheet) {
	s.heads("policy", "where", "types", "jobs", "snapshots", "gap, mean", "gap, most", "the best in", "setting")
	for _, z := range tinySites {
		types := "one"
		if z.typed {
			types = "two"
		}
		for _, name := range annealers {
			g, err := z.gap(name)
			if err != nil {
				b.fail(err)
				return
			}
			s.line(name, z.cluster.String(), types, fmt.Sprint(z.jobs), fmt.Sprint(g.count), percent(g.sum/float64(max(1, g.count))), percent(g.most),
				fmt.Sprint(g.exact), fmt.Sprintf("slurm, oracle, made-up snapshots, seeds 1-%d; worth in annealing's score, of all plans' best", z.snapshots))
		}
	}
}

// gap is by how much, relatively, answers are worth less than the best.
type gap struct {
	count, exact int // answers, and those that are the best
	sum, most    float64
}

func (z size) gap(name string) (g gap, err error) {
	p, err := named(name)
	if err != nil {
		return gap{}, err
	}
	for seed := range uint64(z.snapshots) {
		snap := z.snapshot(seed + 1)
		value, best, ok := lookahead.Appraise(snap, p.Allocate(snap))
		if !ok {
			continue
		}
		short := max(0, (best-value)/best)
		g.count, g.sum, g.most = g.count+1, g.sum+short, max(g.most, short)
		if short < 1e-9 {
			g.exact++
		}
	}
	return g, nil
}

func percent(v float64) string { return fmt.Sprintf("%.2f%%", 100*v) }
