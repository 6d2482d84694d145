package world_test

import (
	"fmt"
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

// TestSavesBeforeItsTimeLimit: F14, a job that Slurm ends at its time limit has saved shortly before,
// wherever in a cycle the limit falls, and more shortly once the duration of a save is known. It is
// asked only a few times and never stopped for it.
func TestSavesBeforeItsTimeLimit(t *testing.T) {
	const limit = 30 * time.Minute
	for _, period := range []time.Duration{time.Second, 30 * time.Second} {
		for at := time.Duration(0); at < 30*time.Second; at += time.Duration(oneIn()) * 7 * time.Second {
			w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 5, Nodes: fake.Grid(1, 4)}})
			d := boot(t, w, new(journal.Memory), "knapsack", func(c *engine.Config) { c.Period = period })
			var j *world.Trainer
			w.At(at, func() {
				j = w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 4, Max: 4, Total: 1e6}, Save: 3 * time.Second, Limit: limit, Model: world.Perfect(1)})
			})
			d.drive(t, at+limit+3*time.Minute)
			runs := j.Runs()
			if len(runs) != 1 || j.State() != slurm.Timeout {
				t.Fatalf("period %s, at %s: %d runs, %s\n%s", period, at, len(runs), j.State(), d.log.String())
			}
			lost := runs[0].Done - runs[0].Saved // units take 0.25 s each
			if most := 4 * (2*period + 45*time.Second).Seconds(); lost > most {
				t.Errorf("period %s, at %s: %.0f s of work lost at the limit, want %.0f at most\n%s", period, at, lost/4, most/4, d.log.String())
			}
			if asked := strings.Count(d.log.String(), "open: save "); asked < 2 || asked > 4 {
				t.Errorf("period %s, at %s: asked %d times", period, at, asked)
			}
			for _, bad := range w.Check() {
				t.Error(bad)
			}
		}
	}
}

// TestAShortLimitGoesOn: for a job of one minute the time to save falls between two cycles, wherever the
// job begins.
func TestAShortLimitGoesOn(t *testing.T) {
	for at := time.Duration(0); at < 30*time.Second; at += 5 * time.Second {
		w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 5, Nodes: fake.Grid(1, 4)}})
		d := boot(t, w, new(journal.Memory), "knapsack", func(c *engine.Config) { c.Period = 30 * time.Second })
		var j *world.Trainer
		w.At(at, func() {
			j = w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 4, Max: 4, Total: 600, Again: true}, Limit: time.Minute, Model: world.Perfect(1)})
		})
		d.drive(t, at+4*time.Minute)
		if runs := j.Runs(); len(runs) < 3 || j.State() != slurm.Completed {
			t.Errorf("begun at %s: %d runs, %s\n%s", at, len(runs), j.State(), d.log.String())
		}
	}
}

// TestGoesOnAfterItsTimeLimit: a job that makes progress is requeued with a new time limit and loses
// nothing. A job that its user holds, or with --on-timeout=end, is ended by Slurm.
func TestGoesOnAfterItsTimeLimit(t *testing.T) {
	const limit = 20 * time.Minute
	for name, want := range map[string]struct {
		runs  int
		state slurm.State
	}{"goes on": {3, slurm.Completed}, "held": {1, slurm.Timeout}, "ends": {1, slurm.Timeout}} {
		t.Run(name, func(t *testing.T) {
			w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 5, Nodes: fake.Grid(1, 4)}})
			d := boot(t, w, new(journal.Memory), "knapsack", func(c *engine.Config) { c.Period = 10 * time.Second })
			// Four units a second: 50 minutes of work.
			j := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 4, Max: 4, Total: 12000, Again: name != "ends"}, Save: 3 * time.Second, Limit: limit, Model: world.Perfect(1)})
			if name == "held" {
				w.At(time.Minute, func() {
					if err := w.User("alice").Hold(t.Context(), j.ID()); err != nil {
						t.Error(err)
					}
				})
			}
			d.drive(t, 70*time.Minute)
			runs := j.Runs()
			if len(runs) != want.runs || !strings.Contains(d.log.String(), "job 1 ended: "+string(want.state)) {
				t.Errorf("%d runs; want %d, %s\n%s", len(runs), want.runs, want.state, d.log.String())
			}
			for _, bad := range w.Check() {
				t.Error(bad)
			}
		})
	}
}

