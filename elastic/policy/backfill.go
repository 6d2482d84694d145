package policy

import (
	"cmp"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// mostBackfills is how many jobs behind a head are tried in one decision.
// Each try costs a search for a place, and for each head up to 2^mostOrders of them (fitsBeside).
const mostBackfills = 256

// backfillSlack is how long a job may occupy its GPUs beyond its time limit, from the decision
// until Slurm has them free again: to be started, and to be killed at the limit (KillWait, 30 s
// by default).
const backfillSlack = time.Minute

// backfill is applied to the answer of every policy that starts jobs in order of arrival. The
// first job that does not fit (Decision.Reserves) reserves its GPUs. Its shadow time is the
// earliest time at which it could start if no running job ends before its time limit. A later
// job (Decision.Behind) starts at its minimum on idle GPUs if
//
//   - its own time limit ends it before the shadow time, or
//   - the head finds its GPUs at the shadow time beside it. Without a shadow time the head must
//     find them in whatever order the jobs end that run where it could.
//
// A started job keeps its minimum, so nothing else is safe. Predicted ends are not used. It is
// pure. Source: EASY backfill (Lifka, The ANL/IBM SP Scheduling System, JSSPP 1995), with
// placements instead of counts.
//
// Its ORDER: moves that would delay a head are undone (keepOvertakers) BEFORE the shadow times are
// computed, since these depend on where jobs run; each job that starts is booked BEFORE the next is
// tried. If plan.Arrange would then place any job otherwise than the policy intended, none is started.
// A head's own reason says its shadow time, where one is known.
//
//	the head needs 8 GPUs; 4 are idle, and a time limit ends the ordinary job on the other 4 by 12:00
//	a job of 2 GPUs that its --time ends by 11:59 starts: with backfillSlack it is over by 12:00
//	a job of 2 GPUs without --time waits: at 12:00 the head would find 6
func backfill(s elastic.Snapshot, a elastic.Allocation) elastic.Allocation {
	if s.Limits.AsPublished() {
		return a
	}
	a = keepOvertakers(s, a)
	var heads, behind []*elastic.Job
	for i := range s.Jobs {
		switch j := &s.Jobs[i]; {
		case a[j.ID].Reserves:
			heads = append(heads, j)
		case a[j.ID].Behind != 0 && len(behind) < mostBackfills:
			behind = append(behind, j)
		}
	}
	if len(heads) == 0 {
		return a
	}
	t := newTimetable(s, a)
	shadows := make([]shadow, len(heads))
	for i, h := range heads {
		shadows[i] = t.shadow(h, a[h.ID].Within)
	}
	out := make(elastic.Allocation, len(a))
	for id, d := range a {
		out[id] = d
	}
	for _, j := range behind {
		if place, why := t.fill(j, a[j.ID].Within, shadows); place != nil {
			d := out[j.ID]
			d.GPUs, d.Place, d.Behind = place.GPUs(), place, 0
			d.Why = reason.Starts{GPUs: d.GPUs, Because: why}
			out[j.ID] = d
		}
	}
	if !t.holds(out) {
		out = a
	}
	for _, h := range shadows {
		d := out[h.job.ID]
		d.Why = reason.Join(d.Why, h.why())
		out[h.job.ID] = d
	}
	return out
}

// ask returns the request of a waiting job at the size at which it is started, in some of its
// partitions; "" = all.
// The size is the one at which it starts (roles.LeastOf): a pin, or its minimum.
func (t *timetable) ask(j *elastic.Job, within string) nodes.Request {
	r := j.Request(t.s.Limits)
	r.GPUs, r.Partition, r.Uneven = roles.LeastOf(j), cmp.Or(within, j.Partition), j.Spec.AllowUneven
	return r
}

// shadow is the reservation of a job at the head of the queue: what it asks for, and the shadow time.
type shadow struct {
	job *elastic.Job
	ask nodes.Request
	now time.Time
	at  time.Time // the shadow time; zero = not known
}

// why completes the head's own reason; nil if there is nothing to add.
func (h shadow) why() reason.Reason {
	if !h.at.After(h.now) {
		return nil
	}
	return reason.CanStartAt{At: h.at}
}

// backfilled returns why a job may start before this head, the first of several: there are GPUs
// for both, or the job ends before.
func (h shadow) backfilled(beside bool) reason.Reason {
	why := reason.Backfilled{Job: int64(h.job.ID), Beside: beside}
	if !beside {
		why.At = h.at
	}
	return why
}

// fill starts a job behind heads if that delays none of them; nil if it would, or if no idle
// GPUs suit it.
// Heads that cannot use the nodes of the place are not asked. The reason names the first head that
// could. On success the GPUs are booked in t, so that the next job is tried beside this one.
func (t *timetable) fill(j *elastic.Job, within string, shadows []shadow) (place nodes.Placement, why reason.Reason) {
	ask := t.ask(j, within)
	place = nodes.Place(t.idle, []nodes.Request{ask})[0].Placement
	if len(place) == 0 {
		return nil, nil
	}
	new := holding{load: ask.Load(place)}
	if j.TimeLimit > 0 && len(j.Spec.Profile) == 0 { // each size measured is a run with its own limit
		new.ends = t.s.Now.Add(j.TimeLimit + backfillSlack)
	}
	for i := range shadows {
		h := &shadows[i]
		if !t.meet(h.ask.Partition, place) {
			continue
		}
		ends := !new.ends.IsZero() && !h.at.IsZero() && !new.ends.After(h.at)
		if !ends && !t.fitsBeside(h, new) {
			return nil, nil
		}
		if why == nil {
			why = h.backfilled(!ends)
		}
	}
	if why == nil { // on nodes that no head could use
		why = shadows[0].backfilled(true)
	}
	t.take(new)
	return place, why
}
