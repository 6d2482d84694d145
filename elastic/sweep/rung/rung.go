package rung

import (
	"cmp"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/sweep/search"
)

// Rule says where the rungs are.
type Rule struct {
	Epochs    int  // of a whole trial, at least 1
	Reduction int  // of Reduction trials one goes on; 0 counts as 3
	First     int  // epochs of the first rung; 0 counts as Epochs/13, at least 1
	Max       bool // the metric is to be large; else small
}

// firstPart is the part of a whole trial before the first rung. On 24 tasks of LCBench the first
// 2% of a trial say almost nothing about its end (rank correlation -.22 to .41), 8% do (.56 to .91).
const firstPart = 13

// Rungs lists the epochs at which trials are compared, ascending and below Epochs.
func (r Rule) Rungs() []int {
	var list []int
	for e := r.first(); e < r.Epochs; e *= r.reduction() {
		list = append(list, e)
	}
	return list
}

func (r Rule) reduction() int {
	if r.Reduction < 2 {
		return 3
	}
	return r.Reduction
}

func (r Rule) first() int {
	if r.First > 0 {
		return r.First
	}
	return max(1, r.Epochs/firstPart)
}

// Verdict is what a trial that runs is to do, and why.
type Verdict struct {
	Trial int
	Pause bool // else it goes on
	Rung  int  // the highest one it reached, in epochs; 0: none
	Rank  int  // its place there, 1 is the best; equal values share the better place
	Of    int  // trials that reached it
}

// place is a trial at a rung.
type place struct {
	trial int
	value float64
}

// Verdicts is one verdict for each running trial, by trial. A trial that failed still counts at
// the rungs that it reached before.
func (r Rule) Verdicts(history []search.Observation) []Verdict {
	rungs := r.Rungs()
	reached, highest := r.climb(history, rungs)
	var list []Verdict
	for _, o := range history {
		if o.State != search.Running {
			continue
		}
		v := Verdict{Trial: o.Trial}
		if k := highest[o.Trial]; k >= 0 {
			v.Rung, v.Of = rungs[k], len(reached[k])
			v.Rank = rank(reached[k], o.Trial)
			v.Pause = v.Rank > max(1, v.Of/r.reduction()) && v.Of >= r.reduction()
		}
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b Verdict) int { return cmp.Compare(a.Trial, b.Trial) })
	return list
}

// climb says which trials reached each rung, the best first, and each trial's highest rung or -1.
// A trial reaches a rung with its first report at or after it: reports of epochs may be missing.
func (r Rule) climb(history []search.Observation, rungs []int) (reached [][]place, highest map[int]int) {
	reached, highest = make([][]place, len(rungs)), map[int]int{}
	for _, o := range history {
		curve, _ := search.Curve(o.Curve)
		highest[o.Trial] = -1
		for k, e := range rungs {
			i := slices.IndexFunc(curve, func(m search.Measure) bool { return m.Epoch >= e })
			if i < 0 {
				break
			}
			reached[k], highest[o.Trial] = append(reached[k], place{o.Trial, curve[i].Value}), k
		}
	}
	for _, list := range reached {
		slices.SortFunc(list, func(a, b place) int {
			if r.Max {
				a, b = b, a
			}
			return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.trial, b.trial))
		})
	}
	return reached, highest
}

// rank is the place of the trial; equal values have the better one.
func rank(list []place, trial int) int {
	i := slices.IndexFunc(list, func(p place) bool { return p.trial == trial })
	for i > 0 && list[i-1].value == list[i].value {
		i--
	}
	return i + 1
}

// Resume lists the paused trials in the order in which they go on when GPUs would idle: those at
// the highest rung first, of these the best relative to the rung.
func (r Rule) Resume(history []search.Observation) []int {
	reached, highest := r.climb(history, r.Rungs())
	type paused struct{ trial, rung, rank int }
	var list []paused
	for _, o := range history {
		if o.State == search.Paused {
			p := paused{o.Trial, highest[o.Trial], 0}
			if p.rung >= 0 {
				p.rank = rank(reached[p.rung], o.Trial)
			}
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b paused) int {
		return cmp.Or(cmp.Compare(b.rung, a.rung), cmp.Compare(a.rank, b.rank), cmp.Compare(a.trial, b.trial))
	})
	trials := make([]int, len(list))
	for i, p := range list {
		trials[i] = p.trial
	}
	return trials
}
