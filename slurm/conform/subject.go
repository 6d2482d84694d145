package conform

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// Subject is a Slurm to hold to its promises: idle, with one partition of at
// least three equal nodes.
type Subject struct {
	// Owner and Other are two unprivileged users, Operator may change all jobs.
	Owner, Other, Operator slurm.Client
	OwnerName              string
	// Nodes are the names in Slurm's order, GPUs the number each has, at least 4.
	Nodes []string
	GPUs  int
	// Requeue is "scontrol requeue" by the owner, AdminHold "scontrol hold" by an
	// administrator: what people do and sluice does not.
	Requeue   func(context.Context, slurm.JobID) error
	AdminHold func(context.Context, slurm.JobID) error
	Drain     func(ctx context.Context, node string) error
	NodeDown  func(ctx context.Context, node string) error
	// NodeReturn brings a drained or failed node back, however it failed.
	NodeReturn func(ctx context.Context, node string) error
	// Stop ends slurmctld and Start starts it again, with its state. Nil leaves
	// the checks that need them out.
	Stop, Start func(context.Context) error

	// Now is the subject's clock, Step lets a moment of it pass, and Patience is
	// how much of it a promise may take to come true.
	Now      func() time.Time
	Step     func()
	Patience time.Duration
	// Lanes is how many checks run side by side; 1 in virtual time.
	Lanes int
}

// promise is one row of the suite.
type promise struct {
	name  string
	nodes int // borrowed for the check alone; 0 = it needs none, all = every one
	keep  func(*check)
}

// all borrows every node: for checks in which Slurm chooses among them.
const all = -1

// suite is every promise, in the order of a job's life.
func suite() []promise {
	var s []promise
	for _, part := range [][]promise{submits, holds, resizes, splits(), requeues, states, refusals, comments, machines} {
		s = append(s, part...)
	}
	return s
}

// Run holds the subject to every promise, as subtests of t.
func Run(t *testing.T, s Subject) {
	p := &pool{free: append([]string(nil), s.Nodes...), order: s.Nodes}
	p.changed = make(chan struct{}, 1)
	t.Run("promises", func(t *testing.T) {
		lanes := make(chan struct{}, s.Lanes)
		for _, row := range suite() {
			if row.nodes == all {
				continue
			}
			t.Run(row.name, func(t *testing.T) {
				if s.Lanes > 1 {
					t.Parallel()
				}
				lanes <- struct{}{}
				defer func() { <-lanes }()
				s.run(t, p, row)
			})
		}
	})
	for _, row := range suite() {
		if row.nodes == all {
			t.Run(row.name, func(t *testing.T) { s.run(t, p, row) })
		}
	}
	if s.Stop != nil {
		t.Run("an outage", func(t *testing.T) { s.run(t, p, promise{keep: outage, nodes: 1}) })
	}
}

func (s Subject) run(t *testing.T, p *pool, row promise) {
	n := row.nodes
	if n == all {
		n = len(s.Nodes)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := &check{T: t, Subject: s, ctx: ctx, nodes: p.take(n)}
	defer p.give(c.nodes)
	defer c.clean()
	row.keep(c)
}
