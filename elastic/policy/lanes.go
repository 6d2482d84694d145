package policy

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// lanes makes a policy treat each sweep as one job whose minimum is one lane; no policy knows about
// sweeps. In this ORDER:
//
//  1. The policy is asked without the further lanes that wait. A sweep's first lane is a job like
//     others: it starts as early, and keeps its GPUs.
//  2. For each job that still waits, ordinary ones of Slurm's too, as few further lanes as possible
//     save and give way, if the job can start then. So do all lanes of a sweep that its user paused.
//  3. Between the sweeps of one user, level.Divide says how many lanes each should have: one that
//     has more gives way to the next lane of one that has fewer.
//  4. Further lanes start where nothing else waits for GPUs that they could use: first up to their
//     sweep's equal part of the cluster, before other jobs grow, then on what is idle in the end.
//
// A lane that was started or moved keeps its GPUs for a while (keptLane), so none is stopped and
// started in turns. It is pure.
//
// Steps 2, 3 and 4 exclude each other in one decision: where lanes give way, no further lane starts, or
// it could take the GPUs that they give back. It costs one answer of the policy, up to 2 more in step 2
// and one in each of steps 3 and 4; without sweeps it costs one.
func lanes(s elastic.Snapshot, ask func(elastic.Snapshot) elastic.Allocation) elastic.Allocation {
	if !slices.ContainsFunc(s.Jobs, func(j elastic.Job) bool { return j.Spec.Sweep != "" }) {
		return ask(s)
	}
	l := newLaning(s, ask)
	a, gave := l.give()
	if !gave {
		a, gave = l.level(a)
	}
	if !gave {
		a = l.start(a)
	}
	return l.complete(a)
}

// keptLane is how long a lane keeps its GPUs at least after it was started: it has to get somewhere.
const keptLane = time.Minute

// fleet is a sweep with its lanes, in the order of their numbers. Lanes that can neither run nor start,
// such as held ones, are in neither list.
type fleet struct {
	elastic.Sweep
	uid    uint32
	runs   []*elastic.Job // that have GPUs, or are being started
	waits  []*elastic.Job
	target int // lanes that it should have
}

// laning is the state of one decision.
type laning struct {
	s      elastic.Snapshot
	ask    func(elastic.Snapshot) elastic.Allocation
	fleets []*fleet                        // in the order of their numbers
	of     map[elastic.JobID]*fleet        // by lane
	first  []*elastic.Job                  // jobs that wait before all further lanes
	waits  []*elastic.Job                  // lanes that the policy is not asked about
	spare  []*elastic.Job                  // further lanes that may be stopped now, the first to be stopped first
	gone   []*elastic.Job                  // lanes of paused sweeps that are stopped
	parked map[elastic.JobID]reason.Reason // lanes that are stopped, and why
}

// newLaning sorts the lanes into those that the policy sees and those that it does not. divide MUST come
// BEFORE spare is sorted, which depends on the sweeps' targets.
func newLaning(s elastic.Snapshot, ask func(elastic.Snapshot) elastic.Allocation) *laning {
	l := &laning{s: s, ask: ask, of: map[elastic.JobID]*fleet{}, parked: map[elastic.JobID]reason.Reason{}}
	l.muster()
	for _, f := range l.fleets {
		waits := f.waits
		if len(f.runs) == 0 && !f.Paused && !f.Over && len(waits) > 0 && f.Wants > 0 {
			l.first = append(l.first, waits[0]) // its first lane
			waits = waits[1:]
		}
		l.waits = append(l.waits, waits...)
		for i, j := range f.runs {
			switch {
			case f.Paused && l.stoppable(j, 0):
				l.gone = append(l.gone, j)
				l.parked[j.ID] = reason.SweepPaused{Sweep: int64(f.Number)}
			case i > 0 && !f.Paused && l.stoppable(j, keptLane):
				l.spare = append(l.spare, j)
			}
		}
	}
	for i := range s.Jobs {
		if j := &s.Jobs[i]; j.Spec.Sweep == "" && roles.Startable(&s, j) {
			l.first = append(l.first, j)
		}
	}
	at := make(map[elastic.JobID]int, len(s.Jobs))
	for i := range s.Jobs {
		at[s.Jobs[i].ID] = i
	}
	slices.SortFunc(l.first, func(x, y *elastic.Job) int { return cmp.Compare(at[x.ID], at[y.ID]) })
	l.divide()
	slices.SortStableFunc(l.spare, func(x, y *elastic.Job) int { // sweeps with most beyond their part first
		return cmp.Or(cmp.Compare(l.of[y.ID].beyond(), l.of[x.ID].beyond()), y.Started.Compare(x.Started), cmp.Compare(y.ID, x.ID))
	})
	return l
}

// beyond is how many lanes run beyond the target; negative = that many are missing.
func (f *fleet) beyond() int { return len(f.runs) - f.target }

