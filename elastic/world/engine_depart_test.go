package world_test

import (
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

// TestDrainedNodeIsLeft: a job that answers requests saves and leaves a drained node if GPUs are idle
// elsewhere. If there are none it continues, its reason says so, and it leaves when there are some.
func TestDrainedNodeIsLeft(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 3, Nodes: fake.Grid(2, 4)}})
	d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) { c.Period, c.Limiter = 10*time.Second, w.Client })
	first := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 2, Total: 1e5}, Save: 3 * time.Second})
	d.drive(t, 2*time.Minute)
	from := d.of(t, first).Job.Place[0].Node
	to := map[string]string{"gpu1": "gpu2", "gpu2": "gpu1"}[from]
	shown := func() { // that it answers requests
		t.Helper()
		for range 20 {
			if d.of(t, first).Record.Speaks {
				return
			}
			d.drive(t, time.Minute)
		}
	}
	shown()
	w.Slurm.Drain(from, "kernel update")
	d.drive(t, 5*time.Minute)
	jr := d.of(t, first)
	if jr.Record.Speaks != (jr.Job.Place.On(to) == 2) || !jr.Record.Speaks {
		t.Fatalf("speaks %v, on %v: %s", jr.Record.Speaks, jr.Job.Place, sentence(jr.Why))
	}
	if lost := lostBefore(first); lost > 1 {
		t.Errorf("%v units of work lost", lost)
	}
	if log := d.log.String(); !strings.Contains(log, from+" is draining (kernel update)") {
		t.Errorf("the log does not say why:\n%s", log)
	}
	// The node returns and is full; the job's present node is drained.
	w.Slurm.NodeReturn(from)
	w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 4, Max: 4, Total: 300}, Model: world.Perfect(10)})
	d.drive(t, 2*time.Minute)
	w.Slurm.Drain(to, "fan")
	d.drive(t, time.Minute)
	if jr := d.of(t, first); jr.Job.Place.On(to) != 2 || !strings.Contains(sentence(jr.Why), "stays at 2 GPUs, and "+to+" is draining (fan): there is no room") {
		t.Errorf("on %v: %s", jr.Job.Place, sentence(jr.Why))
	}
	d.drive(t, 30*time.Minute)
	if jr := d.of(t, first); jr.Job.Place.On(from) != 2 {
		t.Errorf("on %v: %s", jr.Job.Place, sentence(jr.Why))
	}
}

// TestMaintenanceIsLeft: a job leaves its node before a maintenance reservation begins there. If there
// are no other GPUs it saves and waits.
func TestMaintenanceIsLeft(t *testing.T) {
	for _, room := range []bool{true, false} {
		w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 3, Nodes: fake.Grid(2, 4)}})
		d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) { c.Period, c.Limiter = 10*time.Second, w.Client })
		j := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 2, Total: 1e5}, Save: 3 * time.Second})
		d.drive(t, 2*time.Minute)
		from := d.of(t, j).Job.Place[0].Node
		to := map[string]string{"gpu1": "gpu2", "gpu2": "gpu1"}[from]
		begins := w.Now().Add(30 * time.Minute)
		w.Slurm.SetLimits(slurm.Limits{Reservations: []slurm.Reservation{{Name: "maint", Maint: true, Start: begins, End: begins.Add(time.Hour), Nodes: []string{from}}}})
		if !room {
			w.Slurm.Drain(to, "gone")
		}
		d.drive(t, 15*time.Minute)
		if got := d.of(t, j).Job.Place; got.On(from) != 2 {
			t.Errorf("room %v: on %v a quarter of an hour before", room, got)
		}
		d.drive(t, begins.Sub(w.Now())-10*time.Second)
		jr := d.of(t, j)
		if got := jr.Job.Place; room && got.On(to) != 2 || !room && got.GPUs() != 0 {
			t.Errorf("room %v: on %v when the maintenance begins: %s", room, got, sentence(jr.Why))
		}
		if lost := lostBefore(j); lost > 1 {
			t.Errorf("room %v: %v units of work lost", room, lost)
		}
		if log := d.log.String(); !strings.Contains(log, "(reservation maint)") {
			t.Errorf("room %v: the log does not say why:\n%s", room, log)
		}
	}
}

// lostBefore returns the unsaved work, in units, of all runs but the last.
func lostBefore(j *world.Trainer) (units float64) {
	runs := j.Runs()
	for i := range len(runs) - 1 {
		units += runs[i].Done - runs[i].Saved
	}
	return units
}
