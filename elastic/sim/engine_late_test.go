package sim_test

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/sim"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// perishing is a client whose daemon dies at its first look after its first stop.
type perishing struct {
	slurm.Client
	stopped, died *bool
}

func (p perishing) RequeueHold(ctx context.Context, id slurm.JobID) error {
	*p.stopped = true
	return p.Client.RequeueHold(ctx, id)
}

func (p perishing) Jobs(ctx context.Context) ([]slurm.Job, error) {
	if *p.stopped && !*p.died {
		*p.died = true
		panic(crashed{"its next look"})
	}
	return p.Client.Jobs(ctx)
}

// TestKilledAfterAStopThatComesLate: slurmctld answers a stop too late and carries it out
// seconds later, and sluiced dies in between. The next one does not ask again at once:
// the job is stopped once, not a second time in the run that follows.
func TestKilledAfterAStopThatComesLate(t *testing.T) {
	w := sim.New(sim.Config{Recorded: true, Fake: fake.Config{
		Seed: 7, Nodes: fake.Grid(1, 4), Faults: fake.MustParse("scontrol requeuehold #1: late 8s"),
	}})
	var stopped, died bool
	m := newMortal(t, w, new(boundaries), func(c *engine.Config) { c.Slurm = perishing{c.Slurm, &stopped, &died} })
	alice := w.Submit(sim.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 4, Total: 40}, Model: sim.Amdahl(60, 0.05)})
	w.At(100*time.Second, func() {
		w.Submit(sim.Job{User: "bob", Spec: elastic.Spec{Min: 2, Max: 2, Total: 60}, Model: sim.Amdahl(60, 0.05)})
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
