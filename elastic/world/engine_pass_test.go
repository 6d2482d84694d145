package world_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// usual is a Slurm with default scheduling parameters: a pass within 1 s after it is requested, at most
// every 3 s, none when a begin time is reached, and backfill every 30 s.
func usual(seed uint64) fake.Config {
	return fake.Config{Seed: seed, Nodes: fake.Grid(1, 4), PassDelay: 3 * time.Second,
		Scheduling: 50 * time.Millisecond, Jitter: time.Second}
}

// TestMissedPasses: a job that is resized often starts within seconds of each release, although many
// passes come before its begin time.
func TestMissedPasses(t *testing.T) {
	var took []time.Duration
	asked := 0
	for seed := range uint64(4) {
		w := world.New(world.Config{Records: &records.Records{}, Fake: usual(seed + 1)})
		began := w.Now()
		d := boot(t, w, new(journal.Memory), "knapsack", func(c *engine.Config) { c.Limits.Cooldown = 0 })
		job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 4, Total: 1e6}})
		for i := range 10 {
			w.At(time.Duration(60+67*i)*time.Second+time.Duration(i*370)*time.Millisecond, func() {
				pin := func(elastic.Directive) elastic.Directive { return elastic.Directive{Pin: 1 + i%2} }
				if err := d.Direct(context.Background(), elastic.JobID(job.ID()), pin); err != nil {
					t.Error(err)
				}
			})
		}
		d.drive(t, 15*time.Minute)
		runs := job.Runs()
		if len(runs) < 10 {
			t.Fatalf("%d runs\n%s", len(runs), d.log.String())
		}
		released := time.Time{}
		for _, c := range w.Slurm.Changes() {
			switch {
			case c.Op == "scontrol update starttime now":
				released = c.At
				i := slices.IndexFunc(runs, func(r world.RunRecord) bool { return !r.Began.Before(released) })
				if i < 0 {
					t.Fatalf("not started after its release at %s", released.Sub(began))
				}
				took = append(took, runs[i].Began.Sub(released))
			case c.Op == "scontrol update requeue":
				asked++
			}
		}
	}
	slices.Sort(took)
	if median, most := took[len(took)/2], took[len(took)-1]; median > 4*time.Second || most > 6*time.Second {
		t.Errorf("release to running: %s at the median, %s at most", median, most)
	}
	t.Logf("%d starts, %v, %d passes asked for", len(took), took, asked)
	if asked == 0 || asked > len(took) {
		t.Errorf("%d passes asked for in %d starts", asked, len(took))
	}
}

// TestFewPassesForAJobThatCannotStart: if Slurm has its own reason not to start a job, few passes are
// requested, and the move ends as usual.
func TestFewPassesForAJobThatCannotStart(t *testing.T) {
	c := usual(7)
	c.Unseen = func(_ []string, gpus int) bool { return gpus > 2 } // a rule that no query shows
	w := world.New(world.Config{Records: &records.Records{}, Fake: c})
	d := boot(t, w, new(journal.Memory), "knapsack")
	job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 4, Total: 1e6}, Model: world.Amdahl(60, 0.05)})
	d.drive(t, 20*time.Minute)
	if got := d.of(t, job); got.Job.Phase != elastic.Running || got.Job.GPUs() > 2 {
		t.Errorf("%s on %d GPUs\n%s", got.Job.State, got.Job.GPUs(), d.log.String())
	}
	calls := 0
	for _, ch := range w.Slurm.Changes() {
		if ch.Op == "scontrol update requeue" {
			calls++
		}
	}
	if calls > 10 {
		t.Errorf("%d passes asked for in 20 minutes\n%s", calls, d.log.String())
	}
}
