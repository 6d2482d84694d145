package policy

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/nodes"
)

// lendings is how many times a decision is made again to lend what is idle; once with many shares.
const lendings = 2

// lend gives GPUs that are idle in an answer within all shares to those who asked for more than
// theirs: what no account can use in whole steps, or where jobs of others find no place. The
// policy is asked again with larger shares, in their order; the answer counts if more GPUs are
// used. With many shares it is asked about few jobs, if that is possible.
//
// 10 GPUs, shares of 5 for ann and 5 for bob, whose only job accepts 4 or 8: bob gets 4, and ann, whose
// job would have had 10, is lent the sixth. It is reclaimed as soon as bob has another job.
//
// a MUST be the answer of these bounds, with the decisions of jobs that were left out (explain): what
// is lent is counted from it. If nothing is idle it is returned as it is.
func (b *bounds) lend(a elastic.Allocation) elastic.Allocation {
	times := lendings
	if b.many {
		if answer, ok := b.lendToFew(a); ok {
			return answer
		}
		times = 1
	}
	if b.awaited(a) {
		return a
	}
	for range times {
		s, more := b.raised(a)
		if !more {
			break
		}
		next, answer := bounded(s, b.question)
		if answer = next.explain(answer); used(answer) <= used(a) {
			break
		}
		b, a = next, answer
	}
	return a
}

// awaited reports whether GPUs that are reclaimed in an answer, and that nobody gets in it, will be
// used once they are idle: some policies give away only what is idle already. So it asks what
// would be decided once the answer was carried out.
// That costs a further decision, made only where the answer gives reclaimed GPUs to no job.
func (b *bounds) awaited(a elastic.Allocation) bool {
	freed := 0
	for i := range b.jobs {
		if j := &b.jobs[i]; j.beyond {
			freed += j.now - a[j.ID].GPUs
		}
	}
	if freed <= 0 || used(a) >= b.snap.Capacity() {
		return false
	}
	_, later := bounded(carried(b.snap, a), b.question)
	return used(later) > used(a)
}

// carried returns the snapshot as if an allocation had been carried out.
// Jobs with an open move stay as they are: the move is finished before anything else is decided about
// them. Nodes are recounted from what ordinary jobs have.
func carried(s elastic.Snapshot, a elastic.Allocation) elastic.Snapshot {
	where := plan.Arrange(s, a)
	out := s
	out.Nodes, out.Jobs = s.Foreign(), slices.Clone(s.Jobs)
	loads := make([]nodes.Load, 0, len(out.Jobs))
	for i := range out.Jobs {
		j := &out.Jobs[i]
		if target := where.Target[j.ID]; !target.Equal(j.Place) {
			if _, moves := s.Intent(j.ID); !moves {
				j.Place, j.Phase = target, elastic.Running
				if len(target) == 0 {
					j.Phase = elastic.Waiting
				}
			}
		}
		loads = append(loads, j.Load(j.Place))
	}
	out.Nodes = nodes.With(out.Nodes, loads...)
	return out
}

// raised returns the snapshot with shares increased by what is idle in an answer, as far as jobs
// asked for it; false if nothing can be lent.
//
// The shares are raised in the order of Snapshot.Caps, which is that of claim.Caps: the user that lacked
// most first. A share is raised beyond what its jobs have in the answer, not beyond its bound alone, so
// that a job which could not be reduced does not use up what is lent.
func (b *bounds) raised(a elastic.Allocation) (elastic.Snapshot, bool) {
	idle := b.snap.Capacity() - used(a) - b.returning(a)
	s, any := b.snap, false
	for k := range s.Caps {
		if c := &s.Caps[k]; c.Reclaims && idle > 0 {
			given, more := b.lent(k, a, idle)
			if more == 0 {
				continue
			}
			if !any {
				s.Caps, any = slices.Clone(s.Caps), true
			}
			s.Caps[k].Most = max(c.Most, c.Others+given) + more
			idle -= more
		}
	}
	return s, any
}

// returning returns how many GPUs jobs with an open move can use as soon as it is over, within their
// shares. It is over in seconds; a waiting job that was started on these GPUs would keep its minimum
// until it ends, and what others grew by would be reclaimed by another resize.
// At most what is left of each share counts. Moves of other kinds, such as starts and saves, leave the
// size as it is and count nothing.
func (b *bounds) returning(a elastic.Allocation) (n int) {
	for k := range b.snap.Caps {
		c := &b.snap.Caps[k]
		if !c.Reclaims {
			continue
		}
		given, more := c.Others, 0
		for _, i := range b.of[k] {
			j := &b.jobs[i]
			given += a[j.ID].GPUs
			if in, moves := b.snap.Intent(j.ID); moves && in.Kind == elastic.Resize {
				most := j.Spec.Max
				if most == 0 {
					most = c.Most
				}
				more += max(0, most-a[j.ID].GPUs)
			}
		}
		n += min(more, max(0, c.Most-given))
	}
	return n
}

// lent returns what the jobs of a share have in an answer, and by how much they can grow into what
// is idle: the minimums of waiting jobs first, then sizes that the policy gave them before.
// Both are GPUs. Sizes are taken whole: a job that would need more than idle for its next size is
// passed over. Jobs under a rigid policy are lent GPUs only to start.
func (b *bounds) lent(limit int, a elastic.Allocation, idle int) (given, more int) {
	var members []*bound
	to := map[elastic.JobID]int{}
	for _, i := range b.of[limit] {
		j := &b.jobs[i]
		members = append(members, j)
		given, to[j.ID] = given+a[j.ID].GPUs, a[j.ID].GPUs
	}
	for _, waiting := range []bool{true, false} {
		for _, j := range members {
			has, asked := to[j.ID], j.asked
			if b.many { // what the policy would give it is not known: what it has, or needs to start
				asked = min(asked, max(j.now, roles.LeastOf(&j.Job)))
			}
			if asked <= has || waiting != (has == 0) {
				continue
			}
			for _, n := range j.Spec.Options(min(asked, has+idle-more)) {
				if n > has && (j.now == 0 || !j.rigid) {
					more, to[j.ID] = more+n-to[j.ID], n
					if waiting {
						break
					}
				}
			}
		}
	}
	return given, more
}

// used returns the GPUs that an allocation gives.
func used(a elastic.Allocation) (n int) {
	for _, d := range a {
		n += d.GPUs
	}
	return n
}
