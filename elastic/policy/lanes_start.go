package policy

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/sweep/level"
	"github.com/sluice-hpc/sluice/nodes"
)

// divide says how many lanes each sweep should have: what one user's sweeps have, and those that find idle GPUs,
// are divided between them. What a lane has beyond its minimum is lent, and counts as room for lanes.
//
// Idle GPUs count for each user. Whether a lane really finds GPUs is decided when it is placed, beside those of
// other users. A sweep without a bid counts 1; one that is paused or over wants none.
func (l *laning) divide() {
	users := map[uint32][]*fleet{}
	for _, f := range l.fleets {
		users[f.uid] = append(users[f.uid], f)
	}
	for _, fleets := range users {
		lanes := l.fitting(fleets)
		standings := make([]level.Standing, len(fleets))
		for i, f := range fleets {
			lanes += len(f.runs) + f.lent()
			standings[i] = level.Standing{Want: max(f.Wants, 0), Lanes: len(f.runs), Level: f.Level, Bid: cmp.Or(f.Bid, 1)}
			if f.Paused || f.Over {
				standings[i].Want = 0
			}
		}
		for i, n := range level.Divide(level.DefaultRules(), standings, lanes) {
			fleets[i].target = n
		}
	}
}

// fitting returns how many lanes that wait, of some sweeps, find idle GPUs beside one another, each at its minimum:
// smaller ones first, so that it is the most there can be. The lanes of a sweep ask for the same; once one finds
// nothing the others are not tried.
func (l *laning) fitting(fleets []*fleet) (n int) {
	var bound []nodes.Load
	targets := l.s.Bound()
	for i := range l.s.Jobs {
		if j := &l.s.Jobs[i]; len(targets[j.ID]) > 0 {
			bound = append(bound, j.Load(roles.Beyond(targets[j.ID], j.Place)))
		}
	}
	idle := nodes.With(l.s.Nodes, bound...)
	var order []*fleet
	for _, f := range fleets {
		if len(f.waits) > 0 && !f.Paused && !f.Over {
			order = append(order, f)
		}
	}
	slices.SortStableFunc(order, func(x, y *fleet) int { return cmp.Compare(roles.LeastOf(x.waits[0]), roles.LeastOf(y.waits[0])) })
	for _, f := range order {
		for _, j := range f.waits[:min(len(f.waits), max(f.Wants, 0))] {
			r := j.Request(l.s.Limits)
			r.GPUs = roles.LeastOf(j)
			at := nodes.Place(idle, []nodes.Request{r})[0].Placement
			if len(at) == 0 {
				break
			}
			nodes.Charge(idle, j.Load(at))
			n++
		}
	}
	return n
}

// lent counts the lanes that find room on the GPUs that lanes of the sweep have beyond their minimum.
func (f *fleet) lent() int {
	gpus, least := 0, 1
	for _, j := range f.runs {
		least = max(roles.LeastOf(j), 1)
		gpus += max(0, j.GPUs()-least)
	}
	return gpus / least
}

// level lets a lane of a sweep that has more than its part give way to the next lane of one of the same
// user that has fewer; one at a time.
// The next decision sees what came of it, and may move another. Sweeps of different users are never
// compared. A lane gives way only if the other can start on what it has.
func (l *laning) level(a elastic.Allocation) (elastic.Allocation, bool) {
	fit := newFitting(l.s, plan.Arrange(l.s, a))
	for _, to := range l.fleets {
		next := l.next(to, a)
		if next == nil || len(fit.fits(next, nil)) > 0 {
			continue
		}
		for _, j := range l.spare {
			from := l.of[j.ID]
			if from == to || from.uid != to.uid || from.beyond() <= 0 || len(fit.fits(next, []*elastic.Job{j})) == 0 {
				continue
			}
			l.parked[j.ID] = l.standing(from)
			return l.base(j), true
		}
	}
	return a, false
}

