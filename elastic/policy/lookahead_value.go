package policy

import (
	"cmp"
	"math"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/costate"
)

// tilt discounts long jobs a little for the arrivals nobody knows of yet: a job's
// value is multiplied by (seconds its rest takes at best / 1 h)^tilt. Where jobs may
// be stopped less of it is needed.
const (
	tiltKept    = -0.1
	tiltStopped = -0.05
)

// value finds the co-state of every job that runs or starts now.
func (o *outlook) value() {
	who := o.inOrderOfEnd()
	hulls := make([]costate.Hull, len(who))
	points := []costate.Point{}
	for k, p := range who {
		points = points[:0]
		if !p.must {
			points = append(points, costate.Point{})
		}
		for _, c := range p.choices {
			points = append(points, costate.Point{GPUs: float64(c.gpus), Rate: 1 / p.rest(c)})
		}
		hulls[k] = costate.NewHull(points, nil)
	}
	var solver costate.Solver
	tilt := tiltKept
	if o.mayStop() {
		tilt = tiltStopped
	}
	for k, m := range solver.Values(hulls, float64(o.gpus)) {
		p := who[k]
		p.worth = m * math.Pow(p.fastest()/3600, tilt)
	}
}

// rest is how long the job's rest is expected to take at a choice: as measured
// where it is, typically elsewhere.
func (p *prospect) rest(c choice) float64 {
	if c.gpus == p.now && p.stay > 0 {
		return p.stay
	}
	return c.typical()
}

func (p *prospect) fastest() float64 {
	best := math.Inf(1)
	for _, c := range p.choices {
		best = min(best, c.best)
	}
	return best
}

// inOrderOfEnd lists the jobs in the order in which they would end if all had an
// equal share.
func (o *outlook) inOrderOfEnd() []*prospect {
	var who []*prospect
	for i := range o.jobs {
		if p := &o.jobs[i]; p.active() {
			who = append(who, p)
		}
	}
	share := max(1, o.gpus/max(1, len(who)))
	at := make(map[*prospect]float64, len(who))
	for _, p := range who {
		c := p.choices[0]
		for _, next := range p.choices[1:] {
			if next.gpus <= share {
				c = next
			}
		}
		at[p] = p.rest(c)
	}
	slices.SortStableFunc(who, func(a, b *prospect) int { return cmp.Compare(at[a], at[b]) })
	return who
}

// active reports whether the job takes part: it runs and may move, or may start.
func (p *prospect) active() bool {
	return len(p.choices) > 0 && (p.role == movable || p.role == waiting && p.admit)
}