// muster finds the sweeps and their lanes.
// A lane with an open move to start counts as one that runs. A sweep of which nothing is known yet wants
// all its lanes (Snapshot.SweepOf), so that it does not wait for a first report.
func (l *laning) muster() {
	by := map[elastic.SweepKey]*fleet{}
	for i := range l.s.Jobs {
		j := &l.s.Jobs[i]
		if j.Spec.Sweep == "" {
			continue
		}
		name := j.SweepKey()
		f := by[name]
		if f == nil {
			f = &fleet{uid: j.UID}
			by[name] = f
			l.fleets = append(l.fleets, f)
		}
		l.of[j.ID] = f
		in, moving := l.s.Intent(j.ID)
		switch {
		case j.GPUs() > 0 || moving && in.Kind == elastic.Start:
			f.runs = append(f.runs, j)
		case roles.Startable(&l.s, j):
			f.waits = append(f.waits, j)
		}
	}
	for name, f := range by {
		byID := func(x, y *elastic.Job) int { return cmp.Compare(x.ID, y.ID) }
		slices.SortFunc(f.runs, byID)
		slices.SortFunc(f.waits, byID)
		all := slices.Concat(f.runs, f.waits)
		var first elastic.JobID
		if len(all) > 0 {
			first = slices.MinFunc(all, byID).ID
		}
		f.Sweep = l.s.SweepOf(name.Token, first, len(all))
	}
	slices.SortFunc(l.fleets, func(x, y *fleet) int { return cmp.Or(cmp.Compare(x.Number, y.Number), cmp.Compare(x.uid, y.uid)) })
}

// stoppable reports whether a lane may be stopped now, having had its GPUs for so long.
// With kept 0, for a sweep that its user paused, neither that time nor the cooldown counts. Even then only
// a Movable lane is stopped: one that can save.
func (l *laning) stoppable(j *elastic.Job, kept time.Duration) bool {
	role, _ := (&roles.Subject{Job: *j, At: j.Place, Now: j.GPUs()}).Classify(&l.s)
	return role == roles.Movable && j.GPUs() > 0 && j.Directive.Pin == 0 && (kept == 0 || !l.s.Resting(j) && (j.Started.IsZero() || l.s.Now.Sub(j.Started) >= kept))
}

// base asks the policy without some lanes that run, and those that wait; these are stopped.
// The reason of each lane MUST be in parked BEFORE.
func (l *laning) base(more ...*elastic.Job) elastic.Allocation {
	a := maps.Clone(l.ask(without(l.s, l.waits, l.gone, more)))
	for _, j := range slices.Concat(l.gone, more) {
		a[j.ID] = elastic.Decision{Leaves: true, Why: reason.Stops{Because: l.parked[j.ID]}}
	}
	return a
}

// give lets further lanes give way to jobs that wait; false if that starts none.
//
// First it is computed which lanes have to stop, for ordinary jobs of Slurm's and then for sluice's; then
// the policy is asked without them. Lanes that were stopped for a job which the policy still does not
// start keep their GPUs, and the policy is asked once more. Lanes that get fewer GPUs in the answer than
// they have are not counted on. Where no lane gives way, the answer is that of base.
func (l *laning) give() (elastic.Allocation, bool) {
	a := l.base()
	var stopped []*elastic.Job
	starts := map[elastic.JobID][]*elastic.Job{}
	f := newFitting(l.s, plan.Arrange(l.s, a))
	left := slices.DeleteFunc(slices.Clone(l.spare), func(j *elastic.Job) bool { return f.where.Target[j.ID].GPUs() < j.GPUs() })
	take := func(of []*elastic.Job, why reason.Reason) {
		for _, j := range of {
			l.parked[j.ID] = why
		}
		stopped = append(stopped, of...)
		left = slices.DeleteFunc(left, func(j *elastic.Job) bool { return slices.Contains(of, j) })
	}
	for _, of := range l.forOrdinary(f, left) {
		take(of.lanes, of.why)
		f.free = f.rid(of.lanes)
	}
	for _, x := range l.first {
		if a[x.ID].GPUs > 0 || len(f.fits(x, nil)) > 0 {
			continue
		}
		of := slices.Clone(f.fewest(x, left)) // it may be a part of left
		if len(of) == 0 {
			continue
		}
		take(of, reason.LaneYields{Job: int64(x.ID), GPUs: roles.LeastOf(x)})
		starts[x.ID] = of
		f.take(x, of)
	}
	if len(stopped) == 0 {
		return a, false
	}
	next := l.base(stopped...)
	where := plan.Arrange(l.s, next)
	for id := range starts { // stopped in vain: they stay
		if where.Target[id].GPUs() == 0 {
			stopped = slices.DeleteFunc(stopped, func(j *elastic.Job) bool { return slices.Contains(starts[id], j) })
		}
	}
	if len(stopped) == 0 {
		return a, false
	}
	return l.base(stopped...), true
}

// yielding is lanes that give way, and why.
type yielding struct {
	lanes []*elastic.Job
	why   reason.Reason
}

// forOrdinary returns the lanes that have to give way so that ordinary jobs of Slurm's can start, the
// highest priority first.
// Each job takes the shortest beginning of the list of lanes that is enough; the next job goes on behind
// it. At most roles.MostDemands jobs are looked at. f is not changed.
func (l *laning) forOrdinary(f *fitting, left []*elastic.Job) (out []yielding) {
	left = slices.Clone(left)
	free := f.free
	for i := range l.s.Demands[:min(len(l.s.Demands), roles.MostDemands)] {
		want := []nodes.Want{l.s.Demands[i].Want()}
		if now, met := nodes.Reserve(free, want); met[0] {
			free = now
			continue
		}
		for n := 1; n <= len(left); n++ {
			gone := left[:n]
			loads := make([]nodes.Load, n)
			for k, j := range gone {
				loads[k] = j.Load(j.Place)
			}
			now, met := nodes.Reserve(nodes.Without(free, loads...), want)
			if !met[0] {
				continue
			}
			out = append(out, yielding{slices.Clone(gone), reason.LaneYields{Job: int64(l.s.Demands[i].ID), GPUs: l.s.Demands[i].GPUs}})
			left, free = left[n:], now
			break
		}
	}
	return out
}