// next is the lane that a sweep with fewer lanes than its part would start next; nil if there is none.
func (l *laning) next(f *fleet, a elastic.Allocation) *elastic.Job {
	if len(f.runs) >= f.target {
		return nil
	}
	for _, j := range f.waits {
		if a[j.ID].GPUs == 0 {
			return j
		}
	}
	return nil
}

// standing is the reason that says how far a sweep has converged and how many lanes that gives it.
func (l *laning) standing(f *fleet) reason.Reason {
	return reason.SweepLevel{Sweep: int64(f.Number), Level: f.Level, Trials: f.Trials, Gap: f.Gap, Metric: f.Metric, Lanes: f.target}
}

// start starts further lanes where nothing else waits for their GPUs: first, before other jobs grow, as
// many as the sweep's equal part of the cluster, then on what is idle.
//
// Before other jobs grow the policy itself is asked with those lanes (before), and its answer counts
// only if it takes nothing from a job that runs. What is idle in the end is given without asking, each
// lane only if plan.Arrange leaves every other job as many GPUs as it had.
func (l *laning) start(a elastic.Allocation) elastic.Allocation {
	free := l.free(a)
	if part := l.ordered(free, l.part()); len(part) > 0 {
		if next := l.before(a, part); next != nil {
			a = next
		}
	}
	where := plan.Arrange(l.s, a)
	type kind struct {
		partition string
		gpus      int
	}
	full := map[kind]bool{} // no such lane fits any more: there may be hundreds
	for _, j := range l.ordered(free, len(l.s.Jobs)) {
		n := roles.LeastOf(j)
		if a[j.ID].GPUs > 0 || full[kind{j.Partition, n}] {
			continue
		}
		at := idlePlace(l.s, where, j, n)
		if len(at) == 0 {
			full[kind{j.Partition, n}] = true
			continue
		}
		next := maps.Clone(a)
		next[j.ID] = elastic.Decision{GPUs: n, Place: at, Why: reason.StartsAtMinimum{GPUs: n}}
		if after := plan.Arrange(l.s, next); othersUnchanged(l.s, where, after, j.ID, next[j.ID]) {
			a, where = next, after
		}
	}
	return a
}

// part is the number of GPUs for each of the cluster's jobs, a sweep counting as one.
// It is rounded down, and may be 0.
func (l *laning) part() int {
	n := len(l.fleets)
	for i := range l.s.Jobs {
		if l.s.Jobs[i].Spec.Sweep == "" {
			n++
		}
	}
	return l.s.Capacity() / max(1, n)
}

// free returns the lanes that wait for no GPUs which another job waits for.
// A job counts as waiting only if it could run on the empty cluster and finds no place on what is idle: one
// that can never run, or that waits for something else, blocks no lane. Lanes of paused sweeps are left out.
func (l *laning) free(a elastic.Allocation) (out []*elastic.Job) {
	where := plan.Arrange(l.s, a)
	empty := l.s
	empty.Nodes, empty.Jobs, empty.Demands = slices.Clone(l.s.Nodes), nil, nil
	for i := range empty.Nodes {
		empty.Nodes[i] = empty.Nodes[i].Empty()
	}
	var wanting []*elastic.Job
	for _, x := range l.first {
		n := roles.LeastOf(x)
		if where.Target[x.ID].GPUs() == 0 && len(idlePlace(l.s, where, x, n)) == 0 && len(idlePlace(empty, plan.Arrangement{}, x, n)) > 0 {
			wanting = append(wanting, x)
		}
	}
	for _, j := range l.waits {
		f := l.of[j.ID]
		waits := slices.ContainsFunc(wanting, func(x *elastic.Job) bool { return x.ID != j.ID && overlap(l.s, x.Partition, j.Partition) })
		if !f.Paused && !waits && roles.Startable(&l.s, j) {
			out = append(out, j)
		}
	}
	return out
}

