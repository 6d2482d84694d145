package plan

import (
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Refuses returns the first cap under which Slurm would leave the job pending if it were
// started at the target now, beside what all other jobs have or are bound to get; false if
// there is none.
// Only caps that apply to the job are counted. An empty target is never refused.
func Refuses(s elastic.Snapshot, j elastic.Job, target nodes.Placement) (elastic.Cap, bool) {
	if len(s.Caps) == 0 || len(target) == 0 {
		return elastic.Cap{}, false
	}
	return newQuota(&s, func(c elastic.Cap) bool { return c.Jobs[j.ID] }).refuses(&j, target)
}

// quota counts the usage of the caps while moves are opened one after the other.
// A job with an open move counts at its target or at its place, whichever uses more of the cap.
type quota struct {
	s     *elastic.Snapshot
	bound map[elastic.JobID]nodes.Placement
	used  []int // of each cap, by all jobs
}

// newQuota counts the caps for which of returns true.
func newQuota(s *elastic.Snapshot, of func(elastic.Cap) bool) *quota {
	q := &quota{s: s, used: make([]int, len(s.Caps))}
	if len(s.Caps) == 0 {
		return q
	}
	q.bound = s.Bound()
	at := make(map[elastic.JobID]*elastic.Job, len(s.Jobs))
	for i := range s.Jobs {
		at[s.Jobs[i].ID] = &s.Jobs[i]
	}
	for k, c := range s.Caps {
		if q.used[k] = c.Others; c.Reclaims || !of(c) {
			continue
		}
		for id, concerned := range c.Jobs {
			if j := at[id]; concerned && j != nil {
				q.used[k] += s.Taken(c, j, q.bound)
			}
		}
	}
	return q
}

// refuses is Refuses, with what was taken since.
func (q *quota) refuses(j *elastic.Job, target nodes.Placement) (elastic.Cap, bool) {
	for k, c := range q.s.Caps {
		if c.Reclaims || !c.Jobs[j.ID] || len(target) == 0 {
			continue // what is lent is beyond a share, and Slurm knows nothing of it
		}
		n := c.Use(j, target, q.s)
		switch {
		case c.Least && n < c.Most, c.Each && n > c.Most:
			return c, true
		case c.Shared() && q.used[k]-q.s.Taken(c, j, q.bound)+n > c.Most:
			return c, true
		}
	}
	return elastic.Cap{}, false
}

// take books a job's target in addition to what it has until it was moved.
// A job that shrinks counts as before.
func (q *quota) take(j *elastic.Job, target nodes.Placement) {
	for k, c := range q.s.Caps {
		if c.Jobs[j.ID] {
			q.used[k] += max(0, c.Use(j, target, q.s)-q.s.Taken(c, j, q.bound))
		}
	}
}

// refused returns why the target is not possible.
func refused(s elastic.Snapshot, c elastic.Cap, target nodes.Placement) reason.Reason {
	switch limit := s.Limit(c); {
	case c.Least:
		return reason.FewerThan{GPUs: target.GPUs(), Limit: limit}
	case c.Each:
		return reason.Beyond{To: target, Limit: limit}
	default:
		return reason.BeyondShared{To: target, Limit: limit}
	}
}
