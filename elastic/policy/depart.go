package policy

import (
	"maps"
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// depart is applied to the answer of every policy. A job that runs on a node that is drained,
// or on which maintenance begins soon, moves to other nodes after a checkpoint: at its size if
// there is room, else at the largest that fits. It gets idle GPUs before other jobs grow onto
// them. If there is no room it stays on a drained node, where Slurm lets it end, and moves once
// there is room; before a maintenance it saves and waits again. Under a rigid policy jobs keep
// their size. It is pure.
//
// Its ORDER: maintenance before drains, and among jobs with one cause that of the snapshot. A job's own
// cooldown counts for a drain, not for a maintenance. Jobs on edge nodes are left to vacate, which comes
// BEFORE.
func depart(s elastic.Snapshot, a elastic.Allocation, rigid bool) elastic.Allocation {
	if !slices.ContainsFunc(s.Jobs, func(j elastic.Job) bool { return len(j.Departures) > 0 }) {
		return a
	}
	e := &departing{vacating{s: s, a: a, where: plan.Arrange(s, a)}, rigid}
	// Maintenance has a date, a drain does not: maintenance comes first.
	for _, cause := range []elastic.Cause{elastic.Maintenance, elastic.Draining} {
		for i := range s.Jobs {
			j := &s.Jobs[i]
			if d, any := j.Departs(); any && d.Cause == cause && e.may(j) {
				e.leave(j, d)
			}
		}
	}
	return e.a
}

// departing is the state of one decision about departures.
// Its a and where MUST agree: where is plan.Arrange of a.
type departing struct {
	vacating
	rigid bool // no job changes its size
}

// may reports whether the job can be moved, and the decision leaves it on a node that it has to
// leave.
func (e *departing) may(j *elastic.Job) bool {
	is, _ := (&roles.Subject{Job: *j, At: j.Place, Now: j.GPUs()}).Classify(&e.s)
	on := slices.ContainsFunc(j.Departures, func(d elastic.Departure) bool { return e.where.Target[j.ID].On(d.Node) > 0 })
	// A job whose user set a size that it does not accept through Slurm cannot be moved at that
	// size.
	return is == roles.Movable && on && !e.onEdge(j) && j.Spec.Allows(j.GPUs(), j.GPUs())
}

// leave moves the job, or sets the reason why it stays.
// For each size, the largest first, idle GPUs are tried first, then those onto which other jobs would
// grow. So a job keeps its size if it can, even where a smaller one would let others grow.
func (e *departing) leave(j *elastic.Job, d elastic.Departure) {
	last := d.Cause == elastic.Maintenance
	if e.s.Resting(j) && !last {
		e.stays(j, d, reason.MovedJustNow)
		return
	}
	for _, n := range e.sizes(j, last) {
		if e.move(j, n, d, e.a) || e.move(j, n, d, e.ungrown(j.ID)) {
			return
		}
	}
	if !last {
		e.stays(j, d, reason.NoRoomElsewhere)
		return
	}
	next := maps.Clone(e.a)
	next[j.ID] = elastic.Decision{Leaves: true, Why: reason.Leaves{Because: d.Why()}}
	e.a, e.where = next, plan.Arrange(e.s, next)
}

// sizes returns the sizes to try, the present one first. An admitted job does not shrink for a
// drain, and a pinned one never.
// A job before a maintenance may shrink although it is admitted: else it would wait with nothing.
func (e *departing) sizes(j *elastic.Job, last bool) []int {
	if e.rigid || j.Directive.Pin > 0 || j.Promised && !last {
		return []int{j.GPUs()}
	}
	sizes := j.Spec.Options(j.GPUs())
	slices.Reverse(sizes)
	return sizes
}

// move moves the job within the allocation if no other job gets less for it.
// At another size than the present one the decision no longer says that the job is admitted.
func (e *departing) move(j *elastic.Job, n int, d elastic.Departure, within elastic.Allocation) bool {
	if within == nil {
		return false
	}
	before := plan.Arrange(e.s, within)
	to := e.away(j, refugeFrom(e.s, before, j, n))
	if len(to) == 0 {
		return false
	}
	next, was := maps.Clone(within), within[j.ID]
	next[j.ID] = elastic.Decision{GPUs: n, Place: to, Promised: was.Promised && n == j.GPUs(), Why: reason.MovesTo{To: to, GPUs: n, Because: d.Why()}}
	after := plan.Arrange(e.s, next)
	if !after.Target[j.ID].Equal(to) || !othersUnchanged(e.s, before, after, j.ID, next[j.ID]) {
		return false
	}
	e.a, e.where = next, after
	return true
}

// refugeFrom returns a place for n GPUs on nodes that the job need not leave; empty if there is
// none.
func refugeFrom(s elastic.Snapshot, where plan.Arrangement, j *elastic.Job, n int) nodes.Placement {
	s.Nodes = slices.Clone(s.Nodes)
	for i := range s.Nodes {
		if slices.ContainsFunc(j.Departures, func(d elastic.Departure) bool { return d.Node == s.Nodes[i].Name }) {
			s.Nodes[i].Usable = false
		}
	}
	return idlePlace(s, where, j, n)
}

// away returns the place, or none if part of it is on a node that the job has to leave.
func (e *departing) away(j *elastic.Job, to nodes.Placement) nodes.Placement {
	for _, d := range j.Departures {
		if to.On(d.Node) > 0 {
			return nil
		}
	}
	return to
}

// ungrown returns the allocation without the growth of other running jobs; nil if none grows. With
// it a job that has to leave gets idle GPUs before other jobs grow onto them. Jobs with an open
// move are not changed: their GPUs are bound already.
func (e *departing) ungrown(but elastic.JobID) elastic.Allocation {
	var next elastic.Allocation
	for i := range e.s.Jobs {
		k := &e.s.Jobs[i]
		d, named := e.a[k.ID]
		if k.ID == but || !named || k.Phase != elastic.Running || k.GPUs() == 0 || d.GPUs <= k.GPUs() {
			continue
		}
		if _, moving := e.s.Intent(k.ID); moving {
			continue
		}
		if next == nil {
			next = maps.Clone(e.a)
		}
		next[k.ID] = elastic.Decision{GPUs: k.GPUs(), Promised: d.Promised, Why: reason.Keeps{GPUs: k.GPUs(), Because: reason.LeaversFirst}}
	}
	return next
}

// stays sets the reason why the job stays where it is; a decision to shrink it is kept.
// A decision that resizes or moves the job has a reason of its own.
func (e *departing) stays(j *elastic.Job, d elastic.Departure, why reason.Reason) {
	if was := e.a[j.ID]; was.GPUs == j.GPUs() && (len(was.Place) == 0 || was.Place.Equal(j.Place)) {
		was.Why = reason.StaysOn{GPUs: j.GPUs(), Leaving: d.Why(), Because: why}
		e.a = maps.Clone(e.a)
		e.a[j.ID] = was
	}
}
