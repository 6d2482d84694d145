package conform

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// Fake returns the in-memory Slurm as a Subject, in virtual time.
func Fake(cfg fake.Config) Subject {
	if cfg.Nodes == nil {
		cfg.Nodes = fake.Grid(4, 4)
	}
	cfg.Operators, cfg.Accounting = []string{"operator"}, true
	cfg.Licenses = map[string]int{License: 1}
	f := fake.New(cfg)
	owner := f.As("alice")
	done := func(do func()) error { do(); return nil }
	books := newFakeBooks(f, "alice")
	return Subject{
		Owner: owner, Other: f.As("bob"), Operator: f.As("operator"), OwnerName: "alice",
		Nodes: []string{"gpu1", "gpu2", "gpu3", "gpu4"}, GPUs: 4,
		Requeue:     func(ctx context.Context, id slurm.JobID) error { return owner.Requeue(ctx, id) },
		AdminHold:   func(ctx context.Context, id slurm.JobID) error { return f.As("root").AdminHold(ctx, id) },
		Independent: func(ctx context.Context, id slurm.JobID) error { return owner.Independent(ctx, id) },
		Drain:       func(_ context.Context, node string) error { return done(func() { f.Drain(node, "conform") }) },
		NodeDown:    func(_ context.Context, node string) error { return done(func() { f.NodeDown(node, "conform") }) },
		NodeReturn: func(_ context.Context, node string) error {
			return done(func() { f.NodeReturn(node) })
		},
		Stop:      func(context.Context) error { return done(func() { f.Down(time.Minute) }) },
		Start:     func(context.Context) error { return done(func() { f.Advance(time.Minute) }) },
		Partition: books.partition, SetPartition: books.setPartition, Reserve: books.reserve, Unreserve: books.unreserve,
		Features: func(_ context.Context, node string, active, _ []string) error {
			return done(func() { f.SetFeatures(node, active...) })
		},
		Account: books.account, Below: books.below, Limit: books.limit, QOS: books.qos,
		Now: f.Now, Step: func() { f.Advance(200 * time.Millisecond) }, Patience: 60 * time.Second, Lanes: 1,
	}
}
