package world_test

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// TestStrandedJobIsRequeued: a job whose runner reports that a node lost its processes, unnoticed by
// Slurm, is requeued once and continues at its size.
func TestStrandedJobIsRequeued(t *testing.T) {
	w := world.New(world.Config{Fake: fake.Config{Seed: 3, Nodes: fake.Grid(2, 4)}})
	d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) { c.Period = time.Second })
	j := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 6, Max: 6, Total: 60}, Every: 1})
	other := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 1, Total: 60}, Every: 1})
	d.drive(t, time.Minute)
	before := d.of(t, j).Job
	if before.Phase != elastic.Running || len(before.Place) != 2 {
		t.Fatalf("%+v", before)
	}
	w.At(time.Minute+300*time.Millisecond, j.Strand)
	d.drive(t, 30*time.Second)
	got := d.of(t, j)
	if got.Job.Phase != elastic.Running || got.Job.Restarts != before.Restarts+1 || got.Job.UserHold || got.Job.Place.GPUs() != 6 {
		t.Errorf("%s on %s, restart %d (%s)\n%s", got.Job.State, got.Job.Place, got.Job.Restarts, sentence(got.Why), d.log.String())
	}
	if got := d.of(t, other).Job; got.Restarts != 0 {
		t.Errorf("the other job was requeued %d times", got.Restarts)
	}
	d.drive(t, time.Minute)
	if got := d.of(t, j).Job; got.Restarts != before.Restarts+1 {
		t.Errorf("requeued again: restart %d", got.Restarts)
	}
}