// TestSavesBeforeItsReservationEnds: Slurm ends jobs at the end of their reservation, whatever their own
// time limit.
func TestSavesBeforeItsReservationEnds(t *testing.T) {
	const lasts = 30 * time.Minute
	for _, limit := range []time.Duration{0, 3 * time.Hour} {
		w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 5, Nodes: fake.Grid(1, 4)}})
		w.Slurm.SetLimits(slurm.Limits{Reservations: []slurm.Reservation{{Name: "theirs", Start: w.Now(), End: w.Now().Add(lasts), Nodes: []string{"gpu1"}}}})
		d := boot(t, w, new(journal.Memory), "knapsack", func(c *engine.Config) { c.Period, c.Limiter = 10*time.Second, w.Client })
		j := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 4, Max: 4, Total: 1e6}, Save: 3 * time.Second, Limit: limit, Model: world.Perfect(1), Args: []string{"--reservation=theirs"}})
		d.drive(t, lasts+3*time.Minute)
		runs := j.Runs()
		if len(runs) != 1 || j.State() != slurm.Timeout {
			t.Fatalf("limit %s: %d runs, %s\n%s", limit, len(runs), j.State(), d.log.String())
		}
		if lost := (runs[0].Done - runs[0].Saved) / 4; lost > 65 {
			t.Errorf("limit %s: %.0f s of work lost at the end of the reservation\n%s", limit, lost, d.log.String())
		}
		if asked := strings.Count(d.log.String(), "the end of reservation theirs ends it in"); asked < 1 || asked > 4 {
			t.Errorf("limit %s: asked %d times\n%s", limit, asked, d.log.String())
		}
		for _, bad := range w.Check() {
			t.Error(bad)
		}
	}
}

// TestNotAskedAtItsLimit: a job without a time limit, one that never answered a request, and one that
// saves on its own are not asked to save.
func TestNotAskedAtItsLimit(t *testing.T) {
	for name, job := range map[string]world.Job{
		"no limit": {},
		"silent":   {Limit: 20 * time.Minute, Behaviour: world.Behaviour{Silent: true}},
		"by habit": {Limit: 20 * time.Minute, Every: 60, Spec: elastic.Spec{Habit: true}},
	} {
		t.Run(name, func(t *testing.T) {
			w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 5, Nodes: fake.Grid(1, 4)}})
			d := boot(t, w, new(journal.Memory), "knapsack", func(c *engine.Config) { c.Period = 10 * time.Second })
			job.User, job.Model = "alice", world.Perfect(4)
			job.Spec.Min, job.Spec.Max, job.Spec.Total = 4, 4, 1e5
			w.Submit(job)
			d.drive(t, 25*time.Minute)
			if log := d.log.String(); strings.Contains(log, "open: save") {
				t.Error(log)
			}
			for _, bad := range w.Check() {
				t.Error(bad)
			}
		})
	}
}

// TestHeldJobSavesBeforeItsLimit: neither its user's hold nor a drained node prevents a save, and a job
// that cannot save is asked a limited number of times.
func TestHeldJobSavesBeforeItsLimit(t *testing.T) {
	for _, stuck := range []bool{false, true} {
		t.Run(fmt.Sprint("stuck ", stuck), func(t *testing.T) {
			w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 5, Nodes: fake.Grid(1, 4)}})
			d := boot(t, w, new(journal.Memory), "knapsack", func(c *engine.Config) { c.Period = 10 * time.Second })
			j := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 4, Max: 4, Total: 1e6}, Limit: 30 * time.Minute, Model: world.Perfect(4), Behaviour: world.Behaviour{Stuck: stuck}})
			w.At(time.Minute, func() {
				if err := w.User("alice").Hold(t.Context(), j.ID()); err != nil {
					t.Error(err)
				}
				w.Slurm.Drain("gpu1", "soon")
			})
			d.drive(t, 33*time.Minute)
			log := d.log.String()
			if asked := strings.Count(log, "open: save "); asked < 1 || asked > 4 {
				t.Errorf("asked %d times\n%s", asked, log)
			}
			if saved := j.Runs()[0].Saved > 0; saved == stuck {
				t.Errorf("saved %t\n%s", saved, log)
			}
			for _, bad := range w.Check() {
				t.Error(bad)
			}
		})
	}
}
