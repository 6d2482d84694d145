package figures

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/replay"
)

// contender is a policy under rules.
type contender struct {
	policy string
	rules  rules
}

// yardsticks are the policies that others published, under the rules each was
// published with: the first three on a cluster as it is, the rest in simulators.
var yardsticks = []contender{
	{"fcfs", slurms}, {"ef", slurms}, {"knapsack", slurms},
	{"optimus", asPublished}, {"afs", asPublished}, {"tiresias", asPublished}, {"srpt", asPublished}, {"maxspeedup", asPublished},
}

// The rules lookahead is shown under on system A's cluster.
var outlooks = []contender{
	{"lookahead", slurms}, {"lookahead", anySplit}, {"lookahead", slurms.stopping()}, {"lookahead", anySplit.stopping()},
}

var mixes = []string{"w1", "w2", "w3", "w4"}

// What system A published for its knapsack, as ratios to FCFS and to EF, mean over
// its workloads.
const publishedA = "published: .60 of fcfs and .42 of ef in JCT, .70 and .65 in makespan (mean of its workloads)"

// cell is one setting of system A's experiment.
type cell struct {
	mix     string
	arrival time.Duration
	restart time.Duration
}

func (c cell) load() string { return c.mix + "@" + short(c.arrival) }

// everyA is the time between two decisions on system A's cluster.
const everyA = 10 * time.Second

// trials are the cell's runs of a contender, one a seed.
func (c cell) trials(b *bench, entrant contender, info replay.Info) []trial {
	var out []trial
	for seed := uint64(1); seed <= seedsA(b); seed++ {
		out = append(out, trial{c.load(), seed, 1, entrant.policy, entrant.rules, info, everyA, c.restart})
	}
	return out
}

func seedsA(b *bench) uint64 {
	if b.Seeds > 0 {
		return uint64(b.Seeds)
	}
	return either[uint64](b, 30, 2)
}

// experiment is system A's: each mix at each rate and each cost of a restart.
func experiment(b *bench) func(*sheet) {
	var cells []cell
	for _, restart := range either(b, []time.Duration{10 * time.Second, time.Minute}, []time.Duration{10 * time.Second}) {
		for _, arrival := range either(b, []time.Duration{10 * time.Minute, 15 * time.Minute, 20 * time.Minute}, []time.Duration{15 * time.Minute}) {
			for _, mix := range mixes {
				cells = append(cells, cell{mix, arrival, restart})
			}
		}
	}
	rows := make([]cellRow, len(cells))
	for i, c := range cells {
		rows[i] = askCell(b, c)
	}
	return func(s *sheet) {
		s.heads("workload", "restart", "policy", "rules", "jct", "/fcfs", "/ef", "/knapsack", "p99", "makespan", "/fcfs", "/ef", "/knapsack", "restarts", "longest", "setting")
		for _, r := range rows {
			r.write(s, seedsA(b))
		}
		verdictA(s, rows)
	}
}

// cellRow is what was asked about a cell.
type cellRow struct {
	cell
	entrant []contender
	runs    []batch
	bound   batch
}

func askCell(b *bench, c cell) cellRow {
	r := cellRow{cell: c, entrant: append(append([]contender(nil), yardsticks...), outlooks...)}
	for _, w := range r.entrant {
		r.runs = append(r.runs, b.ask(c.trials(b, w, replay.Oracle)...))
	}
	if c.restart <= 10*time.Second {
		r.bound = b.askBound(either(b, 60, 30), c.trials(b, outlooks[0], replay.Oracle)...)
	}
	return r
}

// of is the means of a contender.
func (r cellRow) of(entrant contender) means {
	for i, w := range r.entrant {
		if w == entrant {
			return r.runs[i].means()
		}
	}
	return means{}
}

