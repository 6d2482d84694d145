package figures

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/sweeps"
	"github.com/sluice-hpc/sluice/elastic/sweep/level"
)

// The experiment of figure 14, of which everything but the draw is fixed.
const (
	sweepsMany   = 10
	sweepsGap    = 60. // s
	sweepsGPUs   = 12
	sweepsTrials = 200
	sweepsStart  = 2. // s
	sweepsGoal   = .95
	sweepsSeeds  = 20
)

func sweepsFolder(o Options) string { return o.Sweeps }

// half is some of the tasks.
type half struct {
	name  string
	tasks []*sweeps.Task
}

// halves splits the tasks, by name, into those with which policies were chosen and the others.
func halves(all []*sweeps.Task) []half {
	list := []half{{"all tasks", all}, {"tuned on", nil}, {"not tuned on", nil}}
	for i, t := range all {
		list[1+i%2].tasks = append(list[1+i%2].tasks, t)
	}
	return list
}

// shared are the results of one contender on one half, by seed, and alone that of its first sweep
// without others.
type shared struct {
	sweeps.Contender
	half    half
	results []sweeps.Result
	alone   []sweeps.Result
}

// sharedSweeps is figure 14.
func sharedSweeps(b *bench) func(*sheet) {
	tasks, err := sweeps.Load(b.Sweeps)
	if err != nil {
		b.fail(err)
		return func(*sheet) {}
	}
	seeds := either(b, sweepsSeeds, 2)
	var rows []*shared
	runs := batch{b: b}
	for _, h := range halves(tasks) {
		for _, c := range sweeps.Contenders() {
			r := &shared{c, h, make([]sweeps.Result, seeds), make([]sweeps.Result, seeds)}
			rows = append(rows, r)
			for seed := range seeds {
				runs.tasks = append(runs.tasks, b.enqueue(func(*task) error {
					cfg := sweeps.Config{Tasks: h.tasks, Sweeps: sweepsMany, Gap: sweepsGap, GPUs: sweepsGPUs, Trials: sweepsTrials,
						Start: sweepsStart, Goal: sweepsGoal, Seed: uint64(seed), Policy: c.New(), Rungs: c.Rule}
					r.results[seed] = sweeps.Run(cfg)
					cfg.Sweeps, cfg.Policy = 1, c.New()
					r.alone[seed] = sweeps.Run(cfg)
					return nil
				}))
			}
		}
	}
	return func(s *sheet) {
		if !runs.wait() {
			return
		}
		s.say("%d sweeps of %d trials arrive %.0f s apart on average, %d GPUs, goal the %.0f%% quantile of a task's last accuracies, told to no policy,", sweepsMany, sweepsTrials, sweepsGap, sweepsGPUs, 100*sweepsGoal)
		s.say("%.0f s to start a trial, %d seeds, LCBench through YAHPO; parts of FIFO with full trials, geometric means, 95%% bootstrap intervals", sweepsStart, seeds)
		s.heads("tasks", "trials", "policy", "is told", "mean time to goal", "", "until all reached it", "", "alone")
		for _, r := range rows {
			trials := "full"
			if r.Asha {
				trials = "ASHA"
			}
			mean, all := r.against(fullFIFO(rows, r))
			s.line(r.half.name, trials, r.Name, r.Told, amount(mean.value), mean.interval(), amount(all.value), all.interval(), amount(r.lonely(fullFIFO(rows, r), rows)))
		}
		sharedGoals(s, rows, b.divisionSeconds())
	}
}

func fullFIFO(rows []*shared, of *shared) *shared { return named14(rows, of.half.name, "FIFO", false) }

func named14(rows []*shared, half, name string, asha bool) *shared {
	i := slices.IndexFunc(rows, func(r *shared) bool { return r.half.name == half && r.Name == name && r.Asha == asha })
	return rows[i]
}

