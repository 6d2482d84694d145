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

// Rules are the parameters of one decision about deadlines. In each decision a policy calls, in this
// ORDER: Pose for each job; deadline.Decide with those that can be planned; Judge and WaitOf with the index
// that a job has among these; Explain with what Judge said. Snap is not changed.
type Rules struct {
	Snap elastic.Snapshot
	Once bool // a job that is not admitted when it arrives never is
}

// Every returns the time from one decision to the next.
func (d Rules) Every() time.Duration {
	return max(time.Second, cmp.Or(d.Snap.Limits.Every, time.Minute))
}

// Judge returns whether the i-th job of a plan is admitted, and its expected end.
//
// The end of an admitted job is the earlier of its deadline and its remaining work at the size
// that the plan gives it now: later decisions may give it less, but never so little that it
// misses the deadline. For a job that is not admitted it is the earliest end that the plan
// could find.
// Of the Decision only Promised, Due and Ends are set: the caller adds size and reason. Ends is zero if no
// end is known.
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
		said.Ends = elastic.Ahead(d.Snap.Now, ends)
	}
	return said
}

// untilProven returns how many seconds a job is assumed to need, from its start, until it has
// completed a checkpoint: to start, and for a unit of work; at least two decisions. Until then it
// cannot be resized, so the plan must not count on a larger size before.
func (d Rules) untilProven(j *roles.Subject, unit float64) float64 {
	return max((j.Price.Start+j.Price.Load).Seconds()+unit, 2*d.Every().Seconds())
}

// Pose returns the job as the plan sees it: with these sizes, on the k-th of which a unit of
// its work takes seconds(k). sizes MUST be ascending; a leading 0 says that the job may be left
// without GPUs, and without it the plan keeps the job at its smallest size (Keeps). It returns
// false if the job cannot be planned: no size has a known speed, or the smallest size that it
// has to keep is not among those that have one.
func (d Rules) Pose(p *roles.Subject, sizes []int, seconds func(k int) float64) (deadline.Job, bool) {
	j := deadline.Job{Work: max(p.Work, math.SmallestNonzeroFloat32), Now: p.Now, Price: p.ResizeCost, Promised: p.Promised, Due: math.Inf(1)}
	for k, n := range sizes {
		if n == 0 {
			continue
		}
		unit := seconds(k)
		if !p.Promised && !p.Spec.Deadline.IsZero() { // an admitted job was admitted with this margin
			unit *= 1 + p.Curve.Doubt(speed.Shape{GPUs: n, Nodes: 1})
		}
		if unit > 0 && !math.IsInf(unit, 0) {
			j.Sizes, j.Rate = append(j.Sizes, n), append(j.Rate, 1/unit)
		}
	}
	if until := d.Snap.RestsUntil(&p.Job); p.Now > 0 && until.After(d.Snap.Now) && !d.Snap.Limits.AsPublished() {
		j.Rests, j.Until = true, until.Sub(d.Snap.Now).Seconds()
	}
	// An unproven job starts on its minimum and may grow once it has saved. Sizes above the
	// minimum therefore count only after Proves, or Until if it has started already.
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
	case d.passed(p): // its dependencies cannot be fulfilled: it counts as a job without a deadline
		j.Queues, j.Promised = true, false
	default:
		j.Due = due.Sub(d.Snap.Now).Seconds()
		j.Waits = !p.Spec.Soft && !p.HasGPUs()
		j.Turned = d.Once && !p.Promised && d.Snap.Now.Sub(p.Submitted) > d.Every()
		if p.Curve.Samples() == 0 { // it runs as any other job until its throughput is known
			j.Due, j.Queues, j.Waits = math.Inf(1), true, false
		}
	}
	return j, len(j.Sizes) > 0 && (!j.Keeps || j.Sizes[0] == sizes[0])
}

// passed reports whether the job's deadline is over. Such a job becomes best effort, even if
// its deadline is hard: otherwise it would wait for ever. The published baseline drops it.
func (d Rules) passed(j *roles.Subject) bool {
	return !d.Once && !j.Spec.Deadline.IsZero() && !j.Spec.Deadline.After(d.Snap.Now)
}

// due returns the result of a plan for a job's deadline.
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

// Explain returns how a job's deadline affects its size, given the decision on the deadline.
// said is what Judge returned, or the zero Decision for a job that was not planned. The reason is never nil:
// a job without a deadline has its size because of the deadlines of others.
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

// Wait is why a job waits because of deadlines.
type Wait int

// Why a job with or without a deadline waits.
const (
	none        Wait = iota
	HeldBack         // started now, it would break the deadline of an admitted job
	TooEarly         // it is admitted, and starts later
	NotPromised      // its hard deadline cannot be met
)

// WaitOf returns, from a plan, why the i-th job waits.
// waits says that the job has no GPUs and could be started. Where the plan gives it GPUs, or no job is
// admitted, it does not wait because of deadlines: the policy says why it waits, if it does.
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

// Why returns the wait as a reason; nil for none.
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
