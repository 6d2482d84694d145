package world_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// Attained is the GPU-seconds of a job's runs, both in a daemon that saw all of them and in one that has
// just started.
func TestAttainedIsWhatRunsHeld(t *testing.T) {
	ctx := context.Background()
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(3, 4)}})
	kept := new(journal.Memory)
	d := boot(t, w, kept, "knapsack", inTurns)
	jobs := story(w)
	for range 4 {
		if err := w.Drive(ctx, d, 100*time.Second); err != nil {
			t.Fatal(err)
		}
		again := boot(t, w, kept, "knapsack", inTurns)
		for _, e := range []*daemon{d, again} {
			if _, err := e.Cycle(ctx, w.Now()); err != nil {
				t.Fatal(err)
			}
		}
		seen, _, _ := d.Plan(w.Now())
		fresh, _, ok := again.Plan(w.Now())
		if !ok || len(fresh.Jobs) != len(seen.Jobs) {
			t.Fatalf("%d jobs, after a restart %d", len(seen.Jobs), len(fresh.Jobs))
		}
		for i, j := range seen.Jobs {
			held := heldBy(*jobs, j.ID, seen.Now)
			// The engine sees each run's end slightly late.
			if slack := 12 * 12.0; math.Abs(j.Attained-held) > slack {
				t.Errorf("at %v job %d attained %.0f GPU-seconds, its runs held %.0f", seen.Now, j.ID, j.Attained, held)
			}
			if now := heldBy(*jobs, j.ID, fresh.Now); math.Abs(fresh.Jobs[i].Attained-j.Attained-(now-held)) > 12 {
				t.Errorf("job %d: %.0f, after a restart %.0f, held %.0f and %.0f", j.ID, j.Attained, fresh.Jobs[i].Attained, held, now)
			}
			if j.Asked != 1 {
				t.Errorf("job %d asked for %d", j.ID, j.Asked)
			}
		}
		d = again
	}
}

// heldBy returns the GPU-seconds of the job's runs up to now.
func heldBy(jobs []*world.Trainer, id elastic.JobID, now time.Time) float64 {
	sum := 0.0
	for _, t := range jobs {
		if elastic.JobID(t.ID()) != id {
			continue
		}
		for _, r := range t.Runs() {
			end := r.Ended
			if end.IsZero() || end.After(now) {
				end = now
			}
			for _, share := range r.Split {
				sum += max(0, end.Sub(r.Began).Seconds()) * float64(share.GPUs)
			}
		}
	}
	return sum
}

// Jobs on several nodes, ordinary ones too, are counted on each of them.
func TestSnapshotCountsSpanningJobs(t *testing.T) {
	ctx := context.Background()
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 1, Nodes: fake.Grid(4, 4)}})
	w.Ordinary("carol", 2, 6, time.Hour)
	w.Ordinary("carol", 1, 1, time.Hour)
	d := boot(t, w, new(journal.Memory), "knapsack")
	w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 8, Max: 8, Total: 4000}})
	if err := w.Drive(ctx, d, 2*time.Minute); err != nil {
		t.Fatal(err)
	}
	snap, _, _ := d.Plan(w.Now())
	used, spanning := 0, 0
	for _, n := range snap.Nodes {
		used, spanning = used+n.Used, spanning+n.Spanning
		if n.Spanning > 1 {
			t.Errorf("%s is shared: %+v", n.Name, n)
		}
	}
	if used != 15 || spanning != 4 {
		t.Errorf("%d GPUs used, %d times a job that spans nodes: %+v", used, spanning, snap.Nodes)
	}
	spanning = 0
	for _, n := range snap.Foreign() {
		spanning += n.Spanning
	}
	if spanning != 2 {
		t.Errorf("ordinary jobs span %d", spanning)
	}
}

// A requeue is seen while the job is still completing: Slurm already counts the next restart and shows
// the nodes of the last run. The job is held and gets a new placement at once, which is then known.
func TestRequeueSeenWhileCleaning(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(2, 4), Draining: 5 * time.Second}})
	d := boot(t, w, new(journal.Memory), "knapsack", func(c *engine.Config) { c.Period = time.Second })
	job := w.Submit(world.Job{Spec: elastic.Spec{Min: 4, Max: 4, Total: 40}, Model: world.Amdahl(60, 0.05)})
	w.At(60*time.Second, func() {
		if err := w.User("alice").Requeue(context.Background(), job.ID()); err != nil {
			t.Error(err)
		}
		w.Slurm.Drain(job.Runs()[0].Split[0].Node, "so that it comes to the other")
	})
	if err := w.Drive(context.Background(), d, 100*time.Second); err != nil {
		t.Fatal(err)
	}
	if runs := job.Runs(); len(runs) != 2 {
		t.Errorf("%d runs within 40 s of the requeue, want 2; Slurm's own wait is two minutes\n%s", len(runs), d.log.String())
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
}

// A split that cannot be read at once is read in the next cycle. Until then the job's placement is
// unknown, and its move is not judged.
func TestSplitReadLater(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(2, 4), Faults: fake.MustParse("scontrol show job #1: garbage")}})
	d := boot(t, w, new(journal.Memory), "knapsack")
	w.Submit(world.Job{Spec: elastic.Spec{Min: 8, Max: 8, Total: 40}, Model: world.Amdahl(60, 0.05)})
	if err := w.Drive(context.Background(), d, 20*time.Second); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(d.log.String(), "close: done: runs on gpu1:4+gpu2:4") {
		t.Error(d.log.String())
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
}
