package world_test

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// TestACycleWithTheClockSetBack: a cycle that begins earlier than the last one knows nothing that happened
// later than now: a job that was just moved rests from now on, not from an hour ahead.
func TestACycleWithTheClockSetBack(t *testing.T) {
	w := world.New(world.Config{Fake: fake.Config{Seed: 5, Nodes: fake.Grid(1, 4)}})
	d := boot(t, w, new(journal.Memory), "lookahead")
	j := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 4, Total: 1e6}, Model: world.Perfect(10)})
	d.drive(t, 5*time.Minute)
	err := d.Direct(context.Background(), elastic.JobID(j.ID()), func(o elastic.Directive) elastic.Directive { o.Pin = 2; return o })
	if err != nil {
		t.Fatal(err)
	}
	d.drive(t, 5*time.Minute)
	back := w.Now().Add(-time.Hour)
	if moved := d.of(t, j).Job.Moved; !moved.After(back) {
		t.Fatalf("the job was moved at %v, not within the last hour", moved)
	}
	if _, err := d.Engine.Cycle(context.Background(), back); err != nil {
		t.Fatal(err)
	}
	if moved := d.of(t, j).Job.Moved; moved.After(back) {
		t.Errorf("at %v the job was moved at %v", back, moved)
	}
}
