package world_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// undeferred refuses to defer a job right after its requeue.
type undeferred struct {
	slurm.Client
	requeued bool
	refused  int
}

func (u *undeferred) RequeueRunning(ctx context.Context, id slurm.JobID) error {
	u.requeued = true
	return u.Client.RequeueRunning(ctx, id)
}

func (u *undeferred) Defer(ctx context.Context, id slurm.JobID, until time.Time) error {
	if u.requeued {
		u.requeued = false
		u.refused++
		return &slurm.Error{Op: "scontrol update", JobID: id, Err: slurm.ErrRefused, Words: "a test"}
	}
	return u.Client.Defer(ctx, id, until)
}

// TestStoppedThoughNotDeferred: a job that is stopped for its move, and cannot be deferred at once, is
// stopped all the same: the stop is recorded, asked for once, and the move ends as meant.
func TestStoppedThoughNotDeferred(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 1, Nodes: fake.Grid(1, 4), Draining: 2 * time.Second}})
	client := &undeferred{Client: w.Client}
	d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) { c.Slurm = client })
	job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 4, Total: 60}, Model: world.Amdahl(60, 0.05)})
	w.At(2*time.Minute, func() {
		w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 2, Max: 2, Total: 10}, Model: world.Amdahl(60, 0.05)})
	})
	if err := w.Drive(context.Background(), d, 2*time.Hour); err != nil {
		t.Fatal(err)
	}
	log := d.log.String()
	if client.refused < 1 || strings.Count(log, "job 1 act: requeue job 1\n") != client.refused || strings.Count(log, "job 1 step: R3 stopped for its move") != client.refused {
		t.Errorf("refused %d times:\n%s", client.refused, log)
	}
	if job.Done() < 60 {
		t.Errorf("did %v of 60:\n%s", job.Done(), log)
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
}
