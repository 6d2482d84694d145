package world_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	stories "github.com/sluice-hpc/sluice/elastic/world/story"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// turn is the length of each job's turn.
const turn = 80 * time.Second

func inTurns(c *engine.Config) { stories.InTurns(c, turn) }

// TestParkedJobsResume: jobs are parked and started in turns; no work is lost, and every job gets its turn.
func TestParkedJobsResume(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(3, 4)}})
	memory := new(journal.Memory)
	d := boot(t, w, memory, "knapsack", inTurns)
	jobs := story(w)
	if err := w.Drive(context.Background(), d, 3*time.Hour); err != nil {
		t.Error(err)
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
	for _, j := range *jobs {
		if j.Done() < j.Job.Spec.Total {
			t.Errorf("job %d did %v of %v", j.ID(), j.Done(), j.Job.Spec.Total)
		}
	}
	resumed := 0
	for _, j := range *jobs {
		runs, err := memory.Segments(t.Context(), j.Token)
		must(t, err)
		for _, run := range runs {
			if _, is := run.Cause.(reason.ResumesAfter); is {
				resumed++
			}
		}
	}
	if resumed < 2 {
		t.Errorf("%d runs say that the job was stopped before, and why", resumed)
	}
	log := d.log.String()
	for _, want := range []string{"open: park", "close: done: stopped after checkpoint", "open: start"} {
		if strings.Count(log, want) < 2 {
			t.Errorf("%q: %d times", want, strings.Count(log, want))
		}
	}
	if t.Failed() {
		t.Log(log)
	}
}

// TestParkCrashAtEveryBoundary is TestCrashAtEveryBoundary with jobs that are parked in favour of
// others. Every second boundary is tried before its effect, the others after it, or all of them
// both ways with SLUICE_EXHAUSTIVE=1.
func TestParkCrashAtEveryBoundary(t *testing.T) {
	total := crashRun(t, nil, false, inTurns)
	t.Logf("%d boundaries", total)
	stride := max(1, sampling()/2)
	for i, after := range []bool{false, true} {
		for k := 1 + i; k <= total; k += stride {
			crashRun(t, []int{k}, after, inTurns)
		}
	}
}

// TestTheUserWinsOverParking is TestTheUserWins with jobs that are parked in favour of others.
func TestTheUserWinsOverParking(t *testing.T) {
	total := crashRun(t, nil, false, inTurns)
	stride := 3 * sampling()
	for i, a := range userActions {
		t.Run(a.name, func(t *testing.T) {
			for k := 1; k <= total; k += stride {
				userRun(t, i, k, inTurns)
			}
		})
	}
}

// A parked job that its user holds through sluice waits until it is released; one that its user starts
// through Slurm runs.
func TestParkedJobsObeyTheirUsers(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name string
		do   func(*daemon, *world.World, *world.Trainer)
		runs bool // it runs soon afterwards
	}{
		{"held", func(d *daemon, _ *world.World, j *world.Trainer) {
			if err := d.Direct(ctx, elastic.JobID(j.ID()), func(o elastic.Directive) elastic.Directive { o.Hold = true; return o }); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"released through Slurm", func(_ *daemon, w *world.World, j *world.Trainer) {
			if err := w.User("alice").Release(ctx, j.ID()); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"left alone", func(*daemon, *world.World, *world.Trainer) {}, true},
	} {
		w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 3, Nodes: fake.Grid(2, 4)}})
		var stop bool
		d := boot(t, w, new(journal.Memory), "knapsack", func(cfg *engine.Config) {
			cfg.Limits.Preempt = true
			cfg.Policy.Allocate = func(s elastic.Snapshot) elastic.Allocation {
				a := elastic.Allocation{}
				for _, j := range s.Jobs {
					a[j.ID] = elastic.Decision{GPUs: 4}
					if stop {
						a[j.ID] = elastic.Decision{Why: reason.HeldAside}
					}
				}
				return a
			}
		})
		job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 4, Total: 200}})
		w.At(5*time.Minute, func() { stop = true })
		w.At(10*time.Minute, func() {
			if s := job.State(); s != slurm.Pending {
				t.Errorf("%s: %s instead of parked", c.name, s)
			}
			stop = false
			c.do(d, w, job)
		})
		if err := w.Drive(ctx, d, 14*time.Minute); err != nil {
			t.Error(err)
		}
		if got := job.State() == slurm.Running; got != c.runs {
			t.Errorf("%s: running %t, want %t\n%s", c.name, got, c.runs, d.log.String())
		}
		for _, bad := range w.Check() {
			t.Errorf("%s: %s", c.name, bad)
		}
	}
}
