package world_test

import (
	"context"
	"errors"
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

// starter is one of the two calls that let a job start.
type starter func(context.Context, slurm.JobID) error

// forgetting is a client whose slurmctld is killed right after the n-th start, before it saved it.
type forgetting struct {
	slurm.Client
	world *world.World
	n     *int
}

func (f forgetting) Start(ctx context.Context, id slurm.JobID) error {
	return f.started(ctx, id, f.Client.Start)
}

func (f forgetting) StartFirst(ctx context.Context, id slurm.JobID) error {
	return f.started(ctx, id, f.Client.StartFirst)
}

func (f forgetting) started(ctx context.Context, id slurm.JobID, start starter) error {
	if *f.n == stopIsNext {
		return start(ctx, id)
	}
	f.world.Slurm.Save()
	err := start(ctx, id)
	if *f.n--; *f.n == 0 {
		f.world.Slurm.Forget()
	}
	return err
}

// RequeueRunning is lost in the same way, as if it were the n-th start.
func (f forgetting) RequeueRunning(ctx context.Context, id slurm.JobID) error {
	if *f.n != stopIsNext {
		return f.Client.RequeueRunning(ctx, id)
	}
	f.world.Slurm.Save()
	err := f.Client.RequeueRunning(ctx, id)
	*f.n = 0
	f.world.Slurm.Forget()
	return err
}

// stopIsNext makes the next stop be lost, and no start.
const stopIsNext = 1000

// waits is the same with commands that wait for slurmctld, as Slurm's do while a backup takes over.
type waits struct {
	forgetting
	looks *int // the start is lost right before so many observations; 0 = at once
}

func (f waits) Start(ctx context.Context, id slurm.JobID) error {
	return f.started(ctx, id, f.Client.Start)
}

func (f waits) StartFirst(ctx context.Context, id slurm.JobID) error {
	return f.started(ctx, id, f.Client.StartFirst)
}

func (f waits) started(ctx context.Context, id slurm.JobID, start starter) error {
	if *f.n != 1 || *f.looks == 0 {
		return f.forgetting.started(ctx, id, start)
	}
	f.world.Slurm.Save()
	*f.n--
	return start(ctx, id)
}

func (f waits) Jobs(ctx context.Context) ([]slurm.Job, error) {
	if *f.n == 0 && *f.looks > 0 {
		if *f.looks--; *f.looks == 0 {
			f.world.Slurm.Forget()
		}
	}
	for {
		jobs, err := f.Client.Jobs(ctx)
		if !errors.Is(err, slurm.ErrControllerDown) {
			return jobs, err
		}
		f.world.Slurm.Advance(time.Second)
	}
}

// oneDay is an injected fault after the end of every test. It tells Check that this slurmctld may reuse
// restart counts.
var oneDay = fake.MustParse("at 24h0m0s: forget 1s")

// TestStartForgotten: slurmctld is killed right after it was told to start a job, and restarts with the
// job deferred. The job is placed anew at once.
func TestStartForgotten(t *testing.T) {
	for i, what := range []string{"its start", "its resize", "its start, and commands wait", "its resize, and commands wait",
		"its start, once it was seen, and commands wait", "its resize, once it was seen, and commands wait"} {
		t.Run(what, func(t *testing.T) {
			n, wait, looks := 1+i%2, i >= 2, i/4*2
			w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(2, 4), Faults: oneDay}})
			d := boot(t, w, new(journal.Memory), "knapsack", func(c *engine.Config) {
				f := forgetting{c.Slurm, w, &n}
				if c.Slurm = f; wait {
					c.Slurm = waits{f, &looks}
				}
			})
			job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 2, Total: 400}, Model: world.Amdahl(400, 0.05)})
			d.drive(t, time.Minute)
			if n > 0 {
				d.pin(t, job, 1)
			}
			d.drive(t, 4*time.Minute)
			got, log := d.of(t, job).Job, d.log.String()
			if got.Phase != elastic.Running || got.Directive.Hold || n > 0 || strings.Contains(log, "blind") == wait {
				t.Errorf("%s, held by its user %t, %d starts too few\n%s", got.Phase, got.Directive.Hold, n, log)
			}
			if !strings.Contains(log, "deferred again before it started") && looks == 0 && i < 4 {
				t.Errorf("it waited until Slurm started it by itself\n%s", log)
			}
			for _, bad := range w.Check() {
				t.Error(bad)
			}
		})
	}
}

// TestStopForgotten: slurmctld is killed right after it stopped a job for its move. The restarted
// slurmctld does not know of the stop and marks the job, whose script the stop's signal ended, as
// failed. The job is requeued and resumes from the checkpoint of the move.
func TestStopForgotten(t *testing.T) {
	for _, kind := range []string{"fails", "fails, and commands wait"} {
		t.Run(kind, func(t *testing.T) {
			n, wait := stopIsNext, kind != "fails"
			w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(2, 4), Faults: oneDay}})
			d := boot(t, w, new(journal.Memory), "knapsack", func(c *engine.Config) {
				f := forgetting{c.Slurm, w, &n}
				if c.Slurm = f; wait {
					c.Slurm = waits{f, new(int)}
				}
			})
			job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 2, Total: 400}, Model: world.Amdahl(400, 0.05)})
			d.drive(t, time.Minute)
			d.pin(t, job, 1)
			d.drive(t, 4*time.Minute)
			got, log := d.of(t, job).Job, d.log.String()
			if got.Phase != elastic.Running || got.GPUs() != 1 || n > 0 || !strings.Contains(log, "brought back") {
				t.Errorf("%s on %d GPUs\n%s\n%s", got.Phase, got.GPUs(), log, w.Slurm.LogText())
			}
			for _, bad := range w.Check() {
				t.Error(bad)
			}
		})
	}
}