func (r cellRow) write(s *sheet, seeds uint64) {
	fcfs, ef, knapsack := r.of(yardsticks[0]), r.of(yardsticks[1]), r.of(yardsticks[2])
	setting := fmt.Sprintf("seeds 1-%d, oracle, %s, every %s", seeds, systemA, short(everyA))
	for i, w := range r.entrant {
		m := r.runs[i].means()
		s.line(r.load(), short(r.restart), w.policy, w.rules.name,
			secs(m.jct), ratio(m.jct, fcfs.jct), ratio(m.jct, ef.jct), ratio(m.jct, knapsack.jct), secs(m.p99),
			hours(m.makespan), ratio(m.makespan, fcfs.makespan), ratio(m.makespan, ef.makespan), ratio(m.makespan, knapsack.makespan),
			two(m.restarts), secs(m.longest), setting)
	}
	if len(r.bound.tasks) == 0 {
		return
	}
	low := r.bound.bound()
	s.line(r.load(), short(r.restart), "bound", "lookahead's, slurm", secs(low), ratio(low, fcfs.jct), ratio(low, ef.jct), ratio(low, knapsack.jct),
		"", "", "", "", "", "", "", setting)
}

// verdictA holds the results against what was published and against the goals.
func verdictA(s *sheet, rows []cellRow) {
	shared := func(c cell) bool { return c.arrival == 15*time.Minute && c.restart == 10*time.Second }
	var fcfs, ef, wideF, wideE, low []float64
	for _, r := range rows {
		if !shared(r.cell) {
			continue
		}
		f, e, k := r.of(yardsticks[0]), r.of(yardsticks[1]), r.of(yardsticks[2])
		fcfs, ef = append(fcfs, k.jct/f.jct), append(ef, k.jct/e.jct)
		wideF, wideE = append(wideF, k.makespan/f.makespan), append(wideE, k.makespan/e.makespan)
		low = append(low, r.bound.bound()/k.jct)
	}
	s.say("knapsack, mean of w1-w4 at 15m, 10s: %.2f of fcfs and %.2f of ef in JCT, %.2f and %.2f in makespan; %s", mean(fcfs), mean(ef), mean(wideF), mean(wideE), publishedA)
	s.say("no policy that keeps the minimum, and gives the first GPU at once where lookahead does, goes below %.3f of knapsack in mean JCT, mean of w1-w4 at 15m, 10s (elastic/sim/bound)", mean(low))
	summaryA(s, rows)
	for _, entrant := range outlooks {
		var at15, makespan []float64
		worst, where := 0.0, ""
		for _, r := range rows {
			m, k := r.of(entrant), r.of(yardsticks[2])
			if shared(r.cell) {
				at15, makespan = append(at15, m.jct/k.jct), append(makespan, m.makespan/k.makespan)
			}
			if x := m.jct / k.jct; r.restart == 10*time.Second && x > worst {
				worst, where = x, r.load()
			}
		}
		most := .73
		if entrant.rules.limits.Preempt {
			most = .72
		}
		s.goal(entrant.rules.name+", mean JCT of knapsack, mean of w1-w4 at 15m, 10s", mean(at15), most, "")
		s.goal(entrant.rules.name+", the worst cell at 10s, "+where, worst, .80, "")
		s.goal(entrant.rules.name+", makespan of knapsack, mean of w1-w4 at 15m, 10s", mean(makespan), 1.02, "")
	}
}

// summaryA sums up each rate and cost of a restart over the four mixes.
func summaryA(s *sheet, rows []cellRow) {
	s.heads("mean of", "arrivals", "restart", "rules", "jct/fcfs", "jct/ef", "jct/knapsack", "makespan/knapsack", "jct/bound")
	for i := 0; i+len(mixes) <= len(rows); i += len(mixes) {
		for _, entrant := range outlooks {
			var f, e, k, span, low []float64
			for _, r := range rows[i : i+len(mixes)] {
				m, fcfs, ef, knapsack := r.of(entrant), r.of(yardsticks[0]), r.of(yardsticks[1]), r.of(yardsticks[2])
				f, e, k = append(f, m.jct/fcfs.jct), append(e, m.jct/ef.jct), append(k, m.jct/knapsack.jct)
				span = append(span, m.makespan/knapsack.makespan)
				if len(r.bound.tasks) > 0 && entrant == outlooks[0] {
					low = append(low, m.jct/r.bound.bound())
				}
			}
			s.line("w1-w4", short(rows[i].arrival), short(rows[i].restart), "lookahead, "+entrant.rules.name,
				ratio(mean(f), 1), ratio(mean(e), 1), ratio(mean(k), 1), ratio(mean(span), 1), optional(mean(low)))
		}
	}
}

// optional is a ratio, or nothing where there is none.
func optional(v float64) string {
	if v == 0 {
		return ""
	}
	return ratio(v, 1)
}
