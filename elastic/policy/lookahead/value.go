package lookahead

import (
	"cmp"
	"math"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/solve/costate"
)

// tilt discounts long jobs slightly, in anticipation of future arrivals: a job's value is
// multiplied by (its remaining seconds at best / 3600)^tilt. Where jobs may be stopped a
// smaller discount is enough. A job that would take 1 h at best keeps its value; under tiltKept
// one of 100 h counts 0.63 times and one of 6 min 1.26 times its value.
const (
	tiltKept    = -0.1
	tiltStopped = -0.05
)

// sampled bounds the jobs whose co-states are computed one by one. Of more jobs, every k-th
// stands for its neighbours in the order of end, on a k-th of the GPUs: the recursion depends
// on the mix of jobs, not on their number. Of 1,000 jobs every 3rd is computed, on a third of the
// GPUs.
const sampled = 400

// value sets the co-state of every job that runs or starts now, in seconds saved over all jobs.
// With a sample of the jobs, a job's value is its representative's, scaled by the ratio of their
// remaining times: the co-state is proportional to the work that it is the price of.
//
// Each active job MUST have a choice with a positive remaining time (estimate). Without active
// jobs nothing is set.
func (o *round) value() {
	who := o.inOrderOfEnd()
	every := 1 + len(who)/sampled
	var few []*job
	for k := every / 2; k < len(who); k += every {
		few = append(few, who[k])
	}
	m := o.costates(few, float64(o.gpus)/float64(max(1, len(who)))*float64(len(few)))
	tilt := tiltKept
	if o.stop {
		tilt = tiltStopped
	}
	for k, p := range who {
		near := min(k/every, len(few)-1)
		p.worth = m[near] * p.end / few[near].end * math.Pow(p.fastest()/3600, tilt)
	}
}

// costates returns the values of jobs, which MUST be listed in the order of their ends. A job that
// must have GPUs has no point at 0 GPUs; one that is admitted has none below what its admission
// needs. If these minimums exceed the GPUs, the recursion is solved with as many as they need. The
// capacity is gpus, in GPUs, a fraction if the jobs are a sample. Rates are 1/s: the share of all
// the job's remaining work that is done in a second.
func (o *round) costates(who []*job, gpus float64) []float64 {
	hulls := make([]costate.Hull, len(who))
	var points []costate.Point
	floors := 0.0
	for k, p := range who {
		points = points[:0]
		if !p.must {
			points = append(points, costate.Point{})
		}
		for _, c := range p.choices {
			if c.gpus < p.plan.least {
				continue
			}
			points = append(points, costate.Point{GPUs: float64(c.gpus), Rate: 1 / p.rest(c)})
		}
		if len(points) == 0 { // no size is left that meets its admission: the next best
			c := p.choices[len(p.choices)-1]
			points = append(points, costate.Point{GPUs: float64(c.gpus), Rate: 1 / p.rest(c)})
		}
		hulls[k] = costate.NewHull(points, nil)
		floors += hulls[k].Floor.GPUs
	}
	var solver costate.Solver
	return solver.Values(hulls, max(gpus, floors))
}

// rest returns the expected remaining time of the job at a choice: as measured for its present
// one, typical for others.
func (p *job) rest(c choice) float64 {
	if c.gpus == p.Now && p.stay > 0 {
		return p.stay
	}
	return c.typical()
}

// fastest returns the job's remaining time at its best size, in seconds. It is +Inf without
// choices.
func (p *job) fastest() float64 {
	best := math.Inf(1)
	for _, c := range p.choices {
		best = min(best, c.best)
	}
	return best
}

// inOrderOfEnd lists the jobs in the order in which they would end if all had an equal share. The
// share is in whole GPUs, at least 1. A job whose smallest size is above it counts at that size.
// It sets end of each job that it lists.
func (o *round) inOrderOfEnd() []*job {
	var who []*job
	for i := range o.jobs {
		if p := &o.jobs[i]; p.active() {
			who = append(who, p)
		}
	}
	share := max(1, o.gpus/max(1, len(who)))
	for _, p := range who {
		c := p.choices[0]
		for _, next := range p.choices[1:] {
			if next.gpus <= share {
				c = next
			}
		}
		p.end = p.rest(c)
	}
	slices.SortStableFunc(who, func(a, b *job) int { return cmp.Compare(a.end, b.end) })
	return who
}

// active reports whether the job takes part: it runs and may move, or it may start. It MUST be
// asked after admit.
func (p *job) active() bool {
	return len(p.choices) > 0 && (p.Role == roles.Movable || p.Role == roles.Waiting && p.admit)
}
