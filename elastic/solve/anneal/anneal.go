package anneal

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/solve/joint"
)

// The temperature at the beginning and the end, as parts of the median loss of the changes
// drawn at the start. The initial plan is good already: from a much higher temperature most of
// its value would be lost first, and found again at best.
const (
	warmest = 0.3
	coldest = 0.003
)

// draws is how many changes are made and undone to measure the usual loss.
const draws = 100

// returns is how many times, in equal steps, the walk goes back to the best plan so far:
// detours without a gain must not be carried out as moves of jobs.
// For fewer changes than that it goes back before each of them, which makes the walk greedy.
const returns = 64

// least is the value by which a plan has to exceed another to be better: smaller differences
// are rounding errors.
const least = 1e-9

// walk is one annealing.
//
// BETWEEN changes the search, on, ahead and strayed describe the same plan. DURING a change on is
// still that of the plan before it.
type walk struct {
	s   *joint.Search
	p   *joint.Problem
	rng *rand.Rand
	on  [][]int // by node: the jobs on it
	// ahead is the value of the plan beyond the best one so far, from which it differs at most
	// in the jobs in strayed.
	ahead   float64
	best    [][]joint.Share
	strayed []int
	has     []bool // in strayed, by job
	spots   []int  // workspace: nodes
}

// Improve starts from a plan, tries this many changes, and returns the best plan found; at
// worst it is the one it started from. The plan MUST fit the problem of the search.
//
// changes below 1, or a problem without jobs or nodes, returns from. The temperature falls by the
// same factor with every change, from warmest to coldest. A change that neither gains nor loses is
// kept: it may open the way to one that gains.
func Improve(s *joint.Search, from joint.Plan, changes int, rng *rand.Rand) joint.Plan {
	w := begin(s, from, rng)
	if len(w.p.Jobs) == 0 || len(w.p.Nodes) == 0 || changes < 1 {
		return from
	}
	heat := warmest * w.loss()
	cooling := math.Pow(coldest/warmest, 1/float64(changes))
	for k := range changes {
		if k%(changes/returns+1) == 0 {
			w.back()
		}
		w.try(heat)
		heat *= cooling
	}
	w.back()
	if plan := s.Plan(); plan.Value > from.Value {
		return plan
	}
	return from
}

// begin returns a walk at the plan, which is also its best so far.
func begin(s *joint.Search, from joint.Plan, rng *rand.Rand) *walk {
	w := &walk{s: s, p: s.Problem(), rng: rng, best: slices.Clone(from.Places)}
	w.on, w.has = make([][]int, len(w.p.Nodes)), make([]bool, len(w.p.Jobs))
	w.back()
	return w
}

// loss returns the median loss of the drawn changes that lose something; 0 if none does. The
// mean would be that of the few that break a rule, which cost a thousand times more.
// With a temperature of 0 no loss is ever kept.
func (w *walk) loss() float64 {
	var losses []float64
	for range draws {
		c := w.s.Begin()
		if gain, ok := w.change(c); ok && gain < 0 {
			losses = append(losses, -gain)
		}
		c.Undo()
	}
	if len(losses) == 0 {
		return 0
	}
	slices.Sort(losses)
	return losses[len(losses)/2]
}

// try makes a change, and undoes it if it cannot be carried out or is rejected: a loss is kept
// with probability exp(-loss/heat).
// The draw comes BEFORE the check whether jobs can get there, which is the costliest.
func (w *walk) try(heat float64) {
	c := w.s.Begin()
	gain, ok := w.change(c)
	if !ok || gain < 0 && w.rng.Float64() >= math.Exp(gain/heat) || c.Same() || !w.s.Reachable() {
		c.Undo()
		return
	}
	for i, was := range c.Moved() {
		w.list(i, was, w.s.Place(i))
		if !w.has[i] {
			w.has[i], w.strayed = true, append(w.strayed, i)
		}
	}
	if w.ahead += gain; w.ahead > least {
		w.keep()
	}
}

// list records that a job went from one place to another.
// Lists are in no order, so a job leaves one in time proportional to the jobs on the node.
func (w *walk) list(i int, from, to []joint.Share) {
	for _, s := range from {
		on := w.on[s.Node]
		on[slices.Index(on, i)] = on[len(on)-1]
		w.on[s.Node] = on[:len(on)-1]
	}
	for _, s := range to {
		w.on[s.Node] = append(w.on[s.Node], i)
	}
}

// keep records the plan as the best one.
// Only the jobs that strayed are copied, so it does not cost the number of jobs.
func (w *walk) keep() {
	for _, i := range w.strayed {
		w.best[i], w.has[i] = w.s.Place(i), false
	}
	w.strayed, w.ahead = w.strayed[:0], 0
}

// back returns to the best plan.
func (w *walk) back() {
	w.s.Resume(joint.Plan{Places: w.best})
	for n := range w.on {
		w.on[n] = w.on[n][:0]
	}
	for i := range w.p.Jobs {
		w.list(i, nil, w.best[i])
	}
	clear(w.has)
	w.strayed, w.ahead = w.strayed[:0], 0
}
