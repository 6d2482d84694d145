package lookahead

import (
	"math/rand/v2"
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/solve/anneal"
	"github.com/sluice-hpc/sluice/elastic/solve/joint"
)

// Anneal poses the decision as lookahead does, with the same hard rules, and solves it by
// simulated annealing over sizes and places together, starting from the present allocation
// (package anneal). It maximizes the sum of the predicted speeds, each weighted by the shadow
// price of its job's remaining work, less the cost of resizes. The sum of unweighted speeds,
// with which the method was published, ignores which jobs end soon: see AnnealBySpeeds.
func Anneal(s elastic.Snapshot) elastic.Allocation { return annealWith(s, (*round).value) }

// AnnealBySpeeds is annealing with its published score: each job's speed relative to its
// smallest size, whatever work is left.
func AnnealBySpeeds(s elastic.Snapshot) elastic.Allocation { return annealWith(s, (*round).speeds) }

// annealWith decides by annealing, with this valuation of work.
func annealWith(s elastic.Snapshot, value func(*round)) elastic.Allocation {
	o := newRound(s)
	plan, _ := o.decide(value, (*round).anneal)
	return o.answer(plan)
}

// speeds sets the value of a job's remaining work to its remaining time at its smallest size. So
// its value at a place, worth divided by the time there, is the speed relative to the smallest
// size.
func (o *round) speeds() {
	for i := range o.jobs {
		if p := &o.jobs[i]; p.active() {
			p.worth = p.choices[0].best
		}
	}
}

// The number of changes tried in one decision: per job, with a minimum and a maximum in all. On
// one core that takes some milliseconds for a few dozen jobs.
const (
	// So the minimum counts for up to 4 jobs, and the maximum from 200 jobs on.
	changesAJob  = 500
	leastChanges = 2000
	mostChanges  = 100_000
)

// anneal starts from the present allocation. It returns false if a job that must have GPUs
// finds none; then the plan changes nothing.
func (o *round) anneal(p *joint.Problem) (joint.Plan, bool) {
	rng := rand.New(rand.NewPCG(o.seed(), 0xa2))
	search := joint.NewSearch(p)
	start, ok := o.present(search, p, rng)
	if !ok {
		return stayPut(p), false
	}
	return anneal.Improve(search, start, min(max(leastChanges, changesAJob*len(p.Jobs)), mostChanges), rng), true
}

// presents is in how many orders starting jobs are placed beside running ones. A job that finds no
// place in one order may find one in another.
const presents = 4

// present returns the plan in which every job stays as it is, or at its minimum if it must
// start; others make room if there is none. If an ordinary job waits, or a pin or an admission
// is not met, for which several jobs have to make room together, sizes that do so are taken
// from the knapsack. It returns false if in none of the orders each job that must have GPUs finds
// some.
func (o *round) present(search *joint.Search, p *joint.Problem, rng *rand.Rand) (best joint.Plan, found bool) {
	begin := [][]int{o.asNow(p)}
	if len(p.Jobs) > len(o.posed) || slices.ContainsFunc(o.posed, o.amiss) {
		begin = o.candidates(p, 1)
	}
	for _, sizes := range begin {
		for _, order := range joint.Orders(sizes, presents, rng) {
			if value, ok := search.Build(sizes, order); ok && (!found || value > best.Value) {
				best, found = search.Plan(), true
			}
		}
	}
	return best, found
}

// amiss reports whether a job has another size than its pin, or less than its admission needs. i
// is an index into jobs.
func (o *round) amiss(i int) bool {
	p := &o.jobs[i]
	return p.Pin > 0 && p.Now != p.Pin || p.Now < p.plan.least
}
