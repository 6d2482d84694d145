package lookahead

import (
	"math/rand/v2"
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/solve/anneal"
	"github.com/sluice-hpc/sluice/elastic/solve/joint"
)

// Anneal poses the decision as lookahead does, with the same hard rules, and solves
// it by simulated annealing over sizes and places together, from what everybody has
// (package anneal). What it makes greatest is the sum of the predicted speeds, each
// weighted by what finishing its job saves all of them, and the price of a resize taken
// off. The sum of plain speeds, which was published with the method, does not know
// who ends soon: see annealingBySpeeds.
func Anneal(s elastic.Snapshot) elastic.Allocation { return annealWith(s, (*round).value) }

// AnnealBySpeeds is annealing with the score it was published with: every job's speed
// counts as many times as it is faster than on its smallest size, however much is left of it.
func AnnealBySpeeds(s elastic.Snapshot) elastic.Allocation { return annealWith(s, (*round).speeds) }

func annealWith(s elastic.Snapshot, value func(*round)) elastic.Allocation {
	o := newRound(s)
	plan, _ := o.decide(value, (*round).anneal)
	return o.answer(plan)
}

// speeds values a job's rest by how long it takes on the smallest size.
func (o *round) speeds() {
	for i := range o.jobs {
		if p := &o.jobs[i]; p.active() {
			p.worth = p.choices[0].best
		}
	}
}

// The changes tried in one decision: so many for every job there is, at least and at
// most so many in all. On one core that is some milliseconds for a few dozen jobs.
const (
	changesAJob  = 500
	leastChanges = 2000
	mostChanges  = 100_000
)

// anneal goes on from the present. It is false when somebody who must have GPUs finds
// none; then the plan changes nothing.
func (o *round) anneal(p *joint.Problem) (joint.Plan, bool) {
	rng := rand.New(rand.NewPCG(o.seed(), 0xa2))
	search := joint.NewSearch(p)
	start, ok := o.present(search, p, rng)
	if !ok {
		return stayPut(p), false
	}
	return anneal.Improve(search, start, min(max(leastChanges, changesAJob*len(p.Jobs)), mostChanges), rng), true
}

// presents is in how many orders those who start are placed beside those who run.
const presents = 4

// present is every job as it is, and on its minimum who must start; others make room
// where there is none. Where an ordinary job waits, or a pin or a promise is not met, which
// many have to make room for together, sizes are taken from the knapsack that do.
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

// amiss reports whether a job has another size than the one its user pinned it to, or
// less than its promised deadline needs.
func (o *round) amiss(i int) bool {
	p := &o.jobs[i]
	return p.Pin > 0 && p.Now != p.Pin || p.Now < p.plan.least
}
