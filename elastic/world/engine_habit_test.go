package world_test

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// TestHabitMovesAtItsOwnCheckpoints: a program that saves on its own every 10 min, far more than the
// site's grace period, is not asked before its first checkpoint, does not count as deaf, and grows
// with almost no work done twice, since it continues until its next checkpoint.
func TestHabitMovesAtItsOwnCheckpoints(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 4, Nodes: fake.Grid(1, 4)}})
	d := boot(t, w, new(journal.Memory), "lookahead")
	w.Ordinary("carol", 1, 3, 12*time.Minute)
	d.drive(t, time.Minute)
	job := w.Submit(world.Job{Spec: elastic.Spec{Min: 1, Max: 4, Total: 40, Habit: true}, Every: 1, Model: world.Perfect(600)})
	d.drive(t, 9*time.Minute)
	if jr := d.of(t, job); jr.Job.Speaks || len(job.Runs()) != 1 {
		t.Errorf("before its first checkpoint: speaks %v, runs %s", jr.Job.Speaks, worlds(job))
	}
	d.drive(t, 12*time.Hour)
	if got := worlds(job); got != "1 4" {
		t.Errorf("it ran on %s\n%s", got, d.log.String())
	}
	runs := job.Runs()
	if lost := runs[0].Done - runs[0].Saved; lost < 0 || lost > 0.05 {
		t.Errorf("stopped at %v units, of which %v were saved", runs[0].Done, runs[0].Saved)
	}
	if jr := d.of(t, job); jr.Record.Deaf != 0 || jr.Record.Ended.IsZero() {
		t.Errorf("deaf %d, ended %v", jr.Record.Deaf, jr.Record.Ended)
	}
}
