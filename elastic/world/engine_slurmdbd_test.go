package world_test

import (
	"context"
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

// hungAccounts is a slurmdbd that does not answer while it is away.
type hungAccounts struct {
	slurm.Limiter
	away  *bool
	asked *int
}

func (h hungAccounts) Limits(ctx context.Context) (slurm.Limits, error) {
	if *h.away {
		*h.asked++
		return slurm.Limits{}, &slurm.Error{Op: "sacctmgr show", Err: slurm.ErrControllerDown, Words: "no answer in 20s"}
	}
	return h.Limiter.Limits(ctx)
}

// TestAccountsAwayForAnHour: slurmdbd hangs for an hour. Jobs are submitted, started, resized and end by
// the known limits. After a failed query the next one comes a minute later, since each may take
// until its timeout.
func TestAccountsAwayForAnHour(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 3, Nodes: fake.Grid(2, 4)}})
	away, asked := false, 0
	d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) {
		c.Period, c.Limiter = 30*time.Second, hungAccounts{w.Client, &away, &asked}
	})
	job := func(total float64) *world.Trainer {
		return w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 4, Total: total}, Model: world.Amdahl(20, 0.05)})
	}
	long := job(1e6)
	d.drive(t, 2*time.Minute)
	away = true
	var short []*world.Trainer
	for i := range 12 {
		short = append(short, job(20))
		for m := range 6 {
			d.pin(t, long, 1+(i+m)%4)
			d.drive(t, 50*time.Second)
		}
	}
	for i, j := range short[:11] {
		if got := d.of(t, j); !got.Ended {
			t.Errorf("job %d of 11 has not ended within the hour: %s", i+1, got.Job.Phase)
		}
	}
	if got := d.of(t, long).Job; got.GPUs() != 1+(11+5)%4 {
		t.Errorf("the long job is on %d GPUs, pinned to %d", got.GPUs(), 1+(11+5)%4)
	}
	t.Logf("asked %d times", asked)
	if asked > 61 {
		t.Errorf("asked %d times in an hour", asked)
	}
	away = false
	d.drive(t, 2*time.Minute)
	if n := asked; n == 0 {
		t.Error("never asked")
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
}
