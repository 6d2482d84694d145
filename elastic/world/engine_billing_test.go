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

// TestNoJobWaitsForBilling: with a limit on billing jobs have the GPUs that their partition's weights
// allow, beside an ordinary job of the same account, and none waits for more.
func TestNoJobWaitsForBilling(t *testing.T) {
	billing := func(n int) []slurm.Amount { return []slurm.Amount{{Of: slurm.OfBilling, N: n}} }
	w := world.New(world.Config{Fake: fake.Config{Seed: 7, Nodes: fake.Grid(3, 4)}})
	w.Slurm.SetLimits(slurm.Limits{
		Enforced:   true,
		Partitions: []slurm.Partition{{Name: "gpu", Up: true, Weights: []slurm.Weight{{Of: slurm.OfCPUs, N: .1}, {Of: slurm.OfGPUs, N: 1.6}}}},
		Associations: []slurm.Association{
			{Account: "phys", Group: billing(13)}, {Account: "phys", User: "alice", Job: billing(8)}, {Account: "phys", User: "carol"},
		},
	})
	d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) { c.Limiter = w.Client })
	w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 12, Total: 300, AllowUneven: true}, Model: world.Amdahl(60, 0.02)})
	w.At(time.Hour, func() { w.Ordinary("carol", 1, 4, 30*time.Minute) })
	w.At(70*time.Minute, func() {
		w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 12, Total: 60, AllowUneven: true}, Model: world.Amdahl(60, 0.02)})
	})
	var alone, beside int
	for at := time.Duration(0); at < 5*time.Hour; at += 7 * time.Second {
		w.At(at, func() {
			sum := 0
			for _, j := range d.Report().Jobs {
				sum += j.Job.GPUs()
				if strings.Contains(j.Job.Reason, "Billing") {
					t.Errorf("%s: job %d waits: %s", at, j.Job.ID, j.Job.Reason)
				}
			}
			switch {
			case at < time.Hour:
				alone = max(alone, sum)
			case at > 72*time.Minute && at < 85*time.Minute:
				beside = max(beside, sum)
			}
		})
	}
	if err := w.Drive(context.Background(), d, 5*time.Hour); err != nil {
		t.Error(err)
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
	// One job may be billed 8: 5 GPUs are 8.5, rounded down. All together may be billed 13, of
	// which the ordinary job's 4 GPUs are 6.8, rounded down.
	if alone != 5 || beside != 4 {
		t.Errorf("they had at most %d GPUs, and %d beside the ordinary job; want 5 and 4", alone, beside)
	}
}
