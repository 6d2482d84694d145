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

// perishing is a client whose daemon dies at its first observation after its first stop.
type perishing struct {
	slurm.Client
	stopped, died *bool
}

func (p perishing) RequeueRunning(ctx context.Context, id slurm.JobID) error {
	*p.stopped = true
	return p.Client.RequeueRunning(ctx, id)
}

func (p perishing) Jobs(ctx context.Context) ([]slurm.Job, error) {
	if *p.stopped && !*p.died {
		*p.died = true
		panic(crashed{"its next look"})
	}
	return p.Client.Jobs(ctx)
}

// TestKilledAfterAStopThatComesLate: slurmctld does not answer a stop in time and carries it out seconds
// later, and sluiced dies in between. The next daemon does not repeat the stop at once: the
// job is stopped once, and not again in its next run.
func TestKilledAfterAStopThatComesLate(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{
		Seed: 7, Nodes: fake.Grid(1, 4), Faults: fake.MustParse("scontrol requeue incomplete #1: late 8s"),
	}})
	var stopped, died bool
	m := newMortal(t, w, new(boundaries), func(c *engine.Config) { c.Slurm = perishing{c.Slurm, &stopped, &died} })
	alice := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 4, Total: 40}, Model: world.Amdahl(60, 0.05)})
	w.At(100*time.Second, func() {
		w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 2, Max: 2, Total: 60}, Model: world.Amdahl(60, 0.05)})
	})
	if err := w.Drive(context.Background(), m, 10*time.Minute); err != nil {
		t.Error(err)
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
	d, err := w.Client.Job(context.Background(), alice.ID())
	if err != nil || len(m.deaths) != 1 || d.State != slurm.Running || d.Restarts != 1 {
		t.Errorf("%v %s, restarts %d, died at %v\n%s", err, d.State, d.Restarts, m.deaths, m.log())
	}
}

// struck is a client that loses the job's node at the first stop.
type struck struct {
	slurm.Client
	lose func()
}

func (s struck) RequeueRunning(ctx context.Context, id slurm.JobID) error {
	defer s.lose()
	return s.Client.RequeueRunning(ctx, id)
}

// TestLateStopAndALostNode: slurmctld does not answer a stop and carries it out seconds later. Meanwhile
// the job's node is lost, and the job is pending because of that. It is not started before the
// stop was carried out or can no longer be.
func TestLateStopAndALostNode(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{
		Seed: 7, Nodes: fake.Grid(2, 4), Faults: fake.MustParse("scontrol requeue incomplete #1: late 8s"),
	}})
	lost := false
	d := boot(t, w, new(journal.Memory), "knapsack", func(c *engine.Config) {
		c.Slurm = struck{c.Slurm, func() {
			if !lost {
				lost = true
				w.Slurm.NodeDown("gpu1", "crashed")
			}
		}}
	})
	job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 4, Total: 60}, Model: world.Amdahl(60, 0.05)})
	w.At(100*time.Second, func() {
		if err := d.Direct(context.Background(), elastic.JobID(job.ID()), func(o elastic.Directive) elastic.Directive { o.Pin = 2; return o }); err != nil {
			t.Error(err)
		}
	})
	d.drive(t, 10*time.Minute)
	if got := d.of(t, job); !lost || got.Job.Phase != elastic.Running || got.Job.GPUs() != 2 || got.Job.Restarts != 1 {
		t.Errorf("lost=%t, %s on %d GPUs, restarts %d\n%s", lost, got.Job.State, got.Job.GPUs(), got.Job.Restarts, d.log.String())
	}
}

// leaving is a client that drains a node when a job is started for it.
type leaving struct {
	slurm.Client
	drain func()
}

func (l leaving) Start(ctx context.Context, id slurm.JobID) error {
	defer l.drain()
	return l.Client.Start(ctx, id)
}

func (l leaving) StartFirst(ctx context.Context, id slurm.JobID) error {
	defer l.drain()
	return l.Client.StartFirst(ctx, id)
}

// TestLateDefer: a job is started for a node that is drained at that time, and deferred again. slurmctld
// does not answer that and carries it out seconds later. The job runs soon nevertheless, and is
// not taken for one that its user deferred.
func TestLateDefer(t *testing.T) {
	for _, late := range []string{"1200ms", "8s"} {
		t.Run(late, func(t *testing.T) { lateDefer(t, late) })
	}
}

func lateDefer(t *testing.T, late string) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{
		Seed: 7, Nodes: fake.Grid(2, 4), Faults: fake.MustParse("scontrol update starttime #1: late " + late),
	}})
	drained := false
	d := boot(t, w, new(journal.Memory), "knapsack", func(c *engine.Config) {
		c.Slurm = leaving{c.Slurm, func() {
			if !drained {
				drained = true
				w.Slurm.Drain("gpu1", "a test")
			}
		}}
	})
	d.drive(t, time.Minute) // a hold right after the daemon's start would be doubted in any case
	job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 4, Total: 60}, Model: world.Amdahl(60, 0.05)})
	d.drive(t, 5*time.Minute)
	log := d.log.String()
	if got := d.of(t, job).Job; got.Phase != elastic.Running || got.Directive.Hold || got.UserHold || !strings.Contains(log, "outcome unknown") {
		t.Errorf("%s, held by its user %t, %t\n%s", got.Phase, got.Directive.Hold, got.UserHold, log)
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
}

// deferring is a client whose daemon dies the first time that it defers a job and gets no answer.
type deferring struct {
	slurm.Client
	died *bool
}

func (d deferring) Defer(ctx context.Context, id slurm.JobID, until time.Time) error {
	err := d.Client.Defer(ctx, id, until)
	if errors.Is(err, slurm.ErrUnknownOutcome) && !*d.died {
		*d.died = true
		panic(crashed{"its defer"})
	}
	return err
}

// TestKilledInADeferThatComesLate: as TestLateDefer, and sluiced is killed before it records anything. The
// next daemon does not know of it.
func TestKilledInADeferThatComesLate(t *testing.T) {
	for _, late := range []string{"2100ms", "2500ms", "3s", "4s", "8s"} {
		t.Run(late, func(t *testing.T) { killedInLateDefer(t, late) })
	}
}

func killedInLateDefer(t *testing.T, late string) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{
		Seed: 7, Nodes: fake.Grid(2, 4), Faults: fake.MustParse("scontrol update starttime #1: late " + late),
	}})
	var drained, died bool
	m := newMortal(t, w, new(boundaries), func(c *engine.Config) {
		c.Slurm = deferring{leaving{c.Slurm, func() {
			if !drained {
				drained = true
				w.Slurm.Drain("gpu1", "a test")
			}
		}}, &died}
	})
	job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 4, Total: 60}, Model: world.Amdahl(60, 0.05)})
	if err := w.Drive(context.Background(), m, 5*time.Minute); err != nil {
		t.Error(err)
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
	d, err := w.Client.Job(context.Background(), job.ID())
	if err != nil || len(m.deaths) != 1 || d.State != slurm.Running || d.Held {
		t.Errorf("%v %s %s held=%t, died at %v\n%s", err, d.State, d.Reason, d.Held, m.deaths, m.log())
	}
}
