package policy

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/nodes"
)

// fitting looks for room for jobs that wait, as if an arrangement had been carried out.
// where MUST be plan.Arrange of the same snapshot. free is the inventory when all moves are over; take books
// on it, the other methods do not change it.
type fitting struct {
	s     elastic.Snapshot
	where plan.Arrangement
	free  []nodes.Node
	wants []nodes.Want // of ordinary jobs
}

// newFitting sets aside nothing for ordinary jobs that wait: fits does that, for the first
// roles.MostDemands of them.
func newFitting(s elastic.Snapshot, where plan.Arrangement) *fitting {
	f := &fitting{s: s, where: where}
	var here, then []nodes.Load
	for i := range s.Jobs {
		j := &s.Jobs[i]
		here, then = append(here, j.Load(held(s, j))), append(then, j.Load(where.Target[j.ID]))
	}
	f.free = nodes.With(nodes.Without(s.Nodes, here...), then...)
	for i := range s.Demands[:min(len(s.Demands), roles.MostDemands)] {
		f.wants = append(f.wants, s.Demands[i].Want())
	}
	return f
}

// held returns where Slurm counts the job's GPUs: while it cleans up the job's last run, which has no place
// any more, these are the ones that its move gives back.
func held(s elastic.Snapshot, j *elastic.Job) nodes.Placement {
	if in, moving := s.Intent(j.ID); moving && j.Phase == elastic.Completing && len(j.Place) == 0 {
		return in.From
	}
	return j.Place
}

// fits returns a place for the job at its minimum once some jobs are gone, beside what ordinary jobs
// can have then; empty if there is none.
// gone may be nil. Nothing is booked.
func (f *fitting) fits(x *elastic.Job, gone []*elastic.Job) nodes.Placement {
	idle, _ := nodes.Reserve(f.rid(gone), f.wants)
	r := x.Request(f.s.Limits)
	r.GPUs = roles.LeastOf(x)
	return nodes.Place(idle, []nodes.Request{r})[0].Placement
}

// rid returns the nodes without some jobs.
// Jobs are taken off the targets of the arrangement, where free has them.
func (f *fitting) rid(gone []*elastic.Job) []nodes.Node {
	loads := make([]nodes.Load, len(gone))
	for i, j := range gone {
		loads[i] = j.Load(f.where.Target[j.ID])
	}
	return nodes.Without(f.free, loads...)
}

// fewest returns jobs whose leaving is enough for the job to fit: the first that is enough alone, else
// several, without those at the end that are not needed; nil if all together are not enough.
//
// of is in the order in which jobs should go. One job that is enough is preferred to several smaller ones
// before it. Greedy: the result is minimal (none can be left out), not always the smallest. It may be a
// part of the list given: callers that change that list MUST clone it. O(len(of)) placements.
func (f *fitting) fewest(x *elastic.Job, of []*elastic.Job) []*elastic.Job {
	if len(of) == 0 || len(f.fits(x, of)) == 0 {
		return nil
	}
	for k := range of {
		if len(f.fits(x, of[k:k+1])) > 0 {
			return of[k : k+1]
		}
	}
	needed := slices.Clone(of)
	for k := len(needed) - 1; k >= 0; k-- {
		if rest := slices.Delete(slices.Clone(needed), k, k+1); len(f.fits(x, rest)) > 0 {
			needed = rest
		}
	}
	return needed
}

// take gives the job its place once some jobs are gone.
// The job MUST fit (fits) without them.
func (f *fitting) take(x *elastic.Job, gone []*elastic.Job) {
	at := f.fits(x, gone)
	f.free = nodes.With(f.rid(gone), x.Load(at))
}
