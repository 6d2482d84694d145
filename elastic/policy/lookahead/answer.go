package lookahead

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/solve/joint"
	"github.com/sluice-hpc/sluice/nodes"
)

// answer returns the plan as an Allocation with each job's reason. Moves that cannot be carried
// out, because jobs would wait for each other in a circle, are left out: plan.Arrange is run on
// the jobs that move, and its targets replace the plan's.
//
// Open moves are arranged too, since their targets are taken. A job that plan.Arrange would park
// keeps the plan's decision. Sizes and places are final BEFORE the reasons are made: a reason
// names what a job really gets.
func (o *round) answer(chosen joint.Plan) elastic.Allocation {
	a := make(elastic.Allocation, len(o.jobs))
	few := o.snap
	few.Jobs = nil
	for k, i := range o.posed {
		p := &o.jobs[i]
		place := o.placement(chosen.Places[k])
		a[p.ID] = elastic.Decision{GPUs: place.GPUs(), Place: place}
		if !place.Equal(p.Place) {
			few.Jobs = append(few.Jobs, o.snap.Jobs[i])
		}
	}
	for i := range o.jobs {
		if _, moving := o.moving[o.jobs[i].ID]; moving {
			few.Jobs = append(few.Jobs, o.snap.Jobs[i])
		}
	}
	var where plan.Arrangement
	if len(few.Jobs) > 0 {
		where = plan.Arrange(few, a)
	}
	for _, j := range few.Jobs {
		if _, decided := a[j.ID]; decided && !where.Park[j.ID] {
			a[j.ID] = elastic.Decision{GPUs: where.Target[j.ID].GPUs(), Place: where.Target[j.ID]}
		}
	}
	o.explain(a, chosen)
	return a
}

// placement returns the nodes of a place. If the cluster allows any split the shares keep their
// order, else they are in the order of the inventory.
func (o *round) placement(place []joint.Share) nodes.Placement {
	ordered := place
	if !o.snap.Limits.AnySplit() && !slices.IsSortedFunc(place, byNode) {
		ordered = slices.Clone(place)
		slices.SortFunc(ordered, byNode)
	}
	out := make(nodes.Placement, len(ordered))
	for i, s := range ordered {
		out[i] = nodes.Share{Node: o.snap.Nodes[s.Node].Name, GPUs: s.GPUs}
	}
	return out
}

func byNode(a, b joint.Share) int { return a.Node - b.Node }

// explain sets for every job why it gets what it gets. It completes a: a job that took no part
// keeps what it has.
func (o *round) explain(a elastic.Allocation, chosen joint.Plan) {
	w := o.explainer(a, chosen)
	for i := range o.jobs {
		p := &o.jobs[i]
		d, ok := a[p.ID]
		if !ok {
			d = elastic.Decision{GPUs: p.Now, Place: p.At}
		}
		d.Why = w.why(p, d)
		if p.Role == roles.Waiting && d.GPUs == 0 {
			d.Reserves, d.Behind = w.inLine(p)
		}
		a[p.ID] = w.dated(p, d)
	}
}

// explainer is what the reasons of a decision are made from.
type explainer struct {
	*round
	starts   []elastic.JobID // jobs that start now
	ordinary []elastic.JobID // ordinary jobs for which room is kept
}

// explainer lists the jobs for which others give GPUs back. chosen.Places are of the posed jobs,
// then of the ordinary jobs. a MUST have the final decisions, and chosen MUST be a plan of the
// problem that was posed last.
func (o *round) explainer(a elastic.Allocation, chosen joint.Plan) explainer {
	w := explainer{round: o}
	for _, i := range o.posed {
		if p := &o.jobs[i]; p.Now == 0 && a[p.ID].GPUs > 0 {
			w.starts = append(w.starts, p.ID)
		}
	}
	for k := len(o.posed); k < len(chosen.Places); k++ {
		if chosen.Places[k] != nil {
			w.ordinary = append(w.ordinary, o.snap.Demands[k-len(o.posed)].ID)
		}
	}
	return w
}

// why returns why the job gets its decision; the first case that applies counts, so that a pin
// is named before a gain.
func (w explainer) why(p *job, d elastic.Decision) reason.Reason {
	switch {
	case p.Role == roles.Fixed:
		return p.FixedBecause
	case p.Now == 0 && d.GPUs == 0:
		return w.waits(p)
	case p.Now == 0:
		return w.begins(p, d)
	case d.GPUs == 0:
		return reason.Stops{Because: w.causes.stops}
	case p.Pin > 0 && d.GPUs == p.Pin && p.Now == p.Pin:
		return reason.Keeps{GPUs: p.Now, Because: reason.Pinned}
	case p.Pin > 0 && d.GPUs == p.Pin:
		return reason.Resizes{From: p.Now, To: d.GPUs, Because: reason.PinnedTo{GPUs: p.Pin}}
	case p.Pin > 0:
		return reason.Keeps{GPUs: d.GPUs, Because: reason.PinnedUnavailable{GPUs: p.Pin}}
	case d.GPUs < p.Now && len(w.starts)+len(w.ordinary) == 0 && w.restAt(p, d)+p.ResizeCost < p.stay:
		return reason.Resizes{From: p.Now, To: d.GPUs, Because: reason.Join(reason.FasterOnFewer, w.takes(p, d))}
	case d.GPUs < p.Now:
		return reason.Resizes{From: p.Now, To: d.GPUs, Because: reason.Join(w.served(), w.takes(p, d))}
	case d.GPUs > p.Now:
		return reason.Resizes{From: p.Now, To: d.GPUs, Because: w.takes(p, d)}
	case !d.Place.Equal(p.At) && len(d.Place) > 0:
		return reason.Moves{From: p.At, To: d.Place, Because: w.shifts(p, d)}
	}
	return w.keeps(p)
}

