package lookahead

import (
	"math/rand/v2"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/solve/joint"
)

// Allocate is the default. It values every job's remaining work by what finishing
// it saves all jobs together (package costate), multiplies that by the speed a
// size and place would give, the price of getting there taken off, and looks for
// sizes and places together that add up to most (package joint). Hard rules come
// first: a new request gets its minimum at once if any GPU can be freed, a started
// job keeps its minimum, and jobs start in the order they came; promised deadlines come
// before that (see deadlinePlan).
func Allocate(s elastic.Snapshot) elastic.Allocation {
	o := newRound(s)
	plan, _ := o.decide((*round).value, (*round).solve)
	return o.answer(plan) // 7. With reasons, and in an order in which it can be done.
}

// decide returns the plan and the problem it answers. It is given how work is valued,
// and how the problem is solved.
func (o *round) decide(value func(*round), solve func(*round, *joint.Problem) (joint.Plan, bool)) (joint.Plan, *joint.Problem) {
	o.classify() // 1. Who may be started, who may move, who stays as it is.
	o.estimate() // 2. How long the rest of each job takes at every size.
	o.stop = o.mayStop()
	o.planDeadlines() // 3. What deadlines that are promised need now.
	o.admit()         // 4. Who of those that wait gets its minimum now.
	for {
		value(o)      // 5. What the rest of each job is worth.
		p := o.pose() // 6. Every place each job could have, with its value.
		best, ok := solve(o, p)
		if ok || !o.admitFewer() {
			return best, p
		}
	}
}

// solve finds the best sizes and places: from several promising lists of sizes,
// placed in several orders, the best is improved step by step. It is false when
// somebody who must have GPUs finds none; then the plan changes nothing.
func (o *round) solve(p *joint.Problem) (joint.Plan, bool) {
	rng := rand.New(rand.NewPCG(o.seed(), 0x51))
	search, effort := joint.NewSearch(p), effortFor(len(p.Jobs))
	var best joint.Plan
	found := false
	for _, sizes := range o.candidates(p, effort.candidates) {
		for _, order := range search.Distinct(sizes, joint.Orders(sizes, effort.orders, rng)) {
			if value, ok := search.Build(sizes, order); ok && (!found || value > best.Value) {
				best, found = search.Plan(), true
				if search.Tops() {
					return best, true
				}
			}
		}
	}
	if !found {
		return stayPut(p), false
	}
	return search.Improve(best, effort.moves, rng), true
}

// effort is how much work goes into one decision; counted, not timed, so that the
// same snapshot always gets the same answer.
type effort struct{ candidates, orders, moves int }

// effortFor spends most where it is cheap.
func effortFor(jobs int) effort {
	switch {
	case jobs <= 32:
		return effort{9, 12, 300}
	case jobs <= 64:
		return effort{9, 6, 300}
	case jobs <= 200:
		return effort{3, 6, 500}
	case jobs <= 2000:
		return effort{3, 12, 6000}
	}
	return effort{1, 4, 12_000}
}

// seed makes the search of a snapshot its own: it depends on the jobs there are.
func (o *round) seed() uint64 {
	h := uint64(14695981039346656037) // FNV-1a over the ids
	for i := range o.jobs {
		h = (h ^ uint64(o.jobs[i].ID)) * 1099511628211
	}
	return h
}

// stayPut is the plan that changes nothing.
func stayPut(p *joint.Problem) joint.Plan {
	plan := joint.Plan{Places: make([][]joint.Share, len(p.Jobs))}
	for i := range p.Jobs {
		if len(p.Jobs[i].Now) > 0 {
			plan.Places[i] = p.Jobs[i].Now
		}
	}
	return plan
}
