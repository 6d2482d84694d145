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

// amnesic is a client whose slurmctld saves its state right before the next stop, and is killed right
// after the following release.
type amnesic struct {
	slurm.Client
	world *world.World
	armed *bool
	saved bool
}

func (a *amnesic) RequeueRunning(ctx context.Context, id slurm.JobID) error {
	if *a.armed {
		a.world.Slurm.Save()
		*a.armed, a.saved = false, true
	}
	return a.Client.RequeueRunning(ctx, id)
}

func (a *amnesic) Start(ctx context.Context, id slurm.JobID) error {
	return a.started(a.Client.Start(ctx, id))
}

func (a *amnesic) StartFirst(ctx context.Context, id slurm.JobID) error {
	return a.started(a.Client.StartFirst(ctx, id))
}

func (a *amnesic) started(err error) error {
	if a.saved {
		a.world.Slurm.Forget()
		a.saved = false
	}
	return err
}

// TestStopLongForgotten: slurmctld loses the stop of a job that had just begun, shows it running, and
// does not query the node for half an hour. The job is stopped again, and resumes from the
// checkpoint of the move.
func TestStopLongForgotten(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(2, 4), Faults: oneDay}})
	armed := false
	d := boot(t, w, new(journal.Memory), "knapsack", func(c *engine.Config) {
		c.Period, c.Slurm = time.Second, &amnesic{Client: c.Slurm, world: w, armed: &armed}
	})
	job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 4, Total: 4000}, Model: world.Amdahl(40, 0.05)})
	d.drive(t, 8*time.Second)
	armed = true
	d.pin(t, job, 2)
	d.drive(t, 5*time.Minute)
	got, log := d.of(t, job), d.log.String()
	if !strings.Contains(log, "Slurm forgot that it was stopped") {
		t.Fatalf("the lost stop was not noticed: %s, %s\n%s", got.Job.Phase, sentence(got.Why), log)
	}
	if runs := job.Runs(); got.Job.Phase != elastic.Running || got.Job.GPUs() != 2 || len(runs) != 2 || got.Job.Resumed == "" {
		t.Errorf("%s on %d GPUs after %d runs, resumed from %q\n%s", got.Job.Phase, got.Job.GPUs(), len(runs), got.Job.Resumed, log)
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
}

// TestStopForgottenMeanwhile: slurmctld is killed right after it stopped a job for its move, and sluiced
// too. When sluiced restarts the job has been marked failed for minutes.
func TestStopForgottenMeanwhile(t *testing.T) {
	n := stopIsNext
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(2, 4), Faults: oneDay}})
	store := new(journal.Memory)
	d := boot(t, w, store, "knapsack", func(c *engine.Config) { c.Slurm = forgetting{c.Slurm, w, &n} })
	job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 2, Total: 400}, Model: world.Amdahl(400, 0.05)})
	d.drive(t, time.Minute)
	d.pin(t, job, 1)
	for n > 0 {
		d.drive(t, time.Second)
	}
	w.Advance(4 * time.Minute)
	again := boot(t, w, store, "knapsack")
	again.drive(t, 4*time.Minute)
	got, log := again.of(t, job).Job, d.log.String()+again.log.String()
	if got.Phase != elastic.Running || got.Resumed == "" || !strings.Contains(log, "brought back") {
		t.Errorf("%s, resumed from %q\n%s\n%s", got.Phase, got.Resumed, log, w.Slurm.LogText())
	}
}

// TestStopForgottenByBoth: slurmctld is killed right after it stopped a job for its move, and the store, too, does
// not know of the move afterwards: it is lost, or an older copy is put back. The job resumes from the checkpoint of
// the move, and a program that failed by itself does not.
func TestStopForgottenByBoth(t *testing.T) {
	for _, c := range []struct {
		name  string
		after func(before, older *journal.Memory) *journal.Memory
	}{
		{"the store is lost", func(_, _ *journal.Memory) *journal.Memory { return new(journal.Memory) }},
		{"an older copy has the job", func(_, older *journal.Memory) *journal.Memory { return older }},
		{"the store is as it was", func(before, _ *journal.Memory) *journal.Memory { return before }},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := stopIsNext
			w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(2, 4), Faults: oneDay}})
			store := new(journal.Memory)
			d := boot(t, w, store, "knapsack", func(c *engine.Config) { c.Slurm = forgetting{c.Slurm, w, &n} })
			failed := w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 1, Max: 1, Total: 400}, Model: world.Amdahl(400, 0.05)})
			job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 2, Total: 400}, Model: world.Amdahl(400, 0.05)})
			d.drive(t, time.Minute)
			older := store.Copy()
			d.pin(t, job, 1)
			for n > 0 {
				d.drive(t, time.Second)
			}
			failed.Die(143)
			w.Advance(4 * time.Minute)
			again := boot(t, w, c.after(store, older), "knapsack")
			again.drive(t, 4*time.Minute)
			got, log := again.of(t, job).Job, d.log.String()+again.log.String()
			if got.Phase != elastic.Running || got.Resumed == "" || !strings.Contains(log, "brought back") {
				t.Errorf("%s, resumed from %q\n%s\n%s", got.Phase, got.Resumed, log, w.Slurm.LogText())
			}
			if runs := len(failed.Runs()); runs != 1 {
				t.Errorf("the failed program had %d runs\n%s", runs, log)
			}
		})
	}
}