// sharedGoals compares with S1 to S4 and S8.
func sharedGoals(s *sheet, rows []*shared, division float64) {
	for _, name := range []string{"bid, first lane kept", "bid, lanes pass"} {
		for _, asha := range []bool{false, true} {
			r := named14(rows, "all tasks", name, asha)
			mean, all := r.against(fullFIFO(rows, r))
			most := map[bool][2]float64{false: {.13, .22}, true: {.035, .060}}[asha]
			s.goal(fmt.Sprintf("%s, ASHA %v, mean time to goal, part of FIFO", name, asha), mean.value, most[0], "")
			s.goal(fmt.Sprintf("%s, ASHA %v, until all reached it, part of FIFO", name, asha), all.value, most[1], "")
			for _, other := range []string{"equal share", "HYBRID of ease.ml"} {
				mean, all := r.against(named14(rows, "all tasks", other, asha))
				s.goal(fmt.Sprintf("%s, ASHA %v, mean time to goal, part of %s %s", name, asha, other, mean.interval()), max(mean.value, mean.high-.1), .9, "")
				s.goal(fmt.Sprintf("%s, ASHA %v, until all reached it, part of %s %s", name, asha, other, all.interval()), max(all.value, all.high-.1), .9, "")
			}
		}
		r := named14(rows, "all tasks", name, false)
		s.goal(name+", a sweep alone, part of FIFO", r.lonely(fullFIFO(rows, r), rows), 1.01, "")
	}
	s.goal("a division of 100 sweeps with 1,000 GPUs", 1000*division, 10, " ms")
}

// interval is a value with a 95% interval.
type interval struct{ value, low, high float64 }

func (i interval) interval() string { return "(" + amount(i.low) + "-" + amount(i.high) + ")" }

// against compares with another contender, seed by seed.
func (r *shared) against(other *shared) (mean, all interval) {
	var means, alls []float64
	for i, own := range r.results {
		means = append(means, math.Log(own.Mean()/other.results[i].Mean()))
		alls = append(alls, math.Log(own.All/other.results[i].All))
	}
	return geometric(means), geometric(alls)
}

// lonely compares sweeps without contention, with FIFO of the same way in which trials end: of
// sluice's rungs there is none, so it is compared with equal shares.
func (r *shared) lonely(fifo *shared, rows []*shared) float64 {
	if r.Asha {
		name := "FIFO"
		if r.Ours {
			name = "equal share, sluice's rungs"
		}
		fifo = named14(rows, r.half.name, name, true)
	}
	var logs []float64
	for i := range r.alone {
		logs = append(logs, math.Log(r.alone[i].All/fifo.alone[i].All))
	}
	return geometric(logs).value
}

// geometric is the exponential of the mean, with a bootstrap interval of it (Efron, 1979).
func geometric(logs []float64) interval {
	mean := func(pick func(int) int) float64 {
		sum := 0.
		for i := range logs {
			sum += logs[pick(i)]
		}
		return math.Exp(sum / float64(len(logs)))
	}
	rng := rand.New(rand.NewPCG(14, 14))
	drawn := make([]float64, 2000)
	for k := range drawn {
		drawn[k] = mean(func(int) int { return rng.IntN(len(logs)) })
	}
	slices.Sort(drawn)
	return interval{mean(func(i int) int { return i }), drawn[len(drawn)/40], drawn[len(drawn)-1-len(drawn)/40]}
}

// divisionSeconds is the computing time of one division, the best of ten.
func (b *bench) divisionSeconds() float64 {
	rng := rand.New(rand.NewPCG(8, 8))
	list := make([]level.Standing, 100)
	for i := range list {
		list[i] = level.Standing{Want: 1000, Lanes: rng.IntN(20), Bid: rng.Float64()}
	}
	best := time.Duration(math.MaxInt64)
	for range 10 {
		begin := b.Clock()
		for range 20 {
			level.Divide(level.DefaultRules(), list, 1000)
		}
		best = min(best, b.Clock()-begin)
	}
	return best.Seconds() / 20
}