// ordered returns of these lanes those that their sweeps should have, at most this many of a sweep with
// those that run; one of each sweep in turn, those with the fewest lanes first. Lanes of a sweep that
// is over all start, to end: those that are not cancelled (track.Needless).
// With most 3 and targets of 4, of sweep A with 2 lanes and the younger B with 1: a lane of B, one of A,
// one of B.
func (l *laning) ordered(free []*elastic.Job, most int) (out []*elastic.Job) {
	has, waits := map[*fleet]int{}, make(map[elastic.JobID]bool, len(l.waits))
	for _, j := range l.waits {
		waits[j.ID] = true
	}
	for _, f := range l.fleets {
		has[f] = len(f.runs)
		if len(f.runs) == 0 && len(f.waits) > 0 && !waits[f.waits[0].ID] {
			has[f]++ // its first lane is started as a job like others
		}
	}
	left := map[*fleet][]*elastic.Job{}
	for _, j := range free {
		left[l.of[j.ID]] = append(left[l.of[j.ID]], j)
	}
	for {
		var next *fleet // with the fewest lanes; of equal ones the oldest
		for _, f := range l.fleets {
			if len(left[f]) > 0 && (f.Over || has[f] < min(f.target, most)) && (next == nil || has[f] < has[next]) {
				next = f
			}
		}
		if next == nil {
			break
		}
		out, left[next] = append(out, left[next][0]), left[next][1:]
		has[next]++
	}
	return out
}

// before asks the policy with some lanes, and returns its answer if no job that runs gets fewer GPUs than
// it has, and none that would start waits for that; else nil.
// A job that grows in a may get less, down to what it has, and one that starts in a, down to its minimum:
// so lanes of the sweep's part come before growth. A lane of the same user may get less than it has, down
// to its minimum: what it has beyond that was lent while no lane waited.
func (l *laning) before(a elastic.Allocation, part []*elastic.Job) elastic.Allocation {
	among, users := make(map[elastic.JobID]bool, len(part)), map[uint32]bool{}
	for _, j := range part {
		among[j.ID], users[j.UID] = true, true
	}
	rest := slices.DeleteFunc(slices.Clone(l.waits), func(j *elastic.Job) bool { return among[j.ID] })
	next := maps.Clone(l.ask(without(l.s, rest, l.gone)))
	for _, j := range l.gone {
		next[j.ID] = a[j.ID]
	}
	for i := range l.s.Jobs {
		j := &l.s.Jobs[i]
		if among[j.ID] {
			continue
		}
		least := roles.LeastOf(j)
		if l.of[j.ID] == nil || !users[j.UID] {
			least = max(least, j.GPUs())
		}
		had, named := a[j.ID]
		if d, is := next[j.ID]; named && is && d.GPUs < min(had.GPUs, least) {
			return nil
		}
	}
	return next
}

// complete says of the lanes that the policy was not asked about why they wait.
// The first cause that holds is named: the user's pause, a job that waits before the lane, the sweep's
// target, and else that no GPU is idle.
func (l *laning) complete(a elastic.Allocation) elastic.Allocation {
	out := maps.Clone(a)
	has := map[*fleet]int{}
	for id, f := range l.of {
		if a[id].GPUs > 0 {
			has[f]++
		}
	}
	for _, j := range l.waits {
		if _, decided := out[j.ID]; decided {
			continue
		}
		f := l.of[j.ID]
		var why reason.Reason = reason.NoneIdle
		switch x := l.waiting(out, j); {
		case f.Paused:
			why = reason.SweepPaused{Sweep: int64(f.Number)}
		case x != nil:
			why = reason.LaneYields{Job: int64(x.ID), GPUs: roles.LeastOf(x)}
		case has[f] >= f.target:
			why = l.standing(f)
		}
		out[j.ID] = elastic.Decision{Why: reason.Waits{GPUs: roles.LeastOf(j), Because: why}}
	}
	return out
}

// waiting returns the first job that waits in an answer for GPUs that a lane could use; nil if there is
// none.
func (l *laning) waiting(a elastic.Allocation, j *elastic.Job) *elastic.Job {
	for _, x := range l.first {
		if a[x.ID].GPUs == 0 && overlap(l.s, x.Partition, j.Partition) {
			return x
		}
	}
	return nil
}
