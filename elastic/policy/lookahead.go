package policy

import (
	"math/rand/v2"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/joint"
)

// lookahead is the default. It values every job's remaining work by what finishing
// it saves all jobs together (package costate), multiplies that by the speed a
// size and place would give, the price of getting there taken off, and looks for
// sizes and places together that add up to most (package joint). Hard rules come
// first: a new request gets its minimum at once if any GPU can be freed, a started
// job keeps its minimum, and jobs start in the order they came.
func lookahead(s elastic.Snapshot) elastic.Allocation {
	o := newOutlook(s)
	o.classify()  // 1. Who may be started, who may move, who stays as he is.
	o.estimate()  // 2. How long the rest of each job takes at every size.
	o.admit()     // 3. Who of those that wait gets his minimum now.
	o.value()     // 4. What the rest of each job is worth.
	p := o.pose() // 5. Every place each job could have, with its value.
	best := o.solve(p, rand.New(rand.NewPCG(o.seed(), 0x51)))
	o.queueUp(&best) // 6. Nobody overtakes.
	return o.answer(best)
}

// solve finds the best sizes and places: from several promising lists of sizes,
// placed in several orders, the best is improved step by step.
func (o *outlook) solve(p *joint.Problem, rng *rand.Rand) joint.Plan {
	effort := effortFor(len(p.Jobs))
	var best joint.Plan
	found := false
	for _, sizes := range o.candidates(p, effort.candidates) {
		for _, order := range joint.Orders(sizes, effort.orders, rng) {
			if plan, ok := joint.Build(p, sizes, order); ok && (!found || plan.Value > best.Value) {
				best, found = plan, true
			}
		}
	}
	if !found {
		return o.stayPut(p)
	}
	return joint.Improve(p, best, effort.moves, rng)
}

// effort is how much work goes into one decision; counted, not timed, so that the
// same snapshot always gets the same answer.
type effort struct{ candidates, orders, moves int }

// effortFor spends most where it is cheap.
func effortFor(jobs int) effort {
	switch {
	case jobs <= 200:
		return effort{9, 12, 300}
	case jobs <= 2000:
		return effort{3, 2, 2000}
	}
	return effort{1, 1, 4000}
}

// seed makes the search of a snapshot its own: it depends on the jobs there are.
func (o *outlook) seed() uint64 {
	h := uint64(14695981039346656037)
	for i := range o.jobs {
		h = (h ^ uint64(o.jobs[i].ID)) * 1099511628211
	}
	return h
}

// stayPut is the plan that changes nothing.
func (o *outlook) stayPut(p *joint.Problem) joint.Plan {
	plan := joint.Plan{Places: make([][]joint.Share, len(p.Jobs))}
	for i := range p.Jobs {
		if len(p.Jobs[i].Now) > 0 {
			plan.Places[i] = p.Jobs[i].Now
		}
	}
	return plan
}
