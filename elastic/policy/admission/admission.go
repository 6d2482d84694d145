package admission

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/solve/deadline"
)

// Rules are what one decision about deadlines goes by.
type Rules struct {
	Snap elastic.Snapshot
	Once bool // a job that is not promised its deadline as it comes never is
}

// Every is the time from one decision to the next.
func (d Rules) Every() time.Duration {
	return max(time.Second, cmp.Or(d.Snap.Limits.Every, time.Minute))
}

// Judge says whether the i-th job of a plan is promised its deadline, and when it ends as
// far as can be seen.
func (d Rules) Judge(p *roles.Subject, j deadline.Job, plan deadline.Plan, i int) elastic.Decision {
	ends := plan.Soonest[i]
	if plan.Promised[i] {
		ends = j.Due
		for k, n := range j.Sizes {
			if n == plan.GPUs[i] {
				ends = min(ends, j.Work/j.Rate[k])
			}
		}
	}
	said := elastic.Decision{Promised: plan.Promised[i], Due: d.due(p, plan.Promised[i])}
	if ends > 0 && !math.IsInf(ends, 0) {
		said.Ends = d.Snap.Now.Add(time.Duration(ends * float64(time.Second)))
	}
	return said
}

// untilProven is how many seconds a job is taken to need, from its start, until it has shown a
// checkpoint: to start, and for a unit of work; two decisions at least.
func (d Rules) untilProven(j *roles.Subject, unit float64) float64 {
	return max((j.Price.Start+j.Price.Load).Seconds()+unit, 2*d.Every().Seconds())
}

// Pose is the job that may have some sizes, on the k-th of which a unit of its work takes so
// many seconds, as the plan sees it.
func (d Rules) Pose(p *roles.Subject, sizes []int, seconds func(k int) float64) (deadline.Job, bool) {
	j := deadline.Job{Work: max(p.Work, math.SmallestNonzeroFloat32), Now: p.Now, Price: p.ResizeCost, Promised: p.Promised, Due: math.Inf(1)}
	for k, n := range sizes {
		if n == 0 {
			continue
		}
		unit := seconds(k)
		if !p.Promised && !p.Spec.Deadline.IsZero() { // who was, was it with this to spare
			unit *= 1 + p.Curve.Doubt(speed.Shape{GPUs: n, Nodes: 1})
		}
		if unit > 0 && !math.IsInf(unit, 0) {
			j.Sizes, j.Rate = append(j.Sizes, n), append(j.Rate, 1/unit)
		}
	}
	if until := d.Snap.RestsUntil(&p.Job); p.Now > 0 && until.After(d.Snap.Now) && !d.Snap.Limits.AsPublished() {
		j.Rests, j.Until = true, until.Sub(d.Snap.Now).Seconds()
	}
	switch {
	case len(j.Rate) == 0:
	case p.Role == roles.Waiting && p.Unproven && p.Grown.Min > 0 && len(j.Sizes) > 1:
		j.Proves = d.untilProven(p, 1/j.Rate[0])
	case p.AwaitsCheckpoint():
		j.Until = max(j.Until, d.untilProven(p, 1/j.Rate[0])-d.Snap.Now.Sub(p.Started).Seconds())
	}
	if !d.Once && !d.Snap.Limits.AsPublished() {
		j.Payback = d.Snap.Limits.Payback
	}
	j.Keeps, j.Stays = sizes[0] > 0, !d.Snap.Limits.Preempt
	j.Queues = p.Spec.Deadline.IsZero() || p.Spec.Soft
	switch due := p.Spec.Deadline; {
	case due.IsZero():
	case d.passed(p): // nothing it waits for could come: it counts as a job without a deadline
		j.Queues, j.Promised = true, false
	default:
		j.Due = due.Sub(d.Snap.Now).Seconds()
		j.Waits = !p.Spec.Soft && !p.HasGPUs()
		j.Turned = d.Once && !p.Promised && d.Snap.Now.Sub(p.Submitted) > d.Every()
		if p.Curve.Samples() == 0 { // it runs as any other until that is known
			j.Due, j.Queues, j.Waits = math.Inf(1), true, false
		}
	}
	return j, len(j.Sizes) > 0 && (!j.Keeps || j.Sizes[0] == sizes[0])
}

// passed reports whether the job's deadline is over. Such a job is best effort, in either
// mode: a hard one would otherwise wait for ever. The published baseline drops it.
func (d Rules) passed(j *roles.Subject) bool {
	return !d.Once && !j.Spec.Deadline.IsZero() && !j.Spec.Deadline.After(d.Snap.Now)
}

// due is what a plan makes of a job's deadline.
func (d Rules) due(j *roles.Subject, promised bool) elastic.Due {
	switch {
	case j.Spec.Deadline.IsZero():
		return elastic.DueUnjudged
	case promised:
		return elastic.DuePromised
	case d.passed(j):
		return elastic.DuePassed
	case j.Curve.Samples() == 0:
		return elastic.DueUnknown
	}
	return elastic.DueUnmet
}

// Explain is what a job's deadline does to its size, given what was said of the deadline.
func Explain(j *elastic.Job, said elastic.Decision) reason.Reason {
	if j.Spec.Deadline.IsZero() {
		return reason.DeadlinesFirst
	}
	due := j.Spec.Deadline
	switch said.Due {
	case elastic.DuePromised:
		return reason.EndsBy{Ends: said.Ends, Spare: due.Sub(said.Ends).Seconds()}
	case elastic.DuePassed:
		return reason.DeadlinePassed{Deadline: due}
	case elastic.DueUnknown:
		return reason.DeadlineUnknown{Deadline: due}
	case elastic.DueUnjudged:
		return reason.DeadlineUnjudged{Deadline: due}
	}
	return reason.DeadlineUnmet{Deadline: due, Ends: said.Ends}
}

// Wait is why a job waits, on account of deadlines.
type Wait int

// Why a job with or without a deadline waits.
const (
	none        Wait = iota
	HeldBack         // started now, it would be in the way of a promise to another
	TooEarly         // it is promised its deadline, and starts later
	NotPromised      // its hard deadline cannot be promised
)

// WaitOf reads from a plan why the i-th job waits.
func WaitOf(waits bool, j deadline.Job, plan deadline.Plan, i int) Wait {
	notNow := waits && plan.GPUs[i] == 0
	switch {
	case !notNow:
		return none
	case plan.Promised[i]:
		return TooEarly
	case j.Waits:
		return NotPromised
	case slices.Contains(plan.Promised, true):
		return HeldBack
	}
	return none
}

// Why is the wait as a reason; nil for none.
func (w Wait) Why(least int) reason.Reason {
	switch w {
	case HeldBack:
		return reason.Waits{GPUs: least, Because: reason.PromisedToThem}
	case TooEarly:
		return reason.WaitsOn{Because: reason.NotYet}
	case NotPromised:
		return reason.WaitsOn{Because: reason.HardDeadline}
	}
	return nil
}
