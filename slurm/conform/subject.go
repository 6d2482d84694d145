package conform

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// Subject is a Slurm to be checked: idle, with one partition of at least three equal
// nodes.
type Subject struct {
	// Owner and Other are two unprivileged users, Operator may change all jobs.
	Owner, Other, Operator slurm.Client
	OwnerName              string
	// Nodes are the names in Slurm's order, GPUs the number each has, at least 4.
	Nodes []string
	GPUs  int
	// Requeue is "scontrol requeue" by the owner, AdminHold "scontrol hold" by an
	// administrator: commands that people use and sluice does not.
	Requeue   func(context.Context, slurm.JobID) error
	AdminHold func(context.Context, slurm.JobID) error
	// Independent takes a pending job's dependencies away, as its owner.
	Independent func(context.Context, slurm.JobID) error
	Drain       func(ctx context.Context, node string) error
	NodeDown    func(ctx context.Context, node string) error
	// NodeReturn returns a drained or failed node to service, whatever the failure was.
	NodeReturn func(ctx context.Context, node string) error
	// Stop ends slurmctld and Start starts it again, with its state. If they are nil the
	// checks that need them are left out.
	Stop, Start func(context.Context) error

	// Account returns an accounting account that no other check uses, with the owner in
	// it; Below returns one with the owner in it and the account above it; Limit sets the
	// owner's limits in an account; QOS returns a quality of service with limits, which
	// the owner may use in each account. Limits are in sacctmgr's syntax:
	// "GrpTRES=gres/gpu=2 MaxJobs=3". Only RunLimits needs them.
	Account func(ctx context.Context) (string, error)
	Below   func(ctx context.Context) (above, below string, err error)
	Limit   func(ctx context.Context, account, limits string) error
	QOS     func(ctx context.Context, limits string) (string, error)

	// Partition makes a partition of some of the nodes, and SetPartition changes one, in
	// scontrol's syntax: "MaxTime=10 State=DOWN". Reserve reserves nodes for jobs of the
	// owner that name the reservation, from now on, in whole minutes, whatever runs
	// there; Unreserve deletes a reservation that no job is in.
	Partition    func(ctx context.Context, name string, nodes []string, settings string) error
	SetPartition func(ctx context.Context, name, settings string) error
	Reserve      func(ctx context.Context, name string, nodes []string, begins, lasts time.Duration) error
	Unreserve    func(ctx context.Context, name string) error

	// Features sets a node's features, active and available; an empty list removes them.
	Features func(ctx context.Context, node string, active, available []string) error

	// Gangs reports that the subject supports heterogeneous jobs.
	Gangs bool

	// Now is the subject's clock. Step lets a short time pass. Patience is the maximum
	// time until an expected state must hold.
	Now      func() time.Time
	Step     func()
	Patience time.Duration
	// Lanes is how many checks run in parallel; 1 in virtual time.
	Lanes int
}

// promise is one row of the suite: a behaviour of Slurm, and the function that checks it.
type promise struct {
	name  string
	nodes int // nodes borrowed for this check; 0 = it needs none, all = every node
	keep  func(*check)
}

// all borrows every node: for checks in which Slurm chooses nodes.
const all = -1

// suite is every promise, in the order of a job's life cycle.
func suite() []promise {
	var s []promise
	for _, part := range [][]promise{submits, holds, outside, passes, resizes, splits(), requeues, states, refusals, comments, machines, partitions, pools, reservations, affinity, begins, returns} {
		s = append(s, part...)
	}
	return s
}

// Score counts the promises that were checked and those that were kept.
type Score struct{ Kept, Total int }

// Run checks the subject for every promise, as subtests of t, and returns how many were
// kept. Checks that have nodes of their own run in parallel in Lanes; the others follow,
// one at a time.
func Run(t *testing.T, s Subject) Score {
	rows := suite()
	if s.Gangs {
		rows = append(append(rows, gangs...), together...)
	}
	return hold(t, s, rows, outages...)
}

// RunLimits is Run with the promises of a Slurm with slurmdbd: about the limits of
// accounts, users and QOS, about what accounting keeps, the tree of shares, and begin times. The subject
// must enforce the limits and allocate memory, 100 MB per CPU if a job requests none. Its
// priorities must grow with a job's age, by 1 a second or more, and be renewed every
// minute.
func RunLimits(t *testing.T, s Subject) Score {
	free := unlimited(s, slices.Concat(begins, returns))
	return hold(t, s, slices.Concat(limits, lettingIn, accounting, sharing, ages, free))
}

// unlimited has the jobs of promises submitted in an account of their own, without limits.
func unlimited(s Subject, suite []promise) []promise {
	account := sync.OnceValues(func() (string, error) { return s.Account(context.Background()) })
	out := slices.Clone(suite)
	for i, row := range suite {
		out[i].keep = func(c *check) {
			name, err := account()
			c.must(err)
			c.args = []string{"--account=" + name}
			row.keep(c)
		}
	}
	return out
}

// outages are the promises about a slurmctld that is stopped and started.
var outages = []promise{{"an outage", 1, outage}, {"a restarted slurmctld keeps begin times", 1, restarted}}

// hold checks the promises of the suite, and then those that stop slurmctld.
func hold(t *testing.T, s Subject, suite []promise, stops ...promise) Score {
	p := newPool(s.Nodes)
	var kept, total atomic.Int64
	keep := func(row promise) {
		total.Add(1)
		if t.Run(row.name, func(t *testing.T) { s.run(t, p, row) }) {
			kept.Add(1)
		}
	}
	rows := make(chan promise)
	var lanes sync.WaitGroup
	for range s.Lanes {
		lanes.Go(func() {
			for row := range rows {
				keep(row)
			}
		})
	}
	var alone []promise
	for _, row := range suite {
		if row.nodes == all {
			alone = append(alone, row)
			continue
		}
		rows <- row
	}
	close(rows)
	lanes.Wait()
	if s.Stop != nil {
		alone = append(alone, stops...)
	}
	for _, row := range alone {
		keep(row)
	}
	return Score{Kept: int(kept.Load()), Total: int(total.Load())}
}

func (s Subject) run(t *testing.T, p *pool, row promise) {
	n := row.nodes
	if n == all {
		n = len(s.Nodes)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := &check{T: t, Subject: s, ctx: ctx, row: row.name, nodes: p.take(n)}
	defer p.give(c.nodes)
	defer c.undo()
	defer c.clean()
	row.keep(c)
}
