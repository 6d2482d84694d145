package policy

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/solve/knapsack"
	"github.com/sluice-hpc/sluice/nodes"
)

// round is one decision in the making.
type round struct {
	snap    elastic.Snapshot
	foreign []nodes.Node // the inventory with ordinary jobs' use only
	jobs    []job        // in order of the snapshot: first come, first served
	size    []int        // GPUs planned, by job; 0 = not started
	base    []int        // size before anybody gave anything back
	wants   []want       // ordinary jobs that room is kept for
	shut    []bool       // by node: a waiting job may use it and comes first
	pools   map[poolKey]*pool
	solver  knapsack.Solver
	rigid   bool         // sizes are tried as they are: nobody takes less
	typical float64      // seconds a job is taken to need on one GPU when nothing is known
	spare   []nodes.Node // the inventory before idle GPUs were given out
	said    *reasons     // made when the first reason is asked for
}

// role is what may be decided about a job.
type role int

const (
	fixed   role = iota // keeps what it has
	waiting             // may be started
	movable             // runs and may be resized
)

// job is a job with what every step of a round needs to know about it.
type job struct {
	elastic.Job
	at      nodes.Placement // where it is bound to: its open move's target, else where it is
	now     int             // GPUs of at
	role    role
	still   reason.Reason // why it is fixed
	pin     int           // 0 = none, or none it accepts
	sizes   []int         // accepted sizes that some split exists for, ascending
	pool    *pool
	work    float64 // units of work left, estimated
	price   float64 // seconds a move costs
	late    bool    // a job that came before it waits, for other nodes
	blocked *job    // the waiting job that must start before this one gets more
}

// want is an ordinary job's demand as nodes sees it.
type want struct {
	nodes.Want
	id elastic.JobID
}

func newRound(s elastic.Snapshot) *round {
	r := &round{snap: s, foreign: s.Foreign(), pools: map[poolKey]*pool{}}
	r.jobs, r.size = make([]job, len(s.Jobs)), make([]int, len(s.Jobs))
	for i := range s.Jobs {
		r.classify(&r.jobs[i], &s.Jobs[i])
		r.size[i] = r.jobs[i].now
	}
	r.base = slices.Clone(r.size)
	r.estimate()
	return r
}

func (r *round) pool(key poolKey) *pool {
	p, ok := r.pools[key]
	if !ok {
		p = newPool(r.snap.Nodes, key)
		r.pools[key] = p
	}
	return p
}

func (r *round) classify(j *job, ej *elastic.Job) {
	*j = job{Job: *ej, at: r.snap.Committed(*ej), price: ej.Price.Total().Seconds() * float64(1+ej.Deaf)}
	j.now = j.at.GPUs()
	j.Spec.AllowUneven = ej.Spec.AllowUneven || r.snap.Limits.AnySplit
	j.pool = r.pool(poolKey{ej.Partition, j.Spec.AllowUneven, j.Spec.Type()})
	j.sizes = ej.Spec.Options(j.pool.reach)
	j.sizes = slices.DeleteFunc(j.sizes, func(n int) bool { return !j.pool.splits(n) || j.MaxNodes > 0 && j.pool.spread[n] > j.MaxNodes })
	if pin := ej.Directive.Pin; pin > 0 && ej.Spec.Allows(pin, max(pin, j.pool.reach)) {
		j.pin = pin
	}
	j.role, j.still = j.classified(&r.snap)
}

// least is the size at which a job that waits is started.
func (j *job) least() int {
	if j.pin > 0 {
		return j.pin
	}
	return j.Spec.Min
}

// started reports whether the job has, or is promised, GPUs.
func (j *job) started() bool { return j.now > 0 }

