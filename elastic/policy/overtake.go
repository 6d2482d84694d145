package policy

import (
	"maps"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// keepOvertakers keeps jobs that were backfilled before the head of the queue where they are,
// if a move would delay the head. Such a job was started because its time limit ends it before
// the shadow time, or because the head finds its GPUs beside it; a move restarts that limit,
// and takes other GPUs. Giving GPUs back to other jobs is allowed: to a job that starts, or to
// ordinary jobs. backfill calls this BEFORE it starts any job.
//
// A size that the user set (Pin) is carried out even so. The jobs are judged in the order of the
// snapshot, each with the moves allowed before it; only heads before a job in that order count. Cost:
// jobs that move x heads x log(jobs with time limits) placements.
func keepOvertakers(s elastic.Snapshot, a elastic.Allocation) elastic.Allocation {
	heads := slices.DeleteFunc(indices(s), func(i int) bool { return !a[s.Jobs[i].ID].Reserves })
	if len(heads) == 0 {
		return a
	}
	gives := len(s.Demands) > 0 || slices.ContainsFunc(s.Jobs, func(j elastic.Job) bool {
		return len(j.Place) == 0 && a[j.ID].GPUs > 0
	})
	where := plan.Arrange(s, a)
	t := newTimetable(s, starts(s, a))
	out := maps.Clone(a)
	for i := range s.Jobs {
		j := &s.Jobs[i]
		target, known := where.Target[j.ID]
		_, moving := s.Intent(j.ID)
		if !known || moving || j.Phase != elastic.Running || j.Directive.Pin > 0 ||
			len(target) == 0 || target.Equal(j.Place) || gives && target.GPUs() < j.GPUs() {
			continue
		}
		before := heads[:0:0]
		for _, h := range heads {
			if h < i {
				before = append(before, h)
			}
		}
		next, delayed := t.moved(j, target, before, a)
		if delayed != nil {
			out[j.ID] = elastic.Decision{GPUs: j.GPUs(), Place: j.Place, Why: reason.Keeps{GPUs: j.GPUs(), Because: reason.WouldDelay{Job: int64(delayed.ID)}}}
			continue
		}
		t = next
	}
	return out
}

// starts returns the part of an answer that is about waiting jobs: the others stay.
// A timetable of it shows where jobs are BEFORE any of them moves.
func starts(s elastic.Snapshot, a elastic.Allocation) elastic.Allocation {
	out := make(elastic.Allocation, len(a))
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if out[j.ID] = a[j.ID]; len(j.Place) > 0 {
			out[j.ID] = elastic.Decision{GPUs: j.GPUs(), Place: j.Place}
		}
	}
	return out
}

// indices returns the positions of the jobs in the snapshot, ascending.
func indices(s elastic.Snapshot) []int {
	out := make([]int, len(s.Jobs))
	for i := range out {
		out[i] = i
	}
	return out
}

// moved returns the timetable after the job has moved, and the first of the heads, by index,
// that would wait longer for it. If there is one, the timetable is the old one. The job's limit
// begins anew with its next run, which the move delays by its price.
//
// Where it is known when the head can start in any case (surely), it MUST find its GPUs in the same
// split at that time after the move too. Else the job may move unless the head would find its GPUs
// beside it where it is, in whatever order jobs end, and not where it goes.
func (t *timetable) moved(j *elastic.Job, target nodes.Placement, heads []int, a elastic.Allocation) (*timetable, *elastic.Job) {
	rest, was := t.without(j.ID)
	is := was
	is.load, is.ends = j.Load(target), time.Time{}
	if j.TimeLimit > 0 {
		is.ends = t.s.Now.Add(j.TimeLimit + j.Price.Total() + backfillSlack)
	}
	next := *rest
	next.floor, next.held = nodes.With(rest.floor, is.load), append(slices.Clip(rest.held), is)
	for _, k := range heads {
		head := &t.s.Jobs[k]
		ask := t.ask(head, a[head.ID].Within)
		if when, known := t.surely(ask); known {
			if then := next.at(when); !fits(then, ask) || !sameSplit(t.at(when), then, ask) {
				return t, head
			}
			continue
		}
		h := shadow{job: head, ask: ask, now: t.s.Now}
		if rest.fitsBeside(&h, was) && t.meet(ask.Partition, target) && !rest.fitsBeside(&h, is) {
			return t, head
		}
	}
	return &next, nil
}

// surely returns the earliest time at which the request finds its GPUs if no job gives any back
// or moves before its limit ends it; false if there is none.
// It errs towards too late, and shadow towards too early. Binary search is possible since later moments
// only have more free.
func (t *timetable) surely(ask nodes.Request) (time.Time, bool) {
	moments := t.moments()
	k, _ := slices.BinarySearchFunc(moments, true, func(when time.Time, _ bool) int {
		if fits(t.at(when), ask) {
			return 0
		}
		return -1
	})
	if k == len(moments) {
		return time.Time{}, false
	}
	return moments[k], true
}

// without returns the timetable without a job, and what the job had.
// t is not changed. If the job has nothing, the second result is empty.
func (t *timetable) without(id elastic.JobID) (*timetable, holding) {
	out, had := *t, holding{}
	out.floor, out.held = nodes.With(t.floor), nil
	for _, h := range t.held {
		if h.id == id {
			h.credit(out.floor)
			had = h
			continue
		}
		out.held = append(out.held, h)
	}
	return &out, had
}
