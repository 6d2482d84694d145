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

// scavenge makes a policy answer with jobs of scavengers last, where started jobs may be stopped
// (Limits.Preempt); no policy knows about scavengers. In this ORDER:
//
//  1. The policy is asked without the scavengers that wait. For each job of others that still
//     waits, as few scavengers as possible are parked so that it fits, and the policy is asked
//     again without those. They are parked only if it starts the job then.
//  2. If none is parked, the policy may stop jobs itself: others only if it would stop them too
//     without the scavengers that may be parked and share nodes with them.
//  3. Scavengers that wait start where no other job waits for GPUs that they could use.
//
// Each parking starts a job, and a scavenger that was started keeps its GPUs for some time
// (roles.Parkable): so none is parked and started in turns. It is pure.
func scavenge(s elastic.Snapshot, ask func(elastic.Snapshot) elastic.Allocation) elastic.Allocation {
	if !s.Limits.Preempt || !slices.ContainsFunc(s.Jobs, func(j elastic.Job) bool { return j.Scavenger }) {
		return ask(s)
	}
	g := newScavenging(s, ask)
	a, parked := g.decide()
	if !parked {
		a = g.start(a)
	}
	return g.complete(a)
}

// scavenging is the state of one decision.
// first and waits are in the order of the snapshot.
type scavenging struct {
	s      elastic.Snapshot
	ask    func(elastic.Snapshot) elastic.Allocation
	first  []*elastic.Job // jobs of others that wait for GPUs, in their order
	later  []*elastic.Job // scavengers that run and may be parked, now or later, the last started first
	runs   []*elastic.Job // those of them that may be parked now
	giving bool           // a scavenger is being parked
	waits  []*elastic.Job // scavengers that wait, and that the policy is not asked about
}

// newScavenging sorts the jobs. Those that run and are no scavengers, and scavengers that are Fixed, are
// in no list. later and runs are empty while the cluster is not overloaded (Limits.Overload).
func newScavenging(s elastic.Snapshot, ask func(elastic.Snapshot) elastic.Allocation) *scavenging {
	g := &scavenging{s: s, ask: ask}
	now, later := roles.Parkable(&s), roles.ParkableLater(&s)
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if in, moving := s.Intent(j.ID); moving && j.Scavenger && in.Kind == elastic.Park {
			g.giving = true
		}
		switch {
		case !j.Scavenger && roles.Startable(&s, j):
			g.first = append(g.first, j)
		case j.Scavenger && roles.MayStart(&s, j):
			g.waits = append(g.waits, j)
		case later != nil && later(j):
			g.later = append(g.later, j)
		}
	}
	slices.SortStableFunc(g.later, func(x, y *elastic.Job) int { return y.Started.Compare(x.Started) })
	for _, j := range g.later {
		if now(j) {
			g.runs = append(g.runs, j)
		}
	}
	return g
}

// without returns the snapshot in which some jobs do not exist.
// Their GPUs are idle in it. Ordinary use and open moves are as before; gone jobs MUST NOT have any. The
// snapshot given is not changed.
func without(s elastic.Snapshot, gone ...[]*elastic.Job) elastic.Snapshot {
	var loads []nodes.Load
	not := map[elastic.JobID]bool{}
	for _, list := range gone {
		for _, j := range list {
			loads = append(loads, j.Load(j.Place))
			not[j.ID] = true
		}
	}
	jobs := make([]elastic.Job, 0, len(s.Jobs))
	for i := range s.Jobs {
		if !not[s.Jobs[i].ID] {
			jobs = append(jobs, s.Jobs[i])
		}
	}
	s.Nodes, s.Jobs = nodes.Without(s.Nodes, loads...), jobs
	return s
}

// decide returns the answer without the scavengers that wait, and whether some are parked for it. While
// scavengers run that may be parked, now or later, or are being parked, the policy stops no jobs itself, with
// one exception: jobs wait that could not run on the scavengers' GPUs, and it stops others to start one of them.
// Else it would stop jobs for its own reasons and start others in their place, in turns.
func (g *scavenging) decide() (elastic.Allocation, bool) {
	if len(g.later) == 0 && !g.giving {
		return g.stop()
	}
	calm, parked := g.park()
	if parked || !g.leaves(calm, nil) || g.helps(calm) {
		return calm, parked
	}
	if a, parked := g.stop(); !g.leaves(a, calm) && g.leaves(calm, a) {
		return a, parked
	}
	return calm, false
}

// helps reports whether a job that waits in an answer could start on GPUs that are being given back, or on
// those of scavengers.
// It counts scavengers too that can be parked only once their cooldown is over (later).
func (g *scavenging) helps(a elastic.Allocation) bool {
	f := newFitting(g.s, plan.Arrange(g.s, a))
	return slices.ContainsFunc(g.first, func(x *elastic.Job) bool {
		return a[x.ID].GPUs == 0 && (len(f.fits(x, nil)) > 0 || len(f.fewest(x, g.useful(g.later, x))) > 0)
	})
}

// useful returns those jobs that have GPUs on nodes that another job could use.
func (g *scavenging) useful(of []*elastic.Job, x *elastic.Job) []*elastic.Job {
	return slices.DeleteFunc(slices.Clone(of), func(j *elastic.Job) bool { return !g.meet(j, x) })
}

// leaves reports whether a job of others waits in an answer, of those that get GPUs in another one if there
// is one.
// other may be nil; then all jobs of others that wait count.
func (g *scavenging) leaves(a, other elastic.Allocation) bool {
	return slices.ContainsFunc(g.first, func(x *elastic.Job) bool {
		return a[x.ID].GPUs == 0 && (other == nil || other[x.ID].GPUs > 0)
	})
}

// complete says of the scavengers that the policy was not asked about why they wait. Backfill may start
// them before a job that has a reservation.
func (g *scavenging) complete(a elastic.Allocation) elastic.Allocation {
	out := maps.Clone(a)
	for _, j := range g.waits {
		if _, decided := out[j.ID]; decided {
			continue
		}
		d := elastic.Decision{Why: reason.Waits{GPUs: roles.LeastOf(j), Because: reason.NoneIdle}}
		if x := g.before(out, j); x != nil {
			d.Why = reason.Waits{GPUs: roles.LeastOf(j), Because: yields(j, x)}
			if out[x.ID].Reserves {
				d.Behind = x.ID
			}
		}
		out[j.ID] = d
	}
	return out
}

// before returns the first job of others that waits in an answer for GPUs that a scavenger could use, or
// else that is started on such; nil if there is none.
// It is the job that a waiting scavenger's reason names. The order is that of the snapshot.
func (g *scavenging) before(a elastic.Allocation, j *elastic.Job) *elastic.Job {
	for _, waits := range []bool{true, false} {
		for _, x := range g.first {
			if waits == (a[x.ID].GPUs == 0) && overlap(g.s, x.Partition, j.Partition) {
				return x
			}
		}
	}
	return nil
}

// parks is the decision to park a scavenger for another job.
func parks(j, to *elastic.Job) elastic.Decision {
	return elastic.Decision{Why: reason.Stops{Because: yields(j, to)}}
}

// yields is the reason of a scavenger that gives way to a job, which needs GPUs at its minimum.
func yields(j, to *elastic.Job) reason.Reason {
	return reason.Yields{QOS: j.QOS, Job: int64(to.ID), GPUs: roles.LeastOf(to)}
}
