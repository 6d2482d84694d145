package anneal

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/solve/joint"
)

// How warm it begins and ends, as parts of the middle loss of the changes drawn at the
// start. The plan begun with is good already: were it much warmer, most of what that
// is worth would be lost first, and found again at best.
const (
	warmest = 0.3
	coldest = 0.003
)

// draws is how many changes are made and undone to learn what a usual loss is.
const draws = 100

// returns is how many times, in equal steps, the walk goes back to the best plan there
// was: what it strayed from in vain is not carried out later as moves of jobs.
const returns = 64

// least is by how much a plan is to be worth more to be the better one: less is the
// rounding of sums.
const least = 1e-9

// walk is one annealing.
type walk struct {
	s   *joint.Search
	p   *joint.Problem
	rng *rand.Rand
	on  [][]int // by node: the jobs there
	// ahead is what the plan is worth beyond the best one there was, from which it
	// differs at most in the jobs that strayed.
	ahead   float64
	best    [][]joint.Share
	strayed []int
	has     []bool // strayed, by job
	spots   []int  // workspace: nodes
}

// Improve goes on from a plan, tries so many changes, and returns the best plan there
// was: the one it began with when none is worth more. The plan must fit the problem of
// the search.
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

func begin(s *joint.Search, from joint.Plan, rng *rand.Rand) *walk {
	w := &walk{s: s, p: s.Problem(), rng: rng, best: slices.Clone(from.Places)}
	w.on, w.has = make([][]int, len(w.p.Nodes)), make([]bool, len(w.p.Jobs))
	w.back()
	return w
}

// loss is the middle loss of the changes drawn that lose something; 0 when none does.
// A mean would be that of the few that break a rule, which cost a thousand times more.
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

// try makes a change, and undoes it when it cannot be carried out or chance at this
// temperature has it so: a loss is kept with probability exp(-loss/heat).
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

// list notes that a job went from one place to another.
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

// keep notes the plan as the best one.
func (w *walk) keep() {
	for _, i := range w.strayed {
		w.best[i], w.has[i] = w.s.Place(i), false
	}
	w.strayed, w.ahead = w.strayed[:0], 0
}

// back goes back to the best plan.
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
