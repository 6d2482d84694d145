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
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// enforced are limits that Slurm enforces: on alice's GPUs together, on the memory of each of bob's
// jobs, and on carol's GPU minutes.
func enforced(gpus int) slurm.Limits {
	of := func(what string, n int) []slurm.Amount { return []slurm.Amount{{Of: what, N: n}} }
	return slurm.Limits{Enforced: true, Associations: []slurm.Association{
		{Account: "phys"},
		{Account: "phys", User: "alice", Group: of(slurm.OfGPUs, gpus)},
		{Account: "phys", User: "bob", Job: of(slurm.OfMemory, 2500)},
		{Account: "phys", User: "carol", Minutes: slurm.Minutes{Job: of(slurm.OfGPUs, 400)}},
	}}
}

// TestNoJobWaitsForALimit: on a Slurm that enforces limits every move ends on its target. A job that a
// move took beyond a limit would wait with Slurm's reason. None does, even when limits change.
func TestNoJobWaitsForALimit(t *testing.T) {
	w := world.New(world.Config{Fake: fake.Config{Seed: 5, Nodes: fake.Grid(3, 4)}})
	w.Slurm.SetLimits(enforced(5))
	d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) { c.Limiter = w.Client })
	for _, j := range []world.Job{
		{User: "alice"}, {User: "alice"},
		{User: "bob", Spec: elastic.Spec{MemPerGPUMB: 1000}, Args: []string{"--mem-per-gpu=1000M"}},
		{User: "carol", Limit: 100 * time.Minute},
	} {
		j.Spec.Min, j.Spec.Max, j.Spec.Total, j.Model = 1, 8, 300, world.Amdahl(60, 0.02)
		w.Submit(j)
	}
	w.At(30*time.Minute, func() { w.Slurm.SetLimits(enforced(3)) })
	w.At(50*time.Minute, func() { w.Slurm.SetLimits(enforced(8)) })
	most := map[string]int{}
	for at := time.Duration(0); at < 5*time.Hour; at += 7 * time.Second {
		w.At(at, func() {
			for _, j := range d.Report().Jobs {
				most[j.Job.User] = max(most[j.Job.User], j.Job.GPUs())
				if strings.HasPrefix(j.Job.Reason, "Assoc") {
					t.Errorf("%s: job %d of %s waits: %s", at, j.Job.ID, j.Job.User, j.Job.Reason)
				}
			}
		})
	}
	if err := w.Drive(context.Background(), d, 5*time.Hour); err != nil {
		t.Error(err)
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
	if most["bob"] != 2 || most["carol"] != 4 || most["alice"] < 4 {
		t.Errorf("they had at most %v GPUs; want all that they may have, and no more", most)
	}
}
