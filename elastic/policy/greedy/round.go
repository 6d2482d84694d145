package greedy

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/solve/knapsack"
	"github.com/sluice-hpc/sluice/nodes"
)

// round is one decision under construction.
//
// Invariants between two steps of knapsack: size[i] is one of the job's accepted sizes, its present size, or 0
// for a job that waits; size[i] <= base[i] for running jobs until growIdle; and try(size, wants)
// is ok, that is, plan.Arrange can place all of it. A step that finds no such sizes leaves both
// as they were. The snapshot is read only. base and size have an entry for each job. Their
// difference is what running jobs give back for others; a step that starts or grows a job changes
// base AND size, because the next call of fill computes size anew from base.
type round struct {
	snap    elastic.Snapshot
	foreign []nodes.Node // inventory with the use of ordinary jobs only
	jobs    []job        // in order of the snapshot: first come, first served
	size    []int        // GPUs planned, by job; 0 = not started
	base    []int        // size before any job gave GPUs back
	wants   []want       // ordinary jobs for which room is kept
	shut    []bool       // by node: a waiting job that comes first may use it
	pools   map[poolKey]*pool
	solver  knapsack.Solver
	rigid   bool         // sizes are tried as they are: no job takes fewer GPUs
	typical float64      // seconds that a job is assumed to need on 1 GPU if nothing is known
	spare   []nodes.Node // inventory before idle GPUs were given out
	said    *reasons     // made when the first reason is needed
}

// job is a job with what every step of a round needs to know about it.
type job struct {
	roles.Subject
	sizes   []int // accepted sizes for which some split exists, ascending
	pool    *pool
	late    bool // an earlier job waits, for other nodes
	blocked *job // the waiting job that has to start before this one gets more
}

// want is an ordinary job's demand as package nodes sees it.
type want struct {
	nodes.Want
	id elastic.JobID
}

// newRound returns the round in which every job keeps what it has. estimate comes last: the
// remaining work of a job depends on its present size, which classify sets.
func newRound(s elastic.Snapshot) *round {
	r := &round{snap: s, foreign: s.Foreign(), pools: map[poolKey]*pool{}}
	r.jobs, r.size = make([]job, len(s.Jobs)), make([]int, len(s.Jobs))
	for i := range s.Jobs {
		r.classify(&r.jobs[i], &s.Jobs[i])
		r.size[i] = r.jobs[i].Now
	}
	r.base = slices.Clone(r.size)
	r.estimate()
	return r
}

// pool returns the pool of a key, made on first use. One key always gives the same pool, so that
// pools are compared by address. It is never changed later: it holds what nodes have, not what is
// free.
func (r *round) pool(key poolKey) *pool {
	p, ok := r.pools[key]
	if !ok {
		p = newPool(r.snap.Nodes, key)
		r.pools[key] = p
	}
	return p
}

// classify fills in a job's role and possible sizes. The cost of a resize counts once more for
// each checkpoint request that the job left unanswered: each may be in vain.
//
// sizes are those that an EMPTY cluster could give; whether there is a place now is for try to
// say. A pin beyond what the cluster has still counts as the pin: the job then waits rather than
// start at another size. Now MUST be set before Classify, because reasons name it.
func (r *round) classify(j *job, ej *elastic.Job) {
	*j = job{Subject: roles.Subject{Job: *ej, At: r.snap.Committed(*ej), ResizeCost: ej.Price.Total().Seconds() * float64(1+ej.Deaf)}}
	j.Now = j.At.GPUs()
	j.Spec.AllowUneven = ej.Spec.AllowUneven || r.snap.Limits.AnySplit()
	j.pool = r.pool(poolKey{ej.Partition, j.Spec.AllowUneven, j.Spec.Type()})
	j.sizes = ej.Spec.Options(j.pool.reach)
	j.sizes = slices.DeleteFunc(j.sizes, func(n int) bool { return !j.pool.splits(n) || j.MaxNodes > 0 && j.pool.spread[n] > j.MaxNodes })
	if pin := ej.Directive.Pin; pin > 0 && ej.Spec.Allows(pin, max(pin, j.pool.reach)) {
		j.Pin = pin
	}
	j.Role, j.FixedBecause = j.Classify(&r.snap)
}

// decide returns the Allocation of the round, with each job's reason. It comes after the last
// step, since reasons compare final sizes. Place stays nil.
func (r *round) decide(why func(i int) reason.Reason) elastic.Allocation {
	a := make(elastic.Allocation, len(r.jobs))
	for i := range r.jobs {
		d := elastic.Decision{GPUs: r.size[i], Why: why(i)}
		d.Reserves, d.Behind = r.inLine(i)
		a[r.jobs[i].ID] = d
	}
	return a
}

// inLine returns the job's role in the queue (see Decision.Reserves). Deadlines are planned by
// numbers of GPUs; so if a division plans for them, idle GPUs may be part of that plan.
//
//	does not fit, first in its part of the cluster   reserves
//	waits for nodes that such a job waits for        behind that job
//	starts or runs                                   neither
//	some job of the snapshot has a deadline          neither, for every job
func (r *round) inLine(i int) (reserves bool, behind elastic.JobID) {
	j := &r.jobs[i]
	if j.Role != roles.Waiting || r.size[i] > 0 || j.blocked == nil || slices.ContainsFunc(r.snap.Jobs, dated) {
		return false, 0
	}
	if j.blocked == j {
		return true, 0
	}
	return false, j.blocked.ID
}

// dated reports whether the job has a deadline, whether or not it is admitted.
func dated(j elastic.Job) bool { return !j.Spec.Deadline.IsZero() }
