package lookahead

import (
	"math/rand/v2"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/solve/joint"
)

// Allocate is the default policy. It values every job's remaining work by its shadow price: how
// much finishing a unit of it saves all jobs together (package costate). The value of a size
// and place is that price times the speed there, less the resize cost. It searches for the
// sizes and places with the largest sum (package joint). Hard rules come first: admitted jobs
// meet their deadlines (deadlinePlan), a new job gets its minimum as soon as GPUs can be freed,
// a started job keeps its minimum, and jobs start in order of arrival.
//
// It sets Promised, Ends and Due of the decision about each job with a deadline that was planned
// for. Anneal and AnnealBySpeeds do so too.
func Allocate(s elastic.Snapshot) elastic.Allocation {
	o := newRound(s)
	plan, _ := o.decide((*round).value, (*round).solve)
	return o.answer(plan) // 7. Reasons, and an order in which the moves can be made.
}

// decide returns the plan and the problem that it solves. The parameters are how work is
// valued, and how the problem is solved. If the solver finds no place for all jobs that must
// have GPUs, fewer jobs are started, and values and problem are made again, since both depend on
// the jobs that take part. It ends because admitFewer halves the number of starts.
//
// The ORDER matters. Deadlines come before admit, which starts no job that would break an
// admission and takes what admitted jobs need from the room. Values come after admit: they depend
// on which jobs take part. The problem comes last, because values are part of it. The plan
// returned is of the problem returned; if no job can be left to wait any more it is the one that
// changes nothing.
func (o *round) decide(value func(*round), solve func(*round, *joint.Problem) (joint.Plan, bool)) (joint.Plan, *joint.Problem) {
	o.classify() // 1. Which jobs may be started, which may move, which stay as they are.
	o.estimate() // 2. The remaining time of each job at every size.
	o.stop = o.mayStop()
	o.planDeadlines() // 3. What admitted jobs need now.
	o.admit()         // 4. Which waiting jobs get their minimum now.
	for {
		value(o)      // 5. The value of each job's remaining work.
		p := o.pose() // 6. Every place that each job could have, with its value.
		best, ok := solve(o, p)
		if ok || !o.admitFewer() {
			return best, p
		}
	}
}

// solve finds the best sizes and places: several promising lists of sizes are placed in several
// orders, and the best result is improved step by step. It returns false if a job that must
// have GPUs finds none; then the plan changes nothing.
//
// It ends early where every job has its most valuable place: no plan is better then. Plans are
// compared by their value in the problem, whatever estimate their sizes came from.
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

// effort is how much work is spent on one decision. It is counted, not timed, so that the same
// snapshot always gets the same answer. candidates is lists of sizes, beside the present sizes;
// orders is in how many orders each is placed, at most; moves is steps of improvement of the best
// plan.
type effort struct{ candidates, orders, moves int }

// effortFor spends most for few jobs, where it is cheap.
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

// seed returns the random seed of a snapshot's search; it depends on the job ids. It does not
// depend on the time or the sizes: a decision that is repeated while the same jobs are there draws
// the same numbers.
func (o *round) seed() uint64 {
	h := uint64(14695981039346656037) // FNV-1a over the ids
	for i := range o.jobs {
		h = (h ^ uint64(o.jobs[i].ID)) * 1099511628211
	}
	return h
}

// stayPut is the plan that changes nothing. Jobs without GPUs get none, even those that must
// start. Its value is not set.
func stayPut(p *joint.Problem) joint.Plan {
	plan := joint.Plan{Places: make([][]joint.Share, len(p.Jobs))}
	for i := range p.Jobs {
		if len(p.Jobs[i].Now) > 0 {
			plan.Places[i] = p.Jobs[i].Now
		}
	}
	return plan
}