// roles tells what may be decided about a job: the first rule that applies. What
// is fixed has words for people.
var roles = []struct {
	role role
	when func(*elastic.Snapshot, *job) bool
	why  func(*elastic.Snapshot, *job) reason.Reason
}{
	// A move under way is finished first; until then the job counts at its end.
	{fixed, func(s *elastic.Snapshot, j *job) bool { _, moving := s.Intent(j.ID); return moving }, underWay},
	// What its user, or Slurm, keeps from starting.
	{fixed, func(_ *elastic.Snapshot, j *job) bool { return j.Phase == elastic.Held && j.Directive.Hold }, func(_ *elastic.Snapshot, j *job) reason.Reason {
		return reason.HeldByUser{Job: int64(j.ID)}
	}},
	{waiting, func(_ *elastic.Snapshot, j *job) bool { return j.Phase == elastic.Held }, nil},
	{fixed, func(_ *elastic.Snapshot, j *job) bool { return j.Phase == elastic.Queued }, still(reason.Released)},
	{fixed, func(_ *elastic.Snapshot, j *job) bool { return j.Phase == elastic.Ended }, still(reason.Over)},
	{fixed, func(_ *elastic.Snapshot, j *job) bool { return j.Phase == elastic.Completing }, still(reason.CleaningUp)},
	// What runs and is not to be touched, or cannot be.
	{fixed, func(_ *elastic.Snapshot, j *job) bool { return j.Phase == elastic.Suspended }, keeps(reason.SuspendedJob)},
	{fixed, func(_ *elastic.Snapshot, j *job) bool { return j.UserHold || j.Directive.Hold }, keeps(reason.UserHolds)},
	{fixed, func(_ *elastic.Snapshot, j *job) bool { return j.MIG }, keeps(reason.OnMIG)},
	{fixed, func(_ *elastic.Snapshot, j *job) bool { return !j.Unread.IsZero() }, func(_ *elastic.Snapshot, j *job) reason.Reason {
		return reason.Keeps{GPUs: j.now, Because: reason.FolderSilent{Since: j.Unread}}
	}},
	{fixed, func(_ *elastic.Snapshot, j *job) bool { return !j.Quiet.IsZero() }, func(_ *elastic.Snapshot, j *job) reason.Reason {
		return reason.Keeps{GPUs: j.now, Because: reason.Quiet{Since: j.Quiet, Job: int64(j.ID)}}
	}},
	{fixed, func(_ *elastic.Snapshot, j *job) bool { return !j.RetryAt.IsZero() }, func(_ *elastic.Snapshot, j *job) reason.Reason {
		return reason.Keeps{GPUs: j.now, Because: reason.Retry{At: j.RetryAt}}
	}},
	{fixed, func(_ *elastic.Snapshot, j *job) bool { return !j.Speaks }, staysUnproven},
	{fixed, func(s *elastic.Snapshot, j *job) bool { return s.Limits.DeafAfter > 0 && j.Deaf >= s.Limits.DeafAfter }, func(_ *elastic.Snapshot, j *job) reason.Reason {
		return reason.Keeps{GPUs: j.now, Because: reason.Deaf{Requests: j.Deaf}}
	}},
	{movable, func(*elastic.Snapshot, *job) bool { return true }, nil},
}

// staysUnproven says why a job that has not shown a checkpoint keeps its size.
func staysUnproven(_ *elastic.Snapshot, j *job) reason.Reason {
	if j.Spec.Fixed() {
		return reason.Keeps{GPUs: j.now, Because: reason.FixedSize}
	}
	return reason.Keeps{GPUs: j.now, Because: reason.Unproven}
}

// classified returns what may be decided about the job, and why nothing when it is
// fixed.
func (j *job) classified(s *elastic.Snapshot) (role role, why reason.Reason) {
	for i := range roles {
		if rule := &roles[i]; rule.when(s, j) {
			if rule.why != nil {
				why = rule.why(s, j)
			}
			return rule.role, why
		}
	}
	return movable, nil
}

func underWay(s *elastic.Snapshot, j *job) reason.Reason {
	in, _ := s.Intent(j.ID)
	if in.Kind == elastic.Start {
		return reason.BeingStarted{GPUs: j.now, Because: in.Cause}
	}
	if in.Kind == elastic.Save {
		return reason.Keeps{GPUs: j.now, Because: in.Cause}
	}
	if in.Lends(s) {
		return reason.Keeps{GPUs: j.now, Because: reason.LentMeanwhile}
	}
	return reason.Moving{From: in.From.GPUs(), GPUs: j.now, Because: in.Cause}
}

func still(why reason.Reason) func(*elastic.Snapshot, *job) reason.Reason {
	return func(*elastic.Snapshot, *job) reason.Reason { return why }
}

func keeps(why reason.Reason) func(*elastic.Snapshot, *job) reason.Reason {
	return func(_ *elastic.Snapshot, j *job) reason.Reason { return reason.Keeps{GPUs: j.now, Because: why} }
}

// decide turns the round into an Allocation with each job's reason.
func (r *round) decide(why func(i int) reason.Reason) elastic.Allocation {
	a := make(elastic.Allocation, len(r.jobs))
	for i := range r.jobs {
		d := elastic.Decision{GPUs: r.size[i], Why: why(i)}
		d.Reserves, d.Behind = r.inLine(i)
		a[r.jobs[i].ID] = d
	}
	return a
}

// inLine is the job's part in the order in which jobs start. Beside deadlines, which a
// division plans for by numbers of GPUs, idle GPUs may be planned for.
func (r *round) inLine(i int) (reserves bool, behind elastic.JobID) {
	j := &r.jobs[i]
	if j.role != waiting || r.size[i] > 0 || j.blocked == nil || slices.ContainsFunc(r.snap.Jobs, dated) {
		return false, 0
	}
	if j.blocked == j {
		return true, 0
	}
	return false, j.blocked.ID
}

func dated(j elastic.Job) bool { return !j.Spec.Deadline.IsZero() }
