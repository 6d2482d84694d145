package figures

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
)

// weighed are Slurm's rules, at a site that knows its costs.
var weighed = rules{"slurm", replay.Ours, elastic.Limits{Payback: 1, Costs: costsShown}}

// weighers are the policies of figure 11; the third is held against the first two.
var weighers = []string{"lookahead", "knapsack", "welfare", "annealing"}

// welfares compares welfare with the policies that look at time alone.
func welfares(b *bench) func(*sheet) {
	type row struct {
		load, policy string
		info         replay.Info
		run          batch
	}
	var rows []row
	if b.Testbench != "" {
		for _, on := range []string{"", onTwoTypes} {
			for _, load := range either(b, recordings[:2], recordings[:1]) {
				for _, info := range []replay.Info{replay.Oracle, replay.Learned} {
					for _, policy := range weighers {
						rows = append(rows, row{load + on, policy, info, b.ask(trial{load + on, 0, 1, policy, weighed, info, everyB, restartB})})
					}
				}
			}
		}
	}
	return func(s *sheet) {
		if len(rows) == 0 {
			s.say("JCT, makespan and welfare are not measured: they need testbench A's data")
		} else {
			s.heads("load", "info", "policy", "jct", "p99", "makespan", "restarts", "worth", "cost", "welfare", "an hour", "setting")
		}
		for _, r := range rows {
			m, p := r.run.means(), r.run.paid()
			s.line(r.load, string(r.info), r.policy, secs(m.jct), secs(m.p99), hours(m.makespan), two(m.restarts),
				two(p.worth), two(p.cost), two(p.worth-p.cost), two((p.worth-p.cost)/math.Max(1, m.makespan/3600)), settingOf(r.load))
		}
		for i := 0; i+len(weighers) <= len(rows); i += len(weighers) {
			look, knap, own := rows[i].run.means(), rows[i+1].run.means(), rows[i+2].run.means()
			s.say("welfare, %s, %s: JCT %s of knapsack and %s of lookahead, makespan %s and %s", rows[i].load, rows[i].info,
				ratio(own.jct, knap.jct), ratio(own.jct, look.jct), ratio(own.makespan, knap.makespan), ratio(own.makespan, look.makespan))
		}
		if len(rows) > 0 {
			s.say("knapsack does not tell types of GPU apart: to it a job is everywhere as fast as on the slowest it is known on")
		}
		distances(b, s)
		regrets(b, s)
		thinking(b, s)
	}
}

// settingOf says what a load is on, and what that costs.
func settingOf(load string) string {
	if strings.HasSuffix(load, onTwoTypes) {
		return fmt.Sprintf("%s; an hour costs %g and %g", settingOn(onTwoTypes), costsShown.Of(fasterType), costsShown.Of(measuredType))
	}
	return fmt.Sprintf("%s; an hour costs %g", settingOn(""), costsShown.GPU)
}

// thinking times decisions, alone.
func thinking(b *bench, s *sheet) {
	b.quiet()
	if b.failed() != nil || b.Clock == nil {
		return
	}
	s.heads("CPU time of a decision", "policy", "decisions", "p50 ms", "p99 ms", "most ms", "setting")
	if b.Testbench != "" {
		for _, load := range []string{recordings[0], recordings[0] + onTwoTypes} {
			for _, policy := range weighers {
				all, err := b.decisions(trial{load, 0, 1, policy, weighed, replay.Oracle, everyB, restartB})
				if err != nil {
					b.fail(err)
					return
				}
				s.line(thought(load, policy, all, "oracle, with placing, "+testbenchA.String())...)
			}
		}
	}
	own, err := policy.ByName("welfare")
	if err != nil {
		b.fail(err)
		return
	}
	for _, z := range either(b, sizes[:3], sizes[:1]) {
		var all []time.Duration
		for seed := uint64(1); seed <= 3 && b.ctx.Err() == nil; seed++ {
			all = append(all, took(b.Clock, own, z.snapshot(seed)))
		}
		s.line(thought(fmt.Sprintf("%d GPUs, %d jobs", z.nodes*z.gpus, z.jobs), own.Name, all, "made-up snapshots, seeds 1-3, oracle, curves asked the first time")...)
	}
}

// thought are the cells of a line about times.
func thought(where, policy string, all []time.Duration, setting string) []string {
	cells := timed(where, "", "", all, setting)
	if cells == nil {
		return []string{where, policy}
	}
	return append([]string{where, policy}, cells[3:]...)
}
