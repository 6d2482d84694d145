package figures

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/replay"
)

// compared are the policies whose slopes are shown.
var compared = []contender{{"lookahead", slurms}, {"afs", asPublished}, {"lookahead", anySplit}, {"knapsack", slurms}}

// step is one value of what is varied, with the trials of workloads 1 to 4 there.
type step struct {
	label string
	vary  func(*trial)
	draws int // of a scaled load
}

// slope is one thing varied, the others as usual.
type slope struct {
	name  string
	steps []step
}

func slopesOf(b *bench) []slope {
	var load, interval, restart slope
	load.name, interval.name, restart.name = "load", "interval", "restart"
	for _, l := range either(b, []float64{.5, 1, 1.5, 2}, []float64{1, 2}) {
		draws := draws(b)
		if l == 1 {
			draws = 1
		}
		load.steps = append(load.steps, step{fmt.Sprintf("%gx", l), func(t *trial) { t.times = l }, draws})
	}
	for _, d := range either(b, []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute},
		[]time.Duration{time.Minute, 8 * time.Minute}) {
		interval.steps = append(interval.steps, step{short(d), func(t *trial) { t.interval = d }, 1})
	}
	for _, n := range either(b, []int{10, 30, 60, 120, 250}, []int{30, 250}) {
		restart.steps = append(restart.steps, step{fmt.Sprintf("%ds", n), func(t *trial) { t.restart = time.Duration(n) * time.Second }, 1})
	}
	return []slope{load, interval, restart}
}

// draws is how often a load is scaled anew.
func draws(b *bench) int { return either(b, 3, 1) }

// at are the trials of a contender at a step.
func (s step) at(entrant contender) []trial {
	var out []trial
	for draw := range s.draws {
		for _, t := range testbenchTrials(entrant, replay.Oracle) {
			t.seed = uint64(draw)
			s.vary(&t)
			out = append(out, t)
		}
	}
	return out
}

// slopes shows the mean JCT along loads, intervals and costs of a restart.
func slopes(b *bench) func(*sheet) {
	all, compared := slopesOf(b), either(b, compared, compared[:2])
	runs := make([][][]batch, len(all)) // by slope, contender, step
	for i, sl := range all {
		runs[i] = make([][]batch, len(compared))
		for k, entrant := range compared {
			for _, st := range sl.steps {
				runs[i][k] = append(runs[i][k], b.ask(st.at(entrant)...))
			}
		}
	}
	return func(s *sheet) {
		for i, sl := range all {
			heads := []string{"varied", "policy", "rules"}
			for _, st := range sl.steps {
				heads = append(heads, "jct "+st.label)
			}
			s.heads(append(heads, "worst step", "p99 ends", "restarts ends", "longest", "setting")...)
			for k, entrant := range compared {
				writeSlope(s, b, sl, entrant, runs[i][k])
			}
		}
	}
}

func writeSlope(s *sheet, b *bench, sl slope, entrant contender, runs []batch) {
	cells := []string{sl.name, entrant.policy, entrant.rules.name}
	var m []means
	longest := 0.0
	for _, r := range runs {
		m = append(m, r.means())
		cells = append(cells, secs(m[len(m)-1].jct))
		longest = max(longest, m[len(m)-1].longest)
	}
	worst, where := 0.0, ""
	for i := 1; i < len(m); i++ {
		if x := m[i].jct / m[i-1].jct; x > worst {
			worst, where = x, sl.steps[i-1].label+" to "+sl.steps[i].label
		}
	}
	first, last := m[0], m[len(m)-1]
	setting := fmt.Sprintf("workloads 1-4, oracle, %s", testbenchA)
	switch sl.name {
	case "load":
		setting += fmt.Sprintf(", draws 0-%d where scaled, every %s, restart %s", draws(b)-1, short(everyB), short(restartB))
	case "interval":
		setting += ", restart " + short(restartB)
	case "restart":
		setting += ", every " + short(everyB)
	}
	s.line(append(cells, fmt.Sprintf("%.2f (%s)", worst, where), secs(first.p99)+" "+secs(last.p99),
		two(first.restarts)+" "+two(last.restarts), secs(longest), setting)...)
}
