package rung

import (
	"cmp"
	"slices"
	"sort"

	"github.com/sluice-hpc/sluice/elastic/sweep/search"
)

// Rule says where the rungs are.
type Rule struct {
	// Paces are the seconds that an epoch of a trial takes, by trial, where they are known: see
	// Board.Pace.
	Paces     map[int]float64
	Epochs    int  // of a whole trial, at least 1
	Reduction int  // of Reduction trials one goes on; below 2 counts as 2
	First     int  // epochs of the first rung; 0 counts as Epochs/26, at least 1
	Max       bool // the metric is to be large; else small
	// At are the rungs themselves, ascending: then First does not count, and Epochs 0 is no bound.
	At []int
}

// What Rule has where nothing is said, chosen on 12 tasks of testbench D among 2, 3, 4 and first
// rungs at 1, 2, 3, 4 and 6 of 52 epochs. The first epoch alone says almost nothing about the last
// one (rank correlation -.22 to .41), and trials that were paused wrongly go on later: see Returns.
const (
	halving   = 2
	firstPart = 26
)

// Rungs lists the epochs at which trials are compared, ascending and below Epochs.
func (r Rule) Rungs() []int {
	var list []int
	for _, e := range r.At {
		if e < r.Epochs || r.Epochs == 0 {
			list = append(list, e)
		}
	}
	if len(r.At) > 0 {
		return list
	}
	for e := r.first(); e < r.Epochs; e *= r.reduction() {
		list = append(list, e)
	}
	return list
}

func (r Rule) reduction() int {
	if r.Reduction < 2 {
		return halving
	}
	return r.Reduction
}

func (r Rule) first() int {
	if r.First > 0 {
		return r.First
	}
	return max(1, r.Epochs/firstPart)
}

// Verdict is what a trial is to do, and why.
type Verdict struct {
	Trial int
	Pause bool // else it goes on
	Rung  int  // the highest one it reached, in epochs; 0: none
	Rank  int  // its place there, 1 is the best; equal values share the better place
	Of    int  // trials that reached it
}

// Verdicts is one verdict for each running trial, by trial. A trial that failed still counts at
// the rungs that it reached before.
func (r Rule) Verdicts(history []search.Observation) []Verdict {
	b := r.board(history)
	var list []Verdict
	for _, o := range history {
		if o.State == search.Running {
			list = append(list, b.Verdict(o.Trial))
		}
	}
	slices.SortFunc(list, func(a, b Verdict) int { return cmp.Compare(a.Trial, b.Trial) })
	return list
}

// Resume lists the paused trials in the order in which they go on when GPUs would idle: those at
// the highest rung first, of these the best.
func (r Rule) Resume(history []search.Observation) []int {
	b := r.board(history)
	var list []Verdict
	for _, o := range history {
		if o.State == search.Paused {
			list = append(list, b.Verdict(o.Trial))
		}
	}
	slices.SortFunc(list, func(a, b Verdict) int {
		return cmp.Or(cmp.Compare(b.Rung, a.Rung), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Trial, b.Trial))
	})
	trials := make([]int, len(list))
	for i, v := range list {
		trials[i] = v.Trial
	}
	return trials
}

// Returns lists those of Resume that are among the best of their rung by now, because trials
// after them were worse. They go on before new trials are asked for.
func (r Rule) Returns(history []search.Observation) []int {
	b := r.board(history)
	return slices.DeleteFunc(r.Resume(history), func(trial int) bool { return !b.Returns(trial) })
}

func (r Rule) board(history []search.Observation) *Board {
	b := NewBoard(r)
	for _, o := range history {
		curve, _ := search.Curve(o.Curve)
		for _, m := range curve {
			b.Report(o.Trial, m.Epoch, m.Value)
		}
		if pace, known := r.Paces[o.Trial]; known {
			b.Pace(o.Trial, pace)
		}
	}
	return b
}

// Returns says that the trial, if it is paused, is to go on before new trials: it reached a rung
// and is among the best there.
func (b *Board) Returns(trial int) bool {
	v := b.Verdict(trial)
	return v.Rung > 0 && !v.Pause
}

// Board is the same as a value that grows, for readers of many reports. Reports of a trial come
// in the order of their epochs; those of different trials in any order.
type Board struct {
	rule   Rule
	rungs  []int
	costs  [][]float64       // of each rung, ascending: small is good
	trials map[int][]float64 // the trial's cost at each rung that it reached
	pace   map[int]float64   // seconds an epoch
	paces  []float64         // all of these, ascending
}

// NewBoard has no reports.
func NewBoard(r Rule) *Board {
	rungs := r.Rungs()
	return &Board{r, rungs, make([][]float64, len(rungs)), map[int][]float64{}, map[int]float64{}, nil}
}

// Report takes in a value, which is finite. A trial reaches a rung with its first report at or
// after it: reports of epochs may be missing.
func (b *Board) Report(trial, epoch int, value float64) {
	cost := value
	if b.rule.Max {
		cost = -value
	}
	own := b.trials[trial]
	for len(own) < len(b.rungs) && epoch >= b.rungs[len(own)] {
		k := len(own)
		i := sort.SearchFloat64s(b.costs[k], cost)
		b.costs[k] = slices.Insert(b.costs[k], i, cost)
		own = append(own, cost)
	}
	b.trials[trial] = own
}

// Verdict is about the highest rung that the trial reached. Until Reduction trials have reached
// it, all of them go on.
func (b *Board) Verdict(trial int) Verdict {
	v := Verdict{Trial: trial}
	own := b.trials[trial]
	if len(own) == 0 {
		return v
	}
	k := len(own) - 1
	v.Rung, v.Of = b.rungs[k], len(b.costs[k])
	v.Rank = 1 + sort.SearchFloat64s(b.costs[k], own[k])
	v.Pause = v.Rank > b.keeps(trial, v.Of)
	return v
}

// Keeps is how many of the trials that reached a rung go on: all until there are Reduction of them.
func (r Rule) Keeps(of int) int {
	if of < r.reduction() {
		return of
	}
	return of / r.reduction()
}