// waits returns why the job waits: the obstacle that no other decision could remove is named
// first.
func (w explainer) waits(p *job) reason.Reason {
	want := p.Least()
	switch dated := w.waitsForDate(p); {
	case len(p.choices) == 0:
		return roles.CannotStart(&w.snap, &p.Job, want)
	case dated != nil:
		return dated
	case w.stop:
		return reason.Waits{GPUs: want, Because: w.causes.stops}
	case p.behind != nil:
		return reason.WaitsBehind{Job: int64(p.behind.ID), GPUs: p.behind.Least()}
	}
	return w.obstacle(p).reason()
}

// inLine returns the job's role in the queue (see Decision.Reserves). GPUs that are planned for
// admitted jobs may not be backfilled.
//
//	jobs may be stopped, the deadline plan keeps it waiting,
//	or it can start on no nodes                                 neither
//	no earlier job waits for its nodes                          reserves
//	it waits behind a job that the deadline plan holds back     neither
//	it waits behind another job                                 behind that job
func (w explainer) inLine(p *job) (reserves bool, behind elastic.JobID) {
	if w.stop || p.plan.held || p.plan.later || len(p.choices) == 0 {
		return false, 0
	}
	if p.behind == nil {
		return true, 0
	}
	if p.behind.plan.held {
		return false, 0
	}
	return false, p.behind.ID
}

// begins returns why a job starts at its size: the pin, the time that GPUs above the minimum save,
// or why it gets the minimum alone.
func (w explainer) begins(p *job, d elastic.Decision) reason.Reason {
	switch least := p.Least(); {
	case p.Pin > 0:
		return reason.Starts{GPUs: d.GPUs, Because: reason.Pinned}
	case d.GPUs > least:
		return reason.StartsAbove{GPUs: d.GPUs, Above: d.GPUs - least,
			Because: reason.Takes{After: w.restAt(p, d), Before: p.choices[0].best, Assumed: p.Assumed()}}
	}
	if p.Unproven && p.AsAsked().Fixed() {
		return reason.StartsAsAsked{GPUs: d.GPUs}
	}
	why := reason.StartsAtMinimum{GPUs: d.GPUs}
	if p.Unproven {
		why.Because = reason.Unproven
	}
	return why
}

// served names the jobs for which GPUs are given back. Jobs that start come before ordinary ones.
// If there are none, the GPUs go to jobs that run.
func (w explainer) served() reason.Reason {
	switch {
	case len(w.starts) > 0:
		return reason.JobStarts{Job: int64(w.starts[0]), More: len(w.starts) - 1}
	case len(w.ordinary) > 0:
		return reason.RoomFor{Job: int64(w.ordinary[0])}
	}
	return w.causes.shrinks
}

// takes compares the remaining time, including the resize, with that of staying.
func (w explainer) takes(p *job, d elastic.Decision) reason.Reason {
	why := reason.RestTakes{After: w.restAt(p, d) + p.ResizeCost, Before: p.stay, Assumed: p.Assumed()}
	if w.untried(p, d) {
		why.Unseen = w.kindOf(p, d.Place)
	}
	return why
}

// untried reports whether the decision is for a GPU type that the job never ran on. It is false
// for policies that do not distinguish types, and for places of unknown type.
func (w explainer) untried(p *job, d elastic.Decision) bool {
	kind := w.kindOf(p, d.Place)
	return w.causes.byType && kind != "" && p.Curve.Observed(kind) == 0
}

// shifts returns which jobs gain from the move of a job that keeps its size: itself or others.
func (w explainer) shifts(p *job, d elastic.Decision) reason.Reason {
	switch {
	case w.restAt(p, d)+p.ResizeCost < p.stay:
		return w.takes(p, d)
	case len(w.starts)+len(w.ordinary) > 0:
		return w.served()
	case w.untried(p, d):
		return reason.UnseenFaster{Type: w.kindOf(p, d.Place)}
	}
	return reason.OthersSoonerThere
}

// restAt returns the remaining time at the decision's place, without the bonus that decisions
// give to sizes that were never tried.
func (w explainer) restAt(p *job, d elastic.Decision) float64 {
	return expected(w.curve(p, d.Place), d.Place.Split()) * p.Work
}

// expected returns the seconds per unit of work on a split, without that bonus. A curve that is
// Known has no bonus, and may differ between splits of one shape.
func expected(c *speed.Curve, split []int) float64 {
	if c.Exact() {
		seconds, _ := c.Split(split)
		return seconds
	}
	gpus := 0
	for _, n := range split {
		gpus += n
	}
	seconds, _ := c.Seconds(speed.Shape{GPUs: gpus, Nodes: len(split)})
	return seconds
}

// keeps returns why the job keeps its size and place. The first obstacle that applies is named;
// only without one is it the policy's own choice.
func (w explainer) keeps(p *job) reason.Reason {
	why := reason.Keeps{GPUs: p.Now}
	switch {
	case p.Finished():
		why.Because = reason.WorkDone
	case p.behind != nil:
		why.Because = p.behind.comesFirst()
	case w.snap.Resting(&p.Job):
		why.Because = roles.RestsUntil(w.snap, &p.Job)
	case p.Spec.Max > 0 && p.Now >= p.Spec.Max:
		why.Because = reason.AtMaximum
	default:
		why.Because = reason.Join(w.causes.stays, reason.Rest{Seconds: p.stay, Assumed: p.Assumed()})
	}
	return why
}

// comesFirst returns the reason of a job that waits while running ones may not grow.
func (p *job) comesFirst() reason.Reason {
	return reason.ComesFirst{Job: int64(p.ID), GPUs: p.Least()}
}
