package figures

import (
	"fmt"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/sim/replay"
)

// overload is the share of the GPUs above which parking stops started jobs.
const overload = .5

// far is what is held against a bound: a contender at a load.
type far struct {
	contender
	times float64
	info  replay.Info
	goal  float64 // of the ratio; 0 = none
	jct   float64 // goal in seconds; 0 = none
}

var held = []far{
	{contender{"lookahead", slurms}, .5, replay.Oracle, 0, 0},
	{contender{"lookahead", slurms}, 1, replay.Oracle, 1.12, 0},
	{contender{"lookahead", anySplit}, 1, replay.Oracle, 1.12, 0},
	{contender{"lookahead", slurms}, 1, replay.Learned, 0, 0},
	{contender{"lookahead", slurms.stopping()}, 1, replay.Oracle, 0, 0},
	{contender{"lookahead", anySplit.stopping()}, 1, replay.Oracle, 0, 0},
	{contender{"knapsack", slurms}, 1, replay.Oracle, 0, 0},
	{contender{"afs", asPublished}, 1, replay.Oracle, 0, 0},
	{contender{"lookahead", slurms}, 1.5, replay.Oracle, 0, 0},
	{contender{"lookahead", slurms}, 2, replay.Oracle, 0, 0},
	{contender{"lookahead", slurms.parking(overload)}, 2, replay.Oracle, 0, 4600},
	{contender{"lookahead", anySplit.parking(overload)}, 2, replay.Oracle, 0, 4600},
	{contender{"afs", asPublished}, 2, replay.Oracle, 0, 0},
}

// distance holds mean JCTs against what no policy goes below.
func distance(b *bench) func(*sheet) {
	type row struct {
		far
		runs  []batch // one a workload, over the draws
		bound []batch
	}
	var rows []row
	for _, f := range held {
		if b.Quick && f.goal == 0 && f.jct == 0 {
			continue
		}
		r := row{far: f}
		for i := range recordings {
			ts := f.trials(b, i)
			r.runs, r.bound = append(r.runs, b.ask(ts...)), append(r.bound, b.askBound(f.iterations(b), ts...))
		}
		rows = append(rows, r)
	}
	return func(s *sheet) {
		s.heads("policy", "rules", "load", "info", "jct", "bound", "ratio", "1", "2", "3", "4", "p99", "restarts", "longest", "setting")
		var goals []func()
		for _, r := range rows {
			var jct, low []float64
			var each []string
			var all means
			for i := range r.runs {
				m, l := r.runs[i].means(), r.bound[i].bound()
				jct, low, each = append(jct, m.jct), append(low, l), append(each, ratio(m.jct, l))
				all.p99 += m.p99 / float64(len(r.runs))
				all.restarts += m.restarts / float64(len(r.runs))
				all.longest = max(all.longest, m.longest)
			}
			setting := fmt.Sprintf("workloads 1-4, %s, %s, every %s, restart %s; bound for all that keep the rules the run kept, %d iterations",
				r.drawn(b), testbenchA, short(everyB), short(restartB), r.iterations(b))
			cells := []string{r.policy, r.rules.name, fmt.Sprintf("%gx", r.times), string(r.info), secs(mean(jct)), secs(mean(low)), ratio(mean(jct), mean(low))}
			s.line(slices.Concat(cells, each, []string{secs(all.p99), two(all.restarts), secs(all.longest), setting})...)
			name := fmt.Sprintf("%s at %gx, %s", r.rules.name, r.times, r.info)
			if r.goal > 0 {
				goals = append(goals, func() { s.goal(name+", mean JCT of the bound", mean(jct)/mean(low), r.goal, "") })
			}
			if r.jct > 0 {
				goals = append(goals, func() { s.goal(name+", mean JCT (AFS-L 6073 on eight workloads)", mean(jct), r.jct, " s") })
			}
		}
		for _, g := range goals {
			g()
		}
	}
}

// iterations is how often prices are improved: the bounds of high loads take long.
func (f far) iterations(b *bench) int {
	switch {
	case b.Quick:
		return 12
	case f.times > 1:
		return 120
	}
	return 240
}

// trials are the runs on one of the recordings, one a draw.
func (f far) trials(b *bench, i int) []trial {
	t := testbenchTrials(f.contender, f.info)[i]
	t.times = f.times
	out := []trial{t}
	for d := 1; f.times != 1 && d < draws(b); d++ {
		t.seed = uint64(d)
		out = append(out, t)
	}
	return out
}

func (f far) drawn(b *bench) string {
	if f.times == 1 || draws(b) == 1 {
		return "draw 0"
	}
	return fmt.Sprintf("draws 0-%d", draws(b)-1)
}
